"""Tuning against plain loops, on channels whose tuning is known."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from reference_channels import average_in_clusters

from neurofs.comparison.session import describe_session, fill_session
from neurofs.comparison.tuning import average_rates
from neurofs.features.tensor import build_tensor
from neurofs.recordings.recording import Recording, Series

WIDTH, DURATION = 0.1, 200.0


def make_recording(values, rate_of, lag_bins=0, columns=("x", "y"), unit="cm/s", circular=False, trials=None):
    """Return a recording of counts; channel 0 follows `rate_of` the target so many bins later, channel 1 nothing."""
    rng = np.random.default_rng(3)
    n = len(values)
    later = np.minimum(np.arange(n) + lag_bins, n - 1)
    counts = np.column_stack([rng.poisson(WIDTH * rate_of(values[later])), rng.poisson(1.0, n)])
    series = Series("target", (np.arange(n) + 0.5) * WIDTH, values, columns, unit, circular)
    return Recording(
        "toy", counts=counts.astype(np.uint16), bin_width=WIDTH, behavior={"target": series}, trials=trials
    )


def wander(n_columns=2, seed=0):
    """Return a target that changes within a few bins."""
    noise = np.random.default_rng(seed).normal(size=(round(DURATION / WIDTH) + 4, n_columns))
    return 5 * (noise[4:] + noise[3:-1] + noise[2:-2])


def describe(recording, channels=("0", "1"), target="target", **options):
    tensor = build_tensor(recording, target, bin_width=WIDTH, **{"n_lags": 6} | options)
    return describe_session(recording, tensor, channels), tensor


def test_means_and_errors_equal_those_of_plain_loops():
    rng = np.random.default_rng(0)
    for n_clusters in (1, 2, 7):
        rate, group = rng.exponential(5, 200), rng.integers(-1, 5, 200)
        cluster = rng.integers(0, n_clusters, 200)
        for found, expected in zip(
            average_rates(rate, group, cluster, 6), average_in_clusters(rate, group, cluster, 6), strict=True
        ):
            np.testing.assert_allclose(found, expected)


def test_errors_of_equal_clusters_are_those_of_their_means():
    means = np.array([1.0, 2.0, 4.0, 9.0])
    rate, cluster = np.repeat(means, 5), np.repeat(np.arange(4), 5)
    mean, error = average_rates(rate, np.zeros(20, int), cluster, 1)
    assert mean[0] == means.mean()
    assert error[0] == pytest.approx(means.std(ddof=1) / 2)


def test_the_preferred_direction_and_lag_are_found():
    def rate_of(v):
        return 20 * (1 + np.cos(np.arctan2(v[:, 1], v[:, 0]) - np.pi / 2))

    session, tensor = describe(make_recording(wander(), rate_of, lag_bins=3))
    assert session.attrs["tuning_kind"] == "direction"
    assert session.attrs["tuning_name"] == "target"
    assert session["tuning_lag"].values[0] == pytest.approx(0.3)
    rate, error = (session[name].sel(raster_channel="0").values for name in ("tuning_rate", "tuning_error"))
    expected = 20 * (1 + np.cos(np.radians(session["tuning_value"].values) - np.pi / 2) * np.sinc(1 / 8))
    assert (np.abs(rate - expected) < 5 * error).all()
    assert session["tuning_label"].values[np.argmax(rate)] == "90°"
    assert session["tuning_n"].sum() == pytest.approx(tensor["valid"].sum() / 2, abs=1)
    flat = session["tuning_rate"].sel(raster_channel="1").values
    assert np.ptp(flat) < 5 < np.ptp(rate) / 5


def test_rates_are_means_of_the_counts_at_the_lag():
    session, tensor = describe(make_recording(wander(), lambda v: np.full(len(v), 20.0)), sqrt=True, lead=-0.2)
    rows = np.flatnonzero(tensor["valid"].values)
    x, y = tensor["target"].values[rows].T
    fast = np.hypot(x, y) >= np.median(np.hypot(x, y))
    sector = np.array([round(np.degrees(np.arctan2(b, a)) / 45) % 8 for a, b in zip(x, y, strict=True)])
    for channel in range(2):
        counts = tensor["counts"].values[:, channel] ** 2  # the tensor has square roots, the figure has not
        lag = round(float(session["tuning_lag"].values[channel]) / WIDTH)
        rates = [np.mean(counts[rows[fast & (sector == s)] - lag]) / WIDTH for s in range(8)]
        np.testing.assert_allclose(session["tuning_rate"].values[channel], rates, rtol=1e-5)


def test_positions_are_seen_from_their_mean():
    session, _ = describe(make_recording(wander() + 100, lambda v: np.full(len(v), 10.0), unit="cm"))
    assert (session["tuning_n"].values > 50).all()


def test_angles_are_cut_into_twelve_sectors():
    angle = np.cumsum(np.random.default_rng(1).normal(0, 0.5, (2000, 1)), axis=0) % (2 * np.pi)
    recording = make_recording(
        angle, lambda v: 20 * (1 + np.cos(v[:, 0] - np.pi)), columns=("heading",), unit="rad", circular=True
    )
    session, tensor = describe(recording)
    assert session.attrs["tuning_kind"] == "angle"
    assert session.attrs["tuning_name"] == "heading"
    assert session["tuning_n"].sum() == tensor["valid"].sum()
    assert session["tuning_value"].values[np.argmax(session["tuning_rate"].values[0])] == 180


def test_one_output_is_cut_into_eighths_of_the_samples():
    session, _ = describe(make_recording(wander(1), lambda v: np.exp(v[:, 0] / 8), columns=("x",)))
    assert session.attrs["tuning_kind"] == "value"
    assert session.attrs["tuning_unit"] == "cm/s"
    assert np.ptp(session["tuning_n"].values) <= 1
    assert (np.diff(session["tuning_value"].values) > 0).all()
    rate = session["tuning_rate"].values[0]
    assert rate[-1] > rate[4] > rate[0]


def test_a_target_of_two_values_has_two_bins():
    values = (wander(1) > 0).astype(float)
    session, _ = describe(make_recording(values, lambda v: 10 + 10 * v[:, 0], columns=("on",), unit=""))
    assert session["tuning_value"].values.tolist() == [0.0, 1.0]


def test_two_outputs_of_different_units_have_no_direction():
    recording = make_recording(wander(), lambda v: np.full(len(v), 10.0))
    other = Series("grip", recording.behavior["target"].time, wander(1, seed=5), ("force",), "N")
    recording = Recording(
        "toy",
        counts=recording.counts,
        bin_width=WIDTH,
        behavior={"target": recording.behavior["target"], "grip": other},
    )
    session, _ = describe(recording, target=["target:x", "grip"])
    assert session.attrs["tuning_kind"] == "value"
    assert session.attrs["tuning_name"] == "target:x"


def test_classes_have_a_bin_each_and_errors_over_trials():
    trials = pd.DataFrame({"start": 5.0 * np.arange(40), "stop": 5.0 * np.arange(40) + 4, "side": ["l", "r"] * 20})
    side = np.repeat(np.tile([0.0, 1.0], 20), 50)[:, None]
    recording = make_recording(side, lambda v: 10 + 20 * v[:, 0], columns=("s",), trials=trials)
    session, tensor = describe(recording, target="side")
    assert session["tuning_label"].values.tolist() == ["l", "r"]
    valid = tensor["valid"].values
    lag = round(float(session["tuning_lag"].values[0]) / WIDTH)
    counts = np.concatenate([np.zeros(lag), recording.counts[: len(valid) - lag, 0]]) / WIDTH
    trial = tensor["trial"].values
    means = [[counts[valid & (trial == t)].mean() for t in range(k, 40, 2)] for k in range(2)]
    np.testing.assert_allclose(session["tuning_rate"].values[0], np.mean(means, axis=1))
    np.testing.assert_allclose(session["tuning_error"].values[0], np.std(means, axis=1, ddof=1) / np.sqrt(20))


def test_what_an_older_folder_has_is_kept():
    session, _ = describe(make_recording(wander(), lambda v: np.full(len(v), 10.0)))
    old = session.drop_vars([name for name in session if str(name).startswith("tuning")])
    filled = fill_session(old, session["channel"].values)
    assert filled["tuning_rate"].shape == (2, 0)
    xr.testing.assert_identical(filled["rate"], session["rate"])
    xr.testing.assert_identical(fill_session(session, session["channel"].values), session)
