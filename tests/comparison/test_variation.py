"""Variations: cases on the same folds, statistics that hold the truth, and folders that go on where they stopped."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from areas import LEADS, make_areas

import neurofs
from neurofs.comparison.cases import make_cases, make_problems, match_rows
from neurofs.comparison.stats import compare_paired
from neurofs.comparison.variation import by_place, fit_power_law, read_variation
from neurofs.ground.config import RunOptions
from neurofs.ground.errors import InputError, UsageError
from neurofs.recordings.sorting import take_channels
from neurofs.running.events import read_events
from neurofs.running.executors import Processes, Serial
from neurofs.running.varying import run_variation

BASE = RunOptions(target=("hand",), bin_width=0.1, n_lags=3)


def problems_of(by, values=(), options=BASE, trials=False):
    session = make_areas(0, trials=trials)
    cases = make_cases(session, options, by, values)
    return cases, make_problems(cases)


@pytest.mark.parametrize(("by", "values"), [("lead", (-0.3, 0, 0.3)), ("n_lags", (1, 8)), ("area", ())])
def test_all_cases_test_the_same_moments(by, values):
    _, problems = problems_of(by, values)
    for problem in problems[1:]:
        np.testing.assert_array_equal(problem.time, problems[0].time)
        np.testing.assert_array_equal(problem.targets, problems[0].targets)
        for fold, first in zip(problem.folds, problems[0].folds, strict=True):
            np.testing.assert_array_equal(fold.test, first.test)
            assert fold.n_overlaps == 0


def test_bins_of_other_widths_test_the_same_stretches():
    _, (narrow, wide) = problems_of("bin_width", (0.1, 0.3))
    for a, b in zip(narrow.folds, wide.folds, strict=True):
        for end in (0, -1):
            assert abs(narrow.time[a.test[end]] - wide.time[b.test[end]]) < 1.0
    assert wide.samples.n_lags == 1  # the same seconds


def test_no_common_sample_is_one_line():
    session = make_areas(0, n_bins=120)
    with pytest.raises(UsageError, match="no sample exists for all of these values"):
        make_problems(make_cases(session, BASE, "lead", [-8, 8]))


def test_groups_are_the_channels_of_the_table():
    cases, _ = problems_of("area")
    assert [case.label for case in cases] == ["all", "M1", "all but M1", "S1", "all but S1"]
    assert set(cases[1].recording.channels["area"]) == {"M1"}
    assert set(cases[2].recording.channels["area"]) == {"S1"}


def test_groups_may_be_numbers():
    session = make_areas(0)
    numbered = replace(session, channels=session.channels.assign(electrode=[1, 2] * 5))
    assert [case.label for case in make_cases(numbered, BASE, "electrode", ["2"])] == ["all", "2", "all but 2"]


def test_channels_without_a_group_are_in_none():
    session = make_areas(0, n_bins=300)
    areas = ["M1", "M1", "S1", None, "", "S1", "all", np.nan, "S1", "S1"]
    odd = replace(session, channels=session.channels.assign(area=areas))
    found = neurofs.vary(odd, "hand", by="area", bin_width=0.1, n_lags=1, n_splits=3)
    sizes = found.table.set_index("label")["n_channels"]
    assert dict(sizes) == {
        "all": 10, "M1": 2, "all but M1": 8, "S1": 4, "all but S1": 6, "area all": 1, "all but area all": 9,
    }  # fmt: skip
    assert "3 of all channels are in none of these groups" in found.sentences[0]
    assert "area all alone (1 channel)" in found.sentences[0]
    for column in (["M1"] * 10, [None] * 10):
        one = replace(session, channels=session.channels.assign(area=column))
        with pytest.raises(UsageError, match="by: "):
            neurofs.vary(one, "hand", by="area", bin_width=0.1, n_lags=1)


@pytest.mark.slow
def test_few_channels_of_an_area_may_suffice():
    session = make_areas(0, n_bins=300)
    part = take_channels(session, np.arange(10) % 5 < 3)
    keys = {"bin_width": 0.1, "n_lags": 1, "n_splits": 2}
    found = neurofs.vary(part, "hand", by="area", methods="kernel-rgs-sparse", **keys)
    kept = found.table.set_index("label")
    assert (kept["n_kept_low"] <= kept["n_kept"]).all()
    assert (kept["n_kept_high"] <= kept["n_channels"]).all()
    assert "nearly suffice" in found.sentences[0]


def test_silent_channels_are_no_data():
    session = make_areas(0, n_bins=300)
    counts = np.array(session.counts)
    counts[:, [0, 5, 6, 7, 8, 9]] = 0
    quiet = replace(session, counts=counts)
    with pytest.raises(UsageError, match="by: no channel but those of 'M1' has a spike"):
        make_cases(quiet, BASE, "area")
    cases = make_cases(quiet, BASE, "channels")
    assert sorted({case.value for case in cases}) == [1, 2, 4]
    assert all(case.recording.counts.any(axis=0).all() for case in cases)
    with pytest.raises(UsageError, match="expected amounts from 4 and up to 16"):
        make_cases(make_areas(0, trials=True), BASE, "trials", [1, 8])


def test_amounts_thin_the_training_part_alone():
    cases, problems = problems_of("minutes", (0.2, 0.5))
    whole = make_problems(make_cases(make_areas(0), BASE, "area"))[0]
    for case, problem in zip(cases, problems, strict=True):
        for fold, full in zip(problem.folds, whole.folds, strict=True):
            np.testing.assert_array_equal(fold.test, full.test)
            assert len(fold.train) == round(600 * case.value)
            assert set(fold.train) <= set(full.train)
    short = [problem.folds[0].train for case, problem in zip(cases, problems, strict=True) if case.value == 0.2]
    assert len({train.tobytes() for train in short}) == 3


def test_trials_are_drawn_whole_and_inside_each_other():
    cases, problems = problems_of("trials", (4, 8), trials=True)
    small, large = (next(p for c, p in zip(cases, problems, strict=True) if c.value == n) for n in (4, 8))
    for a, b in zip(small.folds, large.folds, strict=True):
        assert set(a.train) < set(b.train)
        assert len(np.unique(small.trials[a.train])) == 4


def test_conditions_are_trained_and_tested_apart():
    cases, problems = problems_of("load", trials=True)
    assert [case.label for case in cases] == [
        f"{trained} → {tested}" for tested in ("heavy", "light") for trained in ("all", "heavy", "light")
    ]
    labels = np.array(["light", "heavy"] * 10)
    for case, problem in zip(cases, problems, strict=True):
        trained, tested = case.label.split(" → ")
        for fold in problem.folds:
            assert set(labels[problem.trials[fold.train]]) == ({trained} - {"all"} or {"heavy", "light"})
            assert set(labels[problem.trials[fold.test]]) == {tested}


@pytest.mark.parametrize(
    ("by", "values", "message"),
    [
        ("aera", (), "nothing named 'aera' can be varied; choose from lead"),
        ("area", ("V1",), "no channel has 'V1'; found M1, S1"),
        ("lead", ("soon",), "expected numbers for lead; found 'soon'"),
        ("trials", (), "no trials; vary minutes"),
        ("minutes", (500,), "expected amounts above 0 and up to"),
        ("target", (), "expected several targets"),
        ("n_lags", (2.5,), "n_lags"),
        ("channels", (0,), "expected amounts from 1 and up to 10"),
        ("lead", (0.25,), "expected a multiple of the bin width"),
    ],
)
def test_what_cannot_be_varied_is_one_line(by, values, message):
    with pytest.raises(UsageError, match=message):
        problems_of(by, values)


def test_methods_are_known():
    with pytest.raises(UsageError, match="no selector named 'rigde'"):
        neurofs.vary(make_areas(0), "hand", by="area", methods="rigde")


def test_match_rows_of_bins_that_differ():
    session = make_areas(0, trials=True)
    tensors = [neurofs.build_tensor(session, "hand", bin_width=w, n_lags=2) for w in (0.1, 0.5)]
    a, b = match_rows(tensors)
    assert set(np.unique(a["trial"].values[a["valid"]])) == set(np.unique(b["trial"].values[b["valid"]]))


# What a variation says


@pytest.fixture(scope="module")
def by_area():
    return neurofs.vary(make_areas(3), "hand", by="area", n_lags=5, bin_width=0.1)


def test_the_table_is_that_of_decodes_one_by_one(by_area):
    session = make_areas(3)
    rows = (session.channels["area"] == "M1").to_numpy()
    alone = neurofs.vary(take_channels(session, rows), "hand", by="smooth", values=[0], n_lags=5, bin_width=0.1)
    table = by_area.table.set_index("label")
    assert table.loc["M1", "mean"] == pytest.approx(alone.table["mean"][0])
    places = by_place(by_area.folds)
    difference = places["M1"] - places["all"]
    assert table.loc["M1", "difference"] == pytest.approx(difference.mean())
    assert table.loc["M1", "p"] == pytest.approx(compare_paired(difference, by_area.found.ratio)["p"])
    assert (table["p_holm"].dropna() >= table["p"].dropna()).all()
    assert by_area.found.matched


def test_the_sentences_say_what_the_table_says(by_area):
    first = by_area.sentences[0]
    assert "all 10 channels" in first
    assert "M1 alone (5 channels)" in first
    assert "beyond the others it adds" in first
    assert "corrected for 4 comparisons" in by_area.sentences[-1]


def test_amounts_are_marked_in_plain_numbers(tmp_path):
    found = neurofs.vary(make_areas(0, n_bins=300), "hand", by="channels", n_lags=1, n_splits=3, n_draws=1)
    page = (found.save(tmp_path) / "variation.html").read_text(encoding="utf-8")
    assert "mathdefault" not in page
    assert found.found.laws[0].predicted.high <= 1
    for amount in (1, 2, 5, 10, 20):  # 20: twice as many as there are
        assert f">{amount}<" in page


def test_read_save_is_the_same(by_area, tmp_path):
    assert read_variation(by_area.save(tmp_path / "v")) == by_area
    page = (tmp_path / "v" / "variation.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "all but M1" in page
    with pytest.raises(InputError, match="a finished variation"):
        read_variation(tmp_path)


def test_hostile_names_are_text(tmp_path):
    session = make_areas(1, n_bins=300)
    table = session.channels.assign(area=["<script>x</script>", "=1+1"] * 5)
    bad = neurofs.Recording(
        "<img src=x>", counts=session.counts, bin_width=0.1, behavior=session.behavior, channels=table
    )
    found = neurofs.vary(bad, "hand", by="area", n_lags=1, n_splits=3)
    assert read_variation(found.save(tmp_path)) == found
    page = (tmp_path / "variation.html").read_text(encoding="utf-8")
    for text in (page, found._repr_html_()):
        assert "<script>x" not in text
        assert "<img src=x" not in text


def test_targets_side_by_side():
    found = neurofs.vary(make_areas(2), "hand", by="target", values=["hand", "fast"], n_lags=5, bin_width=0.1)
    table = found.table.set_index("label")
    assert table.loc["fast", "difference"] < 0
    assert table.loc["fast", "p_holm"] < 0.05
    assert f"less than hand by {-table.loc['fast', 'difference']:.3f} (" in found.sentences[0]


def test_conditions_decode_each_other():
    found = neurofs.vary(make_areas(4, n_bins=900, trials=True), "hand", by="load", n_lags=3, n_splits=3)
    table = found.table.set_index("label")
    assert table.loc["light → heavy", "against"] == "heavy → heavy"
    assert found.found.matched
    assert abs(table.loc["light → heavy", "difference"]) < 0.15  # nothing differs between these conditions
    assert "trained on all trials: heavy, R² = " in found.sentences[0]
    assert "clearly worse in 0 of 2 pairs" in found.sentences[0]


def test_a_column_that_hardly_varies_in_a_condition_does_not_rule_the_score():
    session = make_areas(4, n_bins=900, trials=True)
    hand = session.behavior["hand"]
    still = hand.values * [1.0, 0.01]
    heavy = (hand.time // 3.0) % 2 == 1
    values = np.where(heavy[:, None], still, hand.values)
    session = replace(session, behavior={"hand": replace(hand, values=values)})
    found = neurofs.vary(session, "hand", by="load", n_lags=3, n_splits=3)
    assert found.table["mean"].min() > -1  # R² of y alone, from all trials, is below −100
    assert "R² is that of all columns of a series together" in found.sentences[-1]
    assert set(found.folds["output"]) == {"hand"}


def test_of_many_groups_what_stands_out_is_said():
    session = make_areas(3)
    numbered = replace(session, channels=session.channels.assign(electrode=np.arange(10) // 2))
    found = neurofs.vary(numbered, "hand", by="electrode", bin_width=0.1, n_lags=3)
    alone = found.table[found.table["group"] == "alone"]
    assert f"Most is told by electrode {alone.loc[alone['mean'].idxmax(), 'label']} alone (2 ch" in found.sentences[0]
    without = found.table[found.table["group"] == "without"]
    clear = ((without["p_holm"] < 0.05) & (without["difference"] < 0)).sum()
    assert f"Beyond the others, {clear or 'none'} of 5 clearly add" in found.sentences[0]


def test_classes_are_scored_by_accuracy():
    session = make_areas(5, trials=True)
    found = neurofs.vary(session, "load", by="n_lags", values=[1, 3, 5], n_splits=3)
    assert found.found.score == "accuracy"
    assert found.table["mean"].between(0.3, 0.7).all()  # the condition is independent of the spikes
    assert "Who always says the most frequent class is right in 0.50." in found.sentences[-1]


# Folders


def test_nothing_is_done_twice(tmp_path):
    neurofs.write(neurofs.simulate_session(12, n_electrodes=2, random_state=1), tmp_path / "day.nwb")
    options = RunOptions(file=str(tmp_path / "day.nwb"), target=("hand_velocity",), n_lags=2, n_splits=3)
    out = tmp_path / "out"
    first = run_variation(options, "electrode", (), "ridge", 1, Serial(), out=out)
    n_done = sum(event["event"] == "task_recorded" for event in read_events(out / "events.jsonl"))
    assert n_done == 3 * 3  # one electrode alone is the other left out
    again = run_variation(options, "electrode", (), "ridge", 1, Serial(), out=out)
    events = list(read_events(out / "events.jsonl"))
    assert sum(event["event"] == "task_recorded" for event in events) == n_done
    opened = [event for event in events if event["event"] == "case_opened"][5:]
    assert all(event["kept"] == event["tasks"] == 3 for event in opened)
    assert again == first
    with pytest.raises(UsageError, match="holds another variation"):
        run_variation(options, "lead", (0, 0.1), "ridge", 1, Serial(), out=out)
    assert read_variation(out) == first


@pytest.mark.slow
def test_executors_give_the_same_bytes(tmp_path):
    session = make_areas(0, n_bins=300)
    serial, parallel = (
        neurofs.vary(session, "hand", by="lead", values=[0, 0.1], n_splits=3, executor=executor)
        for executor in (Serial(), Processes(2))
    )
    assert serial == parallel


# Known truth


@pytest.mark.parametrize("area", list(LEADS))
def test_the_lead_of_an_area_is_found(area):
    hits = 0
    for seed in range(10):
        session = make_areas(100 + seed)
        session = take_channels(session, (session.channels["area"] == area).to_numpy())
        best = neurofs.vary(session, "hand", by="lead", bin_width=0.1).found.best[0]
        hits += best.low <= LEADS[area] <= best.high
    assert hits >= 9


@pytest.mark.slow
def test_scores_of_areas_hold_the_truth():
    keys = {"by": "area", "n_lags": 5, "bin_width": 0.1}
    tables = [neurofs.vary(make_areas(seed), "hand", **keys).table.set_index("label") for seed in range(200, 220)]
    whole = pd.concat(tables, keys=range(20))
    for label in ("all", "M1", "S1"):
        truth = whole.xs(label, level=1)["mean"].mean()
        held = [table.loc[label, "low"] <= truth <= table.loc[label, "high"] for table in tables[:10]]
        assert sum(held) >= 9
    added = whole.xs("all but M1", level=1)["difference"].mean()
    held = [
        table.loc["all but M1", "difference_low"] <= added <= table.loc["all but M1", "difference_high"]
        for table in tables[:10]
    ]
    assert sum(held) >= 9


def test_the_power_law_is_the_least_squares_fit():
    n = np.array([1, 2, 4, 8, 16.0])
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b, c = rng.uniform(0.3, 0.95), rng.uniform(0.1, 0.6), rng.uniform(0.3, 2)
        fitted = fit_power_law(n, a - b * n**-c)
        np.testing.assert_allclose(fitted[0] - fitted[1] * n ** -fitted[2], a - b * n**-c, atol=0.01)
    assert fit_power_law(n, 0.5 + 0 * n)[1] == 0
    assert fit_power_law(n, 0.9 - 0.1 * n)[1] == 0  # falling scores are no law
    assert fit_power_law(n, 0.9 + 0.05 * np.log(n))[0] <= 1


@pytest.mark.slow
def test_twice_the_data_gives_what_was_predicted():
    keys = {"by": "minutes", "n_lags": 8, "bin_width": 0.1}
    laws = [neurofs.vary(make_areas(seed), "hand", **keys).found.laws[0] for seed in range(300, 310)]
    double = [
        neurofs.vary(make_areas(seed, n_bins=1200), "hand", by="smooth", values=[0], n_lags=8, bin_width=0.1)
        for seed in range(400, 412)
    ]
    truth = np.mean([found.table["mean"][0] for found in double])
    assert sum(law.predicted.low <= truth <= law.predicted.high for law in laws) >= 9
    assert np.mean([law.predicted.high - law.predicted.low for law in laws]) < 0.5
