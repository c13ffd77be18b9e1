"""Reach direction from real spikes: the selectors for classes, on folds of whole trials.

`chewie_20131003_m1.npz`: 174 units of monkey motor cortex, 3 lags of 100 ms, eight directions. Every method
ranks the features on the training trials; nearest-neighbor classifiers decode the test trials from the best of
them, beside a linear support vector machine on all. Rankers for continuous targets get one column per class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from neurofs.features.samples import Samples
from neurofs.selectors import SKS, CorrCoef, GFlip, InfoGain, Random, Relief, ReliefF, Simba
from neurofs.selectors.targets import one_hot

__all__ = ["MARGINS", "METHODS", "check_direction", "decode_direction", "read_direction", "render_direction"]

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
    from neurofs.features.splits import BlockedKFold

    samples, y, trial = read_direction(recording)
    for train, test in BlockedKFold(5).split(samples, groups=trial):
        fold = _Fold(samples[train], y[train], trial[train], samples[test], y[test])
        found = [("all features", samples.n_features, *score) for score in fold.score(samples.n_features)]
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


class _Fold:
    """Training and test part of one fold, and how to score selections on it."""

    def __init__(
        self, train: Samples, y: np.ndarray, trial: np.ndarray, test: Samples, truth: np.ndarray
    ) -> None:
        """Keep both parts, as samples and as arrays."""
        self.train, self.y, self.trial, self.test, self.truth = train, y, trial, test, truth
        self.X, self.Q = np.asarray(train), np.asarray(test)

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
        from neurofs.decoders.classifiers import OneNNClassifier, SoftKNNClassifier

        columns = slice(features) if isinstance(features, int) else features
        models = {"soft kNN": SoftKNNClassifier(30)}
        if weights is None:
            models["1-NN"] = OneNNClassifier()
        X, Q = self.X[:, columns], self.Q[:, columns]
        return [
            (name, float(model.fit(X, self.y, feature_weights=weights).score(Q, self.truth)))
            for name, model in models.items()
        ]

    def score_svm(self) -> float:
        """Return the accuracy of a linear support vector machine, C chosen on trials of the training part."""
        from sklearn.model_selection import GridSearchCV, GroupKFold
        from sklearn.svm import LinearSVC

        model = LinearSVC(max_iter=100_000, random_state=0)
        search = GridSearchCV(model, {"C": [1e-4, 1e-3, 1e-2, 1e-1]}, cv=GroupKFold(4))
        return float(search.fit(self.X, self.y, groups=self.trial).score(self.Q, self.truth))


def check_direction(table: pd.DataFrame) -> Iterator[tuple[str, str, str, bool]]:
    """Yield what ought to hold for reach direction: all margin methods far above chance."""
    if table.empty:
        return
    soft = table[(table["quantity"] == "soft kNN") & (table["x"] == COUNTS[-1])]
    mean = soft.groupby("method")["value"].mean()
    chance = table[table["quantity"] == "constant"]["value"].mean()
    worst = mean[MARGINS].idxmin()
    yield (
        "reach direction: every margin-based method is far above chance",
        "not published; what ought to hold",
        f"soft kNN on {COUNTS[-1]} features: {mean[worst]:.3f} or more ({worst}); chance {chance:.3f}",
        bool(mean[worst] > 3 * chance),
    )


def render_direction(table: pd.DataFrame) -> list[str]:
    """Return the table of reach direction, or why there is none."""
    if table.empty:
        return ["Reach direction: skipped, no chewie_20131003_m1.npz at hand (set NEUROFS_SHARED_DATA)"]
    mean = table.groupby(["method", "quantity", "x"])["value"].mean()
    heads = [f"soft kNN, {n}" for n in COUNTS] + [f"1-NN, {n}" for n in COUNTS] + ["weighted", "own set"]
    lines = ["Reach direction (8), real spikes, 174 units × 3 lags, 5 folds of whole trials: accuracy"]
    lines += ["", f"{'method':<26}" + "".join(f"{head:>15}" for head in heads)]
    for name in METHODS:
        cells = [mean.get((name, decoder, n)) for decoder in ("soft kNN", "1-NN") for n in COUNTS]
        cells.append(mean.loc[name, "soft kNN, weighted"].iloc[0])
        text = [f"{value:.3f}" for value in cells]
        own = table[(table["method"] == name) & (table["quantity"] == "soft kNN, own set")]
        text.append(f"{own['value'].mean():.3f} ({own['x'].mean():.0f})" if len(own) else "")
        lines.append(f"{name:<26}" + "".join(f"{cell:>15}" for cell in text))
    for name in ("all features", "linear SVM, all features", "most frequent direction"):
        scores = mean.loc[name].groupby("quantity").mean()
        lines.append(f"{name:<26}" + ", ".join(f"{what} {value:.3f}" for what, value in scores.items()))
    return lines
