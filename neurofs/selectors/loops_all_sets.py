"""Compiled loop of best-subset selection: the least-squares loss of every set of features.

Nothing is imported from other files of loops, because numba's cache does not see changes there.
"""

# mypy: disallow-untyped-defs=False

import numpy as np
from numba import njit


@njit(cache=True)
def _eliminate(table, column, first, dependent, out, root):
    """Write to `out` what a column leaves of the columns from `first` on, and its row of the factor to `root`.

    Where earlier columns leave less than `dependent` of it, it leaves them as they are; `root` is 0 then.
    """
    n = table.shape[0]
    pivot = table[column, column]
    scale = 1.0 / np.sqrt(pivot) if pivot > dependent else 0.0
    for a in range(column, n):
        root[a] = table[column, a] * scale
    for a in range(first, n):
        for b in range(first, n):
            out[a, b] = table[a, b] - root[a] * root[b]


@njit(cache=True)
def _held_out_loss(roots, columns, n_columns, n_features, held, b):
    """Return the sum of squared errors on held-out rows of the fit on the first so many of `columns`.

    The coefficients `b` of one target at a time follow from the rows of the factor, the last one first.
    """
    total = 0.0
    for t in range(n_features, roots.shape[1]):
        for i in range(n_columns - 1, -1, -1):
            b[i] = roots[i, t]
            for j in range(i + 1, n_columns):
                b[i] -= roots[i, columns[j]] * b[j]
            pivot = roots[i, columns[i]]
            b[i] = b[i] / pivot if pivot > 0.0 else 0.0
        total += held[t, t]
        for i in range(n_columns):
            total -= 2.0 * b[i] * held[columns[i], t]
            for j in range(n_columns):
                total += b[i] * b[j] * held[columns[i], columns[j]]
    return total


@njit(cache=True)
def try_all_sets(products, held, starts, dependent, margin, losses, best):
    """Find the best set of each size: losses[r] is its sum of squared errors, best[r] its groups as 0 or 1.

    `products` are those of all columns, features and then targets, at mean 0; group g has the columns from
    starts[g] to starts[g + 1]. `held`, the same of held-out rows, is empty where training rows are to say the loss.
    Sets are tried depth first in lexicographic order, and a later one must be better by more than `margin`.
    """
    n_groups, n_features, n = starts.shape[0] - 1, starts[-1], products.shape[0]
    tables, roots = np.empty((n_features + 1, n, n)), np.zeros((n_features, n))
    columns, b = np.empty(n_features, np.int64), np.empty(n_features)
    chosen, depth = np.empty(n_groups, np.int64), np.zeros(n_groups + 1, np.int64)
    tables[0] = products
    losses[:] = np.inf
    size, group = 0, 0
    while True:
        k = depth[size]
        loss = 0.0
        if held.shape[0] > 0:
            loss = _held_out_loss(roots, columns, k, n_features, held, b)
        else:
            for t in range(n_features, n):
                loss += tables[k, t, t]
        if loss < losses[size] - margin:
            losses[size] = loss
            best[size] = 0
            for s in range(size):
                best[size, chosen[s]] = 1
        while group == n_groups:
            if size == 0:
                return
            size -= 1
            group = chosen[size] + 1
        k = depth[size]
        for column in range(starts[group], starts[group + 1]):
            _eliminate(tables[k], column, column + 1, dependent, tables[k + 1], roots[k])
            columns[k] = column
            k += 1
        chosen[size] = group
        size, group = size + 1, group + 1
        depth[size] = k
