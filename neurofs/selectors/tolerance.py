"""How many conflicts to leave uncovered where samples are noisy: the share that cross-validation prefers.

Almuallim and Dietterich propose it at the end of their paper (1994): search for a small set of features that leaves
a certain percentage of the conflicts uncovered, "where such percentage can be determined through cross-validation".
As in their experiments, a decision tree without pruning (ID3) is grown on the features of a set.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from neurofs.features.holdouts import hold_out
from neurofs.features.samples import Samples
from neurofs.selectors.conflicts import Partition

TOLERANCES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
Finder = Callable[[Partition, Sequence[int]], list[list[int] | None]]


def count_allowed(part: Partition, tolerance: float) -> int:
    """Return how many conflicts are a share of all, but at least those that no set of features covers."""
    return max(part.count_inherent(), int(tolerance * part.n_all + 1e-6))


def cross_validate(
    find_sets: Finder, codes: np.ndarray, classes: np.ndarray, samples: Samples, groups: Any
) -> dict[float, float]:
    """Return the share of errors on the rows left out, for each tolerance; infinite where no set was found.

    `find_sets(part, allowed)` returns the set found for each number of conflicts allowed, None for no set.
    """
    wrong, n = np.zeros(len(TOLERANCES)), 0
    for rows in hold_out(samples, classes, lambda *parts: None, groups):
        part = Partition(codes[:, rows.fit], classes[rows.fit])
        sets = find_sets(part, [count_allowed(part, tolerance) for tolerance in TOLERANCES])
        wrong += [
            np.inf if chosen is None else count_errors(codes[sorted(chosen)], classes, rows.fit, rows.test)
            for chosen in sets
        ]
        n += len(rows.test)
    return dict(zip(TOLERANCES, (wrong / n).tolist(), strict=True))


def count_errors(codes: np.ndarray, classes: np.ndarray, fit: np.ndarray, test: np.ndarray) -> int:
    """Return how many test rows a tree of these features (features, rows) gets wrong; without any, the mode does.

    >>> y = np.array([0, 0, 1, 1, 0, 1])
    >>> fit, test = np.arange(4), np.arange(4, 6)
    >>> count_errors(np.array([[0, 0, 1, 1, 0, 1]]), y, fit, test), count_errors(np.empty((0, 6)), y, fit, test)
    (0, 1)
    """
    if not len(codes):
        return int((classes[test] != np.bincount(classes[fit]).argmax()).sum())
    tree = DecisionTreeClassifier(criterion="entropy", random_state=0).fit(codes[:, fit].T, classes[fit])
    return int((tree.predict(codes[:, test].T) != classes[test]).sum())


def prefer(errors: dict[float, float]) -> float:
    """Return the tolerance of the least error, the largest of equals, which keeps fewer features.

    >>> prefer({0.0: 0.2, 0.1: 0.1, 0.2: 0.1, 0.3: 0.4})
    0.2
    """
    return min(errors, key=lambda tolerance: (errors[tolerance], -tolerance))
