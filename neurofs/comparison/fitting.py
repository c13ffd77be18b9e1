"""From a problem and what its folds told to a `Model`: the best method, fitted to all data, with its scores."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from neurofs import __version__
from neurofs.comparison.chance import describe_chance
from neurofs.comparison.digest import rank_methods
from neurofs.comparison.evaluate import fit_method, take_all
from neurofs.comparison.names import find_decoder, name_alone, name_method, split_method
from neurofs.comparison.problem import ALL_OUTPUTS, Problem, Task
from neurofs.comparison.provenance import PACKAGES, find_version
from neurofs.comparison.store import TaskResult
from neurofs.comparison.summary import Chance, Estimate, MethodScores, Score, Summary
from neurofs.comparison.tables import assemble_predictions, assemble_scores
from neurofs.comparison.wording import SCORE_NAMES, format_estimate, format_p
from neurofs.decoders import DECODERS
from neurofs.decoders.adaptation import remember
from neurofs.decoders.model import Model
from neurofs.decoders.model_head import Binning, Channel, CrossValidation, Head, Output, TrainingSession
from neurofs.features.scaling import Scaling
from neurofs.ground.config import RunOptions
from neurofs.ground.errors import UsageError, printable, quoted
from neurofs.ground.threads import one_thread
from neurofs.recordings.recording import Recording

COMPARED = ("auto", "kernel-rgs")
"""Decoders that are compared, beside ridge, Kalman and soft kNN, where the best of all is asked for."""

NO_MODEL = "random"
"""What serves as a baseline alone."""

WARNING = "warning: "
"""How notes of a model begin that say why its scores may mean nothing."""


@dataclass(frozen=True, eq=False)
class Validated:
    """What folds tell of a method: its scores, its out-of-fold predictions, whether it is chance, its rivals."""

    scores: MethodScores
    predictions: xr.Dataset
    chance: list[Chance]
    chosen_among: list[str]


def choose_settings(options: RunOptions, decoder: str, selector: str | None) -> RunOptions:
    """Return options with which a comparison holds the methods that are asked for, and no more than needed."""
    if selector is None and decoder == "auto":
        return options.model_copy(update={"selectors": options.selectors or ("rgs",), "decoders": COMPARED})
    DECODERS.find(decoder)
    if selector is not None and DECODERS[decoder].own_metric:
        raise UsageError(f"decoder {decoder} learns a metric of all features and takes no selector; leave it out")
    return options.model_copy(update={"selectors": (selector or "rgs",), "decoders": (decoder,)})


def list_methods(problem: Problem, decoder: str, selector: str | None) -> list[str]:
    """Return the names of the methods that are asked for.

    A decoder without a selector decodes all features; "auto" asks for a choice among several.
    """
    if selector is not None:
        return [selector if decoder == "knn" else f"{selector} + {decoder}"]
    if decoder != "auto":
        return [name_alone(decoder)]
    found = [f"{name} + auto" for name in problem.options.selectors]
    baselines = ["ridge"] if problem.classes else ["ridge", "kalman"]
    return [*found, *problem.options.selectors, *baselines, name_alone("kernel-rgs")]


def list_fold_tasks(problem: Problem, methods: Sequence[str]) -> list[Task]:
    """Return the tasks, fold by fold, that predict with these methods."""
    owners = dict.fromkeys(method if find_decoder(method) else split_method(method)[0] for method in methods)
    return [task for fold in problem.folds for task in list_parts(problem, owners, fold.repeat, fold.fold)]


def list_parts(problem: Problem, methods: Mapping[str, None] | Sequence[str], repeat: int, fold: int) -> list[Task]:
    """Return the tasks of one fold: one for all outputs, or one for each."""
    outputs = range(len(problem.outputs))
    return [
        Task(method, output, repeat, fold)
        for method in methods
        for output in ([ALL_OUTPUTS] if find_decoder(method) else outputs)
    ]


def validate(
    problem: Problem, results: Mapping[Task, TaskResult], methods: Sequence[str], bin_width: float
) -> Validated:
    """Return the best of some methods by their scores on the folds."""
    scores, predictions = assemble_scores(problem, results), assemble_predictions(problem, results)
    best = next(found for found in rank_methods(problem, scores) if found.method in methods)
    chance = list(describe_chance(problem, predictions, [best], best.method, bin_width))
    return Validated(best, predictions, chance, list(methods))


def take_validated(summary: Summary, predictions: xr.Dataset, method: str | None) -> Validated:
    """Return the best method of a finished comparison, or the one that is named."""
    ranked = [found for found in summary.methods if found.selector != NO_MODEL]
    names = [found.method for found in ranked]
    if method is not None and method not in names:
        raise UsageError(f"no method {quoted(method)} in this run; choose from {', '.join(names)}")
    best = ranked[0 if method is None else names.index(method)]
    chance = [test for test in summary.chance if test.method == best.method]
    return Validated(best, predictions, chance, names if method is None else [method])


def make_model(
    problem: Problem,
    tensor: xr.Dataset,
    sessions: Sequence[tuple[Recording, xr.Dataset]],
    options: RunOptions,
    method: str,
    validated: Validated | None = None,
    serious: Sequence[str] = (),
) -> Model:
    """Fit a method to all samples of a problem; `sessions` are its recordings, with the tensor of each.

    What is `serious` about the data goes along with the model.
    """
    with one_thread():
        parts = {}
        for task in list_parts(problem, [split_method(method)[0] or method], 0, problem.options.n_splits):
            outputs = tuple(range(len(problem.outputs))) if task.output == ALL_OUTPUTS else (task.output,)
            parts[outputs] = fit_method(problem, method, task, take_all(problem, task))
    head = Head(
        version=__version__,
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        method=method,
        label=name_method(method),
        target=list(options.target),
        binning=_describe_binning(options),
        numbers=problem.numbers,
        channels=_describe_channels(tensor, problem.find_scaling()),
        outputs=_describe_outputs(problem, validated),
        classes=list(problem.classes),
        sessions=[_describe_session(recording, own) for recording, own in sessions],
        cross_validation=None if validated is None else _describe_folds(problem, validated),
        packages={name: find_version(name) for name in PACKAGES},
        notes=[*map(str, tensor.attrs["notes"]), *(f"{WARNING}{printable(text, 2000)}" for text in serious)],
    )
    memory = remember(tensor["counts"].values, tensor["valid"].values, tensor.sizes["lag"])
    return Model(head, tuple(parts.values()), tuple(parts), memory)


def _describe_session(recording: Recording, tensor: xr.Dataset) -> TrainingSession:
    times = tensor["time"].values[tensor["valid"].values]
    return TrainingSession(
        name=recording.name,
        source=recording.source,
        sha256=recording.source_hash,
        n_samples=len(times),
        n_trials=len(recording.trials),
        start=float(times[0]) if len(times) else None,
        stop=float(times[-1]) if len(times) else None,
    )


def _describe_binning(options: RunOptions) -> Binning:
    keys = {key: getattr(options, key) for key in Binning.model_fields}
    numbers = {key: float(value) for key, value in keys.items() if isinstance(value, int | float) and key != "n_lags"}
    return Binning.model_validate({**keys, **numbers, "sqrt": bool(options.sqrt)})


def _describe_channels(tensor: xr.Dataset, scaling: Scaling | None) -> list[Channel]:
    """Return the channels with mean and standard deviation of their counts where samples are, and their scaling."""
    counts = tensor["counts"].values[tensor["valid"].values].astype(np.float64)
    names = [str(name) for name in tensor["channel"].values]
    columns = {"mean": counts.mean(axis=0), "sd": counts.std(axis=0)}
    if scaling is not None:
        columns |= {"center": scaling.center, "spread": scaling.spread}
    return [
        Channel(name=name, **{key: float(column[i]) for key, column in columns.items()}) for i, name in enumerate(names)
    ]


def _describe_outputs(problem: Problem, validated: Validated | None) -> list[Output]:
    """Return the outputs, with what the folds tell of each."""
    plain = [Output(name=n, unit=u) for n, u in zip(problem.outputs, problem.units, strict=True)]
    if validated is None:
        return plain
    predicted = validated.predictions["predicted"].sel({"method": validated.scores.method})
    chance = {test.output: test.p_corrected for test in validated.chance}
    found = []
    for output, truth in zip(plain, problem.targets.T, strict=True):
        score = validated.scores.outputs[output.name].of("accuracy" if problem.classes else "r2")
        known = {"score": score.mean, "low": score.low, "high": score.high, "p_chance": chance.get(output.name)}
        if not problem.classes:
            errors = np.abs(predicted.sel(output=output.name).values - truth)
            errors = errors[np.isfinite(errors)]
            known |= {"sd": float(np.sqrt(np.mean(errors**2))), "half_width": float(np.quantile(errors, 0.95))}
        found.append(output.model_copy(update=known))
    return found


def _describe_folds(problem: Problem, validated: Validated) -> CrossValidation:
    name: Score = "accuracy" if problem.classes else "r2"
    pooled = validated.scores.pooled.of(name)
    return CrossValidation(
        folds=problem.kind,
        n_splits=problem.options.n_splits,
        n_repeats=problem.options.n_repeats,
        score=name,
        mean=pooled.mean,
        low=pooled.low,
        high=pooled.high,
        chosen_among=validated.chosen_among,
    )


def describe_model(head: Head) -> str:
    """Return what a model is, and how good, for people."""
    names, folds = [printable(session.name) for session in head.sessions], head.cross_validation
    n, bins = sum(session.n_samples for session in head.sessions), head.binning
    lines = [
        f"{head.label}, fitted to {n:,} samples of {', '.join(names)}: {len(head.channels)} channels × "
        f"{bins.n_lags} lags of {1000 * bins.bin_width:g} ms"
    ]
    for output in head.outputs:
        score = "score unknown"
        if folds is not None:
            estimate = Estimate(mean=output.score, low=output.low, high=output.high)
            score = f"cross-validated {SCORE_NAMES[folds.score]} {format_estimate(estimate)}"
            score += f", p = {format_p(output.p_chance)} that it is chance" if output.p_chance is not None else ""
        unit = f" ({printable(output.unit)})" if output.unit else ""
        lines.append(f"  {printable(output.name)}{unit}: {score}")
    lines += [f"  {note}" for note in head.notes if note.startswith(WARNING)]
    if folds is not None and len(folds.chosen_among) > 1:
        lines.append(f"  the best of {len(folds.chosen_among)} methods on these folds: {', '.join(folds.chosen_among)}")
    return "\n".join(lines)
