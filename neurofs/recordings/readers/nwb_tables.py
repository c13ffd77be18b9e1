"""Tables of NWB files: their plain columns, and the trials."""

from typing import Any

import h5py
import numpy as np
import pandas as pd

from neurofs.ground.errors import InputError, printable
from neurofs.recordings.readers.h5files import (
    as_text,
    check_size,
    children,
    follow,
    get_child,
    has_child,
    read_array,
    read_text,
    where_in,
)
from neurofs.recordings.readers.trial_tables import leave_out_open


def plain_columns(table: h5py.Group, n_rows: int, skip: set[str]) -> pd.DataFrame:
    """Return the columns that hold one number or text per row; ragged and wide ones are left out."""
    columns = {}
    for name, column in children(table):
        ragged = name.endswith("_index") or has_child(table, f"{name}_index")
        plain = isinstance(column, h5py.Dataset) and column.shape == (n_rows,)
        if plain and not ragged and name not in skip and name != "id":
            values = _read_column(column)
            if values is not None:
                columns[name] = values
    listed = [as_text(name) for name in np.atleast_1d(table.attrs.get("colnames", []))]
    order = [name for name in listed if name in columns] + [name for name in columns if name not in listed]
    return pd.DataFrame(columns, index=range(n_rows))[order]


def _read_column(column: h5py.Dataset) -> Any:
    check_size(column)
    if h5py.check_dtype(ref=column.dtype) is not None:
        return [_name_of(column, reference) for reference in column[()]]
    if column.dtype.kind in "biuf":
        return read_array(column)
    if column.dtype.kind == "S" or h5py.check_string_dtype(column.dtype) is not None:
        return read_text(column)
    return None


def _name_of(column: h5py.Dataset, reference: Any) -> str:
    """Return the last name of the object that a reference leads to."""
    return str(follow(column.file, reference, where_in(column)).name).rsplit("/", 1)[-1] if reference else ""


def read_trials(file: h5py.File, notes: list[str]) -> pd.DataFrame | None:
    """Return the table of trials, None if there is none; those without a start or stop are left out, and noted."""
    intervals = get_child(file, "intervals")
    group = get_child(intervals, "trials") if isinstance(intervals, h5py.Group) else None
    if group is None:
        return None
    starts = get_child(group, "start_time")
    if starts is None or get_child(group, "stop_time") is None:
        found = ", ".join(printable(name) for name in group) or "nothing"
        remedy = "Leave trials out with --no-trials."
        raise InputError(where_in(group), "columns start_time and stop_time", found, remedy)
    starts = np.atleast_1d(read_array(starts, where_in(group, "start_time")))
    table = plain_columns(group, len(starts), skip=set())
    if "stop_time" not in table:
        stops = read_array(get_child(group, "stop_time"), where_in(group, "stop_time"))
        remedy = "Leave trials out with --no-trials."
        found = f"{stops.size} stops for {len(starts)} starts"
        raise InputError(where_in(group), "one stop per start", found, remedy)
    return leave_out_open(table.rename(columns={"start_time": "start", "stop_time": "stop"}), notes.append)
