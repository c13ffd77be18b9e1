"""Continuous signals in place of spikes: read as such only where someone says so, and averaged in bins."""

from datetime import UTC, datetime

import h5py
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import neurofs
from neurofs.features.tensor import build_tensor
from neurofs.ground.errors import InputError, UsageError
from neurofs.recordings.calcium import image_calcium
from neurofs.recordings.checks import find_remarks
from neurofs.recordings.quality import inspect_file, render_text
from neurofs.recordings.recording import Recording, Series
from neurofs.recordings.simulate import simulate_session
from neurofs.recordings.writers import write

pytestmark = [
    pytest.mark.filterwarnings("ignore:The linked table for DynamicTableRegion"),  # hdmf, of a file not yet written
    pytest.mark.filterwarnings("ignore:Neither source_timeseries nor source_channels"),  # pynwb recommends them
]
RATE, N = 20.0, 400
TIME = np.arange(N) / RATE
SIGNAL = np.random.default_rng(5).normal(size=(N, 4)) * [0.1, 1.0, 10.0, 100.0] + [0, -3, 0, 5000]
VELOCITY = np.column_stack([np.sin(TIME), np.cos(TIME)])
MEANS = SIGNAL.reshape(-1, 2, 4).mean(axis=1).astype(np.float32)
"""In bins of 0.1 s, two samples each."""


def bins_of(recording, width=0.1):
    return build_tensor(recording, bin_width=width, n_lags=1, target=None)["counts"].values


def plain(**others):
    return {"dff": SIGNAL, "time": TIME, "hand_velocity": VELOCITY, **others}


# Bins


def test_bins_hold_the_mean_of_the_samples_whose_middle_lies_in_them():
    recording = Recording("x", counts=[[1.0], [2.0], [4.0], [8.0], [16.0]], unit="uV", bin_width=0.04, start=1.0)
    # Middles at 1.02, 1.06, 1.10, 1.14 and 1.18 s; bins of 0.05 s from 1 s on.
    assert bins_of(recording, 0.05)[:, 0].tolist() == [1.0, 2.0, 6.0, 16.0]
    assert bins_of(recording, 0.08)[:, 0].tolist() == [1.5, 6.0, 16.0]
    assert bins_of(recording, 0.04)[:, 0].tolist() == [1.0, 2.0, 4.0, 8.0, 16.0]


def test_every_width_gives_the_means_of_a_plain_loop():
    recording = Recording("x", counts=SIGNAL, unit="uV", bin_width=1 / 30)
    own = 33_333_333  # ticks of a sample
    for width in (0.0333334, 0.05, 0.1, 0.12345, 1.0):
        found = bins_of(recording, width)
        place = [(2 * i + 1) * own // (2 * round(width * 1e9)) for i in range(N)]
        for b in range(len(found)):
            rows = [i for i in range(N) if place[i] == b]
            assert np.array_equal(found[b], SIGNAL[rows].sum(axis=0).astype(float) / len(rows), equal_nan=True) or (
                np.allclose(found[b], SIGNAL[rows].mean(axis=0), rtol=1e-6)
            )
        assert len(found) == place[-1] + 1


def test_bins_narrower_than_samples_are_refused():
    with pytest.raises(UsageError, match=r"bin_width: expected at least 0\.05 s, the time from one sample"):
        bins_of(Recording("x", counts=SIGNAL, unit="uV", bin_width=0.05), 0.04)


def test_square_roots_of_signals_are_refused():
    with pytest.raises(UsageError, match="sqrt: expected counts of spikes; found a signal in 'uV'"):
        build_tensor(Recording("x", counts=SIGNAL, unit="uV", bin_width=0.05), None, sqrt=True)


def test_bins_are_chosen_round_though_frames_are_not():
    recording = Recording("x", counts=SIGNAL, unit="uV", bin_width=1 / 30)
    assert build_tensor(recording, None).attrs["bin_width"] == 0.1


def test_counts_may_not_be_negative_and_signals_may():
    with pytest.raises(InputError, match="a number of spikes"):
        Recording("x", counts=SIGNAL, bin_width=0.05)
    with pytest.raises(InputError, match="signal of channel 1, sample 2: expected a finite number; found inf"):
        Recording("x", counts=[[0.0, 1], [0, 1], [0, np.inf]], unit="uV", bin_width=0.05)


# Files that say so


@pytest.mark.parametrize("ending", ["npz", "h5", "mat", "csv", "nc"])
def test_the_same_signal_from_every_kind_of_file(tmp_path, ending):
    path = tmp_path / f"day.{ending}"
    options = {}
    if ending == "npz":
        np.savez(path, **plain())
    elif ending == "mat":
        import scipy.io

        scipy.io.savemat(path, plain())
    elif ending == "h5":
        with h5py.File(path, "w") as file:
            for name, value in plain().items():
                file[name] = value
    elif ending == "nc":
        data = {"signal": (("time", "channel"), SIGNAL), "hand_velocity": (("time", "axis"), VELOCITY)}
        xr.Dataset(data, {"time": TIME}).to_netcdf(path, engine="h5netcdf")
    else:
        path = tmp_path / "day_signal.csv"
        pd.DataFrame(SIGNAL, columns=list("abcd")).assign(time=TIME).to_csv(path, index=False)
        table = pd.DataFrame(VELOCITY, columns=["hand_velocity_x", "hand_velocity_y"])
        table.assign(time=TIME).to_csv(tmp_path / "day_behavior.csv", index=False)
        options = {"signal_unit": "dF/F"}
    recording = neurofs.load(path, **options)
    assert recording.is_signal
    assert recording.unit in ("dF/F", "a.u.")
    assert np.array_equal(bins_of(recording), MEANS)
    assert any("is continuous" in note for note in recording.notes)


def test_nothing_is_taken_for_a_signal_by_its_numbers(tmp_path):
    np.savez(tmp_path / "a.npz", counts=SIGNAL, time=TIME, hand_velocity=VELOCITY)
    with pytest.raises(InputError, match=r"negative numbers.*if they never were spikes, say --signal-unit"):
        neurofs.load(tmp_path / "a.npz")
    assert neurofs.load(tmp_path / "a.npz", signal="counts").unit == "a.u."
    assert neurofs.load(tmp_path / "a.npz", signal="counts", signal_unit="uV").unit == "uV"
    assert neurofs.load(tmp_path / "a.npz", signal_unit="uV").unit == "uV"


def test_a_stated_unit_of_signals_says_it_and_others_do_not(tmp_path):
    np.savez(tmp_path / "a.npz", counts=SIGNAL, counts_unit="dF/F", time=TIME, v=VELOCITY)
    assert neurofs.load(tmp_path / "a.npz", behavior="v").unit == "dF/F"
    np.savez(tmp_path / "b.npz", dff=SIGNAL, dff_unit="percent", time=TIME, hand_velocity=VELOCITY)
    assert neurofs.load(tmp_path / "b.npz").unit == "percent"


def test_spikes_go_before_signals_and_counts_by_name_before_both(tmp_path):
    counts = np.random.default_rng(1).poisson(1, (N, 3))
    np.savez(tmp_path / "a.npz", counts=counts, **plain())
    recording = neurofs.load(tmp_path / "a.npz")
    assert (recording.unit, recording.n_channels) == ("spikes", 3)
    assert neurofs.load(tmp_path / "a.npz", signal="dff").n_channels == 4


def test_options_that_contradict_each_other_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", **plain())
    with pytest.raises(InputError, match="--counts and --signal: expected one of the two"):
        neurofs.load(tmp_path / "a.npz", counts="dff", signal="dff")
    with pytest.raises(InputError, match="--counts-unit: expected counts or rates"):
        neurofs.load(tmp_path / "a.npz", signal="dff", counts_unit="Hz")


def test_a_rate_tells_the_time_of_samples(tmp_path):
    np.savez(tmp_path / "a.npz", dff=SIGNAL, hand_velocity=VELOCITY)
    with pytest.raises(InputError, match=r"--counts-bin-width \(seconds\), or --sampling-rate"):
        neurofs.load(tmp_path / "a.npz", orientation="time-by-channel")
    recording = neurofs.load(tmp_path / "a.npz", orientation="time-by-channel", sampling_rate=RATE)
    assert np.array_equal(bins_of(recording), MEANS)
    np.savez(tmp_path / "b.npz", dff=SIGNAL, hand_velocity=VELOCITY, frame_rate=RATE)
    assert neurofs.load(tmp_path / "b.npz", orientation="time-by-channel").bin_width == 0.05


def test_missing_samples_and_channels_are_not_observed(tmp_path):
    signal = SIGNAL.copy()
    signal[:, 2] = np.nan
    signal[100:110, 0] = np.nan
    np.savez(tmp_path / "a.npz", **plain(dff=signal))
    recording = neurofs.load(tmp_path / "a.npz")
    assert recording.channels["name"].tolist() == ["0", "1", "3"]
    assert recording.observed.round(6).tolist() == [[0.0, 5.0], [5.5, 20.0]]
    assert any("1 without a signal (NaN) left out: 2" in note for note in recording.notes)
    signal[::3, 1], signal[1::3, 0] = np.nan, np.nan
    np.savez(tmp_path / "b.npz", **plain(dff=signal))
    with pytest.raises(InputError, match=r"samples of all channels; found 6[78]%"):
        neurofs.load(tmp_path / "b.npz")


def test_frames_may_jitter_and_be_dropped(tmp_path):
    time = TIME + np.random.default_rng(2).uniform(-0.01, 0.01, N)
    kept = np.r_[0:100, 120:N]
    np.savez(tmp_path / "a.npz", dff=SIGNAL[kept], time=time[kept], hand_velocity=VELOCITY[kept])
    recording = neurofs.load(tmp_path / "a.npz")
    assert len(recording.counts) == N
    assert np.allclose(recording.observed, [[time[0], 5 + time[0]], [6 + time[0], 20 + time[0]]], atol=1e-3)


def test_signals_in_structs_of_trials(tmp_path):
    import scipy.io

    trials = np.array(
        [(SIGNAL[:200], VELOCITY[:200]), (SIGNAL[200:], VELOCITY[200:])],
        dtype=[("dff", object), ("hand_velocity", object)],
    )
    scipy.io.savemat(tmp_path / "a.mat", {"trial_data": trials.reshape(1, -1)})
    recording = neurofs.load(tmp_path / "a.mat", counts_bin_width=0.05, orientation="time-by-channel")
    assert (recording.unit, len(recording.trials)) == ("dF/F", 2)
    assert np.array_equal(bins_of(recording), MEANS)


# What is odd about a signal


def test_remarks_speak_of_the_signal():
    velocity = {"v": Series("v", TIME[:150], VELOCITY[:150])}
    signal = np.column_stack([SIGNAL, np.minimum(SIGNAL[:, 0], 0.05), np.full(N, 7.0), np.arange(N)])
    r = Recording("x", counts=signal, unit="uV", bin_width=0.05, behavior=velocity)
    texts = [remark.text for remark in find_remarks(r)]
    assert "channel 6: the signal only rises, sample after sample: a time or a row number?" in texts
    assert "1 channel is constant: 5" in texts
    assert "1 channel has (4) the same largest value in more than 1% of samples: cut off?" in texts
    assert not any("spike" in text or "Hz on average" in text for text in texts)


def test_counts_that_are_said_to_be_a_signal_are_noticed():
    counts = np.random.default_rng(0).poisson(1.0, (N, 3))
    remarks = find_remarks(Recording("x", counts=counts, unit="uV", bin_width=0.05))
    assert remarks[0].serious
    assert "are they counts of spikes (--counts)?" in remarks[0].text


def test_inspect_shows_means_and_no_rates(tmp_path):
    np.savez(tmp_path / "a.npz", **plain())
    report = inspect_file(tmp_path / "a.npz")
    assert report["kind"] == "signal in dF/F, 20 samples per second"
    text = render_text(report)
    assert "Channels: 4, a continuous signal in dF/F" in text
    assert "spikes\n" not in text
    assert "median" in text


def test_channels_are_chosen_by_mean_and_sd(tmp_path):
    np.savez(tmp_path / "a.npz", **plain())
    assert neurofs.load(tmp_path / "a.npz", channels="sd > 5 and mean < 100").channels["name"].tolist() == ["2"]


# NWB


@pytest.fixture
def nwb(tmp_path):
    pynwb = pytest.importorskip("pynwb")
    from pynwb.ophys import DfOverF, Fluorescence, ImageSegmentation, OpticalChannel, RoiResponseSeries

    file = pynwb.NWBFile(
        session_description="test", identifier="id", session_start_time=datetime(2020, 1, 1, tzinfo=UTC)
    )
    light = OpticalChannel(name="light", description="", emission_lambda=500.0)
    plane = file.create_imaging_plane(
        name="plane", optical_channel=light, description="", device=file.create_device(name="microscope"),
        excitation_lambda=600.0, indicator="GCaMP", location="V1",
    )  # fmt: skip
    module = file.create_processing_module(name="ophys", description="")
    segmentation = ImageSegmentation()
    module.add(segmentation)
    rois = segmentation.create_plane_segmentation(name="rois", imaging_plane=plane, description="cells")
    rois.add_column(name="accepted", description="whether it is a cell")
    for i in range(5):
        rois.add_roi(pixel_mask=[(i, i, 1.0)], accepted=i % 2)
    region = rois.create_roi_table_region(description="four", region=[4, 1, 2, 3])
    raw = RoiResponseSeries(name="raw", data=2 * SIGNAL, rois=region, unit="lumens", timestamps=TIME)
    module.add(Fluorescence(roi_response_series=raw))
    module.add(
        DfOverF(roi_response_series=RoiResponseSeries(name="dff", data=SIGNAL, rois=region, unit="n.a.", rate=RATE))
    )
    behavior = file.create_processing_module(name="behavior", description="")
    behavior.add(pynwb.TimeSeries(name="hand_velocity", data=VELOCITY, unit="cm/s", rate=RATE))
    return file


def save(file, path):
    import pynwb

    with pynwb.NWBHDF5IO(path, "w") as io:
        io.write(file)
    return path


def test_nwb_dff_goes_before_fluorescence_with_the_table_of_rois(nwb, tmp_path):
    path = save(nwb, tmp_path / "a.nwb")
    recording = neurofs.load(path)
    assert recording.kind == "signal in dF/F, 20 samples per second"
    assert recording.channels["name"].tolist() == ["4", "1", "2", "3"]
    assert recording.channels["accepted"].tolist() == [0, 1, 0, 1]
    assert list(recording.behavior) == ["hand_velocity"]
    assert np.array_equal(bins_of(recording), MEANS)
    raw = neurofs.load(path, signal="raw", channels="accepted == 1")
    assert raw.unit == "a.u."
    assert np.allclose(bins_of(raw), 2 * MEANS[:, [1, 3]])


def test_nwb_units_go_before_rois(nwb, tmp_path):
    nwb.add_unit(spike_times=[0.1, 3.0])
    path = save(nwb, tmp_path / "a.nwb")
    assert neurofs.load(path).spikes is not None
    assert neurofs.load(path, signal="dff").is_signal
    with pytest.raises(InputError, match=r"--signal dfff: .* Did you mean 'dff'\?"):
        neurofs.load(path, signal="dfff")


def test_nwb_two_planes_must_be_chosen(nwb, tmp_path):
    from pynwb.ophys import RoiResponseSeries

    module = nwb.processing["ophys"]
    rois = module["ImageSegmentation"]["rois"].create_roi_table_region(description="other", region=[0, 1, 2, 3])
    module["DfOverF"].add_roi_response_series(
        RoiResponseSeries(name="dff2", data=SIGNAL, rois=rois, unit="n.a.", rate=RATE)
    )
    with pytest.raises(InputError, match=r"'dff' and 'dff2'\. Choose with --signal"):
        neurofs.load(save(nwb, tmp_path / "a.nwb"))


@pytest.mark.parametrize("metric", ["power", "phase"])
def test_nwb_bands_of_electrodes(tmp_path, metric):
    pynwb = pytest.importorskip("pynwb")
    from pynwb.misc import DecompositionSeries

    file = pynwb.NWBFile(
        session_description="test", identifier="id", session_start_time=datetime(2020, 1, 1, tzinfo=UTC)
    )
    data = np.stack([SIGNAL[:, :2], SIGNAL[:, 2:]], axis=2)  # electrode by band
    series = DecompositionSeries(name="bands", data=data, metric=metric, rate=RATE, unit="V")
    series.add_band(band_name="beta", band_limits=(13.0, 30.0), band_mean=20.0, band_stdev=5.0)
    series.add_band(band_name="gamma", band_limits=(70.0, 150.0), band_mean=100.0, band_stdev=5.0)
    file.create_processing_module(name="ecephys", description="").add(series)
    recording = neurofs.load(save(file, tmp_path / "a.nwb"))
    assert recording.unit == f"{metric} (V)"
    assert recording.channels["name"].tolist() == ["0:beta", "0:gamma", "1:beta", "1:gamma"]
    assert recording.channels["band_low"].tolist() == [13.0, 70.0, 13.0, 70.0]
    assert np.array_equal(bins_of(recording), MEANS[:, [0, 2, 1, 3]])
    assert any(remark.serious for remark in recording.remarks) == (metric == "phase")


# Objects, and what is written


def test_objects_of_other_libraries_give_the_same_bits():
    nap = pytest.importorskip("pynapple")
    names = list("abcd")
    array = xr.DataArray(SIGNAL, {"time": TIME, "roi": names}, ("time", "roi"), attrs={"units": "dF/F"})
    objects = {
        "pandas": pd.DataFrame(SIGNAL, index=TIME, columns=names),
        "xarray": array,
        "pynapple": nap.TsdFrame(t=TIME, d=SIGNAL, columns=names),
    }
    for item in objects.values():
        recording = neurofs.load(item, signal_unit="dF/F")
        assert (recording.unit, recording.channels["name"].tolist()) == ("dF/F", names)
        assert np.array_equal(bins_of(recording), MEANS)
    named = xr.Dataset({"traces": array, "speed": ("time", VELOCITY[:, 0])})
    assert neurofs.load(named, signal="traces").unit == "dF/F"
    with pytest.raises(InputError, match="TsdFrame: expected spikes, or a signal with its unit"):
        neurofs.load(objects["pynapple"])


@pytest.mark.parametrize("ending", [".nwb", ".npz", ".h5"])
def test_what_is_written_is_read_again(tmp_path, ending):
    session = image_calcium(simulate_session(8, n_electrodes=2, random_state=3), 3)
    recording = neurofs.load(write(session, tmp_path / f"a{ending}"))
    assert recording.unit == "dF/F"
    assert np.array_equal(bins_of(recording), bins_of(session))
    assert recording.channels["name"].tolist() == session.channels["name"].tolist()
    if ending == ".nwb":
        pynwb = pytest.importorskip("pynwb")
        assert recording.channels["tuning"].tolist() == session.channels["tuning"].tolist()
        with pynwb.NWBHDF5IO(tmp_path / "a.nwb", "r") as io:
            assert pynwb.validate(io=io) == []
            assert np.array_equal(bins_of(neurofs.load(io.read())), bins_of(session))


@pytest.mark.shared_data
def test_voltage_of_a_real_file_is_a_signal_where_it_is_named(shared_data):
    path = shared_data / "formats" / "nwb" / "ecephys_tutorial_v2.5.0.nwb"
    with h5py.File(path) as file:
        found: list = []
        file.visititems(lambda name, item: found.append(name) if name.endswith("LFP/ElectricalSeries") else None)
        stored = file[f"{found[0]}/data"]
        values = stored[:].astype(float) * stored.attrs["conversion"]
    recording = neurofs.load(path, signal="LFP/ElectricalSeries")
    assert recording.is_signal
    assert recording.unit == "volts"
    assert np.array_equal(recording.counts, values)
    assert neurofs.load(path).spikes is not None


# Power of bands


def voltage(**others):
    """Two channels of 20 s at 1 kHz: one with 100 Hz that comes and goes, one of noise alone."""
    time = np.arange(20_000) / 1000
    strength = 2 + np.sin(2 * np.pi * 0.2 * time)
    rng = np.random.default_rng(3)
    lfp = rng.normal(0, 0.1, (20_000, 2)) + 3 * np.sin(2 * np.pi * 6 * time)[:, None]
    lfp[:, 0] += strength * np.sin(2 * np.pi * 100 * time)
    return {"lfp": lfp, "speed": strength[::20], "speed_time": time[::20], **others}


BANDS = {"signal": "lfp", "signal_unit": "uV", "sampling_rate": 1000, "bands": "4-8,70-150"}


def test_power_of_bands_is_a_signal(tmp_path):
    values = voltage()
    np.savez(tmp_path / "a.npz", **values)
    recording = neurofs.load(tmp_path / "a.npz", **BANDS)
    assert recording.channels["name"].tolist() == ["0 4-8 Hz", "0 70-150 Hz", "1 4-8 Hz", "1 70-150 Hz"]
    assert (recording.unit, recording.bin_width, recording.counts.shape) == ("log10 of (uV)²", 0.02, (1000, 4))
    np.testing.assert_allclose(recording.observed, [[0.74, 20.0]])  # three periods of 4 Hz are over
    slow = recording.counts[50:, 0]
    assert np.abs(slow - np.log10(3**2 / 2)).max() < 0.1  # the power of 3 sin, with the sides of its window
    ends = np.arange(1, 1001) * 20
    expected = np.log10((2 + np.sin(2 * np.pi * 0.2 * (ends - 21.5) / 1000)) ** 2 / 2)
    assert np.abs(recording.counts[50:, 1] - expected[50:]).max() < 0.25
    assert np.corrcoef(recording.counts[50:, 1], expected[50:])[0, 1] > 0.99
    one = neurofs.load(tmp_path / "a.npz", **BANDS, channels="band_low > 20 and electrode_name == '1'")
    assert one.channels["name"].tolist() == ["1 70-150 Hz"]


def test_power_looks_back_alone_and_not_over_gaps(tmp_path):
    values = voltage()
    np.savez(tmp_path / "a.npz", **values)
    before = neurofs.load(tmp_path / "a.npz", **BANDS).counts
    later = values["lfp"].copy()
    later[10_000:] = np.random.default_rng(4).normal(size=(10_000, 2))
    np.savez(tmp_path / "a.npz", **values | {"lfp": later})
    after = neurofs.load(tmp_path / "a.npz", **BANDS).counts
    np.testing.assert_array_equal(after[:500], before[:500])
    assert (after[500:502] != before[500:502]).all()
    later[10_000:10_100] = np.nan
    np.savez(tmp_path / "a.npz", **values | {"lfp": later})
    gap = neurofs.load(tmp_path / "a.npz", **BANDS)
    np.testing.assert_allclose(gap.observed, [[0.74, 10.0], [10.84, 20.0]])


@pytest.mark.parametrize(
    ("bands", "said"),
    [
        ("high", "frequencies from low to high, such as 13-30,70-150"),
        ("30-13", "frequencies from low to high"),
        ("70-700", "frequencies up to 500 Hz; found 700 Hz"),
        ("0.1-0.2", "a recording longer than 30 s; found 20 s"),
    ],
)
def test_bands_that_cannot_be(tmp_path, bands, said):
    np.savez(tmp_path / "a.npz", **voltage())
    with pytest.raises(InputError, match=said):
        neurofs.load(tmp_path / "a.npz", **BANDS | {"bands": bands})


def test_spikes_have_no_bands(tmp_path):
    write(simulate_session(3, n_electrodes=1, random_state=1), tmp_path / "a.nwb")
    with pytest.raises(InputError, match="--bands: expected a voltage; found spike times"):
        neurofs.load(tmp_path / "a.nwb", bands="4-8")
