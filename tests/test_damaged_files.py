"""Damaged and hostile files, and options that do not fit: each gets one line that says what to do.

A row is an id, a function that writes the file into a folder and returns its path, the options, and the parts
that the message must have, in order.
"""

from __future__ import annotations

import contextlib
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import scipy.io
import scipy.sparse
from writers import npy_header, write_h5, write_mat73, write_nev, write_npz, write_raw_npz, write_text

from neurofs.errors import InputError, UsageError
from neurofs.loaders import load

Row = tuple[str, Callable[[Path], Path], dict[str, Any], tuple[str, ...]]

COUNTS = np.arange(60, dtype=np.uint8).reshape(20, 3) % 4
VELOCITY = np.linspace(-1, 1, 40).reshape(20, 2)
SOUND = {"counts": COUNTS, "velocity": VELOCITY, "bin_width": 0.05}
SPIKES = {"spike_times": np.array([0.1, 0.2, 0.4, 0.3]), "spike_channels": np.array([0, 0, 1, 1])}

HEADER = npy_header((4,), "|u1") + bytes(4)


def npz(**changes: Any) -> Callable[[Path], Path]:
    """A sound archive of counts with some arrays changed (or, with None, left out)."""
    arrays = {name: value for name, value in (SOUND | changes).items() if value is not None}
    return lambda folder: write_npz(folder / "session.npz", **arrays)


def only(**arrays: Any) -> Callable[[Path], Path]:
    return lambda folder: write_npz(folder / "session.npz", **arrays)


def text(name: str, content: str, **others: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        for other, body in others.items():
            write_text(folder / f"{other}.csv", body)
        return write_text(folder / name, content)

    return make


def h5(change: Callable[[h5py.File], Any]) -> Callable[[Path], Path]:
    """A sound HDF5 file to which something is done."""

    def make(folder: Path) -> Path:
        path = write_h5(folder / "session.h5", **SOUND)
        with h5py.File(path, "r+") as file:
            change(file)
        return path

    return make


def cut(make: Callable[[Path], Path], keep: float) -> Callable[[Path], Path]:
    """The same file, cut off."""

    def make_cut(folder: Path) -> Path:
        path = make(folder)
        content = path.read_bytes()
        path.write_bytes(content[: int(len(content) * keep)])
        return path

    return make_cut


def mat(compress: bool = False, **values: Any) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        scipy.io.savemat(folder / "session.mat", SOUND | values, do_compression=compress)
        return folder / "session.mat"

    return make


def mat73(**values: Any) -> Callable[[Path], Path]:
    return lambda folder: write_mat73(folder / "session.mat", **values)


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


def session(content: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        npz()(folder)
        return write_text(folder / "day1.toml", content)

    return make


def trial_data(n_rows: int = 10, **changes: Any) -> dict[str, Any]:
    return {
        "trial_id": 1.0,
        "bin_size": 0.05,
        "M1_spikes": np.ones((n_rows, 4)),
        "vel": np.linspace(0, 1, 2 * n_rows).reshape(n_rows, 2),
        "idx_go": 3.0,
    } | changes


TIME = np.arange(20) * 0.05
SPIKES_CSV = "time,channel\n0.1,0\n0.2,1\n0.3,0\n"
BEHAVIOR_CSV = "time,vel_x,vel_y\n0.0,1,2\n0.1,1,3\n0.2,2,4\n"
SAMPLES = np.arange(0, 60000, 1500)

FILES: list[Row] = [
    ("missing file", nothing, {}, ("a file", "none at", "Check the path")),
    ("folder", folder_named_npz, {}, ("a file", "a folder")),
    ("empty file", text("session.mat", ""), {}, ("a recording", "an empty file", "Copy it again")),
    (
        "unknown suffix",
        text("session.xyz", "1"),
        {},
        ("a known kind of file", "'.xyz'", ".csv", ".mat", ".npz"),
    ),
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
    ("h5 huge", h5(huge), {}, ("/more", "fits in memory", "declared")),
    ("h5 not stored", h5(sparse_claim), {}, ("/more", "as much data as declared", "8000 bytes stored")),
    # MATLAB
    ("text as mat", text("session.mat", "only words, " * 40), {}, ("a MATLAB file of version 5 or 7.3",)),
    ("mat cut off", cut(mat(), 0.8), {}, ("a MATLAB file", "cut off", "bytes are missing", "sound copy")),
    ("mat compressed, cut off", cut(mat(True), 0.8), {}, ("a MATLAB file", "cut off")),
    ("mat bomb", lying_mat, {}, ("variable at byte 128", "as much data as it declares", "4,294,967,296")),
    ("mat only text", mat_of_text, {}, ("spike times or counts", "The file has: who")),
    ("mat unknown type", unknown_type_in_mat, {}, ("a MATLAB file", "numbers of the unknown type 0")),
    ("mat lies", lying_mat_shape, {}, ("a MATLAB file", "60 numbers where the shape needs 1,152,921")),
    ("mat sparse index", bad_sparse, {}, ("a MATLAB file", "indices")),
    ("mat 7.3 cut off", cut(mat73(**SOUND), 0.6), {}, ("an HDF5 file", "truncated")),
    ("mat 7.3 cell in itself", circular_cell, {}, ("spikes", "at most 20 levels", "refers to itself")),
    ("mat 7.3 cell missing", null_cell, {}, ("spikes", "a cell that exists")),
    # Neo
    ("text as nev", text("session.nev", "hello " * 90), {}, (".nev file that neo can read",)),
    (
        "nev without spikes",
        cut(lambda folder: write_nev(folder / "a.nev", [(9, 1, 1)]), 0.75),
        {},
        ("found",),
    ),
]

CONTENT: list[Row] = [
    (
        "negative counts",
        npz(counts=COUNTS.astype(int) - 1),
        {},
        ("channel 0, bin 0", "a number of spikes", "-1"),
    ),
    ("missing counts", npz(counts=np.where(COUNTS == 3, np.nan, COUNTS)), {}, ("a number of spikes", "nan")),
    (
        "rates",
        npz(counts=COUNTS * 0.3),
        {},
        ("whole numbers of spikes", "0.3", "bin 0, channel 1", "--counts-unit Hz"),
    ),
    (
        "two counts",
        npz(spikes=COUNTS),
        {},
        ("'counts' (counts) and 'spikes' (counts)", "--counts counts", "--counts spikes"),
    ),
    ("two guesses", npz(counts=None, a=COUNTS, b=COUNTS), {}, ("'a' (counts) and 'b' (counts)", "Choose")),
    ("square", npz(counts=np.ones((20, 20), int)), {}, ("one way to read it", "(20, 20)", "--orientation")),
    (
        "no witness",
        only(counts=COUNTS, bin_width=0.05),
        {},
        ("20 bins of 3 channels, or 3 bins of 20", "--orientation"),
    ),
    (
        "two witnesses",
        npz(velocity=None, a=np.ones(3), b=np.ones(20)),
        {},
        ("one way to read it", "--orientation"),
    ),
    (
        "3-D counts",
        npz(counts=np.ones((20, 3, 2), int)),
        {"counts": "counts"},
        ("time by channel", "(20, 3, 2)"),
    ),
    ("no bin width", npz(bin_width=None), {}, ("a bin width", "none in the file", "--counts-bin-width")),
    ("bin width in ms", npz(bin_width=50.0), {}, ("at most 5 s", "50", "--counts-bin-width 0.05")),
    ("bin width of zero", npz(bin_width=0.0), {}, ("'bin_width'", "above zero", "0.0")),
    (
        "bin width at odds with time",
        npz(time=TIME * 2),
        {},
        ("'time'", "steps of 0.05 s", "'bin_width'", "0.1 s", "--time none"),
    ),
    ("time in ms", npz(time=TIME * 1000), {}, ("'time'", "50 s", "--time-unit ms")),
    (
        "time in ms, no bin width",
        npz(time=TIME * 1000, bin_width=None),
        {},
        ("times in seconds", "steps of 50", "--time-unit"),
    ),
    (
        "time falls",
        npz(time=np.concatenate([TIME[:10], TIME[:10]])),
        {},
        ("'time'", "times that increase", "0 after 0.45 (row 10)", "--time none"),
    ),
    (
        "time missing",
        npz(time=np.where(TIME[3] == TIME, np.nan, TIME)),
        {},
        ("'time'", "finite times", "NaN"),
    ),
    (
        "gap of part of a bin",
        npz(time=TIME + 0.02 * (TIME > 0.5)),
        {},
        ("'time'", "whole bins of 0.05 s", "0.07 s before row 11"),
    ),
    (
        "time of another length",
        npz(clock=np.arange(7.0)),
        {"time": "clock"},
        ("'clock'", "20 times, one per bin", "7"),
    ),
    (
        "behavior too short",
        npz(velocity=VELOCITY[:13], trial=np.zeros(20, int)),
        {},
        ("'velocity'", "20 samples", "(13, 2)", "--behavior-time"),
    ),
    (
        "behavior named, too short",
        npz(gaze=np.ones((19, 2))),
        {"behavior": ["gaze"]},
        ("'gaze'", "20 samples", "(19, 2)"),
    ),
    (
        "behavior is text",
        npz(gaze=np.array(["a", "b"])),
        {"behavior": ["gaze"]},
        ("'gaze'", "numbers", "text"),
    ),
    (
        "behavior infinite",
        npz(velocity=np.where(VELOCITY > 0.9, np.inf, VELOCITY)),
        {},
        ("'velocity'", "finite numbers", "infinity"),
    ),
    (
        "trial again",
        npz(trial=[0] * 5 + [1] * 10 + [0] * 5),
        {},
        ("'trial'", "in one piece", "label 0 again at row 15", "--no-trials"),
    ),
    (
        "trial stop before start",
        npz(trial_start=[0.1, 0.5], trial_stop=[0.4, 0.2]),
        {},
        ("trials", "a stop after the start", "0.5 to 0.2", "--no-trials"),
    ),
    (
        "trials overlap",
        npz(trial_start=[0.1, 0.3], trial_stop=[0.4, 0.6]),
        {},
        ("trials", "do not overlap", "0.3 before the end 0.4"),
    ),
    (
        "starts not sorted",
        npz(trial_start=[0.5, 0.1]),
        {},
        ("'trial_start'", "starts that increase", "0.1 after 0.5", "--trial-stop"),
    ),
    ("starts without number", npz(trial_start=[0.1, np.nan]), {}, ("'trial_start'", "finite numbers", "nan")),
    (
        "stops too few",
        npz(trial_start=[0.1, 0.5], trial_stop=[0.4]),
        {},
        ("'trial_stop'", "2 ends, one per trial", "1"),
    ),
    (
        "start bin too large",
        npz(startBins=[1, 25]),
        {},
        ("'startBins', trial 1", "from 0 to 19", "25", "--index-base"),
    ),
    (
        "start bin 0 in MATLAB",
        mat(startBins=[0, 5]),
        {},
        ("'startBins', trial 0", "from 1 to 20", "0", "--index-base"),
    ),
    (
        "starts as time or bin",
        npz(bin_width=1.0, trial_start=[2, 9]),
        {},
        ("'trial_start'", "could be either", "--trial-unit"),
    ),
    (
        "unsorted spikes",
        only(**SPIKES),
        {},
        ("channel '1'", "increasing order", "0.3 after 0.4", "--sort-spikes"),
    ),
    (
        "spikes as samples",
        only(spike_times=SAMPLES, spike_channels=SAMPLES % 4),
        {},
        ("spike times in seconds", "58500", "--time-unit samples", "--sampling-rate"),
    ),
    (
        "samples without rate",
        only(spike_times=SAMPLES, spike_channels=SAMPLES % 4),
        {"time_unit": "samples"},
        ("a sampling rate", "--sampling-rate"),
    ),
    (
        "channel out of range",
        only(spike_times=[0.1, 0.2], spike_channels=[0, 7], channel_names=["a", "b"]),
        {},
        ("'spike_channels', spike 1", "from 0 to 1", "7", "--index-base"),
    ),
    (
        "channel missing",
        only(spike_times=[0.1, 0.2], spike_channels=[0, np.nan]),
        {},
        ("'spike_channels'", "a channel for every spike", "NaN"),
    ),
    (
        "ends beyond spikes",
        only(spike_times=[0.1, 0.2], spike_times_index=[1, 5]),
        {},
        ("'spike_times_index'", "up to 2", "5 at the end"),
    ),
    (
        "spike without time",
        only(spike_times=[0.1, np.nan], spike_times_index=[2]),
        {},
        ("channel '0'", "finite spike times", "nan"),
    ),
    (
        "spikes or counts",
        npz(spike_times=[0.1, 0.2]),
        {},
        ("'spike_times' (spikes) and 'counts' (counts)", "--spikes", "--counts"),
    ),
    (
        "nothing known",
        only(a=np.ones(3)),
        {},
        ("spike times or counts", "--spikes or --counts", "The file has: a"),
    ),
    ("hostile name", only(**{"a\x1b[31m\nb": np.ones(3)}), {}, ("The file has: a\\x1b[31m\\nb",)),
    ("same channel twice", npz(channel_names=["a", "b", "a"]), {}, ("channel 'a'", "a name used once")),
    (
        "trial with fewer rows",
        mat73(trial_data=[trial_data(), trial_data(vel=np.ones((9, 2)))]),
        {},
        ("trial 2", "10 rows of 'vel'", "'M1_spikes'", "9 rows"),
    ),
    (
        "trial with fewer channels",
        mat73(trial_data=[trial_data(), trial_data(M1_spikes=np.ones((12, 3)))]),
        {},
        ("trial 2", "4 channels", "3"),
    ),
    (
        "two widths",
        mat73(trial_data=[trial_data(), trial_data(bin_size=0.1)]),
        {},
        ("'bin_size'", "one bin width", "2 different"),
    ),
]

UNITS: list[Row] = [
    (
        "trials with spike times and counts",
        mat73(trial_data=[trial_data(spikes=[np.array([0.1, 0.2])]), trial_data(spikes=[np.array([0.1])])]),
        {},
        ("'spikes' (spikes) and 'M1_spikes' (counts)", "--spikes spikes or --counts M1_spikes"),
    ),
    (
        "counts or times of one channel",
        only(spikes=[1, 0, 2, 1]),
        {},
        ("'spikes'", "could be either", "--counts spikes", "--spikes spikes"),
    ),
    (
        "trial without spikes",
        mat73(trial_data=[trial_data(), trial_data(M1_spikes=np.zeros((0, 4)))]),
        {},
        ("trial 2: 'M1_spikes'", "counts", "(0, 4)", "remove this trial"),
    ),
    (
        "spikes in ms, behavior in s",
        only(spike_times=[100.5, 90000.25], time=np.arange(60.0), velocity=np.ones((60, 2))),
        {},
        ("spikes and 'velocity'", "the same unit", "90000.2", "59", "--time-unit"),
    ),
]

OPTIONS: list[Row] = [
    (
        "variable missing",
        npz(),
        {"counts": "count"},
        ("--counts count", "no such name", "'counts'", "velocity"),
    ),
    (
        "behavior missing",
        npz(),
        {"behavior": ["speed"]},
        ("--behavior speed", "no such name", "There are: counts, velocity"),
    ),
    ("spikes and counts", npz(), {"spikes": "a", "counts": "b"}, ("one of the two", "both")),
    (
        "counts as spikes",
        npz(),
        {"spikes": "counts"},
        ("'counts'", "a list of spike times", "(20, 3)", "--counts"),
    ),
    ("channel names of another length", npz(), {"channel_names": "velocity"}, ("one list", "(20, 2)")),
    ("excluded channel", npz(), {"exclude_channels": ["9"]}, ("--exclude-channels 9", "There are: 0, 1, 2")),
    (
        "circular series",
        npz(),
        {"circular": ["angle"]},
        ("--circular angle", "a behavior series", "velocity"),
    ),
    (
        "conditions of another length",
        npz(trial=np.arange(20) // 5, c=np.ones(3)),
        {"conditions": ["c"]},
        ("--conditions c", "one per trial"),
    ),
    (
        "option without effect",
        npz(),
        {"sort_spikes": True},
        ("--sort-spikes", "applies to this file", "Leave it out"),
    ),
    (
        "sampling rate without samples",
        npz(),
        {"sampling_rate": 30000},
        ("--sampling-rate", "applies to this file"),
    ),
    (
        "trial unit without bins",
        only(spike_times=[0.1, 0.2], trial_start=[0.1]),
        {"trial_unit": "bin"},
        ("--trial-unit bin", "counts in bins"),
    ),
    (
        "field missing",
        mat73(trial_data=[trial_data(), trial_data()]),
        {"counts": "M2_spikes"},
        ("--counts M2_spikes", "'M1_spikes'"),
    ),
    ("width of zero", npz(), {"counts_bin_width": 0}, ("counts_bin_width", "greater than 0")),
    ("unknown keyword", npz(), {"binwidth": 1}, ("unknown key 'binwidth'", "counts_bin_width")),
    ("session: broken", session("file = "), {}, ("a session file in TOML", "Correct the file")),
    (
        "session: unknown key",
        session('file = "session.npz"\norientaton = "x"'),
        {},
        ("unknown key 'orientaton'", "orientation"),
    ),
    ("session: no file", session('counts = "counts"'), {}, ("the key file", "no such key")),
    ("session: file missing", session('file = "gone.npz"'), {}, ("a file", "none at")),
    (
        "session: wrong type",
        session('file = "session.npz"\ncounts_bin_width = "wide"'),
        {},
        ("counts_bin_width", "'wide'"),
    ),
]

CSV: list[Row] = [
    ("csv alone", text("a_spikes.csv", SPIKES_CSV), {}, ("a file beside it", "no a_behavior.csv")),
    (
        "csv of behavior",
        text("a_behavior.csv", BEHAVIOR_CSV),
        {},
        ("the file with the spikes", "a_spikes.csv"),
    ),
    (
        "csv with words",
        text("a_spikes.csv", SPIKES_CSV + "soon,1\n", a_behavior=BEHAVIOR_CSV),
        {},
        ("line 5, column 'time'", "a number", "'soon'"),
    ),
    (
        "csv ragged",
        text("a_spikes.csv", SPIKES_CSV + "0.4,1,2\n", a_behavior=BEHAVIOR_CSV),
        {},
        ("line 5", "2 values", "3 values"),
    ),
    (
        "csv without header",
        text("a_spikes.csv", "0.1,0\n0.2,1\n", a_behavior=BEHAVIOR_CSV),
        {},
        ("line 1", "names of the columns"),
    ),
    (
        "csv header alone",
        text("a_spikes.csv", "time,channel\n", a_behavior=BEHAVIOR_CSV),
        {},
        ("at least one line", "1 lines"),
    ),
    (
        "csv column twice",
        text("a_spikes.csv", "time,time\n1,2\n", a_behavior=BEHAVIOR_CSV),
        {},
        ("line 1", "a different name", "'time'"),
    ),
    (
        "csv quote open",
        text("a_spikes.csv", SPIKES_CSV + '"0.4,1\n', a_behavior=BEHAVIOR_CSV),
        {},
        ("separated by commas",),
    ),
    (
        "csv without starts",
        text("a_spikes.csv", SPIKES_CSV, a_behavior=BEHAVIOR_CSV, a_trials="go\n1\n"),
        {},
        ("a column start",),
    ),
    (
        "csv name in two files",
        text("a_spikes.csv", SPIKES_CSV, a_behavior="time,spikes\n0,1\n1,2\n"),
        {},
        ("column 'spikes'", "a name used once"),
    ),
]


ROWS = FILES + CONTENT + UNITS + OPTIONS + CSV


@pytest.mark.parametrize(
    ("make", "options", "parts"),
    [pytest.param(*row[1:], id=row[0]) for row in ROWS],
)
def test_a_bad_file_gets_one_line_that_says_what_to_do(make, options, parts, tmp_path):
    path = make(tmp_path)
    if path.suffix == ".nev":
        pytest.importorskip("neo", reason="the optional package neo is not installed")
    with pytest.raises((InputError, UsageError)) as caught:
        load(path, **options)
    message = str(caught.value)
    assert caught.value.exit_code == 2
    assert message.startswith((f"{path.name}: ", "session.npz: ", "gone.npz: "))
    assert message.isprintable()
    position = 0
    for part in parts:
        assert part in message[position:], message
        position += message[position:].index(part)


def test_the_table_has_no_row_twice():
    names = [row[0] for row in ROWS]
    assert len(names) == len(set(names)) >= 40


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
