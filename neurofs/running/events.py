"""What happened when: `events.jsonl` for machines and `log.txt` for people.

Events are appended, one JSON object per line, each with its time. A line that was torn by a sudden end is
closed when the file is opened again, and skipped by readers.
"""

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from neurofs.ground.errors import InputError
from neurofs.ground.files import check_file


class EventLog:
    """Appends events to a file.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "events.jsonl"
    >>> EventLog(path).write("task_recorded", session="day1", task="rgs-x-0-0")
    >>> [event["task"] for event in read_events(path)]
    ['rgs-x-0-0']
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if _is_torn(path):
            append_line(path, "")

    def write(self, event: str, **facts: Any) -> None:
        """Append one event."""
        append_line(self.path, json.dumps({"time": _now(), "event": event, **facts}, default=str))


def append_line(path: Path, text: str) -> None:
    """Append a line to a file in one write; an error names the file."""
    try:
        with check_file(path).open("ab", buffering=0) as file:
            file.write((text + "\n").encode("utf-8"))
    except OSError as error:
        raise InputError(path, "a file that can be written", error.strerror, "Check space and rights.") from None


def read_events(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the events of a file, without torn lines."""
    with check_file(path).open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict):
                yield event


def write_log(folder: Path, text: str) -> None:
    """Append lines to the log of a session, each with the time."""
    folder.mkdir(parents=True, exist_ok=True)
    stamp = datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
    for line in text.splitlines():
        append_line(folder / "log.txt", f"{stamp}  {line}")


def _is_torn(path: Path) -> bool:
    """Tell whether the last line of a file has no end."""
    if not path.exists() or path.stat().st_size == 0:
        return False
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read() != b"\n"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
