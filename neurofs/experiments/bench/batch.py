"""What a batch costs beyond its tasks: time around short tasks, and the memory of the coordinator."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from neurofs.comparison.store import TaskResult, TaskStore
from neurofs.experiments.bench.meters import peak_memory, run_alone
from neurofs.experiments.bench.row import Row
from neurofs.running.events import EventLog
from neurofs.running.executors import Processes

N_JOBS = 2


def measure_batch() -> Iterator[Row]:
    """Yield the rows of the table."""
    yield overhead_row()
    yield memory_row()


def work_briefly(seconds: float, number: int) -> TaskResult:
    """Sleep for some seconds and return a result of a usual size, as a task does."""
    time.sleep(seconds)
    return TaskResult([{"n": number}] * 60, weights=np.full(6400, number, np.float32), seconds=seconds)


def run_short_tasks(seconds: float, n_tasks: int) -> tuple[float, int]:
    """Run tasks as a batch does and record each result; return the time it took and the peak memory."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store, events = TaskStore(folder / "tasks"), EventLog(folder / "events.jsonl")
        for number, result in Processes(N_JOBS).run(work_briefly, seconds, range(n_tasks)):
            store.write(f"task-{number}", "key", result)
            events.write("task_recorded", task=number, seconds=result.seconds)
    return time.perf_counter() - started, peak_memory()


def overhead_row(n_tasks: int = 200, seconds: float = 0.01) -> Row:
    """Measure the time that tasks of 10 ms take beyond their own, with the start of the processes."""
    spent = run_short_tasks(seconds, n_tasks)[0] - n_tasks * seconds / N_JOBS
    what = f"{n_tasks} tasks of {1000 * seconds:g} ms, {N_JOBS} processes: beyond their own time"
    return Row(what, f"{spent:.1f} s", "under 3 s", spent < 3)


def memory_row(few: int = 200, many: int = 2000) -> Row:
    """Measure how the peak memory of a coordinator, a process of its own, grows with the number of tasks."""
    small, large = (run_alone(run_short_tasks, 0.0, n_tasks)[1] for n_tasks in (few, many))
    what = f"peak memory of the coordinator, {few} and {many} tasks"
    figure = f"{small / 2**20:.0f}, {large / 2**20:.0f} MB"
    return Row(what, figure, "within 5 %", large < 1.05 * small)
