"""The plan of a batch: which tasks of which session are to be done, and about how long they take."""

from collections.abc import Iterable
from contextlib import closing
from typing import Any

from neurofs.running.batch.config import Session
from neurofs.running.batch.session import Outline, outline_session
from neurofs.running.pace import FINISH, OVERHEAD, Size, guess_seconds
from neurofs.running.progress import format_seconds
from neurofs.running.worker import Failure, Limits, Shared, Worker

Plan = list[tuple[Session, Outline | Failure]]
"""The sessions, each with its outline or why it has none."""


def plan_batch(sessions: Iterable[Session], limits: Limits | None = None) -> Plan:
    """Load each session in a child process and return what is to be done; nothing is written."""
    shared = Shared.pack("outline", False)
    with closing(Worker(limits)) as helper:
        return [
            (s, Failure(s.reason) if s.reason is not None else helper.call(outline_session, shared, s))
            for s in sessions
        ]


def estimate_seconds(outline: Outline) -> float:
    """Return about how long the missing tasks take on one core.

    A method of which tasks are done takes as long as those, others as `guess_seconds` says. Searches over sets and
    --dependency may take far longer than this.

    >>> estimate_seconds(Outline(10, seconds={"rgs": 4.0}, finished=True))
    0.0
    """
    if outline.finished:
        return 0.0
    size = Size(outline.n_train, outline.shape[1], outline.decoders, outline.of_classes)
    seconds = {task.method: guess_seconds(size, task.method) for task, _ in outline.missing}
    seconds |= {method: known + OVERHEAD for method, known in outline.seconds.items()}
    return FINISH + sum(seconds[task.method] for task, _ in outline.missing)


def describe_plan(plan: Plan, n_jobs: int) -> dict[str, Any]:
    """Return a plan for JSON."""
    rows = [{"name": session.name, **_describe(outline)} for session, outline in plan]
    total = sum(row["seconds"] for row in rows)
    return {"sessions": rows, "seconds": round(total / n_jobs, 1), "jobs": n_jobs}


def _describe(outline: Outline | Failure) -> dict[str, Any]:
    if isinstance(outline, Failure):
        return _describe(Outline(0)) | {"problem": outline.reason}
    return {
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
    lines.append(f"\n{to_do} tasks to do, about {format_seconds(plan['seconds'])} with {plan['jobs']} at a time")
    lines.append("(estimated from finished tasks, or by size where there are none; slow searches may take longer)")
    return "\n".join(lines)
