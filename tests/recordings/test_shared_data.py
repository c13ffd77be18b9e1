"""The three real recordings: what inspect says of them, and tensors against plain computations."""

import json

import h5py
import numpy as np
import pytest
import scipy.io
from click.testing import CliRunner

from neurofs.commands.main import main
from neurofs.features.tensor import build_tensor, to_samples
from neurofs.recordings.readers import load

pytestmark = pytest.mark.shared_data


def inspect(path):
    result = CliRunner().invoke(main, ["inspect", str(path), "--json"])
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def windows_within(trial, n_lags):
    """Count by hand the bins whose window of `n_lags` bins lies in one trial."""
    return sum(
        trial[t] >= 0 and all(trial[t - back] == trial[t] for back in range(n_lags))
        for t in range(n_lags - 1, len(trial))
    )


def test_inspect_stevenson(shared_data):
    report = inspect(shared_data / "stevenson2011_m1.mat")
    assert report["kind"] == "counts in 0.05 s bins"
    assert report["channels"]["n"] == 196
    assert report["channels"]["n_spikes"] == 2353564
    assert report["channels"]["silent"] == ["122"]
    assert len(report["channels"]["rare"]) == 36
    assert report["trials"]["n"] == 180
    assert report["duration"] == pytest.approx(15536 * 0.05)
    assert report["decode"]["options"] == {"target": ["handVel:x", "handVel:y"]}
    assert any("constant in z" in warning for warning in report["warnings"])


def test_tensor_of_stevenson(shared_data):
    raw = scipy.io.loadmat(shared_data / "stevenson2011_m1.mat")
    r = load(shared_data / "stevenson2011_m1.mat", trials=False)
    tensor = build_tensor(r, ["handVel:x", "handVel:y"], bin_width=0.1, n_lags=10)
    assert tensor["features"].shape == (7768, 196, 10)
    assert tensor["counts"].values.sum() == 2353564
    pairs = raw["spikes"].reshape(196, 7768, 2).sum(axis=2).T
    np.testing.assert_array_equal(tensor["counts"], pairs)
    np.testing.assert_allclose(tensor["target"], raw["handVel"][:2].reshape(2, 7768, 2).mean(axis=2).T)
    assert tensor["time"].values[0] == pytest.approx(12.591)
    assert int(tensor["valid"].sum()) == 7768 - 9
    np.testing.assert_array_equal(tensor["features"][100, 5], pairs[91:101, 5][::-1])


def test_trials_of_stevenson(shared_data):
    raw = scipy.io.loadmat(shared_data / "stevenson2011_m1.mat")
    tensor = build_tensor(load(shared_data / "stevenson2011_m1.mat"), "handVel:x", bin_width=0.05, n_lags=10)
    starts = raw["startBins"].ravel().astype(int) - 1  # MATLAB counts from 1
    trial = np.searchsorted(starts, np.arange(15536), side="right") - 1
    np.testing.assert_array_equal(tensor["trial"], trial)
    assert starts[0] == 34
    assert int(tensor["valid"].sum()) == windows_within(trial, 10) == 13882


def test_inspect_chewie(shared_data):
    report = inspect(shared_data / "chewie_20131003_m1.npz")
    assert report["channels"]["n"] == 174
    assert report["channels"]["n_spikes"] == 81154
    assert len(report["channels"]["silent"]) == 11
    assert report["trials"]["n"] == 159
    assert report["trials"]["conditions"]["direction"] == 8
    assert report["decode"]["options"] == {"target": ["hand_velocity"], "n_lags": 3}
    assert any("row number times the bin width" in note for note in report["notes"])


def test_tensor_of_chewie(shared_data):
    raw = np.load(shared_data / "chewie_20131003_m1.npz")
    r = load(shared_data / "chewie_20131003_m1.npz")
    tensor = build_tensor(r, "hand_velocity", n_lags=3)
    assert tensor["features"].shape == (1640, 174, 3)
    np.testing.assert_array_equal(tensor["counts"], raw["counts"])
    np.testing.assert_allclose(tensor["target"], raw["hand_velocity"])
    assert int(tensor["valid"].sum()) == windows_within(raw["trial"], 3) == 1640 - 2 * 159
    samples = np.asarray(to_samples(tensor).samples)
    np.testing.assert_array_equal(samples[0], raw["counts"][:3].ravel())
    first_of_second = int(np.argmax(raw["trial"] == 1))
    row = int(np.sum(tensor["valid"].values[: first_of_second + 2]))
    np.testing.assert_array_equal(samples[row], raw["counts"][first_of_second : first_of_second + 3].ravel())


def test_inspect_a2929(shared_data):
    report = inspect(shared_data / "a2929_head_direction.nwb")
    assert report["channels"]["n"] == 15
    assert report["channels"]["n_spikes"] == 98794
    assert [s["name"] for s in report["behavior"] if s["circular"]] == ["rx", "ry", "rz"]
    assert report["trials"]["n"] == 0
    assert report["decode"]["options"] == {"target": ["ry"]}


def test_tensor_of_a2929(shared_data):
    with h5py.File(shared_data / "a2929_head_direction.nwb") as file:
        times = np.split(file["units/spike_times"][()], file["units/spike_times_index"][()][:-1])
        angle = file["acquisition/CompassDirection/ry/data"][()]
        stamps = file["acquisition/CompassDirection/ry/timestamps"][()]
    origin = min(t[0] for t in times)
    tensor = build_tensor(load(shared_data / "a2929_head_direction.nwb"), "ry", n_lags=10)
    assert tensor["features"].shape == (12000, 15, 10)
    assert tensor["counts"].values.sum() == 98794
    assert tensor["output"].values.tolist() == ["cos(ry)", "sin(ry)"]
    expected = np.bincount(np.floor((times[3] - origin) / 0.1 + 1e-9).astype(int), minlength=12000)
    np.testing.assert_array_equal(tensor["counts"][:, 3], expected)
    for t in (7000, 8123, 11990):
        inside = (stamps >= origin + 0.1 * t) & (stamps < origin + 0.1 * (t + 1))
        mean = [np.cos(angle[inside]).mean(), np.sin(angle[inside]).mean()]
        np.testing.assert_allclose(tensor["target"][t], mean)
    covered = tensor["time"].values[tensor["valid"].values]
    assert covered[0] > stamps[0] - 0.1
    assert len(covered) == pytest.approx((stamps[-1] - stamps[0]) / 0.1, abs=15)
