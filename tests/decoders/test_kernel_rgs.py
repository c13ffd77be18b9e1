import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from neurofs.decoders.kernel_rgs import KernelModel, KernelRGSDecoder, count_model_rows, needed_memory
from neurofs.experiments.reproduce.planted import draw, found
from neurofs.features.samples import Samples
from neurofs.metric.learning import (
    DIRECTION_STEP,
    MIXING_STEP,
    _differentiate,
    _State,
    choose_start,
    find_coordinates,
    learn_metric,
    mix_lags,
    sort_rows,
)
from neurofs.selectors.kernel_rgs import KernelRGS, find_start, weigh_by_rgs
from neurofs.selectors.targets import standardize


@parametrize_with_checks([KernelRGS(n_steps=3)])
def test_scikit_learn(estimator, check):
    check(estimator)


def windows(n_bins=500, n_channels=4, n_lags=5, seed=0):
    """Counts whose channel 1, two bins back, times channel 2, now, make the target; windows overlap."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(1.0, (n_bins, n_channels)).astype(np.float32)
    samples = Samples.from_counts(counts, n_lags)
    rows = np.arange(n_lags - 1, n_bins)
    y = (counts[rows - 2, 1] - 1) * (counts[rows, 2] - 1) + counts[rows - 1, 0]
    return samples, y + 0.1 * rng.normal(size=len(y))


def feature(lag, channel, n_channels=4, n_lags=5):
    return (n_lags - 1 - lag) * n_channels + channel


def test_it_finds_what_matters_alone_and_in_pairs():
    samples, y = windows(800)
    selector = KernelRGS(random_state=0).fit(samples, y)
    assert set(selector.order_[:2]) == {feature(2, 1), feature(0, 2)}
    of_channel_0 = selector.weights_.reshape(5, 4)[:, 0]
    assert of_channel_0.argmax() == 3, "of the channel that matters alone, the bin that does"
    assert selector.loss_curve_[-10:].mean() < selector.loss_curve_[:5].mean() - 0.5
    assert selector.weights_.max() == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("mixed", [True, False])
def test_it_decodes_and_its_intervals_cover(mixed):
    samples, y = windows(1200)
    train, test = samples[:900], samples[910:]
    decoder = KernelRGSDecoder(mixed, random_state=0).fit(train, y[:900])
    mean, std = decoder.predict(test, return_std=True)
    truth = y[910:]
    assert 1 - np.mean((truth - mean) ** 2) / truth.var() > 0.8
    assert 0.88 < np.mean(np.abs(truth - mean) < 1.96 * std) < 1.0
    np.testing.assert_allclose(decoder.predict(test), mean)
    assert decoder.feature_weights_.shape == (20,)


def test_the_same_seed_gives_the_same_bytes_and_samples_equal_arrays():
    samples, y = windows(300)
    one = KernelRGS(random_state=3, n_steps=10).fit(samples, y)
    two = KernelRGS(random_state=3, n_steps=10).fit(samples, y)
    assert one.weights_.tobytes() == two.weights_.tobytes()


def test_several_outputs_and_trials():
    samples, y = windows(400)
    Y = np.column_stack([y, -y, np.zeros_like(y)])
    groups = np.arange(len(y)) // 20
    decoder = KernelRGSDecoder(random_state=0, n_steps=30).fit(samples, Y, groups)
    predicted = decoder.predict(samples)
    assert predicted.shape == Y.shape
    np.testing.assert_allclose(predicted[:, 0], -predicted[:, 1], atol=1e-8)
    np.testing.assert_allclose(predicted[:, 2], 0, atol=1e-12)


def test_rows_are_ordered_trial_by_trial_and_few_trials_are_no_blocks():
    samples = Samples.from_array(np.zeros((12, 2)))
    groups = np.array([5, 5, 3, 3, 9, 9, 1, 1, 7, 7, 5, 5])
    order, trial = sort_rows(samples, groups)
    assert order.tolist() == [0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9]
    assert trial.tolist() == [2, 2, 2, 2, 1, 1, 4, 4, 0, 0, 3, 3]
    assert sort_rows(samples, np.repeat([0, 1], 6))[1] is None


def test_lags_are_mixed_within_channels():
    rng = np.random.default_rng(0)
    rows, mixing = rng.normal(size=(7, 6)), rng.normal(size=(3, 3))
    mixed = mix_lags(rows, mixing, n_channels=2).reshape(7, 3, 2)
    for channel in range(2):
        np.testing.assert_allclose(mixed[:, :, channel], rows.reshape(7, 3, 2)[:, :, channel] @ mixing)


@pytest.mark.parametrize("n_directions", [0, 2])
@pytest.mark.parametrize("mixed", [True, False])
def test_the_gradient_of_all_that_is_learned_equals_central_differences(mixed, n_directions):
    samples, y = windows(60, n_channels=3, n_lags=3)
    X = np.asarray(samples).astype(np.float64)
    X, Y = X - X.mean(axis=0), ((y - y.mean()) / y.std())[:, None]
    edges = np.array([0, 20, 40, len(X)])
    scored = np.ones(len(X), dtype=bool)
    rng = np.random.default_rng(0)
    state = _State.start(samples, X.var(axis=0), mixed)
    if n_directions:
        state = replace(state, directions=rng.normal(size=(9, n_directions)))
    state = state.moved(0.1 * rng.normal(size=sum(state.sizes)))
    _, gradient = _differentiate(state, X, Y, edges, scored, m=50)
    scales = np.repeat([1.0, MIXING_STEP, DIRECTION_STEP], [18, 9 * mixed, 9 * n_directions])  # of moves

    def objective(change):
        at = state.moved(change)
        penalty = np.sum(at.channel**2) / 0.4 + np.sum(at.lag**2) / 0.4 + np.sum(at.feature**2) / 0.04
        penalty += 0.0 if at.directions is None else np.sum(at.directions**2)
        return _differentiate(at, X, Y, edges, scored, m=50)[0] + penalty / 50

    for i, scale in enumerate(scales):
        step = 1e-5 * (np.arange(len(gradient)) == i)
        numeric = (objective(step) - objective(-step)) / 2e-5
        assert scale * gradient[i] == pytest.approx(numeric, abs=1e-6)


def test_directions_are_further_coordinates():
    rng = np.random.default_rng(0)
    rows, directions, mixing = rng.normal(size=(7, 6)), rng.normal(size=(6, 2)), rng.normal(size=(3, 3))
    Z = find_coordinates(rows, mixing, directions, n_channels=2)
    np.testing.assert_allclose(Z[:, :6], mix_lags(rows, mixing, 2))
    np.testing.assert_allclose(Z[:, 6:], rows @ directions)


def test_directions_begin_short_and_where_samples_and_targets_vary_together():
    samples, y = windows(400)
    Y = standardize(y[:, None])
    begun = learn_metric(samples, Y, None, np.random.default_rng(0), mixed=False, n_directions=2, n_steps=0)
    Z = begun.transform(samples)
    np.testing.assert_allclose(np.var(Z[:, 20:], axis=0), 0.3**2 * 0.5 / 2, rtol=1e-4)
    assert np.var(Z[:, :20], axis=0).sum() == pytest.approx(0.5, rel=1e-4)
    assert np.argmax(np.abs(begun.directions[:, 0])) == feature(1, 0), "what goes along with y alone"


def test_the_prediction_is_the_mean_of_two_models():
    samples, y = windows(400)
    train, test = samples[:300], samples[310:]
    decoder = KernelRGSDecoder(random_state=0, n_steps=20).fit(train, y[:300])
    alone = KernelRGSDecoder(random_state=0, n_steps=20, n_directions=0).fit(train, y[:300])
    assert (len(decoder.metrics_), len(alone.metrics_)) == (2, 1)
    assert decoder.metrics_[0].mixing is not None
    assert decoder.metrics_[1].mixing is None
    assert decoder.metrics_[1].directions.shape == (20, 4)
    mean, std = decoder.predict(test, return_std=True)
    first, std_of_first = alone.predict(test, return_std=True)
    second = decoder._others[0].predict(test)[:, 0] * decoder.sd_ + decoder.mean_
    np.testing.assert_allclose(mean, (first + second) / 2)
    np.testing.assert_allclose(std, std_of_first)
    weights = decoder.metrics_[0].feature_weights + decoder.metrics_[1].feature_weights
    np.testing.assert_allclose(decoder.feature_weights_, weights / weights.max())


def test_a_model_solves_its_equations():
    samples, y = windows(120)
    Y = standardize(y[:, None])
    metric = learn_metric(samples, Y, None, np.random.default_rng(0), mixed=False, n_directions=2, n_steps=5)
    model = KernelModel(metric, 0.3, samples).fit(samples, Y)
    Z = metric.transform(samples).astype(np.float64)
    distances = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    K = 1 / (1 + distances) + metric.linear * Z @ Z.T + 1
    inverse = np.linalg.inv(K + 0.3 * np.eye(len(K)))
    mean, std = model.predict_std(samples[:10])
    np.testing.assert_allclose(mean, (K @ inverse @ Y)[:10], atol=1e-4)
    np.testing.assert_allclose(mean, model.predict(samples[:10]))
    variance = np.diag(K) + 0.3 - np.diag(K @ inverse @ K)
    np.testing.assert_allclose(std, np.sqrt(variance)[:10], rtol=1e-4)


def test_landmarks_solve_their_equations():
    samples, y = windows(300)
    Y = standardize(y[:, None])
    metric = learn_metric(samples, Y, None, np.random.default_rng(0), n_steps=5)
    model = KernelModel(metric, 0.3, samples[:80]).fit(samples, Y)
    Z = metric.transform(samples).astype(np.float64)
    distances = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    K = 1 / (1 + distances) + metric.linear * Z @ Z.T + 1
    landmarks, between = K[:80, :80], K[:, :80]
    alpha = np.linalg.solve(between.T @ between + 0.3 * landmarks, between.T @ Y)
    mean, std = model.predict_std(samples)
    np.testing.assert_allclose(mean, between @ alpha, atol=1e-3)
    inverse = np.linalg.inv(landmarks + 0.3 * 80 / len(samples) * np.eye(80))
    variance = np.diag(K) + 0.3 - np.einsum("ij,jk,ik->i", between, inverse, between)
    np.testing.assert_allclose(std, np.sqrt(variance), rtol=1e-3)


@pytest.mark.parametrize("n_model", [400, 150], ids=["all rows", "landmarks"])
def test_hardly_any_ridge_is_no_harm(n_model):
    X = np.random.default_rng(0).normal(size=(400, 2)).astype(np.float32)
    X[200:] = X[:200]  # K is singular
    samples, Y = Samples.from_array(X), np.sin(X[:, :1])
    metric = learn_metric(samples, Y, None, np.random.default_rng(0), n_steps=5)
    model = KernelModel(metric, 1e-12, samples[np.arange(400 - n_model, 400)]).fit(samples, Y)
    mean, std = model.predict_std(samples)
    np.testing.assert_allclose(mean, Y, atol=0.02)
    assert np.isfinite(std).all()


@pytest.mark.parametrize(
    ("m", "n"), [(20, 3), (20, 1), (6, 2), (60, 3000)], ids=["20 rows", "1 feature", "6 rows", "3000 features"]
)
def test_small_and_wide_data(m, n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, n))
    decoder = KernelRGSDecoder(random_state=0, n_steps=20).fit(X, X[:, 0])
    mean, std = decoder.predict(X, return_std=True)
    assert np.isfinite(mean).all()
    assert (std > 0).all()
    assert np.isfinite(KernelRGS(random_state=0, n_steps=20).fit(X, X[:, 0]).weights_).all()


@pytest.mark.parametrize("kind", ["constant target", "constant features", "duplicate rows", "heavy tails", "all zero"])
def test_wild_data(kind):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(80, 6)), rng.normal(size=80)
    if kind == "constant target":
        y[:] = 3.0
    elif kind == "constant features":
        X[:, 2:5] = 7.0
    elif kind == "duplicate rows":
        X[40:] = X[:40]
        y[40:] = y[:40]
    elif kind == "heavy tails":
        y = rng.standard_cauchy(80) ** 3
    else:
        X[:] = 0
    selector = KernelRGS(random_state=0, n_steps=20).fit(X, y)
    assert np.isfinite(selector.weights_).all()
    if kind == "constant features":
        assert selector.weights_[2:5].tolist() == [0, 0, 0]
    predicted = KernelRGSDecoder(random_state=0, n_steps=20).fit(X, y).predict(X)
    assert np.isfinite(predicted).all()
    if kind == "constant target":
        np.testing.assert_allclose(predicted, 3.0)


def test_classes_are_learned_as_one_output_each():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 8))
    labels = np.array(["left", "right"])[((X[:, 1] > 0) ^ (X[:, 4] > 0)).astype(int)]
    selector = KernelRGS(random_state=0, n_steps=30).fit(X, labels)
    assert set(selector.order_[:2]) == {1, 4}
    numbers = KernelRGS(random_state=0, n_steps=30).fit(X, (labels == "right").astype(int))
    np.testing.assert_array_equal(numbers.weights_, selector.weights_)
    columns = np.column_stack([labels == "left", labels == "right"]).astype(float)
    by_hand = KernelRGS(random_state=0, n_steps=30).fit(X, columns)
    np.testing.assert_array_equal(by_hand.weights_, selector.weights_)
    with pytest.raises(ValueError, match="at least 2 classes"):
        KernelRGS().fit(X, np.repeat("left", 240))


def test_the_search_begins_where_it_is_told():
    samples, _ = windows(200)
    variance = np.asarray(samples).astype(float).var(axis=0)
    weights = np.random.default_rng(0).uniform(0.2, 1.0, 20)
    state = _State.start(samples, variance, True, weights)
    np.testing.assert_allclose(state.weights / state.weights[0], weights / weights[0])
    assert 2 * state.weights**2 @ variance == pytest.approx(1.0)
    np.testing.assert_allclose(state.feature.reshape(5, 4).sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(state.feature.reshape(5, 4).sum(axis=1), 0, atol=1e-12)
    metric = state.metric(np.zeros(20), np.ones(20, dtype=bool), np.empty(0))
    again = _State.start(samples, variance, True, metric)
    np.testing.assert_allclose(again.weights, state.weights)


def test_what_a_lone_difference_counts_includes_the_mixing():
    samples, y = windows(300)
    metric = KernelRGSDecoder(random_state=0, n_steps=10).fit(samples, y).metrics_[0]
    moved = [np.linalg.norm(mix_lags(row[None], metric.mixing, 4)) for row in np.diag(metric.weights)]
    np.testing.assert_allclose(metric.feature_weights, np.array(moved) / max(moved))


def test_memory_is_counted_before_the_work(monkeypatch):
    assert count_model_rows(9000, 100, 800, 2e9) == 9000
    assert count_model_rows(9000, 100, 800, 5e8) == 2000
    assert 1900 <= count_model_rows(20_000, 40_000, 200, 1.78e9) < 2000
    samples, y = windows(400)
    with pytest.raises(ValueError, match=r"needs at least \d+ MB for 396 samples of 20 features"):
        KernelRGSDecoder(memory_limit=1e6).fit(samples, y)
    monkeypatch.setattr("neurofs.decoders.kernel_rgs.CHOOSING_ROWS", 100)
    few = KernelRGSDecoder(memory_limit=4e6, n_rows=100, n_steps=5, random_state=0).fit(samples, y)
    assert 100 <= len(few._first.rows) < len(samples)
    assert np.isfinite(few.predict(samples)).all()


@pytest.mark.slow
@pytest.mark.parametrize(("n_samples", "n_model"), [(3000, 3000), (4000, 500)])
def test_the_count_of_memory_holds(n_samples, n_model, monkeypatch):
    monkeypatch.setattr("neurofs.decoders.kernel_rgs.MOST_ROWS", 3500)
    monkeypatch.setattr("neurofs.decoders.kernel_rgs.LANDMARKS", 500)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, 40)).astype(np.float32)
    decoder = KernelRGSDecoder(n_steps=2, n_rows=200, random_state=0)
    tracemalloc.start()
    decoder.fit(X, X[:, 0])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(decoder._first.rows) == n_model
    assert peak <= 1.05 * needed_memory(n_model, n_samples, 40, 200)


@pytest.mark.slow
@pytest.mark.parametrize(("m", "n"), [(50_000, 3), (300, 20_000)], ids=["50,000 rows", "20,000 features"])
def test_long_and_very_wide_data(m, n, monkeypatch):
    monkeypatch.setattr("neurofs.decoders.kernel_rgs.LANDMARKS", 300)
    monkeypatch.setattr("neurofs.decoders.kernel_rgs.CHOOSING_ROWS", 400)
    X = np.random.default_rng(0).normal(size=(m, n)).astype(np.float32)
    y = np.sin(X[:, 0]) + X[:, 1]
    decoder = KernelRGSDecoder(random_state=0, n_steps=10, n_rows=200).fit(X, y)
    mean, std = decoder.predict(X[:500], return_std=True)
    assert np.isfinite(mean).all()
    assert (std > 0).all()
    if m > n:
        assert np.corrcoef(mean, y[:500])[0, 1] > 0.98
    selector = KernelRGS(random_state=0, n_steps=3, n_rows=100).fit(X, y)
    assert np.isfinite(selector.weights_).all()
    assert set(selector.order_[:2]) == {0, 1} or n > m


def test_silent_channels_and_one_block():
    samples, y = windows(300)
    counts = samples.flat.reshape(-1, 4).copy()
    counts[:, 3] = 0
    silent = Samples.from_counts(counts, 5)
    selector = KernelRGS(random_state=0, n_steps=10).fit(silent, y)
    assert (selector.weights_.reshape(5, 4)[:, 3] == 0).all()
    assert (selector.weights_.reshape(5, 4)[:, :3] > 0).all()
    tiny = samples[:7]
    assert np.isfinite(KernelRGSDecoder(n_steps=3).fit(tiny, y[:7]).predict(tiny)).all()
    assert np.isfinite(KernelRGS(n_steps=3).fit(tiny[:4], y[:4]).weights_).all()
    one_trial = KernelRGS(n_steps=3, random_state=0).fit(samples, y, np.zeros(len(y)))
    np.testing.assert_array_equal(one_trial.weights_, KernelRGS(n_steps=3, random_state=0).fit(samples, y).weights_)


def test_the_search_begins_where_rgs_and_pairs_suggest():
    samples, y = windows(150)
    begun = KernelRGS(random_state=0, n_steps=0).fit(samples, y)
    rng = np.random.default_rng(np.random.RandomState(0).randint(2**31))
    start = find_start(samples, standardize(y[:, None]), None, rng)
    expected = np.maximum(start, 0.05 * np.sqrt(np.mean(start**2)))
    np.testing.assert_allclose(begun.weights_, expected / expected.max())
    np.testing.assert_array_equal(begun.order_, np.argsort(-begun.weights_, kind="stable"))
    equal = KernelRGS(head_start=False, random_state=0, n_steps=0).fit(samples, y)
    np.testing.assert_allclose(equal.weights_, 1.0)


def test_the_best_of_several_starts_is_taken():
    samples, y = windows(400)
    Y, rng = standardize(y[:, None]), np.random.default_rng(0)
    true = np.full(20, 0.05)
    true[[feature(2, 1), feature(0, 2), feature(1, 0)]] = 1.0
    wrong = true[::-1].copy()
    starts = [np.ones(20), wrong, true]
    assert choose_start(starts, samples, Y, None, rng) is true
    assert choose_start(starts[:2], samples, Y, None, rng) is starts[0]
    overlapping = samples[:3]
    assert choose_start(starts, overlapping, Y[:3], None, rng) is starts[0]


@pytest.mark.slow
def test_pairs_that_rgs_misses_are_found():
    X, y = draw("mixed", 301)
    rgs = weigh_by_rgs(Samples.from_array(X), standardize(y[:, None]), None, np.random.default_rng(301))
    assert found(rgs) < 20
    assert found(KernelRGS(random_state=301).fit(X, y).weights_) == 20


def test_landmarks_stand_in_for_all_rows(monkeypatch):
    samples, y = windows(900)
    full = KernelRGSDecoder(random_state=0, n_steps=20).fit(samples[:700], y[:700])
    monkeypatch.setattr("neurofs.decoders.kernel_rgs.MOST_ROWS", 500)
    monkeypatch.setattr("neurofs.decoders.kernel_rgs.LANDMARKS", 400)
    part = KernelRGSDecoder(random_state=0, n_steps=20).fit(samples[:700], y[:700])
    test = samples[710:]
    assert np.corrcoef(full.predict(test), part.predict(test))[0, 1] > 0.98
    _, std = part.predict(test, return_std=True)
    assert (std > 0).all()


def test_the_wrong_number_of_features_is_refused():
    samples, y = windows(100)
    decoder = KernelRGSDecoder(n_steps=2).fit(samples, y)
    with pytest.raises(ValueError, match="fitted with 20"):
        decoder.predict(np.zeros((3, 5)))
