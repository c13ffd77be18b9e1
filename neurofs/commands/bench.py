"""``neurofs bench``: speed and memory against the peers, and the league of decoders."""

from pathlib import Path

import click

from neurofs.commands.options import read_list


@click.command("bench")
@click.argument("names", nargs=-1)
@click.option("--league", is_flag=True, help="Decode the recordings of ../shared/data with every decoder.")
@click.option("--recording", "recordings", multiple=True, callback=read_list, help="League: only this recording.")
@click.option("--jobs", default=1, show_default=True, help="League: folds decoded at the same time.")
@click.option("--row", "rows", multiple=True, callback=read_list, help="League: only this decoder.")
@click.option("--out", type=click.Path(path_type=Path), help="League: also write all scores to this CSV file.")
def bench_command(
    names: tuple[str, ...],
    league: bool,
    recordings: tuple[str, ...],
    rows: tuple[str, ...],
    jobs: int,
    out: Path | None,
) -> None:
    """Measure speed and memory against the peers, as ratios in one run.

    NAMES: data, loops, selectors, decode, batch; all by default.

    \b
    Examples:
      neurofs bench data
      neurofs bench --league --recording chewie
    """
    if league:
        _run_league(recordings, rows, jobs, out)
        return
    from neurofs.experiments.bench import BENCHES, measure
    from neurofs.experiments.bench.row import render_row

    for name in names or BENCHES:
        for row in measure(name):
            click.echo(render_row(row))


def _run_league(recordings: tuple[str, ...], rows: tuple[str, ...], jobs: int, out: Path | None) -> None:
    import time

    from neurofs.experiments.bench.league import run_league
    from neurofs.experiments.bench.league_table import league_rows, render_league
    from neurofs.experiments.bench.row import render_row
    from neurofs.ground.files import prepare_place, write_atomically

    prepare_place(out)
    start = time.perf_counter()
    scores = run_league(recordings or None, rows or None, n_jobs=jobs, report=lambda line: click.echo(line, err=True))
    if out is not None:
        write_atomically(out, scores.to_csv(index=False))
    click.echo(render_league(scores))
    click.echo(f"{time.perf_counter() - start:.0f} s by the clock with {jobs} at a time\n")
    for row in league_rows(scores):
        click.echo(render_row(row))
