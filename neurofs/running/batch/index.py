"""What a batch found out as a whole: one table of all scores and one index page."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from neurofs.comparison.comparison import read
from neurofs.ground.csv_tables import join_csv
from neurofs.ground.files import write_atomically
from neurofs.running.batch.session import SessionState
from neurofs.running.run_folders import CLAIMS, make_entry, write_index


def publish(batch: tuple[Path, bool, str], states: Sequence[SessionState]) -> list[dict[str, Any]]:
    """Write ``scores.csv``, ``claims.json`` and ``index.html`` of a batch; return the claims that were checked.

    `batch` is the output folder, whether to check the published claims, and the title of the index.
    """
    out, check_published, title = batch
    done = {state.name: state.session.folder for state in states if state.status == "done"}
    write_atomically(out / "scores.csv", merge_scores(list(done.values())))
    comparisons = {name: read(folder) for name, folder in done.items()}
    claims: list[dict[str, Any]] = []
    if check_published and comparisons:
        from neurofs.comparison.published import check_claims

        claims = check_claims(list(comparisons.values()))
    write_atomically(out / CLAIMS, json.dumps(claims, indent=1, default=str) + "\n")
    entries = [make_entry(s.session.folder, out, s.name, comparisons.get(s.name), s.reason) for s in states]
    write_index(out / "index.html", entries, title)
    return claims


def merge_scores(folders: Sequence[Path]) -> str:
    """Return one table of all scores, the session (its folder's name) first."""
    return join_csv([(f.name, (f / "scores.csv").read_bytes().decode()) for f in folders], "session")
