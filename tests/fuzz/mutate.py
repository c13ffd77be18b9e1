"""Mutators: each takes a sound file and a generator of random numbers, and leaves something else in its place."""

from __future__ import annotations

import io
import os
import shutil
import struct
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import h5py
import numpy as np

Rng = np.random.Generator

MOST_NUMBERS = 10**7
"""Numbers of a data set that are read to make others of them; an earlier change may declare a million times as many."""

WHOLE = (0, 1, 2, 127, 128, 255, 256, 32767, 65535, 2**24, 2**31 - 1, 2**31, 2**32 - 1, 2**48, 2**63 - 1, 2**64 - 1)
ODD_TEXT = ("", "nan", "inf", "-1", "1e400", "0x10", "1_000", "=1+1", "@x", "\x1b[2J", "\0", "é" * 40, '"', "'", ",",
            ";", "\t", "../other/bait.nwb", "/dev/zero", "{{7*7}}", "<script>", "a" * 70_000, "\u202e", "٣", "true",
            "[]")  # fmt: skip


def list_files(path: Path) -> list[Path]:
    """Return the files of a session: all of its folder, or those beside it."""
    place = path if path.is_dir() else path.parent
    return sorted(file for file in place.rglob("*") if file.is_file())


def pick(rng: Rng, items):
    items = list(items)
    return items[int(rng.integers(len(items)))]


# Bytes


def change_bytes(path: Path, rng: Rng) -> None:
    """Change a few bytes of a file, or cut, repeat or remove a part."""
    file = pick(rng, list_files(path))
    file.write_bytes(spoil(file.read_bytes(), rng))


def spoil(content: bytes, rng: Rng) -> bytes:
    """Return changed bytes."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 6))):
        if not data:
            break
        place, length = int(rng.integers(len(data))), int(2 ** rng.integers(0, 12))
        kind = int(rng.integers(9))
        if kind < 3:
            data[place] = int(rng.integers(256))
        elif kind == 3:
            data[place] ^= 1 << int(rng.integers(8))
        elif kind == 4:
            width = pick(rng, "BHIQ")
            value = struct.pack("<" + width, pick(rng, WHOLE) & (256 ** struct.calcsize(width) - 1))
            data[place : place + len(value)] = value
        elif kind == 5:
            del data[place : place + length]
        elif kind == 6:
            data[place:place] = data[place : place + length]
        elif kind == 7:
            data[place : place + length] = bytes([pick(rng, (0, 255))]) * min(length, len(data) - place)
        elif rng.random() < 0.5:
            del data[place:]
        else:
            data[place:place] = rng.bytes(length)
    return bytes(data)


def change_head(path: Path, rng: Rng) -> None:
    """Change bytes near the beginning or the end, where formats say what follows."""
    file = pick(rng, list_files(path))
    content = bytearray(file.read_bytes())
    for _ in range(int(rng.integers(1, 8))):
        if content:
            place = int(rng.integers(min(1024, len(content))))
            content[place if rng.random() < 0.7 else -1 - place] = int(pick(rng, WHOLE)) & 255
    file.write_bytes(bytes(content))


# Values


def odd_array(rng: Rng, like: np.ndarray | None = None):
    """Return an array that is odd in kind, shape or content."""
    base = np.atleast_1d(like if like is not None else np.arange(10.0))
    makers: list[Callable[[], object]] = [
        lambda: np.float64(pick(rng, (0.0, np.nan, np.inf, -np.inf, 1e300, 1e-300, -1.0))),
        lambda: np.empty((0,)),
        lambda: np.empty((0, 3)),
        lambda: np.empty((3, 0)),
        lambda: np.array(pick(rng, [t for t in ODD_TEXT if "\0" not in t])[:200]),
        lambda: np.array(["a", "b", "c"]),
        lambda: np.array([b"\xff\xfe", b"x"]),
        lambda: np.array([True, False]),
        lambda: np.zeros((2,) * int(rng.integers(3, 12))),
        lambda: np.zeros(3, dtype=[("start", "f8"), ("stop", "i4")]),
        lambda: np.zeros(3, dtype="c16"),
        lambda: np.zeros(4, dtype="M8[s]"),
        lambda: np.full(5, 2**63 - 1),
        lambda: np.full(5, 2**64 - 1, dtype=np.uint64),
        lambda: np.full(5, -(2**63)),
        lambda: base.T,
        lambda: base[:1],
        lambda: base[: len(base) // 2],
        lambda: np.concatenate([base, base]),
        lambda: base[::-1],
        lambda: np.zeros_like(base) if base.dtype.kind in "biuf" else base,
        lambda: base.astype(np.float16) if base.dtype.kind in "biuf" else base,
        lambda: base.astype(">f8") if base.dtype.kind in "biuf" else base,
        lambda: base.reshape(-1, 1, 1),
        lambda: np.arange(int(rng.integers(1, 3000))),
        lambda: _with_odd_numbers(base, rng),
        lambda: _with_odd_numbers(base, rng),
        lambda: _scaled(base, rng),
    ]
    with np.errstate(all="ignore"):
        return pick(rng, makers)()


def _with_odd_numbers(base: np.ndarray, rng: Rng) -> np.ndarray:
    if base.dtype.kind not in "biuf" or not base.size:
        return base
    values = base.astype(np.float64).reshape(-1).copy()
    places = rng.integers(len(values), size=int(rng.integers(1, 5)))
    values[places] = pick(rng, (np.nan, np.inf, -np.inf, -1.0, 0.5, 1e300, -1e300, 1e18, 2**53 + 1))
    return values.reshape(base.shape)


def _scaled(base: np.ndarray, rng: Rng) -> np.ndarray:
    if base.dtype.kind not in "biuf":
        return base
    return base.astype(np.float64) * pick(rng, (1e-300, 1e-9, 1e-3, -1.0, 1e3, 1e9, 1e200, 1e308))


# HDF5


def change_h5(path: Path, rng: Rng) -> None:
    """Replace, remove, link or relabel objects of an HDF5 file."""
    with h5py.File(path, "r+") as file:
        names: list[str] = []
        file.visit(names.append)
        for _ in range(int(rng.integers(1, 4))):
            name = pick(rng, names)
            if name in file:
                _change_object(file, name, rng)


def _change_object(file: h5py.File, name: str, rng: Rng) -> None:
    item, kind = file[name], int(rng.integers(12))
    readable = isinstance(item, h5py.Dataset) and (item.size or 0) < MOST_NUMBERS
    value = item[()] if readable else None
    attributes = dict(item.attrs) if rng.random() < 0.7 else {}
    if kind == 0:
        del file[name]
    elif kind == 1:
        key = pick(rng, [*item.attrs, "unit", "MATLAB_class", "rate", "conversion", "MATLAB_sparse", "neurodata_type"])
        item.attrs[key] = _storable(odd_array(rng))
    elif kind == 2 and item.attrs:
        del item.attrs[pick(rng, item.attrs)]
    elif kind in (3, 4):
        del file[name]
        file[name] = _odd_link(file, rng)
    elif kind == 5:
        other = pick(rng, [n for n in _names(file) if n != name] or [name])
        del file[name]
        if other in file:
            file[name] = file[other]
    elif kind == 6:
        del file[name]
        _declare(file, name, rng)
    else:
        del file[name]
        file[name] = _storable(odd_array(rng, value if np.asarray(value).dtype.kind in "biuf" else None))
        for key, attribute in attributes.items():
            file[name].attrs[key] = attribute


def _names(file: h5py.File) -> list[str]:
    names: list[str] = []
    file.visit(names.append)
    return names


def _odd_link(file: h5py.File, rng: Rng) -> object:
    return pick(
        rng,
        (
            h5py.SoftLink("/"),
            h5py.SoftLink("nowhere"),
            h5py.SoftLink("/bait/units"),
            h5py.ExternalLink("other/bait.nwb", "/"),
            h5py.ExternalLink("other/bait.nwb", "/units"),
            file["/"],
        ),
    )


def _declare(file: h5py.File, name: str, rng: Rng) -> None:
    """Put a data set that claims more than it holds, or holds it elsewhere."""
    kind = int(rng.integers(5))
    if kind == 0:
        file.create_dataset(name, (10**6, 10**6), "f8", chunks=(100, 100))
    elif kind == 1:
        file.create_dataset(name, (4 * 10**8,), "u1", chunks=(2**20,), compression="gzip")
    elif kind == 2:
        file.create_dataset(name, (4,), "f8", external=[("other/bait.nwb", 0, 32)])
    elif kind == 3:
        file.create_dataset(name, data=h5py.Empty("f8"))
    else:
        file[name] = np.array([file["/"].ref, h5py.Reference()], dtype=h5py.ref_dtype)


def _storable(value: object) -> object:
    array = np.asarray(value)
    if array.dtype.kind == "U":
        return array.astype(h5py.string_dtype()) if array.ndim else str(array)
    return array.astype(np.int64) if array.dtype.kind == "M" else array


# NumPy archives


def change_npz(path: Path, rng: Rng) -> None:
    """Replace, remove, add or mislabel arrays of an archive."""
    with np.load(path) as archive:
        arrays = dict(archive)
    for _ in range(int(rng.integers(1, 4))):
        name = pick(rng, arrays)
        kind = int(rng.integers(5))
        if kind == 0 and len(arrays) > 1:
            del arrays[name]
        elif kind == 1:
            arrays[pick(rng, ("time", "spike_times", "trial", "trial_start", "direction", "observed", "channel_names", "x" * 300, "a\x1b[1m"))] = odd_array(rng, arrays[name])  # fmt: skip  # noqa: E501
        else:
            arrays[name] = odd_array(rng, arrays[name])
    np.savez(path, **arrays)


DESCRIPTIONS = (
    "<f8",
    "|u1",
    "|O",
    "|V0",
    "|S0",
    "<U0",
    "<f2",
    ">i8",
    "|b1",
    "<M8[ns]",
    "<c16",
    "|V99999999",
    "<U999999999",
)
HEADERS = (
    "{{'descr': {d!r}, 'fortran_order': {f}, 'shape': {s}, }}",
    "{{'descr': {d!r}, 'fortran_order': {f}, 'shape': {s}",
    "{{'descr': [('a', {d!r}), ('b', {d!r}, (2, 3))], 'fortran_order': {f}, 'shape': {s}, }}",
    "{{'shape': {s}, 'descr': {d!r}}}",
    "{{'descr': {d!r}, 'fortran_order': {f}, 'shape': {s}, 'more': 1}}",
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[{s}",
    "{d} if {s} else {f}",
    "'''",
)
SHAPES = ("(3,)", "()", "(True,)", "(-1, 3)", "(3.0,)", "('3',)", "(2**70,)", f"({'1, ' * 100})", "[3]", "3",
          "(10**9, 0)", "(None,)", "(9223372036854775807, 2)", "((3,),)")  # fmt: skip


def change_header(path: Path, rng: Rng) -> None:
    """Put an array with an odd header into an archive, or before the numbers of a `.npy` file."""
    text = pick(rng, HEADERS).format(
        d=pick(rng, DESCRIPTIONS), f=pick(rng, ("True", "False", "1", "None")), s=pick(rng, SHAPES)
    )
    major = int(pick(rng, (1, 1, 1, 2, 3, 9)))
    size = struct.pack("<H" if major == 1 else "<I", pick(rng, (len(text) + 1, len(text) + 1, 65535)))
    content = b"\x93NUMPY" + bytes([major, 0]) + size + text.encode() + b"\n" + bytes(int(pick(rng, (0, 24, 3, 1000))))
    if path.suffix != ".npz":
        pick(rng, [f for f in list_files(path) if f.suffix == ".npy"] or list_files(path)).write_bytes(content)
        return
    members = {}
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    members[pick(rng, members)] = content
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


# MATLAB


def change_mat(path: Path, rng: Rng) -> None:
    """Replace, remove or add variables of a MATLAB file of version 5."""
    import scipy.io

    values = {k: v for k, v in scipy.io.loadmat(path).items() if not k.startswith("__")}
    for _ in range(int(rng.integers(1, 3))):
        name = pick(rng, [*values, "time", "trials", "spikes"])
        like = values.get(name)
        value = odd_array(rng, like if isinstance(like, np.ndarray) and like.dtype.kind in "biuf" else None)
        if np.asarray(value).dtype.kind in "biufcU":
            values[name] = value
    buffer = io.BytesIO()
    scipy.io.savemat(buffer, values)
    path.write_bytes(buffer.getvalue())


# Text


def change_text(path: Path, rng: Rng) -> None:
    """Change cells, lines and columns of tables, or words of other texts."""
    texts = [file for file in list_files(path) if file.suffix in (".csv", ".tsv", ".py", ".toml", "")]
    file = pick(rng, texts or list_files(path))
    mark = "\t" if file.suffix == ".tsv" else ","
    rows = [line.split(mark) for line in file.read_bytes().decode("utf-8", "replace").splitlines()]
    for _ in range(int(rng.integers(1, 5))):
        if not rows:
            break
        row = int(rng.integers(min(4, len(rows)) if rng.random() < 0.5 else len(rows)))
        column = int(rng.integers(len(rows[row]))) if rows[row] else 0
        kind = int(rng.integers(8))
        if kind < 3 and rows[row]:
            rows[row][column] = pick(rng, ODD_TEXT)
        elif kind == 3:
            del rows[row]
        elif kind == 4:
            rows.insert(row, list(rows[row]))
        elif kind == 5:
            rows = [[*cells[:column], *cells[column + 1 :]] for cells in rows]
        elif kind == 6:
            rows = [[*cells, cells[column] if column < len(cells) else ""] for cells in rows]
        elif rows[row]:
            rows[0][min(column, len(rows[0]) - 1) if rows[0] else 0 :] = [
                pick(rng, ("time", "channel", "start", "trial"))
            ]
    ending = pick(rng, ("\n", "\n", "\r\n", "\r", "\n\n"))
    lead = pick(rng, ("", "", "", "\ufeff", "\n"))
    file.write_bytes((lead + ending.join(mark.join(cells) for cells in rows)).encode("utf-8", "replace"))


# Files that are none


def change_link(path: Path, rng: Rng) -> None:
    """Put a link, a pipe or a folder in the place of a file, or links that lead round in circles beside it."""
    file = pick(rng, list_files(path))
    kind = int(rng.integers(5))
    if kind == 4:
        for name in ("a", "b"):
            (file.parent / name).symlink_to(".")
        return
    file.unlink()
    if kind == 0:
        file.symlink_to(pick(rng, ("/dev/zero", "/dev/full", file.name, "..", "nowhere")))
    elif kind == 1:
        os.mkfifo(file)
    elif kind == 2:
        file.mkdir()
    else:
        file.write_bytes(b"")


def link_folder(path: Path, rng: Rng) -> None:
    """Put a link to a folder elsewhere in the place of a folder."""
    folder = pick(rng, sorted(place for place in path.rglob("*") if place.is_dir()))
    shutil.rmtree(folder)
    folder.symlink_to(path.parent / "other", target_is_directory=True)


MUTATORS: dict[str, tuple[Callable[[Path, Rng], None], ...]] = {
    "nwb": (change_h5, change_h5, change_h5, change_bytes),
    "netcdf": (change_h5, change_h5, change_bytes),
    "h5": (change_h5, change_h5, change_bytes),
    "mat73": (change_h5, change_h5, change_bytes),
    "npz": (change_npz, change_npz, change_header, change_bytes, change_head),
    "mat": (change_mat, change_bytes, change_bytes, change_head),
    "csv": (change_text, change_text, change_text, change_bytes, change_link),
    "phy": (change_link, change_header, change_text, change_bytes),
    "npy": (change_link, change_header, change_header, change_bytes),
    "parquet": (change_link, change_bytes, change_bytes, change_head),
    "neuralynx": (change_bytes, change_head),
    "nev": (change_bytes, change_head),
    "zarr": (change_link, link_folder, change_text, change_bytes, change_head),
}


def mutate(seed: str, path: Path, rng: Rng) -> str:
    """Change the file of a seed, and return how."""
    change = pick(rng, MUTATORS[seed.split("-")[0]])
    with suppress(KeyError, MemoryError, OSError, RuntimeError, TypeError, ValueError):  # of what is odd by now: enough
        change(path, rng)
    return change.__name__
