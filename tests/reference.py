"""Slow, obvious twins of the loops: NumPy only, float64, nothing of the package.

A sample is a row of an ordinary matrix here. `banned` (queries, rows) says which rows may not be neighbors.
"""

from itertools import combinations

import numpy as np


def distances(Q, X, w):
    """d[i, j] = Σ_f w_f² (q_if − x_jf)²."""
    Q, X, w = (np.asarray(a, float) for a in (Q, X, w))
    return np.array([[(w**2 * (q - x) ** 2).sum() for x in X] for q in Q])


def banned_pairs(starts, span, groups=None):
    """Pairs whose windows overlap, or that are of one group; a row is always banned for itself."""
    m = len(starts)
    groups = np.arange(m) if groups is None else np.asarray(groups)
    return np.array([[abs(starts[i] - starts[j]) < span or groups[i] == groups[j] for j in range(m)] for i in range(m)])


def nearest(d, k, banned=None):
    """Indices of the k least of one row of distances, ties to the lower index."""
    rows = [j for j in range(len(d)) if banned is None or not banned[j]]
    return sorted(rows, key=lambda j: (d[j], j))[:k]


def soft_weights(d, beta, adaptive):
    """exp(−d/β) / Σ, with β = beta · mean d if adaptive."""
    width = beta * d.mean() if adaptive else beta
    a = np.exp(-(d - d.min()) / width) if width > 0 else (d == d.min()).astype(float)
    return a / a.sum()


def soft_knn(D, Y, k, beta, adaptive, banned=None):
    out = np.full((len(D), Y.shape[1]), np.nan)
    for i, d in enumerate(D):
        near = nearest(d, k, None if banned is None else banned[i])
        if near:
            out[i] = soft_weights(d[near], beta, adaptive) @ Y[near]
    return out


def local_linear(Q, X, w, Y, k, beta, adaptive, ridge):
    """Primal form: minimise Σ p (g − b − v·z)² + ridge · tr · |v|²; the estimate at z = 0 is b."""
    D = distances(Q, X, w)
    out = np.empty((len(Q), Y.shape[1]))
    for i in range(len(Q)):
        near = nearest(D[i], k)
        p = soft_weights(D[i, near], beta, adaptive)
        Z = np.asarray(w) * (np.asarray(X, float)[near] - np.asarray(Q, float)[i])
        z_mean, g_mean = p @ Z, p @ Y[near]
        A = np.sqrt(p)[:, None] * (Z - z_mean)
        b = np.sqrt(p)[:, None] * (Y[near] - g_mean)
        penalty = ridge * (A * A).sum() * np.eye(Z.shape[1])
        v = np.linalg.solve(A.T @ A + penalty, A.T @ b) if (A * A).sum() > 0 else np.zeros((Z.shape[1], Y.shape[1]))
        out[i] = g_mean - z_mean @ v
    return out


def rgs_value(w, X, Y, i, k, beta, adaptive, banned):
    """e(w) = −½ |y_i − ĝ_w(x_i)|² of one row."""
    D = distances(X[i : i + 1], X, w)
    estimate = soft_knn(D, Y, k, beta, adaptive, banned[i : i + 1])[0]
    return -0.5 * ((Y[i] - estimate) ** 2).sum()


def rgs_slope(w, X, Y, i, k, beta, adaptive, banned):
    """∂e/∂w_f / w_f of one row; ∂ĝ/∂w_f = −(2 w_f / β) Cov_p(g, (x_f − x'_f)²), β moving if adaptive."""
    d = distances(X[i : i + 1], X, w)[0]
    near = nearest(d, k, banned[i])
    d, g, squares = d[near], Y[near], (X[i] - X[near]) ** 2
    p = soft_weights(d, beta, adaptive)
    width = beta * d.mean() if adaptive else beta
    exponent = squares / width  # ½ ∂(d / β)/∂w_f / w_f
    if adaptive:
        exponent = exponent - np.outer(d, squares.mean(axis=0)) / (width * d.mean())
    slope = np.zeros(X.shape[1])
    for o in range(Y.shape[1]):
        mean = p @ g[:, o]
        slope += (Y[i, o] - mean) * -2.0 * ((p * (g[:, o] - mean)) @ exponent)
    return slope


def rgs_epoch(X, Y, order, batch, k, beta, adaptive, step, limit, w, banned):
    w = w.copy()
    for first in range(0, len(order), batch):
        slope = sum(rgs_slope(w, X, Y, i, k, beta, adaptive, banned) for i in order[first : first + batch])
        w = w * (1 + np.clip(step * slope, -limit, limit))
    return w


def published_rgs(X, y, k, order, banned):
    """Algorithm 4 of the thesis with the right gradient: weights after one step per row of `order`."""
    y = (y - y.mean()) / y.std()
    w = np.ones(X.shape[1])
    D = distances(X, X, w)
    near = [nearest(d, k, out) for d, out in zip(D, banned, strict=True)]
    beta = 0.5 * np.mean([d[rows].mean() for d, rows in zip(D, near, strict=True)])
    for i in order:
        squares = (X - X[i]) ** 2
        d = squares @ w**2
        rows = nearest(d, k, banned[i])
        a = np.exp(-d[rows] / beta)
        estimate = a @ y[rows] / a.sum()
        covariance = (a * (y[rows] - estimate)) @ squares[rows] / a.sum()
        w = w + (y[i] - estimate) * -2 * w / beta * covariance
    return w


def sks(X, Y, k, beta, adaptive, banned, judged=None):
    """Leave-one-out MSE of soft kNN on each feature alone, the mean over all choices among equally far rows.

    `judged` are the rows whose errors count, all by default.
    """
    judged = range(len(X)) if judged is None else judged
    out = np.empty((X.shape[1], Y.shape[1]))
    for f in range(X.shape[1]):
        D = (X[:, f : f + 1] - X[:, f]) ** 2
        rows = [i for i in judged if not banned[i].all()]
        out[f] = np.mean([tied_error(D[i], Y, i, k, beta, adaptive, banned[i]) for i in rows], axis=0)
    return out


def tied_error(d, Y, i, k, beta, adaptive, banned):
    """Expected squared error of row i: E (a − p Σ y)² over s of the n farthest rows, from E y and E y y'."""
    near = np.array(nearest(d, k, banned))
    p, far = soft_weights(d[near], beta, adaptive), d[near].max()
    tied = Y[(d == far) & ~banned]
    s, n = (d[near] == far).sum(), len(tied)
    rest, weight = Y[i] - p[d[near] < far] @ Y[near[d[near] < far]], p[d[near] == far][0]
    square = (tied**2).mean(axis=0)
    product = (tied.sum(axis=0) ** 2 - (tied**2).sum(axis=0)) / max(n * (n - 1), 1)  # of two different ones
    return rest**2 - 2 * rest * weight * s * tied.mean(axis=0) + weight**2 * (s * square + s * (s - 1) * product)


def tied_error_by_hand(d, Y, i, k, beta, adaptive, banned):
    """The same by going through all choices."""
    near = np.array(nearest(d, k, banned))
    far, allowed = d[near].max(), np.flatnonzero(~banned)
    sure, tied = allowed[d[allowed] < far], allowed[d[allowed] == far]
    p = soft_weights(np.sort(d[near]), beta, adaptive)
    sure = sure[np.argsort(d[sure], kind="stable")]
    chosen = [np.append(sure, some).astype(int) for some in combinations(tied, len(near) - len(sure))]
    return np.mean([(Y[i] - p @ Y[rows]) ** 2 for rows in chosen], axis=0)


def prefix_curve(X, Y, Q, order, sizes, w, k, beta, adaptive):
    tops = [order[:n] for n in sizes]
    return np.array([soft_knn(distances(Q[:, t], X[:, t], w[t]), Y, k, beta, adaptive) for t in tops])


def kalman_filter(A, W, H, Q, prior, Z):
    """The state after each observation, with an explicit gain; the first state is 0 ± prior."""
    states, x, P = [], np.zeros(len(A)), prior
    for t, z in enumerate(Z):
        if t:
            x, P = A @ x, A @ P @ A.T + W
        gain = P @ H.T @ np.linalg.inv(H @ P @ H.T + Q)
        x, P = x + gain @ (z - H @ x), P - gain @ H @ P
        states.append(x)
    return np.array(states)


def kalman_model(x, Z, stretches, shrinkage):
    """A, W, H and Q by least squares, W from pairs of rows inside a stretch, and the covariance of the state."""
    pairs = [(t - 1, t) for rows in stretches for t in rows[1:]]
    past, present = x[[a for a, _ in pairs]], x[[b for _, b in pairs]]
    A, H = np.linalg.lstsq(past, present, rcond=None)[0].T, np.linalg.lstsq(x, Z, rcond=None)[0].T
    w, q = present - past @ A.T, Z - x @ H.T
    Q = sum(np.outer(row, row) for row in q) / len(q)
    Q = Q + shrinkage * np.mean(np.diag(Q)) * np.eye(len(Q))
    return A, sum(np.outer(row, row) for row in w) / len(w), H, Q, x.T @ x / len(x)


def kalman_state(y, stretches, forgetting):
    """The outputs, their running sum and their change in each stretch; the first change is the second."""
    total, change = np.zeros(y.shape), np.zeros(y.shape)
    for rows in stretches:
        for t in rows:
            total[t] = sum(forgetting ** (t - s) * y[s] for s in range(rows[0], t + 1))
            change[t] = y[max(t, rows[0] + 1)] - y[max(t, rows[0] + 1) - 1]
    return np.hstack([y, total, change])


def local_ratio(x, rows, ratios, k, own=None):
    """The mean of the ratios of the k rows nearest to x; rows of the mask `own` are no neighbors."""
    others = np.arange(len(rows)) if own is None else np.flatnonzero(~own)
    d = [((x - rows[j]) ** 2).sum() for j in others]
    return ratios[others[np.argsort(d)[:k]]].mean(axis=0)
