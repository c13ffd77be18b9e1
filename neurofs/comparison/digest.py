"""Makes the `Summary` of a comparison from its scores, weights and predictions."""

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from neurofs.comparison.chance import describe_chance
from neurofs.comparison.channel_summary import ChannelTests
from neurofs.comparison.coverage import describe_coverage
from neurofs.comparison.facts import describe_facts
from neurofs.comparison.field_scores import guess_in_field, score_in_field
from neurofs.comparison.headline import write_headline
from neurofs.comparison.names import name_method
from neurofs.comparison.places import Places
from neurofs.comparison.problem import KERNEL, SPARSE, Problem
from neurofs.comparison.scores import RANGES, SCORES, find_variance
from neurofs.comparison.stats import (
    compare_paired,
    correct_holm,
    describe_counts,
    estimate,
    find_best_size,
    measure_stability,
    share_of_wins,
    widen_share,
)
from neurofs.comparison.summary import (
    Audit,
    AuditedFold,
    Band,
    BestSize,
    Chance,
    Confusion,
    Curve,
    Dependency,
    Estimate,
    FewChannels,
    Findings,
    KeptChannel,
    MethodScores,
    PairedTest,
    PooledScores,
    Provenance,
    Score,
    Scores,
    Stability,
    Summary,
    Weighting,
    Wins,
)
from neurofs.recordings.recording import Recording

FOLD = ["output", "repeat", "fold"]
CURVE = ["selector", "weighted", "output"]


def summarize(
    recording: Recording,
    tensor: xr.Dataset,
    problem: Problem,
    scores: pd.DataFrame,
    weights: xr.Dataset,
    predictions: xr.Dataset,
    provenance: Provenance,
    channels: ChannelTests | None = None,
    dependency: Dependency | None = None,
) -> Summary:
    """Return the summary of a comparison."""
    digest = _Digest(problem, scores)
    methods = [digest.score_in_field(method, predictions) for method in digest.rank_methods()]
    chance = list(describe_chance(problem, predictions, methods, digest.main, tensor.attrs["bin_width"]))
    findings = Findings(
        score=digest.score,
        reference=problem.reference,
        main=digest.main,
        session=describe_facts(recording, tensor, problem),
        audit=_describe_audit(problem, tensor),
        methods=methods,
        tests=digest.tests(),
        curves=list(digest.curves()),
        wins=list(digest.wins()),
        weighting=list(digest.weighting()),
        best_n=list(digest.best_sizes()),
        stability=list(_describe_stability(problem, weights)),
        few_channels=_describe_few_channels(weights, digest, chance),
        chance=chance,
        coverage=describe_coverage(predictions),
        guess_in_field=guess_in_field(problem),
        confusion=_count_confusion(problem, predictions, digest.main),
        channels=channels,
        dependency=dependency,
        provenance=provenance,
    )
    return Summary(**dict(findings), headline=write_headline(findings))


class _Digest:
    """The table of scores, seen from every side that the summary needs; by place (`comparison.places`)."""

    def __init__(self, problem: Problem, scores: pd.DataFrame) -> None:
        """Split the table into curves and choices."""
        self.problem, self.scores = problem, scores
        self.curve = scores[~scores["chosen"]]
        self.chosen = scores[scores["chosen"]]
        self.score: Score = "accuracy" if problem.classes else "r2"
        places = Places.of(problem)
        self.place, self.ratio = places.keys, places.ratio

    @property
    def main(self) -> str:
        """The method of the headline."""
        return _find_main(self.problem.reference, set(self.chosen["method"]))

    def rank_methods(self) -> list[MethodScores]:
        """Return the methods with their scores at their own choices, best first."""
        groups = self.chosen.groupby("method", sort=False)
        return sorted((self._describe_method(str(m), rows) for m, rows in groups), key=self._place)

    def score_in_field(self, method: MethodScores, predictions: xr.Dataset) -> MethodScores:
        """Return a method with its score in the measure of the field, if the target has one."""
        found = pd.Series(score_in_field(self.problem, predictions, method.method), dtype=float)
        if found.empty:
            return method
        least, most = RANGES["accuracy"] if self.problem.classes else (0.0, 180.0)
        by_place = found.rename_axis(["repeat", "fold"]).groupby(self.place).mean()
        return method.model_copy(update={"in_field": self._widen(estimate(by_place, self.ratio, least, most))})

    def _place(self, method: MethodScores) -> float:
        mean = method.pooled.of(self.score).mean
        return math.inf if mean is None else -mean

    def _describe_method(self, method: str, rows: pd.DataFrame) -> MethodScores:
        outputs = rows.groupby("output", sort=False)
        return MethodScores(
            method=method,
            label=name_method(method),
            selector=rows["selector"].iloc[0],
            decoder=" / ".join(rows["decoder"].value_counts().index),
            weighted=rows["weighted"].mean(),
            n=describe_counts(rows["n"].to_numpy()),
            outputs={
                name: Scores(**self._estimates(part.groupby(self.place)[SCORES].mean())) for name, part in outputs
            },
            pooled=self._pool(rows),
        )

    def _estimates(self, rows: Any) -> dict[str, Estimate]:
        return {name: self._estimate(name, rows[name]) for name in SCORES}

    def _estimate(self, name: str, values: Any) -> Estimate:
        """Return the estimate of a score, its interval inside the range of the score, and of some width."""
        found = estimate(values, self.ratio, *RANGES[name])
        return self._widen(found) if found.low == found.high else found

    def _widen(self, found: Estimate) -> Estimate:
        """Return the estimate of an accuracy with an interval that as many trials allow; others as they are."""
        trials = self.problem.trials if self.problem.classes else None
        return found if trials is None else widen_share(found, len(np.unique(trials)))

    def _pool(self, rows: pd.DataFrame) -> PooledScores:
        """Return the mean over outputs of each score per fold, and FVAF = 1 − Σ MSE / Σ variance over outputs."""
        rows = rows.assign(variance=find_variance(rows))
        folds = rows.groupby(["repeat", "fold"])
        totals = folds[["mse", "variance"]].sum(min_count=1)
        table = folds[SCORES].mean().assign(fvaf=1 - totals["mse"] / totals["variance"])
        table = table.groupby(self.place).mean()
        return PooledScores(**self._estimates(table), fvaf=self._estimate("fvaf", table["fvaf"]))

    def tests(self) -> list[PairedTest]:
        """Return the paired test of the main method against every other one, Holm-corrected per output."""
        outputs = [*self.problem.outputs, *(["pooled"] if len(self.problem.outputs) > 1 else [])]
        return [test for output in outputs for test in self._test_methods(output)]

    def _test_methods(self, output: str) -> Iterator[PairedTest]:
        rivals = [m for m in self.chosen["method"].unique() if m != self.main]
        tests = [self._test(method, output) for method in rivals]
        for test, p in zip(tests, correct_holm([test.p for test in tests]), strict=True):
            yield test.model_copy(update={"p_holm": p})

    def _test(self, method: str, output: str) -> PairedTest:
        """Compare the main method with another one in the folds that have both."""
        differences = self.differences(self.main, method, output)
        return PairedTest(
            method=method,
            output=output,
            difference=estimate(differences, self.ratio),
            **compare_paired(differences, self.ratio),
            wins=share_of_wins(-differences, np.zeros(len(differences))) if len(differences) else None,
            n_folds=len(differences),
        )

    def differences(self, one: str, other: str, output: str = "pooled") -> np.ndarray:
        """Return the score of one method minus that of another in the folds that have both."""
        rows = self.chosen if output == "pooled" else self.chosen[self.chosen["output"] == output]
        table = rows.pivot_table(self.score, self.place, "method", aggfunc="mean")
        pair = table[[one, other]].dropna()
        return np.asarray(pair[one] - pair[other])

    def curves(self) -> Iterator[Curve]:
        """Yield the mean of each score against the number of features, with its interval."""
        names = ("accuracy", "balanced_accuracy") if self.problem.classes else ("mse", "r2", "r")
        for (selector, weighted, output), rows in self.curve.groupby(CURVE, sort=False):
            by_size = [(int(n), part.groupby(self.place)[list(names)].mean()) for n, part in rows.groupby("n")]
            bands = {name: _band(self._estimate(name, part[name]) for _, part in by_size) for name in names}
            sizes = [n for n, _ in by_size]
            yield Curve(selector=selector, weighted=weighted, output=output, n=sizes, **bands)

    def _errors(self, selector: str, weighted: bool, output: str | None = None) -> pd.DataFrame:
        """Return the error of a selector's curve, (folds, sizes): of one output, or 1 − score over all of them."""
        rows = self.curve[(self.curve["selector"] == selector) & (self.curve["weighted"] == weighted)]
        rows = rows if output is None else rows[rows["output"] == output]
        value = rows["mse"] if output is not None and not self.problem.classes else 1 - rows[self.score]
        return rows.assign(error=value).pivot_table("error", self.place, "n")

    def _has_weights(self, selector: str) -> bool:
        return bool(self.curve.loc[self.curve["selector"] == selector, "weighted"].any())

    def wins(self) -> Iterator[Wins]:
        """Yield the share of folds in which the reference beats each rival, against n; weighted if it can be."""
        reference = self.problem.reference
        rivals = [s for s in self.curve["selector"].unique() if s not in (reference, "all")]
        for rival in rivals:
            for weighted in [False, True] if self._has_weights(reference) else [False]:
                errors = self._errors(reference, weighted), self._errors(rival, False)
                yield Wins(rival=rival, weighted=weighted, **_compare_curves(*errors))

    def weighting(self) -> Iterator[Weighting]:
        """Yield the share of folds in which weighted kNN beats unweighted kNN on the same features."""
        for selector in self.curve["selector"].unique():
            if self._has_weights(selector):
                pair = (self._errors(selector, weighted) for weighted in (True, False))
                yield Weighting(selector=selector, **_compare_curves(*pair))

    def best_sizes(self) -> Iterator[BestSize]:
        """Yield the best number of features on the test curve of every selector and output."""
        for (selector, weighted, output), _ in self.curve.groupby(CURVE, sort=False):
            errors = self._errors(selector, weighted, output).dropna()
            if len(errors) and selector != "all":
                best = find_best_size(errors.columns, errors.to_numpy(), self.ratio)
                yield BestSize(selector=selector, weighted=weighted, output=output, **best)


def rank_methods(problem: Problem, scores: pd.DataFrame) -> list[MethodScores]:
    """Return the methods of a table of scores, best first."""
    return _Digest(problem, scores).rank_methods()


def _find_main(reference: str, methods: set[str]) -> str:
    """Return the method of the headline; it is chosen before any score is seen.

    >>> _find_main("rgs", {"rgs", "rgs + auto", "ridge"}), _find_main("rgs", {"rgs", "ridge"})
    ('rgs + auto', 'rgs')
    """
    return next(method for method in (KERNEL, f"{reference} + auto", reference) if method in methods)


def _band(estimates: Iterable[Estimate]) -> Band:
    """Turn estimates into lists of their parts."""
    mean, low, high = zip(*((one.mean, one.low, one.high) for one in estimates), strict=True)
    return Band(mean=mean, low=low, high=high)


def _compare_curves(ours: pd.DataFrame, theirs: pd.DataFrame) -> dict[str, Any]:
    """Return the share of folds in which our error is smaller, for every size that both have."""
    sizes = [n for n in ours.columns if n in theirs.columns]
    share = [share_of_wins(ours[n], theirs[n].reindex(ours.index)) for n in sizes]
    return {"n": sizes, "share": share, "n_folds": len(ours)}


MARGIN = 0.05
"""Loss of the score that counts as none where few channels are to replace all."""


def _describe_audit(problem: Problem, tensor: xr.Dataset) -> Audit:
    folds = [
        AuditedFold(
            repeat=fold.repeat,
            fold=fold.fold,
            n_train=len(fold.train),
            n_test=len(fold.test),
            n_overlaps=fold.n_overlaps,
        )
        for fold in problem.folds
    ]
    n_overlaps = sum(fold.n_overlaps for fold in folds)
    span = tensor.attrs["target_span"]
    return Audit(passed=n_overlaps == 0, n_overlaps=n_overlaps, target_span=span, folds=folds)


def _describe_stability(problem: Problem, weights: xr.Dataset) -> Iterator[Stability]:
    """Yield the stability of each selector's first n features, n being the median of its choices."""
    for selector in problem.options.selectors:
        for output in problem.outputs:
            part = weights.sel(selector=selector, output=output)
            ranks = part["ranking"].values.reshape(-1, problem.samples.n_features)
            done = ranks.min(axis=1) > 0
            n = describe_counts(part["n_chosen"].values.reshape(-1)[done]).median if done.any() else 0
            yield Stability(selector=selector, output=output, n=n, index=measure_stability(ranks[done] <= n))


def _describe_few_channels(weights: xr.Dataset, digest: _Digest, chance: list[Chance]) -> FewChannels | None:
    """Tell how many channels were kept in each fold, how often each was among them, and whether they suffice."""
    if "kept" not in weights:
        return None
    share = weights["kept"].mean(["repeat", "fold"]).values
    order = [i for i in np.argsort(-share, kind="stable") if share[i] > 0]
    names = weights["channel"].values
    difference = estimate(digest.differences(SPARSE, KERNEL), digest.ratio)
    beyond = any(one.beyond for one in chance if one.method == SPARSE)
    return FewChannels(
        n=describe_counts(weights["kept"].sum("channel").values),
        channels=[KeptChannel(channel=names[i], share=share[i]) for i in order],
        difference=difference,
        margin=MARGIN,
        suffice=beyond and difference.low is not None and difference.low > -MARGIN,
    )


def _count_confusion(problem: Problem, predictions: xr.Dataset, method: str) -> Confusion | None:
    """Return how often each class was taken for each other, over all repeats."""
    if not problem.classes:
        return None
    predicted = predictions["predicted"].sel({"method": method}).isel(output=0).values
    truth = np.broadcast_to(problem.targets[:, 0], predicted.shape)
    known = np.isfinite(predicted)
    counts = np.zeros((len(problem.classes),) * 2, dtype=int)
    np.add.at(counts, (truth[known], predicted[known].astype(int)), 1)
    return Confusion(method=method, classes=problem.classes, counts=counts.tolist())
