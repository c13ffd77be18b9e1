"""The Kalman filter as a decoder: a linear model of how outputs move and how features follow them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve

from neurofs.decoders.base import Part, Rehearsal, TunedDecoder, weigh
from neurofs.features.samples import Samples
from neurofs.ground.works import WORKS


@dataclass(frozen=True, eq=False)
class StateSpace:
    """x_t = A x_{t−1} + noise of covariance W;  z_t = H x_t + noise, seen through Hᵀ Q⁻¹ and Hᵀ Q⁻¹ H."""

    transition: np.ndarray
    drift: np.ndarray
    center: np.ndarray
    gain: np.ndarray
    information: np.ndarray
    prior: np.ndarray


@dataclass(eq=False, repr=False)
class Kalman(TunedDecoder):
    """Kalman filter: the state is the outputs, the observation the features.

    x_t = A x_{t−1} + w and z_t = H x_t + q, fitted by least squares; the covariance Q of q is shrunk a little
    towards a sphere. Rows are taken in the order of time and the state starts anew wherever the recording or
    the trial is interrupted.

    Parameters
    ----------
    n_newest : int or None
        How many features of a sample are observed, counted from its end: the number of channels for the bin
        of the target alone, the classic form; all by default. Samples that share lags repeat their
        observations, which the filter takes for independent.
    shrinkage : float
        Share of the mean variance added to the diagonal of Q.

    Examples
    --------
    >>> from scipy.signal import lfilter
    >>> rng = np.random.default_rng(0)
    >>> x = lfilter([1], [1, -0.95], rng.normal(size=800))
    >>> Z = x[:, None] * [1, -1, 0.5] + 3 * rng.normal(size=(800, 3))
    >>> bool(Kalman().fit(Z[:400], x[:400]).score(Z[400:], x[400:]) > 0.7)
    True
    """

    name, label, citation, target = "kalman", "Kalman filter", WORKS["wu2006"], "continuous"
    cost, color, marker, line = "m N² + N³", "teal", "", (0, (1, 1))

    n_newest: int | None = None
    shrinkage: float = 0.01

    def _fit_part(self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]) -> Part:
        self.step_ = _usual_step(train.starts)
        order = np.argsort(train.starts, kind="stable")
        follows = np.diff(train.starts[order]) == self.step_
        x, Z = targets[order], self._observe(train, weights)[order]
        return Part(weights, self._estimate(x, Z, np.flatnonzero(follows)), {})

    def _observe(self, samples: Samples, weights: Any) -> np.ndarray:
        newest = 0 if self.n_newest is None else samples.n_features - self.n_newest
        rows = Samples(samples.flat, samples.starts + newest, samples.n_features - newest)
        Z = weigh(rows, None if weights is None else weights[newest:]).astype(np.float64)
        if not Z.shape[1]:
            raise ValueError(f"all of the newest {self.n_newest} features have weight 0; observe more of them")
        return Z

    def _estimate(self, x: np.ndarray, Z: np.ndarray, before: np.ndarray) -> StateSpace:
        """Fit the model; rows `before` are followed in time by the next row."""
        center, prior = Z.mean(axis=0), x.T @ x / len(x) + 1e-9 * np.eye(x.shape[1])
        past, present = x[before], x[before + 1]
        A = solve(past.T @ past + 1e-9 * len(x) * np.eye(x.shape[1]), past.T @ present, assume_a="pos").T
        noise = present - past @ A.T
        H = solve(prior * len(x), x.T @ (Z - center), assume_a="pos").T
        residual = Z - center - x @ H.T
        Q = residual.T @ residual / len(x)
        Q += (self.shrinkage * np.trace(Q) / len(Q) + np.finfo(float).tiny) * np.eye(len(Q))
        gain = solve(Q, H, assume_a="pos").T
        drift = noise.T @ noise / max(len(before), 1)
        return StateSpace(A, drift, center, gain, gain @ H, prior)

    def _predict_part(self, part: Part, queries: Samples) -> np.ndarray:
        model: StateSpace = part.model
        order = np.argsort(queries.starts, kind="stable")
        evidence = (self._observe(queries, part.weights)[order] - model.center) @ model.gain.T
        follows = np.append(False, np.diff(queries.starts[order]) == self.step_)
        out = np.empty_like(evidence)
        out[order] = _filter(model, evidence, follows)
        return out


def _usual_step(starts: np.ndarray) -> int:
    """Return the most frequent distance from one start to the next: one bin, or one row of an array."""
    steps, counts = np.unique(np.diff(np.sort(starts)), return_counts=True)
    return int(steps[np.argmax(counts)]) if steps.size else 0


def _filter(model: StateSpace, evidence: np.ndarray, follows: np.ndarray) -> np.ndarray:
    """Run the filter in information form; evidence[t] = Hᵀ Q⁻¹ z_t."""
    out = np.empty_like(evidence)
    A, identity = model.transition, np.eye(evidence.shape[1])
    state, cov = np.zeros(len(identity)), model.prior
    for t, z in enumerate(evidence):
        if follows[t]:
            state, cov = A @ state, A @ cov @ A.T + model.drift
        else:
            state, cov = np.zeros(len(identity)), model.prior
        cov = np.linalg.solve(identity + cov @ model.information, cov)
        state = state + cov @ (z - model.information @ state)
        out[t] = state
    return out
