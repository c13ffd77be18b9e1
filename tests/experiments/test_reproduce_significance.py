"""The experiment on channels reported as tuned or as adding something, in small; and the sessions it is made of."""

import numpy as np
import pandas as pd
import pytest

from neurofs.experiments.reproduce import list_claims, render, save_figure, significance
from neurofs.experiments.reproduce.channel_sessions import BASE, SCENARIOS, make_session


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_sessions_are_as_they_say(scenario):
    session = make_session(scenario, 0)
    assert session.counts.shape[1] == len(session.tuned) == len(session.adds) == len(session.lag)
    assert len(session.counts) == len(session.target)
    assert 0.3 * BASE < session.counts.mean() < 4 * BASE
    assert np.array_equal(session.counts, make_session(scenario, 0).counts)
    assert not np.array_equal(session.counts, make_session(scenario, 1).counts)
    assert bool(session.tuned.any()) == (scenario != "nothing")


def test_spikes_precede_the_target_by_their_lag():
    session = make_session("white target", 0)
    n, best = len(session.counts), []
    for channel in range(20):
        told = [
            np.abs(np.corrcoef(session.counts[: n - lag, channel], session.target[lag:].T)[0, 1:]).max()
            for lag in range(8)
        ]
        best.append(int(np.argmax(told)))
    assert np.mean(np.array(best) == session.lag[:20]) > 0.8


def test_copies_repeat_and_partners_do_not():
    copies = make_session("copies", 0)
    copied = np.corrcoef(copies.counts[:, :5].T, copies.counts[:, 20:25].T)[:5, 5:]
    assert (np.diag(copied) > 0.6).all()
    assert copies.tuned[20:25].all()
    assert not copies.adds[20:25].any()
    partners = make_session("partners", 0)
    assert partners.adds[20:25].all()
    assert not partners.tuned[20:25].any()


@pytest.mark.slow
def test_significance_in_small(tmp_path):
    table = significance.run(repetitions=2, scenarios=("drift", "random classes", "nothing"))
    assert len(table) == 2 * 3 * 2
    claims = list_claims("significance", table)
    assert len(claims) == 5
    assert not any("nan" in claim["ours"] for claim in claims)
    assert "random classes" in render("significance", table)
    assert "nan" not in render("significance", table)
    assert save_figure("significance", table, tmp_path / "channels.png").stat().st_size > 1000


def test_rates_are_means_over_sessions():
    rows = [
        {"found": 4, "right": 3, "true": 6, "by_weight": 2, "level": 0.1, "peak": 1.0, "covered": 1.0},
        {"found": 0, "right": 0, "true": 6, "by_weight": 0, "level": 0.0, "peak": np.nan, "covered": np.nan},
    ]
    rates = significance.summarize(pd.DataFrame([row | {"question": "tuned", "scenario": "a"} for row in rows])).iloc[0]
    assert rates["false"] == pytest.approx(0.125)
    assert rates["power"] == pytest.approx(0.25)
    assert rates["false_by_weight"] == pytest.approx(0.25)
    assert rates["covered"] == pytest.approx(1.0)
