"""How the rate of a channel, or the mean of its signal, goes with the target: its tuning.

Each channel is looked at with one lag, at which its counts go best with the outputs (R² of a linear regression). What
its rate is held against depends on the target:

    direction    two outputs of one unit, such as a velocity: 8 sectors of their direction, from the samples in the
                 upper half of speed; positions are seen from their mean
    angle        cosine and sine of an angle: 12 sectors of the angle
    value        anything else: 8 bins of the first output that hold about as many samples each
    classes      every class

The standard error of a mean rate is one over trials, or over 20 parts of the session where there are none: bins that
follow each other are alike, and counting them as independent would make it too small.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from neurofs.recordings.recording import SPIKES

N_DIRECTIONS, N_ANGLES, N_VALUES = 8, 12, 8
N_PARTS = 20
"""Parts of a session without trials, between which rates vary."""


@dataclass(frozen=True, eq=False)
class TuningAxis:
    """What rates are held against: the bin of each sample (-1: left out), and value and label of each bin."""

    kind: str
    name: str
    unit: str
    group: np.ndarray
    value: np.ndarray
    label: list[str]


def describe_tuning(tensor: xr.Dataset, counts: np.ndarray, channels: Sequence[str]) -> xr.Dataset:
    """Return the tuning of some channels; the variables are described in `comparison.session`.

    Parameters
    ----------
    tensor : Dataset
        What `build_tensor` made of a recording.
    counts : array (bin, channel)
        Spikes of these channels in the bins of the tensor, as they are, even if the tensor has their square root; or
        the means of a signal.
    channels : sequence of str
        Their names.

    Examples
    --------
    >>> from neurofs.features.tensor import build_tensor
    >>> from neurofs.recordings.simulate import simulate_session
    >>> tensor = build_tensor(simulate_session(8, n_electrodes=1), "hand_velocity")
    >>> tuning = describe_tuning(tensor, tensor["counts"].values[:, :1], ["1a"])
    >>> tuning.attrs["tuning_kind"], tuning["tuning_value"].values.tolist()
    ('direction', [0.0, 45.0, 90.0, 135.0, 180.0, 225.0, 270.0, 315.0])
    """
    rows = np.flatnonzero(tensor["valid"].values)
    lags = tensor.attrs["first_lag"] + np.arange(tensor.sizes["lag"])
    axis, cluster = _choose_axis(tensor, rows), _find_clusters(tensor, rows)
    basis = _find_basis(tensor, rows)
    shape = (len(channels), len(axis.value))
    rate, error, best = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(len(channels))
    is_signal = tensor.attrs["numbers"] != SPIKES
    seconds, unit = (1.0, tensor.attrs["numbers"]) if is_signal else (tensor.attrs["bin_width"], "Hz")
    for i in range(len(channels)):
        lagged = np.nan_to_num(counts[rows[:, None] - lags, i].astype(np.float64) / seconds)
        at = _find_best(lagged, basis)
        best[i] = tensor["lag"].values[at]
        rate[i], error[i] = average_rates(lagged[:, at], axis.group, cluster, shape[1])
    dims = ("raster_channel", "tuning_bin")
    return xr.Dataset(
        {
            "tuning_rate": (dims, rate, {"units": unit}),
            "tuning_error": (dims, error, {"units": unit}),
            "tuning_lag": ("raster_channel", best, {"units": "s"}),
            "tuning_value": ("tuning_bin", axis.value),
            "tuning_label": ("tuning_bin", np.array(axis.label, dtype=str)),
            "tuning_n": ("tuning_bin", np.bincount(axis.group[axis.group >= 0], minlength=shape[1])),
        },
        attrs={"tuning_kind": axis.kind, "tuning_name": axis.name, "tuning_unit": axis.unit},
    )


def average_rates(
    rate: np.ndarray, group: np.ndarray, cluster: np.ndarray, n_groups: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean rate of each group of samples and its standard error over clusters.

    With ``e_c``, the sum over the samples of cluster c of their differences from the mean, N samples and C clusters,
    the squared error is ``C / (C − 1) Σ e_c² / N²``; it is unknown for one cluster.

    >>> average_rates(np.array([1.0, 1.0, 4.0, 4.0, 9.0]), np.array([0, 0, 0, 0, -1]), np.array([0, 0, 1, 1, 1]), 1)
    (array([2.5]), array([1.5]))
    """
    kept = group >= 0
    n_clusters = int(cluster.max(initial=0)) + 1
    cell = group[kept] * n_clusters + cluster[kept]
    shape = (n_groups, n_clusters)
    n = np.bincount(cell, minlength=n_groups * n_clusters).reshape(shape)
    total = np.bincount(cell, weights=rate[kept], minlength=n_groups * n_clusters).reshape(shape)
    n_all, n_used = n.sum(axis=1), (n > 0).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total.sum(axis=1) / n_all
        spread = np.sum((total - mean[:, None] * n) ** 2, axis=1) / n_all**2
        return mean, np.where(n_used > 1, np.sqrt(spread * n_used / (n_used - 1)), np.nan)


def _find_basis(tensor: xr.Dataset, rows: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of what a linear regression on the outputs, or the classes, can tell."""
    target = tensor["target"].values[rows]
    if tensor.attrs["classes"]:
        target = (target == np.arange(len(tensor.attrs["classes"]))).astype(np.float64)
    if not len(rows):
        return target
    basis, size, _ = np.linalg.svd(target - target.mean(axis=0), full_matrices=False)
    return basis[:, size > 1e-9 * max(size.max(), 1e-300)]


def _find_best(lagged: np.ndarray, basis: np.ndarray) -> int:
    """Return the lag at which the regression on the outputs has the largest R²; the first where there is none."""
    if not len(lagged):
        return 0
    centered = lagged - lagged.mean(axis=0)
    told, whole = np.sum((basis.T @ centered) ** 2, axis=0), np.sum(centered**2, axis=0)
    return int(np.argmax(told / np.maximum(whole, 1e-300)))


def _find_clusters(tensor: xr.Dataset, rows: np.ndarray) -> np.ndarray:
    """Return the trial of each sample, counted from 0, or the part of the session it lies in."""
    trial, time = tensor["trial"].values[rows], tensor["time"].values[rows]
    if not len(rows):
        return np.empty(0, dtype=int)
    if (trial >= 0).any():
        return np.unique(trial, return_inverse=True)[1]
    share = (time - time[0]) / max(time[-1] - time[0], 1e-9)
    return np.minimum((N_PARTS * share).astype(int), N_PARTS - 1)


def _choose_axis(tensor: xr.Dataset, rows: np.ndarray) -> TuningAxis:
    target = tensor["target"].values[rows]
    names, units = ([str(v) for v in tensor[key].values] for key in ("output", "unit"))
    columns = [name.rpartition(":")[2] for name in names]
    base = names[0].rpartition(":")[0]
    if tensor.attrs["classes"]:
        classes = tensor.attrs["classes"]
        group = np.nan_to_num(target[:, 0], nan=-1).astype(int)
        return TuningAxis("classes", names[0], "", group, np.arange(len(classes), dtype=float), list(classes))
    if len(names) == 2 and columns[0].startswith("cos(") and columns[1] == f"sin({columns[0][4:]}":
        return _cut_sectors("angle", columns[0][4:-1], target, N_ANGLES)
    if len(names) == 2 and units[0] == units[1]:
        moving = all("vel" in name.lower() or unit.endswith("/s") for name, unit in zip(names, units, strict=True))
        name = base if base and names[1].rpartition(":")[0] == base else f"{names[0]}, {names[1]}"
        seen = target if moving or not len(rows) else target - target.mean(axis=0)
        return _cut_sectors("direction", name, seen, N_DIRECTIONS)
    return _cut_values(names[0], units[0], target[:, 0])


def _cut_sectors(kind: str, name: str, target: np.ndarray, n: int) -> TuningAxis:
    """Return sectors of the direction of two outputs, the first of which is centered on 0°."""
    step = 360.0 / n
    degrees = np.degrees(np.arctan2(target[:, 1], target[:, 0]))
    group = np.round(degrees / step).astype(int) % n
    if kind == "direction" and len(target):
        size = np.hypot(*target.T)
        group = np.where((size >= np.median(size)) & (size > 0), group, -1)
    value = step * np.arange(n)
    return TuningAxis(kind, name, "°", group, value, [f"{v:g}°" for v in value])


def _cut_values(name: str, unit: str, values: np.ndarray) -> TuningAxis:
    """Return bins between quantiles, fewer than 8 where values are alike; a bin stands for the mean of its values."""
    if not len(values):
        return TuningAxis("value", name, unit, np.empty(0, dtype=int), np.empty(0), [])
    inner = np.unique(np.quantile(values, np.arange(1, N_VALUES) / N_VALUES))
    group = np.unique(np.searchsorted(inner, values, side="right"), return_inverse=True)[1]
    value = np.bincount(group, weights=values) / np.bincount(group)
    return TuningAxis("value", name, unit, group, value, [f"{v:.3g}" for v in value])
