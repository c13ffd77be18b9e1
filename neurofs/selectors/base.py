"""`Selector`: what all selectors share, so that each one only has to score features.

A selector is a scikit-learn estimator. Its own work is one method, `_weigh(samples, Y, groups)`, which
returns a score per feature; all else (`weights_`, `order_`, `ranking_`, `get_support`, `transform`) follows.
Its parameters are the fields of a dataclass, which writes the `__init__` that scikit-learn asks for.
One that finds a set of features is a `SetSelector`, whose `_weigh` also says which features are in the set.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from neurofs.features.samples import Samples
from neurofs.ground.method import Method
from neurofs.selectors.feature_groups import FeatureGroups, group_weights

UNTOLD = ("random_state", "n_features_to_select")  # told elsewhere in a methods text
MOST_CLASSES = 50  # whole numbers of more different values may be names or measurements
LARGEST = 1e18  # squares of larger numbers, summed over features, overflow float32


@dataclass(eq=False, repr=False)
class Selector(Method, SelectorMixin, BaseEstimator):
    """Base of the selectors; see the module.

    Parameters
    ----------
    n_features_to_select : int, float or None
        How many features `transform` keeps; None keeps all, a float is a fraction.
    feature_groups : array of labels, optional
        Features with the same label are ranked and selected together.

    Attributes
    ----------
    weights_ : array (n_features,), ≥ 0
        How much each feature matters.
    order_ : array (n_features,)
        Feature indices, best first; equal ones in the order of their index.
    ranking_ : array (n_features,)
        Rank of each feature, 1 = best.
    group_labels_, group_weights_, group_ranking_ : arrays (n_groups,)
        Only with `feature_groups`. Groups are then ranked by the root of the sum of squares of their weights,
        `order_` lists the features of the best group first, `ranking_` is the rank of a feature's group, and
        `n_features_to_select` counts groups.
    """

    published_settings: ClassVar[dict[str, Any]] = {}  # those that are other than the defaults
    is_metric = False  # whether the weights are the w of a distance, d_w(x, x') = Σ w² (x − x')²

    n_features_to_select: int | float | None = None
    feature_groups: ArrayLike | None = field(default=None, kw_only=True)

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Weigh the features of `X` (array, data frame or `Samples`) for the target(s) `y`.

        Text, truth values and whole numbers in one column are classes: a selector of values gets one column for each,
        as in ``neurofs decode``. Floating-point numbers are values: give measurements that happen to be whole, such
        as pixels or counts, as ``y.astype(float)``. More than 50 different whole numbers are refused.

        `groups` names the trial of each row; rows of one trial are never neighbors of each other.
        """
        samples, Y = self._check_fit(X, y)
        feature_groups = FeatureGroups(self.feature_groups, samples.n_features)
        self._count_selected(len(feature_groups))
        scores = np.asarray(self._weigh(samples, Y, groups), dtype=np.float64)
        self.weights_ = self._to_weights(scores)
        self._rank(self._importance(samples, scores), feature_groups)
        return self

    def describe(self) -> str:
        """Return the settings that are neither published nor default, in words for a methods text; empty if all are.

        >>> from neurofs.selectors import SKS, GFlip
        >>> SKS().describe(), SKS(n_neighbors=50).describe()
        ('', 'with n_neighbors = 50')
        >>> GFlip().describe()
        'with n_starts = 2 (1 in the source), start = by turns (empty in the source)'
        """
        usual = {**type(self)().get_params(), **self.published_settings}
        changed = {name: value for name, value in self.get_params().items() if repr(value) != repr(usual[name])}
        source = {name: f" ({value} in the source)" for name, value in self.published_settings.items()}
        shown = [f"{name} = {value}{source.get(name, '')}" for name, value in changed.items() if name not in UNTOLD]
        return f"with {', '.join(shown)}" if shown else ""

    def _rank(self, importance: np.ndarray, feature_groups: FeatureGroups) -> None:
        """Order groups by strength, then by their best feature, then by number; features within them too."""
        best = np.array([importance[members].max() for members in feature_groups.members])
        rank = np.empty(len(feature_groups), np.int64)
        rank[np.lexsort((-best, -self._strength(importance, feature_groups)))] = np.arange(1, len(feature_groups) + 1)
        self.ranking_ = rank[feature_groups.of_feature]
        self.order_ = np.lexsort((-importance, self.ranking_))
        self.n_selected_ = int((self.ranking_ <= self._count_selected(len(feature_groups))).sum())
        if self.feature_groups is not None:
            self.group_labels_, self.group_ranking_ = feature_groups.labels, rank
            self.group_weights_ = group_weights(self.weights_, feature_groups)

    def _strength(self, importance: np.ndarray, feature_groups: FeatureGroups) -> np.ndarray:
        """Return what groups of features are ordered by."""
        return group_weights(np.maximum(importance, 0.0), feature_groups)

    def _to_weights(self, scores: np.ndarray) -> np.ndarray:
        """Turn scores into weights: what scores below 0 has no weight, but keeps its place in the order."""
        return np.maximum(scores, 0.0)

    def _weigh(self, samples: Samples, Y: np.ndarray, groups: Any) -> np.ndarray:
        """Return a score for each feature, 0 or less for none; `Y` is float64 (rows, outputs)."""
        raise NotImplementedError

    def _importance(self, samples: Samples, scores: np.ndarray) -> np.ndarray:
        """Return what features are ordered by: the scores, unless a selector knows better."""
        return scores

    def _check_fit(self, X: Any, y: Any) -> tuple[Samples, np.ndarray]:
        """Validate what the user gave and return (samples, Y)."""
        y = spread_labels(y, type(self).__name__) if self.target == "continuous" else y
        if isinstance(X, Samples):
            samples = X
            self.n_features_in_ = samples.n_features
            y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        else:
            if y is None:
                raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
            X, y = validate_data(self, X, y, multi_output=True, y_numeric=True, dtype=np.float64)
            check_range(X)
            samples = Samples.from_array(X)
        check_consistent_length(samples, y)
        if len(samples) < 2:
            raise ValueError(f"{type(self).__name__} needs at least 2 samples; found n_samples = {len(samples)}")
        if isinstance(X, Samples):
            check_range(samples.flat[covered(samples)])
        return samples, np.ascontiguousarray(y, dtype=np.float64).reshape(len(samples), -1)

    def _count_selected(self, n_features: int) -> int:
        """Turn `n_features_to_select` (None: all, an integer, or a fraction) into a number of feature groups."""
        n = self.n_features_to_select
        if n is None:
            return n_features
        if isinstance(n, Integral) and not isinstance(n, bool) and 1 <= int(n) <= n_features:
            return int(n)
        if isinstance(n, Real) and not isinstance(n, Integral) and 0 < float(n) <= 1:
            return max(1, int(float(n) * n_features))
        raise ValueError(
            f"n_features_to_select must be None, a number from 1 to {n_features}, or a fraction; found {n!r}"
        )

    def _get_support_mask(self) -> np.ndarray:
        """Return which features are selected (scikit-learn's hook)."""
        check_is_fitted(self, "order_")
        mask = np.zeros(self.order_.size, bool)
        mask[self.order_[: self.n_selected_]] = True
        return mask

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Return the selected columns of `X`; those of `Samples` as an array."""
        if not isinstance(X, Samples):
            return super().transform(X)
        mask = self._get_support_mask()
        if X.n_features != mask.size:
            raise ValueError(f"X has {X.n_features} features, but {type(self).__name__} expects {mask.size}")
        return X.flat[X.starts[:, None] + np.flatnonzero(mask)]

    def __sklearn_tags__(self) -> Any:
        """Say that a target, one or several outputs, is required."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


def spread_labels(y: Any, who: str) -> Any:
    """Return labels (text, truth values or whole numbers) as a column of 0 and 1 per class; other values as they are.

    Whole numbers of many different values are refused: nobody can tell whether they are names or measurements.

    >>> spread_labels(["left", "right", "left"], "RGS").tolist()
    [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    >>> spread_labels([2, 1, 2], "RGS").tolist()
    [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    >>> spread_labels([2.0, 1.0, 2.0], "RGS")
    [2.0, 1.0, 2.0]
    """
    labels = np.asarray(y)
    if not are_labels(labels):
        return y
    if labels.size != len(labels):
        raise ValueError(f"{who} takes one column of labels; found an array of shape {labels.shape}")
    if len({type(label) for label in labels.reshape(-1).tolist()}) > 1:
        raise ValueError(f"{who} needs labels of one kind: all text, all truth values or all whole numbers")
    classes, codes = np.unique(labels.reshape(-1), return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"{who} needs samples of at least 2 classes; found {len(classes)} class")
    if len(classes) > MOST_CLASSES and not isinstance(classes[0], str):
        raise ValueError(
            f"{who} takes whole numbers as classes, and found {len(classes)} different ones (at most {MOST_CLASSES}): "
            "give values as floating-point numbers, y.astype(float), and names of classes as text, y.astype(str)"
        )
    return np.eye(len(classes))[codes]


def are_labels(values: np.ndarray) -> bool:
    """Tell whether values are labels: text, truth values, or whole numbers in a single column.

    Several columns of whole numbers are values, such as one column per class.
    """
    if values.ndim not in (1, 2):
        return False
    if values.dtype.kind == "O":
        kinds = {type(value) for value in values.reshape(-1)}
        return any(issubclass(kind, str | bool | np.bool_) for kind in kinds) or (
            values.size == len(values) and bool(kinds) and all(issubclass(kind, Integral) for kind in kinds)
        )
    return values.dtype.kind in "USb" or (values.dtype.kind in "iu" and values.size == len(values))


class SetSelector(Selector):
    """A selector that finds a set of features: all features of the set have weight 1, the others 0.

    `_weigh` notes which features are in the set (`_chosen`) and returns scores that are equal within a group;
    `_choose` does both for an order of the groups. With no `n_features_to_select` the set is what is selected.
    """

    _chosen: np.ndarray

    def _fix_size(self, n_groups: int) -> int | None:
        """Return how many feature groups the user wants, None if the search is to say it."""
        return None if self.n_features_to_select is None else self._count_selected(n_groups)

    def _choose(self, feature_groups: FeatureGroups, order: Any, n_chosen: int) -> np.ndarray:
        """Choose the first groups of `order`, best first, and return minus the place of each feature."""
        place = np.empty(len(feature_groups))
        place[np.asarray(order, np.int64)] = np.arange(len(feature_groups))
        self._chosen = (place < n_chosen)[feature_groups.of_feature]
        return -place[feature_groups.of_feature]

    def _to_weights(self, scores: np.ndarray) -> np.ndarray:
        return self._chosen.astype(float)

    def _strength(self, importance: np.ndarray, feature_groups: FeatureGroups) -> np.ndarray:
        """Order groups by the score that their features share, whatever their size."""
        return np.array([importance[members[0]] for members in feature_groups.members])

    def _rank(self, importance: np.ndarray, feature_groups: FeatureGroups) -> None:
        super()._rank(importance, feature_groups)
        if self.n_features_to_select is None:
            self.n_selected_ = int(self._chosen.sum())


def covered(samples: Samples) -> np.ndarray:
    """Return which numbers of the buffer lie in some window; the others may be anything."""
    edges = np.zeros(samples.flat.size + 1, np.int32)
    np.add.at(edges, samples.starts, 1)
    np.add.at(edges, samples.starts + samples.n_features, -1)
    return np.cumsum(edges[:-1]) > 0


def check_range(values: np.ndarray) -> None:
    """Refuse data that are not finite or so large that squared distances overflow."""
    largest = max(float(np.max(values, initial=0.0)), -float(np.min(values, initial=0.0)))
    if not largest < LARGEST:
        raise ValueError(f"X must be finite and below {LARGEST:g} in size; found {largest:g} (NaN or inf?)")
