"""``neurofs stream``: a model that decodes bin by bin."""

import os
import sys
from pathlib import Path
from typing import Any

import click

from neurofs.commands.options import LayoutAsideCommand, out_option, read_given
from neurofs.commands.output import current_output
from neurofs.ground.errors import InputError, UsageError


@click.command("stream", cls=LayoutAsideCommand, short_help="Decode bin by bin with a model.")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--replay", type=click.Path(path_type=Path), metavar="SESSION", help="Take the bins of this session.")
@click.option("--speed", type=click.FloatRange(0), default=1.0, help="Replay so many times faster; 0 for no pauses.")
@click.option("--lsl", metavar="NAME", help="Take samples of this stream of the Lab Streaming Layer, one per bin.")
@click.option("--lsl-out", metavar="NAME", help="Also send estimates to a stream of this name.")
@click.option("--binary", is_flag=True, help="Records in place of lines, on standard input and output.")
@click.option(
    "--missing",
    type=click.Choice(["refuse", "zero", "mean"]),
    default="refuse",
    help="Channels of the model that a replayed session lacks: refuse it, or take them to be 0 or their training mean.",
)
@out_option("Write estimates here; standard output by default.")
@click.option("--overwrite", is_flag=True, help="Replace a file in the same place.")
def stream_command(
    model: Path,
    replay: Path | None,
    speed: float,
    lsl: str | None,
    lsl_out: str | None,
    binary: bool,
    missing: Any,
    out: Path | None,
    overwrite: bool,
    **given: Any,
) -> None:
    """Decode bin by bin with a MODEL that neurofs fit made: counts in, estimates out, at once.

    Bins come from standard input, one JSON object per line: {"bin": 17, "counts": [0, 2, 1]} in the order of the
    model's channels, {"bin": 17, "spikes": {"1a": 2}} by name, or spikes {"time": 1.73, "channel": "1a"} in the order
    of time. With --binary: bin and trial (int64, -1 for none), then counts (float32), little-endian; estimates are bin
    (int64), estimates and deviations (float64). A gap, or another "trial", begins a new window; bins that come
    late or twice are left out. At the end, the latency is printed on standard error, or with --json on standard output
    in place of the estimates.

    \b
    Examples:
      neurofs stream models/day1 --replay day2.nwb
      neurofs stream models/day1 --replay day2.nwb --speed 0 --out day2.jsonl
      acquire | neurofs stream models/day1 | control
      neurofs stream models/day1 --lsl counts --lsl-out velocity
    """
    from neurofs.decoders.model_folder import read_model
    from neurofs.decoders.online import OnlineDecoder
    from neurofs.ground.config import LoadOptions, make_options
    from neurofs.ground.files import check_free, prepare_place
    from neurofs.recordings.readers import load
    from neurofs.running import streaming, streams

    output, values = current_output(), read_given(given)
    if replay is not None and lsl is not None:
        raise UsageError("--replay and --lsl: say one of them")
    if speed != speed:
        raise UsageError("--speed: expected a number of at least 0; found nan")
    if replay is None:
        _check_replay(values | {"speed": speed != 1.0, "missing": missing != "refuse"})
    options, fitted = make_options(LoadOptions, values), read_model(model)
    if out is not None:
        check_free([out], [one for one in (replay,) if one is not None], overwrite)
    prepare_place(out)
    origin = 0.0
    if replay is not None:
        session = streams.open_replay(load(replay, options), fitted, missing, speed)
        bins, origin = session.bins, session.origin
        for note in session.notes:
            output.tell(note)
    elif lsl is not None:
        bins = streams.read_layer(lsl, fitted)
    else:
        bins = (streams.read_records if binary else streams.read_lines)(sys.stdin.buffer, fitted)
    push = None if lsl_out is None else streams.open_layer(lsl_out, fitted)
    head = fitted.head
    silent = out is None and output.as_json
    with _open(out, silent) as stream:
        names = [one.name for one in head.outputs]
        write = (
            streaming.emit_records(stream)
            if binary
            else streaming.emit_lines(stream, names, head.classes, head.binning.bin_width, origin)
        )

        def emit(number: int, estimate: Any, deviation: Any) -> None:
            if push is not None:
                push(estimate)
            write(number, estimate, deviation)

        summary = streaming.decode_stream(OnlineDecoder(fitted), bins, emit)
        if summary.ended.startswith("the reader"):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if output.as_json:
        output.show(summary.to_dict, str, "")
    elif not output.quiet:
        click.echo(summary.render(), err=True)
    if summary.error is not None:
        if output.as_json:  # the summary tells it
            sys.exit(summary.error.exit_code)
        raise summary.error
    if summary.ended == "interrupted":
        sys.exit(130)


def _check_replay(values: dict[str, Any]) -> None:
    """Refuse what has a meaning only where a session is replayed."""
    for key, value in values.items():
        if value:
            raise UsageError(f"--{key.replace('_time', '').replace('_', '-')} has a meaning only with --replay")


def _open(out: Path | None, silent: bool) -> Any:
    """Return the stream to which estimates go, which closes at the end unless it is standard output."""
    from contextlib import nullcontext

    if out is None and not silent:
        return nullcontext(sys.stdout.buffer)
    try:
        return open(out or os.devnull, "wb", buffering=0)
    except OSError as error:
        raise InputError(out, "a file that can be written", error.strerror, "Check space and rights.") from None
