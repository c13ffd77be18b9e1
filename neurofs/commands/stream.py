"""``neurofs stream``: a model that decodes bin by bin."""

import os
import sys
from pathlib import Path
from typing import Any

import click

from neurofs.commands.options import OptionsCommand, out_option, read_given
from neurofs.commands.output import current_output
from neurofs.ground.errors import UsageError


@click.command("stream", cls=OptionsCommand)
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
def stream_command(
    model: Path,
    replay: Path | None,
    speed: float,
    lsl: str | None,
    lsl_out: str | None,
    binary: bool,
    missing: Any,
    out: Path | None,
    **given: Any,
) -> None:
    """Decode bin by bin with a MODEL that neurofs fit made: counts in, estimates out, at once.

    Bins come from standard input, one JSON object per line: {"bin": 17, "counts": [0, 2, 1]} in the order of the
    model's channels, {"bin": 17, "spikes": {"1a": 2}} by name, or spikes {"time": 1.73, "channel": "1a"} in the order
    of time. With --binary: bin and trial (int64, -1 for none), then counts (float32), little-endian; estimates are bin
    (int64), estimates and deviations (float64). A gap, or another "trial", begins a new window; bins that come
    late or twice are left out. At the end, the latency is printed on standard error, or with --json on standard output.

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
    from neurofs.ground.files import prepare_place
    from neurofs.recordings.readers import load
    from neurofs.running import streaming, streams

    output, options = current_output(), make_options(LoadOptions, read_given(given))
    if replay is not None and lsl is not None:
        raise UsageError("--replay and --lsl: say one of them")
    fitted = read_model(model)
    prepare_place(out)
    if replay is not None:
        bins = streams.replay_session(load(replay, options), fitted, missing, speed)
    elif lsl is not None:
        bins = streams.read_layer(lsl, fitted)
    else:
        bins = streams.read_records(sys.stdin.buffer, fitted) if binary else streams.read_lines(sys.stdin, fitted)
    push = None if lsl_out is None else streams.open_layer(lsl_out, fitted)
    head = fitted.head
    silent = out is None and output.as_json
    with _open(out, silent, binary) as stream:
        names = [one.name for one in head.outputs]
        write = (
            streaming.emit_records(stream)
            if binary
            else streaming.emit_lines(stream, names, head.classes, head.binning.bin_width)
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
        raise summary.error
    if summary.ended == "interrupted":
        sys.exit(130)


def _open(out: Path | None, silent: bool, binary: bool) -> Any:
    """Return the stream to which estimates go, which closes at the end unless it is standard output."""
    from contextlib import nullcontext

    mode = "wb" if binary else "w"
    if silent:
        return open(os.devnull, mode)
    if out is not None:
        return open(out, mode)
    return nullcontext(sys.stdout.buffer if binary else sys.stdout)
