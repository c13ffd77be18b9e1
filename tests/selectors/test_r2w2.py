"""R2W2: the bound against a general solver, its gradient against finite differences, and what it finds."""

import numpy as np
import pytest
from scipy.optimize import minimize

from neurofs.selectors import R2W2
from neurofs.selectors.r2w2 import Bound, find_plane, find_radius


def draw(m=24, n=4, n_classes=2, seed=0):
    """Overlapping classes of unequal size."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    return X, (X[:, 0] + 0.5 * rng.normal(size=m) > 0.3).astype(int) + (X[:, 1] > 0.8) * (n_classes > 2)


def slow_kernel(X, w, scale, ridge):
    K = np.empty((len(X), len(X)))
    for i in range(len(X)):
        for j in range(len(X)):
            K[i, j] = np.exp(-sum((w * (X[i] - X[j])) ** 2) / scale) + (ridge if i == j else 0.0)
    return K


def slow_radius(K):
    """R² = max Σ β_i K_ii − βᵀ K β, by a general solver."""
    m = len(K)
    total = {"type": "eq", "fun": lambda b: b.sum() - 1}
    found = minimize(
        lambda b: b @ K @ b - b @ np.diag(K),
        np.full(m, 1 / m),
        jac=lambda b: 2 * K @ b - np.diag(K),
        bounds=[(0, None)] * m,
        constraints=total,
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    return -found.fun


def slow_plane(K, signs):
    """W² = ‖v‖² of the primal: the least aᵀ K a with y_i (K a + b)_i ≥ 1, by a general solver."""
    m = len(K)
    outside = {"type": "ineq", "fun": lambda z: signs * (K @ z[:m] + z[m]) - 1}
    found = minimize(
        lambda z: z[:m] @ K @ z[:m],
        np.append(np.linalg.solve(K, signs), 0.0),
        jac=lambda z: np.append(2 * K @ z[:m], 0.0),
        constraints=outside,
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    return found.fun


@pytest.mark.parametrize("ridge", [0.05, 1.0])
def test_radius_and_margin_are_those_of_a_general_solver(ridge):
    X, y = draw()
    K = slow_kernel(X, np.ones(4), 5.0, 0.0)
    ridged, signs = K + ridge * np.eye(len(K)), np.where(y == 0, 1.0, -1.0)
    assert find_radius(K, ridge)[0] == pytest.approx(slow_radius(ridged), rel=1e-4)
    assert find_plane(K, signs, ridge)[0] == pytest.approx(slow_plane(ridged, signs), rel=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_bound_adds_up_over_pairs_of_classes(n_classes):
    X, y = draw(n_classes=n_classes)
    w = np.array([1.0, 0.5, 0.2, 0.0])
    bound = Bound(X, y, 0.7, 0.2)
    table = [[np.sum((a - b) ** 2) for b in X] for a in X]
    assert bound.scale == pytest.approx(0.7 * np.median(table))
    expected = 0.0
    for one in range(n_classes):
        for other in range(one + 1, n_classes):
            rows = (y == one) | (y == other)
            K = slow_kernel(X[rows], w, bound.scale, 0.2)
            expected += slow_radius(K) * slow_plane(K, np.where(y[rows] == one, 1.0, -1.0)) / rows.sum()
    assert bound(w)[0] == pytest.approx(np.log(expected), rel=1e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_gradient_is_that_of_finite_differences(n_classes):
    X, y = draw(40, 5, n_classes)
    bound, w, h = Bound(X, y, 1.0, 0.1), np.random.default_rng(1).uniform(0.3, 1.5, 5), 1e-4
    expected = [(bound(w + h * e)[0] - bound(w - h * e)[0]) / (2 * h) for e in np.eye(5)]
    np.testing.assert_allclose(bound(w)[1], expected, rtol=1e-3, atol=1e-4)


def test_weston_s_linear_problem():
    """Six features of 30 matter, three of them weakly (after section 4 of the source, of 202 features)."""
    rng = np.random.default_rng(0)
    y = np.repeat([1, -1], 60)
    X = rng.normal(0, 20, (120, 30))
    strong = rng.random(120) < 0.7
    X[:, :3] = np.where(strong[:, None], y[:, None] * rng.normal([1, 2, 3], 1, (120, 3)), rng.normal(0, 1, (120, 3)))
    X[:, 3:6] = np.where(strong[:, None], rng.normal(0, 1, (120, 3)), y[:, None] * rng.normal([1, 2, 3], 1, (120, 3)))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    selector = R2W2().fit(X, y)
    assert {2, 5, 1, 4} <= set(selector.order_[:6].tolist())


def test_the_search_lowers_the_bound_and_constant_features_come_last():
    X, y = draw(80, 6)
    X[:, 2] = 7.0
    first, last = (R2W2(width=1.0, n_steps=n).fit(X, y) for n in (1, 30))
    assert last.bound_ < first.bound_ < np.exp(Bound(X, y, 1.0, 0.1)(np.ones(6))[0])
    assert last.n_steps_ > first.n_steps_ == 1
    assert last.weights_[2] == 0
    assert last.order_[-1] == 2 or last.weights_[last.order_[-1]] == 0
    assert last.weights_.max() == 1


def test_rows_are_thinned_evenly():
    X, y = draw(60)
    rows = np.unique(np.linspace(0, 59, 30).round().astype(int))
    thinned, chosen = R2W2(max_rows=30).fit(X, y), R2W2().fit(X[rows], y[rows])
    np.testing.assert_array_equal(thinned.weights_, chosen.weights_)


@pytest.mark.parametrize(("settings", "message"), [({"ridge": 0}, "ridge"), ({"width": -1.0}, "width")])
def test_refuses(settings, message):
    with pytest.raises(ValueError, match=message):
        R2W2(**settings).fit(*draw())
