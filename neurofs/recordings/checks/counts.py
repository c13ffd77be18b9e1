"""Stored counts that are something else: clipped, cut off, totals, labels, sums, lags that were stacked."""

from collections.abc import Iterator

import numpy as np

from neurofs.ground.errors import quoted
from neurofs.recordings.recording import Recording
from neurofs.recordings.remarks import Remark, number
from neurofs.recordings.words import listed

MOST = (127, 255, 32767, 65535)
"""The largest numbers of 8 and 16 bits."""

FEW = 20
"""Bins, or expected events, below which nothing is concluded."""

CLIPPED = 0.01
"""Share of samples of a signal at its largest value above which it was cut off."""

MOST_BINS = 20_000
"""Bins in which channels are compared with each other."""

RARELY_CHANGES = 0.1
"""How often a label changes from bin to bin, at most, for how often the same numbers would in any order."""

ENOUGH_NAMES = 5
"""Channels whose counts in the first bin are not 1, 2, 3 … by chance."""

NARROW = 0.005
"""Seconds of bins in which the refractory period alone keeps a neuron from firing twice."""


def check_counts(r: Recording) -> Iterator[Remark]:
    """Yield what says that stored counts are not counts of spikes in bins."""
    if r.counts is None or len(r.counts) < FEW:
        return
    names = r.channels["name"].to_numpy()
    if r.is_signal:
        yield from _check_signal(r.counts, names)
        return
    yield from _check_fractions(r.counts)
    yield from _check_most(r.counts)
    yield from _check_clipped(r.counts, r.bin_width)
    rising = np.array([_only_rises(column) for column in r.counts.T])
    if rising.any():
        what = "a running total or a row number is no count"
        yield Remark(f"channel {listed(names[rising], 4)}: counts only rise, bin after bin: {what}", serious=True)
    same = (r.counts == r.counts[:1]).all(axis=0) & (r.counts[0] > 0)
    if same.any():
        what = "a constant of a design matrix?"
        yield Remark(f"channel {listed(names[same], 4)}: the same count in all bins: {what}", serious=True)
    labels = ~(rising | same) & np.array([is_label(column) for column in r.counts.T])
    if labels.any():
        text = f"channel {listed(names[labels], 4)}: the same number for many bins, again and again"
        yield Remark(f"{text}: a label of trials or conditions is no count. Leave it out", serious=True)
    if r.n_channels >= ENOUGH_NAMES and (np.diff(r.counts[0].astype(np.float64)) == 1).all():
        first, last = r.counts[0, [0, -1]]
        text = f"the first bin holds {first:g}, {first + 1:g} … {last:g}, one by one over all channels"
        yield Remark(f"{text}: these are numbers of channels, not counts", serious=True)
    yield from _check_sum(r.counts, names)
    yield from _check_lags(r.counts[:, ~(rising | same)], names[~(rising | same)])


def _check_signal(signal: np.ndarray, names: np.ndarray) -> Iterator[Remark]:
    """Find what says that a continuous signal is none, or was cut off, or has its lags in the table."""
    if (signal == np.rint(signal)).all() and signal.min() >= 0 and signal.max() < FEW and signal.max() > 0:
        what = f"small whole numbers, up to {signal.max():g}: are they counts of spikes (--counts)?"
        yield Remark(f"the signal holds only {what}", serious=True)
    rising = np.array([_only_rises(column) for column in signal.T])
    if rising.any():
        text = (
            f"channel {listed(names[rising], 4)}: the signal only rises, sample after sample: a time or a row number?"
        )
        yield Remark(text, serious=True)
    same = np.ptp(signal, axis=0) == 0
    if same.any():
        yield Remark(f"{number(int(same.sum()), 'channel is', 'channels are')} constant: {listed(names[same], 4)}")
    yield from _check_clipped_signal(signal, names)
    yield from _check_lags(signal[:, ~(rising | same)], names[~(rising | same)])


def _check_clipped_signal(signal: np.ndarray, names: np.ndarray) -> Iterator[Remark]:
    """Find channels whose largest value is that of many samples, as it is where an amplifier or camera saturates."""
    most = signal.max(axis=0)
    share = ((signal == most) & (most != np.median(signal, axis=0))).mean(axis=0)
    clipped = share > CLIPPED
    if clipped.any():
        which = f"{number(int(clipped.sum()), 'channel has', 'channels have')} ({listed(names[clipped], 4)})"
        yield Remark(f"{which} the same largest value in more than {CLIPPED:.0%} of samples: cut off?")


def _check_fractions(counts: np.ndarray) -> Iterator[Remark]:
    if counts.dtype.kind == "f" and (counts != np.rint(counts)).any():
        yield Remark(
            "counts are not whole numbers: they were smoothed before they were stored. A filter that looks ahead lets "
            "lags and folds share spikes, and scores are then too good",
            serious=True,
        )


def _check_most(counts: np.ndarray) -> Iterator[Remark]:
    largest = counts.max()
    n = int((counts == largest).sum())
    if largest in MOST and n >= 5:
        yield Remark(
            f"{n} bins hold exactly {largest:g}, the most that {8 if largest < 256 else 16} bits can: larger counts "
            "were cut off, or these mark missing bins",
            serious=True,
        )


def _check_clipped(counts: np.ndarray, width: float) -> Iterator[Remark]:
    """Find counts of at most 1 where chance alone gives many bins two spikes."""
    if counts.max() > 1 or width < NARROW:
        return
    mean = counts.mean(axis=0)
    expected = float(len(counts) * (1 - np.exp(-mean) * (1 + mean)).sum())
    if expected > FEW:
        yield Remark(
            f"no bin has more than one spike, though chance alone gives {expected:,.0f} bins of {width:g} s two: "
            "counts were clipped, or the bins are narrower (milliseconds taken for seconds?)",
            serious=True,
        )


def _only_rises(column: np.ndarray) -> bool:
    rises = np.diff(column.astype(np.float64))
    return bool((rises >= 0).all() and column[-1] - column[0] >= FEW and column[-1] > 3 * np.diff(column).max())


def is_label(column: np.ndarray) -> bool:
    """Whether a channel keeps its numbers, other than 0, over many bins, as no neuron does.

    >>> is_label(np.repeat([1, 3, 2, 4, 1, 2], 50)), is_label(np.random.default_rng(0).poisson(2.0, 300))
    (True, False)
    """
    if len(column) < 10 * FEW or np.count_nonzero(column) < 2 * FEW or (column[0] == column).all():
        return False
    shares = np.unique(column, return_counts=True)[1] / len(column)
    by_chance = 1 - float((shares**2).sum())
    changes = float((column[1:] != column[:-1]).mean())
    return by_chance > 0.05 and changes < RARELY_CHANGES * by_chance


def _check_sum(counts: np.ndarray, names: np.ndarray) -> Iterator[Remark]:
    """Find a channel that is the sum of all others."""
    if counts.shape[1] < 3:
        return
    total = counts.sum(axis=1, dtype=np.float64)
    for i in np.flatnonzero(2 * counts.sum(axis=0, dtype=np.float64) == total.sum()):
        if (2 * counts[:, i].astype(np.float64) == total).all() and counts[:, i].any():
            text = f"channel {quoted(names[i])} is the sum of all others: leave it out with --exclude-channels"
            yield Remark(text, serious=True)


def _check_lags(counts: np.ndarray, names: np.ndarray) -> Iterator[Remark]:
    """Find channels that are earlier bins of another channel, as in a table to which lags were added."""
    counts = counts[:MOST_BINS]
    active = np.flatnonzero((counts != 0).sum(axis=0) >= FEW)
    if len(active) < 2:
        return
    later = {counts[1:, i].tobytes(): i for i in active}
    pairs = [(i, later[key]) for i in active if (key := counts[:-1, i].tobytes()) in later and later[key] != i]
    if pairs:
        past, now = pairs[0]
        yield Remark(
            f"{number(len(pairs), 'channel is', 'channels are')} another channel one bin earlier or later, such as "
            f"{quoted(names[now])} and {quoted(names[past])}: lags are in the table already. Give each channel once",
            serious=True,
        )
