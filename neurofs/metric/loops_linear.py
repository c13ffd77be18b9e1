"""Compiled loops of local-linear regression: neighbors and their weights in, estimates out.

Words and indices as in `metric.loops_neighbors`. Nothing is imported from there, because numba's cache does not
see changes in other files.
"""

# mypy: disallow-untyped-defs=False

import numpy as np
from numba import njit


@njit(cache=True)
def _inner_products(flat, starts, w2, x, index, count, S):
    """S[r, s] = z_r · z_s of the differences z = w ⊙ (x' − x) to the query."""
    n = x.shape[0]
    Z = np.empty((count, n), flat.dtype)
    for r in range(count):
        start = starts[index[r]]
        for f in range(n):
            Z[r, f] = np.sqrt(w2[f]) * (flat[start + f] - x[f])
    S[:count, :count] = np.dot(Z, Z.T)


@njit(cache=True)
def _inner_from_distances(pairwise, index, distance, count, S):
    """S[r, s] = ½ (d_r + d_s − d_rs): the same inner products from squared distances alone."""
    for r in range(count):
        row = pairwise[index[r]]
        for s in range(r + 1):
            S[r, s] = 0.5 * (distance[r] + distance[s] - row[index[s]])
            S[s, r] = S[r, s]


@njit(cache=True)
def _solve_ridge(G, b):
    """Return c with G c = b, to 1e-7 of b, by conjugate gradients; a matrix with a ridge needs few steps.

    Several times faster than a factorization, and a matrix that is singular in rounding does no harm.
    """
    c, residual = np.zeros(b.size), b.copy()
    direction, square = b.copy(), np.dot(b, b)
    least = 1e-14 * square
    for _ in range(2 * b.size):
        if square <= least:
            break
        image = np.dot(G, direction)
        slope = np.dot(direction, image)
        if slope <= 0.0:
            break
        step = square / slope
        c += step * direction
        residual -= step * image
        before, square = square, np.dot(residual, residual)
        direction = residual + (square / before) * direction
    return c


@njit(cache=True)
def _local_linear_one(S, p, g, ridge, out):
    """Weighted ridge regression with intercept, evaluated at the query (the origin of z), in dual form.

    With z̄ = Σ p z and ḡ = Σ p g, G = Gram matrix of √p (z − z̄), (G + ridge · tr(G) · I) c = √p (g − ḡ) and
    ĝ = ḡ + Σ_r √p_r (z_r − z̄)·(−z̄) c_r.
    """
    k = p.shape[0]
    s = np.dot(S, p)
    t = np.dot(p, s)
    root = np.sqrt(p)
    G = np.empty((k, k))
    trace = 0.0
    for r in range(k):
        for j in range(k):
            G[r, j] = root[r] * root[j] * (S[r, j] - s[r] - s[j] + t)
        trace += G[r, r]
    for r in range(k):
        G[r, r] += ridge * trace
    b = np.empty(k)
    for o in range(g.shape[1]):
        out[o] = 0.0
        for r in range(k):
            out[o] += p[r] * g[r, o]
        for r in range(k):
            b[r] = root[r] * (g[r, o] - out[o])
        if trace > 0.0:
            c = _solve_ridge(G, b)
            for r in range(k):
                out[o] -= root[r] * (s[r] - t) * c[r]


@njit(cache=True)
def _local_linear_row(S, index, p, Y, ridge, out):
    """Local-linear estimate of one query from the inner products S and the weights p of its neighbors."""
    g = np.empty((p.shape[0], Y.shape[1]))
    for r in range(p.shape[0]):
        for o in range(Y.shape[1]):
            g[r, o] = Y[index[r], o]
    _local_linear_one(S, p, g, ridge, out)


@njit(cache=True)
def local_linear(flat, starts, w2, q_flat, q_starts, index, count, p, Y, ridge, out):
    """Local-linear estimate on the neighbors of every query, as many as have weights p; NaN without any."""
    n = w2.shape[0]
    for i in range(index.shape[0]):
        size = min(count[i], p.shape[1])
        out[i] = np.nan
        if size > 0:
            S = np.empty((size, size))
            x = q_flat[q_starts[i] : q_starts[i] + n]
            _inner_products(flat, starts, w2, x, index[i], size, S)
            _local_linear_row(S, index[i], p[i, :size], Y, ridge, out[i])


@njit(cache=True)
def local_linear_from_table(pairwise, index, distance, count, p, Y, ridge, out):
    """Do the same as `local_linear` from the squared distances among the training rows, cheaper by far."""
    for i in range(index.shape[0]):
        size = min(count[i], p.shape[1])
        out[i] = np.nan
        if size > 0:
            S = np.empty((size, size))
            _inner_from_distances(pairwise, index[i], distance[i], size, S)
            _local_linear_row(S, index[i], p[i, :size], Y, ridge, out[i])
