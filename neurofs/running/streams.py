"""Where the bins of a stream come from: lines of text, binary records, sessions, the Lab Streaming Layer.

Lines are JSON objects, each one of

    {"bin": 17, "counts": [0, 2, 1], "trial": 3}    in the order of the model's channels; bin and trial may be left out
    {"bin": 17, "spikes": {"1a": 2, "3b": 1}}       by name; channels that are not named were silent
    {"time": 1.7312, "channel": "1a"}               a spike, in the order of time; its bin ends when a later one begins
    {"time": 2.0}                                   nothing has happened up to this time

Binary records are little-endian: the number of the bin (int64), the trial (int64, −1 for none), counts (float32 each).
"""

from __future__ import annotations

import json
import math
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any, NamedTuple

import numpy as np

from neurofs.decoders.model import Missing, Model, describe_match, match_channels
from neurofs.features.tensor import build_tensor
from neurofs.ground.errors import InputError, UsageError, quoted
from neurofs.recordings.recording import Recording

MAX_LINE = 10_000_000  # bytes
MOST_SILENT = 100_000  # bins between two events
SILENT_S = 10.0  # seconds after which a stream that sends nothing has ended
LOOK_S = 0.2  # seconds after which a wait is looked up from: a library that waits hears no Ctrl-C

REMEDY = "See neurofs stream --help for the form of lines."


class SilentStream(Exception):
    """A stream that is still there, but has sent nothing for so many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the stream was silent for {seconds:g} s")


class Bin(NamedTuple):
    """The counts of one bin; a number of None is the next one."""

    number: int | None
    counts: np.ndarray
    trial: int | None = None


# Text


def read_lines(stream: IO[bytes], model: Model) -> Iterator[Bin]:
    """Yield the bins of JSON lines, as soon as each line is there."""
    gather = _Gather(model)
    for n, line in enumerate(iter(lambda: stream.readline(MAX_LINE), b""), start=1):
        if not line.strip():
            continue
        if len(line) == MAX_LINE:
            raise InputError(f"line {n}", f"a line shorter than {MAX_LINE:,} bytes", "a longer one", REMEDY)
        try:
            record = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise InputError(f"line {n}", "one JSON object", error, REMEDY) from None
        if not isinstance(record, dict):
            raise InputError(f"line {n}", "one JSON object", quoted(line[:60].decode(errors="replace")), REMEDY)
        yield from gather.take(record, f"line {n}")


class _Gather:
    """Makes bins of records; spikes that come one by one are counted until their bin is over."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.places = {name: place for place, name in enumerate(model.channels)}
        self.width = model.head.binning.bin_width
        self.number: int | None = None
        self.counts = np.zeros(len(self.places), np.float32)

    def take(self, record: dict[str, Any], where: str) -> Iterator[Bin]:
        if "time" in record:
            yield from self._take_event(record, where)
        elif "counts" in record:
            yield Bin(
                _whole(record, "bin", where), self._check(record["counts"], where), _whole(record, "trial", where)
            )
        elif isinstance(record.get("spikes"), dict):
            counts = np.zeros(len(self.places), np.float32)
            for name, value in record["spikes"].items():
                counts[self._find(name, where)] = _number(value, where)
            check_bin(counts, self.model, where)
            yield Bin(_whole(record, "bin", where), counts, _whole(record, "trial", where))
        else:
            raise InputError(where, "counts, spikes or time", ", ".join(map(str, record)) or "nothing", REMEDY)

    def _take_event(self, record: dict[str, Any], where: str) -> Iterator[Bin]:
        """Count a spike, and yield the bins that are over."""
        number = math.floor(_number(record["time"], where) / self.width + 1e-9)
        if number < 0:
            raise InputError(where, "times from 0 s on", record["time"], REMEDY)
        if self.number is None:
            self.number = number
        if number < self.number:
            raise InputError(where, "events in the order of time", f"{record['time']} after a later one", "Sort them.")
        if number - self.number > MOST_SILENT:
            most = f"at most {MOST_SILENT * self.width:,.0f} s between events"
            raise InputError(where, most, record["time"], "Give times in seconds, or also while nothing happens.")
        while self.number < number:
            yield Bin(self.number, self.counts)
            self.number, self.counts = self.number + 1, np.zeros(len(self.places), np.float32)
        if "channel" in record:
            self.counts[self._find(str(record["channel"]), where)] += 1

    def _find(self, name: str, where: str) -> int:
        if name not in self.places:
            raise InputError(where, "a channel of the model", quoted(name), "See its model.json.")
        return self.places[name]

    def _check(self, values: Any, where: str) -> np.ndarray:
        if not isinstance(values, list) or len(values) != len(self.places):
            found = f"{len(values)}" if isinstance(values, list) else type(values).__name__
            raise InputError(where, f"{len(self.places)} counts, one per channel", found, REMEDY)
        counts = np.array([_number(value, where) for value in values], np.float32)
        check_bin(counts, self.model, where)
        return counts


def check_bin(counts: np.ndarray, model: Model, where: str) -> None:
    """Refuse numbers that no bin holds."""
    if not model.can_be_bin(counts):
        least = "finite numbers" if model.is_signal else "finite counts of at least 0"
        raise InputError(where, least, " to ".join(f"{end:g}" for end in (counts.min(), counts.max())), REMEDY)


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e30:
        raise InputError(where, "finite numbers", value, REMEDY)
    return float(value)


def _whole(record: dict[str, Any], key: str, where: str) -> int | None:
    value = record.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53):
        raise InputError(where, f"a whole number as {key}", value, REMEDY)
    return value


# Binary records


def read_records(stream: IO[bytes], model: Model) -> Iterator[Bin]:
    """Yield the bins of binary records."""
    n_channels, n = len(model.channels), 0
    size = 16 + 4 * n_channels
    while True:
        content = _read_exactly(stream, size)
        if not content:
            return
        n += 1
        if len(content) < size:
            raise InputError(f"record {n}", f"{size} bytes", f"{len(content)} at the end", "Write whole records.")
        number, trial = struct.unpack_from("<qq", content)
        counts = np.frombuffer(content, "<f4", offset=16)
        if number < 0:
            raise InputError(f"record {n}", "a bin from 0 on", f"bin {number}", "Check the layout.")
        check_bin(counts, model, f"record {n}")
        yield Bin(number, counts, None if trial < 0 else trial)


def _read_exactly(stream: IO[bytes], size: int) -> bytes:
    parts, left = [], size
    while left and (part := stream.read(left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


# Sessions


@dataclass(frozen=True)
class Replay:
    """The observed bins of a session, the time at which bin 0 begins, and what should be known of its channels."""

    bins: Iterator[Bin]
    origin: float
    notes: list[str]


def open_replay(recording: Recording, model: Model, missing: Missing = "refuse", speed: float = 0.0) -> Replay:
    """Return the bins of a session, which come `speed` times as fast as they were recorded, 0 for without a pause."""
    width = model.head.binning.bin_width
    model.check_numbers(recording)
    tensor = build_tensor(recording, None, bin_width=width, n_lags=1)
    names = [str(name) for name in tensor["channel"].values]
    order = match_channels(model.channels, names, recording.name, missing)
    counts, trial = model.take_channels(tensor["counts"].values, order, missing), tensor["trial"].values
    rows = np.flatnonzero(tensor["valid"].values)
    bins = (Bin(int(row), counts[row], None if trial[row] < 0 else int(trial[row])) for row in rows)
    notes = describe_match(model.channels, order, tensor, missing)
    paced = _pace(bins, width / speed if speed > 0 else 0.0, int(rows[0]) if len(rows) else 0)
    return Replay(paced, float(tensor["time"].values[0]), notes)


def _pace(bins: Iterable[Bin], seconds: float, first: int) -> Iterator[Bin]:
    """Yield each bin when it is over, if every bin lasts so many seconds."""
    started = time.perf_counter()
    for one in bins:
        if seconds > 0 and one.number is not None:
            time.sleep(max(0.0, started + (one.number - first + 1) * seconds - time.perf_counter()))
        yield one


# Lab Streaming Layer


def read_layer(name: str, model: Model, timeout: float = SILENT_S) -> Iterator[Bin]:
    """Yield the samples of a stream of the Lab Streaming Layer, each one bin, until it is silent or lost."""
    lsl = _import_layer()
    found = _wait(lambda seconds: lsl.resolve_byprop("name", name, minimum=1, timeout=seconds), timeout)
    if not found:
        raise UsageError(f"no stream named {quoted(name)} on this network within {timeout:g} s; is its outlet open?")
    info, n_channels = found[0], len(model.channels)
    if info.channel_count() != n_channels:
        raise UsageError(
            f"stream {quoted(name)}: expected the {n_channels} channels of the model; found {info.channel_count()}"
        )
    inlet, clock = lsl.StreamInlet(info, recover=False), BinClock(model.head.binning.bin_width)
    while True:
        try:
            sample = _wait(lambda seconds: _pull(inlet, seconds), timeout)
        except lsl.util.LostError:
            return
        if sample is None:
            raise SilentStream(timeout)
        number, counts = clock.number(sample[1]), np.asarray(sample[0], np.float32)
        if np.isfinite(counts).all():  # else it was lost on its way, and counts as missing
            check_bin(counts, model, f"stream {quoted(name)}: bin {number}")
            yield Bin(number, counts)


def _pull(inlet: Any, seconds: float) -> tuple[list[float], float] | None:
    """Return the next sample and its time, or None if there is none."""
    values, stamp = inlet.pull_sample(timeout=seconds)
    return None if values is None else (values, stamp)


def _wait(look: Callable[[float], Any], timeout: float) -> Any:
    """Return what `look(seconds)` finds, which is called again and again until the time is over."""
    end = time.monotonic() + timeout
    while not (found := look(LOOK_S)) and time.monotonic() < end:
        pass
    return found


class BinClock:
    """Numbers of bins from the times at which they came, which jitter, and whose clock may go slow or fast.

    Each bin is expected one width after the one before it. By whole widths that it comes later, bins are missing; by
    what is left, the expectation moves a little.

    >>> clock = BinClock(0.1)
    >>> [clock.number(time) for time in (7.0, 7.11, 7.19, 7.3, 7.62)]
    [0, 1, 2, 3, 6]
    """

    PULL = 0.05

    def __init__(self, width: float) -> None:
        self.width, self.last, self.due = width, -1, math.nan

    def number(self, time: float) -> int:
        """Return the number of the bin that came at this time."""
        if math.isnan(self.due):
            self.due = time
        missing = round((time - self.due) / self.width)
        number = max(0, self.last + 1 + missing)
        late = time - self.due - missing * self.width
        if missing >= 0:  # else it came twice, or too late
            self.last, self.due = number, time + self.width - (1 - self.PULL) * late
        return number


def open_layer(name: str, model: Model) -> Callable[[np.ndarray], None]:
    """Open an outlet of the Lab Streaming Layer, and return what pushes estimates into it."""
    lsl = _import_layer()
    rate = 1.0 / model.head.binning.bin_width
    info = lsl.StreamInfo(name, "decoded", len(model.head.outputs), rate, "double64", f"neurofs {name}")
    outlet = lsl.StreamOutlet(info)
    return lambda estimate: outlet.push_sample(estimate.tolist())


def _import_layer() -> Any:
    try:
        import pylsl
    except (ImportError, RuntimeError) as error:
        raise UsageError(f"Lab Streaming Layer cannot be used ({error}); install neurofs[stream]") from None
    return pylsl
