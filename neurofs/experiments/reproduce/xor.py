"""Section 3.7.1 of Navot (2006): exclusive or of 3 of 10 features; and reach direction from real spikes.

1000 samples of 10 features, uniform on [−1, 1]; the class is the parity of the signs of the first three. Neither
one feature nor two tell anything about it. Simba and Relief are followed step by step: the evaluation function
e(w), which is the sum of margins at max w² = 1, and the angle between w and the true weights (1, 1, 1, 0, …).

The second part, reach direction from real spikes (`experiments.reproduce.direction`), is not in the source.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from neurofs.experiments.bench.recordings import CHEWIE, shared_data
from neurofs.experiments.reproduce.claims import Claim, make_claim
from neurofs.experiments.reproduce.direction import (
    MARGINS,
    METHODS,
    check_direction,
    decode_direction,
    tabulate_direction,
)
from neurofs.experiments.reproduce.figures import add_legends, make_axes
from neurofs.experiments.reproduce.tables import Progress, average, choose, track
from neurofs.features.samples import Samples
from neurofs.selectors import Simba
from neurofs.selectors.margin import Climb, evaluate_margins, find_margins
from neurofs.selectors.relief import nearest_hits_and_misses

MINUTES = 4
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
    """Yield step, method and weights of Simba and Relief as they go through `rows`; the largest weight is 1."""
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


def run(repetitions: int = 10, seed: int = 0, direction: bool | None = None, progress: Progress = None) -> pd.DataFrame:
    """Return one row per figure: part, method, repetition (or fold), x (step or number of features), value.

    `direction` says whether to decode reach direction too; None does it where the recording is at hand.
    """
    recording = shared_data() / CHEWIE
    direction = recording.exists() if direction is None else direction
    parts = _list_parts(repetitions, seed, recording if direction else None)
    rows = [row for part in track(parts, progress, repetitions + 5 * direction) for row in part]
    return pd.DataFrame(rows, columns=COLUMNS)


def _list_parts(repetitions: int, seed: int, recording: Path | None) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows of each repetition, then those of each fold of the recording."""
    for r in range(repetitions):
        yield [(*row[:2], r, *row[2:]) for row in _one_repetition(seed + r)]
    if recording:
        for fold, found in enumerate(decode_direction(recording, seed)):
            yield [("direction", method, fold, n, what, value) for method, n, what, value in found]


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


def claims(table: pd.DataFrame) -> Iterator[Claim]:
    """Yield each published claim, our figure, and whether it holds."""
    path = average(choose(table, part="path"), ["method", "repetition", "x"], "quantity")
    last = path.xs(N_SAMPLES, level="x")
    e, turn = last["e"].groupby("method").mean(), last["angle"].groupby("method").mean()
    start = path.xs(0, level="x")["e"].groupby("method").mean()
    yield make_claim(
        "Simba's weights end nearer to the truth than Relief's",
        "figure 3.3, bottom",
        f"angle {turn['simba']:.2f} against {turn['relief']:.2f} rad",
        turn["simba"] < turn["relief"],
    )
    yield make_claim(
        "Simba's e(w) ends above Relief's",
        "figure 3.3, top",
        f"{e['simba']:.1f} against {e['relief']:.1f}; true weights {e['true weights']:.1f}",
        e["simba"] > e["relief"],
    )
    yield make_claim(
        "Relief raises the margin too",
        "figure 3.3, top",
        f"e {start['relief']:.1f} -> {e['relief']:.1f}",
        e["relief"] > start["relief"],
    )
    late = path.xs("simba", level="method")
    late = late[late.index.get_level_values("x") >= 150]
    r = [part["e"].corr(part["angle"]) for _, part in late.groupby("repetition")]
    yield make_claim(
        "e(w) and the angle are almost linearly related from step 150 on",
        "figure 3.4",
        f"correlation {np.mean(r):.2f} on average, {max(r):.2f} at the least",
        np.mean(r) < -0.9,
    )
    found = choose(table, quantity="found").groupby("method")["value"].mean()
    yield make_claim(
        "what looks at one feature at a time fails",
        "section 3.7.1",
        ", ".join(f"{name} finds all three in {found[name]:.0%}" for name in RANKERS),
        found[list(RANKERS)].max() <= 0.2,
    )
    yield make_claim(
        "margin-based methods find all three",
        "section 3.7.1",
        ", ".join(f"{name} {found[name]:.0%}" for name in MARGINS),
        found[MARGINS].min() >= 0.9,
    )
    yield from check_direction(choose(table, part="direction"))


def tabulate(table: pd.DataFrame) -> list[str]:
    """Return what each method ends with, and how well direction is decoded, as lines of text."""
    part = choose(table, part="end")
    end, repetitions = average(part, "method", "quantity"), part["repetition"].nunique()
    what = f"Exclusive or of 3 of {N_FEATURES} features, {N_SAMPLES} samples"
    lines = [f"{what}, mean of {repetitions} (Navot 2006, 3.7.1)"]
    lines += ["", f"{'method':<20}{'all 3 found':>12}{'angle (rad)':>14}{'e(w)':>10}"]
    for name in METHODS:
        row = end.loc[name]
        lines.append(f"{name:<20}{row['found']:>12.0%}{row['angle']:>14.2f}{row['e']:>10.1f}")
    return [*lines, "", *tabulate_direction(choose(table, part="direction"))]


def plot(table: pd.DataFrame) -> Any:
    """Draw figures 3.3 (e(w) and angle at every step) and 3.4 (one against the other)."""
    part = choose(table, part="path")
    mean = part.groupby(["method", "quantity", "x"])["value"].mean()
    figure, axes = make_axes((12, 4), 3)
    for method, style in (("simba", "-"), ("relief", ":")):
        axes[0].plot(mean[method, "e"], style, color="tab:blue", label=method)
        axes[1].plot(mean[method, "angle"], style, color="tab:blue", label=method)
    axes[0].axhline(mean["true weights", "e"].iloc[-1], ls="--", color="0.4", label="true weights")
    simba = choose(part, method="simba")
    both = average(simba[simba["x"] >= 150], ["repetition", "x"], "quantity")
    best = choose(part, method="true weights").set_index("repetition")["value"]
    share = both["e"].div(best, level="repetition")
    axes[2].scatter(share, both["angle"], s=6, color="tab:blue", label="simba, steps 150 to 1000")
    axes[0].set(xlabel="step", ylabel="e(w), sum of margins")
    axes[1].set(xlabel="step", ylabel="angle to the true weights (rad)", ylim=(0, None))
    axes[2].set(xlabel="e(w) / e(true weights)", ylabel="angle to the true weights (rad)")
    add_legends(*axes)
    return figure
