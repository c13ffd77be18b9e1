"""Spike times that are something else: in another unit, on a coarse grid, detected twice, of several neurons."""

from collections.abc import Iterator, Sequence

import numpy as np

from neurofs.ground.errors import printable
from neurofs.recordings.checks.clocks import are_days
from neurofs.recordings.recording import Recording
from neurofs.recordings.remarks import Remark, number
from neurofs.recordings.words import listed

DAY = 86_400.0
FASTEST = 300.0
"""Rate in Hz above which no neuron fires on average."""

REFRACTORY = 0.001
MANY_SHORT = 0.1
"""Share of intervals below the refractory period that no single neuron has."""

STEPS = (1.0, 0.5, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002)
"""Grids, in seconds, on which spike times lie once they were binned."""

EVEN, NEARLY_ALL = 0.01, 0.9
"""How little intervals differ from the usual one, and how many of them, if a clock makes them."""

ENOUGH = 50
"""Spikes from which on something is concluded from their times."""


def check_spikes(r: Recording) -> Iterator[Remark]:
    """Yield what says that spike times are not those of neurons in seconds."""
    if r.spikes is None:
        return
    names = r.channels["name"].to_numpy()
    yield from _check_span(r, names)
    yield from _check_unit(r)
    yield from _check_parts(r.spikes, names)
    yield from _check_intervals(r.spikes, names)


def _check_span(r: Recording, names: np.ndarray) -> Iterator[Remark]:
    spikes, (start, stop) = r.spikes or (), r.span
    negative = [name for name, s in zip(names, spikes, strict=True) if len(s) and s[0] < 0]
    if negative:
        n = number(len(negative), "channel has", "channels have")
        yield Remark(f"{n} negative spike times, first {printable(negative[0])}")
    inside = [np.searchsorted(s, [start, stop]) for s in spikes]
    outside = sum(len(s) - int(b - a) for s, (a, b) in zip(spikes, inside, strict=True))
    if outside:
        n = number(outside, "spike lies", "spikes lie")
        text = (
            f"{n} outside the observed span {start:g} to {stop:g} s and {'is' if outside == 1 else 'are'} not counted"
        )
        yield Remark(text, serious=outside > sum(map(len, spikes)) / 2)


def _check_unit(r: Recording) -> Iterator[Remark]:
    busy = max(r.spikes or (), key=len)
    if are_days(*r.span) and r.rates.max() > FASTEST:
        yield Remark(
            f"spike times from {r.span[0]:.2f} on: days, as MATLAB's datenum has them? Give seconds", serious=True
        )
        return
    if len(busy) >= ENOUGH // 2 and np.all(busy == np.rint(busy)):
        text = "spike times are whole numbers: samples? Then say --time-unit samples --sampling-rate RATE"
        yield Remark(text, serious=True)
        return
    if r.duration > DAY:
        hours = r.duration / 3600
        text = f"{hours:,.0f} hours of spikes: are times in milliseconds or samples? Then say --time-unit"
        yield Remark(text, serious=True)
    step = _find_step(r.spikes or ())
    if step:
        text = f"all spike times lie on a grid of {step:g} s: they were binned before, and bins must not be narrower"
        yield Remark(text)


def _find_step(spikes: Sequence[np.ndarray]) -> float | None:
    """Return the widest grid on which all spike times lie; the first few hundred tell whether it is worth looking."""
    known = [s for s in spikes if len(s)]
    if sum(map(len, known)) < ENOUGH:
        return None
    sample = np.concatenate([s[:200] for s in known])
    step = next((step for step in STEPS if _lie_on(sample, step)), None)
    return step if step and all(_lie_on(s, step) for s in known) else None


def _lie_on(times: np.ndarray, step: float) -> bool:
    places = (times - times[0]) / step
    if np.ptp(places) < ENOUGH / 2:
        return False
    return bool((np.abs(places - np.rint(places)) < 1e-3).all())


def _check_parts(spikes: Sequence[np.ndarray], names: np.ndarray) -> Iterator[Remark]:
    """Find channels that all ended before the others began, as those of two recordings do."""
    known = sorted((float(s[0]), float(s[-1]), i) for i, s in enumerate(spikes) if len(s))
    last = -np.inf
    for place, (first, stop, i) in enumerate(known):
        before, after = (sum(len(spikes[k]) for *_, k in part) for part in (known[:place], known[place:]))
        if first > last and min(before, after) >= ENOUGH:
            text = f"{number(place, 'channel', 'channels')} of {len(known)} fired only until {last:.6g} s"
            why = f"all others, such as {printable(names[i])}, only from {first:.6g} s on: two recordings in one"
            yield Remark(f"{text}, {why}? Give them apart", serious=True)
            return
        last = max(last, stop)


def _check_intervals(spikes: Sequence[np.ndarray], names: np.ndarray) -> Iterator[Remark]:
    """Find spikes that are stored twice, and channels that fire faster than a neuron can."""
    twice, fast, even, n_twice = [], [], [], 0
    for name, times in zip(names, spikes, strict=True):
        if len(times) < ENOUGH:
            continue
        intervals = np.diff(times)
        n_same, n_short = int((intervals <= 0).sum()), int((intervals < REFRACTORY).sum())
        if n_same > 0.01 * len(times):
            twice.append(name)
            n_twice += n_same
        elif n_short > MANY_SHORT * len(times):
            fast.append(name)
        elif (np.abs(intervals / np.median(intervals) - 1) < EVEN).mean() > NEARLY_ALL:
            even.append(name)
    if even:
        which = f"{number(len(even), 'channel fires', 'channels fire')} at even intervals ({listed(even, 4)})"
        yield Remark(f"{which}: pulses of a camera or a clock, and no neuron? Leave it out", serious=True)
    if twice:
        which = f"{number(len(twice), 'channel', 'channels')} ({listed(twice, 4)})"
        text = f"{number(n_twice, 'spike', 'spikes')} of {which} are stored twice, at the same time"
        yield Remark(f"{text}: counts there are too high", serious=n_twice > 0.05 * sum(map(len, spikes)))
    if fast:
        which = number(len(fast), "channel has", "channels have")
        text = f"{which} more than {MANY_SHORT:.0%} of intervals below 1 ms ({listed(fast, 4)})"
        yield Remark(f"{text}: several neurons together, or spikes detected twice")
