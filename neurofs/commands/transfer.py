"""``neurofs transfer``: what earlier sessions teach about the features of a new one."""

import json
from pathlib import Path
from typing import Any

import click

from neurofs.commands.options import json_option, read_list

MEASURES = ["corrcoef", "infogain", "sks", "rrelieff", "rgs"]


@click.command("transfer")
@click.argument("train", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--to", "new", required=True, type=click.Path(path_type=Path), help="The new session.")
@click.option("--target", multiple=True, callback=read_list, help="Behavior series: NAME, NAME:COLUMN or NAME.velocity.")
@click.option("--bin-width", type=float, default=0.1, show_default=True, help="Width of a bin, in seconds.")
@click.option("--n-lags", type=int, default=10, show_default=True, help="Bins before and with the target's own.")
@click.option(
    "--quality",
    type=click.Choice(MEASURES),
    default=MEASURES[0],
    show_default=True,
    help="What makes a feature good on the earlier sessions: its weight by this selector.",
)
@click.option("--top", type=click.IntRange(min=1), default=20, show_default=True, help="Features to print.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the whole ranking here, as CSV.")
@click.option("--seed", default=0, show_default=True, help="Seed of all draws.")
@json_option
def transfer_command(
    train: tuple[Path, ...], new: Path, quality: str, top: int, out: Path | None, seed: int, as_json: bool, **given: Any
) -> None:
    """Rank the features of a new session by what earlier sessions TRAIN teach, without its targets.

    What good features are like (lag, firing rate, kind of channel, …) is learned on TRAIN, so that electrodes may
    have moved. If the new session has targets, the ranking is then compared with others that were made
    without and with them. Sessions are recordings or session files (.toml).

    \b
    Examples:
      neurofs transfer day1.nwb day2.nwb day3.nwb --to day4.nwb --target hand_velocity --out day4.csv
      neurofs transfer day*.toml --to today.nwb --target hand_velocity --n-lags 5 --json
    """
    from neurofs.comparison.transfer import render_transfer, transfer
    from neurofs.ground.config import TensorOptions, make_options
    from neurofs.ground.errors import printable
    from neurofs.ground.files import prepare_place, write_atomically
    from neurofs.recordings.readers import load

    options = make_options(TensorOptions, given)
    prepare_place(out)
    sessions = [load(path) for path in train]
    found = transfer(sessions, load(new), options, quality=quality, random_state=seed, progress=_show_progress)
    if out is not None:
        names = found.ranking["channel"].map(printable)
        write_atomically(out, found.ranking.assign(channel=names).to_csv(index=False))
    click.echo(json.dumps(found.to_dict(), indent=2) if as_json else render_transfer(found, top))
    if out is not None and not as_json:
        click.echo(f"\nranking: {out}")


def _show_progress(done: int, total: int) -> None:
    """Say how many folds of the comparison are done."""
    click.echo(f"compared on {done} of {total} folds", err=True)
