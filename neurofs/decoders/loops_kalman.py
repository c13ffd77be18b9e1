"""Compiled loops of the Kalman filter: how sure it is after so many rows, and where it goes."""

# mypy: disallow-untyped-defs=False

import numpy as np
from numba import njit


@njit(cache=True)
def _multiply(a, b, out):
    """out = a b; numba takes seconds to compile the same by NumPy."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = 0.0
            for k in range(b.shape[0]):
                out[i, j] += a[i, k] * b[k, j]


@njit(cache=True)
def _update(before, information, matrix, out):
    """out = (I + before · information)⁻¹ before, by elimination with pivots; `matrix` is space for it."""
    d = before.shape[0]
    _multiply(before, information, matrix)
    for i in range(d):
        matrix[i, i] += 1.0
        for j in range(d):
            out[i, j] = before[i, j]
    for c in range(d):
        pivot = c
        for i in range(c + 1, d):
            if abs(matrix[i, c]) > abs(matrix[pivot, c]):
                pivot = i
        for j in range(d):
            matrix[c, j], matrix[pivot, j] = matrix[pivot, j], matrix[c, j]
            out[c, j], out[pivot, j] = out[pivot, j], out[c, j]
        for i in range(d):
            factor = matrix[i, c] / matrix[c, c]
            if i != c:
                for j in range(d):
                    matrix[i, j] -= factor * matrix[c, j]
                    out[i, j] -= factor * out[c, j]
    for i in range(d):
        for j in range(d):
            out[i, j] /= matrix[i, i]


@njit(cache=True)
def settle(A, W, information, prior, settled, covariances):
    """Fill in the covariance of the state after 1, 2, … observations until it no longer changes; return how many.

    In the form of information: P = (P₋⁻¹ + Hᵀ Q⁻¹ H)⁻¹ = (I + P₋ Hᵀ Q⁻¹ H)⁻¹ P₋ with P₋ = A P Aᵀ + W.
    """
    d = prior.shape[0]
    before, matrix = np.empty((d, d)), np.empty((d, d))
    _update(prior, information, matrix, covariances[0])
    for n in range(1, covariances.shape[0]):
        _multiply(A, covariances[n - 1], matrix)
        _multiply(matrix, A.T, before)
        for i in range(d):
            for j in range(d):
                before[i, j] += W[i, j]
        _update(before, information, matrix, covariances[n])
        change, largest = 0.0, 0.0
        for i in range(d):
            for j in range(d):
                change = max(change, abs(covariances[n, i, j] - covariances[n - 1, i, j]))
                largest = max(largest, abs(covariances[n, i, j]))
        if change <= settled * largest:
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
