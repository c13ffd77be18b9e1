"""Places: the stretches of a session that folds test, and how much their scores tell about the mean.

Repeats with other borders test the same stretches again. They make the score of a place less noisy, but no new place:
scores are averaged over repeats first, and intervals and tests then count places. Two corrections are needed:

- Folds share training data. Nadeau and Bengio (2003) estimate the variance of the mean of J folds as
  (1/J + n_test / n_train) · S², with S² the variance of the scores over folds.
- Where repeats move the borders, neighboring places share test data, and an average differs less from place to place
  than a single fold does, while the mean over the session hardly gains. S² is scaled up to that of single folds, by
  what noise that is independent from sample to sample would lose: 1.4 times with 5 folds and 5 repeats.

Both together are written as one `ratio`, with which the variance of the mean is (1/J + ratio) · S².
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from neurofs.comparison.problem import Problem
from neurofs.features.splits import Fold

STILL = 0.1
"""Share of the usual variance of the target, below which R² of a fold says little."""

BETWEEN = 1 / 2
"""Share of the variance of the target between folds, from which on R² inside them says little."""


@dataclass(frozen=True)
class Places:
    """Columns of the table of scores that name a place, and the ratio of the variance of means over places."""

    keys: list[str]
    ratio: float

    @classmethod
    def of(cls, problem: Problem) -> Places:
        """Return the places of a problem; permuted repeats have no common ones, and each fold counts."""
        share = float(np.mean([len(fold.test) / len(fold.train) for fold in problem.folds]))
        if problem.kind not in ("trials", "blocks"):
            return cls(["repeat", "fold"], share)
        n = len({fold.fold for fold in problem.folds})
        return cls(["fold"], smoothing(problem.folds) * (1 / n + share) - 1 / n)


def smoothing(folds: Sequence[Fold]) -> float:
    """Return how much less the mean over repeats of noise differs from place to place than in a single repeat.

    >>> rows = np.arange(8)
    >>> halves = [Fold(0, 0, rows[4:], rows[:4], 0), Fold(0, 1, rows[:4], rows[4:], 0)]
    >>> moved = [Fold(1, 0, rows[6:], rows[:6], 0), Fold(1, 1, rows[:6], rows[6:], 0)]
    >>> smoothing(halves), round(smoothing([*halves, *moved]), 2)
    (1.0, 1.09)
    """
    return _expected_variance([fold for fold in folds if fold.repeat == 0]) / _expected_variance(folds)


def _expected_variance(folds: Sequence[Fold]) -> float:
    """Return the variance over places that noise of variance 1, independent from row to row, has on average."""
    places = sorted({fold.fold for fold in folds})
    n_rows = 1 + max(int(fold.test.max()) for fold in folds)
    n_repeats = len({fold.repeat for fold in folds})
    weight = np.zeros((len(places), n_rows))  # of each row in the mean of each place
    for fold in folds:
        weight[places.index(fold.fold), fold.test] += 1 / (n_repeats * len(fold.test))
    covariance = weight @ weight.T
    return float((np.trace(covariance) - covariance.sum() / len(places)) / (len(places) - 1))


def find_doubts(problem: Problem) -> Iterator[str]:
    """Yield why the interval of R² may hold less often than it says, for each output that gives a reason.

    R² of a fold compares errors with how much the target varies inside that fold. A fold in which it hardly varies is
    far below the others. A target that moves so slowly that it differs more from fold to fold than inside of them, such
    as a random walk, leaves a session too few independent movements for folds to show how much sessions differ.
    `neurofs reproduce validity` counts how often intervals hold with and without such doubts.
    """
    if problem.classes:
        return
    variance = np.array([problem.targets[fold.test].var(axis=0) for fold in problem.folds])  # (folds, outputs)
    share = np.array([len(fold.test) for fold in problem.folds], float)
    inside = share @ variance / share.sum()
    total, usual, least = problem.targets.var(axis=0), np.median(variance, axis=0), variance.min(axis=0)
    for output, name in enumerate(problem.outputs):
        between = 1 - inside[output] / total[output]
        if between >= BETWEEN:
            yield f"{100 * between:.0f} % of the variance of {name} lies between folds, not inside them"
        elif least[output] < STILL * usual[output]:
            still = least[output] == 0
            less = "" if still else f"varies {usual[output] / least[output]:.0f} times less in one fold than in most"
            yield f"{name} {less or 'does not vary in one fold'}"
