"""The selectors RGS was compared with, as plain functions: a score per feature, high is good."""

from __future__ import annotations

import numpy as np

from neurofs import kernels, metric

__all__ = ["corrcoef", "forward", "infogain", "sks"]

BETA = 0.25  # width of the Gaussian, as a fraction of the mean distance


def corrcoef(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """|Pearson r| of each feature and the target; 0 for a constant feature.

    >>> corrcoef(np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]), np.array([5.0, 3.0, 1.0]))
    array([1., 0.])
    """
    X, y = X - X.mean(axis=0), y - y.mean()
    norms = np.linalg.norm(X, axis=0) * np.linalg.norm(y)
    return np.abs(y @ X) / np.where(norms > 0, norms, 1.0)


def infogain(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Mutual information, in bits, of each feature and the target, both binarised: above the median or not.

    >>> infogain(np.array([[0.0], [0.0], [1.0], [2.0]]), np.array([1.0, 2.0, 3.0, 4.0]))
    array([1.])
    """
    high, up = np.median(X, axis=0) < X, (y > np.median(y))[:, None]
    bits = np.zeros(X.shape[1])
    for a in (high, ~high):
        for b in (up, ~up):
            both, apart = (a & b).mean(axis=0), a.mean(axis=0) * b.mean()
            ratio = np.divide(both, apart, out=np.ones_like(both), where=both > 0)
            bits += both * np.log2(ratio)
    return bits


def sks(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Minus the leave-one-out error of soft kNN on each feature alone."""
    return -metric.sks_scores(X, y, k=_neighbors(len(y)), beta=BETA)[:, 0]


def forward(X: np.ndarray, y: np.ndarray, n: int) -> np.ndarray:
    """Add, n times, the feature that most lowers the leave-one-out error of soft kNN; the first scores n."""
    scores = np.zeros(X.shape[1])
    d = np.zeros((len(y), len(y)), np.float32)
    squares = [np.subtract.outer(x, x) ** 2 for x in X.T.astype(np.float32)]
    for left in range(n, 0, -1):
        losses = [np.inf if scores[f] else _loss(d + squares[f], y) for f in range(X.shape[1])]
        best = int(np.argmin(losses))
        scores[best] = left
        d += squares[best]
    return scores


def _neighbors(m: int) -> int:
    return min(m // 2, 30)


def _loss(d: np.ndarray, y: np.ndarray) -> float:
    """Leave-one-out error of soft kNN, given all distances."""
    m, k = len(y), _neighbors(len(y))
    index, distance = np.full((m, k), -1), np.empty((m, k), np.float32)
    count, rows, estimate = np.zeros(m, np.int64), np.arange(m), np.empty((m, 1))
    kernels.prefix_select(d, rows, rows, rows, rows, 0, index, distance, count)
    kernels.soft_average(index, distance, count, k, y[:, None], BETA, True, estimate)
    return float(((estimate[:, 0] - y) ** 2).mean())
