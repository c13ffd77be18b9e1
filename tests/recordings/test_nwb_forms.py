"""NWB as archives have it: counts in place of units, masks, several modules of behavior, units without spikes."""

import datetime

import h5py
import numpy as np
import pytest

from neurofs.features.tensor import build_tensor
from neurofs.ground.errors import InputError, UsageError
from neurofs.recordings.readers import load

N_BINS, WIDTH = 400, 0.02


@pytest.fixture
def write_file(tmp_path):
    """Write an NWB file with these series in acquisition and in modules of processing."""
    pynwb = pytest.importorskip("pynwb")

    def write(acquisition=(), modules=None, units=()):
        file = pynwb.NWBFile("counts", "session", datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC))
        for series in acquisition:
            file.add_acquisition(pynwb.TimeSeries(**series))
        for name, list_of_series in (modules or {}).items():
            module = file.create_processing_module(name, "behavior")
            for series in list_of_series:
                module.add(pynwb.TimeSeries(**series))
        for unit in units:
            file.add_unit(**unit)
        with pynwb.NWBHDF5IO(tmp_path / "a.nwb", "w") as io:
            io.write(file)
        return tmp_path / "a.nwb"

    return write


def make_series(name, data, **when):
    when = when or {"timestamps": np.arange(len(data)) * WIDTH}
    return {"name": name, "data": data, "unit": "n/a", **when}


COUNTS = np.random.default_rng(1).poisson(0.4, size=(N_BINS, 5)).astype(np.uint8)
VELOCITY = np.random.default_rng(2).normal(size=(N_BINS, 2))


@pytest.mark.parametrize("name", ["binned_spikes", "spike_counts", "ThresholdCrossings", "counts"])
def test_counts_in_acquisition_in_place_of_units(write_file, name):
    recording = load(write_file([make_series(name, COUNTS), make_series("velocity", VELOCITY)]))
    assert (recording.bin_width, recording.start, recording.n_spikes) == (WIDTH, 0.0, int(COUNTS.sum()))
    assert list(recording.behavior) == ["velocity"]
    tensor = build_tensor(recording, "velocity", bin_width=0.04, n_lags=2)
    np.testing.assert_array_equal(tensor["counts"], COUNTS.reshape(200, 2, 5).sum(axis=1))
    np.testing.assert_allclose(tensor["target"], VELOCITY.reshape(200, 2, 2).mean(axis=1))
    assert any("taken from the series" in note for note in recording.notes)


def test_counts_with_a_rate_a_gap_and_names(write_file):
    started = {"starting_time": 3.0, "rate": 50.0}
    path = write_file([make_series("tx", COUNTS, **started), make_series("velocity", VELOCITY, **started)])
    assert load(path).span == (3.0, 11.0)
    assert load(path, exclude_channels=["0"]).channels["name"].tolist() == ["1", "2", "3", "4"]
    times = np.delete(np.arange(N_BINS + 10) * WIDTH, np.arange(100, 110))
    path = write_file([make_series("binned_spikes", COUNTS, timestamps=times)])
    recording = load(path)
    np.testing.assert_allclose(recording.observed, [[0, 2.0], [2.2, 8.2]])
    assert recording.n_spikes == COUNTS.sum()


def test_counts_are_chosen_by_name_where_two_are_possible(write_file):
    path = write_file([make_series("spike_counts", COUNTS), make_series("binned_spikes", COUNTS[:, :2])])
    with pytest.raises(InputError, match=r"a\.nwb: series: expected one of counts; found 'binned_spikes' and 'spike_"):
        load(path)
    assert load(path, counts="binned_spikes").n_channels == 2
    with pytest.raises(InputError, match=r"--counts spikes: expected a series of the file; found no such name"):
        load(path, counts="spikes")


def test_without_units_and_counts_one_line_says_so(write_file):
    expected = (
        r"^a\.nwb: /units: expected a table of units; found none\. .*--counts, or --signal if it is continuous\.$"
    )
    with pytest.raises(InputError, match=expected):
        load(write_file([make_series("velocity", VELOCITY)]))
    fractions = make_series("binned_spikes", VELOCITY**2)
    with pytest.raises(InputError, match=r"^a\.nwb: 'binned_spikes': expected"):
        load(write_file([fractions]))
    with pytest.raises(UsageError, match="orientation has no meaning for NWB files"):
        load(write_file([make_series("binned_spikes", COUNTS)]), orientation="time-by-channel")


def test_a_mask_leaves_samples_out_of_behavior(write_file):
    mask = np.arange(N_BINS) >= 100
    other = make_series("pupil", VELOCITY[:50, 0])
    path = write_file(
        [make_series(n, d) for n, d in (("binned_spikes", COUNTS), ("velocity", VELOCITY), ("eval_mask", mask))]
        + [other]
    )
    recording = load(path)
    assert sorted(recording.behavior) == ["pupil", "velocity"]
    assert np.isnan(recording.behavior["velocity"].values[:100]).all()
    np.testing.assert_array_equal(recording.behavior["velocity"].values[100:], VELOCITY[100:])
    assert "series 'velocity': 100 of 400 samples left out by eval_mask" in recording.notes
    assert "series 'pupil': eval_mask has other times and is not applied to it" in recording.notes
    tensor = build_tensor(recording, "velocity", bin_width=0.02, n_lags=1)
    assert int(tensor["valid"].sum()) == 300
    assert list(load(path, behavior=["eval_mask"]).behavior) == ["eval_mask"]


def test_several_modules_and_units_without_spikes(write_file):
    units = [{"spike_times": t, "obs_intervals": [[0.0, 8.0]]} for t in ([0.5, 1.0], [], [2.0], [])]
    modules = {
        "behavior": [make_series("position", VELOCITY)],
        "eye_tracking": [make_series("position", VELOCITY[:, :1]), make_series("blink", VELOCITY[:, 0])],
    }
    recording = load(write_file(modules=modules, units=units))
    assert recording.spike_counts.tolist() == [2, 0, 1, 0]
    assert recording.span == (0.0, 8.0)
    assert sorted(recording.behavior) == ["behavior/position", "blink", "eye_tracking/position"]
    assert build_tensor(recording, "blink", n_lags=2)["counts"].values.sum() == 3


def test_a_table_without_units_gives_one_line(write_file):
    path = write_file(units=[{"spike_times": [0.5]}])
    with h5py.File(path, "r+") as file:
        for name in ("id", "spike_times", "spike_times_index"):
            data = file[f"units/{name}"][:0]
            attributes = dict(file[f"units/{name}"].attrs)
            del file[f"units/{name}"]
            file[f"units/{name}"] = data
            file[f"units/{name}"].attrs.update({k: v for k, v in attributes.items() if k != "target"})
    with pytest.raises(InputError, match=r"^a\.nwb: channels: expected at least one channel; found none"):
        load(path)


def test_amplitudes_and_trials_without_a_stop(write_file):
    path = write_file(
        modules={"behavior": [make_series("position", VELOCITY)]}, units=[{"spike_times": [0.5, 1.0, 2.0]}]
    )
    with h5py.File(path, "r+") as file:
        file["units/spike_amplitudes"] = np.array([-3.0, -9.0, -4.0])
        file["units/spike_amplitudes_index"] = np.array([3])
        file["intervals/trials/start_time"] = np.array([0.0, 2.0, 4.0])
        file["intervals/trials/stop_time"] = np.array([1.0, np.nan, 5.0])
    recording = load(path, amplitude_bands=3)
    assert [times.tolist() for times in recording.spikes] == [[0.5], [2.0], [1.0]]
    assert recording.channels["name"].tolist() == ["0:1", "0:2", "0:3"]
    assert recording.trials["start"].tolist() == [0.0, 4.0]
    with pytest.raises(
        InputError, match=r"found depth\. Name one of these with --amplitudes: spike_amplitudes, spike_times"
    ):
        load(path, amplitude_bands=3, amplitudes="depth")


def test_a_voltage_alone_gets_the_command_that_takes_its_power(write_file):
    path = write_file([make_series("lfp", VELOCITY, starting_time=0.0, rate=1000.0)])
    with h5py.File(path, "r+") as file:
        file["acquisition/lfp"].attrs["neurodata_type"] = "ElectricalSeries"
    with pytest.raises(InputError, match="or --signal lfp --bands 13-30,70-150 if it is continuous"):
        load(path)
    recording = load(path, signal="lfp", bands="70-150")
    assert (recording.n_channels, recording.bin_width, recording.channels["band_low"].tolist()) == (
        2,
        0.02,
        [70.0, 70.0],
    )
