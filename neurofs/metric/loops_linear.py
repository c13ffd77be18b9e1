"""Compiled loops of local-linear regression: neighbors and their weights in, estimates out.

Words and indices as in `metric.loops_neighbors`. Nothing is imported from there, because numba's cache does not
see changes in other files.
"""

# mypy: disallow-untyped-defs=False

import numpy as np
from numba import njit

FAST = {"reassoc", "contract", "nsz", "arcp"}


@njit(cache=True, inline="always")
def _even_square(size):
    """Return a square for so many rows; of odd ones, a row of zeros comes after the last."""
    M = np.empty((size + size % 2, size + size % 2), np.float32)
    M[M.shape[0] - 1] = 0.0
    return M


@njit(cache=True, inline="always")
def _inner_products(flat, starts, w2, x, index, M):
    """M[r, s] = z_r · z_s of the differences z = w ⊙ (x' − x) to the query."""
    n = x.shape[0]
    Z = np.zeros((M.shape[0], n), flat.dtype)
    for r in range(index.shape[0]):
        start = starts[index[r]]
        for f in range(n):
            Z[r, f] = np.sqrt(w2[f]) * (flat[start + f] - x[f])
    M[:] = np.dot(Z, Z.T)


@njit(cache=True, inline="always")
def _halved_distances(pairwise, index, M):
    """M[r, s] = −½ d_rs for s ≤ r, from the squared distances among all rows."""
    near = index.astype(np.uint32)  # numba takes negative indices to count from the end, which costs a quarter more
    for r in range(near.shape[0]):
        row, out = pairwise[near[r]], M[r]
        for s in range(r + 1):
            out[s] = np.float32(-0.5) * row[near[s]]


@njit(cache=True, fastmath=FAST, inline="always")
def _multiply(M, v, narrow, sums, out):
    """out = M v; returns Σ v_r out_r. Two rows at a time; M and `narrow` end with a zero where rows are odd.

    Of the symmetric M, the part below the diagonal serves both of its halves.
    """
    total = 0.0
    for r in range(v.shape[0]):
        narrow[r] = v[r]
    for r in range(0, M.shape[0], 2):
        row0, row1, v0, v1 = M[r], M[r + 1], narrow[r], narrow[r + 1]
        s0 = s1 = np.float32(0.0)
        for s in range(r):
            s0 += row0[s] * narrow[s]
            s1 += row1[s] * narrow[s]
            sums[s] += row0[s] * v0 + row1[s] * v1
        sums[r], sums[r + 1] = s0 + row0[r] * v0 + row1[r] * v1, s1 + row1[r] * v0 + row1[r + 1] * v1
    for r in range(v.shape[0]):
        out[r] = sums[r]
        total += v[r] * sums[r]
    return total


@njit(cache=True, fastmath=FAST, inline="always")
def _solve_ridge(M, p, root, penalty, tolerance, b, c):
    """Write c with (√p C M Cᵀ √p + penalty · I) c = b, to the fraction `tolerance` of b, by conjugate gradients.

    C = I − 1 pᵀ centers. Several times faster than a factorization; a matrix with a ridge needs few steps, and one
    that is singular in rounding does no harm.
    """
    k = b.shape[0]
    residual, direction, scaled, image = b.copy(), b.copy(), np.empty(k), np.empty(k)
    narrow, sums = np.zeros(M.shape[0], np.float32), np.empty(M.shape[0], np.float32)
    c[:] = 0.0
    square = 0.0
    for r in range(k):
        square += b[r] * b[r]
    least = tolerance**2 * square
    for _ in range(2 * k):
        if square <= least:
            break
        total = 0.0
        for r in range(k):
            total += root[r] * direction[r]
        for r in range(k):
            scaled[r] = root[r] * direction[r] - p[r] * total
        _multiply(M, scaled, narrow, sums, image)
        center = 0.0
        for r in range(k):
            center += p[r] * image[r]
        slope = 0.0
        for r in range(k):
            image[r] = root[r] * (image[r] - center) + penalty * direction[r]
            slope += direction[r] * image[r]
        if slope <= 0.0:
            break
        step, before, square = square / slope, square, 0.0
        for r in range(k):
            c[r] += step * direction[r]
            residual[r] -= step * image[r]
            square += residual[r] * residual[r]
        for r in range(k):
            direction[r] = residual[r] + (square / before) * direction[r]


@njit(cache=True, inline="always")
def _local_linear_row(M, lead, index, p, Y, ridge, tolerance, out):
    """Weighted ridge regression with intercept, evaluated at the query, in dual form.

    With z̄ = Σ p z and ḡ = Σ p g, G = Gram matrix of √p (z − z̄), (G + ridge · tr(G) · I) c = √p (g − ḡ) and
    ĝ = ḡ + Σ_r √p_r (z_r − z̄)·(−z̄) c_r. Centered, S and −½ d are the same matrix, so that either may be `M`;
    (z_r − z̄)·z̄ is the centered M p, and half the centered `lead` more if M has −½ d and `lead` the distances to
    the query (else zeros).
    """
    k = p.shape[0]
    s, b, c, root = np.empty(k), np.empty(k), np.empty(k), np.sqrt(p)
    narrow, sums = np.zeros(M.shape[0], np.float32), np.empty(M.shape[0], np.float32)
    trace = -_multiply(M, p, narrow, sums, s)
    middle = -trace
    for r in range(k):
        trace += p[r] * M[r, r]
        s[r] += 0.5 * lead[r]
        middle += 0.5 * p[r] * lead[r]
    for o in range(Y.shape[1]):
        out[o] = 0.0
        for r in range(k):
            out[o] += p[r] * Y[index[r], o]
        for r in range(k):
            b[r] = root[r] * (Y[index[r], o] - out[o])
        if trace > 0.0:
            _solve_ridge(M, p, root, ridge * trace, tolerance, b, c)
            for r in range(k):
                out[o] -= root[r] * (s[r] - middle) * c[r]


@njit(cache=True, fastmath=FAST)
def local_linear(flat, starts, w2, q_flat, q_starts, index, count, p, Y, ridge, tolerance, out):
    """Local-linear estimate on the neighbors of every query, as many as have weights p; NaN without any."""
    n = w2.shape[0]
    lead = np.zeros(p.shape[1], np.float32)
    for i in range(index.shape[0]):
        size = min(count[i], p.shape[1])
        out[i] = np.nan
        if size > 0:
            M = _even_square(size)
            x = q_flat[q_starts[i] : q_starts[i] + n]
            _inner_products(flat, starts, w2, x, index[i, :size], M)
            _local_linear_row(M, lead, index[i], p[i, :size], Y, ridge, tolerance, out[i])


@njit(cache=True, fastmath=FAST)
def local_linear_from_table(pairwise, index, distance, count, p, Y, ridge, tolerance, out):
    """Do the same as `local_linear` from the squared distances among the training rows, cheaper by far."""
    for i in range(index.shape[0]):
        size = min(count[i], p.shape[1])
        out[i] = np.nan
        if size > 0:
            M = _even_square(size)
            _halved_distances(pairwise, index[i, :size], M)
            _local_linear_row(M, distance[i], index[i], p[i, :size], Y, ridge, tolerance, out[i])
