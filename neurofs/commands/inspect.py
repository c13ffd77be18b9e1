"""``neurofs inspect``: what is in a file, what is wrong with it, and which options decode it."""

import sys
from pathlib import Path
from typing import Any

import click

from neurofs.commands.options import OptionsCommand, read_given
from neurofs.commands.output import current_output


@click.command("inspect", cls=OptionsCommand)
@click.argument("file", required=False, type=click.Path(path_type=Path))
def inspect_command(file: Path | None, **given: Any) -> None:
    """Print what is in FILE, what is wrong with it, and which options decode it.

    FILE is a recording (.nwb, .mat, .npz, .h5, .csv, or an acquisition format) or a session file (.toml).
    Without FILE, the built-in demo session is shown. Of a file that cannot be read as a recording, the variables are
    shown, and options that may help. Exit code 2 if the file cannot be used as it is. With --quiet, only the command
    that decodes it is printed, or what must be mended.

    \b
    Examples:
      neurofs inspect session.nwb
      neurofs inspect counts.mat --counts spikes --counts-bin-width 0.05
      neurofs inspect session.toml --json
    """
    from neurofs.ground.config import LoadOptions, make_options
    from neurofs.ground.errors import InputError
    from neurofs.recordings.demo import demo_path
    from neurofs.recordings.quality import inspect_file, render_text

    path, options = file or demo_path(), make_options(LoadOptions, read_given(given))
    try:
        report = inspect_file(path, options)
    except InputError as error:
        _show_contents(path, error)
        raise
    command = (report["decode"] or {}).get("command", "")
    current_output().show(lambda: report, lambda: render_text(report), command or "\n".join(report["problems"]))
    if report["problems"]:
        sys.exit(2)


def _show_contents(path: Path, error: Any) -> None:
    """Print what is in a file that cannot be read as a recording, if that much can be told."""
    from neurofs.recordings.contents import describe_contents, render_contents

    about, output = describe_contents(path, error), current_output()
    if about is None or output.quiet:
        return
    output.show(lambda: {**about, "error": str(error)}, lambda: render_contents(about), "")
    if output.as_json:
        sys.exit(error.exit_code)
