"""Beam searches against naive ones that refit every set, and what they refuse."""

from itertools import combinations

import numpy as np
import pytest
import reference
import reference_sets
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from neurofs.features.samples import Samples
from neurofs.features.splits import overlap_audit, split_off
from neurofs.selectors import OrderedFS, OrderedFS2, StandardWrap, loops_beam

BOTH = [OrderedFS, StandardWrap]
ALL = [*BOTH, OrderedFS2]


def draw(seed, m=64, n=6, classes=0, outputs=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n)).astype(np.float32).astype(float)
    X[:, -1] = X[:, 0] + 0.5 * rng.normal(size=m).astype(np.float32)
    if classes:
        score = X[:, :classes] + rng.normal(size=(m, classes))
        return X, score.argmax(axis=1)
    return X, (X[:, :2] @ rng.normal(size=(2, outputs)) + 0.5 * rng.normal(size=(m, outputs))).squeeze()


# ------------------------------------------------------------------------------------------- naive losses


def linear(X, Y, Q, truth):
    """Losses of least squares by numpy.linalg.lstsq, in units of the mean variance of the columns."""
    A, B = (np.column_stack([np.ones(len(part)), part]) for part in (X, Q))
    w = np.linalg.lstsq(A, Y, rcond=None)[0]
    variance = ((Y - Y.mean(axis=0)) ** 2).mean()
    return ((Y - A @ w) ** 2).mean() / variance, ((truth - B @ w) ** 2).mean() / variance


def neighbors(X, Y, Q, truth, k, is_class, banned):
    """Losses of k nearest neighbors, training rows being predicted from rows that are not banned."""

    def loss(queries, goal, forbidden):
        D = reference.distances(queries, X, np.ones(X.shape[1])) if X.shape[1] else np.zeros(forbidden.shape)
        total = []
        for i, d in enumerate(D):
            near = sorted((j for j in range(len(X)) if not forbidden[i, j]), key=lambda j: (d[j], j))[:k]
            mean = Y[near].mean(axis=0)
            total.append(goal[i, mean.argmax()] == 0 if is_class else ((goal[i] - mean) ** 2).mean())
        return np.mean(total)

    return loss(X, Y, banned), loss(Q, truth, np.zeros((len(Q), len(X)), bool))


def logit(X, y, Q, truth):
    """Shares of errors of scikit-learn's logistic regression, one class against the rest."""
    mean, sd = X.mean(axis=0), X.std(axis=0)
    X, Q = (X - mean) / sd, (Q - mean) / sd
    scores = []
    for c in range(y.max() + 1) if y.max() > 1 else [1]:
        model = LogisticRegression(C=1000, tol=1e-10, max_iter=5000).fit(X, y == c)
        scores.append((model.decision_function(X), model.decision_function(Q)))
    found = []
    for part, goal in ((0, y), (1, truth)):
        s = np.array([score[part] for score in scores])
        found.append(np.mean((s.argmax(axis=0) if len(s) > 1 else s[0] > 0) != goal))
    return found


def standard(y, rows):
    Y = np.asarray(y, float).reshape(len(y), -1)
    return (Y - Y[rows].mean(axis=0)) / Y[rows].std(axis=0)


def naive_losses(name, X, y, train, test, classes, banned=None, k=10):
    """A function of a set of features that returns its loss on training and on held-out rows."""

    def loss(features):
        A, B = X[train][:, list(features)], X[test][:, list(features)]
        if name == "logistic":
            return logit(A, y[train], B, y[test])
        Y = np.eye(classes)[y] if classes else standard(y, train)
        if name == "least-squares":
            return linear(A, Y[train], B, Y[test])
        return neighbors(A, Y[train], B, Y[test], k, classes > 0, banned)

    return loss


CASES = [
    ("least-squares", 0, 1),
    ("least-squares", 0, 2),
    ("least-squares", 3, 1),
    ("knn", 0, 1),
    ("knn", 0, 2),
    ("knn", 3, 1),
    ("logistic", 2, 1),
    ("logistic", 3, 1),
]


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(("name", "classes", "outputs"), CASES)
@pytest.mark.parametrize("seed", range(2))
def test_equal_to_a_beam_that_refits_every_set(kind, name, classes, outputs, seed):
    X, y = draw(seed, classes=classes, outputs=outputs)
    selector = kind(estimator=name, beam_width=4).fit(X, y)
    train, test = selector.train_rows_, selector.hold_out_rows_
    loss = naive_losses(name, X, y, train, test, classes, np.eye(len(train), dtype=bool))
    ranked = kind is StandardWrap
    best = {}
    for size, sets, _ in reference_sets.beam(6, 4, lambda chosen: loss(chosen)[ranked]):
        best[size] = sets[0]
        assert set(selector.paths_[size]) == set(sets[0])
        both = selector.train_curve_[size], selector.hold_out_curve_[size]
        np.testing.assert_allclose(both, loss(sets[0]), rtol=1e-5, atol=1e-9)
    size = min(best, key=lambda size: (round(loss(best[size])[1], 9), size))
    assert set(selector.get_support(indices=True)) == set(best[size])
    assert selector.order_[:size].tolist() == list(selector.paths_[size])


@pytest.mark.parametrize(("name", "classes", "outputs"), CASES)
def test_ordered_fs2_equals_brute_force(name, classes, outputs):
    """All sets of a size are tried on the first part held out; the second part chooses the size."""
    X, y = draw(5, m=90, n=4, classes=classes, outputs=outputs)
    selector = OrderedFS2(estimator=name, split="random", random_state=1, allow_empty=True).fit(X, y)
    train, test, final = selector.train_rows_, selector.hold_out_rows_, selector.final_rows_
    assert sorted([*train, *test, *final]) == list(range(90))
    assert (len(test), len(final)) == (27, 18)
    banned = np.eye(len(train), dtype=bool)
    rank, judge = (naive_losses(name, X, y, train, rows, classes, banned) for rows in (test, final))
    best = [()]
    for size in range(1, 5):
        best.append(min(combinations(range(4), size), key=lambda chosen: round(rank(chosen)[1], 9)))
        assert set(selector.paths_[size]) == set(best[size])
        np.testing.assert_allclose(selector.hold_out_curve_[size], rank(best[size])[1], rtol=1e-5, atol=1e-9)
        np.testing.assert_allclose(selector.final_curve_[size], judge(best[size])[1], rtol=1e-5, atol=1e-9)
    size = int(np.argmin(np.round(selector.final_curve_, 9)))
    assert set(selector.get_support(indices=True)) == set(best[size])


def test_a_number_of_the_row_misleads_ordered_fs_alone():
    """Section 5.3 of the source: with it, a tree makes no error on the rows it has seen."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, (300, 3)), rng.permutation(300)]).astype(float)
    y = X[:, 0].astype(int) ^ (rng.random(300) < 0.1)
    settings = {"estimator": DecisionTreeClassifier(random_state=0), "split": "random", "random_state": 0}
    first, second = (kind(**settings).fit(X, y) for kind in (OrderedFS, OrderedFS2))
    assert first.train_curve_[1] == 0
    assert 3 in first.get_support(indices=True)
    assert second.get_support(indices=True).tolist() == [0]


@pytest.mark.parametrize("kind", ALL)
def test_the_empty_set_may_be_the_answer(kind):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(60, 5)), rng.normal(size=60)
    empty, one = (kind(allow_empty=allowed, beam_width=2).fit(X, y) for allowed in (True, False))
    curve = empty.final_curve_ if kind is OrderedFS2 else empty.hold_out_curve_
    if kind is not StandardWrap:  # which finds a set that suits its held-out rows
        assert curve.argmin() == 0
    assert empty.n_selected_ == len(empty.paths_[curve.argmin()])
    assert empty.weights_.sum() == empty.n_selected_
    assert one.n_selected_ >= 1
    assert sorted(empty.order_) == list(range(5))


def test_rows_held_out_at_random():
    X, y = draw(0, m=100)
    first, again, other = (OrderedFS(split="random", random_state=s).fit(X, y).hold_out_rows_ for s in (0, 0, 1))
    assert len(first) == 30
    assert first.tolist() == again.tolist() != other.tolist()
    trial = np.arange(100) // 5
    selector = OrderedFS2(split="random", random_state=0).fit(X, y, groups=trial)
    parts = [set(trial[rows]) for rows in (selector.train_rows_, selector.hold_out_rows_, selector.final_rows_)]
    assert [len(part) for part in parts] == [10, 6, 4]
    assert len(set.union(*parts)) == 20
    with pytest.raises(ValueError, match="split must be 'runs' or 'random'; found 'blocks'"):
        OrderedFS(split="blocks").fit(X, y)
    with pytest.raises(ValueError, match=r"must leave rows to train on; found 0\.6 and 0\.4"):
        OrderedFS2(hold_out=0.6, final_hold_out=0.4).fit(X, y)


def test_parts_held_out_of_windows_do_not_overlap():
    samples = Samples.from_counts(np.random.default_rng(0).poisson(1.0, (200, 2)), 3)
    selector = OrderedFS2(beam_width=2).fit(samples, np.arange(198.0))
    train, test, final = selector.train_rows_, selector.hold_out_rows_, selector.final_rows_
    assert min(map(len, (train, test, final))) > 20
    for fitted, held in ((train, test), (train, final), (test, final)):
        assert overlap_audit(samples, fitted, held) == 0


def test_neighbors_are_of_other_trials_and_do_not_overlap():
    rng = np.random.default_rng(0)
    counts = rng.poisson(1.0, (120, 3))
    samples, trial = Samples.from_counts(counts, 2), np.arange(119) // 7
    y = counts[1:, 0] + rng.normal(size=119)
    selector = OrderedFS(estimator="knn", beam_width=2, n_neighbors=5).fit(samples, y, groups=trial)
    train, test = selector.train_rows_, selector.hold_out_rows_
    assert not set(trial[train]) & set(trial[test])
    assert overlap_audit(samples, train, test) == 0
    banned = (trial[train][:, None] == trial[train]) | (np.abs(train[:, None] - train) < 2)
    loss = naive_losses("knn", np.asarray(samples, float), y, train, test, 0, banned, 5)
    for size, sets, _ in reference_sets.beam(6, 2, lambda chosen: loss(chosen)[0]):
        assert set(selector.paths_[size]) == set(sets[0])
        np.testing.assert_allclose(selector.train_curve_[size], loss(sets[0])[0], rtol=1e-5)


@pytest.mark.parametrize("kind", BOTH)
def test_any_estimator(kind):
    X, y = draw(3)
    fast, slow = (kind(estimator=e, beam_width=5).fit(X, y) for e in ("least-squares", LinearRegression()))
    np.testing.assert_allclose(fast.hold_out_curve_, slow.hold_out_curve_, rtol=1e-6)
    np.testing.assert_array_equal(fast.order_, slow.order_)
    assert fast.n_sets_ == slow.n_sets_
    X, y = draw(0, classes=2)
    labels = np.array(["left", "right"])[y]
    tree = kind(estimator=DecisionTreeClassifier(max_depth=2, random_state=0), beam_width=3).fit(X, labels)
    assert tree.hold_out_curve_.min() < tree.hold_out_curve_[0]


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("name", ["least-squares", "knn", "logistic"])
def test_groups_are_added_together(kind, name):
    X, y = draw(1, n=6, classes=2)
    labels = ["b", "a", "a", "b", "c", "c"]
    selector = kind(estimator=name, beam_width=3, feature_groups=labels).fit(X, y)
    whole = kind(estimator=name, beam_width=50).fit(X[:, [1, 2]], y)
    at = [set(path) for path in selector.paths_].index({"a"}) if {"a"} in map(set, selector.paths_) else None
    assert [len(path) for path in selector.paths_] == [0, 1, 2, 3]
    if at is not None:
        np.testing.assert_allclose(selector.train_curve_[1], whole.train_curve_[2], atol=1e-9)


def test_dependent_and_constant_features_change_nothing():
    X, y = draw(0)
    X = np.column_stack([X, 2 * X[:, 1] - 1, np.ones(len(X))])
    for kind in BOTH:
        selector = kind().fit(X, y)
        assert np.isfinite(selector.hold_out_curve_).all()
        rows = selector.train_rows_
        Y = standard(y, rows)
        expected, _ = linear(X[rows, :6], Y[rows], X[rows, :6], Y[rows])
        assert selector.train_curve_[-1] == pytest.approx(expected)
        assert not selector.get_support()[7]


def test_more_features_than_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 40))
    y = X[:, 3] + 0.1 * rng.normal(size=30)
    selector = OrderedFS(beam_width=3).fit(X, y)
    assert selector.get_support()[3]
    assert selector.train_curve_[-1] == pytest.approx(0, abs=1e-9)


def test_ordered_fs_is_not_fooled_by_the_held_out_rows():
    """Noise alone: the standard wrapper finds sets that predict the held-out rows, and only those."""
    rng = np.random.default_rng(0)
    best = {kind: [] for kind in BOTH}
    for _ in range(10):
        X, y = rng.normal(size=(100, 30)), rng.normal(size=100)
        for kind in BOTH:
            curve = kind(beam_width=5).fit(X, y).hold_out_curve_
            best[kind].append(curve[1:].min() / curve[0])
    assert np.mean(best[StandardWrap]) < 0.85 < 0.95 < np.mean(best[OrderedFS])


# ------------------------------------------------------------------------------------------- sizes, splits


def test_a_size_may_be_given():
    X, y = draw(0)
    for kind in BOTH:
        every = kind(beam_width=4).fit(X, y)
        three = kind(3, beam_width=4).fit(X, y)
        assert set(three.get_support(indices=True)) == set(every.paths_[3])
        assert len(three.paths_) == 4
        few = kind(max_features=2, beam_width=4).fit(X, y)
        assert len(few.paths_) == 3
        assert sorted(few.order_) == list(range(6))


@pytest.mark.parametrize("m", [2, 3, 11, 50, 1000])
def test_a_part_is_held_out(m):
    train, test = split_off(np.zeros((m, 2)), 0.3)
    assert sorted([*train, *test]) == list(range(m))
    assert len(test) == pytest.approx(0.3 * m, abs=3)
    trial = np.arange(m) // 4
    if trial[-1] > 0:
        train, test = split_off(np.zeros((m, 2)), 0.3, trial)
        assert not set(trial[train]) & set(trial[test])
    with pytest.raises(ValueError, match="at least 2 groups"):
        split_off(np.zeros((m, 2)), 0.3, np.zeros(m))


def test_a_gap_around_what_is_held_out():
    samples = Samples.from_counts(np.zeros((300, 3)), 5)
    train, test = split_off(samples, 0.3)
    assert overlap_audit(samples, train, test) == 0
    assert len(train) + len(test) < len(samples)
    with pytest.raises(ValueError, match="outside the gap"):
        split_off(samples[:6], 0.3)


# -------------------------------------------------------------------------------------- logistic regression


def test_logistic_regression_equals_scikit_learn():
    rng = np.random.default_rng(0)
    for _ in range(20):
        m, n = rng.integers(20, 60), rng.integers(1, 6)
        X = rng.normal(size=(m, n))
        t = (X[:, 0] + rng.normal(size=m) > 0).astype(float)
        w = np.zeros(n + 1)
        loops_beam.fit_logistic(np.vstack([np.ones(m), X.T]), t, 0.1, 1e-12, w)
        model = LogisticRegression(C=10, tol=1e-10, max_iter=5000).fit(X, t)
        np.testing.assert_allclose(w, [*model.intercept_, *model.coef_[0]], rtol=1e-4, atol=1e-5)


def test_logistic_regression_of_separable_classes_is_finite():
    X = np.linspace(-1, 1, 20)
    w = np.zeros(2)
    loops_beam.fit_logistic(np.vstack([np.ones(20), X]), (X > 0).astype(float), 1e-3, 1e-9, w)
    assert np.isfinite(w).all()
    assert ((w[0] + w[1] * X > 0) == (X > 0)).all()


# ---------------------------------------------------------------------------------------- what they refuse


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("name", ["least-squares", "knn", "logistic"])
def test_a_beam_that_does_not_fit(kind, name, monkeypatch):
    X, y = draw(0, classes=2)
    monkeypatch.setattr("neurofs.selectors.beam.memory_limit", lambda: 50_000)
    monkeypatch.setattr("neurofs.selectors.memory.memory_limit", lambda: 50_000)
    with pytest.raises(ValueError, match=r"a beam of 100000 sets of up to 6 features takes .* (Set|Fit) "):
        kind(estimator=name, beam_width=100_000).fit(X, y)
    kind(estimator=name, beam_width=2).fit(X, y)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"estimator": "lasso"}, "'least-squares', 'knn', 'logistic'"),
        ({"estimator": 3}, "fit and predict"),
        ({"estimator": "logistic"}, "needs classes"),
        ({"estimator": "knn", "n_neighbors": 1000}, "n_neighbors = 1000"),
        ({"beam_width": 0}, "beam_width"),
        ({"max_features": 1.5}, "max_features"),
        ({"hold_out": 1.0}, "held-out fraction"),
        ({"n_features_to_select": 9}, "1 to 6"),
    ],
)
def test_wrong_settings_are_named(settings, words):
    X, y = draw(0)
    for kind in BOTH:
        with pytest.raises(ValueError, match=words):
            kind(**settings).fit(X, y)


def test_one_class_to_train_on():
    X, _ = draw(0)
    y = np.zeros(64, int)
    y[9:12] = 1  # in the first run that is held out
    with pytest.raises(ValueError, match="of one class"):
        OrderedFS().fit(X, y)
