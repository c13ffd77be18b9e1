"""Folds that keep test samples apart from training samples, and the audit that proves it.

Lag windows of neighboring bins share most of their raw data and nearly the same target, so a fold is a run of
whole trials or a contiguous block of time, and training samples that share raw data with a test sample are
left out. Raw data are the spikes of the window, and the raw samples of the target, of which a derivative takes
more than those of its bin. What shares them is known from the samples alone: |starts differ| < span
(`features.samples`).
`make_folds` gives the folds of a whole comparison, each audited. Repeats cut the session at other borders: a
permutation of trials or blocks would surround every test sample by training samples close in time, and measure how
well slow drift can be interpolated.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from neurofs.features.samples import Samples
from neurofs.ground.keys import Seed

BLOCKS_PER_FOLD = 5  # permuted folds without trials are made of so many blocks each


def count_overlaps(starts: np.ndarray, others: np.ndarray, span: int) -> np.ndarray:
    """Count for each of `starts` the `others` that lie less than `span` away.

    >>> count_overlaps(np.array([0, 5, 20]), np.array([4, 6, 30]), span=5)
    array([1, 2, 0])
    """
    others = np.sort(others)
    below = np.searchsorted(others, starts - span, side="right")
    return np.searchsorted(others, starts + span, side="left") - below


def overlap_audit(samples: Samples, train: Any, test: Any) -> int:
    """Count the pairs of a training and a test sample that share raw data; 0 for an honest fold.

    Takes O(m log m), by sorted starts.

    >>> samples = Samples.from_counts(np.zeros((10, 2)), n_lags=3)
    >>> overlap_audit(samples, train=[0, 1, 2], test=[5, 6, 7])
    0
    >>> overlap_audit(samples, train=[0, 2, 4, 6], test=[1, 3, 5, 7])
    7
    """
    starts = samples.starts
    return int(count_overlaps(starts[train], starts[test], samples.span).sum())


class BlockedKFold:
    """Contiguous folds in time, or runs of whole trials, with a gap around the test part.

    A scikit-learn splitter. With `groups` (the trial of each sample) a trial is never divided; without, the
    samples are cut into blocks in the order of their starts. Training samples that share raw data with a test
    sample are left out, so the training part may be smaller than the rest of the samples. Rows of a plain
    array do not overlap and need no gap.

    Parameters
    ----------
    n_splits : int
        Number of folds, at least 2.
    n_runs : int
        Number of blocks or runs of trials that make up one fold, spread evenly over the session. One, the
        default, is the hardest test of a decoder; several make folds alike, for choices in a training part.
    random_state : int, SeedSequence or None
        Permutes the order of the trials (without trials: of the blocks) before they are dealt to the folds;
        None keeps the order of time.
    shift : float
        Moves the borders between folds by this part of a fold, −0.5 to 0.5, with one run per fold: the first fold is
        longer by it and the last one shorter.

    Examples
    --------
    >>> samples = Samples.from_counts(np.zeros((11, 4)), n_lags=2)
    >>> for train, test in BlockedKFold(n_splits=3).split(samples):
    ...     print(train, test, overlap_audit(samples, train, test))
    [5 6 7 8 9] [0 1 2 3] 0
    [0 1 2 8 9] [4 5 6] 0
    [0 1 2 3 4 5] [7 8 9] 0
    """

    def __init__(self, n_splits: int = 5, n_runs: int = 1, random_state: Seed = None, shift: float = 0.0) -> None:
        if n_splits < 2:
            raise ValueError(f"n_splits must be at least 2; found {n_splits}")
        if n_runs < 1:
            raise ValueError(f"n_runs must be at least 1; found {n_runs}")
        if shift and (n_runs > 1 or not -0.5 <= shift <= 0.5):
            raise ValueError(f"shift must be from -0.5 to 0.5, with one run per fold; found {shift} and {n_runs} runs")
        self.n_splits, self.n_runs, self.random_state, self.shift = n_splits, n_runs, random_state, shift

    def get_n_splits(self, X: object = None, y: object = None, groups: object = None) -> int:
        """Return the number of folds."""
        return self.n_splits

    def split(self, X: object, y: object = None, groups: object = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the training and test rows of each fold, both in ascending order."""
        starts, span = _positions(X)
        blocks = _blocks(starts, groups)
        n_blocks, n_parts = int(blocks.max(initial=-1)) + 1, self.n_splits * self.n_runs
        if n_blocks < n_parts:
            what = "samples" if groups is None else "groups"
            raise ValueError(f"{self!r} needs at least {n_parts} {what}; found {n_blocks}")
        fold = self._deal(n_blocks, n_parts, groups is None)[blocks]
        for f in range(self.n_splits):
            yield _keep_apart(starts, span, fold == f)

    def _deal(self, n_blocks: int, n_parts: int, by_part: bool) -> np.ndarray:
        """Return the fold of each trial or sample; a permutation moves trials, but only parts of samples."""
        part = np.clip(np.floor(np.arange(n_blocks) * n_parts / n_blocks - self.shift), 0, n_parts - 1).astype(int)
        if self.random_state is None:
            return part % self.n_splits
        rng = np.random.default_rng(self.random_state)
        return (rng.permutation(n_parts)[part] if by_part else rng.permutation(part)) % self.n_splits

    def __repr__(self) -> str:
        return f"BlockedKFold(n_splits={self.n_splits}, n_runs={self.n_runs})"


@dataclass(frozen=True, eq=False)
class Fold:
    """The training and test rows of one fold of one repeat, and the result of its audit."""

    repeat: int
    fold: int
    train: np.ndarray
    test: np.ndarray
    n_overlaps: int


def make_folds(
    samples: Samples, groups: Any, n_splits: int, n_repeats: int = 1, seed: int = 0, kind: str = "auto"
) -> list[Fold]:
    """Return all folds of a comparison, audited.

    Folds follow each other in time; repeats after the first shift their borders by a part of a fold. `kind` may also be
    "permuted": trials in another order, or, without trials, 5 blocks dealt out to each fold; or "shuffled": folds of
    single bins, which leak, as the audit says.

    >>> samples = Samples.from_counts(np.zeros((60, 4)), n_lags=2)
    >>> [(f.repeat, f.fold, len(f.train), len(f.test), f.n_overlaps) for f in make_folds(samples, None, 2, 2)]
    [(0, 0, 28, 30, 0), (0, 1, 29, 29, 0), (1, 0, 13, 45, 0), (1, 1, 44, 14, 0)]
    """
    seeds = np.random.SeedSequence(seed, spawn_key=(1,)).spawn(n_repeats)
    found = []
    for repeat, (child, shift) in enumerate(zip(seeds, shift_borders(n_repeats), strict=True)):
        if kind == "shuffled":
            parts = shuffled_folds(len(samples), n_splits, child)
        elif kind == "permuted":
            n_runs = BLOCKS_PER_FOLD if groups is None else 1
            parts = BlockedKFold(n_splits, n_runs, random_state=child).split(samples, groups=groups)
        else:
            parts = BlockedKFold(n_splits, shift=shift).split(samples, groups=groups)
        for fold, (train, test) in enumerate(parts):
            found.append(Fold(repeat, fold, train, test, overlap_audit(samples, train, test)))
    return found


def take_folds(samples: Samples, cv: Any, y: Any = None, groups: Any = None) -> list[Fold]:
    """Return the folds of a splitter of scikit-learn, or of pairs of training and test rows, audited.

    Where a test part has rows that were tested before, another repeat begins; all repeats need as many folds.

    >>> samples = Samples.from_counts(np.zeros((9, 4)), n_lags=2)
    >>> pairs = [([4, 5, 6, 7], [0, 1]), ([0, 1, 2, 6, 7], [4])]
    >>> [(fold.repeat, fold.fold, len(fold.train), fold.n_overlaps) for fold in take_folds(samples, pairs)]
    [(0, 0, 4, 0), (0, 1, 5, 0)]
    """
    pairs = cv.split(samples, y, groups) if hasattr(cv, "split") else cv
    found: list[Fold] = []
    repeat, number, tested = 0, 0, np.zeros(len(samples), bool)
    for train, test in pairs:
        train, test = _check_rows(train, len(samples)), _check_rows(test, len(samples))
        if tested[test].any():
            repeat, number, tested = repeat + 1, 0, np.zeros(len(samples), bool)
        tested[test] = True
        found.append(Fold(repeat, number, train, test, overlap_audit(samples, train, test)))
        number += 1
    counts = {sum(fold.repeat == r for fold in found) for r in range(repeat + 1)}
    if len(counts) > 1 or counts <= {0, 1}:
        raise ValueError(
            f"expected at least 2 folds that test different rows, in every repeat; found {len(found)} folds"
        )
    return found


def _check_rows(rows: Any, n_rows: int) -> np.ndarray:
    """Return the numbers of rows in ascending order, or say what is wrong with them."""
    rows = np.asarray(rows)
    rows = np.flatnonzero(rows) if rows.dtype == bool and rows.shape == (n_rows,) else rows
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or not rows.size or rows.min() < 0 or rows.max() >= n_rows:
        raise ValueError(f"expected parts of rows by their numbers, from 0 to {n_rows - 1}, and none empty")
    return np.unique(rows).astype(np.int64)


def is_contiguous(folds: Iterable[Fold], groups: Any = None) -> bool:
    """Tell whether every test part is one run of rows in time, and divides no trial."""
    for fold in folds:
        rest = np.delete(np.arange(fold.test.max() + 1 if groups is None else len(groups)), fold.test)
        divided = groups is not None and np.isin(groups[fold.test], groups[rest]).any()
        if divided or np.ptp(fold.test) + 1 != len(fold.test):
            return False
    return True


def shift_borders(n_repeats: int) -> list[float]:
    """Return by how much of a fold each repeat shifts the borders: not at all, then to both sides in turn.

    >>> shift_borders(5)
    [0.0, 0.2, -0.2, 0.4, -0.4]
    """
    return [(-1) ** (r + 1) * -(-r // 2) / n_repeats for r in range(n_repeats)]


def shuffled_folds(n_rows: int, n_splits: int, seed: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield folds of single rows in random order, the mistake that `overlap_audit` is there to catch."""
    fold = np.random.default_rng(seed).permutation(np.arange(n_rows) % n_splits)
    for f in range(n_splits):
        yield np.flatnonzero(fold != f), np.flatnonzero(fold == f)


def _positions(X: Any) -> tuple[np.ndarray, int]:
    """Return the starts and the span of `X`; rows of an array lie one apart and overlap nothing."""
    if isinstance(X, Samples):
        return X.starts, X.span
    return np.arange(len(X)), 1


def _blocks(starts: np.ndarray, groups: Any) -> np.ndarray:
    """Number the samples, or their groups by first appearance, in the order of the starts."""
    order = np.argsort(starts, kind="stable")
    blocks = np.empty(len(starts), dtype=np.int64)
    if groups is None:
        blocks[order] = np.arange(len(starts))
        return blocks
    groups = np.asarray(groups)
    if groups.shape != starts.shape:
        raise ValueError(f"groups must name the trial of each of {len(starts)} samples; found {groups.shape}")
    _, first, inverse = np.unique(groups[order], return_index=True, return_inverse=True)
    blocks[order] = np.argsort(np.argsort(first))[inverse]
    return blocks


def _keep_apart(starts: np.ndarray, span: int, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that share no raw data with the rows of the mask `test`, and those rows."""
    apart = count_overlaps(starts, starts[test], span) == 0
    if not apart.any():
        raise ValueError(f"no training samples are left outside the gap around {test.sum()} test samples")
    return np.flatnonzero(apart & ~test), np.flatnonzero(test)


def split_off(
    X: Any, fraction: float, groups: Any = None, n_runs: int = 5, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to train on and the rows to hold out, about `fraction` of all, once.

    The held-out rows are blocks, or runs of whole trials, spread over the session: at most `n_runs` of them, of
    at least three rows or one trial. With a `random_state`, single rows, or whole trials, are drawn at random
    instead. Training rows that share raw data with them are left out.

    >>> train, test = split_off(Samples.from_counts(np.zeros((21, 4)), n_lags=2), 0.3)
    >>> train, test
    (array([ 0,  1,  2,  3,  4,  5, 11, 12, 13, 14, 15]), array([ 7,  8,  9, 17, 18, 19]))
    """
    if not 0 < fraction < 1:
        raise ValueError(f"the held-out fraction must be above 0 and below 1; found {fraction!r}")
    starts, span = _positions(X)
    blocks = _blocks(starts, groups)
    n_blocks = int(blocks.max(initial=-1)) + 1
    if n_blocks < 2:
        what = "samples" if groups is None else "groups"
        raise ValueError(f"holding out a part needs at least 2 {what}; found {n_blocks}")
    if random_state is not None:
        order = np.random.default_rng(random_state).permutation(n_blocks)
        return _keep_apart(starts, span, np.isin(blocks, order[: _count_held(fraction, n_blocks)]))
    shortest = 10 if groups is None else 4
    runs = np.array_split(np.arange(n_blocks), max(1, min(n_runs, n_blocks // shortest)))
    held = [run[-_count_held(fraction, len(run)) :] for run in runs]
    return _keep_apart(starts, span, np.isin(blocks, np.concatenate(held)))


def _count_held(fraction: float, n_blocks: int) -> int:
    """Return how many blocks to hold out: at least one, and not all."""
    return min(n_blocks - 1, max(1, round(fraction * n_blocks)))
