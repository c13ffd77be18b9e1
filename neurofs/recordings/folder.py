"""A folder of sessions: one line about each, and a pipeline file that decodes them all.

A file that cannot be read costs nothing but its own line. Session files (`*.toml`) stand for the data that they name;
tables of behavior and trials beside spikes, run folders, models and hidden files are no sessions.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from neurofs.ground.config import LoadOptions, given_options, read_pattern, read_session_file, read_toml, render_toml
from neurofs.ground.errors import MAX_MESSAGE, InputError, NeurofsError, printable, quoted
from neurofs.ground.files import find_paths
from neurofs.recordings.quality import inspect_file
from neurofs.recordings.readers.csv_pairs import PARTNERS
from neurofs.recordings.readers.formats import find_format
from neurofs.recordings.words import listed

PIPELINE = "sessions.toml"
"""What a pipeline file is called unless the user names it."""

OURS = ("run.toml", "model.json")
"""Files by which a folder that neurofs wrote is known: it holds no sessions."""

Run = Callable[[Callable[[Any, Any], Any], Any, Sequence[Any]], Iterable[tuple[Any, Any]]]
"""Yields each item with what a function makes of it, or with the `reason` of a failure: see `running.executors`."""


def inspect_folder(
    folder: Path,
    options: LoadOptions | None = None,
    pattern: str = "**/*",
    run: Run | None = None,
    count: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Return one plain record of each session in a folder.

    `run` does the work, in processes of their own if a file may crash a library; `count` is told how many sessions are
    done, of how many.
    """
    options = options or LoadOptions()
    paths = find_sessions(folder, pattern)
    if not paths:
        remedy = "Name another folder, or another --pattern."
        raise InputError(folder, "sessions of a known kind", f"none that match {quoted(pattern)}", remedy)
    found = {}
    for path, record in (run or _run_here)(describe_session, (folder, options), paths):
        failed = {"file": _name(path, folder), "readable": False, "error": getattr(record, "reason", None)}
        found[path] = failed if failed["error"] else record
        if count is not None:
            count(len(found), len(paths))
    return {"folder": str(folder), "sessions": [found[path] for path in paths]}


def _run_here(function: Callable[[Any, Any], Any], shared: Any, items: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    for item in items:
        yield item, function(shared, item)


def _name(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def find_sessions(folder: Path, pattern: str = "**/*") -> list[Path]:
    """Return the files and folders that may hold a session, by name; what a session file names is not repeated."""
    found = sorted(folder / name for name in find_paths(folder, pattern))
    whole = [path for path in found if path.is_dir() and find_format(path)]
    skipped = {*whole, *(path for path in (folder, *found) if any((path / name).is_file() for name in OURS))}
    files = [path for path in found if path.is_file() and skipped.isdisjoint(path.parents)]
    tables = {path: data for path in files if path.suffix.lower() == ".toml" and (data := _find_data(path))}
    named = {data.resolve() for data in tables.values()}
    plain = [p for p in files if find_format(p) and not p.stem.endswith(PARTNERS)]
    return sorted([*tables, *(path for path in (*whole, *plain) if path.resolve() not in named)])


def _find_data(path: Path) -> Path | None:
    """Return the data that a session file names; None if a TOML file is something else."""
    try:
        if "file" not in read_toml(path, "a session file") or read_pattern(path) is not None:
            return None
        return read_session_file(path)[0]
    except NeurofsError:
        return path  # a session file with a mistake: what is wrong stands in its line


def describe_session(shared: tuple[Path, LoadOptions], path: Path) -> dict[str, Any]:
    """Return what is known of one session of a folder that is read with some options, or why it cannot be read."""
    folder, options = shared
    record: dict[str, Any] = {"file": _name(path, folder)}
    try:
        report: dict[str, Any] = inspect_file(path, options)
    except NeurofsError as error:
        return {**record, "readable": False, "error": str(error).removeprefix(f"{printable(path.name)}: ")}
    if report["problems"]:
        return {**record, "readable": False, "error": report["problems"][0].removeprefix(f"{printable(path.name)}: ")}
    settings = _choose_settings(path, report, options)
    return {
        **record,
        "readable": True,
        "error": None,
        "kind": report["kind"],
        "n_channels": report["channels"]["n"],
        "minutes": round(report["duration"] / 60, 2),
        "n_trials": report["trials"]["n"],
        "behavior": [series["name"] for series in report["behavior"]],
        "settings": settings,
        "serious": report["serious"],
        "warnings": report["warnings"],
    }


def _choose_settings(path: Path, report: dict[str, Any], options: LoadOptions) -> dict[str, Any] | None:
    """Return the keys that decode a session, None if there is nothing to decode; a session file's own come first."""
    own = given_options(read_session_file(path)[1]) if path.suffix.lower() == ".toml" else {}
    if "target" in own:
        return given_options(options)
    if report["decode"] is None:
        return None
    return given_options(options) | {k: v for k, v in report["decode"]["options"].items() if k not in own}


# A pipeline of all sessions


def write_pipeline(report: dict[str, Any], place: Path) -> str:
    """Return the text of a pipeline file, to be stored at `place`, that decodes all sessions that can be decoded."""
    folder = Path(report["folder"])
    ready = [session for session in report["sessions"] if session["readable"] and session["settings"] is not None]
    common = _find_common([session["settings"] for session in ready])
    entries = [
        {"file": _relate(folder / name, place.parent), **settings}
        for settings, names in _group(ready, common)
        for name in _join_names(folder, names)
    ]
    head = {"batch": {"name": folder.resolve().name}} | ({"defaults": common} if common else {})
    parts = [render_toml(head), *(f"[[session]]\n{render_toml(entry)}" for entry in entries)]
    lines = [f"# neurofs batch {printable(place.name)}", *_comment(report["sessions"])]
    return "\n".join(lines) + "\n\n" + "\n".join(parts)


def _find_common(settings: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the keys that all sessions have with the same value."""
    first = settings[0] if settings else {}
    return {key: value for key, value in first.items() if all(other.get(key) == value for other in settings)}


def _group(sessions: list[dict[str, Any]], common: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """Yield the settings that are not common to all, each with the files of the sessions that have them."""
    groups: list[tuple[dict[str, Any], list[str]]] = []
    for session in sessions:
        own = {key: value for key, value in session["settings"].items() if key not in common}
        known = next((names for settings, names in groups if settings == own), None)
        if known is None:
            groups.append((own, known := []))
        known.append(session["file"])
    yield from groups


def _join_names(folder: Path, names: list[str]) -> list[str]:
    """Return one pattern in the place of all names, if it matches these and nothing else."""
    suffix = Path(names[0]).suffix
    if len(names) < 2 or suffix in ("", ".toml"):
        return names
    ends = [f"*{end}{suffix}" for end in (("_spikes", "_counts", "_signal") if suffix == ".csv" else ("",))]
    for pattern in [f"{place}{end}" for end in ends for place in ("", "*/", "**/")]:
        found = {name.replace(os.sep, "/") for name in find_paths(folder, pattern)}
        if found == set(names):
            return [pattern]
    return names


def _relate(path: Path, base: Path) -> str:
    """Return a path as seen from another folder, with slashes; a path on another drive stays whole."""
    try:
        return os.path.relpath(path, base or ".").replace(os.sep, "/")
    except ValueError:
        return path.resolve().as_posix()


def _comment(sessions: Sequence[dict[str, Any]]) -> Iterator[str]:
    for session in sessions:
        name = printable(session["file"])
        if not session["readable"]:
            yield f"# left out: {name}: {printable(session['error'], MAX_MESSAGE)}"
        elif session["settings"] is None:
            yield f"# left out: {name}: it has no behavior to decode"
        for text in session.get("serious", ()):
            yield f"# probably wrong: {name}: {printable(text, MAX_MESSAGE)}"


# For people


def render_folder(report: dict[str, Any], pipeline: str, place: Path, written: bool) -> str:
    """Return a table of all sessions, what is wrong with some, and the pipeline file."""
    sessions = report["sessions"]
    rows = [("session", "kind", "channels", "minutes", "trials", "target", "remarks"), *map(_make_row, sessions)]
    widths = [max(len(row[i]) for row in rows) for i in range(7)]
    right = (2, 3, 4)
    lines = [
        "  ".join(c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
        for row in rows
    ]
    n_ready = sum(session["readable"] for session in sessions)
    lines = [
        f"{printable(report['folder'])}: {len(sessions)} sessions, {n_ready} can be read",
        "",
        *map(str.rstrip, lines),
    ]
    odd = [(s["file"], text) for s in sessions for text in ([s["error"]] if s["error"] else s["serious"])]
    if odd:
        lines += ["", "Must be mended, or is probably wrong"]
        lines += [f"  - {printable(name)}: {printable(text, MAX_MESSAGE)}" for name, text in odd]
    if written:
        return "\n".join([*lines, "", f"Decode them all with: neurofs batch {printable(place)}"])
    lines += [
        "",
        f"Decode them all with: neurofs batch {printable(place)}",
        "once that file, which --out writes, says",
        "",
    ]
    return "\n".join([*lines, *(f"  {line}" for line in pipeline.splitlines())])


def _make_row(session: dict[str, Any]) -> tuple[str, ...]:
    name = printable(session["file"], 48)
    if not session["readable"]:
        return name, "cannot be read", "", "", "", "", ""
    target = (session["settings"] or {}).get("target", ())
    kind = "spikes" if session["kind"] == "spike times" else session["kind"].removeprefix("counts in ")
    remarks = [
        f"{len(session[key])} {word}" for key, word in (("serious", "serious"), ("warnings", "minor")) if session[key]
    ]
    own = "none" if session["settings"] is None else "its own"
    numbers = (str(session["n_channels"]), f"{session['minutes']:.1f}", str(session["n_trials"]))
    return name, kind, *numbers, printable(listed(target, 3), 40) if target else own, ", ".join(remarks)
