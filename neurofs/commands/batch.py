"""``neurofs batch``: many sessions from one file, on a laptop or a cluster."""

import shlex
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from neurofs.commands.help import Command
from neurofs.commands.options import jobs_option, out_option, read_size, read_time
from neurofs.commands.output import current_output


@click.command("batch", cls=Command, short_help="Decode many sessions, here or on a cluster.")
@click.argument("pipeline", type=click.Path(path_type=Path), metavar="PIPELINE.toml")
@out_option("Output folder; reports/NAME by default.")
@click.option(
    "--executor",
    "kind",
    type=click.Choice(["serial", "processes", "dask"]),
    help="Where tasks run; dask with --scheduler or a [cluster] section, else processes.",
)
@click.option("--scheduler", metavar="ADDRESS", help="Join the Dask cluster there, such as tcp://node1:8786.")
@jobs_option
@click.option("--dry-run", is_flag=True, help="Only print what is to be done, with an estimate of the time.")
@click.option("--fresh", is_flag=True, help="Start over: remove what earlier runs left in the output folder.")
@click.option("--task-timeout", metavar="TIME", help="Longest time of a task, such as 90, 30m or 2h.")
@click.option("--memory-limit", metavar="SIZE", help="Most memory of a task's process, such as 4GB (Linux).")
@click.option("--keep-going/--stop-on-error", default=True, help="After a session that failed.")
def batch_command(
    pipeline: Path,
    out: Path | None,
    jobs: int | None,
    dry_run: bool,
    task_timeout: str | None,
    memory_limit: str | None,
    fresh: bool,
    keep_going: bool,
    **executors: str | None,
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
    from neurofs.running.batch.config import plan_sessions, read_batch_file
    from neurofs.running.batch.variations import tell_variations
    from neurofs.running.executors import count_jobs, make_executor
    from neurofs.running.worker import Limits

    config = read_batch_file(pipeline)
    out = out or Path(config.batch.out or Path("reports") / config.path.stem)
    sessions = plan_sessions(config, out)
    limits = Limits(read_time(task_timeout), read_size(memory_limit))
    if dry_run:
        _print_plan(sessions, limits, count_jobs(jobs), [one.by for one in config.vary])
        return
    options = {"fresh": fresh, "keep_going": keep_going, "check_published": config.claims.navot2005}
    with closing(make_executor(jobs, limits, cluster=config.cluster, **executors)) as executor:
        outcome = run_sessions(sessions, out, executor, limits=limits, title=config.title, **options)
        varied = vary_sessions(config, outcome, executor, fresh) if config.vary else []
    current_output().show(
        lambda: {**outcome.to_json(), **({"variations": varied} if varied else {})},
        lambda: "\n".join([outcome.render(), *(["", tell_variations(varied, out)] if varied else [])]),
        out / "index.html",
    )
    if outcome.failed or any(one["reason"] for one in varied):
        sys.exit(1)


def vary_sessions(config: Any, outcome: Any, executor: Any, fresh: bool) -> list[dict[str, Any]]:
    """Run the variations of a batch, and write its index again, with them."""
    from neurofs.running.batch.index import publish
    from neurofs.running.batch.variations import run_variations
    from neurofs.running.progress import open_progress

    command, output = shlex.join(["neurofs", *sys.argv[1:]]), current_output()

    def open_view(name: str) -> Any:
        return open_progress(None, name, output.quiet, output.verbose)

    found = run_variations(outcome.sessions, config.vary, outcome.out, executor, open_view, fresh, command)
    publish((outcome.out, config.claims.navot2005, config.title), outcome.sessions)
    return found


def run_sessions(sessions: Any, out: Path, executor: Any, **options: Any) -> Any:
    """Run a batch with its progress on standard error; if it is interrupted, say how to go on."""
    from neurofs.running.batch.coordinator import run_batch
    from neurofs.running.progress import open_progress

    command, output = shlex.join(["neurofs", *sys.argv[1:]]), current_output()
    try:
        with open_progress(None, "", output.quiet, output.verbose) as view:
            return run_batch(sessions, out, executor, view, command=command, **options)
    except KeyboardInterrupt:
        again = shlex.join(["neurofs", *(part for part in sys.argv[1:] if part != "--fresh")])
        click.echo(f"\nWhat is done is kept in {out}. Continue with: {again}", err=True)
        raise


def _print_plan(sessions: Any, limits: Any, n_jobs: int, varied: list[str]) -> None:
    from neurofs.running.batch.plan import describe_plan, plan_batch, render_plan

    plan = describe_plan(plan_batch(sessions, limits), n_jobs)
    more = [f"then each session by {', '.join(varied)}, for which no time is estimated"] if varied else []
    current_output().show(lambda: plan, lambda: "\n".join([render_plan(plan), *more]), f"{plan['seconds']} s")
