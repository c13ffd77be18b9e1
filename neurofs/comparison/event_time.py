"""When trials tell the target: decoding in windows around an event of the trials, and across time.

For every trial and window, the features are the counts of all channels in the window. What is decoded is a condition
of the trials, or the value of a behavior series in the middle of the window. A ridge regression is fitted to each
window on whole trials, its strength chosen by the leave-one-out error of its training trials, and tested on other
trials: in the same window and in all others (generalization across time).

Chance. The agreement of a window is the correlation of out-of-fold predictions with the target over trials, both
without their mean in each fold and without slow cosines over the session: rates and targets that both drift agree by
chance. It is compared with that of the target of other trials, treated in the same way: all n − 1 circular shifts by
whole trials, which keep how trials follow each other. Windows above the 95th percentile of shifts form clusters; the
sum of agreements over a cluster is compared with the largest cluster of each shift (Maris & Oostenveld 2007), so that
p is that of seeing any such cluster by chance. For pairs of windows, the largest agreement of all pairs takes the place
of clusters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from neurofs.comparison.slow_time import slow_time
from neurofs.features.splits import BlockedKFold
from neurofs.features.target import encode_condition, find_target, is_condition
from neurofs.ground.errors import UsageError, printable, quoted
from neurofs.recordings.recording import Recording

STRENGTHS = np.geomspace(1e-3, 1e3, 13)
"""Strengths of the ridge that are tried, in units of the mean eigenvalue of the Gram matrix."""

LEVEL = 0.05
FEWEST_TRIALS = 20
PER_COSINE = 6
"""Trials for each slow cosine that is taken away: what changes more slowly than over 12 trials is drift."""

N_BOOTSTRAP = 500


@dataclass(frozen=True, eq=False)
class Aligned:
    """Counts (trials, windows, channels) and targets (trials, windows, outputs) around an event."""

    counts: np.ndarray
    targets: np.ndarray
    ends: np.ndarray  # of windows, in seconds from the event
    width: float
    classes: list[str]
    outputs: list[str]


MOST_WINDOWS = 1000
"""Each is decoded from each other."""


def align(
    recording: Recording,
    target: str,
    event: str,
    around: tuple[float, float] = (-0.5, 1.0),
    width: float = 0.2,
    step: float = 0.1,
) -> Aligned:
    """Count spikes in windows around an event of the trials; trials whose windows are not all observed are left out."""
    trials = recording.trials
    if event not in trials:
        known = ", ".join(printable(name) for name in trials.columns)
        raise UsageError(f"event: the trials have no column {quoted(event)}; they have: {known}")
    if not 0 < width <= around[1] - around[0] or step <= 0:
        raise UsageError(f"window: expected a width up to {around[1] - around[0]:g} s; found {width:g}")
    if (around[1] - around[0] - width) / step >= MOST_WINDOWS:
        raise UsageError(f"step: expected at most {MOST_WINDOWS} windows; choose a longer step or window")
    moments = trials[event].to_numpy(dtype=np.float64)
    n = int((around[1] - around[0] - width) / step + 1e-6) + 1
    ends = np.round(around[0] + width + step * np.arange(n), 9)
    start, stop = recording.span
    whole = np.isfinite(moments) & (moments + around[0] >= start - 1e-9) & (moments + around[1] <= stop + 1e-9)
    values, classes, outputs = _find_values(recording, target, moments, ends, width)
    whole &= np.isfinite(values).all(axis=(1, 2))
    if whole.sum() < FEWEST_TRIALS:
        raise UsageError(f"event: expected at least {FEWEST_TRIALS} trials with all windows; found {whole.sum()}")
    edges = moments[whole, None] + ends
    return Aligned(_count(recording, edges - width, edges), values[whole], ends, width, classes, outputs)


def _count(recording: Recording, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Return the counts of all channels between two times, (…, channels)."""
    if recording.spikes is not None:
        found = [np.searchsorted(times, stops) - np.searchsorted(times, starts) for times in recording.spikes]
        return np.stack(found, axis=-1).astype(np.float64)
    total = np.concatenate([np.zeros((1, recording.n_channels)), np.cumsum(recording.counts, axis=0, dtype=np.float64)])
    bins = [np.rint((edge - recording.start) / recording.bin_width).astype(int) for edge in (starts, stops)]
    first, last = (np.clip(one, 0, len(total) - 1) for one in bins)
    return np.asarray(total[last] - total[first])


def _find_values(
    recording: Recording, target: str, moments: np.ndarray, ends: np.ndarray, width: float
) -> tuple[np.ndarray, list[str], list[str]]:
    """Return the target of every trial and window: a column per class, or the values in the middle of the window."""
    if is_condition(target, recording):
        codes, classes = encode_condition(target, recording.trials)
        hot = np.where(np.isnan(codes)[:, None], np.nan, np.eye(len(classes))[np.nan_to_num(codes).astype(int)])
        return np.repeat(hot[:, None], len(ends), axis=1), classes, classes
    trials = recording.trials[["start", "stop"]].to_numpy(dtype=np.float64)
    series = find_target(target, recording, trials, width).series
    if series.circular:
        raise UsageError(f"target {quoted(target)}: angles are not decoded in windows; take their cosine and sine")
    at = moments[:, None] + ends - width / 2
    outside = (at < series.time[0]) | (at > series.time[-1]) | ~np.isfinite(at)
    columns = [np.interp(np.nan_to_num(at), series.time, column) for column in series.values.T]
    values = np.where(outside[..., None], np.nan, np.stack(columns, axis=-1))
    return values, [], [f"{series.name}:{column}" for column in series.columns]


# Decoding


def fit_ridge(X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return coefficients and offset of the ridge regression with the least leave-one-out error.

    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> coefficients, offset = fit_ridge(X, X @ [[1.0], [2.0], [0.0]])
    >>> np.abs(coefficients[:, 0]).round(2)
    array([1., 2., 0.])
    """
    center, mean = X.mean(axis=0), Y.mean(axis=0)
    U, s, Vt = np.linalg.svd(X - center, full_matrices=False)
    centered = Y - mean
    along = U.T @ centered
    scale = max(float(np.mean(s**2)), 1e-12)
    best, least = np.zeros((X.shape[1], Y.shape[1])), np.inf
    for strength in STRENGTHS * scale:
        shrink = s**2 / (s**2 + strength)
        leverage = np.sum(U**2 * shrink, axis=1) + 1 / len(X)
        left = (centered - U @ (shrink[:, None] * along)) / np.maximum(1 - leverage, 1e-6)[:, None]
        error = float(np.sum(left**2))
        if error < least:
            best, least = Vt.T @ ((s / (s**2 + strength))[:, None] * along), error
    return best, mean - center @ best


def predict_across(aligned: Aligned, folds: np.ndarray) -> np.ndarray:
    """Return out-of-fold predictions (trained window, tested window, trials, outputs)."""
    n, n_windows, _ = aligned.counts.shape
    predicted = np.empty((n_windows, n_windows, n, aligned.targets.shape[2]))
    for fold in np.unique(folds):
        test = folds == fold
        for w in range(n_windows):
            coefficients, offset = fit_ridge(aligned.counts[~test, w], aligned.targets[~test, w])
            predicted[w][:, test] = np.swapaxes(aligned.counts[test] @ coefficients + offset, 0, 1)
    return predicted


# Chance


def find_slow(folds: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis (trials, …) of the means of folds and of slow cosines over the session."""
    n = len(folds)
    means = (folds[:, None] == np.unique(folds)).astype(np.float64)
    basis, sizes, _ = np.linalg.svd(np.hstack([means, slow_time(n, max(1, n // PER_COSINE))]), full_matrices=False)
    return basis[:, sizes > 1e-8 * sizes[0]]


def remove_slow(values: np.ndarray, slow: np.ndarray) -> np.ndarray:
    """Return values (…, trials, outputs) without what changes slowly from trial to trial."""
    return np.asarray(values - slow @ (slow.T @ values))


def agree(predicted: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the correlation of predictions and targets over trials and outputs, (…)."""
    top = np.sum(predicted * targets, axis=(-2, -1))
    with np.errstate(divide="ignore", invalid="ignore"):
        found = top / np.sqrt(np.sum(predicted**2, axis=(-2, -1)) * np.sum(targets**2, axis=(-2, -1)))
    return np.nan_to_num(found)


def shift_agreement(predicted: np.ndarray, targets: np.ndarray, slow: np.ndarray) -> np.ndarray:
    """Return the agreement with the target of other trials, (shifts, trained, tested); the first is no shift.

    `predicted` (trained, tested, trials, outputs), `targets` (tested, trials, outputs).
    """
    guess = remove_slow(predicted, slow)
    n = targets.shape[1]
    later = (np.arange(n) - np.arange(n)[:, None]) % n  # the trial whose target each trial gets, for every shift
    found = np.empty((n, *predicted.shape[:2]))
    for w, target in enumerate(targets):
        shifted = remove_slow(target[later], slow).reshape(n, -1)
        ours = guess[:, w].reshape(len(guess), -1)
        scale = np.sqrt(np.sum(shifted**2, axis=1)[:, None] * np.sum(ours**2, axis=1))
        with np.errstate(divide="ignore", invalid="ignore"):
            found[:, :, w] = np.nan_to_num(shifted @ ours.T / scale)
    return found


def find_clusters(values: np.ndarray, bounds: np.ndarray) -> list[tuple[int, int]]:
    """Return runs of windows above their bounds, as first window and the one after the last.

    >>> find_clusters(np.array([0.0, 2, 2, 0, 3]), np.ones(5))
    [(1, 3), (4, 5)]
    """
    above = np.concatenate([[False], values > bounds, [False]])
    edges = np.flatnonzero(above[1:] != above[:-1])
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def weigh_clusters(agreement: np.ndarray) -> list[tuple[int, int, float]]:
    """Return clusters of windows with their p-values, from agreements (shifts, windows), the first without shift."""
    bounds = np.quantile(agreement, 1 - LEVEL, axis=0)
    largest = np.array([max((row[a:b].sum() for a, b in find_clusters(row, bounds)), default=0.0) for row in agreement])
    return [
        (a, b, float(np.mean(largest >= agreement[0, a:b].sum() - 1e-12)))
        for a, b in find_clusters(agreement[0], bounds)
    ]


# Scores


def score_windows(predicted: np.ndarray, targets: np.ndarray, classes: Sequence[str]) -> np.ndarray:
    """Return accuracy of classes, or R² (mean over outputs), of predictions (…, trials, outputs)."""
    if classes:
        return np.asarray(np.mean(predicted.argmax(axis=-1) == targets.argmax(axis=-1), axis=-1))
    error = np.mean((predicted - targets) ** 2, axis=-2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.mean(np.nan_to_num(1 - error / np.var(targets, axis=-2), neginf=0.0), axis=-1)


def decode_time(aligned: Aligned, n_splits: int = 5, seed: int = 0) -> xr.Dataset:
    """Decode every window from every other, with chance; see the module.

    Returns ``score`` and ``agreement`` (trained, time), their ``p`` for pairs of windows, ``bound`` (time), the 95th
    percentile of the agreement by chance, ``p_cluster`` (time), 1 outside of clusters, and the onset with its interval
    among the attributes.
    """
    n = len(aligned.counts)
    folds = np.empty(n, dtype=int)
    for number, (_, test) in enumerate(BlockedKFold(n_splits).split(np.zeros((n, 1)))):
        folds[test] = number
    targets = np.swapaxes(aligned.targets, 0, 1)
    predicted = predict_across(aligned, folds)
    slow = find_slow(folds)
    agreement = shift_agreement(predicted, targets, slow)
    windows = np.arange(len(aligned.ends))
    diagonal = agreement[:, windows, windows]
    clusters = weigh_clusters(diagonal)
    p_cluster = np.ones(len(windows))
    for a, b, p in clusters:
        p_cluster[a:b] = p
    largest = agreement.reshape(len(agreement), -1).max(axis=1)
    onset = _find_onset(predicted[windows, windows], targets, slow, diagonal, p_cluster, seed)
    attrs = {"width": aligned.width, "n_trials": n, "score": "accuracy" if aligned.classes else "r2"}
    if aligned.classes:
        attrs["chance"] = float(aligned.targets[:, 0].mean(axis=0).max())
    return xr.Dataset(
        {
            "score": (("trained", "time"), score_windows(predicted, targets, aligned.classes)),
            "agreement": (("trained", "time"), agreement[0]),
            "p": (("trained", "time"), np.mean(largest[:, None, None] >= agreement[0] - 1e-12, axis=0)),
            "bound": ("time", np.quantile(diagonal, 1 - LEVEL, axis=0)),
            "p_cluster": ("time", p_cluster),
        },
        coords={"time": aligned.ends, "trained": aligned.ends},
        attrs={**attrs, "onset": [float(aligned.ends[w]) for w in onset]},
    )


def _find_onset(
    predicted: np.ndarray, targets: np.ndarray, slow: np.ndarray, diagonal: np.ndarray, p: np.ndarray, seed: int
) -> list[int]:
    """Return the first window of the first clear cluster, and its range over resampled trials; empty without any."""
    clear = np.flatnonzero(p <= LEVEL)
    if not clear.size:
        return []
    bounds = np.quantile(diagonal, 1 - LEVEL, axis=0)
    guess, truth = remove_slow(predicted, slow), remove_slow(targets, slow)
    first = int(clear[0])
    firsts = [
        next((a for a, b in find_clusters(one, bounds) if b > first), first) for one in _resample(guess, truth, seed)
    ]
    low, high = np.quantile(firsts, [LEVEL / 2, 1 - LEVEL / 2], method="nearest").astype(int)
    return [first, min(int(low), first), max(int(high), first)]


def _resample(guess: np.ndarray, truth: np.ndarray, seed: int) -> Iterator[np.ndarray]:
    """Yield the agreement of every window over trials drawn with replacement."""
    rng = np.random.default_rng([seed, 31])
    n = guess.shape[1]
    for _ in range(N_BOOTSTRAP):
        rows = rng.integers(n, size=n)
        yield agree(guess[:, rows], truth[:, rows])
