"""Compiled loops of the margin-based selectors: arrays in, arrays out.

Words and indices as in `metric.loops_neighbors`. Nothing is imported from there, because numba's cache does not
see changes in other files.
"""

# mypy: disallow-untyped-defs=False

import numpy as np
from numba import njit

# -------------------------------------------------------------------------------------------------- Relief


@njit(cache=True)
def add_differences(flat, starts, scale, rows, index, u, out):
    """out[f] += Σ_i Σ_r u_ir scale_f |x_rows[i],f − x_index[i, r],f|; ranks with u = 0 are passed over."""
    n = scale.shape[0]
    for i in range(rows.shape[0]):
        x = flat[starts[rows[i]] : starts[rows[i]] + n]
        for r in range(index.shape[1]):
            if u[i, r] != 0.0:
                row = flat[starts[index[i, r]] : starts[index[i, r]] + n]
                for f in range(n):
                    out[f] += u[i, r] * (scale[f] * abs(x[f] - row[f]))


# --------------------------------------------------------------------------------------------------- Simba


@njit(cache=True)
def _hit_and_miss(d, starts, groups, span, codes, i):
    """Return the nearest admissible row of the class of i and of any other class; −1 where there is none."""
    hit, miss = -1, -1
    for j in range(d.shape[0]):
        same = codes[j] == codes[i]
        best = hit if same else miss
        if best >= 0 and d[j] >= d[best]:
            continue
        if groups[j] == groups[i] or abs(starts[j] - starts[i]) < span:
            continue
        if same:
            hit = j
        else:
            miss = j
    return hit, miss


@njit(cache=True)
def _norm(flat, a, b, w):
    """√ Σ_f w_f² (flat[a + f] − flat[b + f])²."""
    total = 0.0
    for f in range(w.shape[0]):
        t = w[f] * (flat[a + f] - flat[b + f])
        total += t * t
    return np.sqrt(total)


@njit(cache=True)
def simba_step(flat, starts, groups, span, codes, i, d, sigmoid, beta, step, w):
    """Go one step up the gradient of u(θ_w) of row i, changing w; `d` are the distances of i to all rows.

    Δ_f = ½ u'(θ) [(x − nearmiss)_f² / ‖x − nearmiss‖_w − (x − nearhit)_f² / ‖x − nearhit‖_w] w_f, where
    θ = ½ (‖x − nearmiss‖_w − ‖x − nearhit‖_w), u' = 1 or that of 1 / (1 + exp(−β θ)). A row that has no hit
    or no miss changes nothing; a distance of zero has no slope.
    """
    hit, miss = _hit_and_miss(d, starts, groups, span, codes, i)
    if hit < 0 or miss < 0:
        return
    a, h, s = starts[i], starts[hit], starts[miss]
    to_miss, to_hit = _norm(flat, a, s, w), _norm(flat, a, h, w)
    rise = step
    if sigmoid:
        z = np.exp(-abs(0.5 * beta * (to_miss - to_hit)))
        rise *= beta * z / ((1.0 + z) * (1.0 + z))
    up = 0.5 * rise / to_miss if to_miss > 0.0 else 0.0
    down = 0.5 * rise / to_hit if to_hit > 0.0 else 0.0
    for f in range(w.shape[0]):
        x = flat[a + f]
        w[f] += (up * (x - flat[s + f]) ** 2 - down * (x - flat[h + f]) ** 2) * w[f]


# -------------------------------------------------------------------------------------------------- G-flip


@njit(cache=True)
def _least(row, first, last):
    """Return the least of row[first:last], by four minima at a time; inf if it is empty."""
    a = b = c = d = np.inf
    j = first
    while j + 4 <= last:
        a, b, c, d = min(a, row[j]), min(b, row[j + 1]), min(c, row[j + 2]), min(d, row[j + 3])
        j += 4
    while j < last:
        a = min(a, row[j])
        j += 1
    return min(min(a, b), min(c, d))


@njit(cache=True)
def margins(D, columns, sign, first, last, out):
    """out[i] = θ of row i under the distances D + sign · Σ_c (columns[c, i] − columns[c, j])².

    Rows are in the order of their classes: those from first[i] to last[i] are of the class of i. Pairs that
    may not be neighbors have D = inf. NaN where a row has no hit or no miss.
    """
    m = D.shape[0]
    for i in range(m):
        row = D[i].copy()
        for c in range(columns.shape[0]):
            column, x = columns[c], columns[c, i]
            for j in range(m):
                t = column[j] - x
                row[j] += sign * (t * t)
        hit = _least(row, first[i], last[i])
        miss = min(_least(row, 0, first[i]), _least(row, last[i], m))
        if hit == np.inf or miss == np.inf:
            out[i] = np.nan
        else:
            out[i] = 0.5 * (np.sqrt(max(miss, 0.0)) - np.sqrt(max(hit, 0.0)))


@njit(cache=True)
def shift_distances(D, columns, sign):
    """D[i, j] += sign · Σ_c (columns[c, i] − columns[c, j])²."""
    m = D.shape[0]
    for i in range(m):
        for c in range(columns.shape[0]):
            column, x = columns[c], columns[c, i]
            for j in range(m):
                t = column[j] - x
                D[i, j] += sign * (t * t)
