"""Directions in which the samples go along with the targets: where a search for directions may begin.

The first is the direction of largest covariance with any combination of the targets, as in partial least squares;
what it explains of the samples is taken out before the next is looked for.
"""

import numpy as np


def find_directions(X: np.ndarray, Y: np.ndarray, n_directions: int) -> np.ndarray:
    """Return (features, directions) for centered `X` and `Y`; a coordinate ``X @ direction`` has variance 1.

    As many directions as there are outputs are found at a time. Where nothing more goes along with the targets,
    the others are zero.

    >>> X = np.array([[1.0, 2.0], [1.0, -2.0], [-1.0, 2.0], [-1.0, -2.0]])
    >>> find_directions(X, X[:, :1], 1).ravel()
    array([1., 0.])
    """
    rest, found, n_found = X.copy(), np.zeros((X.shape[1], n_directions), dtype=X.dtype), 0
    while n_found < n_directions:
        covariance = rest.T @ (Y / len(Y)).astype(X.dtype)
        left, strength, _ = np.linalg.svd(covariance, full_matrices=False)
        left = left[:, strength > 1e-6 * max(1.0, strength[0])][:, : n_directions - n_found]
        if not left.size:
            break
        found[:, n_found : n_found + left.shape[1]] = left
        n_found += left.shape[1]
        basis = np.linalg.qr(rest @ left)[0]
        rest -= basis @ (basis.T @ rest)
    deviation = (X @ found).std(axis=0)
    return found / np.where(deviation > 0, deviation, 1.0)
