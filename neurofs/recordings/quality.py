"""What is in a file, what is wrong with it, and how to decode it.

`inspect_file` returns one plain dictionary, the same that ``neurofs inspect --json`` prints; `render_text`
shows it to a person.
"""

import shlex
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from neurofs.ground.config import LoadOptions, given_options, join_names, render_toml
from neurofs.ground.errors import InputError, printable
from neurofs.ground.files import find_address
from neurofs.recordings.checks import find_remarks
from neurofs.recordings.checks.channels import find_duplicates
from neurofs.recordings.conditions import count_values
from neurofs.recordings.readers import load
from neurofs.recordings.readers.door import guard_reader
from neurofs.recordings.recording import InvalidRecording, Recording, Series, find_gaps
from neurofs.recordings.unnamed import find_velocity, is_unnamed
from neurofs.recordings.window import BIN_WIDTH, N_LAGS, choose_window
from neurofs.recordings.words import listed

RARE = 0.1
"""A channel below this rate, in Hz, seldom says anything."""

NO_BEHAVIOR = "If another file has them, on the same clock in seconds, name it with --behavior-file FILE."

PARTLY = 0.8
"""A channel that has spikes in a smaller share of the session than this is active only in part of it."""


def inspect_file(path: str | Path, options: LoadOptions | None = None) -> dict[str, object]:
    """Load a file and describe it; problems that keep it from being used are listed, not raised.

    Files in which nothing is recognized raise an `InputError`.
    """
    problems: list[str] = []
    try:
        recording = load(path, options)
    except InvalidRecording as error:
        recording, problems = error.draft, [str(defect) for defect in error.defects]
        content = _describe_draft(error)
    else:
        content = describe(recording)
    path = find_address(path) or str(path)
    report = {"file": path, **content, "problems": problems}
    remarks = find_remarks(recording) if not problems else []
    report["serious"] = [remark.text for remark in remarks if remark.serious]
    report["warnings"] = [remark.text for remark in remarks if not remark.serious]
    report["decode"] = suggest(recording, path, options or LoadOptions()) if not problems else None
    return report


def _describe_draft(error: InvalidRecording) -> dict[str, Any]:
    """Return the contents of a recording that breaks rules; where that cannot be told, there is only its error."""
    try:
        with guard_reader():
            return describe(error.draft)
    except InputError:
        raise error from None


def describe(recording: Recording) -> dict[str, Any]:
    """Return the contents of a recording as plain values."""
    return {
        "name": recording.name,
        "sha256": recording.source_hash,
        "kind": recording.kind,
        "duration": recording.duration,
        "span": list(recording.span),
        "gaps": find_gaps(recording.observed).tolist(),
        "channels": _describe_channels(recording),
        "behavior": [_describe_series(series) for series in recording.behavior.values()],
        "trials": _describe_trials(recording.trials),
        "notes": list(recording.notes),
    }


class Activity(NamedTuple):
    """How active the channels are: one value per channel, and the groups of channels with the same spikes.

    Of a continuous signal, rate and presence are not known, and a channel is silent if it is constant.
    """

    rate: np.ndarray
    presence: np.ndarray
    silent: np.ndarray
    rare: np.ndarray
    partly_active: np.ndarray
    duplicates: list[list[str]]


def measure_activity(r: Recording) -> Activity:
    """Return how active the channels of a recording are; a silent one has a presence of 0."""
    if r.is_signal:
        unknown, none = np.full(r.n_channels, np.nan), np.zeros(r.n_channels, dtype=bool)
        return Activity(unknown, unknown, np.ptp(r.counts, axis=0) == 0, none, none, find_duplicates(r))
    rate, silent = r.rates, r.spike_counts == 0
    presence = np.where(silent, 0.0, _measure_presence(r))
    rare, partly_active = (rate > 0) & (rate < RARE), (presence > 0) & (presence < PARTLY)
    return Activity(rate, presence, silent, rare, partly_active, find_duplicates(r))


def _describe_channels(r: Recording) -> dict[str, Any]:
    names, spikes, activity = r.channels["name"].tolist(), r.spike_counts, measure_activity(r)
    if r.is_signal:
        return _describe_signal(r, activity)
    return {
        "n": r.n_channels,
        "n_spikes": float(spikes.sum()) if spikes.dtype.kind == "f" else int(spikes.sum()),
        "columns": [c for c in r.channels.columns if c != "name"],
        "kinds": r.channels["kind"].value_counts().to_dict() if "kind" in r.channels else {},
        "names": names,
        "rates": [round(float(rate), 4) for rate in activity.rate],
        "silent": list(compress(names, activity.silent)),
        "rare": list(compress(names, activity.rare)),
        "partly_active": list(compress(names, activity.partly_active)),
        "duplicates": activity.duplicates,
    }


def _describe_signal(r: Recording, activity: Activity) -> dict[str, Any]:
    """Return what is known of the channels of a continuous signal."""
    names = r.channels["name"].tolist()
    mean, sd = r.measure_signal()
    return {
        "n": r.n_channels,
        "unit": r.unit,
        "columns": [c for c in r.channels.columns if c != "name"],
        "kinds": r.channels["kind"].value_counts().to_dict() if "kind" in r.channels else {},
        "names": names,
        "means": [float(f"{value:.5g}") for value in mean],
        "sds": [float(f"{value:.5g}") for value in sd],
        "silent": list(compress(names, activity.silent)),
        "duplicates": activity.duplicates,
    }


def _measure_presence(r: Recording, n_parts: int = 20) -> np.ndarray:
    """Return for each channel the share of 20 equal parts of the session in which it has a spike.

    Channels too rare to be expected in every part (fewer than 5 spikes per part) count as present.
    """
    start, stop = r.span
    edges = np.linspace(start, stop, n_parts + 1)
    if r.spikes is not None:
        counts = np.array([np.histogram(s, edges)[0] if len(s) else np.zeros(n_parts) for s in r.spikes])
    else:
        counts = np.array([part.sum(axis=0) for part in np.array_split(r.counts, n_parts)]).T
    frequent = counts.sum(axis=1) >= 5 * n_parts
    return np.where(frequent, (counts > 0).mean(axis=1), 1.0)


def _describe_series(series: Series) -> dict[str, Any]:
    finite = np.where(np.isfinite(series.values), series.values, np.nan)
    known = [bool(np.isfinite(column).any()) for column in finite.T]
    low = [float(np.nanmin(c)) if ok else None for c, ok in zip(finite.T, known, strict=True)]
    high = [float(np.nanmax(c)) if ok else None for c, ok in zip(finite.T, known, strict=True)]
    return {
        "name": series.name,
        "columns": list(series.columns),
        "unit": series.unit,
        "circular": series.circular,
        "rate": None if np.isnan(series.interval) else series.rate,
        "span": [float(series.time[0]), float(series.time[-1])] if len(series.time) else [],
        "n_samples": len(series.time),
        "n_missing": int(np.isnan(series.values).any(axis=1).sum()),
        "min": low,
        "max": high,
        "constant": [c for c, a, b in zip(series.columns, low, high, strict=True) if a == b],
    }


def _describe_trials(trials: pd.DataFrame) -> dict[str, Any]:
    if not len(trials) or "stop" not in trials or "start" not in trials:
        return {"n": len(trials)}
    length = (trials["stop"] - trials["start"]).to_numpy(dtype=float)
    conditions = {str(c): count_values(trials[c]) for c in trials.columns if c not in ("start", "stop")}
    return {
        "n": len(trials),
        "shortest": float(np.min(length)),
        "median": float(np.median(length)),
        "longest": float(np.max(length)),
        "conditions": conditions,
    }


# How to decode it


def suggest(recording: Recording, path: str, options: LoadOptions) -> dict[str, Any] | None:
    """Return the options that decode a recording, as a command and as the text of a session file."""
    targets = _suggest_target(recording)
    if not targets:
        return None
    settings: dict[str, Any] = {"target": targets} | _suggest_bins(recording)
    given = given_options(options)
    layout = [word for key, value in given.items() for word in _as_option(key, value)]
    chosen = [word for key, value in settings.items() for word in _as_option(key, value)]
    session_file = render_toml({"file": find_address(path) or Path(path).name} | given | settings)
    return {
        "options": settings,
        "command": shlex.join(["neurofs", "decode", path, *layout, *chosen]),
        "others": shlex.join(["neurofs", "list", "targets", path, *layout]),
        "session_file": session_file,
    }


def _suggest_target(r: Recording) -> list[str]:
    """Prefer a velocity, then the velocity of a position, then an angle, then whatever varies."""
    moving = {name: s for name, s in r.behavior.items() if len(_varying(s)) and len(s.time) > 2}

    def named(*words: str) -> list[str]:
        return [name for name in moving if any(word in name.lower() for word in words)]

    velocity, position = named("vel"), named("pos")
    circular = [name for name, s in moving.items() if s.circular]
    if velocity:
        return _columns_of(moving[velocity[0]])
    if position:
        return [_with_velocity(column) for column in _columns_of(moving[position[0]])]
    if circular:
        return [max(circular, key=lambda name: _circular_variance(moving[name].values))]
    return _columns_of(next(iter(moving.values()))) if moving else []


def _circular_variance(angles: np.ndarray) -> float:
    """Return 0 for a constant angle and 1 for angles all around the circle."""
    return 1.0 - float(np.abs(np.nanmean(np.exp(1j * angles))))


def _varying(series: Series) -> list[str]:
    return [c for c in series.columns if c not in _describe_series(series)["constant"]]


def _columns_of(series: Series) -> list[str]:
    """Return the columns to decode: all that vary; of many without names, the velocities, or else the first."""
    varying = _varying(series)
    if is_unnamed(series):
        varying = [c for c in varying if c in find_velocity(series)] or varying[:1]
    whole = len(varying) == len(series.columns)
    return [series.name] if whole else [f"{series.name}:{c}" for c in varying]


def _with_velocity(name: str) -> str:
    base, colon, column = name.partition(":")
    return f"{base}.velocity{colon}{column}"


def _suggest_bins(r: Recording) -> dict[str, Any]:
    """Return the bins and lags that decode takes, where they are not the usual 0.1 s and 10."""
    width, n_lags, _ = choose_window(r)
    usual = {"bin_width": BIN_WIDTH, "n_lags": N_LAGS}
    return {key: value for key, value in zip(usual, (width, n_lags), strict=True) if value != usual[key]}


def _as_option(key: str, value: Any) -> list[str]:
    flag = key.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{flag}"] if value else [f"--no-{flag}"]
    if key in ("channels", "trials"):
        return [word for text in value for word in (f"--{flag}", text)]
    if isinstance(value, list | tuple):
        return [f"--{flag}", join_names([str(v) for v in value])]
    return [f"--{flag}", str(value)]


# For people


def render_text(report: dict[str, Any]) -> str:
    """Return the report as lines of text; names from the file are made printable."""
    lines = [f"{printable(report['name'])}: {report['kind']}, {report['duration']:.1f} s observed"]
    start, stop = report["span"]
    lines.append(f"  from {start:g} to {stop:g} s, {len(report['gaps'])} gaps")
    lines += _channel_lines(report["channels"])
    lines += _behavior_lines(report["behavior"])
    lines += _trial_lines(report["trials"])
    lines += _section("Read as", report["notes"])
    lines += _section("Probably wrong", report["serious"])
    lines += _section("Worth knowing", report["warnings"])
    lines += _section("Must be mended", report["problems"])
    if report["decode"]:
        lines += ["", "Decode it with", f"  {report['decode']['command']}", "or with a session file that says"]
        lines += [f"  {line}" for line in report["decode"]["session_file"].splitlines()]
        lines += ["Other targets are listed by", f"  {report['decode']['others']}"]
    elif not report["problems"]:
        lines += ["", f"It has no behavior series to decode. {NO_BEHAVIOR}"]
    return "\n".join(lines)


def _section(title: str, items: list[str]) -> list[str]:
    return ["", title, *(f"  - {_one_line(item)}" for item in items)] if items else []


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)


def _channel_lines(about: dict[str, Any]) -> list[str]:
    lines = ["", *(_signal_lines(about) if "unit" in about else _rate_lines(about))]
    if about["kinds"]:
        kinds = ", ".join(f"{n} {printable(kind)}" for kind, n in about["kinds"].items())
        lines.append(f"  kinds: {kinds}")
    if about["columns"]:
        lines.append(f"  known of each: {listed(about['columns'])}")
    quiet, same = ("constant", "signal") if "unit" in about else ("silent", "spikes")
    for key, title in {"silent": quiet, "rare": f"below {RARE:g} Hz", "partly_active": "active in part"}.items():
        if about.get(key):
            lines.append(f"  {title}: {len(about[key])} ({listed(about[key], 8)})")
    lines += [f"  the same {same}: {listed(group, 8)}" for group in about["duplicates"][:5]]
    return lines


def _rate_lines(about: dict[str, Any]) -> list[str]:
    rates = np.array(about["rates"]) if about["rates"] else np.zeros(1)
    low, mid, high = np.min(rates), np.median(rates), np.max(rates)
    return [
        f"Channels: {about['n']}, {about['n_spikes']:,} spikes",
        f"  rates: median {mid:.2f} Hz, from {low:.2f} to {high:.2f}",
    ]


def _signal_lines(about: dict[str, Any]) -> list[str]:
    lines = [f"Channels: {about['n']}, a continuous signal in {printable(about['unit'])}"]
    for title, key in (("means", "means"), ("standard deviations", "sds")):
        low, mid, high = np.quantile(about[key], [0, 0.5, 1])
        lines.append(f"  {title}: median {mid:.4g}, from {low:.4g} to {high:.4g}")
    return lines


def _behavior_lines(behavior: list[dict[str, Any]]) -> list[str]:
    lines = ["", f"Behavior: {len(behavior)} series"]
    for about in behavior:
        unit = f" {printable(about['unit'])}" if about["unit"] else ""
        ranges = [
            f"{printable(c)} {_number(a)} … {_number(b)}"
            for c, a, b in zip(about["columns"], about["min"], about["max"], strict=True)
        ]
        rate = f"{about['rate']:g} Hz" if about["rate"] else "one sample"
        angle = ", angle" if about["circular"] else ""
        lines.append(f"  {printable(about['name'])}: {rate}{angle}; {listed(ranges, 4)}{unit}")
    return lines


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}"


def _trial_lines(about: dict[str, Any]) -> list[str]:
    if not about["n"]:
        return ["", "Trials: none"]
    lines = ["", f"Trials: {about['n']}"]
    if "median" in about:
        lines[-1] += f", {about['median']:.2f} s each ({about['shortest']:.2f} to {about['longest']:.2f})"
        values = [f"{name} ({n} values)" for name, n in about["conditions"].items()]
        lines += [f"  columns: {listed(values)}"] if values else []
    return lines
