"""Applying a model to sessions: predictions as CSV, NetCDF or NWB files, and scores where a session has the target."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from neurofs.comparison.other_day import SessionScore, find_truth, score_session
from neurofs.comparison.wording import SCORE_NAMES, format_estimate, format_percent
from neurofs.decoders.model import Missing, Model
from neurofs.ground.csv_tables import render_csv
from neurofs.ground.errors import NeurofsError, UsageError, printable
from neurofs.ground.files import make_folder, prepare_place, write_atomically
from neurofs.ground.netcdf import to_netcdf
from neurofs.recordings.recording import Recording, Series
from neurofs.recordings.writers import write_series

SUFFIXES = {"csv": ".csv", "netcdf": ".nc", "nwb": ".nwb"}


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


def list_places(out: Path | None, formats: Sequence[str], names: Sequence[str]) -> list[list[Path]]:
    """Return the files to write for each session: the one that is named, or one of each format in a folder."""
    if out is None:
        return [[] for _ in names]
    if out.suffix in SUFFIXES.values():
        if len(names) > 1 or formats:
            raise UsageError(f"{printable(out)}: names one file; name a folder for several sessions or formats")
        prepare_place(out)
        return [[out]]
    make_folder(out)
    safe = ["".join(c if c.isalnum() or c in "-_." else "-" for c in name) or "session" for name in names]
    unique = [name if safe.count(name) == 1 else f"{name}-{i + 1}" for i, name in enumerate(safe)]
    return [[out / f"{name}{SUFFIXES[kind]}" for kind in formats or ("csv",)] for name in unique]


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
    truth = find_truth(model, recording, found)
    if truth is not None:
        found["target"] = (("time", "output"), truth)
    for path in files:
        WRITERS[path.suffix](found, path)
    score = score_session(model, recording, found)
    hashes = {session.sha256 for session in model.head.sessions if session.sha256}
    if score is not None and recording.source_hash in hashes:
        found.attrs["notes"] = [*found.attrs["notes"], "the model was fitted to this file, or to a part of it"]
    notes = list(found.attrs["notes"])
    return Prediction(recording.name, found.sizes["time"], list(files), score, notes, found=found)


def tabulate(found: xr.Dataset) -> pd.DataFrame:
    """Return predictions as a table: time, trial, and for each output estimate, ends of the interval, target."""
    columns: dict[str, Any] = {"time": found["time"].values, "trial": found["trial"].values}
    classes = found.attrs.get("classes")
    for o, output in enumerate(found["output"].values):
        for name in ("predicted", "low", "high", "target"):
            if name in found:
                values = found[name].values[:, o]
                label = str(output) if name == "predicted" else f"{output} {name}"
                columns[printable(label)] = _name_classes(values, classes) if classes else values
    return pd.DataFrame(columns)


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
    if head.cross_validation is not None:
        own = [format_estimate(_own_score(output)) for output in head.outputs]
        lines.append("  in training, cross-validated: " + ", ".join(own))
    width = max((len(printable(one.session)) for one in found), default=0)
    for one in found:
        lines += [f"  {printable(one.session):{width}}  {_tell(one)}", *(f"    {note}" for note in one.notes)]
    return "\n".join(lines)


def write_page(found: Sequence[Prediction], model: Model, path: Path) -> Path:
    """Write a short page with the scores and a minute of each session."""
    from neurofs.report.prediction_page import render_page  # loads what draws

    names = [output.name for output in model.head.outputs]
    rows = [["session", "samples", *names, "notes"]]
    for one in found:
        scores = {} if one.score is None else {s.output: format_estimate(s.score) for s in one.score.outputs}
        notes = one.error or "; ".join(one.notes)
        rows.append([one.session, f"{one.n_samples:,}", *(scores.get(name, "") for name in names), notes])
    lines = [line.strip() for line in render_predictions([], model).splitlines()]
    days = [(one.session, one.found) for one in found if one.found is not None]
    return write_atomically(path, render_page("Decoded sessions", lines, rows, days))


def _own_score(output: Any) -> Any:
    from neurofs.comparison.summary import Estimate

    return Estimate(mean=output.score, low=output.low, high=output.high)


def _tell(one: Prediction) -> str:
    if one.error:
        return f"failed: {printable(one.error, 600)}"
    if one.score is None:
        return f"{one.n_samples:,} samples decoded; the target is not in this session"
    parts = [
        f"{printable(score.output)} {format_estimate(score.score)}"
        + (f", intervals hold {format_percent(score.coverage)}" if score.coverage is not None else "")
        for score in one.score.outputs
    ]
    return "; ".join([*parts, f"{one.n_samples:,} samples"])
