"""``neurofs report``: rebuild the reports of runs; several runs give an index page across them."""

import json
import os
import sys
from pathlib import Path

import click

from neurofs.commands.options import json_option
from neurofs.ground.errors import printable


@click.command("report")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@click.option("--out", type=click.Path(path_type=Path), help="Where to write the report, or the index page.")
@click.option(
    "--figures", type=click.Choice(["pdf", "svg", "png"]), help="Also write every figure as a file for a paper."
)
@json_option
def report_command(runs: tuple[Path, ...], out: Path | None, figures: str | None, as_json: bool) -> None:
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

    folders = [folder for run in runs for folder in find_runs(run)]
    if folders == list(runs) and len(folders) == 1:
        path, _ = rebuild(folders[0], out, figures)
        click.echo(json.dumps({"report": str(path)}) if as_json else f"report: {path}")
        return
    base = runs[0] if len(runs) == 1 else Path(os.path.commonpath([run.resolve().parent for run in runs]))
    path, entries = rebuild_all(folders, out or base, figures)
    failed = [entry for entry in entries if entry.status == "failed"]
    if as_json:
        kept = [{key: getattr(entry, key) for key in ("name", "status", "reason")} for entry in entries]
        click.echo(json.dumps({"index": str(path), "runs": kept}, indent=1))
    else:
        for entry in failed:
            click.echo(f"neurofs: {printable(entry.name)}: {entry.reason}", err=True)
        click.echo(f"index: {path} ({len(entries) - len(failed)} runs, {len(failed)} failed)")
    if failed:
        sys.exit(1)
