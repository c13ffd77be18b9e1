"""FRINGE: decision trees on features that are built from the ends of the paths of earlier trees.

A tree repeats the same few tests in many places where a concept is a disjunction of conjunctions. FRINGE looks at
every positive leaf, takes the last two tests on the way to it, and adds their conjunction as a new feature of two
values. A new tree is grown on all features, old and new, until no more new ones are found.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from neurofs.selectors.c45 import DecisionTree

Literal = tuple[int, float, bool]  # feature, threshold, whether the value is above it


def fringe_of(tree: DecisionTree) -> list[frozenset[Literal]]:
    """Return the last two tests on the way to every leaf of the second class, without repetition.

    The tests of the tree must be thresholds.
    """
    arrived: dict[int, tuple[Literal, ...]] = {0: ()}
    found = []
    for node, f in enumerate(tree.feature_):
        path = arrived.pop(node)
        if f >= 0:
            for b in (0, 1):
                literal = (int(f), float(tree.threshold_[node]), bool(b))
                arrived[int(tree.child_[node]) + b] = (*path[-1:], literal)
        elif tree.label_[node] == 1 and len(path) == 2:
            found.append(frozenset(path))
    return list(dict.fromkeys(found))


@dataclass(eq=False, repr=False)
class Fringe(ClassifierMixin, BaseEstimator):
    """FRINGE, for two classes of which the second (`classes_[1]`) is the positive one.

    Parameters
    ----------
    max_rounds : int
        Trees to grow at most; 10 in the experiments of Almuallim & Dietterich (section 7).
    min_rows : int
        See `DecisionTree`. The trees are those of ID3, by information gain and not pruned.
    random_state : int, RandomState or None
        Seed of the choice among equally good tests.

    Attributes
    ----------
    tree_ : DecisionTree
        The last tree.
    built_ : list of frozenset
        The new features, in order: two tests each, (feature, threshold, above). Their numbers go on from those
        of the given features.

    Examples
    --------
    >>> X = np.array([[a, b, c, d] for a in (0, 1) for b in (0, 1) for c in (0, 1) for d in (0, 1)])
    >>> y = (X[:, 0] & X[:, 1]) | (X[:, 2] & X[:, 3])
    >>> DecisionTree("gain", min_rows=1, random_state=0).fit(X, y).node_count_
    13
    >>> Fringe(random_state=0).fit(X, y).tree_.node_count_
    5
    """

    max_rounds: int = 10
    min_rows: int = 1
    random_state: Any = None

    def fit(self, X: Any, y: Any) -> Fringe:
        """Grow trees and build features in turn."""
        if not isinstance(self.max_rounds, Integral) or self.max_rounds < 1:
            raise ValueError(f"max_rounds must be a whole number of at least 1; found {self.max_rounds!r}")
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.classes_ = np.unique(y)
        if len(self.classes_) != 2:
            raise ValueError(f"FRINGE is for two classes; found {len(self.classes_)}")
        self.built_: list[frozenset[Literal]] = []
        for left in range(self.max_rounds, 0, -1):
            tree = DecisionTree("gain", min_rows=self.min_rows, random_state=self.random_state)
            self.tree_: DecisionTree = tree.fit(self._extend(X), y)
            new = [pair for pair in fringe_of(self.tree_) if pair not in self.built_]
            if not new or left == 1:
                break
            self.built_ += new
        return self

    def _extend(self, X: np.ndarray) -> np.ndarray:
        """Return the given features and the new ones."""
        out = np.hstack([X, np.zeros((len(X), len(self.built_)))])
        for number, pair in enumerate(self.built_, X.shape[1]):
            out[:, number] = np.all([(out[:, f] > threshold) == above for f, threshold, above in pair], axis=0)
        return out

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row."""
        check_is_fitted(self, "tree_")
        return self.tree_.predict(self._extend(validate_data(self, X, reset=False, dtype=np.float64)))
