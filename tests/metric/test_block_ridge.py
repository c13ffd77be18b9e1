"""The leave-block-out loss of kernel ridge: against refitting, and its gradient against central differences."""

from itertools import pairwise

import numpy as np
import pytest

from neurofs.metric.block_ridge import cut_blocks, inverse, kernel, leave_block_out, scored_rows


def toy(n=24, n_features=5, n_outputs=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    Y = np.column_stack([np.sin(X[:, 0]) + 0.3 * X[:, 1], X[:, 2] * X[:, 0]])[:, :n_outputs]
    return X, Y + 0.1 * rng.normal(size=Y.shape), rng.uniform(0.3, 1.2, n_features)


def full_kernel(X, Z, w, c):
    """K straight from the formula, pair by pair."""
    K = np.empty((len(X), len(Z)))
    for i, x in enumerate(X):
        for j, z in enumerate(Z):
            K[i, j] = 1 / (1 + np.sum(w**2 * (x - z) ** 2)) + c * np.sum(w**2 * x * z) + 1
    return K


def refit_loss(X, Y, w, c, ridge, edges, scored):
    """The loss by training once without every block."""
    errors = np.empty_like(Y)
    for a, b in pairwise(edges):
        rest = np.r_[0:a, b : len(X)]
        H = full_kernel(X[rest], X[rest], w, c) + ridge * np.eye(len(rest))
        errors[a:b] = Y[a:b] - full_kernel(X[a:b], X[rest], w, c) @ np.linalg.solve(H, Y[rest])
    return np.log(np.mean(errors[scored] ** 2))


def blocks(kind, n):
    """Blocks of three kinds: trials, stretches with gaps between scored rows, and a single block with a rest."""
    if kind == "trials":
        groups = np.repeat(np.arange(n // 4), 4)
        starts = np.arange(n) * 10
        edges = cut_blocks(starts, 0, 0, groups)
        return edges, scored_rows(starts, 10, edges)
    if kind == "gaps":
        starts = np.arange(n) * 5
        edges = cut_blocks(starts, 40, 15)
        return edges, scored_rows(starts, 12, edges)
    edges = np.array([0, n // 3, n])
    scored = np.zeros(n, dtype=bool)
    scored[: n // 3] = True
    return edges, scored


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("kind", ["trials", "gaps", "one block"])
def test_closed_form_equals_refitting(kind, n_outputs):
    X, Y, w = toy(n_outputs=n_outputs)
    edges, scored = blocks(kind, len(X))
    result = leave_block_out(X * w, Y, 0.3, 0.1, edges, scored)
    assert result.loss == pytest.approx(refit_loss(X, Y, w, 0.3, 0.1, edges, scored), abs=1e-8)


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("kind", ["trials", "gaps", "one block"])
def test_gradient_equals_central_differences(kind, n_outputs):
    X, Y, w = toy(n_outputs=n_outputs, seed=3)
    edges, scored = blocks(kind, len(X))
    parameters = np.concatenate([[0.3, 0.1], (X * w).ravel()])

    def loss(p):
        return leave_block_out(p[2:].reshape(X.shape), Y, p[0], p[1], edges, scored).loss

    at = leave_block_out(X * w, Y, 0.3, 0.1, edges, scored)
    gradient = np.concatenate([[at.d_linear, at.d_ridge], at.d_rows.ravel()])
    step = 1e-5
    for i in range(len(parameters)):
        shift = step * (np.arange(len(parameters)) == i)
        numeric = (loss(parameters + shift) - loss(parameters - shift)) / (2 * step)
        assert gradient[i] == pytest.approx(numeric, abs=1e-6)


def test_float32_rows_give_nearly_the_same():
    X, Y, w = toy(60)
    edges, scored = blocks("trials", 60)
    exact = leave_block_out(X * w, Y, 0.3, 0.1, edges, scored)
    quick = leave_block_out((X * w).astype(np.float32), Y, 0.3, 0.1, edges, scored)
    assert quick.loss == pytest.approx(exact.loss, abs=1e-4)
    np.testing.assert_allclose(quick.d_rows, exact.d_rows, atol=1e-3)


def test_kernel_and_inverse():
    X, _, w = toy()
    Z = X[:7] + 0.5
    G = (X * w**2) @ Z.T
    norms, other = np.sum(w**2 * X**2, axis=1), np.sum(w**2 * Z**2, axis=1)
    np.testing.assert_allclose(kernel(G, norms, other, 0.3), full_kernel(X, Z, w, 0.3))
    H = full_kernel(X, X, w, 0.3) + 0.1 * np.eye(len(X))
    np.testing.assert_allclose(inverse(H.copy()) @ H, np.eye(len(X)), atol=1e-9)
    with pytest.raises(np.linalg.LinAlgError):
        inverse(-np.eye(3))


def test_rows_near_the_edge_of_a_block_are_not_scored():
    starts = np.array([0, 10, 20, 30, 40, 50])
    edges = cut_blocks(starts, 30, 30)
    assert edges.tolist() == [0, 3, 6]
    assert scored_rows(starts, 10, edges).all()
    assert scored_rows(starts, 25, edges).tolist() == [True, False, False, False, False, True]
    assert scored_rows(starts, 25, np.array([0, 6])).all()
