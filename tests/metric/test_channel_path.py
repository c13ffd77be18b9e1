"""Channels that suffice: the path, the rule of one standard error, and exact zeros."""

from itertools import pairwise

import numpy as np
import pytest

from neurofs.decoders.kernel_rgs import KernelRGSDecoder
from neurofs.features.samples import Samples
from neurofs.metric.channel_path import _narrow, _widen, choose_size, keep_channels, learn_sparse_metric, path_sizes
from neurofs.metric.learning import LearnedMetric
from neurofs.selectors.kernel_rgs import KernelRGS


def session(n_bins=500, n_channels=10, n_lags=3, seed=0):
    """Counts of which channels 2 and 7 make the target."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(1.0, (n_bins, n_channels)).astype(np.float32)
    rows = np.arange(n_lags - 1, n_bins)
    y = (counts[rows, 2] - 1) * (counts[rows - 1, 7] - 1) + counts[rows, 2]
    return Samples.from_counts(counts, n_lags), y + 0.1 * rng.normal(size=len(y))


def test_channels_are_kept_as_if_the_others_had_never_been():
    counts = np.random.default_rng(0).poisson(1.0, (30, 5)).astype(np.float32)
    rows, kept = np.array([4, 5, 9, 29]), np.array([0, 3])
    part = keep_channels(Samples.from_counts(counts, 3, rows), kept)
    expected = Samples.from_counts(counts[:, kept], 3, rows)
    np.testing.assert_array_equal(np.asarray(part), np.asarray(expected))
    assert (part.span, part.n_channels) == (expected.span, expected.n_channels)
    smoothed = Samples(counts.ravel(), np.array([0, 5]), 15, span=25, n_channels=5)
    assert keep_channels(smoothed, kept).span == 10
    with pytest.raises(ValueError, match="first channel of a bin"):
        keep_channels(Samples(counts.ravel(), np.array([1]), 15, n_channels=5), kept)


def test_the_rule_of_one_standard_error():
    rng = np.random.default_rng(0)
    base = rng.random(40)
    errors = np.array([base, base + 0.01 * rng.normal(size=40), base + 0.05 + 0.01 * rng.normal(size=40)])
    excess, standard_error, chosen = choose_size(errors)
    best = errors.mean(axis=1).argmin()
    for row, (e, s) in enumerate(zip(excess, standard_error, strict=True)):
        difference = errors[row] - errors[best]
        assert e == pytest.approx(difference.mean())
        assert s == pytest.approx(np.sqrt(np.sum((difference - difference.mean()) ** 2) / 39 / 40))
    assert chosen == max(row for row in range(3) if excess[row] <= standard_error[row])
    assert chosen < 2


def test_the_path_ends_at_one_channel():
    assert path_sizes(1) == [1]
    sizes = path_sizes(196)
    assert (sizes[0], sizes[-1]) == (196, 1)
    assert all(a > b for a, b in pairwise(sizes))


def test_a_narrow_metric_made_wide_measures_the_same_distances():
    samples, _ = session(40)
    rng = np.random.default_rng(1)
    wide = LearnedMetric(rng.random(30), rng.random(30), 0.3, 0.1, 10, np.ones(30, dtype=bool), rng.normal(size=(3, 3)))
    kept = np.array([1, 2, 8])
    narrow = _narrow(wide, kept)
    again = _widen(narrow, kept, samples)
    Z, Q = narrow.transform(keep_channels(samples, kept)), again.transform(samples)
    np.testing.assert_allclose(Z @ Z.T, Q @ Q.T, rtol=1e-4)
    assert (again.weights.reshape(3, 10)[:, [0, 3, 4, 5, 6, 7, 9]] == 0).all()


@pytest.mark.parametrize("trials", [False, True])
def test_only_the_channels_that_matter_stay_on(trials):
    samples, y = session()
    groups = np.arange(len(y)) // 20 if trials else None
    selector = KernelRGS(sparse=True, random_state=0, n_steps=40, n_rows=300).fit(samples, y, groups)
    on = np.flatnonzero(selector.weights_.reshape(3, 10).any(axis=0))
    path = selector.channel_path_
    assert path.channels.tolist() == on.tolist()
    assert {2, 7} <= set(on)
    assert path.n_channels <= 4
    assert path.sizes.tolist() == [10, 7, 4, 2, 1]
    assert path.errors[-1] > 2 * path.errors.min(), "one channel does not suffice"


def test_a_sparse_decoder_decodes_as_well():
    samples, y = session(700)
    decoder = KernelRGSDecoder(sparse=True, random_state=0, n_steps=40, n_rows=300).fit(samples[:500], y[:500])
    truth, changed = y[510:], samples.flat.reshape(-1, 10).copy()
    predicted = decoder.predict(samples[510:])
    assert 1 - np.mean((truth - predicted) ** 2) / truth.var() > 0.8
    off = np.setdiff1d(np.arange(10), decoder.channel_path_.channels)
    changed[:, off] = 100.0
    np.testing.assert_allclose(decoder.predict(Samples.from_counts(changed, 3)[510:]), predicted)


def test_the_choice_sees_only_what_it_may(monkeypatch):
    samples, y = session(300)
    seen = []

    def weigh(part, Y, groups, rng):
        seen.append(len(part))
        return np.ones(part.n_features)

    learn_sparse_metric(samples, y[:, None], None, np.random.default_rng(0), weigh, n_steps=4, n_rows=100)
    assert seen[0] < 0.85 * len(samples)
    assert seen[1] == len(samples)
