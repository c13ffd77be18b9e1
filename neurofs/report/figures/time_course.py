"""Decoding error against the time in the trial."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from neurofs.comparison.comparison import Comparison
from neurofs.ground.errors import printable
from neurofs.report.captions import COURSES, count_of, write_caption
from neurofs.report.palette import TRUE, Key, find_key
from neurofs.report.pictures import Panel, Picture, Table

FEWEST = 10
"""Trials that a bin of time needs to be shown."""


@dataclass(frozen=True, eq=False)
class Course:
    """Of one output, in bins of time since the start of the trial: error (or accuracy), reference, and trials."""

    name: str
    unit: str
    time: np.ndarray
    score: np.ndarray
    reference: np.ndarray
    n: np.ndarray

    @property
    def is_sparse(self) -> np.ndarray:
        """Where less than half of the trials go on that long, or begin that early."""
        return self.n < 0.5 * self.n.max()


def draw_time_course(comparison: Comparison) -> Picture | None:
    """Return the error of the main method against the time in the trial, a panel per output.

    None where there are no trials, or fewer than ten of them share at least three bins of time.
    """
    courses = list(find_courses(comparison))
    if not courses:
        return None
    summary = comparison.summary
    kind, key = "classes" if summary.session.classes else "values", find_key(summary.main)
    words = COURSES[kind]
    panels = [
        Panel(
            course.name if len(courses) > 1 else "",
            _describe(course, words["what"]),
            partial(_plot_course, course=course, key=key, what=words["what"]),
        )
        for course in courses
    ]
    few = COURSES["few"]["text"] if any(course.is_sparse.any() for course in courses) else ""
    n = count_of(int(max(course.n.max() for course in courses)), "trial")
    caption = write_caption("time-course", n=n, few=few, **words)
    legend = [Key(f"{words['what']}, {key.label}", key.color, "o", "-"), Key(words["reference"], TRUE, "", "-")]
    return Picture("time-course", caption, panels, legend, _tabulate(courses, words))


def find_courses(comparison: Comparison) -> Iterator[Course]:
    """Yield error and reference of each output in each bin of time that enough trials have."""
    table, session, facts = comparison.predictions, comparison.session, comparison.summary.session
    if comparison.summary.main not in table["method"].values or not session.sizes["trial"]:
        return
    trial = table["trial"].values.astype(int)
    start = session["trial_start"].values[np.maximum(trial, 0)]
    place = np.floor((table["time"].values - start) / facts.bin_width + 1e-6)
    decoded = table["predicted"].sel({"method": comparison.summary.main}).isel(repeat=0).transpose("output", "time")
    score = _score_classes if facts.classes else _score_values
    for o, output in enumerate(facts.outputs):
        true, guess = table["target"].values[:, o], decoded.values[o].astype(float)
        kept = np.flatnonzero((trial >= 0) & np.isfinite(true) & np.isfinite(guess))
        parts = [part for part in _split(kept, place) if len(np.unique(trial[part])) >= FEWEST]
        if len(parts) >= 3:
            time = (np.array([place[part[0]] for part in parts]) + 0.5) * facts.bin_width
            found, reference = np.array([score(true[part], guess[part]) for part in parts]).T
            n = np.array([len(np.unique(trial[part])) for part in parts])
            yield Course(output.name, output.unit, time, found, reference, n)


def _split(rows: np.ndarray, place: np.ndarray) -> list[np.ndarray]:
    """Return the rows of each bin of time, in the order of time.

    >>> _split(np.array([0, 1, 2, 3]), np.array([5.0, 6.0, 5.0, 6.0]))
    [array([0, 2]), array([1, 3])]
    """
    order = rows[np.argsort(place[rows], kind="stable")]
    return np.split(order, np.flatnonzero(np.diff(place[order])) + 1)


def _score_values(true: np.ndarray, guess: np.ndarray) -> tuple[float, float]:
    """Return the root mean squared error, and the standard deviation of the truth, over trials."""
    return float(np.sqrt(np.mean((true - guess) ** 2))), float(true.std())


def _score_classes(true: np.ndarray, guess: np.ndarray) -> tuple[float, float]:
    """Return the share of trials whose class is right, and the share of the most frequent class."""
    return float(np.mean(true == guess)), float(np.unique(true, return_counts=True)[1].max() / len(true))


def _describe(course: Course, what: str) -> str:
    first, last = course.time[0], course.time[-1]
    return (
        f"{what} of {printable(course.name)} from {first:.2g} to {last:.2g} s after the start of the trial, "
        f"{course.score.min():.3g} to {course.score.max():.3g}"
    )


def _plot_course(axes: Any, course: Course, key: Key, what: str) -> None:
    """Draw the course, dotted where fewer than half of the trials are, with the reference behind it."""
    axes.plot(course.time, course.reference, color=TRUE, lw=2.4)
    marked = {"marker": "o", "ms": 3} if len(course.time) <= 40 else {}
    axes.plot(course.time, course.score, color=key.color, lw=1.0, ls=":")
    axes.plot(course.time, np.where(course.is_sparse, np.nan, course.score), color=key.color, lw=1.6, **marked)
    unit = f" ({printable(course.unit)})" if course.unit else ""
    axes.set(xlabel="time since the start of the trial (s)", ylabel=what + unit)
    axes.set_ylim(bottom=0)


def _tabulate(courses: list[Course], words: dict[str, str]) -> Table:
    rows = [
        (course.name, round(float(t), 6), *(float(v) for v in values), int(n))
        for course in courses
        for t, *values, n in zip(course.time, course.score, course.reference, course.n, strict=True)
    ]
    columns = ("output", "middle of the bin (s)", words["what"], words["reference"], "trials")
    return Table(f"{words['what']} by time in the trial", columns, rows)
