"""Channels that cannot be what they seem: impossible rates, the same spikes twice, silence of all at once."""

from collections.abc import Iterator

import numpy as np
import scipy.sparse

from neurofs.recordings.checks.spikes import FASTEST
from neurofs.recordings.recording import Recording
from neurofs.recordings.remarks import Remark, number
from neurofs.recordings.words import listed

PEAK = 1000.0
"""Spikes per second above which no neuron fires within one bin."""

RARELY = 0.001
"""Share of bins up to which impossible counts are artifacts."""

COINCIDENT = 0.5
"""Share of the spikes of a channel that come within the same millisecond as those of another one."""

MANY_CHANNELS, ENOUGH_MOMENTS, SERIOUS_SHARE = 8, 5, 0.05
"""Channels of which half do not fire in one millisecond by chance, how often they may, with which share of spikes."""

ENOUGH_CHANNELS = 6
"""Active channels from which on they are not all silent for long, as a few neurons may well be."""

MERGED = ("threshold", "mua", "multi", "multiunit", "multi-unit", "unsorted", "hash")
"""How files call channels of several neurons."""

MOST_SPIKES = 2_000_000
"""Spikes that are compared between channels; of longer recordings only the beginning."""


def check_channels(r: Recording) -> Iterator[Remark]:
    """Yield what says that channels are not different neurons that were observed throughout."""
    if r.duration < 60:
        yield Remark(f"only {r.duration:.1f} s observed: expect wide intervals")
    same, what = find_duplicates(r), "signal" if r.is_signal else "spikes"
    for names in same[:5]:
        yield Remark(f"channels {listed(names, 8)} have the same {what}: leave all but one out (--exclude-channels)")
    if r.is_signal:
        return
    yield from _check_rates(r)
    if r.spikes is not None:
        yield from _check_coincidences(r, {name for names in same for name in names} | _find_merged(r))
    yield from _check_silence(r)


def _check_rates(r: Recording) -> Iterator[Remark]:
    names, rates = r.channels["name"].to_numpy(), r.rates
    fast = rates > FASTEST
    if fast.any():
        which = number(int(fast.sum()), "channel fires", "channels fire")
        which = f"{which} above {FASTEST:g} Hz on average ({listed(names[fast], 4)})"
        yield Remark(
            f"{which}, up to {rates.max():,.0f}: no neuron does. Are these rates (--counts-unit Hz), is the bin width "
            "or the unit of times wrong, or are many neurons in one channel?",
            serious=True,
        )
    elif r.counts is not None and r.bin_width >= 0.01 and r.counts.size:
        beyond = r.counts > PEAK * r.bin_width
        if beyond.any():
            often = bool((beyond.mean(axis=0) > RARELY).any())
            why = "Are these rates (--counts-unit Hz)?" if often else "Artifacts?"
            text = f"up to {r.counts.max():g} spikes in a bin of {r.bin_width:g} s: no neuron does"
            yield Remark(f"{text}. {why}", serious=often)


def find_duplicates(r: Recording) -> list[list[str]]:
    """Return the groups of channels whose spikes are exactly the same."""
    groups: dict[bytes, list[str]] = {}
    columns = r.spikes if r.spikes is not None else [np.ascontiguousarray(column) for column in r.counts.T]
    for name, values in zip(r.channels["name"], columns, strict=False):
        if values.any():
            groups.setdefault(values.tobytes(), []).append(name)
    return [names for names in groups.values() if len(names) > 1]


def _check_coincidences(r: Recording, known: set[str]) -> Iterator[Remark]:
    """Find pairs of channels that share most of their spikes, though not all."""
    stop = _find_stop(r)
    spikes = [s[: np.searchsorted(s, stop)] for s in r.spikes or ()]
    sizes = np.array([len(s) for s in spikes])
    if not sizes.sum():
        return
    rows = np.repeat(np.arange(len(spikes)), sizes)
    first = min(s[0] for s in spikes if len(s))
    bins = np.floor((np.concatenate(spikes) - first) * 1000).astype(np.int64)
    columns = np.unique(bins, return_inverse=True)[1]
    shape = (len(spikes), int(columns.max()) + 1)
    seen = scipy.sparse.csr_array((np.ones(len(rows), dtype=np.int32), (rows, columns)), shape=shape)
    seen.data[:] = 1
    yield from _check_moments(np.asarray(seen.sum(axis=0)).ravel(), int(np.count_nonzero(sizes)))
    shared = (seen @ seen.T).toarray()
    share = np.triu(shared / np.maximum(np.minimum.outer(sizes, sizes), 1), 1)
    share[sizes < 50] = share[:, sizes < 50] = 0
    names = r.channels["name"].to_numpy()
    pairs = [(names[i], names[j]) for i, j in np.argwhere(share > COINCIDENT) if not {names[i], names[j]} & known]
    if pairs:
        which = number(len(pairs), "pair of channels fires", "pairs of channels fire")
        such = "such as " * (len(pairs) > 1)
        text = f"{which} together in the same millisecond ({such}{listed(pairs[0])})"
        yield Remark(f"{text} more often than not: one neuron in two channels, merged units, or cross-talk")


def _check_moments(together: np.ndarray, n_active: int) -> Iterator[Remark]:
    """Find milliseconds in which most channels have a spike; `together` has the number of channels in each."""
    common = together > n_active / 2
    if n_active >= MANY_CHANNELS and common.sum() >= ENOUGH_MOMENTS:
        share = float(together[common].sum() / together.sum())
        text = f"at {common.sum():,} moments more than half of the channels fire in the same millisecond"
        yield Remark(f"{text} ({share:.1%} of spikes): artifacts, not neurons?", serious=share > SERIOUS_SHARE)


def _find_merged(r: Recording) -> set[str]:
    """Return the channels which the file itself says hold several neurons."""
    labels = r.channels.drop(columns="name").map(lambda value: str(value).lower() in MERGED)
    return set(r.channels["name"][labels.any(axis=1)]) if labels.size else set()


def _find_stop(r: Recording) -> float:
    """Return the time up to which there are about as many spikes as are compared."""
    start, stop = r.span
    total = max(1, int(r.spike_counts.sum()))
    return stop if total <= MOST_SPIKES else start + (stop - start) * MOST_SPIKES / total


def _check_silence(r: Recording) -> Iterator[Remark]:
    """Find stretches, observed as it is said, in which no channel has a spike though dozens are expected."""
    rate = float(r.rates.sum())
    longest = max(5.0, 50 / rate) if rate else np.inf
    gaps = [(a, b) for a, b in _find_silence(r, longest) if b - a > longest]
    if gaps:
        start, stop = max(gaps, key=lambda gap: gap[1] - gap[0])
        total = sum(b - a for a, b in gaps)
        yield Remark(
            f"no channel has a spike for {total:.1f} s, such as from {start:.1f} to {stop:.1f} s: not recorded, or "
            "filled with zeros? Leave it out with --from and --to, or mark it as not observed",
            serious=bool(total > 0.05 * r.duration and (r.rates > 0).sum() >= ENOUGH_CHANNELS),
        )


def _find_silence(r: Recording, longest: float) -> Iterator[tuple[float, float]]:
    """Yield the stretches between spikes of any channel, within each observed interval."""
    if r.counts is not None:
        active = r.start + r.bin_width * np.flatnonzero(r.counts.any(axis=1))
        width = r.bin_width
    else:
        active, width = _find_moments(r, longest / 10), longest / 10
    for start, stop in r.observed:
        inside = active[slice(*np.searchsorted(active, [start - width, stop]))]
        edges = np.concatenate([[start - width], inside, [stop]])
        for i in np.flatnonzero(np.diff(edges) > longest + width):
            yield float(edges[i] + width), float(edges[i + 1])


def _find_moments(r: Recording, step: float) -> np.ndarray:
    """Return the beginnings of short bins, in order, in which some channel has a spike."""
    start = r.span[0]
    places = [np.unique(np.floor((s - start) / step)) for s in r.spikes or () if len(s)]
    return start + step * np.unique(np.concatenate(places)) if places else np.empty(0)
