"""Encoding: Poisson fits equal to scikit-learn's, and a tuning that is known is found."""

import numpy as np
import pandas as pd
import pytest
from areas import LEADS, make_areas
from sklearn.linear_model import PoissonRegressor

import neurofs
from neurofs.comparison.encoding_models import PENALTY, deviance, fit_poisson


def test_the_fit_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 3))
    counts = rng.poisson(np.exp(0.3 + x @ [0.5, -0.2, 0.0]))
    theirs = PoissonRegressor(alpha=PENALTY, tol=1e-10, max_iter=1000).fit(x, counts)
    ours = fit_poisson(np.column_stack([np.ones(400), x]), counts[:, None])[0]
    np.testing.assert_allclose(ours, [theirs.intercept_, *theirs.coef_], atol=1e-4)


def test_silent_and_rare_channels_stay_finite():
    design = np.column_stack([np.ones(50), np.linspace(-1, 1, 50)])
    counts = np.zeros((50, 2))
    counts[-1, 1] = 1
    assert np.isfinite(fit_poisson(design, counts)).all()
    assert deviance(counts, np.full((50, 2), 1e-9)).shape == (2,)


@pytest.fixture(scope="module")
def table():
    return neurofs.encode(make_areas(0, n_bins=1500), "hand", bin_width=0.1, n_lags=4, lead=-0.2).table


def test_lags_and_directions_are_found(table):
    assert list(table["channel"]) == [f"M1-{i}" for i in range(5)] + [f"S1-{i}" for i in range(5, 10)]
    lag = table["channel"].str[:2].map(LEADS)
    assert (np.abs(table["lag"] - lag) <= 0.1 + 1e-9).mean() >= 0.9
    rng = np.random.default_rng([0, 77])
    rng.normal(size=(1540, 2))
    angle = np.rad2deg(rng.uniform(0, 2 * np.pi, 5))
    wrong = (table["preferred_direction"][:5] - angle + 180) % 360 - 180
    assert (np.abs(wrong) < 12).all()
    assert table["depth"].between(0.2, 0.7).all()


def test_what_is_tuned_is_explained_and_decodes(table):
    assert (table["low"] > 0).all()
    assert (table["alone"] > 0).all()
    session = make_areas(0, n_bins=1500)
    rng = np.random.default_rng(3)
    noise = rng.poisson(1.5, size=(1500, 4))
    mixed = neurofs.Recording(
        "mixed",
        counts=np.hstack([session.counts[:, :2], noise]),
        bin_width=0.1,
        behavior=session.behavior,
        channels=pd.DataFrame({"name": list("abcdef")}),
    )
    found = neurofs.encode(mixed, "hand", bin_width=0.1, n_lags=3).table.set_index("channel")
    assert (found.loc[list("cdef"), "pseudo_r2"] < 0.01).all()
    assert found.loc[list("ab"), "pseudo_r2"].min() > 0.05
    assert found.loc[list("ab"), "unique"].min() > found.loc[list("cdef"), "unique"].max()


def test_classes_have_a_rate_each():
    session = neurofs.simulate_session(40, n_electrodes=2, random_state=1)
    found = neurofs.encode(session, "direction", n_lags=2, n_splits=3).table
    assert found["preferred_direction"].isna().all()
    assert np.isfinite(found[["pseudo_r2", "depth"]]).all().all()
