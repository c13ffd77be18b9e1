"""Tables of Parquet files, which pyarrow unpacks in a process apart: a page may become more than the file says."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from neurofs.ground.errors import InputError
from neurofs.recordings.readers.apart import read_apart
from neurofs.recordings.readers.sizes import count_bytes, find_budget


class Columns(NamedTuple):
    """Columns in the order of the file: numbers, or a list of texts; and what Parquet calls their types."""

    names: list[str]
    columns: list[np.ndarray | list[str]]
    types: list[str]


def read_parquet(*paths: Path) -> list[Columns]:
    """Return the tables in some files."""
    if find_spec("pyarrow") is None:
        remedy = "Install it: pip install 'neurofs[parquet]'."
        raise InputError("format", "the package pyarrow, which reads it", "none", remedy)
    for path in paths:
        if not path.is_file():
            raise InputError(path.name, "a file", "a folder, a pipe or a device", "Put a table in its place.")
    values, _ = read_apart(__name__, "find_columns", *paths)
    return [_take_table(values, i, path) for i, path in enumerate(paths)]


def _take_table(values: dict[str, Any], number: int, path: Path) -> Columns:
    """Return one of the tables that came back, if there is room for it."""
    parts, texts = values["parts"][number], values["texts"][number]
    find_budget().take(path.name, sum(part.nbytes for part in parts), path.stat().st_size)
    columns = [[words[i] for i in part] if words else part for part, words in zip(parts, texts, strict=True)]
    return Columns(values["names"][number], columns, values["types"][number])


def find_columns(*paths: Path) -> tuple[dict[str, Any], list[str]]:
    """Return the columns of each file: arrays of numbers, or of places in a list of texts; and no notes."""
    tables = [_read(path) for path in paths]
    pairs = [[_take_column(column) for column in table.columns] for table in tables]
    return {
        "names": [list(table.column_names) for table in tables],
        "parts": [[part for part, _ in columns] for columns in pairs],
        "texts": [[texts for _, texts in columns] for columns in pairs],
        "types": [[str(column.type) for column in table.columns] for table in tables],
    }, []


def _read(path: Path) -> Any:
    """Return the table of a file as pyarrow reads it, if it does not say that it is too large."""
    import pyarrow
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(path)
        declared = count_bytes((file.metadata.num_rows, file.metadata.num_columns), 8)
        find_budget().take(path.name, declared, path.stat().st_size)
        return file.read()
    except (pyarrow.ArrowException, OSError, ValueError, MemoryError) as error:
        raise InputError(path.name, "a Parquet file", error, "Write it again.") from None


def _take_column(column: Any) -> tuple[np.ndarray, list[str]]:
    """Return numbers and no texts; or the place of each value among all texts, and these; a missing one is empty.

    Durations are numbers of seconds.
    """
    values = column.to_numpy()
    if values.dtype.kind == "m":
        values = np.where(np.isnat(values), np.nan, values / np.timedelta64(1, "s"))
    if values.dtype.kind in "biuf":
        return values, []
    places, texts = pd.factorize(np.array(["" if v is None else str(v) for v in column.to_pylist()], dtype=object))
    return places, [str(text) for text in texts]
