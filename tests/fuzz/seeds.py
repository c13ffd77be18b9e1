"""Sound files of every format that can be made here; mutators begin with them. Each is made once, then laid again."""

from __future__ import annotations

import struct
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import scipy.io
import scipy.sparse
import trap_files as files
import xarray as xr
from writers import write_mat73, write_nev

Make = Callable[[Path], Path]

CHANNELS = pd.DataFrame({"name": list("abcd"), "quality": ["good", "mua", "good", "noise"], "electrode": [1, 2, 3, 4]})
TRIAL = [
    {"trial_id": float(i), "bin_size": 0.05, "M1_spikes": np.ones((40, 4)) * (i % 3), "vel": np.full((40, 2), i / 7.0),
     "idx_go": 3.0} for i in range(12)
]  # fmt: skip


def _mat(**values: object) -> Make:
    def make(folder: Path) -> Path:
        scipy.io.savemat(folder / "session.mat", values, do_compression=len(values) % 2 == 0)
        return folder / "session.mat"

    return make


def _cells() -> np.ndarray:
    cells = np.empty(4, dtype=object)
    cells[:] = files.SPIKES
    return cells


def _mat73(**values: object) -> Make:
    return lambda folder: write_mat73(folder / "session.mat", **values)


def _netcdf(folder: Path) -> Path:
    coords = {"time": files.BINS + files.WIDTH / 2, "channel": list("abcdef")}
    content = {"counts": (("time", "channel"), files.COUNTS), "velocity": (("time", "axis"), files.VELOCITY)}
    xr.Dataset(content, coords).to_netcdf(folder / "session.nc", engine="h5netcdf")
    return folder / "session.nc"


def _phy(folder: Path) -> Path:
    place = folder / "phy"
    place.mkdir()
    times = np.sort(np.concatenate(files.SPIKES))
    np.save(place / "spike_times.npy", (30000 * times).astype(np.uint64)[:, None])
    np.save(place / "spike_clusters.npy", (np.arange(len(times)) % 4).astype(np.int32))
    (place / "params.py").write_text("sample_rate = 30000.\n")
    (place / "cluster_group.tsv").write_text("cluster_id\tgroup\n0\tgood\n1\tmua\n2\tgood\n3\tnoise\n")
    return place


def _neuralynx(folder: Path) -> Path:
    path = folder / "session.nse"
    records = b"".join(struct.pack("<QII8I32h", int(1e6 * t), 0, 1, *[0] * 8, *[0] * 32) for t in files.SPIKES[0])
    path.write_bytes(b"######## Neuralynx Data File Header\r\n".ljust(16384, b"\0") + records)
    return path


def _nev(folder: Path) -> Path:
    ticks = sorted((int(30_000 * t), electrode + 1, 1) for electrode in range(3) for t in files.SPIKES[electrode][:40])
    return write_nev(folder / "session.nev", ticks)


def _zarr(folder: Path) -> Path:
    import hdmf_zarr.nwb
    import pynwb

    store = folder / "a.nwb.zarr"
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries that only write here
        path = MAKERS["nwb"](Path(place))
        with pynwb.NWBHDF5IO(path, "r") as source, hdmf_zarr.nwb.NWBZarrIO(str(store), "w") as io:
            io.export(src_io=source, write_args={"link_data": False})
    return store


def _npy(folder: Path) -> Path:
    for name, values in {"counts": files.COUNTS, "velocity": files.VELOCITY, "time": files.BINS}.items():
        np.save(folder / f"day_{name}.npy", values)
    return folder / "day_counts.npy"


def _parquet(folder: Path) -> Path:
    """The tables of CSV, and one with words."""
    _all_csv(folder)
    for path in sorted(folder.glob("*.csv")):
        pd.read_csv(path).to_parquet(path.with_suffix(".parquet"), index=False)
        path.unlink()
    return folder / "m_counts.parquet"


def _tables(folder: Path) -> Path:
    """A timetable of MATLAB beside an array."""
    import matio

    kin = pd.DataFrame({"vx": files.VELOCITY[:, 0]}, index=pd.to_timedelta(files.BINS, unit="s"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        matio.save_to_mat(
            str(folder / "session.mat"),
            {"counts": files.COUNTS.astype(float), "kin": kin, "bin_width": 0.05},
            version="v7",
        )
    return folder / "session.mat"


def _torch_brain(folder: Path) -> Path:
    """What temporaldata writes, as far as it is read."""
    times = np.concatenate(files.SPIKES)
    order = np.argsort(times, kind="stable")
    groups: dict[str, dict[str, object]] = {
        "IrregularTimeSeries spikes": {"timestamps": times[order], "unit_index": np.repeat(np.arange(4), 500)[order]},
        "Interval spikes/domain": {"start": np.zeros(1), "end": np.full(1, files.LENGTH)},
        "ArrayDict units": {"id": np.array([b"a", b"b", b"c", b"d"]), "area": np.array([b"M1"] * 4)},
        "IrregularTimeSeries hand": {"timestamps": files.BINS, "velocity": files.VELOCITY},
        "RegularTimeSeries eye": {"sampling_rate": 20.0, "xy": files.POSITION},
        "Interval trials": {"start": files.STARTS, "end": files.STARTS + 1.8, "direction": np.arange(32) % 4},
    }
    with h5py.File(folder / "session.h5", "w") as file:
        file.attrs["object"] = "Data"
        for name, values in groups.items():
            kind, place = name.split(" ")
            group = file.require_group(place)
            group.attrs["object"] = kind
            for key, value in values.items():
                if np.ndim(value):
                    group[key] = value
                else:
                    group.attrs[key] = value
    return folder / "session.h5"


def _calcium(folder: Path) -> Path:
    """dF/F of an NWB file."""
    from neurofs.recordings.calcium import image_calcium
    from neurofs.recordings.simulate import simulate_session
    from neurofs.recordings.writers import write

    return write(image_calcium(simulate_session(12, n_electrodes=4, random_state=1)), folder / "session.nwb")


def _cell_explorer(folder: Path) -> Path:
    cells = {"times": _cells(), "UID": np.arange(1, 5), "sr": 20000.0}
    scipy.io.savemat(folder / "a.spikes.cellinfo.mat", {"spikes": cells})
    return folder / "a.spikes.cellinfo.mat"


def _all_csv(folder: Path) -> Path:
    files.csv(files.COUNTS, trials=files.TRIALS)(folder)
    pd.DataFrame({"name": [f"c{i}" for i in range(6)], "quality": list("abcabc")}).to_csv(
        folder / "m_channels.csv", index=False
    )
    return folder / "m_counts.csv"


STARTS = files.STARTS + 0.05
"""Not whole: it would not be known whether whole ones are seconds or bins, and every file with them is refused."""

EVENTS = ["time,channel", *(f"{t:.6f},{i % 4}" for i, t in enumerate(np.sort(np.concatenate(files.SPIKES))))]

MAKERS: dict[str, Make] = {
    "nwb": files.nwb(trials=files.TRIALS, channels=CHANNELS),
    "nwb-plain": files.nwb(),
    "npz": files.npz(),
    "npz-trials": files.npz(trial_start=STARTS, trial_stop=STARTS + 1.8, direction=np.arange(32) % 4),
    "npz-times": files.times(),
    "npz-rates": files.npz(**files.RATES, counts=None, velocity=None, bin_width=None),
    "mat": _mat(counts=files.COUNTS, velocity=files.VELOCITY, bin_width=0.05, startBins=np.arange(0, 1300, 100) + 1),
    "mat-cells": _mat(spikes=_cells(), velocity=files.VELOCITY, behavior_time=files.BINS),
    "mat-structs": _mat(trial_data=TRIAL),
    "mat-sparse": _mat(
        counts=scipy.sparse.csc_array(files.COUNTS.astype(float)), velocity=files.VELOCITY, bin_width=0.05, x="words"
    ),
    "mat73": _mat73(counts=files.COUNTS, velocity=files.VELOCITY, bin_width=0.05),
    "mat73-cells": _mat73(spikes=files.SPIKES, velocity=files.VELOCITY, behavior_time=files.BINS),
    "mat73-structs": _mat73(trial_data=TRIAL),
    "h5": files.h5(unit="count"),
    "h5-trials": files.h5(trials__start=STARTS, trials__stop=STARTS + 1.8),
    "netcdf": _netcdf,
    "csv": _all_csv,
    "csv-events": files.events(EVENTS),
    "phy": _phy,
    "neuralynx": _neuralynx,
    "npz-signal": files.npz(counts=None, signal=files.COUNTS + 0.25),
    "nwb-calcium": _calcium,
    "npy": _npy,
    "mat-explorer": _cell_explorer,
    "h5-torch": _torch_brain,
    "nev": _nev,
    "zarr": _zarr,
    "parquet": _parquet,
    "mat-tables": _tables,
}
APART = ("nev", "zarr", "parquet", "mat-tables")
"""What is read in processes apart, each of which takes a second or two."""


@cache
def _make_once(name: str) -> tuple[str, dict[str, bytes]]:
    """Return the path of a session, and the files that belong to it."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        path = MAKERS[name](folder)
        found = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
        return str(path.relative_to(folder)), found


def lay(name: str) -> Make:
    """Return what lays a sound session into a folder."""

    def make(folder: Path) -> Path:
        path, found = _make_once(name)
        for inside, content in found.items():
            (folder / inside).parent.mkdir(parents=True, exist_ok=True)
            (folder / inside).write_bytes(content)
        return folder / path

    return make


SEEDS = {name: lay(name) for name in MAKERS}
