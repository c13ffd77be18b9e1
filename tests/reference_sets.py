"""Slow, obvious twins of the consistency selectors and of beam search: NumPy and loops, nothing of the package."""

from itertools import combinations

import numpy as np


def conflicts(X, y):
    """Every pair of rows of different classes, as the list of features in which they differ."""
    return [
        [f for f in range(X.shape[1]) if X[i, f] != X[j, f]] for i, j in combinations(range(len(X)), 2) if y[i] != y[j]
    ]


def count_uncovered(pairs, features):
    return sum(not set(pair) & set(features) for pair in pairs)


def smallest_size(X, y, tolerance=0.0):
    """Size of the smallest set that leaves at most a share of the conflicts, by trying all sets."""
    pairs = conflicts(X, y)
    allowed = int(tolerance * len(pairs) + 1e-6)
    for size in range(X.shape[1] + 1):
        for features in combinations(range(X.shape[1]), size):
            if count_uncovered(pairs, features) <= allowed:
                return size
    return None


def entropy(X, y, features):
    """Entropy of the class that is left, given the values of some features, in bits."""
    total, rows = 0.0, [tuple(row) for row in X[:, features]]
    for key in set(rows):
        inside = y[[row == key for row in rows]]
        p = np.array([np.mean(inside == c) for c in set(inside.tolist())])
        total -= len(inside) / len(y) * (p * np.log2(p)).sum()
    return total


def greedy(X, y, score, tolerance=0.0):
    """Add the feature of the highest score, the first of equals, until few enough conflicts are left."""
    pairs, chosen = conflicts(X, y), []
    while count_uncovered(pairs, chosen) > int(tolerance * len(pairs) + 1e-6):
        others = [f for f in range(X.shape[1]) if f not in chosen]
        chosen.append(max(others, key=lambda f: (score(pairs, chosen, f), -f)))
    return chosen


def covered_by(pairs, chosen, f):
    return count_uncovered(pairs, chosen) - count_uncovered(pairs, [*chosen, f])


def paid_to(pairs, chosen, f):
    """Number of conflicts that f alone covers, and what the others pay."""
    left = [pair for pair in pairs if not set(pair) & set(chosen) and f in pair]
    return sum(len(pair) == 1 for pair in left), round(sum(1 / (len(p) - 1) for p in left if len(p) > 1), 9)


def beam(n_groups, width, loss, largest=None):
    """Beam search that measures every set afresh: yield (size, sets of the beam, their losses).

    Losses equal to 9 digits are equal; among equals the set that was made first wins.
    """
    sets, size = [()], 0
    while size < (largest or n_groups):
        size += 1
        made = []
        for chosen in sets:
            for group in range(n_groups):
                if group not in chosen and not any({*chosen, group} == set(old) for old in made):
                    made.append((*chosen, group))
        losses = [round(loss(chosen), 9) for chosen in made]
        best = sorted(range(len(made)), key=lambda at: (losses[at], at))[:width]
        sets = [made[at] for at in best]
        yield size, sets, [losses[at] for at in best]
