"""Tests of channels as part of a decode: in the summary, in channels.csv, and in the headline."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from comparisons import make_comparison

from neurofs.comparison.comparison import CHANNEL_COLUMNS, read, save
from neurofs.recordings.recording import Recording, Series
from neurofs.running.comparing import compare

QUICK = {"selectors": ("corrcoef",), "decoders": (), "n_splits": 3}


@pytest.fixture(scope="module")
def found():
    """Two channels that precede the velocity by 200 and 0 ms, and three that know nothing of it."""
    rng = np.random.default_rng(2)
    n, width = 1200, 0.1
    velocity = np.convolve(rng.normal(size=n + 4), np.ones(5) / 5, "valid")
    drive = np.column_stack([np.roll(velocity, -2), velocity, *np.zeros((3, n))])
    counts = rng.poisson(np.exp(2.0 * drive)).astype(float)
    series = Series("velocity", width * (np.arange(n) + 0.5), velocity, unit="cm/s")
    recording = Recording("toy", counts=counts, bin_width=width, behavior={"velocity": series})
    return compare(recording, "velocity", n_lags=4, **QUICK)


def test_tuned_channels_are_found_with_their_lags(found):
    tests = found.summary.channels
    assert [one.tuned for one in tests.channels] == [True, True, False, False, False]
    assert [one.adds for one in tests.channels][:2] == [True, True]
    assert [one.peak for one in tests.channels][:2] == [pytest.approx(0.2), pytest.approx(0.0)]
    for one in tests.channels:
        assert one.peak_low <= one.peak <= one.peak_high
    assert tests.n_tuned == 2
    assert tests.lag_range == (pytest.approx(0.0), pytest.approx(0.2))


def test_what_was_done_is_in_the_summary(found):
    tests = found.summary.channels
    assert tests.shifted == "rows"
    assert tests.n_shifts == 300
    assert tests.cutoff == pytest.approx(0.1 * 1197 / 5)
    assert (tests.n_windows, tests.n_windows_adds) == (4, 4)
    assert any(text.startswith("2 of 5 channels are tuned") for text in found.summary.headline.sentences)


def test_profiles_are_beside_the_weights(found):
    encoding = found.weights["encoding"].transpose("channel", "lag").values
    assert encoding.shape == (5, 4)
    assert encoding[:2].argmax(axis=1).tolist() == [2, 0]
    assert (encoding >= 0).all()


def test_the_run_folder_has_them(found, tmp_path):
    folder = save(found, tmp_path / "run")
    table = pd.read_csv(folder / "channels.csv", dtype={"channel": str})
    assert tuple(table.columns) == CHANNEL_COLUMNS
    assert table["tuned"].tolist() == [True, True, False, False, False]
    assert read(folder) == found


def test_a_table_of_an_earlier_run_does_not_stay(tmp_path):
    comparison = make_comparison()
    folder = save(comparison, tmp_path / "run")
    assert (folder / "channels.csv").is_file()
    summary = comparison.summary.model_copy(update={"channels": None})
    object.__setattr__(comparison, "summary", summary)
    assert not (save(comparison, folder) / "channels.csv").exists()


def test_trials_and_classes():
    rng = np.random.default_rng(1)
    n_trials, per_trial = 40, 12
    side = rng.integers(0, 2, n_trials)
    counts = rng.poisson(1.0 + 2.0 * np.repeat(side, per_trial)[:, None] * np.array([1, 0, 0])).astype(float)
    start = np.round(per_trial * 0.1 * np.arange(n_trials), 6)
    trials = pd.DataFrame({"start": start, "stop": np.round(start + per_trial * 0.1, 6), "side": side})
    recording = Recording("toy", counts=counts, bin_width=0.1, trials=trials)
    tests = compare(recording, "side", n_lags=2, **QUICK).summary.channels
    assert [one.tuned for one in tests.channels] == [True, False, False]
    assert tests.shifted in ("trials", "trials in order")
