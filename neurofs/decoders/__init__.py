"""`DECODERS`: the decoders by name, and those of other libraries and linear ones.

All have the interface of `decoders.base.TunedDecoder`. Spike counts go in raw: on recorded data, z-scored
counts cost distance-based decoders up to half of R², and networks up to a fifth. Feature weights multiply the
features; a weight of 0 drops the feature.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from statistics import fmean as mean
from typing import Any

import numpy as np
from scipy.linalg import solve
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor
from sklearn.svm import SVR as LibSVR

from neurofs.decoders.base import Part, Rehearsal, TunedDecoder, best_by_turns, best_of_all, choices, weigh
from neurofs.decoders.kalman import Kalman
from neurofs.decoders.nearest import KernelRidgeMetric, LocalLinear, MetricAverage, SoftKNN
from neurofs.features.samples import Samples
from neurofs.metric.neighbors import pairwise_distances

__all__ = ["DECODERS", "MLP", "SVR", "GradientBoosting", "Kalman", "Ridge", "WienerCascade"]

MANY_ROWS = 2000  # from here on support vector machines try parameters on one hold-out alone


# ---------------------------------------------------------------------------------------------------- linear


@dataclass(frozen=True, eq=False)
class Bend:
    """A polynomial of one output, and the range that it was fitted on."""

    polynomial: np.poly1d
    low: float
    high: float

    def __call__(self, straight: np.ndarray) -> np.ndarray:
        return self.polynomial(np.clip(straight, self.low, self.high))


@dataclass(frozen=True, eq=False)
class Linear:
    """A linear map of features to outputs, each of which may be bent afterwards."""

    center: np.ndarray
    offset: np.ndarray
    coefficients: np.ndarray
    bends: Sequence[Bend] = ()

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return (X - self.center) @ self.coefficients + self.offset


class Ridge(TunedDecoder):
    """Ridge regression on all lags: the Wiener filter.

    Parameters
    ----------
    ridge : float or "auto"
        Strength in units of the mean eigenvalue of the Gram matrix of the features; "auto" chooses it on the
        hold-outs.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> bool(Ridge().fit(X, X @ [1, 2, 0, 0, 0]).score(X, X @ [1, 2, 0, 0, 0]) > 0.99)
    True
    """

    GRID: Sequence[float] = (1e-5, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)

    def __init__(self, ridge: float | str = "auto") -> None:
        self.ridge = ridge

    def _fit_part(
        self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]
    ) -> Part:
        @cache
        def problems() -> list[Any]:
            return [(t, _normal_equations(weigh(t.train, t.weights), t.targets)) for t in rehearsals]

        def score(ridge: float) -> float:
            return mean(t.error(_ridge(p, ridge)(weigh(t.queries, t.weights))) for t, p in problems())

        chosen = best_of_all(score, {"ridge": choices(self.ridge, self.GRID)})
        X = weigh(train, weights)
        return Part(
            weights, self._finish(_ridge(_normal_equations(X, targets), **chosen), X, targets), chosen
        )

    def _finish(self, linear: Linear, X: np.ndarray, targets: np.ndarray) -> Linear:
        """Return the model to use; a child may add to it."""
        return linear

    def _predict_part(self, part: Part, queries: Samples) -> np.ndarray:
        return part.model(weigh(queries, part.weights))


def _normal_equations(X: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the means of features and targets, the Gram matrix of the features, their products with targets."""
    center, offset = X.mean(axis=0, dtype=np.float64), targets.mean(axis=0)
    centered = X.astype(np.float64) - center
    return center, offset, centered.T @ centered, centered.T @ targets


def _ridge(problem: tuple[np.ndarray, ...], ridge: float) -> Linear:
    """Solve the normal equations with a ridge."""
    center, offset, gram, products = problem
    strength = ridge * max(float(np.trace(gram)) / len(gram), np.finfo(float).tiny)
    return Linear(center, offset, solve(gram + strength * np.eye(len(gram)), products, assume_a="pos"))


class WienerCascade(Ridge):
    """Ridge regression followed by a cubic polynomial of each output.

    Beyond the range of the training data the polynomial stays at its end value.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> bool(WienerCascade().fit(X, X[:, 0] ** 3).score(X, X[:, 0] ** 3) > 0.9)
    True
    """

    def _finish(self, linear: Linear, X: np.ndarray, targets: np.ndarray) -> Linear:
        fitted = linear(X)
        bends = [_cubic(fitted[:, o], targets[:, o]) for o in range(targets.shape[1])]
        return Linear(linear.center, linear.offset, linear.coefficients, bends)

    def _predict_part(self, part: Part, queries: Samples) -> np.ndarray:
        straight = super()._predict_part(part, queries)
        return np.column_stack([bend(s) for s, bend in zip(straight.T, part.model.bends, strict=True)])


def _cubic(fitted: np.ndarray, target: np.ndarray) -> Bend:
    """Return the cubic that maps linear predictions to the target."""
    low, high = float(fitted.min()), float(fitted.max())
    coefficients = np.polyfit(fitted, target, 3) if low < high else [target.mean()]
    return Bend(np.poly1d(coefficients), low, high)


# ------------------------------------------------------------------------------------------ from libraries


class SVR(TunedDecoder):
    """Support vector regression with a Gaussian kernel exp(−d_w / (b · median d_w)), from scikit-learn.

    Above 2000 rows only the first hold-out is used: the time to fit grows with their square at least.

    Parameters
    ----------
    width : float or "auto"
        b; "auto" chooses it on the hold-outs.
    C : float or "auto"
        Price of an error, for targets of variance 1; chosen together with b.
    epsilon : float
        Errors below it are free.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = np.sin(X[:, 0])
    >>> bool(SVR().fit(X[:150], y[:150]).score(X[150:], y[150:]) > 0.9)
    True
    """

    GRID: Mapping[str, Sequence[float]] = {"width": (0.5, 1.0, 2.0, 4.0), "C": (0.5, 2.0, 8.0, 32.0)}
    START: Mapping[str, float] = {"width": 2.0, "C": 8.0}

    def __init__(self, width: float | str = "auto", C: float | str = "auto", epsilon: float = 0.05) -> None:
        self.width = width
        self.C = C
        self.epsilon = epsilon

    def _fit_part(
        self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]
    ) -> Part:
        rehearsals = rehearsals if len(train) <= MANY_ROWS else rehearsals[:1]

        @cache
        def tables() -> list[Any]:
            return [_tables(t) for t in rehearsals]

        def score(width: float, C: float) -> float:
            return mean(
                t.error(_apply_svr(self._solve(inside, t.targets, width, C), across))
                for t, (inside, across) in zip(rehearsals, tables(), strict=True)
            )

        grids = {"width": choices(self.width, self.GRID["width"]), "C": choices(self.C, self.GRID["C"])}
        chosen = best_by_turns(score, grids, self.START)
        model = self._solve(pairwise_distances(train, weights=weights), targets, **chosen)
        return Part(weights, (train, model), chosen)

    def _solve(
        self, table: np.ndarray, targets: np.ndarray, width: float, C: float
    ) -> tuple[float, list[Any]]:
        """Return the width of the kernel and one machine per output."""
        scale = width * (float(np.median(table[:: max(1, len(table) // 500)])) or 1.0)
        K = np.exp(-table.astype(np.float64) / scale)
        return scale, [LibSVR(kernel="precomputed", C=C, epsilon=self.epsilon).fit(K, g) for g in targets.T]

    def _predict_part(self, part: Part, queries: Samples) -> np.ndarray:
        train, model = part.model
        return _apply_svr(model, pairwise_distances(queries, train, weights=part.weights))


def _tables(t: Rehearsal) -> tuple[np.ndarray, np.ndarray]:
    """Return the distances among the rows to fit, and from the test rows to them."""
    inside = pairwise_distances(t.train, weights=t.weights)
    return inside, pairwise_distances(t.queries, t.train, weights=t.weights)


def _apply_svr(model: tuple[float, list[Any]], across: np.ndarray) -> np.ndarray:
    """Predict from the distances of the queries to the training rows."""
    scale, machines = model
    K = np.exp(-across.astype(np.float64) / scale)
    return np.column_stack([machine.predict(K) for machine in machines])


class GradientBoosting(TunedDecoder):
    """Boosted regression trees: xgboost where it is installed, else scikit-learn's histogram trees.

    The number of trees is chosen on the first hold-out, at 50, 100, … `max_trees`.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = np.sign(X[:, 0])
    >>> bool(GradientBoosting(max_trees=100).fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.8)
    True
    """

    ALWAYS_TUNED = True

    def __init__(
        self,
        max_trees: int = 300,
        max_depth: int = 5,
        learning_rate: float = 0.1,
        library: str = "auto",
        random_state: int = 0,
    ) -> None:
        self.max_trees = max_trees
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.library = library
        self.random_state = random_state

    def _fit_part(
        self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]
    ) -> Part:
        sizes = np.unique([*range(50, self.max_trees, 50), self.max_trees])
        models, chosen, first = [], {}, rehearsals[0]
        inside, queries = weigh(first.train, first.weights), weigh(first.queries, first.weights)
        X = weigh(train, weights)
        for o, g in enumerate(targets.T):
            staged = self._grow(inside, first.targets[:, o], self.max_trees).staged(queries, sizes)
            best = int(sizes[np.argmin([np.mean((first.truth[:, o] - p) ** 2) for p in staged])])
            models.append(self._grow(X, g, best))
            chosen[f"trees_{o}"] = float(best)
        return Part(weights, models, chosen)

    def _grow(self, X: np.ndarray, y: np.ndarray, n_trees: int) -> Trees:
        names = {"auto": "xgboost" if find_spec("xgboost") else "sklearn"}
        grow = {"xgboost": _grow_xgboost, "sklearn": _grow_sklearn}[names.get(self.library, self.library)]
        return grow(X, y, n_trees, self.max_depth, self.learning_rate, self.random_state)

    def _predict_part(self, part: Part, queries: Samples) -> np.ndarray:
        X = weigh(queries, part.weights)
        return np.column_stack([model.predict(X) for model in part.model])


class Trees:
    """Trees of either library: predictions, and predictions of the first so many trees."""

    def __init__(self, model: Any, by_sizes: Any) -> None:
        self.predict, self.staged = model.predict, by_sizes


def _grow_xgboost(X: np.ndarray, y: np.ndarray, n_trees: int, depth: int, rate: float, seed: int) -> Trees:
    from xgboost import XGBRegressor

    model = XGBRegressor(
        n_estimators=n_trees,
        max_depth=depth,
        learning_rate=rate,
        subsample=0.7,
        colsample_bynode=0.3,
        max_bin=64,
        random_state=seed,
        n_jobs=1,
    ).fit(X, y)
    return Trees(model, lambda Z, sizes: [model.predict(Z, iteration_range=(0, int(n))) for n in sizes])


def _grow_sklearn(X: np.ndarray, y: np.ndarray, n_trees: int, depth: int, rate: float, seed: int) -> Trees:
    model = HistGradientBoostingRegressor(
        max_iter=n_trees,
        max_depth=depth,
        learning_rate=rate,
        max_features=0.3,
        max_bins=64,
        early_stopping=False,
        random_state=seed,
    ).fit(X, y)

    def staged(Z: np.ndarray, sizes: Sequence[int]) -> list[np.ndarray]:
        return [p for n, p in enumerate(model.staged_predict(Z), start=1) if n in sizes]

    return Trees(model, staged)


class MLP(TunedDecoder):
    """Multilayer perceptron on raw counts, from scikit-learn; all outputs at once.

    The penalty and the number of epochs are chosen on the first hold-out.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> decoder = MLP(max_epochs=60).fit(X[:300], X[:300, 0] * X[:300, 1])
    >>> bool(decoder.score(X[300:], X[300:, 0] * X[300:, 1]) > 0.8)
    True
    """

    ALWAYS_TUNED = True
    PENALTIES: Sequence[float] = (0.01, 1.0)

    def __init__(
        self, hidden: tuple[int, ...] = (100, 100), max_epochs: int = 30, random_state: int = 0
    ) -> None:
        self.hidden = hidden
        self.max_epochs = max_epochs
        self.random_state = random_state

    def _fit_part(
        self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]
    ) -> Part:
        first = rehearsals[0]
        inside, queries = weigh(first.train, first.weights), weigh(first.queries, first.weights)
        best = (np.inf, 0.0, 0)
        for penalty in self.PENALTIES:
            model = self._new(penalty)
            for epoch in range(1, self.max_epochs + 1):
                _train_once(model, inside, first.targets)
                error = first.error(model.predict(queries).reshape(first.truth.shape))
                best = min(best, (error, penalty, epoch))
        model = self._new(best[1])
        X = weigh(train, weights)
        for _ in range(best[2]):
            _train_once(model, X, targets)
        return Part(weights, model, {"penalty": best[1], "epochs": best[2]})

    def _new(self, penalty: float) -> MLPRegressor:
        return MLPRegressor(
            hidden_layer_sizes=self.hidden, alpha=penalty, batch_size=64, random_state=self.random_state
        )

    def _predict_part(self, part: Part, queries: Samples) -> np.ndarray:
        X = weigh(queries, part.weights)
        return part.model.predict(X).reshape(len(X), -1)


def _train_once(model: MLPRegressor, X: np.ndarray, targets: np.ndarray) -> None:
    """Train for one epoch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.partial_fit(X, targets if targets.shape[1] > 1 else targets[:, 0])


DECODERS: dict[str, type[TunedDecoder]] = {
    "soft_knn": SoftKNN,
    "local_linear": LocalLinear,
    "kernel_ridge": KernelRidgeMetric,
    "average": MetricAverage,
    "ridge": Ridge,
    "wiener_cascade": WienerCascade,
    "kalman": Kalman,
    "svr": SVR,
    "gradient_boosting": GradientBoosting,
    "mlp": MLP,
}
