"""Kernel ridge regression, or its Gaussian process, in one learned metric, on all rows or on landmarks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.linalg.lapack import dpotrf

from neurofs.features.samples import Samples
from neurofs.metric.block_ridge import block_residuals, inverse, kernel
from neurofs.metric.learning import LearnedMetric, make_blocks, sort_rows

__all__ = ["CHOOSING_ROWS", "NORMAL_95", "PART", "KernelModel", "choose_ridge"]

RIDGES = (0.5, 1.0, 2.0, 4.0)
CHOOSING_ROWS = 2500
PART = 1_000  # rows handled at a time
NORMAL_95 = 1.959964
ROUNDING = 1e-6  # what distances in float32 may take from the eigenvalues of K, of its mean diagonal


class KernelModel:
    """The rows of a model in their metric, and α with K α + λ α = Y.

    Examples
    --------
    >>> from neurofs.metric.learning import learn_metric
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> samples, Y = Samples.from_array(X), X[:, :1] * X[:, 1:]
    >>> metric = learn_metric(samples, Y, None, np.random.default_rng(0), n_steps=20)
    >>> model = KernelModel(metric, metric.ridge, samples[:200]).fit(samples[:200], Y[:200])
    >>> bool(np.mean((model.predict(samples[200:]) - Y[200:]) ** 2) < 0.1)
    True
    """

    def __init__(self, metric: LearnedMetric, ridge: float, rows: Samples) -> None:
        self.metric, self.ridge = metric, ridge
        self.rows = metric.transform(rows)
        self.norms = _square_norms(self.rows)
        self.rounding = ROUNDING * float(np.mean(self._prior(self.norms)))

    def fit(self, samples: Samples, Y: np.ndarray, keep_factor: bool = False) -> KernelModel:
        """Fit standardised targets of all samples; without the factor, which is large, there are no deviations."""
        solve = self._solve_all if len(samples) == len(self.rows) else self._solve_landmarks
        self.alpha, factor = solve(samples, Y)
        self.factor = factor if keep_factor else None
        return self

    def _solve_all(self, samples: Samples, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Solve (K + λI) α = Y."""
        factor = self._factor(self.ridge)
        return cho_solve((factor, True), Y), factor

    def _solve_landmarks(self, samples: Samples, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Solve (K_nm K_mn + λ K_nn) α = K_nm Y for the landmarks n and all rows m, some rows at a time.

        With K_nn = L Lᵀ, A = L⁻¹ K_nm and α = L⁻ᵀ β that is (A Aᵀ + λI) β = A Y, which rounding harms less.
        """
        L = self._factor(self.rounding)
        H, rhs = np.diag(np.full(len(L), self.ridge)), np.zeros((len(L), Y.shape[1]))
        for first in range(0, len(samples), PART):
            part = self._kernel_with(self.metric.transform(samples[first : first + PART]))
            A = solve_triangular(L, part.T, lower=True)
            H += A @ A.T
            rhs += A @ Y[first : first + PART]
        beta = cho_solve(cho_factor(H.T, lower=True, overwrite_a=True), rhs)
        alpha = solve_triangular(L, beta, lower=True, trans="T")
        return alpha, self._factor(self.ridge * len(L) / len(samples))

    def _factor(self, ridge: float) -> np.ndarray:
        """Return the lower factor of K + ridge I; where rounding spoils it, with a little more on the diagonal.

        K is made some rows at a time and overwritten by its factor.
        """
        for more in (0.0, 1.0, 10.0, 100.0, 1000.0):
            K = self._make_kernel()
            K.flat[:: len(K) + 1] += ridge + more * self.rounding
            factor, failed = dpotrf(K.T, lower=1, clean=0, overwrite_a=1)
            if not failed:
                return np.asarray(factor)
        raise np.linalg.LinAlgError(
            "the kernel matrix has no Cholesky factor; are there NaN among the samples?"
        )

    def _prior(self, norms: np.ndarray) -> np.ndarray:
        """Return the variance of rows before anything is known: the diagonal of K."""
        return 2.0 + self.metric.linear * norms

    def _make_kernel(self) -> np.ndarray:
        """Return K between the rows of the model."""
        n = len(self.rows)
        K = np.empty((n, n))
        for first in range(0, n, PART):
            K[first : first + PART] = self._kernel_with(self.rows[first : first + PART])
        return K

    def _kernel_with(self, rows: np.ndarray) -> np.ndarray:
        """Return K between transformed rows and those of the model."""
        G = (rows @ self.rows.T).astype(np.float64)
        return kernel(G, _square_norms(rows), self.norms, self.metric.linear)

    def predict(self, samples: Samples) -> np.ndarray:
        """Return the mean of the targets of some samples."""
        return self._kernel_with(self.metric.transform(samples)) @ self.alpha

    def predict_std(self, samples: Samples) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean of the targets, and the standard deviation that all outputs share."""
        rows = self.metric.transform(samples)
        K = self._kernel_with(rows)
        half = solve_triangular(self.factor, K.T, lower=True)
        variance = self._prior(_square_norms(rows)) + self.ridge - np.einsum("ji,ji->i", half, half)
        return K @ self.alpha, np.sqrt(np.maximum(variance, self.ridge))


def _square_norms(rows: np.ndarray) -> np.ndarray:
    norms: np.ndarray = np.einsum("if,if->i", rows, rows, dtype=np.float64)
    return norms


def choose_ridge(
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
    norms = _square_norms(Z)
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
