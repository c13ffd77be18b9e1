"""A target that is made of the samples of several bins must not carry test data into training."""

import numpy as np
import pandas as pd
import pytest

from neurofs.features.holdouts import hold_out
from neurofs.features.samples import Samples
from neurofs.features.splits import make_folds, overlap_audit
from neurofs.features.tensor import build_tensor, to_samples
from neurofs.recordings.recording import Recording, Series

SECONDS = 12.0


def record(time, values, trials=None):
    """Two channels for 12 s, and a position."""
    spikes = [np.arange(0.03, SECONDS, 0.05), np.arange(0.01, SECONDS, 0.21)]
    table = None if trials is None else pd.DataFrame(trials, columns=["start", "stop"])
    behavior = {"pos": Series("pos", time, values, ("x",))}
    return Recording("r", spikes=spikes, behavior=behavior, observed=[[0, SECONDS]], trials=table)


def uneven(rate):
    steps = np.random.default_rng(0).uniform(0.8, 1.2, int(SECONDS * rate)) / rate
    time = np.cumsum(steps)
    return time[time < SECONDS]


def even(rate):
    return np.arange(0.5 / rate, SECONDS, 1 / rate)


TIMES = {"100 Hz": even(100), "25 Hz": even(25), "10 Hz": even(10), "4 Hz": even(4), "uneven": uneven(40)}
TRIALS = {"one stretch": None, "trials that touch": [(a, a + 1.5) for a in np.arange(0, SECONDS, 1.5)]}


def shared_samples(time, name, trials, folds):
    """Count raw samples of the position that change a target of the training and one of the test part."""
    values = np.sin(time)
    before = to_samples(build_tensor(record(time, values, trials), name, n_lags=1)).y
    touched = []
    for i in range(len(time)):
        moved = values + np.eye(len(time))[i]
        touched.append((to_samples(build_tensor(record(time, moved, trials), name, n_lags=1)).y != before).any(axis=1))
    return [sum(t[f.train].any() and t[f.test].any() for t in touched) for f in folds]


@pytest.mark.parametrize("trials", TRIALS)
@pytest.mark.parametrize(("rate", "name"), [*((r, "pos.velocity") for r in TIMES if r != "100 Hz"), ("4 Hz", "pos")])
def test_no_raw_sample_of_the_target_is_on_both_sides(rate, name, trials):
    time = TIMES[rate]
    tensor = build_tensor(record(time, np.sin(time), TRIALS[trials]), name, n_lags=1)
    samples, _, trial = to_samples(tensor)
    folds = make_folds(samples, None if TRIALS[trials] is None else trial, n_splits=3)
    assert [f.n_overlaps for f in folds] == [0, 0, 0]
    assert shared_samples(time, name, TRIALS[trials], folds) == [0, 0, 0]


def test_the_windows_alone_would_have_leaked():
    time = TIMES["10 Hz"]
    samples, _, _ = to_samples(build_tensor(record(time, np.sin(time)), "pos.velocity", n_lags=1))
    blind = Samples(samples.flat, samples.starts, samples.n_features, n_channels=2)
    folds = make_folds(blind, None, n_splits=3)
    assert min(shared_samples(time, "pos.velocity", None, folds)) > 0
    assert min(overlap_audit(samples, f.train, f.test) for f in folds) > 0, "the audit knows"


def test_the_gap_by_hand():
    """At 10 Hz the filter takes 5 samples, one per bin: 4 + 2 bins, two of them for the ends of a stretch."""
    time = TIMES["10 Hz"]
    tensor = build_tensor(record(time, np.sin(time)), "pos.velocity", n_lags=1)
    assert tensor.attrs["target_span"] == 7
    middle = make_folds(to_samples(tensor).samples, None, n_splits=3)[1]
    assert (middle.test[0], middle.test[-1]) == (40, 79)
    np.testing.assert_array_equal(middle.train, np.r_[0:34, 86:120])


def test_an_interpolated_target_by_hand():
    """At 4 Hz two bins may share a sample if they lie in neighboring intervals, less than 0.5 s apart."""
    tensor = build_tensor(record(TIMES["4 Hz"], np.sin(TIMES["4 Hz"])), "pos", n_lags=1)
    assert tensor.attrs["target_span"] == 5


@pytest.mark.parametrize(("name", "n_lags", "span"), [("pos", 1, 1), ("pos", 4, 4), ("pos.velocity", 10, 10)])
def test_nothing_changes_where_windows_reach_as_far(name, n_lags, span):
    time = TIMES["100 Hz"]
    samples = to_samples(build_tensor(record(time, np.sin(time)), name, n_lags=n_lags)).samples
    assert samples.span == 2 * span


def test_a_sample_at_the_edge_of_a_trial_is_of_the_trial_of_its_bin():
    time = np.nextafter(np.round(0.1 * np.arange(1, 120), 1), 0)  # all a little early, as rounding may have it
    trials = [(round(a, 1), round(a + 1.2, 1)) for a in np.arange(0, SECONDS, 1.2)]
    steps = record(time, 100.0 * (np.rint(10 * time) // 12), trials)
    np.testing.assert_allclose(to_samples(build_tensor(steps, "pos.velocity", n_lags=1)).y, 0, atol=1e-9)


def test_smoothed_counts_still_count():
    time = TIMES["10 Hz"]
    tensor = build_tensor(record(time, np.sin(time)), "pos.velocity", n_lags=6, smooth=0.1)
    assert to_samples(tensor).samples.span == 2 * (6 + 3)


def test_hold_outs_keep_the_same_distance():
    time = TIMES["10 Hz"]
    samples, y, _ = to_samples(build_tensor(record(time, np.sin(time)), "pos.velocity", n_lags=1))
    for part in hold_out(samples, y, lambda *_: None):
        apart = np.abs(samples.starts[part.fit][:, None] - samples.starts[part.test])
        assert apart.min() >= 7 * 2
