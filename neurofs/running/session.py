"""One session: its run folder, with lock, log, progress, results and report.

Every finished task is kept in the run folder (`comparison.comparison`), so that a run that was interrupted goes on
where it stopped.
"""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

from neurofs.comparison.amount import describe_amount, warn_of_losses
from neurofs.comparison.comparison import Comparison, save, start_run
from neurofs.comparison.evaluate import run_task
from neurofs.comparison.facts import describe_facts
from neurofs.comparison.problem import Problem, Task, list_tasks, task_key
from neurofs.comparison.provenance import describe_provenance, find_latency
from neurofs.comparison.store import TaskResult, TaskStore
from neurofs.ground.config import RunOptions
from neurofs.ground.errors import TaskFailed
from neurofs.ground.files import remove_parts
from neurofs.pipeline import Prepared, finish, prepare
from neurofs.recordings.window import explain_window
from neurofs.running.earlier import check_settings
from neurofs.running.events import write_log
from neurofs.running.executors import Executor, Serial
from neurofs.running.first_look import FirstLook
from neurofs.running.forks import peak_memory
from neurofs.running.lock import hold_folder
from neurofs.running.marks import remove_mark, write_mark
from neurofs.running.pace import Pace, Size
from neurofs.running.worker import Failure

CountTasks = Callable[[int, int, float], None]
"""Is told how many tasks are done, of how many, and about how many seconds are left."""

Say = Callable[[str], None]


def decode(
    options: RunOptions,
    out: str | Path,
    executor: Executor | None = None,
    progress: CountTasks | None = None,
    command: str = "",
    fresh: bool = False,
    overwrite: bool = False,
    say: Say | None = None,
) -> Comparison:
    """Compare on one session and write the run folder `out` with its report.

    What an earlier run left there is used, unless `fresh`. A run with other settings is replaced only if `overwrite`,
    else it raises a `UsageError`; another run that writes there now raises `FolderInUse`.
    `say` is told, before the work begins, how much is decoded, and what should be known of it; then how well the
    first fold is decoded.
    """
    started, say = time.perf_counter(), say or _say_nothing
    prepared = prepare(options)
    with hold_folder(Path(out)) as folder:
        if not overwrite:
            check_settings(folder, prepared.options)
        for line in _introduce(options, prepared):
            say(line)
        if fresh:
            shutil.rmtree(folder / "tasks", ignore_errors=True)
        remove_parts(folder, folder / "tasks")
        open_run(folder, prepared.options)
        write_log(folder, f"{command or 'decode'}: {len(list_tasks(prepared.problem))} tasks")
        try:
            results = run_tasks(prepared.problem, TaskStore(folder / "tasks"), executor or Serial(), progress, say)
        except TaskFailed as error:
            write_log(folder, f"{error}\n{error.detail}")
            raise
        comparison = finish_run(folder, prepared, results, command, time.perf_counter() - started)
        write_mark(folder, "", len(results))
        write_log(folder, f"done after {time.perf_counter() - started:.0f} s")
    return comparison


def _say_nothing(_: str) -> None:
    pass


def _count_nothing(*_: float) -> None:
    pass


def _introduce(options: RunOptions, prepared: Prepared) -> Iterator[str]:
    """Yield what is about to be decoded, what is lost of it, and what was probably misread."""
    facts = describe_facts(prepared.recording, prepared.tensor, prepared.problem)
    yield describe_amount(facts, explain_window(options, prepared.recording))
    for warning in (*facts.serious, *warn_of_losses(facts)):
        yield f"warning: {warning}"


def open_run(folder: Path, options: RunOptions) -> None:
    """Say in a run folder what is to be done, and that it is not finished."""
    remove_mark(folder)
    start_run(folder, options)


def run_tasks(
    problem: Problem, store: TaskStore, executor: Executor, progress: CountTasks | None = None, say: Say = _say_nothing
) -> dict[Task, TaskResult]:
    """Return the results of all tasks, doing only those that the store does not have."""
    tasks = list_tasks(problem)
    keys = {task: task_key(problem, task) for task in tasks}
    results = {task: kept for task in tasks if (kept := store.read(task.id, keys[task]))}
    look, pace = FirstLook(problem, say), Pace(Size.of(problem, tasks), tasks, executor.n_jobs)

    def report(task: Task, result: TaskResult, kept: bool = False) -> None:
        look.take(task, result)
        pace.finish(task, result.seconds, kept)

    def count() -> None:
        (progress or _count_nothing)(len(results), len(tasks), pace.seconds_left)

    for task, result in results.items():
        report(task, result, kept=True)
    count()
    missing = look.order([task for task in tasks if task not in results])
    with closing(executor.run(run_task, problem, missing)) as found:
        for task, result in found:
            if isinstance(result, Failure):
                raise TaskFailed(f"{task.id}: {result.reason}", result.detail)
            store.write(task.id, keys[task], result)
            results[task] = result
            report(task, result)
            count()
    return results


def finish_run(
    folder: Path, prepared: Prepared, results: Mapping[Task, TaskResult], command: str, seconds: float
) -> Comparison:
    """Put the results of all tasks together, and write the files of the run folder and its report."""
    from neurofs.report.page import write_report  # loads what draws, which nothing else here needs

    provenance = describe_provenance(prepared.options, prepared.recording, command, seconds)
    known = {"peak_memory": max(provenance.peak_memory, peak_memory()), "latency": find_latency(results)}
    comparison = finish(prepared, results, provenance.model_copy(update=known))
    save(comparison, folder)
    write_report(folder)
    return comparison
