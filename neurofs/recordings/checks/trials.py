"""Trials that are something else: in another unit, sorted by condition, out of order, too short."""

import re
from collections.abc import Iterator

import numpy as np
import pandas as pd

from neurofs.ground.errors import quoted
from neurofs.recordings.checks.clocks import name_factor
from neurofs.recordings.recording import Recording
from neurofs.recordings.remarks import Remark, number

MARKS = (-1.0, -99.0, -999.0, -9999.0, 99.0, 999.0, 9999.0)
"""Numbers that often stand for no value."""

SHORTEST = 0.1
"""Seconds of a trial in which nothing can be decoded."""

BLOCKS = re.compile(r"block|epoch|phase|session|set|day|run|segment|part|stage|period", re.IGNORECASE)
"""Columns that say when a trial was done: they come in blocks by their nature."""

FEW_VALUES, MANY_VALUES = 2, 4
"""Values of a condition: trials in blocks of two or three are a usual design, sorted by four or more are not."""


def check_trials(r: Recording) -> Iterator[Remark]:
    """Yield what says that trials are not intervals of this session, in the order in which they were done."""
    if not len(r.trials):
        return
    start, stop = r.span
    starts = r.trials["start"].to_numpy(dtype=np.float64)
    stops = r.trials["stop"].to_numpy(dtype=np.float64)
    yield from _check_inside(starts, stops, start, stop)
    if (np.diff(starts) < 0).any():
        yield Remark("the table of trials is not in order of time: is each trial's condition beside its own times?")
    short = int((stops - starts < SHORTEST).sum())
    if short > len(starts) / 2:
        text = f"{short} of {len(starts)} trials are shorter than {SHORTEST:g} s: are their times in another unit?"
        yield Remark(text, serious=True)
    order = np.argsort(starts, kind="stable")
    for name in r.trials.columns:
        if name not in ("start", "stop"):
            yield from _check_sorted(str(name), r.trials[name].iloc[order])
            yield from _check_mark(str(name), r.trials[name])


def _check_inside(starts: np.ndarray, stops: np.ndarray, start: float, stop: float) -> Iterator[Remark]:
    outside = int(((starts < start - 1e-9) | (stops > stop + 1e-9)).sum())
    inside = int(((starts < stop) & (stops > start)).sum())
    unit = name_factor(float(stops.max() - starts.min()) / max(stop - start, 1e-9))
    if inside < len(starts) / 2:
        why = f"are their times in {unit}?" if unit else "do they keep the clock of the spikes, in seconds?"
        text = f"only {inside} of {len(starts)} trials lie in the observed span {start:g} to {stop:g} s"
        yield Remark(f"{text}; they run from {starts.min():g} to {stops.max():g}: {why}", serious=True)
    elif outside:
        yield Remark(
            f"{number(outside, 'trial reaches', 'trials reach')} beyond the observed span {start:g} to {stop:g} s"
        )
    if stops.max() - starts.min() < 0.02 * (stop - start) and len(starts) > 10:
        text = f"all {len(starts)} trials lie within {stops.max() - starts.min():.3g} s of {stop - start:.6g} s"
        yield Remark(f"{text}: are their times in another unit (minutes, or bins)?", serious=True)


def _check_mark(name: str, values: pd.Series) -> Iterator[Remark]:
    """Find a number that stands for no value, and would be a class of its own."""
    if values.dtype.kind not in "iuf" or not values.notna().any():
        return
    numbers, counts = np.unique(values.dropna().to_numpy(dtype=np.float64), return_counts=True)
    marks = [mark for mark in MARKS if mark in numbers and len(numbers) > MANY_VALUES and _is_alone(mark, numbers)]
    for mark in marks:
        n = number(int(counts[numbers == mark][0]), "trial has", "trials have")
        text = f"{n} {mark:g} for {quoted(name)}, far from all others"
        yield Remark(f"{text}: a mark for no value? It is a class of its own: leave it out with --where")


def _is_alone(mark: float, numbers: np.ndarray) -> bool:
    rest = numbers[numbers != mark]
    return bool(rest.min() >= 0 if mark == -1 else np.abs(rest - mark).min() > np.ptp(rest) / 4)


def _check_sorted(name: str, values: pd.Series) -> Iterator[Remark]:
    """Find trials that were sorted by a condition: each value in one run, several trials long."""
    known = values.dropna()
    n_values = known.nunique()
    if n_values < FEW_VALUES or len(known) < 3 * n_values or BLOCKS.search(name):
        return
    n_runs = int((known.to_numpy()[1:] != known.to_numpy()[:-1]).sum()) + 1
    if n_runs == n_values:
        text = f"trials are sorted by {quoted(name)}: each of its {n_values} values comes in one block"
        why = "a fold then holds conditions never trained on: drift looks like tuning, and p may be too small"
        yield Remark(f"{text}; {why}", serious=n_values >= MANY_VALUES)
