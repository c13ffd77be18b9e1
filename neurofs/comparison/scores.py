"""How good a prediction is: the scores of one prediction or of many at once.

MSE = mean (g − ĝ)²      R² = 1 − MSE / variance of g over the test samples      r = Pearson correlation
accuracy = share of right classes      balanced accuracy = mean over classes of the share of right ones
"""

import numpy as np
import pandas as pd

SCORES = ["mse", "r2", "r", "accuracy", "balanced_accuracy"]
RANGES = {
    "mse": (0.0, np.inf),
    "r2": (-np.inf, 1.0),
    "fvaf": (-np.inf, 1.0),
    "r": (-1.0, 1.0),
    "accuracy": (0.0, 1.0),
    "balanced_accuracy": (0.0, 1.0),
}
"""Least and most possible value of each score."""


def score_values(truth: np.ndarray, predicted: np.ndarray) -> dict[str, np.ndarray]:
    """Return MSE, R² and r of predictions (…, rows) of `truth` (rows,); NaN where they are not defined.

    >>> {name: value.round(3).tolist() for name, value in score_values([0, 1, 2], [[0, 1, 2], [1, 1, 1]]).items()}
    {'mse': [0.0, 0.667], 'r2': [1.0, 0.0], 'r': [1.0, nan]}
    """
    truth, predicted = np.asarray(truth, float), np.asarray(predicted, float)
    mse = np.mean((predicted - truth) ** 2, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        left, right = truth - truth.mean(), predicted - predicted.mean(axis=-1, keepdims=True)
        r = np.sum(left * right, axis=-1) / np.sqrt(np.sum(left**2) * np.sum(right**2, axis=-1))
    return {"mse": mse, "r2": r_squared(truth, predicted), "r": np.where(np.isfinite(r), r, np.nan)}


def r_squared(truth: np.ndarray, predicted: np.ndarray, axis: int = -1) -> np.ndarray:
    """Return R² of predictions with rows along `axis`; NaN where the truth does not vary.

    >>> r_squared(np.array([[0.0], [2.0]]), np.array([[0.5], [1.5]]), axis=0)
    array([0.75])
    """
    truth, predicted = np.asarray(truth, float), np.asarray(predicted, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        r2 = 1.0 - np.mean((predicted - truth) ** 2, axis=axis) / np.var(truth, axis=axis)
    return np.where(np.isfinite(r2), r2, np.nan)


def score_classes(truth: np.ndarray, predicted: np.ndarray) -> dict[str, np.ndarray]:
    """Return accuracy and balanced accuracy of predicted classes (…, rows).

    >>> score_classes([0, 0, 0, 1], [0, 0, 0, 0])
    {'accuracy': np.float64(0.75), 'balanced_accuracy': np.float64(0.5)}
    """
    truth = np.asarray(truth)
    right = np.asarray(predicted) == truth
    by_class = [right[..., truth == label].mean(axis=-1) for label in np.unique(truth)]
    return {"accuracy": right.mean(axis=-1), "balanced_accuracy": np.mean(by_class, axis=0)}


def find_variance(scores: pd.DataFrame) -> pd.Series:
    """Return the variance of the test targets of each row of a table of scores, MSE / (1 − R²); NaN if R² is 1.

    >>> find_variance(pd.DataFrame({"mse": [1.0, 0.0], "r2": [0.75, 1.0]})).tolist()
    [4.0, nan]
    """
    return scores["mse"] / (1 - scores["r2"]).where(scores["r2"] < 1)
