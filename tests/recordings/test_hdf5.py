from __future__ import annotations

import h5py
import numpy as np
from writers import write_h5

from neurofs.recordings.demo import demo_path
from neurofs.recordings.readers import load
from neurofs.recordings.readers.hdf5 import read_variables
from neurofs.recordings.simulate import simulate_session
from neurofs.recordings.writers import write

COUNTS = np.arange(60, dtype=np.uint8).reshape(20, 3) % 4
VELOCITY = np.linspace(-1, 1, 40).reshape(20, 2)


def test_groups_attributes_and_text(tmp_path):
    path = write_h5(tmp_path / "a.h5", binned__counts=COUNTS, binned__velocity=VELOCITY, who="C")
    with h5py.File(path, "r+") as file:
        file.attrs["bin_width"] = 0.05
        file["binned/velocity"].attrs["unit"] = "cm/s"
        file["binned/velocity"].attrs["columns"] = ["a", "b"]
        file["again"] = h5py.SoftLink("/binned/counts")
        file["hard"] = file["binned/counts"]
        file["binned/self"] = file["binned"]
    recording = load(path)
    np.testing.assert_array_equal(recording.counts, COUNTS)
    series = recording.behavior["binned.velocity"]
    assert (series.unit, series.columns) == ("cm/s", ("a", "b"))


def test_lists_of_different_lengths(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        spikes = file.create_dataset("spikes", (3,), dtype=h5py.vlen_dtype(np.float64))
        spikes[0], spikes[1], spikes[2] = [0.1, 0.2], [], [0.15]
        file["nothing"] = h5py.Empty("f8")
        file["complex"] = np.array([1j])
    recording = load(path)
    assert [s.tolist() for s in recording.spikes] == [[0.1, 0.2], [], [0.15]]
    assert "left out 'complex': neither numbers nor text" in recording.notes


def test_fields_of_a_table(tmp_path):
    path = tmp_path / "a.h5"
    table = np.array([(0.1, 3), (0.2, 5), (0.3, 3)], dtype=[("spike_times", "f8"), ("spike_channels", "i4")])
    with h5py.File(path, "w") as file:
        file["events"] = table
    values, _ = read_variables(path)
    np.testing.assert_array_equal(values["events.spike_times"], [0.1, 0.2, 0.3])
    assert load(path).channels["name"].tolist() == ["3", "5"]


def test_nwb_under_another_suffix(tmp_path):
    path = tmp_path / "demo.h5"
    path.write_bytes(demo_path().read_bytes())
    assert load(path).n_spikes == load(demo_path()).n_spikes


def test_what_the_project_writes_it_reads(tmp_path):
    recording = simulate_session(n_trials=5, n_electrodes=4, random_state=0)
    for suffix in (".npz", ".h5"):
        again = load(write(recording, tmp_path / f"session{suffix}"))
        assert again.channels["name"].tolist() == recording.channels["name"].tolist()
        for a, b in zip(again.spikes, recording.spikes, strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(again.observed, recording.observed)
        np.testing.assert_array_equal(again.trials["start"], recording.trials["start"])
        assert set(again.trials) == set(recording.trials)
        for name, series in recording.behavior.items():
            np.testing.assert_array_equal(again.behavior[name].values, series.values)
