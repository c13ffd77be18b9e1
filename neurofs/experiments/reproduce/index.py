"""All experiments in one go: each in a child process, then one page with all claims, tables and figures.

An experiment that fails, in whatever way, stops none of the others; and none outlives this process.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from neurofs import __version__
from neurofs.experiments.reproduce import (
    EXPERIMENTS,
    count_repetitions,
    describe_experiment,
    find_experiment,
    list_claims,
    reproduce,
    save_figure,
)
from neurofs.experiments.reproduce.claims import TITLE
from neurofs.ground.errors import UsageError
from neurofs.ground.files import remove_parts, write_atomically
from neurofs.running.executors import Failure, Processes
from neurofs.running.lock import hold_folder

__all__ = ["Outcome", "render_page", "run_all"]


@dataclass(frozen=True)
class Outcome:
    """What came of one experiment: its text, claims and figure, or why it failed."""

    name: str
    title: str
    repetitions: int
    seconds: float
    text: str = ""
    claims: list[dict[str, Any]] = field(default_factory=list)
    figure: Path | None = None
    error: str = ""


def run_all(
    folder: Path,
    *,
    jobs: int = 1,
    seed: int = 0,
    repetitions: int | None = None,
    names: Iterable[str] = tuple(EXPERIMENTS),
    report: Callable[[str], None] = lambda line: None,
) -> list[Outcome]:
    """Run the experiments, `jobs` at a time, and write tables, texts, figures and index.html to `folder`.

    `repetitions` overrides those of every experiment; `report` is told when one is done.
    """
    if jobs < 1:
        raise UsageError(f"jobs must be at least 1; found {jobs}")
    names = list(names)
    outcomes = {}
    with hold_folder(folder):
        try:
            settings = (folder, seed, repetitions)
            with closing(Processes(jobs).run(_run_one, settings, names)) as results:
                for name, result in results:
                    outcome = outcomes[name] = _read_outcome(name, repetitions, result)
                    report(f"{name}: {'failed' if outcome.error else f'done after {outcome.seconds:.0f} s'}")
        finally:
            remove_parts(folder)
        in_order = [outcomes[name] for name in names]
        write_atomically(folder / "index.html", render_page(in_order, seed))
    return in_order


def _run_one(settings: tuple[Path, int, int | None], name: str) -> Outcome:
    """Run one experiment and write its table, text and figure; this is what a child process does."""
    folder, seed, repetitions = settings
    n = repetitions or count_repetitions(name)
    figure = folder / f"{name}.png"
    figure.unlink(missing_ok=True)
    start = time.perf_counter()
    table, text = reproduce(name, seed=seed, repetitions=n)
    write_atomically(folder / f"{name}.csv", table.to_csv(index=False))
    write_atomically(folder / f"{name}.txt", text + "\n")
    save_figure(name, table, figure)
    seconds = time.perf_counter() - start
    title = describe_experiment(find_experiment(name))
    return Outcome(name, title, n, seconds, text, list_claims(name, table), figure)


def _read_outcome(name: str, repetitions: int | None, result: Outcome | Failure) -> Outcome:
    if isinstance(result, Outcome):
        return result
    title = describe_experiment(find_experiment(name))
    return Outcome(name, title, repetitions or count_repetitions(name), 0.0, error=result.reason)


# ------------------------------------------------------------------------------------------------ the page


def render_page(outcomes: list[Outcome], seed: int) -> str:
    """Return one HTML page that needs nothing else; every text in it is escaped, every claim stands once."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined
    )
    return environment.get_template("index.html.jinja").render(
        outcomes=outcomes,
        claims_title=TITLE,
        images={o.name: _as_data(o.figure) for o in outcomes if o.figure},
        default={o.name: count_repetitions(o.name) for o in outcomes},
        held=sum(claim["holds"] for o in outcomes for claim in o.claims),
        total=sum(len(o.claims) for o in outcomes),
        failed=[o.name for o in outcomes if o.error],
        version=__version__,
        seed=seed,
        day=date.today().isoformat(),
    )


def _as_data(figure: Path) -> str:
    return "data:image/png;base64," + base64.b64encode(figure.read_bytes()).decode()
