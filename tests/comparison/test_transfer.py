"""Transfer across sessions: blind to the new targets, fair in its comparison, clear in its errors."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import reference_selectors
from click.testing import CliRunner
from scipy.stats import t as student

from neurofs.commands.main import main
from neurofs.comparison.transfer import (
    METHODS,
    SCORES,
    find_leads,
    grade_features,
    learn_quality,
    rank_correlation,
    render_transfer,
    transfer,
    view_session,
)
from neurofs.ground.config import TensorOptions
from neurofs.ground.errors import UsageError
from neurofs.recordings.recording import Recording, Series
from neurofs.recordings.simulate import simulate_session
from neurofs.recordings.writers import write

pytestmark = pytest.mark.slow

OPTIONS = TensorOptions(target="hand_velocity", n_lags=4)


@pytest.fixture(scope="module")
def days():
    return [simulate_session(40, n_electrodes=6, name=f"day{d}", random_state=50 + d) for d in range(4)]


@pytest.fixture(scope="module")
def found(days):
    return transfer(days[:3], days[3], OPTIONS)


def with_target(recording, change):
    series = recording.behavior["hand_velocity"]
    changed = Series(series.name, series.time, change(series.values.copy()), series.columns, series.unit)
    return replace(recording, behavior={"hand_velocity": changed})


def make_gap(values):
    values[1000:3000] = np.nan
    return values


@pytest.mark.parametrize(
    "change", [lambda v: -3 * v, lambda v: np.random.default_rng(0).permutation(v), make_gap, None]
)
def test_the_ranking_does_not_see_the_targets(days, found, change):
    new = replace(days[3], behavior={}) if change is None else with_target(days[3], change)
    again = transfer(days[:3], new, OPTIONS)
    pd.testing.assert_frame_equal(again.ranking, found.ranking)
    np.testing.assert_array_equal(again.predicted, found.predicted)
    if change is None:
        assert not again.agreement
        assert "no behavior to compare" in render_transfer(again)
    else:
        assert not again.scores.equals(found.scores)


def test_the_targets_of_earlier_sessions_matter(days, found):
    shuffled = [with_target(day, lambda v: np.random.default_rng(1).permutation(v)) for day in days[:3]]
    again = transfer(shuffled, days[3], OPTIONS)
    assert again.agreement["meta-features"] < found.agreement["meta-features"]


def test_properties_beat_numbers(found):
    assert found.agreement["meta-features"] > 0.5 > 0.3 > found.agreement["average"]
    r2 = found.scores.groupby(["method", "n"])["r2"].mean()
    assert r2["rgs", 20] > r2["firing rate", 20]
    assert len({round(r2[method, 96], 12) for method in METHODS}) == 1  # all features are the same for all
    assert sorted(found.scores["fold"].unique()) == [0, 1, 2, 3, 4]


def test_the_ranking_names_channels_and_lags(days, found):
    view = view_session(days[3], OPTIONS)
    best = int(np.argmax(found.predicted))
    first = found.ranking.iloc[0]
    assert first["channel"] == days[3].channels["name"][best % 24]
    assert first["lag"] == pytest.approx([0.3, 0.2, 0.1, 0.0][best // 24])
    assert found.ranking["predicted"].is_monotonic_decreasing
    assert len(found.ranking) == view.samples.n_features == 96


def test_inside_a_fold_only_the_training_part_counts(days):
    """Other spikes and targets in the test part: every method's scores stay as they are."""
    view = view_session(days[3], OPTIONS)
    known = learn_quality([view_session(day, OPTIONS) for day in days[:2]], view.describe())
    train = np.flatnonzero(view.trial < 30)
    flat, y = view.samples.flat.copy(), view.y.copy()
    flat[view.samples.starts[train].max() + view.samples.n_features :] = 7.0
    y[view.trial >= 30] = 99.0
    other = replace(view, samples=replace(view.samples, flat=flat), y=y)
    for (method, scores), (_, again) in zip(
        grade_features(view, known, train, 0), grade_features(other, known, train, 0), strict=True
    ):
        np.testing.assert_array_equal(scores, again, err_msg=method)


def test_the_average_is_by_channel_number_and_lag(days):
    views = [view_session(day, OPTIONS) for day in days[:2]]
    small = view_session(simulate_session(20, n_electrodes=4, random_state=9), OPTIONS)
    known = learn_quality([*views, small], views[0].describe())
    scores = [reference_selectors.corrcoef(np.asarray(v.samples, float), v.y) for v in (*views, small)]
    quality = [both.mean(axis=0).reshape(4, -1) for both in scores]
    average = known.average(26).reshape(4, 26)
    np.testing.assert_allclose(average[:, 3], np.mean([q[:, 3] for q in quality], axis=0), atol=1e-5)
    np.testing.assert_allclose(average[:, 20], np.mean([q[:, 20] for q in quality[:2]], axis=0), atol=1e-5)
    np.testing.assert_allclose(average[:, 25], np.mean([q.mean(axis=1) for q in quality], axis=0), atol=1e-5)


def test_tables_of_channels_may_differ(days):
    """What only some sessions tell about their channels is left out."""
    plain = replace(days[3], channels=days[3].channels[["name"]])
    again = transfer(days[:2], plain, OPTIONS)
    assert np.isfinite(again.predicted).all()
    assert rank_correlation(np.ones(3), np.arange(3.0)) == 0


def test_no_trials_and_several_measures(days):
    whole = [replace(day, trials=None) for day in days[:2]]
    again = transfer(whole[:1], whole[1], OPTIONS, quality="infogain")
    assert again.scores["fold"].nunique() == 5


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"quality": "relief"}, "quality: expected one of rgs"),
        ({"quality": "none"}, "found 'none'"),
        ({"earlier": []}, "at least one earlier session"),
        ({"options": TensorOptions(target="hand_velocity", n_lags=80)}, "has no samples"),
        ({"options": TensorOptions(target="eye")}, "eye"),
        ({"options": TensorOptions()}, "no target"),
    ],
)
def test_wrong_use_is_one_clear_line(days, change, words):
    settings = {"earlier": days[:1], "new": days[3], "options": OPTIONS} | change
    with pytest.raises(UsageError, match=words):
        transfer(**settings)


def test_the_new_session_is_not_an_earlier_one(days):
    with pytest.raises(UsageError, match="'day3' is also among the earlier ones"):
        transfer(days, days[3], OPTIONS)


def test_too_few_trials(days):
    with pytest.raises(UsageError, match="at least 5 trials, one per fold; found 3"):
        transfer(days[:1], simulate_session(3, n_electrodes=6, random_state=1), OPTIONS)


def test_hostile_names_are_shown_harmless(days):
    channels = days[3].channels.assign(name=[f"\x1b[31m{i}" for i in range(24)])
    text = render_transfer(transfer(days[:1], replace(days[3], name="a\nb", channels=channels), OPTIONS))
    assert "\x1b" not in text
    assert "a\\nb: 96 features" in text


def scores_of(**r2):
    """Scores at 10, 20 and 50 features; those at 20 are given, (folds, outputs)."""
    rows = [
        (method.replace("_", " ").replace("meta ", "meta-"), n, fold, o, value if n == 20 else 0.0, 80, 20)
        for method, folds in r2.items()
        for n in (10, 20, 50)
        for fold, outputs in enumerate(folds)
        for o, value in enumerate(outputs)
    ]
    return pd.DataFrame(rows, columns=SCORES)


WOBBLE = np.array([[0.02], [-0.01], [0.0], [0.01], [-0.02]])


@pytest.mark.parametrize(
    ("ours", "words"),
    [
        (0.5, "ahead of those chosen by firing rate (0.300; difference 0.200"),
        (0.31, "not clearly ahead of those chosen by firing rate (0.300; difference 0.010"),
        (0.1, "no better than those chosen by firing rate (0.300; difference −0.200"),
    ],
)
def test_the_conclusion_says_who_is_ahead(found, ours, words):
    """At n = 20: by number 0.2, by rate 0.3, RGS 0.6."""
    same = np.zeros((5, 1))
    scores = scores_of(meta_features=ours + WOBBLE, average=0.2 + same, firing_rate=0.3 + same, rgs=0.6 + same)
    last = render_transfer(replace(found, scores=scores)).splitlines()[-1]
    assert f"20 features decode with R² = {ours:.3f}, {words}" in last
    assert "RGS, with the targets, reaches 0.600." in last
    assert ("do not rely" in last) == (ours < 0.3)
    assert ("folds alone may differ" in last) == (ours == 0.31)


def test_a_lead_by_hand():
    """Differences of five folds 0.1 ± their wobble: t = 0.1 / √((1/5 + 1/4) 0.00025), 4 degrees of freedom."""
    same = np.zeros((5, 1))
    scores = scores_of(meta_features=0.3 + WOBBLE, average=0.2 + same, firing_rate=0.3 + WOBBLE, rgs=0.6 + same)
    by_number, by_rate = find_leads(scores)
    t = 0.1 / np.sqrt((1 / 5 + 20 / 80) * 0.00025)
    assert by_number.p == pytest.approx(2 * 2 * student.sf(t, 4))  # twice for two rivals
    assert (by_rate.difference.mean, by_rate.p) == (0.0, 1.0)
    assert by_number.is_clear
    assert not by_rate.is_clear


def test_outputs_are_no_folds():
    """The same output twice says nothing more about the folds."""
    same = np.zeros((5, 1))
    once = {"meta_features": 0.3 + WOBBLE, "average": 0.29 + same, "firing_rate": 0.1 + same, "rgs": 0.6 + same}
    twice = {method: np.repeat(values, 2, axis=1) for method, values in once.items()}
    assert find_leads(scores_of(**once)) == find_leads(scores_of(**twice))


def run(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


def test_command(days, tmp_path):
    paths = [write(day, tmp_path / f"{day.name}.nwb") for day in days[1:]]
    options = ["--target", "hand_velocity", "--n-lags", 3]
    result = run("transfer", *paths[:2], "--to", paths[2], *options, "--top", 3, "--out", tmp_path / "day3.csv")
    assert result.exit_code == 0, result.output
    assert "day3: 72 features ranked without its targets, from day1, day2" in result.stdout
    assert "RGS, which had the targets" in result.stdout
    assert result.stderr.splitlines()[-1] == "compared on 5 of 5 folds"
    assert result.stdout.rstrip().endswith(f"ranking: {tmp_path / 'day3.csv'}")
    table = pd.read_csv(tmp_path / "day3.csv")
    assert list(table) == ["rank", "channel", "lag", "predicted"]
    assert (np.diff(table["predicted"]) <= 0).all()
    assert len(table) == 72
    record = json.loads(run("transfer", *paths[:2], "--to", paths[2], *options, "--json").stdout)
    assert [row["rank"] for row in record["ranking"]] == list(range(1, 73))
    assert set(record["rank_correlation"]) == set(METHODS)
    assert {row["n"] for row in record["r2"]} == {10, 20, 50, 72}
    assert [lead["rival"] for lead in record["leads"]] == ["average", "firing rate"]
    for wrong, words in (
        (["transfer", "--to", paths[2]], "TRAIN"),
        (["transfer", paths[0]], "--to"),
        (["transfer", tmp_path / "none.nwb", "--to", paths[2], *options], "none.nwb: expected a file"),
        (["transfer", paths[0], "--to", paths[0], *options], "also among the earlier"),
        (["transfer", paths[0], "--to", paths[2]], "choose one with --target"),
        (["transfer", paths[0], "--to", paths[2], "--target", "hand_velocity", "--bin-width", "-1"], "bin_width"),
    ):
        result = run(*wrong)
        assert result.exit_code == 2, result.output
        assert words in result.stderr
        assert result.stdout == ""


def test_counts_instead_of_spikes():
    rng, time = np.random.default_rng(0), (np.arange(400) + 0.5) * 0.1
    sessions = []
    for day in range(2):
        counts = rng.poisson(1.0, (400, 20))
        total = Series("total", time, counts.sum(axis=1, keepdims=True).astype(float), ("t",))
        sessions.append(Recording(f"d{day}", counts=counts, bin_width=0.1, behavior={"total": total}))
    found = transfer(sessions[:1], sessions[1], TensorOptions(target="total", n_lags=2))
    assert (found.ranking["lag"][:20] == 0).all()
