"""Tables of NWB files: their plain columns."""

from typing import Any

import h5py
import numpy as np
import pandas as pd

from neurofs.recordings.readers.h5files import as_text, check_size, children, has_child, read_array, read_text


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
        return [_name_of(column.file, reference) for reference in column[()]]
    if column.dtype.kind in "biuf":
        return read_array(column)
    if column.dtype.kind == "S" or h5py.check_string_dtype(column.dtype) is not None:
        return read_text(column)
    return None


def _name_of(file: h5py.File, reference: Any) -> str:
    return str(file[reference].name).rsplit("/", 1)[-1] if reference else ""
