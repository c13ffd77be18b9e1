"""How good a model is on a session that it has not seen, with intervals.

There are no folds here, and neighbors in time are alike. So whole trials, or stretches of time, are drawn again and
again with replacement (block bootstrap), and the score is that of everything drawn:

    R² = 1 − Σ (g − ĝ)² / Σ (g − mean g)²      accuracy = share of right classes
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from neurofs.comparison.summary import Estimate, Score
from neurofs.decoders.model import Model, name_some
from neurofs.features.tensor import build_tensor
from neurofs.ground.errors import UsageError
from neurofs.recordings.recording import Recording

FEWEST_TRIALS = 10
N_STRETCHES = 25
N_DRAWS = 2000


@dataclass(frozen=True)
class OutputScore:
    """The score of one output, and the share of samples that its intervals hold."""

    output: str
    score: Estimate
    coverage: float | None


@dataclass(frozen=True)
class SessionScore:
    """The scores of a model on one session."""

    session: str
    n_samples: int
    score: Score
    outputs: list[OutputScore]
    mean: Estimate


def score_session(model: Model, recording: Recording, found: xr.Dataset) -> SessionScore | None:
    """Return the scores of predictions; None if the session does not have the target of the model."""
    truth = found["target"].values if "target" in found else find_truth(model, recording, found)[0]
    if truth is None:
        return None
    known = np.isfinite(truth).all(axis=1)
    truth, predicted, trial = truth[known], found["predicted"].values[known], found["trial"].values[known]
    if len(truth) < 2:
        return None
    draws = _draw(make_stretches(trial), np.random.default_rng(0))
    kind: Score = "accuracy" if model.head.classes else "r2"
    pairs = zip(truth.T, predicted.T, strict=True)
    sums = [_sum_up(g, estimate, draws.labels, bool(model.head.classes)) for g, estimate in pairs]
    values = np.array([_score(one, draws.counts) for one in sums])  # (outputs, all and each draw)
    inside = _find_inside(found, known, truth)
    outputs = [
        OutputScore(output.name, _estimate(one), None if inside is None else float(inside[:, o].mean()))
        for o, (output, one) in enumerate(zip(model.head.outputs, values, strict=True))
    ]
    return SessionScore(recording.name, len(truth), kind, outputs, _estimate(values.mean(axis=0)))


def _find_inside(found: xr.Dataset, known: np.ndarray, truth: np.ndarray) -> np.ndarray | None:
    """Return where intervals hold the truth; None if there are no intervals."""
    if "low" not in found or np.isnan(found["low"].values).any():
        return None
    low, high = (found[name].values[known] for name in ("low", "high"))
    return np.asarray((low <= truth) & (truth <= high))


def find_truth(model: Model, recording: Recording, found: xr.Dataset) -> tuple[np.ndarray | None, str]:
    """Return the target (rows, outputs) at the decoded bins, NaN where it is missing; or None, and why."""
    head = model.head
    try:
        tensor = build_tensor(recording, head.target, **head.binning.model_dump())
    except UsageError:
        return None, "the target is not in this session"
    known = {"output": [one.name for one in head.outputs], "unit": [one.unit for one in head.outputs]}
    for what, expected in known.items():
        own = [str(one) for one in tensor[what].values]
        if own != expected:
            return None, f"the target has the {what}s {name_some(own)}, and the model {name_some(expected)}"
    target = tensor["target"].values
    if head.classes:
        codes = [head.classes.index(name) if name in head.classes else -1 for name in tensor.attrs["classes"]]
        target = np.where(np.isfinite(target), np.array(codes, float)[np.nan_to_num(target).astype(int)], np.nan)
    rows = np.searchsorted(tensor["time"].values, found["time"].values)
    return np.asarray(target[rows]), ""


@dataclass(frozen=True)
class _Draws:
    labels: np.ndarray  # the stretch of each row
    counts: np.ndarray  # how often each stretch is in: all once, then every draw; (1 + draws, stretches)


def make_stretches(trial: np.ndarray) -> np.ndarray:
    """Return the stretch of each row: its trial if there are enough of them, else one of equal parts of all rows.

    >>> make_stretches(np.full(100, -1))[[0, 3, 4, 99]]
    array([ 0,  0,  1, 24])
    """
    names = np.unique(trial)
    if names[0] >= 0 and len(names) >= FEWEST_TRIALS:
        return np.searchsorted(names, trial)
    n = min(N_STRETCHES, len(trial))
    return np.arange(len(trial)) * n // len(trial)


def _draw(labels: np.ndarray, rng: np.random.Generator) -> _Draws:
    n = int(labels.max()) + 1
    return _Draws(labels, np.vstack([np.ones(n), rng.multinomial(n, np.full(n, 1 / n), N_DRAWS)]))


def _sum_up(truth: np.ndarray, predicted: np.ndarray, labels: np.ndarray, classes: bool) -> np.ndarray:
    """Return sums over each stretch, (sums, stretches): rows, errors, and of values also Σ g and Σ g²."""
    if classes:
        columns = [np.ones(len(truth)), predicted != truth]
    else:
        centered = truth - truth.mean()
        columns = [np.ones(len(truth)), (predicted - truth) ** 2, centered, centered**2]
    return np.array([np.bincount(labels, weights=column) for column in columns])


def _score(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the score of everything and of each draw."""
    n, errors, *moments = (counts @ one for one in sums)
    if not moments:
        return np.asarray(1.0 - errors / n)
    variation = moments[1] - moments[0] ** 2 / n
    return np.asarray(1.0 - errors / np.where(variation > 0, variation, np.nan))


def _estimate(values: np.ndarray) -> Estimate:
    """Return the score of everything, with the range of 95 % of the draws."""
    low, high = np.nanquantile(values[1:], [0.025, 0.975]) if np.isfinite(values[1:]).any() else (np.nan, np.nan)
    return Estimate(mean=float(values[0]), low=float(low), high=float(high))
