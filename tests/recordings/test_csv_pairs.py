from __future__ import annotations

import hashlib

import numpy as np
import pytest
from writers import write_text

from neurofs.recordings.readers import load

BEHAVIOR = "time,hand_x,hand_y,grip\n0.0,1,2,0.5\n0.1,1,3,\n0.2,2,4,0.7\n"


def test_spikes_behavior_and_trials(tmp_path):
    path = write_text(tmp_path / "day1_spikes.csv", "channel,time\nb,0.05\na,0.1\nb,0.15\n")
    write_text(tmp_path / "day1_behavior.csv", BEHAVIOR)
    write_text(tmp_path / "day1_trials.csv", "start,stop,side,n\n0.0,0.1,left,3\n0.1,0.2,right,4\n")
    recording = load(path)
    assert recording.name == "day1"
    assert recording.channels["name"].tolist() == ["a", "b"]
    assert [s.tolist() for s in recording.spikes] == [[0.1], [0.05, 0.15]]
    hand = recording.behavior["hand"]
    np.testing.assert_array_equal(hand.values, [[1, 2], [1, 3], [2, 4]])
    assert hand.columns == ("x", "y")
    np.testing.assert_array_equal(recording.behavior["grip"].values[:, 0], [0.5, np.nan, 0.7])
    assert recording.trials["side"].tolist() == ["left", "right"]
    assert recording.trials["n"].tolist() == [3, 4]


def test_the_hash_is_that_of_all_files(tmp_path):
    path = write_text(tmp_path / "day1_spikes.csv", "time,channel\n0.05,1\n0.1,2\n")
    other = write_text(tmp_path / "day1_behavior.csv", BEHAVIOR)
    recording = load(path)
    assert recording.source == "day1_spikes.csv"
    assert recording.source_hash == hashlib.sha256(path.read_bytes() + other.read_bytes()).hexdigest()


@pytest.mark.parametrize("name", ["day1_counts.csv", "day1.csv"])
def test_a_table_of_counts(tmp_path, name):
    path = write_text(tmp_path / name, "time,a,b\n0.0,1,0\n0.1,2,0\n0.2,0,3\n")
    write_text(tmp_path / "day1_behavior.csv", "vel_x;vel_y\n1;2\n1;3\n2;4\n")
    recording = load(path)
    assert recording.channels["name"].tolist() == ["a", "b"]
    np.testing.assert_array_equal(recording.counts, [[1, 0], [2, 0], [0, 3]])
    assert recording.bin_width == 0.1
    np.testing.assert_allclose(recording.behavior["vel"].time, [0.05, 0.15, 0.25])


def test_counts_without_time_need_a_bin_width(tmp_path):
    path = write_text(tmp_path / "a_counts.csv", "\ufeffu1,u2\n1,0\n2,0\n0,3\n")
    write_text(tmp_path / "a_behavior.csv", "vel\n1\n2\n3\n")
    recording = load(path, counts_bin_width=0.02)
    assert recording.duration == pytest.approx(0.06)
    assert recording.channels["name"].tolist() == ["u1", "u2"]
