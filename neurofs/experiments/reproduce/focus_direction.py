"""The fewest channel × lag events that determine reach direction: Almuallim and Dietterich (1994) on real spikes.

`chewie_20131003_m1.npz`: 174 channels of monkey motor cortex, windows of 3 bins of 100 ms, eight directions. An
event is at least one spike of a channel in one bin (`levels=2`). On the training trials of each of five folds, the
greedy algorithms look for the fewest events that leave at most a share ε of the conflicts (pairs of windows of
different directions that agree on the events). FOCUS-2 looks for the smallest set of all among the 30 events that
come first in the order of Mutual-Information-Greedy. Soft kNN then decodes the test trials from the events.

As a control, the same is done after the directions were dealt out anew among the training trials. If that takes no
more events, the events tell rows apart, not directions.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from neurofs.decoders.classifiers import SoftKNNClassifier
from neurofs.experiments.bench.recordings import CHEWIE, find_recording
from neurofs.experiments.reproduce.claims import Claim, make_claim
from neurofs.experiments.reproduce.direction import read_direction
from neurofs.experiments.reproduce.figures import add_legends, make_axes
from neurofs.experiments.reproduce.tables import Progress, average, choose, render_means, track
from neurofs.features.samples import Samples
from neurofs.features.splits import BlockedKFold
from neurofs.selectors import Focus2, InfoGain, MutualInformationGreedy, Random, SimpleGreedy, WeightedGreedy

MINUTES, OURS = 1, True
TOLERANCES = (0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.0)
EXACT_TOLERANCES = (0.3, 0.2)  # at which FOCUS-2 is run
N_CANDIDATES = 30
GREEDY: dict[str, Any] = {
    "simple-greedy": SimpleGreedy,
    "weighted-greedy": WeightedGreedy,
    "mi-greedy": MutualInformationGreedy,
}
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


def run(repetitions: int = 5, seed: int = 0, progress: Progress = None) -> pd.DataFrame:
    """Return one row per fold (`repetitions` of five), target, method and tolerance: events, and accuracy."""
    samples, y, trial = read_direction(find_recording(CHEWIE))
    rows: list[Row] = []
    folds = list(BlockedKFold(5).split(samples, groups=trial))[:repetitions]
    for fold, (train, test) in track(enumerate(folds), progress):
        dealt = shuffle_trials(y[train], trial[train], np.random.default_rng([seed, fold]))
        for target, labels in (("direction", y[train]), ("dealt out anew", dealt)):
            found = _Events(samples[train], labels, samples[test], y[test])
            rows += [(fold, target, *row) for row in found.score_all(seed)]
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
        model = SoftKNNClassifier(N_NEIGHBORS).fit(self.X[:, events], self.y)
        return float(model.score(self.Q[:, events], self.truth))


def _means(table: pd.DataFrame, target: str, value: str) -> pd.DataFrame:
    """Return the mean of a column for the methods that have tolerances, (method, tolerance)."""
    means = average(choose(table, target=target).dropna(), "method", "tolerance", value)
    return means.sort_index().sort_index(axis=1)


def _rival(table: pd.DataFrame, method: str, **values: int) -> float:
    """Return the mean accuracy of a method without tolerances."""
    return float(choose(table, target="direction", method=method, **values)["accuracy"].mean())


def claims(table: pd.DataFrame) -> Iterator[Claim]:
    """Yield each expectation, our figure, and whether it holds."""
    events, accuracy = (_means(table, "direction", value) for value in ("events", "accuracy"))
    control = _means(table, "dealt out anew", "events")
    chance = _rival(table, "most frequent direction")
    best = accuracy.loc[list(GREEDY)].stack()
    yield make_claim(
        "the events decode the direction of new trials far above chance",
        None,
        f"best {best.max():.3f} ({best.idxmax()[0]}, ε = {best.idxmax()[1]:g}); chance {chance:.3f}",
        best.max() > 2 * chance,
    )
    common = list(EXACT_TOLERANCES)
    exact, greedy = events.loc["focus-2 of 30", common], events.loc["mi-greedy", common]
    yield make_claim(
        "FOCUS-2 finds sets no larger than the greedy ones among the same events",
        None,
        f"{exact.tolist()} against {greedy.round(1).tolist()} events at ε = {common}",
        (exact <= greedy + 1e-9).all(),
    )
    for method in GREEDY:
        fewer = control.loc[method].mean() - events.loc[method].mean()
        yield make_claim(
            f"fewer events determine the direction than one dealt out anew ({method})",
            None,
            f"{fewer:+.2f} events on average over ε",
            fewer > 0.5,
        )
    yield make_claim(
        "they decode better than 17 events by infogain",
        None,
        f"17 by infogain {_rival(table, 'infogain', events=17):.3f}; best set {best.max():.3f}; all "
        f"{_rival(table, 'all events'):.3f}",
        best.max() > _rival(table, "infogain", events=17),
    )


def tabulate(table: pd.DataFrame) -> list[str]:
    """Return the number of events and the accuracy by tolerance as lines of text."""
    folds = table["fold"].nunique()
    lines = [
        f"Events that determine one of 8 reach directions but for a share ε of conflicts, mean of {folds} folds",
        "",
    ]
    head, *events = _lines(_means(table, "direction", "events"), ".1f")
    lines += [head, "number of events", *events]
    lines += _lines(_means(table, "dealt out anew", "events"), ".1f", ", dealt anew")[1:]
    lines += ["accuracy of soft kNN on test trials"]
    lines += _lines(_means(table, "direction", "accuracy"), ".3f")[1:]
    rivals = [f"{n} by {name} {_rival(table, name, events=n):.3f}" for name in ("infogain", "random") for n in (5, 17)]
    rivals += [f"{name} {_rival(table, name):.3f}" for name in ("all events", "most frequent direction")]
    return [*lines, f"  beside: {', '.join(rivals)}"]


def _lines(means: pd.DataFrame, form: str, mark: str = "") -> list[str]:
    """Return the means as lines of text, tolerances falling, below a head line."""
    named = means[list(TOLERANCES)].rename(index=lambda method: f"  {method}{mark}")
    return render_means(named, form, 32, 14, head="ε = {:g}", missing="")


def plot(table: pd.DataFrame) -> Any:
    """Draw the number of events and the accuracy against the tolerance."""
    figure, axes = make_axes((9, 3.8), 2)
    events, control = (_means(table, target, "events") for target in ("direction", "dealt out anew"))
    accuracy = _means(table, "direction", "accuracy")
    for at, method in enumerate(events.index):
        axes[0].plot(events.loc[method], "o-", color=f"C{at}", label=method)
        axes[0].plot(control.loc[method], ":", color=f"C{at}")
        axes[1].plot(accuracy.loc[method], "o-", color=f"C{at}", label=method)
    axes[1].axhline(_rival(table, "most frequent direction"), color="0.5", ls="--", label="chance")
    axes[0].set(xlabel="tolerance ε", ylabel="events (dotted: directions dealt out anew)", yscale="log")
    axes[1].set(xlabel="tolerance ε", ylabel="accuracy on test trials", ylim=(0, None))
    add_legends(*axes)
    return figure
