"""``neurofs compare``: runs side by side, paired where their folds match."""

from pathlib import Path

import click

from neurofs.commands.help import Command
from neurofs.commands.options import out_option
from neurofs.commands.output import current_output


@click.command("compare", cls=Command, short_help="Finished runs side by side: two days, two settings, two sorts.")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN RUN...")
@click.option("--methods", help="Methods to compare by, such as ridge; the main one of the first run by default.")
@out_option("Folder for the table and a page; nothing is written by default.")
def compare_command(runs: tuple[Path, ...], methods: str | None, out: Path | None) -> None:
    """Compare finished RUNs with the first of them: two days, two settings, two sorts of the same session.

    Runs that tested the same moments on the same folds are compared fold by fold, others by their means. Channels that
    became tuned, or no longer are, are named.

    \b
    Examples:
      neurofs compare reports/day1 reports/day2
      neurofs compare reports/lags5 reports/lags10 --methods "ridge,rgs + auto" --out reports/lags
    """
    from neurofs.comparison.contrast import compare_runs
    from neurofs.running.run_folders import find_runs, read_run

    folders = [folder for run in runs for folder in find_runs(run)]
    names = [folder.name for folder in folders]
    labels = [str(f) if names.count(f.name) > 1 else f.name for f in folders]
    chosen = [name.strip() for name in (methods or "").split(",") if name.strip()]
    found = compare_runs({label: read_run(f) for label, f in zip(labels, folders, strict=True)}, chosen)
    if out is not None:
        found.save(out)
    where = [] if out is None else ["", f"page: {out / 'variation.html'}"]
    current_output().show(
        lambda: {**found.found.model_dump(by_alias=True), "table": found.table.to_dict("records")},
        lambda: "\n".join([*found.sentences, *where]),
        "" if out is None else out / "variation.html",
    )
