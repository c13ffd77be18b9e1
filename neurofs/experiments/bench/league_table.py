"""The scores of the league as a table, and what was promised beside what was measured."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from neurofs.experiments.bench.row import Row

RIVALS = ("XGBoost", "SVR-RBF", "ridge", "kNN on best n by correlation")
GOALS: Mapping[str, Mapping[str, float]] = {
    "RGS + soft kNN": {"stevenson": 0.875, "chewie": 0.775, "a2929": 0.90},
    "RGS + local-linear": {"stevenson": 0.885, "chewie": 0.785, "a2929": 0.91},
    "RGS + kernel ridge": {"stevenson": 0.895, "chewie": 0.785, "a2929": 0.905},
    "kernel RGS": {"stevenson": 0.910, "chewie": 0.815, "a2929": 0.917},
    "kernel RGS, lags not mixed": {"stevenson": 0.905, "chewie": 0.810, "a2929": 0.917},
}
KERNEL_RGS = ("kernel RGS", "kernel RGS, lags not mixed")
COVERED = (0.92, 0.98)


def summarize(scores: pd.DataFrame) -> pd.DataFrame:
    """Return for each decoder and recording the means of R² and coverage, the cost, and the spread of seeds.

    The cost is CPU seconds per fold (and seed), weights included, and the largest memory; the spread is the
    standard deviation of the mean R² over seeds, NaN for one seed.
    """
    by = ["decoder", "recording"]
    runs = scores.drop_duplicates([*by, "fold", "seed"])
    seconds = runs.assign(seconds=runs[["weights_seconds", "fit_seconds", "predict_seconds"]].sum(axis=1))
    groups = scores.groupby(by, sort=False)
    table = groups[["r2", "coverage", "far_coverage"]].mean()
    table["spread"] = scores.groupby([*by, "seed"])["r2"].mean().groupby(by).std()
    table["seconds"] = seconds.groupby(by, sort=False)["seconds"].mean()
    table["memory_mb"] = groups["memory_mb"].max()
    return table


def render_league(scores: pd.DataFrame) -> str:
    """Return the league as text, best decoder first: mean R², CPU seconds per fold, megabytes.

    Where a row ran with several seeds, R² is their mean, followed by their standard deviation.
    """
    summary = summarize(scores)
    names = list(dict.fromkeys(scores["recording"]))
    order = summary["r2"].groupby("decoder").mean().sort_values(ascending=False).index
    head = "decoder".ljust(30) + "".join(f"{name + ' R²':>14}{'':6}{'s/fold':>8}{'MB':>7}" for name in names)
    return "\n".join([head, *(_line(summary, decoder, names) for decoder in order)])


def _line(summary: pd.DataFrame, decoder: str, names: Sequence[str]) -> str:
    cells = []
    for name in names:
        if (decoder, name) not in summary.index:
            cells.append(" " * 35)
            continue
        row = summary.loc[(decoder, name)]
        spread = "" if np.isnan(row.spread) else f" ±{row.spread:.3f}".replace("0.", ".")
        cells.append(f"{row.r2:14.3f}{spread:6}{row.seconds:8.1f}{row.memory_mb:7.0f}")
    return decoder.ljust(30) + "".join(cells)


def league_rows(scores: pd.DataFrame) -> list[Row]:
    """Return what was promised of the league beside what was measured."""
    summary = summarize(scores)
    r2, seconds, covered, far = (
        summary[column].unstack("decoder").T.to_dict()  # recording → decoder → figure
        for column in ("r2", "seconds", "coverage", "far_coverage")
    )
    return [
        row
        for name, found in r2.items()
        for rows in (
            *(compare(name, found) for compare in (_goals, _rivals, _lead)),
            _times(name, seconds[name]),
            _coverages(name, covered[name], far[name]),
        )
        for row in rows
    ]


def _goals(recording: str, found: Mapping[str, float]) -> Iterator[Row]:
    """Compare each RGS decoder with its goal."""
    for decoder in _measured(GOALS, found):
        value, goal = found[decoder], GOALS[decoder][recording]
        yield Row(f"{recording}: {decoder}", f"R² {value:.3f}", f"at least {goal:.3f}", value >= goal)


def _rivals(recording: str, found: Mapping[str, float]) -> Iterator[Row]:
    """Compare the best RGS decoder with each rival."""
    best = max((found[decoder] for decoder in _measured(GOALS, found)), default=np.nan)
    for rival in _measured(RIVALS, found):
        lead = best - found[rival]
        yield Row(f"{recording}: best RGS decoder against {rival}", f"{lead:+.3f}", "above", lead > 0)


def _lead(recording: str, found: Mapping[str, float]) -> Iterator[Row]:
    """Compare the best of all rows with learned weights, averages included, with the LSTM."""
    ours = {decoder: found[decoder] for decoder in _measured([d for d in found if "RGS" in d], found)}
    if ours and _measured(["LSTM"], found):
        best = max(ours, key=lambda decoder: ours[decoder])
        lead = ours[best] - found["LSTM"]
        yield Row(f"{recording}: {best} against LSTM", f"{lead:+.3f}", "above (goal)", lead > 0)


def _times(recording: str, seconds: Mapping[str, float]) -> Iterator[Row]:
    """Compare the time of kernel RGS with that of the LSTM."""
    for decoder in _measured(KERNEL_RGS, seconds) if _measured(["LSTM"], seconds) else ():
        ours, network = seconds[decoder], seconds["LSTM"]
        goal = f"at most {network:.1f} s"
        yield Row(f"{recording}: {decoder}, time per fold", f"{ours:.1f} s", goal, ours <= network)


def _coverages(recording: str, covered: Mapping[str, float], far: Mapping[str, float]) -> Iterator[Row]:
    """Compare the share of test samples inside their 95 % intervals with what it should be on average.

    The share among those whose target lies farthest from its mean is told, and has no goal.
    """
    for decoder in _measured(covered, covered):
        share, (low, high) = covered[decoder], COVERED
        what = f"{recording}: {decoder}, 95 % intervals cover"
        yield Row(what, f"{share:.1%}", f"{low:.0%} to {high:.0%}", low <= share <= high)
        yield Row(f"{what}, farthest fifth", f"{far[decoder]:.1%}")


def _measured(decoders: Iterable[str], found: Mapping[str, float]) -> list[str]:
    """Return the decoders that took part."""
    return [decoder for decoder in decoders if not np.isnan(found.get(decoder, np.nan))]
