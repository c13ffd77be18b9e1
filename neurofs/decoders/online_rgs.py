"""`OnlineRGS`: RGS that goes on learning while it decodes, one sample at a time (Navot et al. 2005, section 4.2).

Each sample with a known target takes the place of the oldest of a bounded reference set, and makes one step up the
gradient of e(w) on that sample alone, with the others of the set as neighbors. So the metric and the set both follow a
recording that drifts. Samples that overlap in time are never neighbors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from neurofs.decoders.base import as_values
from neurofs.features.samples import Samples
from neurofs.metric.neighbors import find_neighbors, soft_knn
from neurofs.selectors import loops_rgs
from neurofs.selectors.rgs import RGS

LIMIT = 0.5  # the most that one step may change a weight, as a fraction of it


@dataclass(eq=False, repr=False)
class OnlineRGS(RegressorMixin, BaseEstimator):
    """Soft kNN on a bounded reference set, in a metric that RGS goes on learning.

    Parameters
    ----------
    n_reference : int
        Samples that are kept.
    n_neighbors, beta : int, float
        k and β of soft kNN; β in units of the mean distance of the neighbors.
    step_size : float
        η, for targets of unit variance; 0 keeps the weights as they are.
    n_overlap : int
        Samples in a row that share bins: the lags of a window.

    Attributes
    ----------
    weights_ : array (n_features,)
        The metric, of mean square 1.
    n_seen_ : int
        Samples learned from.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 6))
    >>> decoder = OnlineRGS(n_reference=200).fit(X[:200], np.sin(X[:200, 0]))
    >>> for x in X[200:500]:
    ...     decoder = decoder.partial_fit(x, np.cos(2 * x[3]))           # another feature matters now
    >>> int(np.argmax(decoder.weights_)), bool(decoder.score(X[500:], np.cos(2 * X[500:, 3])) > 0.5)
    (3, True)
    """

    n_reference: int = 1000
    n_neighbors: int = 20
    beta: float = 0.25
    step_size: float = 0.2
    n_overlap: int = 1

    def fit(self, X: Any, y: Any, weights: Any = None) -> OnlineRGS:
        """Take the last samples as reference set; weights are those of RGS on all, unless given."""
        X, Y = np.asarray(X, np.float32), as_values(y, type(self).__name__)
        if X.ndim != 2 or len(X) != len(Y) or len(X) <= self.n_neighbors:
            raise ValueError(f"X must have more rows than neighbors, and y as many; found {X.shape} and {Y.shape}")
        self._one_output, Y = Y.ndim == 1, Y.reshape(len(Y), -1)
        self.mean_, self.scale_ = Y.mean(axis=0), np.where(Y.std(axis=0) > 0, Y.std(axis=0), 1.0)
        n = min(self.n_reference, len(X))
        self.n_features_in_, self.n_seen_ = X.shape[1], len(X)
        self.rows_, self.targets_ = X[-n:].copy(), self._standardize(Y[-n:])
        self.ages_ = np.arange(len(X) - n, len(X))
        if weights is None:
            weights = RGS(random_state=0, survey=False, n_epochs=3).fit(X, Y).weights_
        self.weights_ = _of_unit_size(np.maximum(np.asarray(weights, np.float64), 1e-6))
        return self

    def partial_fit(self, x: Any, y: Any) -> OnlineRGS:
        """Learn from one sample, the next in time, and its target."""
        x, target = np.asarray(x, np.float32).reshape(-1), np.asarray(y, np.float64).reshape(1, -1)
        if x.shape != (self.n_features_in_,) or not (np.isfinite(x).all() and np.isfinite(target).all()):
            raise ValueError(f"a sample must have {self.n_features_in_} finite features and a finite target")
        place = self._make_place()
        self.rows_[place], self.targets_[place], self.ages_[place] = x, self._standardize(target), self.n_seen_
        if self.step_size > 0:
            self._step(place)
        self.n_seen_ += 1
        return self

    def _make_place(self) -> int:
        """Return the row for the next sample: a new one as long as the set is not full, else that of the oldest."""
        n = len(self.rows_)
        if n >= self.n_reference:
            return int(np.argmin(self.ages_))
        self.rows_ = np.vstack([self.rows_, np.zeros((1, self.n_features_in_), np.float32)])
        self.targets_ = np.vstack([self.targets_, np.zeros((1, self.targets_.shape[1]))])
        self.ages_ = np.append(self.ages_, self.n_seen_)
        return n

    def _step(self, place: int) -> None:
        """Go up the gradient of e(w) at one sample, whose overlapping neighbors in time count as its group."""
        groups = np.where(self.n_seen_ - self.ages_ < self.n_overlap, -1, np.arange(len(self.ages_)))
        groups[place] = -1
        starts = np.arange(len(self.rows_)) * self.n_features_in_
        Y = self.targets_ / np.sqrt(self.targets_.shape[1])
        data = self.rows_.reshape(-1), starts, groups, 0, Y, np.array([place]), 1
        loops_rgs.rgs_epoch(*data, self.n_neighbors, self.beta, True, self.step_size, LIMIT, self.weights_)
        self.weights_ = _of_unit_size(self.weights_)

    def predict(self, X: Any) -> np.ndarray:
        """Predict by soft kNN on the reference set."""
        queries, reference = Samples.from_array(X), Samples.from_array(self.rows_)
        near = find_neighbors(reference, queries, weights=self.weights_, k=self.n_neighbors)
        predicted = soft_knn(near, self.targets_, beta=self.beta) * self.scale_ + self.mean_
        return predicted[:, 0] if self._one_output else predicted

    def _standardize(self, Y: np.ndarray) -> np.ndarray:
        return np.asarray((Y - self.mean_) / self.scale_)


def _of_unit_size(weights: np.ndarray) -> np.ndarray:
    """Return weights of mean square 1."""
    return np.asarray(weights / np.sqrt(np.mean(weights**2)))
