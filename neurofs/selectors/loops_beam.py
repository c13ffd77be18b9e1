"""Compiled loops of beam search: the loss of a set of features with each of many others added in turn.

Candidates `c` are columns, one row of an array each; `i` is a query row, `j` a training row, `r` a rank of a
neighbor. Nothing is imported from other files of loops, because numba's cache does not see changes there.
Fast-math, in logistic regression alone, is limited to reassociation, contraction, signed zeros and reciprocals;
data are checked to be finite before they come here.
"""

# mypy: disallow-untyped-defs=False

import numpy as np
from numba import njit

FAST = {"reassoc", "contract", "nsz", "arcp"}
MOST_STEPS = 30  # of Newton's method
MOST_HALVINGS = 20


# ------------------------------------------------------------------------------------------------ neighbors


@njit(cache=True)
def add_column(D, queries, rows):
    """D[i, j] += (queries[i] − rows[j])²."""
    for i in range(D.shape[0]):
        for j in range(D.shape[1]):
            D[i, j] += (queries[i] - rows[j]) ** 2


@njit(cache=True)
def _nearest(ordered, order, x, rows, index, distance):
    """Find the nearest rows when one column is added; return how many. Among equals the lower row wins.

    `ordered` are the distances so far, ascending, equal ones by row, and `order` their rows. Distances only
    grow, so the search ends at the first that already is behind the last of the nearest.
    """
    k, size = index.shape[0], 0
    for at in range(ordered.shape[0]):
        j = order[at]
        if ordered[at] == np.inf:
            break
        if size == k and (ordered[at] > distance[k - 1] or (ordered[at] == distance[k - 1] and j > index[k - 1])):
            break
        d = ordered[at] + (x - rows[j]) ** 2
        if size == k and (d > distance[k - 1] or (d == distance[k - 1] and j > index[k - 1])):
            continue
        r = min(size, k - 1)
        while r > 0 and (distance[r - 1] > d or (distance[r - 1] == d and index[r - 1] > j)):
            distance[r], index[r] = distance[r - 1], index[r - 1]
            r -= 1
        distance[r], index[r] = d, j
        size = min(size + 1, k)
    return size


@njit(cache=True)
def neighbor_losses(ordered, order, query_columns, row_columns, Y, truth, n_neighbors, is_class, out):
    """out[c] = loss of k-nearest-neighbor prediction with column c added to the distances.

    The mean of Y (rows, outputs) over the neighbors predicts `truth` (queries, outputs). The loss is the mean
    squared error, or with `is_class`, where outputs are classes, the share of wrong ones, the first of equally
    frequent classes being predicted. Queries without any neighbor do not count.
    """
    for c in range(out.shape[0]):
        index, distance = np.empty(n_neighbors, np.int64), np.empty(n_neighbors, np.float32)
        mean = np.empty(Y.shape[1])
        total, n = 0.0, 0
        for i in range(ordered.shape[0]):
            size = _nearest(ordered[i], order[i], query_columns[c, i], row_columns[c], index, distance)
            if size == 0:
                continue
            for o in range(Y.shape[1]):
                mean[o] = 0.0
                for r in range(size):
                    mean[o] += Y[index[r], o]
            if is_class:
                total += truth[i, np.argmax(mean)] == 0.0
            else:
                for o in range(Y.shape[1]):
                    total += (truth[i, o] - mean[o] / size) ** 2 / Y.shape[1]
            n += 1
        out[c] = total / n if n > 0 else np.inf


# ---------------------------------------------------------------------------------------- logistic regression


@njit(cache=True, fastmath=FAST)
def _penalized(Z, t, w, ridge, score):
    """Return −log likelihood + ½ ridge Σ w² (but the first, the intercept); `score` becomes Z' w."""
    loss = 0.0
    score[:] = 0.0
    for f in range(Z.shape[0]):
        score += w[f] * Z[f]
        if f > 0:
            loss += 0.5 * ridge * w[f] * w[f]
    for i in range(score.shape[0]):
        s = score[i] if t[i] == 0.0 else -score[i]
        loss += max(s, 0.0) + np.log1p(np.exp(-abs(s)))
    return loss


@njit(cache=True, fastmath=FAST)
def _solve(H, g):
    """Overwrite g with H⁻¹ g, H symmetric and positive, by Cholesky's method; H becomes its factor."""
    n = g.shape[0]
    for a in range(n):
        for b in range(a + 1):
            s = H[a, b]
            for f in range(b):
                s -= H[a, f] * H[b, f]
            H[a, b] = np.sqrt(max(s, 1e-12)) if a == b else s / H[b, b]
    for a in range(n):
        for f in range(a):
            g[a] -= H[a, f] * g[f]
        g[a] /= H[a, a]
    for a in range(n - 1, -1, -1):
        for f in range(a + 1, n):
            g[a] -= H[f, a] * g[f]
        g[a] /= H[a, a]


@njit(cache=True, fastmath=FAST)
def fit_logistic(Z, t, ridge, tolerance, w):
    """Move w to the minimum of −log likelihood + ½ ridge Σ w² by Newton's method.

    `Z` is (features, rows), its first row ones; `t` is 0 or 1. It ends with the first step that
    gains less than `tolerance`, after which far less is left to gain.
    """
    n, m = Z.shape
    score, trial = np.empty(m), np.empty(m)
    H, g, p, q, z = np.empty((n, n)), np.empty(n), np.empty(m), np.empty(m), np.empty(m)
    loss = _penalized(Z, t, w, ridge, score)
    for _ in range(MOST_STEPS):
        for i in range(m):
            p[i] = 1.0 / (1.0 + np.exp(-score[i]))
            q[i] = p[i] * (1.0 - p[i])
        for a in range(n):
            g[a] = -(ridge * w[a] if a > 0 else 0.0)
            for i in range(m):
                g[a] += Z[a, i] * (t[i] - p[i])
                z[i] = Z[a, i] * q[i]
            for b in range(a + 1):
                s = 0.0
                for i in range(m):
                    s += z[i] * Z[b, i]
                H[a, b] = s
            H[a, a] += ridge if a > 0 else 1e-10
        slope = g.copy()
        _solve(H, g)
        gain = 0.5 * np.dot(slope, g)
        if gain < tolerance:
            w += g
            return
        size = 1.0
        for _ in range(MOST_HALVINGS):
            found = _penalized(Z, t, w + size * g, ridge, trial)
            if found < loss:
                break
            size *= 0.5
        if found >= loss:
            return
        w += size * g
        loss = found
        score[:] = trial


@njit(cache=True, fastmath=FAST)
def logistic_losses(Z, columns, Q, query_columns, targets, truth, ridge, tolerance, start, out):
    """out[c] = share of queries whose class logistic regression gets wrong, with column c added.

    `Z` (features, rows) and `Q` (features, queries) have ones as their first row; `targets` (classes, rows) are
    0 or 1, one row alone for two classes; `truth` is the class of each query; `start` (classes, features) is
    the fit without the column, where Newton's method begins.
    """
    n = Z.shape[0]
    for c in range(out.shape[0]):
        wide, w = np.empty((n + 1, Z.shape[1])), np.empty(n + 1)
        wide[:n], wide[n] = Z, columns[c]
        best, label = np.full(Q.shape[1], -np.inf), np.zeros(Q.shape[1], np.int64)
        for o in range(targets.shape[0]):
            w[:n], w[n] = start[o], 0.0
            fit_logistic(wide, targets[o], ridge, tolerance, w)
            for i in range(Q.shape[1]):
                s = w[n] * query_columns[c, i]
                for f in range(n):
                    s += w[f] * Q[f, i]
                if targets.shape[0] == 1:
                    label[i] = 1 if s > 0.0 else 0
                elif s > best[i]:
                    best[i], label[i] = s, o
        out[c] = np.mean(label != truth)
