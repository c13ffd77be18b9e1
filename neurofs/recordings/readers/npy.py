"""Single NumPy arrays (`.npy`), never unpickled."""

import tokenize
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from neurofs.ground.errors import InputError, printable
from neurofs.recordings.readers.sizes import Budget, count_bytes, find_budget

_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}

MOST_AXES = 32


def read_npy(path: Path, budget: Budget | None = None) -> np.ndarray:
    """Return the numbers of a file, after a check that it holds as many as it declares."""
    if not path.is_file():
        raise InputError(path.name, "a file", "something else", "Get a sound copy.")
    with path.open("rb") as stream:
        shape, fortran, dtype = read_header(stream, path.name)
        n_bytes, n_stored = count_bytes(shape, dtype.itemsize), path.stat().st_size - stream.tell()
        if n_bytes != n_stored:
            found = f"{n_stored:,} bytes"
            raise InputError(path.name, f"{n_bytes:,} bytes for shape {shape}", found, "Get a sound copy.")
        if dtype.kind not in "biuf":
            raise InputError(path.name, "numbers", f"{dtype}", "Check which file it is.")
        (budget or find_budget()).take(path.name, n_bytes, n_stored)
        return np.fromfile(stream, dtype=dtype).reshape(shape, order="F" if fortran else "C")


def read_header(stream: Any, where: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Return shape, order and type of the array that a stream begins with; one of Python objects is refused."""
    try:
        version = npy.read_magic(stream)
        if version not in _HEADERS:
            raise ValueError(f"format version {version}")
        shape, fortran, dtype = _HEADERS[version](stream)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError, OverflowError, tokenize.TokenError):
        raise InputError(where, "the header of a NumPy array", "other bytes", "Get a sound copy.") from None
    if dtype.hasobject:
        raise InputError(
            where,
            "numbers or text",
            "Python objects, which only unpickling could read",
            "Save a plain array; for lists of different lengths save one long array and spike_channels.",
        )
    if not all(type(n) is int and n >= 0 for n in shape) or len(shape) > MOST_AXES or dtype.itemsize == 0:
        found = f"{printable(dtype)} of shape {printable(shape)}"
        raise InputError(where, "an array of numbers or text", found, "Get a sound copy.")
    return shape, fortran, dtype
