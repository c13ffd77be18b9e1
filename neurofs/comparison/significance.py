"""Which channels are tuned, which add something that no other has, and at which lags: with the rate of errors stated.

Two questions about each channel c, whose window of lags is X_c (rows, lags):

    tuned  does X_c go with the target T, given slow time?
    adds   does it, given slow time and the windows of all other channels?

T are the outputs and, if there are several with values, their norm (speed); or one column for each class. Slow time
are cosines over the session whose periods are above a cutoff, a fifth of its length; with trials, also the course of
a trial, so that the question is about what differs from trial to trial. With M the projection off all that is given,

    V_c = Σ squared canonical correlations of M X_c and M T      (Pillai's trace)

is compared with V_c after a shift in time between channel and target, M being applied anew (`comparison.shifts`). For
*tuned* it is the target that is shifted, for *adds* the channel, and neither is a residual: if a channel has nothing to
do with target and other channels, this is exact however many others there are. A residual is whiter than what it is
the residual of; with shifts of residuals, a third of the channels reported in small sessions were false. Only a trend
is taken off before anything without trials is shifted, since a trend that is shifted around the end is none. (Targets
of whole trials are residuals: what trials in blocks share is not to be shifted.) Where no channel is tuned, there is
nothing to add to, and none is reported to add.

∛V is about normal. It is measured in standard deviations over the shifts of its channel; each shift is measured so by
the others that are not its neighbors, and the p-value of a channel is its place among all channels at all shifts.
Benjamini and Hochberg's rule then says which channels are reported, so that at most Q of them are expected to be
false; none is, where the strongest of all channels is not beyond the strongest of all at a share Q of the shifts.
``neurofs reproduce significance`` counts false ones in sessions of eighteen kinds.

No lag gets a p-value of its own, since neighboring lags of a slow target cannot be told apart. Instead there is a
profile over lags for each channel, R² of the counts at this lag regressed on T, and an interval for its peak.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neurofs.comparison.shifts import Shifts, plan_shifts, split_stretches
from neurofs.comparison.slow_time import N_SLOW, course_of_trials, orthonormal, remove, slow_time, sum_lags
from neurofs.features.samples import Samples

Q = 0.10  # expected share of false channels among those reported
N_SHIFTS = 300  # for tuned channels
N_SHIFTS_ADDS, FEWEST_SHIFTS = 60, 20  # for channels that add something, up to 100 channels and with very many
MOST_WINDOWS = 10  # sums of neighboring lags of a channel
MOST_WINDOWS_ADDS = 4
MOST_FEATURES = 1200  # of all channels together, for *adds*
ROWS_PER_FEATURE = 4  # at least
TRIALS_PER_COSINE = 4
N_TREND = 3  # cosines over the session
RIDGE = 1e-6  # added to the Gram matrix of windows of length 1
REDUNDANT = 1e-3  # share of a window's variance that the other channels leave, below which it is nothing
N_BOOTSTRAP, N_BLOCKS = 200, 40
ENDS = (0.05, 0.95)  # of the interval of the peak
AT_ONCE = 10_000_000  # numbers in memory


@dataclass(frozen=True, eq=False)
class Answer:
    """What one question found.

    Attributes
    ----------
    strength : array (channels,)
        V.
    p, q : arrays (channels,)
        p-value, and the smallest false discovery rate at which the channel is reported.
    shifts : Shifts
    """

    strength: np.ndarray
    p: np.ndarray
    q: np.ndarray
    shifts: Shifts

    @property
    def found(self) -> np.ndarray:
        """Which channels are reported."""
        return self.q <= Q


@dataclass(frozen=True, eq=False)
class Profiles:
    """R² of the counts at each lag, and where it is largest.

    Attributes
    ----------
    r2 : array (channels, lags)
        Oldest lag first, as in the samples.
    peak, low, high : arrays (channels,)
        Lag with the largest R² and the ends of its 90 % interval, as places among the lags.
    """

    r2: np.ndarray
    peak: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True, eq=False)
class Significance:
    """Both answers and the profiles. `adds` is None if there are too few samples for so many channels.

    `cutoff` is the shortest period of slow time, in rows; `n_windows` and `n_windows_adds` say into how many sums the
    lags of a channel were put for the two questions.
    """

    tuned: Answer
    adds: Answer | None
    profiles: Profiles
    cutoff: float
    n_windows: int
    n_windows_adds: int


def find_channels(
    samples: Samples, targets: np.ndarray, stretches: np.ndarray, by_trial: bool = False, seed: int = 0
) -> Significance:
    """Ask both questions about all channels.

    Parameters
    ----------
    samples : Samples
    targets : array (rows, columns)
        Outputs, with their norm if that is wanted (`add_norm`), or a column for each class.
    stretches : array (rows,)
        Rows of one stretch, a trial or a run without gaps, follow each other in time.
    by_trial : bool
        Whether stretches are trials, which are then exchanged as wholes.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> counts = rng.poisson(1.0, (1000, 6)).astype(np.float32)
    >>> target = counts[:, :2] @ np.array([[1.0, 0], [0, 1]]) + rng.normal(size=(1000, 2))
    >>> samples = Samples.from_counts(counts, n_lags=3)
    >>> found = find_channels(samples, target[2:], np.zeros(998, int))
    >>> found.tuned.found, found.profiles.peak[:2]
    (array([ True,  True, False, False, False, False]), array([2, 2]))
    """
    given, n_slow = _list_given(stretches, by_trial)
    targets = _standardize(targets)
    left, shifts = remove(given, targets), plan_shifts(stretches, by_trial, targets, N_SHIFTS, seed)
    shifted = left if by_trial else remove(_find_trend(shifts), targets)
    tuned = ask_tuned(samples, shifted, given, shifts)
    adds = ask_adds(samples, left, given, plan_shifts(stretches, by_trial, targets, _count_shifts(samples), seed))
    if adds is not None:  # where no channel is tuned there is nothing to add to
        adds = replace(adds, q=np.maximum(adds.q, tuned.q.min()))
    return Significance(
        tuned,
        adds,
        find_profiles(samples, left, given, _make_blocks(stretches, by_trial), seed),
        2 * len(stretches) / n_slow,
        min(MOST_WINDOWS, samples.n_lags),
        count_windows(samples),
    )


def _count_shifts(samples: Samples) -> int:
    """Return how many shifts are made for *adds*; all channels are compared with those of all, so many need few."""
    return max(FEWEST_SHIFTS, min(N_SHIFTS_ADDS, 100 * N_SHIFTS_ADDS // samples.n_channels))


def add_norm(values: np.ndarray) -> np.ndarray:
    """Return outputs and, if there are several, their norm, for channels that follow speed in any direction."""
    if values.shape[1] < 2:
        return values
    return np.column_stack([values, np.linalg.norm(values, axis=1)])


def _list_given(stretches: np.ndarray, by_trial: bool) -> tuple[np.ndarray, int]:
    """Return an orthonormal basis of what is given, a constant first, and the number of cosines over the session."""
    m, n_slow = len(stretches), N_SLOW
    columns = []
    if by_trial:
        n_slow = max(1, min(N_SLOW, len(split_stretches(stretches)[0]) // TRIALS_PER_COSINE))
        columns.append(course_of_trials(stretches))
    basis = orthonormal(np.hstack([slow_time(m, n_slow), *columns]))
    return np.column_stack([np.full(m, m**-0.5), basis]), n_slow


def _standardize(values: np.ndarray) -> np.ndarray:
    deviation = values.std(axis=0)
    return np.asarray((values - values.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0))


# ------------------------------------------------------------------------------------------------- p-values


def find_p(strength: np.ndarray, n_near: int) -> tuple[np.ndarray, float]:
    """Return the p-value of each channel, and of any, from V (channels, 1 + shifts), the first without a shift.

    The p-value of any is the place of the strongest channel among the strongest at each shift. A channel whose V never
    varies, such as one without spikes, has p = 1 and is compared with no other.
    """
    roots = np.cbrt(strength)
    real, null = roots[:, 0], roots[:, 1:]
    varied = null.std(axis=1) > 1e-9
    p = np.ones(len(roots))
    if not varied.any():
        return p, 1.0
    z = (real - null.mean(axis=1))[varied] / null.std(axis=1)[varied]
    others = measure_by_others(null[varied], n_near)
    strongest, everything = others.max(axis=0), np.sort(others.ravel())
    p[varied] = (1 + len(everything) - np.searchsorted(everything, z)) / (1 + len(everything))
    return p, float((1 + np.count_nonzero(strongest >= z.max())) / (1 + len(strongest)))


def measure_by_others(values: np.ndarray, n_near: int) -> np.ndarray:
    """Return each value in standard deviations of its row, without itself and `n_near` neighbors on either side.

    The first and the last value are neighbors.

    >>> values = np.array([[1.0, 2.0, 4.0, 9.0, 5.0]])
    >>> others = values[0, [2, 3]]
    >>> expected = (values[0, 0] - others.mean()) / others.std()
    >>> bool(np.isclose(measure_by_others(values, 1)[0, 0], expected))
    True
    """
    n = values.shape[1]
    width = 2 * max(0, min(n_near, (n - 3) // 2)) + 1
    around = np.arange(-(width // 2), width // 2 + 1)
    near = (np.arange(n)[:, None] + around) % n
    values = values - values.mean(axis=1, keepdims=True)
    total, squares = values.sum(axis=1, keepdims=True), (values**2).sum(axis=1, keepdims=True)
    n_others = max(n - width, 1)
    mean = (total - values[:, near].sum(axis=2)) / n_others
    variance = (squares - (values**2)[:, near].sum(axis=2)) / n_others - mean**2
    return np.asarray((values - mean) / np.sqrt(np.maximum(variance, 1e-18)))


def adjust(p: np.ndarray) -> np.ndarray:
    """Return Benjamini and Hochberg's adjusted p-values: the smallest rate at which each is reported.

    >>> adjust(np.array([0.01, 0.5, 0.03, 0.04])).round(4)
    array([0.04  , 0.5   , 0.0533, 0.0533])
    """
    order = np.argsort(p)
    steps = p[order] * len(p) / np.arange(1, len(p) + 1)
    q = np.empty(len(p))
    q[order] = np.minimum.accumulate(steps[::-1])[::-1]
    return q


# ---------------------------------------------------------------------------------------------------- tuned


def ask_tuned(samples: Samples, targets: np.ndarray, given: np.ndarray, shifts: Shifts) -> Answer:
    """Compare each channel with the target, given slow time, at no shift and at all shifts of the target."""
    strength = np.zeros((samples.n_channels, 1 + len(shifts)))
    for channels, windows in iterate_windows(samples, given, MOST_WINDOWS):
        basis = _lay_side_by_side(whiten(windows))
        for part, shifted in _shift_targets(targets, given, shifts):
            products = (basis.T @ shifted).reshape(len(channels), -1, len(part), targets.shape[1])
            strength[np.ix_(channels, part)] = (products**2).sum(axis=(1, 3))
    return _answer(strength, shifts)


def _answer(strength: np.ndarray, shifts: Shifts) -> Answer:
    p, p_any = find_p(strength, shifts.n_near)
    return Answer(strength[:, 0], p, np.maximum(adjust(p), p_any), shifts)


def iterate_windows(samples: Samples, given: np.ndarray, most: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield some channels at a time, and what is left of at most so many sums of their lags, (channels, rows, sums)."""
    at_once = max(1, AT_ONCE // (len(samples) * samples.n_lags))
    for first in range(0, samples.n_channels, at_once):
        channels = np.arange(first, min(first + at_once, samples.n_channels))
        sums = sum_lags(samples.unfold(channels), most)
        left = remove(given, sums.reshape(len(samples), -1)).reshape(sums.shape)
        yield channels, left.transpose(2, 0, 1)


def _shift_targets(targets: np.ndarray, given: np.ndarray, shifts: Shifts) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield numbers of shifts, 0 for none, and orthonormal targets at these, (rows, shifts · columns)."""
    m, n_columns = targets.shape
    at_once = max(1, AT_ONCE // (m * n_columns))
    for first in range(0, 1 + len(shifts), at_once):
        part = np.arange(first, min(first + at_once, 1 + len(shifts)))
        moved = np.hstack([targets if k == 0 else targets[shifts.rows(k - 1)] for k in part])
        left = remove(given, moved).reshape(m, len(part), n_columns)
        yield part, _lay_side_by_side(whiten(left.transpose(1, 0, 2)))


def _lay_side_by_side(parts: np.ndarray) -> np.ndarray:
    """Turn (parts, rows, columns) into (rows, parts · columns)."""
    return np.asarray(parts.transpose(1, 0, 2).reshape(parts.shape[1], -1))


def whiten(columns: np.ndarray) -> np.ndarray:
    """Return columns (…, rows, n) turned into orthonormal ones of the same span; those beyond its rank are 0."""
    squares = np.swapaxes(columns, -1, -2) @ columns
    largest = np.trace(squares, axis1=-2, axis2=-1)[..., None]
    return np.asarray(columns @ _inverse_root(squares, np.maximum(1e-8 * largest, 1e-12)))


def _inverse_root(squares: np.ndarray, least: float | np.ndarray) -> np.ndarray:
    """Return vectors / √λ of symmetric matrices (…, n, n), 0 for eigenvalues λ that are not above the least."""
    values, vectors = np.linalg.eigh(squares)
    kept = values > least
    return np.asarray(vectors * np.where(kept, 1 / np.sqrt(np.where(kept, values, 1.0)), 0.0)[..., None, :])


# ----------------------------------------------------------------------------------------------------- adds


def ask_adds(samples: Samples, targets: np.ndarray, given: np.ndarray, shifts: Shifts) -> Answer | None:
    """Compare each channel with the target, given slow time and all others, at no shift and at shifts of the channel.

    None if there are too few rows for so many channels.
    """
    n_windows = count_windows(samples)
    if not n_windows:
        return None
    parts = [windows for _, windows in iterate_windows(samples, _find_trend(shifts), n_windows)]
    others = _Others(np.concatenate(parts), targets, given)
    rows = np.stack([np.arange(len(samples)), *(shifts.rows(k) for k in range(len(shifts)))])
    at_once = max(1, AT_ONCE // (rows.size * n_windows))
    groups = np.split(np.arange(samples.n_channels), range(at_once, samples.n_channels, at_once))
    strength = np.concatenate([others.compare(group, rows) for group in groups])
    return _answer(strength, shifts)


def _find_trend(shifts: Shifts) -> np.ndarray:
    """Return an orthonormal basis of what is taken off before anything is shifted; trials keep all but a mean."""
    m = len(shifts.stretches)
    trend = orthonormal(slow_time(m, N_TREND)) if shifts.kind == "rows" else np.empty((m, 0))
    return np.column_stack([np.full(m, m**-0.5), trend])


def count_windows(samples: Samples) -> int:
    """Return how many sums of lags of each channel are compared for *adds*; 0 if there are too few rows.

    >>> [count_windows(Samples.from_counts(np.zeros((n, 50)), n_lags=10)) for n in (150, 300, 700, 5000)]
    [0, 1, 3, 4]
    """
    n, most = samples.n_channels, max(1, MOST_FEATURES // samples.n_channels)
    return min(MOST_WINDOWS_ADDS, samples.n_lags, most, len(samples) // ROWS_PER_FEATURE // n)


class _Others:
    """All channels, and projections off all but one.

    With P the inverse of the Gram matrix of E, all windows without what is given and of length 1, the windows of
    channel c without what all others tell of them are E P_c P_cc⁻¹, and their Gram matrix is P_cc⁻¹. A projection off
    all others is one off what is given and all channels (`basis`), to which these windows, made orthonormal (`own`),
    are added again.
    """

    def __init__(self, windows: np.ndarray, targets: np.ndarray, given: np.ndarray) -> None:
        self.n_channels, _, self.n_windows = windows.shape
        columns = _lay_side_by_side(windows)
        rest = remove(given, columns)
        length = np.sqrt((rest**2).sum(axis=0))
        scale = 1 / np.where(length > 1e-9, length, np.inf)
        rest *= scale
        values, vectors = np.linalg.eigh(rest.T @ rest)
        roots = vectors / np.sqrt(np.maximum(values, 0.0) + RIDGE)
        self.inverse = roots @ roots.T
        self.columns, self.rest = (columns * scale).astype(np.float32), rest.astype(np.float32)
        self.basis = np.hstack([given, rest @ roots]).astype(np.float32)
        self.targets, self.left = targets, remove(self.basis.astype(np.float64), targets)

    def compare(self, channels: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return V of some channels, each with its rows taken from elsewhere, (channels, 1 + shifts)."""
        own = [self._find_own(channel) for channel in channels]
        targets = [whiten(self.left + o @ (o.T @ self.targets)).astype(np.float32) for o in own]
        n_parts = min(len(rows), 1 + rows.size * self.n_windows // AT_ONCE)
        parts = [self._compare_some(channels, part, own, targets) for part in np.array_split(rows, n_parts)]
        return np.concatenate(parts, axis=1)

    def _compare_some(self, channels: np.ndarray, rows: np.ndarray, own: list[Any], targets: list[Any]) -> np.ndarray:
        """Return V at some shifts; one product with the basis, which is large, serves all of these channels."""
        moved = [self.columns[:, self._places(channel)][rows] for channel in channels]  # each (shifts, rows, windows)
        flat = [_lay_side_by_side(part) for part in moved]
        whole = np.split(self.basis.T @ np.hstack(flat), len(channels), axis=1)
        return np.stack([self._measure(*of_one) for of_one in zip(moved, flat, whole, own, targets, strict=True)])

    def _measure(self, moved: Any, flat: Any, whole: Any, own: Any, targets: Any) -> np.ndarray:
        """Return V of one channel at some shifts, given the products of its windows with the basis."""
        told = (part.reshape(-1, len(moved), self.n_windows) for part in (whole, own.T @ flat))
        taken, again = (np.einsum("fkl,fkj->klj", part, part, dtype=np.float64) for part in told)
        squares = np.swapaxes(moved, 1, 2) @ moved - taken + again
        products = (targets.T @ flat).reshape(-1, len(moved), self.n_windows).transpose(1, 0, 2)
        return np.asarray(((products @ _inverse_root(squares, REDUNDANT)) ** 2).sum(axis=(1, 2)))

    def _places(self, channel: int) -> slice:
        return slice(channel * self.n_windows, (channel + 1) * self.n_windows)

    def _find_own(self, channel: int) -> np.ndarray:
        """Return orthonormal windows of a channel without what all others tell of them."""
        places = self._places(channel)
        values, vectors = np.linalg.eigh(np.linalg.inv(self.inverse[places, places]))
        kept = np.where(values > REDUNDANT, np.sqrt(np.maximum(values, 0.0)), 0.0)
        return np.asarray(self.rest @ (self.inverse[:, places] @ (vectors * kept)).astype(np.float32))


# ------------------------------------------------------------------------------------------------- profiles


def find_profiles(samples: Samples, targets: np.ndarray, given: np.ndarray, blocks: np.ndarray, seed: int) -> Profiles:
    """Regress the counts at each lag on the target, both without slow time; peaks also in blocks drawn anew.

    `blocks` are the first rows of parts of the session, which are drawn with replacement.
    """
    n_blocks = len(blocks)
    draws = np.random.default_rng(seed).multinomial(n_blocks, np.full(n_blocks, 1 / n_blocks), N_BOOTSTRAP)
    weights = np.vstack([np.ones(n_blocks), draws])
    r2 = np.zeros((samples.n_channels, samples.n_lags))
    ends = np.zeros((samples.n_channels, 2))
    for channels, counts in iterate_windows(samples, given, samples.n_lags):
        profiles = _regress(counts, targets, blocks, weights)  # (draws, channels, lags)
        r2[channels] = profiles[0]
        ends[channels] = np.quantile(profiles[1:].argmax(axis=2), ENDS, axis=0, method="nearest").T
    return Profiles(r2, r2.argmax(axis=1), *ends.astype(int).T)


def _regress(counts: np.ndarray, targets: np.ndarray, blocks: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return R² of counts (channels, rows, lags) for every weighting of the blocks, (weightings, channels, lags)."""
    n_channels, _, n_lags = counts.shape
    flat = _lay_side_by_side(counts)
    parts = list(zip(np.split(targets, blocks[1:]), np.split(flat, blocks[1:]), strict=True))
    products = np.tensordot(weights, np.stack([t.T @ c for t, c in parts]), 1)
    squares = np.tensordot(weights, np.stack([t.T @ t for t, _ in parts]), 1)
    sizes = weights @ np.stack([(c**2).sum(axis=0) for _, c in parts])
    least = 1e-8 * np.trace(squares, axis1=1, axis2=2)[:, None]
    told = np.swapaxes(_inverse_root(squares, least), 1, 2) @ products
    r2 = (told**2).sum(axis=1) / np.where(sizes > 0, sizes, np.inf)
    return np.asarray(r2.reshape(len(weights), n_channels, n_lags))


def _make_blocks(stretches: np.ndarray, by_trial: bool) -> np.ndarray:
    """Return the first rows of about N_BLOCKS parts of the session: whole trials, or pieces of equal length.

    >>> _make_blocks(np.repeat(np.arange(3), 10), by_trial=True)
    array([ 0, 10, 20])
    """
    starts = split_stretches(stretches)[0] if by_trial else np.arange(len(stretches))
    n_blocks = min(N_BLOCKS, len(starts))
    return np.asarray(starts[np.arange(n_blocks) * len(starts) // n_blocks])
