"""One thread for BLAS."""

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep BLAS to one thread: tasks run side by side, and sums come out the same everywhere.

    It has no effect on libraries that are loaded later.
    """
    with threadpool_limits(1):
        yield
