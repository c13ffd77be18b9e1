"""Scores in the measure of the field: classes per trial, and angles in degrees.

A trial's class is the one that most of its samples were given, the first of equals. The error of an angle, which is
decoded as cosine and sine, is the mean over samples of the absolute difference, 90° for guesses.
"""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from neurofs.comparison.problem import Problem


def score_in_field(problem: Problem, predictions: xr.Dataset, method: str) -> dict[tuple[int, int], float]:
    """Return the accuracy per trial, or the error in degrees, of each repeat and fold; none for other targets."""
    predicted = predictions["predicted"].sel({"method": method}).transpose("repeat", "time", "output").values
    if problem.classes and problem.trials is not None:
        return {
            (fold.repeat, fold.fold): score_trials(
                problem.targets[fold.test, 0], predicted[fold.repeat, fold.test, 0], problem.trials[fold.test]
            )
            for fold in problem.folds
        }
    if is_angle(problem.outputs):
        return {
            (fold.repeat, fold.fold): find_angle_error(problem.targets[fold.test], predicted[fold.repeat, fold.test])
            for fold in problem.folds
        }
    return {}


def guess_in_field(problem: Problem) -> float | None:
    """Return the same score of an answer that never changes: the most frequent class, the mean angle."""
    if problem.classes and problem.trials is not None:
        firsts = np.unique(problem.trials, return_index=True)[1]
        return float(np.unique(problem.targets[firsts, 0], return_counts=True)[1].max() / len(firsts))
    if is_angle(problem.outputs):
        return find_angle_error(problem.targets, problem.targets.mean(axis=0, keepdims=True))
    return None


def is_angle(outputs: Sequence[str]) -> bool:
    """Return whether outputs are the cosine and the sine of one angle.

    >>> is_angle(["cos(head)", "sin(head)"]), is_angle(["x", "y"])
    (True, False)
    """
    names = [name.rpartition(":")[2] for name in outputs]
    return len(names) == 2 and names[0].startswith("cos(") and names[1] == f"sin({names[0][4:]}"


def score_trials(truth: np.ndarray, predicted: np.ndarray, trials: np.ndarray) -> float:
    """Return the share of trials most of whose samples have the right class.

    >>> score_trials(np.array([0, 0, 0, 1]), np.array([0, 1, 0, 0]), np.array([4, 4, 4, 5]))
    0.5
    """
    right = []
    for trial in np.unique(trials):
        own = trials == trial
        classes, counts = np.unique(predicted[own], return_counts=True)
        right.append(classes[np.argmax(counts)] == truth[own][0])
    return float(np.mean(right))


def find_angle_error(truth: np.ndarray, predicted: np.ndarray) -> float:
    """Return the mean absolute difference, in degrees, of angles given as cosine and sine.

    >>> find_angle_error(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[2.0, 0.0], [1.0, 0.0]]))
    45.0
    """
    difference = np.arctan2(truth[:, 1], truth[:, 0]) - np.arctan2(predicted[:, 1], predicted[:, 0])
    return float(np.degrees(np.mean(np.abs((difference + np.pi) % (2 * np.pi) - np.pi))))
