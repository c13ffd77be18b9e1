"""All experiments in one go: each in a process of its own, then one page with all claims, tables and figures.

A process of its own means that an experiment that fails, in whatever way, stops none of the others.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from neurofs import __version__
from neurofs.errors import InputError, UsageError, printable
from neurofs.reproduce import EXPERIMENTS, count_repetitions, describe_experiment, find_experiment
from neurofs.reproduce.claims import TITLE
from neurofs.worker import SINGLE_THREAD

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
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(folder, "a folder to write to", error.strerror, "Choose another --out.") from None
    names = list(names)
    pool = ThreadPoolExecutor(jobs)
    try:
        waiting = [pool.submit(_run_one, name, folder, seed, repetitions, report) for name in names]
        outcomes = [future.result() for future in waiting]
    finally:
        pool.shutdown(cancel_futures=True)
    (folder / "index.html").write_text(render_page(outcomes, seed), encoding="utf-8")
    return outcomes


def _run_one(
    name: str, folder: Path, seed: int, repetitions: int | None, report: Callable[[str], None]
) -> Outcome:
    n = repetitions or count_repetitions(name)
    figure = folder / f"{name}.png"
    figure.unlink(missing_ok=True)
    command = [sys.executable, "-m", "neurofs", "reproduce", name, "--json", "--seed", str(seed)]
    command += ["--repetitions", str(n), "--figure", str(figure), "--out", str(folder / f"{name}.csv")]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=_environment())
    seconds = time.perf_counter() - start
    outcome = _read_outcome(name, n, seconds, done, figure)
    if not outcome.error:
        (folder / f"{name}.txt").write_text(outcome.text + "\n", encoding="utf-8")
    report(f"{name}: {'failed' if outcome.error else 'done'} after {seconds:.0f} s")
    return outcome


def _environment() -> dict[str, str]:
    """Let the process find this package, with one thread for each library and text in UTF-8."""
    package = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(part for part in (package, os.environ.get("PYTHONPATH", "")) if part)
    return {**os.environ, **SINGLE_THREAD, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"}


def _read_outcome(
    name: str, repetitions: int, seconds: float, done: subprocess.CompletedProcess[str], figure: Path
) -> Outcome:
    title = describe_experiment(find_experiment(name))
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"]
        error = " ".join(printable(word) for word in lines[-1].split())
        return Outcome(name, title, repetitions, seconds, error=error)
    record = json.loads(done.stdout)
    found = figure if figure.exists() else None
    return Outcome(name, title, repetitions, seconds, record["text"], record["claims"], found)


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
