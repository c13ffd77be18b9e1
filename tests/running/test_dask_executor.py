"""The Dask executor on a real cluster of loopback: same bytes, limits, crashes, and workers that are killed."""

from __future__ import annotations

import threading
from collections import defaultdict
from contextlib import contextmanager

import jobs
import numpy as np
import pytest
from dask_cluster import start_cluster, start_worker

from neurofs.ground.errors import InputError, UsageError
from neurofs.running.batch.config import ClusterOptions
from neurofs.running.dask_executor import MAX_LOSSES, Dask, call_in_child, connect_dask, dismiss_workers, make_cluster
from neurofs.running.executors import Job, Serial
from neurofs.running.worker import SINGLE_THREAD, Failure, Limits, Shared, Worker

pytestmark = [
    pytest.mark.dask,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # Dask closes its sockets after the test
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with start_cluster(tmp_path_factory.mktemp("dask")) as (address, workers):
        yield address, workers


@pytest.fixture
def join(cluster):
    opened = []

    def connect(limits=None):
        opened.append(connect_dask(1, limits, cluster[0]))
        opened[-1].client.wait_for_workers(2)
        return opened[-1]

    yield connect
    for executor in opened:
        executor.close()


def test_a_cluster_gives_the_same_bytes_as_one_process(join):
    shared = np.random.default_rng(0).normal(size=5)
    expected = {n: value.tobytes() for n, value in Serial().run(jobs.draw, shared, range(150))}
    assert {n: value.tobytes() for n, value in join().run(jobs.draw, shared, range(150))} == expected


def test_a_crash_costs_one_task(join):
    found = dict(join().run(jobs.abort, None, [1, 2]))
    assert found[2] == 2
    assert found[1].reason == "its process died (SIGABRT): free(): invalid pointer"


def test_limits_hold(join):
    found = dict(join(Limits(seconds=5)).run(jobs.wait, None, [3600, 0]))
    assert found[3600] == Failure("took longer than the limit of 5 s")
    assert isinstance(found[0], int)


def test_tasks_run_on_one_thread(join):
    assert dict(join().run(jobs.read_environment, None, SINGLE_THREAD)) == SINGLE_THREAD


@pytest.mark.parametrize("n_killed", [1, 2])
def test_killed_workers_cost_nothing(tmp_path, n_killed):
    """With both gone, what the tasks share is lost too; a new worker gets it again."""
    with start_cluster(tmp_path) as (address, processes):
        executor = connect_dask(1, None, address)
        executor.client.wait_for_workers(2)
        results = executor.run(jobs.add_slowly, 1000, range(40))
        found = dict(next(results) for _ in range(3))
        for worker in processes[1 : 1 + n_killed]:
            worker.kill()
        processes.append(start_worker(tmp_path, "late"))
        found |= dict(results)
        executor.close()
    assert found == {n: 1000 + n for n in range(40)}


@contextmanager
def killing(folder, processes):
    """Yield what begins, in another thread, to kill the oldest worker six times, each after a new one was started."""
    stop = threading.Event()

    def kill():
        for number in range(6):
            if stop.wait(0.3 if number < 4 else 3.0):
                return
            processes.append(start_worker(folder, f"late{number}"))
            oldest = next(process for process in processes[1:] if process.poll() is None)
            oldest.kill()
            oldest.wait()

    thread = threading.Thread(target=kill)
    try:
        yield lambda: thread.ident or thread.start()
    finally:
        stop.set()
        if thread.ident:
            thread.join()


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before", "while they are sent", "while tasks run"])
def test_workers_that_die_one_after_the_other_cost_nothing(tmp_path, monkeypatch, moment):
    """What tasks share is large enough that workers die while they get it."""
    shared = np.ones(5_000_000)
    with start_cluster(tmp_path) as (address, processes), killing(tmp_path, processes) as begin:
        executor = connect_dask(1, None, address)
        executor.client.wait_for_workers(2)
        if moment == "before":
            processes[1].kill()
        if moment == "while they are sent":
            send = executor._send
            monkeypatch.setattr(executor, "_send", lambda packed: (begin(), send(packed))[1])
        results = executor.run(jobs.count_slowly, shared, range(30))
        found = dict(next(results) for _ in range(2))
        begin()
        found |= dict(results)
        executor.close()
    assert found == {n: shared.size + n for n in range(30)}


@pytest.mark.slow
def test_a_scheduler_that_dies_ends_the_run_in_one_line(tmp_path):
    with start_cluster(tmp_path) as (address, processes):
        executor = connect_dask(1, None, address)
        executor.client.wait_for_workers(2)
        results = executor.run(jobs.add_slowly, 1000, range(200))
        next(results)
        processes[0].kill()
        with pytest.raises(InputError, match="expected a Dask scheduler that answers"):
            dict(results)
        executor.close()


class Hasty(list):
    """A list from which another thread takes the last one just after somebody has looked whether there is one."""

    taker = None

    def __len__(self):
        found = super().__len__()
        if found and self.taker is None:
            self.taker = threading.Thread(target=call_in_child, args=(jobs.wait, "", PACKED, 2, Limits()))
            self.taker.start()
            self.taker.join(timeout=0.5)
        return found


PACKED = Shared.pack("", 1).packed


def test_two_threads_of_a_dask_worker_do_not_take_the_same_child(monkeypatch):
    idle = Hasty([Worker()])
    monkeypatch.setattr("neurofs.running.dask_executor._idle", defaultdict(list, {Limits(): idle}))
    assert call_in_child(jobs.add, "", PACKED, 1, Limits()) == 2
    idle.taker.join()
    dismiss_workers()


def test_a_job_does_not_inherit_the_losses_of_one_that_is_gone():
    class Done:
        status = "finished"

        def result(self):
            return 1

    executor, losses = Dask(None, 1), defaultdict(int)
    job = Job(Shared("", PACKED), 1)
    losses[id(job)] = MAX_LOSSES
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("distributed.wait", lambda futures, timeout, return_when: None)
        assert list(executor._collect(jobs.add, {Done(): job}, losses)) == [(job, 1)]
    assert not losses


def test_no_scheduler_is_said_so(monkeypatch):
    monkeypatch.setattr("neurofs.running.dask_executor.PATIENCE", 1)
    with pytest.raises(InputError, match=r"scheduler tcp://127\.0\.0\.1:9: expected a Dask scheduler that answers"):
        connect_dask(1, None, "tcp://127.0.0.1:9")


@pytest.mark.parametrize("kind", ["slurm", "pbs", "lsf", "sge", "htcondor"])
def test_the_script_of_a_cluster_holds_libraries_to_one_thread(kind):
    settings = {"disk": "1GB"} if kind == "htcondor" else {}
    options = ClusterOptions(kind=kind, cores=2, memory="3GB", settings=settings)
    with make_cluster(options, n_jobs=0) as cluster:
        script = cluster.job_script()
    assert all(f"export {name}={value}" in script for name, value in SINGLE_THREAD.items())
    assert "--nthreads 2" in script


def test_settings_of_a_cluster_that_do_not_exist():
    with pytest.raises(UsageError, match=r"cluster: slurm: .*'walltm"):
        make_cluster(ClusterOptions(kind="slurm", settings={"walltme": "1:00"}))
