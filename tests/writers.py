"""Files for tests: MATLAB 7.3 in MATLAB's own layout, Blackrock events byte by byte, raw archives."""

from __future__ import annotations

import itertools
import struct
import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np

_numbers = itertools.count()


def write_npz(path: Path, **arrays: Any) -> Path:
    np.savez_compressed(path, **arrays)
    return path


def write_h5(path: Path, **values: Any) -> Path:
    with h5py.File(path, "w") as file:
        for name, value in values.items():
            file[name.replace("__", "/")] = value
    return path


def write_text(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def npy_header(shape: tuple[int, ...], descr: str) -> bytes:
    """The header of a `.npy` file that may declare anything."""
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape!r}, }}".encode()
    text += b" " * (63 - (10 + len(text)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def write_raw_npz(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return path


def write_mat73(path: Path, **variables: Any) -> Path:
    """Write variables as MATLAB does with -v7.3: axes reversed, references for cells, marks as attributes."""
    with h5py.File(path, "w", userblock_size=512) as file:
        refs = file.create_group("#refs#")
        for name, value in variables.items():
            _put(refs, file, name, value)
    with path.open("r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created on: Mon Jan  1 00:00:00 2024".ljust(124))
        stream.write(b"\x00\x02IM")
    return path


def _put(refs: h5py.Group, parent: h5py.Group, name: str, value: Any) -> Any:
    if isinstance(value, dict):
        item = parent.create_group(name)
        for key, field in value.items():
            _put(refs, item, key, field)
        kind = "struct"
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        item = parent.create_group(name)
        for key in value[0]:
            item.create_dataset(key, data=_put_cells(refs, [entry[key] for entry in value]))
        kind = "struct"
    elif isinstance(value, np.ndarray) and value.dtype == object:
        cells = _put_cells(refs, list(value.T.ravel())).reshape(value.T.shape)
        item, kind = parent.create_dataset(name, data=cells), "cell"
    elif isinstance(value, list) and value:
        item, kind = parent.create_dataset(name, data=_put_cells(refs, value)), "cell"
    elif isinstance(value, list):
        return _put_empty(parent, name, (0, 0), "cell")
    elif isinstance(value, str):
        if not value:
            return _put_empty(parent, name, (0, 0), "char")
        codes = np.array([[ord(c)] for c in value], dtype=np.uint16)
        item, kind = parent.create_dataset(name, data=codes), "char"
        item.attrs["MATLAB_int_decode"] = np.int32(2)
    else:
        array = np.atleast_2d(value)
        kind = "logical" if array.dtype == bool else {"float64": "double"}.get(str(array.dtype), str(array.dtype))
        if not array.size:
            return _put_empty(parent, name, array.shape, kind)
        stored = array.T.astype(np.uint8) if array.dtype == bool else array.T
        item = parent.create_dataset(name, data=stored)
    item.attrs["MATLAB_class"] = np.bytes_(kind)
    return item


def _put_cells(refs: h5py.Group, values: list[Any]) -> np.ndarray:
    cells = np.empty((len(values), 1), dtype=h5py.ref_dtype)
    for i, value in enumerate(values):
        cells[i, 0] = _put(refs, refs, f"cell{next(_numbers)}", value).ref
    return cells


def _put_empty(parent: h5py.Group, name: str, shape: tuple[int, ...], kind: str) -> Any:
    item = parent.create_dataset(name, data=np.array(shape, dtype=np.uint64))
    item.attrs["MATLAB_class"] = np.bytes_(kind)
    item.attrs["MATLAB_empty"] = np.uint8(1)
    return item


def write_nev(path: Path, spikes: list[tuple[int, int, int]], rate: int = 30000) -> Path:
    """Write a Blackrock event file (NEV 2.2): spikes are (timestamp, electrode, unit), sorted by time."""
    electrodes = sorted({electrode for _, electrode, _ in spikes})
    packet = 8 + 2 * 48
    headers = b"".join(
        struct.pack("<8sHBBHHhhBBH8s", b"NEUEVWAV", e, 1, e, 1000, 0, 0, -60, 2, 2, 48, b"") for e in electrodes
    )
    start = 336 + len(headers)
    basic = struct.pack("<8sBBHIIII", b"NEURALEV", 2, 2, 1, start, packet, rate, rate)
    basic += struct.pack("<8H32s256sI", 2024, 1, 1, 1, 0, 0, 0, 0, b"test", b"", len(electrodes))
    content = b"".join(struct.pack("<IHBB", t, e, u, 0) + bytes(96) for t, e, u in spikes)
    path.write_bytes(basic + headers + content)
    return path
