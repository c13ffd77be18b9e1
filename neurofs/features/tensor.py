"""From a recording to a channel × lag tensor.

The conventions, which every later stage relies on:

- Time is in seconds. Bins are half-open, ``[t, t + Δ)``, and all comparisons are made in whole nanoseconds,
  so a spike at 0.1 + 0.2 lies in the bin that begins at 0.3. The `time` of a bin is its beginning.
- Every spike inside the observed span is counted once; a last bin that is observed only in part is kept but
  is not valid.
- A **positive lag means that the spikes precede the target**; lag 0 is the bin of the target itself.
  ``features[t, c, l] = counts[t - lag_l / Δ, c]``.
- `valid` marks the bins that make a sample: their whole window and the target lie in one trial (if there are
  trials) and in one observed stretch, and no target value is missing.
- Where the target of a bin was made of samples of other bins, `target_span` among the attributes says how many
  bins apart two targets share none; samples closer than that count as overlapping.
- `features` is a view of `counts`: nothing is copied once per lag.
- A condition of the trials as target gives the number of its class, and `classes` among the attributes.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from neurofs.features.grid import Grid
from neurofs.features.samples import Samples
from neurofs.features.target import encode_condition, find_span, find_target, is_condition, resample
from neurofs.features.target_names import explain_no_target
from neurofs.ground.errors import UsageError, printable, quoted
from neurofs.recordings.readers.sizes import count_bytes, memory_size
from neurofs.recordings.recording import TICK, Recording, Series, require_recording
from neurofs.recordings.window import Auto, choose_window

MOST_BINS = 20_000_000
"""Five hours in bins of a millisecond."""


def build_tensor(
    recording: Recording,
    target: str | Sequence[str] | None,
    *,
    bin_width: float | Auto = "auto",
    n_lags: int | Auto = "auto",
    lead: float = 0.0,
    step: float | None = None,
    sqrt: bool = False,
    smooth: float = 0.0,
    period: tuple[str, str] | None = None,
) -> xr.Dataset:
    """Bin a recording and its target; see the module for the conventions.

    Parameters
    ----------
    recording : Recording
    target : str or several
        ``NAME``, ``NAME:COLUMN`` or ``NAME.velocity`` of a behavior series; or a single condition of the
        trials, such as ``direction``. None for a session that is decoded without any: a tensor of no outputs.
    bin_width : float or "auto"
        Seconds, rounded to whole nanoseconds. A recording of counts takes whole multiples of its own bins; one of
        a continuous signal any that are not narrower than its samples, of which the mean is taken.
        "auto" is 0.1, or near it a multiple of the recording's own bins.
    n_lags : int or "auto"
        Bins in the window of a sample. "auto" is 10, and less where trials are short (`recordings.window`).
    lead : float
        Seconds between the newest bin of the window and the target; negative to use spikes after the target.
    step : float, optional
        Seconds between samples, a multiple of `bin_width`.
    sqrt, smooth : bool, float
        Square root of counts (not of a signal); then causal smoothing with a half Gaussian of this standard
        deviation in seconds, which begins anew in each trial and observed stretch.
    period : two names of trial columns, optional
        Only targets between these two moments of a trial are valid; windows may reach back before the first.

    Examples
    --------
    >>> from neurofs.recordings.recording import TICK, Recording, Series
    >>> velocity = Series("velocity", np.arange(0.05, 1, 0.1), np.arange(10.0), ("x",))
    >>> r = Recording("toy", spikes=[[0.0, 0.31, 0.95]], behavior={"velocity": velocity}, observed=[[0, 1]])
    >>> tensor = build_tensor(r, "velocity", bin_width=0.1, n_lags=3)
    >>> tensor["counts"].values[:, 0]
    array([1., 0., 0., 1., 0., 0., 0., 0., 0., 1.], dtype=float32)
    >>> tensor["features"].sel(channel="0").isel(time=5).values      # bins 5, 4, 3 at lags 0, 0.1, 0.2
    array([0., 0., 1.], dtype=float32)
    >>> int(tensor["valid"].sum())
    8
    """
    recording = require_recording(recording, "build_tensor")
    targets = (target,) if isinstance(target, str) else tuple(target or ())
    if target is not None and not targets:
        raise UsageError(explain_no_target(recording))
    bin_width, n_lags, _ = choose_window(recording, bin_width, n_lags)
    grid = _make_grid(recording, bin_width)
    _check_size(grid.n_bins, recording.n_channels)
    if sqrt and recording.is_signal:
        raise UsageError(f"sqrt: expected counts of spikes; found a signal in {quoted(recording.unit)}. Leave it out")
    first_lag = _whole_bins("lead", lead, grid)
    trial, run = _label_bins(recording, grid)
    buffer, counts = _allocate(grid.n_bins, recording.n_channels, n_lags, first_lag)
    _fill_counts(recording, grid, counts)
    reach = _transform_counts(counts, run, sqrt, smooth / grid.bin_width)
    values, outputs, units, notes, classes, target_span = _build_target(recording, targets, grid, trial)
    valid, dropped = _find_valid(recording, grid, values, run, n_lags, first_lag, step, period)
    features = _lag_view(buffer, counts, n_lags, first_lag)
    attrs = {
        "name": recording.name,
        "source": recording.source,
        "source_hash": recording.source_hash,
        "bin_width": grid.bin_width,
        "first_lag": first_lag,
        "reach": reach,
        "target_span": target_span,
        "n_trials": len(recording.trials),
        "counts": "square root" if sqrt else "mean of the signal" if recording.is_signal else "spikes per bin",
        "numbers": recording.unit,
        "smooth": float(smooth),
        "classes": classes,
        "notes": [*recording.notes, *notes],
        **{f"dropped_{reason}": n for reason, n in dropped.items()},
    }
    lags = np.round((first_lag + np.arange(n_lags)) * grid.bin_width, 9)
    return xr.Dataset(
        {
            "counts": (("time", "channel"), counts),
            "features": (("time", "channel", "lag"), features),
            "target": (("time", "output"), values),
            "trial": ("time", trial),
            "valid": ("time", valid),
        },
        coords={
            "time": ("time", grid.starts, {"units": "s"}),
            "channel": ("channel", recording.channels["name"].to_numpy(dtype=str)),
            "lag": ("lag", lags, {"units": "s", "long_name": "time by which spikes or signal precede the target"}),
            "output": ("output", np.array(outputs, dtype=str)),
            "unit": ("output", np.array(units, dtype=str)),
        },
        attrs=attrs,
    )


class LabeledSamples(NamedTuple):
    """Samples, with the target (row, output) and the trial of each; the trial is -1 outside of all trials."""

    samples: Samples
    y: np.ndarray
    trial: np.ndarray


def to_samples(tensor: xr.Dataset) -> LabeledSamples:
    """Return the valid bins of a tensor as samples on its counts, their targets and their trials.

    Two samples overlap if their windows do, or the raw samples of their targets.

    >>> from neurofs.recordings.simulate import simulate_session
    >>> tensor = build_tensor(simulate_session(3, n_electrodes=1), "hand_velocity")
    >>> samples, y, trial = to_samples(tensor)
    >>> samples.shape, y.shape, np.unique(trial)
    ((42, 40), (42, 2), array([0, 1, 2], dtype=int32))
    """
    rows = np.flatnonzero(tensor["valid"].values)
    counts = tensor["counts"].values
    samples = Samples.from_counts(counts, tensor.sizes["lag"], rows - tensor.attrs["first_lag"])
    span = max(tensor.sizes["lag"] + tensor.attrs["reach"], tensor.attrs["target_span"]) * counts.shape[1]
    return LabeledSamples(replace(samples, span=span), tensor["target"].values[rows], tensor["trial"].values[rows])


def map_features(values: Sequence[float] | np.ndarray, tensor: xr.Dataset) -> xr.DataArray:
    """Put one number per feature of `Samples` back on channel × lag.

    >>> import xarray as xr
    >>> tensor = xr.Dataset(coords={"channel": ["a", "b"], "lag": [0.0, 0.1]})
    >>> map_features([1, 2, 3, 4], tensor).sel(channel="a").values      # lag 0 is the newest bin, stored last
    array([3, 1])
    """
    n_channels, n_lags = tensor.sizes["channel"], tensor.sizes["lag"]
    grid = np.asarray(values).reshape(n_lags, n_channels)[::-1].T
    return xr.DataArray(grid, dims=("channel", "lag"), coords={k: tensor.coords[k] for k in ("channel", "lag")})


def _list_names(names: Any) -> str:
    return ", ".join(printable(name) for name in names) or "the recording has no behavior series"


def _make_grid(recording: Recording, bin_width: float) -> Grid:
    """Return the bins that cover the observed span, the last one perhaps only in part."""
    width = round(bin_width / TICK)
    if width < 1:
        raise UsageError(f"bin_width must be at least {TICK:g} s; found {bin_width:g}")
    start, stop = recording.span
    n_ticks = round((stop - start) / TICK)
    if recording.is_signal:
        return _make_signal_grid(recording, width)
    if recording.counts is not None:
        own = round(recording.bin_width / TICK)
        if width % own:
            raise UsageError(
                f"bin_width: expected a multiple of {recording.bin_width:g} s, in which the counts of "
                f"{quoted(recording.name)} are stored; found {bin_width:g}"
            )
        start, n_ticks = recording.start, own * len(recording.counts)
    return Grid(start, width, -(-n_ticks // width))


def _make_signal_grid(recording: Recording, width: int) -> Grid:
    """Return bins that each hold the middle of at least one sample."""
    own = round(recording.bin_width / TICK)
    if width < own:
        raise UsageError(
            f"bin_width: expected at least {recording.bin_width:g} s, the time from one sample of the signal of "
            f"{quoted(recording.name)} to the next; found {width * TICK:g}"
        )
    return Grid(recording.start, width, int(_place_samples(recording, width)[-1]) + 1)


def _place_samples(recording: Recording, width: int) -> np.ndarray:
    """Return the bin in which the middle of each sample of a signal lies, in whole ticks."""
    own = round(recording.bin_width / TICK)
    return (2 * np.arange(len(recording.counts), dtype=np.int64) + 1) * own // (2 * width)


def _whole_bins(name: str, seconds: float, grid: Grid) -> int:
    ticks = round(seconds / TICK)
    if ticks % grid.width:
        raise UsageError(f"{name}: expected a multiple of the bin width {grid.bin_width:g} s; found {seconds:g}")
    return ticks // grid.width


def _label_bins(recording: Recording, grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Return the trial of each bin (-1: none) and its run: bins of one run may share a window (-1: none)."""
    observed = np.zeros(grid.n_bins, dtype=bool)
    for first, stop in zip(*grid.inside(_merge(recording.observed)), strict=True):
        observed[first:stop] = True
    trial = np.full(grid.n_bins, -1, dtype=np.int32)
    for i, (first, stop) in enumerate(zip(*grid.inside(recording.trials[["start", "stop"]]), strict=True)):
        trial[first:stop] = i
    label = np.where(observed, trial if len(recording.trials) else 0, -1)
    run = np.concatenate([[0], np.cumsum(label[1:] != label[:-1])])[: grid.n_bins]
    return trial, np.where(label >= 0, run, -1)


def _merge(intervals: np.ndarray) -> np.ndarray:
    """Join intervals that touch."""
    if len(intervals) < 2:
        return intervals
    cut = np.flatnonzero(np.rint((intervals[1:, 0] - intervals[:-1, 1]) / TICK) > 0)
    return np.column_stack([intervals[np.r_[0, cut + 1], 0], intervals[np.r_[cut, len(intervals) - 1], 1]])


def _check_size(n_bins: int, n_channels: int) -> None:
    """Refuse bins so narrow that there are absurdly many, or that their counts do not fit into memory."""
    if n_bins > MOST_BINS:
        raise UsageError(f"bin_width: expected at most {MOST_BINS:,} bins; found {n_bins:,}. Take wider bins")
    needed = count_bytes((n_bins, n_channels), np.dtype(np.float32).itemsize)
    if needed > memory_size() // 2:
        bins = f"{n_bins:,} bins of {n_channels} channels, {needed / 2**30:.0f} GB"
        raise UsageError(f"bin_width: expected counts that fit into half of the memory; found {bins}. Take wider bins")


def _allocate(n_bins: int, n_channels: int, n_lags: int, first_lag: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a zeroed buffer and the counts in it; the rest pads the windows that reach past the ends."""
    before, after = max(0, first_lag + n_lags - 1), max(0, -first_lag)
    buffer = np.zeros((before + n_bins + after, n_channels), dtype=np.float32)
    return buffer, buffer[before : before + n_bins]


def _lag_view(buffer: np.ndarray, counts: np.ndarray, n_lags: int, first_lag: int) -> np.ndarray:
    """Return the view ``[t, c, l] = counts[t - first_lag - l, c]``; it stays inside the padded buffer."""
    before = max(0, first_lag + n_lags - 1)
    by_time, by_channel = buffer.strides
    return np.lib.stride_tricks.as_strided(
        buffer[before - first_lag :],
        shape=(*counts.shape, n_lags),
        strides=(by_time, by_channel, -by_time),
        writeable=False,
    )


def _fill_counts(recording: Recording, grid: Grid, counts: np.ndarray) -> None:
    if recording.is_signal:
        first = np.searchsorted(_place_samples(recording, grid.width), np.arange(grid.n_bins))
        n_samples = np.diff(first, append=len(recording.counts))
        counts[:] = np.add.reduceat(recording.counts, first, axis=0, dtype=np.float64) / n_samples[:, None]
        return
    if recording.counts is not None:
        factor = grid.width // round(recording.bin_width / TICK)
        edges = np.arange(0, len(recording.counts), factor)
        np.add.reduceat(recording.counts, edges, axis=0, dtype=np.float32, out=counts)
        return
    end = round((recording.span[1] - grid.origin) / TICK)
    for channel, times in enumerate(recording.spikes or ()):
        ticks = grid.ticks(times)
        first, stop = np.searchsorted(ticks, [0, end])
        counts[:, channel] = np.bincount(ticks[first:stop] // grid.width, minlength=grid.n_bins)


def _transform_counts(counts: np.ndarray, run: np.ndarray, sqrt: bool, sigma: float) -> int:
    """Apply square root and causal smoothing in place; return how many bins the smoothing reaches back."""
    if sqrt:
        np.sqrt(counts, out=counts)
    weights = smoothing_weights(sigma)
    if len(weights) > 1:
        cuts = np.flatnonzero(np.diff(run)) + 1
        for part in np.split(counts, cuts):
            part[:] = _smooth(part, weights)
    return len(weights) - 1


def smoothing_weights(sigma: float) -> np.ndarray:
    """Return the weights of a bin and of those before it, a half Gaussian of so many bins.

    >>> smoothing_weights(0.0), smoothing_weights(1.0).round(2)
    (array([1.]), array([1.  , 0.61, 0.14, 0.01]))
    """
    reach = int(np.ceil(3 * sigma))
    with np.errstate(over="ignore"):  # hardly any smoothing: only the bin itself is left
        return np.asarray(np.exp(-0.5 * (np.arange(reach + 1) / (sigma or 1.0)) ** 2))


def _smooth(counts: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weighted mean of each bin and the bins before it."""
    total, norm = np.zeros(counts.shape), np.zeros(len(counts))
    for back, weight in enumerate(weights[: len(counts)]):
        total[back:] += weight * counts[: len(counts) - back]
        norm[back:] += weight
    return total / norm[:, None]


def _build_target(
    recording: Recording, targets: Sequence[str], grid: Grid, trial: np.ndarray
) -> tuple[np.ndarray, list[str], list[str], list[str], list[str], int]:
    """Return values, names, units, notes, the classes if the target is a condition of the trials, and the span."""
    if len(targets) == 1 and is_condition(targets[0], recording):
        codes, classes = encode_condition(targets[0], recording.trials)
        values = np.where(trial >= 0, np.append(codes, np.nan)[trial], np.nan)
        note = f"target {targets[0]!r}: a condition of the trials, {len(classes)} classes"
        return values[:, None], [targets[0]], [""], [note], classes, 1
    alone = [name for name in targets if is_condition(name, recording)]
    if alone:
        raise UsageError(f"target {quoted(alone[0])}: a condition of the trials is decoded alone; leave the others out")
    trials = recording.trials[["start", "stop"]].to_numpy(dtype=np.float64)
    parts, outputs, units, notes, span = [], [], [], [], 1
    for name in targets:
        found = find_target(name, recording, trials, grid.bin_width)
        series, span = found.series, max(span, find_span(found, grid))
        values, columns, how = resample(series, grid)
        parts.append(values)
        outputs += [_name_output(series, column) for column in columns]
        units += ["" if series.circular else series.unit] * len(columns)
        notes += [found.note] * bool(found.note) + [f"target {series.name!r}: {how}"]
    if len(set(outputs)) < len(outputs):
        raise UsageError(f"target: expected different outputs; found {_list_names(outputs)}")
    return np.column_stack([np.empty((grid.n_bins, 0)), *parts]), outputs, units, notes, [], span


def _name_output(series: Series, column: str) -> str:
    own = len(series.columns) == 1 and series.name in (column, series.columns[0])
    return column if own else f"{series.name}:{column}"


def _find_valid(
    recording: Recording,
    grid: Grid,
    target: np.ndarray,
    run: np.ndarray,
    n_lags: int,
    first_lag: int,
    step: float | None,
    period: tuple[str, str] | None,
) -> tuple[np.ndarray, dict[str, int]]:
    """Return which bins make a sample, and how many were dropped for each reason, in this order."""
    checks = {
        "outside": run >= 0,
        "window": _window_in_run(run, n_lags, first_lag),
        "target": np.isfinite(target).all(axis=1),
        "period": _in_period(recording, grid, period),
        "step": np.arange(grid.n_bins) % (1 if step is None else max(1, _whole_bins("step", step, grid))) == 0,
    }
    valid, dropped = np.ones(grid.n_bins, dtype=bool), {}
    for reason, passed in checks.items():
        dropped[reason] = int(np.sum(valid & ~passed))
        valid &= passed
    return valid, dropped


def _window_in_run(run: np.ndarray, n_lags: int, first_lag: int) -> np.ndarray:
    """Whether the window of each bin and the bin itself lie in one run."""
    t = np.arange(len(run))
    oldest = np.minimum(t - first_lag - (n_lags - 1), t)
    newest = np.maximum(t - first_lag, t)
    fits = (oldest >= 0) & (newest < len(run))
    oldest, newest = np.where(fits, oldest, 0), np.where(fits, newest, 0)
    return fits & (run[oldest] == run[newest]) & (run[newest] >= 0)


def _in_period(recording: Recording, grid: Grid, period: tuple[str, str] | None) -> np.ndarray:
    if period is None:
        return np.ones(grid.n_bins, dtype=bool)
    missing = [name for name in period if name not in recording.trials]
    if missing:
        known = _list_names(recording.trials.columns)
        raise UsageError(f"period: the trials have no column {quoted(missing[0])}; they have: {known}")
    moments = recording.trials[list(period)].to_numpy(dtype=np.float64)
    inside = np.zeros(grid.n_bins, dtype=bool)
    for first, stop in zip(*grid.inside(moments[np.isfinite(moments).all(axis=1)]), strict=True):
        inside[first:stop] = True
    return inside
