import hashlib

import numpy as np
import pytest
from scipy.stats import pearsonr

from neurofs.features.tensor import build_tensor
from neurofs.ground.errors import UsageError
from neurofs.recordings.demo import demo_path
from neurofs.recordings.readers import load
from neurofs.recordings.simulate import map_truth, simulate_session
from neurofs.recordings.writers import write


@pytest.fixture(scope="module")
def session():
    return simulate_session(150, drift=0.0, bursts=False, random_state=11)


def test_channels_are_as_published(session):
    kinds = session.channels["kind"].value_counts()
    assert kinds.to_dict() == {"isolated": 32, "threshold": 16, "unused": 16}
    assert (session.channels["electrode"].value_counts() == 4).all()
    tuning = session.channels.loc[session.channels["kind"] == "isolated", "tuning"].value_counts()
    assert tuning.to_dict() == {"cosine": 13, "none": 6, "speed": 5, "product": 4, "state": 4}
    lags = session.channels["tuning_lag"].dropna()
    assert lags.between(-0.1, 0.4).all()
    unused = session.spike_counts[session.channels["kind"] == "unused"]
    assert (unused == 0).sum() >= 8
    assert (unused > 0).sum() >= 1
    assert unused.max() < 20


def test_trials_hold_move_and_hold(session):
    t = session.trials
    assert sorted(t["direction"].unique()) == [0, 45, 90, 135, 180, 225, 270, 315]
    assert ((t["start"] < t["move_onset"]) & (t["move_onset"] < t["move_end"]) & (t["move_end"] < t["stop"])).all()
    velocity = session.behavior["hand_velocity"]
    for trial in t.itertuples():
        moving = (velocity.time > trial.move_onset) & (velocity.time < trial.move_end)
        still = (velocity.time > trial.start) & (velocity.time < trial.move_onset)
        assert np.abs(velocity.values[still]).max() == 0
        path = velocity.values[moving].sum(axis=0) * 0.01
        angle = np.rad2deg(np.arctan2(path[1], path[0])) % 360
        assert abs((angle - trial.direction + 180) % 360 - 180) < 15
        assert 6 < np.hypot(*path) < 10


def test_velocity_is_the_derivative_of_position(session):
    position, velocity = session.behavior["hand_position"], session.behavior["hand_velocity"]
    slope = np.gradient(position.values, 0.01, axis=0)
    np.testing.assert_allclose(slope[5:-5], velocity.values[5:-5], atol=0.6)


def best_lag(session, row, signal):
    """The lag, in steps of 10 ms, at which the spikes of a channel follow a signal best."""
    counts = np.histogram(session.spikes[row], np.arange(0, session.duration + 0.005, 0.01))[0][: len(signal)]
    counts = np.convolve(counts, np.ones(5), "same")
    shifts = np.arange(-20, 61)
    scores = [abs(pearsonr(counts[100:-100], np.roll(signal, -s)[100:-100])[0]) for s in shifts]
    return shifts[int(np.argmax(scores))] * 0.01, max(scores)


def test_units_follow_the_movement_at_their_lag(session):
    velocity = session.behavior["hand_velocity"].values
    tuned = session.channels[(session.channels["presence"] == 1) & session.channels["tuning"].isin(["cosine", "speed"])]
    for row, unit in tuned.iterrows():
        angle = np.deg2rad(unit["preferred_direction"])
        direction = np.array([np.cos(angle), np.sin(angle)])
        signal = np.hypot(*velocity.T) if unit["tuning"] == "speed" else velocity @ direction
        lag, score = best_lag(session, row, signal)
        assert abs(lag - unit["tuning_lag"]) <= 0.07, unit["name"]
        assert score > 0.15


def test_product_units_say_nothing_alone_and_much_with_their_partner(session):
    tensor = build_tensor(session, "hand_velocity", n_lags=6, bin_width=0.1)
    counts, velocity = tensor["counts"].values.astype(float), tensor["target"].values
    for row, unit in session.channels[session.channels["tuning"] == "product"].iterrows():
        angle = np.deg2rad(unit["preferred_direction"])
        along = velocity @ np.array([np.cos(angle), np.sin(angle)])
        shift = round(unit["tuning_lag"] * 10)
        later = np.roll(along, -shift)[10:-10]
        mine, partner = counts[10:-10, row], counts[10:-10, unit["partner"]]
        together = (mine - mine.mean()) * (partner - partner.mean())
        assert abs(pearsonr(mine, later)[0]) < 0.12
        assert abs(pearsonr(partner, later)[0]) < 0.12
        assert pearsonr(together, later)[0] > 0.15


def test_truth_marks_the_bins_around_the_lag(session):
    lags = np.arange(10) * 0.1
    truth = map_truth(session, lags, 0.1)
    for row, unit in session.channels.iterrows():
        expected = [unit["tuning"] != "none" and abs(lag - unit["tuning_lag"]) < 0.1 - 1e-9 for lag in lags]
        assert truth.values[row].tolist() == expected
    assert 30 < int(truth.sum()) < 60


def test_noise_sessions_have_no_truth():
    assert not map_truth(simulate_session(4, noise=True), np.arange(10) * 0.1, 0.1).any()


def test_the_same_seed_gives_the_same_session_and_another_does_not():
    one, two, other = (simulate_session(5, random_state=seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(one.spikes, two.spikes, strict=True))
    assert one.n_spikes != other.n_spikes


@pytest.mark.parametrize(
    "settings", [{"n_trials": 0}, {"n_trials": 10**11}, {"random_state": -1}, {"drift": np.nan}, {"drift": 1e300}]
)
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(UsageError, match="simulate: expected"):
        simulate_session(**{"n_trials": 2, **settings})


def test_unknown_endings_are_refused():
    with pytest.raises(UsageError, match=r"expected one of the endings \.nwb, \.npz, \.h5"):
        write(simulate_session(2), "session.txt")


def test_writing_fails_cleanly(tmp_path):
    with pytest.raises(UsageError, match="cannot be written"):
        write(simulate_session(2), tmp_path / "missing" / "session.nwb")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".nwb", ".npz", ".h5"])
def test_files_are_the_same_to_the_byte(tmp_path, suffix):
    digests = set()
    for i in range(2):
        path = write(simulate_session(3, name="s"), tmp_path / f"{i}{suffix}")
        digests.add(hashlib.sha256(path.read_bytes()).hexdigest())
    assert len(digests) == 1


def test_the_demo_is_what_its_command_writes(tmp_path):
    again = write(simulate_session(80, name="demo", random_state=2005), tmp_path / "demo.nwb")
    assert again.read_bytes() == demo_path().read_bytes()
    assert demo_path().stat().st_size < 2_000_000
    assert load(demo_path()).n_channels == 64
