"""The command line: parse, call one function, print where the result is.

Nothing heavy is imported before a command runs, so that ``--help`` answers at once.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import click

from neurofs import __version__
from neurofs.commands.batch import batch_command
from neurofs.commands.decode import decode_command
from neurofs.commands.options import OptionsCommand, read_given
from neurofs.commands.report import report_command
from neurofs.commands.transfer import transfer_command
from neurofs.ground.errors import NeurofsError

__all__ = ["main"]


class _Group(click.Group):
    """A group that prints the errors that are the user's to mend in one line, without a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, signal.default_int_handler)  # what Ctrl-C clears up, this does, too
        try:
            return super().invoke(ctx)
        except NeurofsError as error:
            click.echo(f"neurofs: {error}", err=True)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            click.echo("neurofs: interrupted", err=True)
            ctx.exit(130)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(0)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="neurofs")
def main() -> None:
    """Which channels, at which lags, carry the movement, and how well can it be decoded?

    \b
    Examples:
      neurofs inspect                          the built-in demo session
      neurofs inspect session.nwb              what is in a file and how to decode it
      neurofs simulate day1.nwb --n-trials 400 a session with known truth
    """


@main.command("inspect", cls=OptionsCommand)
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def inspect_command(file: Path | None, as_json: bool, **given: Any) -> None:
    """Print what is in FILE, what is wrong with it, and which options decode it.

    FILE is a recording (.nwb, .mat, .npz, .h5, .csv, or an acquisition format) or a session file (.toml).
    Without FILE, the built-in demo session is shown. Exit code 2 if the file cannot be used as it is.

    \b
    Examples:
      neurofs inspect session.nwb
      neurofs inspect counts.mat --counts spikes --counts-bin-width 0.05
      neurofs inspect session.toml --json
    """
    from neurofs.ground.config import LoadOptions, make_options
    from neurofs.recordings.quality import inspect_file, render_text
    from neurofs.recordings.readers import demo_path

    report = inspect_file(file or demo_path(), make_options(LoadOptions, read_given(given)))
    click.echo(json.dumps(report, indent=2, default=str) if as_json else render_text(report))
    if report["problems"]:
        sys.exit(2)


@main.command("simulate")
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--n-trials", default=100, show_default=True, help="Reaches; 420 give about 5050 samples.")
@click.option("--n-electrodes", default=16, show_default=True, help="Electrodes with 4 channels each.")
@click.option("--drift", default=0.2, show_default=True, help="SD of the slow drift of log rates.")
@click.option("--bursts/--no-bursts", default=True, show_default=True, help="Let a third of the units burst.")
@click.option("--noise", is_flag=True, help="Make the spikes independent of the movement.")
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same file.")
def simulate_command(out: Path, seed: int, **settings: Any) -> None:
    """Write a simulated motor-cortex session with known truth to OUT (.nwb, .npz or .h5).

    The truth (tuning, lag, preferred direction of each unit) is in the table of units of the NWB file.

    \b
    Example:
      neurofs simulate day1.nwb --n-trials 420 --seed 1
    """
    from neurofs.recordings.simulate import simulate_session
    from neurofs.recordings.writers import write

    recording = simulate_session(**settings, name=out.stem, random_state=seed)
    path = write(recording, out)
    click.echo(
        f"{path}: {recording.n_channels} channels, {len(recording.trials)} trials, {recording.duration:.0f} s"
    )


@main.command("reproduce")
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
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="For all: at a time.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
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
        _reproduce_one(name, out, **options)


def _reproduce_one(
    name: str, out: Path | None, repetitions: int | None, seed: int, figure: Path | None, as_json: bool
) -> None:
    from neurofs.experiments.reproduce import (
        check_figure,
        find_experiment,
        list_claims,
        reproduce,
        save_figure,
    )
    from neurofs.ground.files import prepare_place, write_atomically

    find_experiment(name)
    figure = figure or Path(f"{name}.png")
    check_figure(figure)
    prepare_place(out)
    prepare_place(figure)
    options = {} if repetitions is None else {"repetitions": repetitions}
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
        folder,
        jobs=jobs,
        seed=seed,
        repetitions=repetitions,
        report=lambda line: click.echo(line, err=True),
    )
    if as_json:
        records = [{"name": o.name, "error": o.error, "claims": o.claims} for o in outcomes]
        click.echo(json.dumps({"report": str(folder / "index.html"), "experiments": records}, indent=2))
    else:
        for outcome in outcomes:
            click.echo(f"{outcome.name}\n{outcome.text or 'failed: ' + outcome.error}\n")
        click.echo(f"report: {folder / 'index.html'}")
    if any(outcome.error for outcome in outcomes):
        sys.exit(1)


@main.command("bench")
@click.argument("names", nargs=-1)
@click.option("--league", is_flag=True, help="Decode the recordings of ../shared/data with every decoder.")
@click.option("--recording", "recordings", multiple=True, help="League: only this recording.")
@click.option("--jobs", default=1, show_default=True, help="League: folds decoded at the same time.")
@click.option("--row", "rows", multiple=True, help="League: only this decoder.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="League: also write all scores to this CSV file."
)
def bench_command(
    names: tuple[str, ...],
    league: bool,
    recordings: tuple[str, ...],
    rows: tuple[str, ...],
    jobs: int,
    out: Path | None,
) -> None:
    """Measure speed and memory against the peers, as ratios in one run.

    NAMES: batch, data, kernels, selectors, decode; all by default.

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
    scores = run_league(
        recordings or None, rows or None, n_jobs=jobs, report=lambda line: click.echo(line, err=True)
    )
    if out is not None:
        write_atomically(out, scores.to_csv(index=False))
    click.echo(render_league(scores))
    click.echo(f"{time.perf_counter() - start:.0f} s by the clock with {jobs} at a time\n")
    for row in league_rows(scores):
        click.echo(render_row(row))


def _show_progress(done: int, total: int) -> None:
    """Show how far a long experiment is, on one line of a terminal."""
    if sys.stderr.isatty():
        click.echo(f"\r{done} of {total}", nl=done == total, err=True)


@main.command("list")
@click.argument("what", type=click.Choice(["selectors"]))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array and nothing else.")
def list_command(what: str, as_json: bool) -> None:
    """Print what there is to choose from: name, target, cost in m samples and N features, reference.

    \b
    Example:
      neurofs list selectors
    """
    from neurofs.ground.method import describe_methods, render_methods
    from neurofs.selectors import SELECTORS

    note = "m samples, N features, k neighbors; weights, ranks and supports for all."
    click.echo(
        json.dumps(describe_methods(SELECTORS), indent=2) if as_json else render_methods(SELECTORS, note)
    )


main.add_command(decode_command)
main.add_command(report_command)
main.add_command(batch_command)
main.add_command(transfer_command)


if __name__ == "__main__":
    main()
