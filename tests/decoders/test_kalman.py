import numpy as np
import pytest
from reference import kalman_filter, kalman_model, kalman_state
from scipy.signal import lfilter

from neurofs.decoders.kalman import FORGETTING, Kalman, observe
from neurofs.features.holdouts import Holdout
from neurofs.features.samples import Samples

CLASSIC = {"lag": 0, "n_bins": 1, "noise": 1.0, "integral": 0, "derivative": 0, "shrinkage": 0.0}


@pytest.fixture(scope="module")
def session():
    """Counts of 5 channels that precede a slow two-dimensional velocity by two bins; windows of 4 lags."""
    rng = np.random.default_rng(0)
    velocity = np.column_stack([np.sin(np.arange(400) / 7), np.cos(np.arange(400) / 11)])
    rates = np.exp(0.8 + velocity @ rng.normal(size=(2, 5)))
    counts = np.vstack([rng.poisson(rates)[2:], np.ones((2, 5))])
    return Samples.from_counts(counts, n_lags=4), velocity[3:]


def walk(n_rows):
    """A state of two outputs that swings, and four observations of it."""
    rng = np.random.default_rng(0)
    x = np.zeros((n_rows, 2))
    for t in range(1, n_rows):
        x[t] = x[t - 1] @ np.array([[0.95, 0.1], [-0.1, 0.95]]) + 0.3 * rng.normal(size=2)
    return x, (x @ rng.normal(size=(2, 4)) + rng.normal(size=(n_rows, 4))).astype(np.float32).astype(float)


@pytest.mark.parametrize("noise", [1.0, 0.2])
def test_equals_the_textbook_filter(noise):
    x, Z = walk(300)
    decoder = Kalman(**CLASSIC | {"noise": noise}).fit(Z[:200], x[:200])
    mean, scale, center = x[:200].mean(axis=0), x[:200].std(axis=0), Z[:200].mean(axis=0)
    A, W, H, Q, prior = kalman_model((x[:200] - mean) / scale, Z[:200] - center, [range(200)], shrinkage=0.0)
    expected = kalman_filter(A, noise * W, H, Q, prior, Z[200:] - center) * scale + mean
    np.testing.assert_allclose(decoder.predict(Z[200:]), expected, atol=1e-6)


def test_equals_the_textbook_filter_with_sum_change_lag_and_gaps(session):
    samples, y = session
    parts = [range(60), range(60, 150)]
    train, test = np.r_[0:60, 70:160], np.r_[200:260, 300:380]
    settings = {"lag": 1, "n_bins": 2, "noise": 0.5, "integral": 1, "derivative": 1, "shrinkage": 0.05}
    decoder = Kalman(**settings).fit(samples[train], y[train])
    mean, scale = y[train].mean(axis=0), y[train].std(axis=0)
    bins = np.asarray(samples, float).reshape(-1, 4, 5)
    Z = bins[:, 1] + bins[:, 2]  # the newest bin is the last
    x, center = kalman_state((y[train] - mean) / scale, parts, FORGETTING), Z[train].mean(axis=0)
    offset = x.mean(axis=0)
    A, W, H, Q, prior = kalman_model(x - offset, Z[train] - center, parts, 0.05)
    runs = [kalman_filter(A, 0.5 * W, H, Q, prior, Z[rows] - center) for rows in (test[:60], test[60:])]
    expected = (np.vstack(runs) + offset)[:, :2] * scale + mean
    np.testing.assert_allclose(decoder.predict(samples[test]), expected, atol=1e-5)


def test_starts_anew_after_a_gap_and_takes_rows_in_any_order(session):
    samples, y = session
    decoder = Kalman().fit(samples[:200], y[:200])
    gapped = np.r_[205:220, 230:240]
    predicted = decoder.predict(samples[gapped])
    np.testing.assert_allclose(predicted[15:], decoder.predict(samples[230:240]))
    mixed = np.random.default_rng(0).permutation(25)
    np.testing.assert_allclose(decoder.predict(samples[gapped[mixed]]), predicted[mixed])


def test_the_filter_knows_nothing_of_the_future(session):
    samples, y = session
    decoder = Kalman().fit(samples[:200], y[:200])
    np.testing.assert_allclose(decoder.predict(samples[205:300])[:50], decoder.predict(samples[205:255]))


@pytest.mark.parametrize("lag", [0, 1, 2])
def test_chooses_the_bin_that_tells_most(lag):
    rng = np.random.default_rng(0)
    y = lfilter([1], [1, -0.6], rng.normal(size=400))
    Z = np.roll(y, -lag)[:, None] + 0.1 * rng.normal(size=(400, 3))  # a bin tells of y so many bins later
    decoder = Kalman(n_bins=1, integral=0, derivative=0).fit(Samples.from_counts(Z, n_lags=4), y[3:])
    assert decoder.parts_[0].chosen["lag"] == lag


def test_tuned_on_hold_outs_it_is_at_least_the_classic_form(session):
    samples, y = session
    parts = [Holdout(np.arange(0, 150), np.arange(160, 200))]

    def error(**settings):
        decoder = Kalman(**settings).fit(samples[:150], y[:150])
        return np.mean((decoder.predict(samples[160:200]) - y[160:200]) ** 2)

    chosen = Kalman().fit(samples[:200], y[:200], holdouts=parts).parts_[0].chosen
    assert set(chosen) == set(CLASSIC)
    assert error(**chosen) <= error(**CLASSIC | {"shrinkage": 0.03})


def test_where_the_chosen_bins_have_no_weight_the_whole_window_is_seen(session):
    samples, _ = session
    weights = np.r_[np.ones(5), np.zeros(15)]
    oldest = np.asarray(samples, float)[:, :5]
    np.testing.assert_array_equal(observe(samples, weights, 0, 1), oldest)
    np.testing.assert_array_equal(observe(samples, weights, 3, 1), oldest)


def test_a_lag_beyond_the_window_is_refused(session):
    samples, y = session
    with pytest.raises(ValueError, match="below the 4 bins"):
        Kalman(lag=4).fit(samples[:100], y[:100])
