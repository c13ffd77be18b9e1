"""NWB files that are folders of Zarr, as hdmf-zarr writes them.

What the reader of NWB looks at (units, electrodes, behavior, trials) is copied into an HDF5 file in memory, which is
then read like any other; raw signals stay where they are. Columns of references are pickled in such files, and are
left out, since nothing is unpickled.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from neurofs.ground.config import LoadOptions
from neurofs.ground.errors import InputError, printable, quoted
from neurofs.ground.files import hash_files
from neurofs.recordings.readers.nwb import NOT_READ, read_open
from neurofs.recordings.readers.sizes import count_bytes, find_budget
from neurofs.recordings.recording import Recording

PARTS = ("units", "processing", "acquisition", "intervals/trials", "general/extracellular_ephys/electrodes")
TEXT = ("vlen-utf8", "vlen-bytes")
CODECS = (*TEXT, "blosc", "zlib", "gzip", "zstd", "lz4", "bz2", "lzma", "shuffle", "delta", "fixedscaleoffset")
"""What unpacks data; all others, pickle first of all, are refused."""

MAX_DEPTH = 8


def read(path: Path, options: LoadOptions) -> Recording:
    """Return the recording in a folder of Zarr."""
    try:
        import zarr
    except ImportError:
        remedy = "Install it: pip install 'neurofs[zarr]'."
        raise InputError("format", "the package zarr, which reads it", "none", remedy) from None
    store, notes = _Store(path), list[str]()
    with h5py.File("zarr", "w", driver="core", backing_store=False) as file:
        try:
            root = zarr.open_group(str(path), mode="r")
            file.attrs["nwb_version"] = str(root.attrs.get("nwb_version", ""))
            for part in (part for part in PARTS if part in root):
                store.copy(root[part], file.require_group(part), part, notes, 0)
        except (
            OSError,
            ValueError,
            TypeError,
            LookupError,
            RuntimeError,
            MemoryError,
            zarr.errors.MetadataError,
        ) as error:
            found = printable(str(error) or type(error).__name__)
            raise InputError("content", "an NWB file of Zarr", found, "It is damaged; fetch it again.") from None
        name = path.resolve().name
        source_hash = hash_files(list_files(path), path)
        stem = name.removesuffix(".zarr").removesuffix(".nwb")
        recording = read_open(file, stem, options, name, source_hash, notes)
    return recording


def list_files(path: Path) -> list[Path]:
    """Return the files that are read, without those of raw signals."""
    return [file for part in PARTS for file in _walk(path / part)] + [path / ".zattrs"] * (path / ".zattrs").is_file()


def _walk(folder: Path) -> Iterator[Path]:
    if not folder.is_dir() or _read_json(folder / ".zattrs").get("neurodata_type") in NOT_READ:
        return
    for child in sorted(folder.iterdir()):
        if child.is_dir():
            yield from _walk(child)
        else:
            yield child


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes()) if path.is_file() else {}
    except ValueError:
        found = {}
    return found if isinstance(found, dict) else {}


class _Store:
    """Copies what is in a folder of Zarr, within one budget."""

    def __init__(self, path: Path) -> None:
        self.path, self.budget = path, find_budget()

    def copy(self, source: Any, target: h5py.Group, where: str, notes: list[str], depth: int) -> None:
        """Copy a group with its attributes and members; raw signals and pictures are passed over."""
        _copy_attributes(source, target)
        for name, array in source.arrays():
            self._copy_array(array, target, name, f"{where}/{name}", notes)
        for name, group in source.groups():
            if group.attrs.get("neurodata_type") not in NOT_READ and depth < MAX_DEPTH:
                self.copy(group, target.create_group(name), f"{where}/{name}", notes, depth + 1)

    def _copy_array(self, array: Any, target: h5py.Group, name: str, where: str, notes: list[str]) -> None:
        declared = _read_json(self.path / where / ".zarray")
        codecs = [codec.get("id") for codec in [declared.get("compressor"), *(declared.get("filters") or [])] if codec]
        is_text = array.dtype.kind == "O" and bool(set(codecs) & set(TEXT))
        if not set(codecs) <= set(CODECS) or not (array.dtype.kind in "biuf" or is_text):
            notes.append(f"left out {quoted(where)}: neither numbers nor text")
            return
        n_stored = sum(file.stat().st_size for file in (self.path / where).iterdir() if file.is_file())
        for shape in (array.shape, array.chunks):
            self.budget.take(where, count_bytes(shape, array.dtype.itemsize), n_stored)
        values = array[...]
        if is_text:
            values = np.array(
                [t.decode("utf-8", "replace") if isinstance(t, bytes) else str(t) for t in values.ravel()]
            )
            values = values.astype(h5py.string_dtype()).reshape(array.shape)
        if array.attrs.get("zarr_dtype") == "scalar" and values.size == 1:
            values = values.reshape(-1)[0]
        _copy_attributes(array, target.create_dataset(name, data=values))


def _copy_attributes(source: Any, target: Any) -> None:
    """Copy attributes that are text or numbers, or lists of them; references are left out."""
    for name, value in source.attrs.items():
        if isinstance(value, str | int | float):
            target.attrs[name] = value
        elif isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            target.attrs.create(name, value, dtype=h5py.string_dtype())
