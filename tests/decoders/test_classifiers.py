"""Decoders of classes alone: each against scikit-learn, and what they share."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from neurofs.decoders import DECODERS
from neurofs.decoders.classifiers import SVM, NaiveBayes, OneNN
from neurofs.features.holdouts import Holdout
from neurofs.features.samples import Samples
from neurofs.selectors.targets import one_hot

NAMES = [name for name, kind in DECODERS.own.items() if kind.target == "classes"]
WEIGHTS = np.array([1.0, 0.5, 0.0, 2.0, 1.0])


@pytest.fixture(scope="module")
def reaches():
    """Counts of 5 units tuned to 4 directions."""
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=260)
    rates = rng.uniform(0, 4, (4, 5))
    return rng.poisson(rates[y]).astype(np.float32) + rng.normal(0, 0.01, (260, 5)).astype(np.float32), y


def distances(A, B):
    return ((A[:, None].astype(float) - B[None]) ** 2).sum(axis=2)


def svc(X, y, Q, width, C):
    """A machine of scikit-learn with the kernel that `SVM` describes."""
    gamma = 1 / (width * np.median(distances(X, X)))
    return SVC(C=C, gamma=gamma).fit(X.astype(float), y).predict(Q.astype(float))


def test_svm_is_that_of_scikit_learn(reaches):
    X, y = reaches
    found = SVM(width=0.5, C=4.0).fit(X[:200], y[:200], feature_weights=WEIGHTS).predict(X[200:])
    A, Q = X[:200] * WEIGHTS, X[200:] * WEIGHTS
    assert np.mean(found == svc(A, y[:200], Q, 0.5, 4.0)) > 0.98  # distances are of single precision


def test_svm_takes_the_width_and_c_that_the_hold_out_prefers(reaches):
    X, y = reaches
    part = Holdout(np.arange(0, 140), np.arange(140, 200))
    found = SVM().fit(X[:200], y[:200], holdouts=[part]).parts_[0].chosen
    grid = {(b, C): 0.0 for b in SVM.GRID["width"] for C in SVM.GRID["C"]}
    for b, C in grid:
        grid[b, C] = np.mean(svc(X[:140], y[:140], X[140:200], b, C) != y[140:200])
    at = grid[found["width"], found["C"]]
    widths, prices = SVM.GRID["width"], SVM.GRID["C"]
    i, j = widths.index(found["width"]), prices.index(found["C"])
    near = [(a, b) for a, b in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)) if 0 <= a < 7 and 0 <= b < 5]
    assert (
        at <= min(grid[widths[a], prices[b]] for a, b in near) + 1 / 60
    )  # a local minimum, by the steps of the search
    assert at <= grid[SVM.START["width"], SVM.START["C"]] + 1e-9


def test_naive_bayes_is_that_of_scikit_learn_and_chooses_the_best_smoothing(reaches):
    X, y = reaches
    kept = np.flatnonzero(WEIGHTS)
    A = (X * WEIGHTS.astype(np.float32))[:, kept].astype(float)
    fixed = NaiveBayes(0.1).fit(X[:200], y[:200], feature_weights=WEIGHTS)
    expected = GaussianNB(var_smoothing=0.1).fit(A[:200], y[:200]).predict(A[200:])
    np.testing.assert_array_equal(fixed.predict(X[200:]), expected)
    part = Holdout(np.arange(0, 140), np.arange(140, 200), WEIGHTS)
    chosen = NaiveBayes().fit(X[:200], y[:200], feature_weights=WEIGHTS, holdouts=[part]).parts_[0].chosen["smoothing"]
    wrong = [
        np.mean(GaussianNB(var_smoothing=s).fit(A[:140], y[:140]).predict(A[140:200]) != y[140:200])
        for s in NaiveBayes.GRID["smoothing"]
    ]
    assert chosen == NaiveBayes.GRID["smoothing"][np.argmin(wrong)]


def test_one_nn_is_that_of_scikit_learn(reaches):
    X, y = reaches
    A = X * WEIGHTS
    expected = KNeighborsClassifier(1).fit(A[:200], y[:200]).predict(A[200:])
    found = OneNN().fit(X[:200], y[:200], feature_weights=WEIGHTS).predict(X[200:])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", NAMES)
def test_labels_and_columns_agree(name, reaches):
    X, y = reaches
    decoder = clone(DECODERS[name]())
    labels = np.array(["east", "north", "south", "west"])[y]
    named = decoder.fit(X[:200], labels[:200])
    assert is_classifier(named)
    assert named.score(X[200:], labels[200:]) > 0.4  # of four classes
    columns = DECODERS[name]().fit(Samples.from_array(X[:200]), one_hot(y[:200], 5)).predict(X[200:])  # one never seen
    assert columns.shape == (60, 5)
    np.testing.assert_array_equal(named.classes_[columns.argmax(axis=1)], named.predict(X[200:]))
    np.testing.assert_array_equal(columns.sum(axis=1), 1)


@pytest.mark.parametrize("name", NAMES)
def test_one_class_and_constant_features(name, reaches):
    X, y = reaches
    assert (DECODERS[name]().fit(X[:50], np.full(50, "left")).predict(X[50:]) == "left").all()
    same = np.ones((60, 3))
    assert set(DECODERS[name]().fit(same, y[:60]).predict(same)) <= set(y[:60])


@pytest.mark.parametrize("name", NAMES)
def test_input_is_checked(name, reaches):
    X, y = reaches
    for wrong in (np.column_stack([y, y]), np.linspace(0, 1, 260)):
        with pytest.raises(ValueError, match=r"one column per class|continuous"):
            DECODERS[name]().fit(X, wrong)
    with pytest.raises(ValueError, match="share a metric"):
        DECODERS[name]().fit(X, y, feature_weights=np.ones((4, 5)))
