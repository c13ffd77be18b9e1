"""Kernel RGS as a decoder: kernel ridge regression, or its Gaussian process, in the learned metric.

The largest thing in memory is the kernel matrix of the rows of the model, 8 n² bytes. Before anything is done,
`count_model_rows` tells how many rows the bound allows: all, or landmarks (Nyström), or it refuses.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from neurofs.block_ridge import block_residuals, inverse, kernel
from neurofs.channel_path import learn_sparse_metric
from neurofs.learned_metric import N_ROWS, N_STEPS, LearnedMetric, learn_metric, make_blocks, sort_rows
from neurofs.metric import as_samples
from neurofs.samples import Samples

__all__ = ["KernelRGSDecoder"]

RIDGES = (0.5, 1.0, 2.0, 4.0)
CHOOSING_ROWS = 2500
MOST_ROWS = 10_000
LANDMARKS = 2_000
FEWEST_LANDMARKS = 100
PART = 1_000  # rows handled at a time
NORMAL_95 = 1.959964


class KernelRGSDecoder(RegressorMixin, BaseEstimator):
    """Kernel ridge regression in a metric learned by its own leave-block-out error.

    K(x, x') = 1 / (1 + d_w(x, x')) + c x·x' + 1, with ridge λ; w, c and λ are learned (`neurofs.learned_metric`),
    and λ is chosen once more among ½, 1, 2 and 4 times the learned value for the final fit. Above 10,000 rows, or
    where the memory does not suffice for all, some of the rows, at most 2,000, serve as landmarks (Nyström).

    Parameters
    ----------
    mixed : bool
        Also learn how the bins of a channel are mixed, the same way for all channels, after each was given its
        weight.
    sparse : bool
        Use only the channels that are needed (`neurofs.channel_path`).
    n_steps, n_rows : int
        Steps of the search, and rows drawn for each.
    memory_limit : float
        Most memory that the fit may take, in bytes, apart from the samples.
    random_state : int, RandomState or None

    Attributes
    ----------
    metric_ : LearnedMetric
    feature_weights_ : array (n_features,)
        Weight of each channel × lag in the metric; the largest is 1.
    loss_curve_ : array
        Logarithm of the leave-block-out mean squared error at each step.
    channel_path_ : ChannelPath
        Only if sparse: the error with so many channels, and which channels suffice.
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
        sparse: bool = False,
        n_steps: int = N_STEPS,
        n_rows: int = N_ROWS,
        memory_limit: float = 2e9,
        random_state: Any = None,
    ) -> None:
        self.mixed = mixed
        self.sparse = sparse
        self.n_steps = n_steps
        self.n_rows = n_rows
        self.memory_limit = memory_limit
        self.random_state = random_state

    def fit(self, X: Any, y: Any, groups: Any = None) -> KernelRGSDecoder:
        """Learn the metric and fit the model; `groups` names the trial of each row."""
        samples, Y = as_samples(X), np.asarray(y, dtype=np.float64)
        self._one_output = Y.ndim == 1
        Y = Y.reshape(len(samples), -1)
        n_model = count_model_rows(*samples.shape, self.n_rows, self.memory_limit)
        groups = None if groups is None else np.asarray(groups)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        self.mean_, self.sd_ = Y.mean(axis=0), np.where(Y.std(axis=0) > 0, Y.std(axis=0), 1.0)
        Y = (Y - self.mean_) / self.sd_
        settings: dict[str, Any] = {"mixed": self.mixed, "n_steps": self.n_steps, "n_rows": self.n_rows}
        if self.sparse:
            self.metric_, self.channel_path_ = learn_sparse_metric(samples, Y, groups, rng, **settings)
        else:
            self.metric_ = learn_metric(samples, Y, groups, rng, **settings)
        self.ridge_, self.error_scale_ = _choose_ridge(self.metric_, samples, Y, groups, rng)
        self.feature_weights_ = self.metric_.feature_weights
        self.loss_curve_ = self.metric_.loss_curve
        self.n_features_in_ = samples.n_features
        chosen = np.sort(rng.permutation(len(samples))[:n_model])
        self._rows = self.metric_.transform(samples[chosen])
        self._norms = np.einsum("if,if->i", self._rows, self._rows, dtype=np.float64)
        fit = self._fit_all if n_model == len(samples) else self._fit_landmarks
        fit(samples, Y)
        return self

    def _fit_all(self, samples: Samples, Y: np.ndarray) -> None:
        """Solve (K + λI) α = Y; K is made some rows at a time and overwritten by its factor."""
        K = self._model_kernel()
        K.flat[:: len(K) + 1] += self.ridge_
        self._factor = cho_factor(K.T, lower=True, overwrite_a=True)
        self._alpha = cho_solve(self._factor, Y)

    def _fit_landmarks(self, samples: Samples, Y: np.ndarray) -> None:
        """Solve (K_nmᵀ K_nm + λ K_nn) α = K_nmᵀ Y for the landmarks n and all rows m, some rows at a time."""
        K = self._model_kernel()
        K.flat[:: len(K) + 1] += 1e-8 * np.trace(K) / len(K)
        H, rhs = self.ridge_ * K, np.zeros((len(K), Y.shape[1]))
        for first in range(0, len(samples), PART):
            part = self._kernel_with(self.metric_.transform(samples[first : first + PART]))
            H += part.T @ part
            rhs += part.T @ Y[first : first + PART]
        self._alpha = cho_solve(cho_factor(H.T, lower=True, overwrite_a=True), rhs)
        K.flat[:: len(K) + 1] += self.ridge_ * len(K) / len(samples)
        self._factor = cho_factor(K.T, lower=True, overwrite_a=True)

    def _model_kernel(self) -> np.ndarray:
        """Return K between the rows of the model."""
        n = len(self._rows)
        K = np.empty((n, n))
        for first in range(0, n, PART):
            K[first : first + PART] = self._kernel_with(self._rows[first : first + PART])
        return K

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
        parts = [self._predict_part(samples[i : i + PART], return_std) for i in range(0, len(samples), PART)]
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


def count_model_rows(n_samples: int, n_features: int, n_rows: int, limit: float) -> int:
    """Return how many rows the model may keep: all of them, or fewer as landmarks; too little memory is refused.

    >>> count_model_rows(6000, 100, 800, 2e9), count_model_rows(50_000, 100, 800, 2e9)
    (6000, 2000)
    """
    if n_samples <= MOST_ROWS and needed_memory(n_samples, n_samples, n_features, n_rows) <= limit:
        return n_samples
    for n in range(min(LANDMARKS, n_samples), FEWEST_LANDMARKS - 1, -50):
        if needed_memory(n, n_samples, n_features, n_rows) <= limit:
            return n
    least = needed_memory(FEWEST_LANDMARKS, n_samples, n_features, n_rows)
    raise ValueError(
        f"kernel RGS needs at least {least / 1e6:.0f} MB for {n_samples} samples of {n_features} features; "
        f"memory_limit is {limit / 1e6:.0f} MB. Raise it, or select features first."
    )


def needed_memory(n_model: int, n_samples: int, n_features: int, n_rows: int) -> float:
    """Return the bytes that a fit takes at its peak: a step of the search, the choice of λ, or the last fit."""
    step, choice = min(n_rows, n_samples), min(CHOOSING_ROWS, n_samples)
    learning = 12 * 8 * step**2 + 6 * 4 * step * n_features
    choosing = 5 * 8 * choice**2 + 2 * 4 * choice * n_features
    matrices = 8 * n_model**2 * (1 if n_model == n_samples else 2)
    part = min(PART, n_samples)
    last = matrices + 3 * 8 * part * n_model + 4 * (2 * n_model + 2 * part) * n_features
    return max(learning, choosing, last)


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
