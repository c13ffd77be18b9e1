"""The sizes that a file declares, checked before anything is allocated.

A few bytes can declare a petabyte. `Budget` adds up what the parts of one file say they hold, and refuses
what cannot be stored in the bytes that are there or does not fit into memory. While a file is read, there is one
budget for all of it (`read_within_budget`), which its reader asks for (`find_budget`).
"""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import psutil

from neurofs.ground.errors import InputError

HARMLESS = 64 * 2**20
"""Bytes that a file may hold whatever it takes on disk: constant data compress without limit."""

MAX_RATIO = 200
"""Bytes in memory per byte on disk of larger files; counts of few spikes, compressed, stay well below."""

MAX_PARTS = 2_000_000
"""Arrays, cells and fields in one file."""


class Budget:
    """What the parts of one file may still take in memory.

    >>> Budget(limit=100).take("counts", n_bytes=1000, n_stored=1000)
    Traceback (most recent call last):
    neurofs.ground.errors.InputError: counts: expected data that fit into memory (100 bytes); found 1,000 bytes \
declared. Read it on a larger machine, or store less.
    """

    def __init__(self, limit: int | None = None) -> None:
        self.limit = memory_size() // 2 if limit is None else limit
        self.n_bytes = self.n_stored = self.n_parts = 0

    def take(self, where: str, n_bytes: int, n_stored: int) -> None:
        """Account for a part of `n_bytes` that takes `n_stored` bytes in the file, or refuse it."""
        self.n_bytes += n_bytes
        self.n_stored += n_stored
        if self.n_bytes > HARMLESS and self.n_bytes > MAX_RATIO * self.n_stored:
            raise InputError(
                where,
                "as much data as it declares",
                f"{n_bytes:,} bytes declared and {n_stored:,} stored",
                "The file is damaged or hostile; get a sound copy.",
            )
        if self.n_bytes > self.limit:
            raise InputError(
                where,
                f"data that fit into memory ({self.limit:,} bytes)",
                f"{self.n_bytes:,} bytes declared",
                "Read it on a larger machine, or store less.",
            )
        self.step(where)

    def step(self, where: str) -> None:
        """Account for one more part, or refuse a file that never ends."""
        self.n_parts += 1
        if self.n_parts > MAX_PARTS:
            raise InputError(where, f"at most {MAX_PARTS:,} parts", "more", "The file is damaged or refers to itself.")


_budget: ContextVar[Budget | None] = ContextVar("budget", default=None)


@contextmanager
def read_within_budget() -> Iterator[None]:
    """Let all readers that are called here share one new budget."""
    token = _budget.set(Budget())
    try:
        yield
    finally:
        _budget.reset(token)


def find_budget() -> Budget:
    """Return the budget of the file that is being read; a new one if nobody has set one."""
    return _budget.get() or Budget()


def count_bytes(shape: Iterable[int], itemsize: int) -> int:
    """Return the bytes of an array, exactly, however large.

    >>> count_bytes((10**9, 10**9), 8)
    8000000000000000000
    """
    return math.prod(int(n) for n in shape) * itemsize


def memory_size() -> int:
    """Return the bytes of memory of this machine."""
    return int(psutil.virtual_memory().total)
