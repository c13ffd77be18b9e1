"""Compiled loop of learning vector quantization."""

# mypy: disallow-untyped-defs=False

import numpy as np
from numba import njit


@njit(cache=True)
def _two_nearest(prototypes, x):
    """Return the two prototypes nearest to x, the first of equals, and their squared distances."""
    first, second, least, next_least = 0, -1, np.inf, np.inf
    for q in range(prototypes.shape[0]):
        d = 0.0
        for f in range(x.shape[0]):
            d += (x[f] - prototypes[q, f]) ** 2
        if d < least:
            second, next_least = first, least
            first, least = q, d
        elif d < next_least:
            second, next_least = q, d
    return first, second, least, next_least


@njit(cache=True)
def _move(prototype, x, step):
    """Move a prototype towards x, away from it if the step is negative."""
    for f in range(x.shape[0]):
        prototype[f] += step * (x[f] - prototype[f])


@njit(cache=True)
def adapt(X, y, order, rates, labels, window, prototypes):
    """Show rows X[order[t]] to the prototypes, which move with the rate rates[t].

    window = 0 is LVQ1: the nearest prototype is attracted if its label is the row's, and else repelled. window > 0
    is LVQ2.1: if one of the two nearest is of the row's class and the other is not, and the ratio of their distances
    is above (1 − window) / (1 + window), both move so.
    """
    narrow = ((1.0 - window) / (1.0 + window)) ** 2
    for t in range(order.shape[0]):
        x, label = X[order[t]], y[order[t]]
        a, b, near, far = _two_nearest(prototypes, x)
        if window == 0.0:
            _move(prototypes[a], x, rates[t] if labels[a] == label else -rates[t])
        elif b >= 0 and (labels[a] == label) != (labels[b] == label) and near > narrow * far:
            _move(prototypes[a], x, rates[t] if labels[a] == label else -rates[t])
            _move(prototypes[b], x, rates[t] if labels[b] == label else -rates[t])
