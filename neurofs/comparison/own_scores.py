"""Scores of one's own: functions of what was true and what was predicted, for every method, output, repeat and fold.

They stand as further columns in the table of scores, in the rows of chosen methods, and in `Comparison.to_frame`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr

from neurofs.comparison.comparison import SCORE_COLUMNS, Comparison
from neurofs.comparison.contrast import find_ratio
from neurofs.comparison.problem import Problem
from neurofs.comparison.stats import estimate
from neurofs.ground.errors import UsageError, quoted

Score = Callable[[np.ndarray, np.ndarray], float]
"""A function of the true and the predicted values (names of classes, where the target is one) of a test part."""


def name_scores(scores: Score | Sequence[Score] | Mapping[str, Score]) -> dict[str, Score]:
    """Return functions by name: that which is given, or their own.

    >>> from sklearn.metrics import max_error
    >>> list(name_scores(max_error)), list(name_scores({"worst": max_error}))
    (['max_error'], ['worst'])
    """
    if callable(scores):
        scores = [scores]
    named = (
        dict(scores) if isinstance(scores, Mapping) else {getattr(f, "__name__", type(f).__name__): f for f in scores}
    )
    for name, score in named.items():
        if not callable(score):
            raise UsageError(f"scores: expected functions of truth and prediction; found {quoted(score)}")
        if name in SCORE_COLUMNS:
            raise UsageError(f"scores: {quoted(name)} is a column of all comparisons; choose another name")
    return named


def add_scores(
    scores: pd.DataFrame, problem: Problem, predictions: xr.Dataset, own: Mapping[str, Score]
) -> pd.DataFrame:
    """Return a table of scores with a column for each function; NaN in the rows of curves."""
    if not own:
        return scores
    tests = {(fold.repeat, fold.fold): fold.test for fold in problem.folds}
    found = {name: np.full(len(scores), np.nan) for name in own}
    for i, row in enumerate(scores.itertuples()):
        if not row.chosen:
            continue
        test = tests[row.repeat, row.fold]
        at = {"method": row.method, "output": row.output}
        predicted = predictions["predicted"].sel(at).isel(repeat=row.repeat).values[test]
        truth = predictions["target"].sel(output=row.output).values[test]
        if problem.classes:
            names = np.array(problem.classes)
            truth, predicted = names[truth.astype(int)], names[predicted.astype(int)]
        for name, score in own.items():
            found[name][i] = _as_number(score(truth, np.asarray(predicted, truth.dtype)), name)
    return scores.assign(**found)


def _as_number(value: object, name: str) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise UsageError(f"scores: {name}: expected a number; it returned {type(value).__name__}") from None


def list_own(comparison: Comparison) -> list[str]:
    """Return the names of the scores of one's own that a comparison has."""
    return [str(name) for name in comparison.scores if name not in SCORE_COLUMNS]


def describe_own(comparison: Comparison) -> Iterator[dict[str, object]]:
    """Yield the mean over folds of each score of one's own, with its 95 % interval: rows of `Comparison.to_frame`."""
    chosen = comparison.scores[comparison.scores["chosen"]]
    contiguous = comparison.summary.session.kind in ("trials", "blocks")
    place, ratio = ["fold"] if contiguous else ["repeat", "fold"], find_ratio(comparison)
    for name in list_own(comparison):
        for method in comparison.summary.methods:
            rows = chosen[chosen["method"] == method.method]
            parts = {**dict(list(rows.groupby("output", sort=False))), "(mean)": rows}
            for output, part in parts.items():
                found = estimate(part.groupby(place)[name].mean(), ratio)
                yield {
                    "method": method.method, "output": output, "score": name, **dict(found), "n": method.n.median
                }  # fmt: skip
