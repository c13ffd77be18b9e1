"""Compiled loops of decision trees: growing by information gain or gain ratio, and sending rows through.

A tree is a few arrays with one entry per node. feature[n] is the feature that node n tests, −1 for a leaf. The
branches of a test are the nodes child[n], child[n] + 1, …: one for every value of a nominal feature, whose values
are 0, 1, …, and two for a number, up to and above threshold[n]. Nodes stand after their parents. label[n] is the
most frequent class, the first of equals; of a node that no row reached it is that of its parent.
"""

# mypy: disallow-untyped-defs=False

import numpy as np
from numba import njit

ALIKE = 1e-12  # difference below which two gains are the same
SLACK = 1e-3  # by how much a gain may be below the mean gain to be considered, as in C4.5


@njit(cache=True)
def tabulate(m):
    """Return n log2 n for n = 0 … m: entropies of counts are differences of these, divided by their sum."""
    out = np.zeros(m + 1)
    for n in range(2, m + 1):
        out[n] = n * np.log2(n)
    return out


@njit(cache=True)
def _surprise(counts, log):
    """Return the entropy of counts times their sum, in bits; `log` is that of `tabulate`."""
    total, out = 0, 0.0
    for c in counts:
        total += c
        out -= log[c]
    return out + log[total]


@njit(cache=True)
def score_nominal(x, y, n_values, n_classes, log, least):
    """Return gain and split information of one branch per value; −1, 0 unless two have at least `least` rows."""
    table, sizes, whole = np.zeros((n_values, n_classes), np.int64), np.zeros(n_values, np.int64), np.bincount(y)
    for r in range(x.shape[0]):
        table[int(x[r]), y[r]] += 1
        sizes[int(x[r])] += 1
    if (sizes >= least).sum() < 2:
        return -1.0, 0.0
    gain = _surprise(whole, log)
    for value in range(n_values):
        gain -= _surprise(table[value], log)
    return max(gain / x.shape[0], 0.0), _surprise(sizes, log) / x.shape[0]


@njit(cache=True)
def score_number(x, y, n_classes, log, least):
    """Return gain, split information and threshold of the cut with the highest gain, the first of equals.

    −1, 0, 0 unless both sides can have at least `least` rows.
    """
    order, m = np.argsort(x), x.shape[0]
    below, above = np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64)
    for r in range(m):
        above[y[r]] += 1
    whole = _surprise(above, log)
    best, at = -1.0, 0
    for a in range(1, m - least + 1):
        below[y[order[a - 1]]] += 1
        above[y[order[a - 1]]] -= 1
        if a >= least and x[order[a - 1]] < x[order[a]]:
            gain = max((whole - _surprise(below, log) - _surprise(above, log)) / m, 0.0)
            if gain > best + ALIKE:
                best, at = gain, a
    if at == 0:
        return -1.0, 0.0, 0.0
    low, high = x[order[at - 1]], x[order[at]]
    threshold = low + (high - low) / 2
    if threshold >= high:  # neighbors among floating-point numbers
        threshold = low
    return best, (log[m] - log[at] - log[m - at]) / m, threshold


@njit(cache=True)
def _best_test(X, y, rows, n_values, n_classes, log, order, use_ratio, least):
    """Return the feature to test, −1 for none, and its threshold; among equals the first in `order`."""
    n = order.shape[0]
    gain, info, threshold = np.full(n, -1.0), np.zeros(n), np.zeros(n)
    labels = y[rows]
    for f in order:
        x = X[rows, f]
        if n_values[f] > 0:
            gain[f], info[f] = score_nominal(x, labels, n_values[f], n_classes, log, least)
        else:
            gain[f], info[f], threshold[f] = score_number(x, labels, n_classes, log, least)
    allowed = gain >= 0
    if not allowed.any():
        return -1, 0.0
    mean = gain[allowed].mean()
    best, chosen = -1.0, -1
    for f in order:
        if not allowed[f] or (use_ratio and gain[f] < mean - SLACK):
            continue
        score = gain[f] / info[f] if use_ratio else gain[f]
        if score > best + ALIKE:
            best, chosen = score, f
    return chosen, threshold[chosen]


@njit(cache=True)
def _branch(x, n_values, threshold):
    """Return the number of the branch that a value takes."""
    return int(x) if n_values > 0 else int(x > threshold)


@njit(cache=True)
def grow(X, y, n_values, n_classes, order, use_ratio, least, feature, threshold, child, counts, label):
    """Grow a tree on all rows, and return how many nodes it has.

    n_values[f] is how many values a nominal feature has, 0 for a number. A node is a leaf if it is pure, has fewer
    than 2 · least rows, or no feature with two branches of `least` rows. Otherwise it tests the feature with the
    highest gain, or the highest gain ratio (gain / split information) among those of at least the mean gain.
    """
    m = X.shape[0]
    rows, begin, end = np.arange(m), np.zeros(feature.shape[0], np.int64), np.zeros(feature.shape[0], np.int64)
    end[0], n_nodes, node, log = m, 1, 0, tabulate(m)
    for i in range(m):
        counts[0, y[i]] += 1
    label[0] = np.argmax(counts[0])
    while node < n_nodes:
        here = rows[begin[node] : end[node]].copy()
        feature[node] = -1
        if counts[node].max() < here.shape[0] and here.shape[0] >= 2 * least:
            f, cut = _best_test(X, y, here, n_values, n_classes, log, order, use_ratio, least)
            feature[node], threshold[node] = f, cut
        if feature[node] >= 0:
            f, at, child[node] = feature[node], begin[node], n_nodes
            for b in range(max(n_values[f], 2)):
                begin[n_nodes] = at
                for i in here:
                    if _branch(X[i, f], n_values[f], threshold[node]) == b:
                        rows[at] = i
                        counts[n_nodes, y[i]] += 1
                        at += 1
                end[n_nodes] = at
                label[n_nodes] = np.argmax(counts[n_nodes]) if at > begin[n_nodes] else label[node]
                n_nodes += 1
        node += 1
    return n_nodes


@njit(cache=True)
def prune(feature, child, n_branches, errors, estimated):
    """Turn nodes into leaves, from the bottom, whose branches together are not expected to err less.

    errors[n] is what is expected of node n as a leaf. Writes what is expected of every node as it is then.
    """
    for node in range(feature.shape[0] - 1, -1, -1):
        estimated[node] = errors[node]
        if feature[node] >= 0:
            below = 0.0
            for b in range(n_branches[node]):
                below += estimated[child[node] + b]
            if below < errors[node] - SLACK:
                estimated[node] = below
            else:
                feature[node] = -1


@njit(cache=True)
def send(X, n_values, feature, threshold, child, leaves, tested):
    """Send rows through a tree: write the node where each one ends, and the features that its path tests.

    A value that no row of growing had, −1, ends the path at its node.
    """
    for i in range(X.shape[0]):
        node = 0
        while feature[node] >= 0:
            f = feature[node]
            tested[i, f] = True
            if n_values[f] > 0 and X[i, f] < 0:
                break
            node = child[node] + _branch(X[i, f], n_values[f], threshold[node])
        leaves[i] = node
