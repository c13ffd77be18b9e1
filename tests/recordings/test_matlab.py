"""MATLAB files: the same variables written by scipy (version 5) and in MATLAB's own HDF5 layout (7.3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import scipy.io
import scipy.sparse
from writers import write_mat73

from neurofs.ground.errors import InputError
from neurofs.recordings.readers import load
from neurofs.recordings.readers.matlab import read_variables

COUNTS = np.arange(60, dtype=np.uint8).reshape(3, 20) % 4
VELOCITY = np.linspace(-1, 1, 40).reshape(2, 20)


def write_mat5(path: Path, **variables: Any) -> Path:
    scipy.io.savemat(path, {name: _as_scipy(value) for name, value in variables.items()}, do_compression=True)
    return path


def _as_scipy(value: Any) -> Any:
    """Lists as cells and lists of dicts as arrays of structs, which is what MATLAB would have saved."""
    if isinstance(value, dict):
        return {key: _as_scipy(item) for key, item in value.items()}
    if not isinstance(value, list):
        return value
    if value and isinstance(value[0], dict):
        structs = np.empty((1, len(value)), dtype=[(key, object) for key in value[0]])
        for i, entry in enumerate(value):
            structs[0, i] = tuple(_as_scipy(item) for item in entry.values())
        return structs
    cells = np.empty((1, len(value)), dtype=object)
    for i, item in enumerate(value):
        cells[0, i] = _as_scipy(item)
    return cells


@pytest.fixture(params=[write_mat5, write_mat73], ids=["v5", "v7.3"])
def write(request, tmp_path):
    return lambda **variables: request.param(tmp_path / "session.mat", **variables)


def make_trial(i: int, n_rows: int, **more: Any) -> dict[str, Any]:
    rng = np.random.default_rng(i)
    return {
        "monkey": "Chewie",
        "trial_id": np.array([[100.0 + i]]),
        "bin_size": np.array([[0.01]]),
        "target_direction": np.array([[i * 0.5]]),
        "idx_go_cue": np.array([[3.0]]),
        "idx_movement_on": np.array([[5.0 + i]]),
        "M1_spikes": rng.integers(0, 3, (n_rows, 4)).astype(np.uint8),
        "PMd_spikes": rng.integers(0, 3, (n_rows, 2)).astype(np.uint8),
        "M1_unit_guide": np.array([[1, 1], [1, 2], [7, 1], [9, 1]], dtype=np.uint8),
        "pos": rng.normal(size=(n_rows, 2)),
        "vel": rng.normal(size=(n_rows, 2)),
    } | more


TRIALS = [make_trial(0, 12), make_trial(1, 15), make_trial(2, 12)]


class TestValues:
    def test_orientation_text_cells_structs_and_empties(self, write):
        path = write(
            a=np.arange(6.0).reshape(2, 3),
            text="hello é",
            no_text="",
            cells=[np.array([[1.0, 2.0]]), "two", np.zeros((0, 0))],
            info={"who": {"name": "C"}, "n": np.array([[4]], dtype=np.int32)},
            rows=[{"x": np.array([[1.0]])}, {"x": np.array([[2.0]])}],
            yes=np.array([[True, False]]),
        )
        values, notes = read_variables(path)
        np.testing.assert_array_equal(values["a"], np.arange(6.0).reshape(2, 3))
        assert (values["text"], values["no_text"]) == ("hello é", "")
        np.testing.assert_array_equal(values["cells"][0], [[1.0, 2.0]])
        assert values["cells"][1] == "two"
        assert values["cells"][2].size == 0
        assert (values["info.who.name"], int(values["info.n"][0, 0])) == ("C", 4)
        assert [float(row["x"][0, 0]) for row in values["rows"]] == [1.0, 2.0]
        np.testing.assert_array_equal(values["yes"], [[1, 0]])
        assert notes == []

    def test_counts_channel_by_time(self, write):
        path = write(spikes=COUNTS, handVel=VELOCITY, timeBase=np.array([[0.05]]), startBins=np.array([[1, 11]]))
        recording = load(path)
        np.testing.assert_array_equal(recording.counts, COUNTS.T)
        np.testing.assert_array_equal(recording.behavior["handVel"].values, VELOCITY.T)
        np.testing.assert_allclose(recording.trials[["start", "stop"]], [[0, 0.5], [0.5, 1]])

    def test_cells_of_spike_times(self, write):
        path = write(
            spikes=[np.array([[0.1, 0.2, 0.5]]), np.zeros((0, 0)), np.array([[0.3], [0.4]])],
            t=np.arange(10)[None] * 0.1,
            pos=np.ones((10, 2)),
        )
        recording = load(path)
        assert [s.tolist() for s in recording.spikes] == [[0.1, 0.2, 0.5], [], [0.3, 0.4]]
        assert recording.behavior["pos"].values.shape == (10, 2)

    def test_units_as_structs(self, write):
        path = write(
            units=[
                {"chan": np.array([[3.0]]), "label": "a", "ts": np.array([[0.1], [0.2]])},
                {"chan": np.array([[5.0]]), "label": "b", "ts": np.array([[0.15]])},
                {"chan": np.array([[5.0]]), "label": "c", "ts": np.array([[0.1, 0.3, 0.4]])},
            ]
        )
        recording = load(path)
        assert [s.tolist() for s in recording.spikes] == [[0.1, 0.2], [0.15], [0.1, 0.3, 0.4]]
        assert recording.channels["chan"].tolist() == [3, 5, 5]
        assert recording.channels["label"].tolist() == ["a", "b", "c"]

    def test_sparse_counts(self, tmp_path):
        scipy.io.savemat(tmp_path / "a.mat", {"spikes": scipy.sparse.csc_matrix(COUNTS), "vel": VELOCITY, "dt": 0.1})
        np.testing.assert_array_equal(load(tmp_path / "a.mat").counts, COUNTS.T)

    def test_version_4(self, tmp_path):
        scipy.io.savemat(tmp_path / "a.mat", {"spikes": COUNTS, "vel": VELOCITY, "dt": 0.1}, format="4")
        np.testing.assert_array_equal(load(tmp_path / "a.mat").counts, COUNTS.T)


class TestVersion73:
    def test_sparse(self, tmp_path):
        path = write_mat73(tmp_path / "a.mat", vel=VELOCITY, dt=np.array([[0.1]]))
        sparse = scipy.sparse.csc_array(COUNTS.astype(float))
        with h5py.File(path, "r+") as file:
            group = file.create_group("spikes")
            group.attrs["MATLAB_class"] = np.bytes_("double")
            group.attrs["MATLAB_sparse"] = np.uint64(3)
            group["data"], group["ir"], group["jc"] = sparse.data, sparse.indices, sparse.indptr
        np.testing.assert_array_equal(load(path).counts, COUNTS.T)

    def test_function_handles_and_objects_are_left_out(self, tmp_path):
        path = write_mat73(tmp_path / "a.mat", spikes=COUNTS, vel=VELOCITY, dt=np.array([[0.1]]), when=np.eye(2))
        with h5py.File(path, "r+") as file:
            file["when"].attrs["MATLAB_class"] = np.bytes_("datetime")
            file["when"].attrs["MATLAB_object_decode"] = np.int32(3)
        recording = load(path)
        assert "left out 'when': neither numbers nor text" in recording.notes


class TestTrialStructs:
    def test_trials_follow_each_other_on_a_row_clock(self, write):
        recording = load(write(trial_data=TRIALS))
        assert recording.counts.shape == (39, 6)
        expected = np.vstack([np.hstack([t["M1_spikes"], t["PMd_spikes"]]) for t in TRIALS])
        np.testing.assert_array_equal(recording.counts, expected)
        np.testing.assert_allclose(recording.trials["start"], [0, 0.12, 0.27])
        np.testing.assert_allclose(recording.trials["stop"], [0.12, 0.27, 0.39])
        np.testing.assert_array_equal(recording.behavior["vel"].values, np.vstack([t["vel"] for t in TRIALS]))
        np.testing.assert_allclose(recording.behavior["vel"].time[[0, 12]], [0.005, 0.125])

    def test_events_count_from_one_and_scalars_are_conditions(self, write):
        trials = load(write(trial_data=TRIALS)).trials
        np.testing.assert_allclose(trials["go_cue"], [0.02, 0.14, 0.29])
        np.testing.assert_allclose(trials["movement_on"], [0.04, 0.17, 0.33])
        np.testing.assert_allclose(trials["target_direction"], [0, 0.5, 1.0])
        assert trials["trial_id"].tolist() == [100, 101, 102]
        assert trials["monkey"].tolist() == ["Chewie"] * 3
        assert "bin_size" not in trials

    def test_channels_have_areas_and_electrodes(self, write):
        channels = load(write(trial_data=TRIALS)).channels
        assert channels["name"].tolist() == ["M1 0", "M1 1", "M1 2", "M1 3", "PMd 0", "PMd 1"]
        assert channels["area"].tolist() == ["M1"] * 4 + ["PMd"] * 2
        assert channels["electrode"].tolist()[:4] == [1, 1, 7, 9]

    def test_one_area_of_several(self, write):
        recording = load(write(trial_data=TRIALS), counts="PMd_spikes", behavior=["pos"], exclude_channels=["1"])
        assert recording.counts.shape == (39, 1)
        assert list(recording.behavior) == ["pos"]

    def test_missing_and_outlying_events(self, write):
        trials = [make_trial(0, 12, idx_go_cue=np.array([[np.nan]])), make_trial(1, 15, idx_go_cue=np.array([[99.0]]))]
        recording = load(write(trial_data=trials))
        assert recording.trials["go_cue"].isna().all()
        assert "events: 1 lie outside their trial and are taken as missing (NaN)" in recording.notes

    def test_trials_of_one_length_are_turned_by_their_kinematics(self, write):
        trials = [make_trial(i, 12) for i in range(3)]
        turned = [t | {"M1_spikes": t["M1_spikes"].T, "PMd_spikes": t["PMd_spikes"].T} for t in trials]
        np.testing.assert_array_equal(load(write(trial_data=turned)).counts, load(write(trial_data=trials)).counts)

    def test_spike_times_from_the_start_of_each_trial(self, write):
        cells = [[np.array([[0.01, 0.05]]), np.array([[0.02]])], [np.array([[0.11]]), np.zeros((0, 0))]]
        trials = [
            {"spikes": cells[0], "vel": np.ones((12, 2)), "bin_size": np.array([[0.01]])},
            {"spikes": cells[1], "vel": np.ones((15, 2)), "bin_size": np.array([[0.01]])},
        ]
        recording = load(write(td=trials))
        np.testing.assert_allclose(recording.spikes[0], [0.01, 0.05, 0.23])
        np.testing.assert_allclose(recording.spikes[1], [0.02])
        assert recording.duration == pytest.approx(0.27)
        trials[0]["spikes"] = [np.array([[0.01, 0.2]]), np.array([[0.02]])]
        with pytest.raises(InputError, match=r"trial 1: 'spikes', channel 0: expected spike times from 0 to 0.12 s"):
            load(write(td=trials))

    def test_without_trials_it_is_one_stretch(self, write):
        recording = load(write(trial_data=TRIALS), trials=False)
        assert len(recording.trials) == 0
        assert recording.counts.shape == (39, 6)
