"""`OnlineDecoder`: counts of one bin in, one estimate out, the same as those of `Model.predict`.

    decoder = OnlineDecoder(model)
    decoder.warm_up()
    estimate, deviation = decoder.step(counts)          # (None, None) until the window is full

Nothing grows while it runs, and nothing is compiled after `warm_up`. `feed` takes bins by their numbers: where some are
missing, or another trial begins, the window starts anew, as no window of a session crosses a gap or a trial; bins that
come twice or too late are left out. All of that is counted.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neurofs.decoders.model import Model
from neurofs.features.samples import Samples
from neurofs.features.tensor import smoothing_weights
from neurofs.ground.threads import one_thread

ROOM = 256  # bins that are kept beyond a window before the buffer is moved back to its beginning
WARM_UP = 30
RESTART = 10  # late bins in a row, each the next of the one before it: then their numbers have begun anew
Estimate = tuple[np.ndarray | None, np.ndarray | None]


@dataclass
class Counted:
    """What happened to the bins of a stream."""

    bins: int = 0
    estimates: int = 0
    missing: int = 0  # bins that never came before a later one did
    repeated: int = 0  # came twice in a row
    late: int = 0  # came after a later one
    restarts: int = 0  # times that numbers began anew: after RESTART late ones in a row
    resets: int = 0  # windows begun anew, by a gap or another trial


class OnlineDecoder:
    """A model that decodes bin by bin.

    Parameters
    ----------
    model : Model

    Examples
    --------
    >>> import neurofs
    >>> day = neurofs.simulate_session(12, n_electrodes=2, random_state=1)
    >>> model = neurofs.fit(day, "hand_velocity", decoder="ridge", n_lags=3, cross_validate=False)
    >>> decoder = OnlineDecoder(model)
    >>> for counts in np.ones((3, 8)):
    ...     estimate, deviation = decoder.step(counts)
    >>> window = neurofs.Samples.from_counts(np.ones((3, 8)), n_lags=3)
    >>> np.allclose(estimate, model.predict_samples(window)[0][0])
    True
    """

    def __init__(self, model: Model) -> None:
        head, binning = model.head, model.head.binning
        self.model = model
        self.n_channels, self.n_lags = len(head.channels), binning.n_lags
        self.first_lag = round(binning.lead / binning.bin_width)
        self.every = 1 if binning.step is None else round(binning.step / binning.bin_width)
        self._scaling = model.scaling if model.is_signal else None
        self.weights = smoothing_weights(binning.smooth / binning.bin_width)
        self._buffer = np.zeros((self.n_lags + ROOM, self.n_channels), np.float32)
        self._raw: deque[np.ndarray] = deque(maxlen=len(self.weights))
        self._known = [np.nan if output.sd is None else output.sd for output in head.outputs]
        with one_thread():
            self._steps = [decoder.start_online() for decoder in model.decoders]
        self.counted = Counted()
        self.bin = -1  # number of the newest bin
        self._late, self._in_row = -1, 0
        self._trial: Any = None
        self.reset()

    def reset(self) -> None:
        """Begin a new window, at a gap or a new trial."""
        self._end = self._age = 0
        self._follows = False
        self._raw.clear()

    def warm_up(self, n: int = WARM_UP) -> None:
        """Decode silence, so that all is loaded and compiled; the window is empty afterwards."""
        silence, before = np.zeros(self.n_channels), (self.bin, self.counted)
        self.counted = Counted()
        for _ in range(n + self.n_lags + abs(self.first_lag)):
            self.step(silence)
        self.bin, self.counted = before
        self.reset()

    def feed(self, number: int, counts: ArrayLike, trial: object = None) -> Estimate:
        """Take the counts of the bin of this number; see the module for bins that are missing, late or repeated."""
        if self.bin >= 0 and number <= self.bin and not self._begins_anew(number):
            self.counted.repeated += number == self.bin
            self.counted.late += number < self.bin
            return None, None
        gap = number - self.bin - 1 if self.bin >= 0 else 0
        self.counted.missing += gap
        if gap or (trial != self._trial and self.bin >= 0):
            self.counted.resets += 1
            self.reset()
        self.bin, self._trial = number - 1, trial
        return self.step(counts)

    def _begins_anew(self, number: int) -> bool:
        """Whether so many late bins came one after the other that numbers have begun anew, and this is the next."""
        self._in_row = self._in_row + 1 if number == self._late + 1 else 1
        self._late = number
        if self._in_row < RESTART:
            return False
        self.counted.restarts += 1
        self.counted.resets += 1
        self._in_row, self.bin = 0, number - 1
        self.reset()
        return True

    def step(self, counts: ArrayLike) -> Estimate:
        """Take the counts of the next bin, in the order of the model's channels; return estimate and deviation."""
        counts = self._check(counts)
        self.bin += 1
        self.counted.bins += 1
        self._append(counts)
        if self._age <= self.n_before or (self.bin + self.first_lag) % self.every:
            return None, None
        start = (self._end - self.n_lags) * self.n_channels
        window = Samples(
            self._buffer.reshape(-1), np.array([start]), self.n_lags * self.n_channels, n_channels=self.n_channels
        )
        found = self._decode(window)
        self._follows = True
        self.counted.estimates += 1
        return found

    def _check(self, counts: Any) -> np.ndarray:
        """Return counts as an array, or refuse what no bin holds, before anything of it is taken."""
        counts = np.asarray(counts, np.float32)
        if counts.shape != (self.n_channels,):
            raise ValueError(f"counts must have one number per channel ({self.n_channels}); found {counts.shape}")
        if not self.model.can_be_bin(counts):
            least = "finite" if self.model.is_signal else "finite and at least 0"
            raise ValueError(f"counts must be {least}; found {counts.min():g} to {counts.max():g}")
        return counts

    def _append(self, counts: np.ndarray) -> None:
        """Put a bin behind the others, after square root and smoothing; without room, move them back first."""
        if self._end == len(self._buffer):
            kept = self.n_lags - 1
            self._buffer[:kept] = self._buffer[self._end - kept : self._end]
            self._end = kept
        if self.model.head.binning.sqrt:
            counts = np.sqrt(counts)
        counts = self._smooth(counts) if len(self.weights) > 1 else counts
        self._buffer[self._end] = counts if self._scaling is None else self._scaling(counts)
        self._end += 1
        self._age += 1

    def _smooth(self, counts: np.ndarray) -> np.ndarray:
        """Return the weighted mean of this bin and those before it."""
        self._raw.appendleft(counts.astype(np.float64))
        total, norm = np.zeros(self.n_channels), 0.0
        for weight, raw in zip(self.weights, self._raw, strict=False):
            total += weight * raw
            norm += weight
        return total / norm

    def _decode(self, window: Samples) -> Estimate:
        head = self.model.head
        estimate, deviation = np.empty(len(head.outputs)), np.array(self._known)
        for step, outputs in zip(self._steps, self.model.outputs, strict=True):
            values, sd = step(window, self._follows)
            estimate[list(outputs)] = values.argmax() if head.classes else values
            if sd is not None and not head.classes:
                deviation[list(outputs)] = sd
        return estimate, deviation

    @property
    def n_before(self) -> int:
        """Bins that must have come before the first estimate."""
        return max(self.n_lags - 1, -self.first_lag)

    @property
    def target_bin(self) -> int:
        """Number of the bin whose target the last estimate is of."""
        return self.bin + self.first_lag


class Latencies:
    """Times in a histogram of fixed size, each known to 1 %, and the largest exactly.

    >>> times = Latencies()
    >>> for ns in (1_000_000, 2_000_000, 9_000_000):
    ...     times.add(ns)
    >>> {name: round(ms, 1) for name, ms in times.summarize().items()}
    {'median_ms': 2.0, 'p99_ms': 9.0, 'largest_ms': 9.0}
    """

    RATIO = 1.01
    FIRST = 100.0  # nanoseconds

    def __init__(self) -> None:
        self.counts, self.largest = np.zeros(2500, np.int64), 0

    def add(self, nanoseconds: int) -> None:
        """Count one time."""
        place = int(np.log(max(nanoseconds, self.FIRST) / self.FIRST) / np.log(self.RATIO))
        self.counts[min(place, len(self.counts) - 1)] += 1
        self.largest = max(self.largest, nanoseconds)

    def quantile(self, share: float) -> float:
        """Return the time below which this share of all lie, in milliseconds."""
        total = np.cumsum(self.counts)
        place = int(np.searchsorted(total, share * total[-1]))
        return float(min(self.FIRST * self.RATIO ** (place + 0.5), self.largest) / 1e6)

    def summarize(self) -> dict[str, float | None]:
        """Return the median, the 99th percentile and the largest, in milliseconds; None if there is none."""
        if not self.counts.any():
            return {"median_ms": None, "p99_ms": None, "largest_ms": None}
        return {"median_ms": self.quantile(0.5), "p99_ms": self.quantile(0.99), "largest_ms": self.largest / 1e6}


def time_silence(model: Model, n: int = 50) -> dict[str, float | None]:
    """Return how long estimates of silent bins take, in milliseconds: the time does not depend on the counts."""
    decoder = OnlineDecoder(model)
    n_bins = decoder.n_before + n * decoder.every
    return time_steps(decoder, np.zeros((n_bins, decoder.n_channels))).summarize()


def time_steps(decoder: OnlineDecoder, bins: np.ndarray) -> Latencies:
    """Decode bins (bins, channels) one after the other, and return how long each estimate took."""
    times = Latencies()
    decoder.warm_up()
    with one_thread():
        for counts in bins:
            started = time.perf_counter_ns()
            estimate, _ = decoder.step(counts)
            if estimate is not None:
                times.add(time.perf_counter_ns() - started)
    return times
