"""EBFS against its obvious twin, and what its folds keep apart."""

import numpy as np
import pytest
import reference_trees
from sklearn.utils import check_random_state

from neurofs.features.samples import Samples
from neurofs.features.splits import overlap_audit
from neurofs.selectors import EBFS
from neurofs.selectors.trees import split_rows


def small(seed):
    """Some features that matter, some that nearly repeat others, some noise; few values, so that h ties."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(30, 90)), int(rng.integers(3, 9))
    X = rng.integers(0, 4, (m, n)).astype(float)
    y = ((X[:, 0] > 1) ^ (X[:, 1] > 2) ^ (rng.random(m) < 0.2)).astype(int) + (X[:, -1] > 2)
    return X, y


@pytest.mark.parametrize("seed", range(8))
def test_equals_the_printed_algorithm(seed):
    X, y = small(seed)
    settings = {"nominal": (0, 4)[seed % 2], "confidence": (None, 0.25)[seed // 2 % 2]}
    tolerance, v = (0.03, 0.1, 1.0)[seed % 3], 3 + seed % 4
    selector = EBFS(cv=v, tolerance=tolerance, random_state=seed, **settings).fit(X, y)
    rng = check_random_state(seed)
    folds, drawn = split_rows(Samples.from_array(X), y, None, v, rng), int(rng.randint(2**31 - 1))
    order_of = lambda n: check_random_state(drawn).permutation(n).tolist()  # noqa: E731
    visited, best = reference_trees.ebfs(X, y, folds, order_of, settings, tolerance)
    assert [r.feature_groups.tolist() for r in selector.rounds_] == [features for features, _, _ in visited]
    np.testing.assert_allclose(selector.accuracy_curve_, [accuracy for _, accuracy, _ in visited])
    assert selector.get_support(indices=True).tolist() == best
    for r, (features, _, h) in zip(selector.rounds_, visited, strict=True):
        np.testing.assert_allclose(r.h, [h[f] for f in features], atol=1e-12)


def test_a_size_is_reached_and_the_order_is_that_of_leaving():
    X, y = small(5)
    free = EBFS(random_state=0, tolerance=1.0).fit(X, y)
    for n in range(1, X.shape[1] + 1):
        selector = EBFS(n, random_state=0).fit(X, y)
        assert selector.get_support().sum() == n
        assert set(selector.order_[:n]) == set(selector.get_support(indices=True))
    for r in free.rounds_:
        assert set(free.order_[: len(r.feature_groups)]) == set(r.feature_groups)


def test_classes_are_spread_over_folds_of_single_rows():
    y = np.repeat([0, 1, 2], [40, 21, 9])
    folds = split_rows(Samples.from_array(np.zeros((70, 1))), y, None, 7, check_random_state(0))
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(70))
    for train, test in folds:
        assert not set(train) & set(test)
        assert np.abs(np.bincount(y[test], minlength=3) - [40 / 7, 3, 9 / 7]).max() < 1
        assert len(test) == 10


@pytest.mark.parametrize("by_trial", [True, False])
def test_folds_of_windows_keep_trials_and_gaps(by_trial):
    samples = Samples.from_counts(np.zeros((300, 2)), 4)
    trial = np.arange(len(samples)) // 12 if by_trial else None
    folds = split_rows(samples, np.zeros(len(samples), int), trial, 5, check_random_state(0))
    assert len(folds) == 5
    for train, test in folds:
        assert overlap_audit(samples, train, test) == 0
        if by_trial:
            assert not set(trial[train]) & set(trial[test])


def test_few_trials_and_wrong_settings():
    X, y = small(0)
    trial = np.arange(len(X)) % 3
    assert EBFS(random_state=0).fit(X, y, groups=trial).accuracy_curve_.size
    with pytest.raises(ValueError, match="needs at least 2 groups; found 1"):
        EBFS().fit(X, y, groups=np.zeros(len(X)))
    with pytest.raises(ValueError, match="one entry per row"):
        EBFS().fit(X, y, groups=[1, 2])
    for wrong, word in (({"cv": 1}, "cv"), ({"tolerance": -1}, "tolerance"), ({"confidence": "some"}, "confidence")):
        with pytest.raises(ValueError, match=word):
            EBFS(**wrong).fit(X, y)


def test_harm_goes_before_idleness():
    """A feature that misleads leaves first; what every path tests and what no path tests are then alike."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(200), rng.random(200), np.zeros(200)])
    y = (X[:, 0] + 0.3 * rng.normal(size=200) > 0.5).astype(int)
    selector = EBFS(random_state=0).fit(X, y)
    assert [r.feature_groups.tolist() for r in selector.rounds_] == [[0, 1, 2], [0, 2]]
    assert selector.rounds_[0].h[1] < 0
    assert selector.rounds_[1].h.tolist() == [0, 0]
