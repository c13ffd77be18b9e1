"""The mark of a finished run: from what its files were made, and a checksum of each.

It is written last, so that a folder that has one is whole; and a file that was damaged or edited since shows.
"""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from neurofs.ground.files import hash_file, read_file, write_atomically

MARK = "finished.json"
TABLES = ("scores.csv", "weights.nc", "predictions.nc", "session.nc")
FILES = ("run.toml", *TABLES, "channels.csv", "pairs.csv", "summary.json", "report.html")
"""What a run may leave, in the order in which it is named to people."""


class Mark(BaseModel):
    """What the mark says: a hash of options, input and code; the number of tasks; SHA-256 of each file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    key: str
    n_tasks: int
    files: dict[str, str]


def write_mark(folder: Path, key: str, n_tasks: int) -> None:
    """Mark the run in a folder as finished."""
    files = {name: hash_file(folder / name) for name in FILES if (folder / name).is_file()}
    mark = Mark(key=key, n_tasks=n_tasks, files=files)
    write_atomically(folder / MARK, mark.model_dump_json(indent=1) + "\n")


def remove_mark(folder: Path) -> None:
    """Say of the run in a folder that it is not finished."""
    (folder / MARK).unlink(missing_ok=True)


def read_mark(folder: Path) -> Mark | None:
    """Return the mark of a folder, or None if there is none that can be read."""
    try:
        return Mark.model_validate_json(read_file(folder / MARK))
    except (OSError, ValidationError):
        return None


def find_changed(folder: Path, mark: Mark) -> list[str]:
    """Return the files that are not what they were when the folder was marked: changed, lost, or come since."""
    return [name for name in FILES if _hash_if_there(folder / name) != mark.files.get(name)]


def _hash_if_there(path: Path) -> str | None:
    try:
        return hash_file(path)
    except OSError:
        return None
