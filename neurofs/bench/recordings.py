"""The three recordings of the league as samples and targets, from the files of the shared-data folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neurofs.samples import Samples
from neurofs.splits import BlockedKFold

__all__ = ["RECORDINGS", "Problem", "shared_data"]


@dataclass(frozen=True, eq=False)
class Problem:
    """A decoding problem: samples, targets (rows, outputs), their names, and the trial of each row if any."""

    name: str
    samples: Samples
    y: np.ndarray
    outputs: tuple[str, ...]
    n_channels: int
    trials: np.ndarray | None = None

    def folds(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield five folds: whole trials, or contiguous blocks with gaps."""
        return BlockedKFold(5).split(self.samples, groups=self.trials)


def shared_data() -> Path:
    """Return the folder of the recordings: ``NEUROFS_SHARED_DATA``, or ``../shared/data`` of the project."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    return Path(os.environ.get("NEUROFS_SHARED_DATA", beside))


def read_stevenson(folder: Path) -> Problem:
    """Monkey M1/PMd, center-out: 50 ms counts summed in pairs, 10 lags, mean hand velocity of each 100 ms."""
    from scipy.io import loadmat

    file = loadmat(folder / "stevenson2011_m1.mat", variable_names=["spikes", "handVel"])
    spikes, velocity = file["spikes"].T.astype(np.float32), file["handVel"][:2].T
    n_bins = len(spikes) // 2
    counts = spikes[: 2 * n_bins].reshape(n_bins, 2, -1).sum(axis=1)
    velocity = velocity[: 2 * n_bins].reshape(n_bins, 2, 2).mean(axis=1)
    return _windows("stevenson", counts, velocity, 10, ("velocity x", "velocity y"))


def read_chewie(folder: Path) -> Problem:
    """Monkey M1, center-out: 100 ms counts, 3 lags that stay inside a trial, hand velocity."""
    with np.load(folder / "chewie_20131003_m1.npz") as file:
        counts, velocity, trial = file["counts"], file["hand_velocity"], file["trial"]
    rows = np.flatnonzero(trial[2:] == trial[:-2]) + 2
    samples = Samples.from_counts(counts, 3, rows)
    return Problem(
        "chewie", samples, velocity[rows], ("velocity x", "velocity y"), counts.shape[1], trial[rows]
    )


def read_a2929(folder: Path) -> Problem:
    """Mouse thalamus awake: spikes in 100 ms bins, 10 lags, mean cosine and sine of the head direction."""
    import h5py

    with h5py.File(folder / "a2929_head_direction.nwb") as file:
        support = file["intervals/position_time_support"]
        start, stop = support["start_time"][0], support["stop_time"][0]
        angle, time = (file[f"acquisition/CompassDirection/ry/{key}"][:] for key in ("data", "timestamps"))
        spikes = np.split(file["units/spike_times"][:], file["units/spike_times_index"][:-1])
    n_bins = int((stop - start) / 0.1)
    counts = np.column_stack([_count(times, start, n_bins) for times in spikes])
    samples_per_bin = _count(time, start, n_bins)
    target = [_count(time, start, n_bins, f(angle)) / samples_per_bin for f in (np.cos, np.sin)]
    return _windows("a2929", counts, np.column_stack(target), 10, ("cosine", "sine"))


def _count(times: np.ndarray, start: float, n_bins: int, weights: np.ndarray | None = None) -> np.ndarray:
    """Count times, or add up their weights, in 100 ms bins from `start`."""
    bins = np.floor((times - start) / 0.1).astype(np.int64)
    inside = (bins >= 0) & (bins < n_bins)
    return np.bincount(bins[inside], None if weights is None else weights[inside], minlength=n_bins)


def _windows(
    name: str, counts: np.ndarray, target: np.ndarray, lags: int, outputs: tuple[str, ...]
) -> Problem:
    """Return a continuous recording as a problem, from the first bin with a full window on."""
    return Problem(name, Samples.from_counts(counts, lags), target[lags - 1 :], outputs, counts.shape[1])


RECORDINGS: dict[str, Callable[[Path], Problem]] = {
    "stevenson": read_stevenson,
    "chewie": read_chewie,
    "a2929": read_a2929,
}
