"""What a set of features costs: the leave-one-out error of soft kNN, or the error of any estimator.

Both keep a current set and answer three calls: `begin(features)` sets it and returns its loss,
`after(members, sign)` is the loss if some features entered (1) or left (−1), `change(members, sign)` does it.
"""

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv

from neurofs.features.samples import Samples
from neurofs.metric import neighbors
from neurofs.selectors import loops_errors, loops_margin
from neurofs.selectors.filters import DEFAULT_NEIGHBORS, sks_scores
from neurofs.selectors.parameters import check_neighbors, check_width
from neurofs.selectors.targets import standardize


class SoftKNNLoss:
    """Leave-one-out mean squared error of soft kNN with unit weights, in units of the target's variance.

    The table of squared distances under the current set is kept, and for every row the order of the others:
    a candidate adds one column, and as distances then only grow, few rows of that order have to be looked at.
    """

    def __init__(self, settings: Any, samples: Samples, Y: np.ndarray, groups: Any) -> None:
        """Take `n_neighbors`, `beta`, `beta_factor` and `exclude` from `settings`."""
        neighbors.check_pairs(samples, groups, settings.exclude)
        self.given, (self.samples,) = samples, neighbors.centered(samples)
        self.Y, self.groups, self.exclude = standardize(Y), groups, settings.exclude
        self.k = check_neighbors(settings.n_neighbors, len(samples), DEFAULT_NEIGHBORS)
        self.beta, self.adaptive = check_width(settings.beta, settings.beta_factor)
        allowed = neighbors.allowed_pairs(samples, groups, settings.exclude, type(settings).__name__)
        self.D = np.where(allowed, 0.0, np.inf)  # float64: columns come and go many times
        self.n_chosen = 0
        self._single: np.ndarray | None = None

    def begin(self, features: np.ndarray) -> float:
        """Start from a set; without any feature the prediction is the mean of the target, the loss 1."""
        for f in features:
            loops_margin.shift_distances(self.D, self._columns(np.array([f])), 1.0)
        self.n_chosen = features.size
        self._sort()
        unchanged = np.zeros((1, len(self.D)), np.float32)
        return self._measure(unchanged, 1) if features.size else float((self.Y**2).mean())

    def change(self, members: np.ndarray, sign: int) -> None:
        """Add or remove features."""
        loops_margin.shift_distances(self.D, self._columns(members), float(sign))
        self.n_chosen += sign * members.size
        self._sort()

    def after(self, members: np.ndarray, sign: int) -> float:
        """Return the loss after a change; single features for the empty set cost but a sort each."""
        if self.n_chosen + sign * members.size == 0:
            return float((self.Y**2).mean())
        if self.n_chosen == 0 and members.size == 1:
            return float(self._alone()[members[0]])
        return self._measure(self._columns(members), sign)

    def _alone(self) -> np.ndarray:
        """Return the loss of every feature on its own."""
        if self._single is None:
            rules: dict[str, Any] = {"k": self.k, "beta": self.beta, "adaptive": self.adaptive}
            errors = sks_scores(self.given, self.Y, groups=self.groups, exclude=self.exclude, **rules)
            self._single = errors.mean(axis=1)
        return self._single

    def _columns(self, members: np.ndarray) -> np.ndarray:
        return self.samples.flat[self.samples.starts + members[:, None]]

    def _sort(self) -> None:
        """Order the rows by their distance from each row, ties by number."""
        D = np.maximum(self.D, 0.0).astype(np.float32)
        order = np.argsort(D, axis=1, kind="stable")
        self.ordered, self.order = np.take_along_axis(D, order, axis=1), order.astype(np.int32)

    def _measure(self, columns: np.ndarray, sign: int) -> float:
        """Return the loss with some columns more or less."""
        slack = np.zeros(len(self.D), np.float32)
        if sign < 0:
            far = np.maximum(columns - columns.min(axis=1)[:, None], columns.max(axis=1)[:, None] - columns)
            slack = (far**2).sum(axis=0)
        errors = np.empty_like(self.Y)
        rules = (self.k, self.beta, self.adaptive)
        loops_errors.search_errors(self.ordered, self.order, columns, np.float32(sign), slack, self.Y, *rules, errors)
        return float(np.nanmean(errors))


class EstimatorLoss:
    """Cross-validated or training loss of any scikit-learn estimator on the chosen features."""

    def __init__(self, settings: Any, samples: Samples, y: np.ndarray, groups: Any) -> None:
        """Take `estimator`, `cv` and `scoring` from `settings`."""
        self.estimator, self.y = settings.estimator, y
        self.X = np.asarray(samples)
        self.scorer = None
        if settings.scoring is not None:
            self.scorer = check_scoring(self.estimator, scoring=settings.scoring)
        everything = np.arange(len(samples))
        self.folds = [(everything, everything)]
        if settings.cv is not None:
            cv = check_cv(settings.cv, y, classifier=is_classifier(self.estimator))
            self.folds = list(cv.split(samples, y, groups))
        self.chosen = np.zeros(samples.n_features, bool)

    def begin(self, features: np.ndarray) -> float:
        """Start from a set; an estimator without features has no loss, and any is better."""
        self.chosen[features] = True
        return self._measure(self.chosen) if features.size else np.inf

    def change(self, members: np.ndarray, sign: int) -> None:
        """Add or remove features."""
        self.chosen[members] = sign > 0

    def after(self, members: np.ndarray, sign: int) -> float:
        """Return the loss after a change."""
        mask = self.chosen.copy()
        mask[members] = sign > 0
        return self._measure(mask) if mask.any() else np.inf

    def _measure(self, mask: np.ndarray) -> float:
        X = self.X[:, mask]
        return float(np.mean([self._one_fold(X, train, test) for train, test in self.folds]))

    def _one_fold(self, X: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
        model = clone(self.estimator).fit(X[train], self.y[train])
        if self.scorer is not None:
            return -float(self.scorer(model, X[test], self.y[test]))
        predicted = model.predict(X[test])
        if is_classifier(self.estimator):
            return float(np.mean(predicted != self.y[test]))
        error = ((self.y[test] - predicted) ** 2).mean(axis=0)
        variance = np.var(self.y, axis=0)
        return float(np.mean(error / np.where(variance > 0, variance, 1.0)))
