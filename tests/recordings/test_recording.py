import numpy as np
import pandas as pd
import pytest

from neurofs.ground.errors import InputError
from neurofs.recordings.recording import InvalidRecording, Recording, Series, find_gaps


def trials(*pairs):
    return pd.DataFrame(pairs, columns=["start", "stop"])


BAD = {
    "no spikes, no counts": ({}, "either spike times or counts; found neither"),
    "both": ({"spikes": [[1.0]], "counts": [[1]], "bin_width": 0.1}, "found both"),
    "no channels": ({"spikes": []}, "at least one channel"),
    "no spike at all": ({"spikes": [[], []]}, "at least one spike"),
    "unsorted": ({"spikes": [[1.0], [0.655, 0.412]]}, "channel '1': expected spike times in increasing order"),
    "NaN spike": ({"spikes": [[0.1, np.nan]]}, "finite spike times; found nan at position 1"),
    "spike matrix": ({"spikes": [np.zeros((2, 2))]}, "a list of spike times"),
    "counts in 3-D": ({"counts": np.zeros((2, 2, 2)), "bin_width": 0.1}, "numbers (time, channel)"),
    "text counts": ({"counts": [["a"]], "bin_width": 0.1}, "numbers (time, channel)"),
    "no bin width": ({"counts": [[1]]}, "a bin width in seconds; found 0.0"),
    "negative counts": ({"counts": [[1, 2], [1, -2]], "bin_width": 0.1}, "channel 1, bin 1: expected a number"),
    "NaN counts": ({"counts": [[1, np.nan]], "bin_width": 0.1}, "channel 1, bin 0: expected a number"),
    "infinite counts": ({"counts": [[np.inf]], "bin_width": 0.1}, "at most 1e+09 in a bin; found inf"),
    "no bins": ({"counts": np.zeros((0, 3)), "bin_width": 0.1}, "at least one bin"),
    "wrong channel table": ({"spikes": [[1.0]], "channels": pd.DataFrame({"name": ["a", "b"]})}, "1 rows"),
    "names twice": ({"spikes": [[1.0]] * 2, "channels": pd.DataFrame({"name": ["a", "a"]})}, "a name used once"),
    "observed backwards": ({"spikes": [[1.0]], "observed": [[2, 1]]}, "a stop after the start"),
    "observed overlap": ({"spikes": [[1.0]], "observed": [[0, 2], [1, 3]]}, "do not overlap; found 1 before"),
    "observed NaN": ({"spikes": [[1.0]], "observed": [[0, np.nan]]}, "finite start and stop"),
    "trials overlap": ({"spikes": [[1.0]], "trials": trials((0, 2), (1, 3))}, "--no-trials"),
    "trial NaN": ({"spikes": [[1.0]], "trials": trials((0, np.nan))}, "finite start and stop"),
    "trials without stop": ({"spikes": [[1.0]], "trials": pd.DataFrame({"start": [0]})}, "columns start and stop"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_recording_cannot_exist(name):
    arguments, message = BAD[name]
    with pytest.raises(InputError) as error:
        Recording("session", **arguments)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("time", "values", "message"),
    [
        ([0, 1, 1], [1, 2, 3], "timestamps that increase; found 1 after 1"),
        ([0, np.nan], [1, 2], "finite timestamps"),
        ([0, 1], [1, np.inf], "finite numbers or NaN"),
    ],
)
def test_a_bad_series_is_refused(time, values, message):
    series = Series("velocity", time, values)
    with pytest.raises(InvalidRecording) as error:
        Recording("session", spikes=[[1.0]], behavior={"velocity": series})
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("values", "columns", "message"),
    [
        (np.zeros(3), (), "one time per row"),
        (np.zeros((2, 2)), ("x",), "2 different column names"),
        (np.zeros((2, 2)), ("x", "x"), "2 different column names"),
    ],
)
def test_a_series_of_the_wrong_shape_is_refused(values, columns, message):
    with pytest.raises(InputError) as error:
        Series("velocity", [0.0, 1.0], values, columns)
    assert message in str(error.value)


def test_all_problems_are_listed():
    with pytest.raises(InvalidRecording) as error:
        Recording("session", spikes=[[2.0, 1.0], [np.nan]], trials=trials((1, 0)))
    assert len(error.value.defects) == 3
    assert "2 more: see neurofs inspect" in str(error.value)


def test_trials_may_come_in_any_order():
    r = Recording("session", spikes=[[1.0]], trials=trials((2, 3), (0, 1)))
    assert r.trials["start"].tolist() == [2, 0]


def test_the_span_is_that_of_the_spikes_where_the_file_does_not_say():
    r = Recording("session", spikes=[[1.0, 3.0], [0.5], []])
    assert r.span == (0.5, 3.0 + 1e-9)
    assert r.spike_counts.tolist() == [2, 1, 0]


def test_values_are_read_only():
    spikes = np.array([0.1, 0.2])
    r = Recording("session", spikes=[spikes])
    with pytest.raises(ValueError):
        r.spikes[0][0] = 5
    spikes[0] = 0.05  # the caller's own array stays writable


def test_gaps():
    assert find_gaps(np.array([[0, 1], [1, 2], [3, 4]])).tolist() == [[2, 3]]


def test_hostile_names_stay_on_one_harmless_line():
    with pytest.raises(InputError) as error:
        Recording("s", spikes=[[2.0, 1.0]], channels=pd.DataFrame({"name": ["\x1b[31m\n<script>" + "x" * 500]}))
    message = str(error.value)
    assert "\x1b" not in message
    assert "\n" not in message
    assert len(message) < 300


def test_no_name_holds_a_character_that_no_file_of_results_can():
    series = Series("v\0", [0.0, 1.0], [1.0, 2.0], ("x\0",), "cm\0/s")
    trials = pd.DataFrame({"start": [0.0], "stop": [1.0], "kind\0": ["a\0"]})
    found = Recording("s\0", spikes=[[0.5]], behavior={"v\0": series}, trials=trials)
    (kept,) = found.behavior.values()
    assert [found.name, *found.behavior, kept.name, *kept.columns, kept.unit] == ["s", "v", "v", "x", "cm/s"]
    assert found.trials["kind"].tolist() == ["a"]
