"""Slow twins of `comparison.significance` and `comparison.tuning`: explicit projections, shifts, sums. NumPy only."""

import numpy as np


def project_off(given, values):
    """What a least-squares fit on a constant and the given columns leaves of values."""
    columns = np.column_stack([np.ones(len(values)), given])
    return values - columns @ np.linalg.lstsq(columns, values, rcond=None)[0]


def pillai(X, T):
    """Σ squared canonical correlations of centered X and T."""
    told = X @ np.linalg.lstsq(X, T, rcond=None)[0]
    return float(np.trace(np.linalg.lstsq(T.T @ T, told.T @ told, rcond=None)[0]))


def cosines(m, n):
    return np.array([[np.cos(np.pi * k * (i + 0.5) / m) for k in range(1, n + 1)] for i in range(m)])


def tuned(windows, targets, given, rows):
    """V of one channel's windows (rows, lags) with the targets taken from other rows, one V for each entry of rows."""
    X, left = project_off(given, windows), project_off(given, targets)
    return np.array([pillai(X, project_off(given, left[at])) for at in rows])


def adds(windows, others, targets, given, rows, before):
    """V given all others too, with the channel's windows, free of the columns `before`, taken from other rows."""
    all_given = np.column_stack([given, others])
    own, left = project_off(before, windows), project_off(all_given, targets)
    return np.array([pillai(project_off(all_given, own[at]), left) for at in rows])


def p_values(strength, near):
    """The place of each channel (channels, 1 + shifts) among all shifts of all channels, and that of the strongest."""
    roots = np.cbrt(strength)
    z, null = [], []
    for row in roots:
        real, shifted = row[0], row[1:]
        z.append((real - shifted.mean()) / shifted.std())
        n = len(shifted)
        null.append([])
        for k in range(n):
            far = [j for j in range(n) if min((j - k) % n, (k - j) % n) > near]
            null[-1].append((shifted[k] - shifted[far].mean()) / shifted[far].std())
    each = [place_among(one, [value for row in null for value in row]) for one in z]
    return np.array(each), place_among(max(z), [max(of_shift) for of_shift in zip(*null, strict=True)])


def place_among(value, others):
    """The p-value of a value among others."""
    return (1 + sum(other >= value for other in others)) / (1 + len(others))


def profile(counts, targets, given):
    """R² of counts (rows, lags) at each lag, regressed on the targets, both without what is given."""
    C, T = project_off(given, counts), project_off(given, targets)
    left = project_off(T, C)
    return 1 - (left**2).sum(axis=0) / (C**2).sum(axis=0)


def average_in_clusters(rate, group, cluster, n_groups):
    """Mean rate of each group, and its standard error over clusters, sample by sample."""
    means, errors = [], []
    for g in range(n_groups):
        rows = [i for i in range(len(rate)) if group[i] == g]
        mean = sum(rate[i] for i in rows) / len(rows) if rows else np.nan
        used = sorted({int(cluster[i]) for i in rows})
        sums = [sum(rate[i] - mean for i in rows if cluster[i] == c) for c in used]
        error = np.nan
        if len(used) > 1:
            error = np.sqrt(len(used) / (len(used) - 1) * sum(s**2 for s in sums)) / len(rows)
        means.append(mean)
        errors.append(error)
    return np.array(means), np.array(errors)
