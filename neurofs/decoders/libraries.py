"""Decoders of other libraries: support vector machines, boosted trees, and networks."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor
from sklearn.svm import SVR as LibSVR

from neurofs.decoders import loops_trees
from neurofs.decoders.base import Grid, Part, Rehearsal, TunedDecoder, weigh
from neurofs.decoders.kernel_ridge import KernelDecoder, Machine, Table
from neurofs.features.samples import Samples
from neurofs.ground.works import WORKS

MANY_ROWS = 2000  # from here on support vector machines try parameters on one hold-out alone


@dataclass(eq=False, repr=False)
class SVR(KernelDecoder):
    """Support vector regression with a Gaussian kernel exp(−d_w / (b · median d_w)), from scikit-learn.

    Above 2000 rows only the first hold-out is used: the time to fit grows with their square at least.

    Parameters
    ----------
    width : float or "auto"
        b; "auto" chooses it on the hold-outs.
    C : float or "auto"
        Price of an error, for targets of variance 1; chosen together with b.
    epsilon : float
        Errors below it are free.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = np.sin(X[:, 0])
    >>> bool(SVR().fit(X[:150], y[:150]).score(X[150:], y[150:]) > 0.9)
    True
    """

    name, label, citation, cost = "svr", "SVR", WORKS["smola2004"], "m² to m³; m² memory"
    GRID: ClassVar[Grid] = {"width": (0.5, 1.0, 2.0, 4.0), "C": (0.5, 2.0, 8.0, 32.0)}
    START: ClassVar[Mapping[str, float]] = {"width": 2.0, "C": 8.0}

    width: float | str = "auto"
    C: float | str = "auto"
    epsilon: float = 0.05

    def _fit_part(self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]) -> Part:
        return super()._fit_part(train, targets, weights, rehearsals if len(train) <= MANY_ROWS else rehearsals[:1])

    def _solve(self, table: Table, targets: np.ndarray, **parameters: float) -> Machine:
        width = parameters["width"] * table.middle
        K = np.exp(-table.distances.astype(np.float64) / width)
        machine = LibSVR(kernel="precomputed", C=parameters["C"], epsilon=self.epsilon)
        fitted = [clone(machine).fit(K, g) for g in targets.T]
        dual = np.zeros(targets.shape)
        for o, one in enumerate(fitted):
            dual[one.support_, o] = one.dual_coef_[0]
        return SupportVectors(width, dual, np.array([one.intercept_[0] for one in fitted]))


@dataclass(frozen=True, eq=False)
class SupportVectors:
    """ĝ(x) = Σ_j exp(−d(x, x_j) / width) c_j + b; most c_j are 0."""

    width: float
    dual: np.ndarray
    intercept: np.ndarray

    def __call__(self, across: np.ndarray) -> np.ndarray:
        """Predict from the distances of the queries to the training rows."""
        return np.exp(-across.astype(np.float64) / self.width) @ self.dual + self.intercept


@dataclass(eq=False, repr=False)
class GradientBoosting(TunedDecoder):
    """Boosted regression trees: xgboost where it is installed, else scikit-learn's histogram trees.

    The number of trees is chosen on the first hold-out, at 50, 100, … `max_trees`.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = np.sign(X[:, 0])
    >>> bool(GradientBoosting(max_trees=100).fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.8)
    True
    """

    name, label, citation = "gradient-boosting", "gradient boosting", WORKS["friedman2001"]
    cost = "m N per tree"
    ALWAYS_TUNED = True

    max_trees: int = 300
    max_depth: int = 5
    learning_rate: float = 0.1
    library: str = "auto"
    random_state: int = 0

    def _fit_part(self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]) -> Part:
        sizes = [*range(50, self.max_trees, 50), self.max_trees]
        models, chosen, first = [], {}, rehearsals[0]
        inside, queries = weigh(first.train, first.weights), weigh(first.queries, first.weights)
        X = weigh(train, weights)
        for o, g in enumerate(targets.T):
            staged = self._grow(inside, first.targets[:, o], self.max_trees).staged(queries, sizes)
            best = int(sizes[np.argmin([np.mean((first.truth[:, o] - p) ** 2) for p in staged])])
            models.append(self._grow(X, g, best).freeze())
            chosen[f"trees_{o}"] = float(best)
        return Part(weights, models, chosen)

    def _grow(self, X: np.ndarray, y: np.ndarray, n_trees: int) -> Trees:
        library = self.library
        if library == "auto":
            library = "xgboost" if find_spec("xgboost") else "sklearn"
        grow = {"xgboost": XGBoostTrees, "sklearn": SklearnTrees}[library]
        settings = {"max_depth": self.max_depth, "learning_rate": self.learning_rate}
        return grow(n_trees, random_state=self.random_state, **settings).fit(X, y)

    def _predict_part(self, part: Part, queries: Samples) -> np.ndarray:
        X = weigh(queries, part.weights)
        return np.column_stack([model.predict(X) for model in part.model])


class Trees:
    """Boosted trees of either library, while they grow."""

    model: Any

    def fit(self, X: np.ndarray, y: np.ndarray) -> Trees:
        """Grow the trees."""
        self.model.fit(X, y)
        return self

    def staged(self, X: np.ndarray, sizes: Sequence[int]) -> list[np.ndarray]:
        """Predict with the first n trees, for every n of `sizes`."""
        raise NotImplementedError

    def freeze(self) -> Forest:
        """Return the trees as plain arrays."""
        raise NotImplementedError


class XGBoostTrees(Trees):
    """Trees of xgboost."""

    def __init__(self, n_trees: int, **settings: Any) -> None:
        from xgboost import XGBRegressor

        drawn = {"subsample": 0.7, "colsample_bynode": 0.3}
        self.model = XGBRegressor(n_estimators=n_trees, max_bin=64, n_jobs=1, **drawn, **settings)

    def staged(self, X: np.ndarray, sizes: Sequence[int]) -> list[np.ndarray]:
        """Predict with the first n trees, for every n of `sizes`."""
        return [self.model.predict(X, iteration_range=(0, int(n))) for n in sizes]

    def freeze(self) -> Forest:
        """Return the trees as plain arrays; xgboost goes left below the threshold, a `Forest` up to it."""
        learner = json.loads(self.model.get_booster().save_raw("json"))["learner"]
        base = float(learner["learner_model_param"]["base_score"].strip("[]"))
        trees = learner["gradient_booster"]["model"]["trees"]
        below = [np.nextafter(np.array(t["split_conditions"], np.float32), np.float32(-np.inf)) for t in trees]
        return Forest.join(
            base,
            [
                (t["left_children"], t["right_children"], t["split_indices"], threshold, t["split_conditions"])
                for t, threshold in zip(trees, below, strict=True)
            ],
        )


class SklearnTrees(Trees):
    """Histogram trees of scikit-learn."""

    def __init__(self, n_trees: int, **settings: Any) -> None:
        self.model = HistGradientBoostingRegressor(
            max_iter=n_trees, max_features=0.3, max_bins=64, early_stopping=False, **settings
        )

    def staged(self, X: np.ndarray, sizes: Sequence[int]) -> list[np.ndarray]:
        """Predict with the first n trees, for every n of `sizes`."""
        return [p for n, p in enumerate(self.model.staged_predict(X), start=1) if n in sizes]

    def freeze(self) -> Forest:
        """Return the trees as plain arrays."""
        nodes = [tree.nodes for (tree,) in self.model._predictors]
        inner = [~n["is_leaf"].astype(bool) for n in nodes]
        return Forest.join(
            float(self.model._baseline_prediction.item()),
            [
                (
                    np.where(i, n["left"].astype(np.int64), -1),
                    np.where(i, n["right"].astype(np.int64), -1),
                    np.where(i, n["feature_idx"], 0),
                    np.where(i, n["num_threshold"], 0.0),
                    n["value"],
                )
                for n, i in zip(nodes, inner, strict=True)
            ],
        )


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees whose values add up: at node n, a row goes on to left[n] if x[feature[n]] ≤ threshold[n], else to right[n].

    The nodes of all trees stand one after the other, children behind their parent; `roots` are the first of each. A
    node whose left is −1 is a leaf.
    """

    base: float
    roots: np.ndarray
    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    value: np.ndarray

    @classmethod
    def join(cls, base: float, trees: Sequence[tuple[Any, ...]]) -> Forest:
        """Put trees one after the other: left, right, feature, threshold and value of the nodes of each."""
        sizes = [len(tree[0]) for tree in trees]
        roots = np.cumsum([0, *sizes[:-1]], dtype=np.int64)
        columns = [np.concatenate([np.asarray(tree[c]) for tree in trees]) for c in range(5)]
        shift = np.repeat(roots, sizes)
        left, right = (np.where(c < 0, -1, c + shift).astype(np.int64) for c in columns[:2])
        threshold, value = (c.astype(np.float64) for c in columns[3:])
        return cls(base, roots, left, right, columns[2].astype(np.int64), threshold, value)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Add up the leaves that each row falls into."""
        out = np.full(len(X), self.base)
        X = np.ascontiguousarray(X, np.float32)
        loops_trees.add_leaves(X, self.roots, self.left, self.right, self.feature, self.threshold, self.value, out)
        return out


@dataclass(eq=False, repr=False)
class MLP(TunedDecoder):
    """Multilayer perceptron on raw counts, from scikit-learn; all outputs at once.

    The penalty and the number of epochs are chosen on the first hold-out.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> decoder = MLP(max_epochs=60).fit(X[:300], X[:300, 0] * X[:300, 1])
    >>> bool(decoder.score(X[300:], X[300:, 0] * X[300:, 1]) > 0.8)
    True
    """

    name, label, citation = "mlp", "MLP", WORKS["rumelhart1986"]
    cost = "m N per hidden unit and epoch"
    ALWAYS_TUNED = True
    PENALTIES: ClassVar[Sequence[float]] = (0.01, 1.0)

    hidden: tuple[int, ...] = (100, 100)
    max_epochs: int = 30
    random_state: int = 0

    def _fit_part(self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]) -> Part:
        first = rehearsals[0]
        inside, queries = weigh(first.train, first.weights), weigh(first.queries, first.weights)
        best = (np.inf, 0.0, 0)
        for penalty in self.PENALTIES:
            model = self._new(penalty)
            for epoch in range(1, self.max_epochs + 1):
                _train_once(model, inside, first.targets)
                error = first.error(model.predict(queries).reshape(first.truth.shape))
                best = min(best, (error, penalty, epoch))
        model = self._new(best[1])
        X = weigh(train, weights)
        for _ in range(best[2]):
            _train_once(model, X, targets)
        layers = Layers(*([part.astype(np.float64) for part in parts] for parts in (model.coefs_, model.intercepts_)))
        return Part(weights, layers, {"penalty": best[1], "epochs": best[2]})

    def _new(self, penalty: float) -> MLPRegressor:
        return MLPRegressor(
            hidden_layer_sizes=self.hidden, alpha=penalty, batch_size=64, random_state=self.random_state
        )

    def _predict_part(self, part: Part, queries: Samples) -> np.ndarray:
        return part.model(weigh(queries, part.weights))


@dataclass(frozen=True, eq=False)
class Layers:
    """x ← max(0, x A + b) layer by layer, the last one without the max."""

    matrices: list[np.ndarray]
    offsets: list[np.ndarray]

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the outputs of the last layer."""
        for matrix, offset in zip(self.matrices[:-1], self.offsets[:-1], strict=True):
            X = np.maximum(X @ matrix + offset, 0.0)
        return X @ self.matrices[-1] + self.offsets[-1]


def _train_once(model: MLPRegressor, X: np.ndarray, targets: np.ndarray) -> None:
    """Train for one epoch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.partial_fit(X, targets if targets.shape[1] > 1 else targets[:, 0])
