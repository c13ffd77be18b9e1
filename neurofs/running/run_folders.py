"""Run folders on disk: finding them, rebuilding their reports, and an index page across them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from neurofs.comparison.comparison import read
from neurofs.ground.errors import InputError, NeurofsError
from neurofs.ground.files import write_atomically
from neurofs.report.index import IndexEntry
from neurofs.report.page import render, render_index, save_figures
from neurofs.running.events import read_events

__all__ = ["find_runs", "rebuild", "rebuild_all"]


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


def rebuild(folder: Path, out: Path | None = None, figures: str | None = None) -> tuple[Path, Any]:
    """Write the report of one run (to `out` if given), and its figures as files if asked; return both."""
    comparison = read(folder)
    path = folder / "report.html" if out is None else out / "report.html" if out.is_dir() else out
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, render(comparison))
    if figures:
        save_figures(comparison, path.parent / "figures", figures)
    return path, comparison


def rebuild_all(runs: Sequence[Path], out: Path, figures: str | None = None) -> tuple[Path, list[IndexEntry]]:
    """Rebuild every report and write the index page `out`; runs that cannot be read are entered as failed."""
    out = out / "index.html" if out.suffix != ".html" else out
    out.parent.mkdir(parents=True, exist_ok=True)
    entries = [_make_entry(folder, out.parent, figures) for folder in runs]
    claims = out.parent / "claims.json"  # a batch leaves them there
    known = json.loads(claims.read_text(encoding="utf-8")) if claims.is_file() else []
    write_atomically(out, render_index(entries, known))
    return out, entries


def _make_entry(folder: Path, base: Path, figures: str | None) -> IndexEntry:
    try:
        path, comparison = rebuild(folder, figures=figures)
    except NeurofsError as error:
        return IndexEntry(folder.name, "failed", _find_reason(folder) or str(error))
    href = Path(os.path.relpath(path, base)).as_posix()
    return IndexEntry(comparison.summary.session.name, "done", href=href, comparison=comparison)


def _find_reason(folder: Path) -> str:
    """Return why a session of a batch failed, or the last line of its log, or nothing."""
    events, log = folder.parent.parent / "events.jsonl", folder / "log.txt"
    if events.is_file():
        failed = [e for e in read_events(events) if e.get("event") == "session_failed"]
        reasons = [str(e.get("reason", "")) for e in failed if e.get("session") == folder.name]
        if reasons:
            return reasons[-1]
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n") if log.is_file() else []
    said = [line.strip() for line in lines if line.strip()]
    return f"not finished; its log ends with: {said[-1]}" if said else ""
