"""Compiled loops around neighbors and soft kNN: arrays in, arrays out.

What calls the neighbors or the soft weights of this file is in this file, too, because numba's cache does not see
changes in others; loops that need neither have files of their own (`metric.loops_linear` and others).

A sample is a window of one flat buffer, ``x_j = flat[starts[j] : starts[j] + n_features]`` (see
`features.samples`); a matrix is the special case of windows laid end to end. Weights enter squared, as ``w2``:

    d_w(x, x') = Σ_f w2_f (x_f − x'_f)²

Loop indices mean the same everywhere: ``i`` query row, ``j`` training row, ``f`` feature, ``r`` rank of a
neighbor, ``o`` output. A training row ``j`` is no neighbor of query ``i`` when their windows overlap,
``|starts[j] − query_starts[i]| < span``, or when they have the same group. With ``span = 0`` and query groups
of −1 nothing is excluded (test rows); with every row its own group only the row itself is (leave-one-out).
Among equal distances the lower row index wins, always.

Fast-math is limited to reassociation, contraction, signed zeros and reciprocals; data are checked to be
finite before they come here. Loops over rows go in blocks of four with the last index repeated at the end,
so that every row takes the same path and equal rows get bitwise equal distances. Parallel loops write only
their own row: results do not depend on the number of threads.
"""

# mypy: disallow-untyped-defs=False

from __future__ import annotations

import numpy as np
from numba import njit, prange

__all__ = [
    "batch_distances",
    "k_smallest",
    "neighbors",
    "prefix_add",
    "prefix_select",
    "query_distances",
    "rgs_epoch",
    "rgs_slope",
    "rgs_slopes",
    "row_norms",
    "search_errors",
    "sks",
    "soft_average",
    "soft_weights",
    "soft_weights_of_rows",
]

FAST = {"reassoc", "contract", "nsz", "arcp"}
ZERO = np.float32(0.0)
TWO = np.float32(2.0)
QUERIES = 4  # queries of one block of `batch_distances`
LEAST = 1e-6  # least weight, as a fraction of the largest


# ----------------------------------------------------------------------------------------------- distances


@njit(cache=True, fastmath=FAST)
def query_distances(flat, starts, w2, x, out):
    """out[j] = Σ_f w2_f (x_f − x_jf)², four rows at a time."""
    m, n = starts.shape[0], x.shape[0]
    for j in range(0, m, 4):
        j1, j2, j3 = min(j + 1, m - 1), min(j + 2, m - 1), min(j + 3, m - 1)
        row0, row1 = flat[starts[j] : starts[j] + n], flat[starts[j1] : starts[j1] + n]
        row2, row3 = flat[starts[j2] : starts[j2] + n], flat[starts[j3] : starts[j3] + n]
        s0 = s1 = s2 = s3 = ZERO
        for f in range(n):
            t0, t1, t2, t3 = x[f] - row0[f], x[f] - row1[f], x[f] - row2[f], x[f] - row3[f]
            s0 += w2[f] * t0 * t0
            s1 += w2[f] * t1 * t1
            s2 += w2[f] * t2 * t2
            s3 += w2[f] * t3 * t3
        out[j], out[j1], out[j2], out[j3] = s0, s1, s2, s3


@njit(cache=True, fastmath=FAST)
def row_norms(flat, starts, w2, out):
    """out[j] = Σ_f w2_f x_jf², four rows at a time."""
    m, n = starts.shape[0], w2.shape[0]
    for j in range(0, m, 4):
        j1, j2, j3 = min(j + 1, m - 1), min(j + 2, m - 1), min(j + 3, m - 1)
        row0, row1 = flat[starts[j] : starts[j] + n], flat[starts[j1] : starts[j1] + n]
        row2, row3 = flat[starts[j2] : starts[j2] + n], flat[starts[j3] : starts[j3] + n]
        s0 = s1 = s2 = s3 = ZERO
        for f in range(n):
            s0 += w2[f] * row0[f] * row0[f]
            s1 += w2[f] * row1[f] * row1[f]
            s2 += w2[f] * row2[f] * row2[f]
            s3 += w2[f] * row3[f] * row3[f]
        out[j], out[j1], out[j2], out[j3] = s0, s1, s2, s3


@njit(cache=True, fastmath=FAST)
def _dots_4x4(flat, starts, queries, j, dots):
    """dots[i, r] = Σ_f queries_if x_(j+r)f for four queries and the four rows from j on."""
    m, n = starts.shape[0], queries.shape[1]
    j1, j2, j3 = min(j + 1, m - 1), min(j + 2, m - 1), min(j + 3, m - 1)
    row0, row1 = flat[starts[j] : starts[j] + n], flat[starts[j1] : starts[j1] + n]
    row2, row3 = flat[starts[j2] : starts[j2] + n], flat[starts[j3] : starts[j3] + n]
    q0, q1, q2, q3 = queries[0], queries[1], queries[2], queries[3]
    s00 = s01 = s02 = s03 = s10 = s11 = s12 = s13 = ZERO
    s20 = s21 = s22 = s23 = s30 = s31 = s32 = s33 = ZERO
    for f in range(n):
        x0, x1, x2, x3 = row0[f], row1[f], row2[f], row3[f]
        s00 += q0[f] * x0
        s01 += q0[f] * x1
        s02 += q0[f] * x2
        s03 += q0[f] * x3
        s10 += q1[f] * x0
        s11 += q1[f] * x1
        s12 += q1[f] * x2
        s13 += q1[f] * x3
        s20 += q2[f] * x0
        s21 += q2[f] * x1
        s22 += q2[f] * x2
        s23 += q2[f] * x3
        s30 += q3[f] * x0
        s31 += q3[f] * x1
        s32 += q3[f] * x2
        s33 += q3[f] * x3
    dots[0, 0], dots[0, 1], dots[0, 2], dots[0, 3] = s00, s01, s02, s03
    dots[1, 0], dots[1, 1], dots[1, 2], dots[1, 3] = s10, s11, s12, s13
    dots[2, 0], dots[2, 1], dots[2, 2], dots[2, 3] = s20, s21, s22, s23
    dots[3, 0], dots[3, 1], dots[3, 2], dots[3, 3] = s30, s31, s32, s33


@njit(cache=True, fastmath=FAST)
def batch_distances(flat, starts, norms, queries, query_norms, out):
    """out[i, j] = q_i + q_j − 2 Σ_f w2_f x_if x_jf ≥ 0 for four queries at once.

    `queries` (4, n) holds w2 ⊙ x_i, `norms` and `query_norms` the q = Σ_f w2_f x_f². One multiply-add per
    pair and feature in place of three operations; the sum cancels for near rows, so data are centered first
    and the distances of the chosen neighbors computed again by differences (`_refine`).
    """
    m = starts.shape[0]
    dots = np.empty((QUERIES, 4), np.float32)
    for j in range(0, m, 4):
        _dots_4x4(flat, starts, queries, j, dots)
        for r in range(min(4, m - j)):
            for i in range(QUERIES):
                out[i, j + r] = max(query_norms[i] + norms[j + r] - TWO * dots[i, r], ZERO)


@njit(cache=True, fastmath=FAST)
def _load_queries(flat, starts, w2, rows, queries, query_norms):
    """Fill `queries` with w2 ⊙ x_i and `query_norms` for up to four rows; the last row fills the rest."""
    n = w2.shape[0]
    for b in range(QUERIES):
        start = starts[rows[min(b, rows.shape[0] - 1)]]
        norm = ZERO
        for f in range(n):
            x = flat[start + f]
            queries[b, f] = w2[f] * x
            norm += w2[f] * x * x
        query_norms[b] = norm


# ----------------------------------------------------------------------------------------------- neighbors


@njit(cache=True)
def _sift_down(distance, index, size, r):
    """Let entry `r` of the max-heap ordered by (distance, index) sink to its place."""
    d, j = distance[r], index[r]
    child = 2 * r + 1
    while child < size:
        other = child + 1
        if other < size and (
            distance[other] > distance[child]
            or (distance[other] == distance[child] and index[other] > index[child])
        ):
            child = other
        if distance[child] < d or (distance[child] == d and index[child] < j):
            break
        distance[r], index[r] = distance[child], index[child]
        r, child = child, 2 * child + 1
    distance[r], index[r] = d, j


@njit(cache=True)
def _heap_sort(distance, index, size):
    """Turn a max-heap into ascending (distance, index) order."""
    for last in range(size - 1, 0, -1):
        distance[0], distance[last] = distance[last], distance[0]
        index[0], index[last] = index[last], index[0]
        _sift_down(distance, index, last, 0)


@njit(cache=True)
def k_smallest(d, bound, starts, groups, start, group, span, k, index, distance):
    """Write the k admissible rows of least d ≤ bound, nearest first, and return how many there are.

    A row is met in the order of its index, so one that equals the worst of the heap never enters: ties go to
    the lower index.
    """
    m, size, j = d.shape[0], 0, 0
    while j < m and size < k:
        if d[j] <= bound and groups[j] != group and abs(starts[j] - start) >= span:
            distance[size], index[size] = d[j], j
            size += 1
        j += 1
    for r in range(size // 2 - 1, -1, -1):
        _sift_down(distance, index, size, r)
    while j < m:
        if d[j] < distance[0] and groups[j] != group and abs(starts[j] - start) >= span:
            distance[0], index[0] = d[j], j
            _sift_down(distance, index, size, 0)
        j += 1
    _heap_sort(distance, index, size)
    return size


@njit(cache=True, fastmath=FAST)
def _refine(flat, starts, w2, x, index, count, distance):
    """distance[r] = Σ_f w2_f (x_f − x_index[r],f)², by differences."""
    n = x.shape[0]
    for r in range(count):
        row = flat[starts[index[r]] : starts[index[r]] + n]
        s = ZERO
        for f in range(n):
            t = x[f] - row[f]
            s += w2[f] * t * t
        distance[r] = s


@njit(cache=True)
def _neighbors_block(
    flat, starts, groups, norms, w2, q_flat, q_starts, q_groups, span, rows, index, distance, count
):
    """Neighbors of up to four query rows."""
    n, k = w2.shape[0], index.shape[1]
    queries, query_norms = np.empty((QUERIES, n), np.float32), np.empty(QUERIES, np.float32)
    d = np.empty((QUERIES, starts.shape[0]), np.float32)
    _load_queries(q_flat, q_starts, w2, rows, queries, query_norms)
    batch_distances(flat, starts, norms, queries, query_norms, d)
    for b in range(rows.shape[0]):
        i = rows[b]
        size = k_smallest(
            d[b], np.inf, starts, groups, q_starts[i], q_groups[i], span, k, index[i], distance[i]
        )
        x = q_flat[q_starts[i] : q_starts[i] + n]
        _refine(flat, starts, w2, x, index[i], size, distance[i])
        count[i] = size


@njit(cache=True, parallel=True)
def neighbors(flat, starts, groups, norms, w2, q_flat, q_starts, q_groups, span, index, distance, count):
    """Write the k = index.shape[1] nearest admissible rows of every query, and how many there are.

    `norms` are the `row_norms` of the training rows. Ranks at and beyond count[i] are left as they were.
    """
    n_queries = q_starts.shape[0]
    for block in prange((n_queries + QUERIES - 1) // QUERIES):
        rows = np.arange(block * QUERIES, min((block + 1) * QUERIES, n_queries))
        _neighbors_block(
            flat, starts, groups, norms, w2, q_flat, q_starts, q_groups, span, rows, index, distance, count
        )


# ---------------------------------------------------------------------------------------------- estimates


@njit(cache=True)
def soft_weights(distance, count, beta, adaptive, p):
    """Return β and write p_r = exp(−(d_r − d_min) / β) / Σ.

    With `adaptive`, β is `beta` times the mean distance of these neighbors. Where β is 0 all neighbors at the
    least distance share the weight equally.
    """
    least, mean = np.inf, 0.0
    for r in range(count):
        mean += distance[r] / count
        least = min(least, distance[r])
    width = beta * mean if adaptive else beta
    total = 0.0
    for r in range(count):
        excess = distance[r] - least
        p[r] = np.exp(-excess / width) if width > 0.0 else (1.0 if excess == 0.0 else 0.0)
        total += p[r]
    for r in range(count):
        p[r] /= total
    return width


@njit(cache=True)
def soft_average(index, distance, count, k, Y, beta, adaptive, out):
    """out[i, o] = Σ_r p_r Y[index[i, r], o]: soft kNN on the first k neighbors; NaN where there are none."""
    p = np.empty(index.shape[1])
    for i in range(index.shape[0]):
        size = min(count[i], k)
        out[i] = 0.0 if size > 0 else np.nan
        soft_weights(distance[i], size, beta, adaptive, p)
        for r in range(size):
            for o in range(Y.shape[1]):
                out[i, o] += p[r] * Y[index[i, r], o]


@njit(cache=True)
def soft_weights_of_rows(distance, count, k, beta, adaptive, p):
    """p[i] = the soft weights of the first k neighbors of every query; ranks beyond count[i] are left alone."""
    for i in range(distance.shape[0]):
        soft_weights(distance[i], min(count[i], k), beta, adaptive, p[i])


# ---------------------------------------------------------------------------------------------------- RGS


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
        _load_queries(flat, starts, w2, rows, queries, query_norms)
        batch_distances(flat, starts, norms, queries, query_norms, d)


@njit(cache=True)
def rgs_slope(flat, starts, groups, span, Y, i, d, w2, k, beta, adaptive, slope):
    """Add the slope h of row i, ∂e/∂w_f = w_f h_f, to `slope`; return the squared error of the row.

    `d` are the distances of row i to all rows, used to find its neighbors.
    """
    n = w2.shape[0]
    index, distance, p, u = np.empty(k, np.int64), np.empty(k, d.dtype), np.empty(k), np.empty(k)
    count = k_smallest(d, np.inf, starts, groups, starts[i], groups[i], span, k, index, distance)
    if count == 0:
        return 0.0
    x = flat[starts[i] : starts[i] + n]
    _refine(flat, starts, w2, x, index, count, distance)
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


# ---------------------------------------------------------------------------------------------------- SKS


@njit(cache=True)
def _runs(value, first, last):
    """Write where the run of equal sorted values around each position begins and ends (exclusive)."""
    m = value.shape[0]
    for a in range(m):
        first[a] = first[a - 1] if a > 0 and value[a] == value[a - 1] else a
    for a in range(m - 1, -1, -1):
        last[a] = last[a + 1] if a < m - 1 and value[a] == value[a + 1] else a + 1


@njit(cache=True)
def _sks_neighbors(value, rank, first, last, starts, groups, i, v, at, span, k, index, distance):
    """Write the k rows nearest to v in one sorted feature, walking outwards run by run; return how many.

    Rows of a run are in ascending index; two runs at the same distance are merged by index.
    """
    m = value.shape[0]
    lo = at  # the untouched values are [0, lo) and [hi, m)
    hi = at
    size = 0
    while size < k and (lo > 0 or hi < m):
        left = v - value[lo - 1] if lo > 0 else np.inf
        right = value[hi] - v if hi < m else np.inf
        d = min(left, right)
        a, a_end, b, b_end = lo, lo, hi, hi
        if left == d:
            a = first[lo - 1]
            a_end, lo = lo, a
        if right == d:
            b_end = last[hi]
            hi = b_end
        while size < k and (a < a_end or b < b_end):
            if b >= b_end or (a < a_end and rank[a] < rank[b]):
                j = rank[a]
                a += 1
            else:
                j = rank[b]
                b += 1
            if groups[j] != groups[i] and abs(starts[j] - starts[i]) >= span:
                index[size], distance[size] = j, d * d
                size += 1
    return size


@njit(cache=True, parallel=True)
def sks(columns, ranks, starts, groups, span, Y, k, beta, adaptive, out):
    """out[c, o] = leave-one-out mean squared error of soft kNN on one feature, the values columns[c].

    ranks[c] are its rows in ascending order of value, then of index; k steps outwards per row.
    """
    m = starts.shape[0]
    for c in prange(columns.shape[0]):
        rank, value = ranks[c], np.empty(m, columns.dtype)
        for a in range(m):
            value[a] = columns[c, rank[a]]
        first, last = np.empty(m, np.int64), np.empty(m, np.int64)
        _runs(value, first, last)
        index, distance, p = np.empty(k, np.int64), np.empty(k), np.empty(k)
        used = 0
        for o in range(Y.shape[1]):
            out[c, o] = 0.0
        for a in range(m):
            i = rank[a]
            size = _sks_neighbors(
                value, rank, first, last, starts, groups, i, value[a], first[a], span, k, index, distance
            )
            if size == 0:
                continue
            used += 1
            soft_weights(distance, size, beta, adaptive, p)
            for o in range(Y.shape[1]):
                error = Y[i, o]
                for r in range(size):
                    error -= p[r] * Y[index[r], o]
                out[c, o] += error * error
        for o in range(Y.shape[1]):
            out[c, o] /= max(used, 1)


# ------------------------------------------------------------------------------------------ prefix curves


@njit(cache=True, parallel=True, fastmath=FAST)
def prefix_add(columns, q_columns, w2, out):
    """out[i, j] += Σ_c w2_c (q_columns[c, i] − columns[c, j])²: a few features more in all distances."""
    for i in prange(out.shape[0]):
        row = out[i]
        for c in range(columns.shape[0]):
            x, w, column = q_columns[c, i], w2[c], columns[c]
            for j in range(row.shape[0]):
                t = x - column[j]
                row[j] += w * t * t


@njit(cache=True, parallel=True, fastmath=FAST)
def prefix_add_norms(norms, q_norms, out):
    """out[i, j] = max(out[i, j] + q_norms[i] + norms[j], 0), after −2 Σ w2 x x' was added to out."""
    for i in prange(out.shape[0]):
        row, q = out[i], q_norms[i]
        for j in range(row.shape[0]):
            row[j] = max(row[j] + (q + norms[j]), ZERO)


@njit(cache=True, parallel=True)
def prefix_select(d, starts, groups, q_starts, q_groups, span, index, distance, count):
    """Write the k nearest rows of every query from its row of distances.

    Neighbors of the size before, if count[i] says that index[i] holds k of them, bound the k-th distance: few
    rows have to enter the heap.
    """
    k = index.shape[1]
    for i in prange(d.shape[0]):
        bound = np.inf
        if count[i] == k:
            bound = 0.0
            for r in range(k):
                bound = max(bound, d[i, index[i, r]])
        count[i] = k_smallest(
            d[i], bound, starts, groups, q_starts[i], q_groups[i], span, k, index[i], distance[i]
        )


# -------------------------------------------------------------------------------------------------- search


@njit(cache=True)
def _nearest_after_change(ordered, order, columns, sign, slack, i, k, index, distance):
    """Write the k nearest rows of i, in a heap, once sign · Σ_c (columns[c, i] − columns[c, j])² is added.

    `ordered` are the distances before, ascending, and `order` the rows they belong to; a change takes off at
    most `slack`, so the walk ends where no later row can enter. Equal distances go to the lower row. Returns
    how many there are.
    """
    size, first, x = 0, columns[0], columns[0, i]
    for rank in range(ordered.shape[0]):
        before, j = ordered[rank], order[rank]
        least = before - slack
        if least == np.inf:
            break
        if size == k and (least > distance[0] or (slack == ZERO and least == distance[0] and j > index[0])):
            break
        t = first[j] - x
        change = t * t
        for c in range(1, columns.shape[0]):
            t = columns[c, j] - columns[c, i]
            change += t * t
        d = max(before + sign * change, ZERO)
        if size < k:
            distance[size], index[size] = d, j
            size += 1
            if size == k:
                for r in range(k // 2 - 1, -1, -1):
                    _sift_down(distance, index, k, r)
        elif d < distance[0] or (d == distance[0] and j < index[0]):
            distance[0], index[0] = d, j
            _sift_down(distance, index, k, 0)
    return size


@njit(cache=True, parallel=True)
def search_errors(ordered, order, columns, sign, slack, Y, k, beta, adaptive, out):
    """out[i, o] = squared leave-one-out error of soft kNN when some columns enter (sign 1) or leave (−1).

    `ordered` (m, m) are the distances of every row under the current set, ascending, inf where a pair may not
    be neighbors; `order` (m, m) the rows they belong to; slack[i] the most that the columns, one or more, can
    take off a distance of row i. NaN where a row has no neighbor.
    """
    for i in prange(ordered.shape[0]):
        index, distance, p = np.empty(k, np.int64), np.empty(k, np.float32), np.empty(k)
        size = _nearest_after_change(ordered[i], order[i], columns, sign, slack[i], i, k, index, distance)
        soft_weights(distance, size, beta, adaptive, p)
        for o in range(Y.shape[1]):
            error = Y[i, o]
            for r in range(size):
                error -= p[r] * Y[index[r], o]
            out[i, o] = error * error if size > 0 else np.nan
