"""What an earlier run left in a folder: a run with other settings does not write over it without being told to."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from neurofs.ground.config import RunOptions, TensorOptions, make_options, read_toml
from neurofs.ground.errors import NeurofsError, UsageError, printable
from neurofs.ground.files import make_absolute
from neurofs.recordings.readers import hash_input

NO_MATTER = ("name", "allow_leakage")
"""Keys that change no result."""

MOST = 3
"""Differences that a message names."""


def check_settings(folder: Path, options: RunOptions) -> None:
    """Raise a `UsageError` if a folder holds a run with other settings; it names what differs."""
    if not (folder / "run.toml").is_file():
        return
    found = list(find_differences(folder, options))
    if found:
        more = f" and {len(found) - MOST} more" if len(found) > MOST else ""
        raise UsageError(
            f"{printable(folder)} holds a run with other settings ({'; '.join(found[:MOST])}{more}). "
            "Choose another folder with --out, or replace that run with --overwrite"
        )


def find_differences(folder: Path, options: RunOptions) -> Iterator[str]:
    """Yield in words how the settings of the run in a folder differ; an "auto" is no difference."""
    try:
        earlier = make_options(RunOptions, read_toml(folder / "run.toml", "the settings of a run"), "run.toml")
    except NeurofsError as error:
        yield f"which cannot be read: {error}"
        return
    if not _is_same_file(folder, earlier.file, options.file):
        yield f"file was {_show(earlier.file)}, now {_show(options.file)}"
    for key in sorted(RunOptions.model_fields, key=lambda key: key not in TensorOptions.model_fields):
        old, new = getattr(earlier, key), getattr(options, key)
        if key not in (*NO_MATTER, "file") and not _is_same(key, old, new):
            yield f"{key} was {_show(old)}, now {_show(new)}"


def _is_same(key: str, old: Any, new: Any) -> bool:
    """Compare two values; bins and lags that are still to be chosen may turn out as they were."""
    return old == new or (key in ("bin_width", "n_lags") and "auto" in (old, new))


def _show(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(printable(item) for item in value) or "not given"
    return "not given" if value in (None, {}) else printable(value)


def _is_same_file(folder: Path, old: str | None, new: str | None) -> bool:
    """Tell whether two paths lead to one file, or to the same content."""
    if old is None or new is None or make_absolute(old) == make_absolute(new):
        return old == new or None not in (old, new)
    known = _read_hash(folder) or (hash_input(Path(old)) if Path(old).exists() else None)
    return known is not None and Path(new).exists() and hash_input(Path(new)) == known


def _read_hash(folder: Path) -> str | None:
    """Return the hash of the file that a finished run has decoded."""
    try:
        return str(json.loads((folder / "summary.json").read_text(encoding="utf-8"))["session"]["source_hash"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
