"""NWB: our reader against pynwb, with files written by pynwb, and our files read by pynwb."""

import datetime

import h5py
import numpy as np
import pytest

pynwb = pytest.importorskip("pynwb", reason="pynwb writes the files that these tests read: pip install neurofs[nwb]")

from pynwb.behavior import CompassDirection, Position, SpatialSeries  # noqa: E402
from pynwb.epoch import TimeIntervals  # noqa: E402

from neurofs.features.tensor import build_tensor  # noqa: E402
from neurofs.ground.errors import InputError, UsageError  # noqa: E402
from neurofs.recordings.readers import load  # noqa: E402
from neurofs.recordings.simulate import simulate_session  # noqa: E402
from neurofs.recordings.writers import write  # noqa: E402

START = datetime.datetime(2024, 5, 1, tzinfo=datetime.UTC)


def new_file():
    return pynwb.NWBFile(session_description="a test", identifier="test", session_start_time=START)


def add_electrodes(file, n=4):
    device = file.create_device(name="array")
    group = file.create_electrode_group(name="shank", description="s", location="M1", device=device)
    for i in range(n):
        file.add_electrode(x=float(i), y=2.0 * i, z=0.0, imp=1.0, location=f"M1-{i}", filtering="no", group=group)


def add_units(file, trains, **columns):
    file.add_unit_column("quality", "how well isolated")
    file.add_unit_column("score", "a number")
    for i, train in enumerate(trains):
        intervals = columns.get("obs_intervals", [[[0.0, 10.0]]] * len(trains))[i]
        electrodes = [i % 4] if file.electrodes is not None else None
        file.add_unit(
            spike_times=train,
            obs_intervals=intervals,
            quality="good" if i % 2 else "mua",
            score=0.5 * i,
            id=10 + i,
            **({"electrodes": electrodes} if electrodes else {}),
        )


def save(file, path):
    with pynwb.NWBHDF5IO(str(path), "w") as io:
        io.write(file)
    return path


@pytest.fixture
def rich_file(tmp_path):
    """A file with everything that the reader knows, and an interval table it does not."""
    rng = np.random.default_rng(3)
    file = new_file()
    add_electrodes(file)
    add_units(file, [np.sort(rng.uniform(0, 10, n)) for n in (50, 0, 7)])
    behavior = file.create_processing_module("behavior", "b")
    time = np.arange(0, 10, 0.01)
    raw = (1000 * np.column_stack([np.sin(time), np.cos(time)])).astype(np.int16)
    hand = SpatialSeries(
        name="hand", data=raw, timestamps=time, reference_frame="table", unit="m", conversion=0.001, offset=0.5
    )
    behavior.add(Position(spatial_series=hand))
    angle = SpatialSeries(
        name="head", data=time % 6.28, rate=100.0, starting_time=0.25, reference_frame="n", unit="rad"
    )
    behavior.add(CompassDirection(spatial_series=angle))
    file.add_acquisition(pynwb.TimeSeries(name="lick", data=np.arange(20.0), rate=2.0, unit="V"))
    file.add_acquisition(
        pynwb.ecephys.ElectricalSeries(
            name="raw",
            data=np.zeros((50, 4)),
            rate=100.0,
            electrodes=file.create_electrode_table_region([0, 1, 2, 3], "e"),
        )
    )
    file.add_trial_column("target", "where")
    file.add_trial_column("side", "text")
    for i in range(3):
        file.add_trial(start_time=3.0 * i, stop_time=3.0 * i + 2.5, target=i * 45.0, side="left" if i else "right")
    table = TimeIntervals(name="sleep", description="an extra table")
    table.add_row(start_time=0.0, stop_time=1.0)
    file.add_time_intervals(table)
    return save(file, tmp_path / "rich.nwb")


def test_everything_pynwb_wrote_is_read(rich_file):
    r = load(rich_file)
    with pynwb.NWBHDF5IO(str(rich_file), "r") as io:
        theirs = io.read()
        for ours, i in zip(r.spikes, range(3), strict=True):
            np.testing.assert_array_equal(ours, theirs.units["spike_times"][i])
        hand = theirs.processing["behavior"]["Position"]["hand"]
        np.testing.assert_allclose(r.behavior["hand"].values, hand.data[:] * hand.conversion + hand.offset)
        np.testing.assert_array_equal(r.behavior["hand"].time, hand.timestamps[:])
        head = theirs.processing["behavior"]["CompassDirection"]["head"]
        np.testing.assert_allclose(r.behavior["head"].time, head.get_timestamps())
        np.testing.assert_array_equal(r.trials["start"], theirs.trials["start_time"][:])
    assert r.channels["name"].tolist() == ["10", "11", "12"]
    assert r.channels["quality"].tolist() == ["mua", "good", "mua"]
    assert r.channels["score"].tolist() == [0.0, 0.5, 1.0]
    assert r.channels["electrode"].tolist() == [0, 1, 2]
    assert r.channels["y"].tolist() == [0.0, 2.0, 4.0]
    assert r.channels["location"].tolist() == ["M1-0", "M1-1", "M1-2"]
    assert list(r.behavior) == ["head", "hand", "lick"] or set(r.behavior) == {"head", "hand", "lick"}
    assert r.behavior["hand"].unit == "m"
    assert r.behavior["head"].circular
    assert not r.behavior["hand"].circular
    assert r.trials["side"].tolist() == ["right", "left", "left"]
    assert r.observed.tolist() == [[0.0, 10.0]]
    assert len(r.source_hash) == 64


def test_a_tensor_of_a_pynwb_file(rich_file):
    tensor = build_tensor(load(rich_file), "hand.velocity", n_lags=3)
    assert tensor.sizes == {"time": 100, "channel": 3, "lag": 3, "output": 2}
    assert tensor["counts"].values.sum() == 57
    assert int(tensor["valid"].sum()) == 3 * (25 - 2)


def test_units_observed_at_different_times_share_what_all_have(tmp_path):
    file = new_file()
    intervals = [[[0.0, 4.0], [5.0, 10.0]], [[1.0, 9.0]], [[0.0, 10.0]]]
    add_units(file, [[1.5], [2.5], [3.5]], obs_intervals=intervals)
    r = load(save(file, tmp_path / "obs.nwb"))
    assert r.observed.tolist() == [[1.0, 4.0], [5.0, 9.0]]
    assert r.channels["observed_seconds"].tolist() == [9.0, 8.0, 10.0]
    assert any("in which all units were" in note for note in r.notes)


def test_a_unit_observed_too_briefly_is_named_and_can_be_left_out(tmp_path):
    file = new_file()
    add_units(file, [[1.5], [0.5], [3.5]], obs_intervals=[[[0.0, 10.0]], [[0.0, 1.0]], [[0.0, 10.0]]])
    path = save(file, tmp_path / "obs.nwb")
    with pytest.raises(InputError, match=r"obs\.nwb: /units/obs_intervals: .*unit 11 .*--exclude-channels"):
        load(path)
    r = load(path, exclude_channels=["11"])
    assert r.channels["name"].tolist() == ["10", "12"]
    assert [s.tolist() for s in r.spikes] == [[1.5], [3.5]]
    assert r.observed.tolist() == [[0.0, 10.0]]


def test_options_choose_series_units_of_time_and_trials(rich_file):
    r = load(rich_file, behavior=["hand"], circular=["hand"], trials=False, time_unit="ms", name="mine")
    assert list(r.behavior) == ["hand"]
    assert r.behavior["hand"].circular
    assert len(r.trials) == 0
    assert r.name == "mine"
    assert r.spikes[0].max() < 0.01
    with pytest.raises(InputError, match="--behavior paw: expected a series of the file"):
        load(rich_file, behavior=["paw"])
    with pytest.raises(UsageError, match="orientation has no meaning for NWB files"):
        load(rich_file, orientation="time-by-channel")
    with pytest.raises(InputError, match="Say it with --sampling-rate"):
        load(rich_file, time_unit="samples")
    with pytest.raises(InputError, match="--exclude-channels 99"):
        load(rich_file, exclude_channels=["99"])


def test_unsorted_spikes_are_sorted_only_when_asked(tmp_path):
    file = new_file()
    add_units(file, [[2.0, 1.0]])
    path = save(file, tmp_path / "unsorted.nwb")
    with pytest.raises(InputError, match=r"unsorted\.nwb: channel '10': .*--sort-spikes"):
        load(path)
    r = load(path, sort_spikes=True)
    assert r.spikes[0].tolist() == [1.0, 2.0]
    assert any("sorted, as asked" in note for note in r.notes)


def test_degrees_become_radians_and_equal_names_get_their_container(tmp_path):
    file = new_file()
    add_units(file, [[1.0, 2.0]])
    behavior = file.create_processing_module("behavior", "b")
    degrees = SpatialSeries(name="x", data=np.array([0.0, 90.0]), rate=1.0, reference_frame="n", unit="degrees")
    behavior.add(CompassDirection(spatial_series=degrees))
    file.add_acquisition(pynwb.TimeSeries(name="x", data=np.arange(3.0), rate=1.0, unit="V"))
    r = load(save(file, tmp_path / "names.nwb"))
    assert set(r.behavior) == {"CompassDirection/x", "acquisition/x"}
    np.testing.assert_allclose(r.behavior["CompassDirection/x"].values[:, 0], [0, np.pi / 2])


def test_an_unknown_extension_does_not_matter(rich_file):
    with h5py.File(rich_file, "a") as file:
        odd = file["processing"].create_group("strange")
        odd.attrs.update({"neurodata_type": "LabMetaThing", "namespace": "ndx-nobody"})
        odd["blob"] = np.void(b"\x00\x01")
        file["units"].create_dataset("ndx_compound", data=np.zeros(3, dtype=[("a", "f4"), ("b", "i4")]))
    assert load(rich_file).n_channels == 3


@pytest.mark.parametrize("suffix", [".nwb", ".npz", ".h5"])
def test_what_we_write_we_read(tmp_path, suffix):
    session = simulate_session(6, random_state=4)
    r = load(write(session, tmp_path / f"day{suffix}"))
    assert r.channels["name"].tolist() == session.channels["name"].tolist()
    for ours, back in zip(session.spikes, r.spikes, strict=True):
        np.testing.assert_array_equal(ours, back)
    for name, series in session.behavior.items():
        np.testing.assert_allclose(r.behavior[name].values, series.values, atol=1e-5)
        np.testing.assert_allclose(r.behavior[name].time, series.time, atol=1e-9)
        assert (r.behavior[name].columns, r.behavior[name].unit) == (series.columns, series.unit)
    for name in session.trials:
        np.testing.assert_array_equal(r.trials[name], session.trials[name])
    np.testing.assert_array_equal(r.observed, session.observed)


def test_pynwb_reads_and_validates_what_we_write(tmp_path):
    session = simulate_session(6, random_state=4)
    path = write(session, tmp_path / "day.nwb")
    with pynwb.NWBHDF5IO(str(path), "r") as io:
        file = io.read()
        assert len(file.units) == 64
        np.testing.assert_array_equal(file.units["spike_times"][5], session.spikes[5])
        assert file.trials["direction"][:].tolist() == session.trials["direction"].tolist()
        assert file.units["electrodes"][5]["x"].tolist() == [400.0]
        assert pynwb.validate(io=io) == []
