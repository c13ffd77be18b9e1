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
    Without FILE, the built-in demo session is shown. Exit code 2 if the file cannot be used as it is.
    With --quiet, only the command that decodes it is printed, or what must be mended.

    \b
    Examples:
      neurofs inspect session.nwb
      neurofs inspect counts.mat --counts spikes --counts-bin-width 0.05
      neurofs inspect session.toml --json
    """
    from neurofs.ground.config import LoadOptions, make_options
    from neurofs.recordings.demo import demo_path
    from neurofs.recordings.quality import inspect_file, render_text

    report = inspect_file(file or demo_path(), make_options(LoadOptions, read_given(given)))
    command = (report["decode"] or {}).get("command", "")
    current_output().show(lambda: report, lambda: render_text(report), command or "\n".join(report["problems"]))
    if report["problems"]:
        sys.exit(2)
