import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from neurofs.features.tensor import build_tensor, map_features, to_samples
from neurofs.ground.errors import UsageError
from neurofs.recordings.recording import Recording, Series

MICROSECOND = 1e-6


def ramp(start=0.0, stop=10.0, rate=100.0, name="velocity", columns=("x",)):
    time = np.arange(start, stop, 1 / rate)
    values = np.column_stack([time * (i + 1) for i in range(len(columns))])
    return Series(name, time, values, columns, "cm/s")


def recording(spikes=((0.5,),), behavior=None, **fields):
    series = behavior or ramp()
    return Recording("toy", spikes=spikes, behavior={series.name: series}, **fields)


def table(*rows, columns=("start", "stop")):
    return pd.DataFrame(rows, columns=list(columns))


# Binning by hand. A well-known decoding package makes 9 bins of 1 s at 0.1 s and loses the last spike.


def test_one_second_at_a_tenth_is_ten_bins_and_the_last_spike_counts():
    r = recording([[0.0, 0.05, 0.15, 0.95, 0.999]], observed=[[0, 1]])
    tensor = build_tensor(r, "velocity", bin_width=0.1, n_lags=1)
    assert tensor["counts"].values[:, 0].tolist() == [2, 1, 0, 0, 0, 0, 0, 0, 0, 2]
    np.testing.assert_allclose(tensor["time"], [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])


def test_spikes_on_edges_belong_to_the_bin_that_begins_there():
    edges = [0.1, 0.2, 0.1 + 0.2, 0.4, 0.5, 0.6, 0.7, 0.1 * 8, 0.9]
    tensor = build_tensor(recording([edges], observed=[[0, 1]]), "velocity", n_lags=1)
    assert tensor["counts"].values[:, 0].tolist() == [0, 1, 1, 1, 1, 1, 1, 1, 1, 1]


def test_the_last_spike_of_an_unstated_span_is_counted():
    tensor = build_tensor(recording([[0.0, 0.5, 1.0]]), "velocity", n_lags=1)
    assert tensor["counts"].values[:, 0].tolist() == [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
    assert not tensor["valid"].values[10], "the last bin is observed only in part"


def test_lag_zero_is_the_bin_of_the_target_and_positive_lags_precede_it():
    spikes = [np.repeat(np.arange(6) / 10 + 0.05, np.arange(1, 7))]  # bin i has i + 1 spikes
    r = recording(spikes, observed=[[0, 0.6]])
    tensor = build_tensor(r, "velocity", bin_width=0.1, n_lags=3)
    assert tensor["lag"].values.tolist() == [0.0, 0.1, 0.2]
    assert tensor["features"].values[4, 0].tolist() == [5, 4, 3]
    assert tensor["valid"].values.tolist() == [False, False, True, True, True, True]


# The other mistake: an option "without the current bin" that keeps it and drops the last future bin instead.


def test_a_lead_of_one_bin_leaves_out_the_bin_of_the_target_and_nothing_else():
    spikes = [np.repeat(np.arange(6) / 10 + 0.05, np.arange(1, 7))]
    tensor = build_tensor(recording(spikes, observed=[[0, 0.6]]), "velocity", n_lags=2, lead=0.1)
    assert tensor["lag"].values.tolist() == [0.1, 0.2]
    assert tensor["features"].values[4, 0].tolist() == [4, 3]
    assert tensor["valid"].values.tolist() == [False, False, True, True, True, True]


def test_a_negative_lead_uses_spikes_after_the_target():
    spikes = [np.repeat(np.arange(6) / 10 + 0.05, np.arange(1, 7))]
    tensor = build_tensor(recording(spikes, observed=[[0, 0.6]]), "velocity", n_lags=3, lead=-0.2)
    assert tensor["lag"].values.tolist() == [-0.2, -0.1, 0.0]
    assert tensor["features"].values[2, 0].tolist() == [5, 4, 3]
    assert tensor["valid"].values.tolist() == [True, True, True, True, False, False]
    assert np.asarray(to_samples(tensor).samples)[2].tolist() == [3, 4, 5]


def test_features_share_memory_with_counts():
    tensor = build_tensor(recording([[0.1, 0.7]] * 3, observed=[[0, 1]]), "velocity", n_lags=4)
    assert np.shares_memory(tensor["features"].values, tensor["counts"].values)
    assert np.shares_memory(to_samples(tensor).samples.flat, tensor["counts"].values)


@pytest.mark.parametrize("lead", [0.0, 0.2, -0.3])
def test_features_samples_and_map_agree(lead):
    rng = np.random.default_rng(0)
    r = recording([np.sort(rng.uniform(0, 5, 80)) for _ in range(3)], observed=[[0, 5]])
    tensor = build_tensor(r, "velocity", n_lags=4, lead=lead)
    rows = np.flatnonzero(tensor["valid"].values)
    samples = np.asarray(to_samples(tensor).samples)
    assert len(samples) == len(rows) > 30
    for row, sample in zip(rows, samples, strict=True):
        np.testing.assert_array_equal(map_features(sample, tensor), tensor["features"].values[row])


def test_samples_come_with_their_targets_and_trials():
    r = recording([[0.05, 0.95]], trials=table((0.0, 0.4), (0.6, 1.0)), observed=[[0, 1]])
    tensor = build_tensor(r, "velocity", n_lags=2)
    samples, y, trial = to_samples(tensor)
    rows = [1, 2, 3, 7, 8, 9]
    assert np.flatnonzero(tensor["valid"]).tolist() == rows
    np.testing.assert_array_equal(np.asarray(samples)[:, 1], tensor["counts"].values[rows, 0])
    np.testing.assert_array_equal(y, tensor["target"].values[rows])
    assert trial.tolist() == [0, 0, 0, 1, 1, 1]


def test_without_trials_the_trial_of_all_samples_is_minus_one():
    assert set(to_samples(build_tensor(recording(observed=[[0, 1]]), "velocity", n_lags=2)).trial) == {-1}


def test_counts_are_summed_from_finer_bins():
    counts = np.arange(14).reshape(7, 2)
    r = Recording("c", counts=counts, bin_width=0.05, start=3.0, behavior={"velocity": ramp(3, 4)})
    tensor = build_tensor(r, "velocity", bin_width=0.1, n_lags=1)
    assert tensor["counts"].values.tolist() == [[2, 4], [10, 12], [18, 20], [12, 13]]
    assert tensor["valid"].values.tolist() == [True, True, True, False]
    with pytest.raises(UsageError, match=r"multiple of 0\.05 s"):
        build_tensor(r, "velocity", bin_width=0.07)


# Trials, gaps, periods, steps.


def test_windows_stay_inside_trials():
    r = recording([[0.0, 0.99]], observed=[[0, 1]], trials=table((0.05, 0.5), (0.5, 0.95)))
    tensor = build_tensor(r, "velocity", n_lags=2)
    assert tensor["trial"].values.tolist() == [-1, 0, 0, 0, 0, 1, 1, 1, 1, -1]
    assert np.flatnonzero(tensor["valid"]).tolist() == [2, 3, 4, 6, 7, 8]
    assert (tensor.attrs["dropped_outside"], tensor.attrs["dropped_window"]) == (2, 2)


def test_windows_do_not_cross_a_gap_inside_a_trial():
    r = recording([[0.0, 0.99]], observed=[[0, 0.42], [0.58, 1]], trials=table((0, 1)))
    tensor = build_tensor(r, "velocity", n_lags=2)
    assert np.flatnonzero(tensor["valid"]).tolist() == [1, 2, 3, 7, 8, 9]


def test_observed_intervals_that_touch_are_one_stretch():
    r = recording([[0.0, 0.99]], observed=[[0, 0.45], [0.45, 1]])
    assert int(build_tensor(r, "velocity", n_lags=2)["valid"].sum()) == 9


def test_period_keeps_targets_between_two_events():
    trials = table((0, 1, 0.5, 0.8), columns=("start", "stop", "go", "end"))
    r = recording([[0.0, 0.99]], observed=[[0, 1]], trials=trials)
    tensor = build_tensor(r, "velocity", n_lags=4, period=("go", "end"))
    assert np.flatnonzero(tensor["valid"]).tolist() == [5, 6, 7]
    with pytest.raises(UsageError, match="no column 'move'; they have: start, stop, go, end"):
        build_tensor(r, "velocity", period=("move", "end"))


def test_step_thins_the_samples():
    r = recording([[0.0, 0.99]], observed=[[0, 1]])
    assert np.flatnonzero(build_tensor(r, "velocity", n_lags=2, step=0.3)["valid"]).tolist() == [3, 6, 9]
    with pytest.raises(UsageError, match="step: expected a multiple"):
        build_tensor(r, "velocity", step=0.25)


# Transformations of counts.


def test_square_root_then_causal_smoothing_within_trials():
    spikes = [np.repeat([0.05, 0.55], 4)]
    r = recording(spikes, observed=[[0, 1]], trials=table((0, 0.5), (0.5, 1)))
    tensor = build_tensor(r, "velocity", n_lags=1, sqrt=True, smooth=0.1)
    g = np.exp(-0.5 * np.arange(4) ** 2)
    expected = [2 * g[i] / g[: i + 1].sum() if i < 4 else 0.0 for i in range(5)] * 2
    np.testing.assert_allclose(tensor["counts"].values[:, 0], expected, rtol=1e-6)
    assert tensor.attrs["reach"] == 3
    assert to_samples(tensor).samples.span == 4


# Targets.


def test_the_target_is_the_mean_within_the_bin():
    series = Series("v", [0.01, 0.05, 0.11, 0.31], [[1.0], [3.0], [5.0], [9.0]])
    values = build_tensor(recording([[0.0, 0.39]], series), "v", n_lags=1)["target"].values[:, 0]
    np.testing.assert_array_equal(values, [2, 5, np.nan, 9])


def test_a_slow_series_is_interpolated_but_not_across_a_gap():
    series = Series("v", [0.0, 0.4, 0.8, 2.0], [[0.0], [4.0], [8.0], [20.0]])
    tensor = build_tensor(recording([[0.0, 1.99]], series, observed=[[0, 2]]), "v", n_lags=1)
    np.testing.assert_allclose(tensor["target"].values[:8, 0], [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5])
    assert np.isnan(tensor["target"].values[9:, 0]).all()
    assert "interpolated" in tensor.attrs["notes"][0]


def test_missing_targets_are_dropped_and_counted():
    time = np.arange(0.05, 1, 0.1)
    series = Series("v", time, np.where(np.arange(10) == 4, np.nan, time))
    tensor = build_tensor(recording([[0.0, 0.99]], series, observed=[[0, 1]]), "v", n_lags=1)
    assert np.flatnonzero(~tensor["valid"].values).tolist() == [4]
    assert tensor.attrs["dropped_target"] == 1


def test_columns_and_several_targets():
    r = recording([[0.0, 0.99]], ramp(columns=("x", "y")), observed=[[0, 1]])
    tensor = build_tensor(r, ["velocity:y", "velocity:x"])
    assert tensor["output"].values.tolist() == ["velocity:y", "velocity:x"]
    assert tensor["unit"].values.tolist() == ["cm/s", "cm/s"]
    np.testing.assert_allclose(tensor["target"][:, 0], 2 * tensor["target"][:, 1])


def test_angles_become_cosine_and_sine():
    time = np.arange(0, 1, 0.01)
    angle = Series("heading", time, np.mod(8 * time, 2 * np.pi) - np.pi, ("a",), "radian", circular=True)
    tensor = build_tensor(recording([[0.0, 0.99]], angle, observed=[[0, 1]]), "heading")
    assert tensor["output"].values.tolist() == ["heading:cos(a)", "heading:sin(a)"]
    expected = np.cos(8 * time - np.pi).reshape(10, 10).mean(axis=1)
    np.testing.assert_allclose(tensor["target"][:, 0], expected, atol=1e-12)


@pytest.mark.parametrize("name", ["hand_velocity", "hand_position.velocity"])
def test_velocity_is_derived_from_position_and_said(name):
    time = np.arange(0, 4, 0.005)
    position = Series("hand_position", time, np.sin(3 * time), ("x",), "cm")
    r = recording([[0.0, 3.99]], position, observed=[[0, 4]])
    tensor = build_tensor(r, name)
    mid = tensor["time"].values + 0.05 - 0.0025
    np.testing.assert_allclose(tensor["target"][1:-1, 0], 3 * np.cos(3 * mid)[1:-1], atol=0.02)
    assert tensor["unit"].values.tolist() == ["cm/s"]
    assert "Savitzky–Golay" in tensor.attrs["notes"][0]


def test_velocity_never_crosses_a_trial():
    time = np.arange(0, 2, 0.01)
    position = Series("pos", time, np.where(time < 1, time, 100 - time), ("x",), "cm")
    r = recording([[0.0, 1.99]], position, observed=[[0, 2]], trials=table((0, 1), (1, 2)))
    velocity = build_tensor(r, "pos.velocity", n_lags=1)["target"].values[:, 0]
    np.testing.assert_allclose(velocity, [1] * 10 + [-1] * 10, atol=1e-6)


def test_velocity_of_an_angle_is_taken_along_the_circle():
    time = np.arange(0, 3, 0.01)
    angle = Series("heading", time, np.mod(5 * time, 2 * np.pi), ("a",), "radian", circular=True)
    tensor = build_tensor(recording([[0.0, 2.99]], angle, observed=[[0, 3]]), "heading.velocity", n_lags=1)
    np.testing.assert_allclose(tensor["target"], 5, atol=1e-6)


def test_velocity_of_uneven_samples():
    rng = np.random.default_rng(1)
    time = np.sort(np.arange(0, 3, 0.01) + rng.uniform(-0.002, 0.002, 300))
    position = Series("pos", time, time**2, ("x",), "m")
    tensor = build_tensor(recording([[0.0, 2.99]], position, observed=[[0, 3]]), "pos.velocity", n_lags=1)
    np.testing.assert_allclose(tensor["target"][1:-1, 0], 2 * (tensor["time"][1:-1] + 0.05), atol=0.05)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("velocty", "did you mean 'velocity'"),
        ("velocity:z", "no column 'z'; it has: x"),
        ((), "no target; choose one with --target: velocity"),
        (("velocity", "velocity"), "different outputs"),
        ("\x1b[31m", r"target '\x1b[31m'"),
    ],
)
def test_unknown_targets(target, message):
    with pytest.raises(UsageError) as error:
        build_tensor(recording(), target)
    assert message in str(error.value)


# Properties.

times = st.lists(st.integers(0, 5_000_000), min_size=1, max_size=60).map(
    lambda ticks: np.sort(np.array(ticks)) * MICROSECOND
)
widths = st.integers(1_000, 900_000).map(lambda ticks: ticks * MICROSECOND)


@given(spikes=st.lists(times, min_size=1, max_size=3), width=widths)
@settings(max_examples=60)
def test_counts_are_conserved(spikes, width):
    tensor = build_tensor(recording(spikes), "velocity", bin_width=width, n_lags=1)
    assert tensor["counts"].values.sum(axis=0).tolist() == [len(s) for s in spikes]


@given(spikes=times, width=widths, shift=st.integers(-(10**11), 10**11))
@settings(max_examples=60)
def test_shifting_spikes_and_target_together_changes_nothing(spikes, width, shift):
    moved = np.round(spikes / MICROSECOND + shift) * MICROSECOND
    series = ramp(-1, 6, rate=20)
    later = Series("velocity", series.time + shift * MICROSECOND, series.values)
    here = build_tensor(recording([spikes], series), "velocity", bin_width=width, n_lags=2)
    there = build_tensor(recording([moved], later), "velocity", bin_width=width, n_lags=2)
    np.testing.assert_array_equal(here["counts"], there["counts"])
    np.testing.assert_array_equal(here["valid"], there["valid"])


@given(bins=st.lists(st.integers(0, 999), min_size=1, max_size=50), width=st.sampled_from([0.1, 0.05, 0.02, 0.007]))
@settings(max_examples=60)
def test_a_spike_on_an_edge_lies_in_the_bin_that_begins_there(bins, width):
    spikes = np.sort(np.array(bins)) * width
    r = recording([spikes], observed=[[0, 1000 * width]])
    counts = build_tensor(r, "velocity", bin_width=width, n_lags=1)["counts"].values[:, 0]
    np.testing.assert_array_equal(counts, np.bincount(np.sort(bins), minlength=1000))


@given(
    edges=st.lists(st.integers(0, 200), min_size=2, max_size=12, unique=True),
    gaps=st.lists(st.integers(1, 199), max_size=4, unique=True),
    n_lags=st.integers(1, 6),
    lead=st.integers(-4, 4),
)
@settings(max_examples=80)
def test_windows_never_cross_trials_or_gaps(edges, gaps, n_lags, lead):
    edges = np.sort(edges)[: len(edges) // 2 * 2].reshape(-1, 2) * 0.03  # not aligned with the bins
    bounds = np.concatenate([[0], np.repeat(np.sort(gaps), 2), [200]]).reshape(-1, 2) * 0.03
    bounds[1:, 0] += 0.01  # each gap lasts 10 ms
    r = recording([[0.0, 5.9]], observed=bounds, trials=pd.DataFrame(edges, columns=["start", "stop"]))
    tensor = build_tensor(r, "velocity", bin_width=0.1, n_lags=n_lags, lead=round(0.1 * lead, 1))
    for t in np.flatnonzero(tensor["valid"].values):
        touched = np.append(tensor["time"].values[t] - tensor["lag"].values, tensor["time"].values[t])
        low, high = touched.min() + 1e-9, touched.max() + 0.1 - 1e-9
        assert any(a <= low and high <= b for a, b in edges)
        assert any(a <= low and high <= b for a, b in bounds)
