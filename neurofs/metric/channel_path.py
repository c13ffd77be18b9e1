"""How many channels suffice? A path from all channels to one, and where on it the error begins to grow.

The metric is learned on all channels (`metric.learning`); then the weakest three tenths of the channels are
switched off and the others learn on for a few steps, again and again, down to one channel. A channel that is off
has weight 0 at all lags. The strength of a channel is the variance of its coordinates in the metric: what it adds
to a typical distance.

The path is walked without a fifth of the training data first. The errors of its metrics on that fifth, block by
block, decide by the rule of one standard error: the fewest channels whose mean error exceeds the least one by no
more than the standard error of this difference, blocks being the independent units. Then the path is walked down
to that size with all training data.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from scipy.linalg import solve

from neurofs.features.holdouts import Holdout, hold_out, pick_evenly
from neurofs.features.samples import Samples
from neurofs.metric.block_ridge import kernel
from neurofs.metric.learning import N_STEPS, LearnedMetric, learn_metric, make_blocks, sort_rows

KEPT = 0.7
FEWER_STEPS = 4
JUDGING_ROWS = 2500


@dataclass(frozen=True)
class ChannelPath:
    """Mean squared error on the held-out part for each number of channels, and the number chosen.

    `excess` is the error above the least one and `standard_error` that of this difference; targets have
    variance 1. `channels` are those kept at last, in ascending order.
    """

    sizes: np.ndarray
    errors: np.ndarray
    excess: np.ndarray
    standard_error: np.ndarray
    channels: np.ndarray

    @property
    def n_channels(self) -> int:
        """How many channels suffice."""
        return len(self.channels)


def learn_sparse_metric(
    samples: Samples,
    Y: np.ndarray,
    groups: np.ndarray | None,
    rng: np.random.Generator,
    weigh: Callable[..., np.ndarray] | None = None,
    **settings: Any,
) -> tuple[LearnedMetric, ChannelPath]:
    """Return a metric in which only the channels that suffice have weights, and the path that led to it.

    A walk begins at the weights ``weigh(samples, Y, groups, rng)`` of the rows that it may see, at equal ones by
    default. `settings` are those of `learn_metric`.
    """
    held = hold_out(samples, Y, lambda *_: None, groups)[0]
    part = samples[held.fit], Y[held.fit], None if groups is None else groups[held.fit]
    judge = _Judge((samples, Y, groups), held)
    errors = np.array([judge.errors(*at) for at in _walk(*part, rng, weigh, settings)])
    sizes = path_sizes(samples.n_channels)
    excess, standard_error, chosen = choose_size(errors)
    walk = islice(_walk(samples, Y, groups, rng, weigh, settings), chosen, chosen + 1)
    channels, metric = next(walk)
    path = ChannelPath(np.array(sizes), errors.mean(axis=1), excess, standard_error, np.sort(channels))
    return _widen(metric, channels, samples), path


def path_sizes(n_channels: int) -> list[int]:
    """Return the numbers of channels along the path.

    >>> path_sizes(20)
    [20, 14, 9, 6, 4, 2, 1]
    """
    sizes = [n_channels]
    while sizes[-1] > 1:
        sizes.append(max(1, int(KEPT * sizes[-1])))
    return sizes


def choose_size(errors: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Return excess and standard error of each row of errors (sizes, blocks), and the last row that suffices.

    >>> choose_size(np.array([[1.0, 2.0, 3.0], [1.0, 2.1, 3.0], [4.0, 4.0, 5.0]]))[2]
    1
    """
    best = int(np.argmin(errors.mean(axis=1)))
    difference = errors - errors[best]
    excess = difference.mean(axis=1)
    standard_error = difference.std(axis=1, ddof=1) / np.sqrt(errors.shape[1])
    return excess, standard_error, int(np.flatnonzero(excess <= standard_error).max())


def keep_channels(samples: Samples, channels: np.ndarray) -> Samples:
    """Return the samples with some of the channels alone, in a buffer of their own.

    >>> samples = Samples.from_counts(np.arange(8).reshape(4, 2), n_lags=2)
    >>> np.asarray(keep_channels(samples, np.array([1])))
    array([[1., 3.],
           [3., 5.],
           [5., 7.]], dtype=float32)
    """
    n, k = samples.n_channels, len(channels)
    if np.any(samples.starts % n):
        raise ValueError("windows must begin with the first channel of a bin; found one that does not")
    bins = samples.flat[: samples.flat.size // n * n].reshape(-1, n)
    return replace(
        samples,
        flat=bins[:, channels].ravel(),
        starts=samples.starts // n * k,
        n_features=samples.n_lags * k,
        span=-(-samples.span // n) * k,
        n_channels=k,
    )


def _walk(
    samples: Samples,
    Y: np.ndarray,
    groups: np.ndarray | None,
    rng: np.random.Generator,
    weigh: Callable[..., np.ndarray] | None,
    settings: dict[str, Any],
) -> Iterator[tuple[np.ndarray, LearnedMetric]]:
    """Yield channels and the metric of these channels, from all to one."""
    channels = np.arange(samples.n_channels)
    start = None if weigh is None else weigh(samples, Y, groups, rng)
    metric = learn_metric(samples, Y, groups, rng, start=start, **settings)
    yield channels, metric
    fewer = {**settings, "n_steps": max(1, settings.get("n_steps", N_STEPS) // FEWER_STEPS), "progress": None}
    for size in path_sizes(len(channels))[1:]:
        strength = _strengths(metric, keep_channels(samples, channels))
        kept = np.sort(np.argsort(-strength, kind="stable")[:size])
        channels, at = channels[kept], _narrow(metric, kept)
        metric = learn_metric(keep_channels(samples, channels), Y, groups, rng, start=at, **fewer)
        yield channels, metric


def _strengths(metric: LearnedMetric, samples: Samples) -> np.ndarray:
    """Return the variance of the coordinates of each channel, from an even selection of the rows."""
    rows = samples[:: max(1, len(samples) // JUDGING_ROWS)]
    return metric.transform(rows).var(axis=0).reshape(-1, metric.n_channels).sum(axis=0)


def _narrow(metric: LearnedMetric, kept: np.ndarray) -> LearnedMetric:
    """Return the metric of some of its channels."""
    weights, mean, varies = (
        values.reshape(-1, metric.n_channels)[:, kept].ravel()
        for values in (metric.weights, metric.mean, metric.varies)
    )
    return replace(metric, weights=weights, mean=mean, varies=varies, n_channels=len(kept))


def _widen(metric: LearnedMetric, channels: np.ndarray, samples: Samples) -> LearnedMetric:
    """Return the metric of some channels as one of all, the others with weight 0."""

    def fill(values: np.ndarray) -> np.ndarray:
        wide = np.zeros((samples.n_lags, samples.n_channels), values.dtype)
        wide[:, channels] = values.reshape(samples.n_lags, -1)
        return wide.ravel()

    return replace(
        metric,
        weights=fill(metric.weights),
        mean=fill(metric.mean),
        varies=fill(metric.varies),
        n_channels=samples.n_channels,
    )


class _Judge:
    """The held-out rows, in blocks, and the rows that predict them."""

    def __init__(self, data: tuple[Samples, np.ndarray, np.ndarray | None], held: Holdout) -> None:
        samples, Y, groups = data
        order, trial = sort_rows(samples[held.test], None if groups is None else groups[held.test])
        rows, some = held.test[order], held.fit[pick_evenly(len(held.fit), JUDGING_ROWS)]
        self.queries, self.truth = samples[rows], Y[rows]
        self.train, self.targets = samples[some], Y[some]
        self.edges, _ = make_blocks(samples, rows, trial, np.random.default_rng(0))

    def errors(self, channels: np.ndarray, metric: LearnedMetric) -> np.ndarray:
        """Return the mean squared error of each block."""
        train, queries = (keep_channels(part, channels) for part in (self.train, self.queries))
        squares = ((self.truth - _predict(metric, train, self.targets, queries)) ** 2).mean(axis=1)
        return np.add.reduceat(squares, self.edges[:-1]) / np.diff(self.edges)


def _predict(metric: LearnedMetric, train: Samples, Y: np.ndarray, queries: Samples) -> np.ndarray:
    """Return what kernel ridge regression in the metric predicts."""
    Z, Q = metric.transform(train), metric.transform(queries)
    norms, others = (np.einsum("if,if->i", rows, rows, dtype=np.float64) for rows in (Z, Q))
    H = kernel((Z @ Z.T).astype(np.float64), norms, norms, metric.linear)
    H.flat[:: len(H) + 1] += metric.ridge
    K = kernel((Q @ Z.T).astype(np.float64), others, norms, metric.linear)
    return K @ solve(H, Y, assume_a="pos", overwrite_a=True)
