"""Another day without its targets."""

import numpy as np
import pytest

import neurofs
from neurofs.comparison.other_day import score_session
from neurofs.decoders.adaptation import agree, correlate, find_adaptation, remember, sum_windows
from neurofs.recordings.choose import choose_part
from neurofs.recordings.simulate_days import STILL, Drift, simulate_days


def make_counts(seed, n=3000):
    """Counts of 12 channels that follow two slow signals, each in its own way."""
    rng = np.random.default_rng(seed)
    slow = np.apply_along_axis(np.convolve, 0, rng.normal(size=(n + 20, 2)), np.ones(21) / 5, "valid")
    tuning = np.random.default_rng(7).normal(size=(2, 12))
    return rng.poisson(np.exp(0.4 * slow @ tuning)).astype(np.float32)


VALID = np.arange(3000) >= 9


def adapt(counts, changed):
    memory, seen = remember(counts, VALID, 10), counts[VALID].astype(float)
    return find_adaptation(seen.mean(axis=0), seen.std(axis=0), memory, changed, VALID, 10)


def test_the_same_day_is_left_as_it_is():
    counts = make_counts(0)
    found = adapt(counts, counts)
    np.testing.assert_allclose(found(counts), counts, atol=1e-4)


def test_rate_and_spread_are_matched():
    counts, later = make_counts(0), make_counts(1)
    later[:, 3] = 2 * later[:, 3] + 1
    found = adapt(counts, later)
    corrected = found(later)[VALID]
    np.testing.assert_allclose(corrected.mean(axis=0), counts[VALID].mean(axis=0), atol=1e-3)
    np.testing.assert_allclose(corrected.std(axis=0), counts[VALID].std(axis=0), rtol=1e-3)
    assert (found.trust == 1).all()


def test_lost_and_changed_channels_are_not_trusted():
    counts, later = make_counts(0), make_counts(1)
    later[:, 2] = 0
    later[:, 5] = np.random.default_rng(3).permutation(later[:, 5])  # another unit of the same rate
    found = adapt(counts, later)
    assert found.trust[2] == 0
    assert found.trust[5] < 0.3
    assert (np.delete(found.trust, [2, 5]) > 0.9).all()
    np.testing.assert_allclose(found(later)[:, 2], counts[VALID][:, 2].mean(), rtol=1e-5)


def test_windows_and_agreement_by_hand():
    counts = np.arange(8, dtype=np.float32).reshape(4, 2)
    assert sum_windows(counts, np.array([False, True, False, True]), 2).tolist() == [[2, 4], [10, 12]]
    table = correlate(make_counts(0))
    np.testing.assert_allclose(table, np.corrcoef(make_counts(0).T), atol=1e-6)
    assert agree(table, table, np.ones(12, bool)) == pytest.approx(np.ones(12))
    np.testing.assert_allclose(agree(table, -table, np.ones(12, bool)), -1)


def test_days_drift_and_stand_still():
    still = simulate_days(2, 10, drift=STILL, random_state=1)
    columns = ["tuning", "preferred_direction", "base_rate", "kind"]
    assert still[0].channels[columns].equals(still[1].channels[columns])
    first, *later = simulate_days(3, 10, random_state=1)
    assert (later[1].channels["changed"] != "kept").sum() > (later[0].channels["changed"] != "kept").sum() > 0
    lost = later[0].channels["changed"] == "lost"
    assert all(len(later[0].spikes[i]) < len(first.spikes[i]) / 10 for i in np.flatnonzero(lost))


def test_adaptation_helps_a_drifting_day_and_takes_missing_channels():
    first, second = simulate_days(2, 60, drift=Drift(rate=0.4), random_state=50)
    model = neurofs.fit(first, "hand_velocity", decoder="ridge", n_lags=10, cross_validate=False)
    plain, adapted = (score_session(model, second, model.predict(second, adapt=a)).mean.mean for a in (False, True))
    assert adapted > plain + 0.01
    names = second.channels["name"].tolist()
    fewer = choose_part(second, neurofs.pipeline.LoadOptions(channels=names[2:]))
    found = model.predict(fewer, adapt=True)
    assert any("are not used, lost or changed" in note for note in found.attrs["notes"])
