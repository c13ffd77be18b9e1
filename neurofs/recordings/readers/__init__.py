"""Loaders: every common kind of file becomes a `Recording`.

One module per format, each with `read(path, options) -> Recording`, found by the file's suffix. Modules are
imported when they are needed.
"""

from __future__ import annotations

import dataclasses
import importlib
from pathlib import Path
from typing import Any

from neurofs.ground.config import LoadOptions, make_options, read_session_file, select_options
from neurofs.ground.errors import InputError, printable
from neurofs.recordings.readers.sizes import hash_file
from neurofs.recordings.recording import InvalidRecording, Recording

__all__ = ["FORMATS", "demo_path", "hash_file", "load"]

FORMATS = {
    ".nwb": "nwb",
    ".mat": "matlab",
    ".npz": "npz",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".csv": "csv_pairs",
    ".nev": "neo_files",
    ".plx": "neo_files",
    ".pl2": "neo_files",
    ".nex": "neo_files",
    ".smr": "neo_files",
    ".smrx": "neo_files",
    ".rhd": "neo_files",
    ".rhs": "neo_files",
    ".nix": "neo_files",
}


def load(path: str | Path, options: LoadOptions | None = None, **keys: Any) -> Recording:
    """Return the recording in a data file, or in the one that a session file (`*.toml`) describes.

    Parameters
    ----------
    path : str or Path
    options : LoadOptions, optional
        Where things are in the file, where it does not tell by itself.
    **keys
        The same as keywords, e.g. ``counts_bin_width=0.05``; they win over `options` and the session file.

    Raises
    ------
    InputError
        One line that begins with the name of the file.
    """
    path = Path(path)
    _check_exists(path)
    values = {} if options is None else _given(options)
    if path.suffix.lower() == ".toml":
        path, session = read_session_file(path)
        values = _given(select_options(LoadOptions, session)) | values
        _check_exists(path)
    options = make_options(LoadOptions, values | keys, printable(path.name))
    reader = _find_reader(path)
    try:
        recording = reader.read(path, options)
    except InvalidRecording as error:
        raise InvalidRecording([_within(p, path) for p in error.problems], error.draft) from None
    except InputError as error:
        raise _within(error, path) from None
    if recording.source_hash:
        return recording
    return dataclasses.replace(recording, source=path.name, source_hash=hash_file(path))


def demo_path() -> Path:
    """Return the built-in demo session: in the package, or beside it in a checkout."""
    package = Path(__file__).parents[2]
    places = [package / "recordings" / "demo.nwb", package.parent / "data" / "demo.nwb"]
    return next((place for place in places if place.exists()), places[0])


def _within(error: InputError, path: Path) -> InputError:
    """Return the error with the file's name at its beginning."""
    return error if f"{error.where}: ".startswith(f"{path.name}: ") else error.within(path.name)


def _given(options: LoadOptions) -> dict[str, Any]:
    """Return the options that differ from their defaults."""
    return {k: v for k, v in options if v != type(options).model_fields[k].default}


def _check_exists(path: Path) -> None:
    name = path.name or str(path)
    try:
        if path.is_dir():
            raise InputError(name, "a file", "a folder", "Name a file in it.")
        if not path.exists():
            raise InputError(name, "a file", f"none at {path.parent}", "Check the path.")
        if path.stat().st_size == 0:
            raise InputError(name, "a recording", "an empty file", "Copy it again from its source.")
        with path.open("rb"):
            pass
    except OSError as error:
        raise InputError(name, "a file that can be read", error.strerror, "Check its permissions.") from None


def _find_reader(path: Path) -> Any:
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise InputError(
            path.name,
            "a known kind of file",
            f"the suffix {suffix!r}" if suffix else "no suffix",
            f"Known: {', '.join(sorted(FORMATS))}, .toml.",
        )
    return importlib.import_module(f"neurofs.recordings.readers.{FORMATS[suffix]}")
