"""Best-subset selection against all fits by numpy.linalg.lstsq, and what it refuses."""

from itertools import chain, combinations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from neurofs.features.samples import Samples
from neurofs.features.splits import overlap_audit, split_off
from neurofs.selectors import BestSubset, ForwardSelection


def draw(seed, m=50, n=5, outputs=1):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(m, n)) @ rng.normal(size=(n, n)) + 3.0).astype(np.float32).astype(float)
    Y = X[:, :2] @ rng.normal(size=(2, outputs)) + rng.normal(size=(m, outputs))
    return X, Y.squeeze()


def measure(X, y, features, train, test):
    """Loss of least squares with intercept, in units of the variance of the training rows."""
    A = np.column_stack([np.ones(len(X)), X[:, list(features)]])
    Y = np.asarray(y, float).reshape(len(y), -1)
    Y = (Y - Y[train].mean(axis=0)) / np.where(Y[train].std(axis=0) > 0, Y[train].std(axis=0), 1.0)
    w = np.linalg.lstsq(A[train], Y[train], rcond=None)[0]
    return ((Y[test] - A[test] @ w) ** 2).mean()


def brute_force(X, y, groups, train, test):
    """The loss and the set of the best of each size, the first of equals."""
    labels = sorted(set(groups))
    losses, sets = [], []
    for size in range(len(labels) + 1):
        tried = list(combinations(labels, size))
        found = [measure(X, y, np.flatnonzero(np.isin(groups, chosen)), train, test) for chosen in tried]
        best = int(np.argmin(np.round(found, 9)))
        losses.append(found[best])
        sets.append(tried[best])
    return np.array(losses), sets


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("score", ["bic", "validation"])
@pytest.mark.parametrize("seed", range(3))
def test_equal_to_all_fits(seed, score, grouped, outputs):
    X, y = draw(seed, n=6, outputs=outputs)
    groups = np.array([2, 0, 1, 0, 3, 2]) if grouped else np.arange(6)
    selector = BestSubset(criterion=score, feature_groups=groups if grouped else None).fit(X, y)
    rows = np.arange(50)
    train, test = split_off(X, 0.3) if score == "validation" else (rows, rows)
    losses, sets = brute_force(X, y, groups, train, test)
    np.testing.assert_allclose(selector.loss_curve_, losses, rtol=1e-7)
    assert [tuple(found) for found in selector.sets_] == sets
    size = selector.score_curve_[1:].argmin() + 1
    assert set(groups[selector.get_support()]) == set(sets[size])
    for n in range(1, len(sets)):
        fixed = BestSubset(n, criterion=score, feature_groups=groups if grouped else None).fit(X, y)
        assert set(groups[fixed.get_support()]) == set(sets[n])


@pytest.mark.parametrize(("score", "price"), [("aic", 2.0), ("bic", np.log(50))])
def test_scores(score, price):
    X, y = draw(4)
    selector = BestSubset(criterion=score).fit(X, y)
    np.testing.assert_allclose(selector.score_curve_, 50 * np.log(selector.loss_curve_) + price * np.arange(6))
    paid = BestSubset(criterion=0.01).fit(X, y)
    np.testing.assert_allclose(paid.score_curve_, paid.loss_curve_ + 0.01 * np.arange(6))


def test_every_set_of_a_size_is_compared():
    """A pair that is good together alone: forward selection misses it, the best subset does not."""
    rng = np.random.default_rng(0)
    common, y = rng.normal(size=(2, 200))
    X = np.column_stack([y + 0.7 * rng.normal(size=200), common + 0.1 * y, common, rng.normal(size=200)])
    forward = ForwardSelection(2, LinearRegression(), cv=None).fit(X, y)
    assert 0 in forward.get_support(indices=True)
    assert BestSubset(2).fit(X, y).get_support(indices=True).tolist() == [1, 2]


def test_features_that_depend_on_others():
    X, y = draw(1, n=4)
    X = np.column_stack([X, X[:, 0], X[:, 1] + X[:, 2], np.ones(50)])
    rows = np.arange(50)
    losses, _ = brute_force(X, y, np.arange(7), rows, rows)
    np.testing.assert_allclose(BestSubset().fit(X, y).loss_curve_, losses, rtol=1e-6)
    constant = BestSubset(allow_empty=True).fit(X, np.full(50, 3.0))
    assert constant.n_selected_ == 0
    assert constant.weights_.sum() == 0


def test_the_empty_set_may_be_the_answer():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 4)), rng.normal(size=100)
    assert BestSubset(allow_empty=True).fit(X, y).n_selected_ == 0
    selector = BestSubset().fit(X, y)
    assert selector.n_selected_ == 1
    assert selector.sets_[0].size == 0
    assert set(chain(*selector.sets_)) == {0, 1, 2, 3}


def test_windows_held_out_do_not_overlap_the_others():
    rng = np.random.default_rng(0)
    counts = rng.poisson(1.0, (100, 2))
    samples = Samples.from_counts(counts, 2)
    y = counts[1:, 0] + rng.normal(size=99)
    trial = np.arange(99) // 9
    selector = BestSubset(criterion="validation").fit(samples, y, groups=trial)
    train, test = split_off(samples, 0.3, trial)
    assert overlap_audit(samples, train, test) == 0
    losses, _ = brute_force(np.asarray(samples, float), y, np.arange(4), train, test)
    np.testing.assert_allclose(selector.loss_curve_, losses, rtol=1e-6)


def test_what_is_refused():
    X, y = draw(0)
    with pytest.raises(ValueError, match=r"all sets of at most 20 features or groups; found 21\. Give it fewer"):
        BestSubset().fit(np.zeros((9, 21)), np.arange(9.0))
    BestSubset(feature_groups=np.arange(24) // 12).fit(np.random.default_rng(0).normal(size=(40, 24)), np.arange(40.0))
    for score in ("cp", -1.0, None):
        with pytest.raises(ValueError, match="criterion must be 'aic', 'bic', 'validation' or a price"):
            BestSubset(criterion=score).fit(X, y)
    with pytest.raises(ValueError, match="held-out fraction"):
        BestSubset(criterion="validation", hold_out=1.0).fit(X, y)
