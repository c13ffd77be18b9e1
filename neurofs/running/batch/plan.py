"""The plan of a batch: which tasks of which session are to be done, and about how long they take."""

from collections.abc import Iterable
from contextlib import closing
from typing import Any

from neurofs.running.batch.config import Session
from neurofs.running.batch.session import Outline, outline_session
from neurofs.running.progress import format_seconds
from neurofs.running.worker import Failure, Limits, Shared, Worker

REFERENCE_ROWS, REFERENCE_FEATURES = 730, 640
SELECTOR_SECONDS = {
    "rgs": 0.9, "sks": 0.75, "all": 0.06, "random": 0.4, "mufasa": 3.0, "kernel-rgs": 5.0, "simba": 1.5, "pairs": 1.0
}  # fmt: skip
"""Seconds of a task with so many rows for training and so many features, on one core, decoded by soft kNN; they grow
with rows² x features."""
OTHER_SELECTOR = 0.6

JOINT_SECONDS = {"ridge": 0.4, "kalman": 0.3, "kernel-rgs-decoder": 2.5, "kernel-rgs-sparse-decoder": 4.3}
DECODER_SECONDS = {"auto": 1.4, "average": 1.3, "local-linear": 1.0, "mlp": 1.0, "gradient-boosting": 1.0, "lvq": 1.2}
OTHER_DECODER, OF_CLASSES = 0.3, 2.5
"""Seconds of a decoder of all features, and of a further decoder of selected ones, by how much more `auto` takes for
classes; they grow with rows x features, since most work on no more than some hundred rows at a time."""

OVERHEAD, FINISH = 0.1, 5.0
"""Seconds of whatever surrounds a task; and a session, which is loaded, tested against chance and reported."""


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

    A method of which tasks are done takes as long as those; others as on a reference machine, in proportion to
    rows² x features for the selector and rows x features for its decoders. Measured within a factor of three for the
    default methods and decoders; searches over sets and --dependency may take far longer than this says.

    >>> estimate_seconds(Outline(10, seconds={"rgs": 4.0}, finished=True))
    0.0
    """
    if outline.finished:
        return 0.0
    return FINISH + sum(_estimate_task(outline, task.method) for task, _ in outline.missing)


def _estimate_task(outline: Outline, method: str) -> float:
    """Return the seconds of a task: those of its kind that are done, or in proportion to the reference."""
    if method in outline.seconds:
        return outline.seconds[method] + OVERHEAD
    rows, features = outline.n_train / REFERENCE_ROWS, outline.shape[1] / REFERENCE_FEATURES
    if method in JOINT_SECONDS:
        return OVERHEAD + rows * features * JOINT_SECONDS[method]
    more = [DECODER_SECONDS.get(name, OTHER_DECODER) for name in outline.decoders.get(method, ())]
    decoding = sum(more) * (OF_CLASSES if outline.of_classes else 1)
    return OVERHEAD + rows * features * (rows * SELECTOR_SECONDS.get(method, OTHER_SELECTOR) + decoding)


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
