"""Clocks that disagree: spikes, behavior and trials in different units, with different zeros, or at another rate."""

from collections.abc import Iterator

import numpy as np

from neurofs.ground.errors import quoted
from neurofs.recordings.recording import Recording, Series
from neurofs.recordings.remarks import Remark
from neurofs.recordings.unnamed import find_velocity, is_unnamed
from neurofs.recordings.words import listed

FACTORS = {
    1000.0: "milliseconds",
    1e6: "microseconds",
    30_000.0: "samples at 30 kHz",
    24_414.0: "samples at 24.4 kHz",
    40_000.0: "samples at 40 kHz",
    20_000.0: "samples at 20 kHz",
    60.0: "minutes, or frames at 60 Hz",
    30.0: "frames at 30 Hz",
    25.0: "frames at 25 Hz",
    50.0: "frames at 50 Hz",
    100.0: "samples at 100 Hz",
    120.0: "frames at 120 Hz",
}
"""By which factor times are too long, and what they then are."""

RATIOS = {
    5 / 4: "24 and 30, or 20 and 25",
    6 / 5: "25 and 30, or 50 and 60",
    4 / 3: "30 and 40",
    3 / 2: "20 and 30",
    5 / 3: "30 and 50, or 60 and 100",
    8 / 5: "25 and 40",
    32 / 30: "30 and 32",
    30_000 / 24_414: "24.414 and 30",
}
"""How far apart usual rates of samples (in kHz) or of frames (in Hz) are, from the same beginning."""

DAYS = (700_000.0, 800_000.0)
"""Times between the years 1916 and 2190 in days since the year 0, as MATLAB counts them."""

FINEST = 900
"""How many times longer than behavior spike times in milliseconds, or in samples, are at least."""

MOST = 0.9
"""Share of the time with spikes that behavior should cover."""

ENOUGH_JUMPS = 5
"""Jumps from which on a session may have been put together."""

SLOWEST = 2.0
"""Samples per second below which a series says little about a movement."""


def check_clocks(r: Recording) -> Iterator[Remark]:
    """Yield what says that spikes and behavior do not keep one clock in seconds."""
    extent = find_extent(r)
    for names, time in _group_clocks(r):
        where = f"series {listed(names, 4)}"
        for remark in _check_overlap(where, time, extent, r.bin_width):
            yield remark._replace(text=remark.text.replace("spikes", "the signal")) if r.is_signal else remark
        yield from _check_steps(where, time, extent)
    yield from _check_velocities(r)


def _group_clocks(r: Recording) -> list[tuple[list[str], np.ndarray]]:
    """Return the times of behavior, each with the series that keep them."""
    groups: dict[bytes, tuple[list[str], np.ndarray]] = {}
    for series in r.behavior.values():
        if len(series.time) > 1:
            groups.setdefault(series.time.tobytes(), ([], series.time))[0].append(series.name)
    return list(groups.values())


def find_extent(r: Recording) -> tuple[float, float]:
    """Return the times of the first and the last spike, or of the first and last bin that has one, or of a signal."""
    if r.spikes is not None:
        known = [s for s in r.spikes if len(s)]
        return min(float(s[0]) for s in known), max(float(s[-1]) for s in known)
    if r.is_signal:
        return r.span
    active = np.flatnonzero(r.counts.any(axis=1))
    first, last = (active[0], active[-1] + 1) if len(active) else (0, len(r.counts))
    return r.start + first * r.bin_width, r.start + last * r.bin_width


def name_factor(longer: float) -> str:
    """Return what times are that are so many times too long, or nothing if no usual unit explains it.

    >>> name_factor(998.0), name_factor(7.0)
    ('milliseconds', '')
    """
    factors = [f for f in FACTORS if abs(longer / f - 1) < 0.03]
    return FACTORS[min(factors, key=lambda f: abs(longer / f - 1))] if factors else ""


def are_days(first: float, last: float) -> bool:
    """Whether times look like days since the year 0.

    >>> are_days(738_482.4, 738_482.5), are_days(0.0, 900_000.0)
    (True, False)
    """
    return DAYS[0] < first < last < DAYS[1] and last - first < 100


def _name_ratio(start: float, span: float, first: float, own: float) -> str:
    """Say which usual rates are as far apart as the lengths of two times that begin together, if any are."""
    if abs(first - start) > 0.01 * span:
        return ""
    longer = max(span / own, own / span)
    names = [names for ratio, names in RATIOS.items() if abs(longer / ratio - 1) < 0.003]
    return f"one is {longer:.4g} times as long as the other, as rates of {names[0]} are apart" if names else ""


def _check_overlap(where: str, time: np.ndarray, extent: tuple[float, float], width: float) -> Iterator[Remark]:
    (start, stop), (first, last) = extent, (float(time[0]), float(time[-1]))
    span, own = max(stop - start, 1e-9), max(last - first, 1e-9)
    together = max(0.0, min(stop, last) - max(start, first))
    spans = f"spikes run from {start:.6g} to {stop:.6g} s, behavior from {first:.6g} to {last:.6g} s"
    if ratio := _name_ratio(start, span, first, own):
        yield Remark(f"{where}: {spans}: {ratio}. Is a sampling rate wrong?")
        return
    if together > MOST * max(span, own):
        later = (first + last - start - stop) / 2
        if abs(span - own) < 0.005 * span and abs(later) > max(1.0, 3 * abs(span - own)):
            apart = f"as long, yet {abs(later):.3g} s {'later' if later > 0 else 'earlier'}"
            yield Remark(f"{where}: {spans}: {apart}. Do their clocks begin at the same moment?")
        return
    unit = "are the times of behavior in days (datenum of MATLAB)?" if are_days(first, last) else ""
    unit = unit or _guess_unit(span, own)
    if together == 0:
        why = unit or "both must keep one clock, in seconds"
        yield Remark(f"{where}: none of it lies in the observed span; {spans}: {why}", serious=True)
    elif width and _is_multiple(span, own) and abs(first - start) < 0.02 * span:
        right = f"with bins of {width * own / span:.3g} s instead of {width:g} s they would agree"
        yield Remark(f"{where}: {spans}: {right}. Say --counts-bin-width", serious=True)
    elif unit:
        yield Remark(f"{where}: {spans}: {unit}", serious=True)
    elif abs(span / own - 1) < 0.02:
        what = "equally long, yet apart. Do their clocks begin at the same moment?"
        yield Remark(f"{where}: {spans}: {what}", serious=True)
    elif span < 0.05 * own:
        yield Remark(f"{where}: {spans}: are spike times relative to trials, or in another unit?", serious=True)
    elif together < MOST * span:
        yield Remark(f"{where}: behavior covers {100 * together / span:.0f} % of the time with spikes")
    else:
        yield Remark(f"{where}: spikes cover {100 * together / own:.0f} % of the time with behavior")


def _is_multiple(span: float, own: float) -> bool:
    """Tell whether one of two lengths is a whole number of times the other, as it is if the bin width is wrong."""
    ratio = max(span / own, own / span)
    return round(ratio) >= 2 and abs(ratio / round(ratio) - 1) < 0.01


def _guess_unit(span: float, own: float) -> str:
    """Say which of two times, of spikes and of behavior, is in another unit, if one is."""
    spikes, behavior = name_factor(span / own), name_factor(own / span)
    if spikes and span > FINEST * own:
        return f"are spike times in {spikes}? Then say --time-unit"
    return f"are the times of behavior in {behavior}? Correct them, or say --behavior-rate" if behavior else ""


def _check_steps(where: str, time: np.ndarray, extent: tuple[float, float]) -> Iterator[Remark]:
    """Find series whose times are numbers of samples, and those that are sampled too rarely."""
    steps = np.diff(time)
    if len(steps) < 20:
        return
    rate = 1.0 / float(np.median(steps))
    if (steps == 1.0).all() and (time == np.rint(time)).all():
        longer = time[-1] - time[0] > 1.5 * (extent[1] - extent[0])
        text = f"{where}: one sample per second, at whole seconds: are these numbers of frames?"
        yield Remark(f"{text} Correct them, or say --behavior-rate", serious=bool(longer))
    elif rate < SLOWEST:
        yield Remark(f"{where}: sampled at only {rate:.2g} Hz; what lies between samples is interpolated")


def _check_velocities(r: Recording) -> Iterator[Remark]:
    """Compare each velocity with the derivative of its position: they share a clock only if the clock is right."""
    for name, velocity in r.behavior.items():
        position = r.behavior.get(_name_position(name, r.behavior))
        if position is not None and velocity.values.shape == position.values.shape:
            factor = measure_factor(position, velocity)
            if factor is not None and abs(np.log(factor)) > np.log(1.2):
                yield _tell_factor(velocity, position, factor)
            values = np.hstack([position.values, velocity.values])
            yield from _check_pieces(r, quoted(position.name), velocity.time, values)
    for name, series in r.behavior.items():
        if is_unnamed(series) and find_velocity(series):
            yield from _check_pieces(r, quoted(name), series.time, series.values)


def _check_pieces(r: Recording, name: str, time: np.ndarray, values: np.ndarray) -> Iterator[Remark]:
    """Find jumps of a position, the first half of the columns, that its velocity knows nothing of."""
    places = find_jumps(time, values)
    starts = np.sort(r.trials["start"].to_numpy(dtype=np.float64))
    trial = np.searchsorted(starts, time + 1e-9)
    n = int((trial[places] == trial[places - 1]).sum())
    if n >= ENOUGH_JUMPS:
        text = f"the position in {name} jumps {n:,} times farther than the velocity beside it says"
        yield Remark(f"{text}: pieces put together, such as trials? Lags and folds join them unless trials are named")


def find_jumps(time: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the samples at which a position jumps, though its velocity, the second half of the columns, does not.

    >>> time = np.arange(400) / 10
    >>> rows = np.column_stack([np.sin(time), np.cos(time)])
    >>> cut = np.delete(rows, np.arange(100, 115), axis=0)
    >>> find_jumps(time, rows).tolist(), find_jumps(time[: len(cut)], cut).tolist()
    ([], [100])
    """
    half = values.shape[1] // 2
    found = np.zeros(max(0, len(time) - 1), bool)
    for position, velocity in zip(values[:, :half].T, values[:, half:].T, strict=True):
        steps, before, after = np.diff(position) / np.diff(time), velocity[:-1], velocity[1:]
        middle = (before + after) / 2
        known = np.isfinite(steps) & np.isfinite(middle)
        large = known & (np.abs(steps) > np.median(np.abs(steps[known]))) if known.any() else known
        if not large.any():
            continue
        own = np.median(middle[large] / steps[large]) * steps
        beyond = np.min([np.abs(own - said) for said in (before, middle, after)], axis=0)
        usual, largest = np.median(beyond[known]), np.quantile(np.abs(middle[known]), 0.99)
        found |= known & (beyond > 10 * usual) & (beyond > largest / 2)
    return np.flatnonzero(found) + 1 if found.mean() < 0.2 else np.empty(0, dtype=np.int64)


def _name_position(name: str, known: object) -> str:
    """Return how the position that belongs to a velocity would be called."""
    for one, other in (("velocity", "position"), ("Velocity", "Position"), ("vel", "pos"), ("Vel", "Pos")):
        if one in name:
            return name.replace(one, other)
    return ""


def measure_factor(position: Series, velocity: Series) -> float | None:
    """Return how many times larger a velocity is than the derivative of a position; None if they are unrelated."""
    if len(position.time) < 50 or not np.array_equal(position.time, velocity.time):
        return None
    slope = np.gradient(position.values, position.time, axis=0)
    known = np.isfinite(slope) & np.isfinite(velocity.values)
    a, b = slope[known], velocity.values[known]
    if len(a) < 50 or not a.std() or not b.std():
        return None
    alike = float(np.corrcoef(a, b)[0, 1])
    return float(b.std() / a.std()) if alike > 0.9 else None


def _tell_factor(velocity: Series, position: Series, factor: float) -> Remark:
    if abs(factor / velocity.interval - 1) < 0.03:
        text = f"{quoted(velocity.name)} is the difference of neighboring samples of {quoted(position.name)}"
        return Remark(f"{text}: per sample, and not per second (or in another unit of length)")
    power = np.log10(factor)
    text = f"{quoted(velocity.name)} is {factor:.3g} times the derivative of {quoted(position.name)}"
    if abs(power - round(power)) < 0.04:
        return Remark(f"{text}: another unit of length, or of time?")
    return Remark(f"{text}: is the bin width, or the unit of times, wrong by this factor?", serious=True)
