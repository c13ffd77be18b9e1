"""Places: what repeats add to a mean, and where intervals are not to be believed."""

import numpy as np
import pytest

from neurofs.comparison.places import find_doubts, smoothing
from neurofs.comparison.problem import Problem
from neurofs.features.samples import Samples
from neurofs.features.splits import make_folds
from neurofs.ground.config import CompareOptions


def make_problem(target, n_repeats=1, classes=()):
    samples = Samples.from_counts(np.zeros((len(target), 2)), n_lags=1)
    folds = make_folds(samples, None, 5, n_repeats)
    time = np.arange(len(target)) / 10
    return Problem(samples, np.asarray(target)[:, None], None, time, folds, ("x",), ("",), classes, CompareOptions())


@pytest.mark.parametrize(("n_splits", "n_repeats"), [(5, 1), (5, 5), (10, 2)])
def test_smoothing_is_what_noise_loses(n_splits, n_repeats):
    """Draw noise: the variance over places of one repeat against that of the mean over repeats."""
    rng = np.random.default_rng(0)
    folds = make_folds(Samples.from_counts(np.zeros((100, 1)), n_lags=1), None, n_splits, n_repeats)
    noise = rng.normal(size=(20_000, 100))
    means = np.zeros((n_repeats, n_splits, len(noise)))
    for fold in folds:
        means[fold.repeat, fold.fold] = noise[:, fold.test].mean(axis=1)
    single, smooth = (part.var(axis=0, ddof=1).mean() for part in (means[0], means.mean(axis=0)))
    assert smoothing(folds) == pytest.approx(single / smooth, rel=0.02)


def test_doubts_name_the_output_and_the_reason():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=500)
    assert list(find_doubts(make_problem(noise))) == []
    still = np.where(np.arange(500) < 100, 0.1 * noise, noise)
    usual, least = np.median([still[i : i + 100].var() for i in range(0, 500, 100)]), still[:100].var()
    less = f"x varies {usual / least:.0f} times less in one fold than in most"
    assert list(find_doubts(make_problem(still))) == [less]
    flat = np.where(np.arange(500) < 100, 0.0, noise)
    assert list(find_doubts(make_problem(flat))) == ["x does not vary in one fold"]
    steps = noise + 4 * (np.arange(500) // 100)
    inside = np.mean([steps[i : i + 100].var() for i in range(0, 500, 100)])
    share = 100 * (1 - inside / steps.var())
    assert list(find_doubts(make_problem(steps))) == [
        f"{share:.0f} % of the variance of x lies between folds, not inside them"
    ]
    assert list(find_doubts(make_problem(np.arange(500) // 250, classes=("a", "b")))) == []
