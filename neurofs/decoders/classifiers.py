"""Nearest-neighbor classifiers in the metric of feature weights, to score the selectors for classes.

    d_w(x, x') = Σ_f w_f² (x_f − x'_f)²

Both take an array or `Samples`, and the weights of a selector as `feature_weights` of `fit`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from neurofs.features.samples import Samples
from neurofs.metric import neighbors
from neurofs.selectors.base import check_range, covered
from neurofs.selectors.parameters import check_neighbors, check_positive
from neurofs.selectors.targets import one_hot


@dataclass(eq=False, repr=False)
class SoftKNNClassifier(ClassifierMixin, BaseEstimator):
    """The class with the largest share of the k nearest samples, a near one counting more.

    P(c | x) = Σ_{x' of class c} a(x') / Σ a(x'),   a(x') = exp(−d_w(x, x') / β)

    over the k nearest training samples of x.

    Parameters
    ----------
    n_neighbors : "auto" or int
        k; "auto" is 10, or all but one of the samples if there are fewer.
    beta : float
        β as a multiple of the mean distance of the k neighbors.

    Attributes
    ----------
    classes_ : array
        The class labels.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> model = SoftKNNClassifier().fit(X[:150], X[:150, 0] > 0, feature_weights=[1, 0.1, 0])
    >>> bool(model.score(X[150:], X[150:, 0] > 0) > 0.9)
    True
    """

    n_neighbors: Any = "auto"
    beta: float = 0.5

    def fit(self, X: Any, y: Any, feature_weights: Any = None) -> SoftKNNClassifier:
        """Store the samples; `feature_weights` are one number per feature, by default ones."""
        if isinstance(X, Samples):
            self.n_features_in_ = X.n_features
            check_range(X.flat[covered(X)])
            y = column_or_1d(y)
        else:
            X, y = validate_data(self, X, y, dtype=np.float64)
            check_range(X)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self._train = neighbors.as_samples(X)
        check_consistent_length(self._train, y)
        self._shares = one_hot(codes, len(self.classes_))
        self._weights = None if feature_weights is None else np.asarray(feature_weights, float)
        neighbors.as_w2(self._weights, self._train.n_features)
        self.n_neighbors_ = self._count_neighbors(len(self._train))
        return self

    def _count_neighbors(self, n_samples: int) -> int:
        """Return k."""
        return check_neighbors(self.n_neighbors, n_samples, 10)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the share of every class, (rows, classes)."""
        check_is_fitted(self, "classes_")
        if not isinstance(X, Samples):
            X = validate_data(self, X, reset=False, dtype=np.float64)
            check_range(X)
        elif X.n_features != self.n_features_in_:
            raise ValueError(f"X has {X.n_features} features, but {type(self).__name__} expects {self.n_features_in_}")
        near = neighbors.find_neighbors(self._train, X, weights=self._weights, k=self.n_neighbors_)
        return neighbors.soft_knn(near, self._shares, beta=self._width())

    def _width(self) -> float:
        """Return β as a multiple of the mean distance."""
        return check_positive("beta", self.beta)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of the largest share; among equal ones the first of `classes_`."""
        shares = self.predict_proba(X)
        return self.classes_[np.argmax(shares, axis=1)]


class OneNNClassifier(SoftKNNClassifier):
    """The class of the nearest sample; among equally near ones that of the first.

    Examples
    --------
    >>> OneNNClassifier().fit([[0.0], [4.0]], ["left", "right"]).predict([[1.0], [3.0]]).tolist()
    ['left', 'right']
    """

    def __init__(self) -> None:
        pass

    def _count_neighbors(self, n_samples: int) -> int:
        return 1

    def _width(self) -> float:
        return 1.0
