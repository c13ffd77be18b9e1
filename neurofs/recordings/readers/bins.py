"""`Bins`: the clock of counts that were binned before they were stored."""

from dataclasses import dataclass

import numpy as np

from neurofs.ground.errors import InputError, quoted
from neurofs.recordings.readers.variables import Variables, flag, is_line, is_number
from neurofs.recordings.words import split_words, word

CENTER_WORDS = ("bincenters", "bincentres")
TIME_WORDS = (*split_words("time times t timestamps timestamp bintimes timevector timeframe binedges"), *CENTER_WORDS)
WIDTH_WORDS = split_words("binwidth binsize countsbinwidth bin dt deltat timebase timebin binsizes")
RATE_WORDS = ("samplingrate", "samplerate", "samplingfrequency", "fs", "samplerates", "framerate", "fps", "imagingrate")
JITTER, SAMPLE_JITTER = 0.1, 0.45
"""Share of a bin by which the step from one to the next may be off: of counts, and of samples of a signal."""
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
WIDEST = 5.0
"""Bins wider than this many seconds are taken for a mistaken unit."""


@dataclass(frozen=True)
class Bins:
    """Regular bins from `start`; the stored row i of the file is bin `slots[i]`.

    >>> Bins(1.0, 0.5, np.array([0, 1, 4])).observed
    array([[1. , 2. ],
           [3. , 3.5]])
    """

    start: float
    width: float
    slots: np.ndarray

    @property
    def n_rows(self) -> int:
        """Number of stored rows."""
        return len(self.slots)

    @property
    def n_bins(self) -> int:
        """Number of bins from the first to the last, with those in gaps."""
        return int(self.slots[-1]) + 1 if len(self.slots) else 0

    @property
    def stop(self) -> float:
        """The end of the last bin."""
        return self.edge(self.n_bins)

    @property
    def centers(self) -> np.ndarray:
        """The middle of each stored bin."""
        return self.start + (self.slots + 0.5) * self.width

    @property
    def observed(self) -> np.ndarray:
        """The stretches without a gap."""
        breaks = np.flatnonzero(np.diff(self.slots) > 1)
        first = np.concatenate([[0], breaks + 1])
        last = np.concatenate([breaks, [self.n_rows - 1]])
        return np.column_stack(
            [self.start + self.slots[first] * self.width, self.start + (self.slots[last] + 1) * self.width]
        )

    def edge(self, slot: int) -> float:
        """Return the time at which a bin begins."""
        return float(self.start + slot * self.width)

    def fill_gaps(self, counts: np.ndarray) -> np.ndarray:
        """Return the stored rows on all bins, with zeros in the gaps."""
        if self.n_bins == self.n_rows:
            return counts
        full = np.zeros((self.n_bins, *counts.shape[1:]), dtype=counts.dtype)
        full[self.slots] = counts
        return full


def read_seconds_per_unit(v: Variables) -> float:
    """Return how many seconds one unit of the file's times is."""
    unit = v.ask("time_unit")
    if unit != "samples":
        return seconds_per_unit(unit)
    rate = v.ask("sampling_rate")
    known = [n for n, value in v.values.items() if word(n) in RATE_WORDS and is_number(value)]  # also if used before
    name = min(known, key=lambda n: RATE_WORDS.index(word(n)), default=None) if rate is None else None
    if name is not None:
        rate = v.scalar(v.use(name))
        v.note(f"sampling rate: {rate:g} samples per second, from {quoted(name)}")
    return seconds_per_unit(unit, rate)


def seconds_per_unit(unit: str | None, sampling_rate: float | None = None) -> float:
    """Return how many seconds one unit of times is.

    >>> seconds_per_unit("ms"), seconds_per_unit("samples", 30_000) * 30_000
    (0.001, 1.0)
    """
    if unit != "samples":
        return SECONDS[unit or "s"]
    if sampling_rate is None or sampling_rate <= 0:
        raise InputError(
            "times", "a sampling rate for times in samples", sampling_rate or "none", "Say it with --sampling-rate."
        )
    return 1.0 / sampling_rate


def find_time(v: Variables, n_rows: int) -> str | None:
    """Return the variable with the time (or the edges) of the bins, if there is one."""
    if v.options.time == "none":
        v.ask("time")
        return None
    name = v.named("time")
    if name is not None:
        return name
    fitting = [n for n in v.find(TIME_WORDS, is_line) if v.values[n].size in (n_rows, n_rows + 1) and n_rows > 1]
    return v.use(fitting[0]) if fitting else None


def find_bin_width(v: Variables) -> tuple[float, str] | None:
    """Return the bin width that is stated, as it is stated, and by whom."""
    found = v.find(WIDTH_WORDS, is_number)
    stated = v.ask("counts_bin_width")
    if stated is not None:
        for name in found:
            if not np.isclose(v.scalar(v.use(name)), stated):
                v.note(f"bin width: {stated:g} s as given; the file's {quoted(name)} is {v.scalar(name):g}")
        return stated, flag("counts_bin_width")
    if not found:
        return None
    width = v.scalar(v.use(found[0]))
    if width <= 0:
        raise InputError(quoted(found[0]), "a bin width above zero", width, "Say it with --counts-bin-width.")
    return width, quoted(found[0])


def read_bins(v: Variables, n_rows: int, sampled: bool = False) -> Bins:
    """Return the bins of `n_rows` stored counts, from a time vector and the stated width.

    Those of a signal are `sampled`: each lasts until the next, so that a rate tells their width, too.
    """
    stated = find_bin_width(v)
    name = find_time(v, n_rows)
    if name is not None:
        return _bins_from_times(v, name, n_rows, stated, SAMPLE_JITTER if sampled else JITTER)
    if stated is None and sampled:
        stated = _find_interval(v)
    if stated is None:
        raise InputError(
            "counts",
            "a bin width",
            "none in the file, and no time of each bin",
            "Say it with --counts-bin-width (seconds)" + (", or --sampling-rate (Hz)." if sampled else "."),
        )
    width, source = stated
    if v.options.time_unit is not None and v.options.counts_bin_width is None:
        width *= read_seconds_per_unit(v)
    check_width(width, source)
    v.note(f"time: row number times the bin width of {width:g} s ({source}), from 0")
    return Bins(0.0, width, np.arange(n_rows))


def _find_interval(v: Variables) -> tuple[float, str] | None:
    """Return the time between two samples of a signal from their rate, and who states it."""
    rate, source = v.ask("sampling_rate"), flag("sampling_rate")
    name = next(iter(v.find(RATE_WORDS, is_number)), None) if rate is None else None
    if name is not None:
        rate, source = v.scalar(v.use(name)), quoted(name)
    if rate is None:
        return None
    if not rate > 0:
        raise InputError(source, "samples per second, above zero", rate, "Say it with --sampling-rate.")
    return 1.0 / rate, source


def check_width(width: float, source: str) -> None:
    """Refuse a bin width that must be in another unit."""
    if width > WIDEST:
        raise InputError(
            source,
            f"a bin width of at most {WIDEST:g} s",
            f"{width:g}",
            f"If it is in milliseconds, pass --counts-bin-width {width / 1000:g}.",
        )


def _bins_from_times(
    v: Variables, name: str, n_rows: int, stated: tuple[float, str] | None, jitter: float = JITTER
) -> Bins:
    times = v.vector(name).astype(np.float64) * read_seconds_per_unit(v)
    if len(times) not in (n_rows, n_rows + 1):
        raise InputError(
            quoted(name),
            f"{n_rows} times, one per bin",
            len(times),
            "Name another variable with --time, or number the bins with --time none.",
        )
    remedy = "Correct them, or number the bins with --time none."
    if not np.isfinite(times).all():
        raise InputError(quoted(name), "finite times", "NaN or infinity", remedy)
    check_increasing(name, times, "times", remedy)
    if stated is None:
        _refuse_row_numbers(v, name, times)
    width = _agree(v, name, _usual_steps(times), stated)
    if len(times) == n_rows + 1:
        v.note(f"time: {quoted(name)} read as the {n_rows + 1} edges of the bins")
    elif word(name) in CENTER_WORDS:
        times = times - width / 2
        v.note(f"time: {quoted(name)} read as the middle of each bin")
    else:
        v.note(f"time: {quoted(name)} read as the start of each bin")
    slots = _find_slots(name, times, width, jitter)[:n_rows]
    bins = Bins(float(times[0]), width, slots)
    if bins.n_bins > n_rows:
        v.note(f"time: {len(bins.observed) - 1} gaps in {quoted(name)}; nothing was observed in them")
    return bins


def _refuse_row_numbers(v: Variables, name: str, times: np.ndarray) -> None:
    """Refuse times that could as well be the numbers of the rows."""
    if v.options.time_unit is None and len(times) > 2 and times[0] in (0, 1) and (np.diff(times) == 1).all():
        raise InputError(
            quoted(name),
            "the time of each bin",
            f"{times[0]:g}, {times[1]:g}, {times[2]:g} …, which could be seconds or numbers of bins",
            "If seconds, say --counts-bin-width 1; if numbers, --time none and the right --counts-bin-width.",
        )


def check_increasing(name: str, times: np.ndarray, what: str, remedy: str) -> None:
    """Refuse times, of bins or of trials, that do not increase."""
    falls = np.flatnonzero(np.diff(times) <= 0)
    if len(falls):
        i = falls[0]
        found = f"{times[i + 1]:g} after {times[i]:g} (row {i + 1})"
        raise InputError(quoted(name), f"{what} that increase", found, remedy)


def _usual_steps(times: np.ndarray) -> tuple[float, float] | None:
    """Return the mean step, counting a gap as the whole steps that it is, and the median step."""
    steps = np.diff(times)
    if not len(steps):
        return None
    median = float(np.median(steps))
    whole = np.maximum(np.rint(steps / median), 1)
    return float((times[-1] - times[0]) / whole.sum()), median


def _agree(v: Variables, name: str, steps: tuple[float, float] | None, stated: tuple[float, str] | None) -> float:
    """Return the bin width on which the times and the statement agree."""
    if stated is None and steps is None:
        raise InputError("counts", "a bin width", "none", "Say it with --counts-bin-width (seconds).")
    if stated is None or steps is None:
        return stated[0] if stated else _width_from_steps(v, name, steps[0] if steps else 0.0)
    width, source = stated
    scales = {1.0} if v.options.counts_bin_width else {1.0, read_seconds_per_unit(v)}
    for scale in sorted(scales, reverse=True):
        if any(abs(step / (width * scale) - 1) < 0.01 for step in steps):
            return width * scale
    remedy = "Say which is right with --counts-bin-width, and --time none to number the bins."
    if v.options.time_unit is None and 990 < steps[1] / width < 1010:
        remedy = "The times look like milliseconds: pass --time-unit ms."
    raise InputError(
        quoted(name), f"steps of {width:g} s, the bin width ({source})", f"steps of {steps[1]:g} s", remedy
    )


def _width_from_steps(v: Variables, name: str, step: float) -> float:
    width = round(step, 9)
    if width > WIDEST:
        raise InputError(
            quoted(name), "times in seconds", f"steps of {step:g}", "Say their unit with --time-unit (ms, us, samples)."
        )
    v.note(f"bin width: {width:g} s, the usual step of {quoted(name)}")
    return width


def _find_slots(name: str, times: np.ndarray, width: float, jitter: float) -> np.ndarray:
    """Return the bin of each time on the regular grid; a jitter of this share of a bin is allowed."""
    steps = np.diff(times) / width
    whole = np.maximum(np.rint(steps), 1)
    bad = np.flatnonzero(np.abs(steps - whole) > jitter)
    if len(bad):
        i = bad[0]
        raise InputError(
            quoted(name),
            f"steps of whole bins of {width:g} s",
            f"{times[i + 1] - times[i]:g} s before row {i + 1}",
            "Bin the data on a regular grid, or number the bins with --time none.",
        )
    slots = np.concatenate([[0], np.cumsum(whole)]).astype(np.int64)
    drift = float(np.max(np.abs((times - times[0]) / width - slots), initial=0.0))
    if drift > 0.5:
        raise InputError(
            quoted(name),
            f"times that follow bins of {width:g} s",
            f"a drift of {drift:.2g} bins",
            "Say the exact width with --counts-bin-width, or number the bins with --time none.",
        )
    return slots
