"""LVQ by hand, against its obvious twin, and at the two ends of the number of prototypes."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from neurofs.decoders import loops_lvq
from neurofs.decoders.lvq import LVQ, place_prototypes
from neurofs.selectors.targets import one_hot


def slow_adapt(X, y, order, rates, labels, window, places):
    """The rule of section 3.8 of Navot 2006, row by row."""
    places = places.copy()
    for i, rate in zip(order, rates, strict=True):
        d = np.sqrt(((places - X[i]) ** 2).sum(axis=1))
        near = np.argsort(d, kind="stable")[: 1 if window == 0 else 2]
        if window > 0:
            mixed = len(near) == 2 and (labels[near] == y[i]).sum() == 1
            if not mixed or d[near[0]] / d[near[1]] <= (1 - window) / (1 + window):
                continue
        for j in near:
            sign = 1 if labels[j] == y[i] else -1
            places[j] = places[j] + sign * rate * (X[i] - places[j])
    return places


def test_by_hand():
    places, labels = np.array([[0.0], [4.0]]), np.array([0, 1])
    X, y = np.array([[1.0], [3.0]]), np.array([0, 0])
    loops_lvq.adapt(X, y, np.array([0]), np.array([0.5]), labels, 0.0, places)
    assert places[:, 0].tolist() == [0.5, 4.0], "attracted"
    loops_lvq.adapt(X, y, np.array([1]), np.array([0.5]), labels, 0.0, places)
    assert places[:, 0].tolist() == [0.5, 4.5], "repelled"
    loops_lvq.adapt(X, y, np.array([1]), np.array([0.5]), labels, 0.1, places)
    assert places[:, 0].tolist() == [0.5, 4.5], "1.5 / 2.5 is outside of a window of 0.1"
    loops_lvq.adapt(X, y, np.array([1]), np.array([0.5]), labels, 0.3, places)
    assert places[:, 0].tolist() == [1.75, 5.25], "both"


@pytest.mark.parametrize("window", [0.0, 0.2, 0.6])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_equals_its_twin(window, n):
    rng = np.random.default_rng(n)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    places, labels = rng.normal(size=(n, 3)), rng.integers(0, 3, n)
    order, rates = rng.permutation(60), np.linspace(0.1, 0, 60)
    expected = slow_adapt(X, y, order, rates, labels, window, places)
    loops_lvq.adapt(X, y, order, rates, labels, window, places)
    np.testing.assert_allclose(places, expected, rtol=1e-9)


def task(m=400, seed=0):
    """Three classes in five features, of which two matter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 5)).astype(np.float32)
    return X, (X[:, 0] > 0.3).astype(int) + (X[:, 1] > 0)


def test_a_prototype_per_row_is_1nn():
    X, y = task(120)
    model = LVQ(n_prototypes=90, n_epochs=1, rate=1e-12).fit(X[:90], one_hot(y[:90], 3))
    expected = KNeighborsClassifier(1).fit(X[:90], y[:90]).predict(X[90:])
    assert model.predict(X[90:]).argmax(axis=1).tolist() == expected.tolist()


@pytest.mark.parametrize("rule", ["lvq1", "lvq2.1"])
def test_beats_prototypes_that_stay_and_minds_weights(rule):
    X, y = task()
    Y = one_hot(y, 3)
    score = lambda model: np.mean(model.predict(X[200:]).argmax(axis=1) == y[200:])  # noqa: E731
    still = LVQ(n_prototypes=2, rate=1e-12).fit(X[:200], Y[:200])
    model = LVQ(n_prototypes=2, rule=rule).fit(X[:200], Y[:200])
    assert score(model) > score(still) + 0.1
    weighed = LVQ(n_prototypes=2, rule=rule).fit(X[:200], Y[:200], feature_weights=[1, 1, 0, 0, 0])
    two = LVQ(n_prototypes=2, rule=rule).fit(X[:200, :2], Y[:200])
    np.testing.assert_array_equal(weighed.predict(X), two.predict(X[:, :2]))
    assert score(weighed) > 0.8


def test_few_rows_of_a_class_and_wrong_settings():
    X, y = task(30)
    places, labels = place_prototypes(X, np.repeat([0, 1], [29, 1]), 4, np.random.RandomState(0))
    assert labels.tolist() == [0, 0, 0, 0, 1]
    assert places[4].tolist() == X[29].tolist()
    with pytest.raises(ValueError, match="continuous"):
        LVQ(n_prototypes=1).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="rule"):
        LVQ(n_prototypes=1, rule="lvq3").fit(X, one_hot(y, 3))
    with pytest.raises(ValueError, match="window"):
        LVQ(n_prototypes=1, window=1).fit(X, one_hot(y, 3))


def test_the_number_of_prototypes_is_chosen():
    """One prototype per class cannot surround another class; the hold-outs tell."""
    X, _ = task(160)
    model = LVQ(n_epochs=5).fit(X, one_hot((np.abs(X[:, 0]) > 0.7).astype(int), 2), feature_weights=[1, 0, 0, 0, 0])
    assert model.parts_[0].chosen["n_prototypes"] > 1
