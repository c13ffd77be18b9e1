"""The three recordings of the league as samples and targets, from the files of the shared data folder."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from neurofs.features.samples import Samples
from neurofs.features.splits import BlockedKFold
from neurofs.features.tensor import build_tensor, to_samples
from neurofs.ground.errors import InputError
from neurofs.recordings.readers import load

CHEWIE = "chewie_20131003_m1.npz"


class Session(NamedTuple):
    """A recording to decode: samples, targets (rows, outputs), their names, and the trial of each row if any."""

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


def find_recording(name: str) -> Path:
    """Return the path of a file in the folder of the recordings."""
    path = shared_data() / name
    if not path.exists():
        remedy = "Set NEUROFS_SHARED_DATA to the folder of the recordings."
        raise InputError(path, "a recording", "no such file", remedy)
    return path


def _read(name: str, file: str, target: str | list[str], n_lags: int, folder: Path, **options: Any) -> Session:
    """Return a recording as a decoding problem: counts in bins of 100 ms, and the mean target of each."""
    recording = load(folder / file, **options)
    tensor = build_tensor(recording, target, bin_width=0.1, n_lags=n_lags)
    samples, y, trial = to_samples(tensor)
    trials = trial if len(recording.trials) else None
    outputs = tuple(tensor["output"].values.tolist())
    return Session(name, samples, y, outputs, recording.n_channels, trials)


_VELOCITY = ["handVel:x", "handVel:y"]
RECORDINGS: dict[str, Callable[[Path], Session]] = {
    # M1 and PMd of a monkey, center-out; 50 ms counts summed in pairs, hand velocity
    "stevenson": partial(_read, "stevenson", "stevenson2011_m1.mat", _VELOCITY, 10, trials=False),
    # M1 of a monkey, center-out; lags stay inside a trial, hand velocity
    "chewie": partial(_read, "chewie", CHEWIE, "hand_velocity", 3),
    # thalamus of a mouse, awake; cosine and sine of the head direction
    "a2929": partial(_read, "a2929", "a2929_head_direction.nwb", "ry", 10),
}
