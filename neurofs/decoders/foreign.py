"""Decoders that are given in Python: any regressor or classifier of scikit-learn, or a function.

A function takes X (rows, features) and y (rows,) of the training part and returns a function that predicts y from
other X. Regressors and functions get values of mean 0 and variance 1, one output at a time; of classes, a column for
each. A classifier gets whole numbers that stand for classes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone, is_classifier

from neurofs.decoders.base import Decoder, Rehearsal, TunedDecoder, weigh
from neurofs.decoders.classifiers import ClassDecoder
from neurofs.features.samples import Samples
from neurofs.ground.errors import UsageError
from neurofs.selectors.targets import one_hot

Predict = Callable[[np.ndarray], Any]
Train = Callable[[np.ndarray, np.ndarray], Predict]
"""A function that is a decoder."""


class ForeignDecoder(TunedDecoder):
    """Base of what `adopt_decoder` makes of regressors and functions."""

    source: ClassVar[Any] = None

    def _fit_part(self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]) -> Any:
        X = weigh(train, weights)
        return weights, [_train(self.source, X, column) for column in targets.T]

    def _predict_part(self, part: Any, queries: Samples) -> np.ndarray:
        weights, models = part
        X = weigh(queries, weights)
        return np.column_stack([_check_values(predict(X), type(self).name, len(X)) for predict in models])


class ForeignClassifier(ClassDecoder):
    """Base of what `adopt_decoder` makes of classifiers."""

    source: ClassVar[Any] = None

    def _fit_part(self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]) -> Any:
        return weights, _train(self.source, weigh(train, weights), targets.argmax(axis=1)), targets.shape[1]

    def _predict_part(self, part: Any, queries: Samples) -> np.ndarray:
        weights, predict, n_classes = part
        return one_hot(np.asarray(predict(weigh(queries, weights)), int), n_classes)


def adopt_decoder(source: Any, name: str) -> type[Decoder]:
    """Return an estimator of scikit-learn, or a function that trains, as a decoder of this name.

    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> kind = adopt_decoder(LinearRegression(), "linear-regression")
    >>> round(kind().fit(X, X[:, 1]).score(X, X[:, 1]), 2)
    1.0
    """
    base = ForeignClassifier if hasattr(source, "fit") and is_classifier(source) else ForeignDecoder
    plain = source if hasattr(source, "fit") else staticmethod(source)
    about = {"name": name, "label": name.replace("-", " "), "source": plain, "__doc__": f"{name}, given in Python."}
    return type("Adopted", (base,), about)


def _train(source: Any, X: np.ndarray, y: np.ndarray) -> Predict:
    """Return what predicts, trained."""
    predict = clone(source).fit(X, y).predict if hasattr(source, "fit") else source(X, y)
    if not callable(predict):
        raise UsageError(f"expected a decoder that returns a function of X; found {type(predict).__name__}")
    return predict


def _check_values(values: Any, name: str, n_rows: int) -> np.ndarray:
    """Return predictions as an array, or say what is wrong with them."""
    found = np.asarray(values, float)
    if found.size != n_rows:
        raise UsageError(f"{name}: expected {n_rows} predictions, one per row; found shape {found.shape}")
    if not np.isfinite(found).all():
        raise UsageError(f"{name}: {int((~np.isfinite(found)).sum())} of {n_rows} predictions are NaN or infinite")
    return found.reshape(-1)
