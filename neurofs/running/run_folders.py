"""Run folders on disk: finding them, rebuilding their reports, and the index page across them."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import BaseModel, TypeAdapter, ValidationError

from neurofs.comparison.comparison import Comparison, read
from neurofs.ground.errors import InputError, NeurofsError
from neurofs.ground.files import make_folder, read_file, write_atomically
from neurofs.report.index import Claim, IndexEntry
from neurofs.report.page import render, render_index, save_figures
from neurofs.running.events import read_events
from neurofs.running.marks import find_changed, read_mark

CLAIMS = "claims.json"
"""What a batch leaves beside its index page: the published claims that were checked."""

VARIED = "variations.json"
"""The same: what its variations found."""


def find_runs(path: Path) -> list[Path]:
    """Return the folder itself if it is a run, else the runs in it or in its `sessions`, by name."""
    if not path.is_dir():
        raise InputError(path, "a run folder, or a folder of runs", "no such folder", "Check the path.")
    if _is_run(path):
        return [path]
    inside = path / "sessions" if (path / "sessions").is_dir() else path
    runs = sorted(folder for folder in inside.iterdir() if folder.is_dir() and _is_run(folder))
    if not runs:
        remedy = "Make a run: neurofs decode SESSION --out FOLDER."
        raise InputError(path, "a run folder, or a folder of runs", "no run.toml in it", remedy)
    return runs


def _is_run(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("run.toml", "summary.json", "log.txt"))


def rebuild(folder: Path, out: Path | None = None, figures: str | None = None) -> tuple[Path, Comparison]:
    """Write the report of one run (to `out` if given), and its figures as files if asked for.

    Returns where the report is, and the comparison.
    """
    comparison = read_run(folder)
    path = folder / "report.html" if out is None else out / "report.html" if out.is_dir() else out
    make_folder(path.parent)
    write_atomically(path, render(comparison))
    if figures:
        save_figures(comparison, path.parent / "figures", figures)
    return path, comparison


def rebuild_all(runs: Sequence[Path], out: Path, figures: str | None = None) -> tuple[Path, list[IndexEntry]]:
    """Rebuild every report and write the index page `out`; runs that cannot be read are entered as failed."""
    out = out / "index.html" if out.suffix != ".html" else out
    entries = [_rebuild_entry(folder, out.parent, figures) for folder in runs]
    return write_index(out, entries), entries


def _rebuild_entry(folder: Path, base: Path, figures: str | None) -> IndexEntry:
    try:
        _, comparison = rebuild(folder, figures=figures)
    except NeurofsError as error:
        return make_entry(folder, base, folder.name, reason=_find_reason(folder) or str(error))
    return make_entry(folder, base, comparison.summary.session.name, comparison)


def _find_reason(folder: Path) -> str:
    """Return why a session of a batch failed, or the last line of its log, or nothing."""
    logs, log = [parent / "events.jsonl" for parent in list(folder.parents)[:2]], folder / "log.txt"
    for events in filter(Path.is_file, logs):
        failed = [e for e in read_events(events) if e.get("event") == "session_failed"]
        reasons = [str(e.get("reason", "")) for e in failed if e.get("session") == folder.name]
        if reasons:
            return reasons[-1]
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n") if log.is_file() else []
    said = [line.strip() for line in lines if line.strip()]
    return f"not finished; its log ends with: {said[-1]}" if said else ""


def read_run(folder: Path) -> Comparison:
    """Read a run folder; if files there were changed since the run, a warning of the comparison names them."""
    comparison = read(folder)
    mark = read_mark(folder)
    changed = [name for name in find_changed(folder, mark) if name != "report.html"] if mark else []
    if not changed:
        return comparison
    summary = comparison.summary
    warning = f"changed since the run, and shown as found: {', '.join(changed)}."
    session = summary.session.model_copy(update={"warnings": [warning, *summary.session.warnings]})
    return replace(comparison, summary=summary.model_copy(update={"session": session}))


# The index page


def make_entry(
    folder: Path, base: Path, name: str, comparison: Comparison | None = None, reason: str | None = None
) -> IndexEntry:
    """Return what an index page in the folder `base` shows of a run; one without a comparison has failed."""
    if comparison is None:
        return IndexEntry(name, "failed", reason or "not run")
    href = Path(os.path.relpath(folder / "report.html", base)).as_posix()
    return IndexEntry(name, "done", href=href, comparison=comparison)


def write_index(path: Path, entries: Sequence[IndexEntry], title: str = "") -> Path:
    """Write the index page of many runs, with the claims that a batch left beside it."""
    folder = make_folder(path.parent)
    found = _read_list(folder / CLAIMS, _StoredClaim), _read_list(folder / VARIED, _StoredVariation)
    return write_atomically(path, render_index(entries, *found, title))


class _StoredClaim(BaseModel):
    claim: str
    published: str
    found: str
    holds: bool | None


class _StoredVariation(BaseModel):
    session: str
    by: str
    reason: str
    sentences: list[str]
    page: str


def _read_list(path: Path, kind: type[BaseModel]) -> list[Claim]:
    """Return what a batch left beside its index; nothing if there is nothing that can be read."""
    try:
        return [dict(one) for one in TypeAdapter(list[kind]).validate_json(read_file(path))]  # type: ignore[valid-type]
    except (OSError, ValidationError):
        return []
