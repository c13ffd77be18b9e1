"""Hold-outs: parts of the training data that are set aside while something is chosen."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from neurofs.features.samples import as_samples
from neurofs.features.splits import BlockedKFold

CHEAP = 5e9  # products of a distance table up to which every fifth of the training data serves as hold-out


@dataclass(frozen=True, eq=False)
class Holdout:
    """Rows to fit on and to test on while parameters are chosen, and weights fitted to the former."""

    fit: np.ndarray
    test: np.ndarray
    weights: Any = None


def hold_out(X: Any, y: Any, fit_weights: Callable[..., Any], groups: Any = None, at_most: int = 5) -> list[Holdout]:
    """Set parts of the training data aside for the choice of parameters.

    A part is a fifth of the data: five blocks, or runs of whole trials, spread over the session, with gaps.
    Each of the five fifths (or `at_most` so many) is used in turn, the first alone where rows² · features
    exceeds 5e9. The weights are those of ``fit_weights(X_fit, y_fit, groups_fit)``, None for unit weights.

    >>> parts = hold_out(np.zeros((100, 3)), np.zeros(100), lambda X, y, groups: X.shape)
    >>> len(parts), parts[0].weights
    (5, (80, 3))
    """
    train, y = as_samples(X), np.asarray(y)
    groups = None if groups is None else np.asarray(groups)
    n_blocks = len(train) if groups is None else len(np.unique(groups))
    long_enough = len(train) // 10 if groups is None else n_blocks
    splitter = BlockedKFold(min(5, n_blocks), n_runs=max(1, min(5, long_enough // 5)))
    n_folds = at_most if float(len(train)) ** 2 * train.n_features <= CHEAP else 1
    return [
        Holdout(fit, test, fit_weights(train[fit], y[fit], None if groups is None else groups[fit]))
        for fit, test in islice(splitter.split(train, groups=groups), n_folds)
    ]


def pick_evenly(n_rows: int, at_most: int) -> np.ndarray:
    """Return at most so many rows, spread evenly over all.

    >>> pick_evenly(9, 3)
    array([0, 4, 8])
    """
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, at_most)).round().astype(np.int64))
