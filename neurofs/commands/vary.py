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


@click.command("vary", cls=VaryCommand)
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
@click.option("--methods", cls=Option, group=HOW, default="ridge", help="What decodes: ridge, rgs + auto, kalman, …")
@click.option(
    "--draws", cls=Option, group=HOW, type=click.IntRange(1), default=3, help="Random draws, of amounts of data."
)
@click.option("--event", cls=Option, group=WHAT, help="For --by time: a column of the trials with times.")
@click.option(
    "--around", cls=Option, group=WHAT, default="-0.5,1", help="For --by time: seconds before and after the event."
)
@click.option("--window", cls=Option, group=WHAT, default=0.2, help="For --by time: width of a window, in seconds.")
@out_option("Folder of the variation; reports/NAME-by-WHAT by default.")
@jobs_option
@click.option("--fresh", is_flag=True, help="Do all tasks again, also those done by an earlier run.")
def vary_command(
    session: Path | None,
    by: str,
    values: str | None,
    methods: str,
    draws: int,
    out: Path | None,
    jobs: int | None,
    fresh: bool,
    event: str | None,
    around: str,
    window: float,
    **given: Any,
) -> None:
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
    from neurofs.comparison.cases import read_values
    from neurofs.comparison.given import choose_options
    from neurofs.running.batch.config import name_folder
    from neurofs.running.executors import make_executor
    from neurofs.running.progress import open_progress
    from neurofs.running.varying import run_variation

    options = choose_options(session, read_given(given))
    name = options.name or Path(str(options.file)).stem
    out = out or Path("reports") / name_folder(f"{name}-by-{by}")
    if by == "time":
        _decode_around(options, event, around, window, out)
        return
    output, command = current_output(), shlex.join(["neurofs", *sys.argv[1:]])
    with open_progress(None, name_folder(name), output.quiet, output.verbose) as view:
        found = run_variation(
            options, by, read_values(values or ""), methods, draws, make_executor(jobs), view, out, fresh, None, command
        )
    page = out / "variation.html"
    output.show(
        lambda: {**found.found.model_dump(by_alias=True), "page": str(page), "table": found.table.to_dict("records")},
        lambda: "\n".join([*found.sentences, "", f"page: {page}", f"table: {out / 'variation.csv'}"]),
        page,
    )


def _decode_around(options: Any, event: str | None, around: str, window: float, out: Path) -> None:
    """Decode in windows around an event, and print what was found."""
    from neurofs.comparison.cases import read_values
    from neurofs.comparison.time_course import decode_around
    from neurofs.ground.config import LoadOptions, select_options
    from neurofs.ground.errors import UsageError, quoted
    from neurofs.recordings.readers import load

    ends = read_values(around)
    if event is None:
        raise UsageError("by: time needs --event, a column of the trials such as move_onset")
    if len(ends) != 2 or isinstance(ends[0], str) or isinstance(ends[1], str):
        raise UsageError(f"around: expected two numbers, such as -0.5,1; found {quoted(around)}")
    if len(options.target) != 1:
        raise UsageError("by: time needs one target, a condition of the trials or a series, as --target")
    recording = load(str(options.file), select_options(LoadOptions, options))
    found = decode_around(
        recording,
        options.target[0],
        event,
        around=(ends[0], ends[1]),
        window=window,
        step=options.step or window / 2,
        n_splits=options.n_splits,
        seed=options.seed,
    )
    found.save(out)
    page = out / "time_course.html"
    current_output().show(
        lambda: {"sentences": found.sentences, "page": str(page), "table": found.table.to_dict("records")},
        lambda: "\n".join([*found.sentences, "", f"page: {page}", f"table: {out / 'time_course.csv'}"]),
        page,
    )
