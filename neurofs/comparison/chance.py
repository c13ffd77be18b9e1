"""Is it chance? What was decoded is held against the target at other times.

Out-of-fold predictions follow the true target. If spikes know nothing of it, they should follow the target of
another time just as well. The middle of the session keeps its predictions; the target is shifted against them by
−N … N samples, so that every shift compares as many samples and none wraps around (linear shifts). With m the number
of shifts, no shift among them, at which predictions and target agree at least as well as at no shift,

    p = m / (N + 1)

is valid for every stationary series, however slowly it varies (Harris 2020); the plain share m / (2N + 1) is not.
Nothing is fitted anew, so that every method has its test. Several outputs are corrected for by the largest agreement
of all outputs at each shift, step by step (Westfall and Young 1993), which leaves a p-value that few shifts allow as
small as it is.

Where there are trials enough, whole trials are shifted: each gets the target of another one, at the same share of its
duration, and the test asks whether what differs from trial to trial is decoded. What all trials have in common, such as
a movement that always begins at the same time, is taken away from predictions and targets first: trials differ in
length, so that it would fit its own trial a little better than others.

Agreement is the correlation of values, and the share of right classes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import xarray as xr
from scipy.signal import correlate

from neurofs.comparison.problem import Problem
from neurofs.comparison.shifts import pair_trials, split_stretches
from neurofs.comparison.slow_time import course_of_trials, orthonormal, remove
from neurofs.comparison.summary import Chance, MethodScores

LEVEL = 0.05
LEAST = 19
"""Shifts to each side below which p cannot reach the level."""

LEAST_TRIALS = 5
"""Trials in the middle that keep their predictions, at least."""

KEPT = 200
"""Shifts whose agreement is kept for the figure."""


@dataclass(frozen=True, eq=False)
class ShiftTest:
    """Agreement at no shift, at the shifts from −N to N without 0, and the p-value."""

    real: float
    shifted: np.ndarray
    shifts: np.ndarray

    @property
    def p(self) -> float:
        """The p-value; 1 where agreement is not defined at no shift, and an undefined shift counts against us."""
        if not np.isfinite(self.real):
            return 1.0
        m = 1 + np.count_nonzero(~(self.shifted < self.real))
        return float(min(1.0, m / (1 + len(self.shifts) // 2)))


def correct_outputs(tests: Sequence[ShiftTest]) -> list[float]:
    """Return p-values corrected for the number of outputs, all tested at the same shifts.

    Agreement is measured in standard deviations over shifts. The output with the largest one is compared with the
    largest of all outputs at each shift, the next one with the largest of those that are left, and so on.

    >>> rng = np.random.default_rng(0)
    >>> good, noise = (ShiftTest(real, rng.normal(0, 0.1, 200), np.arange(200)) for real in (0.9, 0.05))
    >>> [round(p, 2) for p in correct_outputs([good, noise])]
    [0.01, 0.56]
    """
    z = np.stack([_standardize(test) for test in tests])  # (outputs, no shift and all others)
    p, largest = np.ones(len(tests)), 0.0
    for place, output in enumerate(order := np.argsort(-z[:, 0], kind="stable")):
        rivals = z[order[place:], 1:].max(axis=0)
        most = ShiftTest(z[output, 0], rivals, tests[0].shifts)
        largest = max(largest, most.p)
        p[output] = largest
    return p.tolist()


def _standardize(test: ShiftTest) -> np.ndarray:
    """Return agreement in standard deviations over shifts; what is undefined is worst at no shift, else best."""
    known = test.shifted[np.isfinite(test.shifted)]
    center, deviation = (known.mean(), known.std()) if known.size else (0.0, 1.0)
    z = (np.append(test.real, test.shifted) - center) / (deviation or 1.0)
    z[1:][~np.isfinite(z[1:])] = np.inf
    return np.where(np.isnan(z), -np.inf, z)


def compare_shifts(
    predicted: np.ndarray, target: np.ndarray, trials: np.ndarray | None = None, classes: bool = False
) -> ShiftTest:
    """Hold predictions (repeats, rows) against a target (rows,) at no shift and at all shifts, mean over repeats.

    `trials` names the trial of each row, if whole trials are to be shifted.

    >>> rng = np.random.default_rng(0)
    >>> y = np.convolve(rng.normal(size=320), np.ones(21) / 5, "valid")
    >>> test = compare_shifts(y[None] + rng.normal(size=(1, 300)), y)
    >>> len(test.shifts), round(test.p, 3)
    (200, 0.01)
    """
    agree = _share_right if classes else _correlation
    predicted = np.asarray(predicted, np.float64)
    if trials is None:
        n = len(target) // 3
        agreement = np.mean([_slide(row[n : len(row) - n], target, classes) for row in predicted], axis=0)
        shifts = np.arange(-n, n + 1)
    else:
        rows, shifts, middle = _shift_trials(trials)
        if not classes:
            course = orthonormal(course_of_trials(trials))
            predicted, target = remove(course, predicted.T).T, remove(course, target)
        agreement = np.mean([agree(row[middle], target[rows]) for row in predicted], axis=0)
    away = shifts != 0
    return ShiftTest(float(agreement[~away][0]), agreement[away], shifts[away])


def choose_shifted(trials: np.ndarray | None) -> Literal["trials", "samples"]:
    """Return what is shifted: whole trials, if there are enough for p to reach the level.

    >>> choose_shifted(np.arange(43).repeat(3)), choose_shifted(np.arange(42).repeat(3)), choose_shifted(None)
    ('trials', 'samples', 'samples')
    """
    n_trials = 0 if trials is None else len(split_stretches(trials)[0])
    return "trials" if n_trials >= 2 * LEAST + LEAST_TRIALS else "samples"


def _shift_trials(trials: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows whose targets each row of the middle gets (shifts, rows), the shifts, and those rows."""
    first, size = split_stretches(trials)
    n = max(LEAST, len(first) // 3)
    kept = np.arange(n, len(first) - n)
    shifts = np.arange(-n, n + 1)
    middle = np.arange(first[kept[0]], first[kept[-1]] + size[kept[-1]])
    return np.stack([pair_trials(first, size, kept, kept + shift) for shift in shifts]), shifts, middle


def _correlation(predicted: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the correlation of predictions (rows,) with each row of targets; NaN where one of them is constant."""
    p = predicted - predicted.mean()
    y = targets - targets.mean(axis=1, keepdims=True)
    return _divide(y @ p, p @ p, np.sum(y**2, axis=1), np.var(targets) * len(p))


def _divide(products: np.ndarray, square: float, squares: np.ndarray, usual: float) -> np.ndarray:
    """Return correlations from sums; NaN where squares are rounding beside those of the usual stretch."""
    known = (squares > 1e-10 * usual) & (square > 0)
    return np.where(known, products / np.sqrt(np.where(known, square * squares, 1.0)), np.nan)


def _share_right(predicted: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return np.asarray((predicted == targets).mean(axis=1))


def _slide(predicted: np.ndarray, target: np.ndarray, classes: bool) -> np.ndarray:
    """Return the agreement of predictions with every stretch of the target of their length, by cross-correlation."""
    m = len(predicted)
    if classes:
        right = [_cross(target == label, predicted == label) for label in np.unique(predicted)]
        return np.asarray(np.sum(right, axis=0).round() / m)
    p, y = predicted - predicted.mean(), target - target.mean()
    total = np.concatenate([[0.0], np.cumsum(y)])
    square = np.concatenate([[0.0], np.cumsum(y**2)])
    spread = square[m:] - square[:-m] - (total[m:] - total[:-m]) ** 2 / m
    return _divide(_cross(y, p), p @ p, spread, np.mean(y**2) * m)


def _cross(long: np.ndarray, short: np.ndarray) -> np.ndarray:
    return np.asarray(correlate(long.astype(np.float64), short.astype(np.float64), mode="valid", method="fft"))


def describe_chance(
    problem: Problem, predictions: xr.Dataset, methods: list[MethodScores], main: str, bin_width: float
) -> Iterator[Chance]:
    """Yield the test of every method and output, corrected for the number of outputs.

    Only folds that are contiguous in time are tested: of others, neighbors in time are in the training part, and
    what drifts slowly is decoded without any spike that knows of the target.
    """
    if problem.kind not in ("trials", "blocks"):
        return
    shifted = choose_shifted(problem.trials)
    trials, unit = (problem.trials, 1.0) if shifted == "trials" else (None, bin_width)
    for method in methods:
        values = predictions["predicted"].sel({"method": method.method}).transpose("output", "repeat", "time").values
        tests = [
            compare_shifts(own, target, trials, bool(problem.classes))
            for own, target in zip(values, problem.targets.T, strict=True)
        ]
        for output, test, p in zip(problem.outputs, tests, correct_outputs(tests), strict=True):
            r2 = method.outputs[output].r2.mean
            positive = bool(problem.classes) or (r2 is not None and r2 > 0)
            yield Chance(
                method=method.method,
                output=output,
                shifted=shifted,
                p_corrected=p,
                beyond=positive and p <= LEVEL,
                farthest=float(test.shifts[-1]) * unit,
                **_describe(test, method.method == main),
            )


def _describe(test: ShiftTest, keep: bool) -> dict[str, Any]:
    known = test.shifted[np.isfinite(test.shifted)]
    kept = np.unique(np.linspace(0, len(test.shifts) - 1, KEPT).round().astype(int))
    return {
        "n_shifts": len(test.shifts),
        "real": test.real,
        "mean": float(known.mean()) if known.size else None,
        "high": float(np.percentile(known, 95)) if known.size else None,
        "p": test.p,
        "values": test.shifted[kept].tolist() if keep else [],
    }
