"""Compiled loops of the Kalman filter: how sure it is after so many rows, and where it goes."""

# mypy: disallow-untyped-defs=False

import numpy as np
from numba import njit


@njit(cache=True)
def settle(A, W, information, prior, settled, covariances):
    """Fill in the covariance of the state after 1, 2, … observations until it no longer changes; return how many.

    In the form of information: P = (P₋⁻¹ + Hᵀ Q⁻¹ H)⁻¹ = (I + P₋ Hᵀ Q⁻¹ H)⁻¹ P₋ with P₋ = A P Aᵀ + W.
    """
    identity = np.eye(prior.shape[0])
    covariances[0] = np.linalg.solve(identity + np.dot(prior, information), prior)
    for n in range(1, covariances.shape[0]):
        before = np.dot(np.dot(A, covariances[n - 1]), A.T) + W
        covariances[n] = np.linalg.solve(identity + np.dot(before, information), before)
        if np.abs(covariances[n] - covariances[n - 1]).max() <= settled * np.abs(covariances[n]).max():
            return n + 1
    return covariances.shape[0]


@njit(cache=True)
def follow(keeps, covariances, evidence, follows, states):
    """states[t] = K states[t − 1] + P evidence[t], with the K and P of so many rows since the last beginning."""
    d, age = evidence.shape[1], 0
    for t in range(evidence.shape[0]):
        age = min(age + 1, covariances.shape[0] - 1) if follows[t] else 0
        for i in range(d):
            state = 0.0
            for j in range(d):
                state += covariances[age, i, j] * evidence[t, j]
                if follows[t]:
                    state += keeps[age, i, j] * states[t - 1, j]
            states[t, i] = state
