"""Arrays taken out of the models of other libraries predict what these libraries do."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPRegressor
from sklearn.svm import SVC

from neurofs.decoders.classifiers import Normals, Votes, _fit_normals
from neurofs.decoders.libraries import Layers, SklearnTrees, XGBoostTrees
from neurofs.selectors.targets import one_hot


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(200, 4)), rng.normal(size=(300, 4))


def distances(A, B):
    return ((A[:, None] - B[None]) ** 2).sum(axis=2)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_votes_of_support_vector_machines(rows, n_classes):
    X, queries = rows
    y = np.random.default_rng(1).integers(0, n_classes, len(X))
    machine = SVC(kernel="precomputed", C=2).fit(np.exp(-distances(X, X)), y)
    across = distances(queries, X)
    ours = Votes.of(machine, 1.0, one_hot(y, n_classes))(across).argmax(axis=1)
    np.testing.assert_array_equal(ours, machine.predict(np.exp(-across)))


def test_normals_of_naive_bayes(rows):
    X, queries = rows
    y = np.random.default_rng(1).integers(0, 3, len(X))
    ours = _fit_normals(X, one_hot(y, 3), 0.01)
    assert isinstance(ours, Normals)
    expected = GaussianNB(var_smoothing=0.01).fit(X, y).predict(queries)
    np.testing.assert_array_equal(ours(queries).argmax(axis=1), expected)


@pytest.mark.parametrize("kind", [SklearnTrees, XGBoostTrees])
def test_forests_of_boosted_trees(kind):
    if kind is XGBoostTrees:
        pytest.importorskip("xgboost")
    rng = np.random.default_rng(0)
    X, queries = (rng.poisson(2, size=(n, 6)).astype(np.float32) for n in (400, 300))
    y = X[:, 0] * X[:, 1] + rng.normal(size=400)
    trees = kind(60, random_state=0, max_depth=5, learning_rate=0.1).fit(X, y)
    np.testing.assert_allclose(trees.freeze().predict(queries), trees.model.predict(queries), atol=1e-5)


def test_layers_of_a_perceptron(rows):
    X, queries = rows
    peer = MLPRegressor(hidden_layer_sizes=(8, 9), max_iter=300, tol=1.0, random_state=0).fit(X, X[:, :2] ** 2)
    np.testing.assert_allclose(Layers(peer.coefs_, peer.intercepts_)(queries), peer.predict(queries), rtol=1e-12)
