"""Fitting a model for use: from sessions, or from a finished run.

>>> from neurofs.recordings.simulate import simulate_session
>>> model = fit(simulate_session(12, n_electrodes=2, random_state=1), "hand_velocity:x", decoder="ridge", n_lags=3)
>>> model.head.method, model.head.cross_validation.n_splits
('ridge', 5)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Unpack

import xarray as xr

from neurofs.comparison.comparison import read
from neurofs.comparison.evaluate import run_task
from neurofs.comparison.facts import check_decoded
from neurofs.comparison.fitting import (
    Validated,
    choose_settings,
    list_fold_tasks,
    list_methods,
    make_model,
    take_validated,
    validate,
)
from neurofs.comparison.problem import Problem, Task
from neurofs.comparison.store import TaskResult
from neurofs.decoders.model import Model
from neurofs.features.join import join_tensors
from neurofs.features.tensor import build_tensor
from neurofs.ground.config import (
    CompareOptions,
    LoadOptions,
    RunOptions,
    TensorOptions,
    given_options,
    make_options,
    select_options,
)
from neurofs.ground.errors import TaskFailed, UsageError, printable, quoted
from neurofs.ground.keys import RunKeys
from neurofs.pipeline import prepare
from neurofs.recordings.checks import find_remarks
from neurofs.recordings.choose import choose_part
from neurofs.recordings.readers import load
from neurofs.recordings.recording import Recording, require_recording
from neurofs.recordings.window import settle_window
from neurofs.running.executors import Executor, Serial
from neurofs.running.worker import Failure

CountTasks = Callable[[int, int], None]
KNOWN = ("file", "target")  # when recordings are loaded


def fit(
    recordings: Recording | Sequence[Recording],
    target: str | Sequence[str],
    *,
    decoder: str = "auto",
    selector: str | None = None,
    cross_validate: bool = True,
    executor: Executor | None = None,
    progress: CountTasks | None = None,
    **options: Unpack[RunKeys],
) -> Model:
    """Fit a decoder for use to one recording, or to several, on the channels that they share by name.

    Parameters
    ----------
    recordings : Recording or several
    target : str or several
        As `build_tensor` takes it.
    decoder : str
        A name of `DECODERS`. "auto" without a selector compares several pipelines on the folds and takes the best.
    selector : str, optional
        A name of `SELECTORS`; without, the decoder has all features.
    cross_validate : bool
        Whether folds tell how good the decoder is, and how wide its intervals are.
    executor, progress
        Who does the tasks of the folds, and what is told how many are done.
    **options
        The keys of a run.toml, such as ``bin_width``, ``n_lags``, ``n_splits`` and ``seed``.
    """
    given = recordings if isinstance(recordings, list | tuple) else [recordings]
    sessions = [require_recording(one, "fit") for one in given]
    if not sessions:
        raise UsageError("fit: expected at least one session")
    base = make_options(RunOptions, {**options, "target": target})
    parts = [choose_part(one, select_options(LoadOptions, base)) for one in sessions]
    settled = choose_settings(settle_window(base, parts[0]), decoder, selector)
    tensors = [build_tensor(one, **dict(select_options(TensorOptions, settled))) for one in parts]
    tensor = join_tensors(tensors)
    problem = Problem.from_tensor(tensor, select_options(CompareOptions, settled))
    methods = list_methods(problem, decoder, selector)
    validated = None
    if cross_validate or len(methods) > 1:
        results = _run_folds(problem, list_fold_tasks(problem, methods), executor or Serial(), progress)
        validated = validate(problem, results, methods, tensor.attrs["bin_width"])
    method = methods[0] if validated is None else validated.scores.method
    serious = [remark.text for remark in check_decoded(tensor, problem) if remark.serious]
    return _finish(problem, tensor, list(zip(parts, tensors, strict=True)), settled, method, validated, serious)


def load_sessions(options: Sequence[RunOptions], tell: Callable[[str], None]) -> list[Recording]:
    """Return the recordings that options name, and tell what is seriously wrong with them."""
    recordings = [load(str(one.file), select_options(LoadOptions, one)) for one in options]
    for recording in recordings:
        for remark in filter(lambda one: one.serious, find_remarks(recording)):
            tell(f"warning: {printable(recording.name)}: {remark.text}")
    return recordings


def check_settings(options: Sequence[RunOptions]) -> None:
    """Refuse sessions whose settings are not those of the first: one model has one target and one binning."""
    first = options[0]
    for one in options[1:]:
        given = given_options(one)
        for key in sorted(given.keys() - LoadOptions.model_fields.keys() - {"file"}):
            if given[key] != (expected := getattr(first, key)):
                raise UsageError(
                    f"{printable(one.name or one.file)}: expected the {key} of the first session, {quoted(expected)}; "
                    f"found {quoted(given[key])}. One model has one; say --{key.replace('_', '-')} for all"
                )


def choose_beyond_loading(options: RunOptions) -> dict[str, Any]:
    """Return the options with which `fit` goes on where recordings and their parts are loaded."""
    return {key: value for key, value in options if key not in LoadOptions.model_fields and key not in KNOWN}


def fit_run(folder: str | Path, method: str | None = None) -> Model:
    """Fit the best method of a finished run, or the one that is named, to all of its data."""
    comparison = read(folder)
    if comparison.config.folds == "shuffled":
        raise UsageError(f"{printable(folder)}: scores of shuffled bins leak, and tell no method that is best")
    prepared = prepare(comparison.config)
    used, now = comparison.summary.provenance.inputs[0].sha256, prepared.recording.source_hash
    if used != now:
        raise UsageError(
            f"{printable(folder)}: {printable(comparison.config.file)} has changed since the run; decode it again"
        )
    validated = take_validated(comparison.summary, comparison.predictions, method)
    return _finish(
        prepared.problem,
        prepared.tensor,
        [(prepared.recording, prepared.tensor)],
        prepared.options,
        validated.scores.method,
        validated,
        comparison.summary.session.serious,
    )


def _finish(
    problem: Problem,
    tensor: xr.Dataset,
    sessions: list[tuple[Recording, xr.Dataset]],
    options: RunOptions,
    method: str,
    validated: Validated | None,
    serious: Sequence[str],
) -> Model:
    try:
        return make_model(problem, tensor, sessions, options, method, validated, serious)
    except ValueError as error:
        raise UsageError(f"{method} cannot be fitted: {printable(error)}") from error


def _run_folds(
    problem: Problem, tasks: list[Task], executor: Executor, progress: CountTasks | None
) -> dict[Task, TaskResult]:
    """Return the results of all folds."""
    results: dict[Task, TaskResult] = {}
    report = progress or (lambda done, total: None)
    report(0, len(tasks))
    with closing(executor.run(run_task, problem, tasks)) as found:
        for task, result in found:
            if isinstance(result, Failure):
                raise TaskFailed(f"{task.id}: {result.reason}", result.detail)
            results[task] = result
            report(len(results), len(tasks))
    return results
