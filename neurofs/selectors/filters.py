"""Rankers that look at one feature at a time, and two controls.

    corrcoef   |Pearson r| of feature and target
    infogain   mutual information of feature and target, both split at their median
    sks        1 − leave-one-out MSE of soft kNN on the one feature / variance of the target
    random     the floor: a ranking that knows nothing
    all        the reference: all features alike

With several outputs the score is the mean over outputs; `output_scores_` keeps each one's own.
"""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from neurofs.features.holdouts import pick_evenly
from neurofs.features.samples import Samples, as_samples
from neurofs.ground.effort import bound
from neurofs.ground.keys import RandomState
from neurofs.ground.works import WORKS
from neurofs.metric import neighbors
from neurofs.selectors import loops_errors
from neurofs.selectors.base import Selector
from neurofs.selectors.parameters import check_neighbors, check_width
from neurofs.selectors.targets import EitherSelector, standardize

BLOCK = 64  # features looked at together
DEFAULT_NEIGHBORS = 30
MOST_ROWS, MOST_JUDGED = 6_500, 2_000  # of SKS, with normal effort: samples, and those whose errors are counted


def feature_blocks(samples: Samples) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield the features a few at a time, (rows, features) in float64, without one array of all."""
    for first in range(0, samples.n_features, BLOCK):
        block = slice(first, min(first + BLOCK, samples.n_features))
        yield block, samples.flat[samples.starts[:, None] + np.arange(block.start, block.stop)].astype(float)


class _Ranker(Selector):
    """A selector that scores every feature for every output."""

    def _weigh(self, samples: Samples, Y: np.ndarray, groups: Any) -> np.ndarray:
        self.output_scores_ = self._score(samples, Y, groups)
        return self.output_scores_.mean(axis=0)

    def _score(self, samples: Samples, Y: np.ndarray, groups: Any) -> np.ndarray:
        """Return (outputs, features)."""
        raise NotImplementedError


class CorrCoef(_Ranker):
    """Absolute correlation of each feature with the target.

    |r| = |Σ (x − E x)(y − E y)| / √(Σ (x − E x)² Σ (y − E y)²); a constant feature or target scores 0.

    Attributes
    ----------
    output_scores_ : array (n_outputs, n_features)
        |r| for each output; `weights_` is their mean.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 5.0], [2.0, 1.0, 5.0]])
    >>> CorrCoef().fit(X, [0.0, 2.0, 4.0]).weights_.round(3)
    array([1., 0., 0.])
    """

    name, label = "corrcoef", "correlation"
    origin = "Pearson's correlation"
    color, marker = "vermilion", "s"
    cost = "m N"

    def _score(self, samples: Samples, Y: np.ndarray, groups: Any) -> np.ndarray:
        Y = standardize(Y)
        out = np.zeros((Y.shape[1], samples.n_features))
        for block, X in feature_blocks(samples):
            out[:, block] = np.abs(Y.T @ standardize(X)) / len(X)
        return np.minimum(out, 1.0)


@dataclass(eq=False, repr=False)
class InfoGain(_Ranker, EitherSelector):
    """Mutual information of each feature with the target, in bits.

    I = Σ p(a, b) log2 [p(a, b) / (p(a) p(b))] over the bins a of the feature and b of the target. Bins are
    separated by quantiles, a value being above a quantile if it is larger (`>`): sparse spike counts have a
    median of 0. What is constant after binning scores 0.

    Parameters
    ----------
    n_bins : int
        Bins of equal content; 2, the default, is the split at the median.
    discrete_target : "auto" or bool
        Whether the target is a class, taken as it is. "auto": all but floating-point numbers are classes.

    Attributes
    ----------
    output_scores_ : array (n_outputs, n_features)
        Bits for each output; `weights_` is their mean.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [0.0, 0.0], [3.0, 1.0], [5.0, 0.0]])
    >>> InfoGain().fit(X, ["left", "left", "right", "right"]).weights_
    array([1., 0.])
    """

    name, label = "infogain", "information gain"
    citation, origin = WORKS["quinlan1986"], "Quinlan 1986; Navot 2006, 1.2.1"
    color, marker = "green", "^"
    cost = "m N"

    n_bins: int = 2
    discrete_target: bool | Literal["auto"] = "auto"

    def _score(self, samples: Samples, Y: np.ndarray, groups: Any) -> np.ndarray:
        if not isinstance(self.n_bins, Integral) or self.n_bins < 2:
            raise ValueError(f"n_bins must be a whole number of at least 2; found {self.n_bins!r}")
        targets = [y.astype(np.int64) if self._n_classes else quantile_bins(y, self.n_bins) for y in Y.T]
        out = np.zeros((len(targets), samples.n_features))
        for block, X in feature_blocks(samples):
            bins = quantile_bins(X, self.n_bins)
            out[:, block] = [[mutual_information(a, b) for a in bins.T] for b in targets]
        return out


def quantile_bins(x: np.ndarray, n_bins: int) -> np.ndarray:
    """Return for each value how many of the inner quantiles, of all values or of its column, lie below it.

    >>> quantile_bins(np.array([0.0, 0.0, 0.0, 2.0]), 2)
    array([0, 0, 0, 1])
    """
    edges = np.quantile(x, np.arange(1, n_bins) / n_bins, axis=0)
    return np.asarray((x > edges[:, None]).sum(axis=0))


def mutual_information(a: np.ndarray, b: np.ndarray) -> float:
    """Return the mutual information of two arrays of small whole numbers, in bits.

    >>> mutual_information(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]))
    1.0
    """
    n_a, n_b = int(a.max()) + 1, int(b.max()) + 1
    p = np.bincount(a * n_b + b, minlength=n_a * n_b).reshape(n_a, n_b) / a.size
    apart = p.sum(axis=1, keepdims=True) * p.sum(axis=0)
    seen = p > 0
    return max(0.0, float((p[seen] * np.log2(p[seen] / apart[seen])).sum()))


@dataclass(eq=False, repr=False)
class SKS(_Ranker):
    """Each feature alone, by the leave-one-out error of soft kNN on it.

    The score is 1 − MSE / variance: below 0, where the feature predicts worse than the mean, the weight is 0.
    Spike counts are full of ties. Where more rows are equally far than there are places left among the k nearest,
    the MSE is the mean over all choices among them, so that the order of trials is no matter.

    Parameters
    ----------
    n_neighbors : "auto" or int
        k; "auto" is 30, or all other rows if there are fewer.
    beta : "adaptive" or float
        Width of the Gaussian: `beta_factor` times the mean distance of each row's neighbors, or a number.
    exclude : "overlap" or "self"
        Which rows are no neighbors of a row: all whose windows overlap it, or only itself. With `groups` in
        `fit`, never those of its own group.
    beta_factor : float
        See `beta`.
    effort : "quick", "normal" or "full"
        "full" takes all rows; "normal" an even selection of 6,500 if there are more, and
        counts the errors of 2,000 of them; "quick" a quarter of both.

    Attributes
    ----------
    output_scores_ : array (n_outputs, n_features)
        1 − MSE / variance for each output.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((100, 5))
    >>> int(SKS().fit(X, np.sin(6 * X[:, 2])).order_[0])
    2
    """

    name, label = "sks", "SKS"
    citation, origin = WORKS["navot2005"], "Navot, Shpigelman, Tishby & Vaadia 2005"
    color, marker = "magenta", "v"
    cost = "(m log m + m k) N"

    n_neighbors: int | Literal["auto"] = "auto"
    beta: float | Literal["adaptive"] = "adaptive"
    exclude: str = "overlap"
    _: KW_ONLY
    beta_factor: float = 0.5
    effort: str = "normal"

    def _score(self, samples: Samples, Y: np.ndarray, groups: Any) -> np.ndarray:
        beta, adaptive = check_width(self.beta, self.beta_factor)
        neighbors.check_pairs(samples, groups, self.exclude)
        rows = pick_evenly(len(samples), int(min(bound(self.effort, MOST_ROWS), len(samples))))
        samples, Y, groups = samples[rows], Y[rows], None if groups is None else np.asarray(groups)[rows]
        k = check_neighbors(self.n_neighbors, len(samples), DEFAULT_NEIGHBORS)
        judged = pick_evenly(len(samples), int(min(bound(self.effort, MOST_JUDGED), len(samples))))
        settings = {"k": k, "beta": beta, "adaptive": adaptive, "groups": groups, "exclude": self.exclude}
        error = sks_scores(samples, standardize(Y), judged=judged, **settings)
        return 1.0 - error.T


def sks_scores(
    samples: Any,
    y: Any,
    *,
    k: int,
    beta: float = 0.5,
    adaptive: bool = True,
    groups: Any = None,
    exclude: str = "overlap",
    judged: Any = None,
) -> np.ndarray:
    """Return the leave-one-out MSE of soft kNN on each single feature, (features, outputs); low is good.

    It is the mean over the rows `judged`, all by default; neighbors come from all rows. Among equally far rows chance
    chooses neighbors, and the MSE is its expectation; the order of rows is no matter.
    """
    samples = as_samples(samples)
    Y = neighbors.as_outputs(y, len(samples))
    out = np.empty((samples.n_features, Y.shape[1]))
    span, k = neighbors.exclusion_span(samples, exclude), max(1, min(k, len(samples)))
    loo = neighbors.loo_groups(groups, len(samples))
    by_group, (by_start, near) = np.argsort(loo, kind="stable"), _overlaps(samples.starts, span)
    counted = np.isin(np.arange(len(samples)), np.arange(len(samples)) if judged is None else judged)
    every = neighbors.Columns(samples)
    for first in range(0, samples.n_features, BLOCK):
        block = np.arange(first, min(first + BLOCK, samples.n_features))
        columns = every.take(block)
        ranks = by_group[np.argsort(columns[:, by_group], axis=1, kind="stable")]
        rows = (samples.starts, loo, by_start, near, counted)
        loops_errors.sks(columns, ranks, *rows, span, Y, k, beta, adaptive, out[first : first + BLOCK])
    return out


def _overlaps(starts: np.ndarray, span: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows by start, and between which of them those stand that begin less than `span` from each row.

    >>> _overlaps(np.array([7, 0, 3]), 4)
    (array([1, 2, 0]), array([[2, 3],
           [0, 2],
           [0, 2]]))
    """
    by_start = np.argsort(starts, kind="stable")
    ordered = starts[by_start]
    begin, end = np.searchsorted(ordered, starts - span, "right"), np.searchsorted(ordered, starts + span, "left")
    return by_start, np.column_stack([begin, np.maximum(end, begin)])


@dataclass(eq=False, repr=False)
class Random(_Ranker):
    """A random ranking: what a method must beat.

    Parameters
    ----------
    random_state : int, RandomState or None
        Seed.

    Examples
    --------
    >>> Random(random_state=0).fit(np.eye(4), np.arange(4.0)).order_
    array([1, 2, 0, 3])
    """

    name, label = "random", "random ranking"
    origin = "the floor"
    color, marker, line = "gray", "x", ":"
    target = "any"
    cost = "N"

    random_state: RandomState = None

    def _check_fit(self, X: Any, y: Any) -> tuple[Samples, np.ndarray]:
        return super()._check_fit(X, as_numbers(y))

    def _score(self, samples: Samples, Y: np.ndarray, groups: Any) -> np.ndarray:
        return check_random_state(self.random_state).random_sample((1, samples.n_features))


class AllFeatures(_Ranker):
    """All features alike: what a selection is compared with.

    Parameters
    ----------
    n_features_to_select : int, float or None
        None, the default, keeps all; a number keeps the first ones.

    Examples
    --------
    >>> AllFeatures().fit(np.eye(3), np.arange(3.0)).weights_
    array([1., 1., 1.])
    """

    name, label = "all", "all features"
    origin = "the reference"
    color, marker, line = "ink", "", "--"
    target = "any"
    cost = "N"

    def _check_fit(self, X: Any, y: Any) -> tuple[Samples, np.ndarray]:
        return super()._check_fit(X, as_numbers(y))

    def _score(self, samples: Samples, Y: np.ndarray, groups: Any) -> np.ndarray:
        return np.ones((1, samples.n_features))


def as_numbers(y: Any) -> Any:
    """Return class labels that are not numbers as numbers, and everything else as it is."""
    if y is None or np.asarray(y).dtype.kind in "biufc":
        return y
    return np.unique(np.asarray(y), return_inverse=True)[1]
