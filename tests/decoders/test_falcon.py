"""The benchmark's own evaluator (package falcon-challenge, which needs torch) decodes files of its layout."""

from datetime import UTC, datetime

import numpy as np
import pytest

import neurofs
from neurofs.comparison.scores import r_squared
from neurofs.decoders.falcon import FalconDecoder
from neurofs.recordings.simulate import simulate_session

BIN_WIDTH = 0.02


def write_m2(recording, path):
    """Write a session as the benchmark has those of its task M2: units, velocities and a mask, in bins of 20 ms."""
    pynwb = pytest.importorskip("pynwb")
    file = pynwb.NWBFile("simulated", path.stem, datetime(2026, 1, 1, tzinfo=UTC))
    for spikes in recording.spikes:
        file.add_unit(spike_times=spikes + 1e-7)  # no spike lies on the edge of two bins, where rounding decides
    start, stop = recording.observed[0]
    times = np.arange(start, stop - BIN_WIDTH, BIN_WIDTH)  # the starts of bins
    hand = recording.behavior["hand_velocity"]
    velocity = pynwb.behavior.BehavioralTimeSeries(name="finger_vel")
    for column, name in enumerate(("index", "mrs")):
        values = np.interp(times + BIN_WIDTH / 2, hand.time, hand.values[:, column])
        velocity.add_timeseries(pynwb.TimeSeries(name=name, data=values, unit="m/s", timestamps=times))
    file.add_acquisition(velocity)
    mask = np.ones(len(times), bool)
    file.add_acquisition(pynwb.TimeSeries(name="eval_mask", data=mask, unit="bool", timestamps=times))
    file.add_trial(start_time=float(start), stop_time=float(stop))
    with pynwb.NWBHDF5IO(str(path), "w") as io:
        io.write(file)
    return times


def test_the_evaluator_of_the_package_gets_what_predict_says(tmp_path):
    evaluator = pytest.importorskip("falcon_challenge.evaluator", reason="needs falcon-challenge, which needs torch")
    day = simulate_session(100, n_electrodes=24, random_state=3)
    model = neurofs.fit(day, "hand_velocity", decoder="ridge", bin_width=BIN_WIDTH, n_lags=8, cross_validate=False)
    path = tmp_path / "sub-MonkeyNRun1_20201019_held_in_minival.nwb"
    times = write_m2(day, path)
    falcon = evaluator.FalconEvaluator(split="m2", dataloader_workers=0)
    assert falcon.cfg.n_channels == day.n_channels
    decoded, true, mask, _, _ = falcon.predict_files(FalconDecoder(model), [path])
    (found,) = decoded.values()
    expected = model.predict(day)
    rows = np.searchsorted(times, expected["time"].values - BIN_WIDTH / 2)
    there = rows < len(times)
    assert there.sum() >= len(there) - 1
    np.testing.assert_allclose(found[rows[there]], expected["predicted"].values[there], atol=1e-6)
    (kinematics,), (counted,) = true.values(), mask.values()
    assert counted.all()
    assert r_squared(kinematics, found, axis=0).mean() > 0.1
