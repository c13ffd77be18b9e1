"""How long large sessions take, and how much memory: from the file to the report, stage by stage.

A made-up session without trials: spikes that follow a smooth velocity at lags of their own. Memory is that of all
processes together, what they share counted once, sampled twice a second.
"""

import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from neurofs.experiments.bench.row import Row

INTERVAL = 0.5


@dataclass(frozen=True)
class Large:
    """A large session, and what is promised of it."""

    n_channels: int
    n_bins: int
    bin_width: float
    n_lags: int
    minutes: float
    gigabytes: float

    def __str__(self) -> str:
        length = f"{self.n_bins * self.bin_width / 60:.0f} min"
        return f"{self.n_channels} channels × {self.n_lags} lags × {self.n_bins} bins ({length})"


LARGE = Large(384, 18_000, 0.1, 10, 10, 3)
LARGEST = Large(1000, 72_000, 0.05, 20, 60, 8)


def measure_scale(largest: bool = False, dask: bool = False) -> Iterator[Row]:
    """Yield the rows of a large session, or of the largest; with `dask`, also on clusters of one and two workers."""
    size = LARGEST if largest else LARGE
    with tempfile.TemporaryDirectory() as folder:
        path = write_session(size, Path(folder) / "session.npz")
        yield from _whole_rows(size, path, Path(folder))
        if dask:
            yield from _dask_rows(size, path, Path(folder))


def write_session(size: Large, path: Path) -> Path:
    """Write a session of this size, the same each time."""
    from neurofs.recordings.recording import Recording, Series
    from neurofs.recordings.writers import write

    rng = np.random.default_rng(0)
    n_bins, n_channels = size.n_bins, size.n_channels
    window = np.hanning(round(1 / size.bin_width) + 2)
    velocity = np.column_stack([np.convolve(rng.normal(size=n_bins), window, "same") for _ in range(2)])
    velocity /= velocity.std(axis=0)
    slopes = rng.normal(size=(2, n_channels)) * (rng.random(n_channels) < 0.3) * 0.3
    lags = rng.integers(0, size.n_lags, n_channels)
    rates = rng.lognormal(0.0, 0.7, n_channels) * size.bin_width * 5
    starts = size.bin_width * np.arange(n_bins)
    spikes = []
    for c in range(n_channels):
        counts = rng.poisson(rates[c] * np.exp(np.roll(velocity @ slopes[:, c], -lags[c])))
        times = np.repeat(starts, counts) + size.bin_width * rng.random(counts.sum())
        spikes.append(np.sort(times))
    behavior = {"velocity": Series("velocity", starts + size.bin_width / 2, velocity, ("x", "y"), "cm/s")}
    observed = [[0.0, n_bins * size.bin_width]]
    write(Recording("large", spikes=spikes, behavior=behavior, observed=observed), path)
    return path


# --------------------------------------------------------------------------------------------------- stages


@dataclass(frozen=True)
class Stage:
    """What a stage took: seconds by the clock, bytes of all processes together at most."""

    name: str
    seconds: float
    memory: int


class Stages:
    """Measures stages one after the other, by a thread that looks at the memory."""

    def __init__(self) -> None:
        self.done: list[Stage] = []
        self._peak, self._ended = 0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Stages":
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._ended.set()
        self._thread.join()

    @contextmanager
    def measure(self, name: str) -> Iterator[None]:
        """Measure what is done inside."""
        self._peak, start = sum_memory(), time.perf_counter()
        yield
        self._peak = max(self._peak, sum_memory())
        self.done.append(Stage(name, time.perf_counter() - start, self._peak))

    def _watch(self) -> None:
        while not self._ended.wait(INTERVAL):
            self._peak = max(self._peak, sum_memory())


def sum_memory() -> int:
    """Return the memory of this process and all that descend from it; what they share counts once, where known."""
    me, total = psutil.Process(), 0
    for process in (me, *me.children(recursive=True)):
        try:
            info = process.memory_full_info()
        except psutil.Error:  # it ended
            continue
        total += getattr(info, "pss", info.uss)
    return total


def decode_in_stages(size: Large, path: Path, out: Path, executor: Any) -> tuple[list[Stage], dict[str, float]]:
    """Decode a session as the command does; return its stages, and the processor time of tasks by method."""
    from neurofs.comparison.comparison import save
    from neurofs.comparison.store import TaskStore
    from neurofs.ground.config import RunOptions
    from neurofs.pipeline import finish, prepare
    from neurofs.report.page import write_report
    from neurofs.running.session import open_run, run_tasks

    options = RunOptions(file=str(path), target="velocity", bin_width=size.bin_width, n_lags=size.n_lags)
    with Stages() as stages, closing(executor):
        with stages.measure("read, bin, make folds"):
            prepared = prepare(options)
            open_run(out, prepared.options)
        with stages.measure("select and decode, all folds"):
            results = run_tasks(prepared.problem, TaskStore(out / "tasks"), executor)
        with stages.measure("test channels, summarize"):
            comparison = finish(prepared, results)
        with stages.measure("write results and report"):
            save(comparison, out)
            write_report(out)
    by_method: dict[str, float] = defaultdict(float)
    for task, result in results.items():
        by_method[task.method] += result.seconds
    return stages.done, by_method


def _whole_rows(size: Large, path: Path, folder: Path) -> Iterator[Row]:
    """Decode with all cores, and show each stage, method and sum."""
    from neurofs.running.executors import make_executor

    out = folder / "run"
    out.mkdir()
    stages, by_method = decode_in_stages(size, path, out, make_executor())
    minutes, memory = sum(s.seconds for s in stages) / 60, max(s.memory for s in stages) / 1e9
    for stage in stages:
        yield Row(f"  {stage.name}", f"{stage.seconds:.1f} s, {stage.memory / 1e9:.2f} GB")
    for method, seconds in sorted(by_method.items(), key=lambda item: -item[1]):
        yield Row(f"  tasks of {method}, together", f"{seconds:.1f} s of a core")
    yield Row("  report.html", f"{(out / 'report.html').stat().st_size / 1e6:.1f} MB")
    goal = f"{size.minutes:g} min, {size.gigabytes:g} GB"
    met = minutes <= size.minutes and memory <= size.gigabytes
    yield Row(f"decode {size}", f"{minutes:.1f} min, {memory:.2f} GB", f"at most {goal}", met)


def _dask_rows(size: Large, path: Path, folder: Path) -> Iterator[Row]:
    """Do all tasks on clusters of one and two workers of this machine."""
    from neurofs.comparison.evaluate import run_task
    from neurofs.comparison.problem import list_tasks
    from neurofs.ground.config import RunOptions
    from neurofs.pipeline import prepare
    from neurofs.running.executors import make_executor

    options = RunOptions(file=str(path), target="velocity", bin_width=size.bin_width, n_lags=size.n_lags)
    problem = prepare(options).problem
    tasks = [task for task in list_tasks(problem) if task.fold == 0]
    times = []
    for n_workers in (1, 2):
        with closing(make_executor(n_workers, kind="dask")) as executor:
            start = time.perf_counter()
            dict(executor.run(run_task, problem, tasks))
            times.append(time.perf_counter() - start)
        yield Row(f"  the first fold on a Dask cluster, workers: {n_workers}", f"{times[-1]:.1f} s")
    ratio = times[1] / times[0]
    yield Row("the first fold on two Dask workers, time of one", f"{ratio:.2f}", "at most 0.65", ratio <= 0.65)
