"""What is in a session twice: channels that copy what is to be decoded, and stretches that copy others."""

from collections.abc import Iterator, Sequence

import numpy as np

from neurofs.ground.errors import quoted
from neurofs.recordings.recording import Recording, Series
from neurofs.recordings.remarks import Remark

TOO_ALIKE = 0.98
"""Correlation with a series, in bins of a tenth of a second, that no count of spikes reaches."""

WIDTH, MOST_BINS = 0.1, 20_000

STRETCH, BUSY, MANY = 5, 20, 0.01
"""Bins of a stretch, how many of its counts are not 0 at least, and the share of bins that copies may have: two
stretches of as many counts and targets are never the same by chance."""


def check_copies(r: Recording) -> Iterator[Remark]:
    """Yield the channels that are copies of a behavior series."""
    if r.counts is not None:
        rows = np.arange(min(len(r.counts), MOST_BINS))
        counts, times = r.counts[rows], r.start + (rows + 0.5) * r.bin_width
    else:
        start, stop = r.span
        edges = np.arange(start, min(stop, start + MOST_BINS * WIDTH), WIDTH)
        if len(edges) < 3:
            return
        counts = np.array([np.histogram(s, edges)[0] for s in r.spikes or ()]).T
        times = edges[:-1] + WIDTH / 2
    for series in r.behavior.values():
        yield from find_copies(counts, _sample(series, times), r.channels["name"].tolist(), series)


def _sample(series: Series, times: np.ndarray) -> np.ndarray:
    """Return a series at given times, NaN where it has no sample near."""
    if len(series.time) < 2:
        return np.full((len(times), len(series.columns)), np.nan)
    after = np.clip(np.searchsorted(series.time, times), 1, len(series.time) - 1)
    nearest = after - (times - series.time[after - 1] < series.time[after] - times)
    far = np.abs(series.time[nearest] - times) > max(series.interval, WIDTH)
    return np.where(far[:, None], np.nan, series.values[nearest])


def find_copies(
    counts: np.ndarray, values: np.ndarray, names: Sequence[str], series: Series | None = None
) -> Iterator[Remark]:
    """Yield channels whose counts go with a column of values more closely than spikes ever do.

    >>> target = np.arange(100.0) % 17
    >>> [remark.serious for remark in find_copies(target[:, None] + 3, target[:, None], ["7"])]
    [True]
    """
    known = np.isfinite(values).all(axis=1)
    if known.sum() < 50:
        return
    a, b = _standardize(counts[known]), _standardize(values[known])
    alike = np.abs(a.T @ b) / known.sum()
    for channel, column in np.argwhere(alike > TOO_ALIKE)[:5]:
        what = quoted(series.name) if series else "the target"
        text = f"channel {quoted(names[channel])} follows {what} with a correlation of {alike[channel, column]:.3f}"
        yield Remark(f"{text}: it is a copy of behavior, not of what neurons do. Leave it out", serious=True)


def find_repeats(counts: np.ndarray, target: np.ndarray) -> Iterator[Remark]:
    """Yield a remark if stretches of a session are in it twice, the same counts (bins, channels) and the same target.

    Whatever is trained on one copy knows the other, be it noise.

    >>> counts, target = (np.random.default_rng(0).poisson(1.0, (50, n)) for n in (9, 1))
    >>> list(find_repeats(counts, target)), len(list(find_repeats(np.tile(counts, (2, 1)), np.tile(target, (2, 1)))))
    ([], 1)
    """
    n_bins, known = len(counts), np.isfinite(target).all(axis=1)
    bins = [hash(a.tobytes() + b.tobytes()) for a, b in zip(counts, target, strict=True)]
    busy = np.convolve(np.count_nonzero(counts, axis=1), np.ones(STRETCH), "valid") >= BUSY
    whole = np.convolve(known, np.ones(STRETCH), "valid") == STRETCH
    seen: dict[tuple[int, ...], int] = {}
    copied = np.zeros(n_bins, bool)
    for start in np.flatnonzero(busy & whole).tolist():
        first = seen.setdefault(tuple(bins[start : start + STRETCH]), start)
        if start - first >= STRETCH:
            copied[start : start + STRETCH] = True
    if copied.sum() > MANY * max(1, known.sum()):
        yield Remark(
            f"{copied.sum():,} bins are copies of others, with the same counts and the same target at another time: "
            "what is tested was trained on, and scores mean nothing. Leave the copies out",
            serious=True,
        )


def _standardize(values: np.ndarray) -> np.ndarray:
    centered = values - values.mean(axis=0, dtype=np.float64)
    spread = np.sqrt((centered**2).mean(axis=0))
    return centered / np.where(spread > 0, spread, 1.0)
