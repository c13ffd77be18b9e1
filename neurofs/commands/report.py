"""``neurofs report``: rebuild the reports of runs; several runs give an index page across them."""

import os
import sys
from pathlib import Path

import click

from neurofs.commands.help import Command
from neurofs.commands.options import out_option
from neurofs.commands.output import current_output
from neurofs.ground.errors import printable


@click.command("report", cls=Command, short_help="Rebuild reports of runs, and an index page across them.")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@out_option("Where to write the report, or the index page; into the run folder by default.")
@click.option(
    "--figures", type=click.Choice(["pdf", "svg", "png"]), help="Also write every figure as a file for a paper."
)
def report_command(runs: tuple[Path, ...], out: Path | None, figures: str | None) -> None:
    """Rebuild the report of each RUN folder; several runs, or a folder of runs, give an index page too.

    Nothing is computed again. Figures go to the folder `figures` beside the report.

    \b
    Examples:
      neurofs report reports/day1
      neurofs report reports/day1 --figures pdf
      neurofs report reports/day1 reports/day2 --out reports/index.html
      neurofs report reports
    """
    from neurofs.running.run_folders import find_runs, rebuild, rebuild_all

    output = current_output()
    folders = [folder for run in runs for folder in find_runs(run)]
    if folders == list(runs) and len(folders) == 1:
        path, _ = rebuild(folders[0], out, figures)
        output.show(lambda: {"report": str(path)}, lambda: f"report: {path}", path, indent=None)
        return
    base = runs[0] if len(runs) == 1 else Path(os.path.commonpath([run.resolve().parent for run in runs]))
    path, entries = rebuild_all(folders, out or base, figures)
    failed = [entry for entry in entries if entry.status == "failed"]
    for entry in failed:
        if not output.as_json:
            click.echo(f"neurofs: {printable(entry.name)}: {entry.reason}", err=True)
    kept = [{key: getattr(entry, key) for key in ("name", "status", "reason")} for entry in entries]
    said = f"index: {path} ({len(entries) - len(failed)} runs, {len(failed)} failed)"
    output.show(lambda: {"index": str(path), "runs": kept}, lambda: said, path, indent=1)
    if failed:
        sys.exit(1)
