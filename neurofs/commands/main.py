"""The command ``neurofs``, a group of commands.

Nothing heavy is imported before a command runs, so that ``--help`` answers at once.
"""

import os
import signal
import sys
import threading
from typing import Any

import click

from neurofs import __version__
from neurofs.commands.batch import batch_command
from neurofs.commands.bench import bench_command
from neurofs.commands.compare import compare_command
from neurofs.commands.decode import decode_command
from neurofs.commands.encode import encode_command
from neurofs.commands.fit import fit_command
from neurofs.commands.inspect import inspect_command
from neurofs.commands.list import list_command
from neurofs.commands.output import current_output, note_arguments, print_error
from neurofs.commands.predict import predict_command
from neurofs.commands.report import report_command
from neurofs.commands.reproduce import reproduce_command
from neurofs.commands.simulate import simulate_command
from neurofs.commands.stream import stream_command
from neurofs.commands.transfer import transfer_command
from neurofs.commands.vary import vary_command
from neurofs.ground.errors import InputError, NeurofsError, printable


class _Group(click.Group):
    """A group that prints the errors that are the user's to mend in one line, without a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which they were added."""
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Note how errors are to be printed, then read the arguments."""
        note_arguments(ctx, args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, signal.default_int_handler)  # the same cleaning up as after Ctrl-C
        try:
            return super().invoke(ctx)
        except NeurofsError as error:
            print_error(error, str(error))
            ctx.exit(error.exit_code)
        except click.ClickException as error:
            if not current_output().as_json:
                raise
            print_error(error, error.format_message())
            ctx.exit(error.exit_code)
        except KeyboardInterrupt as error:
            print_error(error, "interrupted")
            ctx.exit(130)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(0)
        except OSError as error:  # what the system refuses where nobody has thought of it
            place = printable(error.filename or "system")
            remedy = "Check path, space and rights; --verbose shows where it happened."
            refused = InputError(place, "what the system lets us do", error.strerror or error, remedy)
            print_error(error, str(refused))
            ctx.exit(refused.exit_code)


SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True}


@click.group(cls=_Group, context_settings=SETTINGS)
@click.version_option(__version__, prog_name="neurofs")
def main() -> None:
    """Which channels, at which lags, carry the movement, and how well can it be decoded?

    \b
    Examples:
      neurofs decode                           the built-in demo session, with a report
      neurofs decode session.nwb --target hand_velocity
      neurofs inspect session.nwb              what is in a file and how to decode it
      neurofs list targets session.nwb         what can be decoded
      neurofs simulate day1.nwb                a session with known truth
    """


for command in (
    decode_command,
    vary_command,
    encode_command,
    compare_command,
    fit_command,
    predict_command,
    stream_command,
    inspect_command,
    list_command,
    report_command,
    batch_command,
    transfer_command,
    reproduce_command,
    simulate_command,
    bench_command,
):
    main.add_command(command)
