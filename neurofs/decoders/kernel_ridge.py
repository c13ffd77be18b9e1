"""Decoders that know samples by their weighted distances alone, through a kernel: kernel ridge regression."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from neurofs.decoders.base import Grid, Part, PartStep, Predict, Rehearsal, TunedDecoder
from neurofs.decoders.nearest import MAX_TABLE, NORMAL_ROWS, TUNING_ROWS
from neurofs.features.holdouts import pick_evenly
from neurofs.features.samples import Samples
from neurofs.ground.effort import bound
from neurofs.ground.works import WORKS
from neurofs.metric.neighbors import Distances, blocks, pairwise_distances
from neurofs.metric.tables import find_table

ROWS = 1024  # of a table that are worked on at a time
Machine = Callable[[np.ndarray], np.ndarray]  # from the distances of queries to the training rows to predictions


@dataclass(frozen=True, eq=False)
class Table:
    """Distances among the training rows in single precision, what all parameters share, and the precision of that."""

    distances: np.ndarray
    precision: Any = np.float32

    @cached_property
    def middle(self) -> float:
        """The median distance of some 100 rows to all rows, or 1 if it is 0."""
        few = self.distances[:: max(1, len(self.distances) // 100)]
        return float(np.median(few.astype(self.precision, copy=False))) or 1.0

    @cached_property
    def row_mean(self) -> np.ndarray:
        """The mean distance of each row to all."""
        parts = (self.distances[rows].astype(self.precision, copy=False) for rows in blocks(len(self.distances), ROWS))
        return np.concatenate([part.mean(axis=1) for part in parts])


class KernelDecoder(TunedDecoder):
    """Base of decoders that are fitted to a table of distances among the training rows (`_solve`).

    Their coefficients are large and of both signs. So distances of queries are of double precision: those of a stream,
    which come one by one and are summed in another order, then give the same predictions to 1e-6.
    """

    PRECISION: ClassVar[Any] = np.float32  # of the table of the last fit

    def _fit_part(self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]) -> Part:
        chosen = self._choose(rehearsals)
        table = Table(find_table(train, weights), self.PRECISION)
        return Part(weights, (train, self._solve(table, targets, **chosen)), chosen)

    def _prepare(self, t: Rehearsal) -> Predict:
        inside = Table(find_table(t.train, t.weights))
        across = pairwise_distances(t.queries, t.train, weights=t.weights)
        return lambda **parameters: self._solve(inside, t.targets, **parameters)(across)

    def _predict_part(self, part: Part, queries: Samples) -> np.ndarray:
        train, machine = part.model
        parts = [queries[first : first + ROWS] for first in range(0, max(len(queries), 1), ROWS)]
        across = (pairwise_distances(few, train, weights=part.weights, dtype=np.float64) for few in parts)
        return np.concatenate([machine(table) for table in across])

    def _start_part(self, part: Part) -> PartStep:
        train, machine = part.model
        distances = Distances(train, part.weights)
        return lambda window, follows: machine(distances.to(window))

    def _solve(self, table: Table, targets: np.ndarray, **parameters: float) -> Machine:
        """Fit the targets, given the distances among their rows."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class KernelOfDistance:
    """K = shape(d / (b · median d)) + linear · G / (median d) + 1, from squared distances alone.

    G are the inner products of the weighted features about their training mean:
    G_ij = ½ (r_i + r_j − t − d_ij), r_i the mean distance of row i to the training rows, t the mean of r.
    Some rows at a time, so that no second array of that size is needed; among training rows K is exactly symmetric.
    """

    shape: str
    width: float
    linear: float
    row_mean: np.ndarray
    mean: float

    def __call__(self, distances: np.ndarray, own_mean: np.ndarray) -> np.ndarray:
        """Return the kernel between queries and training rows; `own_mean` are the r_i of the queries."""
        K = np.empty(distances.shape, own_mean.dtype)
        for rows in blocks(len(K), ROWS):
            self._fill(distances[rows].astype(K.dtype, copy=False), own_mean[rows], K[rows])
        return K

    def _fill(self, distances: np.ndarray, own_mean: np.ndarray, K: np.ndarray) -> None:
        np.divide(distances, self.width, out=K)
        if self.shape == "gaussian":
            np.exp(np.negative(K, out=K), out=K)
        else:
            np.reciprocal(np.add(K, 1.0, out=K), out=K)
        K += 1.0
        if self.linear:
            half = 0.5 * self.mean
            K -= (0.5 * self.linear) * distances
            K += (0.5 * self.linear) * ((own_mean - half)[:, None] + (self.row_mean - half))


@dataclass(frozen=True, eq=False)
class KernelRidgeMachine:
    """ĝ(x) = Σ_j K(x, x_j) c_j."""

    kernel: KernelOfDistance
    dual: np.ndarray

    def __call__(self, across: np.ndarray) -> np.ndarray:
        """Predict from the distances of the queries to the training rows."""
        return self.kernel(across, across.mean(axis=1)) @ self.dual


@dataclass(eq=False, repr=False)
class KernelRidgeMetric(KernelDecoder):
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
    max_rows : int or "auto"
        Largest number of training rows used; "auto" is 6,500 with normal `effort` (3,000 while parameters are
        chosen), a quarter of it with quick, and 12,000 with full.
    effort : "quick", "normal" or "full"
        See `max_rows`.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = np.sin(X[:, 0])
    >>> decoder = KernelRidgeMetric().fit(X[:200], y[:200], feature_weights=[1, 0.2])
    >>> bool(decoder.score(X[200:], y[200:]) > 0.98)
    True
    """

    name, label, citation, cost = "kernel-ridge", "kernel ridge", WORKS["saunders1998"], "m³; m² memory"
    GRID: ClassVar[Grid] = {
        "width": (0.06, 0.12, 0.25, 0.5, 1.0, 2.0, 4.0),
        "ridge": (0.003, 0.01, 0.03, 0.1, 0.3, 1.0),
    }
    START: ClassVar[Mapping[str, float]] = {"width": 0.5, "ridge": 0.1}
    PRECISION, SOFTENS = np.float64, True

    width: float | str = "auto"
    ridge: float | str = "auto"
    kernel: str = "rational"
    linear: float = 0.3
    max_rows: int | str = "auto"
    effort: str = "normal"

    def _fit_part(self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]) -> Part:
        if self.kernel not in ("rational", "gaussian"):
            raise ValueError(f"kernel must be 'rational' or 'gaussian'; found {self.kernel!r}")
        rows = pick_evenly(len(train), self._most_rows(NORMAL_ROWS))
        return super()._fit_part(train[rows], targets[rows], weights, rehearsals)

    def _prepare(self, t: Rehearsal) -> Predict:
        predict = super()._prepare(t.keep(self._most_rows(TUNING_ROWS)))

        def predict_or_fail(**parameters: float) -> np.ndarray:
            try:
                return predict(**parameters)
            except LinAlgError:  # too little ridge for single precision
                return np.full(t.truth.shape, np.inf)

        return predict_or_fail

    def _most_rows(self, normal: int) -> int:
        """Return how many training rows are used at most, given what is normal."""
        return int(min(bound(self.effort, normal), MAX_TABLE) if isinstance(self.max_rows, str) else self.max_rows)

    def _solve(self, table: Table, targets: np.ndarray, **parameters: float) -> Machine:
        """Return the kernel and the dual coefficients, in the precision of `table`."""
        middle, row_mean = table.middle, table.row_mean
        kernel = KernelOfDistance(
            self.kernel, parameters["width"] * middle, self.linear / middle, row_mean, float(row_mean.mean())
        )
        K = kernel(table.distances, row_mean)
        K[np.diag_indices_from(K)] += parameters["ridge"]
        factor = cho_factor(K.T, lower=True, overwrite_a=True, check_finite=False)  # as it lies in memory: no copy
        return KernelRidgeMachine(kernel, cho_solve(factor, targets.astype(K.dtype), check_finite=False))
