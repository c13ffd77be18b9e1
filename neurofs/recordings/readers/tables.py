"""Tables with named columns: text (CSV, TSV) and Parquet.

Text may be separated by commas, semicolons or tabs; where semicolons or tabs separate, a comma may be the decimal mark.
An index that pandas wrote beside the columns is left out, and so noted.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from neurofs.ground.errors import InputError, quoted
from neurofs.recordings.readers.parquet import Columns, read_parquet
from neurofs.recordings.readers.sizes import find_budget
from neurofs.recordings.words import listed, word

TIMES = ("time", "times", "t", "timestamp", "timestamps", "spiketime", "spiketimes")
UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "msec", "msecs", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "usec", "µs", "μs", "microsecond", "microseconds"), 1e-6),
}
"""Seconds per unit, as the name of a column states it: `time_ms`, `Time (ms)`."""

STATED = re.compile(r"^(.*?)[\s_.\[(]+([a-zµμ]+)[\])]*$", re.IGNORECASE)
INDEX = re.compile(r"(Unnamed: 0|__index_level_0__|)")
"""How pandas calls an index that has no name."""

DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(e[+-]?\d+)?", re.IGNORECASE)
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")
BYTES_PER_BYTE = 20
"""Memory that a byte of text may take while it is being read."""


class Table:
    """A CSV file as columns of text, with the line numbers that messages need."""

    def __init__(self, path: Path) -> None:
        self.path, self.notes = path, list[str]()
        if not path.is_file():
            raise self.error("", "a file", "a folder, a pipe or a device", "Rename it, or put a table in its place.")
        find_budget().take(path.name, path.stat().st_size * BYTES_PER_BYTE, 2**62)
        self.content = path.read_bytes()
        try:
            lines = self._read_lines(io.StringIO(self.content.decode("utf-8-sig"), newline=""))
        except (UnicodeDecodeError, csv.Error) as error:
            raise self.error("", "text in UTF-8, separated by commas", error, "Save it as CSV.") from None
        if lines[0][0].strip() == "scorer":
            remedy = "Keep one line of names, such as hand_x and hand_y, and make samples of low likelihood empty."
            raise self.error("line 1", "the names of the columns", "the first of three, as DeepLabCut has", remedy)
        self.names = [name.strip() for name in lines[0]]
        columns = list(zip(*lines[1:], strict=True)) or [()] * len(self.names)
        first = columns[0]
        if self._has_index(lambda: np.array(first, dtype=np.float64) if all(map(is_number, first)) else None):
            columns = columns[1:]
        self._check_header()
        self.columns = dict(zip(self.names, columns, strict=True))

    def _read_lines(self, stream: Any) -> list[list[str]]:
        head = stream.readline()
        stream.seek(0)
        self.delimiter = next((mark for mark in ",;\t" if mark in head), ",")
        reader = csv.reader(stream, delimiter=self.delimiter, strict=True)
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

    def _has_index(self, read: Any) -> bool:
        """Leave out a first column without a name, if it numbers the lines and is no time; refuse any other."""
        if len(self.names) < 2 or not INDEX.fullmatch(self.names[0]):
            return False
        index = read()
        numbers = index is not None and bool((index == np.rint(index)).all()) and len(set(index)) == len(index)
        in_order = numbers and bool((np.diff(index) == 1).all())
        if not numbers or not (in_order or find_time(self.names[1:])):
            remedy = "Name it: time, if it is the time of each line."
            raise self.error("line 1", "a name for each column", "none for the first", remedy)
        del self.names[0]
        self.notes.append(f"{self.path.name}: the first column, which has no name, is an index and left out")
        return True

    def _check_header(self) -> None:
        if all(is_number(name) for name in self.names):
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

    def find(self, words: Sequence[str]) -> str | None:
        """Return the column known by one of these words."""
        return next((name for name in self.names if word(name) in words), None)

    def find_time(self) -> str | None:
        """Return the column with times, whatever unit its name states."""
        return find_time(self.names)

    def seconds(self, name: str) -> np.ndarray:
        """Return a column of times in seconds, from the unit that its name states."""
        per_unit = split_unit(name)[1]
        if per_unit in (None, 1.0):
            return self.numbers(name)
        self.notes.append(f"{self.path.name}: {quoted(name)} multiplied by {per_unit:g} to make seconds")
        return self.numbers(name) * per_unit

    def numbers(self, name: str) -> np.ndarray:
        """Return a column as numbers; an empty value is missing (NaN), any other text an error."""
        texts = [text.strip() or "nan" for text in self.texts(name)]
        try:
            return np.array(texts, dtype=np.float64)
        except ValueError:
            row = next(i for i, text in enumerate(texts) if not is_number(text))
            if self._has_decimal_commas(texts):
                return np.array([text.replace(",", ".") for text in texts], dtype=np.float64)
        remedy = "Write times in seconds." if ":" in texts[row] else "Correct the value."
        where = f"line {row + 2}, column {quoted(name)}"
        raise self.error(where, "a number", quoted(texts[row]), remedy) from None

    def _has_decimal_commas(self, texts: Sequence[str]) -> bool:
        """Tell whether the numbers of a column have decimal commas; those that may be thousands are none."""
        odd = [text for text in texts if not is_number(text)]
        if self.delimiter == "," or not all(map(DECIMAL_COMMA.fullmatch, odd)):
            return False
        if any("." in text for text in texts) or all(map(THOUSANDS.fullmatch, odd)):
            return False
        note = f"{self.path.name}: commas are read as decimal marks"
        self.notes += [note] if note not in self.notes else []
        return True

    def numbers_or_text(self, name: str) -> Any:
        """Return a column as numbers if it has only such, else as text."""
        texts = [text.strip() for text in self.texts(name)]
        if all(is_number(t) or not t for t in texts) or self._has_decimal_commas([t or "nan" for t in texts]):
            return self.numbers(name)
        return texts


class ParquetTable(Table):
    """The same of a Parquet file, whose columns have types."""

    def __init__(self, path: Path, content: Columns) -> None:
        self.path, self.notes, self.content = path, [], path.read_bytes()
        self.names = [name.strip() for name in content.names]
        columns, types = content.columns, content.types
        if "__index_level_0__" in self.names:  # pandas writes it last
            places = sorted(range(len(self.names)), key=lambda i: self.names[i] != "__index_level_0__")
            self.names, types = ([part[i] for i in places] for part in (self.names, types))
            columns = [columns[i] for i in places]
        if columns and self._has_index(lambda: None if isinstance(columns[0], list) else columns[0]):
            columns, types = columns[1:], types[1:]
        if len(set(self.names)) < len(self.names) or not self.names:
            raise self.error("columns", "a different name for each column", listed(self.names), "Rename them.")
        self._columns = dict(zip(self.names, columns, strict=True))
        self._types = dict(zip(self.names, types, strict=True))

    def texts(self, name: str) -> Sequence[str]:
        """Return a column as text; a missing value is empty."""
        column = self._columns[name]
        return column if isinstance(column, list) else [str(value) for value in column.tolist()]

    def numbers(self, name: str) -> np.ndarray:
        """Return a column as numbers; a missing value is NaN, anything but numbers an error."""
        column = self._columns[name]
        if isinstance(column, list):
            found = self._types[name]
            raise self.error(f"column {quoted(name)}", "numbers", found, "Convert it to seconds or numbers.")
        return column.astype(np.float64)

    def numbers_or_text(self, name: str) -> Any:
        """Return a column of numbers as it is, any other as text."""
        return list(self.texts(name)) if isinstance(self._columns[name], list) else self.numbers(name)


def read_tables(*paths: Path) -> list[Table]:
    """Return the tables in files of one kind."""
    if paths[0].suffix.lower() == ".parquet":
        return [ParquetTable(path, content) for path, content in zip(paths, read_parquet(*paths), strict=True)]
    return [Table(path) for path in paths]


def split_unit(name: str) -> tuple[str, float | None]:
    """Return the name of a column without its unit of time, and the seconds of one; None if it states none.

    >>> split_unit("Time (ms)"), split_unit("spike_time"), split_unit("t_s")
    (('Time', 0.001), ('spike_time', None), ('t', 1.0))
    """
    found = STATED.match(name.strip())
    unit = UNITS.get(found[2].lower()) if found else None
    return (name, None) if found is None or unit is None else (found[1], unit)


def find_time(names: Sequence[str]) -> str | None:
    """Return the name that is one of times, whatever unit it states."""
    return next((name for name in names if word(name) in TIMES or word(split_unit(name)[0]) in TIMES), None)


def is_number(text: str) -> bool:
    """Tell whether a text is a number, as NumPy reads it."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text
