"""The experiment on pairs of channels, in small."""

import pytest

from neurofs.experiments.reproduce import dependency, list_claims, render, save_figure
from neurofs.recordings.simulate import simulate_session

pytestmark = pytest.mark.slow


def test_planted_pairs_are_those_of_the_channel_table():
    session = simulate_session(2, random_state=3)
    pairs, hears = dependency.list_planted(session), dependency.hear_pairs(session)
    tuning = session.channels["tuning"]
    assert len(pairs) == 4
    assert all({tuning[a], tuning[b]} == {"product", "state"} and hears[a] and hears[b] for a, b in pairs)
    assert set(tuning[hears]) == {"product", "state", "none"}


def test_dependency_in_small(tmp_path):
    table = dependency.run(repetitions=1, kinds=("pairs", "noise"), n_trials=150, n_electrodes=6)
    assert list(table["kind"]) == ["pairs", "noise"]
    assert table["planted"][0] == 1
    assert table["right"][0] == 1
    assert table["found"][1] == 0
    assert "planted" in render("dependency", table)
    assert len(list_claims("dependency", table)) == 3
    assert save_figure("dependency", table, tmp_path / "pairs.png").stat().st_size > 1000


def test_false_pairs_are_counted_by_day():
    rows = [{"found": 4, "right": 3}, {"found": 0, "right": 0}]
    assert dependency.false_share(dependency.pd.DataFrame(rows)) == pytest.approx(0.125)
