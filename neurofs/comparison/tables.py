"""From the results of tasks to the tables of a comparison: scores, weights, predictions."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from neurofs.comparison.channel_summary import ChannelTests
from neurofs.comparison.comparison import SCORE_COLUMNS
from neurofs.comparison.problem import Problem, Task, list_tasks
from neurofs.comparison.store import TaskResult
from neurofs.features.tensor import map_features

Results = Mapping[Task, TaskResult]


def assemble_scores(problem: Problem, results: Results) -> pd.DataFrame:
    """Return the tidy table of scores, in a fixed order."""
    rows = [row for result in results.values() for row in result.rows]
    table = pd.DataFrame(rows).reindex(columns=list(SCORE_COLUMNS)).astype(SCORE_COLUMNS)
    places = {
        "output": {name: i for i, name in enumerate(problem.outputs)},
        "method": {name: i for i, name in enumerate(list_methods(problem, results))},
    }
    keys = ["output", "repeat", "fold", "method", "chosen", "weighted", "n"]
    ordered = table.sort_values(keys, key=lambda c: c.map(places[c.name]) if c.name in places else c)
    return ordered.reset_index(drop=True)


def list_methods(problem: Problem, results: Results) -> list[str]:
    """Return the methods in the order of the tasks, each selector followed by its decoders."""
    done = [results[task] for task in dict.fromkeys((*list_tasks(problem), *results)) if task in results]
    return list(dict.fromkeys(method for result in done for method in result.predicted))


def assemble_weights(problem: Problem, tensor: xr.Dataset, results: Results) -> xr.Dataset:
    """Return weights, ranks and the chosen n of every selector, output, repeat and fold.

    If it was asked how many channels suffice, `kept` says which ones, in every repeat and fold.
    """
    options = problem.options
    shape = (len(options.selectors), len(problem.outputs), options.n_repeats, options.n_splits)
    sizes = (tensor.sizes["channel"], tensor.sizes["lag"])
    weights = np.full((*shape, *sizes), np.nan, np.float32)
    ranking = np.zeros((*shape, *sizes), np.int32)
    chosen = np.zeros(shape, np.int32)
    for task, result in results.items():
        if task.method not in options.selectors or result.order is None or result.weights is None:
            continue
        at = (options.selectors.index(task.method), task.output, task.repeat, task.fold)
        rank = np.empty(result.order.size, np.int32)
        rank[result.order] = np.arange(1, rank.size + 1)
        weights[at] = map_features(result.weights, tensor).values
        ranking[at] = map_features(rank, tensor).values
        chosen[at] = next(r["n"] for r in result.rows if r["chosen"] and r["method"] == task.method)
    dims = ("selector", "output", "repeat", "fold")
    return xr.Dataset(
        {
            "weights": ((*dims, "channel", "lag"), weights),
            "ranking": ((*dims, "channel", "lag"), ranking),
            "n_chosen": (dims, chosen),
            **_place_kept(problem, results),
        },
        coords={
            "selector": np.array(options.selectors, dtype=object),
            "output": np.array(problem.outputs, dtype=object),
            "channel": tensor["channel"].values.astype(object),
            "lag": tensor["lag"].values,
        },
    )


def _place_kept(problem: Problem, results: Results) -> dict[str, Any]:
    """Return which channels were kept, (repeats, folds, channels), as a variable; none if that was not asked."""
    found = {task: result.kept for task, result in results.items() if result.kept is not None}
    if not found:
        return {}
    options = problem.options
    kept = np.zeros((options.n_repeats, options.n_splits, problem.samples.n_channels), np.int8)
    for task, values in found.items():
        kept[task.repeat, task.fold] = values
    return {"kept": (("repeat", "fold", "channel"), kept)}


def assemble_predictions(problem: Problem, results: Results) -> xr.Dataset:
    """Return what every method predicted at its choice (with its deviation, if known), beside the target."""
    methods = list_methods(problem, results)
    n_rows = len(problem.targets)
    dims = ("method", "repeat", "output", "time")
    variables = {"predicted": (dims, _place(problem, results, methods, "predicted"))}
    deviation = _place(problem, results, methods, "deviation")
    if np.isfinite(deviation).any():
        variables["predicted_sd"] = (dims, deviation)
    trials = np.full(n_rows, -1) if problem.trials is None else problem.trials
    return xr.Dataset(
        {
            **variables,
            "target": (("time", "output"), problem.targets.astype(np.float64)),
            "trial": ("time", trials.astype(np.int32)),
        },
        coords={
            "method": np.array(methods, dtype=object),
            "output": np.array(problem.outputs, dtype=object),
            "unit": ("output", np.array(problem.units, dtype=object)),
            "time": problem.time,
        },
        attrs={"classes": list(problem.classes)} if problem.classes else {},
    )


def _place(problem: Problem, results: Results, methods: list[str], kind: str) -> np.ndarray:
    """Put the arrays of one kind where they belong, (methods, repeats, outputs, rows); NaN elsewhere."""
    n_rows, n_outputs = problem.targets.shape
    placed = np.full((len(methods), problem.options.n_repeats, n_outputs, n_rows), np.nan, np.float32)
    tests = {(fold.repeat, fold.fold): fold.test for fold in problem.folds}
    for task, result in results.items():
        for method, values in getattr(result, kind).items():
            outputs: Any = slice(None) if task.output < 0 else task.output
            test = tests[task.repeat, task.fold]
            placed[methods.index(method), task.repeat, outputs][..., test] = values.T
    return placed


def rank_channels(weights: xr.Dataset, tests: ChannelTests | None = None) -> list[str]:
    """Return the channels that are tuned or add something, then the others, each by weight of the first selector."""
    first = weights["weights"].isel(selector=0)
    total = first.sum("lag").mean([dim for dim in first.dims if dim not in ("channel", "lag")])
    found = {one.channel for one in tests.channels if one.tuned or one.adds} if tests else set()
    names = [str(name) for name in weights["channel"].values[np.argsort(-total.values, kind="stable")]]
    return sorted(names, key=lambda name: name not in found)
