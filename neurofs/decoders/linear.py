"""Linear decoders: ridge regression on all lags, which is the Wiener filter, and the Wiener cascade."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import solve

from neurofs.decoders.base import Grid, Part, Predict, Rehearsal, TunedDecoder, weigh
from neurofs.decoders.window_ridge import Windows, solve_ridges
from neurofs.features.samples import Samples
from neurofs.ground.works import WORKS

BLOCK = 4096  # rows that are unfolded at a time
NUMBERS = 2**24  # of windows that are unfolded at a time for a prediction
MANY = 3000  # features from which on no Gram matrix is made


@dataclass(frozen=True, eq=False)
class Bend:
    """The coefficients of a polynomial of one output, highest power first, and the range that it was fitted on."""

    coefficients: np.ndarray
    low: float
    high: float

    def __call__(self, straight: np.ndarray) -> np.ndarray:
        """Bend linear predictions."""
        return np.polyval(self.coefficients, np.clip(straight, self.low, self.high))


@dataclass(frozen=True, eq=False)
class Linear:
    """A linear map of features to outputs, each of which may be bent afterwards."""

    center: np.ndarray
    offset: np.ndarray
    coefficients: np.ndarray
    bends: Sequence[Bend] = ()

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Predict from features."""
        return (X - self.center) @ self.coefficients + self.offset


@dataclass(eq=False, repr=False)
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

    name, label, citation, cost = "ridge", "ridge", WORKS["hoerl1970"], "m N² + N³"
    color, marker, line = "brown", "", "-."
    GRID: ClassVar[Grid] = {"ridge": (1e-5, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)}

    ridge: float | str = "auto"

    def _fit_part(self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]) -> Part:
        chosen = self._choose(rehearsals)
        linear = _fit_ridges(train, weights, targets, [chosen["ridge"]])(chosen["ridge"])
        return Part(weights, self._finish(linear, train, weights, targets), chosen)

    def _prepare(self, t: Rehearsal) -> Predict:
        linear = _fit_ridges(t.train, t.weights, t.targets, self._grids()["ridge"])
        return lambda ridge: _apply(linear(ridge), t.queries, t.weights)

    def _finish(self, linear: Linear, train: Samples, weights: Any, targets: np.ndarray) -> Linear:
        """Return the model to use; a child may add to it."""
        return linear

    def _predict_part(self, part: Part, queries: Samples) -> np.ndarray:
        return _apply(part.model, queries, part.weights)


def _apply(linear: Linear, samples: Samples, weights: Any) -> np.ndarray:
    """Predict samples, some rows at a time, so that few windows are unfolded at once."""
    rows = max(1, NUMBERS // samples.n_features)
    parts = [samples[first : first + rows] for first in range(0, max(len(samples), 1), rows)]
    return np.concatenate([linear(weigh(part, weights)) for part in parts])


def _fit_ridges(
    train: Samples, weights: Any, targets: np.ndarray, ridges: Sequence[float]
) -> Callable[[float], Linear]:
    """Return a function from one of the ridges to its linear map: exact, or for many features to four digits."""
    kept = train.n_features if weights is None else np.count_nonzero(weights)
    if kept <= MANY or not Windows.fit(train):
        equations = _normal_equations(train, weights, targets)
        return lambda ridge: _ridge(equations, ridge)
    windows, offset = Windows(train, weights), targets.mean(axis=0)
    found = solve_ridges(windows, targets - offset, ridges)
    used = slice(None) if weights is None else np.flatnonzero(weights)
    return lambda ridge: Linear(windows.center[used], offset, found[ridge][used])


def _normal_equations(train: Samples, weights: Any, targets: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the means of features and targets, the Gram matrix of the features, their products with targets.

    Windows are unfolded some rows at a time, so that the memory does not grow with them.
    """
    blocks = [slice(first, first + BLOCK) for first in range(0, len(train), BLOCK)]
    center = sum(weigh(train[rows], weights).sum(axis=0, dtype=np.float64) for rows in blocks) / len(train)
    gram, products = np.zeros((center.size, center.size)), np.zeros((center.size, targets.shape[1]))
    for rows in blocks:
        centered = weigh(train[rows], weights) - center
        gram += centered.T @ centered
        products += centered.T @ targets[rows]
    return center, targets.mean(axis=0), gram, products


def _ridge(equations: tuple[np.ndarray, ...], ridge: float) -> Linear:
    """Solve the normal equations with a ridge."""
    center, offset, gram, products = equations
    strength = ridge * max(float(np.trace(gram)) / len(gram), np.finfo(float).tiny)
    matrix = gram.copy()
    matrix[np.diag_indices_from(matrix)] += strength
    return Linear(center, offset, solve(matrix, products, assume_a="pos"))


class WienerCascade(Ridge):
    """Ridge regression followed by a cubic polynomial of each output.

    Beyond the range of the training data the polynomial stays at its end value.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> bool(WienerCascade().fit(X, X[:, 0] ** 3).score(X, X[:, 0] ** 3) > 0.9)
    True
    """

    name, label, citation, color = "wiener-cascade", "Wiener cascade", WORKS["pohlmeyer2007"], ""

    def _finish(self, linear: Linear, train: Samples, weights: Any, targets: np.ndarray) -> Linear:
        fitted = _apply(linear, train, weights)
        bends = [_cubic(fitted[:, o], targets[:, o]) for o in range(targets.shape[1])]
        return Linear(linear.center, linear.offset, linear.coefficients, bends)

    def _predict_part(self, part: Part, queries: Samples) -> np.ndarray:
        straight = super()._predict_part(part, queries)
        return np.column_stack([bend(s) for s, bend in zip(straight.T, part.model.bends, strict=True)])


def _cubic(fitted: np.ndarray, target: np.ndarray) -> Bend:
    """Return the cubic that maps linear predictions to the target."""
    low, high = float(fitted.min()), float(fitted.max())
    coefficients = np.polyfit(fitted, target, 3) if low < high else target.mean(keepdims=True)
    return Bend(coefficients, low, high)
