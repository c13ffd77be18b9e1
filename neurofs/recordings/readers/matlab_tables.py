"""Tables and timetables of MATLAB files, which only mat-io knows how to read (extra `matlab`).

It does so in a process apart (`readers.apart`). A column of the table `kin` is the variable `kin.vx`; a timetable also
tells when, in seconds (`kin.vx_time`).
"""

import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from neurofs.ground.errors import InputError, printable
from neurofs.recordings.readers.apart import read_apart

OPTION = "future.infer_string"
REMEDY = "tables and timetables are read with mat-io: pip install 'neurofs[matlab]'"
_DAMAGE = (
    *(ValueError, TypeError, LookupError, AttributeError, OSError, EOFError, OverflowError),
    *(NotImplementedError, RuntimeError, MemoryError, AssertionError),
)


def read_tables(path: Path, notes: list[str]) -> dict[str, Any]:
    """Return the columns of all tables of a file by name; what goes wrong is noted, since the rest can be read."""
    if find_spec("matio") is None:
        notes.append(REMEDY)
        return {}
    try:
        values, more = read_apart(__name__, "find_tables", path)
    except InputError as error:
        notes.append(f"tables: mat-io cannot read them: {error.found}")
        return {}
    notes += more
    return values


def find_tables(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Return the columns of all tables of a file by name, and a note on each table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = _import_matio().load_from_mat(str(path))
        except _DAMAGE as error:
            return {}, [f"tables: mat-io cannot read them: {printable(str(error) or type(error).__name__)}"]
    values, notes = dict[str, Any](), list[str]()
    for name, table in found.items():
        if isinstance(table, pd.DataFrame):
            values |= _take_columns(str(name), table)
            notes.append(f"table '{printable(name)}': read with mat-io, {len(table)} rows")
    return values, notes


def _import_matio() -> Any:
    """Return mat-io, which sets an option of pandas when it is imported; the option is put back."""
    before = pd.get_option(OPTION)
    try:
        import matio
    finally:
        pd.set_option(OPTION, before)
    return matio


def _take_columns(name: str, table: pd.DataFrame) -> dict[str, Any]:
    """Return the columns that hold one number or text per row, and the time of each if it is known."""
    values: dict[str, Any] = {}
    is_timed = isinstance(table.index, pd.TimedeltaIndex)
    for key in table.columns:
        column = table[key].to_numpy()
        if column.dtype.kind == "m":
            column = column.astype("timedelta64[ns]").astype(np.float64) / 1e9
        if column.dtype.kind in "biuf":
            values[f"{name}.{key}"] = column
            values |= {f"{name}.{key}_time": table.index.total_seconds().to_numpy()} if is_timed else {}
        elif column.dtype.kind in "OUT" and all(isinstance(item, str) for item in column):
            values[f"{name}.{key}"] = [str(item) for item in column]
    return values
