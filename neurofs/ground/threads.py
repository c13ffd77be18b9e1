"""One thread for BLAS."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from threadpoolctl import threadpool_limits

_inside = ContextVar("_inside", default=False)


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep BLAS to one thread: tasks run side by side, and sums come out the same everywhere.

    It has no effect on libraries that are loaded later. To look for libraries takes some milliseconds, so that many
    short tasks are best done inside another one: then there is nothing left to do.
    """
    if _inside.get():
        yield
        return
    token = _inside.set(True)
    try:
        with threadpool_limits(1):
            yield
    finally:
        _inside.reset(token)
