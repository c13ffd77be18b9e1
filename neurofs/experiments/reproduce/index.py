"""All experiments in one go: each in a child process, then one page with all claims, tables and figures.

An experiment that fails, in whatever way, stops none of the others; and none outlives this process.
"""

import base64
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import NamedTuple

from neurofs.experiments.reproduce import (
    EXPERIMENTS,
    count_repetitions,
    describe_experiment,
    find_experiment,
    is_ours,
    list_claims,
    save_figure,
)
from neurofs.experiments.reproduce.claims import Claim, render_claims
from neurofs.ground.csv_tables import render_csv
from neurofs.ground.errors import UsageError
from neurofs.ground.files import remove_parts, write_atomically
from neurofs.report import page
from neurofs.report.svg import Styles
from neurofs.running.executors import Processes
from neurofs.running.lock import hold_folder
from neurofs.running.worker import Failure


class Outcome(NamedTuple):
    """What came of one experiment: its tables, claims and figure, or why it failed; `ours` if nobody published it."""

    name: str
    title: str
    repetitions: int
    seconds: float
    tables: str = ""
    claims: Sequence[Claim] = ()
    figure: Path | None = None
    error: str = ""
    ours: bool = False

    @property
    def text(self) -> str:
        """What `neurofs reproduce` prints of the experiment."""
        if self.error:
            return f"failed: {self.error}"
        return "\n".join([self.tables, "", *render_claims(self.claims)])


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
    module, n = find_experiment(name), repetitions or count_repetitions(name)
    figure = folder / f"{name}.png"
    figure.unlink(missing_ok=True)
    start = time.perf_counter()
    table = module.run(seed=seed, repetitions=n)
    tables, claims = "\n".join(module.tabulate(table)), list_claims(name, table)
    write_atomically(folder / f"{name}.csv", render_csv(table))
    save_figure(name, table, figure)
    seconds = time.perf_counter() - start
    outcome = Outcome(name, describe_experiment(module), n, seconds, tables, claims, figure, ours=is_ours(module))
    write_atomically(folder / f"{name}.txt", outcome.text + "\n")
    return outcome


def _read_outcome(name: str, repetitions: int | None, result: Outcome | Failure) -> Outcome:
    if isinstance(result, Outcome):
        return result
    module = find_experiment(name)
    n = repetitions or count_repetitions(name)
    return Outcome(name, describe_experiment(module), n, 0.0, error=result.reason, ours=is_ours(module))


# The page


def render_page(outcomes: list[Outcome], seed: int) -> str:
    """Return one HTML page, in the design of the reports; every text in it is escaped, every claim stands once."""
    styles, title = Styles(), "Published experiments run again, and our own"
    body = page.render_body(
        (Path(__file__).parent / "experiments.html").read_text(encoding="utf-8"),
        title=title,
        outcomes=outcomes,
        images={o.name: _as_data(o.figure) for o in outcomes if o.figure},
        default={o.name: count_repetitions(o.name) for o in outcomes},
        counts=[(whose, *_count_held(outcomes, whose == "our own")) for whose in ("published", "our own")],
        failed=[o.name for o in outcomes if o.error],
        seed=seed,
        day=date.today().isoformat(),
        good=styles.name_of("color: var(--good)"),
        bad=styles.name_of("color: var(--bad)"),
        tables=styles.name_of("white-space: pre"),
        image=styles.name_of("max-width: 100%"),
    )
    contents = [("claims", "Claims"), *((o.name, o.name) for o in outcomes)]
    return page.render_page(title, body, styles, contents)


def _count_held(outcomes: list[Outcome], ours: bool) -> tuple[int, int]:
    """Return how many claims hold and how many there are, of our own or of the published ones."""
    held = [claim["holds"] for o in outcomes for claim in o.claims if (claim["published"] is None) == ours]
    return sum(held), len(held)


def _as_data(figure: Path) -> str:
    return "data:image/png;base64," + base64.b64encode(figure.read_bytes()).decode()
