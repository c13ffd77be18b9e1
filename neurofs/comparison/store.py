"""`TaskStore`: results of single tasks, kept in the run folder, from which an interrupted run goes on."""

import hashlib
import io
import json
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from neurofs.ground.files import make_folder, read_file, write_atomically

HEAD = "head"
CHECKSUM = 64  # characters of SHA-256
SINGLE = ("weights", "order", "kept")
BY_METHOD = ("predicted", "deviation")


@dataclass(frozen=True, eq=False)
class TaskResult:
    """What one task found."""

    rows: list[dict[str, Any]]  # of the table of scores
    weights: np.ndarray | None = None  # of a selector's features
    order: np.ndarray | None = None  # a selector's features, best first
    kept: np.ndarray | None = None  # which channels suffice, if that was asked
    predicted: dict[str, np.ndarray] = field(default_factory=dict)  # by method: (test samples,) or (…, outputs)
    deviation: dict[str, np.ndarray] = field(default_factory=dict)  # of those predictions that come with one
    seconds: float = 0.0
    latency: dict[str, float] = field(default_factory=dict)  # by method: milliseconds per estimate, bin by bin


class TaskStore:
    """Results of single tasks in a folder, each with the key of what it was computed from.

    A result is one npz file: its arrays, and a head in JSON with everything else. It ends with a checksum of all
    that comes before (as the comment of the archive): a file that was damaged or edited is as good as none.

    >>> import tempfile
    >>> store = TaskStore(Path(tempfile.mkdtemp()))
    >>> store.write("rgs-0-0-0", "abc", TaskResult([{"n": 3}], predicted={"rgs + auto": np.ones(2)}))
    >>> store.read("rgs-0-0-0", "abc").predicted
    {'rgs + auto': array([1., 1.])}
    >>> store.read("rgs-0-0-0", "another key") is None
    True
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, task_id: str, key: str, result: TaskResult) -> None:
        """Keep a result; it is either whole or not there."""
        make_folder(self.folder)
        write_atomically(self.folder / f"{task_id}.npz", _seal(_pack(key, result)))

    def read(self, task_id: str, key: str) -> TaskResult | None:
        """Return the result of a task, or None if there is none computed from the same things."""
        try:
            content = read_file(self.folder / f"{task_id}.npz")
        except OSError:
            return None
        if not _is_sealed(content):
            return None
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            head = json.loads(file[HEAD].tobytes())
            return _unpack(head, file) if head["key"] == key else None


def _seal(arrays: dict[str, Any]) -> bytes:
    """Return arrays as an npz file whose comment, at its very end, is a checksum of all bytes before it."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.comment = bytes(CHECKSUM)
    content = buffer.getvalue()[:-CHECKSUM]
    return content + hashlib.sha256(content).hexdigest().encode()


def _is_sealed(content: bytes) -> bool:
    return hashlib.sha256(content[:-CHECKSUM]).hexdigest().encode() == content[-CHECKSUM:]


def _pack(key: str, result: TaskResult) -> dict[str, Any]:
    """Return the arrays of a result under plain names, and the head, which says whose they are."""
    methods = {kind: list(getattr(result, kind)) for kind in BY_METHOD}
    head = {"key": key, "rows": result.rows, "seconds": result.seconds, "latency": result.latency, **methods}
    arrays = {name: getattr(result, name) for name in SINGLE if getattr(result, name) is not None}
    for kind in BY_METHOD:
        arrays |= {f"{kind}_{i}": values for i, values in enumerate(getattr(result, kind).values())}
    return {HEAD: np.frombuffer(json.dumps(head).encode(), np.uint8), **arrays}


def _unpack(head: dict[str, Any], arrays: Any) -> TaskResult:
    found: dict[str, Any] = {name: arrays[name] for name in SINGLE if name in arrays}
    for kind in BY_METHOD:
        found[kind] = {method: arrays[f"{kind}_{i}"] for i, method in enumerate(head[kind])}
    return TaskResult(head["rows"], **found, seconds=head["seconds"], latency=head["latency"])
