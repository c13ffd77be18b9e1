"""The three recordings of the league as samples and targets, from the files of the shared-data folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neurofs.features.samples import Samples
from neurofs.features.splits import BlockedKFold
from neurofs.features.tensor import build_tensor, to_samples
from neurofs.recordings.readers import load
from neurofs.recordings.recording import Recording

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
    beside = Path(__file__).resolve().parents[4] / "shared" / "data"
    return Path(os.environ.get("NEUROFS_SHARED_DATA", beside))


def read_stevenson(folder: Path) -> Problem:
    """Monkey M1/PMd, center-out: 50 ms counts summed in pairs, 10 lags, mean hand velocity of each 100 ms."""
    recording = load(folder / "stevenson2011_m1.mat", trials=False)
    return _make_problem("stevenson", recording, ["handVel:x", "handVel:y"], 10)


def read_chewie(folder: Path) -> Problem:
    """Monkey M1, center-out: 100 ms counts, 3 lags that stay inside a trial, hand velocity."""
    return _make_problem("chewie", load(folder / "chewie_20131003_m1.npz"), ["hand_velocity"], 3)


def read_a2929(folder: Path) -> Problem:
    """Mouse thalamus awake: spikes in 100 ms bins, 10 lags, mean cosine and sine of the head direction."""
    return _make_problem("a2929", load(folder / "a2929_head_direction.nwb"), ["ry"], 10)


def _make_problem(name: str, recording: Recording, target: list[str], n_lags: int) -> Problem:
    tensor = build_tensor(recording, target, bin_width=0.1, n_lags=n_lags)
    samples, y, trial = to_samples(tensor)
    trials = trial if len(recording.trials) else None
    outputs = tuple(tensor["output"].values.tolist())
    return Problem(name, samples, y, outputs, recording.n_channels, trials)


RECORDINGS: dict[str, Callable[[Path], Problem]] = {
    "stevenson": read_stevenson,
    "chewie": read_chewie,
    "a2929": read_a2929,
}
