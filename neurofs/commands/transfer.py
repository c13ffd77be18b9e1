"""``neurofs transfer``: what earlier sessions teach about the features of a new one."""

from pathlib import Path
from typing import Any

import click

from neurofs.commands.help import Command
from neurofs.commands.options import out_option, read_list, seed_option
from neurofs.commands.output import current_output

MEASURES = ["corrcoef", "infogain", "sks", "rrelieff", "rgs"]


@click.command("transfer", cls=Command, short_help="Rank the features of a new session by what earlier ones teach.")
@click.argument("train", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--to", "new", required=True, type=click.Path(path_type=Path), help="The new session.")
@click.option(
    "--target", multiple=True, callback=read_list, help="Behavior series: NAME, NAME:COLUMN or NAME.velocity."
)
@click.option("--bin-width", type=float, default=0.1, help="Width of a bin, in seconds.")
@click.option("--n-lags", type=int, default=10, help="Bins before and with the target's own.")
@click.option(
    "--quality",
    type=click.Choice(MEASURES),
    default=MEASURES[0],
    help="What makes a feature good on the earlier sessions: its weight by this selector.",
)
@click.option("--top", type=click.IntRange(min=1), default=20, help="Features to print.")
@out_option("Write the whole ranking here, as CSV.")
@seed_option
def transfer_command(
    train: tuple[Path, ...], new: Path, quality: str, top: int, out: Path | None, seed: int, **given: Any
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
    from neurofs.ground.csv_tables import render_csv
    from neurofs.ground.errors import printable
    from neurofs.ground.files import check_free, prepare_place, write_atomically
    from neurofs.recordings.readers import load

    options = make_options(TensorOptions, given)
    if out is not None:
        check_free([out], [*train, new], overwrite=True)
    prepare_place(out)
    sessions = [load(path) for path in train]
    found = transfer(sessions, load(new), options, quality=quality, random_state=seed, progress=_show_progress)
    if out is not None:
        names = found.ranking["channel"].map(printable)
        write_atomically(out, render_csv(found.ranking.assign(channel=names)))
    place = "" if out is None else f"\n\nranking: {out}"
    brief = out or render_transfer(found, top)
    current_output().show(found.to_dict, lambda: f"{render_transfer(found, top)}{place}", brief)


def _show_progress(done: int, total: int) -> None:
    """Say how many folds of the comparison are done."""
    current_output().tell(f"compared on {done} of {total} folds")
