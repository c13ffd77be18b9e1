"""Decision trees as ID3 and C4.5 grow them.

    gain        H(class) − Σ_branches share · H(class in the branch)
    gain ratio  gain / H(branch), among the tests whose gain is at least the mean gain of all

H is the entropy in bits. ID3 takes the highest gain and does not prune. C4.5 takes the highest gain ratio, and
prunes from the bottom: a subtree becomes a leaf unless its leaves together are expected to err less. E errors in
n rows stand for n · U(E, n) expected ones, U being the upper limit of a binomial probability at a confidence of
25 %. C4.5 further grafts a branch in place of its parent, and handles missing values; these trees do neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.stats import beta
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from neurofs.selectors import loops_trees

CRITERIA = ("gain-ratio", "gain")


def expected_errors(errors: Any, n: Any, confidence: float = 0.25) -> np.ndarray:
    """Return n times the upper limit of the probability of an error, of which `errors` were seen in n rows.

    The limit is the p at which as few errors, or fewer, have the probability `confidence`; 0 for no rows. Quinlan
    prints 0.157 for the last of these, by an approximation.

    >>> (expected_errors([0, 0, 0, 1], [6, 9, 1, 16]) / [6, 9, 1, 16]).round(3)
    array([0.206, 0.143, 0.75 , 0.16 ])
    """
    errors, n = np.asarray(errors, float), np.asarray(n, float)
    all_wrong = errors >= n
    limit = beta.ppf(1 - confidence, errors + 1, np.where(all_wrong, 1.0, n - errors))
    return n * np.where(all_wrong, 1.0, limit)


@dataclass(eq=False, repr=False)
class DecisionTree(ClassifierMixin, BaseEstimator):
    """A decision tree of C4.5 or ID3.

    Parameters
    ----------
    criterion : "gain-ratio" or "gain"
        What the tested feature is best in.
    confidence : float or None
        That of the limit by which the tree is pruned; C4.5's is 0.25, and less prunes more. None, the default,
        does not prune, but for subtrees that err on the training rows no less than a leaf.
    nominal : int
        A feature of at most this many different values is nominal: it has one branch per value, and is tested
        once. 0, the default: all features are numbers, each test being a threshold.
    min_rows : int
        A test needs two branches with at least so many rows; C4.5's 2. ID3 has 1.
    random_state : int, RandomState or None
        Seed of the choice among equally good tests.

    Attributes
    ----------
    classes_ : array
        The class labels.
    node_count_ : int
        Nodes and leaves.
    feature_, threshold_, child_, label_ : array (node_count_,)
        The tree; see `loops_trees`.

    Examples
    --------
    >>> outlook = ["sunny"] * 5 + ["overcast"] * 4 + ["rain"] * 5
    >>> humid = [0, 0, 0, 1, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0]
    >>> windy = [0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1, 0, 1]
    >>> play = [0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 0]
    >>> X = np.column_stack([np.unique(outlook, return_inverse=True)[1], humid, windy])
    >>> tree = DecisionTree(nominal=3).fit(X, play)
    >>> int(tree.feature_[0]), tree.node_count_, tree.score(X, play)
    (0, 8, 1.0)
    """

    criterion: str = "gain-ratio"
    confidence: Any = None
    nominal: int = 0
    min_rows: int = 2
    random_state: Any = None

    def fit(self, X: Any, y: Any) -> DecisionTree:
        """Grow the tree, and prune it."""
        self._check_settings()
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        values = [np.unique(x) for x in X.T]
        self._values = [v if v.size <= self.nominal else None for v in values]
        self._n_values = np.array([0 if v is None else v.size for v in self._values])
        self._grow(self._encode(X), codes)
        self._cut(self._errors())
        if self.confidence is not None:
            self._cut(expected_errors(self._errors(), self._counts.sum(axis=1), self.confidence))
        self._compact()
        return self

    def _check_settings(self) -> None:
        if self.criterion not in CRITERIA:
            raise ValueError(f"criterion must be one of {', '.join(CRITERIA)}; found {self.criterion!r}")
        if self.confidence is not None and not (isinstance(self.confidence, Real) and 0 < float(self.confidence) < 1):
            raise ValueError(f"confidence must be None or a number between 0 and 1; found {self.confidence!r}")
        for name, least in (("nominal", 0), ("min_rows", 1)):
            if not isinstance(value := getattr(self, name), Integral) or value < least:
                raise ValueError(f"{name} must be a whole number of at least {least}; found {value!r}")

    def _encode(self, X: np.ndarray) -> np.ndarray:
        """Return the rows with the values of nominal features numbered, −1 for one that is new."""
        out = np.array(X, np.float64)
        for f, values in enumerate(self._values):
            if values is not None:
                at = np.searchsorted(values, X[:, f])
                known = values[np.minimum(at, values.size - 1)] == X[:, f]
                out[:, f] = np.where(known, at, -1)
        return out

    def _grow(self, X: np.ndarray, codes: np.ndarray) -> None:
        order = check_random_state(self.random_state).permutation(X.shape[1])
        room = 1 + len(X) * max(2, int(self._n_values.max()))
        feature, child, label = (np.full(room, -1) for _ in range(3))
        threshold, counts = np.zeros(room), np.zeros((room, len(self.classes_)))
        tree = (feature, threshold, child, counts, label)
        settings = (order, self.criterion == "gain-ratio", self.min_rows)
        n = loops_trees.grow(X, codes, self._n_values, len(self.classes_), *settings, *tree)
        self.feature_, self.threshold_, self.child_, self._counts, self.label_ = (part[:n].copy() for part in tree)

    def _errors(self) -> np.ndarray:
        """Return how many training rows every node gets wrong as a leaf."""
        return self._counts.sum(axis=1) - self._counts[np.arange(len(self._counts)), self.label_]

    def _branches(self) -> np.ndarray:
        """Return how many branches every node has."""
        return np.where(self.feature_ >= 0, np.maximum(self._n_values[self.feature_], 2), 0)

    def _cut(self, errors: np.ndarray) -> None:
        """Turn nodes into leaves that are expected to err as little as what is below them."""
        loops_trees.prune(self.feature_, self.child_, self._branches(), errors, np.empty_like(errors))

    def _compact(self) -> None:
        """Keep the nodes that a row can reach."""
        n_branches, kept = self._branches(), np.zeros(len(self.feature_), bool)
        kept[0] = True
        for node in np.flatnonzero(self.feature_ >= 0):
            kept[self.child_[node] : self.child_[node] + n_branches[node]] |= kept[node]
        new = np.cumsum(kept) - 1
        self.child_ = np.where(self.feature_ >= 0, new[self.child_], -1)[kept]
        self.feature_, self.threshold_ = self.feature_[kept], self.threshold_[kept]
        self._counts, self.label_ = self._counts[kept], self.label_[kept]
        self.node_count_ = len(self.feature_)

    def explain(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the node where each row ends, and which features its path tests, (rows, features)."""
        check_is_fitted(self, "node_count_")
        X = self._encode(validate_data(self, X, reset=False, dtype=np.float64))
        leaves, tested = np.zeros(len(X), np.int64), np.zeros(X.shape, bool)
        loops_trees.send(X, self._n_values, self.feature_, self.threshold_, self.child_, leaves, tested)
        return leaves, tested

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of the leaf of each row."""
        leaves, _ = self.explain(X)
        return self.classes_[self.label_[leaves]]
