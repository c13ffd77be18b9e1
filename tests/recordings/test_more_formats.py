"""Arrays in files of their own, Parquet, tables of MATLAB, torch_brain, and formats that are known and not read."""

import json

import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.io

import neurofs
from neurofs.features.tensor import build_tensor
from neurofs.ground.errors import InputError
from neurofs.recordings.readers.formats import TABLE
from neurofs.recordings.simulate import simulate_session

pytestmark = pytest.mark.filterwarnings("ignore:The 'future.infer_string' option")  # mat-io sets it when imported
COUNTS = np.random.default_rng(0).poisson(2.0, (200, 5))
TIME = np.arange(200) * 0.1
VELOCITY = np.column_stack([np.sin(TIME), np.cos(TIME)])


@pytest.fixture(scope="module")
def session():
    return simulate_session(5, n_electrodes=2, random_state=4)


def same_tensor(one, two, target="hand_velocity"):
    a, b = (build_tensor(r, target, n_lags=2) for r in (one, two))
    return all(np.array_equal(a[key], b[key], equal_nan=key == "target") for key in ("counts", "target", "valid"))


# .npy


@pytest.mark.parametrize("stem", ["day1_", ""])
def test_arrays_beside_each_other(tmp_path, stem):
    for name, value in {"counts": COUNTS, "time": TIME, "hand_velocity": VELOCITY}.items():
        np.save(tmp_path / f"{stem}{name}.npy", value)
    np.save(tmp_path / f"{stem}note.npy", np.array(["text"]))
    recording = neurofs.load(tmp_path / f"{stem}counts.npy")
    assert np.array_equal(recording.counts, COUNTS)
    assert recording.bin_width == pytest.approx(0.1)
    assert recording.behavior["hand_velocity"].values.shape == (200, 2)
    assert recording.name == (stem.rstrip("_") or tmp_path.name)
    assert any(f"left out '{stem}note.npy'" in note for note in recording.notes)


def test_arrays_of_other_recordings_are_not_taken(tmp_path):
    for stem in ("a_", "b_"):
        np.save(tmp_path / f"{stem}counts.npy", COUNTS)
        np.save(tmp_path / f"{stem}time.npy", TIME)
    np.save(tmp_path / "b_hand_velocity.npy", VELOCITY)
    assert not neurofs.load(tmp_path / "a_counts.npy").behavior
    before = neurofs.load(tmp_path / "b_counts.npy").source_hash
    np.save(tmp_path / "b_hand_velocity.npy", VELOCITY + 1)
    assert neurofs.load(tmp_path / "b_counts.npy").source_hash != before


def test_spike_times_and_signals_in_arrays(tmp_path):
    np.save(tmp_path / "a_spike_times.npy", np.array([0.1, 0.5, 0.7]))
    np.save(tmp_path / "a_spike_channels.npy", np.array([0, 1, 0]))
    assert [s.tolist() for s in neurofs.load(tmp_path / "a_spike_times.npy").spikes] == [[0.1, 0.7], [0.5]]
    np.save(tmp_path / "b_signal.npy", COUNTS - 0.5)
    np.save(tmp_path / "b_time.npy", TIME)
    assert neurofs.load(tmp_path / "b_signal.npy", signal_unit="uV").unit == "uV"


def test_an_array_of_any_name_is_refused(tmp_path):
    np.save(tmp_path / "x.npy", COUNTS)
    with pytest.raises(InputError, match=r"expected a file that ends in spike_times\.npy, .* found 'x\.npy'"):
        neurofs.load(tmp_path / "x.npy")


def test_behavior_from_one_array(tmp_path):
    np.savez(tmp_path / "a.npz", counts=COUNTS, time=TIME)
    np.save(tmp_path / "speed.npy", VELOCITY[:, 0])
    options = {"orientation": "time-by-channel", "behavior_file": str(tmp_path / "speed.npy")}
    recording = neurofs.load(tmp_path / "a.npz", **options)
    assert list(recording.behavior) == ["speed"]


# Parquet


def write_tables(session, folder, write):
    table = pd.DataFrame(
        [(t, name) for name, times in zip(session.channels["name"], session.spikes, strict=True) for t in times],
        columns=["time", "channel"],
    ).sort_values("time", kind="stable")
    write(table, folder / "day_spikes")
    velocity = session.behavior["hand_velocity"]
    columns = dict(zip(["hand_velocity_x", "hand_velocity_y"], velocity.values.T, strict=True))
    write(pd.DataFrame({"time": velocity.time, **columns}), folder / "day_behavior")
    write(session.trials, folder / "day_trials")


def test_parquet_is_read_as_csv_is(session, tmp_path):
    pytest.importorskip("pyarrow")
    write_tables(session, tmp_path, lambda t, path: t.to_parquet(f"{path}.parquet", index=False))
    write_tables(session, tmp_path, lambda t, path: t.to_csv(f"{path}.csv", index=False))
    one, two = (neurofs.load(tmp_path / f"day_spikes.{end}") for end in ("parquet", "csv"))
    assert one.channels["name"].tolist() == two.channels["name"].tolist()
    assert same_tensor(one, two)
    assert one.trials.equals(two.trials)


def test_parquet_that_is_none_gets_one_line(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "day_spikes.parquet").write_bytes(b"PAR1 and then nothing of it PAR1")
    (tmp_path / "day_behavior.parquet").write_bytes(b"x")
    with pytest.raises(InputError, match=r"day_spikes\.parquet: .*expected a Parquet file"):
        neurofs.load(tmp_path / "day_spikes.parquet")
    stamps = pd.DataFrame({"time": pd.to_datetime(TIME, unit="s"), "channel": "a"})
    stamps.to_parquet(tmp_path / "day_spikes.parquet")
    pd.DataFrame({"time": TIME, "v": TIME}).to_parquet(tmp_path / "day_behavior.parquet")
    with pytest.raises(InputError, match=r"column 'time': expected numbers; found timestamp"):
        neurofs.load(tmp_path / "day_spikes.parquet")


# Tables of MATLAB


@pytest.mark.filterwarnings("ignore:duration_to_mat")
@pytest.mark.parametrize("version", ["v7", "v7.3"])
def test_tables_and_timetables_of_matlab(tmp_path, version):
    matio = pytest.importorskip("matio")
    kin = pd.DataFrame({"vx": VELOCITY[:, 0], "vy": VELOCITY[:, 1]}, index=pd.to_timedelta(TIME, unit="s"))
    path = tmp_path / "a.mat"
    matio.save_to_mat(str(path), {"counts": COUNTS.astype(float), "kin": kin}, version=version)
    recording = neurofs.load(path, counts_bin_width=0.1, orientation="time-by-channel", behavior="kin.vx,kin.vy")
    assert np.array_equal(recording.counts, COUNTS)
    for name, column in zip(("kin.vx", "kin.vy"), VELOCITY.T, strict=True):
        assert np.allclose(recording.behavior[name].values[:, 0], column)
        assert np.allclose(recording.behavior[name].time, TIME)
    assert any("table 'kin': read with mat-io, 200 rows" in note for note in recording.notes)


def test_without_mat_io_the_notes_say_what_to_install(tmp_path, monkeypatch):
    matio = pytest.importorskip("matio")
    path = tmp_path / "a.mat"
    values = {"counts": COUNTS.astype(float), "kin": pd.DataFrame({"vx": VELOCITY[:, 0]})}
    matio.save_to_mat(str(path), values, version="v7")
    monkeypatch.setitem(__import__("sys").modules, "matio", None)
    recording = neurofs.load(path, counts_bin_width=0.1, orientation="time-by-channel")
    assert any("pip install 'neurofs[matlab]'" in note for note in recording.notes)


# torch_brain


def test_files_of_torch_brain(session, tmp_path):
    data = pytest.importorskip("temporaldata")
    order = np.argsort(np.concatenate(session.spikes), kind="stable")
    index = np.repeat(np.arange(session.n_channels), [len(s) for s in session.spikes])[order]
    velocity = session.behavior["hand_velocity"]
    start, stop = session.span
    trials = {key: session.trials[key].to_numpy() for key in ("move_onset", "direction")}
    whole = data.Data(
        spikes=data.IrregularTimeSeries(
            timestamps=np.concatenate(session.spikes)[order], unit_index=index, domain=data.Interval(start, stop)
        ),
        units=data.ArrayDict(
            id=session.channels["name"].to_numpy(dtype=str), area=np.full(session.n_channels, "M1", dtype=str)
        ),
        hand=data.IrregularTimeSeries(timestamps=velocity.time, velocity=velocity.values, domain="auto"),
        eye=data.RegularTimeSeries(sampling_rate=10.0, xy=np.ones((50, 2)), domain_start=0.05),
        trials=data.Interval(start=session.trials["start"].to_numpy(), end=session.trials["stop"].to_numpy(), **trials),
        domain=data.Interval(start, stop),
        subject_id="m",
    )
    with h5py.File(tmp_path / "a.h5", "w") as file:
        whole.to_hdf5(file)
    recording = neurofs.load(tmp_path / "a.h5")
    assert list(recording.behavior) == ["eye_xy", "hand_velocity"]
    assert recording.behavior["eye_xy"].time[:2].tolist() == pytest.approx([0.05, 0.15])
    assert list(recording.channels) == ["name", "area"]
    assert list(recording.trials) == ["start", "stop", "direction", "move_onset"]
    assert recording.observed.tolist() == session.observed.tolist()
    assert same_tensor(recording, session)
    with h5py.File(tmp_path / "a.h5", "a") as file:
        file["spikes/unit_index"][0] = 1000
    with pytest.raises(InputError, match=r"spikes/unit_index: expected rows of 8 units; found .* to 1000"):
        neurofs.load(tmp_path / "a.h5")


def test_empty_attributes_do_not_keep_a_file_from_being_read(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["counts"], file["time"], file["hand_velocity"] = COUNTS, TIME, VELOCITY
        file.attrs["nothing"] = np.array([], dtype="S")
        file["counts"].attrs["none"] = np.array([], dtype=float)
    assert np.array_equal(neurofs.load(tmp_path / "a.h5").counts, COUNTS)


# Known, and not read


@pytest.mark.parametrize("name", ["a.pl2", "a.nex5", "a.spikes"])
def test_what_is_not_read_gets_one_right_sentence(tmp_path, name):
    (tmp_path / name).write_bytes(b"anything")
    with pytest.raises(InputError) as caught:
        neurofs.load(tmp_path / name)
    assert "Get a sound copy" not in str(caught.value)
    assert any(word in str(caught.value) for word in ("Export it as .plx", "Save it as .nex", "Kilosort or phy"))


# Open Ephys


def write_open_ephys(folder, new=True, **changes):
    """Two electrodes: of the first, clusters 0 and 2, of the second, not sorted, cluster 0."""
    names = ("sample_numbers", "electrode_indices", "clusters")
    names = names if new else ("spike_times", "spike_electrode_indices", "spike_clusters")
    groups = []
    for i, clusters in enumerate(([0, 2, 2, 0], [0, 0])):
        place = folder / "spikes" / f"Spike_Detector-101.{i}"
        place.mkdir(parents=True)
        samples = 3000 * np.arange(1, len(clusters) + 1)
        for name, values in zip(names, (samples, np.zeros(len(clusters)), clusters), strict=True):
            np.save(place / f"{name}.npy", np.asarray(values, np.int64 if values is samples else np.uint16))
        if new:
            np.save(place / "timestamps.npy", 5 + samples / 30000)
        groups.append({("folder" if new else "folder_name"): f"{place.name}/", "sample_rate": 30000.0})
    (folder / "structure.oebin").write_text(json.dumps({"GUI version": "0.6.4", "spikes": groups} | changes))
    return folder


@pytest.mark.parametrize(("new", "start"), [(True, 5.0), (False, 0.0)])
def test_spikes_of_open_ephys(tmp_path, new, start):
    recording = neurofs.load(write_open_ephys(tmp_path, new), unsorted=True)
    first, second = "Spike_Detector-101.0", "Spike_Detector-101.1"
    assert recording.channels["name"].tolist() == [f"{first}#0", f"{first}#2", f"{second}#0"]
    expected = [[0.1, 0.4], [0.2, 0.3], [0.1, 0.2]]
    for times, own in zip(recording.spikes, expected, strict=True):
        np.testing.assert_allclose(times, np.array(own) + start)
    assert neurofs.load(tmp_path / "structure.oebin").channels["quality"].tolist() == ["sorted"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"spikes": []}, "expected spikes; found a recording of Open Ephys with voltage alone"),
        ({"spikes": [{"folder": "../other"}]}, "the name of a folder within it; found ../other"),
        ({"spikes": [{"folder": "C:/other"}]}, "the name of a folder within it"),
        ({"spikes": [{"folder": "none/"}]}, "the time of each spike; found no such file"),
        ({"spikes": 3}, "a list of spikes"),
    ],
)
def test_folders_of_open_ephys_that_cannot_be_read(tmp_path, changes, said):
    with pytest.raises(InputError, match=said):
        neurofs.load(write_open_ephys(tmp_path, **changes))


def test_every_format_says_what_is_read_and_on_what_it_was_tried():
    for known in TABLE:
        assert known.reads
        assert known.tested
    assert {".npy", ".parquet", ".pl2", ".nex5"} <= {name for known in TABLE for name in known.files}


def test_a_mat_file_without_tables_is_as_it_was(tmp_path):
    scipy.io.savemat(tmp_path / "a.mat", {"counts": COUNTS, "time": TIME, "hand_velocity": VELOCITY})
    assert np.array_equal(neurofs.load(tmp_path / "a.mat").counts, COUNTS)
