"""What differs between Linux, macOS and Windows, in one place: processes, memory, and paths in files."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PureWindowsPath
from typing import Any

import psutil

from neurofs.ground.files import find_address


def _find_resource() -> Any:
    """Return the module that knows what a process uses, which Windows does not have; None there."""
    try:
        import resource
    except ImportError:
        return None
    return resource


def peak_memory() -> int:
    """Return the most memory that this process, or the largest of its children that ended, has had, in bytes.

    Windows knows the peak of this process only.

    >>> peak_memory() > 10**6
    True
    """
    resource = _find_resource()
    if resource is None:
        memory = psutil.Process().memory_info()
        return int(getattr(memory, "peak_wset", memory.rss))
    unit = 1 if sys.platform == "darwin" else 1024
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return int(unit * max(resource.getrusage(kind).ru_maxrss for kind in kinds))


def can_limit_memory() -> bool:
    """Tell whether the memory of a process can be limited."""
    return sys.platform == "linux" and _find_resource() is not None


def limit_memory(n_bytes: int) -> None:
    """Let this process have so many bytes of data at most; 0 is no limit."""
    resource = _find_resource()
    if n_bytes and resource is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (n_bytes, n_bytes))


@contextmanager
def bound_memory(n_bytes: int) -> Iterator[None]:
    """While this lasts, let this process take at most so many more bytes, where that can be limited.

    A library that believes a damaged file then gets no memory, instead of all of it.
    """
    resource = _find_resource()
    if resource is None or not can_limit_memory():
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    bound = psutil.Process().memory_info().data + n_bytes
    if min((limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY), default=bound + 1) <= bound:
        yield
        return
    resource.setrlimit(resource.RLIMIT_DATA, (bound, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def limit_time(seconds: int) -> None:
    """Let this process have so many seconds of the processor, where that can be limited; then it is ended."""
    resource = _find_resource()
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))


def find_start(pid: int) -> float | None:
    """Return when a process of this computer started, in seconds since 1970; None if it runs no longer.

    A process that has ended but whose parent has not taken note of it (a zombie) counts as ended. Of a process that
    is not ours to ask, the time is 0.

    >>> import os
    >>> find_start(os.getpid()) > 0
    True
    """
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else float(process.create_time())
    except psutil.AccessDenied:
        return 0.0
    except (psutil.NoSuchProcess, OverflowError, ValueError):
        return None


def find_path(folder: Path, name: str) -> Path:
    r"""Return the path that a file in `folder` names, also if it was written on Windows, with ``\`` between folders.

    An address of a file elsewhere stays one.

    >>> find_path(Path("lab"), "day1\\m1.nwb").as_posix(), find_path(Path("lab"), "day1/m1.nwb").as_posix()
    ('lab/day1/m1.nwb', 'lab/day1/m1.nwb')
    """
    if find_address(name) is not None:
        return Path(name)
    path = folder / name
    return path if "\\" not in name or path.exists() else folder / PureWindowsPath(name).as_posix()
