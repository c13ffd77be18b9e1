"""NWB files that are folders of Zarr, as hdmf-zarr writes them.

What the reader of NWB looks at (units, electrodes, behavior, trials) is copied into an HDF5 file in memory, which is
then read like any other; raw signals stay where they are. Columns of references are pickled in such files, and are
left out, since nothing is unpickled. Chunks are unpacked in a process apart (`readers.apart`), since they may become
more than they say.
"""

import io
import json
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from neurofs.ground.config import LoadOptions
from neurofs.ground.errors import InputError, printable, quoted
from neurofs.ground.files import hash_files
from neurofs.recordings.readers.apart import read_apart
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
    if find_spec("zarr") is None:
        remedy = "Install it: pip install 'neurofs[zarr]'."
        raise InputError("format", "the package zarr, which reads it", "none", remedy)
    files = list_files(path)
    values, notes = read_apart(__name__, "copy_all", path, size=sum(file.stat().st_size for file in files))
    name = path.resolve().name
    stem = name.removesuffix(".zarr").removesuffix(".nwb")
    with h5py.File(io.BytesIO(values["hdf5"].tobytes()), "r") as file:
        return read_open(file, stem, options, name, hash_files(files, path), notes)


def copy_all(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Return the bytes of an HDF5 file with what is read of a folder of Zarr, and notes."""
    import zarr

    store, notes = _Store(path), list[str]()
    with h5py.File("zarr", "w", driver="core", backing_store=False) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            root = _open(path)
            file.attrs["nwb_version"] = str(root.attrs.get("nwb_version", ""))
            for part in (part for part in PARTS if not store.is_elsewhere(part, notes) and part in root):
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
        file.flush()
        return {"hdf5": np.frombuffer(file.id.get_file_image(), np.uint8)}, notes


def _open(path: Path) -> Any:
    """Open a folder without its summary of itself, which may say other things than what was checked."""
    import zarr

    options = {} if zarr.__version__.startswith("2.") else {"zarr_format": 2, "use_consolidated": False}
    return zarr.open_group(str(path), mode="r", **options)


def list_files(path: Path) -> list[Path]:
    """Return the files that are read, without those of raw signals."""
    inside, head = [part for part in PARTS if not _find_link(path, part)], path / ".zattrs"
    for folder in {path, *(path.joinpath(part).parent for part in inside)}:
        _check_plain(folder)
    return [file for part in inside for file in _walk(path / part, 0)] + [head] * head.is_file()


def _check_plain(folder: Path) -> None:
    """Refuse a folder with a pipe or a device in it, at which its reader would wait."""
    odd = next((p for p in folder.iterdir() if not (p.is_file() or p.is_dir())), None) if folder.is_dir() else None
    if odd is not None:
        raise InputError(quoted(odd.name), "a file or a folder", "something else", "Get a sound copy.")


def _find_link(path: Path, where: str) -> bool:
    """Tell whether a link leads to a folder, or to one of those around it: such are not followed."""
    names = where.split("/")
    return any(path.joinpath(*names[: i + 1]).is_symlink() for i in range(len(names)))


def _walk(folder: Path, depth: int) -> Iterator[Path]:
    """Yield the files in a folder and its folders; links to other folders are not followed."""
    if folder.is_symlink():
        return
    _check_plain(folder)
    if not folder.is_dir() or _read_json(folder / ".zattrs").get("neurodata_type") in NOT_READ:
        return
    for child in sorted(folder.iterdir()):
        if child.is_dir():
            yield from _walk(child, depth + 1) if depth <= MAX_DEPTH else ()
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
            if not self.is_elsewhere(f"{where}/{name}", notes):
                self._copy_array(array, target, name, f"{where}/{name}", notes)
        for name, group in source.groups():
            known = group.attrs.get("neurodata_type") not in NOT_READ and depth < MAX_DEPTH
            if known and not self.is_elsewhere(f"{where}/{name}", notes):
                self.copy(group, target.create_group(name), f"{where}/{name}", notes, depth + 1)

    def is_elsewhere(self, where: str, notes: list[str]) -> bool:
        """Tell whether a member is a link to another folder, and note it."""
        if not _find_link(self.path, where):
            return False
        notes.append(f"left out {quoted(where)}: a link to another folder")
        return True

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
