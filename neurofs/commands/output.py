"""What a command prints: a text for people, one JSON object, or only where the result is; and its errors.

Every command takes ``--json``, ``--quiet`` and ``--verbose``. They are kept with the call of the command, where also
the one place that prints errors (`commands.main`) finds them.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

KEY = "neurofs.output"


@dataclass(frozen=True)
class Output:
    """How much a command says, and to whom."""

    as_json: bool = False
    quiet: bool = False
    verbose: bool = False

    def show(self, record: Callable[[], Any], text: Callable[[], str], brief: object, indent: int | None = 2) -> None:
        """Print the result as JSON, as a text or, if it shall be quiet, in brief; nothing if that is empty."""
        if self.as_json:
            click.echo(json.dumps(record(), indent=indent, default=str))
        elif not self.quiet:
            click.echo(text())
        elif str(brief):
            click.echo(str(brief))

    def tell(self, line: str) -> None:
        """Print a line about how far the work is, on standard error."""
        if not self.quiet:
            click.echo(line, err=True)

    def detail(self, line: str) -> None:
        """Print what only somebody who looks for a cause wants to know, on standard error."""
        if self.verbose and line:
            click.echo(line, err=True)


def current_output() -> Output:
    """Return how the command that runs shall print."""
    return Output(**click.get_current_context().meta.get(KEY, {}))


def _keep(ctx: click.Context, option: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta.setdefault(KEY, {})[str(option.name)] = True


def make_output_options() -> list[click.Option]:
    """Return the options of output, which every command has."""
    kept: dict[str, Any] = {"is_flag": True, "is_eager": True, "expose_value": False, "callback": _keep}
    return [
        click.Option(["--json", "as_json"], help="Print one JSON object and nothing else.", **kept),
        click.Option(["-q", "--quiet"], help="No progress; print only where the result is.", **kept),
        click.Option(["-v", "--verbose"], help="Say more on standard error: every task, details of errors.", **kept),
    ]


def note_arguments(ctx: click.Context, arguments: list[str]) -> None:
    """Look for --json before the options are read, so that errors in them are JSON, too."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if "--json" in options:
        ctx.meta.setdefault(KEY, {})["as_json"] = True


def print_error(error: BaseException, message: str) -> None:
    """Print an error in one line, as JSON on standard output if asked for; the details come before, if asked for."""
    output = current_output()
    output.detail("".join(traceback.format_exception(error)).rstrip())
    output.detail(getattr(error, "detail", ""))
    if output.as_json:
        click.echo(json.dumps({"error": message}))
    else:
        click.echo(f"neurofs: {message}", err=True)
