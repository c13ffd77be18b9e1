"""Meta-features, the quality map and Mufasa against obvious references."""

import numpy as np
import pandas as pd
import pytest
import reference
import reference_selectors
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.utils import check_random_state
from sklearn.utils.estimator_checks import parametrize_with_checks

from neurofs.features.samples import Samples
from neurofs.selectors import SELECTORS, InfoGain
from neurofs.selectors.meta import QualityMap, describe_features
from neurofs.selectors.mufasa import Mufasa, draw_near


@parametrize_with_checks([QualityMap(), Mufasa(n_rounds=4)])
def test_scikit_learn(estimator, check):
    check(estimator)


# ------------------------------------------------------------------------------------------- meta-features


def describe_slowly(counts, rows, n_lags, bin_width):
    """The properties of each channel from the bins that some window covers, one number at a time."""
    used = sorted({t - lag for t in rows for lag in range(n_lags)})
    found = {"rate": [], "fano": [], "presence": [], "snr": []}
    for x in counts.T.astype(float):
        values = np.array([x[t] for t in used])
        mean, variance = values.mean(), values.var()
        pairs = [(x[t] - mean) * (x[t + 1] - mean) for t in used if t + 1 in used]
        lasting = max(sum(pairs) / len(pairs), 0.0)
        found["rate"].append(mean / bin_width)
        found["fano"].append(variance / mean if mean else 1.0)
        found["presence"].append(np.mean([part.any() for part in np.array_split(values, 20)]))
        found["snr"].append(lasting / max(variance - lasting, 1e-3 * variance) if variance else 0.0)
    return found


def test_properties_are_what_they_say():
    rng = np.random.default_rng(0)
    counts = rng.poisson([0.0, 0.05, 2.0], (200, 3))
    counts[:, 1] *= np.arange(200) < 90
    counts[:, 2] += 3 * (np.arange(200) // 10 % 2)
    rows = np.r_[5:60, 90:150]
    table = describe_features(Samples.from_counts(counts, 4, rows), bin_width=0.05)
    assert table["lag"].tolist() == pytest.approx(np.repeat([0.15, 0.1, 0.05, 0.0], 3))
    for name, values in describe_slowly(counts, rows, 4, 0.05).items():
        np.testing.assert_allclose(table[name], np.tile(values, 4), err_msg=name)
    assert table["snr"][2] > 0.3 > table["snr"][1]
    assert table["presence"].tolist()[:3] == pytest.approx([0.0, table["presence"][1], 1.0])


def test_only_the_training_part_is_looked_at():
    rng = np.random.default_rng(0)
    counts = rng.poisson(1.0, (100, 4)).astype(np.float32)
    other = counts.copy()
    other[61:] = 99
    first, again = (describe_features(Samples.from_counts(c, 3, np.arange(2, 61))) for c in (counts, other))
    pd.testing.assert_frame_equal(first, again)
    third = describe_features(Samples.from_counts(other, 3, np.arange(2, 62)))
    assert not third["rate"].equals(first["rate"])


def test_the_table_of_channels():
    samples = Samples.from_counts(np.ones((10, 3)), 2)
    channels = pd.DataFrame(
        {"electrode": [0, 0, 1], "kind": ["isolated", "threshold", "isolated"], "x": [0.0, 1.0, np.nan]}
    )
    table = describe_features(samples, channels, lags=[0.0, 0.1])
    assert table["electrode"].tolist() == [0, 0, 1] * 2
    assert table["kind=threshold"].tolist() == [0, 1, 0] * 2
    assert "x" not in table  # one position is missing
    with pytest.raises(ValueError, match="row per channel"):
        describe_features(samples, channels[:2])
    with pytest.raises(ValueError, match="one entry per lag"):
        describe_features(samples, lags=[0.0])


# --------------------------------------------------------------------------------------------- quality map


def line(m=400, n=30, seed=0):
    """Features whose correlation with the target grows along a line."""
    rng = np.random.default_rng(seed)
    y, place = rng.normal(size=m), np.linspace(0, 1, n)
    return place * y[:, None] + rng.normal(size=(m, n)), y, place[:, None]


def test_any_measure_and_any_regressor():
    X, y, place = line()
    seen = np.arange(0, 30, 3)
    quality_map = QualityMap(regressor=LinearRegression()).fit_features(X, y, place, features=seen)
    measured = reference_selectors.corrcoef(X[:, seen], y[:, None])[0]
    np.testing.assert_allclose(quality_map.quality_, measured, rtol=1e-5)
    A = np.column_stack([np.ones(len(seen)), place[seen]])
    expected = np.column_stack([np.ones(30), place]) @ np.linalg.lstsq(A, measured, rcond=None)[0]
    np.testing.assert_allclose(quality_map.predict(place), expected, rtol=1e-4)

    def count_above(samples, target, groups):
        return (np.asarray(samples) > 2).sum(axis=0)

    by_function = QualityMap(count_above).fit_features(X, y, place)
    assert by_function.quality_.tolist() == (X > 2).sum(axis=0).tolist()
    by_selector = QualityMap(InfoGain()).fit_features(X, y, pd.DataFrame(place, columns=["place"]))
    np.testing.assert_allclose(by_selector.quality_, InfoGain().fit(X, y).weights_)
    with pytest.raises(ValueError, match="row per feature"):
        QualityMap().fit_features(X, y, place[:3])


def test_unseen_features_are_predicted():
    X, y, place = line(2000)
    seen = np.arange(0, 30, 3)
    quality_map = QualityMap(random_state=0).fit_features(X, y, place, features=seen)
    unseen = np.setdiff1d(np.arange(30), seen)
    truth = np.abs(np.corrcoef(np.column_stack([y, X[:, unseen]]).T)[0, 1:])
    np.testing.assert_allclose(quality_map.predict(place[unseen]), truth, atol=0.06)


def test_the_default_regressor_is_a_ridge_on_gaussians():
    """With a center on every row, the Nyström features span the kernel: a kernel ridge, plus an intercept."""
    rng = np.random.default_rng(0)
    M, q = rng.normal(size=(40, 2)), rng.random(40)
    quality_map = QualityMap(random_state=0).fit(M, q)
    Z = (M - M.mean(axis=0)) / M.std(axis=0)
    K = np.exp(-0.25 * reference.distances(Z, Z, np.ones(2)))
    alpha = quality_map.regressor_[-1].alpha_
    one = np.full((40, 40), 1 / 40)
    centered = K - one @ K - K @ one + one @ K @ one
    dual = np.linalg.solve(centered + alpha * np.eye(40), q - q.mean())
    np.testing.assert_allclose(quality_map.predict(M), q.mean() + centered @ dual, atol=1e-4)


# -------------------------------------------------------------------------------------------------- Mufasa


def test_draws_follow_the_density():
    """Pairs drawn without replacement come as often as p_a p_b / (1 − p_a) + p_b p_a / (1 − p_b) says."""
    places, u, rng = np.array([[0.0], [0.5], [1.5]]), np.array([0.2]), check_random_state(0)
    p = np.exp(-((places - u) ** 2).sum(axis=1) / (2 * 0.7**2))
    p /= p.sum()
    drawn = [tuple(sorted(draw_near(u, places, 0.7, rng)[:2])) for _ in range(20_000)]
    for a, b in ((0, 1), (0, 2), (1, 2)):
        expected = p[a] * p[b] / (1 - p[a]) + p[b] * p[a] / (1 - p[b])
        assert np.mean([pair == (a, b) for pair in drawn]) == pytest.approx(expected, abs=0.012)


def test_mufasa_equals_the_printed_algorithm():
    rng = np.random.default_rng(1)
    counts = rng.poisson(1.0, (90, 6))
    samples = Samples.from_counts(counts, 3)
    X, place = np.asarray(samples, float), rng.normal(size=(18, 2)) * [3.0, 0.1]
    y, trial = X[:, 4] + X[:, 9] + 0.3 * rng.normal(size=88), np.arange(88) // 9
    selector = Mufasa(5, 12, meta_features=place, n_neighbors=7, random_state=3).fit(samples, y, groups=trial)
    overlap = np.abs(samples.starts[:, None] - samples.starts) < samples.span
    banned = overlap | (trial[:, None] == trial)
    draws, Z = check_random_state(3), (place - place.mean(axis=0)) / place.std(axis=0)
    best, u = -np.inf, np.zeros(2)
    for loss in selector.loss_curve_:
        chosen = draw_near(u, Z, 0.5, draws)[:5]
        quality = -reference_selectors.soft_knn_loss(X, y[:, None], np.sort(chosen), 7, 0.5, True, banned)
        assert quality == pytest.approx(-loss, abs=1e-5)
        if quality >= best:
            best, best_u, best_set = quality, u, chosen
        u = best_u + 0.5 * draws.normal(size=2)
    assert set(selector.get_support(indices=True)) == set(best_set)
    np.testing.assert_allclose(selector.point_, place.mean(axis=0) + place.std(axis=0) * best_u)
    near = ((Z - best_u) ** 2).sum(axis=1)
    alone = -np.abs(np.corrcoef(X.T, y)[-1, :-1])
    order = [*sorted(best_set, key=alone.__getitem__), *sorted(set(range(18)) - set(best_set), key=near.__getitem__)]
    assert selector.order_.tolist() == order


def test_mufasa_finds_the_place():
    rng = np.random.default_rng(0)
    X, place = rng.normal(size=(300, 200)), np.linspace(0, 1, 200)[:, None]
    y = X[:, 140:150].sum(axis=1)
    selector = Mufasa(10, 100, place, width=0.1, random_state=0).fit(X, y)
    assert abs(selector.point_[0] - 145 / 199) < 0.05
    by_model = Mufasa(10, 60, place, LinearRegression(), width=0.1, random_state=0).fit(X, y)
    assert abs(by_model.point_[0] - 145 / 199) < 0.05
    labels = np.where(X[:, 145] > 0, "left", "right")
    classes = Mufasa(3, 100, place, width=0.1, random_state=0).fit(X, labels)
    assert abs(classes.point_[0] - 145 / 199) < 0.1
    assert clone(selector).get_params()["n_rounds"] == 100


def test_mufasa_measures_few_rows_and_spends_a_budget():
    """With no more rows than `max_rows` nothing is left out; no drawn set costs more than the budget."""
    rng = np.random.default_rng(2)
    X, place, costs = rng.normal(size=(120, 12)), np.linspace(0, 1, 12)[:, None], rng.uniform(1, 3, 12)
    y = X[:, 4] + X[:, 5]
    thin = Mufasa(3, 15, place, max_rows=40, n_neighbors=5, random_state=0).fit(X, y)
    by_hand = Mufasa(3, 15, place, n_neighbors=5, random_state=0).fit(X[::3], y[::3])
    assert thin.loss_curve_.tolist() == by_hand.loss_curve_.tolist()
    bought = Mufasa(n_rounds=30, meta_features=place, costs=costs, budget=6.0, random_state=0).fit(X, y)
    chosen = bought.get_support(indices=True)
    assert {4, 5} <= set(chosen)
    assert costs[chosen].sum() <= 6.0 < costs[chosen].sum() + np.delete(costs, chosen).min()
    assert set(bought.order_[: chosen.size]) == set(chosen)
    alike = Mufasa(n_rounds=30, meta_features=place, budget=4, random_state=0).fit(X, y)
    assert alike.order_.tolist() == Mufasa(4, 30, place, random_state=0).fit(X, y).order_.tolist()


def test_mufasa_draws_groups_and_names_wrong_settings():
    X = np.random.default_rng(0).normal(size=(100, 8))
    labels = np.repeat(list("abcd"), 2)
    selector = Mufasa(2, 20, feature_groups=labels, random_state=0).fit(X, X[:, 2])
    assert selector.get_support()[2]
    assert selector.get_support().sum() == 4
    assert selector.group_ranking_[1] <= 2
    wrong = {"n_rounds": 0, "width": 0, "step": -1.0, "meta_features": np.ones((3, 1)), "n_neighbors": 0}
    wrong |= {"max_rows": 0, "budget": 0.5}
    for name, value in wrong.items():
        with pytest.raises(ValueError, match=name):
            Mufasa(**{name: value}).fit(X, X[:, 2])


def test_the_quality_map_says_why_it_is_not_among_the_selectors():
    assert QualityMap not in SELECTORS.values()
    assert "not among `SELECTORS`" in " ".join(QualityMap.__doc__.split())
    assert SELECTORS["mufasa"] is Mufasa
