"""Choosing the parameters of a decoder inside the training data: hold-outs and searches over grids."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Any

import numpy as np

from neurofs.metric import as_samples
from neurofs.samples import Samples
from neurofs.splits import BlockedKFold

__all__ = ["Holdout", "Rehearsal", "best_by_turns", "best_of_all", "choices", "hold_out", "spread"]

ALL_FOLDS = 2000  # rows up to which every fifth of the training data serves as hold-out
Score = Callable[..., float]


@dataclass(frozen=True, eq=False)
class Holdout:
    """Rows to fit on and to test on while parameters are chosen, and weights fitted to the former."""

    fit: np.ndarray
    test: np.ndarray
    weights: Any = None


def hold_out(X: Any, y: Any, fit_weights: Callable[..., Any], groups: Any = None) -> list[Holdout]:
    """Set parts of the training data aside for the choice of parameters.

    A part is a fifth of the data: five blocks, or runs of whole trials, spread over the session, with gaps.
    Up to 2000 rows each of the five fifths is used, above that the first alone. `fit_weights` is called as
    ``fit_weights(X_fit, y_fit, groups_fit)`` and returns the feature weights, or None for unit weights.

    >>> parts = hold_out(np.zeros((100, 3)), np.zeros(100), lambda X, y, groups: X.shape)
    >>> len(parts), parts[0].weights
    (5, (80, 3))
    """
    train, y = as_samples(X), np.asarray(y)
    groups = None if groups is None else np.asarray(groups)
    n_blocks = len(train) if groups is None else len(np.unique(groups))
    long_enough = len(train) // 10 if groups is None else n_blocks
    splitter = BlockedKFold(min(5, n_blocks), n_runs=max(1, min(5, long_enough // 5)))
    n_folds = 5 if len(train) <= ALL_FOLDS else 1
    return [
        Holdout(fit, test, fit_weights(train[fit], y[fit], None if groups is None else groups[fit]))
        for fit, test in islice(splitter.split(train, groups=groups), n_folds)
    ]


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
        rows = spread(len(self.queries), at_most)
        return replace(self, queries=self.queries[rows], truth=self.truth[rows])

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


def best_of_all(score: Score, grids: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return the point of the grid with the least score; the first of equals."""
    points = [dict(zip(grids, values, strict=True)) for values in product(*grids.values())]
    return min(points, key=lambda point: score(**point)) if len(points) > 1 else points[0]


def best_by_turns(
    score: Score, grids: Mapping[str, Sequence[float]], start: Mapping[str, float]
) -> dict[str, float]:
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


def spread(n_rows: int, at_most: int) -> np.ndarray:
    """Return rows spread evenly over all."""
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, at_most)).round().astype(np.int64))
