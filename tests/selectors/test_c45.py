"""Decision trees and FRINGE: worked examples, and the obvious twin of `reference_trees`."""

import numpy as np
import pytest
import reference_trees
from sklearn.utils import check_random_state

from neurofs.selectors import loops_trees
from neurofs.selectors.c45 import DecisionTree, expected_errors
from neurofs.selectors.fringe import Fringe, fringe_of

# Quinlan 1986, table 1: outlook (0 sunny, 1 overcast, 2 rain), temperature (0 hot, 1 mild, 2 cool), humidity
# (1 high), windy; the class is the last column
SATURDAYS = np.array(
    [
        [0, 0, 1, 0, 0],
        [0, 0, 1, 1, 0],
        [1, 0, 1, 0, 1],
        [2, 1, 1, 0, 1],
        [2, 2, 0, 0, 1],
        [2, 2, 0, 1, 0],
        [1, 2, 0, 1, 1],
        [0, 1, 1, 0, 0],
        [0, 2, 0, 0, 1],
        [2, 1, 0, 0, 1],
        [0, 1, 0, 1, 1],
        [1, 1, 1, 1, 1],
        [1, 0, 0, 0, 1],
        [2, 1, 1, 1, 0],
    ]
)


def test_gains_of_the_published_example():
    X, y = SATURDAYS[:, :4], SATURDAYS[:, 4]
    log = loops_trees.tabulate(14)
    found = [loops_trees.score_nominal(x, y, 3, 2, log, 1) for x in X.T]
    np.testing.assert_allclose([gain for gain, _ in found], [0.246, 0.029, 0.151, 0.048], atol=1e-3)
    np.testing.assert_allclose([split for _, split in found][:1], [1.578], atol=1e-3)
    ratios = [gain / split for gain, split in found]
    np.testing.assert_allclose(ratios, [0.156, 0.019, 0.152, 0.049], atol=1e-3)


@pytest.mark.parametrize("criterion", ["gain", "gain-ratio"])
def test_tree_of_the_published_example(criterion):
    """Figure 2 of Quinlan 1986: outlook first, then humidity if it is sunny, and wind if it rains."""
    X, y = SATURDAYS[:, :4], SATURDAYS[:, 4]
    tree = DecisionTree(criterion, nominal=3, min_rows=1).fit(X, y)
    assert tree.feature_.tolist() == [0, 2, -1, 3, -1, -1, -1, -1]
    assert tree.child_.tolist() == [1, 4, -1, 6, -1, -1, -1, -1]
    assert tree.score(X, y) == 1
    assert tree.explain(np.array([[0, 0, 1, 0], [1, 0, 1, 0], [2, 0, 1, 1]]))[1].tolist() == [
        [True, False, True, False],
        [True, False, False, False],
        [True, False, False, True],
    ]
    assert tree.explain(np.array([[7, 0, 1, 0]]))[0].tolist() == [0], "a new value ends the path"


def test_pruning_of_the_published_example():
    """Quinlan 1993, section 4.2: leaves of 6, 9 and 1 right rows become one leaf of 16 with 1 error."""
    leaves, one = expected_errors([0, 0, 0], [6, 9, 1]).sum(), float(expected_errors(1, 16))
    assert leaves == pytest.approx(3.273, abs=2e-3)
    assert one == pytest.approx(2.512, abs=0.06)
    x, y = np.repeat([0, 1, 2], [6, 9, 1])[:, None], np.repeat([0, 1], [15, 1])
    assert DecisionTree(nominal=3, min_rows=1).fit(x, y).node_count_ == 4
    assert DecisionTree(nominal=3, min_rows=1, confidence=0.25).fit(x, y).node_count_ == 1
    assert DecisionTree(nominal=3, min_rows=1, confidence=0.999).fit(x, y).node_count_ == 4
    for errors, n in ((0, 1), (1, 4), (3, 3), (5, 40)):
        expected = n * reference_trees.upper_limit(errors, n, 0.25)
        assert expected_errors(errors, n) == pytest.approx(expected, rel=1e-9)


def mixed(seed):
    """Numbers and features of three values, some with influence, and some noise; of two or three classes."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(8, 90))
    X = np.column_stack([rng.integers(0, 3, (m, 3)), rng.integers(0, 8, (m, 2)) / 4, np.ones(m)])
    y = ((X[:, 0] == 1) ^ (X[:, 3] > 1) ^ (rng.random(m) < 0.15)).astype(int) + (X[:, 1] + X[:, 2] > 3)
    return X[:, rng.permutation(6)], np.array(["no", "yes", "rather"])[y]


@pytest.mark.parametrize("seed", range(24))
def test_tree_equals_its_twin(seed):
    X, y = mixed(seed)
    settings = {"nominal": (0, 3, 8)[seed % 3], "confidence": (None, 0.25)[seed // 3 % 2]}
    ratio, least = seed % 5 > 1, 1 + seed % 2
    criterion = "gain-ratio" if ratio else "gain"
    tree = DecisionTree(criterion, min_rows=least, random_state=seed, **settings).fit(X, y)
    order = check_random_state(seed).permutation(X.shape[1]).tolist()
    twin = reference_trees.make_tree(X, y.tolist(), order=order, ratio=ratio, least=least, **settings)
    queries = np.vstack([X, mixed(seed + 100)[0]])
    walks = [reference_trees.walk(twin, x) for x in queries]
    assert tree.node_count_ == reference_trees.count_nodes(twin)
    assert tree.predict(queries).tolist() == [label for _, label in walks]
    tested = tree.explain(queries)[1]
    assert [np.flatnonzero(row).tolist() for row in tested] == [sorted(set(path)) for path, _ in walks]


def test_id3_goes_on_without_gain_until_it_agrees():
    X = np.array([[a, b] for a in (0, 1) for b in (0, 1)])
    tree = DecisionTree("gain", nominal=2, min_rows=1).fit(X, X[:, 0] ^ X[:, 1])
    assert tree.node_count_ == 7
    assert tree.score(X, X[:, 0] ^ X[:, 1]) == 1


@pytest.mark.parametrize(
    ("wrong", "word"),
    [({"criterion": "gini"}, "criterion"), ({"confidence": 1}, "confidence"), ({"min_rows": 0}, "min_rows")],
)
def test_wrong_settings(wrong, word):
    with pytest.raises(ValueError, match=word):
        DecisionTree(**wrong).fit([[0], [1]], [0, 1])


# ------------------------------------------------------------------------------------------------ FRINGE


def cube(n):
    return np.array([[i >> f & 1 for f in range(n)] for i in range(2**n)])


def test_fringe_of_a_tree():
    """Of x0 ¬x1 x2 the positive path has three tests, and the last two are its end."""
    X = cube(3)
    tree = DecisionTree("gain", min_rows=1, random_state=0).fit(X, X[:, 0] & ~X[:, 1] & X[:, 2])
    root = tree.feature_[0]
    assert fringe_of(tree) == [frozenset((f, 0.5, f != 1) for f in range(3) if f != root)]
    shallow = DecisionTree("gain", min_rows=1).fit(X, X[:, 1])
    assert fringe_of(shallow) == [], "a leaf below the root has no two tests"


@pytest.mark.parametrize("seed", range(3))
def test_fringe_finds_the_terms_of_a_disjunction(seed):
    """Three terms of two features: a tree on built features needs but three tests."""
    X = cube(6)
    y = ((X[:, 0] & X[:, 1]) | (X[:, 2] & X[:, 3]) | (X[:, 4] & X[:, 5])).astype(int)
    model = Fringe(random_state=seed).fit(X, y)
    assert model.score(X, y) == 1
    assert model.tree_.node_count_ == 7
    assert DecisionTree("gain", min_rows=1, random_state=seed).fit(X, y).node_count_ > 20


def test_fringe_stops_when_it_is_told_and_refuses_three_classes():
    X = cube(4)
    y = X[:, 0] ^ X[:, 1] ^ X[:, 2] ^ X[:, 3]
    once = Fringe(max_rounds=1, random_state=0).fit(X, y)
    assert once.built_ == []
    assert Fringe(max_rounds=2, random_state=0).fit(X, y).built_ == fringe_of(once.tree_)
    with pytest.raises(ValueError, match="two classes; found 3"):
        Fringe().fit(X[:3], [0, 1, 2])
    with pytest.raises(ValueError, match="max_rounds"):
        Fringe(max_rounds=0).fit(X, y)
