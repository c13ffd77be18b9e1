"""One thread for numba and BLAS."""

from collections.abc import Iterator
from contextlib import contextmanager

import numba
from threadpoolctl import threadpool_limits


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep BLAS and numba to one thread: tasks run side by side, and sums come out the same everywhere.

    It has no effect on libraries that are loaded later.
    """
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        numba.set_num_threads(before)
