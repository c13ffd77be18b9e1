"""The benchmark of a batch measures what it says; how long it takes is not for a test to say."""

from __future__ import annotations

import numpy as np
import pytest

from neurofs.experiments.bench import batch
from neurofs.running.executors import Processes


def test_a_short_task_sleeps_and_returns_its_number():
    (number, result), *_ = Processes(1).run(batch.work_briefly, 0.0, [3])
    assert number == 3
    assert np.array_equal(result.weights, np.full(6400, 3, np.float32))


def test_time_and_memory_are_measured():
    seconds, memory = batch.run_short_tasks(0.01, 4)
    assert seconds > 0.02
    assert memory > 10 * 2**20


@pytest.mark.parametrize(("seconds", "met"), [(3.02, True), (3.06, False)])
def test_the_row_of_time_leaves_out_the_tasks_themselves(monkeypatch, seconds, met):
    monkeypatch.setattr(batch, "run_short_tasks", lambda *_: (seconds, 0))
    row = batch.overhead_row(n_tasks=4, seconds=0.02)
    assert row.what == "4 tasks of 20 ms, 2 processes: beyond their own time"
    assert (row.figure, row.met) == ("3.0 s", met)


def test_the_row_of_memory():
    row = batch.memory_row(few=2, many=4)
    assert row.what == "peak memory of the coordinator, 2 and 4 tasks"
