"""``neurofs vary``: the same decode over values of one thing."""

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from neurofs.commands.help import HOW, WHAT, Option
from neurofs.commands.options import RunCommand, jobs_option, out_option, read_given
from neurofs.commands.output import current_output


class VaryCommand(RunCommand):
    """A command that takes the keys of a run.toml, but methods in the place of selectors and decoders."""

    LEFT_OUT = ("selectors", "decoders", "settings", "dependency", "file")


@click.command("vary", cls=VaryCommand, short_help="Decode over values of one thing: areas, leads, amounts of data.")
@click.argument("session", required=False, type=click.Path(path_type=Path), metavar="[SESSION]")
@click.option(
    "--by",
    cls=Option,
    group=WHAT,
    required=True,
    help="What is varied: lead, n_lags, bin_width, smooth, target; minutes, trials, channels; a column of the "
    "channels, such as area, or of the trials; or time, in windows around --event.",
)
@click.option(
    "--values", cls=Option, group=WHAT, help="Values to try, with commas between; a sensible choice by default."
)
@click.option("--methods", cls=Option, group=HOW, help="What decodes: ridge, rgs + auto, kalman, …  [default: ridge]")
@click.option(
    "--draws", cls=Option, group=HOW, type=click.IntRange(1), help="Random draws, of amounts of data.  [default: 3]"
)
@click.option("--event", cls=Option, group=WHAT, help="For --by time: a column of the trials with times.")
@click.option(
    "--around", cls=Option, group=WHAT, help="For --by time: seconds before and after the event.  [default: -0.5,1]"
)
@click.option(
    "--window", cls=Option, group=WHAT, type=float, help="For --by time: width of a window, in seconds.  [default: 0.2]"
)
@out_option("Folder of the variation; reports/NAME-by-WHAT by default.")
@jobs_option
@click.option("--fresh", is_flag=True, help="Do all tasks again, also those done by an earlier run.")
def vary_command(session: Path | None, out: Path | None, jobs: int | None, fresh: bool, **given: Any) -> None:
    """Decode SESSION once for each value of one thing, and compare the values fold by fold.

    Which area carries the movement, and what does another add? When before the movement do channels carry it? How
    much would more trials help? Does a decoder of one condition serve another? Each is one comparison with one thing
    varied, on the same folds, with paired tests, one figure and one page. Without SESSION, the built-in demo.

    \b
    Examples:
      neurofs vary session.nwb --target hand_velocity --by area
      neurofs vary session.nwb --target hand_velocity --by lead --values -0.2,-0.1,0,0.1,0.2
      neurofs vary session.nwb --target hand_velocity --by minutes --methods "ridge,rgs + auto"
      neurofs vary session.nwb --target hand_velocity --by direction --values 0,180
      neurofs vary session.nwb --by target --values hand_position,hand_velocity
      neurofs vary session.nwb --target direction --by time --event move_onset --around -0.5,1
    """
    from neurofs.comparison.given import choose_options
    from neurofs.comparison.time_course import TimeCourse
    from neurofs.ground.config import VaryOptions, make_options
    from neurofs.running.batch.config import name_folder
    from neurofs.running.executors import make_executor
    from neurofs.running.progress import open_progress
    from neurofs.running.varying import run_varied

    own = {key: value for key in VaryOptions.model_fields if (value := given.pop(key)) is not None}
    varied = make_options(VaryOptions, own)
    options = choose_options(session, read_given(given))
    name = options.name or Path(str(options.file)).stem
    out = out or Path("reports") / name_folder(f"{name}-by-{varied.by}")
    output, command = current_output(), shlex.join(["neurofs", *sys.argv[1:]])
    with open_progress(None, name_folder(name), output.quiet, output.verbose) as view:
        found = run_varied(options, varied, make_executor(jobs), view, out, fresh, command)
    stem = "time_course" if isinstance(found, TimeCourse) else "variation"
    record = {} if isinstance(found, TimeCourse) else found.found.model_dump(by_alias=True)
    page, table = out / f"{stem}.html", out / f"{stem}.csv"
    output.show(
        lambda: {**record, "sentences": found.sentences, "page": str(page), "table": found.table.to_dict("records")},
        lambda: "\n".join([*found.sentences, "", f"page: {page}", f"table: {table}"]),
        page,
    )
