"""`TaskStore`: results of single tasks, kept in the run folder, from which an interrupted run goes on."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from neurofs.ground.files import make_folder, write_atomically

__all__ = ["TaskResult", "TaskStore"]

_HEAD = "head"


@dataclass(frozen=True, eq=False)
class TaskResult:
    """What one task found: rows of scores (or of the null control) and named arrays."""

    rows: list[dict[str, Any]]
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    seconds: float = 0.0


class TaskStore:
    """Results of single tasks in a folder, each with the key of what it was computed from.

    >>> import tempfile
    >>> store = TaskStore(Path(tempfile.mkdtemp()))
    >>> store.write("rgs-0-0-0", "abc", TaskResult([{"n": 3}], {"weights": np.ones(2)}, 0.5))
    >>> store.read("rgs-0-0-0", "abc").rows
    [{'n': 3}]
    >>> store.read("rgs-0-0-0", "another key") is None
    True
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, task_id: str, key: str, result: TaskResult) -> None:
        """Keep a result; it is either whole or not there."""
        make_folder(self.folder)
        head = json.dumps({"key": key, "rows": result.rows, "seconds": result.seconds})
        buffer = io.BytesIO()
        content: Any = {_HEAD: np.frombuffer(head.encode(), np.uint8), **result.arrays}
        np.savez_compressed(buffer, **content)
        write_atomically(self.folder / f"{task_id}.npz", buffer.getvalue())

    def read(self, task_id: str, key: str) -> TaskResult | None:
        """Return the result of a task, or None if there is none computed from the same things."""
        try:
            content = io.BytesIO((self.folder / f"{task_id}.npz").read_bytes())
            with np.load(content, allow_pickle=False) as file:
                head = json.loads(file[_HEAD].tobytes())
                arrays = {name: file[name] for name in file.files if name != _HEAD}
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None
        if head["key"] != key:
            return None
        return TaskResult(head["rows"], arrays, head["seconds"])
