"""The summary of a comparison: what `summary.json` holds and the tables and sentences are made of.

Schema 1. Numbers that do not exist are null; an *estimate* is ``{"mean", "low", "high"}`` with a 95 % interval
over folds (Nadeau–Bengio). ``metric`` is ``r2`` for continuous targets and ``accuracy`` for classes.

    schema          1
    metric          "r2" or "accuracy"
    reference       the method that all others are compared with: the first selector
    headline        {method, sentences: [str, …], numbers: {best, reference, all, rival, chance}}, each of the
                    numbers {label, method, n, mean, low, high} in units of the metric, the mean over outputs
    session         {name, source, source_hash, duration, span: [s, s], n_channels, n_lags, bin_width,
                    first_lag, n_samples, n_trials, n_gaps, kind: "trials" or "blocks" or "shuffled",
                    outputs: [{name, unit}], classes: [str], dropped: {window, target, period, step: int},
                    notes: [str], warnings: [str]}
    audit           {passed: bool, n_overlaps: int, folds: [{repeat, fold, n_train, n_test, n_overlaps}]}
    methods         [{method, selector, decoder, weighted: share of folds, n: {median, low, high},
                    outputs: {NAME: {r2, r, mse, accuracy, balanced_accuracy: estimate}},
                    pooled: {r2, r, mse, fvaf, accuracy, balanced_accuracy: estimate}}], best first
    tests           [{method, output: NAME or "pooled", difference: estimate (reference minus method, in the
                    metric), effect_size, p, p_holm, wins: share of folds that the reference wins, n_folds}]
    curves          [{selector, weighted, output, n: [int], mse | r2 | accuracy: {mean: [], low: [], high: []}}]
    wins            [{rival, weighted, n: [int], share: [float], n_folds}]   reference against rival, all outputs
    weighting       [{selector, n: [int], share: [float]}]    folds in which weighted beats unweighted kNN
    best_n          [{selector, weighted, output, n, low, high}]   the best number of features on the test curve
    stability       [{selector, output, n, index, low, high}]       Nogueira's index at the median chosen n
    few_channels    {n: {median, low, high}, channels: [{channel, share: of folds that keep it}]}: how many
                    channels suffice, most often kept first; null if that was not asked
    null            [{output, shifts: [s], values: [float], real, p, chance, high}]   metric at shifted targets
    confusion       {method, classes: [str], counts: [[int]]}: rows are the truth; null if not classes
    provenance      {version, versions: {package: version}, python, platform, command, seed, finished, seconds,
                    peak_memory, git, inputs: [{path, sha256}], threads}
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from neurofs.comparison.headline import write_headline
from neurofs.comparison.problem import Problem
from neurofs.comparison.scores import METRICS, RANGES
from neurofs.comparison.stats import (
    compare_paired,
    correct_holm,
    estimate,
    find_best_size,
    measure_stability,
    null_p_value,
    share_of_wins,
)
from neurofs.recordings.recording import Recording, find_gaps

__all__ = ["SCHEMA", "summarise"]

SCHEMA = 1
FOLD = ["output", "repeat", "fold"]


def summarise(
    recording: Recording,
    tensor: xr.Dataset,
    problem: Problem,
    scores: pd.DataFrame,
    weights: xr.Dataset,
    predictions: xr.Dataset,
    null_rows: list[dict[str, Any]],
    provenance: dict[str, Any],
) -> dict[str, Any]:
    """Return the summary of a comparison, as described in the module."""
    digest = _Digest(problem, scores)
    null = list(_describe_null(problem, null_rows, tensor.attrs["bin_width"]))
    methods = sorted(digest.methods(), key=lambda m: -(m["pooled"][digest.metric]["mean"] or -math.inf))
    summary = {
        "schema": SCHEMA,
        "metric": digest.metric,
        "reference": problem.reference,
        "headline": {},
        "session": _describe_session(recording, tensor, problem),
        "audit": _describe_audit(problem),
        "methods": methods,
        "tests": digest.tests(),
        "curves": list(digest.curves()),
        "wins": list(digest.wins()),
        "weighting": list(digest.weighting()),
        "best_n": list(digest.best_sizes()),
        "stability": list(_describe_stability(problem, weights)),
        "few_channels": _describe_few_channels(weights),
        "null": null,
        "confusion": _count_confusion(problem, predictions, methods[0]["method"]),
        "provenance": provenance,
    }
    summary["headline"] = write_headline(summary)
    return _without_nan(summary)


class _Digest:
    """The table of scores, seen from every side that the summary needs."""

    def __init__(self, problem: Problem, scores: pd.DataFrame) -> None:
        """Split the table into curves and choices."""
        self.problem, self.scores = problem, scores
        self.curve = scores[~scores["chosen"]]
        self.chosen = scores[scores["chosen"]]
        self.metric = "accuracy" if problem.classes else "r2"
        self.ratio = float((scores["n_test"] / scores["n_train"]).mean())

    def methods(self) -> Iterator[dict[str, Any]]:
        """Yield each method with its scores at its own choice, per output and pooled."""
        for method, rows in self.chosen.groupby("method", sort=False):
            decoders = rows["decoder"].value_counts()
            yield {
                "method": method,
                "selector": rows["selector"].iloc[0],
                "decoder": " / ".join(decoders.index),
                "weighted": float(rows["weighted"].mean()),
                "n": _spread(rows["n"].to_numpy()),
                "outputs": {name: self._estimates(part) for name, part in rows.groupby("output", sort=False)},
                "pooled": self._pooled(rows),
            }

    def _estimates(self, rows: pd.DataFrame) -> dict[str, Any]:
        return {name: self._estimate(name, rows[name]) for name in METRICS}

    def _estimate(self, name: str, values: Any) -> dict[str, float | None]:
        """Return the estimate of a score, its interval inside the range of the score."""
        return estimate(values, self.ratio, *RANGES[name])

    def _pooled(self, rows: pd.DataFrame) -> dict[str, Any]:
        """Return the mean over outputs of each score per fold, and FVAF = 1 − Σ MSE / Σ variance over outputs."""
        rows = rows.assign(variance=rows["mse"] / (1 - rows["r2"]).where(rows["r2"] < 1))
        folds = rows.groupby(["repeat", "fold"])
        found = {name: self._estimate(name, folds[name].mean()) for name in METRICS}
        totals = folds[["mse", "variance"]].sum(min_count=1)
        return {**found, "fvaf": self._estimate("fvaf", 1 - totals["mse"] / totals["variance"])}

    def tests(self) -> list[dict[str, Any]]:
        """Return the paired test of the reference against every other method, Holm-corrected per output."""
        found = []
        outputs = [*self.problem.outputs, *(["pooled"] if len(self.problem.outputs) > 1 else [])]
        for output in outputs:
            part = [self._test(method, output) for method in self._rivals()]
            for test, p in zip(part, correct_holm([test["p"] for test in part]), strict=True):
                found.append({**test, "p_holm": p})
        return found

    def _rivals(self) -> list[str]:
        return [m for m in self.chosen["method"].unique() if m != self.problem.reference]

    def _test(self, method: str, output: str) -> dict[str, Any]:
        rows = self.chosen if output == "pooled" else self.chosen[self.chosen["output"] == output]
        table = rows.pivot_table(self.metric, ["repeat", "fold"], "method", aggfunc="mean")
        pair = table[[self.problem.reference, method]].dropna()
        ours, theirs = pair[self.problem.reference].to_numpy(), pair[method].to_numpy()
        return {
            "method": method,
            "output": output,
            "difference": estimate(ours - theirs, self.ratio),
            **compare_paired(ours - theirs, self.ratio),
            "wins": share_of_wins(-ours, -theirs) if len(ours) else None,
            "n_folds": len(ours),
        }

    def curves(self) -> Iterator[dict[str, Any]]:
        """Yield the mean of each score against the number of features, with its interval."""
        names = ("accuracy", "balanced_accuracy") if self.problem.classes else ("mse", "r2", "r")
        for (selector, weighted, output), rows in self.curve.groupby(
            ["selector", "weighted", "output"], sort=False
        ):
            by_size = [(int(n), part) for n, part in rows.groupby("n")]
            about = {"selector": selector, "weighted": bool(weighted), "output": output}
            curve = {
                name: _transpose([self._estimate(name, part[name]) for _, part in by_size]) for name in names
            }
            yield {**about, "n": [n for n, _ in by_size], **curve}

    def _errors(self, selector: str, weighted: bool, output: str | None = None) -> pd.DataFrame:
        """Return the error of a selector's curve, (folds, sizes)."""
        rows = self.curve[(self.curve["selector"] == selector) & (self.curve["weighted"] == weighted)]
        rows = rows if output is None else rows[rows["output"] == output]
        value = 1 - rows["accuracy"] if self.problem.classes else rows["mse"]
        return rows.assign(error=value).pivot(index=FOLD, columns="n", values="error")

    def _has_weights(self, selector: str) -> bool:
        return bool(self.curve.loc[self.curve["selector"] == selector, "weighted"].any())

    def wins(self) -> Iterator[dict[str, Any]]:
        """Yield the share of folds in which the reference beats each rival, against n; weighted if it can be."""
        reference = self.problem.reference
        forms = [False, True] if self._has_weights(reference) else [False]
        rivals = [s for s in self.curve["selector"].unique() if s not in (reference, "all")]
        for rival in rivals:
            for weighted in forms:
                yield {
                    "rival": rival,
                    "weighted": weighted,
                    **_compare_curves(self._errors(reference, weighted), self._errors(rival, False)),
                }

    def weighting(self) -> Iterator[dict[str, Any]]:
        """Yield the share of folds in which weighted kNN beats unweighted kNN on the same features."""
        for selector in self.curve["selector"].unique():
            if self._has_weights(selector):
                pair = (self._errors(selector, weighted) for weighted in (True, False))
                yield {"selector": selector, **_compare_curves(*pair)}

    def best_sizes(self) -> Iterator[dict[str, Any]]:
        """Yield the best number of features on the test curve of every selector and output."""
        for (selector, weighted, output), _ in self.curve.groupby(
            ["selector", "weighted", "output"], sort=False
        ):
            errors = self._errors(str(selector), bool(weighted), str(output)).dropna()
            if len(errors) and selector != "all":
                about = {"selector": selector, "weighted": bool(weighted), "output": output}
                yield {**about, **find_best_size(errors.columns, errors.to_numpy(), self.ratio)}


def _transpose(estimates: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Turn a list of estimates into lists of their parts."""
    return {part: [one[part] for one in estimates] for part in ("mean", "low", "high")}


def _compare_curves(ours: pd.DataFrame, theirs: pd.DataFrame) -> dict[str, Any]:
    """Return the share of folds in which our error is smaller, for every size that both have."""
    sizes = [n for n in ours.columns if n in theirs.columns]
    share = [share_of_wins(ours[n], theirs[n].reindex(ours.index)) for n in sizes]
    return {"n": [int(n) for n in sizes], "share": share, "n_folds": len(ours)}


def _describe_session(recording: Recording, tensor: xr.Dataset, problem: Problem) -> dict[str, Any]:
    from neurofs.recordings.quality import find_warnings

    attrs = tensor.attrs
    outputs = zip(problem.outputs, problem.units, strict=True)
    return {
        "name": recording.name,
        "source": recording.source,
        "source_hash": recording.source_hash,
        "duration": recording.duration,
        "span": [float(t) for t in recording.span],
        "n_channels": recording.n_channels,
        "n_lags": tensor.sizes["lag"],
        "bin_width": attrs["bin_width"],
        "first_lag": attrs["first_lag"],
        "n_samples": len(problem.samples),
        "n_trials": 0 if problem.trials is None else len(np.unique(problem.trials)),
        "n_gaps": len(find_gaps(recording.observed)),
        "kind": problem.kind,
        "outputs": [{"name": name, "unit": unit} for name, unit in outputs],
        "classes": list(problem.classes),
        "dropped": {why: attrs[f"dropped_{why}"] for why in ("window", "target", "period", "step")},
        "notes": list(attrs["notes"]),
        "warnings": [*find_warnings(recording), *_find_warnings(problem, attrs)],
    }


def _find_warnings(problem: Problem, attrs: Mapping[str, Any]) -> Iterator[str]:
    if problem.kind == "shuffled":
        yield "folds of shuffled bins leak: every score in this run is inflated"
    if attrs["dropped_target"]:
        yield f"{attrs['dropped_target']} samples were dropped because the target is missing there"
    if len(problem.samples) < 5 * NULL_ROWS:
        yield f"only {len(problem.samples)} samples: shifts of the null control are short against the movement"


NULL_ROWS = 60
"""Samples at each end, a fifth of the session, below which shifts are too short to be trusted."""


def _describe_audit(problem: Problem) -> dict[str, Any]:
    folds = [
        {
            "repeat": fold.repeat,
            "fold": fold.fold,
            "n_train": len(fold.train),
            "n_test": len(fold.test),
            "n_overlaps": fold.n_overlaps,
        }
        for fold in problem.folds
    ]
    n_overlaps = sum(fold.n_overlaps for fold in problem.folds)
    return {"passed": n_overlaps == 0, "n_overlaps": n_overlaps, "folds": folds}


def _describe_stability(problem: Problem, weights: xr.Dataset) -> Iterator[dict[str, Any]]:
    """Yield the stability of each selector's first n features, n being the median of its choices."""
    for selector in problem.options.selectors:
        for output in problem.outputs:
            part = weights.sel(selector=selector, output=output)
            ranks = part["ranking"].values.reshape(-1, problem.samples.n_features)
            done = ranks.min(axis=1) > 0
            chosen = part["n_chosen"].values.reshape(-1)[done]
            n = int(np.percentile(chosen, 50, method="nearest")) if done.any() else 0
            yield {"selector": selector, "output": output, "n": n, **measure_stability(ranks[done] <= n)}


def _describe_few_channels(weights: xr.Dataset) -> dict[str, Any] | None:
    """Tell how many channels sufficed in each fold, and how often each was among them."""
    if "kept" not in weights:
        return None
    share = weights["kept"].mean(["repeat", "fold"]).values
    order = [i for i in np.argsort(-share, kind="stable") if share[i] > 0]
    names = weights["channel"].values
    return {
        "n": _spread(weights["kept"].sum("channel").values),
        "channels": [{"channel": str(names[i]), "share": float(share[i])} for i in order],
    }


def _spread(counts: np.ndarray) -> dict[str, int]:
    """Return the median of counts and the range of 95 % of them."""
    low, median, high = np.percentile(counts, [2.5, 50, 97.5], method="nearest")
    return {"median": int(median), "low": int(low), "high": int(high)}


def _describe_null(
    problem: Problem, rows: list[dict[str, Any]], bin_width: float
) -> Iterator[dict[str, Any]]:
    for output in problem.outputs:
        own = [row for row in rows if row["output"] == output]
        real = [row["value"] for row in own if row["shift"] == 0]
        shifted = [row for row in own if row["shift"] != 0]
        if not real or not shifted:
            continue
        values = [row["value"] for row in shifted]
        yield {
            "output": output,
            "n_rows": own[0]["n_rows"],
            "shifts": [round(row["shift"] * bin_width, 9) for row in shifted],
            "values": values,
            "real": real[0],
            "p": null_p_value(real[0], values),
            "chance": float(np.mean(values)),
            "high": float(np.percentile(values, 95)),
        }


def _count_confusion(problem: Problem, predictions: xr.Dataset, method: str) -> dict[str, Any] | None:
    """Return how often each class was taken for each other, over all repeats."""
    if not problem.classes:
        return None
    predicted = predictions["predicted"].sel({"method": method}).isel(output=0).values
    truth = np.broadcast_to(problem.targets[:, 0], predicted.shape)
    known = np.isfinite(predicted)
    counts = np.zeros((len(problem.classes),) * 2, dtype=int)
    np.add.at(counts, (truth[known], predicted[known].astype(int)), 1)
    return {"method": method, "classes": list(problem.classes), "counts": counts.tolist()}


def _without_nan(value: Any) -> Any:
    """Replace what JSON cannot hold."""
    if isinstance(value, Mapping):
        return {str(key): _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
