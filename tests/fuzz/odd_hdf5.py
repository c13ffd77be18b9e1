"""What HDF5 files are made to do for the reproducers: to lead elsewhere, to go round, and to claim what they lack."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import trap_files as files
from writers import write_mat73

from .seeds import SEEDS

Change = Callable[[h5py.File], Any]


def within(change: Change) -> Callable[[Path], Any]:
    """Return what makes a change of a file at a path."""

    def open_and_change(path: Path) -> None:
        with h5py.File(path, "r+") as file:
            change(file)

    return open_and_change


def put(name: str, value: Any) -> Change:
    def change(file: h5py.File) -> None:
        attributes = dict(file[name].attrs) if name in file else {}
        if name in file:
            del file[name]
        file[name] = value
        for key, attribute in attributes.items():
            file[name].attrs[key] = attribute

    return change


def link_through(file: h5py.File) -> None:
    del file["units"]
    file["x"] = h5py.ExternalLink("other/bait.nwb", "/")
    file["units"] = h5py.SoftLink("/x/units")


def link_group(name: str, target: str) -> Change:
    def change(file: h5py.File) -> None:
        if name in file:
            del file[name]
        file[name] = h5py.ExternalLink("other/bait.nwb", target)

    return change


def virtual(name: str) -> Change:
    """Return what puts virtual data in the place of a data set: as much as another file has, which its shape tells."""

    def change(file: h5py.File) -> None:
        whole = h5py.h5s.create_simple((1,), (h5py.h5s.UNLIMITED,))
        whole.select_hyperslab((0,), (1,), block=(h5py.h5s.UNLIMITED,))
        storage = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        storage.set_virtual(whole, b"other/bait.nwb", b"/units/spike_times", whole)
        kind = file[name].id.get_type()
        del file[name]
        h5py.h5d.create(file.id, name.encode(), kind, whole, dcpl=storage)

    return change


def count_elsewhere(file: h5py.File) -> None:
    """A series of counts in another file, and no units."""
    del file["units"]
    series = file.create_group("processing/behavior/spike_counts")
    series["starting_time"], series["data"] = 0.0, h5py.ExternalLink("other/bait.nwb", "/units/spike_times")


def name_table(file: h5py.File) -> None:
    """A signal whose table of electrodes is named, where a reference belongs: the name leads to another file."""
    file["x"] = h5py.ExternalLink("other/bait.nwb", "/")
    rois = file[_find(file, "rois")[0]]
    del rois.attrs["table"]
    rois.attrs["table"] = "/x/units"


def rings(file: h5py.File) -> None:
    """Groups that hold themselves and each other: the number of paths has no end."""
    groups = [file.require_group(f"processing/behavior/g{i}") for i in range(12)]
    for group in groups:
        for i, other in enumerate(groups):
            group[f"to{i}"] = other


def ladder(file: h5py.File) -> None:
    """Each group has the next one twice: 2^60 paths."""
    group = file.require_group("processing/ladder")
    for _ in range(60):
        following = group.create_group("a")
        group["b"] = following
        group = following


def nest(n: int, top: str = "processing") -> Change:
    def change(file: h5py.File) -> None:
        group = file.require_group(top)
        for _ in range(n):
            group = group.create_group("g")

    return change


def equal_times(file: h5py.File) -> None:
    _without_times(file)["timestamps"] = np.zeros(files.N)


def infinite_rate(value: float) -> Change:
    def change(file: h5py.File) -> None:
        group = _without_times(file)
        group["starting_time"] = 0.0
        group["starting_time"].attrs["rate"] = value

    return change


def _without_times(file: h5py.File) -> h5py.Group:
    """Return the series of the file, from which its times are removed."""
    group = file[_find(file, "hand_velocity/data")[0]].parent
    for name in ("timestamps", "starting_time"):
        if name in group:
            del group[name]
    return group


def _find(file: h5py.File, end: str) -> list[str]:
    names: list[str] = []
    file.visit(names.append)
    return [name for name in names if name.endswith(end)]


def wide(file: h5py.File) -> None:
    name = _find(file, "hand_velocity/data")[0]
    put(name, np.zeros((file[name].shape[0], 20_000), dtype=np.float32)[:, :1].repeat(20_000, 1).astype("i1"))(file)


def sparse_claim(folder: Path) -> Path:
    """A sparse array of 3 GB in a file of a few kilobytes."""
    path = write_mat73(folder / "session.mat", velocity=files.VELOCITY)
    with h5py.File(path, "r+") as file:
        group = file.create_group("counts")
        group.attrs["MATLAB_sparse"] = np.uint64(400_000_000)
        group.attrs["MATLAB_class"] = np.bytes_("double")
        group.create_dataset("jc", data=np.array([0, 1], dtype=np.uint64))
        group.create_dataset("ir", data=np.array([5], dtype=np.uint64))
        group.create_dataset("data", data=np.array([1.0]))
    return path


def dimension_list(folder: Path) -> Path:
    """More dimensions than axes, at which HDF5's library frees what it does not own."""
    path = SEEDS["netcdf"](folder)
    with h5py.File(path, "r+") as file:
        put("counts", np.zeros(4, dtype=np.int64))(file)
    return path
