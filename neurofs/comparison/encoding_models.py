"""Encoding beside decoding: how well the target predicts each channel, and how well each channel the target.

For every channel, counts at one lag are Poisson with

    log rate = b0 + Σ b_o y_o (+ b_s |y|, where the target is a vector such as a velocity)

on standardized outputs y; of classes, one rate each. The lag is that with the largest likelihood of the training part
of a fold, and the test part of the same folds as those of decoding tells the share of the deviance that is explained,

    pseudo-R² = 1 − D(model) / D(mean count of the training part),

0 for a channel that is not tuned, on average a little below. `depth` is (r₊ − r₋) / (r₊ + r₋) of the rates one standard
deviation along the preferred direction and against it. Beside it stands what a linear decoder gets from all lags of the
channel alone, and what it loses without it (R²).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import xlogy

from neurofs.comparison.dependency import Channels
from neurofs.comparison.places import Places
from neurofs.comparison.problem import Problem
from neurofs.comparison.stats import estimate
from neurofs.ground.errors import UsageError

STEPS = 25
LARGEST = 20.0
"""Logarithms of expected counts beyond this are cut off."""

PENALTY = 1e-3
"""Of a coefficient's square per sample: keeps silent channels finite."""

ENCODING_COLUMNS = (
    "channel", "rate", "lag", "pseudo_r2", "low", "high", "preferred_direction", "depth", "alone", "unique",
)  # fmt: skip
ABOUT = {
    "rate": "Mean rate in the bins that were decoded, in Hz.",
    "lag": "Seconds by which spikes precede the target, where it explains most.",
    "pseudo_r2": "Cross-validated share of the deviance that the target explains (Poisson regression).",
    "low": "Lower end of the 95 % interval of pseudo-R².",
    "high": "Upper end of the 95 % interval of pseudo-R².",
    "preferred_direction": "Direction of the target with the highest rate, in degrees.",
    "depth": "(r+ - r-) / (r+ + r-) of the rates one standard deviation along the preferred direction and against it.",
    "alone": "Cross-validated R² of a linear decoder from this channel alone.",
    "unique": "What a linear decoder of all channels loses in R² without this one.",
}
"""What the columns are."""


def make_design(problem: Problem) -> np.ndarray:
    """Return what rates go with (rows, terms): 1, the outputs, and the length of a vector target; or 1 and classes."""
    y = problem.values
    if problem.classes:
        return np.hstack([np.ones((len(y), 1)), y])
    z = (y - y.mean(axis=0)) / np.where(y.std(axis=0) > 0, y.std(axis=0), 1)
    terms = [np.ones((len(z), 1)), z]
    if is_vector(problem):
        length = np.linalg.norm(y, axis=1, keepdims=True)
        terms.append((length - length.mean()) / max(float(length.std()), 1e-12))
    return np.hstack(terms)


def is_vector(problem: Problem) -> bool:
    """Whether the target has two outputs of one unit, so that it has a direction."""
    return not problem.classes and len(problem.outputs) == 2 and len(set(problem.units)) == 1


def fit_poisson(design: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the coefficients (channels, terms) of Poisson regressions of counts (rows, channels), by Newton's steps.

    >>> rng = np.random.default_rng(0)
    >>> design = np.column_stack([np.ones(4000), rng.normal(size=4000)])
    >>> fit_poisson(design, rng.poisson(np.exp(design @ [[1.0], [0.5]]))).round(1)
    array([[1. , 0.5]])
    """
    n, p = design.shape
    coefficients = np.zeros((counts.shape[1], p))
    coefficients[:, 0] = np.log(np.maximum(counts.mean(axis=0), 1e-6))
    penalty = PENALTY * n * np.eye(p)
    penalty[0, 0] = 0.0  # the first term is the constant
    for _ in range(STEPS):
        rate = np.exp(np.clip(design @ coefficients.T, -LARGEST, LARGEST))
        slope = (counts - rate).T @ design - coefficients @ penalty
        curve = np.einsum("nc,np,nq->cpq", rate, design, design, optimize=True) + penalty + 1e-9 * np.eye(p)
        step = np.linalg.solve(curve, slope[..., None])[..., 0]
        step *= np.minimum(1, 2 / np.maximum(np.abs(step).max(axis=1, keepdims=True), 1e-12))
        coefficients = coefficients + step
        if np.abs(step).max() < 1e-6:
            break
    return coefficients


def deviance(counts: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Return the Poisson deviance of each channel, 2 Σ [c log(c/r) − (c − r)]."""
    return np.asarray(2 * np.sum(xlogy(counts, counts) - xlogy(counts, rate) - counts + rate, axis=0))


def describe_encoding(problem: Problem, channels: Sequence[str], lags: np.ndarray, bin_width: float) -> pd.DataFrame:
    """Return the table of all channels (`ENCODING_COLUMNS`); `lags` in seconds, newest first, as a tensor has them."""
    design, counts = make_design(problem), problem.unfold()[:, ::-1].astype(np.float64)  # (rows, lags, channels)
    if counts.min() < 0:
        raise UsageError("encode: expected counts of spikes; found numbers below 0, of a signal that is not Poisson")
    explained = np.array([_test_fold(design, counts, fold.train, fold.test) for fold in problem.folds])
    ratio, n_places = Places.of(problem).ratio, sorted({fold.fold for fold in problem.folds})
    numbers = np.array([fold.fold for fold in problem.folds])
    by_place = np.array([explained[numbers == place].mean(axis=0) for place in n_places])
    best = _find_lags(design, counts)
    at_best = np.stack([counts[:, lag, c] for c, lag in enumerate(best)], axis=1)
    fitted = fit_poisson(design, at_best)
    parts = Channels(problem.unfold(), problem.values, problem.folds)
    rows = []
    for c, name in enumerate(channels):
        found = estimate(by_place[:, c], ratio, most=1.0)
        direction, depth = _describe_tuning(problem, fitted[c])
        rows.append(
            {
                "channel": name,
                "rate": float(at_best[:, c].mean() / bin_width),
                "lag": float(lags[best[c]]),
                "pseudo_r2": found.mean,
                "low": found.low,
                "high": found.high,
                "preferred_direction": direction,
                "depth": depth,
                "alone": parts.alone(c),
                "unique": parts.unique(c),
            }
        )
    return pd.DataFrame(rows, columns=list(ENCODING_COLUMNS))


def _find_lags(design: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return for each channel the lag at which the target explains most of the deviance."""
    gains = []
    for lag in range(counts.shape[1]):
        now = counts[:, lag]
        rate = np.exp(np.clip(design @ fit_poisson(design, now).T, -LARGEST, LARGEST))
        null = deviance(now, np.broadcast_to(np.maximum(now.mean(axis=0), 1e-9), now.shape))
        gains.append(1 - deviance(now, rate) / np.maximum(null, 1e-12))
    return np.asarray(np.argmax(gains, axis=0))


def _test_fold(design: np.ndarray, counts: np.ndarray, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Return the pseudo-R² of each channel on the test part, at the lag that the training part prefers."""
    best = _find_lags(design[train], counts[train])
    columns = np.arange(counts.shape[2])
    known, new = counts[train][:, best, columns], counts[test][:, best, columns]
    rate = np.exp(np.clip(design[test] @ fit_poisson(design[train], known).T, -LARGEST, LARGEST))
    null = deviance(new, np.broadcast_to(np.maximum(known.mean(axis=0), 1e-9), new.shape))
    return np.where(null > 1e-9, 1 - deviance(new, rate) / np.maximum(null, 1e-9), 0.0)


def _describe_tuning(problem: Problem, coefficients: np.ndarray) -> tuple[float, float]:
    """Return the preferred direction in degrees (NaN if the target has none), and the depth of the tuning."""
    if problem.classes:
        high, low = np.exp(coefficients[1:].max()), np.exp(coefficients[1:].min())
        return np.nan, float((high - low) / (high + low))
    y = problem.values
    slope = coefficients[1 : 1 + y.shape[1]] / np.where(y.std(axis=0) > 0, y.std(axis=0), 1)  # per unit of the output
    along = y @ slope
    direction = float(np.rad2deg(np.arctan2(slope[1], slope[0])) % 360) if is_vector(problem) else np.nan
    return direction, float(np.tanh(along.std()))
