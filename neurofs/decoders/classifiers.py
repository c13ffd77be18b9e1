"""Classes from features in the metric of feature weights, to score the selectors for classes.

    d_w(x, x') = Σ_f w_f² (x_f − x'_f)²

Decoders of classes alone, which choose their parameters inside the training data: `SVM`, `NaiveBayes` and `OneNN`.
Nearest-neighbor classifiers of scikit-learn's kind: `SoftKNNClassifier` and `OneNNClassifier`. All take an array or
`Samples`, and the weights of a selector as `feature_weights` of `fit`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from neurofs.decoders.base import Grid, Part, PartStep, Predict, Rehearsal, TunedDecoder, weigh
from neurofs.decoders.kernel_ridge import KernelDecoder, Machine, Table
from neurofs.decoders.libraries import MANY_ROWS
from neurofs.features.holdouts import Holdout
from neurofs.features.samples import Samples
from neurofs.ground.works import WORKS
from neurofs.metric import neighbors
from neurofs.selectors.base import check_range, covered
from neurofs.selectors.parameters import check_neighbors, check_positive
from neurofs.selectors.targets import one_hot

# ------------------------------------------------------------------------------------------------- decoders


class ClassDecoder(ClassifierMixin, TunedDecoder):
    """Base of decoders whose target is a class: labels, or one column per class, 1 where a row is of it.

    A child fits such columns and predicts them; what is predicted has the form of the `y` of `fit`.
    """

    target = "classes"

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        feature_weights: ArrayLike | None = None,
        holdouts: Sequence[Holdout] | None = None,
    ) -> Self:
        """Fit the classes `y` to `X`; all else is as in `TunedDecoder.fit`, with one metric for all classes."""
        if feature_weights is not None and np.ndim(feature_weights) > 1:
            raise ValueError("feature_weights must be one number per feature: all classes share a metric")
        self.classes_, columns = _split_labels(y)
        return super().fit(X, columns, groups, feature_weights, holdouts)

    def _locate(self, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Leave the columns as they are."""
        return np.zeros(targets.shape[1]), np.ones(targets.shape[1])

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the class of the rows of `X`."""
        columns = super().predict(X)
        return columns if self.classes_ is None else self.classes_[columns.argmax(axis=1)]


def _split_labels(y: Any) -> tuple[np.ndarray | None, np.ndarray]:
    """Return the labels, None where `y` has one column per class, and one column for each."""
    y = np.asarray(y)
    if y.ndim == 1:
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        return classes, one_hot(codes, len(classes))
    if y.ndim != 2 or not (np.isin(y, (0, 1)).all() and (y.sum(axis=1) == 1).all()):
        raise ValueError("y must be one label per row, or one column per class with a single 1 in each row")
    return None, y


@dataclass(eq=False, repr=False)
class SVM(ClassDecoder, KernelDecoder):
    """Support vector machine with a Gaussian kernel exp(−d_w / (b · median d_w)), from scikit-learn.

    Of more than two classes, one machine per pair votes. Above 2000 rows only the first hold-out is used, as in `SVR`.

    Parameters
    ----------
    width : float or "auto"
        b; "auto" chooses it by the share of wrong classes on the hold-outs.
    C : float or "auto"
        Price of an error; chosen together with b.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> bool(SVM().fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.9)
    True
    """

    name, label, citation, cost = "svm", "SVM", WORKS["cortes1995"], "m² to m³; m² memory"
    GRID: ClassVar[Grid] = {"width": (0.06, 0.12, 0.25, 0.5, 1.0, 2.0, 4.0), "C": (0.5, 2.0, 8.0, 32.0, 128.0)}
    START: ClassVar[Mapping[str, float]] = {"width": 0.5, "C": 8.0}

    width: float | str = "auto"
    C: float | str = "auto"

    def _fit_part(self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]) -> Part:
        return super()._fit_part(train, targets, weights, rehearsals if len(train) <= MANY_ROWS else rehearsals[:1])

    def _solve(self, table: Table, targets: np.ndarray, **parameters: float) -> Machine:
        width = parameters["width"] * table.middle
        if targets.any(axis=0).sum() == 1:
            return Always.of(targets)
        K = np.exp(-table.distances.astype(np.float64) / width)
        machine = SVC(kernel="precomputed", C=parameters["C"]).fit(K, targets.argmax(axis=1))
        return Votes.of(machine, width, targets)


@dataclass(frozen=True, eq=False)
class Always:
    """The targets (outputs,) of one class, whatever is asked."""

    targets: np.ndarray

    @classmethod
    def of(cls, targets: np.ndarray) -> Always:
        """Take the most frequent class."""
        return cls(one_hot(targets.sum(axis=0).argmax(), targets.shape[1]).reshape(-1))

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the targets, one row for each of X."""
        return np.tile(self.targets, (len(X), 1))


@dataclass(frozen=True, eq=False)
class Votes:
    """One machine per pair of classes, Σ_j exp(−d(x, x_j) / width) c_j + b, votes for the first if that is above 0.

    `dual` (rows, pairs) and `intercept` (pairs,); `winner` and `loser` (pairs, outputs) are the targets of the classes
    of each pair. The class with most votes is predicted, the first of equals.
    """

    width: float
    dual: np.ndarray
    intercept: np.ndarray
    winner: np.ndarray
    loser: np.ndarray

    @classmethod
    def of(cls, machine: SVC, width: float, targets: np.ndarray) -> Votes:
        """Take the pairs of a fitted machine apart; its dual coefficients stand by class, n − 1 for each row."""
        n = len(machine.classes_)
        pairs = [(a, b) for a in range(n) for b in range(a + 1, n)]
        edges = np.cumsum([0, *machine.n_support_])
        dual = np.zeros((len(targets), len(pairs)))
        for p, (a, b) in enumerate(pairs):
            for own, other in ((a, b), (b, a)):
                part = slice(edges[own], edges[own + 1])
                dual[machine.support_[part], p] = machine.dual_coef_[other - (other > own), part]
        columns = one_hot(machine.classes_, targets.shape[1])
        winner, loser = (columns[[pair[i] for pair in pairs]] for i in (0, 1))
        sign = -1.0 if n == 2 else 1.0  # of two classes, scikit-learn gives the coefficients of the second
        return cls(width, sign * dual, sign * machine.intercept_, winner, loser)

    def __call__(self, across: np.ndarray) -> np.ndarray:
        """Predict from the distances of the queries to the training rows."""
        first = np.exp(-across.astype(np.float64) / self.width) @ self.dual + self.intercept > 0
        votes = first @ self.winner + ~first @ self.loser
        return one_hot(votes.argmax(axis=1), votes.shape[1])


@dataclass(eq=False, repr=False)
class NaiveBayes(ClassDecoder):
    """Naive Bayes: within a class, features are independent and normal; from scikit-learn.

    Weights choose features; otherwise they matter only to what is added to the variances.

    Parameters
    ----------
    smoothing : float or "auto"
        What is added to every variance, as a share of the largest; "auto" chooses it by the share of wrong classes on
        the hold-outs. A unit that is silent in one class needs it.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y = np.where(X[:, 0] > 0, "right", "left")
    >>> bool(NaiveBayes().fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.9)
    True
    """

    name, label, citation, cost = "naive-bayes", "naive Bayes", WORKS["domingos1997"], "m N"
    GRID: ClassVar[Grid] = {"smoothing": (1e-9, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0)}

    smoothing: float | str = "auto"

    def _fit_part(self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]) -> Part:
        chosen = self._choose(rehearsals)
        return Part(weights, _fit_normals(weigh(train, weights), targets, **chosen), chosen)

    def _prepare(self, t: Rehearsal) -> Predict:
        X, queries = weigh(t.train, t.weights), weigh(t.queries, t.weights)
        return lambda smoothing: _fit_normals(X, t.targets, smoothing)(queries)

    def _predict_part(self, part: Part, queries: Samples) -> np.ndarray:
        return part.model(weigh(queries, part.weights))


def _fit_normals(X: np.ndarray, targets: np.ndarray, smoothing: float) -> Machine:
    """Return a naive Bayes classifier; of constant features, what predicts the most frequent class."""
    if not np.ptp(X, axis=0).any():
        return Always.of(targets)
    model = GaussianNB(var_smoothing=smoothing).fit(X.astype(np.float64), targets.argmax(axis=1))
    return Normals(model.theta_, model.var_, np.log(model.class_prior_), one_hot(model.classes_, targets.shape[1]))


@dataclass(frozen=True, eq=False)
class Normals:
    """Means and variances (classes, features), the logarithm of the prior of each class, and its targets."""

    mean: np.ndarray
    variance: np.ndarray
    prior: np.ndarray
    targets: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the targets of the most likely class of each row; the first of equals."""
        X = X.astype(np.float64)
        offset = self.prior - 0.5 * np.log(2.0 * np.pi * self.variance).sum(axis=1)
        terms = [((X - m) ** 2 / v).sum(axis=1) for m, v in zip(self.mean, self.variance, strict=True)]
        return np.asarray(self.targets[(offset - 0.5 * np.column_stack(terms)).argmax(axis=1)])


@dataclass(eq=False, repr=False)
class OneNN(ClassDecoder):
    """The class of the nearest training sample; among equally near ones that of the first.

    Examples
    --------
    >>> OneNN().fit([[0.0], [4.0]], ["left", "right"]).predict([[1.0], [3.0]]).tolist()
    ['left', 'right']
    """

    name, label, citation, cost = "one-nn", "1-NN", WORKS["cover1967"], "m N per prediction"

    def _fit_part(self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]) -> Part:
        return Part(weights, (train, targets), {})

    def _start_part(self, part: Part) -> PartStep:
        train, targets = part.model
        search = neighbors.Search(train, part.weights, k=1)
        return lambda window, follows: targets[search.find(window).index[:, 0]]

    def _predict_part(self, part: Part, queries: Samples) -> np.ndarray:
        train, targets = part.model
        return targets[neighbors.find_neighbors(train, queries, weights=part.weights, k=1).index[:, 0]]


# ---------------------------------------------------------------------------------------------- classifiers


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
