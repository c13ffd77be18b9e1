"""Decoders that measure likeness by feature weights: soft kNN, local-linear regression, kernel ridge.

    d_w(x, x') = Σ_f w_f² (x_f − x'_f)²

All three take the weights of a selector as `feature_weights` of `fit`: one number per feature, or one row per
output when every output has a metric of its own; none means unit weights. Spike counts go in raw: the weights
are the scaling. Parameters that are not given as numbers are chosen inside the training data, on blocks or
whole trials left out with gaps. Weights that were fitted to those blocks too would flatter narrow, unsmooth
choices, so that `hold_out` fits them again without the blocks:

    fit_weights = lambda X, y, groups: RGS().fit(X, y, groups).weights_
    parts = hold_out(X, y, fit_weights, trials)
    decoder = LocalLinear().fit(X, y, trials, fit_weights(X, y, trials), parts)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean as mean
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from neurofs.decoders.base import Rehearsal, Score, TunedDecoder, best_by_turns, best_of_all, choices
from neurofs.features.holdouts import pick_evenly
from neurofs.features.samples import Samples
from neurofs.metric.neighbors import Neighbors, find_neighbors, local_linear, pairwise_distances, soft_knn

__all__ = ["KernelRidgeMetric", "LocalLinear", "MetricAverage", "SoftKNN"]

MAX_TABLE = 12_000  # rows up to which a table of all distances is kept in memory


# -------------------------------------------------------------------------------------------- local decoders


@dataclass(frozen=True, eq=False)
class LocalPart:
    """A fitted local decoder in one metric: the training data and the chosen parameters."""

    train: Samples
    targets: np.ndarray
    weights: Any
    chosen: Mapping[str, float]
    table: np.ndarray | None = None


class SoftKNN(TunedDecoder):
    """Soft k-nearest-neighbor regression in the metric of the feature weights.

    ĝ(x) = Σ g(x') a(x') / Σ a(x') over the k nearest training samples, a = exp(−d_w(x, x') / β), where β is
    `beta` times the mean distance of these k.

    Parameters
    ----------
    n_neighbors : int or "auto"
        k; "auto" chooses it on the hold-outs.
    beta : float or "auto"
        Width of the Gaussian as a fraction of the mean distance; chosen together with k.

    Attributes
    ----------
    parts_ : list
        One per metric; `parts_[0].chosen` tells the parameters in use.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> decoder = SoftKNN().fit(X[:200], X[:200, 0], feature_weights=[1, 0.1, 0])
    >>> bool(decoder.score(X[200:], X[200:, 0]) > 0.95)
    True
    """

    GRID: Mapping[str, Sequence[float]] = {
        "k": (5, 8, 12, 18, 27, 40, 60, 90),
        "beta": (0.05, 0.08, 0.12, 0.18, 0.27, 0.4),
    }
    MAX_QUERIES = 1000

    def __init__(self, n_neighbors: int | str = "auto", beta: float | str = "auto") -> None:
        self.n_neighbors = n_neighbors
        self.beta = beta

    def _fit_part(
        self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]
    ) -> LocalPart:
        grids = {
            "k": choices(self.n_neighbors, self.GRID["k"]),
            "beta": choices(self.beta, self.GRID["beta"]),
        }
        near = _find_all(rehearsals, int(max(grids["k"])), self.MAX_QUERIES)

        def score(k: float, beta: float) -> float:
            return mean(t.error(soft_knn(n, t.targets, k=int(k), beta=beta)) for t, n in near())

        return LocalPart(train, targets, weights, best_of_all(score, grids))

    def _predict_part(self, part: LocalPart, queries: Samples) -> np.ndarray:
        k, beta = int(part.chosen["k"]), part.chosen["beta"]
        near = find_neighbors(part.train, queries, weights=part.weights, k=k)
        return soft_knn(near, part.targets, beta=beta)


class LocalLinear(TunedDecoder):
    """Local-linear regression in the metric of the feature weights.

    A ridge regression with intercept on the k nearest training samples, weighted by a = exp(−d_w / β), with
    the features scaled by their weights, evaluated at the query.

    Parameters
    ----------
    n_neighbors, beta : number or "auto"
        As in `SoftKNN`.
    ridge : float or "auto"
        Strength of the ridge, in units of the mean eigenvalue of the local Gram matrix.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> decoder = LocalLinear().fit(X[:200], X[:200].sum(axis=1))
    >>> bool(decoder.score(X[200:], X[200:].sum(axis=1)) > 0.99)
    True
    """

    GRID: Mapping[str, Sequence[float]] = {
        "k": (50, 100, 200, 400),
        "beta": (0.06, 0.12, 0.25),
        "ridge": (0.3, 1.0, 3.0, 10.0),
    }
    START: Mapping[str, float] = {"k": 200, "beta": 0.12, "ridge": 1.0}
    MAX_QUERIES = 250

    def __init__(
        self, n_neighbors: int | str = "auto", beta: float | str = "auto", ridge: float | str = "auto"
    ) -> None:
        self.n_neighbors = n_neighbors
        self.beta = beta
        self.ridge = ridge

    def _fit_part(
        self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]
    ) -> LocalPart:
        given = {"k": self.n_neighbors, "beta": self.beta, "ridge": self.ridge}
        grids = {name: choices(value, self.GRID[name]) for name, value in given.items()}
        near = _find_all(rehearsals, int(max(grids["k"])), self.MAX_QUERIES)
        tables = cache(lambda: [_table(t.train, t.weights) for t in rehearsals])

        def score(k: float, beta: float, ridge: float) -> float:
            return mean(
                t.error(_local_linear(n, t.targets, int(k), beta, ridge, table))
                for (t, n), table in zip(near(), tables(), strict=True)
            )

        chosen = best_by_turns(score, grids, self.START)
        return LocalPart(train, targets, weights, chosen, _table(train, weights))

    def _predict_part(self, part: LocalPart, queries: Samples) -> np.ndarray:
        k, beta, ridge = part.chosen.values()
        near = find_neighbors(part.train, queries, weights=part.weights, k=int(k))
        return _local_linear(near, part.targets, int(k), beta, ridge, part.table)


def _local_linear(near: Neighbors, targets: np.ndarray, k: int, beta: float, ridge: float, table: Any) -> Any:
    """Estimate with the ridge in units of the mean eigenvalue; a mean of k of them is the trace."""
    k = min(k, near.index.shape[1])
    return local_linear(near, targets, k=k, beta=beta, ridge=ridge / k, pairwise=table)


def _find_all(
    rehearsals: list[Rehearsal], k: int, at_most: int
) -> Callable[[], list[tuple[Rehearsal, Neighbors]]]:
    """Return a function that finds, once, the neighbors of at most so many test rows over all rehearsals."""

    @cache
    def find() -> list[tuple[Rehearsal, Neighbors]]:
        thinned = [t.thin(at_most // len(rehearsals)) for t in rehearsals]
        return [(t, find_neighbors(t.train, t.queries, weights=t.weights, k=k)) for t in thinned]

    return find


def _table(train: Samples, weights: Any) -> np.ndarray | None:
    """Return the distances among the training rows, or none if they would fill the memory."""
    return pairwise_distances(train, weights=weights) if len(train) <= MAX_TABLE else None


# ---------------------------------------------------------------------------------------------- kernel ridge


@dataclass(frozen=True, eq=False)
class KernelPart:
    """A fitted kernel ridge in one metric."""

    train: Samples
    weights: Any
    kernel: KernelOfDistance
    dual: np.ndarray
    chosen: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class KernelOfDistance:
    """K = shape(d / (b · median d)) + linear · G / (median d) + 1, from squared distances alone.

    G are the inner products of the weighted features about their training mean:
    G_ij = ½ (r_i + r_j − t − d_ij), r_i the mean distance of row i to the training rows, t the mean of r.
    """

    shape: str
    width: float
    linear: float
    row_mean: np.ndarray
    mean: float

    def __call__(self, distances: np.ndarray, own_mean: np.ndarray) -> np.ndarray:
        """Return the kernel between queries and training rows; `own_mean` are the r_i of the queries."""
        K = distances / self.width
        if self.shape == "gaussian":
            np.exp(np.negative(K, out=K), out=K)
        else:
            np.reciprocal(np.add(K, 1.0, out=K), out=K)
        K += 1.0
        if self.linear:
            K -= (0.5 * self.linear) * distances
            K += (0.5 * self.linear) * (own_mean[:, None] + (self.row_mean - self.mean))
        return K


class KernelRidgeMetric(TunedDecoder):
    """Kernel ridge regression in the metric of the feature weights.

    K(x, x') = φ(d_w(x, x') / (b · median d_w)) + linear · ⟨x, x'⟩_w / median d_w + 1, φ(u) = 1 / (1 + u) or
    exp(−u); ĝ(x) = Σ_j K(x, x_j) c_j with (K + λ I) c = g on the training samples. Takes O(m³) time and
    O(m²) memory; above `max_rows` training rows, an even selection of them is used.

    Parameters
    ----------
    width : float or "auto"
        b; "auto" chooses it on the hold-outs.
    ridge : float or "auto"
        λ, for targets of variance 1; chosen together with b.
    kernel : {"rational", "gaussian"}
        φ; the heavier tail of the rational one suits spike counts better.
    linear : float
        Share of the linear kernel, which lets the fit go on beyond the data.
    max_rows : int
        Largest number of training rows used.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = np.sin(X[:, 0])
    >>> decoder = KernelRidgeMetric().fit(X[:200], y[:200], feature_weights=[1, 0.2])
    >>> bool(decoder.score(X[200:], y[200:]) > 0.98)
    True
    """

    GRID: Mapping[str, Sequence[float]] = {
        "width": (0.06, 0.12, 0.25, 0.5, 1.0, 2.0, 4.0),
        "ridge": (0.003, 0.01, 0.03, 0.1, 0.3, 1.0),
    }
    START: Mapping[str, float] = {"width": 0.5, "ridge": 0.1}

    def __init__(
        self,
        width: float | str = "auto",
        ridge: float | str = "auto",
        kernel: str = "rational",
        linear: float = 0.3,
        max_rows: int = MAX_TABLE,
    ) -> None:
        self.width = width
        self.ridge = ridge
        self.kernel = kernel
        self.linear = linear
        self.max_rows = max_rows

    def _fit_part(
        self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]
    ) -> KernelPart:
        if self.kernel not in ("rational", "gaussian"):
            raise ValueError(f"kernel must be 'rational' or 'gaussian'; found {self.kernel!r}")
        given = {"width": self.width, "ridge": self.ridge}
        grids = {name: choices(value, self.GRID[name]) for name, value in given.items()}
        chosen = best_by_turns(self._held_out_score(rehearsals), grids, self.START)
        rows = pick_evenly(len(train), self.max_rows)
        table = pairwise_distances(train[rows], weights=weights).astype(np.float64)
        kernel, dual = self._solve(table, targets[rows], **chosen)
        return KernelPart(train[rows], weights, kernel, dual, chosen)

    def _held_out_score(self, rehearsals: list[Rehearsal]) -> Score:
        """Return the mean squared error on the hold-outs, as a function of the parameters."""

        @cache
        def tables() -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
            return [self._tables(t) for t in rehearsals]

        def score(width: float, ridge: float) -> float:
            errors = []
            for t, (inside, across, targets) in zip(rehearsals, tables(), strict=True):
                try:
                    kernel, dual = self._solve(inside, targets, width, ridge)
                except LinAlgError:  # too little ridge for single precision
                    return np.inf
                errors.append(t.error(_apply(kernel, across, dual)))
            return float(np.mean(errors))

        return score

    def _tables(self, t: Rehearsal) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the distances among the rows to fit and from the test rows to them, and the targets."""
        rows = pick_evenly(len(t.train), self.max_rows)
        inside = pairwise_distances(t.train[rows], weights=t.weights)
        return inside, pairwise_distances(t.queries, t.train[rows], weights=t.weights), t.targets[rows]

    def _solve(
        self, table: np.ndarray, targets: np.ndarray, width: float, ridge: float
    ) -> tuple[KernelOfDistance, np.ndarray]:
        """Return the kernel and the dual coefficients, in the precision of `table`."""
        middle = float(np.median(table[:: max(1, len(table) // 500)])) or 1.0
        row_mean = table.mean(axis=1)
        kernel = KernelOfDistance(
            self.kernel, width * middle, self.linear / middle, row_mean, float(row_mean.mean())
        )
        K = kernel(table, row_mean)
        K[np.diag_indices_from(K)] += ridge
        factor = cho_factor(K, lower=True, overwrite_a=True, check_finite=False)
        return kernel, cho_solve(factor, targets.astype(table.dtype), check_finite=False)

    def _predict_part(self, part: KernelPart, queries: Samples) -> np.ndarray:
        across = pairwise_distances(queries, part.train, weights=part.weights)
        return _apply(part.kernel, across.astype(np.float64), part.dual)


def _apply(kernel: KernelOfDistance, across: np.ndarray, dual: np.ndarray) -> np.ndarray:
    """Predict from the distances of the queries to the training rows."""
    return kernel(across, across.mean(axis=1)) @ dual


class MetricAverage(TunedDecoder):
    """Mean of the predictions of `SoftKNN`, `LocalLinear` and `KernelRidgeMetric` in one metric.

    The three err differently, so that their mean is often better than the best of them.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> decoder = MetricAverage().fit(X[:200], X[:200].sum(axis=1))
    >>> bool(decoder.score(X[200:], X[200:].sum(axis=1)) > 0.95)
    True
    """

    ALWAYS_TUNED = True

    def _fit_part(
        self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]
    ) -> list[Any]:
        return [(d, d._fit_part(train, targets, weights, rehearsals)) for d in _members()]

    def _predict_part(self, part: list[Any], queries: Samples) -> np.ndarray:
        return np.mean([decoder._predict_part(fitted, queries) for decoder, fitted in part], axis=0)


def _members() -> list[TunedDecoder]:
    """Return the decoders that are averaged."""
    return [SoftKNN(), LocalLinear(), KernelRidgeMetric()]
