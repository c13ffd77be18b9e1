"""Mufasa: a search in the space of meta-features (`selectors.meta`) instead of among the features.

`search_points` is algorithm 6 of Navot (2006) for any way to draw features around a point, be they chosen or
generated; `Mufasa` is the selector that draws them from the columns of a matrix.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from neurofs.features.samples import Samples
from neurofs.ground.keys import RandomState
from neurofs.ground.works import WORKS
from neurofs.metric import neighbors
from neurofs.selectors.base import SetSelector
from neurofs.selectors.budget import check_budget, check_costs, spend
from neurofs.selectors.feature_groups import FeatureGroups
from neurofs.selectors.filters import DEFAULT_NEIGHBORS
from neurofs.selectors.losses import EstimatorLoss
from neurofs.selectors.meta import describe_features, measure_quality
from neurofs.selectors.parameters import check_neighbors, check_positive
from neurofs.selectors.targets import EstimatorSelector, standardize


class Found(NamedTuple):
    """What `search_points` found: the best set, the point around which it was drawn, and all losses."""

    features: Any
    point: np.ndarray
    losses: np.ndarray


def search_points(
    draw: Callable[[np.ndarray], Any],
    measure: Callable[[Any], float],
    start: np.ndarray,
    move: Callable[[np.ndarray], np.ndarray],
    n_rounds: int,
) -> Found:
    """Search for a point of meta-feature space around which features are good together (algorithm 6).

    In each round `draw(u)` draws or generates a set of features and `measure` says how bad it is; the best point
    and set are kept, the later of equal ones, and the next point is ``move(best)``. (The printed start value of
    the best quality is the largest number, which no set would reach; it is −∞ here.)

    >>> found = search_points(lambda u: u, lambda u: (u[0] - 3) ** 2, np.zeros(1), lambda u: u + 1, n_rounds=6)
    >>> found.point.tolist(), found.losses.tolist()
    ([3.0], [9.0, 4.0, 1.0, 0.0, 1.0, 1.0])
    """
    losses, u = [], start
    best, best_u, best_set = np.inf, start, None
    for _ in range(n_rounds):
        drawn = draw(u)
        losses.append(measure(drawn))
        if best_set is None or losses[-1] <= best:
            best, best_u, best_set = losses[-1], u, drawn
        u = move(best_u)
    return Found(best_set, best_u, np.array(losses))


@dataclass(eq=False, repr=False)
class Mufasa(SetSelector, EstimatorSelector):
    """Mufasa: search the space of meta-features for a place around which n features are good together.

    In each of J rounds n features, or as many as a budget pays, are drawn around a point u, with probabilities
    that fall off as a Gaussian with the distance of their (standardized) meta-features from u, and the set is
    scored. The best u and set are kept, and the next u is the best one plus noise (`search_points`).

    Only J sets are ever measured, however many features there are. That needs meta-features that tell good
    from bad. The set as such has no order; as section 5.8 advises, the search is a rough filter, after which the
    features of the set are looked at one by one.

    Parameters
    ----------
    n_features_to_select : int or float
        n, or a fraction of the features; with a budget it is not used.
    n_rounds : int
        J.
    meta_features : array (n_features, n_properties), optional
        By default those that `describe_features` finds in the training samples alone, and the number of the
        channel: neighbors by number are mostly neighbors on the array.
    estimator : scikit-learn estimator, optional
        What the quality of a set is of, in `cv` folds; None, the default, is soft kNN in leave-one-out manner.
    cv, scoring : as in `ForwardSelection`
    width : float
        Standard deviation of the Gaussian around u, in standard deviations of the meta-features.
    step : float
        Standard deviation of the noise on u, in the same unit.
    n_neighbors : "auto" or int
        k of soft kNN; "auto" is 30, or all other rows if there are fewer.
    exclude : "overlap" or "self"
        Which rows are no neighbors of a row. With `groups` in `fit`, never those of its own group.
    discrete_target : "auto" or bool
        Whether the target is a class. "auto": all but floating-point numbers are classes.
    random_state : int, RandomState or None
        Seed of the draws.
    max_rows : int
        Rows on which sets are measured; more are thinned out evenly.
    quality : selector or callable, optional
        What orders the features of the best set; see `QualityMap`.
    costs : array, optional
        What each feature costs, or each feature group in the order of its label; 1 by default.
    budget : float, optional
        What a set may cost: features are drawn until no further one can be paid (section 5.3.2).
    feature_groups : array of labels, optional
        Features with the same label are drawn together; their meta-features are averaged.

    Attributes
    ----------
    weights_ : array (n_features,)
        1 for the best set, else 0. The order is the best set by quality, then the others by nearness to u.
    point_ : array (n_properties,)
        The best u, in units of the meta-features.
    loss_curve_ : array (n_rounds,)
        Loss of the set of each round: its error, in units of the variance.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 40))
    >>> place = np.linspace(0, 1, 40)[:, None]                       # features 20 … 23 carry the target
    >>> selector = Mufasa(4, meta_features=place, random_state=0).fit(X, X[:, 20:24].sum(axis=1))
    >>> bool(abs(selector.point_[0] - place[21:23].mean()) < 0.1)
    True
    """

    name, label = "mufasa", "Mufasa"
    citation, origin = WORKS["navot2006"], "Navot 2006, 5.3"
    color, marker, line = "green", "*", "--"
    cost = "m² n J"

    n_features_to_select: int | float | None = 0.5
    n_rounds: int = 50
    meta_features: object = None
    estimator: object = None
    cv: object = 5
    scoring: object = None
    width: float = 0.5
    step: float = 0.5
    n_neighbors: int | Literal["auto"] = "auto"
    exclude: str = "overlap"
    discrete_target: bool | Literal["auto"] = "auto"
    random_state: RandomState = None
    max_rows: int = field(default=400, kw_only=True)
    quality: object = field(default=None, kw_only=True)
    costs: object = field(default=None, kw_only=True)
    budget: object = field(default=None, kw_only=True)

    def _weigh(self, samples: Samples, Y: np.ndarray, groups: Any) -> np.ndarray:
        for name in ("n_rounds", "max_rows"):
            if not isinstance(value := getattr(self, name), Integral) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1; found {value!r}")
        width, step = check_positive("width", self.width), check_positive("step", self.step)
        feature_groups = FeatureGroups(self.feature_groups, samples.n_features)
        rng = check_random_state(self.random_state)
        places, mean, scale = self._place(samples, feature_groups)
        loss, take = self._make_loss(samples, Y, groups), self._make_limit(len(feature_groups))
        found = search_points(
            lambda u: take(draw_near(u, places, width, rng)),
            lambda drawn: loss(np.sort(np.concatenate([feature_groups.members[group] for group in drawn]))),
            np.zeros(places.shape[1]),
            lambda u: u + step * rng.normal(size=u.size),
            self.n_rounds,
        )
        self.loss_curve_, self.point_ = found.losses, mean + scale * found.point
        self._chosen = np.isin(feature_groups.of_feature, found.features)
        near = -((places - found.point) ** 2).sum(axis=1)
        quality = measure_quality(self.quality, samples, self._columns(Y), groups)
        inside = np.array([quality[members].max() for members in feature_groups.members])
        scores = np.where(np.isin(np.arange(near.size), found.features), 1 + inside - inside.min(), near)
        return scores[feature_groups.of_feature]

    def _make_limit(self, n_groups: int) -> Callable[[np.ndarray], np.ndarray]:
        """Return the function that takes the first n of some order of feature groups, or what a budget pays."""
        if self.budget is None:
            n = self._count_selected(n_groups)
            return lambda order: order[:n]
        costs = check_costs(self.costs, n_groups)
        budget = check_budget(self.budget, costs)
        return lambda order: spend(order, costs, budget)

    def _place(self, samples: Samples, feature_groups: FeatureGroups) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the standardized meta-features of every feature group, and their mean and standard deviation."""
        meta = _describe(samples) if self.meta_features is None else self.meta_features
        meta = check_array(meta, dtype=np.float64, input_name="meta_features")
        if len(meta) != samples.n_features:
            raise ValueError(f"meta_features must have a row per feature ({samples.n_features}); found {len(meta)}")
        by_group = np.array([meta[members].mean(axis=0) for members in feature_groups.members])
        mean, scale = by_group.mean(axis=0), by_group.std(axis=0)
        scale = np.where(scale > 1e-12 * np.abs(mean), scale, np.inf)
        return (by_group - mean) / scale, mean, np.where(np.isfinite(scale), scale, 0.0)

    def _make_loss(self, samples: Samples, Y: np.ndarray, groups: Any) -> Any:
        """Return the function that says how bad a set of features is."""
        target = self._target
        del self._target
        if self.estimator is not None:
            return _EstimatorSets(EstimatorLoss(self, samples, target, groups))
        rows = np.arange(len(samples))[:: -(-len(samples) // self.max_rows)]
        samples, Y, groups = samples[rows], Y[rows], None if groups is None else np.asarray(groups)[rows]
        neighbors.check_pairs(samples, groups, self.exclude)
        k = check_neighbors(self.n_neighbors, len(samples), DEFAULT_NEIGHBORS)
        return _SoftKNNSets(samples, standardize(self._columns(Y)), k, groups, self.exclude)

    def _rank(self, importance: np.ndarray, feature_groups: FeatureGroups) -> None:
        super()._rank(importance, feature_groups)
        if self.budget is not None:
            self.n_selected_ = int(self._chosen.sum())


def _describe(samples: Samples) -> np.ndarray:
    """Return the default meta-features: those of `describe_features`, and the number of the channel."""
    channel = np.arange(samples.n_features) % samples.n_channels
    return np.column_stack([describe_features(samples), channel])


def draw_near(u: np.ndarray, places: np.ndarray, width: float, rng: Any) -> np.ndarray:
    """Draw all rows of `places` one after the other, with p ∝ exp(−|place − u|² / (2 width²)); return their order.

    By the Gumbel trick: descending by log p + noise.

    >>> draw_near(np.zeros(1), np.array([[0.0], [90.0], [0.1]]), 1.0, check_random_state(0)).tolist()
    [0, 2, 1]
    """
    log_p = -((places - u) ** 2).sum(axis=1) / (2 * width**2)
    return np.argsort(-(log_p + rng.gumbel(size=len(places))), kind="stable")


class _SoftKNNSets:
    """Leave-one-out error of soft kNN on a set of features, in units of the variance."""

    def __init__(self, samples: Samples, Y: np.ndarray, k: int, groups: Any, exclude: str) -> None:
        self.samples, self.Y = samples, Y
        self.rules: dict[str, Any] = {"k": k, "groups": groups, "exclude": exclude}

    def __call__(self, features: np.ndarray) -> float:
        (predicted,) = neighbors.prefix_curve(self.samples, self.Y, order=features, sizes=[features.size], **self.rules)
        return float(np.nanmean((self.Y - predicted) ** 2))


class _EstimatorSets:
    """Loss of an estimator on a set of features."""

    def __init__(self, loss: EstimatorLoss) -> None:
        self.loss = loss

    def __call__(self, features: np.ndarray) -> float:
        self.loss.chosen[:] = False
        return self.loss.begin(features)
