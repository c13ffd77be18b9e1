"""Files that are damaged or lie about themselves: each gets one line that says what to do."""

from __future__ import annotations

import contextlib
import struct
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io
import scipy.sparse
from damaged import COUNTS, SOUND, Row, check_refusal, cut, each_row, h5, mat, mat73, npz, text
from test_damaged_content import CONTENT
from test_damaged_options import OPTIONS
from writers import npy_header, write_mat73, write_nev, write_raw_npz

from neurofs.ground.errors import InputError
from neurofs.recordings.readers import load

HEADER = npy_header((4,), "|u1") + bytes(4)


def nothing(folder: Path) -> Path:
    return folder / "session.npz"


def folder_named_npz(folder: Path) -> Path:
    (folder / "session.npz").mkdir()
    return folder / "session.npz"


def pickled(folder: Path) -> Path:
    np.savez(folder / "session.npz", spikes=np.array([[1.0], [1.0, 2.0]], dtype=object))
    return folder / "session.npz"


def lying_shape(folder: Path) -> Path:
    return write_raw_npz(folder / "session.npz", counts=npy_header((10**6, 10**9), "<f8") + bytes(80))


def negative_shape(folder: Path) -> Path:
    return write_raw_npz(folder / "session.npz", counts=npy_header((-1, 4), "<f8") + bytes(80))


def bad_header(folder: Path) -> Path:
    return write_raw_npz(folder / "session.npz", counts=b"\x93NUMPY\x01\x00\x10\x00__import__('os')")


def bomb(folder: Path) -> Path:
    """An archive whose directory declares a petabyte."""
    path = write_raw_npz(folder / "session.npz", counts=npy_header((2**32 - 2000,), "|u1") + bytes(100))
    content = bytearray(path.read_bytes())
    entry = content.rindex(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = struct.pack("<I", 2**32 - 2)
    path.write_bytes(bytes(content))
    return path


def repeated_member(folder: Path) -> Path:
    path = write_raw_npz(folder / "session.npz", counts2=HEADER, countsX=HEADER)
    path.write_bytes(path.read_bytes().replace(b"countsX", b"counts2"))
    return path


def flipped_byte(folder: Path) -> Path:
    path = npz()(folder)
    content = bytearray(path.read_bytes())
    content[content.index(b"counts.npy") + 60] ^= 0xFF
    path.write_bytes(bytes(content))
    return path


def external_link(file: h5py.File) -> None:
    file["more"] = h5py.ExternalLink("/etc/passwd", "/x")


def external_storage(file: h5py.File) -> None:
    file.create_dataset("more", (4,), "f8", external=[("/etc/passwd", 0, 32)])


def virtual(file: h5py.File) -> None:
    layout = h5py.VirtualLayout((4,), "f8")
    layout[:] = h5py.VirtualSource("other.h5", "x", (4,))
    file.create_virtual_dataset("more", layout)


def dangling(file: h5py.File) -> None:
    file["more"] = h5py.SoftLink("/nowhere")


def cycle(file: h5py.File) -> None:
    file["more"] = h5py.SoftLink("/again")
    file["again"] = h5py.SoftLink("/more")


def nested(file: h5py.File) -> None:
    for _ in range(2000):
        file = file.create_group("g")


def huge(file: h5py.File) -> None:
    file.create_dataset("more", (10**7, 10**8), "f8", chunks=(100, 100))


def sparse_claim(file: h5py.File) -> None:
    file.create_dataset("more", (5 * 10**7,), "f8", chunks=(1000,))[:10] = 1.0


def mat_of_text(folder: Path) -> Path:
    scipy.io.savemat(folder / "session.mat", {"who": "me"})
    return folder / "session.mat"


def lying_mat(folder: Path) -> Path:
    """A compressed variable whose first bytes declare four gigabytes."""
    content = bytearray(mat()(folder).read_bytes()[:128])
    body = zlib.compress(struct.pack("<II", 14, 2**32 - 8) + bytes(64))
    content += struct.pack("<II", 15, len(body)) + body
    (folder / "session.mat").write_bytes(bytes(content))
    return folder / "session.mat"


def unknown_type_in_mat(folder: Path) -> Path:
    """The type of the counts' numbers becomes 0, on which scipy alone ends the process."""
    path = mat()(folder)
    content = bytearray(path.read_bytes())
    content[content.index(struct.pack("<II", 2, 60))] = 0
    path.write_bytes(bytes(content))
    return path


def lying_mat_shape(folder: Path) -> Path:
    path = mat()(folder)
    content = path.read_bytes().replace(struct.pack("<ii", 20, 3), struct.pack("<ii", 2**30, 2**30), 1)
    path.write_bytes(content)
    return path


def bad_sparse(folder: Path) -> Path:
    sparse = scipy.sparse.csc_array(COUNTS.astype(float))
    sparse.indices[3] = 19
    path = mat(counts=sparse)(folder)
    content = path.read_bytes().replace(struct.pack("<i", 19), struct.pack("<i", 10**9))
    path.write_bytes(content)
    return path


def circular_cell(folder: Path) -> Path:
    path = write_mat73(folder / "session.mat", spikes=[np.array([0.1, 0.2])])
    with h5py.File(path, "r+") as file:
        file["spikes"][0, 0] = file["spikes"].ref
    return path


def null_cell(folder: Path) -> Path:
    path = write_mat73(folder / "session.mat", spikes=[np.array([0.1, 0.2])])
    with h5py.File(path, "r+") as file:
        file["spikes"][0, 0] = h5py.Reference()
    return path


FILES: list[Row] = [
    ("missing file", nothing, {}, ("a file", "none at", "Check the path")),
    ("folder", folder_named_npz, {}, ("a file", "a folder")),
    ("empty file", text("session.mat", ""), {}, ("a recording", "an empty file", "Copy it again")),
    ("unknown suffix", text("session.xyz", "1"), {}, ("a known kind of file", "'.xyz'", ".csv", ".mat", ".npz")),
    ("no suffix", text("session", "1"), {}, ("a known kind of file", "no suffix", "Known")),
    # NumPy archives
    ("text as npz", text("session.npz", "hello"), {}, ("a NumPy archive", "not a zip file", "sound copy")),
    ("npz cut off", cut(npz(), 0.7), {}, ("a NumPy archive", "not a zip file")),
    ("npz damaged", flipped_byte, {}, ("a NumPy archive",)),
    ("npz pickled", pickled, {}, ("'spikes'", "numbers or text", "unpickling", "spike_channels")),
    ("npz lies", lying_shape, {}, ("'counts'", "8,000,000,000,000,000 bytes", "80 bytes", "sound copy")),
    ("npz negative shape", negative_shape, {}, ("'counts'", "found")),
    ("npz bad header", bad_header, {}, ("'counts'", "header of a NumPy array")),
    ("npz bomb", bomb, {}, ("'counts'", "as much data as it declares", "4,294,967,294 bytes", "stored")),
    ("npz repeated", repeated_member, {}, ("'counts2'", "one array of this name", "two")),
    # HDF5
    ("text as h5", text("session.h5", "hello"), {}, ("an HDF5 file", "signature not found")),
    ("h5 cut off", cut(h5(lambda file: None), 0.5), {}, ("an HDF5 file", "truncated")),
    ("h5 external link", h5(external_link), {}, ("/more", "data stored in this file", "/etc/passwd", "copy")),
    ("h5 external storage", h5(external_storage), {}, ("/more", "data stored in this file", "storage")),
    ("h5 virtual", h5(virtual), {}, ("/more", "data stored in this file", "virtual")),
    ("h5 dangling link", h5(dangling), {}, ("/more", "/nowhere", "leads nowhere")),
    ("h5 link cycle", h5(cycle), {}, ("leads nowhere",)),
    ("h5 deep", h5(nested), {}, ("64 levels of groups", "found more")),
    ("h5 huge", h5(huge), {}, ("/more", "as much data as it declares", "declared and 0 stored")),
    ("h5 not stored", h5(sparse_claim), {}, ("/more", "as much data as it declares", "declared and 8,000 stored")),
    # MATLAB
    ("text as mat", text("session.mat", "only words, " * 40), {}, ("a MATLAB file of version 5 or 7.3",)),
    ("mat cut off", cut(mat(), 0.8), {}, ("a MATLAB file", "cut off", "bytes are missing", "sound copy")),
    ("mat compressed, cut off", cut(mat(True), 0.8), {}, ("a MATLAB file", "cut off")),
    ("mat bomb", lying_mat, {}, ("variable at byte 128", "as much data as it declares", "4,294,967,296")),
    ("mat only text", mat_of_text, {}, ("spike times, counts or a signal", "The file has: who")),
    ("mat unknown type", unknown_type_in_mat, {}, ("a MATLAB file", "numbers of the unknown type 0")),
    ("mat lies", lying_mat_shape, {}, ("a MATLAB file", "60 numbers where the shape needs 1,152,921")),
    ("mat sparse index", bad_sparse, {}, ("a MATLAB file", "indices")),
    ("mat 7.3 cut off", cut(mat73(**SOUND), 0.6), {}, ("an HDF5 file", "truncated")),
    ("mat 7.3 cell in itself", circular_cell, {}, ("spikes", "at most 20 levels", "refers to itself")),
    ("mat 7.3 cell missing", null_cell, {}, ("spikes", "a reference to an object")),
    # Neo
    ("text as nev", text("session.nev", "hello " * 90), {}, (".nev file that neo can read",)),
    ("nev without spikes", cut(lambda folder: write_nev(folder / "a.nev", [(9, 1, 1)]), 0.75), {}, ("found",)),
]


@each_row(FILES)
def test_a_damaged_file_gets_one_line_that_says_what_to_do(make, options, parts, tmp_path):
    check_refusal(make, options, parts, tmp_path)


def test_the_tables_have_no_row_twice():
    names = [row[0] for row in FILES + CONTENT + OPTIONS]
    assert len(names) == len(set(names)) >= 40


@pytest.mark.parametrize("make", [npz(), mat(), mat73(**SOUND), h5(lambda file: None)])
def test_data_that_do_not_fit_into_memory_are_refused(make, tmp_path, monkeypatch):
    monkeypatch.setattr("neurofs.recordings.readers.sizes.memory_size", lambda: 300)
    with pytest.raises(InputError, match=r"data that fit into memory \(150 bytes\).*on a larger machine"):
        load(make(tmp_path))


def change_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    changed = np.frombuffer(content, dtype=np.uint8).copy()
    where = rng.integers(0, len(changed), rng.integers(1, 6))
    changed[where] = rng.choice([0, 1, 127, 255, *rng.integers(0, 256, 4)], len(where))
    return bytes(changed[: rng.integers(1, len(changed))] if rng.random() < 0.1 else changed)


@pytest.mark.parametrize("make", [npz(), mat(), mat(compress=True), mat(cells=[{"a": 1}, {"a": "b"}])])
def test_changed_bytes_are_read_or_refused_and_never_anything_else(make, tmp_path):
    path = make(tmp_path)
    content, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(150):
        path.write_bytes(change_bytes(content, rng))
        with contextlib.suppress(InputError):
            load(path)
