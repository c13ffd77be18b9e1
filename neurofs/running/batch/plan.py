"""The plan of a batch: which tasks of which session are to be done, and about how long they take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neurofs.running.batch.config import BatchConfig, plan_sessions
from neurofs.running.batch.session import Outline, SessionRun, outline_session, place_sessions
from neurofs.running.progress import format_seconds
from neurofs.running.worker import Failure, Limits, Shared, Worker

__all__ = ["PlannedSession", "describe_plan", "estimate_seconds", "plan_batch", "render_plan"]

REFERENCE_ROWS, REFERENCE_FEATURES = 5032, 640
REFERENCE_SECONDS = {"rgs": 3.6, "sks": 2.5, "all": 0.3, "ridge": 0.3, "kalman": 0.1}
"""Seconds that a task with so many rows and features took on one core."""
OTHER_SECONDS, OVERHEAD = 1.2, 0.05
"""Seconds of any other task, and of whatever surrounds a task."""


@dataclass(frozen=True)
class PlannedSession:
    """What is to be done for one session: its outline, or why it has none."""

    session: SessionRun
    outline: Outline | Failure


def plan_batch(config: BatchConfig, out: Path, limits: Limits | None = None) -> Iterator[PlannedSession]:
    """Load each session in a child process and yield what is to be done; nothing is written."""
    with closing(Worker(limits)) as helper:
        for session in place_sessions(plan_sessions(config), out):
            if session.problem is not None:
                yield PlannedSession(session, Failure(session.problem))
            else:
                shared = Shared.pack("outline", False)
                yield PlannedSession(session, helper.call(outline_session, shared, session))


def estimate_seconds(outline: Outline) -> float:
    """Return about how long the missing tasks take on one core.

    A method of which tasks are done takes as long as those; others as on a reference machine, in proportion to
    rows² × features. Settings and further decoders are not known to it: expect a factor of two or more.

    >>> estimate_seconds(Outline(10, seconds={"rgs": 4.0}, finished=True))
    0.0
    """
    rows, features = outline.shape
    scale = (rows / REFERENCE_ROWS) ** 2 * features / REFERENCE_FEATURES
    reference = {method: scale * seconds for method, seconds in REFERENCE_SECONDS.items()}
    known = {**reference, **outline.seconds}
    return float(sum(known.get(task.method, scale * OTHER_SECONDS) + OVERHEAD for task, _ in outline.missing))


def describe_plan(plan: list[PlannedSession], n_jobs: int) -> dict[str, Any]:
    """Return a plan for JSON."""
    rows = [_describe(planned) for planned in plan]
    total = sum(row["seconds"] for row in rows)
    return {"sessions": rows, "seconds": round(total / n_jobs, 1), "jobs": n_jobs}


def _describe(planned: PlannedSession) -> dict[str, Any]:
    name, outline = planned.session.name, planned.outline
    if isinstance(outline, Failure):
        return {
            "name": name,
            "problem": outline.reason,
            "tasks": 0,
            "kept": 0,
            "to_do": 0,
            "changed": 0,
            "seconds": 0.0,
        }
    return {
        "name": name,
        "problem": None,
        "tasks": outline.n_tasks,
        "kept": outline.n_tasks - len(outline.missing),
        "to_do": len(outline.missing),
        "changed": outline.n_changed,
        "seconds": round(estimate_seconds(outline), 1),
    }


def render_plan(plan: dict[str, Any]) -> str:
    """Return a plan as text."""
    width = max([7, *(len(row["name"]) for row in plan["sessions"])])
    lines = [f"{'session':<{width}}  {'tasks':>6}  {'kept':>6}  {'to do':>6}  {'changed':>7}  about"]
    for row in plan["sessions"]:
        counts = f"{row['tasks']:>6}  {row['kept']:>6}  {row['to_do']:>6}  {row['changed']:>7}"
        lines.append(f"{row['name']:<{width}}  {counts}  {row['problem'] or format_seconds(row['seconds'])}")
    to_do = sum(row["to_do"] for row in plan["sessions"])
    lines.append(
        f"\n{to_do} tasks to do, about {format_seconds(plan['seconds'])} with {plan['jobs']} at a time"
    )
    return "\n".join(lines)
