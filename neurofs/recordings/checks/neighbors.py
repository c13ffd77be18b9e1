"""Neighboring bins that are no bins of their own: each repeated, or windows that overlap."""

from collections.abc import Iterator

import numpy as np

from neurofs.recordings.recording import Recording
from neurofs.recordings.remarks import Remark

FEWEST, MOST_BINS = 200, 20_000
"""Bins from which on something is concluded, and that are looked at."""

ENOUGH = 200
"""Spikes of a channel that tell how its counts vary, and changes of rows that tell how long each is held."""

LEAST_OVERLAP, UNLIKE = 0.65, 1.6
"""How much neighboring counts of windows that overlap differ at most (1: as Poisson counts do), and how unlike that may
be to the share of spikes that they have in common."""


def check_neighbors(r: Recording) -> Iterator[Remark]:
    """Yield what says that neighboring bins hold the same spikes."""
    if r.counts is None or len(r.counts) < FEWEST:
        return
    values = r.counts[:MOST_BINS]
    times = find_hold(values)
    if times:
        what, remedy = ("sample", "") if r.is_signal else ("bin", f", with --counts-bin-width {times * r.bin_width:g}")
        text = f"each {what} is stored {times:g} times in a row: lags and folds share it, and scores are too good"
        yield Remark(f"{text}. Keep one of each{remedy}", serious=True)
    elif not r.is_signal:
        width = find_overlap(values)
        if width:
            text = f"neighboring bins share spikes, as windows of some {width} bins that overlap do"
            why = "lags and folds then share them, too, and scores are too good. Count in bins that do not overlap"
            yield Remark(f"{text}: {why}", serious=True)


def find_hold(rows: np.ndarray) -> float:
    """Return how many times each row (sample, column) stands in a row, if it is the same for all, or else 0.

    >>> slow = np.random.default_rng(0).normal(size=(300, 2))
    >>> find_hold(np.repeat(slow, 4, axis=0)), find_hold(slow), find_hold(slow[np.arange(0, 300, 0.3).astype(int)])
    (4.0, 0.0, 3.33)
    """
    same = (rows[1:] == rows[:-1]) | ((rows[1:] != rows[1:]) & (rows[:-1] != rows[:-1]))
    runs = np.diff(np.flatnonzero(~same.all(axis=1)))
    if len(runs) < FEWEST / 4:
        return 0.0
    usual = int(np.median(runs))
    for least in (usual, usual - 1):
        if least < 2:
            break
        if (runs % least == 0).mean() > 0.95:
            return float(least)
        if np.isin(runs, [least, least + 1]).mean() > 0.95:
            return round(float(runs.mean()), 2)
    return 0.0


def find_overlap(counts: np.ndarray) -> int:
    """Return the width, in bins, of the windows whose spikes were counted at every bin; 0 if they do not overlap.

    Counts of windows of k bins differ from the next ones as Poisson counts of 1/k of their spikes do, and have that
    share more in common with them than with those after the next.

    >>> spikes = np.random.default_rng(0).poisson(0.5, (2000, 3))
    >>> find_overlap(spikes), find_overlap(spikes[:-3] + spikes[1:-2] + spikes[2:-1] + spikes[3:])
    (0, 4)
    """
    active = counts.sum(axis=0) >= ENOUGH
    if active.sum() < 2 or (counts.dtype.kind == "f" and (counts != np.rint(counts)).any()):
        return 0
    known = counts[:, active].astype(np.float64)
    mean = known.mean(axis=0)
    centered = known - mean
    one, two = (float(np.median((centered[k:] * centered[:-k]).mean(axis=0) / mean)) for k in (1, 2))
    differ = float(np.median((np.diff(known, axis=0) ** 2).mean(axis=0) / (2 * mean)))
    shared = one - two
    alike = 0 < differ < LEAST_OVERLAP and differ / UNLIKE < shared < differ * UNLIKE
    return max(2, round(1 / differ)) if alike else 0
