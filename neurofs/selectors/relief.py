"""The Relief family: features that differ between near samples of different targets, and not of the same.

    Relief    w_f += (x − nearmiss)_f² − (x − nearhit)_f²                            classes
    ReliefD   |x − nearmiss|_f − |x − nearhit|_f, all equally near rows sharing      classes
    ReliefF   the same over k hits, and k misses of every other class                classes
    RReliefF  P(differ in f | near, targets differ) − P(differ in f | near, same)    continuous

A row that overlaps x, or is of its trial, is never its neighbor. Scores may be negative (`scores_`); such
features have weight 0 but keep their place in the order.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from scipy.spatial.distance import cdist

from neurofs.features.samples import Samples
from neurofs.ground.works import WORKS
from neurofs.metric import loops_neighbors, neighbors
from neurofs.selectors import loops_margin
from neurofs.selectors.base import Selector
from neurofs.selectors.feature_groups import FeatureGroups
from neurofs.selectors.parameters import check_neighbors, check_positive
from neurofs.selectors.targets import ClassSelector

BLOCK = 128  # rows whose distances to all others are kept at a time
DEFAULT_NEIGHBORS = 10
NO_ROW = (
    "no row has a neighbor both of its own and of another class: all others overlap it, are of its group, or are "
    "missing"
)
TIED = 1e-9  # difference below which two distances are the same


# -------------------------------------------------------------------------------------------------- Relief


def nearest_hits_and_misses(
    samples: Samples, codes: np.ndarray, weights: Any = None, *, groups: Any = None, exclude: str = "overlap"
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest row of its own class and of another class for every row; −1 where there is none."""
    (samples,) = neighbors.centered(samples)
    groups, span = neighbors.loo_groups(groups, len(samples)), neighbors.exclusion_span(samples, exclude)
    w2 = neighbors.as_w2(weights, samples.n_features)
    hits, misses = np.full(len(samples), -1), np.full(len(samples), -1)
    for c in range(int(codes.max()) + 1):
        own, other = np.flatnonzero(codes == c), np.flatnonzero(codes != c)
        hits[own] = _nearest(samples, w2, groups, span, own, own)
        misses[own] = _nearest(samples, w2, groups, span, own, other)
    return hits, misses


def _nearest(
    samples: Samples, w2: np.ndarray, groups: np.ndarray, span: int, queries: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """Return the nearest of `rows` for each of `queries`, or −1."""
    flat, starts = neighbors.plain(samples.flat), samples.starts
    index, count = np.zeros((queries.size, 1), np.int64), np.zeros(queries.size, np.int64)
    distance, norms = np.zeros((queries.size, 1), np.float32), np.empty(rows.size, np.float32)
    loops_neighbors.row_norms(flat, starts[rows], w2, norms)
    train, query = (flat, starts[rows], groups[rows]), (flat, starts[queries], groups[queries])
    loops_neighbors.neighbors(*train, norms, w2, *query, span, index, distance, count)
    return np.where(count > 0, rows[index[:, 0]], -1)


def squared_differences(samples: Samples, a: np.ndarray, b: np.ndarray) -> Iterator[np.ndarray]:
    """Yield (x_a − x_b)² of pairs of rows, some pairs at a time, (pairs, features) in float64."""
    for first in range(0, a.size, BLOCK):
        part = slice(first, first + BLOCK)
        yield (np.asarray(samples[a[part]], float) - np.asarray(samples[b[part]], float)) ** 2


@dataclass(eq=False, repr=False)
class Relief(ClassSelector):
    """Relief: w_f = Σ_x (x − nearmiss)_f² − (x − nearhit)_f², with distances on all features alike.

    Every row is visited once, so there is nothing to draw at random. Several classes: the nearest miss is
    that of any other class.

    Parameters
    ----------
    exclude : "overlap" or "self"
        Which rows are no neighbors of a row: all whose windows overlap it, or only itself. With `groups` in
        `fit`, never those of its own group.

    Attributes
    ----------
    scores_ : array (n_features,)
        The sums above divided by the largest; `weights_` are those above 0.

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(-1, 1, (300, 6))
    >>> selector = Relief(2).fit(X, X[:, 0] * X[:, 3] > 0)
    >>> sorted(selector.order_[:2].tolist())
    [0, 3]
    """

    name, label = "relief", "Relief"
    citation, origin = WORKS["kira1992"], "Kira & Rendell 1992"
    color, marker, line = "brown", "h", "--"
    cost = "m² N"

    exclude: str = "overlap"

    def _weigh(self, samples: Samples, Y: np.ndarray, groups: Any) -> np.ndarray:
        codes = Y[:, 0].astype(np.int64)
        hits, misses = nearest_hits_and_misses(samples, codes, groups=groups, exclude=self.exclude)
        rows = usable_rows(hits, misses)
        scores = np.zeros(samples.n_features)
        for z in squared_differences(samples, rows, misses[rows]):
            scores += z.sum(axis=0)
        for z in squared_differences(samples, rows, hits[rows]):
            scores -= z.sum(axis=0)
        self.scores_ = scores / (np.abs(scores).max() or 1.0)
        return self.scores_


def usable_rows(hits: np.ndarray, misses: np.ndarray) -> np.ndarray:
    """Return the rows that have both a hit and a miss; none at all is refused."""
    rows = np.flatnonzero((hits >= 0) & (misses >= 0))
    if not rows.size:
        raise ValueError(NO_ROW)
    return rows


# ------------------------------------------------------------------------------------------------- ReliefD


@dataclass(eq=False, repr=False)
class ReliefD(ClassSelector):
    """ReliefD: what Relief tends to when it draws rows, and one of equally near rows, without end.

    w_f = mean over x of the mean diff_f(x, nearest misses) − mean diff_f(x, nearest hits). Every row is visited,
    and all its nearest rows of its own class, and of other classes, share equally. diff_f is |x_f − x'_f| / range_f,
    and for a nominal feature 0 if the values are equal and else 1; distances are the sum of diff_f over all features.

    Parameters
    ----------
    n_features_to_select : int, float or None
        None, the default, keeps the features whose w is above the threshold, at least the best one.
    threshold : float
        What w must exceed; lower features have weight 0.
    nominal : int
        A feature of at most this many different values is nominal; 0, the default: all are numbers.
    exclude
        See `Relief`.

    Attributes
    ----------
    scores_ : array (n_features,)
        w above, possibly negative.

    Examples
    --------
    >>> X = np.random.default_rng(0).integers(0, 3, (300, 5))
    >>> ReliefD(threshold=0.1, nominal=3).fit(X, X[:, 0] == X[:, 3]).get_support(indices=True)
    array([0, 3])
    """

    name, label = "reliefd", "ReliefD"
    citation, origin = WORKS["john1994"], "John, Kohavi & Pfleger 1994"
    color, marker, line = "brown", "d", "-."
    cost = "m² N"

    threshold: float = 0.0
    nominal: int = 0
    exclude: str = "overlap"

    def _weigh(self, samples: Samples, Y: np.ndarray, groups: Any) -> np.ndarray:
        if not isinstance(self.threshold, Real) or not np.isfinite(float(self.threshold)):
            raise ValueError(f"threshold must be a number; found {self.threshold!r}")
        Z, owner = scale_differences(np.asarray(samples, float), self.nominal)
        near = _Tied(Z, samples, Y[:, 0], groups, self.exclude)
        scores, used = np.zeros(Z.shape[1]), 0
        for i in range(len(Z)):
            hits, misses = near.find(i)
            if hits.size and misses.size:
                scores += np.abs(Z[misses] - Z[i]).mean(axis=0) - np.abs(Z[hits] - Z[i]).mean(axis=0)
                used += 1
        if not used:
            raise ValueError(NO_ROW)
        self.scores_ = np.bincount(owner, scores, samples.n_features) / used
        return self.scores_

    def _to_weights(self, scores: np.ndarray) -> np.ndarray:
        return np.where(scores > self.threshold, np.maximum(scores, 0.0), 0.0)

    def _rank(self, importance: np.ndarray, feature_groups: FeatureGroups) -> None:
        super()._rank(importance, feature_groups)
        if self.n_features_to_select is None:
            n_groups = sum((importance[members] > self.threshold).any() for members in feature_groups.members)
            self.n_selected_ = int((self.ranking_ <= max(1, n_groups)).sum())


def scale_differences(X: np.ndarray, nominal: int) -> tuple[np.ndarray, np.ndarray]:
    """Return columns whose absolute differences add up to diff_f, and the feature of each column.

    A number is divided by its range; a nominal feature has ½ in the column of its value and 0 in the others.

    >>> scale_differences(np.array([[0.0, 7.0], [4.0, 9.0], [3.0, 7.0]]), 2)[0]
    array([[0.  , 0.5 , 0.  ],
           [1.  , 0.  , 0.5 ],
           [0.75, 0.5 , 0.  ]])
    """
    columns, owner = [], []
    for f, x in enumerate(X.T):
        values = np.unique(x)
        if values.size <= nominal:
            part = 0.5 * (x[:, None] == values)
        else:
            part = ((x - values[0]) / (np.ptp(values) or 1.0))[:, None]
        columns.append(part)
        owner += [f] * part.shape[1]
    return np.hstack(columns), np.array(owner)


class _Tied:
    """All nearest hits and misses of a row."""

    def __init__(self, Z: np.ndarray, samples: Samples, y: np.ndarray, groups: Any, exclude: str) -> None:
        """Keep the scaled columns, and what rows may not be neighbors."""
        neighbors.check_pairs(samples, groups, exclude)
        self.Z, self.y, self.starts = Z, y, samples.starts
        self.groups, self.span = neighbors.loo_groups(groups, len(Z)), neighbors.exclusion_span(samples, exclude)

    def find(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest rows of its own class and of others, as many as are equally near."""
        d = cdist(self.Z[i : i + 1], self.Z, "cityblock")[0]
        allowed = (self.groups != self.groups[i]) & (np.abs(self.starts - self.starts[i]) >= self.span)
        same = self.y == self.y[i]
        return _least(d, allowed & same), _least(d, allowed & ~same)


def _least(d: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return which of some rows have the least distance, but for rounding."""
    return np.flatnonzero(rows & (d <= d[rows].min() + TIED)) if rows.any() else np.array([], np.int64)


# --------------------------------------------------------------------------------------- ReliefF, RReliefF


class _Near:
    """Neighbors under d(x, x') = Σ_f |x_f − x'_f| / range_f, for a block of rows at a time."""

    def __init__(self, samples: Samples, groups: Any, exclude: str, scaled: bool) -> None:
        """Measure the range of every feature; constant features count for nothing."""
        neighbors.check_pairs(samples, groups, exclude)
        (samples,) = neighbors.centered(samples)
        self.flat, self.starts, m = neighbors.plain(samples.flat), samples.starts, len(samples)
        self.groups, self.span = neighbors.loo_groups(groups, m), neighbors.exclusion_span(samples, exclude)
        columns = (self.flat[self.starts + f] for f in range(samples.n_features))
        ranges = np.array([np.ptp(column) for column in columns], np.float64)
        unit = np.ones_like(ranges) if not scaled else 1.0 / np.where(ranges > 0, ranges, 1.0)
        self.scale = np.where(ranges > 0, np.minimum(unit, 1e30), 0.0).astype(np.float32)
        self.n_rows = m

    def blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield some rows and their distances to all rows."""
        for first in range(0, self.n_rows, BLOCK):
            rows = np.arange(first, min(first + BLOCK, self.n_rows))
            d = np.empty((rows.size, self.n_rows), np.float32)
            loops_neighbors.manhattan_distances(self.flat, self.starts, self.scale, rows, d)
            yield rows, d

    def select(self, rows: np.ndarray, d: np.ndarray, among: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest of the rows `among` for each of `rows`, and how many there are."""
        index, count = np.zeros((rows.size, k), np.int64), np.zeros(rows.size, np.int64)
        distance = np.zeros((rows.size, k), np.float32)
        train = (np.ascontiguousarray(d[:, among]), self.starts[among], self.groups[among])
        query = (self.starts[rows], self.groups[rows])
        loops_neighbors.prefix_select(*train, *query, self.span, index, distance, count)
        return among[index], count

    def add(self, rows: np.ndarray, index: np.ndarray, u: np.ndarray, out: np.ndarray) -> None:
        """out[f] += Σ u_ir |x_if − x_rf| / range_f."""
        loops_margin.add_differences(self.flat, self.starts, self.scale, rows, index, u, out)


def shares(count: np.ndarray, k: int) -> np.ndarray:
    """Return 1 / count for the ranks that exist, else 0.

    >>> shares(np.array([2, 0]), 3)
    array([[0.5, 0.5, 0. ],
           [0. , 0. , 0. ]])
    """
    return (np.arange(k) < count[:, None]) / np.maximum(count, 1)[:, None]


@dataclass(eq=False, repr=False)
class ReliefF(ClassSelector):
    """ReliefF: k hits, and k misses of each other class weighed by how frequent that class is.

    w_f = mean over x of Σ_{c ≠ y} P(c) / (1 − P(y)) · mean diff_f(x, misses of c) − mean diff_f(x, hits),
    diff_f(x, x') = |x_f − x'_f| / range_f, distances being the sum of diff_f over all features.

    Parameters
    ----------
    n_neighbors : "auto" or int
        k, for each class; "auto" is 10. A class with fewer samples gives what it has.
    scaled : bool
        Divide differences by the range of the feature, as published. Spike counts may do better without.
    exclude
        See `Relief`.

    Attributes
    ----------
    scores_ : array (n_features,)
        w above, possibly negative; `weights_` are those above 0.

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(-1, 1, (300, 6))
    >>> sorted(ReliefF().fit(X, X[:, 0] * X[:, 3] > 0).order_[:2].tolist())
    [0, 3]
    """

    name, label = "relieff", "ReliefF"
    citation, origin = WORKS["kononenko1994"], "Kononenko 1994"
    color, marker = "brown", "h"
    cost = "m² N"

    n_neighbors: int | Literal["auto"] = "auto"
    scaled: bool = True
    exclude: str = "overlap"

    def _weigh(self, samples: Samples, Y: np.ndarray, groups: Any) -> np.ndarray:
        codes, near = Y[:, 0].astype(np.int64), _Near(samples, groups, self.exclude, self.scaled)
        k = check_neighbors(self.n_neighbors, len(samples), DEFAULT_NEIGHBORS)
        frequency = np.bincount(codes) / len(codes)
        scores = np.zeros(samples.n_features)
        for rows, d in near.blocks():
            for c in range(frequency.size):
                index, count = near.select(rows, d, np.flatnonzero(codes == c), k)
                miss = frequency[c] / (1.0 - frequency[codes[rows]])
                sign = np.where(codes[rows] == c, -1.0, miss)
                near.add(rows, index, sign[:, None] * shares(count, k), scores)
        self.scores_ = scores / len(samples)
        return self.scores_


@dataclass(eq=False, repr=False)
class RReliefF(Selector):
    """RReliefF, the Relief of regression: does a feature differ where the target differs, among neighbors?

    w_f = N_both / N_target − (N_f − N_both) / (Σ d − N_target), where over all x and their neighbors of rank
    r = 1 … k, weighed by d = exp(−(r / sigma)²) / Σ: N_target = Σ d |y − y'| / range, N_f = Σ d diff_f,
    N_both = Σ d diff_f |y − y'| / range, and diff_f = |x_f − x'_f| / range_f.

    Parameters
    ----------
    n_neighbors : "auto" or int
        k; "auto" is 10.
    sigma : float
        How fast the influence of a neighbor falls with its rank; 20 as published, which is near to even.
    scaled, exclude
        See `ReliefF`.

    Attributes
    ----------
    scores_ : array (n_features,)
        w above, possibly negative, as the mean over outputs; `weights_` are those above 0.
    output_scores_ : array (n_outputs, n_features)
        The same for each output.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((300, 6))
    >>> sorted(RReliefF().fit(X, X[:, 0] * X[:, 3]).order_[:2].tolist())
    [0, 3]
    """

    name, label, cost = "rrelieff", "RReliefF", "m² N"
    citation, origin = WORKS["robnik1997"], "Robnik-Šikonja & Kononenko 1997"
    color, marker = "olive", "P"

    n_neighbors: int | Literal["auto"] = "auto"
    sigma: float = 20.0
    scaled: bool = True
    exclude: str = "overlap"

    def _weigh(self, samples: Samples, Y: np.ndarray, groups: Any) -> np.ndarray:
        near = _Near(samples, groups, self.exclude, self.scaled)
        k = check_neighbors(self.n_neighbors, len(samples), DEFAULT_NEIGHBORS)
        ranges = np.ptp(Y, axis=0)
        Y = Y / np.where(ranges > 0, ranges, 1.0)
        influence = np.exp(-((np.arange(1, k + 1) / check_positive("sigma", self.sigma)) ** 2))
        everything = np.arange(len(samples))
        total, by_target = 0.0, np.zeros(Y.shape[1])
        by_feature, by_both = np.zeros(samples.n_features), np.zeros((Y.shape[1], samples.n_features))
        for rows, d in near.blocks():
            index, count = near.select(rows, d, everything, k)
            u = influence * (np.arange(k) < count[:, None])
            u /= np.maximum(u.sum(axis=1, keepdims=True), np.finfo(float).tiny)
            total += u.sum()
            near.add(rows, index, u, by_feature)
            for o in range(Y.shape[1]):
                differ = u * np.abs(Y[rows, o, None] - Y[index, o])
                by_target[o] += differ.sum()
                near.add(rows, index, differ, by_both[o])
        self.output_scores_ = _contrast(by_both, by_feature, by_target[:, None], total)
        self.scores_ = self.output_scores_.mean(axis=0)
        return self.scores_


def _contrast(both: np.ndarray, feature: np.ndarray, target: np.ndarray, total: float) -> np.ndarray:
    """Return both / target − (feature − both) / (total − target), a share of nothing counting 0."""
    tiny = np.finfo(float).tiny
    return both / np.maximum(target, tiny) - (feature - both) / np.maximum(total - target, tiny)
