"""The section on channels that work together."""

from dataclasses import replace

import pytest
from comparisons import make_comparison

from neurofs.comparison.comparison import read, save
from neurofs.comparison.dependency import measure_dependency
from neurofs.ground.config import RunOptions
from neurofs.pipeline import prepare
from neurofs.recordings.simulate import simulate_session
from neurofs.report.page import render


@pytest.fixture(scope="module")
def asked():
    """A comparison of which it was asked whether channels work together."""
    plain = make_comparison()
    session = simulate_session(150, n_electrodes=6, random_state=500)
    prepared = prepare(RunOptions(target=("hand_velocity",), n_lags=5, n_splits=3), session)
    names = [str(name) for name in prepared.tensor["channel"].values]
    lags = prepared.tensor["lag"].values[::-1]
    found, pairs = measure_dependency(prepared.problem, plain.scores, names, lags)
    summary = plain.summary.model_copy(update={"dependency": found})
    return replace(plain, summary=summary, pairs=pairs), session


@pytest.mark.slow
def test_the_planted_pair_is_in_summary_report_and_folder(asked, tmp_path):
    comparison, session = asked
    found = comparison.summary.dependency
    product = session.channels[session.channels["tuning"] == "product"].iloc[0]
    planted = {product["name"], session.channels["name"][product["partner"]]}
    assert planted in [set(pair.channels) for pair in found.pairs[: found.n_found]]
    assert found.gap is not None
    assert found.gap.together == "rgs"
    assert all(part.alone < 1 for part in found.channels)
    html = render(comparison)
    assert "Do channels work together" in html
    assert "Read as:" in html
    assert read(save(comparison, tmp_path / "run")) == comparison


def test_without_the_question_there_is_no_section():
    assert "Do channels work together" not in render(make_comparison())
