"""``neurofs batch``: many sessions from one file, on a laptop or a cluster."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import click

from neurofs.ground.errors import UsageError, printable, quoted

__all__ = ["batch_command"]


@click.command("batch")
@click.argument("pipeline", type=click.Path(path_type=Path), metavar="PIPELINE.toml")
@click.option("--out", type=click.Path(path_type=Path), help="Output folder; reports/NAME by default.")
@click.option(
    "--executor",
    "kind",
    type=click.Choice(["serial", "processes", "dask"]),
    help="Where tasks run; dask with --scheduler or a [cluster] section, else processes.",
)
@click.option("--scheduler", metavar="ADDRESS", help="Join the Dask cluster there, such as tcp://node1:8786.")
@click.option("--jobs", type=click.IntRange(1), help="Tasks at the same time; all cores by default.")
@click.option("--dry-run", is_flag=True, help="Only print what is to be done, with an estimate of the time.")
@click.option("--fresh", is_flag=True, help="Start over: remove what earlier runs left in the output folder.")
@click.option("--task-timeout", metavar="TIME", help="Longest time of a task, such as 90, 30m or 2h.")
@click.option("--memory-limit", metavar="SIZE", help="Most memory of a task's process, such as 4GB (Linux).")
@click.option(
    "--keep-going/--stop-on-error", default=True, show_default=True, help="After a session that failed."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def batch_command(
    pipeline: Path,
    out: Path | None,
    kind: str | None,
    scheduler: str | None,
    jobs: int | None,
    dry_run: bool,
    fresh: bool,
    task_timeout: str | None,
    memory_limit: str | None,
    keep_going: bool,
    as_json: bool,
) -> None:
    """Decode all sessions that PIPELINE.toml names: a report each, one table of all scores, one index.

    What an earlier run left in the output folder is used: a second start does only what is missing, or
    touched by a change of settings, input or code. A session that cannot be decoded does not stop the
    others. Exit code 0 if all sessions are done, 1 if some failed, 2 for wrong usage, 130 if interrupted.

    \b
    Examples:
      neurofs batch pipelines/demo.toml
      neurofs batch spring.toml --dry-run
      neurofs batch spring.toml --task-timeout 30m --memory-limit 4GB
      neurofs batch spring.toml --scheduler tcp://node1:8786
    """
    from neurofs.running.batch.config import read_batch_file
    from neurofs.running.executors import count_jobs
    from neurofs.running.worker import Limits

    config = read_batch_file(pipeline)
    out = out or Path(config.batch.out or Path("reports") / config.path.stem)
    limits = Limits(_read_time(task_timeout), _read_size(memory_limit))
    if dry_run:
        _print_plan(config, out, limits, count_jobs(jobs), as_json)
        return
    executor = _make_executor(config, kind, scheduler, jobs, limits)
    try:
        _run(config, out, executor, limits, fresh, keep_going, as_json)
    finally:
        executor.close()


def _run(
    config: Any, out: Path, executor: Any, limits: Any, fresh: bool, keep_going: bool, as_json: bool
) -> None:
    """Run the batch, say how it ended, and leave with the exit code that belongs to it."""
    from neurofs.running.batch.coordinator import run_batch
    from neurofs.running.progress import open_progress

    command = shlex.join(["neurofs", *sys.argv[1:]])
    try:
        with open_progress() as view:
            outcome = run_batch(
                config,
                out,
                executor,
                view,
                limits=limits,
                fresh=fresh,
                keep_going=keep_going,
                command=command,
            )
    except KeyboardInterrupt:
        again = shlex.join(["neurofs", *(part for part in sys.argv[1:] if part != "--fresh")])
        click.echo(f"\nWhat is done is kept in {out}. Continue with: {again}", err=True)
        raise
    click.echo(json.dumps(_describe(outcome), indent=2) if as_json else _render(outcome))
    if outcome.failed:
        sys.exit(1)


def _describe(outcome: Any) -> dict[str, Any]:
    from neurofs.running.batch.coordinator import describe_states

    return {
        "out": str(outcome.out),
        "index": str(outcome.out / "index.html"),
        "scores": str(outcome.out / "scores.csv"),
        "sessions": describe_states(outcome.sessions),
        "claims": outcome.claims,
    }


def _render(outcome: Any) -> str:
    """Return the summary for people; sessions that failed come last."""
    n_done = len(outcome.sessions) - len(outcome.failed)
    lines = [f"{claim['holds']!s:>5}  {claim['claim']}: {claim['found']}" for claim in outcome.claims]
    lines += [f"{n_done} of {len(outcome.sessions)} sessions done"]
    lines += [f"index: {outcome.out / 'index.html'}", f"scores: {outcome.out / 'scores.csv'}"]
    lines += [f"failed: {printable(s.name)}: {s.reason or 'not run'}" for s in outcome.failed]
    return "\n".join(lines)


def _make_executor(
    config: Any, kind: str | None, scheduler: str | None, jobs: int | None, limits: Any
) -> Any:
    """Return the executor that was asked for."""
    from neurofs.running.executors import Processes, Serial, count_jobs

    clustered = scheduler is not None or config.cluster is not None
    kind = kind or ("dask" if clustered else "processes")
    if scheduler is not None and kind != "dask":
        raise UsageError(f"--scheduler needs --executor dask; found {kind}")
    if kind == "serial" and (limits.seconds or limits.memory):
        raise UsageError(
            "--executor serial runs tasks in this process, without limits; use processes --jobs 1"
        )
    if kind == "serial":
        return Serial()
    if kind == "processes":
        return Processes(count_jobs(jobs), limits)
    from neurofs.running.dask_executor import connect_dask

    return connect_dask(count_jobs(jobs), limits, scheduler, config.cluster)


def _print_plan(config: Any, out: Path, limits: Any, n_jobs: int, as_json: bool) -> None:
    from neurofs.running.batch.plan import describe_plan, plan_batch, render_plan

    plan = describe_plan(list(plan_batch(config, out, limits)), n_jobs)
    click.echo(json.dumps(plan, indent=2) if as_json else render_plan(plan))


def _read_time(text: str | None) -> float | None:
    """Return a time in seconds.

    >>> _read_time("90"), _read_time("1.5m"), _read_time("2h")
    (90.0, 90.0, 7200.0)
    """
    return _read_amount(
        text, {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}, "--task-timeout", "90, 30m or 2h"
    )


def _read_size(text: str | None) -> int | None:
    """Return a size in bytes.

    >>> _read_size("500MB"), _read_size("4GB") == 4 * 10**9, _read_size("1GiB") == 2**30
    (500000000, True, True)
    """
    units = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
    amount = _read_amount(text, units, "--memory-limit", "500MB or 4GB")
    return None if amount is None else int(amount)


def _read_amount(text: str | None, units: dict[str, int], option: str, example: str) -> float | None:
    if text is None:
        return None
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", text)
    if found is None or found[2].lower() not in units or float(found[1]) == 0:
        raise UsageError(f"{option}: expected something like {example}; found {quoted(text)}")
    return float(found[1]) * units[found[2].lower()]
