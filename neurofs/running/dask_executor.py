"""Tasks on a Dask cluster: one of this machine, one that runs already, or one that a queueing system starts.

A Dask worker does not do a task itself but lets a child process do it (`running.worker`), so that limits and
crashes are what they are elsewhere, and every task runs on one thread. What the tasks of a session share is sent
to one worker, from which the others get it as they need it (to send it to all at once may wait forever for a worker
that died meanwhile); if the last worker that had it is lost, it is sent again, and so are the tasks that were lost
with it.
"""

import logging
import time
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import CancelledError
from contextlib import suppress
from importlib.util import find_spec
from threading import Lock
from typing import Any

from neurofs.ground.errors import InputError, UsageError, printable
from neurofs.running.batch.config import ClusterOptions
from neurofs.running.executors import Executor, Function, Job, Results
from neurofs.running.worker import SINGLE_THREAD, Failure, Limits, Shared, Worker

MAX_LOSSES = 5
"""A task that was lost this often, each time with another worker, is given up."""

N_SENT = 3
"""Sessions whose shared values are kept on the workers: one that ends, one that runs, one that begins."""

PAUSE = 1.0
"""Seconds after which a scheduler has taken note of a worker that died."""

ROUND = 10.0
"""Seconds after which workers that ended are replaced."""

PATIENCE = 10
"""Seconds in which a scheduler must answer."""

CLUSTERS = {
    "slurm": "SLURMCluster",
    "pbs": "PBSCluster",
    "lsf": "LSFCluster",
    "sge": "SGECluster",
    "htcondor": "HTCondorCluster",
}
ACCOUNT_KEYS = {"lsf": "project", "sge": "project"}
"""Where a kind of cluster calls the account something else."""


class Dask(Executor):
    """Tasks on the workers of a Dask client."""

    def __init__(self, client: Any, n_jobs: int, limits: Limits | None = None, cluster: Any = None) -> None:
        self.client, self.cluster = client, cluster
        self.n_jobs, self.limits = n_jobs, limits or Limits()
        self._sent: dict[str, Any] = {}
        self._replaced = time.monotonic()

    def run_jobs(self, function: Function, jobs: Iterable[Job]) -> Results:
        """Yield each job with its result, as they are done."""
        from distributed.client import ClosedClientError

        place = f"scheduler {printable(self.client.scheduler.address)}"
        pending: dict[Any, Job] = {}
        losses: dict[int, int] = defaultdict(int)
        try:
            for job in jobs:
                pending[self._submit(function, job)] = job
                if len(pending) >= max(4 * self.n_jobs, 64):
                    yield from self._collect(function, pending, losses)
            while pending:
                yield from self._collect(function, pending, losses)
        except (OSError, ClosedClientError) as error:
            remedy = "Start it again, then this command: what is done is kept."
            raise InputError(place, "a Dask scheduler that answers", error, remedy) from None
        finally:
            self._leave(list(pending))

    def _leave(self, pending: list[Any]) -> None:
        """Drop what is not done, and the child processes of the workers."""
        from distributed.client import ClosedClientError

        self._sent.clear()
        with suppress(OSError, ClosedClientError):
            self.client.cancel(pending)
            self.client.run(dismiss_workers)

    def _submit(self, function: Function, job: Job) -> Any:
        if job.shared.key not in self._sent:
            if len(self._sent) == N_SENT:
                self._sent.pop(next(iter(self._sent)))
            self._sent[job.shared.key] = self._send(job.shared.packed)
        sent = self._sent[job.shared.key]
        return self.client.submit(call_in_child, function, job.shared.key, sent, job.item, self.limits, pure=False)

    def _send(self, packed: bytes) -> Any:
        """Send bytes to a worker; the scheduler may choose one that has just died, so more than once."""
        for _ in range(MAX_LOSSES):
            self._await_worker()
            if self.client.status == "closed":
                raise ConnectionError("the connection was closed")
            with suppress(OSError):
                return self.client.scatter(packed, hash=False)
            time.sleep(PAUSE)
        return self.client.scatter(packed, hash=False)

    def _forget_lost(self, key: str) -> None:
        """Have the value of a key sent again, unless it is still there, or has been sent again meanwhile."""
        if key in self._sent and self._sent[key].status != "finished":
            del self._sent[key]

    def _await_worker(self) -> None:
        """Wait for a first worker, however long the queue is; who starts workers elsewhere has to see to it."""
        while self.cluster is not None and not self.client.nthreads():
            self._replace_workers()
            time.sleep(PAUSE)

    def _collect(self, function: Function, pending: dict[Any, Job], losses: dict[int, int]) -> Results:
        """Wait for at least one task; yield those that are done, and send those that were lost again."""
        self._wait(list(pending))
        for future in [future for future in pending if future.status != "pending"]:
            job = pending.pop(future)
            result = _read(future)
            if result is LOST and losses[id(job)] < MAX_LOSSES:
                losses[id(job)] += 1
                self._forget_lost(job.shared.key)
                pending[self._submit(function, job)] = job
            else:
                losses.pop(id(job), None)  # another job may get the same id
                yield job, GIVEN_UP if result is LOST else result

    def _wait(self, futures: list[Any]) -> None:
        """Wait until a task is done or lost; meanwhile, workers that ended are replaced."""
        from distributed import wait

        with suppress(CancelledError):
            while True:
                self._replace_workers()
                with suppress(TimeoutError):
                    wait(futures, timeout=ROUND, return_when="FIRST_COMPLETED")
                    return

    def _replace_workers(self) -> None:
        """Ask for as many workers as there were, now and then: a job may be canceled, and its node may fail."""
        if self.cluster is not None and time.monotonic() - self._replaced > ROUND:
            self._replaced = time.monotonic()
            self.cluster.scale(len(self.cluster.worker_spec))

    def close(self) -> None:
        """Leave the cluster; end it if it was started for this."""
        self.client.close()
        if self.cluster is not None:
            self.cluster.close()


LOST = object()
GIVEN_UP = Failure(f"lost with its worker {MAX_LOSSES} times; look into the logs of the workers", died=True)


def _read(future: Any) -> Any:
    """Return the result of a task, or `LOST` if it went with its worker."""
    from distributed import KilledWorker

    try:
        return future.result()
    except (CancelledError, KilledWorker):
        return LOST


# On a Dask worker

_idle: dict[Limits, list[Worker]] = defaultdict(list)
_idle_lock = Lock()
"""A Dask worker does as many tasks at a time as it has threads."""


def call_in_child(function: Function, key: str, packed: bytes, item: Any, limits: Limits) -> Any:
    """Let a child process of this Dask worker do a task."""
    with _idle_lock:
        worker = _idle[limits].pop() if _idle[limits] else Worker(limits)
    try:
        return worker.call(function, Shared(key, packed), item)
    finally:
        with _idle_lock:
            _idle[limits].append(worker)


def dismiss_workers() -> None:
    """End the child processes of this Dask worker that have nothing to do."""
    with _idle_lock:
        dismissed = [worker for idle in _idle.values() for worker in idle]
        _idle.clear()
    for worker in dismissed:
        worker.close()


# Clusters


def connect_dask(
    n_jobs: int, limits: Limits | None, scheduler: str | None = None, options: ClusterOptions | None = None
) -> Dask:
    """Return an executor on a running scheduler, on a queueing system, or on a new cluster of this machine."""
    if find_spec("distributed") is None:
        raise UsageError('Dask is not installed; run: pip install "neurofs[cluster]"')
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # lost workers are dealt with here
    if scheduler is not None:
        return _join(scheduler, limits)
    from distributed import Client

    cluster = make_cluster(options) if options is not None else _start_local(n_jobs)
    n_jobs = options.jobs * options.cores if options is not None else n_jobs
    client = Client(cluster)
    client.wait_for_workers(1)
    return Dask(client, n_jobs, limits, cluster)


def _join(scheduler: str, limits: Limits | None) -> Dask:
    from distributed import Client

    try:
        client = Client(scheduler, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise InputError(
            f"scheduler {printable(scheduler)}", "a Dask scheduler that answers", error, "Check the address."
        ) from None
    client.wait_for_workers(1)
    return Dask(client, sum(client.nthreads().values()), limits)


def _start_local(n_jobs: int) -> Any:
    from distributed import LocalCluster

    return LocalCluster(n_workers=n_jobs, threads_per_worker=1, dashboard_address=None)


def make_cluster(options: ClusterOptions, n_jobs: int | None = None) -> Any:
    """Return workers that the queueing system starts, with the threads of libraries held to one."""
    if find_spec("dask_jobqueue") is None:
        raise UsageError('dask-jobqueue is not installed; run: pip install "neurofs[cluster]"')
    import dask_jobqueue

    kind = getattr(dask_jobqueue, CLUSTERS[options.kind])
    exports = [f"export {name}={value}" for name, value in SINGLE_THREAD.items()]
    settings = {
        "cores": options.cores,
        "processes": 1,
        "memory": options.memory,
        "walltime": options.walltime,
        "queue": options.queue,
        ACCOUNT_KEYS.get(options.kind, "account"): options.account,
        "job_script_prologue": exports,
        "scheduler_options": {"dashboard": False, "dashboard_address": ":0"},
    }
    given = {key: value for key, value in settings.items() if value is not None}
    try:
        cluster = kind(**{**given, **options.settings})
    except (TypeError, ValueError) as error:
        raise UsageError(f"cluster: {options.kind}: {printable(error)}") from None
    cluster.scale(jobs=options.jobs if n_jobs is None else n_jobs)
    return cluster
