"""Doing tasks: one after the other, side by side in processes, or on a cluster, always with the same results.

An executor has one method of its own, ``run_jobs(function, jobs)``, which yields each job with its result,
or with a `Failure`, as they are done, in any order. Jobs are taken from their iterator a few at a time, so that
neither they nor their results pile up. What jobs share travels once to each worker.
"""

import queue
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import joblib

from neurofs.ground.errors import UsageError
from neurofs.running.worker import Limits, Shared, Worker, attempt

Function = Callable[[Any, Any], Any]
Results = Generator[tuple[Any, Any], None, None]


@dataclass(frozen=True, eq=False)
class Job:
    """One task: its item, what it shares with others, and whatever the caller wants to know it by."""

    shared: Shared
    item: Any
    tag: Any = None


class Executor:
    """Does tasks; what all executors have in common."""

    n_jobs = 1

    def run_jobs(self, function: Function, jobs: Iterable[Job]) -> Results:
        """Yield each job with ``function(job.shared.value, job.item)`` or a `Failure`, as they are done."""
        raise NotImplementedError

    def run(self, function: Function, shared: Any, items: Iterable[Any]) -> Results:
        """Yield each item with ``function(shared, item)`` or a `Failure`, as they are done."""
        common = Shared.pack("", shared)
        with closing(self.run_jobs(function, (Job(common, item) for item in items))) as results:
            for job, result in results:
                yield job.item, result

    def close(self) -> None:
        """Give back what the executor holds."""


class Serial(Executor):
    """One after the other, in this process; an error that no data explains shows its traceback.

    >>> list(Serial().run(lambda shared, item: shared + item, 10, [1, 2]))
    [(1, 11), (2, 12)]
    """

    def run_jobs(self, function: Function, jobs: Iterable[Job]) -> Results:
        """Yield each job with its result, in order."""
        for job in jobs:
            yield job, attempt(function, job.shared.value, job.item)


class Processes(Executor):
    """Side by side in `n_jobs` processes of this machine, each with one thread and within limits.

    >>> sorted(Processes(2).run(pow, 2, [1, 2, 3]))
    [(1, 2), (2, 4), (3, 8)]
    """

    def __init__(self, n_jobs: int, limits: Limits | None = None) -> None:
        self.n_jobs = n_jobs
        self.limits = limits

    def run_jobs(self, function: Function, jobs: Iterable[Job]) -> Results:
        """Yield each job with its result, as they are done."""
        workers = [Worker(self.limits) for _ in range(self.n_jobs)]
        idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        for worker in workers:
            idle.put(worker)
        threads = ThreadPoolExecutor(self.n_jobs)
        try:
            yield from _run_bounded(lambda job: threads.submit(_call, idle, function, job), jobs, 2 * self.n_jobs)
        finally:
            for worker in workers:
                worker.stop()
            threads.shutdown(cancel_futures=True)
            for worker in workers:
                worker.close()


def _call(idle: queue.SimpleQueue[Worker], function: Function, job: Job) -> Any:
    """Let an idle worker do a job."""
    worker = idle.get()
    try:
        return worker.call(function, job.shared, job.item)
    finally:
        idle.put(worker)


def _run_bounded(submit: Callable[[Job], Future[Any]], jobs: Iterable[Job], n_ahead: int) -> Results:
    """Submit jobs, never more than `n_ahead` at a time, and yield each with the result of its future."""
    pending: dict[Future[Any], Job] = {}
    for job in jobs:
        pending[submit(job)] = job
        if len(pending) >= n_ahead:
            yield from _collect(pending)
    while pending:
        yield from _collect(pending)


def _collect(pending: dict[Future[Any], Job]) -> Results:
    """Wait for at least one job and yield those that are done."""
    for future in wait(list(pending), return_when=FIRST_COMPLETED).done:
        yield pending.pop(future), future.result()


def make_executor(
    n_jobs: int | None = None,
    limits: Limits | None = None,
    kind: str | None = None,
    scheduler: str | None = None,
    cluster: Any = None,
) -> Executor:
    """Return an executor for so many tasks at a time; all cores by default.

    Its kind is serial, processes or dask; dask by default if there is a `scheduler` (the address of a running Dask
    cluster) or a `cluster` (that section of a batch file).

    >>> type(make_executor(1)).__name__, type(make_executor(1, Limits())).__name__
    ('Serial', 'Processes')
    """
    n_jobs, clustered = count_jobs(n_jobs), scheduler is not None or cluster is not None
    alone = n_jobs == 1 and limits is None
    kind = kind or ("dask" if clustered else "serial" if alone else "processes")
    if scheduler is not None and kind != "dask":
        raise UsageError(f"--scheduler needs --executor dask; found {kind}")
    if kind == "serial" and limits not in (None, Limits()):
        message = "--executor serial runs tasks in this process, without limits; use processes --jobs 1"
        raise UsageError(message)
    if kind != "dask":
        return Serial() if kind == "serial" else Processes(n_jobs, limits)
    from neurofs.running.dask_executor import connect_dask

    return connect_dask(n_jobs, limits, scheduler, cluster)


def count_jobs(n_jobs: int | None) -> int:
    """Return how many tasks to do at a time: as many as asked for, or as there are cores for this process."""
    return n_jobs or int(joblib.cpu_count())
