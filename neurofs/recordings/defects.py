"""Every rule that a recording may break; `Recording` checks them when it is made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from neurofs.ground.errors import InputError

if TYPE_CHECKING:
    from neurofs.recordings.recording import Recording, Series

TICK = 1e-9
"""Seconds per tick: all comparisons of times with bin edges are made in whole nanoseconds."""

FARTHEST = 1e10
"""Seconds from zero beyond which no clock of a recording goes (those since 1970 are below 2e9)."""

LONGEST = 1e8
"""Seconds that a session may take: three years."""

MOST_COLUMNS = 1000
"""Columns of a behavior series."""

LARGEST, MOST_COUNTS = 1e100, 1e9
"""The largest number in a series, whose square is still one, and of spikes in a bin."""

LARGEST_SIGNAL = 1e15
"""The largest number in a signal, whose square is still one in single precision."""


def find_defects(r: Recording) -> Iterator[InputError]:
    """Yield every rule that the recording breaks."""
    yield from _spike_defects(r) if r.spikes is not None else _count_defects(r)
    yield from _channel_defects(r)
    yield from _interval_defects("observed intervals", r.observed)
    yield from _trial_defects(r)
    for series in r.behavior.values():
        yield from _series_defects(series)


def _channel_defects(r: Recording) -> Iterator[InputError]:
    if r.n_channels == 0:
        yield InputError("channels", "at least one channel", "none", "Check which object holds the spikes.")
    if len(r.channels) != r.n_channels:
        yield InputError(
            "channel table",
            f"{r.n_channels} rows, one per channel",
            len(r.channels),
            "Check that the table belongs to these channels.",
        )
    repeated = r.channels["name"][r.channels["name"].duplicated()]
    if len(repeated):
        yield InputError(
            f"channel '{repeated.iloc[0]}'", "a name used once", "the same name again", "Rename the channels."
        )


def _spike_defects(r: Recording) -> Iterator[InputError]:
    names = r.channels["name"].tolist() + [str(i) for i in range(len(r.channels), r.n_channels)]
    for name, times in zip(names, r.spikes or (), strict=False):
        defect = _spike_time_defect(times)
        if defect:
            yield InputError(f"channel '{name}'", *defect)
    if r.n_channels and not any(len(times) for times in r.spikes or ()):
        yield InputError("spikes", "at least one spike", "none in any channel", "Check which object holds the spikes.")


def _spike_time_defect(times: np.ndarray) -> tuple[str, str, str] | None:
    if times.ndim != 1:
        return "a list of spike times", f"an array of shape {times.shape}", "Give one list per channel."
    if not len(times):
        return None
    if not np.isfinite(times.sum()):
        bad = np.flatnonzero(~np.isfinite(times))
        return "finite spike times", f"{times[bad[0]]} at position {bad[0]}", "Remove the missing spikes."
    if max(abs(times.min()), abs(times.max())) > FARTHEST:
        return f"times below {FARTHEST:g} s", f"{times[np.argmax(np.abs(times))]:g} s", "Check --time-unit."
    rises = times[1:] >= times[:-1]
    if not rises.all():
        i = int(np.argmin(rises))
        if _begins_anew(times, np.flatnonzero(~rises)):
            found = f"{times[i + 1]:g} after {times[i]:g}, where the clock begins anew"
            return "one clock", found, "Give times on one clock, or each part apart; sorted, they would be mixed."
        return (
            "spike times in increasing order",
            f"{times[i + 1]:g} after {times[i]:g}",
            "Sort them, or pass --sort-spikes.",
        )
    return None


def _begins_anew(times: np.ndarray, falls: np.ndarray) -> bool:
    """Whether times that fall now and then do so from far up, as those of trials or recordings put together do."""
    drops = times[falls] - times[falls + 1]
    around = np.concatenate([[-np.inf], times, [np.inf]])  # one spike in a wrong place is no part
    parts = (around[falls] > times[falls + 1]) & (times[falls] > around[falls + 3])
    return bool(parts.mean() > 0.5 and len(falls) < 0.2 * len(times) and np.median(drops) > 0.3 * np.ptp(times))


def _count_defects(r: Recording) -> Iterator[InputError]:
    counts = r.counts
    if counts.ndim != 2 or counts.dtype.kind not in "uifb":
        yield InputError(
            "counts", "numbers (time, channel)", f"{counts.dtype} of shape {counts.shape}", "Check --counts."
        )
        return
    if not np.isfinite(r.bin_width) or r.bin_width < TICK:
        yield InputError("counts", "a bin width in seconds", r.bin_width, "Say it with --counts-bin-width.")
    if not abs(r.start) <= FARTHEST:
        yield InputError("counts", f"a start within {FARTHEST:g} s", r.start, "Check the times of the bins.")
    if not counts.size:
        yield InputError("counts", "at least one bin", f"shape {counts.shape}", "Check --counts.")
    elif r.is_signal and not np.isfinite(counts).all():
        row, channel = np.argwhere(~np.isfinite(counts))[0]
        where = f"signal of channel {channel}, sample {row}"
        remedy = "Leave the channel out, or mark such samples as not observed."
        yield InputError(where, "a finite number", counts[row, channel], remedy)
    elif r.is_signal and np.abs(counts).max() > LARGEST_SIGNAL:
        yield InputError("signal", f"numbers up to {LARGEST_SIGNAL:g}", np.abs(counts).max(), "Check --signal.")
    elif r.is_signal:
        return
    elif counts.dtype.kind in "if" and not np.min(counts) >= 0:
        row, channel = np.argwhere(~(counts >= 0))[0]
        yield InputError(
            f"counts of channel {channel}, bin {row}",
            "a number of spikes",
            counts[row, channel],
            "Remove or mark these bins; counts cannot be negative or missing.",
        )
    elif not np.max(counts) <= MOST_COUNTS:
        yield InputError("counts", f"at most {MOST_COUNTS:g} in a bin", np.max(counts), "Check --counts.")


def _interval_defects(where: str, intervals: np.ndarray) -> Iterator[InputError]:
    if not np.isfinite(intervals).all():
        yield InputError(where, "finite start and stop times", "NaN or infinity", "Correct the intervals.")
        return
    if len(intervals) and (np.abs(intervals).max() > FARTHEST or np.ptp(intervals) > LONGEST):
        found = f"{intervals.min():g} to {intervals.max():g} s"
        yield InputError(where, f"at most {LONGEST:g} s", found, "Check the times, and --time-unit.")
        return
    empty = np.flatnonzero(intervals[:, 1] <= intervals[:, 0])
    if len(empty):
        start, stop = intervals[empty[0]]
        yield InputError(f"{where}, row {empty[0]}", "a stop after the start", f"{start:g} to {stop:g}", "Correct it.")
        return
    overlaps = np.flatnonzero(intervals[1:, 0] < intervals[:-1, 1])
    if len(overlaps):
        i = overlaps[0]
        yield InputError(
            where,
            "intervals in order that do not overlap",
            f"{intervals[i + 1, 0]:g} before the end {intervals[i, 1]:g} of the one before",
            "Correct them.",
        )


def _trial_defects(r: Recording) -> Iterator[InputError]:
    trials = r.trials
    if not {"start", "stop"} <= set(trials.columns):
        yield InputError("trials", "columns start and stop", list(trials.columns), "Name them so.")
        return
    intervals = trials[["start", "stop"]].to_numpy(dtype=np.float64)
    if np.isfinite(intervals).all():
        intervals = intervals[np.argsort(intervals[:, 0], kind="stable")]
    for defect in _interval_defects("trials", intervals):
        remedy = "Correct the table, or leave trials out with --no-trials."
        yield InputError(defect.where, defect.expected, defect.found, remedy)


def _series_defects(series: Series) -> Iterator[InputError]:
    where = f"series '{series.name}'"
    if len(series.columns) > MOST_COLUMNS:
        found = f"{len(series.columns):,}"
        yield InputError(where, f"at most {MOST_COLUMNS:,} columns", found, "Choose other series with --behavior.")
        return
    if not np.isfinite(series.time).all():
        yield InputError(where, "finite timestamps", "NaN or infinity", "Remove these samples.")
        return
    if np.abs(series.time).max(initial=0.0) > FARTHEST:
        found = f"{np.abs(series.time).max():g} s"
        yield InputError(where, f"timestamps below {FARTHEST:g} s", found, "Check the unit of the times.")
        return
    falls = np.flatnonzero(np.diff(series.time) <= 0)
    if len(falls):
        i = falls[0]
        yield InputError(
            where,
            "timestamps that increase",
            f"{series.time[i + 1]:g} after {series.time[i]:g}",
            "Remove the repeated or misplaced samples.",
        )
    elif len(series.time) > 1 and series.interval < TICK:
        yield InputError(where, "samples more than a nanosecond apart", f"{series.interval:g} s", "Check the times.")
    if np.isinf(series.values).any():
        yield InputError(where, "finite numbers or NaN", "infinity", "Correct these samples.")
    elif series.values.size and np.nanmax(np.abs(series.values), initial=0.0) > LARGEST:
        found = f"{np.nanmax(np.abs(series.values)):g}"
        yield InputError(where, f"numbers up to {LARGEST:g}", found, "Correct these samples.")
