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
from neurofs.ground.netcdf import most_memory
from neurofs.ground.system import bound_memory
from neurofs.recordings.readers.sizes import Budget, find_budget

MOST_LINKS = 16
"""Soft links that may lead to one another, as in HDF5 itself."""


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
    with file, bound_memory(most_memory(path.stat().st_size)):
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


class LeavesFile(InputError):
    """A path in a file that leads to another file."""


def has_child(group: h5py.Group, name: str) -> bool:
    """Tell whether a group has a member of this name, wherever it leads; nothing is opened."""
    return group.get(name, getlink=True) is not None


def children(group: h5py.Group) -> Iterator[tuple[str, Any]]:
    """Yield the name and object of each member that lies in this file; what leads to another is passed over."""
    for name in group:
        try:
            yield name, get_child(group, name)
        except LeavesFile:
            continue


def get_child(group: h5py.Group, path: str, n_followed: int = 0) -> Any:
    """Return what a path leads to, or None if there is no such name; paths that leave the file are refused.

    Every step is taken here, and no link is left to the library, which would follow it to any file.
    """
    item = group.file["/"] if path.startswith("/") else group
    for name in path.split("/"):
        if name in ("", "."):
            continue
        if not isinstance(item, h5py.Group):
            return None
        item = _take_step(item, name, n_followed)
        if item is None:
            return None
    return item


def _take_step(group: h5py.Group, name: str, n_followed: int) -> Any:
    """Return the member of a group, or None if there is none."""
    link = group.get(name, getlink=True)
    if link is None:
        return None
    where = where_in(group, name)
    if isinstance(link, h5py.ExternalLink):
        remedy = "Links to other files are not followed; copy the data into one file."
        raise LeavesFile(where, "data stored in this file", f"an external link to {link.filename}", remedy)
    if isinstance(link, h5py.SoftLink):
        item = get_child(group, link.path, n_followed + 1) if n_followed < MOST_LINKS else None
        found = f"a link to {link.path}, which leads nowhere"
    else:
        item, found = _open(group, name)
    if item is None:
        raise InputError(where, "an object that can be read", found, "The file is damaged; fetch it again.")
    return item


def _open(group: h5py.Group, name: str) -> tuple[Any, str]:
    """Return the object of a hard link, or None and what the library says."""
    try:
        return _keep_inside(group[name]), ""
    except (KeyError, OSError, RuntimeError) as error:
        return None, _first_line(error)


def _keep_inside(item: Any) -> Any:
    """Return an object, unless it is stored elsewhere: to ask for the shape of such data may open another file."""
    if isinstance(item, h5py.Dataset) and (item.is_virtual or item.external):
        remedy = "Data in other files is not read; copy it into this one."
        raise LeavesFile(where_in(item), "data stored in this file", "virtual or external storage", remedy)
    return item


def follow(file: h5py.File, reference: Any, where: str) -> Any:
    """Return the object of a reference, which leads to a place in this file; a name, which may leave it, is refused."""
    found: object = f"{type(reference).__name__}"
    if isinstance(reference, h5py.Reference):
        try:
            return _keep_inside(file[reference])
        except (ValueError, KeyError, RuntimeError, OSError) as error:
            found = _first_line(error)
    raise InputError(where, "a reference to an object", found, "The file is damaged; fetch it again.")


def check_size(dataset: h5py.Dataset, budget: Budget | None = None) -> None:
    """Refuse a data set that the budget (that of the file by default) refuses."""
    where = where_in(dataset)
    declared = (dataset.size or 0) * dataset.dtype.itemsize
    (budget or find_budget()).take(where, declared, dataset.id.get_storage_size())


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
    place = item.name or "an object without a name"
    return f"{place.rstrip('/')}{'/' if name else ''}{name}"


def _first_line(error: BaseException) -> str:
    text = str(error.args[0] if error.args else error)
    return printable(text.splitlines()[0] if text else type(error).__name__)
