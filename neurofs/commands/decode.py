"""``neurofs decode``: a cross-validated comparison and its report, for one session or several."""

from __future__ import annotations

import ast
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import click

from neurofs.commands.options import RunCommand, read_given
from neurofs.ground.errors import InputError, NeurofsError, UsageError, printable, quoted

__all__ = ["decode_command"]


@click.command("decode", cls=RunCommand)
@click.argument("sessions", nargs=-1, type=click.Path(path_type=Path), metavar="[SESSION]...")
@click.option("--out", type=click.Path(path_type=Path), help="Run folder; reports/NAME by default.")
@click.option("--jobs", type=click.IntRange(1), help="Tasks at the same time; all cores by default.")
@click.option("--fresh", is_flag=True, help="Do all tasks again, also those done by an earlier run.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.option(
    "--set", "settings", multiple=True, metavar="SELECTOR.NAME=VALUE", help="A setting of a selector."
)
@click.option("--file", hidden=True, expose_value=False)
def decode_command(
    sessions: tuple[Path, ...],
    out: Path | None,
    jobs: int | None,
    fresh: bool,
    as_json: bool,
    settings: tuple[str, ...],
    **given: Any,
) -> None:
    """Compare selectors and decoders on each SESSION, on folds that do not leak, and write a report.

    SESSION is a recording, a session file (.toml), or the run.toml of an earlier run, which is repeated
    exactly. Without SESSION, the built-in demo is decoded. An interrupted run goes on where it stopped.

    \b
    Examples:
      neurofs decode
      neurofs decode session.nwb --target hand_velocity --out reports/day1
      neurofs decode session.nwb --target direction --selectors simba,relieff
      neurofs decode session.nwb --target hand_velocity --set rgs.n_epochs=5 --n-repeats 5
      neurofs decode reports/day1/run.toml --out reports/day1-again
    """
    values = read_given(given) | ({"settings": _read_settings(settings)} if settings else {})
    runs = [_make_options(session, values) for session in sessions or (None,)]
    folders = _choose_folders(runs, out)
    entries = [
        _try(options, folder, jobs, fresh, as_json, len(runs) == 1)
        for options, folder in zip(runs, folders, strict=True)
    ]
    summaries = {
        str(folder): entry.comparison.summary.to_json()
        for folder, entry in zip(folders, entries, strict=True)
        if entry.comparison is not None
    }
    if as_json:
        click.echo(json.dumps(summaries[str(folders[0])] if len(runs) == 1 else summaries, indent=1))
    if len(runs) > 1:
        _write_index(entries, folders[0].parent, quiet=as_json)
    if len(summaries) < len(runs):
        sys.exit(1)


def _try(options: Any, folder: Path, jobs: int | None, fresh: bool, quiet: bool, alone: bool) -> Any:
    """Decode one session; what is wrong with one of several does not stop the others."""
    from neurofs.report.index import IndexEntry

    try:
        comparison = _decode(options, folder, jobs, fresh, quiet)
        return IndexEntry(folder.name, "done", "", f"{folder.name}/report.html", comparison)
    except NeurofsError as error:
        if alone:
            raise
        click.echo(f"neurofs: {error}", err=True)
        return IndexEntry(folder.name, "failed", str(error))


def _decode(options: Any, folder: Path, jobs: int | None, fresh: bool, quiet: bool) -> Any:
    """Decode one session, and print the summary unless asked to be quiet."""
    from neurofs.comparison.headline import render_summary
    from neurofs.pipeline import decode
    from neurofs.report.page import write_report
    from neurofs.running.executors import make_executor
    from neurofs.running.progress import open_progress

    command = shlex.join(["neurofs", *sys.argv[1:]])
    try:
        with open_progress(name=printable(folder.name)) as view:
            comparison = decode(options, folder, make_executor(jobs), view.count_tasks, command, fresh)
    except KeyboardInterrupt:
        again = shlex.join(["neurofs", "decode", str(folder / "run.toml"), "--out", str(folder)])
        click.echo(f"\nneurofs: what is finished is kept; go on with\n  {again}", err=True)
        raise
    report = write_report(folder)
    if not quiet:
        click.echo(f"{printable(comparison.summary.session.name)}\n")
        click.echo(render_summary(comparison.summary))
        click.echo(f"\nreport: {report}")
    return comparison


def _write_index(entries: list[Any], folder: Path, quiet: bool) -> None:
    """Write the page that lists all sessions."""
    from neurofs.ground.files import make_folder, write_atomically
    from neurofs.report.page import render_index

    path = write_atomically(make_folder(folder) / "index.html", render_index(entries))
    if not quiet:
        click.echo(f"\nindex: {path}")


def _make_options(session: Path | None, values: dict[str, Any]) -> Any:
    """Return the options of a run: those of its file, overruled by those of the command line."""
    from neurofs.ground.config import RunOptions, given_options, make_options, read_session_file
    from neurofs.recordings.readers import demo_path

    if session is None:
        return make_options(RunOptions, {"target": "hand_velocity"} | values | {"file": str(demo_path())})
    if session.suffix.lower() != ".toml":
        return make_options(RunOptions, {**values, "file": str(session.resolve())})
    if not session.is_file():
        raise InputError(session, "a session file", "no such file", "Check the path.")
    data, options = read_session_file(session)
    return make_options(RunOptions, given_options(options) | values | {"file": str(data.resolve())})


def _choose_folders(runs: list[Any], out: Path | None) -> list[Path]:
    """Return the run folder of each session: `out`, or one in it for each of several."""
    names = [options.name or Path(options.file).stem for options in runs]
    names = ["".join(c if c.isalnum() or c in "-_." else "_" for c in name).lstrip(".") for name in names]
    if len(set(names)) < len(names):
        raise UsageError("several sessions have the same name; decode them one by one with --out or --name")
    base = out or Path("reports")
    return [base] if len(runs) == 1 and out else [base / (name or "session") for name in names]


def _read_settings(texts: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Turn ``rgs.n_epochs=3`` into {"rgs": {"n_epochs": 3}}.

    >>> _read_settings(("rgs.n_epochs=3", "simba.utility=sigmoid"))
    {'rgs': {'n_epochs': 3}, 'simba': {'utility': 'sigmoid'}}
    """
    found: dict[str, dict[str, Any]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        selector, dot, key = name.partition(".")
        if not (equals and dot and selector and key):
            raise UsageError(
                f"--set: expected SELECTOR.NAME=VALUE, such as rgs.n_epochs=3; found {quoted(text)}"
            )
        found.setdefault(selector, {})[key] = _read_value(value)
    return found


def _read_value(text: str) -> Any:
    """Return a number or a truth value if the text is one, else the text."""
    if text in ("true", "false"):
        return text == "true"
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return value if isinstance(value, int | float) else text
