"""Pairs of channels that work together: are those that are planted found, and no others?

Simulated days of 64 channels have four pairs each of a channel `product`, the velocity along a direction times a
hidden state, and a channel `state` that reports the state (`recordings.simulate`); neither says anything about the
movement alone. `neurofs decode --dependency` reports pairs at a false discovery rate of 10 %. Three kinds of days:

    pairs     as simulated
    no pairs  the same without the channels of the pairs, and those that hear their spikes: all others follow the
              movement as before, each by itself
    noise     no channel knows of the movement

A pair that is reported is right if it is planted. One of the two may also be the threshold channel of its electrode,
which hears the same spikes: such a pair is an echo, and wrong here. Power is the share of planted pairs found.
"""

import time
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from neurofs.comparison.pair_test import PairTest, Q, find_pairs
from neurofs.experiments.reproduce.claims import Claim, make_claim
from neurofs.experiments.reproduce.figures import make_axes
from neurofs.experiments.reproduce.tables import Progress, choose, track
from neurofs.features.tensor import build_tensor, to_samples
from neurofs.recordings.recording import Recording
from neurofs.recordings.simulate import simulate_session
from neurofs.report.palette import INK

MINUTES, OURS = 3, True
KINDS = ("pairs", "no pairs", "noise")
N_TRIALS, N_ELECTRODES = 210, 16
FIRST_SEED = 500  # other days than those on which the statistic was chosen


def list_planted(session: Recording) -> set[tuple[int, int]]:
    """Return the planted pairs of a simulated session, each with its smaller channel first."""
    products = session.channels[session.channels["tuning"] == "product"]
    return {(min(a, b), max(a, b)) for a, b in zip(products.index, products["partner"], strict=True)}


def hear_pairs(session: Recording) -> np.ndarray:
    """Return which channels have spikes of a planted pair: its own, and the threshold channels of their electrodes."""
    own = session.channels["tuning"].isin(["product", "state"])
    near = session.channels["electrode"].isin(session.channels["electrode"][own])
    return (own | (near & (session.channels["kind"] == "threshold"))).to_numpy()


def analyze(kind: str, seed: int, n_trials: int = N_TRIALS, n_electrodes: int = N_ELECTRODES) -> dict[str, Any]:
    """Simulate a day, look for pairs, and count what is planted and what is reported."""
    session = simulate_session(n_trials, n_electrodes=n_electrodes, noise=kind == "noise", random_state=seed)
    samples, targets, trials = to_samples(build_tensor(session, "hand_velocity"))
    X = np.asarray(samples).reshape(len(samples), samples.n_lags, -1)
    kept = np.flatnonzero(~hear_pairs(session)) if kind == "no pairs" else np.arange(X.shape[2])
    start = time.perf_counter()
    test = find_pairs(X[:, :, kept], targets, trials, by_trial=True)
    planted = set() if kind == "no pairs" else list_planted(session)
    return {
        "kind": kind,
        "seed": seed,
        "n_pairs": len(test.p),
        "planted": len(planted),
        **_count(test, kept, planted, hear_pairs(session)),
        "p_any": test.p_any,
        "seconds": time.perf_counter() - start,
    }


def _count(test: PairTest, kept: np.ndarray, planted: set[tuple[int, int]], hears: np.ndarray) -> dict[str, int]:
    """Count the pairs reported, those planted, and those of channels that hear planted ones."""
    found = [(int(kept[test.first[k]]), int(kept[test.second[k]])) for k in test.found]
    right = [pair for pair in found if pair in planted]
    echoes = [pair for pair in found if pair not in planted and planted and hears[list(pair)].all()]
    return {"found": len(found), "right": len(right), "echoes": len(echoes)}


def run(
    repetitions: int = 10,
    seed: int = 0,
    kinds: Iterable[str] = KINDS,
    n_trials: int = N_TRIALS,
    n_electrodes: int = N_ELECTRODES,
    progress: Progress = None,
) -> pd.DataFrame:
    """Look for pairs on so many days of each kind: one row per day."""
    days = [(kind, FIRST_SEED + seed + day) for kind in kinds for day in range(repetitions)]
    return pd.DataFrame([analyze(kind, day, n_trials, n_electrodes) for kind, day in track(days, progress)])


def false_share(table: pd.DataFrame) -> float:
    """Return the mean over days of the share of pairs reported that are not planted; 0 for a day without any."""
    return float(((table["found"] - table["right"]) / table["found"].clip(lower=1)).mean())


def tabulate(table: pd.DataFrame) -> list[str]:
    """Return the pairs planted, reported, right and wrong, day by day, as lines of text."""
    lines = ["Pairs of channels reported on simulated days"]
    for kind, days in table.groupby("kind", sort=False):
        lines += ["", f"{kind}: {days['n_pairs'].mean():.0f} pairs a day, {days['seconds'].mean():.1f} s"]
        for name in ("planted", "found", "right", "echoes"):
            lines.append(f"  {name:<10}{' '.join(f'{n:3d}' for n in days[name])}   sum {days[name].sum()}")
        lines.append(f"  {'p of any':<10}{' '.join(f'{p:.2f}' for p in days['p_any'])}")
    return lines


def claims(table: pd.DataFrame) -> Iterator[Claim]:
    """Yield what ought to hold: few false pairs, most planted ones, and none where none is."""
    with_pairs = choose(table, kind="pairs")
    if len(with_pairs):
        share, right, planted = false_share(with_pairs), with_pairs["right"].sum(), with_pairs["planted"].sum()
        wrong = with_pairs["found"].sum() - right
        text = (
            f"{100 * share:.1f} % on average over {len(with_pairs)} days; {wrong} of {with_pairs['found'].sum()} pairs"
        )
        yield make_claim(f"at most {100 * Q:g} % of the pairs reported are false", None, text, share <= Q)
        text = f"{right} of {planted} ({100 * right / max(planted, 1):.0f} %)"
        yield make_claim("most planted pairs are found", None, text, right > planted / 2)
    for kind, words in (("no pairs", "on days without pairs none is reported"), ("noise", "on days of noise, neither")):
        days = choose(table, kind=kind)
        if len(days):
            text = f"{days['found'].sum()} pairs on {(days['found'] > 0).sum()} of {len(days)} days"
            yield make_claim(words, None, text, days["found"].sum() == 0)


def plot(table: pd.DataFrame) -> Any:
    """Draw the pairs reported each day, right ones filled, wrong ones above them as crosses."""
    kinds = list(table["kind"].unique())
    figure, axes = make_axes((3.2 * len(kinds), 3.2), len(kinds), sharey=True)
    for ax, kind in zip(axes, kinds, strict=True):
        days = choose(table, kind=kind).reset_index(drop=True)
        for day, right, found in zip(days.index, days["right"], days["found"], strict=True):
            ax.plot([day] * right, np.arange(right) + 1, "o", color=INK, ms=5)
            ax.plot([day] * (found - right), np.arange(right, found) + 1, "x", color=INK, ms=6)
        ax.step(
            np.arange(-1, len(days) + 1), np.pad(days["planted"], 1, "edge"), where="mid", color=INK, lw=0.8, ls="--"
        )
        ax.set(xlabel="day", title=kind, ylim=(0, max(6, table["found"].max() + 1)), xlim=(-0.7, len(days) - 0.3))
    axes[0].set_ylabel("pairs reported; dashed: planted")
    return figure
