import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_score

from neurofs.features.samples import Samples
from neurofs.features.splits import BlockedKFold, overlap_audit


@pytest.fixture
def samples():
    return Samples.from_counts(np.zeros((60, 3)), n_lags=4)


def count_pairs(samples, train, test):
    """Every pair, one by one."""
    return sum(bool(samples.overlaps(i, j)) for i in train for j in test)


def test_every_sample_is_tested_once_and_nothing_overlaps(samples):
    tested = []
    for train, test in BlockedKFold(4).split(samples):
        assert count_pairs(samples, train, test) == overlap_audit(samples, train, test) == 0
        assert np.all(np.diff(test) == 1)
        tested.extend(test)
    assert sorted(tested) == list(range(len(samples)))


def test_the_gap_is_no_wider_than_the_window(samples):
    (train, test), *_ = BlockedKFold(3).split(samples)
    assert train[0] - test[-1] == 4


def test_audit_counts_the_pairs_of_a_shuffled_split(samples):
    train, test = next(KFold(5, shuffle=True, random_state=0).split(np.zeros(len(samples))))
    assert overlap_audit(samples, train, test) == count_pairs(samples, train, test) > 0


def test_audit_counts_pairs_in_any_order_and_with_masks(samples):
    rows = np.random.default_rng(0).permutation(len(samples))
    train, test = rows[:20], rows[20:]
    mask = np.zeros(len(samples), bool)
    mask[test] = True
    assert overlap_audit(samples, train, mask) == count_pairs(samples, train, test)


def test_trials_stay_whole(samples):
    trials = np.repeat(np.arange(19), 3)
    for train, test in BlockedKFold(5).split(samples, groups=trials):
        assert not set(trials[train]) & set(trials[test])
        assert overlap_audit(samples, train, test) == 0


def test_trials_apart_need_no_gap():
    rows = np.concatenate([np.arange(s + 2, s + 8) for s in range(0, 80, 10)])
    samples = Samples.from_counts(np.zeros((80, 2)), n_lags=3, rows=rows)
    trials = np.repeat(np.arange(8), 6)
    for train, test in BlockedKFold(4).split(samples, groups=trials):
        assert len(train) + len(test) == len(samples)
        assert overlap_audit(samples, train, test) == 0


def test_trials_follow_time_and_not_their_names(samples):
    trials = np.array(["late", "mid", "early"])[np.repeat([2, 0, 1], 19)]
    tests = [set(trials[test]) for _, test in BlockedKFold(3).split(samples, groups=trials)]
    assert tests == [{"early"}, {"late"}, {"mid"}]


def test_blocks_follow_the_starts_of_permuted_samples(samples):
    rows = np.random.default_rng(1).permutation(len(samples))
    for train, test in BlockedKFold(4).split(samples[rows]):
        assert overlap_audit(samples[rows], train, test) == 0
        assert np.ptp(rows[test]) == len(test) - 1


def test_smoothed_samples_get_a_wider_gap(samples):
    wide = Samples(samples.flat, samples.starts, samples.n_features, span=6 * 3)
    (train, test), *_ = BlockedKFold(3).split(wide)
    assert train[0] - test[-1] == 6


def test_runs_of_a_fold_are_spread_over_the_session(samples):
    folds = list(BlockedKFold(2, n_runs=3).split(samples))
    for train, test in folds:
        assert np.sum(np.diff(test) > 1) == 2
        assert overlap_audit(samples, train, test) == 0
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(len(samples)))


def test_works_inside_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    assert BlockedKFold(3).get_n_splits() == 3
    assert cross_val_score(LinearRegression(), X, X[:, 0], cv=BlockedKFold(3)).min() > 0.99


def test_wrong_use_is_explained(samples):
    with pytest.raises(ValueError, match="at least 2"):
        BlockedKFold(1)
    with pytest.raises(ValueError, match="at least 1"):
        BlockedKFold(2, n_runs=0)
    with pytest.raises(ValueError, match="at least 3 groups; found 2"):
        list(BlockedKFold(3).split(samples, groups=np.repeat([0, 1], [20, 37])))
    with pytest.raises(ValueError, match="each of 57 samples"):
        list(BlockedKFold(3).split(samples, groups=[0, 1]))
    with pytest.raises(ValueError, match="no training samples"):
        list(BlockedKFold(2).split(samples[:4]))
