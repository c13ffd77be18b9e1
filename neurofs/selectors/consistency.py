"""The MIN-FEATURES family: the fewest discrete features that determine the class.

A set of features is *sufficient* when no two samples agree on it and differ in class. Each pair of samples of
different classes is a conflict, covered by the features in which the two differ; a sufficient set covers all.
With noise one settles for less: conflicts up to a share `tolerance` may stay uncovered, which cross-validation can
choose.

    FOCUS-1           all sets, by increasing size                                        exact
    FOCUS-2           breadth first over spaces of sets, led by the hardest conflict      exact
    Simple-Greedy     the feature that leaves the fewest conflicts, again and again
    MI-Greedy         the feature that leaves the least entropy of the class
    Weighted-Greedy   a conflict counts the more, the fewer features cover it

After Almuallim and Dietterich (Artificial Intelligence 69, 1994), who have Boolean features and two classes;
any number of values and of classes works the same way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np

from neurofs.features.samples import Samples
from neurofs.ground.works import WORKS
from neurofs.selectors import loops_sets
from neurofs.selectors.base import SetSelector
from neurofs.selectors.conflicts import Conflicts, Partition, discretize
from neurofs.selectors.feature_groups import FeatureGroups
from neurofs.selectors.memory import memory_limit
from neurofs.selectors.parameters import is_count
from neurofs.selectors.targets import ClassSelector
from neurofs.selectors.tolerance import count_allowed, cross_validate, prefer

MOST_TESTS = 10_000_000
MOST_WORK = 1e11  # words of conflicts that FOCUS-2 may look at before it gives up
CHUNK = 200_000  # tests of one call of a loop, so that a user can interrupt


@dataclass(eq=False, repr=False)
class _Sufficient(SetSelector, ClassSelector):
    """What the five share: discrete values, the tolerance, and the order of the features."""

    citation, origin = WORKS["almuallim1994"], "Almuallim & Dietterich 1994"

    tolerance: object = "auto"
    levels: object = None
    binning: str = "cap"

    def _weigh(self, samples: Samples, Y: np.ndarray, groups: Any) -> np.ndarray:
        feature_groups = FeatureGroups(self.feature_groups, samples.n_features)
        codes = discretize(samples, feature_groups, self.levels, self.binning)
        part = Partition(codes, Y[:, 0].astype(np.int64))
        self.n_conflicts_ = part.n_all
        allowed = self._cross_validate(part, samples, groups) if self._uses_cv() else self._allow(part)
        self.tolerance_ = allowed / part.n_all
        found, first_scores = self._find(part, allowed)
        rest = np.setdiff1d(np.arange(len(feature_groups)), found)
        order = np.concatenate([found, rest[np.argsort(-first_scores[rest], kind="stable")]]).astype(np.int64)
        n = self._fix_size(len(feature_groups)) or max(1, len(found))
        self.curve_ = share_left(part, order[:n])
        self.uncovered_ = float(self.curve_[-1])
        return self._choose(feature_groups, order, n)

    def _allow(self, part: Partition) -> int:
        """Return how many conflicts may stay uncovered, and refuse what no set of features can reach."""
        inherent = part.count_inherent()
        if isinstance(self.tolerance, str) and self.tolerance == "auto":
            return inherent
        if not isinstance(self.tolerance, Real) or not 0 <= float(self.tolerance) < 1:
            raise ValueError(f"tolerance must be 'auto', 'cv' or a share from 0 to below 1; found {self.tolerance!r}")
        allowed = int(float(self.tolerance) * part.n_all + 1e-6)
        if allowed < inherent:
            share = inherent / part.n_all
            raise ValueError(
                f"the samples are inconsistent: {inherent} of {part.n_all} pairs of different classes agree in "
                f"all features, and tolerance={self.tolerance:g} allows for {allowed}. Set tolerance to "
                f"{np.ceil(1e4 * share) / 1e4:g} or more, or to 'auto', which leaves only such pairs uncovered, "
                "or use more levels."
            )
        return allowed

    def _uses_cv(self) -> bool:
        return isinstance(self.tolerance, str) and self.tolerance == "cv"

    def _cross_validate(self, part: Partition, samples: Samples, groups: Any) -> int:
        """Return how many conflicts may stay uncovered, the share that cross-validation prefers."""
        self.cv_errors_ = cross_validate(self._find_sets, part.codes, part.classes, samples, groups)
        best = prefer(self.cv_errors_)
        if self.cv_errors_[best] == np.inf:
            raise ValueError(
                f"{type(self).__name__} found no set at any tolerance within max_tests. Give it fewer features, or use "
                "WeightedGreedy, which needs no search."
            )
        return count_allowed(part, best)

    def _find_sets(self, part: Partition, allowed: Sequence[int]) -> list[list[int] | None]:
        """Return the set that is found for each number of conflicts that may stay uncovered."""
        raise NotImplementedError

    def _most(self, n_groups: int) -> int:
        """Return how many feature groups a search has to find at most."""
        return self._fix_size(n_groups) or n_groups

    def _find(self, part: Partition, allowed: int) -> tuple[list[int], np.ndarray]:
        """Return the sufficient set, best first, and a score of all groups, by which the others follow."""
        raise NotImplementedError


def share_left(part: Partition, order: np.ndarray) -> np.ndarray:
    """Return the share of the conflicts that is left after 0, 1, 2, … feature groups."""
    part, left = Partition(part.codes, part.classes), [1.0]
    for group in order:
        part.split(group)
        left.append(part.n_left / part.n_all)
    return np.array(left)


# ------------------------------------------------------------------------------------------------- greedy


class _Greedy(_Sufficient):
    """Add the group of the best score until the set is sufficient: one test per step, and one at the start."""

    def _find(self, part: Partition, allowed: int) -> tuple[list[int], np.ndarray]:
        found: list[int] = []
        scores = first = self._score(part, found)
        self.n_tests_ = 1
        while part.n_left > allowed and len(found) < self._most(len(scores)):
            scores = self._score(part, found) if found else first
            scores[found] = -np.inf
            found.append(int(np.argmax(scores)))
            part.split(found[-1])
            self.n_tests_ += 1
        return found, first

    def _find_sets(self, part: Partition, allowed: Sequence[int]) -> list[list[int] | None]:
        """Return one set after the other: with more allowed, the search ends earlier on the same way."""
        order, _ = self._find(Partition(part.codes, part.classes), min(allowed))
        left = np.rint(share_left(part, np.array(order, np.int64)) * part.n_all)
        return [order[: int(np.argmax(left <= most))] if (left <= most).any() else order for most in allowed]

    def _score(self, part: Partition, found: list[int]) -> np.ndarray:
        """Return how good each feature group would be next."""
        raise NotImplementedError


class SimpleGreedy(_Greedy):
    """Simple-Greedy: add the feature that leaves the fewest conflicts until few enough are left.

    Conflicts are counted, not listed: those left by a feature are the pairs of different classes inside the
    groups of samples that agree on it and on the features chosen before, Σ p·n for two classes.

    Parameters
    ----------
    n_features_to_select : int, float or None
        None, the default, keeps the sufficient set; a number keeps that many of the order, the features after
        the set being ordered by what each does alone.
    tolerance : "auto", "cv" or float
        Share of the conflicts that may stay uncovered, from 0, as published, to below 1. "auto" leaves only the
        conflicts that no feature covers, which consistent samples do not have. "cv", for noisy samples, takes the
        share from 0 to 0.5 at which trees on the set make the fewest errors on rows left out, in five folds.
    levels : int or None
        How many values a feature may have. None takes whole numbers as they are; 2 tells silence from spikes.
    binning : "cap" or "quantile"
        What `levels` does: "cap" counts to levels − 1 at most, "quantile" separates bins of equal content and
        takes continuous features too.

    Attributes
    ----------
    weights_ : array (n_features,)
        1 for the chosen features, else 0.
    n_tests_ : int
        Sets that were tested for sufficiency, the empty one among them.
    curve_ : array
        Share of the conflicts left after 0, 1, 2, … of the chosen features; `uncovered_` is the last one.
    tolerance_ : float
        Share of the conflicts that was allowed to stay uncovered.
    cv_errors_ : dict
        With tolerance="cv", the share of errors on rows left out, by tolerance.
    n_conflicts_ : int
        Pairs of samples of different classes.

    Examples
    --------
    >>> X = np.random.default_rng(0).integers(0, 2, (100, 8))
    >>> SimpleGreedy().fit(X, (X[:, 1] & X[:, 4]) | X[:, 6]).get_support(indices=True)
    array([1, 4, 6])
    """

    name, label = "simple-greedy", "Simple-Greedy"
    color, marker, line = "blue", "s", "--"
    cost = "m N per feature chosen"

    def _score(self, part: Partition, found: list[int]) -> np.ndarray:
        left, _ = part.score()
        return (part.n_left - left).astype(float)


class MutualInformationGreedy(_Greedy):
    """Mutual-Information-Greedy: add the feature that leaves the least entropy of the class.

    Entropy = Σ_g (m_g / m) H(class | group g) over the groups of samples that agree on the chosen features.
    Parameters and attributes are those of `SimpleGreedy`.

    Examples
    --------
    >>> X = np.random.default_rng(0).integers(0, 2, (100, 8))
    >>> MutualInformationGreedy().fit(X, (X[:, 1] & X[:, 4]) | X[:, 6]).get_support(indices=True)
    array([1, 4, 6])
    """

    name, label = "mi-greedy", "MI-Greedy"
    color, marker, line = "magenta", "d", "--"
    cost = "m N per feature chosen"

    def _score(self, part: Partition, found: list[int]) -> np.ndarray:
        _, entropy = part.score()
        return -np.round(entropy, 10)


class WeightedGreedy(_Greedy):
    """Weighted-Greedy: add the feature that covers what few others cover.

    score = Σ 1 / (number of features that cover the conflict − 1) over the uncovered conflicts that the feature
    covers. One that it alone covers makes the score infinite: such features come first, those with more such
    conflicts before others. Parameters and attributes are those of `SimpleGreedy`; the conflicts are listed,
    so memory grows with the square of the rows.

    Examples
    --------
    >>> X = np.random.default_rng(0).integers(0, 2, (100, 8))
    >>> WeightedGreedy().fit(X, (X[:, 1] & X[:, 4]) | X[:, 6]).get_support(indices=True)
    array([1, 4, 6])
    """

    name, label = "weighted-greedy", "Weighted-Greedy"
    color, marker, line = "olive", "v", "--"
    cost = "m² N per feature chosen; m² N / 16 bytes"

    def _find(self, part: Partition, allowed: int) -> tuple[list[int], np.ndarray]:
        self._conflicts = Conflicts(part.codes, part.classes, type(self).__name__)
        found = super()._find(part, allowed)
        del self._conflicts
        return found

    def _score(self, part: Partition, found: list[int]) -> np.ndarray:
        """Return the payments, those with sole conflicts above all others."""
        listed = self._conflicts
        sole, paid = np.empty(listed.n_groups, np.int64), np.empty(listed.n_groups)
        loops_sets.pay_features(listed.bits, listed.weights, listed.pack(found), sole, paid)
        paid = np.round(paid, 9)
        return paid + sole * (paid.max(initial=0.0) + 1.0)


# -------------------------------------------------------------------------------------------------- exact


class GaveUp(ValueError):
    """A search found no sufficient set in time."""


@dataclass(eq=False, repr=False)
class _Focus(_Sufficient):
    """A search for the smallest sufficient set."""

    max_tests: int | Literal["auto"] = "auto"

    def _find(self, part: Partition, allowed: int) -> tuple[list[int], np.ndarray]:
        first = (part.n_all - part.score()[0]).astype(float)
        self.n_tests_ = 1
        if part.n_left <= allowed:
            return [], first
        listed = Conflicts(part.codes, part.classes, type(self).__name__)
        allowed -= part.count_inherent()  # which are not in the list
        return order_greedily(part, self._search(listed, allowed)), first

    def _find_sets(self, part: Partition, allowed: Sequence[int]) -> list[list[int] | None]:
        """Search for each number, the largest first; where a search gives up, smaller ones would, too."""
        found: dict[int, list[int] | None] = {}
        for most in sorted(set(allowed), reverse=True):
            try:
                found[most], _ = self._find(Partition(part.codes, part.classes), most)
            except GaveUp:
                return [found.get(most) for most in allowed]
        return [found[most] for most in allowed]

    def _search(self, listed: Conflicts, allowed: int) -> list[int]:
        """Return the smallest sufficient set, counting the tests."""
        raise NotImplementedError

    def _limit(self, listed: Conflicts) -> int:
        """Return the most tests to make."""
        if isinstance(self.max_tests, str) and self.max_tests == "auto":
            return self._affordable(listed)
        if not is_count(self.max_tests):
            raise ValueError(f"max_tests must be 'auto' or a whole number above 0; found {self.max_tests!r}")
        return int(self.max_tests)

    def _affordable(self, listed: Conflicts) -> int:
        return MOST_TESTS

    def _give_up(self, size: int) -> GaveUp:
        """Return the error of a search that found nothing in time."""
        return GaveUp(
            f"{type(self).__name__} tested {self.n_tests_:,} sets of up to {size} features, and none was "
            f"sufficient. Allow for more (tolerance is {self.tolerance!r}, max_tests {self.max_tests!r}), give "
            "it fewer features, or use WeightedGreedy, which needs no search."
        )


def order_greedily(part: Partition, chosen: list[int]) -> list[int]:
    """Return chosen groups in the order in which each leaves the fewest conflicts."""
    order: list[int] = []
    part = Partition(part.codes[chosen], part.classes)
    for _ in chosen:
        left, _ = part.score()
        left[order] = part.n_all + 1
        order.append(int(np.argmin(left)))
        part.split(order[-1])
    return [chosen[at] for at in order]


class Focus1(_Focus):
    """FOCUS-1: test all sets of features by increasing size; the first sufficient one is the smallest.

    Parameters and attributes are those of `Focus2`.

    Examples
    --------
    >>> X = np.random.default_rng(0).integers(0, 2, (100, 8))
    >>> Focus1().fit(X, X[:, 1] ^ X[:, 4] ^ X[:, 6]).get_support(indices=True)
    array([1, 4, 6])
    """

    name, label = "focus1", "FOCUS-1"
    color, marker, line = "violet", "^", "--"
    cost = "N^p tests for p features chosen"

    def _search(self, listed: Conflicts, allowed: int) -> list[int]:
        limit, sets = self._limit(listed), (listed.quick, listed.quick_weights)
        for size in range(1, listed.n_groups + 1):
            subset, state = np.arange(size), 0
            while state == 0:
                most = min(CHUNK, limit - self.n_tests_)
                n, state = loops_sets.search_size(*sets, listed.n_groups, allowed, subset, most)
                self.n_tests_ += n
                if state == 0 and self.n_tests_ >= limit:
                    raise self._give_up(size)
            if state == 1:
                return subset.tolist()
        raise AssertionError("all features together are sufficient")


class Focus2(_Focus):
    """FOCUS-2: the smallest sufficient set, found by branching on the conflict that fewest features cover.

    A queue holds spaces of sets M(A, B), those that contain A and avoid B. The first is taken off; of the
    conflicts that A leaves, the one a with the fewest features outside B must be covered, so for each such
    feature x the set A + x is tested and M(A + x, B) is queued, x then going into B. The first sufficient set
    is a smallest one. Where the tolerance lets conflicts go, no single one must be covered; then a is as many
    conflicts as cannot all be let go, chosen to have few features together, and the result is a smallest set
    still.

    Parameters
    ----------
    n_features_to_select : int, float or None
        None, the default, keeps the sufficient set; a number keeps that many of the order: the set, what
        leaves the fewest conflicts first, then the others by how many conflicts each covers alone.
    tolerance, levels, binning
        See `SimpleGreedy`.
    max_tests : "auto" or int
        Sets to test before giving up; the search is exponential in the size of the set. "auto" is what takes
        some minutes: ten million, for FOCUS-2 less where there are many conflicts.

    Attributes
    ----------
    weights_, n_tests_, curve_, uncovered_, tolerance_, cv_errors_, n_conflicts_
        See `SimpleGreedy`.

    Examples
    --------
    The sample of the source, with the minimal set x1, x3, x4, found by 7 tests:

    >>> rows = ["010100", "110010", "101111", "011000", "101001", "100101"]
    >>> selector = Focus2().fit([[int(bit) for bit in row] for row in rows], list("+++---"))
    >>> selector.get_support(indices=True) + 1, selector.n_tests_
    (array([1, 3, 4]), 7)
    """

    name, label = "focus2", "FOCUS-2"
    color, marker = "violet", "^"
    cost = "m² N / 16 bytes; exponential in the features chosen"

    def _affordable(self, listed: Conflicts) -> int:
        by_work = int(MOST_WORK / max(1, listed.bits.size))
        by_memory = memory_limit() // (64 * listed.bits.shape[1])
        return max(1000, min(MOST_TESTS, by_work, by_memory))

    def _search(self, listed: Conflicts, allowed: int) -> list[int]:
        limit, n_words = self._limit(listed), listed.bits.shape[1]
        sets = (listed.bits, listed.weights, listed.quick, listed.quick_weights)
        level, size = np.zeros((1, 2, n_words), np.uint64), 0
        block = max(1, 2**15 // listed.n_groups)
        while len(level):
            opened, size = [], size + 1
            for first in range(0, len(level), block):
                spaces = level[first : first + block]
                out = np.empty((len(spaces) * listed.n_groups, 2, n_words), np.uint64)
                most = limit - self.n_tests_
                n, tests, hit = loops_sets.expand_space(*sets, listed.n_groups, allowed, spaces, most, out)
                self.n_tests_ += tests
                if hit:
                    return listed.unpack(out[n - 1, 0])
                if self.n_tests_ >= limit:
                    raise self._give_up(size)
                opened.append(out[:n].copy())
            level = np.concatenate(opened)
        raise AssertionError("all features together are sufficient")
