"""Mufasa: a search in the space of meta-features (`selectors.meta`) instead of among the features."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from neurofs.features.samples import Samples
from neurofs.ground.works import WORKS
from neurofs.metric import neighbors
from neurofs.selectors.base import SetSelector
from neurofs.selectors.feature_groups import FeatureGroups
from neurofs.selectors.filters import DEFAULT_NEIGHBORS
from neurofs.selectors.losses import EstimatorLoss
from neurofs.selectors.meta import describe_features
from neurofs.selectors.parameters import check_neighbors, check_positive
from neurofs.selectors.targets import EstimatorSelector, standardize


@dataclass(eq=False, repr=False)
class Mufasa(SetSelector, EstimatorSelector):
    """Mufasa: search the space of meta-features for a place around which n features are good together.

    In each of J rounds n features are drawn around a point u, with probabilities that fall off as a Gaussian
    with the distance of their (standardized) meta-features from u, and the set is scored. The best u and set
    are kept, and the next u is the best one plus noise. (The printed start value of the best quality is the
    largest number, which no set would reach; it is −∞ here.)

    Only J sets are ever measured, however many features there are. That needs meta-features that tell good
    from bad.

    Parameters
    ----------
    n_features_to_select : int or float
        n, or a fraction of the features.
    n_rounds : int
        J.
    meta_features : array (n_features, n_properties), optional
        By default those that `describe_features` finds in the training samples alone.
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
    feature_groups : array of labels, optional
        Features with the same label are drawn together; their meta-features are averaged.

    Attributes
    ----------
    weights_ : array (n_features,)
        1 for the best set, else 0. The order is the best set, then the others, both by nearness to u.
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

    n_features_to_select: Any = 0.5
    n_rounds: int = 50
    meta_features: Any = None
    estimator: Any = None
    cv: Any = 5
    scoring: Any = None
    width: float = 0.5
    step: float = 0.5
    n_neighbors: Any = "auto"
    exclude: str = "overlap"
    discrete_target: Any = "auto"
    random_state: Any = None

    def _weigh(self, samples: Samples, Y: np.ndarray, groups: Any) -> np.ndarray:
        if not isinstance(self.n_rounds, Integral) or self.n_rounds < 1:
            raise ValueError(f"n_rounds must be a whole number of at least 1; found {self.n_rounds!r}")
        width, step = check_positive("width", self.width), check_positive("step", self.step)
        feature_groups, rng = (
            FeatureGroups(self.feature_groups, samples.n_features),
            check_random_state(self.random_state),
        )
        places, mean, scale = self._place(samples, feature_groups)
        loss = self._make_loss(samples, Y, groups)
        n, u = self._count_selected(len(feature_groups)), np.zeros(places.shape[1])
        best, best_u, best_set, curve = np.inf, u, np.arange(n), []
        for _ in range(self.n_rounds):
            drawn = draw_near(u, places, n, width, rng)
            curve.append(loss(np.sort(np.concatenate([feature_groups.members[group] for group in drawn]))))
            if curve[-1] <= best:
                best, best_u, best_set = curve[-1], u, drawn
            u = best_u + step * rng.normal(size=u.size)
        self.loss_curve_, self.point_ = np.array(curve), mean + scale * best_u
        self._chosen = np.isin(feature_groups.of_feature, best_set)
        return -((places - best_u) ** 2).sum(axis=1)[feature_groups.of_feature]

    def _place(self, samples: Samples, feature_groups: FeatureGroups) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the standardized meta-features of every feature group, and their mean and standard deviation."""
        meta = describe_features(samples) if self.meta_features is None else self.meta_features
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
        neighbors.check_pairs(samples, groups, self.exclude)
        k = check_neighbors(self.n_neighbors, len(samples), DEFAULT_NEIGHBORS)
        return _SoftKNNSets(samples, standardize(self._columns(Y)), k, groups, self.exclude)

    def _importance(self, samples: Samples, scores: np.ndarray) -> np.ndarray:
        """Put the best set first."""
        return np.where(self._chosen, scores, scores + scores.min() - 1.0)


def draw_near(u: np.ndarray, places: np.ndarray, n: int, width: float, rng: Any) -> np.ndarray:
    """Draw n different rows of `places`, one after the other, with p ∝ exp(−|place − u|² / (2 width²)).

    By the Gumbel trick: the n largest of log p + noise.

    >>> draw_near(np.zeros(1), np.array([[0.0], [90.0], [0.1]]), 2, 1.0, check_random_state(0)).tolist()
    [0, 2]
    """
    log_p = -((places - u) ** 2).sum(axis=1) / (2 * width**2)
    return np.argsort(-(log_p + rng.gumbel(size=len(places))), kind="stable")[:n]


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
