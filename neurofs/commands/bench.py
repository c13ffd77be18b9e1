"""``neurofs bench``: speed and memory against the peers, and the league of decoders."""

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from neurofs.commands.help import Command
from neurofs.commands.options import jobs_option, out_option, read_list
from neurofs.commands.output import current_output


@click.command("bench", cls=Command, short_help="Measure speed and memory against the peers.")
@click.argument("names", nargs=-1)
@click.option("--largest", is_flag=True, help="Scale: 1,000 channels × 20 lags × 72,000 bins.")
@click.option("--dask", is_flag=True, help="Scale: also on Dask clusters of one and of two workers.")
@click.option("--league", is_flag=True, help="Decode the recordings of ../shared/data with every decoder.")
@click.option("--recording", "recordings", multiple=True, callback=read_list, help="League: only these recordings.")
@click.option("--row", "rows", multiple=True, callback=read_list, help="League: only these decoders.")
@out_option("League: also write all scores to this CSV file.")
@jobs_option
def bench_command(
    names: tuple[str, ...],
    largest: bool,
    dask: bool,
    league: bool,
    recordings: tuple[str, ...],
    rows: tuple[str, ...],
    jobs: int | None,
    out: Path | None,
) -> None:
    """Measure speed and memory against the peers, as ratios in one run.

    NAMES: data, loops, selectors, decode, batch, stream, and scale (a session of 384 channels and 30 min, from the
    file to the report); all but scale by default. --jobs is for the league, where times of folds are of the
    processor, but suffer somewhat if all cores are busy.

    \b
    Examples:
      neurofs bench data
      neurofs bench scale --dask
      neurofs bench --league --recording chewie --jobs 1
    """
    if league:
        _run_league(recordings, rows, jobs, out)
        return
    from neurofs.experiments.bench import BY_DEFAULT, measure

    if (largest or dask) and names != ("scale",):
        raise click.UsageError("--largest and --dask are for neurofs bench scale")
    options = {"largest": largest, "dask": dask} if names == ("scale",) else {}
    _show_rows(row for name in names or BY_DEFAULT for row in measure(name, **options))


def _show_rows(rows: Iterable[Any]) -> None:
    """Print rows as they are measured, or all at the end as JSON."""
    from neurofs.experiments.bench.row import render_row

    if current_output().as_json:
        current_output().show(lambda: {"rows": [asdict(row) for row in rows]}, str, "")
        return
    for row in rows:
        click.echo(render_row(row))


def _run_league(recordings: tuple[str, ...], rows: tuple[str, ...], jobs: int | None, out: Path | None) -> None:
    import time

    from neurofs.experiments.bench.league import run_league
    from neurofs.experiments.bench.league_table import league_rows, render_league
    from neurofs.ground.csv_tables import render_csv
    from neurofs.ground.files import prepare_place, write_atomically
    from neurofs.running.executors import count_jobs

    prepare_place(out)
    start, output, n_jobs = time.perf_counter(), current_output(), count_jobs(jobs)
    scores = run_league(recordings or None, rows or None, n_jobs=n_jobs, report=output.tell)
    if out is not None:
        write_atomically(out, render_csv(scores))
    if not output.as_json:
        click.echo(
            f"{render_league(scores)}\n{time.perf_counter() - start:.0f} s by the clock with {n_jobs} at a time\n"
        )
    _show_rows(league_rows(scores))
