"""``neurofs decode``: a cross-validated comparison and its report, for one session or several."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import click

from neurofs.commands.batch import run_sessions
from neurofs.commands.options import RunCommand, jobs_option, json_option, read_given, read_settings
from neurofs.ground.errors import printable


@click.command("decode", cls=RunCommand)
@click.argument("sessions", nargs=-1, type=click.Path(path_type=Path), metavar="[SESSION]...")
@click.option("--out", type=click.Path(path_type=Path), help="Run folder; reports/NAME-TARGET by default.")
@jobs_option
@click.option("--fresh", is_flag=True, help="Do all tasks again, also those done by an earlier run.")
@click.option("--overwrite", is_flag=True, help="Replace a run with other settings in the same folder.")
@json_option
@click.option("--set", "settings", multiple=True, metavar="SELECTOR.NAME=VALUE", help="A setting of a selector.")
@click.option("--file", hidden=True, expose_value=False)
def decode_command(
    sessions: tuple[Path, ...],
    out: Path | None,
    jobs: int | None,
    fresh: bool,
    overwrite: bool,
    as_json: bool,
    settings: tuple[str, ...],
    **given: Any,
) -> None:
    """Compare selectors and decoders on each SESSION, on folds that do not leak, and write a report.

    SESSION is a recording, a session file (.toml), or the run.toml of an earlier run, which is repeated
    exactly. Without SESSION, the built-in demo is decoded. An interrupted run goes on where it stopped; a run with
    other settings is never replaced unless you say --overwrite. Several sessions have a folder each in --out, one
    table of all scores, and an index page.

    \b
    Examples:
      neurofs decode
      neurofs decode session.nwb --target hand_velocity --out reports/day1
      neurofs decode session.nwb --target direction --selectors simba,relieff
      neurofs decode session.nwb --target hand_velocity --set rgs.n_epochs=5 --n-repeats 5
      neurofs decode reports/day1/run.toml --out reports/day1-again
    """
    from neurofs.running.batch.config import place_sessions
    from neurofs.running.session import choose_options

    values = read_given(given) | ({"settings": read_settings(settings)} if settings else {})
    runs = [choose_options(session, values) for session in sessions or (None,)]
    placed = place_sessions(runs, out, overwrite)
    if len(runs) > 1:
        _decode_many(placed, out or Path("reports"), jobs, fresh, as_json)
    else:
        _decode_one(runs[0], out or placed[0].folder, jobs, as_json, fresh=fresh, overwrite=overwrite)


def _decode_one(options: Any, folder: Path, jobs: int | None, as_json: bool, **how: bool) -> None:
    from neurofs.running.executors import make_executor
    from neurofs.running.progress import open_progress
    from neurofs.running.session import decode

    command = shlex.join(["neurofs", *sys.argv[1:]])
    try:
        with open_progress(name=printable(folder.name)) as view:
            say = None if as_json else view.note
            comparison = decode(options, folder, make_executor(jobs), view.count_tasks, command, say=say, **how)
    except KeyboardInterrupt:
        again = shlex.join(["neurofs", "decode", str(folder / "run.toml"), "--out", str(folder)])
        click.echo(f"\nneurofs: what is finished is kept; go on with\n  {again}", err=True)
        raise
    click.echo(json.dumps(comparison.summary.to_json(), indent=1) if as_json else _render(comparison, folder))


def _decode_many(sessions: Any, out: Path, jobs: int | None, fresh: bool, as_json: bool) -> None:
    from neurofs.comparison.comparison import read
    from neurofs.running.earlier import check_settings
    from neurofs.running.executors import make_executor

    for session in sessions:
        if not session.overwrite:
            check_settings(session.folder, session.options)
    outcome = run_sessions(sessions, out, make_executor(jobs), fresh=fresh, owns_folder=False)
    found = {state.session.folder: read(state.session.folder) for state in outcome.done}
    if as_json:
        click.echo(json.dumps({str(folder): c.summary.to_json() for folder, c in found.items()}, indent=1))
    else:
        parts = [_render(comparison, folder) for folder, comparison in found.items()]
        click.echo("\n\n".join([*parts, outcome.render()]))
    if outcome.failed:
        sys.exit(1)


def _render(comparison: Any, folder: Path) -> str:
    """Return the summary of one session for people."""
    from neurofs.comparison.amount import describe_amount
    from neurofs.comparison.headline import render_summary

    facts = comparison.summary.session
    head = f"{printable(facts.name)}: {describe_amount(facts)}"
    return f"{head}\n\n{render_summary(comparison.summary)}\n\nreport: {folder / 'report.html'}"
