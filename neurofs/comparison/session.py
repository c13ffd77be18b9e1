"""What the report shows of a session itself: its channels and their tuning, its trials, and spikes around events.

`describe_session` returns one dataset, the `session.nc` of a run folder:

    rate, presence, fano           (channel)  spikes per second; share of 20 parts of the session with spikes;
                                              variance over mean of the counts in the bins of the tensor
    mean, sd                       (channel)  of a continuous signal, which has no rate; NaN of spikes
    silent, partly_active          (channel)  no spike at all; spikes in less than 80 % of the session
    duplicate_of                   (channel)  the first channel with exactly the same spikes, or ""
    electrode, kind, x, y          (channel)  as the file has them; "" and NaN where it does not
    trial_start, trial_stop        (trial)    seconds
    gap_start, gap_stop            (gap)      stretches in which nothing was observed
    raster                         (raster_channel, event, raster_time)  spikes per bin, or the mean of the signal;
                                              NaN outside the trial
    onset, event_trial, event_condition  (event)  the moment aligned to, its trial (-1: none) and condition
    tuning_rate, tuning_error      (raster_channel, tuning_bin)  spikes per second, or the mean of the signal, and the
                                              standard error of this mean
    tuning_lag                     (raster_channel)  seconds; the lag at which counts go best with the outputs
    tuning_value, tuning_label, tuning_n  (tuning_bin)  middle of a bin of the target (degrees for directions and
                                              angles, the number of a class), its name, and its samples

The attribute ``numbers`` is "spikes", or the unit of a continuous signal. ``alignment`` says in words what `onset` is,
``condition`` which column of the trials the conditions are from. ``tuning_kind`` (direction, angle, value, classes),
``tuning_name`` and ``tuning_unit`` say what rates are held against (`comparison.tuning`). Everything survives a netCDF
round trip unchanged.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from neurofs.comparison.tuning import describe_tuning
from neurofs.features.target_names import list_conditions
from neurofs.recordings.quality import measure_activity
from neurofs.recordings.recording import TICK, Recording, find_gaps

BEFORE, AFTER = 0.5, 1.0
"""Seconds of the raster before and after movement onset."""

RASTER_BIN = 0.01
"""Width of the bins of the raster in seconds; the bins of the file where these are wider."""

MAX_CHANNELS, MAX_EVENTS = 12, 60

MOVING = 0.2
"""A movement begins where the speed first passes this share of its peak."""

_UNKNOWN: dict[Any, dict[tuple[str, ...], tuple[str, ...]]] = {
    np.nan: {
        ("channel",): ("rate", "presence", "fano", "mean", "sd", "x", "y"),
        ("trial",): ("trial_start", "trial_stop"),
        ("gap",): ("gap_start", "gap_stop"),
        ("raster_channel", "event", "raster_time"): ("raster",),
        ("raster_channel", "tuning_bin"): ("tuning_rate", "tuning_error"),
        ("raster_channel",): ("tuning_lag",),
    },
    False: {("channel",): ("silent", "partly_active")},
    "": {("channel",): ("duplicate_of", "electrode", "kind")},
}
"""What stands for a variable that a run folder does not have, by its dimensions."""


def describe_session(recording: Recording, tensor: xr.Dataset, channels: Sequence[str]) -> xr.Dataset:
    """Return what a report shows of the session itself.

    Parameters
    ----------
    recording : Recording
    tensor : Dataset
        What `build_tensor` made of the recording.
    channels : sequence of str
        Names of the most informative channels, best first; raster and tuning show up to 12 of them.

    Examples
    --------
    >>> from neurofs.recordings.simulate import simulate_session
    >>> from neurofs.features.tensor import build_tensor
    >>> recording = simulate_session(8, n_electrodes=2)
    >>> session = describe_session(recording, build_tensor(recording, "hand_velocity"), ["1a", "2a"])
    >>> dict(session["raster"].sizes)
    {'raster_channel': 2, 'event': 8, 'raster_time': 150}
    >>> session.attrs["alignment"]
    'movement onset, from the trial column move_onset'
    """
    gaps = find_gaps(recording.observed)
    trials = recording.trials[["start", "stop"]].to_numpy(dtype=np.float64)
    described = xr.Dataset(
        {
            **_describe_channels(recording, tensor),
            "trial_start": ("trial", trials[:, 0], {"units": "s"}),
            "trial_stop": ("trial", trials[:, 1], {"units": "s"}),
            "gap_start": ("gap", gaps[:, 0], {"units": "s"}),
            "gap_stop": ("gap", gaps[:, 1], {"units": "s"}),
        },
        coords={"channel": recording.channels["name"].to_numpy(dtype=str)},
        attrs={"name": recording.name, "duration": recording.duration, "numbers": recording.unit},
    )
    shown = [str(name) for name in channels][:MAX_CHANNELS]
    parts = [described, _make_raster(recording, tensor, shown), find_tuning(recording, tensor, shown)]
    return xr.merge(parts, combine_attrs="no_conflicts", join="exact")


def find_tuning(r: Recording, tensor: xr.Dataset, shown: Sequence[str]) -> xr.Dataset:
    """Return the tuning of some channels, from their counts as they were recorded (`comparison.tuning`)."""
    names, edges = r.channels["name"].tolist(), _find_edges(tensor)
    counts = [_measure_bins(r, names.index(name), edges) for name in shown]
    return describe_tuning(tensor, np.array(counts).reshape(len(shown), len(edges) - 1).T, shown)


def fill_session(session: xr.Dataset, channels: Sequence[str] | np.ndarray) -> xr.Dataset:
    """Return the session with whatever is missing in it filled with unknowns, so that a report can show it.

    >>> fill_session(xr.Dataset(), ["a", "b"])["rate"].values
    array([nan, nan])
    """
    sizes = {"channel": len(channels), **session.sizes}
    missing = {
        name: (dims, np.full([sizes.get(dim, 0) for dim in dims], unknown))
        for unknown, by_dims in _UNKNOWN.items()
        for dims, names in by_dims.items()
        for name in names
        if name not in session
    }
    coords = {} if "channel" in session.coords else {"channel": np.asarray(channels)}
    return session.assign_coords(coords).assign(missing)


def _describe_channels(r: Recording, tensor: xr.Dataset) -> dict[str, tuple]:
    activity = measure_activity(r)
    first = {name: group[0] for group in activity.duplicates for name in group[1:]}
    unknown = np.full(r.n_channels, np.nan)
    mean, sd = r.measure_signal() if r.is_signal else (unknown, unknown)
    return {
        "mean": ("channel", mean, {"units": r.unit}),
        "sd": ("channel", sd, {"units": r.unit}),
        "rate": ("channel", activity.rate, {"units": "Hz"}),
        "presence": ("channel", activity.presence),
        "fano": ("channel", unknown if r.is_signal else _fano_factors(r, tensor)),
        "silent": ("channel", activity.silent),
        "partly_active": ("channel", activity.partly_active),
        "duplicate_of": ("channel", np.array([first.get(n, "") for n in r.channels["name"]], dtype=str)),
        "electrode": ("channel", _texts(r.channels, "electrode")),
        "kind": ("channel", _texts(r.channels, "kind")),
        "x": ("channel", _numbers(r.channels, "x", "rel_x")),
        "y": ("channel", _numbers(r.channels, "y", "rel_y")),
    }


def _texts(table: pd.DataFrame, column: str) -> np.ndarray:
    if column not in table:
        return np.full(len(table), "", dtype=str)
    return np.array(["" if pd.isna(value) else str(value) for value in table[column]], dtype=str)


def _numbers(table: pd.DataFrame, *columns: str) -> np.ndarray:
    """Return the first of the columns that is there, as numbers; NaN where there are none."""
    for column in columns:
        if column in table:
            return pd.to_numeric(table[column], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    return np.full(len(table), np.nan)


def _fano_factors(r: Recording, tensor: xr.Dataset) -> np.ndarray:
    """Return variance over mean of each channel's counts in the observed bins of the tensor."""
    edges = _find_edges(tensor)
    observed = _lie_inside(r.observed, edges[:-1], edges[1:])
    factors = np.full(r.n_channels, np.nan)
    for channel in range(r.n_channels):
        counts = np.diff(_count_before(r, channel, edges))[observed]
        if counts.any():
            factors[channel] = counts.var() / counts.mean()
    return factors


def _find_edges(tensor: xr.Dataset) -> np.ndarray:
    """Return where the bins of a tensor begin, and where the last one ends."""
    starts = tensor["time"].values
    return np.append(starts, starts[-1] + tensor.attrs["bin_width"])


def _count_before(r: Recording, channel: int, times: np.ndarray) -> np.ndarray:
    """Return the number of spikes of a channel before each time (of stored counts: before its bin)."""
    if r.spikes is not None:
        return np.searchsorted(r.spikes[channel], times - TICK / 2)
    total = np.concatenate([[0], np.cumsum(r.counts[:, channel], dtype=np.float64)])
    return total[np.clip(np.rint((times - r.start) / r.bin_width).astype(int), 0, len(total) - 1)]


def _measure_bins(r: Recording, channel: int, edges: np.ndarray) -> np.ndarray:
    """Return the spikes of a channel between each two edges (last axis), or the mean of its signal; NaN without any."""
    if not r.is_signal:
        return np.diff(_count_before(r, channel, edges))
    n_samples = np.diff(np.clip(np.rint((edges - r.start) / r.bin_width), 0, len(r.counts)))
    total = np.diff(_count_before(r, channel, edges))
    return np.divide(total, n_samples, out=np.full(total.shape, np.nan), where=n_samples > 0)


def _lie_inside(intervals: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Return which of the bins ``[start, stop)`` lie wholly inside one of the sorted intervals."""
    if not len(intervals):
        return np.zeros(np.shape(starts), dtype=bool)
    last = np.searchsorted(intervals[:, 0], starts + TICK, side="right") - 1
    return (last >= 0) & (stops <= intervals[np.maximum(last, 0), 1] + TICK)


# The raster


def _make_raster(r: Recording, tensor: xr.Dataset, shown: Sequence[str]) -> xr.Dataset:
    names = r.channels["name"].tolist()
    onset, trial, alignment = _find_onsets(r, tensor)
    column = _find_condition(r)
    condition = _texts(r.trials, column)[trial] if column else np.full(len(onset), "", dtype=str)
    offsets, width = _raster_bins(r)
    starts = onset[:, None] + offsets * width
    known = _lie_inside(r.observed, starts, starts + width) & _lie_in_trials(r, trial, starts, width)
    edges = np.append(starts, starts[:, -1:] + width, axis=1)
    counts = np.array([_measure_bins(r, names.index(name), edges) for name in shown])
    raster = np.where(known, counts.reshape(len(shown), *starts.shape), np.nan).astype(np.float32)
    return xr.Dataset(
        {
            "raster": (("raster_channel", "event", "raster_time"), raster),
            "onset": ("event", onset, {"units": "s"}),
            "event_trial": ("event", trial.astype(np.int64)),
            "event_condition": ("event", np.asarray(condition, dtype=str)),
        },
        coords={
            "raster_channel": np.array(shown, dtype=str),
            "raster_time": ("raster_time", np.round(offsets * width, 9), {"units": "s"}),
        },
        attrs={"alignment": alignment, "condition": column, "raster_bin": width},
    )


def _raster_bins(r: Recording) -> tuple[np.ndarray, float]:
    """Return the bins of the raster, counted from the onset, and their width in seconds."""
    own = r.bin_width if r.counts is not None else RASTER_BIN
    width = round(own * max(1, int(np.ceil(RASTER_BIN / own - 1e-6))), 9)
    return np.arange(-round(BEFORE / width), max(1, round(AFTER / width))), width


def _lie_in_trials(r: Recording, trial: np.ndarray, starts: np.ndarray, width: float) -> np.ndarray:
    if not len(r.trials):
        return np.ones(starts.shape, dtype=bool)
    limits = r.trials[["start", "stop"]].to_numpy(dtype=np.float64)[trial]
    return (starts >= limits[:, :1] - TICK) & (starts + width <= limits[:, 1:] + TICK)


def _find_condition(r: Recording) -> str:
    """Return the column of the trials with the fewest values, at least 2 and at most 16; "" if none."""
    values = {c: r.trials[c].nunique() for c in list_conditions(r)}
    good = [c for c, n in values.items() if 2 <= n <= min(16, len(r.trials) // 2)]
    return str(min(good, key=lambda c: (c != "direction", values[c]))) if good else ""


def _find_onsets(r: Recording, tensor: xr.Dataset) -> tuple[np.ndarray, np.ndarray, str]:
    """Return the moments to align to, at most 60, the trial of each (-1: none), and what they are."""
    if "move_onset" in r.trials:
        onset = pd.to_numeric(r.trials["move_onset"], errors="coerce").to_numpy(np.float64, na_value=np.nan)
        how = "movement onset, from the trial column move_onset"
    elif tensor.attrs["classes"]:
        onset, how = r.trials["start"].to_numpy(dtype=np.float64), "start of the trial"
    elif len(r.trials):
        onset = _onsets_in_trials(tensor, len(r.trials))
        how = f"speed of the target first passes {MOVING:.0%} of its peak in the trial"
    else:
        onset = _onsets_anywhere(tensor)
        how = f"speed of the target rises through {MOVING:.0%} of its 99th percentile"
    trial = np.arange(len(onset)) if len(r.trials) else np.full(len(onset), -1)
    known = np.flatnonzero(np.isfinite(onset))
    some = known[np.unique(np.linspace(0, len(known) - 1, min(len(known), MAX_EVENTS)).round().astype(int))]
    return onset[some], trial[some], how


def _target_speed(tensor: xr.Dataset) -> np.ndarray:
    """Return the size of a velocity, or of the change of any other target, in each bin."""
    values = tensor["target"].values
    names = [f"{name} {unit}" for name, unit in zip(tensor["output"].values, tensor["unit"].values, strict=True)]
    if not all("vel" in name.lower() or name.endswith("/s") for name in names):
        same = np.diff(tensor["trial"].values) == 0
        steps = np.where(same[:, None], np.diff(values, axis=0), np.nan) / tensor.attrs["bin_width"]
        values = np.concatenate([np.full((1, values.shape[1]), np.nan), steps])
    return np.sqrt(np.sum(values**2, axis=1))


def _onsets_in_trials(tensor: xr.Dataset, n_trials: int) -> np.ndarray:
    speed, trial, time = _target_speed(tensor), tensor["trial"].values, tensor["time"].values
    onset = np.full(n_trials, np.nan)
    for i in range(n_trials):
        bins = np.flatnonzero((trial == i) & np.isfinite(speed))
        if len(bins) and speed[bins].max() > 0:
            onset[i] = time[bins[np.argmax(speed[bins] >= MOVING * speed[bins].max())]]
    return onset


def _onsets_anywhere(tensor: xr.Dataset) -> np.ndarray:
    """Return upward crossings of the speed that lie at least one raster window apart."""
    speed = _target_speed(tensor)
    if not np.isfinite(speed).any():
        return np.empty(0)
    limit = MOVING * np.nanpercentile(speed, 99)
    rises = np.flatnonzero((speed[:-1] < limit) & (speed[1:] >= limit)) + 1
    kept: list[float] = []
    for time in tensor["time"].values[rises]:
        if not kept or time - kept[-1] >= BEFORE + AFTER:
            kept.append(float(time))
    return np.array(kept, dtype=np.float64)
