"""Bins and lags that are chosen for a recording."""

import numpy as np
import pandas as pd
import pytest

from neurofs.features.tensor import build_tensor
from neurofs.ground.config import LoadOptions, RunOptions, TensorOptions
from neurofs.recordings.demo import demo_path
from neurofs.recordings.quality import suggest
from neurofs.recordings.readers import load
from neurofs.recordings.recording import Recording, Series
from neurofs.recordings.window import choose_window, explain_window, settle_window


def make(trial_length=None, n_trials=40, own=None, observed=None):
    """Return a session with trials of one length, one after the other."""
    stop = n_trials * (trial_length or 1.5)
    time = np.arange(0, stop, 0.05)
    velocity = Series("velocity", time, np.sin(time))
    starts = np.arange(n_trials) * (trial_length or 1.5)
    trials = pd.DataFrame({"start": starts, "stop": starts + trial_length}).round(6) if trial_length else None
    neural = {"counts": np.ones((round(stop / own), 2)), "bin_width": own} if own else {"spikes": [time + 0.01]}
    observed = observed if own is None else None
    return Recording("s", behavior={"velocity": velocity}, trials=trials, observed=observed, **neural)


@pytest.mark.parametrize(
    ("session", "expected"),
    [
        ({}, (0.1, 10)),
        ({"trial_length": 2.0}, (0.1, 10)),
        ({"trial_length": 1.9}, (0.1, 6)),
        ({"trial_length": 1.0}, (0.1, 3)),
        ({"trial_length": 0.3}, (0.1, 1)),
        ({"trial_length": 0.05}, (0.1, 1)),
        ({"own": 0.05}, (0.1, 10)),
        ({"own": 0.03}, (0.09, 10)),
        ({"own": 0.25}, (0.25, 4)),
        ({"own": 1.0}, (1.0, 3)),
        ({"observed": [[0, 0.9], [1, 1.9], [2, 2.9]]}, (0.1, 3)),
        ({"observed": [[0, 0.1], [1, 1.1], [2, 42.0]]}, (0.1, 10)),
    ],
)
def test_bins_and_lags_follow_the_trials_the_stretches_and_the_stored_bins(session, expected):
    assert choose_window(make(**session))[:2] == expected


def test_what_is_given_stays():
    session = make(1.0)
    assert choose_window(session, 0.05)[:2] == (0.05, 10)
    assert choose_window(session, "auto", 7)[:2] == (0.1, 7)
    options = settle_window(RunOptions(target="velocity", bin_width=0.2), session)
    assert (options.bin_width, options.n_lags, options.target) == (0.2, 1, ("velocity",))
    assert explain_window(TensorOptions(), session) == "chosen for trials of 1 s"
    assert explain_window(TensorOptions(n_lags=3), session) == ""


def test_the_demo_keeps_ten_lags_of_a_tenth_of_a_second():
    assert choose_window(load(demo_path()))[:2] == (0.1, 10)


def test_inspect_suggests_what_is_taken():
    for session in (make(), make(1.0), make(own=0.25), make(1.2, own=0.06)):
        width, n_lags, _ = choose_window(session)
        asked = {"bin_width": 0.1, "n_lags": 10} | suggest(session, "f.npz", LoadOptions())["options"]
        assert (asked["bin_width"], asked["n_lags"]) == (width, n_lags)
        tensor = build_tensor(session, "velocity")
        assert (tensor.attrs["bin_width"], tensor.sizes["lag"]) == (width, n_lags)
