"""Guided extraction on recordings, in small."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from neurofs.experiments.reproduce import guided_channels, list_claims, render, save_figure
from neurofs.features.splits import BlockedKFold

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def session():
    return next(guided_channels.read_sessions(n_trials=30))


def test_the_error_of_a_set_is_that_of_ridge_regression():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(80, 6)), rng.normal(size=(80, 2))
    folds = list(BlockedKFold(2).split(X))
    found = guided_channels.RidgeLoss(X, Y, folds).measure(np.array([1, 4]))
    model = Ridge(guided_channels.ALPHA, fit_intercept=False)
    errors = [
        ((Y[b] - model.fit(X[a][:, [1, 4]], Y[a]).predict(X[b][:, [1, 4]])) ** 2).sum() / (Y[b] ** 2).sum()
        for a, b in folds
    ]
    assert found == pytest.approx(np.mean(errors))


def test_what_is_drawn_costs_no_more_than_the_budget(session):
    plan = guided_channels.Plan(session.samples, np.random.default_rng(0))
    for budget in guided_channels.BUDGETS:
        drawn = plan.draw(budget, plan.draw_point())
        assert plan.costs[list(set().union(*(feature.channels for feature in drawn)))].sum() <= budget
        assert all(feature.newest + feature.width <= session.samples.n_lags for feature in drawn)


def test_in_small(session, tmp_path):
    table = guided_channels.run(repetitions=1, sessions=[session], n_rounds=3)
    assert table["value"].notna().all()
    claims = list_claims("guided-channels", table)
    assert [claim["published"] for claim in claims] == [None] * len(guided_channels.RIVALS)
    assert "simulated: R² of ridge regression, by budget" in render("guided-channels", table)
    assert save_figure("guided-channels", table, tmp_path / "figure.png").stat().st_size > 10_000
