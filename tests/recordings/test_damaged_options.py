"""Options, session files and CSV pairs that do not fit: each gets one line that says what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from damaged import Row, check_refusal, each_row, mat73, npz, only, text, trial_data
from writers import write_text

SPIKES_CSV = "time,channel\n0.1,0\n0.2,1\n0.3,0\n"
BEHAVIOR_CSV = "time,vel_x,vel_y\n0.0,1,2\n0.1,1,3\n0.2,2,4\n"


def session(content: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        npz()(folder)
        return write_text(folder / "day1.toml", content)

    return make


OPTIONS: list[Row] = [
    ("variable missing", npz(), {"counts": "count"}, ("--counts count", "no such name", "'counts'", "velocity")),
    (
        "behavior missing",
        npz(),
        {"behavior": ["speed"]},
        ("--behavior speed", "no such name", "There are: counts, velocity"),
    ),
    ("spikes and counts", npz(), {"spikes": "a", "counts": "b"}, ("one of the two", "both")),
    ("counts as spikes", npz(), {"spikes": "counts"}, ("'counts'", "a list of spike times", "(20, 3)", "--counts")),
    ("channel names of another length", npz(), {"channel_names": "velocity"}, ("one list", "(20, 2)")),
    ("excluded channel", npz(), {"exclude_channels": ["9"]}, ("--exclude-channels 9", "There are: 0, 1, 2")),
    ("circular series", npz(), {"circular": ["angle"]}, ("--circular angle", "a behavior series", "velocity")),
    (
        "conditions of another length",
        npz(trial=np.arange(20) // 5, c=np.ones(3)),
        {"conditions": ["c"]},
        ("--conditions c", "one per trial"),
    ),
    ("option without effect", npz(), {"sort_spikes": True}, ("--sort-spikes", "applies to this file", "Leave it out")),
    ("sampling rate without samples", npz(), {"sampling_rate": 30000}, ("--sampling-rate", "applies to this file")),
    (
        "trial unit without bins",
        only(spike_times=[0.1, 0.2], trial_start=[0.1]),
        {"trial_unit": "bin"},
        ("--trial-unit bin", "counts in bins"),
    ),
    (
        "field missing",
        mat73(trial_data=[trial_data(), trial_data()]),
        {"counts": "M2_spikes"},
        ("--counts M2_spikes", "'M1_spikes'"),
    ),
    ("width of zero", npz(), {"counts_bin_width": 0}, ("counts_bin_width", "greater than 0")),
    ("unknown keyword", npz(), {"binwidth": 1}, ("unknown key 'binwidth'", "counts_bin_width")),
    ("session: broken", session("file = "), {}, ("a session file in TOML", "Correct the file")),
    (
        "session: unknown key",
        session('file = "session.npz"\norientaton = "x"'),
        {},
        ("unknown key 'orientaton'", "orientation"),
    ),
    ("session: no file", session('counts = "counts"'), {}, ("the key file", "no such key")),
    ("session: file missing", session('file = "gone.npz"'), {}, ("a file", "none at")),
    (
        "session: wrong type",
        session('file = "session.npz"\ncounts_bin_width = "wide"'),
        {},
        ("counts_bin_width", "'wide'"),
    ),
    ("csv alone", text("a_spikes.csv", SPIKES_CSV), {}, ("a file beside it", "no a_behavior.csv")),
    ("csv of behavior", text("a_behavior.csv", BEHAVIOR_CSV), {}, ("the file with the spikes", "a_spikes.csv")),
    (
        "csv with words",
        text("a_spikes.csv", SPIKES_CSV + "soon,1\n", a_behavior=BEHAVIOR_CSV),
        {},
        ("line 5, column 'time'", "a number", "'soon'"),
    ),
    (
        "csv ragged",
        text("a_spikes.csv", SPIKES_CSV + "0.4,1,2\n", a_behavior=BEHAVIOR_CSV),
        {},
        ("line 5", "2 values", "3 values"),
    ),
    (
        "csv without header",
        text("a_spikes.csv", "0.1,0\n0.2,1\n", a_behavior=BEHAVIOR_CSV),
        {},
        ("line 1", "names of the columns"),
    ),
    (
        "csv header alone",
        text("a_spikes.csv", "time,channel\n", a_behavior=BEHAVIOR_CSV),
        {},
        ("at least one line", "1 lines"),
    ),
    (
        "csv column twice",
        text("a_spikes.csv", "time,time\n1,2\n", a_behavior=BEHAVIOR_CSV),
        {},
        ("line 1", "a different name", "'time'"),
    ),
    (
        "csv quote open",
        text("a_spikes.csv", SPIKES_CSV + '"0.4,1\n', a_behavior=BEHAVIOR_CSV),
        {},
        ("separated by commas",),
    ),
    (
        "csv without starts",
        text("a_spikes.csv", SPIKES_CSV, a_behavior=BEHAVIOR_CSV, a_trials="go\n1\n"),
        {},
        ("a column start",),
    ),
    (
        "csv name in two files",
        text("a_spikes.csv", SPIKES_CSV, a_behavior="time,spikes\n0,1\n1,2\n"),
        {},
        ("column 'spikes'", "a name used once"),
    ),
]


@each_row(OPTIONS)
def test_options_that_do_not_fit_get_one_line_that_says_what_to_do(make, options, parts, tmp_path):
    check_refusal(make, options, parts, tmp_path)
