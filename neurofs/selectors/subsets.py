"""What a set of features costs on training or on held-out rows, for many sets that differ by one feature.

A model keeps a state for each set in hand and answers:

    start()                        the state of the empty set
    grow(state, group)             the state with a feature group more
    try_groups(state, tried)       the loss with each of these groups added, on the rows that the search ranks by
    measure(state)                 the loss of the set itself, on training and on held-out rows

`LeastSquares`, `Neighbors` and `Logistic` go from a set to the next without fitting anew; `AnyEstimator` fits
every set. A loss is 1 for a prediction by the mean, or the share of errors of a classifier.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.base import clone, is_classifier

from neurofs.features.samples import Samples
from neurofs.metric.neighbors import allowed_pairs
from neurofs.selectors import loops_beam
from neurofs.selectors.feature_groups import FeatureGroups
from neurofs.selectors.parameters import check_neighbors

DEPENDENT = 1e-9  # share of a feature's variance below which it is a combination of the others
RIDGE = 1e-3  # of logistic regression, so that separable classes have a fit
GAIN = 1e-4  # of the log likelihood, below which a step of Newton's method is the last
DEFAULT_NEIGHBORS = 10


@dataclass(frozen=True, eq=False)
class Cut:
    """The data of a search: features and targets of the training rows and of those held out."""

    X: np.ndarray
    Q: np.ndarray
    y: np.ndarray  #: targets as given, or the number of the class
    truth: np.ndarray  #: the same of the rows held out
    n_classes: int  #: 0 for a continuous target
    train: Samples
    groups: Any  #: trial of each training row
    feature_groups: FeatureGroups
    rank_held_out: bool  #: whether a search ranks sets by held-out rows, and not by training rows

    def columns(self) -> tuple[np.ndarray, np.ndarray]:
        """Return targets as (rows, outputs): continuous ones at mean 0 and variance 1, classes as 0 or 1."""
        if self.n_classes:
            return np.eye(self.n_classes)[self.y], np.eye(self.n_classes)[self.truth]
        y, truth = (part.reshape(len(part), -1).astype(float) for part in (self.y, self.truth))
        mean, scale = y.mean(axis=0), y.std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        return (y - mean) / scale, (truth - mean) / scale


class SubsetModel:
    """Base of the models; a child gives `_grow_one`, `_try_one` and the rest for single features."""

    def __init__(self, cut: Cut) -> None:
        self.cut, self.members = cut, cut.feature_groups.members
        self._single = len(cut.feature_groups) == cut.X.shape[1]
        self._feature = np.array([m[0] for m in self.members])

    def start(self) -> Any:
        """Return the state of the empty set."""
        raise NotImplementedError

    def grow(self, state: Any, group: int) -> Any:
        """Return the state with a feature group more."""
        for f in self.members[group]:
            state = self._grow_one(state, int(f))
        return state

    def try_groups(self, state: Any, tried: np.ndarray) -> np.ndarray:
        """Return the loss after each of the groups `tried`, single features all at once."""
        if self._single:
            return self._try_one(state, self._feature[tried])
        at = 1 if self.cut.rank_held_out else 0
        return np.array([self.measure(self.grow(state, int(group)))[at] for group in tried])

    def measure(self, state: Any) -> tuple[float, float]:
        """Return the loss on training and on held-out rows."""
        raise NotImplementedError

    @staticmethod
    def count_bytes(cut: Cut, n_features: int) -> tuple[int, int]:
        """Return the bytes that a model takes for the data, and for each state of so many features."""
        raise NotImplementedError

    def _grow_one(self, state: Any, f: int) -> Any:
        raise NotImplementedError

    def _try_one(self, state: Any, features: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def guess_blindly(self) -> tuple[float, float]:
        """Return the losses of the mean, or of the most frequent class."""
        if self.cut.n_classes:
            most = np.bincount(self.cut.y).argmax()
            return float(np.mean(self.cut.y != most)), float(np.mean(self.cut.truth != most))
        Y, truth = self.cut.columns()
        return float((Y**2).mean()), float((truth**2).mean())


# ---------------------------------------------------------------------------------------------- least squares


@dataclass(frozen=True, eq=False)
class _Fit:
    """A set in least squares. All arrays over features are of what the set leaves of each one."""

    pivots: tuple[int, ...]  #: the features that count, none a combination of those before it
    rows: np.ndarray  #: L⁻¹ X_S' X, by which the Cholesky factor L of the set grows
    left: np.ndarray  #: sum of squares
    slope: np.ndarray  #: product with the target's residual, (features, outputs)
    loss: float
    held: _Held | None


@dataclass(frozen=True, eq=False)
class _Held:
    """The same on held-out rows, only where sets are ranked by them."""

    rows: np.ndarray
    left: np.ndarray
    slope: np.ndarray
    loss: float


class LeastSquares(SubsetModel):
    """Linear regression with intercept; a class is predicted as one column of 0 or 1 each.

    Everything comes from the Gram matrices of the training and of the held-out rows, so that no step depends on
    the number of rows. With L the Cholesky factor of G_SS and V = L⁻¹ G_S·, a candidate f has

        d_f = G_ff − Σ V_f²,   e_f = X_f' y − V_f' z,   loss(S + f) = loss(S) − Σ e_f² / (d_f m)

    and adding it appends the row (G_f· − V_f' V) / √d_f to V. The same recursion with the products of held-out
    rows gives their loss. A feature that is a combination of those before it has no effect.
    """

    def __init__(self, cut: Cut) -> None:
        super().__init__(cut)
        Y, truth = cut.columns()
        middle = Y.mean(axis=0)
        scale = float(np.sqrt(((Y - middle) ** 2).mean() or 1.0))
        self.Y, self.truth = (Y - middle) / scale, (truth - middle) / scale
        mean, self.sd = cut.X.mean(axis=0), cut.X.std(axis=0)
        self.sd = np.where(self.sd > 0, self.sd, 1.0)
        self.X, self.Q = (cut.X - mean) / self.sd, (cut.Q - mean) / self.sd
        self.G, self.H = self.X.T @ self.X, self.Q.T @ self.Q

    def start(self) -> _Fit:
        """Return the state of the empty set."""
        n, held = self.X.shape[1], None
        if self.cut.rank_held_out:
            loss = float((self.truth**2).mean())
            held = _Held(np.empty((0, n)), np.diag(self.H).copy(), self.Q.T @ self.truth, loss)
        left, slope = np.diag(self.G).copy(), self.X.T @ self.Y
        return _Fit((), np.empty((0, n)), left, slope, float((self.Y**2).mean()), held)

    def measure(self, state: _Fit) -> tuple[float, float]:
        """Return the loss on training and on held-out rows."""
        S = list(state.pivots)
        coefficients = np.zeros((0, self.Y.shape[1]))
        if S:
            L = state.rows[:, S]  # upper triangular: the transpose of the factor
            z = solve_triangular(L, self.X[:, S].T @ self.Y, trans="T")
            coefficients = solve_triangular(L, z)
        return state.loss, float(((self.truth - self.Q[:, S] @ coefficients) ** 2).mean())

    @staticmethod
    def count_bytes(cut: Cut, n_features: int) -> tuple[int, int]:
        """Return the bytes of the Gram matrices and rows, and of a state: V, and its twin for held-out rows."""
        m, n = cut.X.shape
        state = 8 * n * (min(n_features, m) + 4) * (2 if cut.rank_held_out else 1)
        return 8 * n * (2 * n + m + len(cut.Q)), state

    def _independent(self, state: _Fit, features: Any) -> Any:
        return state.left[features] > DEPENDENT * len(self.X)

    def _try_one(self, state: _Fit, features: np.ndarray) -> np.ndarray:
        ok = self._independent(state, features)
        left = np.where(ok, state.left[features], 1.0)
        slope = np.where(ok[:, None], state.slope[features], 0.0)
        if state.held is None:
            return state.loss - ((slope**2).sum(axis=1) / left) / self.Y.size
        b = slope / left[:, None]
        held = state.held
        change = (b**2).sum(axis=1) * held.left[features] - 2 * (b * held.slope[features]).sum(axis=1)
        return held.loss + change / self.truth.size

    def _grow_one(self, state: _Fit, f: int) -> _Fit:
        if not self._independent(state, f):
            return state
        root, V = np.sqrt(state.left[f]), state.rows
        v, t = (self.G[f] - V[:, f] @ V) / root, state.slope[f] / root
        return _Fit(
            (*state.pivots, f),
            np.vstack([V, v]),
            np.maximum(state.left - v**2, 0.0),
            state.slope - np.outer(v, t),
            state.loss - float((t**2).sum()) / self.Y.size,
            None if state.held is None else self._grow_held(state, state.held, f, v, t),
        )

    def _grow_held(self, state: _Fit, held: _Held, f: int, v: np.ndarray, t: np.ndarray) -> _Held:
        """Carry the products of held-out rows along; q is what the set leaves of f, at unit length in training."""
        root, V, S = np.sqrt(state.left[f]), state.rows, list(state.pivots)
        w = (self.H[f] - V[:, f] @ held.rows) / root  # q' Q
        u = w - solve_triangular(V[:, S], w[S], trans="T") @ V if S else w  # q' (what the set leaves of Q)
        qq, qr = held.left[f] / state.left[f], held.slope[f] / root  # q'q, q' residual
        left = held.left - 2 * v * u + v**2 * qq
        slope = held.slope - np.outer(u, t) - np.outer(v, qr) + qq * np.outer(v, t)
        loss = held.loss + float((t**2).sum() * qq - 2 * (t * qr).sum()) / self.truth.size
        return _Held(np.vstack([held.rows, w]), np.maximum(left, 0.0), slope, loss)


# -------------------------------------------------------------------------------------------------- neighbors


@dataclass(frozen=True, eq=False)
class _Near:
    """A set in nearest-neighbor prediction: its features, and the squared distances of the ranked rows."""

    features: tuple[int, ...]
    D: np.ndarray


class Neighbors(SubsetModel):
    """The mean, or the most frequent class, of the k nearest training rows.

    A training row is predicted from the others that do not overlap it and are of another trial. One table of
    distances per set is kept; a candidate adds one column.
    """

    def __init__(self, cut: Cut, n_neighbors: Any, who: str) -> None:
        super().__init__(cut)
        self.Y, self.truth = cut.columns()
        self.k = check_neighbors(n_neighbors, len(cut.X), DEFAULT_NEIGHBORS)
        offset = np.rint(cut.X.mean(axis=0))
        self.X, self.Q = ((part - offset).T.astype(np.float32) for part in (cut.X, cut.Q))
        self.allowed = allowed_pairs(cut.train, cut.groups, "overlap", who)

    def start(self) -> _Near:
        """Return the state of the empty set."""
        return _Near((), self._empty(self.cut.rank_held_out))

    def _empty(self, held_out: bool) -> np.ndarray:
        """Return distances before any feature: 0, or infinite between rows that may not be neighbors."""
        if held_out:
            return np.zeros((self.Q.shape[1], self.X.shape[1]), np.float32)
        return np.where(self.allowed, 0.0, np.inf).astype(np.float32)

    def measure(self, state: _Near) -> tuple[float, float]:
        """Return the loss on training and on held-out rows."""
        if not state.features:
            return self.guess_blindly()
        return self._loss(state, False), self._loss(state, True)

    def _loss(self, state: _Near, held_out: bool) -> float:
        D = state.D
        if held_out != self.cut.rank_held_out:
            D = self._empty(held_out)
            for f in state.features:
                loops_beam.add_column(D, self._queries(held_out)[f], self.X[f])
        return float(self._try_columns(D, held_out, np.zeros((1, len(D)), np.float32), 0 * self.X[:1])[0])

    def _queries(self, held_out: bool) -> np.ndarray:
        return self.Q if held_out else self.X

    def _try_columns(self, D: np.ndarray, held_out: bool, queries: np.ndarray, rows: np.ndarray) -> np.ndarray:
        order = np.argsort(D, axis=1, kind="stable").astype(np.int32)
        truth = self.truth if held_out else self.Y
        out = np.empty(len(queries))
        settings = (self.Y, truth, self.k, self.cut.n_classes > 0)
        ordered = np.take_along_axis(D, order, axis=1)
        loops_beam.neighbor_losses(ordered, order, queries, rows, *settings, out)
        return out

    @staticmethod
    def count_bytes(cut: Cut, n_features: int) -> tuple[int, int]:
        """Return the bytes of the rows and of which may be neighbors, and of a state: its table of distances."""
        m, n = cut.X.shape
        n_queries = len(cut.Q) if cut.rank_held_out else m
        return 4 * n * (m + len(cut.Q)) + m * m, 4 * n_queries * m

    def _grow_one(self, state: _Near, f: int) -> _Near:
        D = state.D.copy()
        loops_beam.add_column(D, self._queries(self.cut.rank_held_out)[f], self.X[f])
        return _Near((*state.features, f), D)

    def _try_one(self, state: _Near, features: np.ndarray) -> np.ndarray:
        held_out = self.cut.rank_held_out
        return self._try_columns(state.D, held_out, self._queries(held_out)[features], self.X[features])


# ----------------------------------------------------------------------------------------- logistic regression


@dataclass(frozen=True, eq=False)
class _Logit:
    """A set in logistic regression: its features, and the fit, (classes, intercept and features)."""

    features: tuple[int, ...]
    w: np.ndarray


class Logistic(SubsetModel):
    """Logistic regression, one class against the rest where there are more than two.

    Features are brought to mean 0 and variance 1, and a ridge of 0.001 keeps separable classes finite. The fit
    of a set is where that of the next one begins.
    """

    def __init__(self, cut: Cut) -> None:
        super().__init__(cut)
        mean, sd = cut.X.mean(axis=0), cut.X.std(axis=0)
        sd = np.where(sd > 0, sd, 1.0)
        self.X, self.Q = (np.ascontiguousarray(((part - mean) / sd).T) for part in (cut.X, cut.Q))
        classes = np.eye(cut.n_classes)[cut.y].T
        self.targets = np.ascontiguousarray(classes[1:] if cut.n_classes == 2 else classes)

    def start(self) -> _Logit:
        """Return the state of the empty set."""
        return self._refit(_Logit((), np.zeros((len(self.targets), 1))))

    def _design(self, features: tuple[int, ...], X: np.ndarray) -> np.ndarray:
        return np.vstack([np.ones((1, X.shape[1])), X[list(features)]])

    def _refit(self, state: _Logit) -> _Logit:
        Z, w = self._design(state.features, self.X), state.w.copy()
        for o, target in enumerate(self.targets):
            loops_beam.fit_logistic(Z, target, RIDGE, GAIN, w[o])
        return replace(state, w=w)

    def measure(self, state: _Logit) -> tuple[float, float]:
        """Return the share of errors on training and on held-out rows."""
        pairs = ((self.X, self.cut.y), (self.Q, self.cut.truth))
        train, held = (float(np.mean(self._predict(state, X) != y)) for X, y in pairs)
        return train, held

    def _predict(self, state: _Logit, X: np.ndarray) -> np.ndarray:
        score = state.w @ self._design(state.features, X)
        return (score[0] > 0).astype(int) if len(score) == 1 else score.argmax(axis=0)

    @staticmethod
    def count_bytes(cut: Cut, n_features: int) -> tuple[int, int]:
        """Return the bytes of the rows, and of a state: its coefficients."""
        n_rows = len(cut.X) + len(cut.Q)
        return 8 * cut.X.shape[1] * n_rows, 8 * cut.n_classes * (n_features + 1)

    def _grow_one(self, state: _Logit, f: int) -> _Logit:
        w = np.hstack([state.w, np.zeros((len(state.w), 1))])
        return self._refit(_Logit((*state.features, f), w))

    def _try_one(self, state: _Logit, features: np.ndarray) -> np.ndarray:
        held_out = self.cut.rank_held_out
        X, truth = (self.Q, self.cut.truth) if held_out else (self.X, self.cut.y)
        Z, Q = self._design(state.features, self.X), self._design(state.features, X)
        out = np.empty(features.size)
        settings = (self.targets, truth, RIDGE, GAIN, state.w)
        loops_beam.logistic_losses(Z, self.X[features], Q, X[features], *settings, out)
        return out


# ---------------------------------------------------------------------------------------------- any estimator


class AnyEstimator(SubsetModel):
    """Any scikit-learn estimator, fitted to every set anew; the state of a set is its features."""

    def __init__(self, cut: Cut, estimator: Any, labels: np.ndarray, held_labels: np.ndarray) -> None:
        super().__init__(cut)
        self.estimator, self.labels, self.held_labels = estimator, labels, held_labels
        variance = np.var(labels, axis=0) if labels.dtype.kind in "biuf" else np.ones(1)
        self.variance = np.where(variance > 0, variance, 1.0)

    def start(self) -> tuple[int, ...]:
        """Return the empty set."""
        return ()

    def measure(self, state: tuple[int, ...]) -> tuple[float, float]:
        """Return the loss on training and on held-out rows."""
        if not state:
            return self._guess()
        S = list(state)
        model = clone(self.estimator).fit(self.cut.X[:, S], self.labels)
        predicted = model.predict(self.cut.X[:, S]), model.predict(self.cut.Q[:, S])
        return self._loss(predicted[0], self.labels), self._loss(predicted[1], self.held_labels)

    def _guess(self) -> tuple[float, float]:
        """Return the losses of the most frequent class, or of the mean."""
        if is_classifier(self.estimator):
            values, counts = np.unique(self.labels, return_counts=True)
            guess = values[np.argmax(counts)]
        else:
            guess = self.labels.mean(axis=0)
        return self._loss(guess, self.labels), self._loss(guess, self.held_labels)

    def _loss(self, predicted: Any, truth: np.ndarray) -> float:
        if is_classifier(self.estimator):
            return float(np.mean(predicted != truth))
        return float(np.mean(((truth - predicted) ** 2).mean(axis=0) / self.variance))

    @staticmethod
    def count_bytes(cut: Cut, n_features: int) -> tuple[int, int]:
        """Return the bytes of a state: its features."""
        return 0, 100 + 8 * n_features

    def _grow_one(self, state: tuple[int, ...], f: int) -> tuple[int, ...]:
        return (*state, f)

    def _try_one(self, state: tuple[int, ...], features: np.ndarray) -> np.ndarray:
        at = 1 if self.cut.rank_held_out else 0
        return np.array([self.measure((*state, int(f)))[at] for f in features])
