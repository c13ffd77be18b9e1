"""The test of chance against loops that are plainly right, and what is said of its outcome."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

import neurofs
from neurofs.comparison.chance import ShiftTest, choose_shifted, compare_shifts, correct_outputs
from neurofs.comparison.headline import judge_chance
from neurofs.comparison.summary import Chance
from neurofs.recordings.recording import Recording, Series
from neurofs.report.verdict import judge


def slow_series(rng, n, width=15):
    return np.convolve(rng.normal(size=n + width - 1), np.ones(width), "valid")


def shift_samples_plainly(predicted, target, agree):
    """All shifts of a third of the samples, one after the other."""
    n, total = len(target) // 3, len(target)
    return [
        np.mean([agree(row[n : total - n], target[n + s : total - n + s]) for row in predicted])
        for s in range(-n, n + 1)
    ]


def shift_trials_plainly(predicted, target, trials, agree):
    """Each trial of the middle gets the target of another, at the same share of its duration."""
    names = list(dict.fromkeys(trials))
    rows = {name: np.flatnonzero(trials == name) for name in names}
    n, found = max(19, len(names) // 3), []
    for s in range(-n, n + 1):
        ours, theirs = [], []
        for i in range(n, len(names) - n):
            own, other = rows[names[i]], rows[names[i + s]]
            ours += list(own)
            theirs += [other[int((j + 0.5) / len(own) * len(other))] for j in range(len(own))]
        found.append(np.mean([agree(row[ours], target[theirs]) for row in predicted]))
    return found


def leave_course(values, trials):
    """What a regression on cosines of the time in the trial leaves, by least squares."""
    columns = [np.ones(len(values))]
    size = {name: (trials == name).sum() for name in trials}
    for order in range(1, 6):
        seen = dict.fromkeys(size, 0)
        rows = []
        for name in trials:
            since = seen[name] + 0.5
            seen[name] += 1
            rows.append([since / size[name], since / max(size.values()), (size[name] - since) / max(size.values())])
        columns += list(np.cos(np.pi * order * np.array(rows)).T)
    design = np.column_stack(columns)
    return values - design @ np.linalg.lstsq(design, values, rcond=1e-4)[0]


def correlation(a, b):
    return np.corrcoef(a, b)[0, 1]


def share_right(a, b):
    return np.mean(a == b)


@pytest.mark.parametrize("n", [60, 61, 62, 400])
def test_shifted_samples_equal_the_plain_loop(n):
    rng = np.random.default_rng(n)
    y = slow_series(rng, n) + 1000
    predicted = y + rng.normal(0, 5, (2, n))
    test, plain = compare_shifts(predicted, y), shift_samples_plainly(predicted, y, correlation)
    middle = len(plain) // 2
    assert test.real == pytest.approx(plain[middle])
    np.testing.assert_allclose(test.shifted, np.delete(plain, middle), atol=1e-9)
    np.testing.assert_array_equal(test.shifts, np.delete(np.arange(-(n // 3), n // 3 + 1), middle))


def test_shifted_classes_equal_the_plain_loop():
    rng = np.random.default_rng(0)
    y = np.repeat(rng.integers(0, 3, 40), 5)
    predicted = np.where(rng.random((1, 200)) < 0.6, y, rng.integers(0, 3, (1, 200)))
    plain = shift_samples_plainly(predicted, y, share_right)
    test = compare_shifts(predicted, y, classes=True)
    np.testing.assert_allclose(np.insert(test.shifted, len(plain) // 2, test.real), plain)


@pytest.mark.parametrize("classes", [False, True])
def test_shifted_trials_equal_the_plain_loop(classes):
    rng = np.random.default_rng(1)
    trials = np.repeat(rng.permutation(70), rng.integers(3, 9, 70))
    y = rng.integers(0, 4, len(trials)) if classes else slow_series(rng, len(trials))
    noise = rng.integers(0, 2, (2, len(trials))) if classes else rng.normal(0, 9, (2, len(trials)))
    test = compare_shifts(y + noise, y, trials, classes)
    left = [leave_course(values, trials) for values in (*(y + noise), y)] if not classes else [*(y + noise), y]
    plain = shift_trials_plainly(left[:-1], left[-1], trials, share_right if classes else correlation)
    np.testing.assert_allclose(np.insert(test.shifted, len(plain) // 2, test.real), plain)


def test_p_counts_no_shift_and_what_is_undefined():
    shifts = np.arange(40)
    assert ShiftTest(1.0, np.zeros(40), shifts).p == pytest.approx(1 / 21)
    assert ShiftTest(0.0, np.zeros(40), shifts).p == 1.0
    assert ShiftTest(np.nan, np.zeros(40), shifts).p == 1.0
    assert ShiftTest(1.0, np.r_[np.nan, np.zeros(39)], shifts).p == pytest.approx(2 / 21)


def test_a_target_that_is_constant_in_the_middle_is_not_beyond_chance():
    rng = np.random.default_rng(2)
    y = slow_series(rng, 600)
    y[150:450] = 1.1
    assert compare_shifts(y[None] + rng.normal(size=(1, 600)), y).p == 1.0


def test_the_first_output_of_the_correction_is_compared_with_all():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(3, 201))
    tests = [ShiftTest(row[0], row[1:], np.arange(200)) for row in values]
    z = (values - values[:, 1:].mean(axis=1, keepdims=True)) / values[:, 1:].std(axis=1, keepdims=True)
    first, second, third = np.argsort(-z[:, 0])
    p = correct_outputs(tests)
    expected = (1 + (z[:, 1:].max(axis=0) >= z[first, 0]).sum()) / 101
    assert p[first] == pytest.approx(min(1, expected))
    rest = (1 + (z[[second, third], 1:].max(axis=0) >= z[second, 0]).sum()) / 101
    assert p[second] == pytest.approx(min(1, max(expected, rest)))
    assert p[first] <= p[second] <= p[third]
    assert all(one >= min(1, test.p) - 1e-12 for one, test in zip(p, tests, strict=True))


@pytest.mark.parametrize("width", [1, 20, 100])
def test_false_alarms_are_rare_for_slow_series(width):
    """Predictions that know nothing of the target, both with memories of up to a sixth of the session."""
    rng = np.random.default_rng(4)
    p = [compare_shifts(slow_series(rng, 600, width)[None], slow_series(rng, 600, width)).p for _ in range(300)]
    assert np.mean(np.array(p) <= 0.05) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 300)


def test_what_all_trials_share_agrees_at_every_shift():
    rng = np.random.default_rng(5)
    trials = np.repeat(np.arange(90), 20)
    y = np.sin(np.tile(np.arange(20), 90) / 3) + 0.3 * rng.normal(size=1800)
    locked = np.sin(np.tile(np.arange(20), 90) / 3)[None] + 0.3 * rng.normal(size=(1, 1800))
    assert compare_shifts(locked, y).real > 0.8
    assert compare_shifts(locked, y, trials).p > 0.1
    assert compare_shifts(y[None] + rng.normal(size=(1, 1800)), y, trials).p == pytest.approx(1 / 31)


def make_test(output="x", **changes):
    about = {"method": "rgs", "output": output, "shifted": "samples", "n_shifts": 400, "farthest": 20.0, "real": 0.8}
    numbers = {"mean": 0.0, "high": 0.2, "p": 0.005, "p_corrected": 0.01, "beyond": True, "values": []}
    return Chance(**about | numbers | changes)


def test_words_about_chance_follow_the_tests():
    good, bad = make_test(), make_test("y", p=0.3, p_corrected=0.4, beyond=False)
    assert judge_chance([good, make_test("y")]).startswith("This is beyond chance")
    assert "target at other times (p ≤ 0.01)" in judge_chance([good])
    assert "targets of other trials" in judge_chance([make_test(shifted="trials")])
    some = judge_chance([good, bad])
    assert some.startswith(
        "x is decoded beyond chance (p ≤ 0.01); predictions of y do not agree with it clearly better"
    )
    assert some.endswith("do not read anything into weights for it.")
    assert judge_chance([bad]).startswith("This may be chance: predictions of y")
    assert "R² below 0" in judge_chance([make_test(beyond=False)])
    assert "does not vary" in judge_chance([make_test(real=None, p_corrected=1.0, beyond=False)])
    few = judge_chance([make_test(n_shifts=20, p=1 / 11, p_corrected=1 / 11, beyond=False)])
    assert "the least that so few shifts allow" in few


def make_session(rng, informative=(True, True), n=1200, n_trials=0):
    """Counts of twelve channels, each following one of two outputs, unless that is not to be known."""
    y = np.column_stack([slow_series(rng, n, 5), slow_series(rng, n, 5)]) / np.sqrt(5)
    drive = y * np.array(informative)
    counts = rng.poisson(np.exp(0.5 * np.repeat(drive, 6, axis=1)))
    time = (np.arange(n) + 0.5) * 0.1
    edges = np.linspace(0, n * 0.1, n_trials + 1).round(1)
    trials = pd.DataFrame({"start": edges[:-1], "stop": edges[1:]}) if n_trials else None
    return Recording(
        "toy", counts=counts, bin_width=0.1, behavior={"hand": Series("hand", time, y, ("x", "y"))}, trials=trials
    )


OPTIONS = {"n_lags": 2, "selectors": ["corrcoef"], "decoders": ["knn"], "sizes": [6, 24]}


def test_one_informative_output_is_told_from_the_other():
    found = neurofs.compare(make_session(np.random.default_rng(6), (True, False)), "hand", **OPTIONS).summary
    assert found.main == "corrcoef"
    assert [test.beyond for test in found.chance_of("corrcoef")] == [True, False]
    assert [test.beyond for test in found.chance_of("ridge")] == [True, False]
    said = " ".join(found.headline.sentences)
    assert "Correlation decodes hand:x with R² = 0." in said
    assert "; it is not shown to decode hand:y, R² = −0." in said
    assert "hand:x is decoded beyond chance" in said
    assert "do not read anything into weights for it" in said


def test_independent_spikes_are_not_beyond_chance():
    found = neurofs.compare(make_session(np.random.default_rng(7), (False, False)), "hand", **OPTIONS).summary
    assert not any(test.beyond for test in found.chance)
    said = " ".join(found.headline.sentences)
    assert "This may be chance" in said
    assert "decodes" not in said, "a word for what is beyond chance"
    assert "Correlation is not shown to decode hand:x, R² = −0." in said
    assert "Nor is the best rival" in said


def test_trials_are_shifted_where_there_are_enough():
    assert choose_shifted(np.repeat(np.arange(60), 4)) == "trials"
    found = neurofs.compare(make_session(np.random.default_rng(8), n_trials=60), "hand", **OPTIONS).summary
    assert {test.shifted for test in found.chance} == {"trials"}
    assert {test.n_shifts for test in found.chance} == {40}
    few = neurofs.compare(make_session(np.random.default_rng(8), n_trials=20), "hand", **OPTIONS).summary
    assert {test.shifted for test in few.chance} == {"samples"}
    limit = "With only 20 trials, it is not tested whether more is decoded than the course that all trials share."
    assert limit in few.headline.believe
    assert ("warn", limit) in [(said["kind"], said["text"]) for said in judge(few)], "the page says so, too"
    assert not any("it is not tested" in text for text in found.headline.believe)


def test_classes_that_are_never_mistaken_are_no_certainty():
    rng = np.random.default_rng(0)
    side, edges = rng.permutation(np.arange(20) % 2), np.arange(21) * 1.0
    counts = rng.poisson(0.2 + 9 * (np.repeat(side, 10)[:, None] == np.array([0, 0, 0, 1, 1, 1])))
    trials = pd.DataFrame({"start": edges[:-1], "stop": edges[1:], "side": np.where(side, "left", "right")})
    session = Recording("toy", counts=counts, bin_width=0.1, trials=trials)
    options = {"n_lags": 2, "selectors": ["infogain"], "decoders": ["knn"], "sizes": [6, 12]}
    summary = neurofs.compare(session, "side", **options).summary
    said = f"; always the most frequent class would give {max(np.bincount(side)) / 20:.3f}."
    assert next(text for text in summary.headline.how_well if text.startswith("Accuracy per trial: 1.000")).endswith(
        said
    )
    found = summary.by_method["infogain"]
    assert found.in_field.mean == found.pooled.accuracy.mean == 1
    for interval in (found.in_field, found.pooled.accuracy, found.pooled.balanced_accuracy):
        assert interval.low == pytest.approx(0.832, abs=0.001), "of 20 trials without a mistake"
        assert interval.high == 1


@pytest.mark.parametrize("folds", ["permuted", "shuffled"])
def test_folds_that_mix_in_time_are_not_tested(folds):
    session = make_session(np.random.default_rng(9))
    found = neurofs.compare(session, "hand", folds=folds, allow_leakage=True, **OPTIONS).summary
    assert found.chance == []
    assert found.session.kind == folds
    said = " ".join(found.headline.sentences)
    assert "decodes" not in said
    assert "was not tested against chance on hand:x, R² = 0." in said
    assert "Chance was not tested: neighbors in time" in said
    assert any("interpolation" in warning or "leak" in warning for warning in found.session.warnings)


def test_a_doubt_about_the_interval_is_said():
    session = make_session(np.random.default_rng(10))
    assert not any(
        "interval" in sentence for sentence in neurofs.compare(session, "hand", **OPTIONS).summary.headline.believe
    )
    hand = session.behavior["hand"]
    values = hand.values + 6 * (np.arange(len(hand.values)) // 240)[:, None] * np.array([1, 0])
    slow = dataclasses.replace(session, behavior={"hand": dataclasses.replace(hand, values=values)})
    found = neurofs.compare(slow, "hand", **OPTIONS).summary
    (doubt,) = found.session.doubts
    assert doubt.endswith("% of the variance of hand:x lies between folds, not inside them")
    assert f"The interval of R² may hold less often than 95 %: {doubt}." in found.headline.believe
    assert any(doubt in warning for warning in found.session.warnings)
