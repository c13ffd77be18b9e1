"""What is taken away before a question is asked: slow time, the course of a trial, other columns."""

import numpy as np

from neurofs.comparison.shifts import split_stretches

N_SLOW = 10  # cosines over the session
N_COURSE = 5  # cosines over a trial


def slow_time(n_rows: int, n_slow: int = N_SLOW) -> np.ndarray:
    """Return cosines over the session, (rows, n_slow); their periods are 2, 1, 2/3, … of its length."""
    share = (np.arange(n_rows) + 0.5) / n_rows
    return np.asarray(np.cos(np.pi * share[:, None] * np.arange(1, n_slow + 1)))


def course_of_trials(trials: np.ndarray) -> np.ndarray:
    """Return cosines of the time since the start of a trial, until its end, and of its share, (rows, 3 N_COURSE)."""
    first, size = split_stretches(trials)
    since, whole = np.arange(len(trials)) - np.repeat(first, size) + 0.5, np.repeat(size, size)
    times = (since / whole, since / size.max(), (whole - since) / size.max())
    return np.hstack([np.cos(np.pi * time[:, None] * np.arange(1, N_COURSE + 1)) for time in times])


def orthonormal(columns: np.ndarray, at_most: int | None = None) -> np.ndarray:
    """Return an orthonormal basis of centered columns, its largest directions if there are too many."""
    columns = columns - columns.mean(axis=0)
    deviation = columns.std(axis=0)
    columns = (columns[:, deviation > 1e-9] / deviation[deviation > 1e-9]).astype(np.float64)
    values, vectors = np.linalg.eigh(columns.T @ columns)
    kept = np.flatnonzero(values > 1e-8 * values.max(initial=0.0))[-(at_most or len(values)) :]
    return np.asarray(columns @ vectors[:, kept] / np.sqrt(values[kept]))


def remove(basis: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return what an orthonormal basis leaves of values (rows, …)."""
    return np.asarray(values - basis @ (basis.T @ values))


def scale(values: np.ndarray) -> np.ndarray:
    """Return values with deviation 1 along rows; what is constant stays as it is."""
    deviation = values.std(axis=0)
    return np.asarray(values / np.where(deviation > 0, deviation, 1.0))


def sum_lags(X: np.ndarray, n_sums: int) -> np.ndarray:
    """Return counts (rows, lags, channels) with neighboring lags summed, so that so many are left.

    >>> sum_lags(np.arange(5.0).reshape(1, 5, 1), 2)[0, :, 0]
    array([1., 9.])
    """
    n_lags = X.shape[1]
    n_sums = min(n_sums, n_lags)
    return np.add.reduceat(X, np.arange(n_sums) * n_lags // n_sums, axis=1, dtype=np.float64)
