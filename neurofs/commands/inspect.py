"""``neurofs inspect``: what is in a file, what is wrong with it, and which options decode it."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from neurofs.commands.options import OptionsCommand, json_option, read_given


@click.command("inspect", cls=OptionsCommand)
@click.argument("file", required=False, type=click.Path(path_type=Path))
@json_option
def inspect_command(file: Path | None, as_json: bool, **given: Any) -> None:
    """Print what is in FILE, what is wrong with it, and which options decode it.

    FILE is a recording (.nwb, .mat, .npz, .h5, .csv, or an acquisition format) or a session file (.toml).
    Without FILE, the built-in demo session is shown. Of a file that cannot be read as a recording, the variables are
    shown, and options that may help. Exit code 2 if the file cannot be used as it is.

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
        _show_contents(path, error, as_json)
        raise
    click.echo(json.dumps(report, indent=2, default=str) if as_json else render_text(report))
    if report["problems"]:
        sys.exit(2)


def _show_contents(path: Path, error: Any, as_json: bool) -> None:
    """Print what is in a file that cannot be read as a recording, if that much can be told."""
    from neurofs.recordings.contents import describe_contents, render_contents

    about = describe_contents(path, error)
    if about is not None:
        click.echo(json.dumps(about, indent=2) if as_json else render_contents(about))
