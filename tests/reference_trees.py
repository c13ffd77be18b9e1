"""A slow, obvious EBFS: recursion as printed, every path walked by hand; only the trees are scikit-learn's."""

import numpy as np
from sklearn.tree import DecisionTreeClassifier


def walk(tree, x):
    """Return the features that are tested on the way of one row, and the class at its end."""
    t, node, tested = tree.tree_, 0, []
    while t.children_left[node] != -1:
        tested.append(int(t.feature[node]))
        goes_left = np.float32(x[t.feature[node]]) <= t.threshold[node]
        node = int(t.children_left[node] if goes_left else t.children_right[node])
    return tested, tree.classes_[np.argmax(t.value[node][0])]


def induce(X, y, features, folds, alpha, seed):
    """Return the mean accuracy and h (a dict) of a list of features."""
    h, accuracies = dict.fromkeys(features, 0.0), []
    for train, test in folds:
        tree = DecisionTreeClassifier(ccp_alpha=alpha, random_state=seed)
        tree.fit(X[train][:, features], y[train])
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


def ebfs(X, y, folds, alpha, seed, tolerance):
    """Return the sets that were visited, their accuracies, and the best set, the smallest of equal ones."""
    visited = []

    def go_on(features):
        accuracy, h = induce(X, y, features, folds, alpha, seed)
        visited.append((features, accuracy))
        worst = min(h.values())
        rest = [f for f in features if h[f] - worst > 1e-9]
        if rest and len(features) > 1 and accuracy >= max(a for _, a in visited) - tolerance:
            go_on(rest)

    go_on(list(range(X.shape[1])))
    best = max(accuracy for _, accuracy in visited)
    return visited, [features for features, accuracy in visited if accuracy == best][-1]
