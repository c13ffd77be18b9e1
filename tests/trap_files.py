"""A sound session, its files in many formats, and ways to spoil its values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import scipy.io
from writers import write_h5, write_mat73, write_nev, write_npz, write_text

from neurofs.recordings.recording import Recording, Series
from neurofs.recordings.writers import write

Make = Callable[[Path], Path]

# A sound session: 65 s in 1,300 bins of 50 ms

RNG = np.random.default_rng(20)
WIDTH, N = 0.05, 1300
LENGTH = N * WIDTH
BINS = WIDTH * np.arange(N)
COUNTS = RNG.poisson(RNG.uniform(0.4, 1.6, 6), (N, 6))


def _wander(n: int = N, width: float = WIDTH) -> np.ndarray:
    """A smooth movement in two dimensions."""
    t = width * np.arange(n)
    return np.column_stack([10 * np.sin(1.3 * t) + 4 * np.cos(0.31 * t), 8 * np.cos(1.1 * t) - 5 * np.sin(0.47 * t)])


POSITION = _wander()
VELOCITY = np.gradient(POSITION, WIDTH, axis=0)
SOUND = {"counts": COUNTS, "velocity": VELOCITY, "bin_width": WIDTH}
SPIKES = [np.sort(RNG.uniform(0, LENGTH, 500)) for _ in range(4)]
CELLS = np.frompyfunc(lambda i: SPIKES[i], 1, 1)(np.arange(8).reshape(2, 4) % 4)
STARTS = np.arange(0.0, 64, 2.0)
TRIALS = pd.DataFrame({"start": STARTS, "stop": STARTS + 1.8, "direction": np.tile([0, 90, 180, 270], 8)})


def npz(**changes: Any) -> Make:
    arrays = {name: value for name, value in (SOUND | changes).items() if value is not None}
    return lambda folder: write_npz(folder / "session.npz", **arrays)


def times(spikes: list[np.ndarray] = SPIKES, **others: Any) -> Make:
    """An archive of spike times, with velocity on its own clock."""
    arrays = {
        "spike_times": np.concatenate(spikes),
        "spike_channels": np.repeat(np.arange(len(spikes)), [len(s) for s in spikes]),
        "velocity": VELOCITY,
        "behavior_time": BINS,
    } | others
    return lambda folder: write_npz(folder / "session.npz", **arrays)


def mat(**changes: Any) -> Make:
    values = {name: value for name, value in (SOUND | changes).items() if value is not None}

    def make(folder: Path) -> Path:
        scipy.io.savemat(folder / "session.mat", values)
        return folder / "session.mat"

    return make


def mat73(**changes: Any) -> Make:
    values = {name: value for name, value in (SOUND | changes).items() if value is not None}
    return lambda folder: write_mat73(folder / "session.mat", **values)


def h5(unit: str = "", **changes: Any) -> Make:
    def make(folder: Path) -> Path:
        values = {name: value for name, value in (SOUND | changes).items() if value is not None}
        path = write_h5(folder / "session.h5", **values)
        with h5py.File(path, "r+") as file:
            if unit:
                file["counts"].attrs["unit"] = unit
        return path

    return make


def csv(counts: Any, velocity: Any = VELOCITY, trials: pd.DataFrame | None = None, **columns: Any) -> Make:
    def make(folder: Path) -> Path:
        table = pd.DataFrame(counts, columns=[f"c{i}" for i in range(np.shape(counts)[1])]).assign(**columns)
        table.insert(0, "time", BINS)
        table.to_csv(folder / "m_counts.csv", index=False)
        moves = pd.DataFrame(velocity, columns=["hand_x", "hand_y"])
        moves.insert(0, "time", BINS + WIDTH / 2)
        moves.to_csv(folder / "m_behavior.csv", index=False)
        if trials is not None:
            trials.to_csv(folder / "m_trials.csv", index=False)
        return folder / "m_counts.csv"

    return make


def events(lines: list[str]) -> Make:
    """A table of single spikes, with behavior beside it."""

    def make(folder: Path) -> Path:
        csv(COUNTS)(folder)
        return write_text(folder / "m_spikes.csv", "\n".join(lines) + "\n")

    return make


def nwb(
    spikes: list[np.ndarray] = SPIKES,
    velocity: Any = VELOCITY,
    time: np.ndarray = BINS,
    trials: pd.DataFrame | None = None,
    channels: pd.DataFrame | None = None,
    change: Callable[[h5py.File], Any] | None = None,
    name: str = "hand_velocity",
    unit: str = "cm/s",
) -> Make:
    def make(folder: Path) -> Path:
        series = Series(name, time, velocity, unit=unit)
        sound = Recording("m", spikes=spikes, behavior={name: series}, trials=trials, channels=channels)
        path = write(sound, folder / "session.nwb")
        if change is not None:
            with h5py.File(path, "r+") as file:
                change(file)
        return path

    return make


def scale(name: str, factor: float) -> Callable[[h5py.File], Any]:
    """Multiply a data set of an NWB file."""

    def change(file: h5py.File) -> None:
        file[name][...] = np.round(file[name][...] * factor, 6)

    return change


def overlap(file: h5py.File) -> None:
    file["intervals/trials/stop_time"][...] = file["intervals/trials/start_time"][...] + 3.0


def blackrock(units: list[int]) -> Make:
    ticks = sorted((int(30_000 * t), electrode + 1, unit) for electrode, unit in enumerate(units) for t in SPIKES[0])
    return lambda folder: write_nev(folder / "session.nev", ticks)


def stack_lags(counts: np.ndarray, n_lags: int = 3) -> np.ndarray:
    return np.column_stack([np.roll(counts, lag, axis=0) for lag in range(n_lags)])[n_lags:]


def clip(rates: float) -> np.ndarray:
    return (RNG.uniform(size=(N, 6)) < rates).astype(np.uint8)


def put(values: np.ndarray, rows: slice, mark: float) -> np.ndarray:
    changed = np.array(values, dtype=float)
    changed[rows] = mark
    return changed


def silence(counts: np.ndarray) -> np.ndarray:
    return np.where(np.arange(len(counts))[:, None] < 900, counts, 0)


def total(counts: np.ndarray) -> np.ndarray:
    return np.column_stack([counts, counts.sum(axis=1)])


def saturate(counts: np.ndarray) -> np.ndarray:
    return np.minimum(counts.astype(np.int64) * 90 + RNG.integers(0, 9, counts.shape), 255).astype(np.uint8)


def smooth(counts: np.ndarray) -> np.ndarray:
    return np.apply_along_axis(np.convolve, 0, counts.astype(float), np.ones(7) / 7, mode="same")


HEADING = np.cumsum(0.3 + 0.1 * np.sin(BINS))  # turns all the time
SCORES = (COUNTS - COUNTS.mean(axis=0)) / COUNTS.std(axis=0)
JITTERED = np.sort(SPIKES[0] + RNG.uniform(0, 1e-4, len(SPIKES[0])))
TWICE = np.sort(np.concatenate([SPIKES[0], SPIKES[0]]))
SORTED = TRIALS.assign(direction=np.repeat([0, 90, 180, 270], 8))
RATES = {"spikeratedata": COUNTS / WIDTH, "timeframe": BINS[:, None], "velocbin": VELOCITY}
FEW = {"bin_width": WIDTH, "velocity": VELOCITY, "counts": None}


def change_lines(change: Callable[[str], str], more: str = "") -> Make:
    """A table of counts whose lines were changed, all but the header, with one more at the end."""

    def make(folder: Path) -> Path:
        path = csv(COUNTS)(folder)
        header, *lines = path.read_text().splitlines()
        return write_text(path, "\n".join([header, *map(change, lines), *([more] if more else [])]) + "\n")

    return make


def pad(fill: float) -> Make:
    """Spike times as a row per channel, filled up where a channel has fewer spikes."""
    rows = np.full((4, 500), fill)
    for i, spikes in enumerate(SPIKES):
        rows[i, : 500 - 10 * i] = spikes[: 500 - 10 * i]
    return lambda folder: write_npz(folder / "session.npz", spike_times=rows, velocity=VELOCITY, behavior_time=BINS)


def track(folder: Path) -> Path:
    """Spikes, and as behavior the table of a video with three lines of names."""
    heads = ["scorer,net,net,net", "bodyparts,hand,hand,hand", "coords,x,y,likelihood"]
    lines = [f"{i},{x:.3f},{y:.3f},0.9" for i, (x, y) in enumerate(POSITION)]
    path = csv(COUNTS)(folder)
    write_text(folder / "m_behavior.csv", "\n".join([*heads, *lines]) + "\n")
    return path


def phy(params: str) -> Make:
    """What Kilosort leaves of the spikes of one channel."""

    def make(folder: Path) -> Path:
        samples = np.rint(30_000 * SPIKES[0]).astype(np.int64)
        np.save(folder / "spike_times.npy", samples)
        np.save(folder / "spike_clusters.npy", np.zeros(len(samples), dtype=np.int32))
        write_text(folder / "params.py", params + "\n")
        return folder

    return make
