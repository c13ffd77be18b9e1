"""The Kalman filter as a decoder: a linear model of how outputs move and how counts follow them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import solve
from scipy.signal import lfilter

from neurofs.decoders.base import Grid, Part, PartStep, Predict, Rehearsal, TunedDecoder
from neurofs.decoders.loops_kalman import follow, settle
from neurofs.features.samples import Samples
from neurofs.ground.works import WORKS

FORGETTING = 0.98  # what is left of the running sum of an output one bin later
LONGEST = 5000  # rows after which it is taken to be constant in any case, where rows come one by one
SETTLED = 1e-10  # change of the covariance, in units of its largest entry, from which on it counts as constant


@dataclass(frozen=True, eq=False)
class StateSpace:
    """x_t = A x_{t−1} + noise of covariance W;  z_t = H x_t + noise, seen through Hᵀ Q⁻¹ and Hᵀ Q⁻¹ H."""

    mean: np.ndarray
    transition: np.ndarray
    drift: np.ndarray
    center: np.ndarray
    gain: np.ndarray
    information: np.ndarray
    prior: np.ndarray


@dataclass(frozen=True, eq=False)
class Regression:
    """Least squares of both equations: of states on the states before them, and of observations on states.

    Q, the covariance of what observations have beside the state, is not shrunk yet.
    """

    mean: np.ndarray
    transition: np.ndarray
    drift: np.ndarray
    center: np.ndarray
    H: np.ndarray
    Q: np.ndarray
    prior: np.ndarray

    @classmethod
    def fit(cls, x: np.ndarray, Z: np.ndarray, later: np.ndarray) -> Self:
        """Fit states x (rows, …) and observations Z; each of the rows `later` follows the row before it in time."""
        mean, center = x.mean(axis=0), Z.mean(axis=0)
        x, Z = x - mean, Z - center
        little = 1e-9 * np.diag(np.where(x.any(axis=0), x.var(axis=0), 1.0))
        prior = x.T @ x / len(x) + little
        past, present = x[later - 1], x[later]
        A = np.ascontiguousarray(solve(past.T @ past + len(x) * little, past.T @ present, assume_a="pos").T)
        noise = present - past @ A.T
        H = solve(prior * len(x), x.T @ Z, assume_a="pos").T
        residual = Z - x @ H.T
        return cls(mean, A, noise.T @ noise / max(len(later), 1), center, H, residual.T @ residual / len(x), prior)

    def shrink(self, shrinkage: float) -> StateSpace:
        """Return the model with Q shrunk towards a sphere."""
        n = len(self.Q)
        Q = self.Q + (shrinkage * np.trace(self.Q) / n + np.finfo(float).tiny) * np.eye(n)
        gain = solve(Q, self.H, assume_a="pos").T
        return StateSpace(self.mean, self.transition, self.drift, self.center, gain, gain @ self.H, self.prior)


@dataclass(eq=False, repr=False)
class Kalman(TunedDecoder):
    """Kalman filter: the state is how the outputs move, the observation the counts of some bins.

    x_t = A x_{t−1} + w and z_t = H x_t + q, fitted by least squares; the covariance Q of q is shrunk a little
    towards a sphere. The state x is the outputs and, if that helps, their running sum (the position, if
    velocities are decoded), which forgets 2 % at each bin, and their change since the bin before. The observation
    z is, for each channel, the sum of its counts over `n_bins` bins of the window, weighted where features have
    weights. Samples that share bins repeat their observations, which the filter takes for independent;
    `noise` makes up for it. All of this is chosen on the hold-outs, one parameter at a time.

    Rows are taken in the order of time. The state starts anew wherever bins are missing between two rows, as
    they are between trials, whose first windows must fill.

    Parameters
    ----------
    lag : int or "auto"
        The newest bin that is observed, in bins before the newest of the window.
    n_bins : int or "auto"
        How many bins are added up, from `lag` on backwards, as far as the window reaches. Where all of their
        weights are 0, the whole window is.
    noise : float or "auto"
        Factor on the covariance W of w: above 1, the filter follows the observations faster.
    integral, derivative : bool or "auto"
        Whether the state holds the running sum and the change of the outputs.
    shrinkage : float or "auto"
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
    GRID: ClassVar[Grid] = {
        "n_bins": (1, 2, 3, 4, 6, 8),
        "lag": (0, 1, 2, 3, 4, 5),
        "integral": (0, 1),
        "derivative": (0, 1),
        "noise": (0.03, 0.06, 0.12, 0.25, 0.5, 1.0, 2.0, 4.0),
        "shrinkage": (0.01, 0.03, 0.1, 0.3, 1.0),
    }
    START: ClassVar[dict[str, float]] = dict.fromkeys(GRID, 0) | {"n_bins": 1, "noise": 1.0, "shrinkage": 0.03}

    lag: float | str = "auto"
    n_bins: float | str = "auto"
    noise: float | str = "auto"
    integral: float | str = "auto"
    derivative: float | str = "auto"
    shrinkage: float | str = "auto"

    def _fit_part(self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]) -> Part:
        self.step_, self.n_lags_ = _usual_step(train.starts), train.n_lags
        chosen = self._choose(rehearsals)
        return Part(weights, self._estimator(train, targets, weights)(**chosen), chosen)

    def _grids(self) -> dict[str, Any]:
        """Return the candidates of each parameter; bins that the window does not have are none."""
        grids = super()._grids()
        if not isinstance(self.lag, str) and not 0 <= self.lag < self.n_lags_:
            raise ValueError(f"lag must be at least 0 and below the {self.n_lags_} bins of a window; found {self.lag}")
        inside = {"lag": lambda value: value < self.n_lags_, "n_bins": lambda value: value <= self.n_lags_}
        for name, fits in inside.items():
            grids[name] = [value for value in grids[name] if fits(value)] or grids[name]
        return grids

    def _prepare(self, t: Rehearsal) -> Predict:
        estimate, follow_up = self._estimator(t.train, t.targets, t.weights), self._follower(t.queries, t.weights)
        return lambda **chosen: follow_up(estimate(**chosen), chosen)

    def _predict_part(self, part: Part, queries: Samples) -> np.ndarray:
        return self._follower(queries, part.weights)(part.model, part.chosen)

    def _start_part(self, part: Part) -> PartStep:
        model, chosen = part.model, part.chosen
        covariances, keeps = find_gains(model, LONGEST)
        n_outputs = len(model.mean) // (1 + bool(chosen["integral"]) + bool(chosen["derivative"]))
        state, age = np.zeros(len(model.mean)), 0

        def step(window: Samples, follows: bool) -> np.ndarray:
            nonlocal state, age
            Z = observe(window, part.weights, chosen["lag"], chosen["n_bins"])
            age = min(age + 1, len(covariances) - 1) if follows else 0
            seen = covariances[age] @ ((Z - model.center) @ model.gain.T)[0]
            state = keeps[age] @ state + seen if follows else seen
            return (state + model.mean)[None, :n_outputs]

        return step

    def _estimator(self, train: Samples, targets: np.ndarray, weights: Any) -> Callable[..., StateSpace]:
        """Return a function of the parameters that fits the model, and fits nothing twice."""
        order, follows = self._in_time(train)
        extend = cache(lambda integral, derivative: extend_state(targets[order], follows, integral, derivative))

        @cache
        def regress(lag: float, n_bins: float, integral: float, derivative: float) -> Regression:
            Z = observe(train, weights, lag, n_bins)[order]
            return Regression.fit(extend(integral, derivative), Z, np.flatnonzero(follows))

        @cache
        def shrink(shrinkage: float, **others: float) -> StateSpace:
            return regress(**others).shrink(shrinkage)

        def scale(noise: float, **others: float) -> StateSpace:
            found = shrink(**others)
            return replace(found, drift=noise * found.drift)

        return scale

    def _follower(self, queries: Samples, weights: Any) -> Callable[[StateSpace, Mapping[str, float]], np.ndarray]:
        """Return a function of the model and its parameters that predicts the outputs of each row."""
        order, follows = self._in_time(queries)
        see = lru_cache(maxsize=1)(lambda lag, n_bins: observe(queries, weights, lag, n_bins)[order])

        def predict(model: StateSpace, chosen: Mapping[str, float]) -> np.ndarray:
            evidence = (see(chosen["lag"], chosen["n_bins"]) - model.center) @ model.gain.T
            out = np.empty((len(queries), len(model.mean)))
            out[order] = run_filter(model, evidence, follows) + model.mean
            return out[:, : len(model.mean) // (1 + bool(chosen["integral"]) + bool(chosen["derivative"]))]

        return predict

    def _in_time(self, samples: Samples) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows in the order of time, and which of them follow the one before."""
        order = np.argsort(samples.starts, kind="stable")
        return order, np.append(False, np.diff(samples.starts[order]) == self.step_)


def _usual_step(starts: np.ndarray) -> int:
    """Return the most frequent distance from one start to the next: one bin, or one row of an array."""
    steps, counts = np.unique(np.diff(np.sort(starts)), return_counts=True)
    return int(steps[np.argmax(counts)]) if steps.size else 0


def observe(samples: Samples, weights: Any, lag: float, n_bins: float) -> np.ndarray:
    """Return for each sample the weighted sum over some bins, one column per channel that has a weight there.

    >>> counts = [[1, 2], [3, 4], [5, 6]]                 # 3 bins of 2 channels
    >>> samples = Samples.from_counts(counts, n_lags=3)
    >>> observe(samples, None, lag=0, n_bins=2), observe(samples, [0, 0, 2, 0, 0, 1], lag=1, n_bins=5)
    (array([[ 8., 10.]]), array([[6.]]))
    """
    stop = samples.n_lags - int(lag)
    first = max(stop - int(n_bins), 0)
    by_bin = np.ones((samples.n_lags, samples.n_channels))
    if weights is not None:
        by_bin = np.reshape(weights, by_bin.shape)
        if not np.any(by_bin[first:stop]):
            first, stop = 0, samples.n_lags
    starts, n = samples.starts + first * samples.n_channels, (stop - first) * samples.n_channels
    X = np.asarray(Samples(samples.flat, starts, n), np.float64).reshape(-1, stop - first, samples.n_channels)
    kept = by_bin[first:stop].any(axis=0)
    return np.einsum("tbc,bc->tc", X[:, :, kept], by_bin[first:stop, kept])


def extend_state(y: np.ndarray, follows: np.ndarray, integral: float, derivative: float) -> np.ndarray:
    """Return the outputs with their running sum and their change; both begin anew where a row follows none.

    The first change of a stretch is taken to be its second.

    >>> follows = np.array([False, True, True, False])
    >>> extend_state(np.array([[1.0], [2], [5], [7]]), follows, integral=True, derivative=True)[:, 1:]
    array([[1.    , 1.    ],
           [2.98  , 1.    ],
           [7.9204, 3.    ],
           [7.    , 0.    ]])
    """
    parts = np.split(y, np.flatnonzero(~follows)[1:])
    states = [y]
    if integral:
        states.append(np.concatenate([lfilter([1.0], [1.0, -FORGETTING], part, axis=0) for part in parts]))
    if derivative:
        states.append(np.concatenate([_change(part) for part in parts]))
    return np.hstack(states)


def _change(y: np.ndarray) -> np.ndarray:
    """Return the difference of each row from the one before."""
    change = np.diff(y, axis=0, prepend=y[:1])
    change[:1] = change[1:2] if len(y) > 1 else 0.0
    return change


def run_filter(model: StateSpace, evidence: np.ndarray, follows: np.ndarray) -> np.ndarray:
    """Return the state at each row; evidence[t] = Hᵀ Q⁻¹ z_t.

    How much is believed depends only on how many rows came before, not on what they said, so the covariances
    are found first, for the longest stretch. They soon stay as they are.
    """
    longest = np.diff(np.flatnonzero(np.append(~follows, True))).max(initial=1)
    covariances, keeps = find_gains(model, longest)
    states = np.empty_like(evidence)
    follow(keeps, covariances, evidence, follows, states)
    return states


def find_gains(model: StateSpace, longest: int) -> tuple[np.ndarray, np.ndarray]:
    """Return how sure the filter is after 1, 2, … rows until that settles, and what it keeps of the state before."""
    space = np.empty((longest, *model.prior.shape))
    covariances = space[: settle(model.transition, model.drift, model.information, model.prior, SETTLED, space)]
    return covariances, (np.eye(len(model.prior)) - covariances @ model.information) @ model.transition
