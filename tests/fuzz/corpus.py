"""Minimal reproducers: what once hung, crashed, blew up or was believed; made by code, and always tried.

A row is a name, what writes the files and returns the arguments of the command, and what must come of it: `refused`,
`sane`, or either (None).
"""

from __future__ import annotations

import json
import os
import shutil
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import trap_files as files
from writers import npy_header, write_raw_npz, write_text

from .odd_hdf5 import (
    Change,
    count_elsewhere,
    dimension_list,
    equal_times,
    infinite_rate,
    ladder,
    link_group,
    link_through,
    name_table,
    nest,
    put,
    rings,
    sparse_claim,
    virtual,
    wide,
    within,
)
from .seeds import SEEDS

Row = tuple[str, Callable[[Path], list[Any]], str | None]

QUICK = [
    "--selectors",
    "corrcoef",
    "--decoders",
    "knn",
    "--n-splits",
    2,
    "--sizes",
    "1,3",
    "--n-lags",
    2,
    "-q",
    "-j",
    1,
]
"""Options of a decode that takes a moment."""


def inspect(make: Callable[[Path], Path]) -> Callable[[Path], list[Any]]:
    return lambda folder: ["inspect", make(folder)]


def decode(make: Callable[[Path], Path], *options: Any) -> Callable[[Path], list[Any]]:
    return lambda folder: ["decode", make(folder), "--target", "velocity", "--out", folder / "run", *QUICK, *options]


def alone(*arguments: Any) -> Callable[[Path], list[Any]]:
    return lambda folder: [str(a).replace("FOLDER", str(folder)) for a in arguments]


# HDF5


def nwb(change: Change) -> Callable[[Path], list[Any]]:
    return inspect(
        files.nwb(trials=files.TRIALS, channels=pd.DataFrame({"name": list("abcd"), "electrode": 0}), change=change)
    )


def h5(change: Change) -> Callable[[Path], list[Any]]:
    def make(folder: Path) -> Path:
        path = files.h5()(folder)
        within(change)(path)
        return path

    return inspect(make)


# NumPy


def raw(content: bytes) -> Callable[[Path], list[Any]]:
    def make(folder: Path) -> Path:
        np.savez(folder / "a.npz", velocity=files.VELOCITY)
        return write_raw_npz(folder / "session.npz", counts=content)

    return inspect(make)


def header(text: str, major: int = 1, tail: int = 24) -> bytes:
    size = struct.pack("<H" if major == 1 else "<I", len(text) + 1)
    return b"\x93NUMPY" + bytes([major, 0]) + size + text.encode() + b"\n" + bytes(tail)


def describe(descr: str, shape: str) -> bytes:
    return header(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}")


def zeros(folder: Path) -> Path:
    """1.5 GB of zeros in 1.5 MB."""
    path = folder / "session.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("counts.npy", "w") as member:
        member.write(npy_header((1500, 10**6), "|u1"))
        for _ in range(1500):
            member.write(bytes(10**6))
    return path


# Text


def many_columns(folder: Path) -> Path:
    files.csv(files.COUNTS)(folder)
    names = [f"c{i}" for i in range(30_000)]
    write_text(folder / "m_counts.csv", ",".join(names) + "\n" + (",".join("0" * 30_000) + "\n") * 3)
    return folder / "m_counts.csv"


def beside(name: str, put_there: Callable[[Path], Any]) -> Callable[[Path], list[Any]]:
    def make(folder: Path) -> Path:
        path = files.csv(files.COUNTS)(folder)
        (folder / name).unlink(missing_ok=True)
        put_there(folder / name)
        return path

    return inspect(make)


def toml(text: str) -> Callable[[Path], list[Any]]:
    def make(folder: Path) -> Path:
        files.npz()(folder)
        return write_text(folder / "session.toml", text)

    return inspect(make)


def called(name: str, make: Callable[[Path], Path]) -> Callable[[Path], Path]:
    return lambda folder: make(folder).rename(folder / name)


def cut(folder: Path) -> Path:
    path = files.npz()(folder)
    path.write_bytes(path.read_bytes()[:2000])
    return path


# Folders


def locked(content: str) -> Callable[[Path], list[Any]]:
    def make(folder: Path) -> list[Any]:
        (folder / "run").mkdir()
        write_text(folder / "run" / ".lock", content)
        return decode(files.npz())(folder)

    return make


def piped(name: str) -> Callable[[Path], list[Any]]:
    """Return what lays a run folder of which a file is a pipe, and asks for its report."""

    def make(folder: Path) -> list[Any]:
        from .kinds import copy_run

        run = copy_run(folder / "run")
        (run / name).unlink()
        os.mkfifo(run / name)
        return ["report", run, "-q"]

    return make


def go_round(folder: Path) -> Path:
    """Links of a folder to itself: 2^40 paths."""
    folder.mkdir(exist_ok=True)
    for name in ("a", "b"):
        (folder / name).symlink_to(".", target_is_directory=True)
    return files.npz()(folder).parent


def batch(*options: Any) -> Callable[[Path], list[Any]]:
    """Return what asks for the plan of a batch."""

    def make(folder: Path) -> list[Any]:
        path = write_text(folder / "batch.toml", f'[[session]]\nfile = "{files.npz()(folder)}"\ntarget = "velocity"\n')
        return ["batch", path, "--dry-run", "--out", folder / "out", *options]

    return make


def batch_round(folder: Path) -> list[Any]:
    place = go_round(folder / "lab") / "batch.toml"
    path = write_text(place, '[[session]]\nfile = "**/*.npz"\ntarget = "velocity"\n')
    return ["batch", path, "--dry-run", "--out", folder / "out"]


def laid(seed: str, change: Callable[[Path], Any]) -> Callable[[Path], list[Any]]:
    """Return what inspects a sound session after a change of its folder."""

    def make(folder: Path) -> list[Any]:
        path = SEEDS[seed](folder)
        change(path)
        return ["inspect", path]

    return make


def pipe(name: str) -> Callable[[Path], Any]:
    def change(path: Path) -> None:
        place = (path if path.is_dir() else path.parent) / name
        place.unlink(missing_ok=True)
        os.mkfifo(place)

    return change


def link(name: str, target: str) -> Callable[[Path], Any]:
    def change(path: Path) -> None:
        place = (path if path.is_dir() else path.parent) / name
        if place.is_dir():
            shutil.rmtree(place)
        place.unlink(missing_ok=True)
        place.symlink_to(target)

    return change


def swell(path: Path) -> None:
    """A chunk of Zarr of 2 MB that becomes 2 GB of zeros."""
    place, n, n_parts = path / "units" / "spike_times", 10**7, 200
    declared = json.loads((place / ".zarray").read_text())
    write_text(place / ".zarray", json.dumps(declared | {"compressor": {"id": "zlib", "level": 1}}))
    pack = zlib.compressobj(9, zlib.DEFLATED, -15)
    part = pack.compress(bytes(n)) + pack.flush(zlib.Z_FULL_FLUSH)
    checksum = struct.pack(">HH", n * n_parts % 65521, 1)
    (place / "0").write_bytes(b"\x78\x9c" + part * n_parts + b"\x03\x00" + checksum)


def summarize(path: Path) -> None:
    """A summary of a Zarr that has a column unpickled of which the folder itself says that it is plain."""
    found = {str(f.relative_to(path)): json.loads(f.read_text()) for f in path.rglob(".z*") if f.name != ".zmetadata"}
    found["units/spike_times/.zarray"] |= {"dtype": "|O", "filters": [{"id": "pickle", "protocol": 5}]}
    write_text(path / ".zmetadata", json.dumps({"zarr_consolidated_format": 1, "metadata": found}))


def repeat_rows(path: Path) -> None:
    """200 million equal rows in a table of some kilobytes."""
    import pyarrow
    import pyarrow.parquet

    part = pyarrow.table({"time": np.zeros(10**6), "c0": np.zeros(10**6, dtype=np.int64)})
    with pyarrow.parquet.ParquetWriter(path, part.schema, compression="zstd") as writer:
        for _ in range(200):
            writer.write_table(part)


ELECTRODES = "general/extracellular_ephys"
NOT_A_COUNT = files.COUNTS[:, :1] * 0 + 1e300
SPAN = {"observed": np.array([[0.0, 1e300]])}
SMALL, LARGE = (files.VELOCITY * scale for scale in (1e-300, 1e200))
SHORT = np.zeros(7, dtype=int)

ROWS: list[Row] = [
    # 1: nothing but the file itself is read
    ("soft link through another file", nwb(link_through), "refused"),
    ("electrodes in another file", nwb(link_group(ELECTRODES, "/" + ELECTRODES)), None),
    ("units in another file", nwb(link_group("units", "/units")), "refused"),
    ("processing in another file", nwb(link_group("processing", "/processing")), None),
    ("trials in another file", nwb(link_group("intervals", "/intervals")), None),
    ("plain HDF5: another file", h5(link_group("more", "/units")), "refused"),
    *((f"virtual: {name}", nwb(virtual(name)), wanted) for name, wanted in (
        ("units/spike_times", "refused"), ("units/spike_times_index", "refused"), ("units/unit_name", None),
        ("intervals/trials/start_time", "refused"), ("intervals/trials/direction", None))),
    ("plain HDF5: virtual", h5(virtual("counts")), "refused"),
    ("counts in another file", nwb(count_elsewhere), "refused"),
    ("a table named where a reference belongs", laid("nwb-calcium", within(name_table)), "sane"),
    # 6: small files that ask for much
    ("groups in rings", nwb(rings), None),
    ("a ladder of groups", nwb(ladder), None),
    ("2,000 levels", nwb(nest(2000)), None),
    ("300 levels", nwb(nest(300)), None),
    ("plain HDF5: rings", h5(rings), None),
    ("plain HDF5: a ladder", h5(ladder), None),
    ("plain HDF5: 2,000 levels", h5(nest(2000)), "refused"),
    ("20,000 columns of a series", nwb(wide), None),
    ("30,000 columns of a table", inspect(many_columns), None),
    ("a pipe beside a table", beside("m_behavior.csv", os.mkfifo), "refused"),
    ("a pipe of trials", beside("m_trials.csv", os.mkfifo), "refused"),
    ("1.5 GB of zeros", inspect(zeros), "refused"),
    ("a sparse array of 3 GB", inspect(sparse_claim), "refused"),
    ("bins of 100 ns", decode(files.npz(), "--bin-width", 1e-7), "refused"),
    ("bins of 1 us", decode(files.times(), "--bin-width", 1e-6), "refused"),
    ("dimensions without axes", inspect(dimension_list), "refused"),
    ("folders in circles", lambda folder: ["inspect", go_round(folder / "lab")], "sane"),
    ("a batch of folders in circles", batch_round, "sane"),
    ("Zarr: folders in circles", laid("zarr", lambda path: go_round(path / "units")), None),
    ("Zarr: units elsewhere", laid("zarr", link("units", "../other")), "refused"),
    ("Zarr: units everywhere", laid("zarr", link("units", "/")), "refused"),
    ("Zarr: a pipe for a chunk", laid("zarr", pipe("units/spike_times/0")), "refused"),
    ("Zarr: a pipe for a group", laid("zarr", pipe("units/.zgroup")), "refused"),
    ("Zarr: 2 GB in a chunk", laid("zarr", swell), "refused"),
    ("Zarr: a summary of its own", laid("zarr", summarize), "sane"),
    ("Parquet: 200 million rows", laid("parquet", repeat_rows), "refused"),
    ("Parquet: a pipe of trials", laid("parquet", pipe("m_trials.parquet")), "refused"),
    ("arrays: a pipe beside", laid("npy", pipe("day_time.npy")), "refused"),
    ("arrays: no end beside", laid("npy", link("day_hand.npy", "/dev/zero")), "sane"),
    *((f"phy: a pipe for {name}", laid("phy", pipe(name)), None)
      for name in ("params.py", "cluster_group.tsv", "spike_times.npy", "spike_clusters.npy", "cluster_info.tsv")),
    ("phy: a table without end", laid("phy", link("cluster_info.tsv", "/dev/zero")), "sane"),
    # 7: tracebacks from files
    ("header: open string", raw(header("'''")), "refused"),
    ("header: open brackets", raw(header("[" * 3000)), "refused"),
    ("header: deep brackets", raw(header("[" * 3000 + "]" * 3000)), "refused"),
    ("header: no size", raw(describe("'|V0'", "(3,)")), "refused"),
    ("header: a huge item", raw(describe("'|V2147483647'", "(3,)")), "refused"),
    ("header: 100 axes", raw(describe("'|u1'", "(" + "1, " * 100 + ")")), "refused"),
    ("header: true", raw(describe("'|u1'", "(True, True)")), "refused"),
    ("header: fields", raw(describe("[('a', '<f8'), ('b', '|O')]", "(3,)")), "refused"),
    ("header: odd fields", raw(describe("[('a', '<f8', (2, -3))]", "(3,)")), "refused"),
    ("header: a number for fields", raw(describe("7", "(3,)")), "refused"),
    ("index of two axes", nwb(put("units/spike_times_index", np.zeros((2, 2), dtype=int))), "refused"),
    ("one spike time for all", nwb(put("units/spike_times", 0.5)), "refused"),
    ("one id for all", nwb(put("units/id", 3)), "refused"),
    ("electrodes not known", nwb(put("units/electrodes", np.full(4, np.nan))), None),
    ("electrodes far away", nwb(put("units/electrodes", np.full(4, 1e300))), None),
    ("equal times", nwb(equal_times), "refused"),
    *((f"a rate of {rate}", nwb(infinite_rate(rate)), "refused") for rate in (np.inf, np.nan, -1.0, 0.0, 1e300)),
    ("nothing observed", inspect(files.times(observed=np.empty((0, 2)))), None),
    ("observed backward", inspect(files.times(observed=np.array([[9.0, 1.0]]))), "refused"),
    ("observed: one number", inspect(files.times(observed=np.array([9.0]))), None),
    ("words for times", nwb(put("intervals/trials/start_time", np.array([b"a", b"b"]))), "refused"),
    ("words for stops", nwb(put("intervals/trials/stop_time", np.array([b"a"] * 32))), "refused"),
    ("a folder beside a table", beside("m_behavior.csv", Path.mkdir), "refused"),
    ("a folder of trials", beside("m_trials.csv", Path.mkdir), "refused"),
    # 8: options
    *((f"decode {flag} {value}", decode(files.npz(), flag, value), "refused") for flag, value in (
        ("--bin-width", "inf"), ("--bin-width", "nan"), ("--lead", "nan"), ("--lead", "inf"), ("--smooth", "inf"),
        ("--smooth", "1e9"), ("--n-neighbors", 0), ("--n-neighbors", "1e300"), ("--beta", "nan"), ("--beta", -1),
        ("--beta", 0), ("--beta", "inf"), ("--n-lags", 0), ("--n-splits", 1), ("--sizes", 0), ("--sizes", "-1,x"),
        ("--seed", -1), ("--step", "nan"), ("--step", "1e300"), ("--from", "inf"), ("--to", "-inf"),
        ("--set", "corrcoef.x=1"), ("--counts-bin-width", "1e300"), ("--counts-bin-width", "nan"))),
    *((f"simulate {flag} {value}", alone("simulate", "FOLDER/day.npz", flag, value), "refused") for flag, value in (
        ("--seed", -1), ("--drift", "nan"), ("--drift", "inf"), ("--n-trials", 0), ("--n-trials", 10**12))),
    ("reproduce --seed -1", alone("reproduce", "peaking", "--repetitions", 1, "--seed", -1), "refused"),
    ("batch --task-timeout", batch("--task-timeout", "9" * 30), "refused"),
    ("batch --memory-limit", batch("--memory-limit", "9" * 30 + "GB"), "refused"),
    ("batch, for an hour", batch("--task-timeout", "1h", "--memory-limit", "1GB"), "sane"),
    *((f"a run with a pipe for {name}", piped(name), None) for name in (
        "channels.csv", "weights.nc", "finished.json", "summary.json", "scores.csv")),
    *((f"a session file: {text[:32]}", toml(text), "refused") for text in (
        'file = "/dev/zero"', 'file = "session.toml"', 'file = "."', 'file = "a\\u0000b"', 'file = ["a"]',
        'file = "session.npz"\nbehavior_file = "/dev/zero"', 'file = "session.npz"\nbehavior_file = "session.toml"')),
    ("a nested table", toml("a = " + "[" * 5000 + "]" * 5000), "refused"),
    ("a word without end", toml('file = "session.npz"\nname = "' + "a" * 70_000 + '"\n'), None),
    ("a batch file without end", alone("batch", "/dev/zero", "--dry-run"), "refused"),
    ("nested keys", toml(".".join("a" * 20_000) + " = 1"), "refused"),
    ("targets of 1e-300", decode(files.npz(velocity=SMALL)), None),
    ("targets of 1e200", decode(files.npz(velocity=LARGE)), "refused"),
    *((f"a lock: {content[:12]}", locked(content), None) for content in (
        "5", "[]", "null", '{"host": 1}', '{"host": [], "pid": {}, "started": [], "since": 1}', "", "\x00",
        '{"host": "HOST", "pid": "x", "started": 0, "since": "x"}',
        '{"host": null, "pid": 1e999, "started": null, "since": null}')),
    # 9: nonsense
    ("observed for 1e300 s", inspect(files.times(**SPAN)), "refused"),
    ("counts of 1e300", inspect(files.npz(counts=NOT_A_COUNT)), "refused"),
    ("too few channels of spikes", inspect(files.times(spike_channels=SHORT)), "refused"),
    # 10: names
    *((f"channels with {end!r}", decode(files.npz(channel_names=np.array([f"c{i}{end}" for i in range(6)]))), None)
      for end in ("\0x", "\x1b[31m", "\n", "=1+1", "\udcff".encode("utf-8", "replace").decode(), "/", "\u202e")),
    ("a file name with an escape", inspect(called("se\x1b[31mssion.npz", files.npz())), "sane"),
    ("a bad file with an escape in its name", inspect(called("se\x1b[31mssion.npz", cut)), "refused"),
    ("a file name of two lines", inspect(called("se\nssion.npz", cut)), "refused"),
    ("a slash in a name", inspect(files.npz(**{"a/b": np.zeros(3)})), None),
    # what mutators begin with is sound, or they would find nothing
    *((f"sound: {name}", inspect(make), "sane") for name, make in SEEDS.items()),
]  # fmt: skip
