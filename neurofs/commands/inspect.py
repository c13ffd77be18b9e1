"""``neurofs inspect``: what is in a file, what is wrong with it, and which options decode it."""

import sys
from pathlib import Path
from typing import Any

import click

from neurofs.commands.options import OptionsCommand, jobs_option, out_option, read_given
from neurofs.commands.output import current_output


@click.command("inspect", cls=OptionsCommand, short_help="What is in a file, what is wrong with it, how to decode it.")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@out_option("Of a folder: the pipeline file that is written.")
@jobs_option
@click.option("--pattern", default="**/*", help="Of a folder: which files are looked at, such as 'day*/*.nwb'.")
def inspect_command(file: Path | None, out: Path | None, jobs: int | None, pattern: str, **given: Any) -> None:
    """Print what is in FILE, what is wrong with it, and which options decode it.

    FILE is a recording (.nwb, .mat, .npz, .h5, .csv, an acquisition format, a folder of Kilosort or phy, the address of
    an NWB file: neurofs list formats) or a session file (.toml).
    Without FILE, the built-in demo session is shown. Of a file that cannot be read as a recording, the variables are
    shown, and options that may help. Exit code 2 if the file cannot be used as it is. With --quiet, only the command
    that decodes it is printed, or what must be mended.

    If FILE is a folder of sessions, or a session file whose file is a pattern, there is one line about each, and a
    pipeline file for `neurofs batch` that decodes them all. A file that cannot be read costs its own line only; exit
    code 1 if there is one, 2 if none can be read.

    \b
    Examples:
      neurofs inspect session.nwb
      neurofs inspect data --out spring.toml
      neurofs inspect sorted/phy --sampling-rate 30000
      neurofs inspect https://HOST/PATH/session.nwb
      neurofs inspect counts.mat --counts spikes --counts-bin-width 0.05
      neurofs inspect session.toml --json
    """
    from neurofs.ground.config import LoadOptions, given_options, make_options, read_pattern, select_options
    from neurofs.ground.errors import InputError, UsageError
    from neurofs.recordings.demo import demo_path
    from neurofs.recordings.quality import inspect_file, render_text
    from neurofs.recordings.readers.formats import find_format

    path, options = file or demo_path(), make_options(LoadOptions, read_given(given))
    if (shared := read_pattern(path)) is not None:
        options = make_options(LoadOptions, given_options(select_options(LoadOptions, shared)) | given_options(options))
        _show_folder(path.parent, options, str(shared.file), out, jobs)
        return
    if path.is_dir() and find_format(path) is None:
        _show_folder(path, options, pattern, out, jobs)
        return
    if out is not None:
        raise UsageError("--out is for a folder of sessions")
    try:
        report: dict[str, Any] = inspect_file(path, options)
    except InputError as error:
        _show_contents(path, error)
        raise
    command = (report["decode"] or {}).get("command", "")
    current_output().show(lambda: report, lambda: render_text(report), command or "\n".join(report["problems"]))
    if report["problems"]:
        sys.exit(2)


def _show_folder(folder: Path, options: Any, pattern: str, out: Path | None, jobs: int | None) -> None:
    """Print one line about each session of a folder, and print or write the pipeline that decodes them."""
    from neurofs.ground.errors import InputError, printable
    from neurofs.ground.files import prepare_place, write_atomically
    from neurofs.recordings.folder import PIPELINE, inspect_folder, render_folder, write_pipeline
    from neurofs.running.executors import make_executor
    from neurofs.running.progress import open_progress
    from neurofs.running.worker import Limits

    output, place = current_output(), out or folder / PIPELINE
    if out is not None and out.exists():
        raise InputError(out, "the name of a new file", "a file that exists", "Choose another with --out.")
    prepare_place(out)
    with open_progress(None, printable(folder.name), output.quiet, output.verbose) as view:
        report = inspect_folder(folder, options, pattern, make_executor(jobs, Limits()).run, view.count_tasks)
    pipeline = write_pipeline(report, place)
    if out is not None:
        write_atomically(out, pipeline)
    output.show(
        lambda: {**report, "pipeline": pipeline, "written": str(out) if out else None},
        lambda: render_folder(report, pipeline, place, out is not None),
        place if out else pipeline,
    )
    readable = [session["readable"] for session in report["sessions"]]
    if not all(readable):
        sys.exit(1 if any(readable) else 2)


def _show_contents(path: Path, error: Any) -> None:
    """Print what is in a file that cannot be read as a recording, if that much can be told."""
    from neurofs.recordings.contents import describe_contents, render_contents

    about, output = describe_contents(path, error), current_output()
    if about is None or output.quiet:
        return
    output.show(lambda: {**about, "error": str(error)}, lambda: render_contents(about), "")
    if output.as_json:
        sys.exit(error.exit_code)
