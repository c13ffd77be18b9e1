"""Trials as stretches of rows, and the rows at which one trial meets another."""

import numpy as np


def split_stretches(stretches: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first row and the number of rows of each stretch, in the order of rows.

    >>> split_stretches(np.array([4, 4, 7, 2, 2, 2]))
    (array([0, 2, 3]), array([2, 1, 3]))
    """
    first = np.concatenate([[0], np.flatnonzero(np.diff(stretches)) + 1])
    return first, np.diff(np.append(first, len(stretches)))


def pair_trials(first: np.ndarray, size: np.ndarray, trials: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return for each row of `trials`, one after the other, the row of its partner at the same share of its duration.

    >>> first, size = split_stretches(np.array([0, 0, 0, 0, 1, 1, 2, 2, 2]))
    >>> pair_trials(first, size, np.array([0, 1]), np.array([1, 2]))
    array([4, 4, 5, 5, 6, 8])
    """
    own, start = size[trials], np.repeat(first[others], size[trials])
    row = np.arange(own.sum()) - np.repeat(np.cumsum(own) - own, own)
    return np.asarray(start + ((row + 0.5) / np.repeat(own, own) * np.repeat(size[others], own)).astype(int))
