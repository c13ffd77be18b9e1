"""What is decoded: behavior series brought onto the bins of a tensor.

A target is named ``NAME`` (a behavior series), ``NAME:COLUMN`` (one of its columns) or ``NAME.velocity``
(its derivative). Within a bin the samples are averaged; a series that is sampled slower than the bins is
interpolated at their centers. Circular series become their cosine and sine: an average of angles means
nothing. A condition of the trials, such as the direction of a reach, is a target of classes.

A derivative and an interpolation take samples of neighboring bins. `find_span` tells how far apart two bins
must lie so that their targets come from different samples; folds keep this distance (`features.splits`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pandas as pd
from scipy.signal import savgol_filter

from neurofs.features.grid import Grid
from neurofs.features.target_names import check_named, explain_unknown_target, list_conditions
from neurofs.ground.errors import UsageError, printable, quoted
from neurofs.recordings.conditions import find_classes
from neurofs.recordings.recording import TICK, Recording, Series

POSITION_OF = {"velocity": "position", "Velocity": "Position", "vel": "pos", "Vel": "Pos"}


@dataclass(frozen=True, eq=False)
class Target:
    """A series to decode, a note if it was derived, and over how many seconds two of its samples share raw ones."""

    series: Series
    note: str = ""
    reach: float = 0.0


def find_target(name: str, recording: Recording, trials: np.ndarray, bin_width: float) -> Target:
    """Return the series that `name` asks for.

    `trials` are the intervals (n, 2) that a derivative must not cross.
    """
    found = _find_series(name, recording.behavior, trials, bin_width)
    if found is not None:
        check_named(name, found.series)
        return found
    base, _, column = name.rpartition(":")
    found = _find_series(base, recording.behavior, trials, bin_width) if base else None
    if found is None:
        raise UsageError(explain_unknown_target(name, recording))
    return replace(found, series=_pick_column(found.series, column))


def _find_series(name: str, behavior: Mapping[str, Series], trials: np.ndarray, bin_width: float) -> Target | None:
    """Return a series of the recording, or a velocity that is derived from one."""
    if name in behavior:
        return Target(behavior[name])
    source = _position_of(name, behavior)
    return None if source is None else derive_velocity(behavior[source], trials, bin_width)


def _position_of(name: str, behavior: Mapping[str, Series]) -> str | None:
    """Return the series of which `name` is the velocity: asked for, or known by its name."""
    base, dot, kind = name.rpartition(".")
    if dot and kind == "velocity" and base in behavior:
        return base
    guesses = (name.replace(velocity, position) for velocity, position in POSITION_OF.items() if velocity in name)
    return next((guess for guess in guesses if guess in behavior), None)


def _pick_column(series: Series, column: str) -> Series:
    if column not in series.columns:
        known = ", ".join(printable(known) for known in series.columns[:12])
        raise UsageError(f"target {quoted(series.name)}: no column {quoted(column)}; it has: {known}")
    i = series.columns.index(column)
    return replace(series, values=series.values[:, i : i + 1], columns=(column,))


def derive_velocity(series: Series, trials: np.ndarray, bin_width: float) -> Target:
    """Return the derivative of a series, by a cubic Savitzky–Golay filter about one bin wide.

    The filter crosses neither a gap in the samples nor the edge of a trial. Angles are unwrapped first. Two samples
    of the derivative share raw ones up to a width of the filter apart, and up to one and a half at the ends of a
    stretch, where the filter is not centered; uneven samples, which are interpolated twice, up to four steps more.
    """
    size = max(5, int(bin_width / series.interval) // 2 * 2 + 1)
    velocity = np.full(series.values.shape, np.nan)
    for part in _stretches(series, trials):
        if part.stop - part.start >= size:
            velocity[part] = _slope(series, part, size)
    note = (
        f"velocity of {series.name!r}: Savitzky–Golay derivative, cubic, {size} samples "
        f"({size * series.interval:.3g} s)"
    )
    name, unit = f"{series.name}.velocity", f"{series.unit}/s" if series.unit else ""
    columns = () if series.columns == (series.name,) else series.columns
    n_steps = size - 1 + size // 2 + (0 if _is_even(series) else 4)
    return Target(Series(name, series.time, velocity, columns, unit), note, n_steps * _longest_step(series, 1.5))


def _longest_step(series: Series, limit: float) -> float:
    """Return the longest time between two samples that is no gap: none of more than `limit` intervals."""
    steps = np.diff(series.time)
    return float(np.max(steps, initial=0.0, where=steps <= limit * series.interval)) if len(steps) else 0.0


def _is_even(series: Series) -> bool:
    """Whether the steps between samples, gaps aside, differ by less than the rounding of their times."""
    steps = np.diff(series.time)
    steps = steps[steps <= 1.5 * series.interval]
    return bool(np.ptp(steps) <= 1e-6 * series.interval) if len(steps) else True


def _stretches(series: Series, trials: np.ndarray) -> list[slice]:
    """Cut the samples where time jumps by more than 1.5 intervals and where a trial begins or ends.

    Times are compared in whole ticks, as bins are: a sample at 1.4999999999999998 s is of the trial from 1.5 s on.
    """
    jumps = np.flatnonzero(np.diff(series.time) > 1.5 * series.interval) + 1
    edges = np.searchsorted(_to_ticks(series.time), _to_ticks(np.asarray(trials, dtype=np.float64).reshape(-1)))
    cuts = np.unique(np.concatenate([[0], jumps, edges, [len(series.time)]])).astype(int)
    return [slice(a, b) for a, b in pairwise(cuts)]


def _to_ticks(times: np.ndarray) -> np.ndarray:
    return np.rint(times / TICK)


def _slope(series: Series, part: slice, size: int) -> np.ndarray:
    time, values = series.time[part], series.values[part]
    if series.circular:
        values = np.unwrap(values, axis=0)
    even = np.linspace(time[0], time[-1], len(time))
    if np.abs(even - time).max() > 0.01 * series.interval:
        values = np.column_stack([np.interp(even, time, column) for column in values.T])
    slope = savgol_filter(values, size, 3, deriv=1, delta=even[1] - even[0], axis=0, mode="interp")
    return np.column_stack([np.interp(time, even, column) for column in slope.T])


def resample(series: Series, grid: Grid) -> tuple[np.ndarray, tuple[str, ...], str]:
    """Return the series on the bins of `grid` (bin, output), the names of the outputs, and how it was done.

    A bin with a missing sample, or with none, is NaN.
    """
    series = _as_components(series) if series.circular else series
    if _is_slow(series, grid):
        return _interpolate(series, grid), series.columns, "interpolated at the center of the bin"
    return _average(series, grid), series.columns, "mean within the bin"


def find_span(target: Target, grid: Grid) -> int:
    """Return how many bins apart two bins must lie for their targets to share no raw sample.

    >>> grid = Grid(origin=0.0, width=100_000_000, n_bins=100)      # bins of 0.1 s
    >>> fast, slow = (Series("x", np.arange(0, 10, step), np.zeros(round(10 / step))) for step in (0.02, 0.25))
    >>> find_span(Target(fast), grid), find_span(Target(fast, reach=0.12), grid), find_span(Target(slow), grid)
    (1, 3, 5)
    """
    if _is_slow(target.series, grid):
        return _whole_bins(target.reach + 2 * _longest_step(target.series, 2.0), grid)
    return 1 + _whole_bins(target.reach, grid)


def _whole_bins(seconds: float, grid: Grid) -> int:
    return int(np.ceil(round(seconds / grid.bin_width, 6)))


def _is_slow(series: Series, grid: Grid) -> bool:
    """Whether there are bins without a sample of their own."""
    return len(series.time) > 1 and series.interval > grid.bin_width * (1 + 1e-6)


def _as_components(series: Series) -> Series:
    parts = [part for column in series.values.T for part in (np.cos(column), np.sin(column))]
    names = [f"{part}({column})" for column in series.columns for part in ("cos", "sin")]
    return replace(series, values=np.column_stack(parts), columns=tuple(names), unit="", circular=False)


def _average(series: Series, grid: Grid) -> np.ndarray:
    bins = grid.bins(series.time)
    keep = (bins >= 0) & (bins < grid.n_bins)
    bins, values = bins[keep], series.values[keep]
    n = np.bincount(bins, minlength=grid.n_bins)
    sums = [np.bincount(bins, weights=column, minlength=grid.n_bins) for column in values.T]
    with np.errstate(invalid="ignore"):
        return np.column_stack(sums) / n[:, None]


def _interpolate(series: Series, grid: Grid) -> np.ndarray:
    centers, time = grid.centers, series.time
    right = np.clip(np.searchsorted(time, centers), 1, len(time) - 1)
    near = (time[right] - time[right - 1] <= 2 * series.interval) & (centers >= time[0]) & (centers <= time[-1])
    columns: Sequence[np.ndarray] = [np.interp(centers, time, column) for column in series.values.T]
    return np.where(near[:, None], np.column_stack(columns), np.nan)


def is_condition(name: str, recording: Recording) -> bool:
    """Whether a target names a condition of the trials and no behavior series.

    >>> import pandas as pd
    >>> trials = pd.DataFrame({"start": [0.0], "stop": [1.0], "direction": [3]})
    >>> is_condition("direction", Recording("toy", spikes=[[0.5]], trials=trials))
    True
    """
    return name in list_conditions(recording) and name not in recording.behavior


def encode_condition(name: str, trials: pd.DataFrame) -> tuple[np.ndarray, list[str]]:
    """Return the number of the class of each trial (NaN where it is missing), and the classes in order.

    >>> import pandas as pd
    >>> encode_condition("side", pd.DataFrame({"side": ["right", "left", None, "right"]}))
    (array([ 1.,  0., nan,  1.]), ['left', 'right'])
    """
    codes, classes = find_classes(trials[name])
    if len(classes) < 2:
        raise UsageError(f"target {quoted(name)}: expected a condition with at least 2 values; found {len(classes)}")
    return np.where(codes < 0, np.nan, codes), classes
