"""Section 3.7.1 of Navot (2006): exclusive or of 3 of 10 features; and reach direction from real spikes.

1000 samples of 10 features, uniform on [−1, 1]; the class is the parity of the signs of the first three. No
feature, nor any two, tell anything about it. Followed step by step: the evaluation function e(w), the sum of
margins at max w² = 1, and the angle between w and the true weights (1, 1, 1, 0, …), of Simba and of Relief.

The second part, reach direction from real spikes (`experiments.reproduce.direction`), is not in the source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from neurofs.experiments.reproduce.claims import make_claim, render_claims
from neurofs.experiments.reproduce.direction import (
    MARGINS,
    METHODS,
    check_direction,
    decode_direction,
    render_direction,
)
from neurofs.features.samples import Samples
from neurofs.selectors import Simba
from neurofs.selectors.margin import Climb, evaluate_margins, find_margins
from neurofs.selectors.relief import nearest_hits_and_misses

__all__ = ["MINUTES", "angle", "claims", "draw", "plot", "render", "run", "trace"]

MINUTES = 2
N_SAMPLES, N_FEATURES, N_RELEVANT = 1000, 10, 3
STEPS = np.unique(np.concatenate([[0, 1, 2, 5, 10], np.arange(25, N_SAMPLES + 1, 25)]))

RANKERS = ("infogain", "corrcoef", "sks")
COLUMNS = ["part", "method", "repetition", "x", "quantity", "value"]


def draw(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return features and classes of one repetition."""
    X = np.random.default_rng([seed, N_FEATURES]).uniform(-1, 1, (N_SAMPLES, N_FEATURES))
    return X, (X[:, :N_RELEVANT] > 0).sum(axis=1) % 2


def angle(w: np.ndarray) -> float:
    """Return the angle between w and the true weights, in radians.

    >>> round(angle(np.ones(10)), 3)
    0.991
    """
    truth = (np.arange(w.size) < N_RELEVANT) / np.sqrt(N_RELEVANT)
    return float(np.arccos(np.clip(w @ truth / (np.linalg.norm(w) or 1.0), -1.0, 1.0)))


def trace(X: np.ndarray, y: np.ndarray, rows: np.ndarray) -> Iterator[tuple[int, str, np.ndarray]]:
    """Yield step, method and weights of Simba and Relief on the way through `rows`, at max w = 1."""
    samples = Samples.from_array(X)
    hits, misses = nearest_hits_and_misses(samples, y)
    gain = np.cumsum((X[rows] - X[misses[rows]]) ** 2 - (X[rows] - X[hits[rows]]) ** 2, axis=0)
    climb, w = Climb(Simba(), samples, y, None), np.ones(X.shape[1])
    done = 0
    for step in STEPS:
        climb.climb(rows[done:step], 1.0, w)
        done = step
        relief = np.maximum(gain[step - 1], 0.0) if step else np.ones(X.shape[1])
        yield step, "simba", np.abs(w) / np.abs(w).max()
        yield step, "relief", relief / (relief.max() or 1.0)


def run(
    repetitions: int = 10,
    seed: int = 0,
    direction: bool | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Return one row per figure: part, method, repetition (or fold), x (step or number of features), value.

    `direction` says whether to decode reach direction too; None does it where the recording is at hand.
    """
    from neurofs.experiments.bench.recordings import shared_data

    recording = shared_data() / "chewie_20131003_m1.npz"
    direction = recording.exists() if direction is None else direction
    total, rows = repetitions + 5 * direction, []
    for r in range(repetitions):
        rows += [(*row[:2], r, *row[2:]) for row in _one_repetition(seed + r)]
        if progress:
            progress(r + 1, total)
    if direction:
        for fold, found in enumerate(decode_direction(recording, seed)):
            rows += [("direction", method, fold, n, what, value) for method, n, what, value in found]
            if progress:
                progress(repetitions + fold + 1, total)
    return pd.DataFrame(rows, columns=COLUMNS)


def _one_repetition(seed: int) -> Iterator[tuple[str, str, int, str, float]]:
    """Yield the rows of one data set: the paths, and what every method ends with."""
    X, y = draw(seed)
    rows = np.random.default_rng([seed, 1]).permutation(N_SAMPLES)
    for step, method, w in trace(X, y, rows):
        yield "path", method, step, "e", evaluate_margins(find_margins(X, y, w))
        yield "path", method, step, "angle", angle(w)
    truth = (np.arange(N_FEATURES) < N_RELEVANT).astype(float)
    yield "path", "true weights", N_SAMPLES, "e", evaluate_margins(find_margins(X, y, truth))
    for method, make in METHODS.items():
        selector = make(seed).fit(X, y)
        w = getattr(selector, "metric_weights_", selector.weights_)
        yield "end", method, N_SAMPLES, "found", float(set(selector.order_[:N_RELEVANT]) == {0, 1, 2})
        yield "end", method, N_SAMPLES, "angle", angle(w)
        yield "end", method, N_SAMPLES, "e", evaluate_margins(find_margins(X, y, w / (w.max() or 1.0)))


# ------------------------------------------------------------------------------------------ what they show


def claims(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return each published claim, our figure, and whether it holds."""
    return [make_claim(*claim) for claim in _check_claims(table)]


def _check_claims(table: pd.DataFrame) -> Iterator[tuple[str, str, str, bool]]:
    path = table[table["part"] == "path"].pivot_table(
        index=["method", "repetition", "x"], columns="quantity", values="value"
    )
    last = path.xs(N_SAMPLES, level="x")
    e, turn = last["e"].groupby("method").mean(), last["angle"].groupby("method").mean()
    start = path.xs(0, level="x")["e"].groupby("method").mean()
    yield (
        "Simba's weights end nearer to the truth than Relief's",
        "figure 3.3, bottom",
        f"angle {turn['simba']:.2f} against {turn['relief']:.2f} rad",
        bool(turn["simba"] < turn["relief"]),
    )
    yield (
        "Simba's e(w) ends above Relief's",
        "figure 3.3, top",
        f"{e['simba']:.1f} against {e['relief']:.1f}; true weights {e['true weights']:.1f}",
        bool(e["simba"] > e["relief"]),
    )
    yield (
        "Relief raises the margin too",
        "figure 3.3, top",
        f"e {start['relief']:.1f} -> {e['relief']:.1f}",
        bool(e["relief"] > start["relief"]),
    )
    late = path.xs("simba", level="method")
    late = late[late.index.get_level_values("x") >= 150]
    r = [part["e"].corr(part["angle"]) for _, part in late.groupby("repetition")]
    yield (
        "e(w) and the angle are almost linearly related from step 150 on",
        "figure 3.4",
        f"correlation {np.mean(r):.2f} on average, {max(r):.2f} at the least",
        bool(np.mean(r) < -0.9),
    )
    found = table[table["quantity"] == "found"].groupby("method")["value"].mean()
    yield (
        "what looks at one feature at a time fails",
        "section 3.7.1",
        ", ".join(f"{name} finds all three in {found[name]:.0%}" for name in RANKERS),
        bool(found[list(RANKERS)].max() <= 0.2),
    )
    yield (
        "margin-based methods find all three",
        "section 3.7.1",
        ", ".join(f"{name} {found[name]:.0%}" for name in MARGINS),
        bool(found[MARGINS].min() >= 0.9),
    )
    yield from check_direction(table[table["part"] == "direction"])


def render(table: pd.DataFrame) -> str:
    """Return the tables and the claims as text."""
    end = table[table["part"] == "end"].pivot_table(index="method", columns="quantity", values="value")
    repetitions = table[table["part"] == "end"]["repetition"].nunique()
    what = f"Exclusive or of 3 of {N_FEATURES} features, {N_SAMPLES} samples"
    lines = [f"{what}, mean of {repetitions} (Navot 2006, 3.7.1)"]
    lines += ["", f"{'method':<20}{'all 3 found':>12}{'angle (rad)':>14}{'e(w)':>10}"]
    for name in METHODS:
        row = end.loc[name]
        lines.append(f"{name:<20}{row['found']:>12.0%}{row['angle']:>14.2f}{row['e']:>10.1f}")
    lines += ["", *render_direction(table[table["part"] == "direction"]), ""]
    return "\n".join([*lines, *render_claims(claims(table))])


def plot(table: pd.DataFrame, path: Path) -> None:
    """Save figures 3.3 (e(w) and angle at every step) and 3.4 (one against the other) as one image."""
    from matplotlib.figure import Figure

    part = table[table["part"] == "path"]
    mean = part.groupby(["method", "quantity", "x"])["value"].mean()
    figure = Figure(figsize=(12, 4), layout="constrained")
    axes = figure.subplots(1, 3)
    for method, style in (("simba", "-"), ("relief", ":")):
        axes[0].plot(mean[method, "e"], style, color="tab:blue", label=method)
        axes[1].plot(mean[method, "angle"], style, color="tab:blue", label=method)
    axes[0].axhline(mean["true weights", "e"].iloc[-1], ls="--", color="0.4", label="true weights")
    late = part[(part["method"] == "simba") & (part["x"] >= 150)]
    both = late.pivot_table(index=["repetition", "x"], columns="quantity", values="value")
    best = part[part["method"] == "true weights"].set_index("repetition")["value"]
    share = both["e"].div(best, level="repetition")
    axes[2].scatter(share, both["angle"], s=6, color="tab:blue", label="simba, steps 150 to 1000")
    axes[0].set(xlabel="step", ylabel="e(w), sum of margins")
    axes[1].set(xlabel="step", ylabel="angle to the true weights (rad)", ylim=(0, None))
    axes[2].set(xlabel="e(w) / e(true weights)", ylabel="angle to the true weights (rad)")
    for ax in axes:
        ax.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=120)
