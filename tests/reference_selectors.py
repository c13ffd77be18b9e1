"""Slow, obvious twins of the selectors: NumPy only, float64, nothing of the package.

A sample is a row of an ordinary matrix. `banned` (rows, rows) says which pairs may not be neighbors.
"""

import numpy as np
import reference


def corrcoef(X, Y):
    out = np.zeros((Y.shape[1], X.shape[1]))
    for o in range(Y.shape[1]):
        for f in range(X.shape[1]):
            x, y = X[:, f] - X[:, f].mean(), Y[:, o] - Y[:, o].mean()
            scale = np.sqrt((x**2).sum() * (y**2).sum())
            out[o, f] = abs((x * y).sum()) / scale if scale > 1e-9 else 0.0
    return out


def bins(x, n_bins):
    edges = [np.quantile(x, q / n_bins) for q in range(1, n_bins)]
    return np.array([sum(value > edge for edge in edges) for value in x])


def information(a, b):
    total = 0.0
    for u in np.unique(a):
        for v in np.unique(b):
            both = np.mean((a == u) & (b == v))
            if both > 0:
                total += both * np.log2(both / (np.mean(a == u) * np.mean(b == v)))
    return total


def hit_and_miss(d, y, i, banned):
    hits = [j for j in range(len(y)) if y[j] == y[i] and not banned[i, j]]
    misses = [j for j in range(len(y)) if y[j] != y[i] and not banned[i, j]]
    nearest = [min(rows, key=lambda j: (d[j], j)) if rows else None for rows in (hits, misses)]
    return tuple(nearest)


def relief(X, y, banned):
    w = np.zeros(X.shape[1])
    D = reference.distances(X, X, np.ones(X.shape[1]))
    for i in range(len(X)):
        hit, miss = hit_and_miss(D[i], y, i, banned)
        if hit is not None and miss is not None:
            w += (X[i] - X[miss]) ** 2 - (X[i] - X[hit]) ** 2
    return w / (np.abs(w).max() or 1.0)


def ranges(X):
    span = X.max(axis=0) - X.min(axis=0)
    return np.where(span > 0, 1.0 / np.where(span > 0, span, 1.0), 0.0)


def relieff(X, y, k, banned):
    Z, m = X * ranges(X), len(X)
    w, p = np.zeros(X.shape[1]), {c: np.mean(y == c) for c in np.unique(y)}
    for i in range(m):
        d = np.abs(Z[i] - Z).sum(axis=1)
        for c in p:
            near = reference.nearest(d, k, banned[i] | (y != c))
            if near:
                diff = np.abs(Z[i] - Z[near]).mean(axis=0)
                w += -diff if c == y[i] else p[c] / (1 - p[y[i]]) * diff
    return w / m


def rrelieff(X, y, k, sigma, banned):
    Z, g = X * ranges(X), y / (np.ptp(y) or 1.0)
    total = target = 0.0
    feature, both = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for i in range(len(X)):
        near = reference.nearest(np.abs(Z[i] - Z).sum(axis=1), k, banned[i])
        weights = np.exp(-((np.arange(1, len(near) + 1) / sigma) ** 2))
        for j, u in zip(near, weights / weights.sum(), strict=True):
            diff, differ = np.abs(Z[i] - Z[j]), abs(g[i] - g[j])
            total, target = total + u, target + u * differ
            feature, both = feature + u * diff, both + u * diff * differ
    return both / target - (feature - both) / (total - target)


def margin(X, y, w, i, banned):
    """θ_w of one row, or NaN."""
    d = reference.distances(X[i : i + 1], X, w)[0]
    hit, miss = hit_and_miss(d, y, i, banned)
    return np.nan if hit is None or miss is None else 0.5 * (np.sqrt(d[miss]) - np.sqrt(d[hit]))


def utility(theta, kind, beta):
    if kind == "linear":
        return theta
    return float(theta > 0) if kind == "zero-one" else 1 / (1 + np.exp(-beta * theta))


def evaluation(X, y, w, kind, beta, banned):
    values = [margin(X, y, w, i, banned) for i in range(len(X))]
    return sum(utility(v, kind, beta) for v in values if not np.isnan(v))


def simba(X, y, order, kind, beta, step, banned):
    """One epoch from unit weights, at max |w| = 1."""
    w = np.ones(X.shape[1])
    for i in order:
        d = reference.distances(X[i : i + 1], X, w)[0]
        hit, miss = hit_and_miss(d, y, i, banned)
        if hit is None or miss is None:
            continue
        to_miss, to_hit = np.sqrt(d[miss]), np.sqrt(d[hit])
        slope = 1.0
        if kind == "sigmoid":
            u = utility(0.5 * (to_miss - to_hit), kind, beta)
            slope = beta * u * (1 - u)
        up = (X[i] - X[miss]) ** 2 / to_miss if to_miss > 0 else 0.0
        down = (X[i] - X[hit]) ** 2 / to_hit if to_hit > 0 else 0.0
        w = w + step * 0.5 * slope * (up - down) * w
    return np.abs(w) / np.abs(w).max()


def gflip(X, y, orders, kind, beta, banned, chosen):
    """Passes in the given orders until one changes nothing."""
    chosen = chosen.copy()
    for n_passes, order in enumerate(orders, 1):
        before = chosen.copy()
        for f in order:
            e = evaluation(X, y, chosen.astype(float), kind, beta, banned)
            chosen[f] = not chosen[f]
            gain = evaluation(X, y, chosen.astype(float), kind, beta, banned) - e
            if not gain > 1e-9 * max(abs(e), abs(e + gain)):
                chosen[f] = not chosen[f]
        if (before == chosen).all():
            return chosen, n_passes
    raise AssertionError("more passes than orders")


def soft_knn_loss(X, Y, features, k, beta, adaptive, banned):
    """Leave-one-out MSE in units of the variance; 1 for no feature."""
    Y = (Y - Y.mean(axis=0)) / Y.std(axis=0)
    if not len(features):
        return (Y**2).mean()
    D = reference.distances(X[:, features], X[:, features], np.ones(len(features)))
    return np.nanmean((Y - reference.soft_knn(D, Y, k, beta, adaptive, banned)) ** 2)


def search(loss, units, score, forward, size=None):
    """Greedy search over lists of features; returns the units in the order of their steps."""
    chosen = [] if forward else list(range(len(units)))
    features = lambda c: sorted(f for u in c for f in units[u])  # noqa: E731
    value, path = score(loss(features(chosen)), len(features(chosen))), []
    while True:
        others = [u for u in range(len(units)) if u not in chosen] if forward else list(chosen)
        if (size is not None and len(chosen) == size) or not others or (not forward and len(chosen) == 1):
            return chosen, path
        sets = [[*chosen, u] if forward else [c for c in chosen if c != u] for u in others]
        values = [score(loss(features(s)), len(features(s))) for s in sets]
        best = int(np.argmin(values))
        worse = values[best] >= value if forward else values[best] > value
        if size is None and chosen and worse:
            return chosen, path
        chosen, value = sets[best], values[best]
        path.append(others[best])
