"""Selectors that are given in Python: any estimator of scikit-learn that tells of its features, or a function.

A function takes X (rows, features) and y (rows,), floating-point values or whole numbers that stand for classes, and
returns a weight per feature, 0 for none. Of an estimator, the first of `TELLING` that it has after its fit is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from neurofs.features.samples import Samples
from neurofs.ground.errors import UsageError
from neurofs.selectors.base import Selector, are_labels

TELLING = ("weights_", "scores_", "feature_importances_", "coef_", "ranking_", "variances_", "get_support")
"""What fitted estimators tell of their features."""


class ForeignSelector(Selector):
    """Base of what `adopt_selector` makes."""

    target: ClassVar[str] = "continuous or classes"
    source: ClassVar[Any] = None
    _are_labels: bool = False

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Selector:
        """Weigh the features of `X` as the source does; labels are whole numbers."""
        self._are_labels = are_labels(np.asarray(y))
        return super().fit(X, y, groups)

    def _weigh(self, samples: Samples, Y: np.ndarray, groups: Any) -> np.ndarray:
        X, y = np.asarray(samples), Y[:, 0] if Y.shape[1] == 1 else Y
        y = y.astype(np.int64) if self._are_labels else y
        if not hasattr(self.source, "fit"):
            return _check_weights(self.source(X, y), self.name, X.shape[1])
        return read_weights(clone(self.source).fit(X, y), self.name, X.shape[1])


def adopt_selector(source: Any, name: str) -> type[Selector]:
    """Return an estimator of scikit-learn, or a function that returns weights, as a selector of this name.

    >>> from sklearn.feature_selection import SelectKBest, f_regression
    >>> kind = adopt_selector(SelectKBest(f_regression, k=1), "select-k-best")
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 3))
    >>> kind().fit(X, X[:, 1]).order_[0]
    np.int64(1)
    """
    plain = source if hasattr(source, "fit") else staticmethod(source)
    about = {"name": name, "label": name.replace("-", " "), "source": plain, "__doc__": f"{name}, given in Python."}
    return type("Adopted", (ForeignSelector,), about)


def read_weights(fitted: Any, name: str, n_features: int) -> np.ndarray:
    """Return the weights of features that a fitted estimator tells, the larger the better; 0 where it has none."""
    if hasattr(fitted, "estimator_") and not any(hasattr(fitted, key) for key in ("ranking_", "scores_")):
        return read_weights(fitted.estimator_, name, n_features)  # such as SelectFromModel
    for key in TELLING:
        if hasattr(fitted, key):
            return _check_weights(_turn(fitted, key), name, n_features)
    raise UsageError(f"{name}: expected an estimator that tells of its features by {', '.join(TELLING)}; found none")


def _turn(fitted: Any, key: str) -> np.ndarray:
    """Return one attribute as weights: coefficients by their size, ranks by their inverse."""
    if key == "get_support":
        return np.asarray(fitted.get_support(), float)
    values = np.asarray(getattr(fitted, key), float)
    if key == "ranking_":
        return 1 / values
    if key == "coef_":
        values = np.linalg.norm(values.reshape(-1, values.shape[-1]), axis=0)
    return np.nan_to_num(values)  # scikit-learn scores a constant feature as NaN


def _check_weights(weights: Any, name: str, n_features: int) -> np.ndarray:
    """Return weights as an array, or say what is wrong with them."""
    try:
        values = np.asarray(weights, float)
    except (TypeError, ValueError):
        raise UsageError(f"{name}: expected a weight for each feature; found {type(weights).__name__}") from None
    if values.shape != (n_features,):
        raise UsageError(f"{name}: expected {n_features} weights, one per feature; found shape {values.shape}")
    if not np.isfinite(values).all():
        n = int((~np.isfinite(values)).sum())
        raise UsageError(f"{name}: {n} of {n_features} weights are NaN or infinite; return 0 for features without one")
    return values


Weigh = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""A function that is a selector."""
