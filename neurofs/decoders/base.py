"""What all decoders share: their base, and the choice of parameters inside the training data.

A decoder is a scikit-learn regressor whose `fit` takes an array or `Samples`, trials, feature weights, and
the parts of the training data to try parameters on; none of it ever sees the data to be predicted. Spike counts
go in raw. Feature weights multiply the features; a weight of 0 drops the feature.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from statistics import fmean as mean
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from neurofs.features.holdouts import Holdout, hold_out, pick_evenly
from neurofs.features.samples import Samples, as_samples
from neurofs.ground.method import Method
from neurofs.metric.tables import find_once

POWERS = (1.0, 0.5, 0.0)  # of the weights of a metric that hold-outs choose from; 0 is unit weights
WORTHWHILE = 0.02  # least relative improvement of the error for which weights are trusted
Score = Callable[..., float]
Predict = Callable[..., np.ndarray]
Grid = Mapping[str, Sequence[float]]
PartStep = Callable[[Samples, bool], np.ndarray]
Step = Callable[[Samples, bool], tuple[np.ndarray, np.ndarray | None]]


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """One hold-out in one metric: what a decoder sees while it tries parameters."""

    train: Samples
    targets: np.ndarray
    queries: Samples
    truth: np.ndarray
    weights: Any

    @classmethod
    def of(cls, train: Samples, targets: np.ndarray, holdout: Holdout, weights: Any) -> Rehearsal:
        """Cut the training data at a hold-out."""
        fit, test = holdout.fit, holdout.test
        return cls(train[fit], targets[fit], train[test], targets[test], weights)

    def thin(self, at_most: int) -> Rehearsal:
        """Return the same with an even selection of the test rows."""
        rows = pick_evenly(len(self.queries), at_most)
        return replace(self, queries=self.queries[rows], truth=self.truth[rows])

    def keep(self, at_most: int) -> Rehearsal:
        """Return the same with an even selection of the rows to fit."""
        rows = pick_evenly(len(self.train), at_most)
        return replace(self, train=self.train[rows], targets=self.targets[rows])

    def soften(self, power: float) -> Rehearsal:
        """Return the same with a power of the weights."""
        return replace(self, weights=soften(self.weights, power))

    def error(self, predicted: np.ndarray) -> float:
        """Return the mean squared error over rows and outputs."""
        return float(np.mean((self.truth - predicted) ** 2))


def choices(value: Any, grid: Sequence[float]) -> Sequence[float]:
    """Return the candidates of a parameter: the grid for "auto", else the given number alone."""
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f"a parameter must be a number or 'auto'; found {value!r}")
        return grid
    return (value,)


def best_of_all(score: Score, grids: Grid) -> dict[str, float]:
    """Return the point of the grid with the least score; the first of equals."""
    points = [dict(zip(grids, values, strict=True)) for values in product(*grids.values())]
    return min(points, key=lambda point: score(**point)) if len(points) > 1 else points[0]


def best_by_turns(score: Score, grids: Grid, start: Mapping[str, float]) -> dict[str, float]:
    """Return a point that no change of a single parameter betters, walking from `start`.

    Each point is scored once; some 10 points instead of all combinations.
    """
    point = {name: min(grid, key=_distance_from(start[name])) for name, grid in grids.items()}
    if all(len(grid) == 1 for grid in grids.values()):
        return point
    known: dict[tuple[float, ...], float] = {}

    def value(candidate: Mapping[str, float]) -> float:
        key = tuple(candidate.values())
        if key not in known:
            known[key] = score(**candidate)
        return known[key]

    while True:
        before = dict(point)
        for name, grid in grids.items():
            point = _walk(value, point, name, grid)
        if point == before:
            return point


def _distance_from(start: float) -> Callable[[float], float]:
    """Return a function that tells how far a value lies from `start`."""
    return lambda value: abs(value - start)


def _walk(value: Score, point: dict[str, float], name: str, grid: Sequence[float]) -> dict[str, float]:
    """Move one parameter along its grid, up or down, as long as that helps."""
    for step in (1, -1):
        at = list(grid).index(point[name]) + step
        while 0 <= at < len(grid) and value({**point, name: grid[at]}) < value(point):
            point = {**point, name: grid[at]}
            at += step
    return point


@dataclass(frozen=True, eq=False)
class Part:
    """A fitted decoder of some outputs: the feature weights, the model, and the chosen parameters."""

    weights: Any
    model: Any
    chosen: Mapping[str, float]


def weigh(samples: Samples, weights: Any) -> np.ndarray:
    """Return the rows as float32, features multiplied by their weights and those of weight 0 left out."""
    X = np.asarray(samples)
    if weights is None:
        return X
    kept = np.flatnonzero(weights)
    return X[:, kept] * np.asarray(weights, np.float32)[kept]


def soften(weights: Any, power: float) -> Any:
    """Return a power of the weights; a feature without weight stays so.

    >>> soften([0.0, 4.0, 9.0], 0.5), soften([0.0, 4.0, 9.0], 0)
    (array([0., 2., 3.]), array([0., 1., 1.]))
    """
    if weights is None:
        return None
    weights = np.asarray(weights, np.float64)
    return np.where(weights > 0, weights**power, 0.0)


class Decoder(Method, RegressorMixin, BaseEstimator):
    """Base of the decoders: ``fit(X, y, groups, feature_weights, holdouts)`` and ``predict(X)``.

    Attributes
    ----------
    own_metric : str
        For a decoder that learns a metric of all features and takes no selector, whose `fit` ends with `groups`:
        the name of that metric in results. Empty for others.
    gives_deviation : bool
        Whether ``predict(X, return_std=True)`` also returns the standard deviation of each prediction.
    """

    target: ClassVar[str] = "continuous or classes"  # of classes, it fits one column each
    own_metric: ClassVar[str] = ""
    gives_deviation: ClassVar[bool] = False

    def start_online(self) -> Step:
        """Return a function that predicts one window after another, as `predict` does all of them together.

        It takes `Samples` of a single window and whether this follows the one before without a gap, and returns the
        outputs, and their deviation if the decoder gives one.
        """
        return lambda window, follows: (np.asarray(self.predict(window)).reshape(-1), None)


class TunedDecoder(Decoder):
    """Base of decoders with feature weights: checks the data, sets parts aside, keeps one fitted part per metric.

    A child says how to fit targets (rows, outputs) of mean 0 and variance 1 in one metric (`_fit_part`) and
    how to predict them (`_predict_part`). One with parameters to choose has a `GRID` of them and says how to
    predict a hold-out for any choice (`_prepare`); `_choose` then does the rest. Parts are set aside if a
    parameter is "auto", or always.

    Attributes
    ----------
    GRID : mapping
        Values to try for every parameter that may be "auto".
    START : mapping
        Where the search begins, which then changes one parameter at a time; without, it tries all combinations.
    MAX_QUERIES : int or None
        Most rows, over all hold-outs, that parameters are judged by.
    SOFTENS : bool
        Whether the hold-outs also choose how far weights are trusted (`POWERS`). Weights that were learned from few or
        slow data are noisy, and may be worse than none.
    """

    ALWAYS_TUNED: ClassVar[bool] = False
    GRID: ClassVar[Grid] = {}
    START: ClassVar[Mapping[str, float]] = {}
    MAX_QUERIES: ClassVar[int | None] = None
    SOFTENS: ClassVar[bool] = False

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        feature_weights: ArrayLike | None = None,
        holdouts: Sequence[Holdout] | None = None,
    ) -> Self:
        """Fit `y` (rows,) or (rows, outputs) to `X`, an array or `Samples`.

        Numbers are values, whole ones too, as for every regressor of scikit-learn; names of classes are refused.

        Parameters
        ----------
        groups : array, optional
            Trial of each row: rows of one trial are kept together wherever training data are split.
        feature_weights : array (features,) or (outputs, features), optional
            The metric, for all outputs or one for each.
        holdouts : sequence of `Holdout`, optional
            Where parameters are chosen; by default `hold_out` with the given weights. Where every output has
            a metric of its own, those of the hold-outs may still be common.
        """
        train, targets = as_samples(X), self._check_targets(as_samples(X), y)
        self.mean_, self.scale_ = self._locate(targets)
        targets = (targets - self.mean_) / np.where(self.scale_ > 0, self.scale_, 1.0)
        metrics = _metrics(feature_weights, train.n_features, targets.shape[1])
        if holdouts is None:
            holdouts = hold_out(train, targets, lambda *_: feature_weights, groups) if self._is_tuned() else []
        self.parts_ = []
        for n, (weights, outputs) in enumerate(metrics):
            rehearsals = [
                Rehearsal.of(train, targets[:, outputs], h, _metric_of_part(h, n, len(metrics), train, len(self.mean_)))
                for h in holdouts
            ]
            weights, rehearsals = self._trust(weights, rehearsals)
            self.parts_.append(self._fit_part(train, targets[:, outputs], weights, rehearsals))
        return self

    def _trust(self, weights: Any, rehearsals: list[Rehearsal]) -> tuple[Any, list[Rehearsal]]:
        """Return the power of the weights that the hold-outs prefer, and the hold-outs with it.

        Where weights are hardly better than none there, they may be far worse elsewhere: then none are used.
        """
        if not self.SOFTENS or not rehearsals or weights is None or np.unique(weights[weights > 0]).size == 1:
            return weights, rehearsals
        tried = {power: [t.soften(power) for t in rehearsals] for power in POWERS}
        errors = {power: self._least_error(rehearsals) for power, rehearsals in tried.items()}
        best = min(POWERS, key=errors.__getitem__)
        best = best if errors[best] < (1 - WORTHWHILE) * errors[0.0] else 0.0
        return soften(weights, best), tried[best]

    def _locate(self, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean and the standard deviation of every output; a constant output stays so."""
        return targets.mean(axis=0), targets.std(axis=0)

    def _is_tuned(self) -> bool:
        """Return whether anything is to be chosen."""
        auto = any(isinstance(value, str) and value == "auto" for value in self.get_params().values())
        return self.ALWAYS_TUNED or auto

    def _check_targets(self, train: Samples, y: Any) -> np.ndarray:
        """Return the targets as (rows, outputs), and remember the shapes of the data."""
        targets = as_values(y, type(self).__name__)
        if targets.ndim not in (1, 2) or len(targets) != len(train):
            raise ValueError(f"y must have {len(train)} rows in 1 or 2 dimensions; found shape {targets.shape}")
        if not (np.isfinite(targets).all() and np.isfinite(train.flat).all()):
            raise ValueError("X and y must be finite; found NaN or infinity. Leave those rows out.")
        self.n_features_in_, self.one_output_ = train.n_features, targets.ndim == 1
        return targets.reshape(len(train), -1)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the outputs of the rows of `X`, in the shape of the `y` of `fit`."""
        check_is_fitted(self)
        queries = as_samples(X)
        if queries.n_features != self.n_features_in_:
            raise ValueError(f"X must have {self.n_features_in_} features; found {queries.n_features}")
        if not isinstance(X, Samples) and not np.isfinite(queries.flat).all():
            raise ValueError("X must be finite; found NaN or infinity. Leave those rows out.")
        parts = [self._predict_part(part, queries) for part in self.parts_]
        predicted = np.concatenate(parts, axis=1) * self.scale_ + self.mean_
        return predicted[:, 0] if self.one_output_ else predicted

    def start_online(self) -> Step:
        """Return a function that predicts one window after another; see `Decoder.start_online`."""
        steps = [self._start_part(part) for part in self.parts_]

        def step(window: Samples, follows: bool) -> tuple[np.ndarray, None]:
            columns = np.concatenate([step_part(window, follows) for step_part in steps], axis=1)
            return columns[0] * self.scale_ + self.mean_, None

        return step

    def _start_part(self, part: Any) -> PartStep:
        """Return a function that predicts one window after another; a child may prepare what all windows share."""
        return lambda window, follows: self._predict_part(part, window)

    def _choose(self, rehearsals: list[Rehearsal], score: Score | None = None) -> dict[str, float]:
        """Return the parameters: those given, and in place of "auto" those of the least error on the hold-outs."""
        settings, score = (type(self), *self.get_params().items()), score or self._scorer(rehearsals)
        return dict(find_once(settings, rehearsals, lambda: self._search(score)))

    def _least_error(self, rehearsals: list[Rehearsal]) -> float:
        """Return the error of the best parameters on the hold-outs."""
        score = self._scorer(rehearsals)
        return score(**self._choose(rehearsals, score))

    def _search(self, score: Score) -> dict[str, float]:
        grids = self._grids()
        return best_by_turns(score, grids, self.START) if self.START else best_of_all(score, grids)

    def _scorer(self, rehearsals: list[Rehearsal]) -> Score:
        """Return the mean error on the hold-outs as a function of the parameters."""

        @cache
        def prepared() -> list[tuple[Rehearsal, Predict]]:
            most = self.MAX_QUERIES
            thinned = [t if most is None else t.thin(most // len(rehearsals)) for t in rehearsals]
            return [(t, self._prepare(t)) for t in thinned]

        return lambda **parameters: mean(t.error(predict(**parameters)) for t, predict in prepared())

    def _grids(self) -> dict[str, Sequence[float]]:
        """Return the candidates of each parameter."""
        return {name: choices(getattr(self, name), grid) for name, grid in self.GRID.items()}

    def _prepare(self, t: Rehearsal) -> Predict:
        """Return a function of the parameters that predicts the test rows of a hold-out."""
        raise NotImplementedError

    def _fit_part(self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]) -> Any:
        raise NotImplementedError

    def _predict_part(self, part: Any, queries: Samples) -> np.ndarray:
        raise NotImplementedError


def as_values(y: Any, who: str) -> np.ndarray:
    """Return targets as floating-point numbers; names of classes are refused, which no regression takes.

    >>> as_values([1, 2], "Ridge")
    array([1., 2.])
    >>> as_values(["left", "right"], "Ridge")
    Traceback (most recent call last):
    ...
    ValueError: Ridge predicts values; found text as y. For classes take svm, naive-bayes, one-nn or lvq, or ...
    """
    values = np.asarray(y)
    kinds = {type(value) for value in values.reshape(-1)} if values.dtype.kind == "O" else {values.dtype.type}
    if any(issubclass(kind, str | bytes | bool | np.bool_) for kind in kinds):
        found = "truth values" if all(issubclass(kind, bool | np.bool_) for kind in kinds) else "text"
        raise ValueError(
            f"{who} predicts values; found {found} as y. For classes take svm, naive-bayes, one-nn or lvq, or "
            "give one column per class, 1 where a row is of it"
        )
    return values.astype(np.float64)


def _metrics(weights: Any, n_features: int, n_outputs: int) -> list[tuple[Any, slice]]:
    """Return each metric with the outputs that it serves."""
    everything = slice(0, n_outputs)
    if weights is None:
        return [(None, everything)]
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape not in {(n_features,), (n_outputs, n_features)}:
        raise ValueError(
            f"feature_weights must have shape ({n_features},) or ({n_outputs}, {n_features}); found {weights.shape}"
        )
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any(axis=-1).all():
        raise ValueError("feature_weights must be finite, not negative, and not all zero")
    if weights.ndim == 1:
        return [(weights, everything)]
    return [(w, slice(o, o + 1)) for o, w in enumerate(weights)]


def _metric_of_part(holdout: Holdout, n: int, n_parts: int, train: Samples, n_outputs: int) -> Any:
    """Return the weights of a hold-out for the n-th part of a decoder."""
    metrics = _metrics(holdout.weights, train.n_features, n_outputs)
    if len(metrics) > n_parts:
        raise ValueError("hold-outs have a metric for every output, but feature_weights are common to all")
    return metrics[min(n, len(metrics) - 1)][0]
