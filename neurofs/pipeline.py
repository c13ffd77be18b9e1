"""The path of the data, written once: file → recording → tensor → tasks → comparison → run folder.

    prepared = prepare(options)                      # load, bin, make folds
    results = {task: run_task(prepared.problem, task) for task in list_tasks(prepared.problem)}
    comparison = finish(prepared, results)           # scores, weights, predictions, statistics
    save(comparison, "runs/day1"); write_report("runs/day1")

`decode` does all of it for one session, keeps every finished task in the run folder, and goes on from there
when it is called again.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xarray as xr

from neurofs.comparison.comparison import Comparison, save, start_run
from neurofs.comparison.digest import summarize
from neurofs.comparison.evaluate import run_task
from neurofs.comparison.problem import Problem, Task, list_tasks, task_key
from neurofs.comparison.provenance import describe_provenance
from neurofs.comparison.session import describe_session
from neurofs.comparison.store import TaskResult, TaskStore
from neurofs.comparison.summary import Provenance
from neurofs.comparison.tables import (
    assemble_null,
    assemble_predictions,
    assemble_scores,
    assemble_weights,
    rank_channels,
)
from neurofs.features.tensor import build_tensor
from neurofs.ground.config import (
    CompareOptions,
    LoadOptions,
    RunOptions,
    TensorOptions,
    select_options,
)
from neurofs.ground.errors import TaskFailed
from neurofs.ground.files import remove_parts
from neurofs.recordings.readers import load
from neurofs.recordings.recording import Recording
from neurofs.running.events import write_log
from neurofs.running.executors import Executor, Failure, Serial
from neurofs.running.lock import hold_folder

__all__ = ["Prepared", "compare", "decode", "finish", "prepare", "run_tasks"]

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Prepared:
    """A session that is loaded, binned and cut into folds."""

    options: RunOptions
    recording: Recording
    tensor: xr.Dataset
    problem: Problem


def prepare(options: RunOptions, recording: Recording | None = None) -> Prepared:
    """Load the file that the options name (unless the recording is given), bin it, and make the folds."""
    if recording is None:
        recording = load(str(options.file), select_options(LoadOptions, options))
    tensor = build_tensor(recording, **dict(select_options(TensorOptions, options)))
    problem = Problem.from_tensor(tensor, select_options(CompareOptions, options))
    return Prepared(options, recording, tensor, problem)


def finish(
    prepared: Prepared, results: Mapping[Task, TaskResult], provenance: Provenance | None = None
) -> Comparison:
    """Put the results of all tasks together."""
    problem, tensor, recording = prepared.problem, prepared.tensor, prepared.recording
    scores = assemble_scores(problem, results)
    weights = assemble_weights(problem, tensor, results)
    predictions = assemble_predictions(problem, results)
    session = describe_session(recording, tensor, rank_channels(weights))
    summary = summarize(
        recording,
        tensor,
        problem,
        scores,
        weights,
        predictions,
        assemble_null(results),
        provenance or describe_provenance(prepared.options, recording),
    )
    return Comparison(scores, weights, predictions, session, summary, prepared.options)


def compare(recording: Recording, target: str | list[str], **options: Any) -> Comparison:
    """Compare selectors on a recording; `options` are the keys of a run.toml.

    >>> from neurofs.recordings.simulate import simulate_session
    >>> session = simulate_session(12, n_electrodes=4, random_state=1)
    >>> found = compare(session, "hand_velocity:x", n_lags=3, selectors=["corrcoef"], n_splits=3, n_shifts=0)
    >>> found.summary.audit.passed, found.summary.methods[0].method
    (True, 'corrcoef')
    """
    prepared = prepare(RunOptions(target=target, **options), recording)
    tasks = list_tasks(prepared.problem)
    return finish(prepared, {task: run_task(prepared.problem, task) for task in tasks})


def decode(
    options: RunOptions,
    out: str | Path,
    executor: Executor | None = None,
    progress: Progress | None = None,
    command: str = "",
    fresh: bool = False,
) -> Comparison:
    """Compare on one session and write the run folder `out`.

    What an earlier run left there is used, unless `fresh`; another run that writes there now raises `FolderInUse`.
    """
    started = time.perf_counter()
    prepared = prepare(options)
    with hold_folder(Path(out)) as folder:
        if fresh:
            shutil.rmtree(folder / "tasks", ignore_errors=True)
        remove_parts(folder, folder / "tasks")
        start_run(folder, options)
        write_log(folder, f"{command or 'decode'}: {len(list_tasks(prepared.problem))} tasks")
        try:
            results = run_tasks(prepared.problem, TaskStore(folder / "tasks"), executor or Serial(), progress)
        except TaskFailed as error:
            write_log(folder, f"{error}\n{error.detail}")
            raise
        provenance = describe_provenance(options, prepared.recording, command, time.perf_counter() - started)
        comparison = finish(prepared, results, provenance)
        save(comparison, folder)
        write_log(folder, f"done after {time.perf_counter() - started:.0f} s")
    return comparison


def run_tasks(
    problem: Problem, store: TaskStore, executor: Executor, progress: Progress | None = None
) -> dict[Task, TaskResult]:
    """Return the results of all tasks, doing only those that the store does not have."""
    tasks = list_tasks(problem)
    keys = {task: task_key(problem, task) for task in tasks}
    results = {task: kept for task in tasks if (kept := store.read(task.id, keys[task]))}
    missing = [task for task in tasks if task not in results]
    report = progress or (lambda done, total: None)
    report(len(results), len(tasks))
    with closing(executor.run(run_task, problem, missing)) as found:
        for task, result in found:
            if isinstance(result, Failure):
                raise TaskFailed(f"{task.id}: {result.reason}", result.detail)
            store.write(task.id, keys[task], result)
            results[task] = result
            report(len(results), len(tasks))
    return results
