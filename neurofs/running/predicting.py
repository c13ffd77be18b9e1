"""Applying a model to sessions: predictions as CSV, NetCDF or NWB files, and scores where a session has the target."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from neurofs.comparison.fitting import WARNING
from neurofs.comparison.other_day import SessionScore, find_truth, score_session
from neurofs.comparison.wording import SCORE_NAMES, format_estimate, format_percent
from neurofs.decoders.model import Missing, Model
from neurofs.ground.csv_tables import render_csv
from neurofs.ground.errors import NeurofsError, UsageError, printable
from neurofs.ground.files import check_free, make_folder, prepare_place, write_atomically
from neurofs.ground.netcdf import to_netcdf
from neurofs.recordings.recording import Recording, Series
from neurofs.recordings.writers import write_series

SUFFIXES = {"csv": ".csv", "netcdf": ".nc", "nwb": ".nwb"}
OTHER_SUFFIXES = {".txt", ".tsv", ".json", ".npz", ".npy", ".mat", ".h5", ".hdf5", ".html", ".xlsx"}
PAGE = "report.html"


@dataclass(frozen=True)
class Prediction:
    """What a model decoded of one session: where it is, how good it is, and what should be known of it."""

    session: str
    n_samples: int
    files: list[Path]
    score: SessionScore | None
    notes: list[str]
    error: str = ""
    found: xr.Dataset | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        plain = asdict(replace(self, found=None)) | {"files": [str(path) for path in self.files]}
        del plain["found"]
        if self.score is not None:
            plain["score"] |= {"mean": dict(self.score.mean)}
            plain["score"]["outputs"] = [asdict(one) | {"score": dict(one.score)} for one in self.score.outputs]
        return plain


def list_places(
    out: Path | None, formats: Sequence[str], sessions: Sequence[Path], overwrite: bool = False
) -> list[list[Path]]:
    """Return the files to write for each session: the one that is named, or one of each format in a folder.

    None of them is a file that is there, unless it is to be replaced, and never one that is read.
    """
    if out is None:
        return [[] for _ in sessions]
    if out.suffix.lower() in OTHER_SUFFIXES and not out.is_dir():
        raise UsageError(f"{printable(out)}: expected a .csv, .nc or .nwb file, or a folder; found {out.suffix}")
    if out.suffix.lower() in SUFFIXES.values():
        if len(sessions) > 1 or formats:
            raise UsageError(f"{printable(out)}: names one file; name a folder for several sessions or formats")
        check_free([out], sessions, overwrite)
        prepare_place(out)
        return [[out]]
    names = name_sessions([session.stem for session in sessions])
    places = [[out / f"{name}{SUFFIXES[kind]}" for kind in formats or ("csv",)] for name in names]
    check_free([out / PAGE, *(path for files in places for path in files)], sessions, overwrite)
    make_folder(out)
    return places


def name_sessions(names: Sequence[str]) -> list[str]:
    """Return different names for the files of sessions, without what no file's name should have.

    >>> name_sessions(["day 1", "b", "b", "b-2"])
    ['day-1', 'b', 'b-2', 'b-2-2']
    """
    found: list[str] = []
    for name in names:
        safe = unique = "".join(c if c.isalnum() or c in "-_." else "-" for c in name) or "session"
        number = 1
        while unique in found:
            number += 1
            unique = f"{safe}-{number}"
        found.append(unique)
    return found


def predict_sessions(
    model: Model,
    sessions: Iterable[tuple[str, Callable[[], Recording]]],
    places: Sequence[Sequence[Path]],
    missing: Missing = "refuse",
    adapt: bool = False,
) -> Iterable[Prediction]:
    """Yield what is decoded of each session; one that cannot be is said to have failed, and the others go on."""
    for (name, read), files in zip(sessions, places, strict=True):
        try:
            yield _predict_one(model, read(), files, missing, adapt)
        except NeurofsError as error:
            yield Prediction(name, 0, [], None, [], str(error))


def _predict_one(
    model: Model, recording: Recording, files: Sequence[Path], missing: Missing, adapt: bool
) -> Prediction:
    found = model.predict(recording, missing=missing, adapt=adapt)
    if not found.sizes["time"]:
        raise UsageError(f"{printable(recording.name)}: no bin has a whole window of {model.head.binning.n_lags} lags")
    truth, reason = find_truth(model, recording, found)
    if truth is not None:
        found["target"] = (("time", "output"), truth)
    else:
        found.attrs["notes"] = [*found.attrs["notes"], f"not scored: {reason}"]
    for path in files:
        WRITERS[path.suffix.lower()](found, path)
    score = score_session(model, recording, found)
    if score is not None:
        found.attrs["notes"] = [*found.attrs["notes"], *_note_training(model, recording, found)]
    notes = list(found.attrs["notes"])
    return Prediction(recording.name, found.sizes["time"], list(files), score, notes, found=found)


def _note_training(model: Model, recording: Recording, found: xr.Dataset) -> Iterable[str]:
    """Say whether the model was fitted to the file of a session, and to its times."""
    low, high = found["time"].values[[0, -1]]
    for one in model.head.sessions:
        if not one.sha256 or one.sha256 != recording.source_hash or one.start is None or one.stop is None:
            continue
        span = f"the model was fitted to this file, {one.start:.1f} to {one.stop:.1f} s"
        apart = high < one.start or one.stop < low
        yield f"{span}, and not to what is decoded" if apart else f"{span}: scores of what it has seen tell nothing"


def tabulate(found: xr.Dataset) -> pd.DataFrame:
    """Return predictions as a table: time, trial, and for each output estimate, ends of the interval, target."""
    columns: dict[str, Any] = {"time": found["time"].values.round(9), "trial": found["trial"].values}
    classes = found.attrs.get("classes")
    for o, output in enumerate(found["output"].values):
        for name in ("predicted", "low", "high", "target"):
            if name in found:
                values = found[name].values[:, o]
                label = str(output) if name == "predicted" else f"{output} {name}"
                columns[printable(label)] = _name_classes(values, classes) if classes else values
    return pd.DataFrame(columns | _find_angles(found))


def _find_angles(found: xr.Dataset) -> dict[str, np.ndarray]:
    """Return the angle, in degrees, of each pair of outputs that are its cosine and its sine, and the true one."""
    places = {str(output): o for o, output in enumerate(found["output"].values)}
    angles = {}
    for output, o in places.items():
        name = output.removeprefix("cos(").removesuffix(")")
        if output == f"cos({name})" and f"sin({name})" in places:
            sine = places[f"sin({name})"]
            for kind, ending in {"predicted": "", "target": " target"}.items():
                if kind in found:
                    values = found[kind].values
                    angles[f"{printable(name)}{ending} (deg)"] = np.rad2deg(np.arctan2(values[:, sine], values[:, o]))
    return angles


def _name_classes(values: np.ndarray, classes: list[str]) -> list[str]:
    names = [*map(printable, classes), ""]
    return [names[int(v) if np.isfinite(v) and v >= 0 else -1] for v in values]


def _write_csv(found: xr.Dataset, path: Path) -> None:
    write_atomically(path, render_csv(tabulate(found)))


def _write_netcdf(found: xr.Dataset, path: Path) -> None:
    write_atomically(path, to_netcdf(found))


def _write_nwb(found: xr.Dataset, path: Path) -> None:
    """Write one TimeSeries of all outputs, and those of the ends of its intervals, at the middle of the bins."""
    middle = found["time"].values + found.attrs["bin_width"] / 2
    columns = tuple(str(name) for name in found["output"].values)
    units = {str(unit) for unit in found["unit"].values}
    unit = units.pop() if len(units) == 1 else ""
    classes = found.attrs.get("classes")
    series = [
        Series(f"decoded{ending}", middle, found[name].values, columns, unit)
        for name, ending in {"predicted": "", "low": "_low", "high": "_high"}.items()
        if name in found
    ]
    notes = [f"decoded with {found.attrs['method']}", *found.attrs["notes"]]
    notes += [f"classes: {', '.join(f'{i} = {c}' for i, c in enumerate(classes))}"] if classes else []
    write_series(path, found.attrs["name"], series, notes)


WRITERS: dict[str, Callable[[xr.Dataset, Path], None]] = {".csv": _write_csv, ".nc": _write_netcdf, ".nwb": _write_nwb}


def render_predictions(found: Sequence[Prediction], model: Model) -> str:
    """Return the table of scores for people, one line per session."""
    head = model.head
    kind = SCORE_NAMES["accuracy" if head.classes else "r2"]
    lines = [f"{head.label}, fitted to {', '.join(printable(s.name) for s in head.sessions)}: {kind} (95 % interval)"]
    lines += [f"  {line}" for line in describe_training(model)]
    width = max((len(printable(one.session)) for one in found), default=0)
    for one in found:
        lines += [f"  {printable(one.session):{width}}  {_tell(one)}", *(f"    {note}" for note in one.notes)]
    return "\n".join(lines)


def describe_training(model: Model) -> list[str]:
    """Return how good the model was where it was fitted, if that is known, and what speaks against it."""
    head = model.head
    serious = [note for note in head.notes if note.startswith(WARNING)]
    if head.cross_validation is None:
        return serious
    kind = SCORE_NAMES["accuracy" if head.classes else "r2"]
    own = [f"{printable(output.name)} {format_estimate(_own_score(output))}" for output in head.outputs]
    return [f"in training, cross-validated {kind}: {', '.join(own)}", *serious]


def write_page(found: Sequence[Prediction], model: Model, path: Path) -> Path:
    """Write a short page with the scores and a minute of each session."""
    from neurofs.report.prediction_page import Day, render_predicted  # loads what draws

    days = [Day(one.session, one.n_samples, one.score, [one.error] if one.error else one.notes, one.found)
            for one in found]  # fmt: skip
    return write_atomically(path, render_predicted(model.head, describe_training(model), days))


def _own_score(output: Any) -> Any:
    from neurofs.comparison.summary import Estimate

    return Estimate(mean=output.score, low=output.low, high=output.high)


def _tell(one: Prediction) -> str:
    if one.error:
        return f"failed: {printable(one.error, 600)}"
    if one.score is None:
        return f"{one.n_samples:,} samples decoded"
    parts = [
        f"{printable(score.output)} {format_estimate(score.score)}"
        + (f", intervals hold {format_percent(score.coverage)}" if score.coverage is not None else "")
        for score in one.score.outputs
    ]
    return "; ".join([*parts, f"{one.n_samples:,} samples"])
