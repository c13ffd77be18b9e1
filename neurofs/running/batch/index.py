"""What a batch found out as a whole: one table of all scores and one index page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neurofs.comparison.comparison import read
from neurofs.ground.files import write_atomically
from neurofs.report.index import IndexEntry
from neurofs.report.page import render_index
from neurofs.running.batch.config import ClaimOptions

__all__ = ["Entry", "merge_scores", "write_index"]


@dataclass(frozen=True)
class Entry:
    """How one session ended: done, or failed with its reason."""

    name: str
    folder: Path
    status: str
    reason: str | None = None


def write_index(batch: tuple[Path, ClaimOptions], entries: list[Entry]) -> list[dict[str, Any]]:
    """Write ``scores.csv`` and ``index.html`` of a batch; return the claims that were checked."""
    out, options = batch
    done = [entry for entry in entries if entry.status == "done"]
    write_atomically(out / "scores.csv", "".join(merge_scores(done)))
    comparisons = {entry.name: read(entry.folder) for entry in done}
    claims: list[dict[str, Any]] = []
    if options.navot2005 and comparisons:
        from neurofs.comparison.published import check_claims

        claims = check_claims(list(comparisons.values()))
    rows = [
        IndexEntry(
            entry.name,
            entry.status,
            entry.reason or "",
            f"sessions/{entry.folder.name}/report.html",
            comparisons.get(entry.name),
        )
        for entry in entries
    ]
    write_atomically(out / "claims.json", json.dumps(claims, indent=1, default=str) + "\n")
    write_atomically(out / "index.html", render_index(rows, claims))
    return claims


def merge_scores(entries: list[Entry]) -> Iterator[str]:
    """Yield the lines of one table of all scores, the session (its folder's name) first."""
    for number, entry in enumerate(entries):
        header, *lines = (entry.folder / "scores.csv").read_text(encoding="utf-8").splitlines(keepends=True)
        if number == 0:
            yield f"session,{header}"
        for line in lines:
            yield f"{entry.folder.name},{line}"
