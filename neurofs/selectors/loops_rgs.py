"""Compiled loops of RGS: the slopes of e(w) row by row, and the steps that follow them.

Words and indices as in `metric.loops_neighbors`, whose loops are compiled into these.
"""

# mypy: disallow-untyped-defs=False

import numpy as np
from numba import njit

from neurofs.metric.loops_neighbors import (
    FAST,
    QUERIES,
    ZERO,
    batch_distances,
    k_smallest,
    load_queries,
    query_distances,
    refine,
    row_norms,
    soft_weights,
)

BUILT_ON = "24b9a1b3"  # checksum of metric/loops_neighbors.py, which numba's cache does not look at
LEAST = 1e-6  # least weight, as a fraction of the largest


@njit(cache=True)
def _pull(distance, count, index, Y, y, beta, adaptive, p, u):
    """Write u with ∂e/∂w_f = w_f Σ_r u_r (x_f − x_rf)² for one query, and return its squared error.

    e = −½ Σ_o (y_o − ĝ_o)², and ∂ĝ/∂w_f = −(2 w_f / β) Cov_p(g, (x_f − x'_f)²), hence
    u_r = −(2 / β) p_r Σ_o (y_o − ĝ_o)(g_ro − ĝ_o). With `adaptive`, β = beta · mean d follows the weights
    too, which takes a constant off: u_r −= Σ_s u_s d_s / Σ_s d_s.
    """
    width = soft_weights(distance, count, beta, adaptive, p)
    u[:count] = 0.0
    loss = 0.0
    for o in range(Y.shape[1]):
        mean = 0.0
        for r in range(count):
            mean += p[r] * Y[index[r], o]
        error = y[o] - mean
        loss += error * error
        for r in range(count):
            u[r] += error * (Y[index[r], o] - mean)
    if width <= 0.0:
        u[:count] = 0.0
        return loss
    along, total = 0.0, 0.0
    for r in range(count):
        u[r] *= -2.0 * p[r] / width
        along += u[r] * distance[r]
        total += distance[r]
    if adaptive:
        for r in range(count):
            u[r] -= along / total
    return loss


@njit(cache=True, fastmath=FAST)
def _add_squares(flat, starts, x, index, count, u, out):
    """out[f] += Σ_r u_r (x_f − x_rf)², four neighbors at a time."""
    n = x.shape[0]
    for r in range(0, count, 4):
        r1, r2, r3 = min(r + 1, count - 1), min(r + 2, count - 1), min(r + 3, count - 1)
        row0, row1 = flat[starts[index[r]] :][:n], flat[starts[index[r1]] :][:n]
        row2, row3 = flat[starts[index[r2]] :][:n], flat[starts[index[r3]] :][:n]
        u0 = np.float32(u[r])
        u1 = np.float32(u[r1] if r + 1 < count else 0.0)
        u2 = np.float32(u[r2] if r + 2 < count else 0.0)
        u3 = np.float32(u[r3] if r + 3 < count else 0.0)
        for f in range(n):
            t0, t1, t2, t3 = x[f] - row0[f], x[f] - row1[f], x[f] - row2[f], x[f] - row3[f]
            out[f] += (u0 * t0 * t0 + u1 * t1 * t1) + (u2 * t2 * t2 + u3 * t3 * t3)


@njit(cache=True)
def _distances_of_batch(flat, starts, norms, w2, rows, queries, query_norms, d):
    """Distances of up to four rows to all rows; for a single row by differences."""
    if rows.shape[0] == 1:
        query_distances(flat, starts, w2, flat[starts[rows[0]] : starts[rows[0]] + w2.shape[0]], d[0])
    else:
        load_queries(flat, starts, w2, rows, queries, query_norms)
        batch_distances(flat, starts, norms, queries, query_norms, d)


@njit(cache=True)
def rgs_slope(flat, starts, groups, span, Y, i, d, w2, k, beta, adaptive, slope):
    """Add the slope h of row i, ∂e/∂w_f = w_f h_f, to `slope`; return the squared error of the row.

    `d` are the distances of row i to all rows, used to find its neighbors.
    """
    n = w2.shape[0]
    index, distance, p, u = np.empty(k, np.int64), np.empty(k, flat.dtype), np.empty(k), np.empty(k)
    count = k_smallest(d, np.inf, starts, groups, starts[i], groups[i], span, k, index, distance)
    if count == 0:
        return 0.0
    x = flat[starts[i] : starts[i] + n]
    refine(flat, starts, w2, x, index, count, distance)
    loss = _pull(distance, count, index, Y, Y[i], beta, adaptive, p, u)
    _add_squares(flat, starts, x, index, count, u, slope)
    return loss


@njit(cache=True)
def _step(w, slope, step, limit):
    """w_f ← w_f (1 + step · h_f), no weight changing by more than the fraction `limit` nor vanishing.

    Slopes that are not finite, from targets or distances beyond all measure, change nothing.
    """
    largest = 0.0
    for f in range(w.shape[0]):
        change = step * slope[f]
        if np.isfinite(change):
            w[f] *= 1.0 + min(max(change, -limit), limit)
        largest = max(largest, w[f])
    for f in range(w.shape[0]):
        w[f] = max(w[f], LEAST * largest)


@njit(cache=True)
def rgs_slopes(flat, starts, groups, span, Y, rows, k, beta, adaptive, w2, slope):
    """Write the slopes of e summed over `rows`, which share the weights; return their squared errors' sum."""
    m, n = starts.shape[0], w2.shape[0]
    d, queries = np.empty((QUERIES, m), np.float32), np.empty((QUERIES, n), np.float32)
    query_norms, norms = np.empty(QUERIES, np.float32), np.empty(m, np.float32)
    if rows.shape[0] > 1:
        row_norms(flat, starts, w2, norms)
    slope[:] = ZERO
    loss = 0.0
    for first in range(0, rows.shape[0], QUERIES):
        few = rows[first : min(first + QUERIES, rows.shape[0])]
        _distances_of_batch(flat, starts, norms, w2, few, queries, query_norms, d)
        for r in range(few.shape[0]):
            loss += rgs_slope(flat, starts, groups, span, Y, few[r], d[r], w2, k, beta, adaptive, slope)
    return loss


@njit(cache=True)
def rgs_epoch(flat, starts, groups, span, Y, order, batch, k, beta, adaptive, step, limit, w):
    """Visit the rows of `order` once, `batch` rows per step, and change w in place.

    One step goes up the gradient of e(w) summed over the rows of the batch, which share one set of weights.
    Returns the mean squared error of the visited rows, each before its own step.
    """
    slope = np.empty(w.shape[0], np.float32)
    loss = 0.0
    for first in range(0, order.shape[0], batch):
        rows = order[first : min(first + batch, order.shape[0])]
        w2 = (w * w).astype(np.float32)
        loss += rgs_slopes(flat, starts, groups, span, Y, rows, k, beta, adaptive, w2, slope)
        _step(w, slope, step, limit)
    return loss / order.shape[0]


@njit(cache=True)
def rgs_visits(flat, starts, Y, rows, index, count, batch, k, beta, adaptive, steps, limit, w):
    """Visit `rows`, `batch` rows per step, and change w in place; neighbors are the k nearest of given candidates.

    Row b of `index` has count[b] candidates of row rows[b]. `steps` are the step sizes of the rows; a step takes
    that of its first.
    """
    n, most = w.shape[0], index.shape[1]
    slope, d = np.empty(n, np.float32), np.empty(most, np.float32)
    near, distance, p, u = np.empty(most, np.int64), np.empty(most, np.float32), np.empty(most), np.empty(most)
    for first in range(0, rows.shape[0], batch):
        w2 = (w * w).astype(np.float32)
        slope[:] = ZERO
        for b in range(first, min(first + batch, rows.shape[0])):
            x = flat[starts[rows[b]] : starts[rows[b]] + n]
            refine(flat, starts, w2, x, index[b], count[b], d)
            order = np.argsort(d[: count[b]], kind="mergesort")[:k]
            size = order.shape[0]
            if size == 0:
                continue
            for r in range(size):
                near[r], distance[r] = index[b, order[r]], d[order[r]]
            _pull(distance, size, near, Y, Y[rows[b]], beta, adaptive, p, u)
            _add_squares(flat, starts, x, near, size, u, slope)
        _step(w, slope, steps[first], limit)
