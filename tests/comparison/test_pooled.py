"""Sessions put together: intervals over sessions, and plans whose ranges hold new sessions."""

import re

import numpy as np
import pytest
from areas import make_areas
from click.testing import CliRunner

import neurofs
from neurofs.commands.main import main
from neurofs.comparison.pooled import count_sessions, pool
from neurofs.comparison.stats import estimate
from neurofs.comparison.variation import fit_power_law, read_variation
from neurofs.ground.errors import UsageError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def by_area():
    keys = {"n_lags": 2, "bin_width": 0.1, "n_splits": 3}
    return {f"day{s}": neurofs.vary(make_areas(s, n_bins=300), "hand", by="area", **keys) for s in range(4)}


def test_sessions_are_the_folds(by_area, tmp_path):
    pooled = pool(by_area)
    means = [found.table.set_index("label").loc["M1", "mean"] for found in by_area.values()]
    row = pooled.table.set_index("label").loc["M1"]
    assert row["mean"] == pytest.approx(np.mean(means))
    assert row["low"] == pytest.approx(estimate(means, 0.0, most=1.0).low)
    assert "means over 4 sessions" in pooled.sentences[-1]
    assert read_variation(pooled.save(tmp_path)) == pooled


def test_what_has_nothing_in_common_is_one_line(by_area):
    with pytest.raises(UsageError, match="expected at least 3 sessions"):
        pool(dict(list(by_area.items())[:2]))
    other = neurofs.vary(make_areas(9, n_bins=300), "hand", by="lead", values=[0, 0.1], bin_width=0.1, n_splits=3)
    with pytest.raises(UsageError, match="varied and decoded in the same way"):
        pool({**by_area, "other": other})


@pytest.mark.parametrize(("spread", "difference"), [(0.05, 0.05), (0.03, 0.05), (0.02, 0.05)])
def test_so_many_sessions_show_the_difference(spread, difference):
    from scipy.stats import ttest_ind

    rng = np.random.default_rng(1)
    n = count_sessions(spread, difference)
    groups = rng.normal(0, spread, size=(2, 4000, n))
    seen = np.mean(ttest_ind(groups[0] + difference, groups[1], axis=1).pvalue < 0.05)
    assert 0.77 <= seen <= 0.93  # the next smaller number of few sessions would be too small


def test_a_plan_holds_new_sessions():
    """The range of single sessions, and the score with twice the data, are those of sessions that come later."""
    keys = {"n_electrodes": 2, "n_sessions": 4, "drift": 0.0}
    plans = [neurofs.plan_experiment(30, seed=100 * k, **keys) for k in range(10)]
    new = [neurofs.plan_experiment(30, seed=5000 + 100 * k, **keys) for k in range(3)]
    truth = np.concatenate([p.folds[p.folds["value"] == 24].groupby("fold")["score"].mean() for p in new])
    held = 0
    for plan in plans:
        text = next(line for line in plan.sentences if "a single session" in line)
        low, high = (
            float(word.replace("−", "-")) for word in text.partition("between ")[2].split(" (")[0].split(" and ")
        )
        held += np.mean((low <= truth) & (truth <= high)) >= 0.75
    assert held >= 9
    double = [neurofs.plan_experiment(60, seed=9000 + 100 * k, **keys) for k in range(2)]
    later = np.mean([p.folds[p.folds["value"] == 48]["score"].mean() for p in double])
    assert sum(p.found.laws[0].predicted.low <= later <= p.found.laws[0].predicted.high for p in plans) >= 9


def test_a_plan_is_printed_and_drawn(tmp_path):
    arguments = ["--n-trials", "20", "--n-electrodes", "2", "--n-sessions", "3", "--by", "channels"]
    result = CliRunner().invoke(main, ["simulate", "--plan", str(tmp_path / "plan"), *arguments])
    assert result.exit_code == 0, result.output
    assert re.search(
        r"with \d channels, .* Twice as many \(1\d\) would give", result.stdout
    )  # some of the 8 are silent
    assert "each needs" in result.stdout
    assert (tmp_path / "plan" / "variation.html").exists()
    for wrong, message in (
        (["--by", "lead"], "a plan is by trials or channels"),
        (["--calcium"], "leave out --calcium"),
    ):
        refused = CliRunner().invoke(main, ["simulate", "--plan", *wrong])
        assert refused.exit_code == 2
        assert message in refused.stderr
    assert CliRunner().invoke(main, ["simulate"]).exit_code == 2


def test_the_law_of_a_plan_is_that_of_its_table():
    plan = neurofs.plan_experiment(30, 2, n_sessions=3)
    a, b, c = fit_power_law(plan.table["value"], plan.table["mean"])
    assert (plan.found.laws[0].a, plan.found.laws[0].b, plan.found.laws[0].c) == pytest.approx((a, b, c))
