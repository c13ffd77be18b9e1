"""The meters of the benchmarks: processor time, memory, and a process of its own to measure in."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from neurofs.ground import system
from neurofs.running.worker import SINGLE_THREAD

ENOUGH = 1.0  # seconds after which a call is no longer repeated
STATUS, RESTART = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def seconds(call: Callable[[], Any], repeats: int = 7) -> float:
    """Return the least processor time of a call, which other programs hardly disturb.

    If the call is to be repeated, it is made once before that to warm up.
    """
    if repeats > 1:
        call()
    best, spent = np.inf, 0.0
    for _ in range(repeats):
        start = time.process_time()
        call()
        elapsed = time.process_time() - start
        best, spent = min(best, elapsed), spent + elapsed
        if spent > ENOUGH:
            break
    return best


def peak_memory() -> int:
    """Return the largest resident memory of this process so far, in bytes.

    On Linux it is that of the program itself; elsewhere it may include the parent before the start, and children.
    """
    if STATUS.exists():
        return _read_status("VmHWM")
    return system.peak_memory()


def _read_status(field: str) -> int:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


class MemoryMeter:
    """The growth of the resident memory at its peak since the meter was made.

    On Linux the peak starts anew with the meter (`restarts`). Elsewhere the meter starts at the largest memory so
    far, and does not see what stays below it.
    """

    def __init__(self) -> None:
        self.restarts = os.access(RESTART, os.W_OK)
        if self.restarts:
            RESTART.write_text("5")
        self._start = _read_status("VmRSS") if self.restarts else peak_memory()

    def read(self) -> int:
        """Return the growth in bytes."""
        return peak_memory() - self._start


def run_alone(function: Callable[..., Any], *arguments: Any, timeout: float | None = None) -> Any:
    """Return what a function of a module returns in a fresh process on one thread; values are passed as JSON.

    >>> run_alone(max, 3, 7)
    7
    """
    place = [function.__module__, function.__name__, json.dumps(arguments)]
    answer = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", __name__, *place],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **SINGLE_THREAD},
        timeout=timeout,
    )
    return json.loads(answer.stdout.splitlines()[-1])


if __name__ == "__main__":
    found = getattr(import_module(sys.argv[1]), sys.argv[2])
    print(json.dumps(found(*json.loads(sys.argv[3]))))
