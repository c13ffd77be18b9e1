"""Conflicts: pairs of samples of different classes, which features must tell apart.

Two views of the same thing. `Partition` groups the rows by the features chosen so far and counts the conflicts
inside the groups, in time linear in the rows. `Conflicts` lists them, as bits over features, for methods that
must look at each one. Features are whole numbers here (`discretize`); a group of features chosen together is
one feature whose values are the combinations of theirs.
"""

from numbers import Integral
from typing import Any

import numpy as np

from neurofs.features.samples import Samples
from neurofs.selectors import loops_sets
from neurofs.selectors.feature_groups import FeatureGroups
from neurofs.selectors.filters import feature_blocks, quantile_bins
from neurofs.selectors.memory import check_memory

MOST_VALUES = 256  # different values up to which whole numbers are taken as they are
BLOCK = 2**20  # conflicts listed at a time


# ----------------------------------------------------------------------------------------- discrete features


def discretize(samples: Samples, feature_groups: FeatureGroups, levels: Any, binning: str) -> np.ndarray:
    """Return the values of every feature group as 0, 1, …, (groups, rows).

    >>> X = np.array([[0.0, 3.0], [1.0, 0.0], [5.0, 1.0]])
    >>> samples, single = Samples.from_array(X), FeatureGroups(None, 2)
    >>> discretize(samples, single, None, "cap").tolist()
    [[0, 1, 2], [2, 0, 1]]
    >>> discretize(samples, single, 2, "cap").tolist()
    [[0, 1, 1], [1, 0, 1]]
    >>> discretize(samples, single, 2, "quantile").tolist()
    [[0, 0, 1], [1, 0, 0]]
    """
    _check_settings(levels, binning)
    values = np.empty((samples.n_features, len(samples)), np.int32)
    for block, X in feature_blocks(samples):
        if levels is not None and binning == "quantile":
            values[block] = [quantile_bins(x, levels) for x in X.T]
        else:
            _check_whole(X, block.start)
            capped = X if levels is None else np.clip(X, None, levels - 1)
            values[block] = [np.unique(x, return_inverse=True)[1] for x in capped.T]
    if levels is None:
        _check_few(values)
    return np.stack([_combine(values[members]) for members in feature_groups.members])


def _check_settings(levels: Any, binning: str) -> None:
    """Refuse what is no way to make values discrete."""
    whole = isinstance(levels, Integral) and not isinstance(levels, bool)
    if levels is not None and not (whole and 2 <= int(levels) <= MOST_VALUES):
        raise ValueError(f"levels must be None or a whole number from 2 to {MOST_VALUES}; found {levels!r}")
    if binning not in ("cap", "quantile"):
        raise ValueError(f"binning must be 'cap' or 'quantile'; found {binning!r}")


def _check_whole(X: np.ndarray, first: int) -> None:
    """Refuse features that are no whole numbers."""
    wrong = np.rint(X) != X
    if wrong.any():
        row, column = (int(n) for n in np.argwhere(wrong)[0])
        raise ValueError(
            f"features must be discrete, whole numbers such as spike counts; feature {first + column} has "
            f"the value {X[row, column]:g}. Set levels=2, binning='quantile' to split each feature at its median."
        )


def _check_few(values: np.ndarray) -> None:
    """Refuse whole numbers of so many values that they are no classes of anything."""
    most = values.max(axis=1) + 1
    if most.max() > MOST_VALUES:
        f = int(np.argmax(most))
        raise ValueError(
            f"features must have at most {MOST_VALUES} different values; feature {f} has {most[f]}. Set levels=2 "
            "(0, or 1 and more), or levels=2, binning='quantile' to split each feature at its median."
        )


def _combine(values: np.ndarray) -> np.ndarray:
    """Return the combinations of the values of some features as 0, 1, …"""
    if len(values) == 1:
        return values[0]
    return np.unique(values, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int32)


# ---------------------------------------------------------------------------------------------- partitions


def count_pairs(cell: np.ndarray, classes: np.ndarray) -> int:
    """Return the pairs of rows in the same cell and of different classes.

    >>> count_pairs(np.array([0, 0, 0, 1]), np.array([0, 1, 1, 0]))
    2
    """
    n_classes = int(classes.max()) + 1
    together = np.bincount(cell).astype(np.int64)
    alike = np.bincount(cell * n_classes + classes).astype(np.int64)
    return int((together**2).sum() - (alike**2).sum()) // 2


class Partition:
    """The rows in cells: those of one cell agree in all feature groups chosen so far.

    >>> part = Partition(np.array([[0, 0, 1, 1], [0, 1, 0, 1]]), np.array([0, 0, 1, 1]))
    >>> part.n_left, part.score()[0].tolist()
    (4, [0, 2])
    >>> part.split(0)
    >>> part.n_left
    0
    """

    def __init__(self, codes: np.ndarray, classes: np.ndarray) -> None:
        """Put all rows into one cell."""
        self.codes, self.classes = np.ascontiguousarray(codes, np.int32), classes.astype(np.int64)
        self.levels = self.codes.max(axis=1).astype(np.int64) + 1
        self.cell = np.zeros(self.classes.size, np.int64)
        self.n_all = self.n_left = count_pairs(self.cell, self.classes)
        t = np.arange(self.classes.size + 2.0)
        self._weighed = t * np.log2(np.maximum(t, 1.0))

    def split(self, group: int) -> None:
        """Divide every cell by the values of a feature group."""
        joint = self.cell * self.levels[group] + self.codes[group]
        self.cell = np.unique(joint, return_inverse=True)[1]
        self.n_left = count_pairs(self.cell, self.classes)

    def score(self) -> tuple[np.ndarray, np.ndarray]:
        """Return what each group would leave if it came next: conflicts, and entropy of the class in bits."""
        n_cells, n_classes = int(self.cell.max()) + 1, int(self.classes.max()) + 1
        shape = (n_cells * int(self.levels.max()), n_classes + 1)
        check_memory(8 * shape[0] * shape[1], "the table of values by class", "Set levels=2.")
        left, entropy = np.empty(len(self.codes), np.int64), np.empty(len(self.codes))
        table = np.zeros(shape, np.int64)
        rows = (self.codes, self.levels, self.cell, self.classes)
        loops_sets.split_scores(*rows, self._weighed, table, left, entropy)
        return left, entropy / self.classes.size

    def count_inherent(self) -> int:
        """Return the conflicts that all feature groups together leave."""
        cell = np.unique(self.codes, axis=1, return_inverse=True)[1].reshape(-1)
        return count_pairs(cell, self.classes)


# --------------------------------------------------------------------------------------------- the full list


class Conflicts:
    """Every conflict as the set of groups that tell its two rows apart; equal ones once, with their number.

    >>> both = Conflicts(np.array([[0, 0, 1, 1], [0, 1, 0, 1]]), np.array([0, 0, 1, 1]), "Focus2")
    >>> both.bits.tolist(), both.weights.tolist()
    ([[1], [3]], [2, 2])
    """

    def __init__(self, codes: np.ndarray, classes: np.ndarray, who: str) -> None:
        """List the conflicts in the order of their rows; those that no feature group covers are left out."""
        self.n_groups, n_words = len(codes), -(-len(codes) // 64)
        n_pairs = count_pairs(np.zeros(classes.size, np.int64), classes)
        check_memory(
            3 * 8 * n_words * n_pairs,
            f"{who} lists {n_pairs:,} pairs of samples of different classes, which",
            "Fit it to fewer rows, or use SimpleGreedy, which needs no list.",
        )
        bits = self._pack(np.ascontiguousarray(codes.T), classes, n_words, n_pairs)
        self.bits, self.weights = _unite(bits[bits.any(axis=1)])
        size = np.empty(len(self.bits), np.int64)
        loops_sets.set_sizes(self.bits, size)
        order = np.argsort(size, kind="stable")
        self.quick, self.quick_weights = self.bits[order], self.weights[order]

    @staticmethod
    def _pack(codes: np.ndarray, classes: np.ndarray, n_words: int, n_pairs: int) -> np.ndarray:
        bits, size = np.empty((n_pairs, n_words), np.uint64), 0
        step = max(1, BLOCK // classes.size)
        for first in range(0, classes.size, step):
            last = min(first + step, classes.size)
            size += loops_sets.pack_conflicts(codes, classes, first, last, bits[size:])
        return bits

    def pack(self, chosen: Any) -> np.ndarray:
        """Return a set of feature groups as bits."""
        mask = np.zeros(64 * self.bits.shape[1], bool)
        mask[np.asarray(chosen, np.int64)] = True
        return np.packbits(mask, bitorder="little").view(np.uint64)

    def unpack(self, bits: np.ndarray) -> list[int]:
        """Return the feature groups of a set.

        >>> one = Conflicts(np.array([[0, 1], [0, 1]]), np.array([0, 1]), "Focus2")
        >>> one.unpack(one.pack([1]))
        [1]
        """
        return np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little")).tolist()


def _unite(bits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return equal sets once, in the order of their first, and how often each occurs."""
    if not len(bits):
        return bits, np.empty(0, np.int64)
    rows = np.ascontiguousarray(bits).view([("", np.uint64)] * bits.shape[1]).reshape(-1)
    _, first, counts = np.unique(rows, return_index=True, return_counts=True)
    order = np.argsort(first)
    return np.ascontiguousarray(bits[first[order]]), counts[order].astype(np.int64)
