"""How often 95 % intervals hold the truth: on average, and by how far the target lies from its mean.

An interval that is right on average may still be too narrow where the target is large, which is where a movement
is fast and the decoder is needed. No decoder knows the target beforehand, so shares by its size need not be 95 %
even for perfect intervals; how far they fall tells how much to rely on the band at the peaks.
"""

import numpy as np
import xarray as xr

from neurofs.comparison.summary import Coverage
from neurofs.decoders.spread import NORMAL_95

N_PARTS = 5


def holds(truth: np.ndarray, predicted: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """Return where the truth lies within 1.96 deviations of the prediction.

    >>> holds(np.zeros(3), np.array([1.0, 1.97, -1.95]), np.ones(3))
    array([ True, False,  True])
    """
    return np.asarray(np.abs(truth - predicted) <= NORMAL_95 * deviation)


def rank_by_size(truth: np.ndarray, n_parts: int = N_PARTS) -> np.ndarray:
    """Return for each value the part of its row, 0 to 4, by the distance from the mean of the row.

    >>> rank_by_size(np.array([[0.0, 9, 1, -8, 2, -2, 3, -3, 4, -6]]))
    array([[0, 4, 0, 4, 1, 1, 2, 2, 3, 3]])
    """
    size = np.abs(truth - truth.mean(axis=-1, keepdims=True))
    place = np.argsort(np.argsort(size, axis=-1, kind="stable"), axis=-1, kind="stable")
    return np.asarray(place * n_parts // truth.shape[-1])


def describe_coverage(predictions: xr.Dataset) -> list[Coverage]:
    """Return the coverage of every method that predicts deviations, over all outputs and repeats."""
    if "predicted_sd" not in predictions:
        return []
    truth = predictions["target"].transpose("output", "time").values
    dims = ("method", "repeat", "output", "time")
    means, deviations = (predictions[name].transpose(*dims).values for name in ("predicted", "predicted_sd"))
    found = zip(predictions["method"].values, means, deviations, strict=True)
    return [_describe(str(m), truth, mean, sd) for m, mean, sd in found if np.isfinite(sd).any()]


def _describe(method: str, truth: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> Coverage:
    """Return the coverage of one method; predictions are (repeat, output, time), NaN where there are none."""
    known, inside = np.isfinite(deviation), holds(truth, mean, deviation)
    part = np.broadcast_to(rank_by_size(truth), known.shape)
    shares = [_mean(inside[known & (part == p)]) for p in range(N_PARTS)]
    scale = truth.std(axis=1, keepdims=True)
    relative = NORMAL_95 * deviation / np.where(scale > 0, scale, 1.0)
    return Coverage(method=method, mean=_mean(inside[known]), by_size=shares, half_width=float(relative[known].mean()))


def _mean(inside: np.ndarray) -> float:
    return float(inside.mean()) if inside.size else np.nan
