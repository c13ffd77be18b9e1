"""Arrays of NumPy in files of their own (`.npy`): one with spikes, counts or a signal, and those beside it.

`X_counts.npy`, `X_signal.npy` (or `X_spike_times.npy` with `X_spike_channels.npy`) stands for the recording X. Every
other `X_NAME.npy` of the folder is the variable NAME: `X_time.npy`, `X_hand_velocity.npy`, `X_trial_start.npy` ….
Without X, `counts.npy` has all arrays of its folder beside it. They are then read as those of an `.npz` are.
"""

from pathlib import Path
from typing import Any

import numpy as np

from neurofs.ground.config import LoadOptions
from neurofs.ground.errors import InputError, quoted
from neurofs.ground.files import hash_files
from neurofs.recordings.readers.layout import interpret
from neurofs.recordings.readers.npy import read_npy
from neurofs.recordings.readers.sizes import find_budget
from neurofs.recordings.readers.variables import Variables
from neurofs.recordings.recording import Recording

KINDS = {"spike_times": "spikes", "spikes": "spikes", "counts": "counts", "signal": "signal", "dff": "signal"}
"""How files with the neural data end, and what they hold."""


def read(path: Path, options: LoadOptions) -> Recording:
    """Return the recording in an array and those beside it."""
    name, stem = _split(path)
    values, notes = _read_beside(path, name, stem)
    kind = "counts" if values[name].ndim == 2 and KINDS[name] == "spikes" else KINDS[name]
    asked = any(getattr(options, key) is not None for key in ("spikes", "counts", "signal"))
    given = {} if asked else {kind: name}
    variables = Variables(values, options.model_copy(update=given), notes)
    files = [path, *list_beside(path)]
    return interpret(variables, stem.rstrip("_-. ") or path.parent.name, path.name, hash_files(files, path.parent))


def read_variables(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Return one array of behavior by the name of its file, and no notes."""
    return {path.stem: read_npy(path)}, []


def list_beside(path: Path) -> list[Path]:
    """Return the other arrays of a recording, in order."""
    _, stem = _split(path)
    return sorted(p for p in path.parent.glob("*.npy") if p.name.startswith(stem) and p != path and p.is_file())


def _split(path: Path) -> tuple[str, str]:
    """Return how a file ends, and what all files of its recording begin with.

    >>> _split(Path("day1_counts.npy")), _split(Path("counts.npy"))
    (('counts', 'day1_'), ('counts', ''))
    """
    name = next((end for end in KINDS if path.stem == end or path.stem.endswith(("_" + end, "-" + end, "." + end))), "")
    if not name:
        ends = ", ".join(f"{end}.npy" for end in KINDS)
        remedy = "Rename it, with the other arrays of the recording beside it; or name it with --behavior-file."
        raise InputError("name", f"a file that ends in {ends}", quoted(path.name), remedy)
    return name, path.stem.removesuffix(name)


def _read_beside(path: Path, name: str, stem: str) -> tuple[dict[str, np.ndarray], list[str]]:
    """Return the arrays by name; what is no array of numbers is left out, and said."""
    budget, notes = find_budget(), list[str]()
    values = {name: read_npy(path, budget)}
    for other in list_beside(path):
        try:
            values[other.stem.removeprefix(stem)] = read_npy(other, budget)
        except InputError as error:
            notes.append(f"left out {quoted(other.name)}: found {error.found}")
    return values, notes
