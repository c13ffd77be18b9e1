"""Statistics against plain formulas and against simulation."""

import itertools

import numpy as np
import pytest
from scipy import stats as scipy_stats

from neurofs.comparison import stats
from neurofs.comparison.summary import Estimate


def test_without_overlap_the_corrected_test_is_the_paired_t_test():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=12), rng.normal(0.5, size=12)
    found = stats.compare_paired(a - b, ratio=0.0)
    assert found["p"] == pytest.approx(scipy_stats.ttest_rel(a, b).pvalue)


def test_the_correction_widens_by_the_published_factor():
    values = [0.1, 0.4, 0.3, 0.2, 0.6]
    plain, corrected = stats.estimate(values, 0.0), stats.estimate(values, 0.25)
    factor = np.sqrt((1 / 5 + 0.25) / (1 / 5))
    assert corrected.high - corrected.mean == pytest.approx(factor * (plain.high - plain.mean))


def test_an_interval_below_a_limit_is_symmetric_in_the_logarithm_of_the_distance():
    values = 1 - np.array([0.2, 0.3, 0.1, 0.6, 0.4])
    plain, r2 = stats.estimate(values, 0.25), stats.estimate(values, 0.25, most=1.0)
    half = (plain.high - plain.mean) / (1 - plain.mean)
    assert np.log(1 - np.array([r2.high, r2.mean, r2.low])) == pytest.approx(
        np.log(1 - r2.mean) + half * np.arange(-1, 2)
    )
    mse = stats.estimate(1 - values, 0.25, least=0.0)
    assert (mse.mean, mse.low, mse.high) == pytest.approx((1 - r2.mean, 1 - r2.high, 1 - r2.low))
    assert stats.estimate([1.0, 1.0], 0.25, most=1.0) == Estimate(mean=1.0, low=1.0, high=1.0)


def test_skewed_scores_of_folds_are_covered_more_often():
    """Shares of unexplained variance that are log-normal: R² far below the others in some folds, as in recordings."""
    rng = np.random.default_rng(0)
    r2 = 1 - np.exp(0.6 * rng.normal(size=(2000, 5)) - 0.5)
    truth = 1 - np.exp(0.6**2 / 2 - 0.5)
    found = {most: [stats.estimate(row, 0.0, most=most) for row in r2] for most in (np.inf, 1.0)}
    plain, log = (np.mean([one.low <= truth <= one.high for one in each]) for each in found.values())
    assert log > plain + 0.01
    assert log > 0.92


@pytest.mark.parametrize("share", [0.5, 0.97, 1.0])
def test_the_interval_of_an_accuracy_holds_what_few_trials_leave_open(share):
    """Five folds of six trials each, independent: the interval of folds alone is too narrow near 1, and none at 1."""
    rng = np.random.default_rng(0)
    folds = (rng.random((2000, 5, 6)) < share).mean(axis=2)
    found = [stats.widen_share(stats.estimate(one, 0.25, 0.0, 1.0), 30) for one in folds]
    assert np.mean([one.low <= share <= one.high for one in found]) >= 0.95
    assert all(one.low < one.high for one in found)


def test_a_share_of_integer_counts_has_the_interval_of_clopper_and_pearson():
    found = stats.widen_share(Estimate(mean=0.2, low=0.2, high=0.2), 20)
    exact = scipy_stats.binomtest(4, 20).proportion_ci(method="exact")
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high))


def test_estimate_leaves_out_what_is_not_defined():
    assert stats.estimate([np.nan, 0.5, 0.7], 0.2).mean == pytest.approx(0.6)
    assert stats.estimate([np.nan], 0.2) == Estimate()
    assert stats.estimate([0.5], 0.2) == Estimate(mean=0.5)


def test_holm_equals_the_definition():
    p = [0.01, 0.04, 0.03, 0.005]
    ordered = sorted(p)
    expected = {v: max(min(1, ordered[j] * (4 - j)) for j in range(i + 1)) for i, v in enumerate(ordered)}
    assert stats.correct_holm(p) == [pytest.approx(expected[v]) for v in p]


def test_stability_is_the_mean_pairwise_index_over_equal_sizes():
    """For selections of one size, Nogueira's index is Kuncheva's, averaged over pairs of folds."""
    rng = np.random.default_rng(1)
    d, k = 20, 5
    Z = np.zeros((6, d))
    for row in Z:
        row[rng.choice(d, k, replace=False)] = 1
    pairs = [((a @ b) / k - k / d) / (1 - k / d) for a, b in itertools.combinations(Z, 2)]
    assert stats.measure_stability(Z) == pytest.approx(np.mean(pairs))


def test_best_size_has_a_range_of_sizes_that_are_not_clearly_worse():
    errors = np.array([[3.0, 1.0, 1.1, 2.0], [3.2, 1.2, 1.1, 2.1], [3.1, 1.0, 1.05, 2.2]])
    assert stats.find_best_size([1, 5, 10, 20], errors, 0.25) == {"n": 5, "low": 5, "high": 10}
