"""Compiled loops of leave-one-out errors of soft kNN: of each feature alone, and of a set that changes.

Words and indices as in `metric.loops_neighbors`, whose loops are compiled into these.
"""

# mypy: disallow-untyped-defs=False

import numpy as np
from numba import njit

from neurofs.metric.loops_neighbors import ZERO, sift_down, soft_weights

BUILT_ON = "24b9a1b3"  # checksum of metric/loops_neighbors.py, which numba's cache does not look at


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
def _sks_neighbors(value, rank, first, last, starts, groups, i, v, at, span, index, distance, shell):
    """Write the rows nearest to v in one sorted feature, walking outwards run by run; return how many.

    At most as many as `index` holds. Rows at the same distance make a shell; `shell` gets the rank at which the
    last one begins, and where its runs to the left and to the right begin and end.
    """
    m, limit = value.shape[0], index.shape[0]
    lo = at  # the untouched values are [0, lo) and [hi, m)
    hi = at
    size = 0
    while size < limit and (lo > 0 or hi < m):
        left = v - value[lo - 1] if lo > 0 else np.inf
        right = value[hi] - v if hi < m else np.inf
        d = min(left, right)
        a = first[lo - 1] if left == d else lo
        b = last[hi] if right == d else hi
        shell[0], shell[1], shell[2], shell[3], shell[4] = size, a, lo, hi, b
        for t in range((lo - a) + (b - hi)):
            j = rank[a + t] if a + t < lo else rank[hi + t - (lo - a)]
            if groups[j] != groups[i] and abs(starts[j] - starts[i]) >= span:
                index[size], distance[size] = j, d * d
                size += 1
                if size == limit:
                    return size
        lo, hi = a, b
    return size


@njit(cache=True)
def _first_of_group(rank, groups, begin, end, group):
    """Return where in [begin, end), which ascends by group, the rows of a group (or later ones) begin."""
    while begin < end:
        middle = (begin + end) // 2
        if groups[rank[middle]] < group:
            begin = middle + 1
        else:
            end = middle
    return begin


@njit(cache=True)
def _sum_shell(column, rank, groups, i, shell, overlapping, sums, squares, Y, o):
    """Return how many rows of a shell may be neighbors of i, the sum of their targets, and of the squares.

    Whole runs are differences of cumulated sums, from which the rows of i's own group, side by side in a run, and
    then those that overlap i are taken off.
    """
    n, total, square = 0, 0.0, 0.0
    for side in range(1, 5, 2):
        begin, end = shell[side], shell[side + 1]
        if begin == end:
            continue
        own = _first_of_group(rank, groups, begin, end, groups[i])
        after = _first_of_group(rank, groups, own, end, groups[i] + 1)
        n += end - begin - (after - own)
        total += sums[end, o] - sums[begin, o] - (sums[after, o] - sums[own, o])
        square += squares[end, o] - squares[begin, o] - (squares[after, o] - squares[own, o])
        for j in overlapping:
            if groups[j] != groups[i] and column[j] == column[rank[begin]]:
                n -= 1
                total -= Y[j, o]
                square -= Y[j, o] ** 2
    return n, total, square


@njit(cache=True)
def _cumulate(rank, Y, sums, squares):
    """sums[a] and squares[a] = those of the targets of the first a rows in the order of `rank`."""
    for o in range(Y.shape[1]):
        sums[0, o] = squares[0, o] = 0.0
        for a in range(rank.shape[0]):
            y = Y[rank[a], o]
            sums[a + 1, o] = sums[a, o] + y
            squares[a + 1, o] = squares[a, o] + y * y


@njit(cache=True)
def sks(columns, ranks, starts, groups, by_start, near, judged, span, Y, k, beta, adaptive, out):
    """out[c, o] = leave-one-out mean squared error of soft kNN on one feature, the values columns[c].

    The mean is over the rows that are `judged`; all rows may be their neighbors.

    Where more rows are equally far than there are places left among the k, s of n, chance would choose, and the
    error is its expectation: (rest − p s mean)² + p² s (n − s) / (n − 1) variance, p being the weight of each
    place, and mean and variance those of the n targets.

    ranks[c] are the rows in ascending order of value, then of group; by_start[near[i, 0] : near[i, 1]] are the
    rows that overlap row i. k + 1 steps outwards per row, and one sum over a shell.
    """
    m = starts.shape[0]
    for c in range(columns.shape[0]):
        rank, value = ranks[c], np.empty(m, columns.dtype)
        for a in range(m):
            value[a] = columns[c, rank[a]]
        first, last, shell = np.empty(m, np.int64), np.empty(m, np.int64), np.empty(5, np.int64)
        _runs(value, first, last)
        sums, squares = np.empty((m + 1, Y.shape[1])), np.empty((m + 1, Y.shape[1]))
        _cumulate(rank, Y, sums, squares)
        index, distance, p = np.empty(k + 1, np.int64), np.empty(k + 1), np.empty(k)
        used = 0
        for o in range(Y.shape[1]):
            out[c, o] = 0.0
        for a in range(m):
            i = rank[a]
            if not judged[i]:
                continue
            size = _sks_neighbors(
                value, rank, first, last, starts, groups, i, value[a], first[a], span, index, distance, shell
            )
            if size == 0:
                continue
            used += 1
            sure, size = size if size <= k else shell[0], min(size, k)  # `sure` places are not left to chance
            soft_weights(distance, size, beta, adaptive, p)
            overlapping = by_start[near[i, 0] : near[i, 1]]
            for o in range(Y.shape[1]):
                error, chance = Y[i, o], 0.0
                for r in range(sure):
                    error -= p[r] * Y[index[r], o]
                if sure < size:
                    n, total, square = _sum_shell(columns[c], rank, groups, i, shell, overlapping, sums, squares, Y, o)
                    s, weight, mean = size - sure, p[size - 1], total / n
                    error -= weight * s * mean
                    chance = weight**2 * s * (n - s) / (n - 1) * max(square / n - mean**2, 0.0)
                out[c, o] += error * error + chance
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


@njit(cache=True)
def search_errors(ordered, order, columns, sign, slack, Y, k, beta, adaptive, out):
    """out[i, o] = squared leave-one-out error of soft kNN when some columns enter (sign 1) or leave (−1).

    `ordered` (m, m) are the distances of every row under the current set, ascending, inf where a pair may not
    be neighbors; `order` (m, m) the rows they belong to; slack[i] the most that the columns, one or more, can
    take off a distance of row i. NaN where a row has no neighbor.
    """
    for i in range(ordered.shape[0]):
        index, distance, p = np.empty(k, np.int64), np.empty(k, np.float32), np.empty(k)
        size = _nearest_after_change(ordered[i], order[i], columns, sign, slack[i], i, k, index, distance)
        soft_weights(distance, size, beta, adaptive, p)
        for o in range(Y.shape[1]):
            error = Y[i, o]
            for r in range(size):
                error -= p[r] * Y[index[r], o]
            out[i, o] = error * error if size > 0 else np.nan
