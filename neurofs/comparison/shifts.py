"""Targets that belong to other moments: shifts along time and other orders of the trials.

A shift is a row of another moment for every row. Whatever goes with the target only by the slowness of both goes with
the shifted target as well. Trials are exchanged as wholes: a trial gets another one at the same share of its duration.
"""

from dataclasses import dataclass

import numpy as np

LEAST_SHIFT = 0.05  # share of the session, or of its trials
N_ORDERS = 999  # random orders with which the order of the trials is compared
ORDERED = 0.05  # p-value from which trials are taken to have an order


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


def follow_order(stretches: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return the row of another stretch for every row, the i-th stretch getting number ``order[i]``.

    >>> follow_order(np.array([0, 0, 0, 0, 1, 1]), np.array([1, 0]))
    array([4, 4, 5, 5, 1, 3])
    """
    first, size = split_stretches(stretches)
    return pair_trials(first, size, np.arange(len(first)), order)


def shift_rows(stretches: np.ndarray, by_trial: bool, n_shifts: int, seed: int = 0) -> np.ndarray:
    """Return the rows whose target each row gets at every shift, (shifts, rows).

    A trial gets the target of another one at the same share of its duration. Rows without trials are shifted by at
    least a twentieth of the session, around its end.
    """
    m = len(stretches)
    if not by_trial:
        return (np.arange(m) + np.linspace(m / 20, m - m / 20, n_shifts).astype(int)[:, None]) % m
    n, rng = len(split_stretches(stretches)[0]), np.random.default_rng(seed)
    if n > n_shifts:
        orders = [(np.arange(n) + k) % n for k in np.linspace(1, n - 1, n_shifts).round().astype(int)]
    else:
        orders = [rng.permutation(n) for _ in range(n_shifts)]
    return np.stack([follow_order(stretches, order) for order in orders])


@dataclass(frozen=True, eq=False)
class Shifts:
    """Shifts of one session, made one at a time: all of them at once would be large.

    Attributes
    ----------
    stretches : array (rows,)
    steps : array (shifts,) or (shifts, trials)
        By how many rows the session is shifted, or the order of its trials.
    kind : str
        "rows", "trials in order" (shifted, and shifted backwards) or "trials" (in random orders).
    """

    stretches: np.ndarray
    steps: np.ndarray
    kind: str

    def __len__(self) -> int:
        return len(self.steps)

    def rows(self, shift: int) -> np.ndarray:
        """Return the row of another moment for every row."""
        if self.kind == "rows":
            return np.asarray((np.arange(len(self.stretches)) + self.steps[shift]) % len(self.stretches))
        return follow_order(self.stretches, self.steps[shift])

    @property
    def n_near(self) -> int:
        """How many shifts to each side are like a shift; none if trials are in random orders."""
        return 0 if self.kind == "trials" else max(1, round(LEAST_SHIFT * len(self)))


def plan_shifts(stretches: np.ndarray, by_trial: bool, targets: np.ndarray, n_shifts: int, seed: int = 0) -> Shifts:
    """Return about `n_shifts` shifts for a session.

    Trials come in random orders if the targets of the session do; if neighbors are alike, as in blocks of one
    condition, their order is kept, and they are shifted forward or turned round and shifted.

    >>> trial = np.repeat(np.arange(40), 3)
    >>> ordered = np.repeat(np.arange(8.0), 15)[:, None]
    >>> plan_shifts(trial, True, ordered, 100).kind
    'trials in order'
    >>> plan_shifts(trial, False, ordered, 100).steps[[0, -1]]
    array([  6, 114])
    """
    if not by_trial:
        return Shifts(stretches, _spread(len(stretches), n_shifts), "rows")
    n, rng = len(split_stretches(stretches)[0]), np.random.default_rng(seed)
    if have_order(targets, stretches, rng):
        steps = _spread(n, (n_shifts + 1) // 2)
        forward, backward = steps[:, None] + np.arange(n), steps[:, None] - np.arange(n)
        return Shifts(stretches, np.concatenate([forward, backward]) % n, "trials in order")
    return Shifts(stretches, np.array([rng.permutation(n) for _ in range(n_shifts)]), "trials")


def _spread(n: int, n_shifts: int) -> np.ndarray:
    """Return different steps from a twentieth of n to all but a twentieth."""
    least = max(1, round(LEAST_SHIFT * n))
    return np.unique(np.linspace(least, n - least, n_shifts).round().astype(int))


def have_order(targets: np.ndarray, stretches: np.ndarray, rng: np.random.Generator) -> bool:
    """Whether neighboring trials have targets more alike than trials in random orders."""
    means = _average_thirds(targets, stretches)
    likeness = means @ means.T
    orders = [np.arange(len(means)), *(rng.permutation(len(means)) for _ in range(N_ORDERS))]
    alike = np.array([likeness[order[:-1], order[1:]].sum() for order in orders])
    return bool((alike >= alike[0] - 1e-9).mean() <= ORDERED)


def _average_thirds(targets: np.ndarray, stretches: np.ndarray) -> np.ndarray:
    """Return the target's mean in each third of each trial, (trials, thirds of outputs), with deviation 1."""
    first, size = split_stretches(stretches)
    edges = first[:, None] + size[:, None] * np.arange(3) // 3
    width = np.maximum(np.diff(np.append(edges, (first + size)[:, None], axis=1), axis=1), 1)
    sums = np.add.reduceat(targets, edges.ravel(), axis=0).reshape(*edges.shape, -1)
    means = (sums / width[..., None]).reshape(len(first), -1)
    deviation = means.std(axis=0)
    return np.asarray((means - means.mean(axis=0)) / np.where(deviation > 1e-9, deviation, np.inf))
