"""Reading HDF5 files that nobody vouches for.

Only what is stored in the file itself is read: external links, external storage and virtual data sets are
refused, and the size that a data set declares is checked before anything is allocated (`Budget`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from neurofs.ground.errors import InputError, printable
from neurofs.recordings.readers.sizes import Budget


@contextmanager
def open_h5(path: Path, *, free_layout: bool = False) -> Iterator[h5py.File]:
    """Open an HDF5 file for reading; anything the library cannot read becomes an `InputError`.

    With a `free_layout`, where any content may be met, so does whatever else goes wrong inside.
    """
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        remedy = "The file may be truncated or of another format; fetch it again."
        raise InputError(path.name, "an HDF5 file", _first_line(error), remedy) from None
    with file:
        try:
            yield file
        except (OSError, RuntimeError, LookupError, ValueError, TypeError, MemoryError) as error:
            if not free_layout and not _raised_in_h5py(error):
                raise
            remedy = "The file is damaged; fetch it again."
            raise InputError(path.name, "a sound HDF5 file", _first_line(error), remedy) from None


def _raised_in_h5py(error: BaseException) -> bool:
    """Whether an error comes from the library, which meets damage at any access, and not from our code."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and str(trace.tb_frame.f_globals.get("__name__", "")).startswith("h5py")


def children(group: h5py.Group) -> Iterator[tuple[str, Any]]:
    """Yield the name and object of each member that lies in this file; external links are passed over."""
    for name in group:
        link = group.get(name, getlink=True)
        if not isinstance(link, h5py.ExternalLink):
            yield name, get_child(group, name)


def get_child(group: h5py.Group, name: str) -> Any:
    """Return a member of a group, or None if there is no such name; links that leave the file are refused."""
    if name not in group and group.get(name, getlink=True) is None:
        return None
    link = group.get(name, getlink=True)
    where = where_in(group, name)
    if isinstance(link, h5py.ExternalLink):
        remedy = "Links to other files are not followed; copy the data into one file."
        raise InputError(where, "data stored in this file", f"an external link to {link.filename}", remedy)
    try:
        return group[name]
    except (KeyError, OSError, RuntimeError) as error:
        found = f"a link to {link.path}, which leads nowhere" if isinstance(link, h5py.SoftLink) else _first_line(error)
        raise InputError(where, "an object that can be read", found, "The file is damaged; fetch it again.") from None


def check_size(dataset: h5py.Dataset, budget: Budget | None = None) -> None:
    """Refuse a data set that is stored elsewhere, or that the budget (one of its own by default) refuses."""
    where = where_in(dataset)
    if dataset.is_virtual or dataset.external:
        remedy = "Data in other files is not read; copy it into this one."
        raise InputError(where, "data stored in this file", "virtual or external storage", remedy)
    declared = (dataset.size or 0) * dataset.dtype.itemsize
    (budget or Budget()).take(where, declared, dataset.id.get_storage_size())


def read_array(dataset: Any, where: str = "") -> np.ndarray:
    """Return a data set of numbers as an array, after the checks of `check_size`."""
    if not isinstance(dataset, h5py.Dataset) or dataset.shape is None or dataset.dtype.kind not in "biuf":
        found = f"{dataset.dtype} data" if isinstance(dataset, h5py.Dataset) else type(dataset).__name__.lower()
        raise InputError(where or "object", "a data set of numbers", found, "Check the layout of the file.")
    check_size(dataset)
    return read_content(dataset)


def read_text(dataset: h5py.Dataset) -> np.ndarray:
    """Return a data set of strings as an array of str; bytes that are not UTF-8 are replaced."""
    check_size(dataset)
    values = np.asarray(read_content(dataset), dtype=object)
    return np.array([as_text(v) for v in values.ravel()], dtype=object).reshape(values.shape)


def as_text(value: Any) -> str:
    """Return text that HDF5 may hand out as bytes."""
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)


def read_content(dataset: h5py.Dataset, part: Any = ()) -> Any:
    """Return what a data set holds, or a part of it, as the library reads it."""
    try:
        return dataset[part]
    except (OSError, RuntimeError, ValueError, MemoryError) as error:
        remedy = "The file is damaged or needs a filter that is not installed; fetch it again."
        raise InputError(where_in(dataset), "data that can be read", _first_line(error), remedy) from None


def where_in(item: h5py.Group | h5py.Dataset, name: str = "") -> str:
    """Return how a message names an object of a file, or a member of it."""
    return f"{item.name.rstrip('/')}{'/' if name else ''}{name}"


def _first_line(error: BaseException) -> str:
    text = str(error.args[0] if error.args else error)
    return printable(text.splitlines()[0] if text else type(error).__name__)
