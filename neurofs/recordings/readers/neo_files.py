"""Files of acquisition systems (Blackrock, Plexon, Intan, Spike2 …), read through the optional package neo.

Neo reads in a process apart, under limits (`readers.apart`).

Spike trains become channels. Signals of at most 2 kHz become behavior; faster ones are raw voltage and are
left out. An epoch named for trials, or the only one, gives the trials. Events become variables `event.NAME`,
for `--trial-start` and `--trial-stop`.
"""

import io
import re
import struct
import warnings
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from neurofs.ground.config import LoadOptions
from neurofs.ground.errors import InputError, printable, quoted
from neurofs.ground.files import hash_file
from neurofs.recordings.readers.apart import read_apart
from neurofs.recordings.readers.blackrock import read_labels
from neurofs.recordings.readers.layout import interpret
from neurofs.recordings.readers.neuralynx import MAGIC
from neurofs.recordings.readers.nex import read_signal_times
from neurofs.recordings.readers.sizes import count_bytes, find_budget
from neurofs.recordings.readers.variables import Variables
from neurofs.recordings.recording import TICK, Recording
from neurofs.recordings.words import listed, word

FASTEST = 2000.0
"""Samples per second above which a signal is taken for raw voltage."""

QUALITIES = {0: "unsorted", 255: "noise"}
"""What the numbers of units mean that are none."""

_DAMAGE = (
    *(struct.error, OSError, EOFError, MemoryError, ImportError, RuntimeError),
    *(ValueError, TypeError, LookupError, AttributeError, AssertionError, ArithmeticError),
)


def read(path: Path, options: LoadOptions) -> Recording:
    """Return the recording in a file that neo can read."""
    _require_neo()
    values, notes = read_apart(__name__, "find_all", path)
    return interpret(_arrange(values, options, notes), path.stem, path.name, hash_file(path))


def find_all(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Return everything that a file holds by name, and notes on it."""
    notes: list[str] = []
    segments = _read_segments(path, notes)
    trains = _read_trains(segments)
    values = trains | _read_labels(path, trains) | _observe(segments)
    return values | _read_rest(segments, notes, _read_times(path)), notes


def find_behavior(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Return the signals, events and epochs of a file by name, without its spikes, and notes on them."""
    notes: list[str] = []
    return _read_rest(_read_segments(path, notes), notes, _read_times(path)), notes


def _read_times(path: Path) -> dict[str, np.ndarray]:
    return read_signal_times(path) if path.suffix.lower() == ".nex" else {}


def read_segments(segments: list[Any], options: LoadOptions, name: str) -> Recording:
    """Return the recording in segments that are in memory, one after the other on one clock."""
    if not segments:
        raise InputError("Block", "a segment with spike trains", "none", "Give the Segment that has them.")
    notes: list[str] = []
    parts = [_load_parts(segment) for segment in segments]
    irregular = [str(s.name or "without a name") for s in getattr(segments[0], "irregularlysampledsignals", ())]
    if irregular:
        notes.append(f"not used: signals with times of their own ({listed(irregular)}); give them with behavior={{…}}")
    values = _read_trains(parts) | _observe(parts) | _read_rest(parts, notes, {})
    return interpret(_arrange(values, options, notes), name)


def _observe(segments: list[Any]) -> dict[str, Any]:
    return {"observed": np.array([_observed(segment) for segment in segments])}


def _arrange(values: dict[str, Any], options: LoadOptions, notes: list[str]) -> Variables:
    chosen = {"spikes": options.spikes or "spikes", "time_unit": options.time_unit or "s"}
    if "trials.start" in values and options.trials and options.trial_unit is None:
        chosen["trial_unit"] = "time"
    return Variables(values, options.model_copy(update=chosen), notes)


def _read_labels(path: Path, values: dict[str, Any]) -> dict[str, Any]:
    """Return the labels of electrodes, one per train, if the file has them."""
    labels = read_labels(path) if path.suffix.lower() == ".nev" and "channel_electrode" in values else {}
    return {"channel_label": [labels.get(int(e), "") for e in values["channel_electrode"]]} if labels else {}


def read_variables(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Return the signals, events and epochs of a file by name, without its spikes, and notes on them."""
    _require_neo()
    return read_apart(__name__, "find_behavior", path)


def _require_neo() -> None:
    if find_spec("neo") is None:
        remedy = "Install it: pip install 'neurofs[neo]'."
        raise InputError("format", "the package neo, which reads it", "none", remedy)


def _read_rest(segments: list[Any], notes: list[str], times: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return signals, with other `times` than Neo's where these are known, events and epochs."""
    signals = _read_signals(segments, notes)
    signals |= {f"{name}_time": times[name] for name in times if name in signals}
    return signals | _read_events(segments) | _read_epochs(segments, notes)


def _read_segments(path: Path, notes: list[str]) -> list[Any]:
    """Return the segments of the first block, loaded except for signals that stay on disk."""
    import neo

    _refuse_neuralynx(path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):  # progress of single formats
                reader = neo.io.get_io(path)
                lazy = bool(reader.support_lazy)
                segments = reader.read_block(lazy=lazy).segments if lazy else reader.read_block().segments
                segments = [_load_parts(segment) for segment in segments]
        except (*_DAMAGE, neo.core.NeoReadWriteError) as error:
            found = str(error) or type(error).__name__
            remedy = "Get a sound copy, or check that neo knows this version of the format."
            raise InputError("content", f"a {path.suffix} file that neo can read", found, remedy) from None
    notes += sorted({f"neo: {printable(w.message)}" for w in caught})
    if not segments:
        raise InputError("content", "a recording", "none", "Check the file.")
    return segments


def _refuse_neuralynx(path: Path) -> None:
    """Refuse events of Neuralynx, which have the ending of Blackrock's."""
    with path.open("rb") as stream:
        is_neuralynx = stream.read(len(MAGIC)) == MAGIC
    if is_neuralynx:
        remedy = "Name the .nse, .nst or .ntt files of the recording, or their folder."
        raise InputError("content", "spikes of Blackrock", "events of Neuralynx, which hold no spikes", remedy)


def _load_parts(segment: Any) -> SimpleNamespace:
    """Return the parts of a segment, loaded if neo left them on disk; of the signals those slow enough for behavior."""
    budget = find_budget()
    parts = {n: [_load(part) for part in getattr(segment, n)] for n in ("spiketrains", "epochs", "events")}
    slow = [s for s in segment.analogsignals if float(s.sampling_rate.rescale("Hz")) <= FASTEST]
    for signal in slow:
        budget.take("signals", count_bytes(signal.shape, 8), 2**62)
    return SimpleNamespace(
        **parts,
        analogsignals=[_load(signal) for signal in slow],
        n_fast=len(segment.analogsignals) - len(slow),
        t_start=segment.t_start,
        t_stop=segment.t_stop,
    )


def _load(part: Any) -> Any:
    return part.load() if hasattr(part, "load") else part


def _seconds(quantity: Any) -> Any:
    value = quantity.rescale("s").magnitude
    return float(value) if np.ndim(value) == 0 else np.asarray(value, dtype=np.float64)


def _observed(segment: Any) -> tuple[float, float]:
    """Return the span of the spike trains of a segment, with its last spike where the file ends with it."""
    trains = segment.spiketrains or [segment]
    last = max((_seconds(t.times[-1]) for t in segment.spiketrains if len(t)), default=-np.inf)
    start, stop = min(_seconds(t.t_start) for t in trains), max(_seconds(t.t_stop) for t in trains)
    return start, max(stop, last + TICK)


def _read_trains(segments: list[Any]) -> dict[str, Any]:
    names = [_train_name(train, i) for i, train in enumerate(segments[0].spiketrains)]
    for segment in segments:
        if len(segment.spiketrains) != len(names):
            raise InputError(
                "segments", f"{len(names)} spike trains in each", len(segment.spiketrains), "Split the file."
            )
    if not names:
        raise InputError("spike trains", "at least one", "none", "Name the file that holds the sorted spikes.")
    spikes = [np.concatenate([_seconds(s.spiketrains[i].times) for s in segments]) for i in range(len(names))]
    return {"spikes": spikes, "channel_names": _make_unique(names)} | _describe_trains(segments[0].spiketrains)


def _describe_trains(trains: list[Any]) -> dict[str, Any]:
    """Return electrode, unit and quality of each train, where the format has them (Blackrock, Plexon)."""
    found = [_find_source(train) for train in trains]
    if not all(found):
        return {}
    electrode, unit, quality = zip(*found, strict=True)
    return {
        "channel_electrode": np.array(electrode),
        "channel_unit": np.array(unit),
        "channel_quality": [str(text) for text in quality],
    }


def _find_source(train: Any) -> tuple[int, int, str] | None:
    """Return electrode, unit and quality of a train: unit 0 is what was not sorted, 255 is noise."""
    about = train.annotations
    if "unit_id" in about and "channel_id" in about:
        unit = int(about["unit_id"])
        return int(about["channel_id"]), unit, QUALITIES.get(unit, "sorted")
    found = re.fullmatch(r"ch(\d+)#(\d+)", str(about.get("id", "")))
    return (int(found[1]), int(found[2]), QUALITIES.get(int(found[2]), "sorted")) if found else None


def _train_name(train: Any, i: int) -> str:
    return str(train.name or train.annotations.get("id") or i)


def _make_unique(names: list[str]) -> list[str]:
    times = Counter(names)
    return [name if times[name] == 1 else f"{name} ({i})" for i, name in enumerate(names)]


def _read_signals(segments: list[Any], notes: list[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for i, signal in enumerate(segments[0].analogsignals):
        name = str(signal.name or f"signal {i}")
        parts = [s.analogsignals[i] for s in segments if i < len(s.analogsignals)]
        values[name] = np.concatenate([np.asarray(part.magnitude, dtype=np.float64) for part in parts])
        values[f"{name}_time"] = np.concatenate([_seconds(part.times) for part in parts])
        values[f"{name}_unit"] = str(signal.dimensionality)
    if segments[0].n_fast:
        notes.append(f"behavior: {segments[0].n_fast} signals above {FASTEST:g} Hz left out as raw voltage")
    return values


def _read_events(segments: list[Any]) -> dict[str, Any]:
    names = _make_unique([str(event.name or i) for i, event in enumerate(segments[0].events)])
    values: dict[str, Any] = {}
    for i, name in enumerate(names):
        times = np.concatenate([_seconds(s.events[i].times) for s in segments if i < len(s.events)])
        if len(times):
            values[f"event.{name}"] = times
    return values


def _read_epochs(segments: list[Any], notes: list[str]) -> dict[str, Any]:
    epochs = [e for s in segments for e in s.epochs if len(e.times)]
    named = [e for e in epochs if "trial" in word(str(e.name))]
    chosen = named or (epochs if len({str(e.name) for e in epochs}) == 1 else [])
    if not chosen:
        return {}
    notes.append(f"trials: the epochs {quoted(chosen[0].name)}")
    starts = np.concatenate([_seconds(e.times) for e in chosen])
    stops = starts + np.concatenate([_seconds(e.durations) for e in chosen])
    return {
        "trials.start": starts,
        "trials.stop": stops,
        "trials.label": [str(label) for e in chosen for label in e.labels],
    }
