"""Products of pairs, against one pair at a time."""

import numpy as np
import pytest

from neurofs.features.samples import Samples
from neurofs.selectors import Pairs
from neurofs.selectors.pairs import NORMAL_QUARTILE, survey_pairs


def slow_survey(X, Y):
    """Largest |z| and partner of each feature, by loops."""
    m, n = X.shape
    x = (X - X.mean(axis=0)) / X.std(axis=0)
    beta = np.linalg.solve(x.T @ x + (0.1 * m + n) * np.eye(n), x.T @ (Y - Y.mean(axis=0)))
    left = Y - Y.mean(axis=0) - x @ beta
    left /= left.std(axis=0)
    z = np.zeros((Y.shape[1], n, n))
    for o in range(Y.shape[1]):
        for f in range(n):
            for g in range(n):
                terms = left[:, o] * x[:, f] * x[:, g]
                z[o, f, g] = abs(terms.sum()) / np.sqrt((terms**2).sum())
        z[o] /= np.median(z[o]) / NORMAL_QUARTILE
    z = z.max(axis=0)
    return z.max(axis=1), z.argmax(axis=1)


@pytest.mark.parametrize("m", [200, 8], ids=["more rows than features", "fewer rows than features"])
@pytest.mark.parametrize("at_once", [8_000_000, 25], ids=["at once", "in parts"])
def test_it_equals_one_pair_at_a_time(m, at_once, monkeypatch):
    monkeypatch.setattr("neurofs.selectors.pairs.AT_ONCE", at_once)
    rng = np.random.default_rng(m)
    X, Y = rng.poisson(1.0, (m, 12)).astype(float), rng.normal(size=(m, 2))
    X[:, 7] += rng.normal(size=m)
    X[0, X.std(axis=0) == 0] = 3.0
    z, partners = survey_pairs(Samples.from_array(X), Y)
    expected, partner = slow_survey(X, Y)
    np.testing.assert_allclose(z, expected, rtol=1e-4)
    np.testing.assert_array_equal(partners, partner)


def test_a_pair_and_a_square_are_found_and_what_matters_alone_is_not():
    X = np.random.default_rng(0).normal(size=(1000, 40))
    selector = Pairs(3).fit(X, X[:, 3] * X[:, 8] + X[:, 5] ** 2 + 2 * X[:, 1])
    assert selector.get_support(indices=True).tolist() == [3, 5, 8]
    assert selector.partners_[[3, 5, 8]].tolist() == [8, 5, 3]
    assert selector.ranking_[1] > 3


def test_rows_that_follow_each_other_are_no_evidence():
    rng = np.random.default_rng(1)
    slow = np.cumsum(rng.normal(size=(3000, 31)), axis=0)[::3]
    z = Pairs().fit(slow[:, :30], slow[:, 30]).weights_
    assert z.max() < 6, "hundreds of times what independent rows would give, before the spread is taken out"


def test_classes_and_constant_features():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(600, 10))
    X[:, 2] = 0.1
    selector = Pairs(2).fit(X, np.where(X[:, 4] * X[:, 6] > 0, "left", "right"))
    assert selector.get_support(indices=True).tolist() == [4, 6]
    assert (selector.weights_[2], selector.partners_[2]) == (0.0, 2)
    assert not Pairs().fit(np.ones((5, 3)), np.arange(5.0)).weights_.any()
    assert not Pairs().fit(X, np.ones(600)).weights_.any()


def test_so_many_rows_as_memory_allows(monkeypatch):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(100, 10)), rng.normal(size=100)
    part = np.linspace(0, 99, 50).round().astype(int)
    monkeypatch.setattr("neurofs.selectors.pairs.MOST_NUMBERS", 500)
    np.testing.assert_array_equal(Pairs().fit(X, y).weights_, Pairs().fit(X[part], y[part]).weights_)
