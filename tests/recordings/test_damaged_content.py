"""Sound files whose content makes no sense, or more than one: each gets one line that says what to do."""

from __future__ import annotations

import numpy as np
from damaged import COUNTS, VELOCITY, Row, check_refusal, each_row, mat, mat73, npz, only, trial_data

TIME = np.arange(20) * 0.05
SPIKES = {"spike_times": np.array([0.1, 0.2, 0.4, 0.3]), "spike_channels": np.array([0, 0, 1, 1])}
SAMPLES = np.arange(0, 60000, 1500)


CONTENT: list[Row] = [
    ("negative counts", npz(counts=COUNTS.astype(int) - 1), {}, ("channel 0, bin 0", "a number of spikes", "-1")),
    ("missing counts", npz(counts=np.where(COUNTS == 3, np.nan, COUNTS)), {}, ("a number of spikes", "nan")),
    ("rates", npz(counts=COUNTS * 0.3), {}, ("whole numbers of spikes", "0.3", "bin 0, channel 1", "--counts-unit Hz")),
    (
        "two counts",
        npz(spikes=COUNTS),
        {},
        ("'counts' (counts) and 'spikes' (counts)", "--counts counts", "--counts spikes"),
    ),
    ("two guesses", npz(counts=None, a=COUNTS, b=COUNTS), {}, ("'a' (counts) and 'b' (counts)", "Choose")),
    ("square", npz(counts=np.ones((20, 20), int)), {}, ("one way to read it", "(20, 20)", "--orientation")),
    (
        "no witness",
        only(counts=COUNTS, bin_width=0.05),
        {},
        ("20 bins of 3 channels, or 3 bins of 20", "--orientation"),
    ),
    ("two witnesses", npz(velocity=None, a=np.ones(3), b=np.ones(20)), {}, ("one way to read it", "--orientation")),
    ("3-D counts", npz(counts=np.ones((20, 3, 2), int)), {"counts": "counts"}, ("time by channel", "(20, 3, 2)")),
    ("no bin width", npz(bin_width=None), {}, ("a bin width", "none in the file", "--counts-bin-width")),
    ("bin width in ms", npz(bin_width=50.0), {}, ("at most 5 s", "50", "--counts-bin-width 0.05")),
    ("bin width of zero", npz(bin_width=0.0), {}, ("'bin_width'", "above zero", "0.0")),
    (
        "bin width at odds with time",
        npz(time=TIME * 2),
        {},
        ("'time'", "steps of 0.05 s", "'bin_width'", "0.1 s", "--time none"),
    ),
    ("time in ms", npz(time=TIME * 1000), {}, ("'time'", "50 s", "--time-unit ms")),
    (
        "time in ms, no bin width",
        npz(time=TIME * 1000, bin_width=None),
        {},
        ("times in seconds", "steps of 50", "--time-unit"),
    ),
    (
        "time falls",
        npz(time=np.concatenate([TIME[:10], TIME[:10]])),
        {},
        ("'time'", "times that increase", "0 after 0.45 (row 10)", "--time none"),
    ),
    ("time missing", npz(time=np.where(TIME[3] == TIME, np.nan, TIME)), {}, ("'time'", "finite times", "NaN")),
    (
        "gap of part of a bin",
        npz(time=TIME + 0.02 * (TIME > 0.5)),
        {},
        ("'time'", "whole bins of 0.05 s", "0.07 s before row 11"),
    ),
    ("time of another length", npz(clock=np.arange(7.0)), {"time": "clock"}, ("'clock'", "20 times, one per bin", "7")),
    (
        "behavior too short",
        npz(velocity=VELOCITY[:13], trial=np.zeros(20, int)),
        {},
        ("'velocity'", "20 samples", "(13, 2)", "--behavior-time"),
    ),
    (
        "behavior named, too short",
        npz(gaze=np.ones((19, 2))),
        {"behavior": ["gaze"]},
        ("'gaze'", "20 samples", "(19, 2)"),
    ),
    ("behavior is text", npz(gaze=np.array(["a", "b"])), {"behavior": ["gaze"]}, ("'gaze'", "numbers", "text")),
    (
        "behavior infinite",
        npz(velocity=np.where(VELOCITY > 0.9, np.inf, VELOCITY)),
        {},
        ("'velocity'", "finite numbers", "infinity"),
    ),
    (
        "trial again",
        npz(trial=[0] * 5 + [1] * 10 + [0] * 5),
        {},
        ("'trial'", "in one piece", "label 0 again at row 15", "--no-trials"),
    ),
    (
        "trial stop before start",
        npz(trial_start=[0.1, 0.5], trial_stop=[0.4, 0.2]),
        {},
        ("trials", "a stop after the start", "0.5 to 0.2", "--no-trials"),
    ),
    (
        "trials overlap",
        npz(trial_start=[0.1, 0.3], trial_stop=[0.4, 0.6]),
        {},
        ("trials", "do not overlap", "0.3 before the end 0.4"),
    ),
    (
        "starts not sorted",
        npz(trial_start=[0.5, 0.1]),
        {},
        ("'trial_start'", "starts that increase", "0.1 after 0.5", "--trial-stop"),
    ),
    ("starts without number", npz(trial_start=[0.1, np.nan]), {}, ("'trial_start'", "finite numbers", "nan")),
    (
        "stops too few",
        npz(trial_start=[0.1, 0.5], trial_stop=[0.4]),
        {},
        ("'trial_stop'", "2 ends, one per trial", "1"),
    ),
    ("start bin too large", npz(startBins=[1, 25]), {}, ("'startBins', trial 1", "from 0 to 19", "25", "--index-base")),
    ("start bin 0 in MATLAB", mat(startBins=[0, 5]), {}, ("'startBins', trial 0", "from 1 to 20", "0", "--index-base")),
    (
        "starts as time or bin",
        npz(bin_width=1.0, trial_start=[2, 9]),
        {},
        ("'trial_start'", "could be either", "--trial-unit"),
    ),
    ("unsorted spikes", only(**SPIKES), {}, ("channel '1'", "increasing order", "0.3 after 0.4", "--sort-spikes")),
    (
        "spikes as samples",
        only(spike_times=SAMPLES, spike_channels=SAMPLES % 4),
        {},
        ("spike times in seconds", "58500", "--time-unit samples", "--sampling-rate"),
    ),
    (
        "samples without rate",
        only(spike_times=SAMPLES, spike_channels=SAMPLES % 4),
        {"time_unit": "samples"},
        ("a sampling rate", "--sampling-rate"),
    ),
    (
        "channel out of range",
        only(spike_times=[0.1, 0.2], spike_channels=[0, 7], channel_names=["a", "b"]),
        {},
        ("'spike_channels', spike 1", "from 0 to 1", "7", "--index-base"),
    ),
    (
        "channel missing",
        only(spike_times=[0.1, 0.2], spike_channels=[0, np.nan]),
        {},
        ("'spike_channels'", "a channel for every spike", "NaN"),
    ),
    (
        "ends beyond spikes",
        only(spike_times=[0.1, 0.2], spike_times_index=[1, 5]),
        {},
        ("'spike_times_index'", "up to 2", "5 at the end"),
    ),
    (
        "spike without time",
        only(spike_times=[0.1, np.nan], spike_times_index=[2]),
        {},
        ("channel '0'", "finite spike times", "nan"),
    ),
    (
        "spikes or counts",
        npz(spike_times=[0.1, 0.2]),
        {},
        ("'spike_times' (spikes) and 'counts' (counts)", "--spikes", "--counts"),
    ),
    ("nothing known", only(a=np.ones(3)), {}, ("a signal", "--spikes, --counts or --signal", "The file has: a")),
    ("hostile name", only(**{"a\x1b[31m\nb": np.ones(3)}), {}, ("The file has: a\\x1b[31m\\nb",)),
    ("same channel twice", npz(channel_names=["a", "b", "a"]), {}, ("channel 'a'", "a name used once")),
    (
        "trial with fewer rows",
        mat73(trial_data=[trial_data(), trial_data(vel=np.ones((9, 2)))]),
        {},
        ("trial 2", "10 rows of 'vel'", "'M1_spikes'", "9 rows"),
    ),
    (
        "trial with fewer channels",
        mat73(trial_data=[trial_data(), trial_data(M1_spikes=np.ones((12, 3)))]),
        {},
        ("trial 2", "4 channels", "3"),
    ),
    (
        "two widths",
        mat73(trial_data=[trial_data(), trial_data(bin_size=0.1)]),
        {},
        ("'bin_size'", "one bin width", "2 different"),
    ),
    (
        "trials with spike times and counts",
        mat73(trial_data=[trial_data(spikes=[np.array([0.1, 0.2])]), trial_data(spikes=[np.array([0.1])])]),
        {},
        ("'spikes' (spikes) and 'M1_spikes' (counts)", "--spikes spikes or --counts M1_spikes"),
    ),
    (
        "counts or times of one channel",
        only(spikes=[1, 0, 2, 1]),
        {},
        ("'spikes'", "could be either", "--counts spikes", "--spikes spikes"),
    ),
    (
        "trial without spikes",
        mat73(trial_data=[trial_data(), trial_data(M1_spikes=np.zeros((0, 4)))]),
        {},
        ("trial 2: 'M1_spikes'", "counts", "(0, 4)", "remove this trial"),
    ),
    (
        "spikes in ms, behavior in s",
        only(spike_times=[100.5, 90000.25], time=np.arange(60.0), velocity=np.ones((60, 2))),
        {},
        ("spikes and 'velocity'", "the same unit", "90000.2", "59", "--time-unit"),
    ),
]


@each_row(CONTENT)
def test_content_that_makes_no_sense_gets_one_line_that_says_what_to_do(make, options, parts, tmp_path):
    check_refusal(make, options, parts, tmp_path)
