from __future__ import annotations

import hashlib
import subprocess
import sys

import numpy as np
import pytest
import scipy.io
from writers import write_h5, write_mat73, write_npz, write_text

from neurofs.ground.config import LoadOptions
from neurofs.recordings import recording as recordings
from neurofs.recordings.readers import load
from neurofs.recordings.readers.formats import TABLE
from neurofs.recordings.recording import InvalidRecording
from neurofs.recordings.simulate import simulate_session
from neurofs.recordings.writers import write

COUNTS = np.arange(60, dtype=np.uint8).reshape(20, 3) % 4
VELOCITY = np.linspace(-1, 1, 40).reshape(20, 2)


def test_the_source_is_the_name_and_the_hash_of_the_content(tmp_path):
    path = write_npz(tmp_path / "day1.npz", counts=COUNTS, velocity=VELOCITY, dt=0.05)
    recording = load(path)
    assert recording.name == "day1"
    assert recording.source == "day1.npz"
    assert recording.source_hash == hashlib.sha256(path.read_bytes()).hexdigest()


def write_every_format(folder):
    variables = {"counts": COUNTS, "velocity": VELOCITY, "bin_width": 0.05}
    scipy.io.savemat(folder / "a.mat", variables)
    write_text(folder / "a_behavior.csv", "vel\n1\n2\n3\n")
    return [
        folder / "a.mat",
        write_mat73(folder / "b.mat", **variables),
        write_npz(folder / "a.npz", **variables),
        write_h5(folder / "a.h5", **variables),
        write_text(folder / "a_counts.csv", "time,u\n0.0,1\n0.1,2\n0.2,0\n"),
        write(simulate_session(2, n_electrodes=1), folder / "a.nwb"),
    ]


def test_a_recording_is_checked_once_and_knows_its_source_then(tmp_path, monkeypatch):
    checked, find_defects = [], recordings.find_defects
    monkeypatch.setattr(
        recordings, "find_defects", lambda r: checked.append((r.source, r.source_hash)) or find_defects(r)
    )
    for path in write_every_format(tmp_path):
        checked.clear()
        recording = load(path)
        content = path.read_bytes()
        if path.suffix == ".csv":
            content += (tmp_path / "a_behavior.csv").read_bytes()
        assert checked == [(path.name, hashlib.sha256(content).hexdigest())]
        assert (recording.source, recording.source_hash) == checked[0]


def test_a_file_is_hashed_once(tmp_path, monkeypatch):
    paths, hashed, digest = write_every_format(tmp_path), [], hashlib.sha256
    monkeypatch.setattr(hashlib, "file_digest", lambda file, name: hashed.append(file.name) or digest(b""))
    monkeypatch.setattr(hashlib, "sha256", lambda content: hashed.append(content) or digest(content))
    for path in paths:
        hashed.clear()
        load(path)
        assert len(hashed) == 1, path


def test_every_format_with_the_same_variables_gives_the_same_recording(tmp_path):
    variables = {"counts": COUNTS, "velocity": VELOCITY, "bin_width": 0.05}
    scipy.io.savemat(tmp_path / "a.mat", variables)
    paths = [
        write_npz(tmp_path / "a.npz", **variables),
        write_h5(tmp_path / "a.h5", **variables),
        write_h5(tmp_path / "a.hdf5", **variables),
        tmp_path / "a.mat",
    ]
    for recording in map(load, paths):
        np.testing.assert_array_equal(recording.counts, COUNTS)
        np.testing.assert_array_equal(recording.behavior["velocity"].values, VELOCITY)
        np.testing.assert_allclose(recording.behavior["velocity"].time[:2], [0.025, 0.075])
        assert recording.bin_width == 0.05
        assert "counts: 'counts' read as time-by-channel because 'velocity' has length 20" in recording.notes


def test_a_session_file_says_where_things_are(tmp_path):
    write_npz(tmp_path / "data.npz", a=COUNTS.T, b=VELOCITY, trial=np.arange(20) // 10)
    path = write_text(
        tmp_path / "day1.toml",
        'file = "data.npz"\nname = "Day 1"\ncounts = "a"\norientation = "channel-by-time"\n'
        'counts_bin_width = 0.1\nbehavior = "b"\ntrials = false\ntarget = "b"\n',
    )
    recording = load(path)
    assert (recording.name, recording.bin_width, list(recording.behavior)) == ("Day 1", 0.1, ["b"])
    assert len(recording.trials) == 0
    assert recording.source == "data.npz"


def test_keywords_win_over_options_and_these_over_the_session_file(tmp_path):
    write_npz(tmp_path / "data.npz", counts=COUNTS, velocity=VELOCITY)
    path = write_text(tmp_path / "day1.toml", 'file = "data.npz"\ncounts_bin_width = 0.1\nname = "toml"\n')
    options = LoadOptions(counts_bin_width=0.2, name="options")
    assert load(path).bin_width == 0.1
    assert load(path, options).bin_width == 0.2
    assert load(path, options, counts_bin_width=0.4).bin_width == 0.4
    assert load(path, options, counts_bin_width=0.4).name == "options"


def test_an_invalid_recording_keeps_its_draft_and_all_problems(tmp_path):
    path = write_npz(tmp_path / "a.npz", spike_times=[0.3, 0.2, 0.6, 0.5], spike_times_index=[2, 4])
    with pytest.raises(InvalidRecording) as caught:
        load(path)
    assert [str(p).startswith("a.npz: channel") for p in caught.value.defects] == [True, True]
    assert caught.value.draft.n_channels == 2
    np.testing.assert_array_equal(load(path, sort_spikes=True).spikes[0], [0.2, 0.3])


def test_importing_the_loaders_imports_no_format():
    code = (
        "import sys, neurofs.recordings.readers; "
        "print([m for m in ('h5py', 'scipy.io', 'neo', 'neurofs.recordings.readers.layout') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_every_format_has_a_module_that_reads():
    import importlib

    for module in {known.module for known in TABLE}:
        assert callable(importlib.import_module(f"neurofs.recordings.readers.{module}").read)


@pytest.mark.shared_data
def test_center_out_reaching_in_matlab(shared_data):
    path = shared_data / "stevenson2011_m1.mat"
    recording = load(path)
    raw = scipy.io.loadmat(path)
    assert recording.counts.shape == (15536, 196)
    assert recording.n_spikes == int(raw["spikes"].sum(dtype=np.int64)) == 2353564
    np.testing.assert_array_equal(recording.counts[:, 17], raw["spikes"][17])
    assert recording.bin_width == 0.05
    assert recording.start == pytest.approx(12.591, abs=1e-12)
    assert recording.duration == pytest.approx(776.8)
    assert (recording.rates < 0.1).sum() == 37
    assert (recording.spike_counts == 0).sum() == 1


@pytest.mark.shared_data
def test_center_out_reaching_in_matlab_behavior_and_trials(shared_data):
    path = shared_data / "stevenson2011_m1.mat"
    recording = load(path)
    raw = scipy.io.loadmat(path)
    velocity = recording.behavior["handVel"]
    np.testing.assert_array_equal(velocity.values, raw["handVel"].T)
    np.testing.assert_allclose(velocity.time[[0, 1, -1]], [12.616, 12.666, 789.366], atol=1e-9)
    assert "behavior: 'handPos' column z is 0 throughout" in recording.notes
    trials = recording.trials
    assert len(trials) == 180
    started = np.flatnonzero(raw["startBinned"][0])  # the file says the same a second time, counted from 0
    np.testing.assert_allclose(trials["start"], 12.591 + started * 0.05, atol=1e-9)
    assert trials["stop"].iloc[-1] == pytest.approx(789.391)
    np.testing.assert_array_equal(trials["stop"][:-1], trials["start"][1:])
    np.testing.assert_array_equal(trials["targets_x"], raw["targets"][0])
    assert "trials: bins of 'startBins' are numbered from 1" in recording.notes


@pytest.mark.shared_data
def test_movement_windows_in_a_numpy_archive(shared_data):
    path = shared_data / "chewie_20131003_m1.npz"
    recording = load(path)
    with np.load(path, allow_pickle=False) as raw:
        counts, velocity, labels, direction = (raw[name] for name in ("counts", "hand_velocity", "trial", "direction"))
    assert recording.counts.shape == (1640, 174)
    assert recording.n_spikes == int(counts.sum(dtype=np.int64)) == 81154
    np.testing.assert_array_equal(recording.counts, counts)
    np.testing.assert_array_equal(recording.behavior["hand_velocity"].values, velocity)
    np.testing.assert_allclose(recording.behavior["hand_velocity"].time[:2], [0.05, 0.15])
    trials = recording.trials
    assert len(trials) == 159
    lengths = np.rint((trials["stop"] - trials["start"]) / 0.1).astype(int)
    np.testing.assert_array_equal(lengths, np.bincount(labels))
    assert (lengths.min(), lengths.max()) == (9, 14)
    np.testing.assert_array_equal(trials["direction"], [direction[labels == i][0] for i in range(159)])
    assert sorted(recording.behavior) == ["hand_position", "hand_velocity"]
