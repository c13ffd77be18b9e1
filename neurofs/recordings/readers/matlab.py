"""MATLAB files: version 5 (and 4) with scipy, version 7.3 as the HDF5 it is.

A variable keeps MATLAB's orientation, a cell array becomes a list in MATLAB's (column) order, a struct a
dict, an array of structs a list of dicts. Cells in rows and columns are a list of rows. Tables are read where mat-io is
there (`readers.matlab_tables`); other objects and function handles are left out and noted.
"""

import io
import math
import struct
import warnings
import zlib
from pathlib import Path
from typing import Any

import scipy.io
import scipy.sparse
from scipy.io.matlab import MatlabFunction, MatlabObject, MatlabOpaque, MatReadError

from neurofs.ground.config import LoadOptions
from neurofs.ground.errors import InputError, printable, quoted
from neurofs.ground.files import hash_file
from neurofs.recordings.readers.cell_explorer import arrange, is_cell_explorer
from neurofs.recordings.readers.layout import interpret
from neurofs.recordings.readers.mat5 import check_and_inflate
from neurofs.recordings.readers.matlab_tables import read_tables
from neurofs.recordings.readers.sizes import Budget, count_bytes, find_budget
from neurofs.recordings.readers.variables import LeftOut, Variables, drop_left_out, flatten, join_rows
from neurofs.recordings.recording import Recording

_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_DAMAGE = (
    *(MatReadError, struct.error, zlib.error, OSError, EOFError, MemoryError),
    *(ValueError, TypeError, LookupError, OverflowError, NotImplementedError),
)


def read(path: Path, options: LoadOptions) -> Recording:
    """Return the recording in a MATLAB file."""
    values, notes = read_variables(path)
    if is_cell_explorer(values):
        values = arrange(values, notes)
    variables = Variables(values, options, notes, index_base=1)
    return interpret(variables, path.stem.removesuffix(".spikes.cellinfo"), path.name, hash_file(path))


def read_variables(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Return the variables of a MATLAB file by name, and notes on what was left out."""
    if is_version_73(path):
        from neurofs.recordings.readers import matlab73

        raw, notes = matlab73.read_raw(path)
    else:
        raw, notes = _read_with_scipy(path)
    flat: dict[str, Any] = {}
    flatten(raw, "", flat)
    if any(isinstance(value, LeftOut) for value in flat.values()):
        tables = read_tables(path, notes)
        known = {name.partition(".")[0] for name in tables}
        hidden = {"None"} if tables else set()  # what scipy calls every object of a version 5 file
        flat = {name: value for name, value in flat.items() if name not in known | hidden} | tables
    return drop_left_out(flat, notes), notes


def is_version_73(path: Path) -> bool:
    """Tell whether a MATLAB file is HDF5, which may begin after a block of 512 bytes."""
    with path.open("rb") as stream:
        head = stream.read(512 + len(_HDF5_SIGNATURE))
    return head.startswith(_HDF5_SIGNATURE) or head[512:] == _HDF5_SIGNATURE


def _read_with_scipy(path: Path) -> tuple[dict[str, Any], list[str]]:
    budget = find_budget()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            content = path.read_bytes()
            if 0 in content[:4]:
                _check_version_4(content)
            else:
                content = check_and_inflate(content, budget)
            found = scipy.io.loadmat(io.BytesIO(content))
            raw = {k: _convert(v, k, budget) for k, v in found.items() if not k.startswith("__")}
        except _DAMAGE as error:
            raise InputError(
                "content",
                "a MATLAB file of version 5 or 7.3",
                str(error) or type(error).__name__,
                "Get a sound copy, or save it again in MATLAB.",
            ) from None
    return raw, [printable(w.message) for w in caught]


def _check_version_4(content: bytes) -> None:
    """Check the shapes that a version 4 file declares against its size."""
    for name, shape, kind in scipy.io.whosmat(io.BytesIO(content)):
        if kind != "sparse" and math.prod(shape) > len(content):
            raise MatReadError(f"{quoted(name)} declares the shape {shape}")


def _convert(value: Any, name: str, budget: Budget) -> Any:
    """Return what scipy read as plain arrays, text, lists and dicts."""
    budget.step(quoted(name))
    if value is None:  # an entry of a struct without fields
        return LeftOut()
    if scipy.sparse.issparse(value):
        budget.take(quoted(name), count_bytes(value.shape, value.dtype.itemsize), value.data.nbytes + 1)
        value.check_format(full_check=True)
        return value.toarray()
    if isinstance(value, (MatlabFunction, MatlabObject, MatlabOpaque)):
        return LeftOut()
    if value.dtype.names is not None:
        fields = value.dtype.names
        rows = [{f: _convert(row[f], f"{name}.{f}", budget) for f in fields} for row in value.ravel(order="F")]
        return rows[0] if len(rows) == 1 else rows
    if value.dtype.kind == "O" and value.ndim == 2 and min(value.shape) > 1:
        return [[_convert(item, name, budget) for item in row] for row in value]
    if value.dtype.kind == "O":
        return [_convert(item, name, budget) for item in value.ravel(order="F")]
    if value.dtype.kind in "US":
        return join_rows([str(row) for row in value.ravel(order="F")])
    return value
