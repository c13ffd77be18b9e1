"""20 relevant features of 640: can a method find those that matter only in pairs?

2000 samples of 640 counts, Poisson with mean 0.3, standardized to z = (x − 0.3) / √0.3. The target is

    mixed     Σ_{f < 10} z_f  +  2 Σ_{q < 5} z_{10+2q} z_{11+2q}  +  ε       ten features alone, ten in pairs
    additive  Σ_{f < 20} z_f  +  ε                                           all twenty alone

with ε ~ N(0, 1). A feature of a pair, taken alone, is independent of the target. A method's figure is how many
of the 20 are among its first 20.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from neurofs.experiments.reproduce.claims import Claim, make_claim
from neurofs.experiments.reproduce.figures import make_axes
from neurofs.experiments.reproduce.tables import Progress, choose, track
from neurofs.report.palette import INK
from neurofs.selectors.filters import CorrCoef
from neurofs.selectors.kernel_rgs import KernelRGS
from neurofs.selectors.rgs import RGS

MINUTES, OURS = 3, True
N_SAMPLES, N_FEATURES, N_RELEVANT, MEAN = 2000, 640, 20, 0.3


def _forest(X: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    """Return the importances of a random forest of 100 trees that tries a third of the features at each split."""
    from sklearn.ensemble import RandomForestRegressor

    forest = RandomForestRegressor(100, max_features=1 / 3, min_samples_leaf=3, random_state=seed)
    return forest.fit(X, y).feature_importances_


METHODS: dict[str, Callable[[np.ndarray, np.ndarray, int], np.ndarray]] = {
    "rgs": lambda X, y, seed: RGS(random_state=seed).fit(X, y).importances_,
    "rgs, published": lambda X, y, seed: RGS.published(random_state=seed).fit(X, y).importances_,
    "kernel rgs": lambda X, y, seed: KernelRGS(random_state=seed).fit(X, y).weights_,
    "random forest": _forest,
    "corrcoef": lambda X, y, seed: CorrCoef().fit(X, y).weights_,
}


def draw(task: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return counts and targets of the task "mixed" or "additive"."""
    rng = np.random.default_rng([seed, N_FEATURES])
    X = rng.poisson(MEAN, (N_SAMPLES, N_FEATURES)).astype(np.float32)
    z = (X[:, :N_RELEVANT].astype(float) - MEAN) / np.sqrt(MEAN)
    noise = rng.normal(size=N_SAMPLES)
    if task == "additive":
        return X, z.sum(axis=1) + noise
    return X, z[:, :10].sum(axis=1) + 2 * (z[:, 10::2] * z[:, 11::2]).sum(axis=1) + noise


def found(scores: np.ndarray) -> int:
    """Return how many of the relevant features are among the first 20."""
    return int((np.argsort(-scores, kind="stable")[:N_RELEVANT] < N_RELEVANT).sum())


def run(
    repetitions: int = 5,
    seed: int = 0,
    methods: Iterable[str] = tuple(METHODS),
    tasks: Iterable[str] = ("mixed", "additive"),
    progress: Progress = None,
) -> pd.DataFrame:
    """Count the features found: one row per task, method and repetition."""
    cells = [(t, method, r) for t in tasks for method in methods for r in range(repetitions)]
    rows = []
    for task, method, repetition in track(cells, progress):
        X, y = draw(task, seed + repetition)
        start = time.perf_counter()
        hits = found(METHODS[method](X, y, seed + repetition))
        rows.append((task, method, repetition, hits, time.perf_counter() - start))
    return pd.DataFrame(rows, columns=["task", "method", "repetition", "found", "seconds"])


def _beats(ours: float, rival: float) -> bool:
    """Whether a method finds more than a rival, and more than the ten features that matter alone."""
    return ours > max(rival, 11)


CLAIMS: dict[tuple[str, str, str], tuple[str, Callable[[float, float], bool]]] = {  # of task, method and rival
    ("mixed", "rgs", "corrcoef"): ("RGS finds features that matter only in pairs", _beats),
    ("mixed", "rgs, published", "corrcoef"): ("so does RGS with the published settings", _beats),
    ("mixed", "kernel rgs", "random forest"): (
        "kernel RGS finds at least as many as a random forest",
        lambda ours, rival: ours >= rival,
    ),
    ("additive", "rgs", "corrcoef"): (
        "where all features matter alone, RGS loses little against correlation",
        lambda ours, rival: ours > rival - 2,
    ),
}


def tabulate(table: pd.DataFrame) -> list[str]:
    """Return the features found of 20, their mean and each repetition, as lines of text."""
    lines = ["Relevant features among the first 20 of 640 (2000 samples)"]
    for task, part in table.groupby("task", sort=False):
        lines += ["", str(task)]
        for method, runs in part.groupby("method", sort=False):
            each = " ".join(str(hits) for hits in runs["found"])
            seconds = runs["seconds"].mean()
            lines.append(f"  {method:<16}{runs['found'].mean():5.1f}   ({each})   {seconds:.1f} s")
    return lines


def claims(table: pd.DataFrame) -> Iterator[Claim]:
    """Yield what ought to hold of RGS beside methods that look at one feature at a time."""
    mean = table.groupby(["task", "method"])["found"].mean()
    for (task, method, rival), (words, holds) in CLAIMS.items():
        if (task, method) in mean and (task, rival) in mean:
            ours, theirs = mean[task, method], mean[task, rival]
            text = f"{ours:.1f} of 20, {rival.replace('corrcoef', 'correlation')} {theirs:.1f}"
            yield make_claim(words, None, text, holds(ours, theirs))


def plot(table: pd.DataFrame) -> Any:
    """Draw the features found by every method, one panel per task: each repetition, and a line at the mean."""
    tasks, methods = list(table["task"].unique()), list(table["method"].unique())
    figure, axes = make_axes((4.5 * len(tasks), 3.5), len(tasks), sharey=True)
    for ax, task in zip(axes, tasks, strict=True):
        for place, method in enumerate(methods):
            hits = choose(table, task=task, method=method)["found"]
            places = place + 0.1 * (np.arange(len(hits)) - (len(hits) - 1) / 2)
            ax.plot(hits, places, "o", color=INK, mfc="none", ms=5)
            ax.plot([hits.mean()] * 2, [place - 0.35, place + 0.35], color=INK, lw=2)
        ax.set(xlabel="relevant features among the first 20", title=task, xlim=(0, N_RELEVANT + 0.5))
    axes[0].set_yticks(range(len(methods)), methods)
    axes[0].invert_yaxis()
    return figure
