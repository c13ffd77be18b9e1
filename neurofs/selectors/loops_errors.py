"""Compiled loops of leave-one-out errors of soft kNN: of each feature alone, and of a set that changes.

Words and indices as in `metric.loops_neighbors`, whose loops are compiled into these.
"""

# mypy: disallow-untyped-defs=False

import numpy as np
from numba import njit, prange

from neurofs.metric.loops_neighbors import ZERO, sift_down, soft_weights

BUILT_ON = "f549fff0"  # checksum of metric/loops_neighbors.py, which numba's cache does not look at


# ----------------------------------------------------------------------------------------- single features


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


# -------------------------------------------------------------------------------------------------- sets


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
                    sift_down(distance, index, k, r)
        elif d < distance[0] or (d == distance[0] and j < index[0]):
            distance[0], index[0] = d, j
            sift_down(distance, index, k, 0)
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
