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
from typing import IO, Any, NamedTuple

import numpy as np

from neurofs.decoders.model import Missing, Model, match_channels
from neurofs.features.tensor import build_tensor
from neurofs.ground.errors import InputError, UsageError, quoted
from neurofs.recordings.recording import Recording

MAX_LINE = 10_000_000
REMEDY = "See neurofs stream --help for the form of lines."


class Bin(NamedTuple):
    """The counts of one bin; a number of None is the next one."""

    number: int | None
    counts: np.ndarray
    trial: int | None = None


# Text


def read_lines(lines: Iterable[str], model: Model) -> Iterator[Bin]:
    """Yield the bins of JSON lines."""
    gather = _Gather(model)
    for n, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line) if len(line) <= MAX_LINE else None
        except (ValueError, RecursionError) as error:
            raise InputError(f"line {n}", "one JSON object", error, REMEDY) from None
        if not isinstance(record, dict):
            raise InputError(f"line {n}", "one JSON object", quoted(line[:60]), REMEDY)
        yield from gather.take(record, f"line {n}")


class _Gather:
    """Makes bins of records; spikes that come one by one are counted until their bin is over."""

    def __init__(self, model: Model) -> None:
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
            yield Bin(_whole(record, "bin", where), counts, _whole(record, "trial", where))
        else:
            raise InputError(where, "counts, spikes or time", ", ".join(map(str, record)) or "nothing", REMEDY)

    def _take_event(self, record: dict[str, Any], where: str) -> Iterator[Bin]:
        """Count a spike, and yield the bins that are over."""
        number = math.floor(_number(record["time"], where) / self.width + 1e-9)
        if self.number is None:
            self.number = number
        if number < self.number:
            raise InputError(where, "events in the order of time", f"{record['time']} after a later one", "Sort them.")
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
        return np.array([_number(value, where) for value in values], np.float32)


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
        if number < 0 or not np.isfinite(counts).all():
            raise InputError(f"record {n}", "a bin from 0 on, and finite counts", f"bin {number}", "Check the layout.")
        yield Bin(number, counts, None if trial < 0 else trial)


def _read_exactly(stream: IO[bytes], size: int) -> bytes:
    parts, left = [], size
    while left and (part := stream.read(left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


# Sessions


def replay_session(
    recording: Recording, model: Model, missing: Missing = "refuse", speed: float = 0.0
) -> Iterator[Bin]:
    """Yield the observed bins of a session, `speed` times as fast as they were recorded, 0 for as fast as possible."""
    width = model.head.binning.bin_width
    model.check_numbers(recording)
    tensor = build_tensor(recording, None, bin_width=width, n_lags=1)
    names = [str(name) for name in tensor["channel"].values]
    order = match_channels(model.channels, names, recording.name, missing)
    counts, trial = model.take_channels(tensor["counts"].values, order, missing), tensor["trial"].values
    started = time.perf_counter()
    for at, row in enumerate(np.flatnonzero(tensor["valid"].values)):
        if speed > 0:
            time.sleep(max(0.0, started + (at + 1) * width / speed - time.perf_counter()))
        yield Bin(int(row), counts[row], None if trial[row] < 0 else int(trial[row]))


# Lab Streaming Layer


def read_layer(name: str, model: Model, timeout: float = 10.0) -> Iterator[Bin]:
    """Yield the samples of a stream of the Lab Streaming Layer, each one bin, until it is silent or lost."""
    lsl = _import_layer()
    found = lsl.resolve_byprop("name", name, minimum=1, timeout=timeout)
    if not found:
        raise UsageError(f"no stream named {quoted(name)} on this network within {timeout:g} s; is its outlet open?")
    info, n_channels, width = found[0], len(model.channels), model.head.binning.bin_width
    if info.channel_count() != n_channels:
        raise UsageError(
            f"stream {quoted(name)}: expected the {n_channels} channels of the model; found {info.channel_count()}"
        )
    inlet, first = lsl.StreamInlet(info, recover=False), None
    while True:
        try:
            values, stamp = inlet.pull_sample(timeout=timeout)
        except lsl.util.LostError:
            return
        if values is None:
            return
        first = stamp if first is None else first
        yield Bin(max(0, round((stamp - first) / width)), np.asarray(values, np.float32))


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
