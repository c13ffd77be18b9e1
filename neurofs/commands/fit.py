"""``neurofs fit``: a decoder for use, as a model folder."""

from pathlib import Path
from typing import Any

import click

from neurofs.commands.help import HOW, Option
from neurofs.commands.options import FitCommand, jobs_option, read_given
from neurofs.commands.output import current_output
from neurofs.ground.errors import UsageError, printable


@click.command("fit", cls=FitCommand, short_help="Fit a decoder for use, and write it as a model folder.")
@click.argument("sessions", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="SESSION...")
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), help="Model folder to write.")
@click.option(
    "--decoder",
    cls=Option,
    group=HOW,
    default="auto",
    help="Decoder by name (neurofs list decoders); auto compares several pipelines and takes the best.",
)
@click.option("--selector", cls=Option, group=HOW, help="Select features with this selector; all by default.")
@click.option("--method", cls=Option, group=HOW, help="Of a finished run: fit this method; its best by default.")
@click.option(
    "--cross-validate/--no-cross-validate",
    cls=Option,
    group=HOW,
    default=True,
    help="Find the score and the width of intervals by cross-validation.",
)
@click.option("--overwrite", is_flag=True, help="Replace a model in the same place.")
@jobs_option
@click.option("--file", hidden=True, expose_value=False)
def fit_command(
    sessions: tuple[Path, ...],
    out: Path,
    decoder: str,
    selector: str | None,
    method: str | None,
    cross_validate: bool,
    overwrite: bool,
    jobs: int | None,
    **given: Any,
) -> None:
    """Fit a decoder to all data of each SESSION together and write it as a model folder.

    SESSION is a recording, a session file (.toml; its file may be a pattern), or the folder of a finished run, whose
    best method is fitted. Several sessions train one model on the channels that they share by name. The folder holds
    model.json and plain arrays; use it with neurofs predict and neurofs stream.

    \b
    Examples:
      neurofs fit reports/day1 --out models/day1
      neurofs fit day1.nwb --target hand_velocity --out models/day1
      neurofs fit day1.nwb day2.nwb --target hand_velocity --decoder kalman --out models/both
      neurofs fit day1.nwb --target hand_velocity --selector rgs --decoder knn --out models/small
    """
    from neurofs.comparison.given import choose_all
    from neurofs.decoders.model_folder import check_place
    from neurofs.decoders.online import time_silence
    from neurofs.ground.files import make_folder
    from neurofs.running.executors import make_executor
    from neurofs.running.fitting import check_settings, choose_beyond_loading, fit, fit_run, load_sessions
    from neurofs.running.progress import open_progress

    check_place(out, overwrite)
    make_folder(out.parent)
    values, output = read_given(given), current_output()
    if any((session / "run.toml").is_file() for session in sessions):
        _check_run(sessions, values, decoder, selector)
        model = fit_run(sessions[0], method)
    elif method is not None:
        raise UsageError("--method is for the folder of a finished run; say --decoder and --selector")
    else:
        options = [one for session in sessions for one in choose_all(session, values)]
        check_settings(options)
        recordings = load_sessions(options, output.tell)
        with open_progress(None, printable(out.name), output.quiet, output.verbose) as view:
            model = fit(
                recordings,
                options[0].target,
                decoder=decoder,
                selector=selector,
                cross_validate=cross_validate,
                executor=make_executor(jobs),
                progress=view.count_tasks,
                **choose_beyond_loading(options[0]),
            )
    model.save(out, overwrite)
    head = model.head.model_dump(mode="json", by_alias=True, exclude={"decoders", "arrays", "seal"})
    latency = time_silence(model)
    output.show(lambda: {"model": str(out), "latency": latency, **head}, lambda: _render(model.head, latency, out), out)


def _check_run(sessions: tuple[Path, ...], values: dict[str, Any], decoder: str, selector: str | None) -> None:
    """Refuse what has no meaning for a finished run."""
    if len(sessions) > 1:
        raise UsageError("fit: expected one folder of a run, or recordings; found both, or several folders")
    if values or decoder != "auto" or selector:
        odd = next(iter(values), "decoder" if decoder != "auto" else "selector").replace("_", "-")
        raise UsageError(f"--{odd} has no meaning for a finished run, which has its settings; leave it out")


def _render(head: Any, latency: dict[str, Any], out: Path) -> str:
    """Return what was fitted for people."""
    from neurofs.comparison.fitting import describe_model

    took = f"  bin by bin, an estimate takes {latency['median_ms']:.2g} ms here (median)"
    return f"{describe_model(head)}\n{took}\n\nmodel: {out}"
