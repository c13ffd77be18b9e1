"""Runs side by side: two days, two methods, two settings; as a `Variation` by run.

Runs that tested the same moments of the same session on the same folds are compared fold by fold, as the values of a
variation are. Others are compared by their means alone: the variance of the difference is the sum of those of the two
means (`comparison.places`), with Welch's degrees of freedom. Channels are matched by name: those that are tuned in a
run and were not in the first one have been gained, and the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t

from neurofs.comparison.comparison import Comparison
from neurofs.comparison.names import name_method
from neurofs.comparison.places import smoothing
from neurofs.comparison.scores import RANGES
from neurofs.comparison.stats import CONFIDENCE, compare_paired, correct_holm, estimate, standard_error
from neurofs.comparison.summary import Estimate, Output
from neurofs.comparison.variation import FOLD_COLUMNS, TABLE_COLUMNS, Findings, Variation
from neurofs.comparison.variation_words import tell
from neurofs.features.splits import Fold
from neurofs.ground.errors import UsageError, printable, quoted

MOST_NAMED = 8
"""Channels that are named in a sentence."""


def compare_runs(runs: Mapping[str, Comparison], methods: Sequence[str] = ()) -> Variation:
    """Compare runs with the first of them, by the main method of the first, or by the methods that are named."""
    if len(runs) < 2:
        raise UsageError("compare: expected at least two runs")
    first = next(iter(runs.values()))
    score = first.summary.score
    for name, run in runs.items():
        if run.summary.score != score:
            raise UsageError(f"compare: {quoted(name)} decodes another kind of target than the first run")
    methods = list(methods) or [_choose_method(runs)]
    for method in methods:
        for name, run in runs.items():
            if method not in run.summary.by_method:
                known = ", ".join(run.summary.by_method)
                raise UsageError(f"compare: {quoted(name)} has no method {quoted(method)}; it has {known}")
    folds = pd.concat([_take_folds(name, run, methods) for name, run in runs.items()], ignore_index=True)
    ratios = {name: find_ratio(run) for name, run in runs.items()}
    paired = {name: is_paired(first, run) for name, run in runs.items()}
    tables = [_tabulate(folds[folds["method"] == method], method, ratios, paired, score) for method in methods]
    table = pd.concat(tables, ignore_index=True).astype(TABLE_COLUMNS)
    found = Findings(
        name=next(iter(runs)), by="run", score=score, methods=methods, ratio=max(ratios.values()),
        matched=all(paired.values()),
    )  # fmt: skip
    labels = {method: name_method(method) for method in methods}
    sentences = [*tell(found, table, labels), *_tell_targets(runs), *_tell_pairing(paired), *_tell_channels(runs)]
    return Variation(table, folds, found.model_copy(update={"sentences": sentences}), first.config)


def _choose_method(runs: Mapping[str, Comparison]) -> str:
    """Return the main method of the first run that has one which all of them have."""
    common = set.intersection(*(set(run.summary.by_method) for run in runs.values()))
    for run in runs.values():
        if run.summary.main in common:
            return run.summary.main
    if not common:
        raise UsageError("compare: the runs have no method in common")
    return next(method for method in next(iter(runs.values())).summary.by_method if method in common)


def _take_folds(label: str, run: Comparison, methods: Sequence[str]) -> pd.DataFrame:
    rows = run.scores[run.scores["chosen"] & run.scores["method"].isin(methods)]
    known = {key: rows[key] for key in ("method", "output", "repeat", "fold", "n_train", "n_test")}
    about = {"label": label, "value": np.nan, "group": "", "draw": 0, "n_channels": run.summary.session.n_channels}
    table = pd.DataFrame({**known, "score": rows[run.summary.score]}).assign(**about)
    return table.reindex(columns=list(FOLD_COLUMNS)).astype(FOLD_COLUMNS)


def is_paired(first: Comparison, other: Comparison) -> bool:
    """Tell whether two runs tested the same targets at the same moments on the same folds."""
    a, b = first.predictions, other.predictions
    same_rows = np.array_equal(a["time"], b["time"]) and np.array_equal(a["target"], b["target"])
    cut = [[(f.repeat, f.fold, f.n_test) for f in run.summary.audit.folds] for run in (first, other)]
    kinds = {run.summary.session.kind for run in (first, other)}
    return same_rows and cut[0] == cut[1] and kinds <= {"trials", "blocks"} and len(kinds) == 1


def find_ratio(run: Comparison) -> float:
    """Return the ratio of the variance of means over the folds of a run, as `comparison.places` has it."""
    folds = run.summary.audit.folds
    share = float(np.mean([fold.n_test / fold.n_train for fold in folds]))
    if run.summary.session.kind not in ("trials", "blocks"):
        return share
    n = len({fold.fold for fold in folds})
    return smoothing(list(_rebuild_folds(run))) * (1 / n + share) - 1 / n


def _rebuild_folds(run: Comparison) -> Iterator[Fold]:
    """Yield the test rows of all folds, which follow each other in time."""
    ends: dict[int, int] = {}
    for fold in run.summary.audit.folds:
        first = ends.get(fold.repeat, 0)
        ends[fold.repeat] = first + fold.n_test
        yield Fold(fold.repeat, fold.fold, np.zeros(0, np.int64), np.arange(first, ends[fold.repeat]), 0)


def _tabulate(
    folds: pd.DataFrame, method: str, ratios: Mapping[str, float], paired: Mapping[str, bool], score: str
) -> pd.DataFrame:
    places = {str(label): part.groupby("fold")["score"].mean() for label, part in folds.groupby("label", sort=False)}
    first = next(iter(places))
    rows = []
    for label, values in places.items():
        part = folds[folds["label"] == label]
        row: dict[str, Any] = {"method": method, "label": label, "value": np.nan, "group": "", "against": "", "p": None}
        row |= dict(estimate(values, ratios[label], *RANGES[score]))
        row |= {"n_channels": part["n_channels"].iloc[0], "n_train": part["n_train"].mean()}
        if label != first:
            if paired[label]:
                difference = estimate(values - places[first], ratios[label])
                p = compare_paired(values - places[first], ratios[label])["p"]
            else:
                difference, p = compare_unpaired(values, ratios[label], places[first], ratios[first])
            ends = {"difference": difference.mean, "difference_low": difference.low, "difference_high": difference.high}
            row |= {"against": first, "p": p, **ends}
        rows.append(row)
    table = pd.DataFrame(rows).assign(p_holm=correct_holm([row["p"] for row in rows]))
    return table.reindex(columns=list(TABLE_COLUMNS))


def compare_unpaired(
    ours: Sequence[float] | pd.Series, ratio: float, theirs: Sequence[float] | pd.Series, other_ratio: float
) -> tuple[Estimate, float | None]:
    """Return the difference of two means over folds with its 95 % interval, and its p-value (Welch).

    >>> difference, p = compare_unpaired([0.5, 0.6, 0.7], 0.25, [0.1, 0.2, 0.3], 0.25)
    >>> round(difference.mean, 3), round(p, 3)
    (0.4, 0.021)
    """
    a, b = (np.asarray(values, float)[np.isfinite(np.asarray(values, float))] for values in (ours, theirs))
    mean = float(a.mean() - b.mean())
    if min(a.size, b.size) < 2:
        return Estimate(mean=mean), None
    parts = np.array([standard_error(a, ratio) ** 2, standard_error(b, other_ratio) ** 2])
    error = float(np.sqrt(parts.sum()))
    if error == 0:
        return Estimate(mean=mean, low=mean, high=mean), 1.0 if mean == 0 else 0.0
    freedom = parts.sum() ** 2 / np.sum(parts**2 / np.array([a.size - 1, b.size - 1]))
    half = float(t.ppf((1 + CONFIDENCE) / 2, freedom) * error)
    return Estimate(mean=mean, low=mean - half, high=mean + half), float(2 * t.sf(abs(mean) / error, freedom))


def _tell_pairing(paired: Mapping[str, bool]) -> Iterator[str]:
    apart = [printable(name) for name, same in paired.items() if not same]
    if apart:
        yield (
            f"Not paired with the first run, since it was tested on other samples or folds: {', '.join(apart)}. Means "
            "are compared, as of independent sessions."
        )


def _tell_targets(runs: Mapping[str, Comparison]) -> Iterator[str]:
    """Say that runs decode different things, if they do."""
    told = {name: ", ".join(_name_output(o) for o in run.summary.session.outputs) for name, run in runs.items()}
    if len(set(told.values())) > 1:
        each = "; ".join(f"{printable(name)}: {printable(text)}" for name, text in told.items())
        yield f"The runs decode different targets, so that a difference may be that of the targets: {each}."


def _name_output(output: Output) -> str:
    return f"{output.name} ({output.unit})" if output.unit else output.name


def _tell_channels(runs: Mapping[str, Comparison]) -> Iterator[str]:
    """Yield which channels were gained and lost since the first run."""
    first, *others = runs.items()
    before = find_tuned(first[1])
    for name, run in others:
        now = find_tuned(run)
        if before is None or now is None:
            continue
        shared = before.keys() & now.keys()
        gained = [channel for channel in now if channel in shared and now[channel] and not before[channel]]
        lost = [channel for channel in before if channel in shared and before[channel] and not now[channel]]
        yield (
            f"{printable(name)}: of {len(shared)} channels that both runs have by name, {_list(gained)} became tuned "
            f"and {_list(lost)} no longer {'is' if len(lost) == 1 else 'are'}."
        )


def find_tuned(run: Comparison) -> dict[str, bool] | None:
    """Return whether each channel of a run is tuned; None if that was not tested."""
    tests = run.summary.channels
    return None if tests is None else {one.channel: one.tuned for one in tests.channels}


def _list(names: Sequence[str]) -> str:
    if not names:
        return "none"
    some = ", ".join(printable(name) for name in names[:MOST_NAMED])
    return f"{len(names)} ({some}{', …' if len(names) > MOST_NAMED else ''})"
