import io
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from neurofs.comparison.session import describe_session
from neurofs.comparison.tables import rank_channels
from neurofs.features.tensor import build_tensor
from neurofs.ground.netcdf import to_netcdf
from neurofs.recordings.demo import demo_path
from neurofs.recordings.readers import load
from neurofs.recordings.recording import Recording, Series
from neurofs.recordings.simulate import simulate_session


def smooth_velocity(duration=20.0, rate=100.0):
    time = (np.arange(int(duration * rate)) + 0.5) / rate
    return Series("hand_velocity", time, np.sin(2 * np.pi * time / 4.0) ** 2, ("x",), "cm/s")


def poisson(n_channels=3, duration=20.0, seed=0):
    rng = np.random.default_rng(seed)
    return [np.sort(rng.uniform(0, duration, 200)) for _ in range(n_channels)]


def make(**fields):
    velocity = fields.pop("velocity", smooth_velocity())
    fields = {"observed": [[0.0, 20.0]]} | fields
    if "counts" not in fields:
        fields.setdefault("spikes", poisson())
    return Recording("toy", behavior={velocity.name: velocity}, **fields)


def describe(recording, channels=("0", "1"), target="hand_velocity", **options):
    return describe_session(recording, build_tensor(recording, target, **options), channels)


TRIALS = pd.DataFrame({"start": [0.0, 4.0, 8.0, 12.0], "stop": [3.0, 7.0, 11.0, 15.0], "side": list("lrlr")})


def recordings():
    gappy = make(observed=[[0.0, 9.0], [11.0, 20.0]])
    onset = TRIALS.assign(move_onset=[1.0, np.nan, 9.0, 13.0])
    counts = np.random.default_rng(1).poisson(1, (400, 2)).astype(np.uint8)
    hostile = pd.DataFrame({"name": ["</script>", "'\"\n", "{{ 7*7 }}"], "kind": ["é", None, "unit"]})
    return {
        "demo": (load(demo_path()), ["1a", "1t"], "hand_velocity"),
        "simulated": (simulate_session(8, n_electrodes=2), ["1a"], "hand_velocity"),
        "no trials": (make(), ["0"], "hand_velocity"),
        "gaps": (gappy, ["0", "2"], "hand_velocity"),
        "trials": (make(trials=TRIALS), ["0"], "hand_velocity"),
        "onset": (make(trials=onset), ["0"], "hand_velocity"),
        "classes": (make(trials=TRIALS), ["1"], "side"),
        "counts": (make(counts=counts, bin_width=0.05, trials=TRIALS), ["0", "1"], "hand_velocity"),
        "no channels": (make(), [], "hand_velocity"),
        "hostile": (make(channels=hostile), ["</script>"], "hand_velocity"),
    }


@pytest.mark.parametrize("case", recordings())
def test_it_survives_a_netcdf_round_trip(case):
    session = describe(*recordings()[case])
    with xr.open_dataset(io.BytesIO(to_netcdf(session)), engine="h5netcdf") as again:
        xr.testing.assert_identical(session, again.load())


def test_channels_are_described():
    steady = poisson(1)[0]
    early = np.sort(np.random.default_rng(2).uniform(0, 8, 300))
    table = pd.DataFrame({"name": list("abcd"), "electrode": [3, 3, 4, 4], "kind": ["unit", None, "mua", "unit"]})
    session = describe(make(spikes=[steady, [], early, steady], channels=table), ["a"])
    assert session["silent"].values.tolist() == [False, True, False, False]
    assert session["partly_active"].values.tolist() == [False, False, True, False]
    assert session["duplicate_of"].values.tolist() == ["", "", "", "a"]
    assert session["electrode"].values.tolist() == ["3", "3", "4", "4"]
    assert session["kind"].values.tolist() == ["unit", "", "mua", "unit"]
    np.testing.assert_allclose(session["rate"].values, [10, 0, 15, 10])
    assert session["presence"].values[1] == 0
    assert np.isnan(session["x"].values).all()


def test_the_fano_factor_is_that_of_the_counts():
    recording = make(spikes=poisson(3), observed=[[0.0, 9.0], [11.0, 20.0]])
    edges = np.round(np.arange(0, 20.05, 0.1), 9)
    middle = edges[:-1] + 0.05
    observed = (middle < 9) | (middle > 11)
    expected = [(c := np.histogram(s, edges)[0][observed]).var() / c.mean() for s in map(np.asarray, recording.spikes)]
    for options in ({}, {"sqrt": True, "smooth": 0.3}):  # what happens to the tensor's counts does not matter
        np.testing.assert_allclose(describe(recording, **options)["fano"].values, expected)


def test_the_raster_counts_each_spike_of_the_window_once():
    trials = pd.DataFrame({"start": [0.0, 10.0], "stop": [6.0, 16.0], "move_onset": [2.0, 12.0]})
    spikes = [[1.5, 1.999, 2.0, 2.004, 2.99, 3.0, 12.5], [0.1, 19.0]]
    session = describe(make(spikes=spikes, trials=trials), ["1", "0"])
    raster = session["raster"].sel(raster_channel="0")
    assert raster.sizes == {"event": 2, "raster_time": 150}
    first = raster.isel(event=0)
    assert first.where(first > 0, drop=True).raster_time.values.tolist() == [-0.5, -0.01, 0.0, 0.99]
    assert float(first.sel(raster_time=0.0)) == 2
    assert raster.sum("raster_time").values.tolist() == [5, 1]
    assert session["raster"].sel(raster_channel="1").sum() == 0


def test_bins_outside_the_trial_or_the_observed_span_are_missing():
    trials = pd.DataFrame({"start": [0.0, 10.0], "stop": [2.5, 16.0], "move_onset": [0.2, 12.0]})
    session = describe(make(trials=trials, observed=[[0.0, 12.3], [12.4, 20.0]]))
    missing = session["raster"].isel(raster_channel=0).isnull()
    times = session["raster_time"].values
    np.testing.assert_allclose(times[missing.values[0]], np.arange(-50, -20) / 100, atol=1e-9)
    np.testing.assert_allclose(times[missing.values[1]], np.arange(30, 40) / 100, atol=1e-9)


def test_counts_are_shown_in_the_bins_of_the_file():
    counts = np.arange(800).reshape(400, 2) % 7
    trials = pd.DataFrame({"start": [0.0], "stop": [20.0], "move_onset": [3.02]})
    session = describe(make(counts=counts, bin_width=0.05, trials=trials))
    assert session.attrs["raster_bin"] == 0.05
    np.testing.assert_array_equal(session["raster"].values[1, 0], counts[50:80, 1])
    fine = make(counts=np.ones((5000, 1)), bin_width=0.004, trials=trials)
    assert describe(fine, ["0"])["raster"].isel(event=0).values[0].tolist() == [3.0] * 125


def test_onsets_where_the_speed_passes_a_fifth_of_its_peak():
    session = describe(make(trials=TRIALS))
    tensor = build_tensor(make(trials=TRIALS), "hand_velocity")
    for trial, onset in zip(session["event_trial"].values, session["onset"].values, strict=True):
        inside = tensor["trial"].values == trial
        speed, time = np.abs(tensor["target"].values[inside, 0]), tensor["time"].values[inside]
        assert onset == time[speed >= 0.2 * speed.max()][0]
    assert session["event_condition"].values.tolist() == ["l", "r", "l", "r"]
    assert session.attrs["condition"] == "side"


def test_onsets_without_trials_lie_a_window_apart():
    session = describe(make())
    onset = session["onset"].values
    assert len(onset) >= 5
    assert (np.diff(onset) >= 1.5).all()
    assert (session["event_trial"].values == -1).all()


def test_a_position_moves_where_it_changes():
    time = (np.arange(2000) + 0.5) / 100
    position = Series("place", time, np.clip((time - 5.0) * 3, 0, 30), ("x",), "cm")
    session = describe(make(velocity=position), target="place")
    assert session["onset"].values.tolist() == [5.0]


def test_classes_are_aligned_to_the_start_of_the_trial():
    session = describe(make(trials=TRIALS), target="side")
    assert session["onset"].values.tolist() == [0.0, 4.0, 8.0, 12.0]
    assert session.attrs["alignment"] == "start of the trial"


def test_a_missing_onset_leaves_its_trial_out():
    session = describe(make(trials=TRIALS.assign(move_onset=[1.0, np.nan, 9.0, 13.0])))
    assert session["event_trial"].values.tolist() == [0, 2, 3]


def test_the_raster_is_capped():
    recording = simulate_session(70, n_electrodes=4)
    session = describe(recording, recording.channels["name"].tolist())
    assert session["raster"].shape == (12, 60, 150)
    assert session["event_trial"].values[[0, -1]].tolist() == [0, 69]


def test_pictures_show_tuned_channels_first_then_those_of_large_weight():
    weights = xr.Dataset(
        {"weights": (("selector", "fold", "channel", "lag"), [[[[3.0, 1.0], [1.0, 0.0], [2.0, 0.0], [0.5, 0.0]]]])},
        coords={"channel": ["a", "b", "c", "d"]},
    )
    assert rank_channels(weights) == ["a", "c", "b", "d"]
    told = {"a": (False, False), "b": (True, None), "c": (True, False), "d": (False, True)}
    tested = [SimpleNamespace(channel=name, tuned=tuned, adds=adds) for name, (tuned, adds) in told.items()]
    assert rank_channels(weights, SimpleNamespace(channels=tested)) == ["c", "b", "d", "a"]
