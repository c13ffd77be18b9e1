"""Kernel RGS as a decoder: kernel ridge regression, or its Gaussian process, in the learned metric."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from neurofs.block_ridge import block_residuals, inverse, kernel
from neurofs.learned_metric import N_ROWS, N_STEPS, LearnedMetric, learn_metric, make_blocks, sort_rows
from neurofs.metric import as_samples
from neurofs.samples import Samples

__all__ = ["KernelRGSDecoder"]

RIDGES = (0.5, 1.0, 2.0, 4.0)
CHOOSING_ROWS = 2500
MOST_ROWS = 10_000
LANDMARKS = 4_000
NORMAL_95 = 1.959964


class KernelRGSDecoder(RegressorMixin, BaseEstimator):
    """Kernel ridge regression in a metric learned by its own leave-block-out error.

    K(x, x') = 1 / (1 + d_w(x, x')) + c x·x' + 1, with ridge λ; w, c and λ are learned (`neurofs.learned_metric`),
    and λ is chosen once more among ½, 1, 2 and 4 times the learned value for the final fit. Above 10,000 rows the
    fit uses 4,000 of them as landmarks (Nyström).

    Parameters
    ----------
    mixed : bool
        Also learn how the bins of a channel are mixed, the same way for all channels, after each was given its
        weight.
    n_steps, n_rows : int
        Steps of the search, and rows drawn for each.
    random_state : int, RandomState or None

    Attributes
    ----------
    metric_ : LearnedMetric
    feature_weights_ : array (n_features,)
        Weight of each channel × lag in the metric; the largest is 1.
    loss_curve_ : array
        Logarithm of the leave-block-out mean squared error at each step.
    error_scale_ : array (n_outputs,)
        By how much the Gaussian process understates its 95 % intervals, measured on leave-block-out residuals.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(400, 8))
    >>> y = X[:, 0] * X[:, 1]
    >>> decoder = KernelRGSDecoder(random_state=0).fit(X[:300], y[:300])
    >>> bool(decoder.score(X[300:], y[300:]) > 0.9)
    True
    >>> mean, std = decoder.predict(X[300:], return_std=True)
    >>> mean.shape == std.shape == (100,)
    True
    """

    def __init__(
        self,
        mixed: bool = True,
        *,
        n_steps: int = N_STEPS,
        n_rows: int = N_ROWS,
        random_state: Any = None,
    ) -> None:
        self.mixed = mixed
        self.n_steps = n_steps
        self.n_rows = n_rows
        self.random_state = random_state

    def fit(self, X: Any, y: Any, groups: Any = None) -> KernelRGSDecoder:
        """Learn the metric and fit the model; `groups` names the trial of each row."""
        samples, Y = as_samples(X), np.asarray(y, dtype=np.float64)
        self._one_output = Y.ndim == 1
        Y = Y.reshape(len(samples), -1)
        groups = None if groups is None else np.asarray(groups)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        self.mean_, self.sd_ = Y.mean(axis=0), np.where(Y.std(axis=0) > 0, Y.std(axis=0), 1.0)
        Y = (Y - self.mean_) / self.sd_
        self.metric_ = learn_metric(
            samples, Y, groups, rng, mixed=self.mixed, n_steps=self.n_steps, n_rows=self.n_rows
        )
        self.ridge_, self.error_scale_ = _choose_ridge(self.metric_, samples, Y, groups, rng)
        weights = np.where(self.metric_.varies, self.metric_.weights, 0.0)
        self.feature_weights_ = weights / max(weights.max(), np.finfo(float).tiny)
        self.loss_curve_ = self.metric_.loss_curve
        self.n_features_in_ = samples.n_features
        self._fit_all(samples, Y, rng)
        return self

    def _fit_all(self, samples: Samples, Y: np.ndarray, rng: np.random.Generator) -> None:
        """Solve (K + λI) α = Y, or its Nyström form on landmarks."""
        landmarks = len(samples) > MOST_ROWS
        chosen = np.sort(rng.permutation(len(samples))[:LANDMARKS]) if landmarks else slice(None)
        self._rows = self.metric_.transform(samples[chosen])
        self._norms = np.einsum("if,if->i", self._rows, self._rows, dtype=np.float64)
        K = self._kernel_with(self._rows)
        if not landmarks:
            K.flat[:: len(K) + 1] += self.ridge_
            self._factor = cho_factor(K, lower=True, overwrite_a=True)
            self._alpha = cho_solve(self._factor, Y)
            return
        K.flat[:: len(K) + 1] += 1e-8 * np.trace(K) / len(K)
        H, rhs = self.ridge_ * K, np.zeros((len(K), Y.shape[1]))
        for first in range(0, len(samples), 2000):
            part = self._kernel_with(self.metric_.transform(samples[first : first + 2000]))
            H += part.T @ part
            rhs += part.T @ Y[first : first + 2000]
        self._alpha = cho_solve(cho_factor(H, lower=True, overwrite_a=True), rhs)
        K.flat[:: len(K) + 1] += self.ridge_ * len(K) / len(samples)
        self._factor = cho_factor(K, lower=True, overwrite_a=True)

    def _kernel_with(self, rows: np.ndarray) -> np.ndarray:
        """Return K between transformed rows and those of the model."""
        G = (rows @ self._rows.T).astype(np.float64)
        norms = np.einsum("if,if->i", rows, rows, dtype=np.float64)
        return kernel(G, norms, self._norms, self.metric_.linear)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the decoded targets; with `return_std` also their calibrated standard deviation."""
        check_is_fitted(self, "metric_")
        samples = as_samples(X)
        if samples.n_features != self.n_features_in_:
            raise ValueError(
                f"X has {samples.n_features} features; the decoder was fitted with {self.n_features_in_}"
            )
        parts = [self._predict_part(samples[i : i + 2000], return_std) for i in range(0, len(samples), 2000)]
        mean = np.concatenate([part[0] for part in parts])
        mean = mean[:, 0] if self._one_output else mean
        if not return_std:
            return mean
        std = np.concatenate([part[1] for part in parts])
        return mean, std[:, 0] if self._one_output else std

    def _predict_part(self, samples: Samples, return_std: bool) -> tuple[np.ndarray, np.ndarray]:
        rows = self.metric_.transform(samples)
        K = self._kernel_with(rows)
        mean = K @ self._alpha * self.sd_ + self.mean_
        if not return_std:
            return mean, mean
        norms = np.einsum("if,if->i", rows, rows, dtype=np.float64)
        half = solve_triangular(self._factor[0], K.T, lower=True)
        variance = 2.0 + self.metric_.linear * norms + self.ridge_ - np.einsum("ji,ji->i", half, half)
        std = np.sqrt(np.maximum(variance, self.ridge_))[:, None] * self.error_scale_ * self.sd_
        return mean, std


def _choose_ridge(
    metric: LearnedMetric,
    samples: Samples,
    Y: np.ndarray,
    groups: np.ndarray | None,
    rng: np.random.Generator,
) -> tuple[float, np.ndarray]:
    """Return the ridge with the least leave-block-out error, and how wide its errors are for their variance."""
    order, trial = sort_rows(samples, groups)
    drawn = np.sort(rng.permutation(len(samples))[:CHOOSING_ROWS])
    rows = order[drawn]
    edges, scored = make_blocks(samples, rows, None if trial is None else trial[drawn], rng)
    if not scored.any():
        return metric.ridge, np.ones(Y.shape[1])
    Z = metric.transform(samples[rows])
    norms = np.einsum("if,if->i", Z, Z, dtype=np.float64)
    K = kernel((Z @ Z.T).astype(np.float64), norms, norms, metric.linear)
    tried = {}
    for ridge in np.multiply(RIDGES, metric.ridge).tolist():
        H = K.copy()
        H.flat[:: len(H) + 1] += ridge
        P = inverse(H)
        errors = block_residuals(P, P @ Y[rows], edges)
        tried[float(np.mean(errors[scored] ** 2))] = (ridge, _error_scale(P, errors, edges, scored))
    return tried[min(tried)]


def _error_scale(P: np.ndarray, errors: np.ndarray, edges: np.ndarray, scored: np.ndarray) -> np.ndarray:
    """Return for each output the factor that makes 95 % of the scored errors lie within 1.96 deviations.

    The metric was learned on these errors, which are therefore a little too small, and errors of one block go
    together. So the quantile is taken one standard error above 95 %, blocks being the independent units.
    """
    variance = np.concatenate([np.diag(np.linalg.inv(P[a:b, a:b])) for a, b in pairwise(edges)])
    ratio = np.abs(errors[scored]) / np.sqrt(variance[scored])[:, None]
    n_blocks = sum(bool(scored[a:b].any()) for a, b in pairwise(edges))
    level = min(0.995, 0.95 + np.sqrt(0.95 * 0.05 / n_blocks))
    return np.quantile(ratio, level, axis=0) / NORMAL_95
