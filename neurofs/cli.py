"""The command line: parse, call one function, print where the result is.

Nothing heavy is imported before a command runs, so that ``--help`` answers at once.
"""

from __future__ import annotations

import json
import os
import sys
import types
import typing
from pathlib import Path
from typing import Any

import click

from neurofs import __version__
from neurofs.errors import NeurofsError

__all__ = ["main"]


class _Group(click.Group):
    """A group that prints the errors that are the user's to mend in one line, without a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
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


class _LoadCommand(click.Command):
    """A command that also takes every key of a session file as an option."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        from neurofs.config import LoadOptions

        own = super().get_params(ctx)
        return (
            own[:-1]
            + [_make_option(key, field) for key, field in LoadOptions.model_fields.items()]
            + own[-1:]
        )


def _make_option(key: str, field: Any) -> click.Option:
    """Return the click option of one field of the settings."""
    kind, multiple = _option_type(field.annotation)
    flag = "--" + key.replace("_", "-")
    if kind is click.BOOL:
        return click.Option([f"{flag}/--no-{flag[2:]}"], default=None, help=field.description)
    return click.Option([flag], type=kind, multiple=multiple, default=None, help=field.description)


def _option_type(annotation: Any) -> tuple[Any, bool]:
    """Return the click type of an annotation, and whether the option may be given several times."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return click.Choice([str(choice) for choice in arguments]), False
    if origin in (typing.Union, types.UnionType):
        return _option_type(next(a for a in arguments if a is not type(None)))
    if origin is tuple:
        return click.STRING, True
    return {bool: click.BOOL, int: click.INT, float: click.FLOAT}.get(annotation, click.STRING), False


def _load_options(given: dict[str, Any]) -> Any:
    """Return the options that were given on the command line as `LoadOptions`."""
    from neurofs.config import LoadOptions, make_options

    values = {key: value for key, value in given.items() if value is not None and value != ()}
    if "index_base" in values:
        values["index_base"] = int(values["index_base"])
    return make_options(LoadOptions, values)


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


@main.command("inspect", cls=_LoadCommand)
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
    from neurofs.inspection import inspect_file, render_text
    from neurofs.loaders import demo_path

    report = inspect_file(file or demo_path(), _load_options(given))
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
    from neurofs.simulate import simulate_session
    from neurofs.writers import write

    recording = simulate_session(**settings, name=out.stem, random_state=seed)
    path = write(recording, out)
    click.echo(
        f"{path}: {recording.n_channels} channels, {len(recording.trials)} trials, {recording.duration:.0f} s"
    )


@main.command("reproduce")
@click.argument("name", required=False)
@click.option("--list", "show_list", is_flag=True, help="Name the experiments and their sources.")
@click.option("--repetitions", type=click.IntRange(min=1), help="Repetitions; as published by default.")
@click.option("--seed", default=0, show_default=True, help="Seed of all draws.")
@click.option("--out", type=click.Path(path_type=Path), help="Also write the table to this CSV file.")
@click.option("--figure", type=click.Path(path_type=Path), help="Where its figure goes; NAME.png by default.")
def reproduce_command(
    name: str | None,
    show_list: bool,
    repetitions: int | None,
    seed: int,
    out: Path | None,
    figure: Path | None,
) -> None:
    """Run a published experiment again and print its figures beside ours.

    \b
    Examples:
      neurofs reproduce --list
      neurofs reproduce navot2005-fig2 --out fig2.csv
      neurofs reproduce xor --figure reports/xor.png
    """
    from neurofs.reproduce import list_experiments, reproduce, save_figure

    if show_list or name is None:
        click.echo(list_experiments())
        return
    options = {} if repetitions is None else {"repetitions": repetitions}
    table, text = reproduce(name, progress=_show_progress, seed=seed, **options)
    if out is not None:
        table.to_csv(out, index=False)
    click.echo(text)
    saved = save_figure(name, table, figure)
    if saved is not None:
        click.echo(f"\nfigure: {saved}")


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

    NAMES: data, kernels, selectors; all by default.

    \b
    Examples:
      neurofs bench data
      neurofs bench --league --recording chewie
    """
    if league:
        _run_league(recordings, rows, jobs, out)
        return
    from neurofs.bench import BENCHES, measure
    from neurofs.bench.row import render_row

    for name in names or BENCHES:
        for row in measure(name):
            click.echo(render_row(row))


def _run_league(recordings: tuple[str, ...], rows: tuple[str, ...], jobs: int, out: Path | None) -> None:
    import time

    from neurofs.bench.league import run_league
    from neurofs.bench.league_table import league_rows, render_league
    from neurofs.bench.row import render_row

    start = time.perf_counter()
    scores = run_league(
        recordings or None, rows or None, n_jobs=jobs, report=lambda line: click.echo(line, err=True)
    )
    if out is not None:
        scores.to_csv(out, index=False)
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
    from neurofs.selectors.catalog import describe_selectors, render_selectors

    click.echo(json.dumps(describe_selectors(), indent=2) if as_json else render_selectors())


if __name__ == "__main__":
    main()
