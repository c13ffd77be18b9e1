"""Doing tasks: one after the other, or side by side in processes.

An executor has one method, ``run(function, shared, items)``, that yields ``(item, function(shared, item))`` as
the items are done, in any order. `shared` is what all items need; it travels once to each worker.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

__all__ = ["Executor", "Processes", "Serial", "make_executor"]


class Executor(Protocol):
    """Whatever can do tasks."""

    def run(
        self, function: Callable[[Any, Any], Any], shared: Any, items: Iterable[Any]
    ) -> Iterator[tuple[Any, Any]]:
        """Yield each item with its result, as they are done."""
        ...


class Serial:
    """One after the other, in this process.

    >>> list(Serial().run(lambda shared, item: shared + item, 10, [1, 2]))
    [(1, 11), (2, 12)]
    """

    def run(
        self, function: Callable[[Any, Any], Any], shared: Any, items: Iterable[Any]
    ) -> Iterator[tuple[Any, Any]]:
        """Yield each item with its result, in order."""
        for item in items:
            yield item, function(shared, item)


class Processes:
    """Side by side in `n_jobs` processes of this machine, each with one thread.

    >>> sorted(Processes(2).run(pow, 2, [1, 2, 3]))
    [(1, 2), (2, 4), (3, 8)]
    """

    def __init__(self, n_jobs: int) -> None:
        self.n_jobs = n_jobs

    def run(
        self, function: Callable[[Any, Any], Any], shared: Any, items: Iterable[Any]
    ) -> Iterator[tuple[Any, Any]]:
        """Yield each item with its result, as they are done."""
        from joblib import Parallel, delayed, parallel_config

        with parallel_config(backend="loky", n_jobs=self.n_jobs, inner_max_num_threads=1):
            yield from Parallel(return_as="generator_unordered", batch_size=1)(
                delayed(_call)(function, shared, item) for item in items
            )


def _call(function: Callable[[Any, Any], Any], shared: Any, item: Any) -> tuple[Any, Any]:
    return item, function(shared, item)


def make_executor(n_jobs: int | None = None) -> Executor:
    """Return an executor for so many tasks at a time; all cores by default.

    >>> type(make_executor(1)).__name__
    'Serial'
    """
    n_jobs = n_jobs or len(os.sched_getaffinity(0))
    return Serial() if n_jobs == 1 else Processes(n_jobs)
