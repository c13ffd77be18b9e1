"""Compiled loops around neighbors and soft kNN: arrays in, arrays out.

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
so that every row takes the same path and equal rows get bitwise equal distances. No
loop is compiled for several threads, which takes numba three times as long: tasks run side by side instead.

Numba's cache does not see changes in other files. Files whose loops call those of this one therefore name its
checksum (`BUILT_ON`), so that a change here changes them as well; a test compares the two.
"""

# mypy: disallow-untyped-defs=False

import numpy as np
from numba import njit

FAST = {"reassoc", "contract", "nsz", "arcp"}
ZERO = np.float32(0.0)
TWO = np.float32(2.0)
QUERIES = 4  # queries of one block of `batch_distances`
DIGIT_BITS, DIGIT, DIGITS = np.uint64(8), np.uint64(255), 256  # of keys that are sorted
CANDIDATES = 4  # times k: rows that are put together before the k nearest of them are kept
SIGN, SHIFT, ROW = np.uint32(2**31), np.uint64(32), np.uint64(2**32 - 1)  # of a key
ZERO_BITS, ONE_BIT = np.uint64(0), np.uint64(1)
LARGEST_POWER = 8  # to which weights are raised in place of exponentials


# ----------------------------------------------------------------------------------------------- distances


@njit(cache=True, inline="always")
def _four_rows(flat, starts, j, n):
    """Return the numbers of the three rows after j, with the last row repeated at the end, and all four rows."""
    m = starts.shape[0]
    j1, j2, j3 = min(j + 1, m - 1), min(j + 2, m - 1), min(j + 3, m - 1)
    a, b, c, d = starts[j], starts[j1], starts[j2], starts[j3]
    return (j1, j2, j3), flat[a : a + n], flat[b : b + n], flat[c : c + n], flat[d : d + n]


@njit(cache=True, fastmath=FAST)
def query_distances(flat, starts, w2, x, out):
    """out[j] = Σ_f w2_f (x_f − x_jf)², four rows at a time."""
    m, n = starts.shape[0], x.shape[0]
    for j in range(0, m, 4):
        (j1, j2, j3), row0, row1, row2, row3 = _four_rows(flat, starts, j, n)
        s0 = s1 = s2 = s3 = ZERO
        for f in range(n):
            t0, t1, t2, t3 = x[f] - row0[f], x[f] - row1[f], x[f] - row2[f], x[f] - row3[f]
            s0 += w2[f] * t0 * t0
            s1 += w2[f] * t1 * t1
            s2 += w2[f] * t2 * t2
            s3 += w2[f] * t3 * t3
        out[j], out[j1], out[j2], out[j3] = s0, s1, s2, s3


@njit(cache=True, fastmath=FAST)
def _manhattan_row(flat, starts, scale, i, out):
    """out[j] = Σ_f scale_f |x_if − x_jf|, four rows at a time."""
    m, n = starts.shape[0], scale.shape[0]
    x = flat[starts[i] : starts[i] + n]
    for j in range(0, m, 4):
        (j1, j2, j3), row0, row1, row2, row3 = _four_rows(flat, starts, j, n)
        s0 = s1 = s2 = s3 = ZERO
        for f in range(n):
            s0 += scale[f] * abs(x[f] - row0[f])
            s1 += scale[f] * abs(x[f] - row1[f])
            s2 += scale[f] * abs(x[f] - row2[f])
            s3 += scale[f] * abs(x[f] - row3[f])
        out[j], out[j1], out[j2], out[j3] = s0, s1, s2, s3


@njit(cache=True)
def manhattan_distances(flat, starts, scale, rows, out):
    """out[i, j] = Σ_f scale_f |x_rows[i],f − x_jf|."""
    for i in range(rows.shape[0]):
        _manhattan_row(flat, starts, scale, rows[i], out[i])


@njit(cache=True, fastmath=FAST)
def row_norms(flat, starts, w2, out):
    """out[j] = Σ_f w2_f x_jf², four rows at a time."""
    m, n = starts.shape[0], w2.shape[0]
    for j in range(0, m, 4):
        (j1, j2, j3), row0, row1, row2, row3 = _four_rows(flat, starts, j, n)
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
    n = queries.shape[1]
    _, row0, row1, row2, row3 = _four_rows(flat, starts, j, n)
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
    and the distances of the chosen neighbors computed again by differences (`refine`).
    """
    m = starts.shape[0]
    dots = np.empty((QUERIES, 4), np.float32)
    for j in range(0, m, 4):
        _dots_4x4(flat, starts, queries, j, dots)
        for r in range(min(4, m - j)):
            for i in range(QUERIES):
                out[i, j + r] = max(query_norms[i] + norms[j + r] - TWO * dots[i, r], ZERO)


@njit(cache=True, fastmath=FAST)
def load_queries(flat, starts, w2, rows, queries, query_norms):
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
def sift_down(distance, index, size, r):
    """Let entry `r` of the max-heap ordered by (distance, index) sink to its place."""
    d, j = distance[r], index[r]
    child = 2 * r + 1
    while child < size:
        other = child + 1
        if other < size and (
            distance[other] > distance[child] or (distance[other] == distance[child] and index[other] > index[child])
        ):
            child = other
        if distance[child] < d or (distance[child] == d and index[child] < j):
            break
        distance[r], index[r] = distance[child], index[child]
        r, child = child, 2 * child + 1
    distance[r], index[r] = d, j


@njit(cache=True)
def _sort_keys(keys, size, space, counts):
    """Put the first `size` keys in ascending order of distance; return the array that has them, and the other.

    Equal distances stay in the order in which they are. Digit by digit, without a comparison: what differs between
    keys begins below their common digits, and above the last bits that all have alike (whole numbers have many).
    """
    least, most, differ = keys[0], keys[0], ZERO_BITS
    for c in range(size):
        least, most, differ = min(least, keys[c]), max(most, keys[c]), differ | (keys[c] ^ keys[0])
    shift, base = SHIFT, least >> SHIFT
    while differ >> SHIFT and not (differ >> shift) & ONE_BIT:
        shift += ONE_BIT
    while (most >> SHIFT) - base >> (shift - SHIFT):
        counts[:] = 0
        for c in range(size):
            counts[((keys[c] >> SHIFT) - base >> (shift - SHIFT)) & DIGIT] += 1
        total = 0
        for digit in range(counts.shape[0]):
            total, counts[digit] = total + counts[digit], total
        for c in range(size):
            digit = ((keys[c] >> SHIFT) - base >> (shift - SHIFT)) & DIGIT
            space[counts[digit]] = keys[c]
            counts[digit] += 1
        keys, space = space, keys
        shift += DIGIT_BITS
    return keys, space


@njit(cache=True, inline="always")
def _ascending(bits):
    """Return a whole number that is in order as the float32 with these bits is; −0 is 0."""
    bits = np.uint32(0) if bits == SIGN else bits
    return np.uint32(~bits) if bits & SIGN else bits | SIGN


@njit(cache=True)
def k_smallest(d, bound, starts, groups, start, group, span, k, index, distance):
    """Write the k admissible rows of least d ≤ bound, nearest first, and return how many there are.

    A key holds a distance (which may be negative) as a whole number, and then the row: ties go to the lower index.
    Rows that may be among the nearest are put together; as soon as there are many, the k nearest are kept and bound
    the rest.
    """
    m, bits = d.shape[0], d.view(np.uint32)
    keys, space = np.empty(min(CANDIDATES * k, m) + 1, np.uint64), np.empty(min(CANDIDATES * k, m) + 1, np.uint64)
    counts = np.empty(DIGITS, np.int32)
    beyond = _ascending(np.float32(bound).view(np.uint32)) + np.uint32(1)
    size = j = 0
    while True:
        found = size  # so many are known to be admissible
        while j < m and size < keys.shape[0]:
            ordered = _ascending(bits[j])
            keys[size] = (np.uint64(ordered) << SHIFT) | np.uint64(j)
            size += ordered < beyond
            j += 1
        for c in range(found, size):
            row = np.int64(keys[c] & ROW)
            if groups[row] != group and abs(starts[row] - start) >= span:
                keys[found] = keys[c]
                found += 1
        keys, space = _sort_keys(keys, found, space, counts)
        size = min(found, k)
        if j == m:
            break
        if size == k:
            beyond = np.uint32(keys[k - 1] >> SHIFT)
    for r in range(size):
        index[r] = np.int64(keys[r] & ROW)
        distance[r] = d[index[r]]
    return size


@njit(cache=True, fastmath=FAST)
def refine(flat, starts, w2, x, index, count, distance):
    """distance[r] = Σ_f w2_f (x_f − x_index[r],f)², by differences."""
    n = x.shape[0]
    for r in range(count):
        row = flat[starts[index[r]] : starts[index[r]] + n]
        s = ZERO
        for f in range(n):
            t = x[f] - row[f]
            s += w2[f] * t * t
        distance[r] = s


@njit(cache=True, inline="always")
def _neighbors_block(flat, starts, groups, norms, w2, q_flat, q_starts, q_groups, span, rows, index, distance, count):
    """Neighbors of up to four query rows."""
    n, k = w2.shape[0], index.shape[1]
    queries, query_norms = np.empty((QUERIES, n), np.float32), np.empty(QUERIES, np.float32)
    d = np.empty((QUERIES, starts.shape[0]), np.float32)
    load_queries(q_flat, q_starts, w2, rows, queries, query_norms)
    batch_distances(flat, starts, norms, queries, query_norms, d)
    for b in range(rows.shape[0]):
        i = rows[b]
        size = k_smallest(d[b], np.inf, starts, groups, q_starts[i], q_groups[i], span, k, index[i], distance[i])
        x = q_flat[q_starts[i] : q_starts[i] + n]
        refine(flat, starts, w2, x, index[i], size, distance[i])
        count[i] = size


@njit(cache=True)
def neighbors(flat, starts, groups, norms, w2, q_flat, q_starts, q_groups, span, index, distance, count):
    """Write the k = index.shape[1] nearest admissible rows of every query, and how many there are.

    `norms` are the `row_norms` of the training rows. Ranks at and beyond count[i] are left as they were.
    """
    n_queries = q_starts.shape[0]
    for block in range((n_queries + QUERIES - 1) // QUERIES):
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
        if r > 0 and distance[r] == distance[r - 1]:  # as is usual for counts: nothing new to compute
            p[r] = p[r - 1]
        else:
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


@njit(cache=True, inline="always")
def _find_power(beta, smaller):
    """Return n where beta is n times the smaller one, 0 where it is not or n is large."""
    n = int(beta / smaller + 0.5)
    return n if n <= LARGEST_POWER and abs(beta - n * smaller) <= 1e-12 * beta else 0


@njit(cache=True)
def soft_averages(index, distance, count, ks, betas, Y, adaptive, out):
    """out[q, i, o] = what `soft_average` gives with ks[q] and betas[q]; faster where points of one k follow each other.

    From the last point on backwards: exp(−d / β) is the n-th power of exp(−d / (n β)).
    """
    p, powers = np.empty(index.shape[1]), np.empty(index.shape[1])
    for i in range(index.shape[0]):
        base = -1
        for q in range(ks.shape[0] - 1, -1, -1):
            size = min(count[i], ks[q])
            n = _find_power(betas[base], betas[q]) if base >= 0 and ks[base] == ks[q] and betas[q] > 0.0 else 0
            if n == 0:
                soft_weights(distance[i], size, betas[q], adaptive, p)
                base, n = q, 1
            for r in range(size):
                powers[r] = p[r]
            for _ in range(1, n):
                for r in range(size):
                    powers[r] *= p[r]
            total = 0.0
            for r in range(size):
                total += powers[r]
            for o in range(Y.shape[1]):
                mean = 0.0
                for r in range(size):
                    mean += powers[r] * Y[index[i, r], o]
                out[q, i, o] = mean / total if size > 0 else np.nan


@njit(cache=True)
def soft_weights_of_rows(distance, count, k, beta, adaptive, p):
    """p[i] = the soft weights of the first k neighbors of every query; ranks beyond count[i] are left alone."""
    for i in range(distance.shape[0]):
        soft_weights(distance[i], min(count[i], k), beta, adaptive, p[i])


# ------------------------------------------------------------------------------------------ prefix curves


@njit(cache=True)
def take_features(series, channels, lags, bins, out):
    """out[c, i] = what the channel of feature c has in bin i, as many bins on as the feature lies in the window."""
    for c in range(out.shape[0]):
        row, lag = series[channels[c]], lags[c]
        for i in range(out.shape[1]):
            out[c, i] = row[bins[i] + lag]


@njit(cache=True, fastmath=FAST)
def prefix_add(columns, q_columns, w2, out):
    """out[i, j] += Σ_c w2_c (q_columns[c, i] − columns[c, j])²: a few features more in all distances."""
    for i in range(out.shape[0]):
        row = out[i]
        for c in range(columns.shape[0]):
            x, w, column = q_columns[c, i], w2[c], columns[c]
            for j in range(row.shape[0]):
                t = x - column[j]
                row[j] += w * t * t


@njit(cache=True, fastmath=FAST)
def prefix_add_norms(norms, q_norms, out):
    """out[i, j] = max(out[i, j] + q_norms[i] + norms[j], 0), after −2 Σ w2 x x' was added to out."""
    for i in range(out.shape[0]):
        row, q = out[i], q_norms[i]
        for j in range(row.shape[0]):
            row[j] = max(row[j] + (q + norms[j]), ZERO)


@njit(cache=True)
def prefix_select(d, starts, groups, q_starts, q_groups, span, index, distance, count):
    """Write the k nearest rows of every query from its row of distances.

    Neighbors of the size before, if count[i] says that index[i] holds k of them, bound the k-th distance: few
    rows have to enter the heap.
    """
    k = index.shape[1]
    for i in range(d.shape[0]):
        bound = np.inf
        if count[i] == k:
            bound = 0.0
            for r in range(k):
                bound = max(bound, d[i, index[i, r]])
        count[i] = k_smallest(d[i], bound, starts, groups, q_starts[i], q_groups[i], span, k, index[i], distance[i])
