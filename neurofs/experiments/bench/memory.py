"""Peak memory of the running process."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

__all__ = ["peak_memory"]


def peak_memory() -> int:
    """Return the largest resident memory of this process so far, in bytes.

    Linux tells it for the program itself; elsewhere the figure may include the parent before the start.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
