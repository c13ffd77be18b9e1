"""`Comparison`: everything a run found out, as a value and as a folder of plain files.

A run folder holds

    run.toml         every setting that decides the outcome; ``neurofs decode run.toml`` repeats the run
    scores.csv       one row per output, repeat, fold, method and number of features (`SCORE_COLUMNS`)
    weights.nc       weights and ranking (selector, output, repeat, fold, channel, lag)
    predictions.nc   what each method predicted at its own choice, beside the target
    session.nc       what is known of channels and trials, and spikes around movement onset
    summary.json     intervals, tests, wins, stability, chance, audit, headline, provenance (`comparison.summary`)
    log.txt          what happened when
    report.html      the report
    tasks/           results of single tasks, from which an interrupted run goes on

Files are written to a temporary name and moved into place, so that a file that is there is whole. The summary is
removed first and written last, so that the files of a folder that has one belong together.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from neurofs.ground.config import RunOptions, given_options, make_options, read_toml, render_toml
from neurofs.ground.errors import InputError

__all__ = [
    "SCORE_COLUMNS",
    "Comparison",
    "TaskResult",
    "TaskStore",
    "make_folder",
    "prepare_place",
    "read",
    "remove_parts",
    "save",
    "start_run",
    "write_atomically",
]

_HEAD = "head"

SCORE_COLUMNS = {
    "output": "str",  # the target's component; "(all)" never occurs here
    "repeat": "int64",
    "fold": "int64",
    "method": "str",  # the selector, or "SELECTOR + DECODER", or a baseline: ridge, kalman
    "selector": "str",
    "decoder": "str",
    "weighted": "bool",  # whether distances were weighed by the selector's weights
    "chosen": "bool",  # whether n was chosen on an inner split (one row per method); else a point of the curve
    "n": "int64",  # number of features
    "k": "float64",  # neighbors and width of soft kNN, where it was used
    "beta": "float64",
    "mse": "float64",
    "r2": "float64",
    "r": "float64",
    "accuracy": "float64",  # of classes; NaN for continuous targets, as the three before are for classes
    "balanced_accuracy": "float64",
    "n_train": "int64",
    "n_test": "int64",
}


@dataclass(frozen=True, eq=False)
class TaskResult:
    """What one task found: rows of scores (or of the null control) and named arrays."""

    rows: list[dict[str, Any]]
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class Comparison:
    """Everything that a run found out; all that a report shows comes from here.

    Attributes
    ----------
    scores : DataFrame
        `SCORE_COLUMNS`, sorted.
    weights : Dataset
        ``weights`` and ``ranking`` (selector, output, repeat, fold, channel, lag), rank 1 = best, and
        ``n_chosen`` (selector, output, repeat, fold).
    predictions : Dataset
        ``predicted`` (method, repeat, output, time), NaN where nothing was predicted, ``target``
        (time, output), ``trial`` (time), -1 outside; classes as their numbers, their names in the
        attribute ``classes``.
    session : Dataset
        Channel and trial tables and the raster (`comparison.session`).
    summary : dict
        See `comparison.summary`.
    config : RunOptions
    """

    scores: pd.DataFrame
    weights: xr.Dataset
    predictions: xr.Dataset
    session: xr.Dataset
    summary: dict[str, Any]
    config: RunOptions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Comparison):
            return NotImplemented
        tables = ("weights", "predictions", "session")
        return (
            self.scores.equals(other.scores)
            and all(getattr(self, name).identical(getattr(other, name)) for name in tables)
            and _as_json(self.summary) == _as_json(other.summary)
            and self.config == other.config
        )

    __hash__ = None  # type: ignore[assignment]


def start_run(folder: str | Path, options: RunOptions) -> Path:
    """Say in a run folder what is to be done, and that it is not finished; return the folder."""
    folder = make_folder(folder)
    (folder / "summary.json").unlink(missing_ok=True)
    write_atomically(folder / "run.toml", render_toml(given_options(options)))
    return folder


def save(comparison: Comparison, folder: str | Path) -> Path:
    """Write a comparison as a run folder (all but its report) and return the folder."""
    folder = start_run(folder, comparison.config)
    write_atomically(folder / "scores.csv", comparison.scores.to_csv(index=False, lineterminator="\n"))
    for name in ("weights", "predictions", "session"):
        write_atomically(folder / f"{name}.nc", _to_netcdf(getattr(comparison, name)))
    write_atomically(folder / "summary.json", _as_json(comparison.summary))
    return folder


def read(folder: str | Path) -> Comparison:
    """Read a run folder back: ``read(save(c, folder)) == c``."""
    folder = Path(folder)
    summary_path = folder / "summary.json"
    if not summary_path.is_file():
        raise InputError(
            folder, "a finished run", "no summary.json", "Finish it: neurofs decode FOLDER/run.toml."
        )
    try:
        summary = json.loads(summary_path.read_text(encoding="utf-8"))
        scores = pd.read_csv(
            folder / "scores.csv", dtype=SCORE_COLUMNS, keep_default_na=False, na_values=[""]
        )
        tables = {name: _read_netcdf(folder / f"{name}.nc") for name in ("weights", "predictions", "session")}
    except (OSError, ValueError, KeyError) as error:
        raise InputError(folder, "the files of a run", error, "Run it again.") from None
    config = make_options(RunOptions, read_toml(folder / "run.toml", "the settings of a run"), "run.toml")
    return Comparison(scores, summary=summary, config=config, **tables)


def _as_json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _to_netcdf(dataset: xr.Dataset) -> bytes:
    """Return a dataset as compressed NetCDF-4; the same dataset gives the same bytes."""
    packed = {"zlib": True, "complevel": 4}
    encoding = {
        name: packed for name, v in dataset.variables.items() if v.dtype.kind in "iuf" and v.size > 64
    }
    return bytes(dataset.to_netcdf(engine="h5netcdf", encoding=encoding))


def _read_netcdf(path: Path) -> xr.Dataset:
    with xr.open_dataset(io.BytesIO(path.read_bytes()), engine="h5netcdf") as dataset:
        return dataset.load()


def make_folder(folder: str | Path) -> Path:
    """Make a folder, with those around it, unless it is there."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            folder, "a folder that can be made", error.strerror, "Check path and rights."
        ) from None
    return folder


def prepare_place(file: Path | None) -> None:
    """Make the folder of a file to be written later: what cannot be kept must not be found out after hours."""
    if file is None:
        return
    make_folder(file.parent)
    if file.is_dir():
        raise InputError(file, "the name of a file", "a folder", "Name a file in it.")


def write_atomically(path: Path, content: str | bytes) -> Path:
    """Write a whole file or none: under another name first, then moved into place."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        raise InputError(
            path, "a folder that can be written", error.strerror, "Check space and rights."
        ) from None
    finally:
        part.unlink(missing_ok=True)
    return path


def remove_parts(*folders: Path) -> None:
    """Remove half-written files: those of a process that was killed, or of a child stopped while it wrote."""
    for folder in folders:
        for path in folder.glob(".*.part"):
            path.unlink(missing_ok=True)


class TaskStore:
    """Results of single tasks in a folder, each with the key of what it was computed from.

    >>> import tempfile
    >>> store = TaskStore(Path(tempfile.mkdtemp()))
    >>> store.write("rgs-0-0-0", "abc", TaskResult([{"n": 3}], {"weights": np.ones(2)}, 0.5))
    >>> store.read("rgs-0-0-0", "abc").rows
    [{'n': 3}]
    >>> store.read("rgs-0-0-0", "another key") is None
    True
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, task_id: str, key: str, result: TaskResult) -> None:
        """Keep a result; it is either whole or not there."""
        make_folder(self.folder)
        head = json.dumps({"key": key, "rows": result.rows, "seconds": result.seconds})
        buffer = io.BytesIO()
        content: Any = {_HEAD: np.frombuffer(head.encode(), np.uint8), **result.arrays}
        np.savez_compressed(buffer, **content)
        write_atomically(self.folder / f"{task_id}.npz", buffer.getvalue())

    def read(self, task_id: str, key: str) -> TaskResult | None:
        """Return the result of a task, or None if there is none computed from the same things."""
        try:
            content = io.BytesIO((self.folder / f"{task_id}.npz").read_bytes())
            with np.load(content, allow_pickle=False) as file:
                head = json.loads(file[_HEAD].tobytes())
                arrays = {name: file[name] for name in file.files if name != _HEAD}
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None
        if head["key"] != key:
            return None
        return TaskResult(head["rows"], arrays, head["seconds"])
