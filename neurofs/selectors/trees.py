"""EBFS: backward elimination guided by the decision paths of trees, those of C4.5.

A tree is grown in each of v folds, and the held-out samples are sent through it. Each feature gets

    h_f = Σ_folds  (share of the rightly predicted samples whose path tests f)
                 − (share of the wrongly predicted samples whose path tests f)

A share of no samples is 0. The features of lowest h leave together, and new trees are grown on the rest: v
trees per round, where the wrapper needs v for every candidate of every round. A feature that no path tests has
h = 0, which is more than one that misleads has: EBFS removes what harms before what is idle. A weakness of the
method, kept as published: h = 0 also for a feature that every path tests, such as that of the root. Where the
others are above 0 it leaves with the idle ones, and the accuracy falls: the best set before that is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from neurofs.features.samples import Samples
from neurofs.features.splits import BlockedKFold
from neurofs.ground.keys import RandomState
from neurofs.metric import neighbors
from neurofs.selectors.base import SetSelector
from neurofs.selectors.c45 import DecisionTree
from neurofs.selectors.feature_groups import FeatureGroups
from neurofs.selectors.targets import ClassSelector

MAX_RUNS = 5  # runs of trials, or blocks, that make up a fold
ALIKE = 1e-12  # difference below which two h are the same


@dataclass(frozen=True)
class Round:
    """One round of EBFS, as kept in `rounds_`: a set of groups, how well trees predict with it, and their h."""

    feature_groups: np.ndarray  #: features, or groups of them, by number
    accuracy: float  #: mean over the folds
    h: np.ndarray  #: of each


@dataclass(eq=False, repr=False)
class EBFS(SetSelector, ClassSelector):
    """EBFS: remove the features that trees test on the way to wrong answers more than to right ones.

    Parameters
    ----------
    n_features_to_select : int, float or None
        None, the default, keeps the set with the best cross-validated accuracy, of equal ones the smallest.
        A number goes on removing down to that many, whatever the accuracy.
    confidence : float or None
        That by which trees are pruned, 0.25 in C4.5; None, the default, does not prune. See `DecisionTree`.
    nominal : int
        A feature of at most this many different values has one branch per value in a tree; 0, the default: all
        features are numbers and split at thresholds.
    cv : int
        Folds. With `groups` in `fit` they are made of whole trials, and where windows overlap of blocks of
        time, always with gaps; else of single rows, with the classes spread evenly.
    tolerance : float
        The search ends when the accuracy is lower than the best so far by more than this.
    random_state : int, RandomState or None
        Seed of the folds, and of the trees' choice among features that split equally well.
    feature_groups : array of labels, optional
        Features with the same label leave together; a path tests a group if it tests one of its features.

    Attributes
    ----------
    weights_ : array (n_features,)
        1 for the chosen features, else 0. The order is that of leaving, last first, then by the sum of h.
    rounds_ : list of Round
        The path of the search; `accuracy_curve_` has its accuracies.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((300, 6))
    >>> EBFS(random_state=0).fit(X, (X[:, 1] > 0.5) & (X[:, 4] > 0.4)).get_support(indices=True)
    array([1, 4])
    """

    name, label = "ebfs", "EBFS"
    origin = "On Induction (thesis), chapter 2"
    color, marker = "olive", ">"
    cost = "v trees per round, at most N rounds"

    confidence: float | None = None
    nominal: int = 0
    cv: int = 10
    tolerance: float = 0.05
    random_state: RandomState = None

    def _weigh(self, samples: Samples, Y: np.ndarray, groups: Any) -> np.ndarray:
        self._check_settings()
        rng = check_random_state(self.random_state)
        feature_groups, codes = FeatureGroups(self.feature_groups, samples.n_features), Y[:, 0].astype(np.int64)
        folds, seed = split_rows(samples, codes, groups, self.cv, rng), int(rng.randint(2**31 - 1))
        tree = DecisionTree(confidence=self.confidence, nominal=self.nominal, random_state=seed)
        forest = _Forest(np.asarray(samples), codes, folds, feature_groups, tree)
        self.rounds_ = self._eliminate(forest, len(feature_groups))
        self.accuracy_curve_ = np.array([r.accuracy for r in self.rounds_])
        best = max(reversed(self.rounds_), key=lambda r: r.accuracy)
        order = _order_groups(self.rounds_, len(feature_groups))  # the set of each round is a beginning of it
        return self._choose(feature_groups, order, self._fix_size(len(feature_groups)) or len(best.feature_groups))

    def _check_settings(self) -> None:
        if not isinstance(self.cv, Integral) or self.cv < 2:
            raise ValueError(f"cv must be a whole number of at least 2; found {self.cv!r}")
        if not isinstance(self.tolerance, Real) or not self.tolerance >= 0:
            raise ValueError(f"tolerance must be a number of at least 0; found {self.tolerance!r}")

    def _eliminate(self, forest: _Forest, n_groups: int) -> list[Round]:
        """Remove the groups of lowest h until all would go, accuracy falls, or the wanted size is reached."""
        fixed = self._fix_size(n_groups)
        rounds = [forest.explain(np.arange(n_groups))]
        while len(rounds[-1].feature_groups) > (fixed or 1):
            last = rounds[-1]
            stay = last.h > last.h.min() + ALIKE
            if not stay.any():
                break
            rounds.append(forest.explain(last.feature_groups[stay]))
            best = max(r.accuracy for r in rounds)
            if fixed is None and rounds[-1].accuracy < best - self.tolerance:
                break
        return rounds


def _order_groups(rounds: list[Round], n_groups: int) -> np.ndarray:
    """Return all feature groups, best first: by the last round they were in, then by their sum of h."""
    last, total = np.zeros(n_groups, np.int64), np.zeros(n_groups)
    for number, r in enumerate(rounds):
        last[r.feature_groups] = number
        total[r.feature_groups] += r.h
    return np.lexsort((-total, -last))


def split_rows(
    samples: Samples, codes: np.ndarray, groups: Any, n_splits: int, rng: np.random.RandomState
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return training and test rows of at most `n_splits` folds; see `EBFS`."""
    m = len(samples)
    if groups is None and (np.diff(np.sort(samples.starts)) >= samples.span).all():
        fold = np.empty(m, np.int64)
        fold[np.lexsort((rng.permutation(m), codes))] = np.arange(m) % min(n_splits, m)
        return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(fold.max() + 1)]
    if groups is not None:
        n_blocks = int(neighbors.loo_groups(groups, m).max()) + 1
    else:
        n_blocks = 1 + int(np.ptp(samples.starts)) // samples.span
    n_splits = max(2, min(n_splits, n_blocks))
    n_runs = max(1, min(MAX_RUNS, n_blocks // (2 * n_splits)))
    return list(BlockedKFold(n_splits, n_runs).split(samples, groups=groups))


class _Forest:
    """The rows, folds and settings with which trees are grown on one set of feature groups after the other."""

    def __init__(
        self, X: np.ndarray, codes: np.ndarray, folds: list[Any], feature_groups: FeatureGroups, tree: DecisionTree
    ) -> None:
        """Keep them."""
        self.X, self.codes, self.folds, self.feature_groups, self.tree = X, codes, folds, feature_groups, tree

    def explain(self, chosen: np.ndarray) -> Round:
        """Return the accuracy and h of the groups `chosen`."""
        features = np.concatenate([self.feature_groups.members[u] for u in chosen])
        owner = np.repeat(np.arange(len(chosen)), [len(self.feature_groups.members[u]) for u in chosen])
        parts = [self._one_fold(self.X[:, features], owner, train, test) for train, test in self.folds]
        accuracy = float(np.mean([part[0] for part in parts]))
        return Round(chosen, accuracy, np.sum([part[1] for part in parts], axis=0))

    def _one_fold(
        self, X: np.ndarray, owner: np.ndarray, train: np.ndarray, test: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """Return the accuracy in one fold, and the difference of the two shares for each feature group."""
        tree = clone(self.tree).fit(X[train], self.codes[train])
        right = tree.predict(X[test]) == self.codes[test]
        of_feature = np.eye(int(owner.max()) + 1)[owner]
        tests = tree.explain(X[test])[1] @ of_feature > 0  # (rows, feature groups)
        return float(right.mean()), _share(tests[right]) - _share(tests[~right])


def _share(rows: np.ndarray) -> np.ndarray:
    return rows.mean(axis=0) if len(rows) else np.zeros(rows.shape[1])
