"""Plain HDF5: every data set of the file is a variable; groups are parts of its name."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np

from neurofs.ground.config import LoadOptions
from neurofs.ground.errors import InputError
from neurofs.ground.files import hash_file
from neurofs.recordings.readers.h5files import (
    as_text,
    check_size,
    get_child,
    open_h5,
    read_content,
    read_text,
    where_in,
)
from neurofs.recordings.readers.layout import interpret
from neurofs.recordings.readers.sizes import Budget, find_budget
from neurofs.recordings.readers.torch_brain import arrange, is_torch_brain
from neurofs.recordings.readers.variables import LeftOut, Variables, drop_left_out
from neurofs.recordings.recording import Recording

MAX_ATTRIBUTE = 2**16
MOST_OBJECTS = 100_000
MOST_LEVELS = 64


def read(path: Path, options: LoadOptions) -> Recording:
    """Return the recording in an HDF5 file; one that says it is NWB, or of torch_brain, is read as such."""
    with open_h5(path, free_layout=True) as file:
        is_nwb = "nwb_version" in file.attrs
    if is_nwb:
        from neurofs.recordings.readers import nwb

        return nwb.read(path, options)
    values, notes = read_variables(path)
    if is_torch_brain(values):
        content = arrange(values, options, notes)
        return Recording(options.name or path.stem, source=path.name, source_hash=hash_file(path), **content)
    return interpret(Variables(values, options, notes), path.stem, path.name, hash_file(path))


def read_variables(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Return the data sets and plain attributes of a file by name, and notes on what was left out."""
    flat: dict[str, Any] = {}
    budget = find_budget()
    with open_h5(path, free_layout=True) as file:
        _add_attributes(flat, file, "")
        for name, item in find_objects(file).items():
            key = name.replace("/", ".")
            if isinstance(item, h5py.Dataset):
                _add(flat, key, _read_dataset(item, budget))
            _add_attributes(flat, item, f"{key}.")
    notes: list[str] = []
    return drop_left_out(flat, notes), notes


def find_objects(file: h5py.File) -> dict[str, Any]:
    """Return every object of a file once, by its first name.

    Links are listed before any is followed. One that leaves the file or leads nowhere is refused; a soft
    link within the file is another name for an object that is found anyway.
    """
    links = _list_links(file)
    for name, kind in links:
        if kind != h5py.h5l.TYPE_HARD:
            get_child(file, name)
    found: dict[Any, tuple[str, Any]] = {}
    for name, kind in links:
        if kind == h5py.h5l.TYPE_HARD:
            item = get_child(file, name)
            if item is None:
                raise KeyError(f"object {name} does not exist")
            found.setdefault(h5py.h5o.get_info(item.id).addr, (name, item))
    return dict(found.values())


def _list_links(file: h5py.File) -> list[tuple[str, int]]:
    """Return name and kind of every link; a file of absurdly many or deep ones is refused."""
    links: list[tuple[str, int]] = []

    def note(name: bytes, info: Any) -> bool | None:
        links.append((name.decode("utf-8", "replace"), info.type))
        return True if len(links) > MOST_OBJECTS or name.count(b"/") >= MOST_LEVELS else None

    if file.id.links.visit(note, info=True):
        expected = f"at most {MOST_OBJECTS:,} objects in {MOST_LEVELS} levels of groups"
        raise InputError(where_in(file), expected, "more", "Copy what is needed into a file of its own.")
    return links


def _add(flat: dict[str, Any], name: str, value: Any) -> None:
    """Put a value, or each field of a structured array, among the variables."""
    if isinstance(value, np.ndarray) and value.dtype.names:
        for field in value.dtype.names:
            _add(flat, f"{name}.{field}", value[field])
    elif isinstance(value, np.ndarray) and value.dtype.kind not in "biuf":
        flat[name] = LeftOut()
    else:
        flat[name] = value


def _read_dataset(dataset: h5py.Dataset, budget: Budget) -> Any:
    check_size(dataset, budget)
    if dataset.shape is None:
        return LeftOut()
    if h5py.check_string_dtype(dataset.dtype) is not None:
        return _as_texts(read_text(dataset))
    if h5py.check_vlen_dtype(dataset.dtype) is not None:
        return _read_ragged(dataset, budget)
    if dataset.dtype.kind == "V" and dataset.dtype.names and not dataset.dtype.hasobject:
        return np.atleast_1d(read_content(dataset))
    return np.asarray(read_content(dataset)) if dataset.dtype.kind in "biuf" else LeftOut()


def _as_texts(texts: np.ndarray) -> str | list[str]:
    return str(texts[()]) if texts.ndim == 0 else [str(text) for text in texts.ravel()]


def _read_ragged(dataset: h5py.Dataset, budget: Budget) -> Any:
    """Return a data set of lists of different lengths, one list at a time."""
    if dataset.ndim != 1 or h5py.check_vlen_dtype(dataset.dtype).kind not in "biuf":
        return LeftOut()
    rows = []
    for i in range(len(dataset)):
        rows.append(np.asarray(read_content(dataset, i)))
        budget.take(f"{dataset.name}, row {i}", rows[-1].nbytes, rows[-1].nbytes)
    return rows


def _add_attributes(flat: dict[str, Any], item: Any, prefix: str) -> None:
    """Add the attributes that are one number or text, or a short list of either, where the name is free."""
    for name in item.attrs:
        attribute = item.attrs.get_id(name)
        plain = attribute.dtype.kind in "biuf" or h5py.check_string_dtype(attribute.dtype) is not None
        plain = plain and 0 not in (attribute.shape or ())  # the size of an empty one cannot be asked for
        key = f"{prefix}{name}"
        if not plain or attribute.get_storage_size() > MAX_ATTRIBUTE or name.isupper() or key in flat:
            continue
        value = item.attrs[name]
        if isinstance(value, bytes | str):
            flat[key] = as_text(value)
        elif isinstance(value, np.ndarray) and value.dtype.kind in "OSU":
            flat[key] = [as_text(text) for text in value.ravel()]
        else:
            flat[key] = np.asarray(value)
