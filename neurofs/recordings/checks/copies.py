"""Channels that are not neural: copies of what is to be decoded."""

from collections.abc import Iterator, Sequence

import numpy as np

from neurofs.ground.errors import quoted
from neurofs.recordings.recording import Recording, Series
from neurofs.recordings.remarks import Remark

TOO_ALIKE = 0.98
"""Correlation with a series, in bins of a tenth of a second, that no count of spikes reaches."""

WIDTH, MOST_BINS = 0.1, 20_000


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
        yield Remark(f"{text}: it is a copy of behavior, not a count of spikes. Leave it out", serious=True)


def _standardize(values: np.ndarray) -> np.ndarray:
    centered = values - values.mean(axis=0, dtype=np.float64)
    spread = np.sqrt((centered**2).mean(axis=0))
    return centered / np.where(spread > 0, spread, 1.0)
