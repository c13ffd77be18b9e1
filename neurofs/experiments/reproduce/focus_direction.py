"""The fewest channel × lag events that determine reach direction: Almuallim and Dietterich (1994) on real spikes.

`chewie_20131003_m1.npz`: 174 units of monkey motor cortex, windows of 3 bins of 100 ms, eight directions. An event
is at least one spike of a unit in one bin (`levels=2`). On the training trials of each of five folds, the greedy
algorithms look for the fewest events that leave at most a share ε of the conflicts (pairs of windows of different
directions that agree on the events), and FOCUS-2 for the smallest set of all among the 30 events that come first
in the order of Mutual-Information-Greedy. Soft kNN then decodes the test trials from the events.

The control: the same after the directions were dealt out anew among the training trials. If those take no more
events, the events tell rows apart, and not directions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from neurofs.experiments.reproduce.claims import make_claim, render_claims
from neurofs.experiments.reproduce.direction import read_direction
from neurofs.features.samples import Samples
from neurofs.ground.errors import InputError
from neurofs.selectors import Focus2, InfoGain, MutualInformationGreedy, Random, SimpleGreedy, WeightedGreedy

__all__ = ["MINUTES", "claims", "plot", "render", "run", "shuffle_trials"]

MINUTES = 1
RECORDING = "chewie_20131003_m1.npz"
TOLERANCES = (0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.0)
EXACT_TOLERANCES = (0.3, 0.2)  # at which FOCUS-2 is run
N_CANDIDATES = 30
GREEDY: dict[str, Any] = {
    "simple-greedy": SimpleGreedy,
    "weighted-greedy": WeightedGreedy,
    "mi-greedy": MutualInformationGreedy,
}
NOWHERE = "nowhere; what one would expect"
WHY = "nearly all pairs of windows are conflicts, so events that halve the windows win, whatever they mean"
COLUMNS = ["fold", "target", "method", "tolerance", "events", "accuracy"]
N_NEIGHBORS = 30
Row = tuple[int, str, str, float, int, float]


def shuffle_trials(y: np.ndarray, trial: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Deal the classes of trials out anew among the trials.

    >>> shuffle_trials(np.array([5, 5, 7, 7]), np.array([0, 0, 1, 1]), np.random.default_rng(3)).tolist()
    [7, 7, 5, 5]
    """
    _, first, number = np.unique(trial, return_index=True, return_inverse=True)
    return y[first][rng.permutation(first.size)][number]


def run(
    repetitions: int = 5, seed: int = 0, progress: Callable[[int, int], None] | None = None
) -> pd.DataFrame:
    """Return one row per fold (`repetitions` of five), target, method and tolerance: events, and accuracy."""
    from neurofs.experiments.bench.recordings import shared_data
    from neurofs.features.splits import BlockedKFold

    recording = shared_data() / RECORDING
    if not recording.exists():
        remedy = "Set NEUROFS_SHARED_DATA to the folder of the recordings."
        raise InputError(recording.name, "the recording", "no such file", remedy)
    samples, y, trial = read_direction(recording)
    rows: list[Row] = []
    folds = list(BlockedKFold(5).split(samples, groups=trial))[:repetitions]
    for fold, (train, test) in enumerate(folds):
        test_part = samples[test], y[test]
        rng = np.random.default_rng([seed, fold])
        dealt = shuffle_trials(y[train], trial[train], rng)
        for target, labels in (("direction", y[train]), ("dealt out anew", dealt)):
            found = _Events(samples[train], labels, *test_part)
            rows += [(fold, target, *row) for row in found.score_all(seed)]
        if progress:
            progress(fold + 1, len(folds))
    return pd.DataFrame(rows, columns=COLUMNS)


class _Events:
    """Events of the training windows and of the test windows of a fold."""

    def __init__(self, train: Samples, y: np.ndarray, test: Samples, truth: np.ndarray) -> None:
        """Turn counts into events."""
        self.train, self.y, self.truth = train, y, truth
        self.X, self.Q = (np.minimum(np.asarray(part), 1.0) for part in (train, test))

    def score_all(self, seed: int) -> Iterator[tuple[str, float, int, float]]:
        """Yield method, tolerance, number of events and accuracy."""
        for method, kind in GREEDY.items():
            selector = kind(levels=2).fit(self.train, self.y)
            for tolerance in TOLERANCES:
                n = max(1, int(np.argmax(selector.curve_ <= tolerance + 1e-9)))
                yield method, tolerance, n, self.decode(selector.order_[:n])
        candidates = selector.order_[:N_CANDIDATES]
        for tolerance in EXACT_TOLERANCES:
            focus = Focus2(tolerance=tolerance).fit(self.X[:, candidates], self.y)
            chosen = candidates[focus.get_support()]
            yield "focus-2 of 30", tolerance, chosen.size, self.decode(chosen)
        rivals = {"infogain": InfoGain(), "random": Random(random_state=seed)}
        for method, rival in rivals.items():
            order = rival.fit(self.train, self.y).order_
            for n in (5, 17):
                yield method, np.nan, n, self.decode(order[:n])
        yield "all events", np.nan, self.X.shape[1], self.decode(np.arange(self.X.shape[1]))
        most = np.bincount(self.y).argmax()
        yield "most frequent direction", np.nan, 0, float(np.mean(self.truth == most))

    def decode(self, events: np.ndarray) -> float:
        """Return the accuracy of soft kNN on some events."""
        from neurofs.decoders.classifiers import SoftKNNClassifier

        model = SoftKNNClassifier(N_NEIGHBORS).fit(self.X[:, events], self.y)
        return float(model.score(self.Q[:, events], self.truth))


# ------------------------------------------------------------------------------------------ what they show


def _means(table: pd.DataFrame, target: str, value: str) -> pd.DataFrame:
    part = table[(table["target"] == target) & table["tolerance"].notna()]
    return part.pivot_table(index="method", columns="tolerance", values=value)


def _rival(table: pd.DataFrame, method: str, n: int | None = None) -> float:
    part = table[(table["target"] == "direction") & (table["method"] == method)]
    return float((part if n is None else part[part["events"] == n])["accuracy"].mean())


def claims(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return each expectation, our figure, and whether it holds; none of it is published."""
    return [make_claim(*claim) for claim in _check_claims(table)]


def _check_claims(table: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    events, accuracy = (_means(table, "direction", value) for value in ("events", "accuracy"))
    control = _means(table, "dealt out anew", "events")
    chance = _rival(table, "most frequent direction")
    best = accuracy.loc[list(GREEDY)].stack()
    yield (
        "the events decode the direction of new trials far above chance",
        NOWHERE,
        f"best {best.max():.3f} ({best.idxmax()[0]}, ε = {best.idxmax()[1]:g}); chance {chance:.3f}",
        bool(best.max() > 2 * chance),
    )
    common = list(EXACT_TOLERANCES)
    exact, greedy = events.loc["focus-2 of 30", common], events.loc["mi-greedy", common]
    yield (
        "FOCUS-2 finds sets no larger than the greedy ones among the same events",
        NOWHERE,
        f"{exact.tolist()} against {greedy.round(1).tolist()} events at ε = {common}",
        bool((exact <= greedy + 1e-9).all()),
    )
    for method in GREEDY:
        fewer = control.loc[method].mean() - events.loc[method].mean()
        yield (
            f"fewer events determine the direction than one dealt out anew ({method})",
            NOWHERE,
            f"{fewer:+.2f} events on average over ε",
            bool(fewer > 0.5),
            WHY,
        )
    yield (
        "they decode better than 17 events by infogain",
        NOWHERE,
        f"17 by infogain {_rival(table, 'infogain', 17):.3f}; best set {best.max():.3f}; all "
        f"{_rival(table, 'all events'):.3f}",
        bool(best.max() > _rival(table, "infogain", 17)),
    )


def render(table: pd.DataFrame) -> str:
    """Return the table and what it shows as text."""
    folds = table["fold"].nunique()
    lines = [
        f"Events that determine one of 8 reach directions but for a share ε of conflicts, mean of {folds} folds"
    ]
    lines += ["", f"{'':<32}" + "".join(f"{f'ε = {e:g}':>14}" for e in TOLERANCES), "number of events"]
    for target, mark in (("direction", ""), ("dealt out anew", ", dealt anew")):
        events = _means(table, target, "events")
        for method in events.index:
            cells = [events.loc[method].get(e, np.nan) for e in TOLERANCES]
            lines.append(f"  {method + mark:<30}" + "".join(f"{_cell(c, '.1f'):>14}" for c in cells))
    lines += ["accuracy of soft kNN on test trials"]
    accuracy = _means(table, "direction", "accuracy")
    for method in accuracy.index:
        cells = [accuracy.loc[method].get(e, np.nan) for e in TOLERANCES]
        lines.append(f"  {method:<30}" + "".join(f"{_cell(c, '.3f'):>14}" for c in cells))
    rivals = [
        f"{n} by {name} {_rival(table, name, n):.3f}" for name in ("infogain", "random") for n in (5, 17)
    ]
    ends = ", ".join(
        f"{name} {_rival(table, name):.3f}" for name in ("all events", "most frequent direction")
    )
    lines += [f"  beside: {', '.join(rivals)}, {ends}", ""]
    return "\n".join([*lines, *render_claims(claims(table))])


def _cell(value: float, form: str) -> str:
    return "" if np.isnan(value) else format(value, form)


def plot(table: pd.DataFrame, path: Path) -> None:
    """Save the number of events and the accuracy against the tolerance as one image."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    axes = figure.subplots(1, 2)
    events, control = (_means(table, target, "events") for target in ("direction", "dealt out anew"))
    accuracy = _means(table, "direction", "accuracy")
    for at, method in enumerate(events.index):
        axes[0].plot(events.loc[method], "o-", color=f"C{at}", label=method)
        axes[0].plot(control.loc[method], ":", color=f"C{at}")
        axes[1].plot(accuracy.loc[method], "o-", color=f"C{at}", label=method)
    axes[1].axhline(_rival(table, "most frequent direction"), color="0.5", ls="--", label="chance")
    axes[0].set(xlabel="tolerance ε", ylabel="events (dotted: directions dealt out anew)", yscale="log")
    axes[1].set(xlabel="tolerance ε", ylabel="accuracy on test trials", ylim=(0, None))
    for ax in axes:
        ax.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=120)
