import numpy as np
import pytest
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge as SklearnRidge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVR as SklearnSVR

from neurofs.decoders import DECODERS, kernel_ridge, linear, nearest
from neurofs.decoders.base import POWERS, best_by_turns, best_of_all
from neurofs.decoders.kernel_ridge import KernelRidgeMetric
from neurofs.decoders.libraries import SVR, GradientBoosting
from neurofs.decoders.linear import Ridge, WienerCascade
from neurofs.decoders.nearest import LocalLinear, SoftKNN
from neurofs.decoders.preferred import MetricAverage, PreferredDecoder
from neurofs.decoders.window_ridge import Windows
from neurofs.features.holdouts import Holdout, hold_out, pick_evenly
from neurofs.features.samples import Samples
from neurofs.features.splits import overlap_audit
from neurofs.metric import tables

FAST = {
    "gradient-boosting": {"max_trees": 20, "library": "sklearn"},
    "mlp": {"max_epochs": 3, "hidden": (8,)},
    "local-linear": {"n_neighbors": 40, "beta": 0.25},
}


TUNED = [name for name, kind in DECODERS.own.items() if not kind.own_metric and kind.target != "classes"]
SINGLE = [name for name in TUNED if name not in ("average", "auto")]  # these are made of three of the others


def make(name):
    return DECODERS[name](**FAST.get(name, {}))


@pytest.fixture(scope="module")
def session():
    """Counts of 6 channels whose rates follow a slow two-dimensional velocity; windows of 3 lags."""
    rng = np.random.default_rng(0)
    velocity = np.column_stack([np.sin(np.arange(260) / 7), np.cos(np.arange(260) / 11)])
    rates = np.exp(0.8 + velocity @ rng.normal(size=(2, 6)))
    return Samples.from_counts(rng.poisson(rates), n_lags=3), velocity[2:]


@pytest.fixture(scope="module")
def cloud():
    """Plain rows: two outputs of five features."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 5)).astype(np.float32)
    return X, np.column_stack([np.sin(X[:, 0]) + X[:, 1], X[:, 0] * X[:, 2]])


def distances(A, B, w):
    return (((A[:, None].astype(float) - B[None]) * w) ** 2).sum(axis=2)


# --------------------------------------------------------------------------------------------- all decoders


@pytest.mark.parametrize("name", [name for name in SINGLE if name != "kalman"])  # an array has no bins to choose from
def test_samples_and_their_rows_as_an_array_agree(name, session):
    samples, y = session
    parts = [Holdout(np.arange(0, 150), np.arange(155, 195))]  # an array knows no overlap: same hold-out
    by_samples = make(name).fit(samples[:200], y[:200], holdouts=parts).predict(samples[205:])
    by_array = make(name).fit(np.asarray(samples)[:200], y[:200], holdouts=parts)
    np.testing.assert_allclose(by_array.predict(np.asarray(samples)[205:]), by_samples, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", TUNED)
def test_decodes_a_session_and_keeps_the_shape_of_the_target(name, session):
    samples, y = session
    both = make(name).fit(samples[:200], y[:200]).predict(samples[205:])
    one = make(name).fit(samples[:200], y[:200, 0]).predict(samples[205:])
    assert both.shape == (53, 2)
    assert one.shape == (53,)
    assert np.isfinite(both).all()
    if name not in ("mlp", "gradient-boosting"):  # kept too small here to be good
        assert np.corrcoef(one, y[205:, 0])[0, 1] > 0.5


@pytest.mark.parametrize("name", SINGLE)
def test_a_weight_of_zero_drops_a_feature(name, session):
    samples, y = session
    X = np.asarray(samples).copy()
    weights = np.ones(X.shape[1])
    weights[4] = 0
    usual = make(name).fit(X[:200], y[:200], feature_weights=weights).predict(X[205:])
    X[:, 4] = np.random.default_rng(2).normal(size=len(X)) * 50
    np.testing.assert_allclose(
        make(name).fit(X[:200], y[:200], feature_weights=weights).predict(X[205:]), usual, rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("name", SINGLE)
def test_a_metric_of_its_own_for_each_output_is_two_decoders(name, session):
    samples, y = session
    weights = np.random.default_rng(3).uniform(0.2, 1, size=(2, samples.n_features))
    if name == "mlp":
        pytest.skip("a network of two outputs differs from two networks in its first weights")
    both = make(name).fit(samples[:200], y[:200], feature_weights=weights).predict(samples[205:])
    for o in range(2):
        one = make(name).fit(samples[:200], y[:200, o], feature_weights=weights[o]).predict(samples[205:])
        np.testing.assert_allclose(both[:, o], one, atol=2e-3 if name == "svr" else 1e-6)


@pytest.mark.parametrize("name", SINGLE)
def test_scale_and_offset_of_the_target_only_carry_over(name, session):
    samples, y = session
    plain = make(name).fit(samples[:200], y[:200]).predict(samples[205:])
    moved = make(name).fit(samples[:200], 1000 * y[:200] - 7).predict(samples[205:])
    np.testing.assert_allclose(moved, 1000 * plain - 7, rtol=1e-3, atol=1)


@pytest.mark.parametrize("name", SINGLE)
def test_a_constant_target_is_predicted(name, session):
    samples, _ = session
    predicted = make(name).fit(samples[:100], np.full(100, 3.0)).predict(samples[110:120])
    np.testing.assert_array_equal(predicted, 3.0)


@pytest.mark.parametrize("name", SINGLE)
def test_settings_can_be_cloned_and_input_is_checked(name, session):
    samples, y = session
    decoder = clone(make(name))
    assert decoder.get_params() == make(name).get_params()
    with pytest.raises(ValueError, match="58 rows"):
        decoder.fit(samples[200:], y[:200])
    with pytest.raises(ValueError, match="finite"):
        decoder.fit(samples[:50], np.full(50, np.nan))
    with pytest.raises(ValueError, match="shape"):
        decoder.fit(samples[:50], y[:50], feature_weights=[1, 2])
    with pytest.raises(ValueError, match="not negative"):
        decoder.fit(samples[:50], y[:50], feature_weights=-np.ones(18))
    with pytest.raises(ValueError, match="18 features"):
        decoder.fit(samples[:100], y[:100]).predict(np.zeros((3, 4)))


def test_every_decoder_says_what_it_is():
    for name, kind in DECODERS.own.items():
        assert kind.name == name
        assert kind.label
        assert kind.cost
        assert kind.citation or kind.origin
    assert len({kind.label for kind in DECODERS.own.values()}) == len(DECODERS.own)


# ------------------------------------------------------------------------------------ each against its peer


def test_soft_knn_equals_a_plain_sum(cloud):
    X, y = cloud
    w, k, beta = np.array([1, 0.5, 2, 0, 1.0]), 7, 0.3
    d = distances(X[100:], X[:100], w)
    expected = []
    for row in d:
        near = np.argsort(row, kind="stable")[:k]
        a = np.exp(-row[near] / (beta * row[near].mean()))
        expected.append(a @ y[near] / a.sum())
    decoder = SoftKNN(n_neighbors=k, beta=beta).fit(X[:100], y[:100], feature_weights=w)
    np.testing.assert_allclose(decoder.predict(X[100:]), expected, rtol=1e-4, atol=1e-5)


def test_soft_knn_of_great_width_equals_scikit_learn(cloud):
    X, y = cloud
    peer = KNeighborsRegressor(9, algorithm="brute").fit(X[:100], y[:100])
    decoder = SoftKNN(n_neighbors=9, beta=1e7).fit(X[:100], y[:100])
    np.testing.assert_allclose(decoder.predict(X[100:]), peer.predict(X[100:]), atol=1e-5)


def test_local_linear_equals_a_weighted_ridge_in_feature_space(cloud):
    X, y = cloud
    w, k, beta, ridge = np.array([1, 0.5, 2, 0.3, 1.0]), 30, 0.4, 0.5
    decoder = LocalLinear(k, beta, ridge).fit(X[:100], y[:100], feature_weights=w)
    d = distances(X[100:], X[:100], w)
    expected = []
    for x, row in zip(X[100:], d, strict=True):
        near = np.argsort(row)[:k]
        a = np.exp(-row[near] / (beta * row[near].mean()))
        a /= a.sum()
        Z = w * (X[near] - x)
        center, mean = a @ Z, a @ y[near]
        S = (Z - center).T @ (a[:, None] * (Z - center))
        slope = np.linalg.solve(
            S + ridge / k * np.trace(S) * np.eye(5), (Z - center).T @ (a[:, None] * (y[near] - mean))
        )
        expected.append(mean - center @ slope)
    np.testing.assert_allclose(decoder.predict(X[100:]), expected, rtol=1e-3, atol=1e-4)


def test_gaussian_kernel_ridge_equals_scikit_learn(cloud):
    X, y = cloud
    X = X.astype(np.float64)
    w, ridge = np.array([1, 0.5, 2, 0.3, 1.0]), 0.1
    middle = np.median(distances(X[:100], X[:100], w))
    decoder = KernelRidgeMetric(width=0.7, ridge=ridge, kernel="gaussian", linear=0)
    predicted = decoder.fit(X[:100], y[:100], feature_weights=w).predict(X[100:])
    K = np.exp(-distances(X, X[:100], w) / (0.7 * middle)) + 1  # the constant takes the place of an intercept
    peer = KernelRidge(alpha=ridge, kernel="precomputed").fit(K[:100], y[:100] - y[:100].mean(axis=0))
    np.testing.assert_allclose(predicted, peer.predict(K[100:]) + y[:100].mean(axis=0), rtol=1e-3, atol=1e-4)


def test_rational_kernel_with_a_linear_part_equals_its_formula(cloud):
    X, y = cloud
    w, middle = np.full(5, 0.8), np.median(distances(X[:100], X[:100], 0.8))
    Z = w * (X - X[:100].mean(axis=0))
    K = 1 / (1 + distances(X, X[:100], w) / (0.5 * middle)) + 0.3 / middle * Z @ Z[:100].T + 1
    center = y[:100].mean(axis=0)
    expected = K[100:] @ np.linalg.solve(K[:100] + 0.2 * np.eye(100), y[:100] - center) + center
    decoder = KernelRidgeMetric(width=0.5, ridge=0.2).fit(X[:100], y[:100], feature_weights=w)
    np.testing.assert_allclose(decoder.predict(X[100:]), expected, rtol=1e-3, atol=1e-4)


def test_kernel_ridge_uses_no_more_rows_than_allowed(cloud):
    X, y = cloud
    decoder = KernelRidgeMetric(width=1, ridge=0.1, max_rows=40).fit(X, y)
    assert decoder.parts_[0].model[1].dual.shape == (40, 2)


@pytest.mark.parametrize("kind", [LocalLinear, KernelRidgeMetric])
def test_many_rows_are_thinned_unless_effort_is_full(kind, cloud, monkeypatch):
    X, y = cloud
    for module in (nearest, kernel_ridge):
        monkeypatch.setattr(module, "NORMAL_ROWS", 60)
        monkeypatch.setattr(module, "TUNING_ROWS", 40)
    normal, quick, full = (kind(effort=effort).fit(X, y) for effort in ("normal", "quick", "full"))
    assert [len(decoder.parts_[0].model[0]) for decoder in (normal, quick, full)] == [60, 15, len(X)]
    np.testing.assert_array_equal(normal.parts_[0].model[0], X[pick_evenly(len(X), 60)])


def test_average_is_the_mean_of_its_members(session):
    samples, y = session
    members = [d().fit(samples[:200], y[:200]) for d in (SoftKNN, LocalLinear, KernelRidgeMetric)]
    expected = np.mean([d.predict(samples[205:]) for d in members], axis=0)
    average = MetricAverage().fit(samples[:200], y[:200])
    np.testing.assert_allclose(average.predict(samples[205:]), expected)


@pytest.mark.parametrize(("effort", "n_rows"), [("normal", 60), ("quick", 15), ("full", 200)])
def test_soft_knn_of_an_average_takes_as_many_rows_as_the_effort_allows(session, monkeypatch, effort, n_rows):
    samples, y = session
    monkeypatch.setattr(nearest, "COMPARED", 60 * samples.n_features)
    average = MetricAverage(effort=effort).fit(samples[:200], y[:200])
    train, targets = average.parts_[0].model["knn"][1].model
    np.testing.assert_array_equal(np.asarray(train), np.asarray(samples[pick_evenly(200, n_rows)]))
    np.testing.assert_allclose(targets * average.scale_ + average.mean_, y[pick_evenly(200, n_rows)])


def test_decoders_of_one_metric_share_their_tables(session, monkeypatch):
    samples, y = session
    alone = [d().fit(samples[:200], y[:200]).predict(samples[205:]) for d in (LocalLinear, KernelRidgeMetric)]
    made = []
    plain = tables.pairwise_distances
    monkeypatch.setattr(tables, "pairwise_distances", lambda *rows, **rest: made.append(1) or plain(*rows, **rest))
    auto = PreferredDecoder().fit(samples[:200], y[:200])
    assert len(made) == 6  # of all rows, and of those without each of five hold-outs
    average = MetricAverage().fit(samples[:200], y[:200])
    for name, expected in zip(("local-linear", "kernel-ridge"), alone, strict=True):
        decoder, part = average.parts_[0].model[name]
        found = decoder._predict_part(part, samples[205:]) * average.scale_ + average.mean_
        np.testing.assert_array_equal(found, expected)
    assert auto.preferred_[0] in ("knn", "local-linear", "kernel-ridge", "average")


def test_parameters_of_kernel_ridge_are_searched_once_for_each_power_of_the_weights(session, monkeypatch):
    samples, y = session
    weights, searched = np.random.default_rng(1).random(samples.n_features), []
    plain = KernelRidgeMetric._search

    def search(self, score):
        searched.append(self.width)
        return plain(self, score)

    monkeypatch.setattr(KernelRidgeMetric, "_search", search)
    average = MetricAverage().fit(samples[:200], y[:200], None, weights)
    assert searched == ["auto"] * len(POWERS)
    weights = average.parts_[0].weights
    fixed = KernelRidgeMetric()
    fixed.SOFTENS = False
    expected = fixed.fit(samples[:200], y[:200], None, weights).parts_[0].chosen
    assert average.parts_[0].model["kernel-ridge"][1].chosen == expected


@pytest.mark.parametrize("weights", [None, "some"])
@pytest.mark.parametrize("ridge", [1e-4, 0.1, 10.0])
def test_ridge_of_many_features_is_the_ridge(session, monkeypatch, weights, ridge):
    samples, y = session
    rows = np.random.default_rng(0).permutation(200)  # in any order
    if weights:
        weights = np.random.default_rng(1).random(samples.n_features) * (np.arange(samples.n_features) % 4 > 0)
    exact = Ridge(ridge=ridge).fit(samples[rows], y[rows], feature_weights=weights)
    monkeypatch.setattr(linear, "MANY", 1)
    monkeypatch.setattr(linear, "NUMBERS", 100)
    monkeypatch.setattr(linear, "_normal_equations", None)
    found = Ridge(ridge=ridge).fit(samples[rows], y[rows], feature_weights=weights)
    np.testing.assert_allclose(found.predict(samples), exact.predict(samples), atol=2e-3)
    assert found.score(samples[205:], y[205:]) == pytest.approx(exact.score(samples[205:], y[205:]), abs=1e-4)


def test_ridge_of_many_features_makes_the_same_choice(session, monkeypatch):
    samples, y = session
    exact = Ridge().fit(samples[:200], y[:200]).parts_[0].chosen
    monkeypatch.setattr(linear, "MANY", 1)
    assert Ridge().fit(samples[:200], y[:200]).parts_[0].chosen == exact


def test_windows_that_repeat_or_begin_within_a_bin_are_unfolded(session):
    samples = session[0]
    assert Windows.fit(samples[[3, 1, 7]])
    assert not Windows.fit(samples[[3, 1, 3]])
    assert not Windows.fit(Samples(samples.flat, [0, 6, 13], samples.n_features, n_channels=6))


def test_ridge_equals_scikit_learn(cloud):
    X, y = cloud
    centered = X[:100].astype(np.float64) - X[:100].mean(axis=0, dtype=np.float64)
    alpha = 0.3 * np.trace(centered.T @ centered) / 5
    peer = SklearnRidge(alpha=alpha).fit(X[:100].astype(np.float64), y[:100])
    predicted = Ridge(ridge=0.3).fit(X[:100], y[:100]).predict(X[100:])
    np.testing.assert_allclose(predicted, peer.predict(X[100:].astype(np.float64)), rtol=1e-5)


def test_ridge_prefers_what_predicts_the_hold_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 40))
    noisy = X[:, 0] + 3 * rng.normal(size=60)
    assert Ridge().fit(X, noisy).parts_[0].chosen["ridge"] >= 1
    assert Ridge().fit(X, X @ rng.normal(size=40)).parts_[0].chosen["ridge"] <= 1e-3


def test_wiener_cascade_bends_the_ridge_and_stays_within_its_range(cloud):
    X, _ = cloud
    line = X[:, 0] + X[:, 1]
    y = np.tanh(2 * line)
    cascade = WienerCascade(ridge=1e-5).fit(X[:100], y[:100])
    assert cascade.score(X[100:], y[100:]) > Ridge(ridge=1e-5).fit(X[:100], y[:100]).score(X[100:], y[100:])
    assert np.abs(cascade.predict(1000 * X)).max() < 3


def test_svr_equals_scikit_learn(cloud):
    X, y = cloud
    y = (y[:, 0] - y[:100, 0].mean()) / y[:100, 0].std()
    gamma = 1 / (2 * np.median(distances(X[:100], X[:100], 1.0)))
    peer = SklearnSVR(C=2, gamma=gamma, epsilon=0.05).fit(X[:100], y[:100])
    predicted = SVR(width=2, C=2).fit(X[:100], y[:100]).predict(X[100:])
    np.testing.assert_allclose(predicted, peer.predict(X[100:]), atol=5e-3)


def test_trees_of_either_library():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.sign(X[:, 0]) + X[:, 1]
    for library in ("sklearn", "xgboost"):
        if library == "xgboost":
            pytest.importorskip("xgboost")
        decoder = GradientBoosting(max_trees=60, library=library).fit(X[:200], y[:200])
        assert decoder.score(X[200:], y[200:]) > 0.7
        assert decoder.parts_[0].chosen["trees_0"] in (50, 60)


# --------------------------------------------------------------------------------------------------- tuning


def test_hold_outs_share_no_data_and_get_weights_of_their_own(session):
    samples, y = session
    seen = []
    parts = hold_out(samples, y, lambda X, y, groups: seen.append((len(X), len(y))) or len(X))
    assert len(parts) == 5
    for part, (n_rows, n_targets) in zip(parts, seen, strict=True):
        assert overlap_audit(samples, part.fit, part.test) == 0
        assert n_rows == n_targets == len(part.fit) == part.weights
    assert sorted(np.concatenate([part.test for part in parts])) == list(range(len(samples)))


def test_hold_outs_keep_trials_whole(session):
    samples, y = session
    trials = np.arange(len(samples)) // 20
    for part in hold_out(samples, y, lambda *_: None, trials):
        assert not set(trials[part.fit]) & set(trials[part.test])


def test_parameters_come_from_the_hold_outs_alone(session):
    samples, y = session
    wild = y[:200].copy()
    untouched = np.r_[100:200]
    wild[untouched] = np.random.default_rng(0).normal(size=(100, 2))
    part = Holdout(np.arange(0, 60), np.arange(65, 95))
    chosen = [SoftKNN().fit(samples[:200], g, holdouts=[part]).parts_[0].chosen for g in (y[:200], wild)]
    assert chosen[0] == chosen[1]


def test_hold_outs_may_share_a_metric_but_not_the_reverse(session):
    samples, y = session
    own, common = np.ones((2, 18)), np.ones(18)
    parts = hold_out(samples, y, lambda *_: common)
    by_common = SoftKNN().fit(samples, y, feature_weights=own, holdouts=parts)
    by_own = SoftKNN().fit(samples, y, feature_weights=own)
    assert [p.chosen for p in by_common.parts_] == [p.chosen for p in by_own.parts_]
    with pytest.raises(ValueError, match="common to all"):
        SoftKNN().fit(samples, y, feature_weights=common, holdouts=hold_out(samples, y, lambda *_: own))


def test_given_parameters_need_no_hold_out(session):
    samples, y = session
    decoder = SoftKNN(n_neighbors=2, beta=0.5).fit(samples[:3], y[:3])  # all three windows overlap
    assert decoder.predict(samples[10:12]).shape == (2, 2)
    with pytest.raises(ValueError, match="no training samples"):
        SoftKNN().fit(samples[:3], y[:3])


def test_more_noise_asks_for_more_neighbors():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 1))
    clean = np.sin(6 * X[:, 0])
    few, many = (SoftKNN().fit(X, clean + sd * rng.normal(size=400)).parts_[0].chosen["n_neighbors"] for sd in (0, 1))
    assert few <= 8
    assert many >= 40


def test_searches_find_the_least_score_and_stay_on_the_grid():
    grids = {"a": (1, 2, 4, 8), "b": (0.1, 1, 10)}

    def score(a, b):
        return (np.log2(a) - 2) ** 2 + np.log10(b) ** 2

    assert best_of_all(score, grids) == {"a": 4, "b": 1}
    assert best_by_turns(score, grids, {"a": 1, "b": 10}) == {"a": 4, "b": 1}
    assert best_by_turns(lambda **_: 1 / 0, {"a": (3,), "b": (1,)}, {"a": 1, "b": 1}) == {"a": 3, "b": 1}


def test_a_wrong_word_for_a_parameter_is_explained(session):
    samples, y = session
    with pytest.raises(ValueError, match="'auto'; found 'best'"):
        SoftKNN(n_neighbors="best").fit(samples[:100], y[:100])
    with pytest.raises(ValueError, match="'rational' or 'gaussian'"):
        KernelRidgeMetric(kernel="cubic").fit(samples[:100], y[:100])
