import numpy as np
import pytest
from sklearn.cross_decomposition import PLSRegression

from neurofs.metric.directions import find_directions


def centered(n_rows, n_columns, seed):
    X = np.random.default_rng(seed).normal(size=(n_rows, n_columns))
    return X - X.mean(axis=0)


def test_with_one_output_they_are_the_scores_of_partial_least_squares():
    X, y = centered(80, 6, 0), centered(80, 1, 1)
    scores = PLSRegression(3, scale=False).fit(X, y).x_scores_
    ours = X @ find_directions(X, y, 3)
    first = np.corrcoef(ours[:, 0], scores[:, 0])[0, 1]
    assert abs(first) == pytest.approx(1.0)
    for n in (2, 3):  # what several directions span is the same
        explained = scores[:, :n] @ np.linalg.lstsq(scores[:, :n], ours[:, :n], rcond=None)[0]
        np.testing.assert_allclose(explained, ours[:, :n], atol=1e-8)


def test_coordinates_have_variance_one_and_outputs_are_taken_together():
    X, Y = centered(80, 6, 2), centered(80, 2, 3)
    directions = find_directions(X, Y, 3)
    np.testing.assert_allclose((X @ directions).std(axis=0), 1.0)
    covariance = X.T @ Y
    span = np.linalg.lstsq(covariance, directions[:, :2], rcond=None)[0]
    np.testing.assert_allclose(covariance @ span, directions[:, :2], atol=1e-10)


@pytest.mark.parametrize("kind", ["constant target", "constant features", "one feature"])
def test_without_anything_to_find_they_are_zero(kind):
    X, y = centered(40, 3, 4), centered(40, 1, 5)
    if kind == "constant target":
        y[:] = 0
    elif kind == "constant features":
        X[:] = 0
    else:
        X = X[:, :1]
    directions = find_directions(X, y, 4)
    assert directions.shape == (X.shape[1], 4)
    assert np.isfinite(directions).all()
    assert not directions[:, kind == "one feature" :].any()
