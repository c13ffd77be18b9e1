"""``neurofs decode``: a cross-validated comparison and its report, for one session or several."""

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from neurofs.commands.batch import run_sessions
from neurofs.commands.help import HOW, OUTPUT, Option
from neurofs.commands.options import RunCommand, jobs_option, out_option, read_given, read_settings
from neurofs.commands.output import current_output
from neurofs.ground.errors import MAX_MESSAGE, printable


@click.command("decode", cls=RunCommand, short_help="Which channels at which lags, and how well: decode and report.")
@click.argument("sessions", nargs=-1, type=click.Path(path_type=Path), metavar="[SESSION]...")
@out_option("Run folder; reports/NAME-TARGET by default.")
@jobs_option
@click.option("--fresh", is_flag=True, help="Do all tasks again, also those done by an earlier run.")
@click.option(
    "--overwrite", cls=Option, group=OUTPUT, is_flag=True, help="Replace a run with other settings in the same folder."
)
@click.option(
    "--set",
    "settings",
    cls=Option,
    group=HOW,
    multiple=True,
    metavar="SELECTOR.NAME=VALUE",
    help="A setting of a selector, such as rgs.n_epochs=5; may be repeated.",
)
@click.option("--file", hidden=True, expose_value=False)
def decode_command(
    sessions: tuple[Path, ...],
    out: Path | None,
    jobs: int | None,
    fresh: bool,
    overwrite: bool,
    settings: tuple[str, ...],
    **given: Any,
) -> None:
    """Compare selectors and decoders on each SESSION, on folds that do not leak, and write a report.

    SESSION is a recording, a session file (.toml; its file may be a pattern for many), or the run.toml of an earlier
    run, which is repeated exactly. Without SESSION, the built-in demo is decoded. An interrupted run goes on where it
    stopped; a run with other settings is never replaced unless you say --overwrite. Several sessions have a folder
    each in --out, one table of all scores, and an index page.

    \b
    Examples:
      neurofs decode
      neurofs decode session.nwb --target hand_velocity --out reports/day1
      neurofs decode session.nwb --target direction --selectors simba,relieff --decoders svm
      neurofs decode session.nwb --target hand_velocity --set rgs.n_epochs=5 --n-repeats 5
      neurofs decode reports/day1/run.toml --out reports/day1-again
    """
    _expect_work(jobs)
    from neurofs.comparison.given import choose_all
    from neurofs.running.batch.config import place_sessions

    values = read_given(given) | ({"settings": read_settings(settings)} if settings else {})
    runs = [options for session in sessions or (None,) for options in choose_all(session, values)]
    placed = place_sessions(runs, out, overwrite)
    if len(runs) > 1:
        _decode_many(placed, out or Path("reports"), jobs, fresh)
    else:
        _decode_one(runs[0], out or placed[0].folder, jobs, fresh=fresh, overwrite=overwrite)


def _expect_work(jobs: int | None) -> None:
    """Let the libraries of the workers be loaded beside those of this process."""
    from neurofs.running.executors import count_jobs
    from neurofs.running.worker import expect_workers

    if count_jobs(jobs) > 1:
        expect_workers("neurofs.comparison.evaluate")


def _decode_one(options: Any, folder: Path, jobs: int | None, **how: bool) -> None:
    from neurofs.running.executors import make_executor
    from neurofs.running.progress import open_progress
    from neurofs.running.session import decode

    command, output = shlex.join(["neurofs", *sys.argv[1:]]), current_output()
    try:
        with open_progress(None, printable(folder.name), output.quiet, output.verbose) as view:
            say = None if output.quiet or output.as_json else view.note
            comparison = decode(options, folder, make_executor(jobs), view.count_tasks, command, say=say, **how)
    except KeyboardInterrupt:
        again = shlex.join(["neurofs", "decode", str(folder / "run.toml"), "--out", str(folder)])
        click.echo(f"\nneurofs: what is finished is kept; go on with\n  {again}", err=True)
        raise
    _tell_details(comparison)
    report = folder / "report.html"
    output.show(comparison.summary.to_json, lambda: _render(comparison, folder), report, indent=1)


def _decode_many(sessions: Any, out: Path, jobs: int | None, fresh: bool) -> None:
    from neurofs.comparison.comparison import read
    from neurofs.running.earlier import check_settings
    from neurofs.running.executors import make_executor

    for session in sessions:
        if not session.overwrite:
            check_settings(session.folder, session.options)
    outcome = run_sessions(sessions, out, make_executor(jobs), fresh=fresh, owns_folder=False)
    found = {state.session.folder: read(state.session.folder) for state in outcome.done}
    for comparison in found.values():
        _tell_details(comparison)
    current_output().show(
        lambda: {str(folder): c.summary.to_json() for folder, c in found.items()},
        lambda: "\n\n".join([*(_render(c, folder) for folder, c in found.items()), outcome.render()]),
        out / "index.html",
        indent=1,
    )
    if outcome.failed:
        sys.exit(1)


def _tell_details(comparison: Any) -> None:
    """Say, if asked for, how the file was read and what was done to it."""
    session = comparison.summary.session
    for note in session.notes:
        current_output().detail(f"{printable(session.name)}: {printable(note, MAX_MESSAGE)}")


def _render(comparison: Any, folder: Path) -> str:
    """Return the summary of one session for people."""
    from neurofs.comparison.amount import describe_amount
    from neurofs.comparison.headline import render_summary

    facts = comparison.summary.session
    head = f"{printable(facts.name)}: {describe_amount(facts)}"
    return f"{head}\n\n{render_summary(comparison.summary)}\n\nreport: {folder / 'report.html'}"
