"""Compiled loop of boosted trees."""

# mypy: disallow-untyped-defs=False

from numba import njit


@njit(cache=True)
def add_leaves(X, roots, left, right, feature, threshold, value, out):
    """Add the value of the leaf that row i reaches in each tree to out[i]; children stand behind their parents."""
    for i in range(X.shape[0]):
        for root in roots:
            node = root
            while left[node] >= 0:
                node = left[node] if X[i, feature[node]] <= threshold[node] else right[node]
            out[i] += value[node]
