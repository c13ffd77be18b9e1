"""Chance is measured: sessions whose spikes know nothing of the movement.

Simulated sessions with spikes independent of the hand are decoded like any other. The interval of the R² of RGS,
at its chosen number of features, must not lie above 0. The p-value of the null control (the target shifted
against the spikes) must be uniform: each of its 21 values (20 shifts and none) is equally frequent.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import chisquare

from neurofs.experiments.reproduce.claims import Claim, make_claim
from neurofs.experiments.reproduce.figures import add_legends, make_axes
from neurofs.experiments.reproduce.tables import Progress, track

MINUTES, OURS = 15, True
SHIFTS = 20


def run(repetitions: int = 200, seed: int = 0, progress: Progress = None) -> pd.DataFrame:
    """Decode noise sessions: one row each with R², its interval, and the p-value."""
    return pd.DataFrame([decode_noise(1000 * seed + r) for r in track(range(repetitions), progress)])


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
    return {"seed": seed, "r2": number.mean, "low": number.low, "high": number.high, "p": null.p, "chance": null.chance}


def claims(table: pd.DataFrame) -> Iterator[Claim]:
    """Yield what was claimed and what came out."""
    above = float((table["low"] > 0).mean())
    yield make_claim(
        "the interval of R² includes 0 or lies below it in 97.5 % of sessions or more, as it should by construction",
        None,
        f"{100 * (1 - above):.1f} %",
        above <= 0.025 + 2 * np.sqrt(0.025 * 0.975 / len(table)),
    )
    p, small = float(chisquare(_count_in_bins(table["p"])).pvalue), float((table["p"] <= 0.05).mean())
    yield make_claim(
        "the p-value of the null control is uniform: a chi-squared test does not reject it (p > 0.01)",
        None,
        f"p = {p:.3f}; {100 * small:.1f} % of sessions at p ≤ 0.05",
        p > 0.01,
    )


def _count_in_bins(p_values: pd.Series) -> np.ndarray:
    """Return how many p-values fall into each of seven equal bins, three of the 21 possible values each."""
    ranks = np.rint(p_values.to_numpy() * (SHIFTS + 1)).astype(int) - 1
    return np.bincount(ranks // 3, minlength=7)


def tabulate(table: pd.DataFrame) -> list[str]:
    """Return the figures as lines of text."""
    counts = " ".join(str(n) for n in _count_in_bins(table["p"]))
    return [
        f"{len(table)} simulated sessions with spikes independent of the movement",
        f"  R² of RGS at its chosen n: mean {table['r2'].mean():.3f}, largest {table['r2'].max():.3f}",
        f"  p-values: {counts} sessions in seven equal bins from 0 to 1",
    ]


def plot(table: pd.DataFrame) -> Any:
    """Draw the p-values, which should be level, and the intervals of R², which should reach 0."""
    figure, (left, right) = make_axes((8, 3.2), 2)
    left.hist(table["p"], bins=np.linspace(0.5 / 21, 1 + 0.5 / 21, 8), color="#0072b2", edgecolor="white")
    left.axhline(len(table) / 7, color="#d55e00", lw=1, label="uniform")
    left.set(xlabel="p of the null control", ylabel="sessions")
    add_legends(left)
    ordered = table.sort_values("r2").reset_index(drop=True)
    right.vlines(ordered.index, ordered["low"], ordered["high"], color="#0072b2", lw=0.7)
    right.axhline(0, color="#d55e00", lw=1)
    right.set(xlabel="session, by R²", ylabel="R², 95 % interval")
    return figure
