"""Foreign libraries read files in a process apart, under limits of time and memory.

What a damaged file does to a library that nobody here can mend (a loop without end, memory without end, a crash) costs
that process and nothing else. The process writes what it found into a file of plain arrays and JSON, which is not
unpickled: not even our own child is trusted after it has read a stranger's file.
"""

import importlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from neurofs.ground.errors import InputError
from neurofs.ground.system import limit_memory, limit_time

HEAD = "head"
SECONDS, SECONDS_PER_BYTE = 15.0, 1e-6
"""Time of the processor that any file may take, and more for each byte."""

BYTES, BYTES_PER_BYTE = 1.4e9, 3
"""Memory for any file, or for each byte of a large one."""

PATIENCE = 20
"""Seconds by the clock for each second of the processor: machines are busy."""

REMEDY = "Get a sound copy, or convert it to NWB with the program that wrote it."

Values = dict[str, Any]


def read_apart(module: str, function: str, *paths: Path, size: int | None = None) -> tuple[Values, list[str]]:
    """Return what a function finds in one or more files: values (arrays, texts, lists of either) by name, and notes.

    `size` is the number of bytes of a folder; that of a file is known.
    """
    size = sum(path.stat().st_size for path in paths) if size is None else size
    seconds, memory = SECONDS + size * SECONDS_PER_BYTE, max(BYTES, BYTES_PER_BYTE * size)
    command = [sys.executable, "-c", f"from {__name__} import serve; serve()", module, function]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with tempfile.TemporaryDirectory() as place:
        found = Path(place) / "found.npz"
        arguments = [str(found), str(int(seconds)), str(int(memory)), *map(str, paths)]
        try:
            ended = subprocess.run(
                [*command, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=environment,
                timeout=PATIENCE * seconds,
            )
        except subprocess.TimeoutExpired:
            raise _refuse(f"no end after {PATIENCE * seconds:.0f} s") from None
        if ended.returncode:
            raise _refuse(_explain(ended.returncode, ended.stderr, seconds))
        return _unpack(found.read_bytes())


def _refuse(found: str) -> InputError:
    return InputError("content", "a file that its library can read", found, REMEDY)


def _explain(code: int, words: bytes, seconds: float) -> str:
    """Return why a process ended before it had found anything."""
    name = signal.Signals(-code).name if code < 0 else ""
    if name in ("SIGXCPU", "SIGKILL"):
        return f"no end after {seconds:.0f} s of work"
    lines = words.decode("utf-8", "replace").strip().splitlines() or ["it left no message"]
    return f"the end of its process ({name or lines[-1]})"


# In the process apart


def serve() -> None:
    """Do what the arguments say, and write what came of it."""
    module, function, place, seconds, memory, *paths = sys.argv[1:]
    limit_time(int(seconds))
    reader = getattr(importlib.import_module(module), function)
    limit_memory(int(memory))
    try:
        content = _pack(*reader(*map(Path, paths)))
    except InputError as error:
        refusal = {"refusal": [error.where, error.expected, error.found, error.remedy]}
        content = _write({HEAD: np.frombuffer(json.dumps(refusal).encode(), np.uint8)})
    Path(place).write_bytes(content)


def _pack(values: Values, notes: list[str]) -> bytes:
    """Return values as the bytes of an archive: the head names them, and says which are arrays.

    >>> _unpack(_pack({"spikes": [np.ones(2)], "names": ["a"], "rate": np.float64(2)}, ["noted"]))
    ({'spikes': [array([1., 1.])], 'names': ['a'], 'rate': array(2.)}, ['noted'])
    """
    arrays: dict[str, np.ndarray] = {}
    head = {name: _put(value, arrays) for name, value in values.items()}
    text = json.dumps({"values": head, "notes": notes}).encode()
    return _write({HEAD: np.frombuffer(text, np.uint8), **arrays})


def _put(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Put arrays among the arrays, and return what stands for a value in the head."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return [_put(item, arrays) for item in value]
    array, key = np.asarray(value), str(len(arrays))
    if array.dtype.hasobject:
        raise TypeError(f"{type(value).__name__} is no plain array")
    arrays[key] = array
    return {"array": key}


def _write(arrays: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def _unpack(content: bytes) -> tuple[Values, list[str]]:
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        head = json.loads(arrays[HEAD].tobytes())
        if "refusal" in head:
            raise InputError(*head["refusal"])
        return {name: _take(value, arrays) for name, value in head["values"].items()}, head["notes"]


def _take(value: Any, arrays: Any) -> Any:
    if isinstance(value, list):
        return [_take(item, arrays) for item in value]
    return arrays[value["array"]] if isinstance(value, dict) else value
