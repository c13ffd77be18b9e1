"""CSV and Parquet files: spikes or counts in one, behavior in another beside it, trials in a third if there are any.

`X_spikes.csv` has a line per spike (columns `time` and `channel`, and `amplitude` if it is known), or a line per bin (a
column per channel, and `time` if it is known). `X_signal.csv` has a line per sample of a continuous signal. Counts and
signals may also have a line for each channel at each time (`time`, `channel`, `count`). `X_behavior.csv` has a
column per quantity, with `time` unless it has a line per bin; columns `hand_x` and `hand_y` are one series `hand`.
`X_trials.csv` has `start`, `stop` and conditions, and `X_channels.csv` a line per channel: its name, and whatever is
known of it (`quality`, `area` …).
"""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from neurofs.ground.config import LoadOptions
from neurofs.ground.errors import InputError, quoted
from neurofs.recordings.readers.layout import interpret
from neurofs.recordings.readers.tables import Table, read_tables, split_unit
from neurofs.recordings.readers.variables import Variables
from neurofs.recordings.recording import Recording
from neurofs.recordings.words import listed, split_words, word

SPIKE_ENDS = ("_spikes", "_counts", "_signal", "")
PARTNERS = ("_behavior", "_trials", "_channels")
CHANNELS = split_words(
    "channel channels electrode unit neuron cluster channelid electrodeid unitid neuronid clusterid cellid"
)
UNITS = split_words("unit neuron cluster unitid neuronid clusterid")
VALUES = split_words("count counts nspikes spikecount spikecounts value signal dff")
"""The column of a table that has a line for each channel at each time."""

AMPLITUDES = split_words("amplitude amplitudes amp amps spikeamplitude spikeamplitudes peakamplitude peak")
STARTS, STOPS = (("start", "starttime", "trialstart"), ("stop", "stoptime", "end", "endtime", "trialstop", "trialend"))


def read(path: Path, options: LoadOptions) -> Recording:
    """Return the recording in a spikes file and the files beside it."""
    partners = _find_partners(path, options.behavior_file is None)
    tables = dict(zip(["", *partners], read_tables(path, *partners.values()), strict=True))
    values = _read_spikes(tables[""], options)
    if "counts" in values and path.stem.endswith("_signal"):
        values["signal"] = values.pop("counts")
    kind = next(kind for kind in ("signal", "counts", "spikes") if kind in values)
    given: dict[str, Any] = {kind: kind}
    if kind != "spikes" and values[kind].shape[1] > 1:
        given["orientation"] = "time-by-channel"
    if "_behavior" in tables:
        _merge(values, _read_behavior(tables["_behavior"], options), tables["_behavior"].path)
    if "_trials" in tables:
        _merge(values, _read_trials(tables["_trials"], options), tables["_trials"].path)
    if "_trials" in tables and options.trials:
        given["trial_unit"] = "time"
    chosen = {key: value for key, value in given.items() if getattr(options, key) is None}
    notes = [note for table in tables.values() for note in table.notes]
    variables = Variables(values, options.model_copy(update=chosen), notes)
    content = hashlib.sha256(b"".join(table.content for table in tables.values()))
    recording = interpret(variables, _stem(path), path.name, content.hexdigest())
    return _describe_channels(recording, tables["_channels"]) if "_channels" in tables else recording


def _stem(path: Path) -> str:
    end = next(end for end in SPIKE_ENDS if path.stem.endswith(end))
    return path.stem.removesuffix(end)


def read_variables(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Return the series of a table of behavior, with its times if it has them, and no notes."""
    [table] = read_tables(path)
    return _read_behavior(table, LoadOptions()), table.notes


def _find_partners(path: Path, behavior: bool) -> dict[str, Path]:
    """Return the files beside that of the spikes; that of the behavior must be there if it is needed."""
    for end in PARTNERS:
        if path.stem.endswith(end):
            spikes = f"{path.stem.removesuffix(end)}_spikes{path.suffix}"
            raise InputError("name", "the file with the spikes", f"one that ends in {end}", f"Name {spikes}.")
    paths = {end: path.with_name(f"{_stem(path)}{end}{path.suffix}") for end in PARTNERS}
    if behavior and not paths["_behavior"].exists():
        remedy = "Add it, name another with --behavior-file, or use one file (.npz, .h5)."
        raise InputError("behavior", "a file beside it", f"no {paths['_behavior'].name}", remedy)
    return {end: partner for end, partner in paths.items() if partner.exists()}


def _merge(values: dict[str, Any], more: dict[str, Any], path: Path) -> None:
    clash = next((name for name in more if name in values), None)
    if clash is not None:
        raise InputError(
            f"{path.name}: column {quoted(clash)}", "a name used once", "the name in two files", "Rename it."
        )
    values.update(more)


def _describe_channels(recording: Recording, table: Table) -> Recording:
    """Return a recording with what a table knows of its channels; channels without a line have missing values."""
    key = table.find(("name", *CHANNELS))
    if key is None:
        raise table.error("line 1", "a column name", listed(table.names), "Add the name of each channel.")
    names = [name.strip() for name in table.texts(key)]
    channels = set(recording.channels["name"])
    unknown = [name for name in names if name not in channels]
    if unknown or len(set(names)) < len(names):
        found = f"{quoted(unknown[0])}, which is none" if unknown else "a name twice"
        raise table.error(f"column {quoted(key)}", "names of channels, each once", found, "Correct the names.")
    known = pd.DataFrame({name: table.numbers_or_text(name) for name in table.names if name != key}, index=names)
    rows = known.reindex(recording.channels["name"]).reset_index(drop=True)
    return replace(recording, channels=pd.concat([recording.channels[["name"]].reset_index(drop=True), rows], axis=1))


def _read_spikes(table: Table, options: LoadOptions) -> dict[str, Any]:
    time, channel = table.find_time(), table.find(CHANNELS)
    if time is not None and channel is not None:
        value = table.find(VALUES)
        if value is not None and len(table.names) == 3:
            return _read_long(table, time, channel, value, options)
        if len(table.names) == 2 or not table.path.stem.endswith(("_counts", "_signal")):
            return _read_events(table, time, channel, options)
    names = [name for name in table.names if name != time]
    if not names:
        raise table.error("line 1", "a column channel, or one per channel", listed(table.names), "Add it.")
    values = {"counts": np.column_stack([table.numbers(name) for name in names]), "channel_names": names}
    return values | ({"time": _read_times(table, time, options)} if time else {})


def _read_times(table: Table, name: str, options: LoadOptions) -> np.ndarray:
    """Return times in seconds, or in the unit that the user names."""
    return table.seconds(name) if options.time_unit is None else table.numbers(name)


def _read_events(table: Table, time: str, channel: str, options: LoadOptions) -> dict[str, Any]:
    """Return spikes: of each the time, the channel, or electrode and unit, and the amplitude if it is known."""
    values: dict[str, Any] = {"spikes": _read_times(table, time, options)}
    unit, amplitude = table.find(UNITS), table.find(AMPLITUDES)
    if unit not in (None, channel):
        pairs = zip(table.texts(channel), table.texts(str(unit)), strict=True)
        values["spike_channels"] = [f"{a.strip()}.{b.strip()}" for a, b in pairs]
    else:
        values["spike_channels"] = table.numbers_or_text(channel)
    if amplitude is not None:
        values["spike_amplitudes"] = table.numbers(amplitude)
    rest = [name for name in table.names if name not in (time, channel, unit, amplitude)]
    if rest:
        table.notes.append(f"{table.path.name}: a line per spike; not used: {listed(rest)}")
    return values


def _read_long(table: Table, time: str, channel: str, value: str, options: LoadOptions) -> dict[str, Any]:
    """Return counts or a signal of which a line has one channel at one time."""
    rows, times = pd.factorize(_read_times(table, time, options), sort=True)
    columns, names = pd.factorize(np.asarray(table.numbers_or_text(channel)), sort=True)
    n_cells = len(times) * len(names)
    if len(table.numbers(value)) != n_cells or len(set(zip(rows, columns, strict=True))) != n_cells:
        found = f"{len(rows):,} lines for {len(times):,} times and {len(names):,} channels"
        remedy = "Write 0 where a channel has none, or a column per channel."
        raise table.error("lines", "one line for each channel at each time", found, remedy)
    cells = np.empty((len(times), len(names)))
    cells[rows, columns] = table.numbers(value)
    table.notes.append(f"{table.path.name}: a line for each of {len(names)} channels at each time")
    return {"counts": cells, "channel_names": [_label(name) for name in names], "time": times}


def _label(value: Any) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _read_behavior(table: Table, options: LoadOptions) -> dict[str, Any]:
    time = table.find_time()
    series: dict[str, list[str]] = {}
    for name in table.names:
        if name != time:
            series.setdefault(_series_name(name, table.names), []).append(name)
    values: dict[str, Any] = {"behavior_time": _read_times(table, time, options)} if time else {}
    for name, columns in series.items():
        values[name] = np.column_stack([table.numbers(column) for column in columns])
        if len(columns) > 1:
            values[f"{name}_columns"] = [column[len(name) + 1 :] for column in columns]
    return values


def _series_name(column: str, names: list[str]) -> str:
    """Return the series of a column: `hand` for `hand_x` if there is a `hand_y` as well."""
    stem, end = column[:-2], column[-2:]
    siblings = [name for name in names if name[:-2] == stem and name[-2:-1] == end[:1] and name[-1:] in "xyz"]
    return stem if stem and end[:1] in "_." and end[1:] in "xyz" and len(siblings) > 1 else column


def _read_trials(table: Table, options: LoadOptions) -> dict[str, Any]:
    start, stop = (_find_edge(table, words) for words in (STARTS, STOPS))
    if start is None:
        raise table.error("line 1", "a column start", listed(table.names), "Name the columns start and stop.")
    values = {"trials.start": _read_times(table, start, options)}
    if stop is not None:
        values["trials.stop"] = _read_times(table, stop, options)
    rest = [name for name in table.names if name not in (start, stop)]
    return values | {f"trials.{name}": table.numbers_or_text(name) for name in rest}


def _find_edge(table: Table, words: tuple[str, ...]) -> str | None:
    """Return the column with starts or stops, whatever unit its name states."""
    return next((name for name in table.names if {word(name), word(split_unit(name)[0])} & set(words)), None)
