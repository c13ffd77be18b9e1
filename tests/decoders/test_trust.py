"""How far decoders trust the weights of a metric."""

import numpy as np
import pytest

from neurofs.decoders import base
from neurofs.decoders.base import POWERS, soften
from neurofs.decoders.kernel_ridge import KernelRidgeMetric
from neurofs.decoders.linear import Ridge
from neurofs.decoders.nearest import SoftKNN
from neurofs.decoders.preferred import MetricAverage
from neurofs.features.holdouts import hold_out
from neurofs.features.splits import BlockedKFold
from neurofs.features.tensor import build_tensor, to_samples
from neurofs.recordings.simulate_places import simulate_places
from neurofs.selectors.rgs import RGS


@pytest.fixture(scope="module")
def rows():
    """Two features of ten tell the target."""
    X = np.random.default_rng(0).normal(size=(400, 10)).astype(np.float32)
    return X, X[:, 0] + np.sin(2 * X[:, 1])


RIGHT = np.where(np.arange(10) < 2, 1.0, 1e-3)


@pytest.mark.parametrize("kind", [SoftKNN, KernelRidgeMetric, MetricAverage])
def test_weights_that_help_are_kept_and_weights_that_mislead_are_not(kind, rows):
    X, y = rows
    kept = kind().fit(X[:300], y[:300], feature_weights=RIGHT).parts_[0].weights
    np.testing.assert_array_equal(kept, RIGHT)
    wrong = RIGHT[::-1].copy()
    misled = kind().fit(X[:300], y[:300], feature_weights=wrong)
    np.testing.assert_array_equal(misled.parts_[0].weights, np.ones(10))
    plain = kind().fit(X[:300], y[:300])
    np.testing.assert_allclose(misled.predict(X[300:]), plain.predict(X[300:]), rtol=1e-5)


def test_the_power_is_that_of_the_least_error_on_the_hold_outs(rows):
    X, y = rows
    weights = np.random.default_rng(1).uniform(0.01, 1, 10)
    holdouts = hold_out(X, y, lambda *_: weights)
    errors = []
    for power in POWERS:
        fixed = [base.Holdout(h.fit, h.test, soften(weights, power)) for h in holdouts]
        decoder = SoftKNN()
        decoder.SOFTENS = False
        decoder.fit(X, y, None, soften(weights, power), fixed)
        few = [base.Rehearsal.of(base.as_samples(X), (y - y.mean())[:, None] / y.std(), h, h.weights) for h in fixed]
        chosen, most = decoder.parts_[0].chosen, SoftKNN.MAX_QUERIES // len(few)
        errors.append(np.mean([t.thin(most).error(decoder._prepare(t.thin(most))(**chosen)) for t in few]))
    found = SoftKNN().fit(X, y, None, weights, holdouts).parts_[0].weights
    np.testing.assert_array_equal(found, soften(weights, POWERS[int(np.argmin(errors))]))


@pytest.mark.parametrize("kind", [SoftKNN, KernelRidgeMetric])
def test_weights_that_hardly_differ_from_none_are_not_trusted(kind, rows):
    """They help by less than WORTHWHILE."""
    X, y = rows
    slight = np.where(np.arange(10) < 2, 1.0, 0.998)
    fitted = kind().fit(X[:300], y[:300], feature_weights=slight)
    np.testing.assert_array_equal(fitted.parts_[0].weights, np.ones(10))


def test_a_choice_of_features_given_parameters_and_linear_decoders_leave_weights_alone(rows):
    X, y = rows
    wrong = RIGHT[::-1].copy()
    fixed = SoftKNN(n_neighbors=5, beta=0.25).fit(X, y, feature_weights=wrong)
    for decoder in (fixed, Ridge().fit(X, y, feature_weights=wrong)):
        np.testing.assert_array_equal(decoder.parts_[0].weights, wrong)
    chosen = np.where(np.arange(10) < 3, 0.5, 0.0)
    np.testing.assert_array_equal(SoftKNN().fit(X, y, feature_weights=chosen).parts_[0].weights, chosen)


@pytest.mark.slow
def test_weights_that_mislead_about_place_cells_are_not_believed():
    """One session; on others kernel ridge is still worse with weights than without (decoders/NOTES.md)."""
    samples, y, _ = to_samples(build_tensor(simulate_places(3000, random_state=0), "position", n_lags=5))
    train, test = next(iter(BlockedKFold(5, n_runs=1).split(samples)))

    def fit(X, Y, groups):
        return RGS(n_epochs=3, survey=False, random_state=0).fit(X, Y).weights_

    weights, parts = fit(samples[train], y[train], None), hold_out(samples[train], y[train], fit, None, 1)
    believing = KernelRidgeMetric()
    believing.SOFTENS = False
    believing.fit(samples[train], y[train], None, weights, parts)
    for kind in (SoftKNN, KernelRidgeMetric):
        plain = kind().fit(samples[train], y[train]).score(samples[test], y[test])
        weighted = kind().fit(samples[train], y[train], None, weights, parts).score(samples[test], y[test])
        assert weighted > plain - 0.005
    assert believing.score(samples[test], y[test]) < plain - 0.1  # the weights alone mislead kernel ridge
