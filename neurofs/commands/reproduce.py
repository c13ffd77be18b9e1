"""``neurofs reproduce``: published experiments, with their figures beside ours."""

import sys
from pathlib import Path
from typing import Any

import click

from neurofs.commands.help import Command
from neurofs.commands.options import jobs_option, out_option, seed_option
from neurofs.commands.output import current_output


@click.command("reproduce", cls=Command, short_help="Run published experiments again, their figures beside ours.")
@click.argument("name", required=False)
@click.option("--list", "show_list", is_flag=True, help="Name the experiments, their sources and their time.")
@click.option("--repetitions", type=click.IntRange(1, 10**6), help="Repetitions; as published by default.")
@seed_option
@out_option("Also write the table to this CSV file; for all, the folder of the report, reports/reproduce by default.")
@click.option("--figure", type=click.Path(path_type=Path), help="Where its figure goes; NAME.png by default.")
@jobs_option
def reproduce_command(name: str | None, show_list: bool, out: Path | None, jobs: int | None, **options: Any) -> None:
    """Run a published experiment again and print its figures beside ours; NAME may be all.

    `all` runs every experiment and writes a page with all claims, tables and figures. Exit code 1 if one failed.

    --jobs is for all, and for those that take long.

    \b
    Examples:
      neurofs reproduce --list
      neurofs reproduce navot2005-fig2 --out fig2.csv
      neurofs reproduce xor --figure reports/xor.png
      neurofs reproduce all --jobs 2 --out reports/reproduce
    """
    from neurofs.experiments.reproduce import describe_experiments, list_experiments
    from neurofs.running.executors import count_jobs

    if show_list or name is None:
        names = "\n".join(record["name"] for record in describe_experiments())
        current_output().show(describe_experiments, list_experiments, names)
    elif name == "all":
        _reproduce_all(out or Path("reports/reproduce"), count_jobs(jobs), **options)
    else:
        _reproduce_one(name, out, count_jobs(jobs), **options)


def _reproduce_one(
    name: str, out: Path | None, jobs: int, repetitions: int | None, seed: int, figure: Path | None
) -> None:
    from neurofs.experiments.reproduce import check_figure, list_claims, reproduce, save_figure, takes_jobs
    from neurofs.ground.csv_tables import render_csv
    from neurofs.ground.files import prepare_place, write_atomically

    options: dict[str, Any] = {"jobs": jobs} if takes_jobs(name) else {}
    figure = figure or Path(f"{name}.png")
    check_figure(figure)
    prepare_place(out)
    prepare_place(figure)
    if repetitions is not None:
        options["repetitions"] = repetitions
    table, text = reproduce(name, progress=_show_progress, seed=seed, **options)
    if out is not None:
        write_atomically(out, render_csv(table))
    saved = save_figure(name, table, figure)
    current_output().show(
        lambda: {"name": name, "text": text, "claims": list_claims(name, table), "figure": str(saved)},
        lambda: f"{text}\n\nfigure: {saved}",
        saved,
    )


def _reproduce_all(folder: Path, jobs: int, repetitions: int | None, seed: int, figure: Path | None) -> None:
    from neurofs.experiments.reproduce.index import run_all
    from neurofs.ground.errors import UsageError

    if figure is not None:
        raise UsageError("--figure is for one experiment; all figures of all go to the folder --out")
    outcomes = run_all(folder, jobs=jobs, seed=seed, repetitions=repetitions, report=current_output().tell)
    page = folder / "index.html"
    records = [{"name": o.name, "error": o.error, "claims": o.claims} for o in outcomes]
    texts = [f"{o.name}\n{o.text}\n" for o in outcomes]
    current_output().show(
        lambda: {"report": str(page), "experiments": records}, lambda: "\n".join([*texts, f"report: {page}"]), page
    )
    if any(outcome.error for outcome in outcomes):
        sys.exit(1)


def _show_progress(done: int, total: int) -> None:
    """Show how far a long experiment is, on one line of a terminal."""
    if sys.stderr.isatty() and not current_output().quiet:
        click.echo(f"\r{done} of {total}", nl=done == total, err=True)
