"""RGS as an estimator: what it finds, what it survives, and that it is a good scikit-learn citizen."""

import numba
import numpy as np
import pandas as pd
import pytest
import reference
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from neurofs.features.samples import Samples
from neurofs.selectors import RGS, ascent

pytestmark = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="slow uncompiled; test_loops checks the loops that way"
)


def task(m=80, n=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((m, n))
    return X, np.sin(2 * np.pi * X[:, 3]) * np.sin(2 * np.pi * X[:, 7]) + rng.normal(0, 1 / 7, m)


@parametrize_with_checks([RGS(n_epochs=2)])
def test_scikit_learn(estimator, check):
    check(estimator)


def test_finds_a_pair_that_no_single_feature_shows():
    X, y = task(m=100)
    selector = RGS(n_features_to_select=2, random_state=0).fit(X, y)
    assert set(selector.order_[:2]) == {3, 7}
    assert selector.get_support(indices=True).tolist() == [3, 7]
    np.testing.assert_array_equal(selector.transform(X), X[:, [3, 7]])
    np.testing.assert_array_equal(selector.ranking_[selector.order_], np.arange(1, 21))
    assert selector.weights_.max() == 1
    assert selector.n_neighbors_ == 30
    assert selector.beta_ > 0
    assert len(selector.loss_curve_) == selector.n_epochs_ + 1
    assert selector.loss_curve_.min() < 0.8 * selector.loss_curve_[0]


def test_published_settings():
    rng = np.random.default_rng(0)
    X = rng.random((400, 10))
    selector = RGS.published(random_state=0).fit(X, np.sin(2 * np.pi * X[:, 4]))
    assert (selector.n_neighbors_, selector.n_epochs_) == (50, 1)
    assert selector.order_[0] == 4
    assert RGS.published(n_neighbors="log2").fit(X, X[:, 4]).n_neighbors_ == 9


def published_tasks():
    """Samples and a target: a function of the paper, counts with a product, windows of counts that overlap."""
    rng = np.random.default_rng(5)
    X, counts = rng.random((100, 50)), rng.poisson(0.5, (150, 30)).astype(float)
    yield Samples.from_array(X), np.sin(2 * np.pi * X[:, 0] + np.pi / 2) + X[:, 1] + rng.normal(0, 1 / 7, 100)
    yield Samples.from_array(counts), counts[:, 3] * counts[:, 7] + counts[:, 9] + 0.3 * rng.normal(size=150)
    windows = Samples.from_counts(rng.poisson(1.0, (130, 6)), n_lags=4)
    yield windows, np.asarray(windows)[:, [2, 13]].sum(axis=1) + rng.normal(size=len(windows))


@pytest.mark.parametrize("number", range(3))
def test_published_is_the_published_algorithm(number):
    samples, y = list(published_tasks())[number]
    selector = RGS.published(random_state=7).fit(samples, y)
    rng, m = np.random.RandomState(7), len(samples)
    rng.permutation(m)  # the rows on which the error is watched
    banned = reference.banned_pairs(samples.starts, samples.n_features)
    expected = reference.published_rgs(np.asarray(samples, float), y, 50, rng.permutation(m), banned)
    np.testing.assert_allclose(selector.weights_, expected, rtol=2e-4)
    np.testing.assert_array_equal(selector.order_, np.argsort(-expected, kind="stable"))
    assert abs(expected - 1).max() > 0.1


def test_the_same_seed_gives_the_same_weights_and_scale_and_shift_do_not_matter():
    X, y = task()
    first = RGS(random_state=3).fit(X, y).weights_
    np.testing.assert_array_equal(first, RGS(random_state=3).fit(X, y).weights_)
    np.testing.assert_allclose(RGS(random_state=3).fit(X, 8 * y - 4).weights_, first, rtol=1e-4)
    assert not np.array_equal(first, RGS(random_state=4).fit(X, y).weights_)


def test_array_frame_and_samples_agree():
    X, y = task()
    X = X.astype(np.float32)
    frame = pd.DataFrame(X, columns=[f"channel {i}" for i in range(20)])
    fits = [RGS(3, random_state=0).fit(data, y) for data in (X, frame, Samples.from_array(X))]
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.weights_, fits[0].weights_)
    assert fits[1].get_feature_names_out().tolist() == [f"channel {i}" for i in np.sort(fits[1].order_[:3])]
    np.testing.assert_array_equal(fits[2].transform(Samples.from_array(X)), fits[0].transform(X))
    with pytest.raises(ValueError, match="expects 20"):
        fits[2].transform(Samples.from_array(X[:, :5]))


def test_windows_and_trials():
    rng = np.random.default_rng(0)
    counts = rng.poisson(1.0, (300, 4)).astype(np.float32)
    samples = Samples.from_counts(counts, n_lags=3)
    y = np.asarray(samples)[:, 5] + 0.1 * rng.normal(size=len(samples))
    selector = RGS(random_state=0).fit(samples, y, groups=np.arange(len(samples)) // 20)
    assert selector.order_[0] == 5


def test_what_no_window_covers_may_be_nan():
    counts = np.random.default_rng(0).poisson(1.0, (60, 2)).astype(np.float32)
    counts[30] = np.nan
    rows = [t for t in range(2, 60) if t not in (30, 31, 32)]
    samples = Samples.from_counts(counts, 3, rows)
    assert np.isfinite(RGS().fit(samples, counts[rows, 0]).weights_).all()
    with pytest.raises(ValueError, match="finite"):
        RGS().fit(Samples.from_counts(counts, 3), np.arange(58.0))


def test_several_outputs():
    rng = np.random.default_rng(1)
    X = rng.random((150, 12))
    Y = np.column_stack([np.sin(6 * X[:, 2]), X[:, 8]])
    joint = RGS(random_state=0).fit(X, Y)
    assert set(joint.order_[:2]) == {2, 8}
    separate = RGS(multi_output="separate", random_state=0).fit(X, Y)
    assert separate.output_weights_.argmax(axis=1).tolist() == [2, 8]
    assert separate.weights_.shape == (12,)


def test_the_survey_gives_single_features_a_head_start():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.3, (400, 60)).astype(float)
    y = X[:, :6].sum(axis=1) + 0.3 * rng.normal(size=400)
    selector = RGS(random_state=0).fit(X, y)
    assert set(selector.order_[:6]) == set(range(6))
    assert (selector.head_start_[:6] > 1).all()
    assert (selector.head_start_ >= 1).all()
    assert (selector.head_start_ <= 2).all()
    assert (RGS(survey=False, random_state=0).fit(X, y).head_start_ == 1).all()


def test_the_order_counts_how_much_a_feature_varies():
    X, y = task(m=100)
    selector = RGS(random_state=0).fit(X, y)
    expected = selector.weights_ * np.sqrt(selector.scale_) * selector.head_start_
    np.testing.assert_allclose(selector.importances_, expected)
    np.testing.assert_array_equal(selector.order_, np.argsort(-selector.importances_, kind="stable"))
    by_weight = RGS(random_state=0, order_by="weight").fit(X, y)
    np.testing.assert_array_equal(by_weight.order_, np.argsort(-selector.weights_, kind="stable"))


def test_more_starts_are_no_worse():
    X, y = task(m=40)
    one, three = (RGS(random_state=0, n_starts=n).fit(X, y) for n in (1, 3))
    assert three.loss_curve_.min() <= one.loss_curve_.min()


def wild(name, rng):
    X, y = rng.random((60, 8)), rng.normal(size=60)
    if name == "heavy tails":
        return X, rng.standard_cauchy(60) ** 3
    if name == "heavy-tailed features":
        return rng.standard_cauchy((60, 8)) ** 3, y
    if name == "constant target":
        return X, np.full(60, 3.0)
    if name == "constant features":
        return np.full((60, 8), 2.0), y
    if name == "duplicated rows":
        return np.repeat(X[:6], 10, axis=0), y
    if name == "all-zero features":
        X[:, ::2] = 0
        return X, X[:, 1]
    if name == "huge":
        return 1e15 * X, 1e200 * y
    if name == "tiny":
        return 1e-18 * X, 1e-200 * y
    if name == "one huge feature":
        X[:, 0] *= 1e9
        return X, X[:, 1]
    return X, np.repeat([0.0, 1e9], [59, 1])  # one outlier


NAMES = [
    "heavy tails", "heavy-tailed features", "constant target", "constant features", "duplicated rows",
    "all-zero features", "huge", "tiny", "one huge feature", "one outlier",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("preset", [RGS, RGS.published])
def test_weights_neither_overflow_nor_vanish(name, preset):
    X, y = wild(name, np.random.default_rng(0))
    selector = preset(random_state=0, n_epochs=10, step_size=100.0, step_limit=0.5).fit(X, y)
    assert np.isfinite(selector.weights_).all()
    assert (selector.weights_ >= 0).all()
    assert selector.weights_.max() > 0
    assert np.isfinite(selector.loss_curve_).all()


def test_steps_without_limit_that_run_away_are_one_clear_error():
    with pytest.raises(ValueError, match="take a smaller step_size, or step_limit"):
        RGS.published(step_size=1e200).fit(*task())


def test_a_feature_that_never_changes_weighs_nothing():
    X, y = task(m=100)
    X[:, 0] = 0.0
    selector = RGS(random_state=0).fit(X, y)
    assert selector.weights_[0] == 0
    assert selector.order_[-1] == 0


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"n_neighbors": 2.5}, "n_neighbors"),
        ({"beta": -1.0}, "beta"),
        ({"beta": "wide"}, "beta"),
        ({"step_size": 0}, "step_size"),
        ({"n_epochs": "many"}, "n_epochs"),
        ({"exclude": "all"}, "overlap"),
        ({"multi_output": "each"}, "separate"),
        ({"step_limit": 0}, "step_limit"),
        ({"order_by": "size"}, "order_by"),
        ({"n_features_to_select": 21}, "n_features_to_select"),
    ],
)
def test_wrong_settings_are_named(settings, words):
    with pytest.raises(ValueError, match=words):
        RGS(**settings).fit(*task())


def test_one_trial_leaves_no_neighbors():
    with pytest.raises(ValueError, match="no row has a neighbor"):
        RGS().fit(*task(), groups=np.zeros(80))


def test_clone_and_pipeline():
    X, y = task(m=100)
    pipeline = make_pipeline(RGS(2, random_state=0), LinearRegression())
    assert clone(pipeline).fit(X, y).predict(X).shape == (100,)


def test_many_rows_are_visited_in_a_bounded_number_with_some_rows_as_references(monkeypatch):
    monkeypatch.setattr(ascent, "MOST_PAIRS", 1e5)
    monkeypatch.setattr(ascent, "VISITS", 1200)
    monkeypatch.setattr(ascent, "REFERENCES", 150)
    X, y = task(m=400)
    bounded = RGS(random_state=0, n_epochs=3, survey=False).fit(X, y)
    full = RGS(random_state=0, n_epochs=3, survey=False, effort="full").fit(X, y)
    assert len(bounded.loss_curve_) == 1 + ascent.ROUNDS
    assert len(full.loss_curve_) == 1 + 3
    assert set(bounded.order_[:2]) == set(full.order_[:2]) == {3, 7}
    again = RGS(random_state=0, n_epochs=3, survey=False).fit(X, y)
    np.testing.assert_array_equal(again.weights_, bounded.weights_)
    few = RGS(random_state=0, n_epochs=3, survey=False, effort="quick").fit(X, y)
    assert not np.array_equal(few.weights_, bounded.weights_)


def test_candidates_are_the_nearest_references_that_may_be_neighbors():
    rng = np.random.default_rng(1)
    samples, groups, w = Samples.from_counts(rng.poisson(1.0, (60, 5)), n_lags=3), np.arange(58) // 7, rng.random(15)
    search = ascent.Ascent(RGS(n_neighbors=4), samples, groups, 1.0)
    rows, references = np.array([3, 50, 21]), np.sort(rng.permutation(58)[:40])
    index, count = search._candidates(w, rows, references)
    X, banned = np.asarray(samples, float), reference.banned_pairs(samples.starts, samples.span)
    for i, near, n in zip(rows, index, count, strict=True):
        d = ((X - X[i]) ** 2 * w**2).sum(axis=1)
        allowed = [j for j in references if not banned[i, j] and groups[i] != groups[j]]
        np.testing.assert_allclose(np.sort(d[near[:n]]), np.sort(d[allowed])[:4], rtol=1e-5)


def test_effort_is_one_of_three_words():
    with pytest.raises(ValueError, match="effort must be one of quick, normal, full; found 'little'"):
        RGS(effort="little").fit(*task())
