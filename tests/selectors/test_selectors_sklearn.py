"""The selectors and classifiers as scikit-learn estimators: what they find, refuse, and keep apart."""

import numpy as np
import pandas as pd
import pytest
import reference
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from neurofs.decoders.classifiers import OneNNClassifier, SoftKNNClassifier
from neurofs.features.samples import Samples
from neurofs.ground.method import describe_methods, render_methods
from neurofs.selectors import RGS, SELECTORS, ForwardSelection, GFlip, ReliefF, Selector, Simba

CONSISTENT = ("focus1", "focus2", "simple-greedy", "mi-greedy", "weighted-greedy")  # for discrete features
SETTINGS = {
    "rgs": {"n_epochs": 2},
    "kernel-rgs": {"n_steps": 30},
    "simba": {"n_starts": 2},
    "r2w2": {"max_rows": 400},
    "backward": {"n_features_to_select": 0.5},
    "ebfs": {"random_state": 0},
    "mufasa": {"n_rounds": 30, "width": 5.0, "random_state": 2},
    **{name: {"levels": 2, "binning": "quantile"} for name in CONSISTENT},
}
NAMES = [name for name in SELECTORS if name not in ("rgs", "kernel-rgs")]  # which have tests of their own
CLASSES = [name for name, kind in SELECTORS.items() if kind.target == "classes"]
MARGINS = [name for name in CLASSES if name not in (*CONSISTENT, "ebfs")]
DETERMINISTIC = [name for name in NAMES if name != "random"]
BLIND = ("corrcoef", "infogain", "sks", "pairs", "random")  # look at one or two features at a time, or at none


def make(name, **settings):
    return SELECTORS[name](**{**SETTINGS.get(name, {}), **settings})


def task(name, m=120, n=8, seed=0):
    """Features 2 and 5 matter, each on its own and both together."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (m, n))
    y = X[:, 2] + X[:, 5] + 2 * X[:, 2] * X[:, 5]
    return X, (y > np.median(y)).astype(int) if name in CLASSES else y


def xor(m=1000, seed=0):
    X = np.random.default_rng(seed).uniform(-1, 1, (m, 10))
    return X, (X[:, :3] > 0).sum(axis=1) % 2


def expected_failures(estimator):
    """No check is expected to fail."""
    return {}


@parametrize_with_checks(
    [*(make(name) for name in NAMES), SoftKNNClassifier(), OneNNClassifier()], expected_failed_checks=expected_failures
)
def test_scikit_learn(estimator, check):
    check(estimator)


# ------------------------------------------------------------------------------------------ what they find


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("random", "all")])
def test_finds_what_matters(name):
    X, y = task(name, m=200)
    selector = make(name, n_features_to_select=2).fit(X, y)
    assert selector.get_support(indices=True).tolist() == [2, 5]
    np.testing.assert_array_equal(selector.transform(X), X[:, [2, 5]])
    assert set(selector.order_[:2]) == {2, 5}
    np.testing.assert_array_equal(selector.ranking_[selector.order_], np.arange(1, 9))
    assert (selector.weights_ >= 0).all()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", MARGINS)
def test_xor_is_solved_by_margins(name, seed):
    X, y = xor(seed=seed)
    for utility in {"simba": ("linear", "sigmoid"), "gflip": ("linear", "zero-one", "sigmoid")}.get(name, ("",)):
        settings = {"utility": utility, "random_state": seed} if utility else {}
        size = {} if name == "gflip" else {"n_features_to_select": 3}  # G-flip finds the size itself
        selector = make(name, **settings, **size).fit(X, y)
        assert selector.get_support(indices=True).tolist() == [0, 1, 2], utility


def test_xor_is_not_solved_by_rankers():
    for name in BLIND:
        found = 0
        for seed in range(10):
            X, y = xor(seed=seed)
            selector = make(name, n_features_to_select=3).fit(X, y.astype(float) if name == "sks" else y)
            found += selector.get_support(indices=True).tolist() == [0, 1, 2]
        assert found <= 1, name


def test_published_simba_and_several_starts():
    X, y = xor(300)
    one, five = (Simba(n_starts=n, step_size=1.0, random_state=0).fit(X, y) for n in (1, 5))
    assert five.evaluation_ >= one.evaluation_
    assert five.start_evaluations_.shape == (5,)
    np.testing.assert_allclose(five.weights_, five.metric_weights_**2)
    assert five.weights_.max() == 1


@pytest.mark.parametrize("name", ["simba", "gflip", "random"])
def test_the_same_seed_gives_the_same_weights(name):
    X, y = task(name)
    first, again = (make(name, random_state=3).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.weights_, again.weights_)
    np.testing.assert_array_equal(first.order_, again.order_)


def test_simba_does_not_depend_on_the_unit():
    X, y = task("simba")
    first = Simba(random_state=0).fit(X, y).weights_
    np.testing.assert_allclose(Simba(random_state=0).fit(64 * X, y).weights_, first, rtol=1e-4, atol=1e-6)


# ------------------------------------------------------------------------------------- what they are given


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_array_frame_and_samples_agree(name):
    X, y = task(name)
    X = X.astype(np.float32)
    frame = pd.DataFrame(X, columns=[f"unit {i}" for i in range(8)])
    settings = {"random_state": 0} if name in ("simba", "gflip") else {}
    fits = [make(name, n_features_to_select=2, **settings).fit(d, y) for d in (X, frame, Samples.from_array(X))]
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.weights_, fits[0].weights_)
    assert fits[1].get_feature_names_out().tolist() == [f"unit {i}" for i in fits[1].get_support(indices=True)]
    np.testing.assert_array_equal(fits[2].transform(Samples.from_array(X)), fits[0].transform(X))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_pipeline_grid_search_and_clone(name):
    X, y = task(name, m=60)
    last = OneNNClassifier() if name in CLASSES else LinearRegression()
    pipeline = make_pipeline(make(name, n_features_to_select=2), last)
    step = pipeline.steps[0][0]
    search = GridSearchCV(clone(pipeline), {f"{step}__n_features_to_select": [1, 3]}, cv=2).fit(X, y)
    assert search.best_estimator_.predict(X).shape == (60,)
    assert clone(search.best_estimator_[0]).get_params() == search.best_estimator_[0].get_params()


@pytest.mark.parametrize("name", [n for n in NAMES if n not in CLASSES])
def test_several_outputs(name):
    rng = np.random.default_rng(1)
    X = rng.random((150, 6))
    Y = np.column_stack([X[:, 1], X[:, 4]])
    selector = make(name, n_features_to_select=2).fit(X, Y)
    if name not in ("random", "all", "pairs"):  # the last looks for products
        assert selector.get_support(indices=True).tolist() == [1, 4]


@pytest.mark.parametrize("name", CLASSES)
def test_classes_may_have_any_name(name):
    X, y = task(name)
    settings = {"random_state": 0} if name in ("simba", "gflip") else {}
    first = make(name, **settings).fit(X, y)
    for labels in (np.array(["left", "right"])[y], y == 1, 7 - 3 * y):
        again = make(name, **settings).fit(X, labels)
        np.testing.assert_allclose(again.weights_, first.weights_, atol=1e-6)
    assert again.classes_.tolist() == [4, 7]


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_what_is_not_in_the_fit_has_no_influence(name):
    """A fold of `Samples` shares its buffer with the test rows: changing those must change nothing."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(1.0, (120, 3)).astype(np.float32)
    other = counts.copy()
    other[80:] = rng.poisson(50.0, (40, 3))
    target = (counts[:, 0] > 0).astype(int) if name in CLASSES else counts[:, 0] + 0.1 * rng.normal(size=120)
    train, trial = np.arange(2, 78), np.arange(76) // 10
    settings = {"random_state": 0} if name in ("simba", "gflip") else {}
    fits = [
        make(name, **settings).fit(Samples.from_counts(c, 3, train), target[train], groups=trial)
        for c in (counts, other)
    ]
    np.testing.assert_array_equal(fits[0].weights_, fits[1].weights_)
    np.testing.assert_array_equal(fits[0].order_, fits[1].order_)


# ---------------------------------------------------------------------------------------------- groups


@pytest.mark.parametrize("name", list(SELECTORS))
def test_groups_of_features(name):
    X, y = task(name)
    labels = np.array(["d", "a", "b", "a", "c", "b", "d", "c"])  # b has both features that matter
    selector = make(name, n_features_to_select=1, feature_groups=labels).fit(X, y)
    support = selector.get_support(indices=True)
    assert len(set(labels[support])) == 1
    assert len(support) == 2
    ranks = {label: set(selector.ranking_[labels == label]) for label in "abcd"}
    assert sorted(ranks.values(), key=min) == [{1}, {2}, {3}, {4}]
    assert (np.diff(selector.ranking_[selector.order_]) >= 0).all()
    assert selector.group_labels_.tolist() == ["a", "b", "c", "d"]
    assert selector.group_ranking_[1] == min(ranks["b"])
    if name not in ("random", "all"):
        assert support.tolist() == [2, 5]
    with pytest.raises(ValueError, match="feature_groups"):
        make(name, feature_groups=labels[:3]).fit(X, y)
    with pytest.raises(ValueError, match="1 to 4"):
        make(name, n_features_to_select=5, feature_groups=labels).fit(X, y)


def test_the_weight_of_a_group_is_what_it_adds_to_distances():
    X, y = task("rgs")
    labels = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    plain, grouped = (RGS(random_state=0, feature_groups=g).fit(X, y) for g in (None, labels))
    np.testing.assert_array_equal(plain.weights_, grouped.weights_)
    expected = [np.sqrt((plain.weights_[labels == g] ** 2).sum()) for g in range(4)]
    np.testing.assert_allclose(grouped.group_weights_, expected)
    assert not hasattr(plain, "group_weights_")


# ------------------------------------------------------------------------------------- what they refuse


@pytest.mark.parametrize("name", NAMES)
def test_rows_with_nan_are_refused(name):
    X, y = task(name)
    X[7, 3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        make(name).fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        make(name).fit(Samples.from_array(X), y)
    if name not in CLASSES:
        X, y = task(name)
        y[3] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            make(name).fit(X, y)


@pytest.mark.parametrize("name", CLASSES)
def test_one_class_and_continuous_targets_are_refused(name):
    X, _ = task(name)
    with pytest.raises(ValueError, match="at least 2 classes; found only the class"):
        make(name).fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match="continuous"):
        make(name).fit(X, X[:, 0])


@pytest.mark.parametrize("name", ["sks", "relieff", "rrelieff", "forward", "backward"])
def test_fewer_samples_than_neighbors_are_refused(name):
    X, y = task(name)
    y[:2] = 0, 1
    with pytest.raises(ValueError, match=r"n_neighbors = 10 needs at least 11 samples; found 10"):
        make(name, n_neighbors=10).fit(X[:10], y[:10])
    make(name).fit(X[:10], y[:10])  # the default makes do with what there is
    for wrong in (0, 2.5, "many"):
        with pytest.raises(ValueError, match="n_neighbors"):
            make(name, n_neighbors=wrong).fit(X, y)


@pytest.mark.parametrize("name", ["sks", "relief", "relieff", "rrelieff", "simba", "gflip", "forward", "backward"])
def test_one_trial_leaves_no_neighbors(name):
    X, y = task(name)
    with pytest.raises(ValueError, match="no row has a neighbor"):
        make(name).fit(X, y, groups=np.zeros(len(X)))
    with pytest.raises(ValueError, match="one entry per row"):
        make(name).fit(X, y, groups=[1, 2])
    with pytest.raises(ValueError, match="overlap"):
        make(name, exclude="all").fit(X, y)


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_constant_and_duplicate_columns(name):
    X, y = task(name, m=200)
    X[:, 0] = 3.0
    X[:, 7] = X[:, 5]
    settings = {"random_state": 0} if name in ("simba", "gflip") else {}
    selector = make(name, n_features_to_select=None, **settings).fit(X, y)
    assert np.isfinite(selector.weights_).all()
    if name in ("corrcoef", "infogain", "sks", "relief", "relieff", "rrelieff"):
        assert selector.weights_[0] < 1e-6
        assert selector.weights_[7] == pytest.approx(selector.weights_[5])
    if name in ("forward", "backward", "gflip"):
        assert selector.weights_[0] == 0
    constant = make(name, **settings).fit(np.ones_like(X), y)
    assert np.isfinite(constant.weights_).all()


def test_a_class_of_one_sample_has_no_hit_and_is_passed_over():
    X, y = task("relief")
    y[0] = 2
    for name in CLASSES:
        assert np.isfinite(make(name).fit(X, y).weights_).all()
        with pytest.raises(ValueError, match="both of its own"):
            make("relief").fit(X[:3], [0, 1, 2])


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        (Simba(utility="zero-one"), "'linear', 'sigmoid'"),
        (Simba(n_starts=0), "n_starts"),
        (Simba(step_size=-1.0), "step_size"),
        (GFlip(utility="step"), "'zero-one'"),
        (GFlip(beta=0.0), "beta"),
        (Simba(utility="sigmoid", beta="distances"), "beta"),
        (GFlip(start="none"), "'empty', 'all'"),
        (ReliefF(n_features_to_select=9), "1 to 8"),
        (SELECTORS["infogain"](n_bins=1), "n_bins"),
        (SELECTORS["infogain"](discrete_target="yes"), "discrete_target"),
        (SELECTORS["rrelieff"](sigma=0), "sigma"),
    ],
)
def test_wrong_settings_are_named(selector, words):
    X, y = task("relief")
    with pytest.raises(ValueError, match=words):
        selector.fit(X, y)


# ---------------------------------------------------------------------------------- classifiers, catalog


def test_classifiers_on_samples_and_weights():
    X, y = task("relief", m=300)
    labels = np.array(["left", "right"])[y]
    weights = ReliefF().fit(X[:200], y[:200]).weights_
    for model in (OneNNClassifier(), SoftKNNClassifier()):
        plain = model.fit(X[:200], labels[:200]).score(X[200:], labels[200:])
        weighted = model.fit(X[:200], labels[:200], feature_weights=weights).score(X[200:], labels[200:])
        assert weighted > max(plain, 0.85)
        S = Samples.from_array(X)
        again = clone(model).fit(S[:200], labels[:200], feature_weights=weights).predict(S[200:])
        np.testing.assert_array_equal(again, model.predict(X[200:]))
    np.testing.assert_allclose(SoftKNNClassifier().fit(X, y).predict_proba(X).sum(axis=1), 1.0)
    with pytest.raises(ValueError, match="expects 8"):
        model.fit(X, y).predict(Samples.from_array(X[:, :3]))
    with pytest.raises(ValueError, match="n_neighbors = 5 needs"):
        SoftKNNClassifier(n_neighbors=5).fit(X[:4], [0, 1, 0, 1])


def test_one_nn_is_the_nearest():
    X, y = task("relief")
    expected = [y[:60][np.argmin(((X[:60] - x) ** 2).sum(axis=1))] for x in X[60:]]
    np.testing.assert_array_equal(OneNNClassifier().fit(X[:60], y[:60]).predict(X[60:]), expected)


def test_soft_knn_classifier_shares():
    X, y = task("relief")
    w = np.arange(1, 9) / 8
    got = SoftKNNClassifier(5, beta=0.25).fit(X[:60], y[:60], feature_weights=w).predict_proba(X[60:])
    D = reference.distances(X[60:], X[:60], w)
    np.testing.assert_allclose(got, reference.soft_knn(D, np.eye(2)[y[:60]], 5, 0.25, True), atol=1e-4)


def test_forward_selection_inside_cross_validation():
    X, y = task("forward")
    scores = cross_val_score(make_pipeline(ForwardSelection(2), LinearRegression()), X, y, cv=3)
    assert scores.mean() > 0.3


def test_the_catalog_is_complete():
    records = describe_methods(SELECTORS)
    assert [record["name"] for record in records] == list(SELECTORS)
    assert all(value for record in records for value in record.values())
    assert all(issubclass(kind, Selector) and kind.label and kind.color for kind in SELECTORS.values())
    assert all(len(line) <= 130 for line in render_methods(SELECTORS).splitlines())
