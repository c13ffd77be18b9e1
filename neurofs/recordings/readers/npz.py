"""NumPy archives (`.npz`), never unpickled."""

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from neurofs.ground.config import LoadOptions
from neurofs.ground.errors import InputError, quoted
from neurofs.ground.files import hash_file
from neurofs.recordings.readers.layout import interpret
from neurofs.recordings.readers.npy import read_header
from neurofs.recordings.readers.sizes import Budget, count_bytes, find_budget
from neurofs.recordings.readers.variables import Variables
from neurofs.recordings.recording import Recording

_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError)


def read(path: Path, options: LoadOptions) -> Recording:
    """Return the recording in a NumPy archive."""
    values, notes = read_variables(path)
    return interpret(Variables(values, options, notes), path.stem, path.name, hash_file(path))


def read_variables(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Return the arrays of an archive by name, and notes on what was left out."""
    values: dict[str, Any] = {}
    notes: list[str] = []
    budget = find_budget()
    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                name = info.filename.removesuffix(".npy")
                if name == info.filename:
                    notes.append(f"left out {quoted(name)}: it is not an array")
                elif name in values:
                    raise InputError(quoted(name), "one array of this name", "two", "Rename one of them.")
                else:
                    _add(values, name, _read_array(archive, info, name, budget))
    except _DAMAGE as error:
        raise InputError(
            "archive", "a NumPy archive (.npz)", error or type(error).__name__, "Get a sound copy."
        ) from None
    return values, notes


def _add(values: dict[str, Any], name: str, array: np.ndarray) -> None:
    """Put an array, or each field of a structured one, among the values."""
    for field in array.dtype.names or ():
        _add(values, f"{name}.{field}", array[field])
    if array.dtype.names is None:
        values[name] = [str(s) for s in array.ravel()] if array.dtype.kind in "US" else array


def _read_array(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str, budget: Budget) -> np.ndarray:
    where = f"array {quoted(name)}"
    budget.take(where, info.file_size, info.compress_size)
    with archive.open(info) as stream:
        shape, fortran, dtype = read_header(stream, where)
        n_bytes, n_stored = count_bytes(shape, dtype.itemsize), info.file_size - stream.tell()
        if n_bytes != n_stored:
            raise InputError(where, f"{n_bytes:,} bytes for shape {shape}", f"{n_stored:,} bytes", "Get a sound copy.")
        data = stream.read()
    if len(data) != n_bytes:
        raise InputError(where, f"{n_bytes:,} bytes", f"{len(data):,} bytes", "Get a sound copy.")
    return np.frombuffer(data, dtype=dtype).reshape(shape, order="F" if fortran else "C")
