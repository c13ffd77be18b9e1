"""The path of the data, written once: file → recording → tensor → tasks → comparison.

    prepared = prepare(options)                      # load, bin, make folds
    results = {task: run_task(prepared.problem, task) for task in list_tasks(prepared.problem)}
    comparison = finish(prepared, results)           # scores, weights, predictions, statistics
    save(comparison, "runs/day1")
    write_report("runs/day1")

`running.comparing.compare` follows it in memory, `running.session.decode` with a run folder, from which an
interrupted run goes on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Unpack

import pandas as pd
import xarray as xr

from neurofs.comparison.channel_tests import ask_channels
from neurofs.comparison.comparison import Comparison
from neurofs.comparison.digest import summarize
from neurofs.comparison.encoding import Encoding, describe
from neurofs.comparison.given import choose_recording
from neurofs.comparison.problem import Problem, Task
from neurofs.comparison.provenance import describe_provenance
from neurofs.comparison.session import describe_session
from neurofs.comparison.store import TaskResult
from neurofs.comparison.summary import Dependency, Provenance
from neurofs.comparison.tables import assemble_predictions, assemble_scores, assemble_weights, rank_channels
from neurofs.features.tensor import build_tensor
from neurofs.ground.config import CompareOptions, LoadOptions, RunOptions, TensorOptions, select_options
from neurofs.ground.errors import UsageError
from neurofs.ground.keys import RunKeys
from neurofs.recordings.choose import choose_part
from neurofs.recordings.readers import load
from neurofs.recordings.recording import Recording
from neurofs.recordings.window import settle_window


@dataclass(frozen=True, eq=False)
class Prepared:
    """A session that is loaded, binned and cut into folds."""

    options: RunOptions
    recording: Recording
    tensor: xr.Dataset
    problem: Problem


def prepare(options: RunOptions, recording: Recording | None = None) -> Prepared:
    """Load the file that the options name (unless the whole recording is given), bin it, and make the folds.

    Bins and lags that are "auto" are chosen; the options of what is returned have them as numbers.
    """
    where = select_options(LoadOptions, options)
    recording = load(str(options.file), where) if recording is None else choose_part(recording, where)
    options = settle_window(options, recording)
    tensor = build_tensor(recording, **dict(select_options(TensorOptions, options)))
    problem = Problem.from_tensor(tensor, select_options(CompareOptions, options))
    return Prepared(options, recording, tensor, problem)


def finish(prepared: Prepared, results: Mapping[Task, TaskResult], provenance: Provenance | None = None) -> Comparison:
    """Put the results of all tasks together."""
    problem, tensor, recording = prepared.problem, prepared.tensor, prepared.recording
    scores = assemble_scores(problem, results)
    names = [str(name) for name in tensor["channel"].values]
    channels, encoding = ask_channels(problem, names, tensor["lag"].values)
    weights = assemble_weights(problem, tensor, results).assign(encoding=(("channel", "lag"), encoding))
    predictions = assemble_predictions(problem, results)
    session = describe_session(recording, tensor, rank_channels(weights, channels))
    dependency, pairs = _measure_dependency(prepared, scores) if prepared.options.dependency else (None, None)
    summary = summarize(
        recording,
        tensor,
        problem,
        scores,
        weights,
        predictions,
        provenance or describe_provenance(prepared.options, recording),
        channels,
        dependency,
    )
    return Comparison(scores, weights, predictions, session, summary, prepared.options, pairs)


def _measure_dependency(prepared: Prepared, scores: pd.DataFrame) -> tuple[Dependency, pd.DataFrame]:
    """Ask whether channels work together."""
    from neurofs.comparison.dependency import measure_dependency

    channels = [str(name) for name in prepared.tensor["channel"].values]
    return measure_dependency(prepared.problem, scores, channels, prepared.tensor["lag"].values[::-1])


def encode(recording: object, target: str | Sequence[str], **options: Unpack[RunKeys]) -> Encoding:
    """Return how well the target predicts each channel, and each channel the target, on the same folds.

    Its table has a row per channel: rate, lag, cross-validated pseudo-R² of a Poisson regression with its 95 %
    interval, preferred direction and depth, and R² of a linear decoder from the channel alone and what it loses
    without it (`comparison.encoding_models`).

    >>> from neurofs.recordings.simulate import simulate_session
    >>> found = encode(simulate_session(12, n_electrodes=1, random_state=1), "hand_velocity", n_lags=2, n_splits=3)
    >>> found.table.shape, found.tuning.attrs["tuning_kind"]
    ((4, 10), 'direction')
    """
    return encode_session(*choose_recording(recording, {**options, "target": target}))


def encode_session(options: RunOptions, recording: Recording | None = None) -> Encoding:
    """Do what `encode` does with checked options."""
    prepared = prepare(options, recording)
    if prepared.recording.is_signal:
        raise UsageError(
            f"encode: expected spikes, which a Poisson regression predicts; found {prepared.recording.kind}"
        )
    file = str(options.file) if recording is None and options.file else ""
    target = ", ".join(options.target)
    return describe(prepared.recording, prepared.problem, prepared.tensor, target, file)
