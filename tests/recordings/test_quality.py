import json
import tomllib

import numpy as np
import pandas as pd
import pytest

from neurofs.ground.config import LoadOptions
from neurofs.recordings.checks import find_remarks
from neurofs.recordings.demo import demo_path
from neurofs.recordings.quality import describe, inspect_file, measure_activity, render_text, suggest
from neurofs.recordings.recording import Recording, Series


def series(name, values, rate=10.0, unit="cm/s", **fields):
    values = np.asarray(values, dtype=float)
    return Series(name, np.arange(len(values)) / rate, values, unit=unit, **fields)


def recording(*behavior, spikes=None, **fields):
    rng = np.random.default_rng(0)
    spikes = spikes or [np.sort(rng.uniform(0, 100, 400)) for _ in range(3)]
    return Recording("toy", spikes=spikes, behavior={s.name: s for s in behavior}, **fields)


def wave(n=1000, columns=2):
    return np.column_stack([np.sin(np.arange(n) * (i + 1) / 7) for i in range(columns)])


def test_the_demo():
    report = inspect_file(demo_path())
    assert report["channels"]["n"] == 64
    assert report["channels"]["kinds"] == {"isolated": 32, "threshold": 16, "unused": 16}
    assert len(report["channels"]["silent"]) == 14
    assert report["trials"]["n"] == 80
    assert report["problems"] == []
    assert report["decode"]["options"] == {"target": ["hand_velocity"]}
    assert json.loads(json.dumps(report)) == report


def test_silent_rare_partial_and_duplicate_channels_are_named():
    rng = np.random.default_rng(0)
    steady = np.sort(rng.uniform(0, 100, 400))
    spikes = [steady, [], [50.0, 60.0], np.sort(rng.uniform(0, 30, 400)), steady.copy()]
    about = describe(recording(spikes=spikes, observed=[[0, 100]]))["channels"]
    assert about["silent"] == ["1"]
    assert about["rare"] == ["2"]
    assert about["partly_active"] == ["3"]
    assert about["duplicates"] == [["0", "4"]]


def test_a_silent_channel_is_present_nowhere_and_neither_rare_nor_partly_active():
    activity = measure_activity(recording(spikes=[[], np.arange(0.5, 100), [50.0]], observed=[[0, 100]]))
    np.testing.assert_allclose(activity.rate, [0, 1, 0.01])
    assert activity.presence.tolist() == [0, 1, 1], "a channel with few spikes is not blamed for being absent"
    assert activity.silent.tolist() == [True, False, False]
    assert activity.rare.tolist() == [False, False, True]
    assert not activity.partly_active.any()


def test_counts_are_described_like_spikes():
    counts = np.random.default_rng(0).poisson(1.0, (400, 3)).astype(np.uint8)
    counts[:, 1] = 0
    counts[200:, 2] = 0
    about = describe(Recording("c", counts=counts, bin_width=0.1))["channels"]
    assert about["silent"] == ["1"]
    assert about["partly_active"] == ["2"]
    assert about["n_spikes"] == int(counts.sum())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"spikes": [np.arange(-5.0, 90.0) + 0.5]}, "1 channel has negative spike times"),
        ({"observed": [[10, 90]]}, "spikes lie outside the observed span 10 to 90 s and are not counted"),
        ({"spikes": [np.arange(1000.0, 4000.0, 7)]}, "whole numbers: samples?"),
        ({"spikes": [[0.1, 5.3, 20.7]]}, "only 20.6 s observed"),
        ({"trials": pd.DataFrame({"start": [90.0], "stop": [140.0]})}, "1 trial reaches beyond"),
    ],
)
def test_warnings_about_spikes_and_trials(arguments, expected):
    warnings = [remark.text for remark in find_remarks(recording(series("vel", wave()), **arguments))]
    assert any(expected in warning for warning in warnings), warnings


def test_warnings_about_behavior():
    values = wave(1000, 2)
    values[3, 0] = np.nan
    values[:, 1] = 7
    late = Series("late", np.arange(500.0, 510.0), np.arange(10.0))
    holes = Series("holes", np.r_[np.arange(50), np.arange(80, 100)], np.arange(70.0))
    warnings = "\n".join(r.text for r in find_remarks(recording(series("vel", values), late, holes)))
    assert "series 'vel': 1 of 1000 samples are missing" in warnings
    assert "series 'vel': constant in y" in warnings
    assert "series late: none of it lies in the observed span" in warnings
    assert "series 'holes': 1 gaps" in warnings
    unnamed = "\n".join(r.text for r in find_remarks(recording(series("X", wave(1000, 4)))))
    assert "series 'X': 4 columns without names; name those to decode: --target X:0" in unnamed


def state(unit=1.0):
    """Position and velocity in columns without names; the position jumps twice, as between trials."""
    velocity = wave(1000, 2)
    position = np.cumsum(velocity, axis=0) / 100 + 50 * (np.arange(1000) // 400)[:, None]
    return Series("X", np.arange(1000) / 100, np.hstack([position, unit * velocity]))


@pytest.mark.parametrize("unit", [1.0, 0.01])
def test_columns_without_names_that_are_velocities_are_found(unit):
    session = recording(state(unit))
    assert suggest(session, "x.npz", LoadOptions())["options"]["target"] == ["X:2", "X:3"]
    told = "\n".join(r.text for r in find_remarks(session))
    assert "series 'X': columns 2, 3 are the velocity of 0, 1; to decode the position: --target X:0,X:1" in told
    other = recording(series("X", wave(1000, 4)))
    assert suggest(other, "x.npz", LoadOptions())["options"]["target"] == ["X:0"]


def test_suggested_targets():
    flat = wave(1000, 3)
    flat[:, 2] = 0
    angle = {"circular": True, "unit": "radian"}
    still, turning = series("roll", 0.1 * wave(1000, 1), **angle), series("yaw", 3 * wave(1000, 1), **angle)
    cases = {
        ("hand_velocity",): [series("hand_position", wave()), series("hand_velocity", wave())],
        ("handVel:x", "handVel:y"): [series("handVel", flat)],
        ("hand_position.velocity",): [series("hand_position", wave())],
        ("pos.velocity:x", "pos.velocity:y"): [series("pos", flat)],
        ("yaw",): [still, turning],
        ("force",): [series("force", wave(1000, 1))],
    }
    for expected, behavior in cases.items():
        assert tuple(suggest(recording(*behavior), "f.nwb", LoadOptions())["options"]["target"]) == expected
    assert suggest(recording(), "f.nwb", LoadOptions()) is None


def test_suggested_bins():
    for own, suggested in {0.07: 0.07, 0.03: 0.09, 0.25: 0.25}.items():
        velocity = series("vel", wave(600), rate=1 / own)
        odd = Recording("c", counts=np.ones((600, 2)), bin_width=own, behavior={"vel": velocity})
        assert suggest(odd, "f.npz", LoadOptions())["options"]["bin_width"] == suggested
    trials = pd.DataFrame({"start": np.arange(0.0, 90, 1), "stop": np.arange(0.0, 90, 1) + 0.9})
    short = recording(series("vel", wave()), trials=trials)
    assert suggest(short, "f.npz", LoadOptions())["options"]["n_lags"] == 3


def test_the_suggestion_is_safe_to_paste():
    name = 'vel\'; rm -rf $HOME #\n"x"'
    options = LoadOptions(counts_bin_width=0.05, trials=False)
    advice = suggest(recording(series(name, wave())), "a b.mat", options)
    import shlex

    words = shlex.split(advice["command"])
    assert words[:3] == ["neurofs", "decode", "a b.mat"]
    assert words[words.index("--target") + 1] == name
    assert "--no-trials" in words
    assert tomllib.loads(advice["session_file"]) == {
        "file": "a b.mat",
        "counts_bin_width": 0.05,
        "trials": False,
        "target": [name],
    }


def test_text_shows_hostile_names_harmlessly():
    name = "\x1b[31mred\nline"
    r = recording(series(name, wave()), channels=pd.DataFrame({"name": ["\x07", "b", "c"]}))
    report = {"file": "f", **describe(r), "problems": [], "serious": [], "warnings": [], "decode": None}
    text = render_text(report)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\\x1b[31mred\\nline" in text
