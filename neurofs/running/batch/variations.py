"""The variations of a batch: after its sessions are decoded, each is decoded over values of one thing.

    variations/NAME-by-WHAT/    the folder of each (`comparison.variation`)
    variations.csv              the tables of all, the session first
    variations.json             what was found in each, for the index

Of three sessions and more, what is varied alike is also put together (`comparison.pooled`): all-sessions-by-WHAT.
A variation that cannot be run costs itself alone: its reason stands in the index.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from neurofs.comparison.pooled import FEWEST, pool
from neurofs.comparison.time_course import TimeCourse
from neurofs.comparison.variation import Variation
from neurofs.ground.config import VaryOptions
from neurofs.ground.csv_tables import render_csv
from neurofs.ground.errors import NeurofsError
from neurofs.ground.files import write_atomically
from neurofs.running.batch.config import name_folder
from neurofs.running.batch.session import SessionState
from neurofs.running.events import EventLog
from neurofs.running.executors import Executor
from neurofs.running.progress import Progress
from neurofs.running.run_folders import VARIED
from neurofs.running.varying import run_varied

Open = Callable[[str], Progress]


def run_variations(
    states: Sequence[SessionState],
    varied: Sequence[VaryOptions],
    out: Path,
    executor: Executor,
    open_view: Open,
    fresh: bool = False,
    command: str = "",
) -> list[dict[str, Any]]:
    """Run all variations of all sessions that were decoded; return what was found in each, or why not."""
    events, records, tables = EventLog(out / "events.jsonl"), [], []
    found_by: dict[str, dict[str, Variation]] = {}
    for state in (state for state in states if state.status == "done"):
        for one in varied:
            place = out / "variations" / name_folder(f"{state.name}-by-{one.by}")
            about = {"session": state.name, "by": one.by}
            try:
                with open_view(f"{state.name} by {one.by}") as view:
                    found = run_varied(state.session.options, one, executor, view, place, fresh, command)
            except NeurofsError as error:
                records.append({**about, "reason": str(error), "sentences": [], "page": ""})
                events.write("variation_failed", **about, reason=str(error))
                continue
            stem = "time_course" if isinstance(found, TimeCourse) else "variation"
            page = (place / f"{stem}.html").relative_to(out).as_posix()
            records.append({**about, "reason": "", "sentences": found.sentences, "page": page})
            tables.append(found.table.assign(**about))
            if isinstance(found, Variation):
                found_by.setdefault(one.by, {})[state.name] = found
            events.write("variation_done", **about)
    for one in varied:
        if pooled := _pool(found_by.get(one.by, {})):
            place = pooled.save(out / "variations" / name_folder(f"all-sessions-by-{one.by}"))
            page = (place / "variation.html").relative_to(out).as_posix()
            about = {"session": "all sessions", "by": one.by}
            records.append({**about, "reason": "", "sentences": pooled.sentences, "page": page})
            tables.append(pooled.table.assign(**about))
    write_atomically(out / "variations.csv", "".join(_merge(tables)))
    write_atomically(out / VARIED, json.dumps(records, indent=1, ensure_ascii=False) + "\n")
    return records


def _pool(found: dict[str, Variation]) -> Variation | None:
    """Return the variation of all sessions together; none of too few, or of such as have little in common."""
    try:
        return pool(found) if len(found) >= FEWEST else None
    except NeurofsError:
        return None


def _merge(tables: Sequence[pd.DataFrame]) -> Iterator[str]:
    """Yield one table of all, session and what is varied first."""
    if tables:
        whole = pd.concat(tables, ignore_index=True)
        first = ["session", "by"]
        yield render_csv(whole[[*first, *(name for name in whole if name not in first)]])


def tell_variations(records: Sequence[dict[str, Any]], out: Path) -> str:
    """Return what was found, for people: the first sentence of each, and the reasons of those that failed."""
    lines = []
    for record in records:
        head = f"{record['session']} by {record['by']}: "
        lines.append(head + (f"failed: {record['reason']}" if record["reason"] else record["sentences"][0]))
    return "\n".join([*lines, f"variations: {out / 'variations.csv'}"])
