"""Learning a metric by the gradient of the leave-block-out error of kernel ridge regression.

The idea of RGS one step further: the local mean of the neighbors is replaced by kernel ridge regression on
all rows, and leave-one-out by leave-block-out, which windows that overlap need. Loss and gradient are closed
forms (`metric.block_ridge`). Weights are ``w = exp(a_channel + b_lag + r_feature + s)``, with penalties that
keep them together unless the data ask for more: ``(Σ a² / 0.4 + Σ b² / 0.4 + Σ r² / 0.04) / m``. Each of the 100
steps of Adam sees at most 800 random rows, so a step costs one inverse and two matrix products of that size. It
sees at most half of all rows, which keeps the search from fitting the chance of a small sample. The search may
begin at given weights, those of RGS for example.

After the weights, one matrix T (lags × lags) that all channels share mixes the bins of each channel; it starts
as the orthonormal discrete cosine transform, which changes no distance, and is learned too:

    z = Tᵀ (w ⊙ x) in each channel,   d(x, x') = |z − z'|²

So a difference that lasts for several bins may count for more, or less, than one that comes and goes, while
every channel × lag keeps one weight: w times the length of the row of T that belongs to the lag, which is how
far a difference of one count in that bin alone moves z.

Instead of the mixing, a metric may have some directions V (features × directions), which give z = w ⊙ x further
coordinates: d = |z − z'|² + |Vᵀ(z − z')|². So a difference along a direction through many channels may count for
more. Directions begin where samples and targets vary together (`metric.directions`), with a small length, and
are learned with small steps, because hundreds of free numbers soon fit the chance of the sample.

NOTES.md says what each of these is worth, and what was tried and left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.fft import idct

from neurofs.features.samples import Samples
from neurofs.metric.block_ridge import cut_blocks, leave_block_out, scored_rows
from neurofs.metric.directions import find_directions

N_ROWS = 800
N_STEPS = 100
FEWEST_DRAWN = 20
N_COMPARED = 4
STEP = 0.05
WARM_UP = 5
MIXING_STEP = 0.3
CHANNEL_FREEDOM = 0.4
LAG_FREEDOM = 0.4
FEATURE_FREEDOM = 0.04
DIRECTION_ROWS = 1000
DIRECTION_LENGTH = 0.3  # of all together at the start; the other coordinates together have 1
DIRECTION_STEP = 0.03
DIRECTION_FREEDOM = 1.0
BLOCK_SPANS = 6
FEWEST_TRIALS = 5
START_RIDGE, START_LINEAR = 0.1, 0.3
DECAYS = (0.9, 0.98)
SMALLEST_START = 0.05  # of the root mean square of the weights
AT_ONCE = 8_000_000  # numbers of a part of the samples that is copied


@dataclass(frozen=True)
class LearnedMetric:
    """A metric: rows are centered, multiplied by `weights`, and mixed along lags if there is a `mixing`.

    `directions` (features, directions), if there are any, give further coordinates.
    """

    weights: np.ndarray
    mean: np.ndarray
    linear: float
    ridge: float
    n_channels: int
    varies: np.ndarray
    mixing: np.ndarray | None = None
    directions: np.ndarray | None = None
    loss_curve: np.ndarray = field(default_factory=lambda: np.empty(0))

    @property
    def feature_weights(self) -> np.ndarray:
        """What a difference in one channel × lag alone counts; the largest is 1, constant features have 0."""
        lengths = np.ones(1) if self.mixing is None else np.linalg.norm(self.mixing, axis=1)
        squares = np.repeat(lengths**2, len(self.weights) // len(lengths))
        if self.directions is not None:
            squares = squares + np.sum(self.directions**2, axis=1)
        weights = np.where(self.varies, self.weights * np.sqrt(squares), 0.0)
        return weights / weights.max() if weights.any() else np.ones_like(weights)

    def transform(self, samples: Samples) -> np.ndarray:
        """Return the rows as float32 coordinates in which distances are plain."""
        rows = np.asarray(samples)
        rows -= self.mean.astype(np.float32)
        rows *= self.weights.astype(np.float32)
        return find_coordinates(rows, self.mixing, self.directions, self.n_channels)


def find_coordinates(
    rows: np.ndarray, mixing: np.ndarray | None, directions: np.ndarray | None, n_channels: int
) -> np.ndarray:
    """Return weighted rows with their bins mixed, then their coordinates along the directions.

    The latter are added up in double precision, so that they are the same for one row or many.
    """
    mixed = mix_lags(rows, mixing, n_channels)
    if directions is None:
        return mixed
    return np.hstack([mixed, (rows.astype(np.float64) @ directions).astype(rows.dtype)])


def mix_lags(rows: np.ndarray, mixing: np.ndarray | None, n_channels: int) -> np.ndarray:
    """Return the rows with the bins of each channel mixed: z[i, b, c] = Σ_l T[l, b] x[i, l, c]."""
    if mixing is None:
        return rows
    bins = rows.reshape(len(rows), -1, n_channels)
    return np.matmul(mixing.T.astype(rows.dtype), bins).reshape(rows.shape)


def learn_metric(
    samples: Samples,
    Y: np.ndarray,
    groups: np.ndarray | None,
    rng: np.random.Generator,
    *,
    mixed: bool = True,
    n_directions: int = 0,
    n_steps: int = N_STEPS,
    n_rows: int = N_ROWS,
    start: np.ndarray | LearnedMetric | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> LearnedMetric:
    """Return the metric that minimizes the leave-block-out error on `samples`.

    Without `mixed` the bins are not mixed; `n_directions` are added to the metric. `Y` is standardized; `groups`
    are trials, or None for one stretch, which is cut into blocks of six windows. The search begins at `start`,
    weights or a metric; at equal weights by default.
    """
    rows = _Rows(samples, Y, groups, _count_drawn(len(samples), n_rows))
    state = _State.start(samples, rows.variance, mixed, start)
    if n_directions:
        state = replace(state, directions=rows.find_directions(state.weights, n_directions, rng))
    adam, losses = _Adam(sum(state.sizes)), []
    for step in range(n_steps):
        drawn = rows.draw(rng)
        if drawn is None:
            continue
        loss, gradient = _differentiate(state, *drawn, len(samples))
        losses.append(loss)
        state = state.moved(adam.step(gradient, _step_size(step, n_steps)))
        if progress is not None:
            progress(step, loss)
    return state.metric(rows.mean, rows.variance > 1e-12 * rows.mean**2, np.array(losses))


def choose_start(
    starts: list[np.ndarray],
    samples: Samples,
    Y: np.ndarray,
    groups: np.ndarray | None,
    rng: np.random.Generator,
    *,
    n_rows: int = N_ROWS,
) -> np.ndarray:
    """Return the weights with the least leave-block-out error, the mean of four draws of rows, before any step."""
    rows = _Rows(samples, Y, groups, min(n_rows, len(samples)))
    draws = [drawn for _ in range(N_COMPARED) if (drawn := rows.draw(rng)) is not None]
    states = [_State.start(samples, rows.variance, False, start) for start in starts]
    losses = [sum(_differentiate(state, *drawn, len(samples))[0] for drawn in draws) for state in states]
    return starts[int(np.argmin(losses))]


class _Rows:
    """The rows of a fit in the order of time, some of which are drawn for each step."""

    def __init__(self, samples: Samples, Y: np.ndarray, groups: np.ndarray | None, n_drawn: int) -> None:
        self.samples, self.Y, self.n_drawn = samples, Y, n_drawn
        self.order, self.trial = sort_rows(samples, groups)
        self.mean, self.variance = _mean_and_variance(samples)

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
        """Return centered rows, their targets, the edges of blocks and the rows to be scored; None without any."""
        drawn = np.sort(rng.permutation(len(self.order))[: self.n_drawn])
        rows, trial = self.order[drawn], None if self.trial is None else self.trial[drawn]
        edges, scored = make_blocks(self.samples, rows, trial, rng)
        if not scored.any():
            return None
        return self._center(rows), self.Y[rows], edges, scored

    def find_directions(self, weights: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return directions of weighted rows that go along with the targets."""
        drawn = np.sort(rng.permutation(len(self.order))[:DIRECTION_ROWS])
        X, Y = self._center(drawn) * weights.astype(np.float32), self.Y[drawn]
        found = find_directions(X - X.mean(axis=0), Y - Y.mean(axis=0), n)
        return DIRECTION_LENGTH * np.sqrt(0.5 / n) * found.astype(np.float64)

    def _center(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(self.samples[rows]) - self.mean.astype(np.float32)


def _count_drawn(n_samples: int, n_rows: int) -> int:
    """Return how many rows a step sees: at most `n_rows`, and half of them all unless these are very few.

    >>> _count_drawn(850, 800), _count_drawn(5000, 800), _count_drawn(30, 800)
    (425, 800, 20)
    """
    return min(n_rows, max(n_samples // 2, FEWEST_DRAWN))


def sort_rows(samples: Samples, groups: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the rows in the order of time and the trial of each, None without enough trials."""
    if groups is None or len(np.unique(groups)) < FEWEST_TRIALS:
        return np.argsort(samples.starts, kind="stable"), None
    _, trial = np.unique(groups, return_inverse=True)
    first = np.full(trial.max() + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, trial, samples.starts)
    order = np.lexsort((samples.starts, trial, first[trial]))
    return order, trial[order]


def make_blocks(
    samples: Samples, rows: np.ndarray, trial: np.ndarray | None, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges of the blocks of some sorted rows, and which of these may be scored."""
    starts = samples.starts[rows]
    length = _block_length(starts, samples.span)
    edges = cut_blocks(starts, length, int(rng.integers(1, length + 1)), trial)
    return edges, scored_rows(starts, samples.span, edges)


def _block_length(starts: np.ndarray, span: int) -> int:
    """Six windows, but no more than a fifth of what the rows cover."""
    covered = int(starts[-1] - starts[0]) + span
    return max(span, min(BLOCK_SPANS * span, covered // 5))


def _mean_and_variance(samples: Samples) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and the variance of each feature, reading some rows at a time."""
    total, squares = np.zeros(samples.n_features), np.zeros(samples.n_features)
    n_rows = max(1, AT_ONCE // samples.n_features)
    for first in range(0, len(samples), n_rows):
        rows = np.asarray(samples[first : first + n_rows]).astype(np.float64)
        total += rows.sum(axis=0)
        squares += np.einsum("if,if->f", rows, rows)
    mean = total / len(samples)
    return mean, np.maximum(squares / len(samples) - mean**2, 0.0)


def _step_size(step: int, n_steps: int) -> float:
    """Return the step: a short warm-up, then a cosine down to zero."""
    return STEP * min(1.0, (step + 1) / WARM_UP) * 0.5 * (1 + np.cos(np.pi * step / n_steps))


@dataclass(frozen=True)
class _State:
    """What is learned: all in logarithms but the mixing."""

    channel: np.ndarray
    lag: np.ndarray
    feature: np.ndarray
    scale: float
    log_linear: float
    log_ridge: float
    mixing: np.ndarray | None
    directions: np.ndarray | None = None

    @classmethod
    def start(
        cls, samples: Samples, variance: np.ndarray, mixed: bool, at: np.ndarray | LearnedMetric | None = None
    ) -> _State:
        """Begin at a metric; or at weights, equal ones by default, scaled so that the mean distance is 1."""
        if isinstance(at, LearnedMetric):
            parts = _split_weights(at.weights, samples)
            return cls(*parts, np.log(at.linear), np.log(at.ridge), at.mixing, at.directions)
        mixing = idct(np.eye(samples.n_lags), norm="ortho", axis=0) if mixed and samples.n_lags > 1 else None
        weights = np.ones(samples.n_features) if at is None or not np.any(at) else at
        raw = cls(*_split_weights(weights, samples), np.log(START_LINEAR), np.log(START_RIDGE), mixing)
        distance = 2.0 * float(raw.weights**2 @ variance)
        return replace(raw, scale=raw.scale - 0.5 * np.log(distance)) if distance > 0 else raw

    @property
    def sizes(self) -> list[int]:
        """How many numbers each part has: channels, lags, features, the three scalars, mixing, directions."""
        matrices = [0 if matrix is None else matrix.size for matrix in (self.mixing, self.directions)]
        return [len(self.channel), len(self.lag), len(self.feature), 3, *matrices]

    @property
    def weights(self) -> np.ndarray:
        by_bin = self.channel + self.lag[:, None] + self.feature.reshape(len(self.lag), -1)
        return np.exp(by_bin.ravel() + self.scale)

    def moved(self, change: np.ndarray) -> _State:
        channel, lag, feature, scalars, mixing, directions = np.split(change, np.cumsum(self.sizes)[:-1])
        return _State(
            self.channel + channel,
            self.lag + lag,
            self.feature + feature,
            self.scale + scalars[0],
            self.log_linear + scalars[1],
            self.log_ridge + scalars[2],
            _move(self.mixing, MIXING_STEP * mixing),
            _move(self.directions, DIRECTION_STEP * directions),
        )

    def metric(self, mean: np.ndarray, varies: np.ndarray, losses: np.ndarray) -> LearnedMetric:
        return LearnedMetric(
            self.weights,
            mean,
            float(np.exp(self.log_linear)),
            float(np.exp(self.log_ridge)),
            len(self.channel),
            varies,
            self.mixing,
            self.directions,
            losses,
        )


def _move(matrix: np.ndarray | None, change: np.ndarray) -> np.ndarray | None:
    return None if matrix is None else matrix + change.reshape(matrix.shape)


def _split_weights(weights: np.ndarray, samples: Samples) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return what the logarithms of weights owe to the channel, to the lag, to both together, and to all."""
    least = SMALLEST_START * np.sqrt(np.mean(np.square(weights)))
    logs = np.log(np.maximum(weights, least)).reshape(samples.n_lags, samples.n_channels)
    channel = logs.mean(axis=0) - logs.mean()
    lag = logs.mean(axis=1) - logs.mean()
    return channel, lag, (logs - logs.mean() - channel - lag[:, None]).ravel(), float(logs.mean())


def _differentiate(
    state: _State, X: np.ndarray, Y: np.ndarray, edges: np.ndarray, scored: np.ndarray, m: int
) -> tuple[float, np.ndarray]:
    """Return the loss at `state` (without penalties) and the gradient of loss and penalties."""
    linear, ridge, n_channels = np.exp(state.log_linear), np.exp(state.log_ridge), len(state.channel)
    W = X * state.weights.astype(X.dtype)
    Z = find_coordinates(W, state.mixing, state.directions, n_channels)
    at = leave_block_out(Z, Y, linear, ridge, edges, scored)
    d_mixed, d_along = np.split(at.d_rows, [X.shape[1]], axis=1)
    back = d_mixed if state.mixing is None else mix_lags(d_mixed, state.mixing.T, n_channels)
    if state.directions is not None:
        back = back + d_along @ state.directions.T.astype(d_along.dtype)
    by_feature = np.einsum("if,if->f", W, back, dtype=np.float64)
    by_bin = by_feature.reshape(-1, n_channels)
    parts = [
        by_bin.sum(axis=0) + 2 * state.channel / (CHANNEL_FREEDOM * m),
        by_bin.sum(axis=1) + 2 * state.lag / (LAG_FREEDOM * m),
        by_feature + 2 * state.feature / (FEATURE_FREEDOM * m),
        [by_feature.sum(), linear * at.d_linear, ridge * at.d_ridge],
    ]
    if state.mixing is not None:
        shape = (len(X), -1, n_channels)
        parts.append(np.einsum("ilc,ibc->lb", W.reshape(shape), d_mixed.reshape(shape), optimize=True).ravel())
    if state.directions is not None:
        parts.append((W.T @ d_along + 2 * state.directions / (DIRECTION_FREEDOM * m)).ravel())
    return at.loss, np.concatenate(parts)


class _Adam:
    """Adam (Kingma and Ba, 2015), with decays 0.9 and 0.98."""

    def __init__(self, size: int) -> None:
        self.mean = np.zeros(size)
        self.square = np.zeros(size)
        self.n = 0

    def step(self, gradient: np.ndarray, size: float) -> np.ndarray:
        """Return the change of the parameters."""
        gradient = np.nan_to_num(gradient, posinf=0.0, neginf=0.0)
        self.n += 1
        slow, slower = DECAYS
        self.mean = slow * self.mean + (1 - slow) * gradient
        self.square = slower * self.square + (1 - slower) * gradient**2
        mean, square = self.mean / (1 - slow**self.n), self.square / (1 - slower**self.n)
        return -size * mean / (np.sqrt(square) + 1e-8)
