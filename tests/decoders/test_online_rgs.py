"""RGS one sample at a time, and the interface of FALCON."""

import inspect

import numpy as np
import pytest

import neurofs
from neurofs.decoders.falcon import FalconDecoder
from neurofs.decoders.online_rgs import OnlineRGS
from neurofs.recordings.simulate import simulate_session


@pytest.fixture
def stream():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 6)).astype(np.float32)
    return X, np.column_stack([np.sin(X[:, 0]), X[:, 1]])


def test_the_reference_set_is_bounded_and_holds_the_last_samples(stream):
    X, y = stream
    decoder = OnlineRGS(n_reference=60, step_size=0).fit(X[:50], y[:50])
    for x, target in zip(X[50:200], y[50:200], strict=True):
        decoder.partial_fit(x, target)
    assert decoder.rows_.shape == (60, 6)
    kept = decoder.rows_[np.argsort(decoder.ages_)]
    np.testing.assert_array_equal(kept, X[140:200])
    again = OnlineRGS(n_reference=60, step_size=0).fit(X[140:200], y[140:200], decoder.weights_)
    again.mean_, again.scale_, again.targets_ = decoder.mean_, decoder.scale_, decoder._standardize(y[140:200])
    np.testing.assert_allclose(again.predict(X[300:]), decoder.predict(X[300:]), atol=1e-6)


def slope_by_differences(decoder, x, target, used, h=1e-3):
    """∂e/∂w at one sample by central differences, e = −½ Σ_o (y_o − ĝ_o)² / n_outputs."""

    def e(weights):
        d = ((decoder.rows_[used].astype(float) - x) ** 2 * weights**2).sum(axis=1)
        near = np.argsort(d, kind="stable")[: decoder.n_neighbors]
        p = np.exp(-d[near] / (decoder.beta * d[near].mean()))
        estimate = (p / p.sum()) @ decoder.targets_[used][near]
        return -0.5 * np.mean((target - estimate) ** 2)

    w, steps = decoder.weights_, h * np.eye(len(decoder.weights_))
    return np.array([(e(w + s) - e(w - s)) / (2 * h) for s in steps])


def test_one_sample_is_one_step_up_the_gradient(stream):
    X, y = stream
    decoder = OnlineRGS(n_reference=100, step_size=0.01, n_overlap=5).fit(X[:100], y[:100], np.linspace(1, 2, 6))
    x, target = X[100], decoder._standardize(y[100:101])[0]
    used = np.flatnonzero((100 - decoder.ages_ >= 5) & (decoder.ages_ > decoder.ages_.min()))
    slope = slope_by_differences(decoder, x.astype(float), target, used)
    w = decoder.weights_ * (1 + 0.01 * slope / decoder.weights_)
    decoder.partial_fit(x, y[100])
    np.testing.assert_allclose(decoder.weights_, w / np.sqrt(np.mean(w**2)), rtol=2e-4)


def test_it_follows_what_changes(stream):
    X, _ = stream
    before, after = np.sin(X[:, 0]), X[:, 4]
    still, learning = (OnlineRGS(n_reference=150).fit(X[:150], before[:150]) for _ in range(2))
    for x, target in zip(X[150:400], after[150:400], strict=True):
        learning.partial_fit(x, target)
    assert learning.score(X[400:], after[400:]) > 0.7
    assert still.score(X[400:], after[400:]) < 0.2
    assert np.argmax(learning.weights_) == 4


def test_what_cannot_be_learned_from_is_refused(stream):
    X, y = stream
    with pytest.raises(ValueError, match="more rows than neighbors"):
        OnlineRGS().fit(X[:10], y[:10])
    decoder = OnlineRGS().fit(X[:100], y[:100])
    for x, target in ((X[0, :3], y[0]), (X[0], [np.nan, 0]), (np.full(6, np.inf), y[0])):
        with pytest.raises(ValueError, match="6 finite features and a finite target"):
            decoder.partial_fit(x, target)


# The documented interface of falcon_challenge.interface.BCIDecoder, and how its evaluator calls it.
INTERFACE = {
    "reset": ["dataset_tags"],
    "predict": ["neural_observations"],
    "observe": ["neural_observations"],
    "on_done": ["dones"],
    "set_batch_size": ["batch_size"],
}


@pytest.fixture(scope="module")
def falcon_model():
    day = simulate_session(10, n_electrodes=2, random_state=1)
    return neurofs.fit(day, "hand_velocity", decoder="kalman", bin_width=0.02, n_lags=5, cross_validate=False)


def test_the_interface_of_falcon(falcon_model):
    for name, arguments in INTERFACE.items():
        assert list(inspect.signature(getattr(FalconDecoder, name)).parameters)[1:] == arguments
    counts = np.random.default_rng(0).poisson(0.2, size=(30, 2, 8)).astype(float)
    decoder = FalconDecoder(falcon_model, batch_size=2)
    decoder.reset(["first", "second"])
    whole = np.array([decoder.predict(bins) for bins in counts])
    assert whole.shape == (30, 2, 2)
    assert np.isfinite(whole).all()
    alone = FalconDecoder(falcon_model)
    np.testing.assert_array_equal([alone.predict(bins[1:])[0] for bins in counts], whole[:, 1])
    decoder.on_done(np.array([1, 0]))  # the trial of the first session ends, that of the second goes on
    found = decoder.predict(counts[0])
    np.testing.assert_array_equal(found[0], whole[0, 0])
    assert not np.array_equal(found[1], whole[0, 1])
    decoder.observe(counts[1])
    np.testing.assert_array_equal(decoder.predict(counts[2])[0], whole[2, 0])


def test_the_last_batch_of_falcon_may_be_smaller(falcon_model):
    counts = np.random.default_rng(0).poisson(0.2, size=(9, 2, 8)).astype(float)
    pair, alone = FalconDecoder(falcon_model, batch_size=2), FalconDecoder(falcon_model)
    for bins in counts:
        pair.predict(bins)
    for decoder in (pair, alone):  # one session is left
        decoder.reset(["last"])
    expected = [alone.predict(bins[:1]) for bins in counts]
    np.testing.assert_array_equal([pair.predict(bins[:1]) for bins in counts], expected)
    pair.on_done(np.array([1]))
    np.testing.assert_array_equal(pair.predict(counts[0, :1]), expected[0])
    with pytest.raises(ValueError, match="at most 2 sessions side by side; found 3"):
        pair.predict(np.ones((3, 8)))


def test_the_interface_is_that_of_the_package():
    interface = pytest.importorskip("falcon_challenge.interface", reason="needs falcon-challenge, which needs torch")
    for name, arguments in INTERFACE.items():
        assert list(inspect.signature(getattr(interface.BCIDecoder, name)).parameters)[1:] == arguments
