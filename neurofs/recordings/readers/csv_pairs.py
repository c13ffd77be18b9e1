"""CSV and Parquet files: spikes or counts in one, behavior in another beside it, trials in a third if there are any.

`X_spikes.csv` has a line per spike (columns `time` and `channel`), or a line per bin (a column per channel,
and `time` if it is known). `X_signal.csv` has a line per sample of a continuous signal. `X_behavior.csv` has a
column per quantity, with `time` unless it has a line per bin; columns `hand_x` and `hand_y` are one series `hand`.
`X_trials.csv` has `start`, `stop` and conditions, and `X_channels.csv` a line per channel: its name, and whatever is
known of it (`quality`, `area` …).
"""

import csv
import hashlib
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from neurofs.ground.config import LoadOptions
from neurofs.ground.errors import InputError, quoted
from neurofs.recordings.readers.layout import interpret
from neurofs.recordings.readers.parquet import Table, read_parquet
from neurofs.recordings.readers.sizes import find_budget
from neurofs.recordings.readers.variables import Variables, listed, word
from neurofs.recordings.recording import Recording

SPIKE_ENDS = ("_spikes", "_counts", "_signal", "")
PARTNERS = ("_behavior", "_trials", "_channels")
TIMES = ("time", "times", "t", "timestamp", "timestamps", "spiketime", "spiketimes")
CHANNELS = ("channel", "channels", "electrode", "unit", "neuron", "cluster")
UNITS = ("unit", "neuron", "cluster", "unitid")
STARTS, STOPS = (("start", "starttime", "trialstart"), ("stop", "stoptime", "end", "endtime", "trialstop", "trialend"))
BYTES_PER_BYTE = 20
"""Memory that a byte of text may take while it is being read."""


def read(path: Path, options: LoadOptions) -> Recording:
    """Return the recording in a spikes file and the files beside it."""
    partners = _find_partners(path, options.behavior_file is None)
    tables = dict(zip(["", *partners], _read_tables(path, *partners.values()), strict=True))
    values = _read_spikes(tables[""])
    if "counts" in values and path.stem.endswith("_signal"):
        values["signal"] = values.pop("counts")
    kind = next(kind for kind in ("signal", "counts", "spikes") if kind in values)
    given: dict[str, Any] = {kind: kind}
    if kind != "spikes" and values[kind].shape[1] > 1:
        given["orientation"] = "time-by-channel"
    for partner, read_partner in (("_behavior", _read_behavior), ("_trials", _read_trials)):
        if partner in tables:
            _merge(values, read_partner(tables[partner]), tables[partner].path)
    if "_trials" in tables and options.trials:
        given["trial_unit"] = "time"
    chosen = {key: value for key, value in given.items() if getattr(options, key) is None}
    variables = Variables(values, options.model_copy(update=chosen))
    content = hashlib.sha256(b"".join(table.content for table in tables.values()))
    recording = interpret(variables, _stem(path), path.name, content.hexdigest())
    return _describe_channels(recording, tables["_channels"]) if "_channels" in tables else recording


def _stem(path: Path) -> str:
    end = next(end for end in SPIKE_ENDS if path.stem.endswith(end))
    return path.stem.removesuffix(end)


def read_variables(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Return the series of a table of behavior, with its times if it has them, and no notes."""
    return _read_behavior(*_read_tables(path)), []


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


class _Table:
    """A CSV file as columns of text, with the line numbers that messages need."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_file():
            raise self.error("", "a file", "a folder, a pipe or a device", "Rename it, or put a table in its place.")
        find_budget().take(path.name, path.stat().st_size * BYTES_PER_BYTE, 2**62)
        self.content = path.read_bytes()
        try:
            lines = self._read_lines(io.StringIO(self.content.decode("utf-8-sig"), newline=""))
        except (UnicodeDecodeError, csv.Error) as error:
            raise self.error("", "text in UTF-8, separated by commas", error, "Save it as CSV.") from None
        self.names = [name.strip() for name in lines[0]]
        self._check_header()
        columns = list(zip(*lines[1:], strict=True)) or [()] * len(self.names)
        self.columns = dict(zip(self.names, columns, strict=True))

    def _read_lines(self, stream: Any) -> list[list[str]]:
        head = stream.readline()
        stream.seek(0)
        delimiter = next((mark for mark in ",;\t" if mark in head), ",")
        reader = csv.reader(stream, delimiter=delimiter, strict=True)
        lines: list[list[str]] = []
        for line in reader:
            if lines and line and len(line) != len(lines[0]):
                raise self.error(
                    f"line {reader.line_num}", f"{len(lines[0])} values", f"{len(line)} values", "Correct the line."
                )
            lines += [line] if line else []
        if len(lines) < 2:
            raise self.error("", "a header and at least one line", f"{len(lines)} lines", "Check the file.")
        return lines

    def _check_header(self) -> None:
        if all(_is_number(name) for name in self.names):
            raise self.error("line 1", "the names of the columns", listed(self.names), "Add a header.")
        times = Counter(self.names)
        repeated = next((name for name in self.names if not name or times[name] > 1), None)
        if repeated is not None:
            raise self.error("line 1", "a different name for each column", quoted(repeated), "Rename it.")

    def texts(self, name: str) -> Sequence[str]:
        """Return a column as it is written."""
        return self.columns[name]

    def error(self, part: str, expected: str, found: object, remedy: str) -> InputError:
        """Return an error that names this file and a part of it."""
        return InputError(f"{self.path.name}: {part}" if part else self.path.name, expected, found, remedy)

    def find(self, words: tuple[str, ...]) -> str | None:
        """Return the column known by one of these words."""
        return next((name for name in self.names if word(name) in words), None)

    def numbers(self, name: str) -> np.ndarray:
        """Return a column as numbers; an empty value is missing (NaN), any other text an error."""
        texts = [text.strip() or "nan" for text in self.texts(name)]
        try:
            return np.array(texts, dtype=np.float64)
        except ValueError:
            row = next(i for i, text in enumerate(texts) if not _is_number(text))
            raise self.error(
                f"line {row + 2}, column {quoted(name)}", "a number", quoted(texts[row]), "Correct the value."
            ) from None

    def numbers_or_text(self, name: str) -> Any:
        """Return a column as numbers if it has only such, else as text."""
        texts = [text.strip() for text in self.texts(name)]
        return self.numbers(name) if all(_is_number(t) or not t for t in texts) else texts


class _ParquetTable(_Table):
    """The same of a Parquet file, whose columns have types."""

    def __init__(self, path: Path, content: Table) -> None:
        self.path = path
        self.content = path.read_bytes()
        self.names = [name.strip() for name in content.names]
        if len(set(self.names)) < len(self.names) or not self.names:
            raise self.error("columns", "a different name for each column", listed(self.names), "Rename them.")
        self._columns = dict(zip(self.names, content.columns, strict=True))
        self._types = dict(zip(self.names, content.types, strict=True))

    def texts(self, name: str) -> Sequence[str]:
        """Return a column as text; a missing value is empty."""
        column = self._columns[name]
        return column if isinstance(column, list) else [str(value) for value in column.tolist()]

    def numbers(self, name: str) -> np.ndarray:
        """Return a column as numbers; a missing value is NaN, anything but numbers an error."""
        column, kind = self._columns[name], self._types[name]
        if isinstance(column, list):
            raise self.error(f"column {quoted(name)}", "numbers", kind, "Convert it to seconds or numbers.")
        return column.astype(np.float64)

    def numbers_or_text(self, name: str) -> Any:
        """Return a column of numbers as it is, any other as text."""
        return self._columns[name] if isinstance(self._columns[name], list) else self.numbers(name)


def _read_tables(*paths: Path) -> list[_Table]:
    """Return the tables in files of one kind."""
    if paths[0].suffix.lower() == ".parquet":
        return [_ParquetTable(path, content) for path, content in zip(paths, read_parquet(*paths), strict=True)]
    return [_Table(path) for path in paths]


def _describe_channels(recording: Recording, table: _Table) -> Recording:
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


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _read_spikes(table: _Table) -> dict[str, Any]:
    time, channel = table.find(TIMES), table.find(CHANNELS)
    if time is not None and channel is not None and len(table.names) == 2:
        return {"spikes": table.numbers(time), "spike_channels": table.numbers_or_text(channel)}
    if time is not None and channel is not None and table.find(UNITS) not in (None, channel):
        return _read_units(table, time, channel, str(table.find(UNITS)))
    names = [name for name in table.names if name != time]
    if not names:
        raise table.error("line 1", "a column channel, or one per channel", listed(table.names), "Add it.")
    values = {"counts": np.column_stack([table.numbers(name) for name in names]), "channel_names": names}
    return values | ({"time": table.numbers(time)} if time else {})


def _read_units(table: _Table, time: str, channel: str, unit: str) -> dict[str, Any]:
    """Return spikes of which a line has the time, the electrode and the unit on it."""
    rest = [name for name in table.names if name not in (time, channel, unit)]
    if rest:
        raise table.error("line 1", "time, channel and unit of each spike", listed(table.names), "Leave out others.")
    pairs = zip(table.texts(channel), table.texts(unit), strict=True)
    return {"spikes": table.numbers(time), "spike_channels": [f"{a.strip()}.{b.strip()}" for a, b in pairs]}


def _read_behavior(table: _Table) -> dict[str, Any]:
    time = table.find(TIMES)
    series: dict[str, list[str]] = {}
    for name in table.names:
        if name != time:
            series.setdefault(_series_name(name, table.names), []).append(name)
    values: dict[str, Any] = {"behavior_time": table.numbers(time)} if time else {}
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


def _read_trials(table: _Table) -> dict[str, Any]:
    start, stop = table.find(STARTS), table.find(STOPS)
    if start is None:
        raise table.error("line 1", "a column start", listed(table.names), "Name the columns start and stop.")
    values = {"trials.start": table.numbers(start)}
    if stop is not None:
        values["trials.stop"] = table.numbers(stop)
    rest = [name for name in table.names if name not in (start, stop)]
    return values | {f"trials.{name}": table.numbers_or_text(name) for name in rest}
