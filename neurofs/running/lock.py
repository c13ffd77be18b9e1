"""The lock of an output folder: two runs never write into one folder at the same time.

The lock is a file with its owner (host, process, start of the process). The lock of a process of this computer
that no longer runs is taken over; that of another computer is not, since nobody here can tell.
"""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from neurofs.ground.errors import InputError, NeurofsError, printable
from neurofs.ground.files import read_file
from neurofs.ground.system import find_start

LOCK = ".lock"
SAME_START = 5.0
"""Seconds by which the start of one process may be told differently, since clocks are set now and then."""


class FolderInUse(NeurofsError):
    """Another run writes into the folder."""


@contextmanager
def hold_folder(folder: Path) -> Iterator[Path]:
    """Make a folder (if need be) and hold its lock; raise `FolderInUse` if another run has it.

    >>> import tempfile
    >>> with hold_folder(Path(tempfile.mkdtemp()) / "out") as folder:
    ...     sorted(path.name for path in folder.iterdir())
    ['.lock']
    >>> list(folder.iterdir())
    []
    """
    lock = folder / LOCK
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _take(lock)
    except OSError as error:
        raise InputError(folder, "a folder that can be written", error.strerror, "Choose another with --out.") from None
    try:
        yield folder
    finally:
        lock.unlink(missing_ok=True)


def _take(lock: Path) -> None:
    """Put the lock in place; remove that of a dead process first."""
    owner = _describe_self()
    mine = lock.with_name(f"{LOCK}.{os.getpid()}.part")
    try:
        while not _link(mine, json.dumps(owner), lock):
            found = _read_owner(lock)
            if found is not None and not _is_dead(found):
                raise FolderInUse(_explain(lock, found))
            _remove_stale(lock, found)
    finally:
        mine.unlink(missing_ok=True)


def _link(mine: Path, content: str, lock: Path) -> bool:
    """Write a file and give it its second name; return False if another process was first."""
    mine.write_text(content, encoding="utf-8")
    try:
        os.link(mine, lock)
    except (FileExistsError, FileNotFoundError):  # not found: the owner of the folder has cleared it up
        return False
    except OSError:  # a file system without second names
        return _create(lock, content)
    return True


def _create(lock: Path, content: str) -> bool:
    try:
        with lock.open("x", encoding="utf-8") as file:
            file.write(content)
    except FileExistsError:
        return False
    return True


def _read_owner(lock: Path) -> dict[str, Any] | None:
    """Return what a lock says of its owner; None if it is gone, or not one of ours."""
    try:
        owner = json.loads(read_file(lock))
    except (FileNotFoundError, PermissionError, ValueError, RecursionError):
        return None
    kinds = {"host": str, "pid": int, "started": float | int | None, "since": str}
    is_ours = isinstance(owner, dict) and all(
        key in owner and isinstance(owner[key], kind) for key, kind in kinds.items()
    )
    return owner if is_ours else None


def _remove_stale(lock: Path, stale: dict[str, Any] | None) -> None:
    """Remove a lock, unless another process has just replaced it by its own."""
    aside = lock.with_name(f"{LOCK}.{os.getpid()}.stale")
    try:
        os.replace(lock, aside)
    except (FileNotFoundError, PermissionError):  # not permitted: on Windows, another process has it open just now
        return
    if _read_owner(aside) != stale:
        os.replace(aside, lock)
    aside.unlink(missing_ok=True)


def _describe_self() -> dict[str, Any]:
    since = datetime.now(UTC).isoformat(timespec="seconds")
    pid = os.getpid()
    return {"host": socket.gethostname(), "pid": pid, "started": find_start(pid), "since": since}


def _is_dead(owner: dict[str, Any]) -> bool:
    """Tell whether the owner is a process of this computer that no longer runs.

    Its number may have been given to another process since; that one started at another time.
    """
    if owner["host"] != socket.gethostname():
        return False
    started, known = find_start(int(owner["pid"])), owner["started"]
    if started is None:
        return True
    return bool(started and isinstance(known, float) and abs(started - known) > SAME_START)


def _explain(lock: Path, owner: dict[str, Any]) -> str:
    who = f"process {printable(owner['pid'])} on {printable(owner['host'])}, since {printable(owner['since'])}"
    return (
        f"{printable(lock.parent)}: in use by {who}. Wait for it, choose another folder with --out, "
        f"or, if it no longer runs, delete {printable(lock)}."
    )
