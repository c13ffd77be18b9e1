"""Which channels are tuned and which add: against the slow twin, and on sessions with known truth."""

from __future__ import annotations

import numpy as np
import pytest
import reference_channels as reference

from neurofs.comparison import significance
from neurofs.comparison.shifts import Shifts, follow_order, have_order, plan_shifts
from neurofs.comparison.significance import (
    Q,
    add_norm,
    adjust,
    ask_adds,
    ask_tuned,
    find_channels,
    find_p,
    find_profiles,
    iterate_windows,
    whiten,
)
from neurofs.comparison.slow_time import course_of_trials, remove
from neurofs.experiments.reproduce.channel_sessions import make_session
from neurofs.experiments.reproduce.significance import cut
from neurofs.features.samples import Samples


def _session(n_bins: int = 240, n_channels: int = 5, n_lags: int = 3, seed: int = 0):
    """Return samples, targets and counts by window of a small session with a copy and channels with a trend."""
    rng = np.random.default_rng(seed)
    trend = np.linspace(0.2, 4.0, n_bins)[:, None] ** (np.arange(n_channels) >= 4)
    counts = rng.poisson(trend, (n_bins, n_channels)).astype(np.float32)
    target = np.column_stack([counts[:, 0] + rng.normal(size=n_bins), rng.normal(size=n_bins)])
    counts[:, 3] = counts[:, 0] + rng.poisson(0.5, n_bins)
    samples = Samples.from_counts(counts, n_lags)
    return samples, add_norm(target)[n_lags - 1 :], samples.unfold(np.arange(n_channels)).astype(float)


def _shift(n_rows: int, by_trial: bool) -> tuple[Shifts, np.ndarray, np.ndarray]:
    """Return some shifts, the same as rows (none first), and the columns that are given."""
    stretches = np.arange(n_rows) // 17 if by_trial else np.zeros(n_rows, int)
    shifts = plan_shifts(stretches, by_trial, np.random.default_rng(5).normal(size=(n_rows, 1)), 12)
    given = reference.cosines(n_rows, 10 if not by_trial else min(10, len(np.unique(stretches)) // 4))
    if by_trial:
        given = np.hstack([given, course_of_trials(stretches)])
    return shifts, np.stack([np.arange(n_rows), *(shifts.rows(k) for k in range(len(shifts)))]), given


@pytest.mark.parametrize("by_trial", [False, True])
@pytest.mark.parametrize("at_once", [significance.AT_ONCE, 1000])
def test_tuned_is_the_slow_twin(by_trial, at_once, monkeypatch):
    monkeypatch.setattr(significance, "AT_ONCE", at_once)
    samples, targets, windows = _session()
    shifts, rows, given = _shift(len(samples), by_trial)
    basis, _ = significance._list_given(shifts.stretches, by_trial)
    found = ask_tuned(samples, remove(basis, targets), basis, shifts)
    expected = np.array([reference.tuned(windows[:, :, c], targets, given, rows) for c in range(samples.n_channels)])
    assert np.allclose(found.strength, expected[:, 0])
    assert np.allclose(found.p, reference.p_values(expected, shifts.n_near)[0])


@pytest.mark.parametrize("by_trial", [False, True])
@pytest.mark.parametrize("at_once", [significance.AT_ONCE, 1000])
def test_adds_is_the_slow_twin(by_trial, at_once, monkeypatch):
    monkeypatch.setattr(significance, "AT_ONCE", at_once)
    samples, targets, windows = _session()
    shifts, rows, given = _shift(len(samples), by_trial)
    basis, _ = significance._list_given(shifts.stretches, by_trial)
    found = ask_adds(samples, remove(basis, targets), basis, shifts)
    assert found is not None
    expected = []
    for c in range(samples.n_channels):
        others = np.delete(windows, c, axis=2).reshape(len(windows), -1)
        before = given[:, :0] if by_trial else given[:, :3]
        expected.append(reference.adds(windows[:, :, c], others, targets, given, rows, before))
    assert np.allclose(found.strength, np.array(expected)[:, 0], rtol=1e-3, atol=1e-5)
    assert np.allclose(found.p, reference.p_values(np.array(expected), shifts.n_near)[0])


def test_profiles_are_the_slow_twin():
    samples, targets, windows = _session()
    _, _, given = _shift(len(samples), False)
    basis, _ = significance._list_given(np.zeros(len(samples), int), False)
    found = find_profiles(samples, remove(basis, targets), basis, np.array([0, 60, 120, 180]), seed=0)
    expected = np.array([reference.profile(windows[:, :, c], targets, given) for c in range(samples.n_channels)])
    assert np.allclose(found.r2, expected)
    assert (found.peak == expected.argmax(axis=1)).all()
    assert (found.low <= found.high).all()
    assert found.peak[0] == 2
    assert found.low[0] == found.high[0] == 2, "the newest bin, without doubt"


@pytest.mark.parametrize("near", [0, 1, 3])
def test_p_values_are_the_slow_twin(near):
    strength = np.random.default_rng(near).gamma(3.0, size=(4, 21)) * np.array([[1.0], [2.0], [0.1], [9.0]])
    strength[2, 0] = 3.0
    (each, strongest), (expected, expected_strongest) = find_p(strength, near), reference.p_values(strength, near)
    assert np.allclose(each, expected)
    assert strongest == expected_strongest


def test_no_channel_is_reported_where_the_strongest_is_nothing_special():
    strength = np.random.default_rng(0).uniform(1.0, 1.1, (40, 301))
    strength[:, :25] += 1.0  # with the target, and with 24 shifts of it, all channels are alike
    strength[0, 25:40] += 9.0  # with 15 others, one of them is stronger than that
    each, strongest = find_p(strength, 0)
    assert strongest > Q
    answer = significance._answer(strength, plan_shifts(np.arange(40).repeat(5), True, np.ones((200, 1)), 300))
    assert (significance.adjust(each) <= Q).any()
    assert not answer.found.any()


def test_a_channel_without_spikes_is_nothing():
    samples, targets, _ = _session()
    counts = samples.flat.reshape(-1, 5).copy()
    counts[:, 4] = 0
    found = find_channels(Samples.from_counts(counts, 3), targets, np.zeros(len(samples), int))
    assert found.tuned.p[4] == 1
    assert found.adds is not None
    assert found.adds.p[4] == 1
    assert np.isfinite(found.profiles.r2).all()
    assert found.tuned.found[0]


def test_exact_copies_are_tuned_and_add_nothing():
    samples, targets, _ = _session(600)
    counts = samples.flat.reshape(-1, 5).copy()
    counts[:, 3] = counts[:, 0]
    found = find_channels(Samples.from_counts(counts, 3), targets, np.zeros(len(samples), int))
    assert found.adds is not None
    assert found.tuned.found[[0, 3]].all()
    assert not found.adds.found[[0, 3]].any()


def test_where_none_is_tuned_none_adds(monkeypatch):
    rng = np.random.default_rng(0)
    samples = Samples.from_counts(rng.poisson(1.0, (300, 4)).astype(np.float32), 2)
    shifts = significance.plan_shifts(np.zeros(299, int), False, np.zeros((299, 1)), 20, 0)
    q = np.array([0.01, 0.2, 0.5, 0.02])
    monkeypatch.setattr(significance, "ask_adds", lambda *_: significance.Answer(q, q, q, shifts))
    for of_tuned, expected in ((0.3, [0.3, 0.3, 0.5, 0.3]), (0.015, [0.015, 0.2, 0.5, 0.02])):
        tuned = significance.Answer(q, q, np.array([1.0, of_tuned, 1.0, 1.0]), shifts)
        monkeypatch.setattr(significance, "ask_tuned", lambda *_, tuned=tuned: tuned)
        found = find_channels(samples, rng.normal(size=(299, 1)), np.zeros(299, int))
        assert found.adds.q.tolist() == expected


def test_too_many_channels_for_so_few_rows():
    samples = Samples.from_counts(np.random.default_rng(0).poisson(1.0, (100, 40)).astype(np.float32), 2)
    targets = np.random.default_rng(1).normal(size=(99, 1))
    found = find_channels(samples, targets, np.zeros(99, int))
    assert found.adds is None
    assert len(found.tuned.p) == 40


def test_the_same_seed_gives_the_same_answer():
    session = make_session("few trials", 3)
    first, second = (find_channels(*cut(session), seed=7) for _ in range(2))
    assert (first.tuned.p == second.tuned.p).all()
    assert (first.profiles.low == second.profiles.low).all()


def test_rates_are_adjusted_as_benjamini_and_hochberg_do():
    p = np.random.default_rng(0).random(30) ** 3
    order = np.sort(p)
    good = [k for k in range(30) if order[k] <= Q * (k + 1) / 30]
    assert set(np.flatnonzero(adjust(p) <= Q)) == set(np.argsort(p)[: good[-1] + 1])


def test_the_last_good_p_value_takes_all_smaller_ones_along():
    assert (adjust(np.array([0.06, 0.07, 0.08, 0.09])) <= Q).all()


def test_whitened_columns_keep_their_span():
    columns = np.random.default_rng(0).normal(size=(2, 30, 3))
    columns[1, :, 2] = columns[1, :, 0]
    white = whiten(columns)
    assert np.allclose(white[0].T @ white[0], np.eye(3))
    assert np.isclose(np.trace(white[1].T @ white[1]), 2)
    assert np.allclose(remove(white[1], columns[1]), 0, atol=1e-6)


def test_norm_only_of_several_outputs():
    values = np.array([[3.0, 4.0], [0.0, 1.0]])
    assert add_norm(values)[:, 2].tolist() == [5.0, 1.0]
    assert add_norm(values[:, :1]).shape == (2, 1)


def test_windows_come_channel_by_channel():
    samples, _, windows = _session()
    given = np.full((len(samples), 1), len(samples) ** -0.5)
    parts = list(iterate_windows(samples, given, 3))
    assert np.concatenate([channels for channels, _ in parts]).tolist() == [0, 1, 2, 3, 4]
    assert np.allclose(parts[0][1][1], (windows - windows.mean(axis=0))[:, :, 1])


# ---------------------------------------------------------------------------------------------------- shifts


def test_trials_in_random_order_are_permuted_and_sorted_ones_are_not():
    trials = np.repeat(np.arange(60), 4)
    labels = np.repeat(np.arange(60) // 10, 4).astype(float)[:, None]
    shuffled = np.random.default_rng(0).permutation(60).repeat(4).astype(float)[:, None]
    assert plan_shifts(trials, True, labels, 50).kind == "trials in order"
    assert plan_shifts(trials, True, shuffled, 50).kind == "trials"
    assert not have_order(np.zeros((240, 1)), trials, np.random.default_rng(0))


def test_order_of_trials_is_kept_forward_and_backward():
    shifts = plan_shifts(np.repeat(np.arange(60), 4), True, np.arange(240.0)[:, None], 50)
    steps = np.diff(shifts.steps, axis=1) % 60
    assert (steps == steps[:, :1]).all()
    assert set(steps[:, 0]) == {1, 59}
    for k in range(len(shifts)):
        assert (shifts.rows(k) % 4 == np.arange(240) % 4).all()


def test_trials_of_other_lengths_are_stretched():
    rows = follow_order(np.array([0, 0, 1, 1, 1, 1, 1, 1]), np.array([1, 0]))
    assert rows.tolist() == [3, 6, 0, 0, 0, 1, 1, 1]


# -------------------------------------------------------------------------------------------- known truth


@pytest.mark.parametrize("scenario", ["copies", "drift", "phase locked"])
def test_few_are_false_and_most_are_found(scenario):
    false, right, n_true = 0, 0, 0
    for seed in range(4):
        session = make_session(scenario, seed)
        found = find_channels(*cut(session)).tuned.found
        false += int((found & ~session.tuned).sum())
        right += int((found & session.tuned).sum())
        n_true += int(session.tuned.sum())
    assert false <= 0.2 * (false + right)
    assert right >= 0.7 * n_true


def test_a_copy_is_tuned_and_a_partner_adds():
    copies = [(s, find_channels(*cut(s))) for s in (make_session("copies", seed) for seed in range(3))]
    partners = [(s, find_channels(*cut(s))) for s in (make_session("partners", seed) for seed in range(3))]
    is_copy = [found.tuned.found[s.tuned & ~s.adds].mean() for s, found in copies]
    adds = [found.adds.found[s.tuned & ~s.adds].mean() for s, found in copies]
    assert np.mean(is_copy) > 0.7
    assert np.mean(adds) < 0.3
    assert np.mean([found.adds.found[s.adds & ~s.tuned].mean() for s, found in partners]) > 0.7
    assert np.mean([found.tuned.found[s.adds & ~s.tuned].mean() for s, found in partners]) < 0.3


def test_nothing_is_nothing():
    sessions = [make_session("nothing", seed) for seed in range(5)]
    assert sum(int(find_channels(*cut(s)).tuned.found.sum()) for s in sessions) <= 3
