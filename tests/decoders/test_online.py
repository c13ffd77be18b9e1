"""Bin by bin: the same estimates as for a whole session, whatever happens to the bins."""

import tracemalloc

import numpy as np
import pytest

import neurofs
from neurofs.decoders import DECODERS
from neurofs.decoders.online import RESTART, Latencies, OnlineDecoder
from neurofs.features.tensor import build_tensor
from neurofs.recordings.simulate import simulate_session


@pytest.fixture(scope="module")
def days():
    return [simulate_session(14, n_electrodes=2, random_state=seed) for seed in (1, 2)]


def fit(day, name, **options):
    kind = DECODERS[name]
    target = "direction" if kind.target == "classes" else "hand_velocity"
    selector = "corrcoef" if name == "auto" else None
    settings = {"decoder": name, "selector": selector, "cross_validate": False, "n_lags": 3} | options
    return neurofs.fit(day, target, **settings)


def replay(model, day):
    """Feed the bins of a session; return the number of the target's bin with its estimate and deviation."""
    binning = model.head.binning
    tensor = build_tensor(day, None, bin_width=binning.bin_width, n_lags=1)
    decoder, found = OnlineDecoder(model), {}
    decoder.warm_up()
    for bin_ in np.flatnonzero(tensor["valid"].values):
        estimate, deviation = decoder.feed(bin_, tensor["counts"].values[bin_], int(tensor["trial"].values[bin_]))
        if estimate is not None:
            found[decoder.target_bin] = estimate, deviation
    return tensor, found


def check_same(model, day):
    tensor, found = replay(model, day)
    expected = model.predict(day)
    bins = np.searchsorted(tensor["time"].values, expected["time"].values)
    scale = 1.0 if model.head.classes else expected["predicted"].values.std()
    got = np.array([found[b][0] for b in bins])
    assert np.abs(got - expected["predicted"].values).max() <= 1e-6 * scale
    if "sd" in expected and np.isfinite(expected["sd"]).all():
        np.testing.assert_allclose([found[b][1] for b in bins], expected["sd"].values, rtol=1e-5)
    return len(found), len(bins)


@pytest.mark.parametrize("name", DECODERS.own)
def test_a_session_bin_by_bin_equals_the_whole_session(name, days):
    n_online, n_whole = check_same(fit(days[0], name), days[1])
    assert n_online == n_whole


@pytest.mark.parametrize("name", ["knn", "local-linear", "kernel-ridge", "average", "svr", "kalman"])
def test_feature_weights_of_all_sizes_change_nothing_about_it(name, days):
    check_same(fit(days[0], name, selector="rgs"), days[1])


@pytest.mark.parametrize(
    "options",
    [
        {"sqrt": True, "smooth": 0.15},
        {"lead": 0.2},
        {"lead": -0.4},
        {"step": 0.2},
        {"bin_width": 0.05, "n_lags": 5},
        {"trials": False},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["ridge", "kalman"])
def test_binning_is_that_of_the_model(name, options, days):
    day = days[1]
    if options.get("trials") is False:
        day = neurofs.Recording("one stretch", spikes=day.spikes, behavior=day.behavior, channels=day.channels,
                                observed=[[0, 9.95], [12.0, day.span[1]]])  # fmt: skip
    check_same(fit(days[0], name, **options), day)


def test_bins_that_stall_repeat_skip_or_come_late_are_counted(days):
    model = fit(days[0], "kalman")
    counts = np.random.default_rng(0).poisson(1.0, size=(60, 8))
    decoder, found = OnlineDecoder(model), {}
    order = [*range(20), 19, 19, *range(25, 40), 30, 41, 40, *range(42, 60)]
    for n in order:
        estimate, _ = decoder.feed(n, counts[n])
        if estimate is not None:
            found[n] = estimate
    assert vars(decoder.counted) == {"bins": 54, "estimates": 48, "missing": 6, "repeated": 2, "late": 2, "resets": 2,
                                     "restarts": 0}  # fmt: skip
    assert sorted(found) == [*range(2, 20), *range(27, 40), *range(43, 60)]
    for first, last in ((0, 20), (25, 40), (41, 60)):  # each stretch as if it had come alone
        alone = OnlineDecoder(model)
        for n in range(first, last):
            estimate, _ = alone.step(counts[n])
            if estimate is not None:
                np.testing.assert_array_equal(estimate, found[n])


def test_numbers_that_begin_anew_are_followed_after_a_while(days):
    decoder = OnlineDecoder(fit(days[0], "ridge"))
    for n in [*range(30), 2**40]:  # a number that was garbled on its way
        decoder.feed(n, np.ones(8))
    given = [decoder.feed(n, np.ones(8))[0] is not None for n in range(31, 61)]
    assert given == [False] * (RESTART - 1) + [False, False] + [True] * (30 - RESTART - 1)
    assert decoder.bin == 60
    assert (decoder.counted.restarts, decoder.counted.late) == (1, RESTART - 1)


def test_another_trial_begins_a_new_window(days):
    decoder = OnlineDecoder(fit(days[0], "ridge"))
    given = [decoder.feed(n, np.ones(8), trial=n // 5)[0] is not None for n in range(10)]
    assert given == [False, False, True, True, True] * 2
    assert decoder.counted.resets == 1


def test_memory_does_not_grow(days):
    decoder, rng = OnlineDecoder(fit(days[0], "knn")), np.random.default_rng(0)
    decoder.warm_up()
    bins = rng.poisson(1.0, size=(100, 8)).astype(np.float32)
    tracemalloc.start()
    for counts in bins:
        decoder.step(counts)
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(20):
        for counts in bins:
            decoder.step(counts)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 2000


def test_counts_of_another_size_are_refused(days):
    with pytest.raises(ValueError, match="one number per channel"):
        OnlineDecoder(fit(days[0], "ridge")).step(np.ones(7))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0])
def test_what_no_bin_holds_is_refused_and_changes_nothing(bad, days):
    model = fit(days[0], "kalman")
    counts = np.random.default_rng(0).poisson(1.0, size=(8, 8)).astype(float)
    spoiled, untouched = OnlineDecoder(model), OnlineDecoder(model)
    for n, bins in enumerate(counts):
        if n == 5:
            with pytest.raises(ValueError, match="counts must be finite and at least 0"):
                spoiled.step(np.where(np.arange(8) == 3, bad, bins))
        np.testing.assert_array_equal(spoiled.step(bins)[0], untouched.step(bins)[0])
    assert spoiled.counted == untouched.counted


def test_latencies_are_those_of_the_sorted_times():
    times, latencies = np.random.default_rng(0).lognormal(13, 1, 5000).astype(int), Latencies()
    for ns in times:
        latencies.add(int(ns))
    found = latencies.summarize()
    assert found["largest_ms"] == times.max() / 1e6
    np.testing.assert_allclose(found["median_ms"], np.median(times) / 1e6, rtol=0.02)
    np.testing.assert_allclose(found["p99_ms"], np.quantile(times, 0.99) / 1e6, rtol=0.05)
