"""Learning vector quantization: 1-NN on a few prototypes, which move to where the margin is large.

    ν_j ← ν_j + α_t (x_t − ν_j)    if the label of prototype j is that of row t
    ν_j ← ν_j − α_t (x_t − ν_j)    otherwise

LVQ1 moves the prototype nearest to x_t, LVQ2.1 the two nearest where x_t lies between two classes. It is the dual
of the margin-based selectors: there prototypes are fixed and features are weighed (Navot 2006, section 3.8).
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from neurofs.decoders import loops_lvq
from neurofs.decoders.base import Grid, Part, Predict, Rehearsal, weigh
from neurofs.decoders.classifiers import ClassDecoder
from neurofs.features.samples import Samples
from neurofs.ground.keys import RandomState
from neurofs.ground.works import WORKS

RULES = ("lvq1", "lvq2.1")
FINE = 0.1  # rate of LVQ2.1, which refines what LVQ1 has found, in units of that of LVQ1


@dataclass(frozen=True, eq=False)
class Prototypes:
    """Where prototypes are, and the targets (outputs,) of each one's class."""

    places: np.ndarray
    targets: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the targets of the nearest prototype of each row; the first of equals."""
        d = (self.places**2).sum(axis=1) - 2.0 * X.astype(float) @ self.places.T
        return self.targets[d.argmin(axis=1)]


@dataclass(eq=False, repr=False)
class LVQ(ClassDecoder):
    """LVQ1 and LVQ2.1, classifiers: the class of the nearest of a few prototypes per class.

    Prototypes begin at rows of each class that are drawn by chance. The rate falls evenly to 0.

    Parameters
    ----------
    n_prototypes : int or "auto"
        Per class; "auto" chooses it on the hold-outs.
    rule : "lvq1" or "lvq2.1"
        The latter refines what the former has found.
    rate : float
        α of the first row.
    window : float
        Of LVQ2.1: how far from the border between two prototypes a row may lie, 0 … 1.
    n_epochs : int
        How often all rows are shown.
    random_state : int, RandomState or None
        Seed of the first prototypes and of the order of rows.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = np.abs(X[:, 0]) > 0.7
    >>> bool(LVQ().fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.8)
    True
    """

    name, label, citation = "lvq", "LVQ", WORKS["crammer2002"]
    cost = "m N per prototype and epoch"
    GRID: ClassVar[Grid] = {"n_prototypes": (1, 2, 4, 8)}

    n_prototypes: int | str = "auto"
    rule: str = "lvq1"
    rate: float = 0.1
    window: float = 0.3
    n_epochs: int = 20
    random_state: RandomState = 0

    def _fit_part(self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]) -> Part:
        if self.rule not in RULES:
            raise ValueError(f"rule must be one of {', '.join(RULES)}; found {self.rule!r}")
        if not 0 < self.window < 1:
            raise ValueError(f"window must be a number between 0 and 1; found {self.window!r}")
        chosen = self._choose(rehearsals)
        return Part(weights, self._learn(weigh(train, weights), targets, **chosen), chosen)

    def _prepare(self, t: Rehearsal) -> Predict:
        X, queries = weigh(t.train, t.weights), weigh(t.queries, t.weights)
        return lambda **chosen: self._learn(X, t.targets, **chosen)(queries)

    def _predict_part(self, part: Part, queries: Samples) -> np.ndarray:
        return part.model(weigh(queries, part.weights))

    def _learn(self, X: np.ndarray, targets: np.ndarray, n_prototypes: float) -> Prototypes:
        """Place prototypes and let them adapt."""
        classes, codes = np.unique(targets, axis=0, return_inverse=True)
        codes = codes.reshape(-1)
        X, rng = X.astype(np.float64), check_random_state(self.random_state)
        places, labels = place_prototypes(X, codes, int(n_prototypes), rng)
        for window, rate in ((0.0, self.rate), (self.window, FINE * self.rate))[: 1 + RULES.index(self.rule)]:
            order = np.concatenate([rng.permutation(len(X)) for _ in range(self.n_epochs)])
            rates = np.linspace(rate, 0.0, len(order), endpoint=False)
            loops_lvq.adapt(X, codes, order, rates, labels, window, places)
        return Prototypes(places, classes[labels])


def place_prototypes(
    X: np.ndarray, codes: np.ndarray, n: int, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Return at most n rows of each class, drawn by chance, and their classes.

    >>> place_prototypes(np.array([[0.0], [2.0], [7.0]]), np.array([0, 0, 1]), 2, np.random.RandomState(0))
    (array([[2.],
           [0.],
           [7.]]), array([0, 0, 1]))
    """
    drawn = [rng.permutation(np.flatnonzero(codes == c))[:n] for c in np.unique(codes)]
    rows = np.concatenate(drawn)
    return X[rows], codes[rows]
