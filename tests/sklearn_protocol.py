"""The comparison of one fold written with scikit-learn: an independent answer for `comparison.evaluate`."""

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

from neurofs.features.holdouts import hold_out

STRENGTHS = (1e-5, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


def split(problem, task):
    """Return the training and test windows of a task as arrays, and their rows."""
    fold = next(f for f in problem.folds if (f.repeat, f.fold) == (task.repeat, task.fold))
    X = np.asarray(problem.samples, dtype=np.float64)
    return X[fold.train], X[fold.test], fold.train, fold.test


def rank_by_correlation(X, y):
    r = [abs(np.corrcoef(column, y)[0, 1]) if column.std() else 0.0 for column in X.T]
    return np.argsort(-np.array(r), kind="stable")


def soften(distance):
    """Weights of soft kNN with β = ½ of the mean squared distance."""
    d = distance**2
    return np.exp(-(d - d.min(axis=1, keepdims=True)) / (0.5 * d.mean(axis=1, keepdims=True)))


def predict_knn(X, y, Q, k):
    return KNeighborsRegressor(k, weights=soften, algorithm="brute").fit(X, y).predict(Q)


def fit_ridge(X, Y, strength):
    centered = X - X.mean(axis=0)
    alpha = strength * np.sum(centered**2) / X.shape[1]
    return Ridge(alpha=alpha, solver="cholesky").fit(X, Y)


def predict_ridge(problem, rows, X, Y, Q):
    """Ridge regression with the strength that the hold-outs of the training part prefer."""
    scaled = (Y - Y.mean(axis=0)) / Y.std(axis=0)
    trials = None if problem.trials is None else problem.trials[rows]
    parts = hold_out(problem.samples[rows], scaled, lambda *_: None, trials)

    def error(strength):
        return np.mean(
            [
                np.mean((fit_ridge(X[h.fit], scaled[h.fit], strength).predict(X[h.test]) - scaled[h.test]) ** 2)
                for h in parts
            ]
        )

    return fit_ridge(X, scaled, min(STRENGTHS, key=error)).predict(Q) * Y.std(axis=0) + Y.mean(axis=0)
