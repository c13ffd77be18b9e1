"""Reach direction from real spikes: the selectors for classes, on folds of whole trials.

`chewie_20131003_m1.npz`: 174 channels of monkey motor cortex, 3 lags of 100 ms, eight directions. Every method
ranks the features on the training trials. Nearest-neighbor classifiers decode the test trials from the best of
them, beside a linear support vector machine on all. Rankers for continuous targets get one column per class.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.svm import LinearSVC

from neurofs.decoders.classifiers import OneNNClassifier, SoftKNNClassifier
from neurofs.experiments.bench.recordings import CHEWIE
from neurofs.experiments.reproduce.claims import Claim, make_claim
from neurofs.experiments.reproduce.tables import align, choose
from neurofs.features.samples import Samples
from neurofs.features.splits import BlockedKFold
from neurofs.selectors import SKS, CorrCoef, GFlip, InfoGain, Random, Relief, ReliefF, Simba
from neurofs.selectors.targets import one_hot

METHODS: dict[str, Callable[[int], Any]] = {
    "simba, linear": lambda seed: Simba(random_state=seed),
    "simba, sigmoid": lambda seed: Simba(utility="sigmoid", random_state=seed),
    "g-flip, linear": lambda seed: GFlip(random_state=seed),
    "g-flip, zero-one": lambda seed: GFlip(utility="zero-one", random_state=seed),
    "g-flip, sigmoid": lambda seed: GFlip(utility="sigmoid", random_state=seed),
    "relief": lambda seed: Relief(),
    "relieff": lambda seed: ReliefF(),
    "infogain": lambda seed: InfoGain(),
    "corrcoef": lambda seed: CorrCoef(),
    "sks": lambda seed: SKS(),
    "random": lambda seed: Random(random_state=seed),
}
MARGINS = [name for name in METHODS if name.startswith(("simba", "g-flip", "relief"))]
COUNTS = (50, 100)  # features on which direction is decoded


def decode_direction(recording: Path, seed: int) -> Iterator[list[tuple[str, int, str, float]]]:
    """Yield for each fold of whole trials the accuracy of every method: (method, features, decoder, value)."""
    samples, y, trial = read_direction(recording)
    for train, test in BlockedKFold(5).split(samples, groups=trial):
        fold = _Fold(samples[train], y[train], trial[train], np.asarray(samples[test]), y[test])
        found = [("all features", samples.n_features, *score) for score in fold.score(slice(None))]
        found.append(("linear SVM, all features", samples.n_features, "linear SVM", fold.score_svm()))
        share = float(np.mean(y[test] == np.bincount(y[train]).argmax()))
        found.append(("most frequent direction", 0, "constant", share))
        for method, make in METHODS.items():
            found += fold.score_method(method, make(seed))
        yield found


def read_direction(recording: Path) -> tuple[Samples, np.ndarray, np.ndarray]:
    """Return windows of 3 bins inside trials, the direction (0 … 7) and the trial of each."""
    with np.load(recording) as file:
        counts, direction, trial = file["counts"], file["direction"], file["trial"]
    rows = np.flatnonzero(trial[2:] == trial[:-2]) + 2
    return Samples.from_counts(counts, 3, rows), direction[rows].astype(int), trial[rows]


@dataclass(frozen=True, eq=False)
class _Fold:
    """Training part of one fold, queries Q with their true classes, and how to score selections on them."""

    train: Samples
    y: np.ndarray
    trial: np.ndarray
    Q: np.ndarray
    truth: np.ndarray

    @cached_property
    def X(self) -> np.ndarray:
        """The training part as an array."""
        return np.asarray(self.train)

    def score_method(self, method: str, selector: Any) -> Iterator[tuple[str, int, str, float]]:
        """Yield the accuracies with the best features of a selector, and with all in its metric."""
        y = one_hot(self.y, int(self.y.max()) + 1) if selector.target == "continuous" else self.y
        selector.fit(self.train, y, groups=self.trial)
        for n in COUNTS:
            for decoder, value in self.score(selector.order_[:n]):
                yield method, n, decoder, value
        if isinstance(selector, GFlip):
            for decoder, value in self.score(selector.get_support()):
                yield method, selector.n_selected_, f"{decoder}, own set", value
        weights = getattr(selector, "metric_weights_", selector.weights_)
        ((_, value),) = self.score(slice(None), weights)
        yield method, weights.size, "soft kNN, weighted", value

    def score(self, features: Any, weights: Any = None) -> list[tuple[str, float]]:
        """Return the accuracy of soft kNN (k = 30) and, without weights, of 1-NN on some features."""
        models = {"soft kNN": SoftKNNClassifier(30)}
        if weights is None:
            models["1-NN"] = OneNNClassifier()
        X, Q = self.X[:, features], self.Q[:, features]
        return [
            (name, float(model.fit(X, self.y, feature_weights=weights).score(Q, self.truth)))
            for name, model in models.items()
        ]

    def score_svm(self) -> float:
        """Return the accuracy of a linear support vector machine, C chosen on trials of the training part."""
        model = LinearSVC(max_iter=100_000, random_state=0)
        search = GridSearchCV(model, {"C": [1e-4, 1e-3, 1e-2, 1e-1]}, cv=GroupKFold(4))
        return float(search.fit(self.X, self.y, groups=self.trial).score(self.Q, self.truth))


def check_direction(table: pd.DataFrame) -> Iterator[Claim]:
    """Yield what ought to hold for reach direction: all margin methods are far above chance."""
    if table.empty:
        return
    mean = choose(table, quantity="soft kNN", x=COUNTS[-1]).groupby("method")["value"].mean()
    chance = choose(table, quantity="constant")["value"].mean()
    worst = mean[MARGINS].idxmin()
    yield make_claim(
        "reach direction: every margin-based method is far above chance",
        None,
        f"soft kNN on {COUNTS[-1]} features: {mean[worst]:.3f} or more ({worst}); chance {chance:.3f}",
        mean[worst] > 3 * chance,
    )


def tabulate_direction(table: pd.DataFrame) -> list[str]:
    """Return the table of reach direction as lines of text, or why there is none."""
    if table.empty:
        return [f"Reach direction: skipped, no {CHEWIE} at hand (set NEUROFS_SHARED_DATA)"]
    mean = table.groupby(["method", "quantity", "x"])["value"].mean()
    heads = [f"soft kNN, {n}" for n in COUNTS] + [f"1-NN, {n}" for n in COUNTS] + ["weighted", "own set"]
    rows = [("method", *heads)]
    for name in METHODS:
        cells = [mean[name, decoder, n] for decoder in ("soft kNN", "1-NN") for n in COUNTS]
        cells.append(mean.loc[name, "soft kNN, weighted"].iloc[0])
        own = choose(table, method=name, quantity="soft kNN, own set")
        last = f"{own['value'].mean():.3f} ({own['x'].mean():.0f})" if len(own) else ""
        rows.append((name, *(f"{value:.3f}" for value in cells), last))
    lines = ["Reach direction (8), real spikes, 174 units × 3 lags, 5 folds of whole trials: accuracy", ""]
    lines += align(rows, 26, 15)
    for name in ("all features", "linear SVM, all features", "most frequent direction"):
        scores = mean.loc[name].groupby("quantity").mean()
        lines.append(f"{name:<26}" + ", ".join(f"{what} {value:.3f}" for what, value in scores.items()))
    return lines
