"""Section 5.5 of Navot (2006) on eight simulated days: is it better to transfer properties, or features?

The source compares on pairs of digits: the quality of features for a new task is predicted by its average over
other tasks, or by a regression on properties of the features. Here a task is a day of center-out reaching with
64 channels × 10 lags (`simulate_session`), whose electrodes were moved overnight: units, tuning and lags are
others every day, and only the plan of the array stays. Each day in turn is the new one, and the other seven, or
some of them, are the earlier ones. Beside the rank correlation with the measured quality: the R² of soft kNN on
the best n features, with firing rate and RGS (which has the targets of the new day) as further rankings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from neurofs.comparison.transfer import (
    METHODS,
    View,
    compare_rankings,
    decode_rankings,
    learn_quality,
    rank_correlation,
    view_session,
)
from neurofs.experiments.reproduce.claims import make_claim, render_claims
from neurofs.ground.config import TensorOptions
from neurofs.recordings.simulate import simulate_session
from neurofs.selectors.meta import measure_quality

__all__ = ["MINUTES", "claims", "plot", "render", "run"]

MINUTES = 1
N_DAYS, N_TRIALS = 8, 100
EARLIER = (1, 2, 4, 7)
FIRST_SEED = 1000  # of the days; others served while the regressor was chosen
COLUMNS = ["part", "method", "day", "x", "value"]


def run(
    repetitions: int = N_DAYS,
    seed: int = 0,
    n_trials: int = N_TRIALS,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Return one row per figure; the first `repetitions` of the eight days are the new one in turn.

    Parts: "agreement", the rank correlation by number of earlier days x; "r2", R² on the best x features.
    """
    options = TensorOptions(target=("hand_velocity",))
    days = [
        view_session(simulate_session(n_trials, random_state=FIRST_SEED + 100 * seed + day), options)
        for day in range(N_DAYS)
    ]
    rows: list[tuple[Any, ...]] = []
    for day in range(min(repetitions, N_DAYS)):
        rows += [(part, method, day, x, value) for part, method, x, value in _one_day(days, day, seed)]
        if progress:
            progress(day + 1, min(repetitions, N_DAYS))
    return pd.DataFrame(rows, columns=COLUMNS)


def _one_day(days: list[View], new: int, seed: int) -> Iterator[tuple[str, str, int, float]]:
    view, meta = days[new], days[new].describe()
    others = [days[(new - back) % N_DAYS] for back in range(1, N_DAYS)]  # yesterday first
    truth = measure_quality(None, view.samples, view.y, view.trial)
    for n in EARLIER[:-1]:
        known = learn_quality(others[:n], meta, random_state=seed)
        yield "agreement", "meta-features", n, rank_correlation(known.predict(meta), truth)
        average = known.average(view.samples.n_channels)
        yield "agreement", "average", n, rank_correlation(average, truth)
    known = learn_quality(others, meta, random_state=seed)
    for method, value in compare_rankings(view, known, known.predict(meta), truth, seed).items():
        yield "agreement", method, EARLIER[-1], value
    scores = decode_rankings(view, known, seed)
    for (method, n), value in scores.groupby(["method", "n"], sort=False)["r2"].mean().items():
        yield "r2", method, n, float(value)


# ------------------------------------------------------------------------------------------ what they show


def claims(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return each claim, our figure, and whether it holds."""
    agreement = table[table["part"] == "agreement"]
    last = agreement[agreement["x"] == EARLIER[-1]].pivot_table(index="day", columns="method", values="value")
    wins, mean = (last["meta-features"] > last["average"]).sum(), last.mean()
    by_days = agreement.pivot_table(index="method", columns="x", values="value")
    pairs = ", ".join(
        f"{n}: {by_days.loc['meta-features', n]:.2f} / {by_days.loc['average', n]:.2f}" for n in EARLIER
    )
    better = by_days.loc["meta-features", list(EARLIER)] > by_days.loc["average", list(EARLIER)]
    return [
        make_claim(
            "predicting quality through properties beats copying the average of the same feature",
            "section 5.5, pairs of digits: much better",
            f"rank correlation {mean['meta-features']:.2f} against {mean['average']:.2f}, better on {wins} of "
            f"{len(last)} days",
            wins == len(last),
        ),
        make_claim(
            "it does with any number of earlier tasks",
            "figure 5.5",
            f"meta-features / average by earlier days: {pairs}",
            better.all(),
        ),
        *_decoding_claims(table),
    ]


def _decoding_claims(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    r2 = table[table["part"] == "r2"].pivot_table(index="method", columns="x", values="value")
    few = [n for n in r2.columns if n <= 100]
    for rival in ("average", "firing rate"):
        better = r2.loc["meta-features", few] > r2.loc[rival, few]
        pairs = ", ".join(f"{n}: {r2.loc['meta-features', n]:.3f} / {r2.loc[rival, n]:.3f}" for n in few)
        yield make_claim(
            f"the best n features by properties decode better than those by {rival}",
            "not published for recordings",
            f"R² by n: {pairs}",
            better.all(),
        )
    gap = r2.loc["rgs", few] - r2.loc["meta-features", few]
    yield make_claim(
        "no ranking without targets reaches one with them",
        "not published",
        "RGS is better by " + ", ".join(f"{gap[n]:.3f} (n = {n})" for n in few),
        (gap > 0).all(),
    )


def render(table: pd.DataFrame) -> str:
    """Return rank correlations, R² and the claims as text."""
    n_days = table["day"].nunique()
    lines = [f"Eight simulated days, electrodes moved daily; mean of {n_days} new days", ""]
    for part, title in (
        ("agreement", "Rank correlation with the quality measured afterwards, by number of earlier days"),
        ("r2", "R² of soft kNN on the best n features, seven earlier days"),
    ):
        means = table[table["part"] == part].pivot_table(index="method", columns="x", values="value")
        lines += [title, f"{'':<16}" + "".join(f"{x:>8}" for x in means.columns)]
        for method in METHODS:
            cells = ["–" if np.isnan(value) else f"{value:.3f}" for value in means.loc[method]]
            lines.append(f"{method:<16}" + "".join(f"{cell:>8}" for cell in cells))
        lines.append("")
    return "\n".join([*lines, *render_claims(claims(table))])


def plot(table: pd.DataFrame, path: Path) -> None:
    """Save rank correlation against earlier days, and R² against n, with the spread over days."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4), layout="constrained")
    axes = figure.subplots(1, 2)
    for ax, part in zip(axes, ("agreement", "r2"), strict=True):
        for method in METHODS:
            chosen = table[(table["part"] == part) & (table["method"] == method)]
            values = chosen.groupby("x")["value"]
            ax.errorbar(
                values.mean().index, values.mean(), values.std(ddof=0), marker="o", capsize=2, label=method
            )
        ax.legend(frameon=False, fontsize=8)
    axes[0].set(xlabel="earlier days", ylabel="rank correlation with the measured quality")
    axes[1].set(xlabel="best n features", ylabel="R² of soft kNN", xscale="log")
    figure.savefig(path, dpi=120)
