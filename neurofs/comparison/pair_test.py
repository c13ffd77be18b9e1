"""Which pairs of channels tell together what no sum of channels tells, with the rate of false ones under control.

For channels f and g in a window of lags,

    z_fg = Σ_i r_i e_if e_ig / √(Σ_i r_i² e_if² e_ig²)

where r is what is left of the target after all channels and lags (a linear fit) and slow time, and e what is left of
a channel's counts after the movement around the sample, its products, and the channel's gain in that part of the
session. If either of the two models is right, z has mean 0 unless the two channels work together: it takes a mistake
in both to report two channels that follow the same movement.

z is not pivotal: slow targets widen it. Therefore r is taken from other trials (all shifted by as many trials; without
trials, by so many samples), fitted anew, and z is measured in standard deviations over these shifts. The statistic of
a pair is Σ z² over outputs, the largest over windows of one and of three lags. Its p-value is its place among the
statistics of all pairs at all shifts, each shift measured against the others as the real one is measured against all.

The strongest pair is taken first. Pairs that only repeat it, since a channel hears spikes of one of the two, have
products that go along with its products, and are not strong any more once r is free of these. Benjamini and
Hochberg's levels, in this order, say how many pairs are reported, if any pair is stronger than the strongest of
99 % of all shifts.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import uniform_filter1d

from neurofs.comparison.shifts import shift_rows, split_stretches
from neurofs.comparison.slow_time import orthonormal, remove, scale, slow_time, sum_lags

N_SHIFTS = 100
Q = 0.10  # expected share of false pairs among those reported
ANY = 0.01  # level at which there is any pair at all
WIDTHS = (1, 3)  # lags that a window sums over
LEAST = 0.01  # share of samples with a spike, below which a channel is left out
N_AROUND = 6  # moments of the movement around a sample
GAIN_ROWS = 150  # over which a channel's gain is averaged
KIN = 0.1  # correlation of the products of pairs that may repeat each other
MOST_STEPS = 50  # pairs that are reported at most
SUMS_SHARE = 4  # at least so many rows for each sum of counts
MOST_SUMS = 2000
AT_ONCE = 10_000_000  # products in memory


@dataclass(frozen=True, eq=False)
class PairTest:
    """All pairs of active channels.

    Attributes
    ----------
    active : array
        Channels with enough spikes.
    first, second : arrays (n_pairs,)
        Channels of each pair, numbers among all.
    strength : array (n_pairs,)
        Largest Σ z² over windows.
    window : array (n_pairs,)
        Which of `windows` has it.
    p, p_beyond : arrays (n_pairs,)
        p-value alone, and beyond the stronger pairs that are reported.
    found : list of int
        Pairs that are reported, strongest first.
    cut : float
        The level that every pair reported reaches; 0 if there is none.
    p_any : float
        Share of shifts whose strongest pair is at least as strong.
    windows : list of (int, int)
        First lag of each window, 0 the oldest, and how many it sums over.
    """

    active: np.ndarray
    first: np.ndarray
    second: np.ndarray
    strength: np.ndarray
    window: np.ndarray
    p: np.ndarray
    p_beyond: np.ndarray
    found: list[int]
    cut: float
    p_any: float
    windows: list[tuple[int, int]]

    @property
    def echoes(self) -> np.ndarray:
        """Pairs that are strong alone, but tell nothing beyond those reported."""
        strong = np.flatnonzero(self.p <= self.cut)
        return np.setdiff1d(strong, self.found)


def find_pairs(
    X: np.ndarray, Y: np.ndarray, stretches: np.ndarray, by_trial: bool = False, seed: int = 0, n_shifts: int = N_SHIFTS
) -> PairTest:
    """Test all pairs of channels of counts X (rows, lags, channels) for targets Y (rows, outputs).

    Rows of one stretch, a trial or a run without gaps, follow each other in time. Targets are shifted by whole
    stretches if these are trials (permuted if there are too few to shift), else by rows.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.poisson(1.0, (1500, 1, 6)).astype(np.float32)
    >>> y = X[:, 0, 0] + (X[:, 0, 2] - 1) * (X[:, 0, 5] - 1) + rng.normal(size=1500)
    >>> test = find_pairs(X, y[:, None], np.zeros(1500, int))
    >>> [(int(test.first[k]), int(test.second[k])) for k in test.found]
    [(2, 5)]
    """
    active = np.flatnonzero((X[:, -1] > 0).mean(axis=0) >= LEAST)
    X = np.asarray(X[:, :, active], np.float64)
    survey = _Survey(X, Y, stretches, shift_rows(stretches, by_trial, n_shifts, seed))
    found, p_found, beyond = survey.pick()
    n_found = _count_found(p_found, survey.n_pairs) if survey.p_any <= ANY else 0
    p_beyond = survey.find_p(beyond[n_found])
    p_beyond[found[:n_found]] = p_found[:n_found]
    first, second = survey.pairs
    return PairTest(
        active,
        active[first],
        active[second],
        survey.strength,
        survey.window,
        survey.find_p(survey.strength),
        p_beyond,
        found[:n_found],
        Q * n_found / max(survey.n_pairs, 1),
        survey.p_any,
        list_windows(X.shape[1]),
    )


def _count_found(p: list[float], n_pairs: int) -> int:
    """Return how many of the p-values, in the order of picking, are reported (Benjamini and Hochberg).

    >>> _count_found([0.0001, 0.04, 0.0015, 0.2], 200)
    3
    """
    good = [k for k, value in enumerate(p, 1) if value <= Q * k / n_pairs]
    return max(good, default=0)


class _Survey:
    """z of all pairs, at no shift and at all shifts."""

    def __init__(self, X: np.ndarray, Y: np.ndarray, stretches: np.ndarray, shifts: np.ndarray) -> None:
        m, n_lags, n_channels = X.shape
        slow = slow_time(m)
        sums = orthonormal(np.hstack([sum_few(X).reshape(m, -1), slow]), m // SUMS_SHARE)
        r = scale(remove(sums, Y - Y.mean(axis=0)))
        shifted = np.concatenate([r[None], r[shifts]])  # (1 + shifts, rows, outputs)
        flat = remove(sums, np.moveaxis(shifted, 1, 0).reshape(m, -1))
        self.n_shifts, self.n_outputs = len(shifts), Y.shape[1]
        self.targets = np.ascontiguousarray(scale(flat).T, np.float32)  # (outputs of no shift, of the first, …; rows)
        self.counts = sum_windows(remove_movement(X, surround(Y, stretches, n_lags), slow))
        self.pairs = np.triu_indices(n_channels, 1)
        self.n_pairs = len(self.pairs[0])
        self._survey()

    def _survey(self) -> None:
        """Find the strength of all pairs, and the place and deviation of z over shifts by which it is measured."""
        squared, shape = self.targets**2, (1 + self.n_shifts, self.n_outputs, -1)
        self.places = np.zeros((2, self.counts.shape[1], self.n_outputs, self.n_pairs), np.float32)
        strength = np.zeros((1 + self.n_shifts, self.n_pairs), np.float32)
        self.window = np.zeros(self.n_pairs, int)
        for window, part, products in self._products():
            z = find_z(self.targets, squared, products).reshape(shape)
            mean, deviation = z[1:].mean(axis=0), z[1:].std(axis=0)
            deviation[deviation == 0] = np.inf
            self.places[:, window, :, part] = mean, deviation
            z = (z - mean) / deviation
            z[1:] = leave_out(z[1:])
            squares = (z**2).sum(axis=1)
            self.window[part][squares[0] > strength[0, part]] = window
            strength[:, part] = np.maximum(strength[:, part], squares)
        self.strength, most = strength[0].astype(float), strength[1:].max(axis=1, initial=0.0)
        self.null = np.sort(strength[1:].ravel())
        self.p_any = (1 + int((most >= self.strength.max(initial=0.0)).sum())) / (1 + len(most))

    def _products(self) -> Iterator[tuple[int, slice, np.ndarray]]:
        size = max(1, AT_ONCE // max(len(self.counts), 1))
        for first in range(0, self.n_pairs, size):
            part = slice(first, first + size)
            for window in range(self.counts.shape[1]):
                yield window, part, self._multiply(window, part)

    def _multiply(self, window: int, part: slice | list[int]) -> np.ndarray:
        """Return the products of some pairs, (rows, pairs), with mean 0."""
        counts, (first, second) = self.counts[:, window], self.pairs
        products = counts[:, first[part]] * counts[:, second[part]]
        return products - products.mean(axis=0)

    def find_p(self, strength: np.ndarray) -> np.ndarray:
        """Return the share of all pairs at all shifts, the real one among them, that are at least as strong."""
        n_above = len(self.null) - np.searchsorted(self.null, strength)
        return (1 + n_above) / (1 + len(self.null))

    def pick(self) -> tuple[list[int], list[float], list[np.ndarray]]:
        """Return pairs in the order in which they add most, their p-values, and all strengths before each step."""
        found: list[int] = []
        p: list[float] = []
        beyond = [self.strength]
        while len(found) < min(MOST_STEPS, self.n_pairs):
            left = beyond[-1].copy()
            left[found] = -1.0
            best = int(np.argmax(left))
            value = float(self.find_p(left[best]))
            if value > Q * MOST_STEPS / self.n_pairs:
                break
            found.append(best)
            p.append(value)
            beyond.append(np.minimum(beyond[-1], self._strength_beyond(best)))
        return found, p, beyond

    def _strength_beyond(self, pair: int) -> np.ndarray:
        """Return the strength of all pairs once the target is free of the products of one; of its kin only.

        Kin are pairs whose products go along with those of this pair, in any window; others keep their strength.
        """
        told = np.hstack([self._multiply(window, [pair]) for window in range(self.counts.shape[1])])
        left = remove(orthonormal(told), self.targets[: self.n_outputs].T).T.astype(np.float32)
        strength, kinship = np.zeros(self.n_pairs), np.zeros(self.n_pairs)
        for window, part, products in self._products():
            mean, deviation = self.places[:, window, :, part]
            squares = (((find_z(left, left**2, products) - mean) / deviation) ** 2).sum(axis=0)
            strength[part] = np.maximum(strength[part], squares)
            kinship[part] = np.maximum(kinship[part], np.abs(_correlate(told[:, window], products)))
        return np.where(kinship >= KIN, strength, self.strength)


def _correlate(values: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the correlation of centered values with each centered column; 0 for a constant one."""
    size = np.sqrt((values**2).sum() * (columns**2).sum(axis=0))
    return np.asarray(values @ columns / np.where(size > 0, size, 1.0))


def find_z(targets: np.ndarray, squared: np.ndarray, products: np.ndarray) -> np.ndarray:
    """Return Σ r w / √(Σ r² w²) of targets r (targets, rows), their squares, and products w (rows, pairs)."""
    squares = squared @ products**2
    return (targets @ products) / np.sqrt(np.where(squares > 0, squares, 1.0))


def leave_out(z: np.ndarray) -> np.ndarray:
    """Return z of each shift in standard deviations of the other shifts, from z in standard deviations of all.

    >>> values = np.array([1.0, 2.0, 4.0, 9.0])
    >>> others = values[1:]
    >>> expected = (values[0] - others.mean()) / others.std()
    >>> bool(np.isclose(leave_out((values - values.mean()) / values.std())[0], expected))
    True
    """
    n = len(z)
    return z * np.sqrt(n / (n - 1)) / np.sqrt(np.maximum(1 - z**2 / (n - 1), 1e-12))


# ------------------------------------------------------------------------------------- what is taken away


def sum_few(X: np.ndarray) -> np.ndarray:
    """Return counts with neighboring lags summed, so that there are enough rows for a linear fit."""
    m, n_lags, n_channels = X.shape
    return sum_lags(X, max(1, min(n_lags, min(m // SUMS_SHARE, MOST_SUMS) // max(n_channels, 1))))


def list_windows(n_lags: int) -> list[tuple[int, int]]:
    """Return the first lag and the width of all windows.

    >>> list_windows(3)
    [(0, 1), (1, 1), (2, 1), (0, 3)]
    """
    return [(first, width) for width in WIDTHS for first in range(n_lags - width + 1)]


def sum_windows(counts: np.ndarray) -> np.ndarray:
    """Return counts (rows, lags, channels) summed over each window, with deviation 1."""
    sums = [counts[:, first : first + width].sum(axis=1) for first, width in list_windows(counts.shape[1])]
    return scale(np.stack(sums, axis=1)).astype(np.float32)


def surround(Y: np.ndarray, stretches: np.ndarray, n_lags: int) -> np.ndarray:
    """Return the movement around each row: targets of rows before and after it, their size, and their products.

    At the ends of a stretch, its last row stands for those beyond.
    """
    Y = scale(Y - Y.mean(axis=0))
    columns = [np.ones((len(Y), 1))]
    for offset in np.unique(np.linspace(1 - n_lags, 2, N_AROUND).round().astype(int)):
        near = Y[_step(stretches, offset)]
        products = [near[:, i] * near[:, j] for i in range(Y.shape[1]) for j in range(i, Y.shape[1])]
        columns += [near, np.linalg.norm(near, axis=1, keepdims=True), np.column_stack(products)]
    return np.hstack(columns)


def _step(stretches: np.ndarray, offset: int) -> np.ndarray:
    """Return the row that is so many rows later in the same stretch, or the stretch's last (or first) one.

    >>> _step(np.array([0, 0, 0, 1, 1]), 2)
    array([2, 2, 2, 4, 4])
    """
    first, size = split_stretches(stretches)
    low, high = np.repeat(first, size), np.repeat(first + size - 1, size)
    return np.clip(np.arange(len(stretches)) + offset, low, high)


def remove_movement(X: np.ndarray, around: np.ndarray, slow: np.ndarray) -> np.ndarray:
    """Return counts without what the movement tells of them, given each channel's gain at that time."""
    left = np.empty_like(X)
    for channel in range(X.shape[2]):
        gain = uniform_filter1d(X[:, -1, channel], GAIN_ROWS, mode="nearest")[:, None]
        told = orthonormal(np.hstack([around, around * gain, slow]), len(X) // SUMS_SHARE)
        left[:, :, channel] = remove(told, X[:, :, channel] - X[:, :, channel].mean(axis=0))
    return left
