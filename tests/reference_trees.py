"""Slow, obvious twins of decision trees and of EBFS: recursion as printed, nothing of the package."""

from collections import Counter
from fractions import Fraction
from itertools import pairwise
from math import comb, log2

import numpy as np

# A tree is a leaf, {"label"}, or {"label", "feature", "threshold" (None if nominal), "branches": {value: tree}}.


def entropy(labels):
    counts = Counter(labels)
    return -sum(n / len(labels) * log2(n / len(labels)) for n in counts.values())


def majority(labels):
    counts = Counter(labels)
    return min(counts, key=lambda label: (-counts[label], label))


def split(X, f, threshold):
    """Return the branch of every row: its value, or whether it is above the threshold."""
    return [x if threshold is None else bool(x > threshold) for x in X[:, f].tolist()]


def gain_and_split(y, branch):
    parts = [[label for label, b in zip(y, branch, strict=True) if b == value] for value in set(branch)]
    return entropy(y) - sum(len(part) / len(y) * entropy(part) for part in parts), entropy(branch)


def candidates(X, y, f, nominal, least):
    """Return the allowed test of a feature with the highest gain: (gain, split information, threshold)."""
    values = sorted(set(X[:, f].tolist()))
    cuts = [None] if nominal[f] else [(a + b) / 2 for a, b in pairwise(values)]
    found = []
    for cut in cuts:
        branch = split(X, f, cut)
        if sum(n >= least for n in Counter(branch).values()) >= 2:
            found.append((*gain_and_split(y, branch), cut))
    return max(found, key=lambda c: round(c[0], 12)) if found else None


def grow(X, y, values, nominal, order, ratio, least):
    """Return the tree of the rows; `values` are all values of every feature, `order` settles ties."""
    y, tree = list(y), {"label": majority(y), "n": len(y), "errors": len(y) - Counter(y)[majority(y)]}
    if len(set(y)) == 1 or len(y) < 2 * least:
        return tree
    tests = {f: candidates(X, y, f, nominal, least) for f in order}
    tests = {f: test for f, test in tests.items() if test}
    if not tests:
        return tree
    mean = np.mean([gain for gain, _, _ in tests.values()])
    able = [f for f, (gain, _, _) in tests.items() if not ratio or gain >= mean - 1e-3]
    f = max(able, key=lambda f: round(tests[f][0] / (tests[f][1] if ratio else 1.0), 11))
    threshold = tests[f][2]
    branch, branches = np.array(split(X, f, threshold)), {}
    for value in (False, True) if threshold is not None else values[f]:
        here = branch == value
        empty = {"label": tree["label"], "n": 0, "errors": 0}
        rest = (values, nominal, order, ratio, least)
        branches[value] = grow(X[here], np.array(y)[here], *rest) if here.any() else empty
    return {**tree, "feature": f, "threshold": threshold, "branches": branches}


def cut(tree, errors):
    """Return the tree with a leaf in place of every subtree that does not err less, and what it errs."""
    if "branches" not in tree:
        return tree, errors(tree)
    parts = {value: cut(branch, errors) for value, branch in tree["branches"].items()}
    below = sum(error for _, error in parts.values())
    if below < errors(tree) - 1e-3:
        return {**tree, "branches": {value: part for value, (part, _) in parts.items()}}, below
    return {key: tree[key] for key in ("label", "n", "errors")}, errors(tree)


def upper_limit(errors, n, confidence):
    """Return the p at which at most `errors` of n have the probability `confidence`, by bisection."""
    if errors >= n:
        return 1.0
    low, high = Fraction(0), Fraction(1)
    for _ in range(40):
        p = (low + high) / 2
        seen = sum(comb(n, e) * float(p) ** e * float(1 - p) ** (n - e) for e in range(errors + 1))
        low, high = (p, high) if seen > confidence else (low, p)
    return float(low)


def make_tree(X, y, *, order, nominal=0, ratio=True, least=2, confidence=None):
    values = [sorted(set(x.tolist())) for x in X.T]
    tree = grow(X, y, values, [len(v) <= nominal for v in values], order, ratio, least)
    tree = cut(tree, lambda node: node["errors"])[0]
    if confidence is not None:
        tree = cut(tree, lambda node: node["n"] * upper_limit(node["errors"], node["n"], confidence))[0]
    return tree


def count_nodes(tree):
    return 1 + sum(count_nodes(branch) for branch in tree.get("branches", {}).values())


def walk(tree, x):
    """Return the features that are tested on the way of one row, and the class at its end."""
    tested = []
    while "branches" in tree:
        tested.append(tree["feature"])
        value = split(x[None], tree["feature"], tree["threshold"])[0]
        if value not in tree["branches"]:
            break
        tree = tree["branches"][value]
    return tested, tree["label"]


# -------------------------------------------------------------------------------------------------- EBFS


def induce(X, y, features, folds, order_of, settings):
    """Return the mean accuracy and h (a dict) of a list of features; order_of(n) settles ties of n features."""
    h, accuracies = dict.fromkeys(features, 0.0), []
    for train, test in folds:
        tree = make_tree(X[train][:, features], y[train], order=order_of(len(features)), **settings)
        good, bad = [], []
        for i in test:
            tested, label = walk(tree, X[i, features])
            (good if label == y[i] else bad).append({features[f] for f in tested})
        for f in features:
            G = sum(f in path for path in good) / len(good) if good else 0.0
            F = sum(f in path for path in bad) / len(bad) if bad else 0.0
            h[f] += G - F
        accuracies.append(len(good) / len(test))
    return np.mean(accuracies), h


def ebfs(X, y, folds, order_of, settings, tolerance):
    """Return the sets that were visited, their accuracies and h, and the best set, the smallest of equal ones."""
    visited = []

    def go_on(features):
        accuracy, h = induce(X, y, features, folds, order_of, settings)
        visited.append((features, accuracy, h))
        worst = min(h.values())
        rest = [f for f in features if h[f] - worst > 1e-9]
        if rest and len(features) > 1 and accuracy >= max(a for _, a, _ in visited) - tolerance:
            go_on(rest)

    go_on(list(range(X.shape[1])))
    best = max(accuracy for _, accuracy, _ in visited)
    return visited, [features for features, accuracy, _ in visited if accuracy == best][-1]


# ------------------------------------------------------------------------------------------------ ReliefD


def reliefd(X, y, banned):
    """Mean of |difference| / range to the nearest misses minus that to the nearest hits, over all rows and ties."""
    ranges = np.ptp(X, axis=0)
    diff = np.abs(X[:, None] - X) / np.where(ranges > 0, ranges, 1.0)
    scores, used = np.zeros(X.shape[1]), 0
    for i in range(len(X)):
        near = {}
        for same in (True, False):
            rows = [j for j in range(len(X)) if not banned[i, j] and (y[j] == y[i]) == same]
            d = {j: diff[i, j].sum() for j in rows}
            near[same] = [j for j in rows if d[j] <= min(d.values()) + 1e-9]
        if near[True] and near[False]:
            scores += diff[i, near[False]].mean(axis=0) - diff[i, near[True]].mean(axis=0)
            used += 1
    return scores / used
