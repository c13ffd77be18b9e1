"""Runs side by side: paired where folds match, means where not, and channels that changed."""

from dataclasses import replace

import numpy as np
import pytest
from comparisons import make_comparison

import neurofs
from neurofs.comparison.contrast import compare_unpaired, find_ratio, find_tuned, is_paired
from neurofs.comparison.places import Places
from neurofs.comparison.stats import compare_paired
from neurofs.ground.config import CompareOptions, TensorOptions, select_options
from neurofs.ground.errors import UsageError
from neurofs.pipeline import prepare

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def days():
    """The same session with two and three lags on the same samples, and another session."""
    keys = {"selectors": ["corrcoef"], "decoders": [], "n_splits": 3, "n_repeats": 2, "sizes": [1, 5]}
    sessions = [neurofs.simulate_session(24, n_electrodes=2, random_state=seed) for seed in (1, 2)]
    return {
        "two": neurofs.compare(sessions[0], "hand_velocity", n_lags=3, **keys),
        "again": neurofs.compare(sessions[0], "hand_velocity", n_lags=3, sqrt=True, **keys),
        "other": neurofs.compare(sessions[1], "hand_velocity", n_lags=3, **keys),
    }


def test_runs_are_paired_where_their_folds_match(days):
    assert is_paired(days["two"], days["again"])
    assert not is_paired(days["two"], days["other"])
    found = neurofs.compare_runs(days, ["ridge"])
    table = found.table.set_index("label")
    places = {name: part.groupby("fold")["score"].mean() for name, part in found.folds.groupby("label")}
    difference = places["again"] - places["two"]
    assert table.loc["again", "difference"] == pytest.approx(difference.mean())
    ratio = find_ratio(days["two"])
    assert table.loc["again", "p"] == pytest.approx(compare_paired(difference, ratio)["p"])
    unpaired = compare_unpaired(places["other"], find_ratio(days["other"]), places["two"], ratio)
    assert table.loc["other", "p"] == pytest.approx(unpaired[1])
    assert table.loc["other", "difference"] == pytest.approx(unpaired[0].mean)
    assert any("Not paired with the first run" in line and "other" in line for line in found.sentences)
    assert any(line.startswith("other: of ") for line in found.sentences)


def test_the_ratio_is_that_of_the_problem(days):
    run = days["two"]
    session = neurofs.simulate_session(24, n_electrodes=2, random_state=1)
    assert isinstance(run.config, CompareOptions | TensorOptions)
    problem = prepare(run.config, session).problem
    assert problem.options.n_repeats == select_options(CompareOptions, run.config).n_repeats
    assert find_ratio(run) == pytest.approx(Places.of(problem).ratio)


def test_a_run_is_level_with_itself(days):
    found = neurofs.compare_runs({"a": days["two"], "b": days["two"]})
    row = found.table.set_index("label").loc["b"]
    assert (row["difference"], row["p"]) == (0.0, 1.0)
    assert find_tuned(days["two"]) is not None
    assert any("none became tuned and none no longer are" in line for line in found.sentences)


def test_unpaired_means_hold_their_level():
    rng = np.random.default_rng(0)
    p = [compare_unpaired(rng.normal(size=5), 0.0, rng.normal(size=5), 0.0)[1] for _ in range(2000)]
    assert 0.03 <= np.mean(np.array(p) <= 0.05) <= 0.06  # Welch's test is a little careful with so few
    assert compare_unpaired([0.5], 0.25, [0.1, 0.2], 0.25)[1] is None


def test_what_cannot_be_compared_is_one_line(days):
    with pytest.raises(UsageError, match="at least two runs"):
        neurofs.compare_runs({"two": days["two"]})
    with pytest.raises(UsageError, match=r"'two' has no method 'rgs'; it has"):
        neurofs.compare_runs(days, ["rgs"])
    with pytest.raises(UsageError, match="another kind of target"):
        neurofs.compare_runs({"two": days["two"], "classes": make_comparison(classes=("a", "b"), outputs=("side",))})


def test_other_targets_are_named(days):
    outputs = [output.model_copy(update={"unit": "m/s"}) for output in days["two"].summary.session.outputs]
    session = days["two"].summary.session.model_copy(update={"outputs": outputs})
    other = replace(days["two"], summary=days["two"].summary.model_copy(update={"session": session}))
    found = neurofs.compare_runs({"cm": days["two"], "m": other})
    assert any(line.startswith("The runs decode different targets") and "(m/s)" in line for line in found.sentences)


def test_runs_that_share_no_method(days):
    other = replace(days["two"], summary=days["two"].summary.model_copy(update={"methods": []}))
    with pytest.raises(UsageError, match="no method in common"):
        neurofs.compare_runs({"two": days["two"], "none": other})
