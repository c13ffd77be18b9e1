"""What can be decoded: the names that ``--target`` takes for a recording, with units and ranges.

One rule for all: a name is that of a behavior series, else that of a condition of the trials. A series may be
followed by ``.velocity`` and by ``:COLUMN``.
"""

import difflib
from collections.abc import Iterator
from typing import Any

import numpy as np

from neurofs.ground.errors import UsageError, printable, quoted
from neurofs.recordings.conditions import MAX_CLASSES, find_classes
from neurofs.recordings.quality import NO_BEHAVIOR
from neurofs.recordings.recording import Recording, Series
from neurofs.recordings.unnamed import is_unnamed

MAX_LISTED = 12


def list_conditions(recording: Recording) -> list[str]:
    """Return the columns of the trials that may be conditions: all but times and trial numbers."""
    trials = recording.trials
    return [c for c in trials.columns if c not in ("start", "stop") and trials[c].nunique() <= MAX_CLASSES]


def describe_targets(recording: Recording) -> list[dict[str, Any]]:
    """Return everything that can be decoded, one record each.

    >>> velocity = Series("hand_pos", [0.0, 0.1], [[1.0, 2.0], [1.5, 2.5]], unit="cm")
    >>> session = Recording("toy", spikes=[[0.05]], behavior={"hand_pos": velocity})
    >>> [(record["target"], record["unit"], record["range"]) for record in describe_targets(session)]
    [('hand_pos', 'cm', '1 to 2.5'), ('hand_pos:x', 'cm', '1 to 1.5'), ('hand_pos:y', 'cm', '2 to 2.5'), \
('hand_pos.velocity', 'cm/s', '')]
    """
    series = (record for one in recording.behavior.values() for record in _describe_series(one, recording))
    return [*series, *_describe_conditions(recording)]


def _describe_series(series: Series, recording: Recording) -> Iterator[dict[str, Any]]:
    kind = "angle" if series.circular else "series"
    if not is_unnamed(series):
        yield _record(series.name, kind, series.unit, _range(series.values))
    for column, values in zip(series.columns, series.values.T, strict=True):
        if len(series.columns) > 1:
            yield _record(f"{series.name}:{column}", "column", series.unit, _range(values))
    if offers_velocity(series.name, recording):
        name = f"{series.name}.velocity"
        columns = [f"{name}:{column}" for column in series.columns] if is_unnamed(series) else [name]
        for one in columns:
            yield _record(one, "derived velocity", f"{series.unit}/s" if series.unit else "", "")


def offers_velocity(name: str, recording: Recording) -> bool:
    """Whether a series is a position by its name, and its velocity is not in the file itself."""
    other = name.lower().replace("position", "velocity").replace("pos", "vel")
    return "pos" in name.lower() and other not in {known.lower() for known in recording.behavior}


def _describe_conditions(recording: Recording) -> Iterator[dict[str, Any]]:
    """Yield the conditions that several trials share."""
    for name in list_conditions(recording):
        values = recording.trials[name].dropna()
        if 2 <= values.nunique() <= len(values) / 2 and name not in recording.behavior:
            classes = [printable(label, 30) for label in find_classes(values)[1]]
            shown = ", ".join(classes[:MAX_LISTED]) + (" …" if len(classes) > MAX_LISTED else "")
            yield _record(str(name), "condition of trials", "", f"{len(classes)} classes: {shown}")


def _record(target: str, kind: str, unit: str, span: str) -> dict[str, Any]:
    return {"target": target, "kind": kind, "unit": unit, "range": span}


def _range(values: np.ndarray) -> str:
    known = values[np.isfinite(values)]
    return f"{known.min():.4g} to {known.max():.4g}" if known.size else "missing"


def check_named(name: str, series: Series) -> None:
    """Refuse to decode many columns at once that nobody has named."""
    if is_unnamed(series):
        columns = [f"{name}:{column}" for column in series.columns]
        known = ", ".join(printable(column) for column in columns[:MAX_LISTED])
        more = f" and {len(columns) - MAX_LISTED} more" if len(columns) > MAX_LISTED else ""
        raise UsageError(f"target {quoted(name)}: its columns have no names; choose some: {known}{more}")


def explain_no_target(recording: Recording) -> str:
    """Return the message for somebody who named no target.

    >>> explain_no_target(Recording("toy", spikes=[[0.05]]))
    'no behavior series and no conditions of trials to decode. If another file has them, on the same clock in seconds, \
name it with --behavior-file FILE.'
    """
    if not describe_targets(recording):
        return f"no behavior series and no conditions of trials to decode. {NO_BEHAVIOR}"
    return f"no target; choose one with --target: {_list_targets(recording)}"


def explain_unknown_target(name: str, recording: Recording) -> str:
    """Return the message for somebody who named a target that does not exist."""
    known = [record["target"] for record in describe_targets(recording)]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {quoted(near[0])}?" if near else "."
    return f"target {quoted(name)}: no such series or condition{hint} It has: {_list_targets(recording)}"


def _list_targets(recording: Recording) -> str:
    """Return series and velocities, then conditions, in one line."""
    records = [record for record in describe_targets(recording) if record["kind"] != "column"]
    unnamed = [f"{name}:COLUMN" for name, series in recording.behavior.items() if is_unnamed(series)]
    conditions = [printable(r["target"]) for r in records if r["kind"].startswith("condition")]
    series = [
        printable(r["target"]) for r in records if not r["kind"].startswith("condition") and ":" not in r["target"]
    ]
    parts = [", ".join([*series, *map(printable, unnamed)][:MAX_LISTED]) or "no behavior series"]
    return "; conditions of trials: ".join([*parts, *([", ".join(conditions[:MAX_LISTED])] if conditions else [])])
