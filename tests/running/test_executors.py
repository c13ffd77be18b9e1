"""Workers and executors: same results everywhere, and what a task does to its process costs that task alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing

import jobs
import numpy as np
import pytest
from batches import wait_for

import neurofs.running.worker
from neurofs.ground.errors import UsageError
from neurofs.running.executors import Job, Processes, Serial, make_executor
from neurofs.running.worker import SINGLE_THREAD, Failure, Limits, Shared, Worker


@pytest.fixture
def worker():
    worker = Worker()
    yield worker
    worker.close()


def call(worker, function, shared, item):
    return worker.call(function, Shared.pack(repr(shared), shared), item)


def test_a_worker_does_many_tasks_with_one_shared_value(worker):
    assert [call(worker, jobs.add, 10, n) for n in range(3)] == [10, 11, 12]
    assert call(worker, jobs.add, 20, 1) == 21


def test_a_process_that_aborts_costs_its_task_and_says_why(worker):
    results = [call(worker, jobs.abort, None, n) for n in range(4)]
    assert [results[0], results[2]] == [0, 2]
    assert (
        results[1]
        == results[3]
        == Failure("its process died (SIGABRT): free(): invalid pointer", "free(): invalid pointer", died=True)
    )


def test_a_task_whose_process_died_is_tried_once_more(worker, tmp_path):
    assert call(worker, jobs.die_once, str(tmp_path), 7) == 7


def test_what_no_data_explains_ends_the_process_with_its_message(worker):
    result = call(worker, jobs.leave, None, 0)
    assert result.died
    assert result.reason == "its process died (exit code 1): gone"


def test_a_worker_that_was_killed_while_idle_is_replaced(worker):
    pid = call(worker, jobs.wait, None, 0)
    os.kill(pid, signal.SIGKILL)
    assert call(worker, jobs.wait, None, 0) != pid


LONG = 3600
"""Seconds of a task that must be ended by others; a test that waited for it would hang."""


def test_a_limit_of_time():
    shared = Shared.pack("", None)
    with closing(Worker(Limits(seconds=0.3))) as worker:
        assert worker.call(jobs.wait, shared, LONG) == Failure("took longer than the limit of 0.3 s")
        assert isinstance(worker.call(jobs.wait, shared, 0, in_time=False), int)


class Tardy(Worker):
    """Its limit of time strikes while a task runs, and takes effect when the task has been done."""

    def __init__(self, limits):
        super().__init__(limits)
        self.done = threading.Event()

    def _stop_late(self, process):
        self.done.wait()
        time.sleep(0.3)
        super()._stop_late(process)


def test_a_task_does_not_pay_for_the_one_before_that_was_done_at_the_limit(monkeypatch):
    ask = neurofs.running.worker._ask

    def ask_and_tell(process, message):
        answer = ask(process, message)
        if message[0] == "do":
            worker.done.set()
        return answer

    monkeypatch.setattr("neurofs.running.worker._ask", ask_and_tell)
    shared = Shared.pack("", 1)
    with closing(Tardy(Limits(seconds=0.01))) as worker:
        assert worker.call(jobs.add_slowly, shared, 1) == 2
        assert isinstance(worker.call(jobs.wait, shared, 1, in_time=False), int)


def test_a_stopped_worker_begins_nothing(worker):
    worker.stop()
    assert call(worker, jobs.wait, None, LONG) == Failure("stopped")


class StoppedWhileStarting(Worker):
    """Another thread stops it while its child is being started."""

    def _start(self):
        stopper = threading.Thread(target=self.stop)
        stopper.start()
        stopper.join()
        return super()._start()


def test_a_worker_stopped_while_its_child_starts_does_not_wait_for_the_task():
    with closing(StoppedWhileStarting()) as worker:
        assert call(worker, jobs.wait, None, LONG) == Failure("stopped")


@pytest.mark.posix
def test_a_limit_of_memory():
    worker = Worker(Limits(memory=2**30))
    try:
        failure = call(worker, jobs.fill, None, 2**31)
        assert failure.reason.startswith("needed more memory than it may use: Unable to allocate 2.00 GiB")
        assert call(worker, jobs.fill, None, 800) == 100
    finally:
        worker.close()


def test_workers_run_on_one_thread(worker):
    found = {name: call(worker, jobs.read_environment, None, name) for name in SINGLE_THREAD}
    assert found == SINGLE_THREAD
    assert {value for name, value in found.items() if name.endswith("THREADS")} == {"1"}


def test_what_a_task_prints_does_not_disturb(worker):
    assert call(worker, jobs.print_much, None, 5) == 5


def test_a_worker_ends_with_its_parent(tmp_path):
    """The child of a process that is killed must not go on, though it is in the middle of a task."""
    code = (
        "import jobs; from neurofs.running.worker import *;"
        f"Worker().call(jobs.mark_and_wait, Shared.pack('', {str(tmp_path)!r}), {LONG})"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen([sys.executable, "-c", code], env=environment) as parent:
        wait_for(lambda: list(tmp_path.iterdir()))
        parent.kill()
    child = int(next(tmp_path.iterdir()).name)
    wait_for(lambda: not _runs(child))


def _runs(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


EXECUTORS = [Serial(), Processes(1), Processes(2)]


@pytest.mark.parametrize("executor", EXECUTORS, ids=["serial", "one", "two"])
def test_every_executor_gives_the_same_bytes(executor):
    shared = np.random.default_rng(0).normal(size=5)
    found = dict(executor.run(jobs.draw, shared, range(6)))
    assert {n: value.tobytes() for n, value in found.items()} == {n: jobs.draw(shared, n).tobytes() for n in range(6)}


@pytest.mark.parametrize("executor", EXECUTORS, ids=["serial", "one", "two"])
def test_a_failed_task_is_a_result(executor):
    found = dict(executor.run(divmod, 7, [0, 2]))
    assert found[2] == (3, 1)
    assert found[0].reason == "ZeroDivisionError: integer division or modulo by zero"
    assert "Traceback" in found[0].detail


def test_jobs_of_several_sessions_mix():
    one, two = Shared.pack("one", 1), Shared.pack("two", 2)
    found = list(Processes(2).run_jobs(jobs.add, [Job(s, n, (s.key, n)) for n in range(3) for s in (one, two)]))
    assert {job.tag: result for job, result in found} == {
        ("one", 0): 1, ("one", 1): 2, ("one", 2): 3, ("two", 0): 2, ("two", 1): 3, ("two", 2): 4
    }  # fmt: skip


def test_jobs_are_taken_a_few_at_a_time():
    taken = []

    def make():
        for n in range(50):
            taken.append(n)
            yield Job(Shared.pack("", 0), n)

    results = Processes(2).run_jobs(jobs.add, make())
    next(results)
    assert len(taken) <= 4
    results.close()


def test_leaving_early_ends_the_workers(tmp_path):
    results = Processes(2).run(jobs.mark_and_wait, str(tmp_path), [0, LONG, LONG, LONG])
    next(results)
    wait_for(lambda: len(list(tmp_path.iterdir())) == 2)
    results.close()
    assert not any(_runs(int(path.name)) for path in tmp_path.iterdir())


def test_limits_need_processes():
    assert isinstance(make_executor(1, Limits(seconds=1)), Processes)


def test_a_limit_of_memory_needs_linux(monkeypatch):
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(UsageError, match="needs Linux"):
        Limits(memory=1)
