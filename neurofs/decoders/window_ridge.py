"""Ridge regression on windows of many features, without their Gram matrix and without unfolding them.

With 20,000 features the Gram matrix has 3 GB, and its factorization takes minutes. Products of the windows X with a
vector, and of Xᵀ with one, are products of the counts, lag by lag, which cost next to nothing; conjugate gradients
need nothing else. Strengths of the ridge are gone through from the strongest on, each beginning where the one before
ended.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from neurofs.features.samples import Samples

TOLERANCE = 1e-4  # of what is left of the right-hand side
MOST_STEPS = 200


class Windows:
    """The windows of samples, weighted and centered, as a matrix that is only multiplied with.

    >>> samples = Samples.from_counts(np.random.default_rng(0).poisson(1, (30, 4)), n_lags=3)
    >>> X = np.asarray(samples) - np.asarray(samples).mean(axis=0)
    >>> np.allclose(Windows(samples).times(np.eye(12)), X, atol=1e-5)
    True
    """

    def __init__(self, samples: Samples, weights: Any = None) -> None:
        self.shape = samples.n_lags, samples.n_channels
        self.counts = samples.flat.reshape(-1, samples.n_channels)
        self.bins = samples.starts // samples.n_channels
        self.weights = np.ones(samples.n_features) if weights is None else np.asarray(weights, np.float64)
        self.center = np.zeros(samples.n_features)
        ones = np.ones((len(samples), 1))
        self.center = self.transposed_times(ones)[:, 0] / len(samples)
        squares = self._gather(np.square, ones)[:, 0] * self.weights**2
        self.diagonal = np.maximum(squares - len(samples) * self.center**2, 0.0)

    @staticmethod
    def fit(samples: Samples) -> bool:
        """Return whether samples are different windows of whole bins."""
        n = samples.n_channels
        whole = samples.flat.size % n == 0 and not (samples.starts % n).any()
        return bool(whole and np.unique(samples.starts).size == len(samples))

    def times(self, vectors: np.ndarray) -> np.ndarray:
        """Return X v for each column."""
        (n_lags, n_channels), n_columns = self.shape, vectors.shape[1]
        by_lag = (self.weights[:, None] * vectors).reshape(n_lags, n_channels, n_columns)
        wide = np.asarray(by_lag.transpose(1, 0, 2).reshape(n_channels, -1), np.float32)
        seen = (self.counts @ wide).reshape(len(self.counts), n_lags, n_columns)
        total = np.zeros((len(self.bins), n_columns))
        for lag in range(n_lags):
            total += seen[self.bins + lag, lag]
        return total - self.center @ vectors

    def transposed_times(self, vectors: np.ndarray) -> np.ndarray:
        """Return Xᵀ r for each column."""
        products = self.weights[:, None] * self._gather(np.asarray, vectors)
        return np.asarray(products - np.outer(self.center, vectors.sum(axis=0)))

    def _gather(self, change: Any, vectors: np.ndarray) -> np.ndarray:
        """Return, for each feature, the sum of its changed counts times each column."""
        (n_lags, n_channels), n_columns = self.shape, vectors.shape[1]
        spread = np.zeros((len(self.counts), n_lags, n_columns), np.float32)
        for lag in range(n_lags):
            spread[self.bins + lag, lag] = vectors
        total = change(self.counts).T @ spread.reshape(len(self.counts), -1)
        by_lag = total.reshape(n_channels, n_lags, n_columns).transpose(1, 0, 2)
        return np.asarray(by_lag.reshape(-1, n_columns), np.float64)


def solve_ridges(windows: Windows, targets: np.ndarray, ridges: Iterable[float]) -> dict[float, np.ndarray]:
    """Return the coefficients of centered targets for each ridge, in units of the mean eigenvalue of Xᵀ X."""
    right, trace = windows.transposed_times(targets), float(windows.diagonal.sum())
    unit = max(trace / max(int(np.count_nonzero(windows.weights)), 1), np.finfo(float).tiny)
    found, last = {}, np.zeros_like(right)
    for ridge in sorted(ridges, reverse=True):
        last = _solve(windows, right, ridge * unit, last)
        found[ridge] = last
    return found


def _solve(windows: Windows, right: np.ndarray, penalty: float, start: np.ndarray) -> np.ndarray:
    """Return c with (Xᵀ X + penalty · I) c = right, by conjugate gradients from `start`, each column by itself.

    What is left of each equation is measured in units of its diagonal, so that busy channels do not come first.
    """

    def image(vectors: np.ndarray) -> np.ndarray:
        return np.asarray(windows.transposed_times(windows.times(vectors)) + penalty * vectors)

    scale = 1.0 / (windows.diagonal + penalty)[:, None]
    found, left = start.copy(), right - image(start)
    direction = scale * left
    size, enough = (left * direction).sum(axis=0), TOLERANCE**2 * (right * scale * right).sum(axis=0)
    for _ in range(MOST_STEPS):
        if (size <= enough).all():
            break
        moved = image(direction)
        slope = (direction * moved).sum(axis=0)
        step = np.divide(size, slope, out=np.zeros_like(size), where=(slope > 0) & (size > enough))
        found += step * direction
        left -= step * moved
        ahead = scale * left
        size, before = (left * ahead).sum(axis=0), size
        direction = ahead + np.divide(size, before, out=np.zeros_like(size), where=before > 0) * direction
    return found
