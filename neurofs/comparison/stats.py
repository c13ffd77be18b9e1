"""Statistics over folds: intervals, paired tests, wins, stability of the selection.

Folds share training data, so their scores are not independent. The variance of the mean of J folds is estimated as

    (1/J + ratio) · S²,      S² the variance of the scores over folds

instead of S²/J (`comparison.places` tells the ratio), and intervals and tests use Student's t with J − 1 degrees of
freedom.

An interval is to cover the mean of the score over sessions of the same kind and length, decoded in the same way: what a
new session would be expected to give. It knows of that what the folds of one session show, and no more.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import beta, t

from neurofs.comparison.summary import Count, Estimate

CONFIDENCE = 0.95


def estimate(values: Any, ratio: float, least: float = -np.inf, most: float = np.inf) -> Estimate:
    """Return the mean over folds with its 95 % interval; values lie between `least` and `most`.

    A score with one limit, as R² ≤ 1, is skewed away from it: a fold in which the target varies little may be far below
    the others, and most sessions do not happen to have one. Its interval is symmetric in the logarithm of the distance
    of the mean from the limit, log(1 − R²), and longer on the far side. Where there are two limits, the interval ends
    there at the latest.

    >>> {name: round(value, 3) for name, value in estimate([0.5, 0.6, 0.7], ratio=0.25)}
    {'mean': 0.6, 'low': 0.271, 'high': 0.929}
    >>> {name: round(value, 3) for name, value in estimate([0.5, 0.6, 0.7], ratio=0.25, most=1.0)}
    {'mean': 0.6, 'low': 0.09, 'high': 0.824}
    >>> estimate([0.5, 0.9], ratio=1.0, least=0.0, most=1.0)
    Estimate(mean=0.7, low=0.0, high=1.0)
    """
    values = np.asarray(values, float)
    values = values[np.isfinite(values)]
    if not values.size:
        return Estimate()
    mean = float(values.mean())
    if values.size == 1:
        return Estimate(mean=mean)
    half = float(t.ppf((1 + CONFIDENCE) / 2, values.size - 1) * standard_error(values, ratio))
    limit = most if np.isinf(least) else least
    distance = mean - limit
    if np.isinf(least) == np.isinf(most) or distance == 0:
        return Estimate(mean=mean, low=max(mean - half, least), high=min(mean + half, most))
    low, high = sorted(limit + distance * np.exp([-half / distance, half / distance]))
    return Estimate(mean=mean, low=float(low), high=float(high))


def widen_share(found: Estimate, n: int) -> Estimate:
    """Return the estimate of a share with an interval at least as wide as that of n independent draws.

    Folds that are all right, or all wrong, do not differ, which is no reason to be certain: the interval of Clopper and
    Pearson for as many trials holds what they leave open.

    >>> format(widen_share(Estimate(mean=1.0, low=1.0, high=1.0), 30).low, ".3f")
    '0.884'
    >>> widen_share(Estimate(mean=0.5, low=0.1, high=0.9), 30)
    Estimate(mean=0.5, low=0.1, high=0.9)
    """
    if found.mean is None or found.low is None or found.high is None:
        return found
    right, rest = found.mean * n, (1 - found.mean) * n
    low = beta.ppf((1 - CONFIDENCE) / 2, right, rest + 1) if right > 0 else 0.0
    high = beta.ppf((1 + CONFIDENCE) / 2, right + 1, rest) if rest > 0 else 1.0
    return Estimate(mean=found.mean, low=min(found.low, float(low)), high=max(found.high, float(high)))


def describe_counts(counts: Any) -> Count:
    """Return the median of counts and the range of 95 % of them.

    >>> describe_counts([3, 8, 5])
    Count(median=5, low=3, high=8)
    """
    low, median, high = np.percentile(counts, [2.5, 50, 97.5], method="nearest")
    return Count(median=median, low=low, high=high)


def standard_error(values: np.ndarray, ratio: float) -> float:
    """Return the standard error of a mean over folds that share training data."""
    return float(np.sqrt((1 / values.size + ratio) * values.var(ddof=1)))


def compare_paired(differences: Any, ratio: float) -> dict[str, float | None]:
    """Test whether paired differences over folds have mean 0 (Nadeau–Bengio corrected t-test, two-sided).

    The effect size is the mean difference in units of the standard deviation of the differences.

    >>> found = compare_paired([0.10, 0.12, 0.08, 0.11, 0.09], ratio=0.25)
    >>> round(found["p"], 4), round(found["effect_size"], 2)
    (0.0007, 6.32)
    """
    d = np.asarray(differences, float)
    d = d[np.isfinite(d)]
    if d.size < 2:
        return {"p": None, "effect_size": None}
    error = standard_error(d, ratio)
    if error == 0:
        return {"p": 1.0 if d.mean() == 0 else 0.0, "effect_size": None}
    p = 2 * t.sf(abs(d.mean()) / error, d.size - 1)
    return {"p": float(p), "effect_size": float(d.mean() / d.std(ddof=1))}


def correct_holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p-values corrected for their number by Holm's step-down method; None stays None.

    >>> correct_holm([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]
    """
    known = [(p, i) for i, p in enumerate(p_values) if p is not None]
    corrected: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, i) in enumerate(sorted(known)):
        largest = max(largest, min(1.0, p * (len(known) - rank)))
        corrected[i] = largest
    return corrected


def share_of_wins(ours: Any, theirs: Any) -> float:
    """Return the share of folds in which our error is smaller; ties count half.

    >>> share_of_wins([1.0, 2.0, 3.0, 4.0], [2.0, 2.0, 4.0, 3.0])
    0.625
    """
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    return float(np.mean(np.where(ours == theirs, 0.5, ours < theirs)))


def measure_stability(selected: Any) -> float | None:
    """Return Nogueira's index of the stability of a selection; None for one fold, or if all or nothing is selected.

    `selected` (folds, features) says what each fold selected. With p_f the share of folds that select f, and k̄
    the mean number selected of d,

        Φ = 1 − mean_f [M/(M−1) p_f (1−p_f)] / [(k̄/d) (1 − k̄/d)]

    is 1 if all folds select the same and about 0 for selections at random (Nogueira, Sechidis & Brown 2018). Their
    interval is for independent selections; folds share training data, so that none is given here.

    >>> measure_stability([[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0]])
    1.0
    """
    Z = np.asarray(selected, float)
    M, d = Z.shape
    share = Z.mean(axis=0)
    k = float(Z.sum(axis=1).mean())
    scale = k / d * (1 - k / d)
    if M < 2 or scale == 0:
        return None
    return 1 - float(np.mean(M / (M - 1) * share * (1 - share))) / scale


def find_best_size(sizes: Any, errors: Any, ratio: float) -> dict[str, int]:
    """Return the number of features with the least mean error, and the range that is not clearly worse.

    `errors` (folds, sizes). The range holds the sizes whose paired difference from the best one is within one
    corrected standard error.

    >>> find_best_size([1, 2, 4, 8], [[4, 2.0, 1.9, 3], [4, 1.8, 1.9, 3], [4, 1.9, 2.0, 3]], ratio=0.25)
    {'n': 2, 'low': 2, 'high': 4}
    """
    sizes, errors = np.asarray(sizes), np.asarray(errors, float)
    best = int(np.argmin(errors.mean(axis=0)))
    difference = errors - errors[:, [best]]
    slack = [standard_error(d, ratio) if len(d) > 1 else 0.0 for d in difference.T]
    close = np.flatnonzero(difference.mean(axis=0) <= slack)
    return {"n": int(sizes[best]), "low": int(sizes[close[0]]), "high": int(sizes[close[-1]])}
