"""Channels that work together: the pair test, what each channel adds, sets against single features."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from comparisons import make_comparison

from neurofs.comparison.dependency import Channels, find_gap
from neurofs.comparison.pair_test import _count_found, find_pairs, find_z
from neurofs.comparison.places import Places
from neurofs.comparison.shifts import shift_rows
from neurofs.features.splits import Fold
from neurofs.selectors.pairs import RIDGE


def _counts(n_rows: int = 1500, n_channels: int = 6, seed: int = 0) -> tuple[np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    return rng.poisson(1.0, (n_rows, 1, n_channels)).astype(np.float32), rng


def test_z_is_its_definition():
    rng = np.random.default_rng(0)
    r, w = rng.normal(size=(3, 40)), rng.normal(size=(40, 5))
    expected = [[sum(a * b) / np.sqrt(sum(a**2 * b**2)) for b in w.T] for a in r]
    assert np.allclose(find_z(r, r**2, w), expected)


def test_a_product_is_found_and_its_copy_is_an_echo():
    X, rng = _counts()
    heard = rng.binomial(X[:, 0, 5].astype(int), 0.8) + rng.poisson(0.1, len(X))
    X = np.concatenate([X, heard[:, None, None]], axis=2).astype(np.float32)
    y = X[:, 0, 0] + (X[:, 0, 2] - 1) * (X[:, 0, 5] - 1) + rng.normal(size=len(X))
    test = find_pairs(X, y[:, None], np.repeat(np.arange(150), 10), by_trial=True)
    pairs = [(int(test.first[k]), int(test.second[k])) for k in test.found]
    echoes = [(int(test.first[k]), int(test.second[k])) for k in test.echoes]
    assert pairs == [(2, 5)]
    assert (2, 6) in echoes


def test_two_channels_of_one_movement_are_no_pair():
    rng = np.random.default_rng(1)
    slow = np.cumsum(rng.normal(size=2000))
    y = np.sin(np.arange(2000) / 7) * 1.5 + 0.1 * (slow - slow.mean()) / slow.std()
    X = rng.poisson(np.exp(np.outer(y, [0.6, 0.5, -0.5, 0.4, 0.0]))).astype(np.float32)[:, None]
    test = find_pairs(X, y[:, None], np.zeros(2000, int))
    assert test.found == []
    assert test.cut == 0.0


def test_levels_are_those_of_benjamini_and_hochberg():
    assert _count_found([0.2], 10) == 0
    assert _count_found([0.009], 10) == 1
    assert _count_found([0.015, 0.019], 10) == 2


def test_trials_stay_whole():
    trials = np.repeat(np.arange(120), 3)
    rows = shift_rows(trials, True, 100)
    assert rows.shape == (100, 360)
    assert (rows % 3 == np.arange(360) % 3).all()
    moved = (trials[rows] - trials) % 120
    assert (moved == moved[:, :1]).all()
    assert (moved > 0).all()


def test_few_trials_are_permuted():
    trials = np.repeat(np.arange(20), 2)
    rows = shift_rows(trials, True, 100)
    assert all(sorted(trials[row]) == sorted(trials) for row in rows)
    assert (rows == shift_rows(trials, True, 100)).all()


def test_rows_without_trials_go_around():
    rows = shift_rows(np.zeros(200, int), False, 100)
    moved = (rows - np.arange(200)) % 200
    assert (moved == moved[:, :1]).all()
    assert moved.min() >= 10
    assert moved.max() <= 190


def _error(X: np.ndarray, Y: np.ndarray, fold: Fold, channels: list[int], n_all: int) -> np.ndarray:
    """Refit on some channels alone, the obvious way."""
    flat = X[:, :, channels].reshape(len(X), -1)
    mean, deviation = flat[fold.train].mean(axis=0), flat[fold.train].std(axis=0)
    train, test = ((flat[rows] - mean) / deviation for rows in (fold.train, fold.test))
    center = Y[fold.train].mean(axis=0)
    ridge = (RIDGE * len(train) + n_all) * np.eye(flat.shape[1])
    slope = np.linalg.solve(train.T @ train + ridge, train.T @ (Y[fold.train] - center))
    return ((Y[fold.test] - center - test @ slope) ** 2).sum(axis=0)


def test_channels_alone_and_left_out_are_refitted():
    rng = np.random.default_rng(2)
    X, rows = rng.poisson(1.0, (200, 3, 4)).astype(float), np.arange(200)
    Y = X[:, :, 0].sum(axis=1, keepdims=True) + X[:, :1, 1] * [1.0] + rng.normal(size=(200, 2))
    folds = [Fold(0, k, rows[rows % 2 != k], rows[rows % 2 == k], 0) for k in range(2)]
    parts, all_four = Channels(X, Y, folds), [0, 1, 2, 3]
    variance = sum(Y[f.test].var(axis=0) * len(f.test) for f in folds)
    total = sum(_error(X, Y, f, all_four, 12) for f in folds)
    for c in all_four:
        alone = sum(_error(X, Y, f, [c], 12) for f in folds)
        without = sum(_error(X, Y, f, [d for d in all_four if d != c], 12) for f in folds)
        assert parts.alone(c) == pytest.approx(np.mean(1 - alone / variance))
        assert parts.unique(c) == pytest.approx(np.mean((without - total) / variance))


def test_synergy_is_large_for_a_product_alone():
    rng = np.random.default_rng(3)
    X, rows = rng.poisson(1.0, (600, 1, 4)).astype(float), np.arange(600)
    Y = ((X[:, 0, 1] - 1) * (X[:, 0, 3] - 1))[:, None] + 0.3 * rng.normal(size=(600, 1))
    folds = [Fold(0, k, rows[rows % 3 != k], rows[rows % 3 == k], 0) for k in range(3)]
    parts = Channels(X, Y, folds)
    assert parts.synergy(1, 3) > 0.5
    assert parts.synergy(0, 2) < 0.1


def _scores(values: dict[str, list[float]]) -> pd.DataFrame:
    rows = [
        {"method": m, "selector": m, "chosen": True, "repeat": 0, "fold": k, "r2": v, "n_test": 20, "n_train": 80}
        for m, folds in values.items()
        for k, v in enumerate(folds)
    ]
    return pd.DataFrame(rows)


def test_gap_compares_the_best_of_both_kinds():
    scores = {"rgs": [0.5, 0.6, 0.7], "pairs": [0.1, 0.1, 0.1], "sks": [0.4, 0.49, 0.61], "corrcoef": [0.3, 0.3, 0.3]}
    gap = find_gap(_scores(scores | {"all": [0.9, 0.9, 0.9]}), "r2", Places(["fold"], 0.25))
    assert gap is not None
    assert (gap.together, gap.alone, gap.n_choices, gap.n_folds) == ("rgs", "sks", 4, 3)
    assert gap.difference.mean == pytest.approx(0.1)
    assert find_gap(_scores({"rgs": [0.5, 0.6]}), "r2", Places(["fold"], 0.25)) is None


def test_a_summary_without_the_question_has_no_such_key():
    assert "dependency" not in make_comparison().summary.to_json()
