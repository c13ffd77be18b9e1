"""The benchmark of a batch measures what it says; how long it takes is not for a test to say."""

from __future__ import annotations

import numpy as np

from neurofs.bench import batch
from neurofs.execute import Processes


def test_a_short_task_sleeps_and_returns_its_number():
    (number, result), *_ = Processes(1).run(batch.work_briefly, 0.0, [3])
    assert number == 3
    assert np.array_equal(result.arrays["weights"], np.full(6400, 3, np.float32))


def test_time_and_memory_are_measured():
    seconds, memory = batch.run_short_tasks(0.01, 4)
    assert seconds > 0.02
    assert memory > 10 * 2**20


def test_rows():
    row = batch.overhead_row(n_tasks=4, seconds=0.0)
    assert row.what == "4 tasks of 0 ms, 2 processes: beyond their own time"
    assert row.met is (float(row.figure.split()[0]) < 3)
    row = batch.memory_row(few=2, many=4)
    assert row.what == "peak memory of the coordinator, 2 and 4 tasks"
