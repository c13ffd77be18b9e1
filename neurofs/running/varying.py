"""`vary`: the same decode over values of one thing; in memory, or as a folder from which an interrupted run goes on.

The file is loaded once. All tasks of all values go through one executor, and results are kept by what they were
computed from: a task that two values share, or that an earlier run in the same folder did, is not done again.
`events.jsonl` says of every case how many tasks it has, how many of them were kept, and which were done.

>>> from neurofs.recordings.simulate import simulate_session
>>> session = simulate_session(12, n_electrodes=2, random_state=1)
>>> found = vary(session, "hand_velocity:x", by="lead", values=[-0.1, 0, 0.1], n_splits=3)
>>> found.table["label"].tolist(), len(found.folds)
(['-0.1', '0', '0.1'], 9)
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Unpack

from neurofs.comparison.cases import Case, Value, make_cases, make_problems
from neurofs.comparison.evaluate import run_task
from neurofs.comparison.fitting import list_fold_tasks
from neurofs.comparison.given import choose_recording
from neurofs.comparison.names import ALONE, name_alone, split_method
from neurofs.comparison.problem import Problem, Task, task_key
from neurofs.comparison.store import TaskResult, TaskStore
from neurofs.comparison.time_course import TimeCourse, decode_around
from neurofs.comparison.variation import Variation, combine, render_head
from neurofs.decoders import DECODERS
from neurofs.ground.config import LoadOptions, RunOptions, VaryOptions, make_options, select_options
from neurofs.ground.errors import TaskFailed, UsageError
from neurofs.ground.files import remove_parts
from neurofs.ground.keys import RunKeys
from neurofs.recordings.choose import choose_part
from neurofs.recordings.readers import load
from neurofs.recordings.recording import Recording
from neurofs.running.events import EventLog
from neurofs.running.executors import Executor, Job, Serial
from neurofs.running.lock import hold_folder
from neurofs.running.progress import Progress
from neurofs.running.worker import Failure, Shared
from neurofs.selectors import SELECTORS

METHODS = ("ridge",)
"""What decodes if nobody asks for more: a variation of v values should not cost v comparisons."""

N_DRAWS = 3


def vary(
    recording: object,
    target: str | Sequence[str],
    by: str,
    values: Sequence[Value] = (),
    *,
    methods: str | Sequence[str] = METHODS,
    n_draws: int = N_DRAWS,
    executor: Executor | None = None,
    **options: Unpack[RunKeys],
) -> Variation:
    """Decode a recording once for each value of one thing, and compare the values fold by fold.

    Parameters
    ----------
    recording : Recording, path, or what `load` takes
    target : str or several
        As `build_tensor` takes it; with ``by="target"``, the targets that are compared.
    by : str
        A setting (lead, n_lags, bin_width, smooth, target), an amount (minutes, trials, channels), a column of the
        channel table, such as area, or one of the trials (`comparison.cases`).
    values : sequence, optional
        The values to try; a sensible choice by default.
    methods : str or several
        What decodes: ridge, kalman, a selector (rgs), or both together (rgs + auto).
    n_draws : int
        Random draws, of amounts of data.
    executor : Executor, optional
        Who does the tasks.
    **options
        The keys of a run.toml.
    """
    varied = make_options(VaryOptions, {"by": by, "values": values, "methods": methods, "draws": n_draws}, "vary")
    chosen, given = choose_recording(recording, {**options, "target": target})
    return run_variation(
        chosen, varied.by, varied.values, varied.methods, varied.draws, executor or Serial(), recording=given
    )


def run_variation(
    options: RunOptions,
    by: str,
    values: Sequence[Value],
    methods: str | Sequence[str],
    n_draws: int,
    executor: Executor,
    view: Progress | None = None,
    out: Path | None = None,
    fresh: bool = False,
    recording: Recording | None = None,
    command: str = "",
) -> Variation:
    """Run a variation, with its folder if `out` is given."""
    methods = check_methods(methods)
    where = select_options(LoadOptions, options)
    recording = load(str(options.file), where) if recording is None else choose_part(recording, where)
    base = _choose_methods(options, methods)
    cases = make_cases(recording, base, by, values, n_draws)
    problems = make_problems(cases)
    run = _Run(cases, problems, methods, executor, view)
    if out is None:
        results = run.do(None, None)
        return combine(by, recording.name, cases, problems, results, methods, base)
    with hold_folder(out) as folder:
        if fresh:
            shutil.rmtree(folder / "tasks", ignore_errors=True)
        else:
            _check_folder(folder, by, base)
        remove_parts(folder, folder / "tasks")
        (folder / "variation.json").unlink(missing_ok=True)
        log = EventLog(folder / "events.jsonl")
        log.write("variation_started", by=by, cases=len(cases), command=command)
        results = run.do(TaskStore(folder / "tasks"), log)
        found = combine(by, recording.name, cases, problems, results, methods, base)
        found.save(folder)
        log.write("variation_ended")
    return found


def run_varied(
    options: RunOptions,
    varied: VaryOptions,
    executor: Executor,
    view: Progress | None,
    out: Path,
    fresh: bool = False,
    command: str = "",
) -> Variation | TimeCourse:
    """Run what some settings ask for, with its folder."""
    if varied.by == "time":
        return _run_around(options, varied, out)
    return run_variation(
        options, varied.by, varied.values, varied.methods, varied.draws, executor, view, out, fresh, None, command
    )


def _run_around(options: RunOptions, varied: VaryOptions, out: Path) -> TimeCourse:
    """Decode in windows around an event of the trials."""
    if varied.event is None:
        raise UsageError("by: time needs --event, a column of the trials such as move_onset")
    if len(options.target) != 1:
        raise UsageError("by: time needs one target, a condition of the trials or a series, as --target")
    found = decode_around(
        load(str(options.file), select_options(LoadOptions, options)),
        options.target[0],
        varied.event,
        around=varied.around,
        window=varied.window,
        step=options.step or varied.window / 2,
        n_splits=options.n_splits,
        seed=options.seed,
    )
    with hold_folder(out) as folder:
        found.save(folder)
    return found


def _check_folder(folder: Path, by: str, options: RunOptions) -> None:
    """Refuse to write over another variation; more values of the same are welcome."""
    head = folder / "vary.toml"
    if head.is_file() and head.read_text(encoding="utf-8", errors="replace") != render_head(by, options):
        raise UsageError(
            f"{folder}: holds another variation, or one with other settings; choose another --out, or --fresh"
        )


def check_methods(methods: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names of methods, or refuse those that do not exist.

    >>> check_methods("ridge, rgs + auto, kernel-rgs-sparse")
    ('ridge', 'rgs + auto', 'kernel-rgs-sparse-decoder')
    """
    texts = (methods,) if isinstance(methods, str) else tuple(methods)
    names = tuple(dict.fromkeys(name.strip() for text in texts for name in text.split(",") if name.strip()))
    if not names:
        raise UsageError("methods: expected at least one, such as ridge")
    return tuple(_check_method(name) for name in names)


def _check_method(name: str) -> str:
    """Return the name of a method as results have it: a decoder alone, or a selector with one."""
    selector, _, decoder = name.partition(" + ")
    alone = selector.removesuffix(ALONE)
    if (not decoder and alone in DECODERS and alone not in SELECTORS) or selector.endswith(ALONE):
        return name_alone(DECODERS.find(alone).name)
    SELECTORS.find(selector)
    if decoder and DECODERS.find(decoder).own_metric:
        raise UsageError(
            f"methods: {decoder} learns a metric of all features and takes no selector; say {decoder} alone"
        )
    return name


def _choose_methods(options: RunOptions, methods: Sequence[str]) -> RunOptions:
    """Return options with the selectors and decoders that these methods need, and no others."""
    pairs = [split_method(method) for method in methods]
    selectors = tuple(dict.fromkeys(selector for selector, _ in pairs if selector and selector != "all"))
    decoders = tuple(dict.fromkeys(decoder for selector, decoder in pairs if selector and decoder))
    return options.model_copy(update={"selectors": selectors, "decoders": decoders or ("knn",)})


class _Run:
    """The tasks of all cases, each of which is done once."""

    def __init__(
        self,
        cases: Sequence[Case],
        problems: Sequence[Problem],
        methods: Sequence[str],
        executor: Executor,
        view: Progress | None,
    ) -> None:
        self.cases, self.problems, self.executor, self.view = cases, problems, executor, view
        self.tasks = [
            {task: task_key(problem, task) for task in list_fold_tasks(problem, methods)} for problem in problems
        ]
        self.results: dict[str, TaskResult] = {}

    def do(self, store: TaskStore | None, log: EventLog | None) -> list[dict[Task, TaskResult]]:
        """Return the results of every case, doing what neither the store nor another case has."""
        total = sum(len(tasks) for tasks in self.tasks)
        with closing(self.executor.run_jobs(run_task, self._make_jobs(store, log))) as found:
            for job, result in found:
                self._record(job, result, store, log)
                if self.view is not None:
                    self.view.count_tasks(len(self.results), total)
        return [{task: self.results[key] for task, key in tasks.items()} for tasks in self.tasks]

    def _make_jobs(self, store: TaskStore | None, log: EventLog | None) -> Iterator[Job]:
        asked: set[str] = set()
        for number, (case, problem, tasks) in enumerate(zip(self.cases, self.problems, self.tasks, strict=True)):
            missing = {task: key for task, key in tasks.items() if key not in asked}
            if store is not None:
                kept = {key: store.read(name_result(task, key), key) for task, key in missing.items()}
                self.results |= {key: result for key, result in kept.items() if result is not None}
            to_do = {task: key for task, key in missing.items() if key not in self.results}
            asked |= set(tasks.values())
            if log is not None:
                counts = {"tasks": len(tasks), "kept": len(tasks) - len(to_do), "to_do": len(to_do)}
                log.write("case_opened", case=case.label, draw=case.draw, **counts)
            shared = Shared.pack(str(number), problem) if to_do else None
            for task, key in to_do.items():
                if shared is not None:
                    yield Job(shared, task, (case.label, key))

    def _record(self, job: Job, result: TaskResult | Failure, store: TaskStore | None, log: EventLog | None) -> None:
        label, key = job.tag
        if isinstance(result, Failure):
            if log is not None:
                log.write("task_failed", case=label, task=job.item.id, reason=result.reason)
            raise TaskFailed(f"{label}: {job.item.id}: {result.reason}", result.detail)
        self.results[key] = result
        if store is not None:
            store.write(name_result(job.item, key), key, result)
        if log is not None:
            log.write("task_recorded", case=label, task=job.item.id, key=key, seconds=round(result.seconds, 3))


def name_result(task: Task, key: str) -> str:
    """Return the name of a result's file: values of one variation differ by what they are computed from alone."""
    return f"{task.id}-{key[:16]}"
