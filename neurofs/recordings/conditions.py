"""Conditions of trials, such as the direction of a reach: which values are the same."""

import numpy as np
import pandas as pd

MAX_CLASSES = 50
"""A column of the trials with more values than this is no condition."""

ROUNDING = 1e-8
"""Numbers that are nearer to each other, as a share of the largest, are the same."""


def find_classes(values: pd.Series) -> tuple[np.ndarray, list[str]]:
    """Return the number of the class of each value (-1 where it is missing), and the names of the classes in order.

    Numbers that differ by rounding alone are one class.

    >>> find_classes(pd.Series([0.1 + 0.2, 45.0, None, 0.3]))
    (array([ 0,  1, -1,  0]), ['0.3', '45'])
    """
    codes, classes = pd.factorize(values, sort=True)
    if getattr(classes, "dtype", np.dtype(object)).kind != "f":
        return codes, [str(label) for label in classes]
    numbers = np.asarray(classes)
    apart = np.diff(numbers, prepend=-np.inf) > ROUNDING * np.abs(numbers).max(initial=0.0)
    return np.where(codes < 0, -1, (np.cumsum(apart) - 1)[codes]), [f"{value:.9g}" for value in numbers[apart]]


def count_values(values: pd.Series) -> int:
    """Return how many different values there are, as many as classes if they are those of a condition.

    >>> count_values(pd.Series([0.1 + 0.2, 45.0, None, 0.3])), count_values(pd.Series(["a", "b", None]))
    (2, 2)
    """
    n = int(values.nunique())
    return len(find_classes(values)[1]) if values.dtype.kind == "f" and n <= MAX_CLASSES else n
