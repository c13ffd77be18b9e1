"""Chance is measured: sessions whose spikes know nothing of the movement (neurofs's own control).

Simulated sessions with spikes independent of the hand are decoded as any other. The R² of RGS at its chosen
number of features must not be above 0 beyond its interval, and the p-value of the null control (the target
shifted against the spikes) must be uniform: each of its 21 values (20 shifts and none) equally frequent.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import chisquare

from neurofs.experiments.reproduce.claims import make_claim, render_claims

__all__ = ["claims", "plot", "render", "run"]

MINUTES = 10
SHIFTS = 20


def run(
    repetitions: int = 200, seed: int = 0, progress: Callable[[int, int], None] | None = None
) -> pd.DataFrame:
    """Decode noise sessions: one row each with R², its interval, and the p-value."""
    rows = []
    for repetition in range(repetitions):
        rows.append(decode_noise(1000 * seed + repetition))
        if progress:
            progress(repetition + 1, repetitions)
    return pd.DataFrame(rows)


def decode_noise(seed: int) -> dict[str, Any]:
    """Decode one simulated session of noise."""
    from neurofs.pipeline import compare
    from neurofs.recordings.simulate import simulate_session

    session = simulate_session(30, n_electrodes=2, noise=True, random_state=seed)
    found = compare(
        session,
        "hand_velocity:x",
        n_lags=3,
        selectors=("rgs",),
        decoder=("knn",),
        sizes=(1, 2, 4, 8, 16, 24),
        n_shifts=SHIFTS,
        seed=seed,
    )
    (null,) = found.summary.null
    number = found.summary.headline.numbers.reference
    return {
        "seed": seed,
        "r2": number.mean,
        "low": number.low,
        "high": number.high,
        "p": null.p,
        "chance": null.chance,
    }


def claims(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return what was claimed and what came out."""
    above = float((table["low"] > 0).mean())
    p = uniformity(table["p"])
    small = float((table["p"] <= 0.05).mean())
    return [
        make_claim(
            "the interval of R² includes 0 or lies below",
            "by construction: in 97.5 % of sessions or more",
            f"{100 * (1 - above):.1f} %",
            above <= 0.025 + 2 * np.sqrt(0.025 * 0.975 / len(table)),
        ),
        make_claim(
            "the p-value of the null control is uniform",
            "by construction: a chi-squared test does not reject (p > 0.01)",
            f"p = {p:.3f}; {100 * small:.1f} % of sessions at p ≤ 0.05",
            p > 0.01,
        ),
    ]


def uniformity(p_values: pd.Series) -> float:
    """Return the p-value of a chi-squared test that all of seven bins of p-values are equally frequent."""
    ranks = np.rint(p_values.to_numpy() * (SHIFTS + 1)).astype(int) - 1
    return float(chisquare(np.bincount(ranks // 3, minlength=7)).pvalue)


def render(table: pd.DataFrame) -> str:
    """Return the figures as text."""
    lines = [
        f"{len(table)} simulated sessions with spikes independent of the movement",
        f"  R² of RGS at its chosen n: mean {table['r2'].mean():.3f}, largest {table['r2'].max():.3f}",
        f"  p-values: {_histogram(table['p'])} sessions in seven equal bins from 0 to 1",
        "",
    ]
    return "\n".join([*lines, *render_claims(claims(table))])


def _histogram(p_values: pd.Series) -> str:
    ranks = np.rint(p_values.to_numpy() * (SHIFTS + 1)).astype(int) - 1
    return " ".join(str(n) for n in np.bincount(ranks // 3, minlength=7))


def plot(table: pd.DataFrame, path: Path) -> None:
    """Draw the p-values, which should be level, and the intervals of R², which should reach 0."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.hist(table["p"], bins=np.linspace(0.5 / 21, 1 + 0.5 / 21, 8), color="#0072b2", edgecolor="white")
    left.axhline(len(table) / 7, color="#d55e00", lw=1, label="uniform")
    left.set(xlabel="p of the null control", ylabel="sessions")
    left.legend(fontsize=7)
    ordered = table.sort_values("r2").reset_index(drop=True)
    right.vlines(ordered.index, ordered["low"], ordered["high"], color="#0072b2", lw=0.7)
    right.axhline(0, color="#d55e00", lw=1)
    right.set(xlabel="session, by R²", ylabel="R², 95 % interval")
    figure.savefig(path, dpi=130)
