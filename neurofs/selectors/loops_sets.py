"""Compiled loops over sets of features, packed into bits: arrays in, arrays out.

A *conflict* is a pair of rows of different classes; its bits say which features differ between the two, and so
cover it. Bit f of a set is bit ``f % 64`` of word ``f // 64``. Equal conflicts are kept once, with their number
in ``weights``. A set of features is sufficient when the conflicts that it does not cover weigh at most
``allowed``. Nothing is imported from other files of loops, because numba's cache does not see changes there.
"""

# mypy: disallow-untyped-defs=False

import numpy as np
from numba import njit

ONE = np.uint64(1)
M1 = np.uint64(0x5555555555555555)
M2 = np.uint64(0x3333333333333333)
M4 = np.uint64(0x0F0F0F0F0F0F0F0F)
H01 = np.uint64(0x0101010101010101)
S1, S2, S4, S56 = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)


@njit(cache=True)
def count_bits(word):
    """Return the number of ones of a word: pairs, then fours, then bytes are summed side by side."""
    word = word - ((word >> S1) & M1)
    word = (word & M2) + ((word >> S2) & M2)
    word = (word + (word >> S4)) & M4
    return np.int64((word * H01) >> S56)


@njit(cache=True)
def _has(bits, f):
    """Return whether feature f is in a set."""
    return (bits[f >> 6] >> np.uint64(f & 63)) & ONE != 0


@njit(cache=True)
def _add(bits, f):
    """Put feature f into a set."""
    bits[f >> 6] |= ONE << np.uint64(f & 63)


@njit(cache=True)
def _meets(a, b):
    """Return whether two sets have a feature in common."""
    common = np.uint64(0)
    for word in range(a.shape[0]):
        common |= a[word] & b[word]
    return common != 0


@njit(cache=True)
def set_sizes(sets, out):
    """out[a] = number of features of set a."""
    for a in range(sets.shape[0]):
        out[a] = 0
        for word in range(sets.shape[1]):
            out[a] += count_bits(sets[a, word])


# ---------------------------------------------------------------------------------------------- conflicts


@njit(cache=True)
def pack_conflicts(codes, classes, first, last, out):
    """Write the conflicts of rows first … last − 1 with all later rows to `out`; return their number.

    `codes` is (rows, features); pairs come in the order of their rows.
    """
    size = 0
    for i in range(first, last):
        for j in range(i + 1, codes.shape[0]):
            if classes[i] != classes[j]:
                out[size] = 0
                for f in range(codes.shape[1]):
                    if codes[i, f] != codes[j, f]:
                        _add(out[size], f)
                size += 1
    return size


@njit(cache=True)
def leaves_at_most(conflicts, weights, chosen, allowed):
    """Return whether the conflicts that `chosen` does not cover weigh at most `allowed`: a sufficiency test."""
    left = 0
    for a in range(conflicts.shape[0]):
        if not _meets(conflicts[a], chosen):
            left += weights[a]
            if left > allowed:
                return False
    return True


@njit(cache=True)
def pay_features(conflicts, weights, chosen, sole, paid):
    """Let each uncovered conflict pay 1 / (features that cover it − 1) to each of those features.

    A conflict that one feature alone covers adds to ``sole`` of it, where the payment would be infinite.
    """
    sole[:], paid[:] = 0, 0.0
    for a in range(conflicts.shape[0]):
        if _meets(conflicts[a], chosen):
            continue
        size = 0
        for word in conflicts[a]:
            size += count_bits(word)
        share = weights[a] / max(size - 1, 1)
        for word in range(conflicts.shape[1]):
            bits = conflicts[a, word]
            while bits:
                lower = bits & (bits - ONE)  # without the lowest bit
                f = 64 * word + count_bits((bits ^ lower) - ONE)
                if size == 1:
                    sole[f] += weights[a]
                else:
                    paid[f] += share
                bits = lower


# ------------------------------------------------------------------------------------------------ FOCUS-1


@njit(cache=True)
def search_size(conflicts, weights, n_features, allowed, subset, n_most):
    """Test sets of one size in lexicographic order, from `subset` on, at most `n_most` of them.

    Return (tests made, 1 found / 0 more to test / −1 none of this size); `subset` is the set found, or the
    next one to test.
    """
    r, n_tests = subset.shape[0], 0
    chosen = np.zeros(conflicts.shape[1], np.uint64)
    while n_tests < n_most:
        chosen[:] = 0
        for f in subset:
            _add(chosen, f)
        n_tests += 1
        if leaves_at_most(conflicts, weights, chosen, allowed):
            return n_tests, 1
        at = r - 1
        while at >= 0 and subset[at] == n_features - r + at:
            at -= 1
        if at < 0:
            return n_tests, -1
        subset[at] += 1
        for later in range(at + 1, r):
            subset[later] = subset[later - 1] + 1
    return n_tests, 0


# ------------------------------------------------------------------------------------------------ FOCUS-2


@njit(cache=True)
def _branch(conflicts, weights, inside, outside, allowed, union):
    """Find features of which a sufficient set that contains `inside` and avoids `outside` must have one.

    Conflicts that nothing but `union` can still cover weigh more than `allowed` together. It starts with the
    uncovered conflict of fewest features outside of `outside`, and takes in the one that adds fewest until
    that is so; with nothing allowed to be left, the first is enough. Empty where no set is sufficient.
    """
    n_words = conflicts.shape[1]
    union[:] = 0
    while True:
        least, best, lost = 64 * n_words + 1, -1, 0
        for a in range(conflicts.shape[0]):
            if _meets(conflicts[a], inside):
                continue
            size = 0
            for word in range(n_words):
                size += count_bits(conflicts[a, word] & ~outside[word] & ~union[word])
            if size == 0:
                lost += weights[a]
                if lost > allowed:
                    return
            elif size < least:
                least, best = size, a
        if best < 0:
            return
        for word in range(n_words):
            union[word] |= conflicts[best, word] & ~outside[word]
        if lost + weights[best] > allowed:
            return


@njit(cache=True)
def expand_space(conflicts, weights, quick, quick_weights, n_features, allowed, spaces, n_most, out):
    """Branch on every space of `spaces` (spaces, 2, words): the sets that contain [0] and avoid [1].

    Sets one larger are tested as they come; each opens a space, written to `out`. `quick` are the conflicts in
    the order in which a test fails soonest. Return (spaces written, tests made, found); the found set is the
    last one written. It stops at `n_most` tests.
    """
    size = n_tests = 0
    union = np.zeros(conflicts.shape[1], np.uint64)
    for s in range(spaces.shape[0]):
        _branch(conflicts, weights, spaces[s, 0], spaces[s, 1], allowed, union)
        out_of = spaces[s, 1].copy()
        for f in range(n_features):
            if not _has(union, f):
                continue
            if n_tests == n_most:
                return size, n_tests, False
            out[size, 0], out[size, 1] = spaces[s, 0], out_of
            _add(out[size, 0], f)
            _add(out_of, f)
            size += 1
            n_tests += 1
            if leaves_at_most(quick, quick_weights, out[size - 1, 0], allowed):
                return size, n_tests, True
    return size, n_tests, False


# --------------------------------------------------------------------------------------------- partitions


@njit(cache=True)
def split_scores(codes, levels, cell, classes, weighed, table, left, entropy):
    """Score every feature as the next one to split the rows by, in one pass over the rows each.

    `codes` (features, rows) have values below `levels`, one number per feature; ``cell`` is the part a row is
    in so far. left[f] = pairs of different classes that stay in one part; entropy[f] = Σ T log T − Σ n log n
    over parts, with ``weighed[t] = t log2 t``. `table` (cells · largest level, classes + 1) is zero before and
    after.
    """
    total = table.shape[1] - 1
    for f in range(codes.shape[0]):
        pairs, sum_ = 0, 0.0
        for j in range(codes.shape[1]):
            part = cell[j] * levels[f] + codes[f, j]
            all_, own = table[part, total], table[part, classes[j]]
            pairs += all_ - own
            sum_ += weighed[all_ + 1] - weighed[all_] - weighed[own + 1] + weighed[own]
            table[part, total] += 1
            table[part, classes[j]] += 1
        left[f], entropy[f] = pairs, sum_
        for j in range(codes.shape[1]):
            part = cell[j] * levels[f] + codes[f, j]
            table[part, total] = 0
            table[part, classes[j]] = 0
