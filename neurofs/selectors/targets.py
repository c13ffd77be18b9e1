"""Targets of selectors: values at variance 1, and classes, labels in and whole numbers out."""

from numbers import Integral
from typing import Any, Literal

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from neurofs.features.samples import Samples
from neurofs.selectors.base import Selector, are_labels


class ClassSelector(Selector):
    """A selector whose target is a class; `_weigh` gets the classes as numbers 0, 1, …"""

    target = "classes"

    def _check_fit(self, X: Any, y: Any) -> tuple[Samples, np.ndarray]:
        codes, self.classes_ = encode_classes(y, type(self).__name__)
        samples, Y = super()._check_fit(X, codes)
        check_classes(self.classes_, type(self).__name__)
        return samples, Y

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags


class EitherSelector(Selector):
    """A selector of values and of classes, as `discrete_target` says; `_weigh` gets classes as 0, 1, …"""

    target = "continuous or classes"
    discrete_target: bool | Literal["auto"] = "auto"  # a parameter of each such selector, at a place of its own

    def _check_fit(self, X: Any, y: Any) -> tuple[Samples, np.ndarray]:
        if not is_discrete(y, self.discrete_target):
            self._n_classes = 0
            return super()._check_fit(X, y)
        codes, classes = encode_classes(np.asarray(y).ravel(), type(self).__name__)
        samples, Y = super()._check_fit(X, codes)
        check_classes(classes, type(self).__name__)
        self._n_classes = len(classes)
        return samples, Y

    def _columns(self, Y: np.ndarray) -> np.ndarray:
        """Return values as they are, and classes as one column each."""
        return one_hot(Y[:, 0].astype(np.int64), self._n_classes) if self._n_classes else Y


class EstimatorSelector(EitherSelector):
    """One that also keeps the target as it was given, `_target`, for an estimator; `_weigh` deletes it."""

    def _check_fit(self, X: Any, y: Any) -> tuple[Samples, np.ndarray]:
        """Keep the target as it is for an estimator."""
        self._target = np.asarray(y).ravel() if is_discrete(y, self.discrete_target) else np.asarray(y)
        return super()._check_fit(X, y)


def encode_classes(y: Any, who: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of each label and the labels.

    >>> codes, classes = encode_classes(["left", "right", "left"], "Relief")
    >>> codes.tolist(), classes.tolist()
    ([0, 1, 0], ['left', 'right'])
    """
    if y is None:
        raise ValueError(f"{who} requires y to be passed, but the target y is None")
    labels = column_or_1d(y, warn=True)
    if labels.dtype.kind == "O" and all(isinstance(label, Integral) for label in labels):
        labels = labels.astype(np.int64)
    classes, codes = np.unique(labels, return_inverse=True)
    return codes, classes


def is_discrete(y: Any, discrete_target: Any) -> bool:
    """Tell whether a target is a class: one column, and with "auto" no floating-point numbers.

    >>> is_discrete([0, 1, 7], "auto"), is_discrete([0.0, 1.0, 7.0], "auto"), is_discrete([0.0, 1.0], True)
    (True, False, True)
    """
    if not (isinstance(discrete_target, bool) or discrete_target == "auto"):
        raise ValueError(f"discrete_target must be 'auto', True or False; found {discrete_target!r}")
    labels = np.asarray(y)
    if labels.ndim not in (1, 2) or labels.size != len(labels):
        return False
    return are_labels(labels) if discrete_target == "auto" else discrete_target


def check_classes(classes: np.ndarray, who: str) -> None:
    """Refuse labels that are no classes, and fewer than two classes."""
    check_classification_targets(classes)
    if len(classes) < 2:
        raise ValueError(f"{who} needs samples of at least 2 classes; found only the class {classes[0]!r}")


def one_hot(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Return one column per class, 1 where a row is of it."""
    return np.eye(n_classes)[codes]


def standardize(Y: np.ndarray) -> np.ndarray:
    """Return columns at mean 0 and variance 1; a constant one stays 0."""
    Y = Y / np.maximum(np.abs(Y).max(axis=0), np.finfo(float).tiny)
    Y = Y - Y.mean(axis=0)
    sd = Y.std(axis=0)
    return np.ascontiguousarray(np.where(sd > 1e-12, Y / np.where(sd > 1e-12, sd, 1.0), 0.0))
