"""Loaders: every common kind of file becomes a `Recording`.

A reader is a function ``read(path, options) -> Recording``. Those of neurofs are one module per format, found by
the file's suffix. An installed package adds a format by an entry point of the group `neurofs.readers`: its name is
the suffix without the dot, and it loads such a function, or a module that has one. All are imported when they
are needed, so that one which cannot be imported never stands in the way of other formats.
"""

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from neurofs.ground.config import (
    LoadOptions,
    given_options,
    make_options,
    read_session_file,
    refuse_options,
    select_options,
)
from neurofs.ground.errors import MAX_MESSAGE, InputError, UsageError, printable
from neurofs.ground.files import find_address, hash_file, hash_files
from neurofs.ground.plugins import BROKEN, find_plugins, name_package
from neurofs.recordings.choose import choose_part, without_part
from neurofs.recordings.readers.behavior_files import add_behavior, leave_to_behavior_file
from neurofs.recordings.readers.door import guard_reader
from neurofs.recordings.readers.formats import FOLDERS, FORMATS, TABLE, Format, find_folder, find_format
from neurofs.recordings.recording import InvalidRecording, Recording

__all__ = ["FORMATS", "Format", "hash_input", "list_formats", "load"]

PLUGINS = "neurofs.readers"

Reader = Callable[[Path, LoadOptions], Recording]


def load(source: object, options: LoadOptions | None = None, **keys: object) -> Recording:
    """Return the recording in a file or folder, in what a session file (`*.toml`) describes, or in an object.

    Parameters
    ----------
    source : str, Path or object
        Objects are those of pynapple, SpikeInterface, Neo, pynwb, pandas and xarray (`readers.objects`).
    options : LoadOptions, optional
        Where things are in the file, where it does not tell by itself, and which part of the session is used.
    **keys
        The same as keywords, e.g. ``counts_bin_width=0.05``; they win over `options` and the session file. With an
        object, `behavior` is a mapping of names to objects, `trials` a table, `observed` pairs of start and stop.

    Raises
    ------
    InputError
        One line that begins with the name of the file.

    Examples
    --------
    >>> import pandas as pd
    >>> spikes = pd.DataFrame({"time": [0.1, 0.2, 0.9], "channel": ["a", "b", "a"]})
    >>> load(spikes, behavior={"speed": pd.Series([1.0, 2.0], index=[0.0, 0.5])}).rates.round(2)
    array([2.5 , 1.25])
    """
    if not isinstance(source, str | Path):
        return _load_object(source, options, keys)
    values = {} if options is None else given_options(options)
    if is_session_file(source):
        _check_exists(Path(source))
        source, session = read_session_file(source)
        values = given_options(select_options(LoadOptions, session)) | values
    path, address = find_folder(Path(source)), find_address(source)
    options = make_options(LoadOptions, values | keys, printable(path.name))
    if address is None:
        _check_exists(path)
    read = _find_reader(path) if address is None else _read_remote
    with _naming(path), guard_reader():
        recording = read(path, leave_to_behavior_file(without_part(options)))
    if not recording.source_hash:
        recording = recording.with_source(path.name, hash_file(path))
    if options.behavior_file is not None:
        recording = _join(recording, Path(options.behavior_file), without_part(options))
    return choose_part(_take_bands(recording, options), options)


def _take_bands(recording: Recording, options: LoadOptions) -> Recording:
    """Return a recording whose channels are bands of a voltage, if these are asked for."""
    if not options.bands:
        return recording
    from neurofs.recordings.readers.bands import take_power

    with _naming(Path(recording.source or recording.name)):
        return take_power(recording, options.bands)


def is_session_file(source: str | Path) -> bool:
    """Tell whether a source is a session file, which names the data."""
    return str(source).lower().endswith(".toml") and find_address(source) is None


def _read_remote(path: Path, options: LoadOptions) -> Recording:
    from neurofs.recordings.readers import remote

    return remote.read(str(find_address(path)), options)


def _load_object(source: Any, options: LoadOptions | None, keys: dict[str, Any]) -> Recording:
    from neurofs.recordings.readers.objects import OPTIONS, read_object

    others = {name: keys.pop(name, None) for name in ("behavior", "observed")}
    others["trials"] = (
        keys.pop("trials") if not isinstance(keys.get("trials", True), bool | str | list | tuple) else None
    )
    values = {} if options is None else given_options(options)
    options = make_options(LoadOptions, values | keys, "load")
    refuse_options(options, OPTIONS, "objects in memory")
    recording = read_object(source, without_part(options), **others)
    if options.behavior_file is not None:
        recording = _join(recording, Path(options.behavior_file), without_part(options))
    return choose_part(_take_bands(recording, options), options)


def _join(recording: Recording, path: Path, options: LoadOptions) -> Recording:
    """Return a recording with the behavior of another file."""
    if find_address(path) is not None:
        raise UsageError(f"behavior_file: {printable(path.name)} is not on this machine; download it first")
    _check_exists(path)
    known = find_format(path)
    if known is None:
        known_names = ", ".join(FORMATS)
        raise InputError(path.name, "a known kind of file", f"the suffix {path.suffix!r}", f"Known: {known_names}.")
    with _naming(path), guard_reader():
        return add_behavior(recording, path, known.module, options)


def list_formats() -> list[Format]:
    """Return all formats; a plug-in that cannot be used says why.

    >>> list_formats()[0].about
    'NWB 2'
    """
    return [*TABLE, *(_describe_plugin(entry) for entry in find_plugins(PLUGINS).values())]


def hash_input(path: Path) -> str:
    """Return the hash of a file, or of the files of a folder that are read; elsewhere, of its size and version."""
    address = find_address(path)
    if address is not None:
        from neurofs.recordings.readers import remote

        return remote.hash_remote(address)
    path = find_folder(path)
    known = find_format(path)
    return hash_files(_import_reader(known).list_files(path), path) if known and known.is_folder else hash_file(path)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Put the file's name at the beginning of errors."""
    try:
        yield
    except InvalidRecording as error:
        raise InvalidRecording([_within(defect, path) for defect in error.defects], error.draft) from None
    except InputError as error:
        raise _within(error, path) from error.__cause__


def _within(error: InputError, path: Path) -> InputError:
    """Return the error with the file's name at its beginning."""
    return error if f"{error.where}: ".startswith(f"{path.name}: ") else error.within(path.name)


def _check_exists(path: Path) -> None:
    name = path.name or str(path)
    try:
        if path.is_dir() and find_format(path) is None:
            marks = ", ".join(FOLDERS)
            remedy = f"Name a file in it; of folders, those are read that hold {marks}."
            raise InputError(name, "a file, or a folder of a known kind", "another folder", remedy)
        if path.is_dir():
            return
        if not path.exists():
            raise InputError(name, "a file", f"none at {path.parent}", "Check the path.")
        if path.stat().st_size == 0:
            raise InputError(name, "a recording", "an empty file", "Copy it again from its source.")
        with path.open("rb"):
            pass
    except OSError as error:
        raise InputError(name, "a file that can be read", error.strerror, "Check its permissions.") from None


def _find_reader(path: Path) -> Reader:
    suffix, plugins = path.suffix.lower(), find_plugins(PLUGINS)
    if suffix[1:] in plugins:
        return _load_plugin(plugins[suffix[1:]])
    known = find_format(path)
    if known is None:
        raise InputError(
            path.name,
            "a known kind of file",
            f"the suffix {suffix!r}" if suffix else "no suffix",
            f"Known: {', '.join(sorted([*FORMATS, *(f'.{name}' for name in plugins)]))}, .toml.",
        )
    return _import_reader(known).read


def _import_reader(known: Format) -> Any:
    return importlib.import_module(f"neurofs.recordings.readers.{known.module}")


def _load_plugin(entry: EntryPoint) -> Reader:
    where = f".{entry.name}: the reader {entry.value} of {name_package(entry)}"
    if f".{entry.name}" in (*FORMATS, ".toml"):
        raise UsageError(f"{where} would replace that of neurofs; rename its entry point, or uninstall it")
    try:
        found = entry.load()
    except BROKEN as error:
        raise UsageError(f"{where} cannot be imported: {printable(error, MAX_MESSAGE)}") from None
    read = getattr(found, "read", found)
    if not callable(read):
        raise UsageError(f"{where} is no function, and has none named read")
    return read


def _describe_plugin(entry: EntryPoint) -> Format:
    try:
        lines = (_load_plugin(entry).__doc__ or entry.value).strip().splitlines()
        about = lines[0]
    except UsageError as error:
        about = str(error)
    return Format((f".{entry.name}",), about, entry.value, "", "", "", name_package(entry))
