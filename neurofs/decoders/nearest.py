"""Decoders of the nearest neighbors: soft kNN and local-linear regression.

    d_w(x, x') = Σ_f w_f² (x_f − x'_f)²

Both take the weights of a selector as `feature_weights` of `fit`: one number per feature, or one row per output
when every output has a metric of its own; none means unit weights. Parameters that are not given as numbers are
chosen inside the training data, on blocks or whole trials left out with gaps. Weights that were fitted to those
blocks too would flatter narrow, unsmooth choices, so that `hold_out` fits them again without the blocks:

    fit_weights = lambda X, y, groups: RGS().fit(X, y, groups).weights_
    parts = hold_out(X, y, fit_weights, trials)
    decoder = LocalLinear().fit(X, y, trials, fit_weights(X, y, trials), parts)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from neurofs.decoders.base import Grid, Part, PartStep, Predict, Rehearsal, TunedDecoder
from neurofs.features.holdouts import pick_evenly
from neurofs.features.samples import Samples
from neurofs.ground.effort import bound
from neurofs.ground.works import WORKS
from neurofs.metric.neighbors import Neighbors, Search, find_neighbors, local_linear, soft_knn
from neurofs.metric.tables import find_table

MAX_TABLE = 12_000  # rows up to which a table of all distances is kept in memory
EXACT, ROUGH = 1e-5, 1e-3  # tolerance of local regressions: of predictions, and while parameters are chosen
NORMAL_ROWS, TUNING_ROWS = 6_500, 3_000  # training rows of normal effort, and while parameters are chosen
COMPARED = 130_000_000  # numbers (rows × features) that soft kNN compares each sample with at most, with normal effort


def count_references(n_rows: int, n_features: int, effort: str) -> int:
    """Return among how many training rows, evenly chosen, soft kNN looks for neighbors.

    >>> count_references(50_000, 475, "normal"), count_references(57_600, 20_000, "normal")
    (50000, 6500)
    """
    return int(min(bound(effort, COMPARED) / n_features, n_rows))


@dataclass(eq=False, repr=False)
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

    name, label, citation, cost = "knn", "soft kNN", WORKS["navot2005"], "m N per prediction"
    GRID: ClassVar[Grid] = {"n_neighbors": (5, 8, 12, 18, 27, 40, 60, 90), "beta": (0.05, 0.08, 0.12, 0.18, 0.27, 0.4)}
    MAX_QUERIES, SOFTENS = 1000, True

    n_neighbors: int | str = "auto"
    beta: float | str = "auto"

    def _fit_part(self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]) -> Part:
        return Part(weights, (train, targets), self._choose(rehearsals))

    def _prepare(self, t: Rehearsal) -> Predict:
        near = self._find_most(t)
        return lambda n_neighbors, beta: soft_knn(near, t.targets, k=int(n_neighbors), beta=beta)

    def _find_most(self, t: Rehearsal) -> Neighbors:
        """Return as many neighbors of the test rows of a hold-out as any choice needs."""
        k = int(max(self._grids()["n_neighbors"]))
        return find_neighbors(t.train, t.queries, weights=t.weights, k=k)

    def _start_part(self, part: Part) -> PartStep:
        (train, targets), beta = part.model, part.chosen["beta"]
        search = Search(train, part.weights, int(part.chosen["n_neighbors"]))
        return lambda window, follows: soft_knn(search.find(window), targets, beta=beta)

    def _predict_part(self, part: Part, queries: Samples) -> np.ndarray:
        train, targets = part.model
        near = find_neighbors(train, queries, weights=part.weights, k=int(part.chosen["n_neighbors"]))
        return soft_knn(near, targets, beta=part.chosen["beta"])


@dataclass(eq=False, repr=False)
class LocalLinear(SoftKNN):
    """Local-linear regression in the metric of the feature weights.

    A ridge regression with intercept on the k nearest training samples, weighted by a = exp(−d_w / β), with
    the features scaled by their weights, evaluated at the query.

    Parameters
    ----------
    n_neighbors, beta : number or "auto"
        As in `SoftKNN`.
    ridge : float or "auto"
        Strength of the ridge, in units of the mean eigenvalue of the local Gram matrix.
    effort : "quick", "normal" or "full"
        With normal effort at most 6,500 training rows are used, evenly selected, and 3,000 while parameters are
        chosen; with quick a quarter of that; with full all.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> decoder = LocalLinear().fit(X[:200], X[:200].sum(axis=1))
    >>> bool(decoder.score(X[200:], X[200:].sum(axis=1)) > 0.99)
    True
    """

    name, label, citation = "local-linear", "local linear", WORKS["cleveland1988"]
    cost = "m N + k³ per prediction; m² memory"
    GRID: ClassVar[Grid] = {
        "n_neighbors": (50, 100, 200, 400),
        "beta": (0.06, 0.12, 0.25),
        "ridge": (0.3, 1.0, 3.0, 10.0),
    }
    START: ClassVar[Mapping[str, float]] = {"n_neighbors": 200, "beta": 0.12, "ridge": 1.0}
    MAX_QUERIES = 250

    ridge: float | str = "auto"
    effort: str = "normal"

    def _fit_part(self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]) -> Part:
        rows = pick_evenly(len(train), int(min(bound(self.effort, NORMAL_ROWS), len(train))))
        train, targets = train[rows], targets[rows]
        return Part(weights, (train, targets, table_that_fits(train, weights)), self._choose(rehearsals))

    def _prepare(self, t: Rehearsal) -> Predict:
        t = t.keep(int(min(bound(self.effort, TUNING_ROWS), len(t.train))))
        near, table = self._find_most(t), table_that_fits(t.train, t.weights)
        return lambda **chosen: _local_linear(near, t.targets, table, tolerance=ROUGH, **chosen)

    def _start_part(self, part: Part) -> PartStep:
        train, targets, table = part.model
        search = Search(train, part.weights, int(part.chosen["n_neighbors"]))
        return lambda window, follows: _local_linear(search.find(window), targets, table, **part.chosen)

    def _predict_part(self, part: Part, queries: Samples) -> np.ndarray:
        train, targets, table = part.model
        near = find_neighbors(train, queries, weights=part.weights, k=int(part.chosen["n_neighbors"]))
        return _local_linear(near, targets, table, **part.chosen)


def _local_linear(
    near: Neighbors,
    targets: np.ndarray,
    table: Any,
    n_neighbors: float,
    beta: float,
    ridge: float,
    tolerance: float = EXACT,
) -> np.ndarray:
    """Estimate with the ridge in units of the mean eigenvalue; a mean of k of them is the trace."""
    k = min(int(n_neighbors), near.index.shape[1])
    return local_linear(near, targets, k=k, beta=beta, ridge=ridge / k, pairwise=table, tolerance=tolerance)


def table_that_fits(train: Samples, weights: Any) -> np.ndarray | None:
    """Return the distances among the training rows, or none if they would fill the memory."""
    return find_table(train, weights) if len(train) <= MAX_TABLE else None
