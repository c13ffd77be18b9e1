"""``neurofs predict``: a model applied to other sessions."""

import sys
from pathlib import Path
from typing import Any

import click

from neurofs.commands.options import LayoutAsideCommand, out_option, read_given, read_list
from neurofs.commands.output import current_output
from neurofs.ground.errors import UsageError


@click.command("predict", cls=LayoutAsideCommand, short_help="Decode sessions with a model, with 95 % intervals.")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("sessions", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="SESSION...")
@out_option("A .csv, .nc or .nwb file, or a folder with one per session; nothing is written by default.")
@click.option(
    "--format",
    "formats",
    multiple=True,
    callback=read_list,
    help="Files to write into a folder: csv, netcdf, nwb; csv by default.",
)
@click.option(
    "--missing",
    type=click.Choice(["refuse", "zero", "mean"]),
    default="refuse",
    help="Channels of the model that a session lacks: refuse it, or take their counts to be 0 or their training mean.",
)
@click.option("--adapt", is_flag=True, help="Correct for channels that changed since training, without any target.")
@click.option("--overwrite", is_flag=True, help="Replace predictions in the same place.")
def predict_command(
    model: Path,
    sessions: tuple[Path, ...],
    out: Path | None,
    formats: tuple[str, ...],
    missing: Any,
    adapt: bool,
    overwrite: bool,
    **given: Any,
) -> None:
    """Decode each SESSION with a MODEL that neurofs fit made, with 95 % intervals.

    Bins are those of the model, channels are matched by name. Where a session has the target of the model, the score
    is printed, one line per session, and a folder also gets a short report.html. Times are the starts of bins; in NWB
    files, which have a TimeSeries in processing/behavior, their middles. On a later day, --adapt matches rate and
    spread of each channel to those of training, and trusts channels less that are lost or no longer go together with
    the others as they did; it takes it that behavior is alike on both days, and does harm where it is not.

    \b
    Examples:
      neurofs predict models/day1 day2.nwb --out day2.csv
      neurofs predict models/day1 day2.nwb day3.nwb day4.nwb --out decoded --format csv,nwb
      neurofs predict models/day1 day2.nwb day3.nwb --adapt
      neurofs predict models/day1 day1.nwb --from 600
    """
    from neurofs.decoders.model_folder import read_model
    from neurofs.ground.config import LoadOptions, make_options
    from neurofs.recordings.readers import load
    from neurofs.running.predicting import PAGE, SUFFIXES, list_places, predict_sessions, render_predictions, write_page

    for kind in formats:
        if kind not in SUFFIXES:
            raise UsageError(f"--format: expected some of {', '.join(SUFFIXES)}; found '{kind}'")
    options, found = make_options(LoadOptions, read_given(given)), []
    fitted = read_model(model)
    places = list_places(out, formats, sessions, overwrite)
    named = [(session.name, lambda session=session: load(session, options)) for session in sessions]
    for one in predict_sessions(fitted, named, places, missing, adapt):
        if one.error and len(sessions) == 1:
            raise UsageError(one.error)
        found.append(one)
    place = "" if out is None else f"\n\npredictions: {out}"
    if out is not None and out.is_dir():
        place += f"\nreport: {write_page(found, fitted, out / PAGE)}"
    current_output().show(
        lambda: {"model": str(model), "method": fitted.head.method, "sessions": [one.to_dict() for one in found]},
        lambda: render_predictions(found, fitted) + place,
        out or render_predictions(found, fitted),
    )
    if any(one.error for one in found):
        sys.exit(1)
