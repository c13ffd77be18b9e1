"""Another day without its targets."""

import numpy as np
import pytest

import neurofs
from neurofs.comparison.other_day import score_session
from neurofs.decoders.adaptation import agree, correlate, find_adaptation, find_errors, remember, sum_windows
from neurofs.recordings.choose import choose_part
from neurofs.recordings.simulate_days import STILL, Drift, simulate_days


def make_counts(seed, n=3000):
    """Counts of 12 channels that follow two slow signals, each in its own way."""
    rng = np.random.default_rng(seed)
    slow = np.apply_along_axis(np.convolve, 0, rng.normal(size=(n + 20, 2)), np.ones(21) / 5, "valid")
    tuning = np.random.default_rng(7).normal(size=(2, 12))
    return rng.poisson(np.exp(0.4 * slow @ tuning)).astype(np.float32)


VALID = np.arange(3000) >= 9


def counts_of(counts):
    return counts[VALID].astype(float)


def adapt(counts, changed):
    memory, seen = remember(counts, VALID, 10), counts[VALID].astype(float)
    return find_adaptation(seen.mean(axis=0), seen.std(axis=0), memory, changed, VALID, 10)


def test_the_same_day_is_left_as_it_is():
    counts = make_counts(0)
    found = adapt(counts, counts)
    np.testing.assert_allclose(found(counts), counts, atol=1e-4)


def test_rate_and_spread_are_matched():
    """Where most channels have changed by far more than chance, nearly all of the change is taken back."""
    counts, later = make_counts(0), 2 * make_counts(1) + 1
    found = adapt(counts, later)
    corrected, moved = found(later)[VALID], later[VALID].mean(axis=0) - counts[VALID].mean(axis=0)
    assert (np.abs(corrected.mean(axis=0) - counts[VALID].mean(axis=0)) < 0.2 * moved).all()
    np.testing.assert_allclose(corrected.std(axis=0), counts[VALID].std(axis=0), rtol=0.2)
    assert (found.trust == 1).all()


def test_a_change_by_chance_is_left_alone():
    counts, later = make_counts(0), make_counts(1)
    found = adapt(counts, later)
    raw, left = (values[VALID].mean(axis=0) - counts[VALID].mean(axis=0) for values in (later, found(later)))
    assert np.abs(raw).max() > 0.05
    assert (np.abs(left) > 0.6 * np.abs(raw)).all()  # matching all of it would leave nothing


def test_one_channel_that_clearly_changed_is_corrected_alone():
    counts, later = make_counts(0), make_counts(1)
    later[:, 3] = 2 * later[:, 3] + 1
    corrected = adapt(counts, later)(later)[VALID]
    assert abs(corrected[:, 3].mean() - counts[VALID, 3].mean()) < 0.2 * (later[VALID, 3] - counts[VALID, 3]).mean()
    np.testing.assert_allclose(corrected[:, 3].std(), counts[VALID, 3].std(), rtol=0.25)


def test_changes_are_kept_as_the_formula_says():
    mean, sd = counts_of(make_counts(0)).mean(axis=0), counts_of(make_counts(0)).std(axis=0)
    memory, now = remember(make_counts(0), VALID, 10), counts_of(make_counts(1))
    z2 = (now.mean(axis=0) - mean) ** 2 / (memory.mean_error**2 + find_errors(now)[0] ** 2)
    t = max(0.0, np.mean(np.minimum(z2, 9)) - 1.5)
    kept = np.maximum(t / (t + 1.5), 1 - 16 / np.maximum(z2, 16))
    found = find_adaptation(mean, sd, memory, make_counts(1), VALID, 10)
    assert found.drift == pytest.approx(t / (t + 1.5))
    expected = mean + found.gain * (now.mean(axis=0) - mean - kept * (now.mean(axis=0) - mean))
    np.testing.assert_allclose(found.offset + found.gain * now.mean(axis=0), expected)


def test_errors_are_those_of_many_days():
    """Standard errors of a day are, on average, how far means and spreads of such days lie apart."""
    days = [counts_of(make_counts(seed)) for seed in range(40)]
    apart = [np.std([day.mean(axis=0) for day in days], axis=0), np.std([np.log(d.std(axis=0)) for d in days], axis=0)]
    told = np.mean([find_errors(day) for day in days], axis=0)
    assert (told > 0.6 * np.array(apart)).all()
    assert (told < 1.5 * np.array(apart)).all()


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
    assert any("not used, since lost or changed" in note for note in found.attrs["notes"])
