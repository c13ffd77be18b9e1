"""``neurofs reproduce``: published experiments, with their figures beside ours."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from neurofs.commands.options import json_option


@click.command("reproduce")
@click.argument("name", required=False)
@click.option("--list", "show_list", is_flag=True, help="Name the experiments, their sources and their time.")
@click.option("--repetitions", type=click.IntRange(min=1), help="Repetitions; as published by default.")
@click.option("--seed", default=0, show_default=True, help="Seed of all draws.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Also write the table to this CSV file; for all, the folder of the report [reports/reproduce].",
)
@click.option("--figure", type=click.Path(path_type=Path), help="Where its figure goes; NAME.png by default.")
@click.option(
    "--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Processes, for all and validity."
)
@json_option
def reproduce_command(name: str | None, show_list: bool, out: Path | None, jobs: int, **options: Any) -> None:
    """Run a published experiment again and print its figures beside ours; NAME may be all.

    `all` runs every experiment and writes a page with all claims, tables and figures. Exit code 1 if one failed.

    \b
    Examples:
      neurofs reproduce --list
      neurofs reproduce navot2005-fig2 --out fig2.csv
      neurofs reproduce xor --figure reports/xor.png
      neurofs reproduce all --jobs 2 --out reports/reproduce
    """
    from neurofs.experiments.reproduce import list_experiments

    if show_list or name is None:
        click.echo(list_experiments())
    elif name == "all":
        _reproduce_all(out or Path("reports/reproduce"), jobs, **options)
    else:
        _reproduce_one(name, out, jobs, **options)


def _reproduce_one(
    name: str, out: Path | None, jobs: int, repetitions: int | None, seed: int, figure: Path | None, as_json: bool
) -> None:
    from neurofs.experiments.reproduce import check_figure, list_claims, reproduce, save_figure, takes_jobs
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
        write_atomically(out, table.to_csv(index=False))
    saved = save_figure(name, table, figure)
    if as_json:
        record = {"name": name, "text": text, "claims": list_claims(name, table), "figure": str(saved)}
        click.echo(json.dumps(record, indent=2))
        return
    click.echo(f"{text}\n\nfigure: {saved}")


def _reproduce_all(
    folder: Path, jobs: int, repetitions: int | None, seed: int, figure: Path | None, as_json: bool
) -> None:
    from neurofs.experiments.reproduce.index import run_all
    from neurofs.ground.errors import UsageError

    if figure is not None:
        raise UsageError("--figure is for one experiment; all figures of all go to the folder --out")
    outcomes = run_all(
        folder, jobs=jobs, seed=seed, repetitions=repetitions, report=lambda line: click.echo(line, err=True)
    )
    if as_json:
        records = [{"name": o.name, "error": o.error, "claims": o.claims} for o in outcomes]
        click.echo(json.dumps({"report": str(folder / "index.html"), "experiments": records}, indent=2))
    else:
        for outcome in outcomes:
            click.echo(f"{outcome.name}\n{outcome.text}\n")
        click.echo(f"report: {folder / 'index.html'}")
    if any(outcome.error for outcome in outcomes):
        sys.exit(1)


def _show_progress(done: int, total: int) -> None:
    """Show how far a long experiment is, on one line of a terminal."""
    if sys.stderr.isatty():
        click.echo(f"\r{done} of {total}", nl=done == total, err=True)
