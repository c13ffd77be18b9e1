import numpy as np
import pytest
from reference import local_ratio
from scipy.optimize import lsq_linear

from neurofs.decoders.kernel_rgs import KernelRGSDecoder
from neurofs.decoders.spread import NORMAL_95, LeftOut, fit_spread, mean_of_nearest


def left_out(n_rows=600, seed=0):
    """Errors three times as wide where the first coordinate is positive, and wider for larger predictions."""
    rng = np.random.default_rng(seed)
    rows, predicted = rng.normal(size=(n_rows, 3)), rng.normal(size=(n_rows, 2))
    width = np.where(rows[:, :1] > 0, 3.0, 1.0) + 0.5 * np.abs(predicted)
    deviation = rng.uniform(0.5, 2.0, n_rows)
    return LeftOut(rows, predicted, deviation[:, None] * width * rng.normal(size=(n_rows, 2)), deviation, block(n_rows))


def block(n_rows):
    return np.arange(n_rows) // 20


def test_the_mean_of_the_nearest_equals_a_slow_one():
    rng = np.random.default_rng(1)
    rows, values, queries = rng.normal(size=(150, 4)), rng.normal(size=(150, 2)), rng.normal(size=(7, 4))
    slow = [local_ratio(x, rows, values, 50) for x in queries]
    np.testing.assert_allclose(mean_of_nearest(queries, rows, values), slow)
    blocks = block(150)
    slow = [local_ratio(x, rows, values, 50, blocks == b) for x, b in zip(rows, blocks, strict=True)]
    np.testing.assert_allclose(mean_of_nearest(rows, rows, values, (blocks, blocks)), slow)


def test_where_few_rows_are_of_other_blocks_these_alone_count():
    rows = np.arange(60.0)[:, None]
    blocks = np.r_[np.zeros(50, int), np.ones(10, int)]
    found = mean_of_nearest(rows, rows, rows, (blocks, blocks))
    np.testing.assert_allclose(found[:50], 54.5)


def test_the_factor_equals_a_slow_one():
    data = left_out()
    spread, ratios = fit_spread(data), np.abs(data.errors) / data.deviation[:, None]
    x, m = np.array([0.3, -1.0, 0.2]), np.array([0.5, -2.0])
    for o in range(2):
        nearby = [
            local_ratio(row, data.rows, ratios[:, o], 50, data.block == b)
            for row, b in zip(data.rows, data.block, strict=True)
        ]
        A = np.column_stack([np.ones(600), abs(data.predicted[:, o]), np.hypot(*data.predicted.T), nearby])
        c = lsq_linear(A, ratios[:, o], (0, np.inf), tol=1e-14).x
        level = 0.95 + np.sqrt(0.95 * 0.05 / 30)
        scale = np.quantile(ratios[:, o] / np.maximum(A @ c, 0.1 * ratios[:, o].mean()), level) / NORMAL_95
        here = c @ [1, abs(m[o]), np.hypot(*m), local_ratio(x, data.rows, ratios[:, o], 50)]
        assert spread(x[None], m[None])[0, o] == pytest.approx(scale * here, rel=1e-5)


def test_intervals_are_wider_where_errors_are_and_hold_95_percent_on_average():
    spread, fresh = fit_spread(left_out(2000)), left_out(2000, seed=1)
    deviation = fresh.deviation[:, None] * spread(fresh.rows, fresh.predicted)
    inside = np.abs(fresh.errors) <= NORMAL_95 * deviation
    wide = fresh.rows[:, 0] > 0
    assert 0.94 < inside.mean() < 0.99
    flat = np.quantile(np.abs(fresh.errors) / fresh.deviation[:, None], inside.mean())
    as_before = np.abs(fresh.errors) <= flat * fresh.deviation[:, None]
    assert inside[wide].mean() > as_before[wide].mean() + 0.01
    factors = spread(fresh.rows, fresh.predicted)
    assert factors[fresh.rows[:, 0] > 0.5].mean() > 1.7 * factors[fresh.rows[:, 0] < -0.5].mean()


def test_few_rows_give_one_factor_for_all():
    data = left_out(100)
    factors = fit_spread(data)(data.rows[:3], data.predicted[:3])
    expected = np.quantile(data.ratios, 0.995, axis=0) / NORMAL_95
    np.testing.assert_allclose(factors, np.tile(expected, (3, 1)))


def test_nothing_left_out_leaves_deviations_as_they_are():
    factors = fit_spread(LeftOut.nothing(2))(np.zeros((3, 4)), np.zeros((3, 2)))
    np.testing.assert_array_equal(factors, np.ones((3, 2)))


@pytest.mark.slow
def test_a_decoder_whose_noise_depends_on_the_sample_knows_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 4))
    y = X[:, 0] + np.where(X[:, 1] > 0, 1.0, 0.1) * rng.normal(size=900)
    decoder = KernelRGSDecoder(n_steps=40, random_state=0).fit(X[:600], y[:600])
    std = decoder.predict(X[600:], return_std=True)[1]
    noisy = X[600:, 1] > 0
    assert std[noisy].mean() > 1.3 * std[~noisy].mean()
