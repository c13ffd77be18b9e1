"""MATLAB files of version 7.3: HDF5 with MATLAB's own marks on it.

MATLAB stores an array (a, b) as (b, a), text as numbers, a cell array as references to its cells, a struct
as a group, an array of structs as a group whose fields are arrays of references, and an empty array as its
shape. The attribute `MATLAB_class` says which.
"""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import scipy.sparse

from neurofs.ground.errors import InputError
from neurofs.recordings.readers.h5files import as_text, check_size, follow, get_child, open_h5, read_array, read_content
from neurofs.recordings.readers.hdf5 import find_objects
from neurofs.recordings.readers.sizes import find_budget
from neurofs.recordings.readers.variables import LeftOut, join_rows
from neurofs.recordings.words import split_words

MAX_DEPTH = 20
NUMERIC = split_words("double single logical int8 uint8 int16 uint16 int32 uint32 int64 uint64")


def read_raw(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Return the variables of a version 7.3 file as arrays, text, lists and dicts, and no notes."""
    with open_h5(path, free_layout=True) as file:
        find_objects(file)
        reader = _Reader(file)
        names = [name for name in file if not name.startswith("#")]
        return {name: reader.read(get_child(file, name), name, 0) for name in names}, []


class _Reader:
    """Reads objects of one file within one budget, so that references cannot go round for ever."""

    def __init__(self, file: h5py.File) -> None:
        self.file = file
        self.budget = find_budget()

    def read(self, item: Any, name: str, depth: int) -> Any:
        """Return one variable, field or cell."""
        self.budget.step(name)
        if depth > MAX_DEPTH:
            raise InputError(name, f"at most {MAX_DEPTH} levels of cells", "more", "The file refers to itself.")
        if isinstance(item, h5py.Group):
            return self._read_group(item, name, depth)
        if not isinstance(item, h5py.Dataset) or "MATLAB_object_decode" in item.attrs:
            return LeftOut()
        return self._read_dataset(item, name, depth)

    def _read_group(self, group: h5py.Group, name: str, depth: int) -> Any:
        if "MATLAB_sparse" in group.attrs:
            return self._read_sparse(group, name)
        if _class_of(group) not in ("struct", ""):
            return LeftOut()
        fields = {field: get_child(group, field) for field in group}
        if fields and all(_is_reference_array(item) for item in fields.values()):
            return self._read_struct_array(fields, name, depth)
        return {field: self.read(item, f"{name}.{field}", depth + 1) for field, item in fields.items()}

    def _read_struct_array(self, fields: dict[str, Any], name: str, depth: int) -> list[dict[str, Any]]:
        columns = {f: self._read_cells(item, f"{name}.{f}", depth) for f, item in fields.items()}
        lengths = {len(column) for column in columns.values()}
        if len(lengths) > 1:
            raise InputError(name, "fields of the same length", sorted(lengths), "Get a sound copy.")
        return [{f: columns[f][i] for f in columns} for i in range(lengths.pop())]

    def _read_dataset(self, item: h5py.Dataset, name: str, depth: int) -> Any:
        kind = _class_of(item)
        if item.attrs.get("MATLAB_empty", 0):
            return self._read_empty(item, kind)
        if kind == "cell":
            return self._in_rows(self._read_cells(item, name, depth), item.shape)
        if item.shape is None or item.dtype.kind not in "biuf" or kind not in (*NUMERIC, "char", ""):
            return LeftOut()
        check_size(item, self.budget)
        array = read_content(item).T
        if kind != "char":
            return array
        return join_rows(["".join(map(chr, row)) for row in np.atleast_2d(array)])

    def _read_empty(self, item: h5py.Dataset, kind: str) -> Any:
        if kind in ("cell", "struct"):
            return []
        shape = [int(n) for n in read_array(item).ravel()] if item.dtype.kind in "biuf" else [0, 0]
        return "" if kind == "char" else np.empty(shape if 0 in shape else [0, 0])

    def _read_cells(self, item: h5py.Dataset, name: str, depth: int) -> list[Any]:
        """Return the cells in MATLAB's order, which is the order in which they are stored."""
        check_size(item, self.budget)
        if not _holds_references(item):
            raise InputError(name, "references to cells", f"{item.dtype} data", "Get a sound copy.")
        return [self.read(follow(self.file, ref, name), name, depth + 1) for ref in np.ravel(item[()])]

    @staticmethod
    def _in_rows(cells: list[Any], shape: tuple[int, ...]) -> list[Any]:
        """Return cells in rows and columns as a list of rows; they are stored column by column."""
        if len(shape) != 2 or min(shape) < 2:
            return cells
        return [cells[i :: shape[1]] for i in range(shape[1])]

    def _read_sparse(self, group: h5py.Group, name: str) -> np.ndarray:
        n_rows = int(group.attrs["MATLAB_sparse"])
        parts = [get_child(group, part) for part in ("data", "ir", "jc")]
        if parts[2] is None:
            raise InputError(name, "a sparse array", "no column starts", "Get a sound copy.")
        starts = read_array(parts[2], name).ravel()
        stored = sum(part.nbytes for part in parts if isinstance(part, h5py.Dataset))
        self.budget.take(name, n_rows * (len(starts) - 1) * 8, stored)
        if parts[0] is None or parts[1] is None:
            return np.zeros((n_rows, len(starts) - 1))
        data, rows = (read_array(part, name).ravel() for part in parts[:2])
        try:
            sparse = scipy.sparse.csc_array((data, rows, starts), shape=(n_rows, len(starts) - 1))
            sparse.check_format(full_check=True)
            return sparse.toarray()
        except (ValueError, IndexError) as error:
            raise InputError(name, "a sparse array", error, "Get a sound copy.") from None


def _class_of(item: Any) -> str:
    return as_text(item.attrs.get("MATLAB_class", ""))


def _holds_references(item: h5py.Dataset) -> bool:
    return h5py.check_ref_dtype(item.dtype) is h5py.Reference


def _is_reference_array(item: Any) -> bool:
    return isinstance(item, h5py.Dataset) and _holds_references(item) and "MATLAB_class" not in item.attrs
