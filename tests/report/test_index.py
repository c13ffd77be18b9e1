"""The index page: every session in one row, also on a phone, and one picture of all of them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from comparisons import make_comparison
from matplotlib.figure import Figure
from pages import check_layout, find_violations

from neurofs.comparison.summary import Number
from neurofs.report.figures.across import LOWEST, draw_all_lags, draw_all_scores
from neurofs.report.index import IndexEntry, is_believed, judge_shortly
from neurofs.report.page import MARKERS, render_index

CLASSES = {"classes": ("left", "right"), "outputs": ("side",)}


def change(comparison, **parts):
    return replace(comparison, summary=comparison.summary.model_copy(update=parts))


def with_unit(comparison, unit):
    session = comparison.summary.session
    outputs = [output.model_copy(update={"unit": unit}) for output in session.outputs]
    return change(comparison, session=session.model_copy(update={"outputs": outputs}))


def with_score(comparison, **numbers):
    headline = comparison.summary.headline
    changed = headline.numbers.model_copy(update=numbers)
    return change(comparison, headline=headline.model_copy(update={"numbers": changed}))


def draw(panel):
    axes = Figure().subplots()
    panel.draw(axes)
    return axes


# The picture of all sessions


def test_sessions_of_different_units_and_scores_share_no_axis():
    sessions = {
        "hand": make_comparison(),
        "place": with_unit(make_comparison(seed=1), "cm"),
        "side": make_comparison(**CLASSES),
    }
    picture = draw_all_scores(sessions)
    values, classes = map(draw, picture.panels)
    assert values.get_xlabel() == "R²"
    assert classes.get_xlabel() == "accuracy"
    assert {label.get_text() for label in values.get_yticklabels()} == {"hand", "place"}
    assert [label.get_text() for label in classes.get_yticklabels()] == ["side"]
    assert "squared" not in picture.caption.text
    assert {row[2] for row in picture.numbers.rows} == {"R²", "accuracy"}


def test_every_mark_of_the_legend_is_drawn_and_the_other_way_round():
    for sessions in ({"a": make_comparison()}, {"a": make_comparison(), "b": make_comparison(**CLASSES)}):
        picture = draw_all_scores(sessions)
        legend = {(key.marker, key.color) for key in picture.legend}
        lines = [line for panel in picture.panels for line in draw(panel).lines]
        drawn = {(line.get_marker(), line.get_color()) for line in lines if line.get_marker() != "None"}
        assert drawn == legend
        assert {marker for marker, _ in legend} <= {*MARKERS, "x"}


def test_sessions_are_drawn_best_first_with_their_interval():
    sessions = {f"day{i}": make_comparison(seed=i, n_rows=100) for i in range(4)}
    axes = draw(draw_all_scores(sessions).panels[0])
    means = {name: c.summary.headline.numbers.main.mean for name, c in sessions.items()}
    order = sorted(means, key=means.get, reverse=True)
    assert [label.get_text() for label in axes.get_yticklabels()] == order
    main = sessions[order[0]].summary.headline.numbers.main
    assert axes.lines[0].get_xdata().tolist() == [main.low, min(main.high, 1)]


def test_a_useless_session_does_not_squeeze_the_others():
    bad = with_score(make_comparison(), main=Number(label="", method="rgs", mean=-40.0, low=-80.0, high=0.1))
    axes = draw(draw_all_scores({"good": make_comparison(), "bad": bad}).panels[0])
    assert axes.get_xlim()[0] > LOWEST - 0.2


def test_sessions_without_a_score_are_not_drawn():
    none = with_score(make_comparison(), main=Number(label="", method="rgs"))
    assert draw_all_scores({"a": none}) is None


def test_the_mean_of_lags_is_in_the_legend_where_it_is_drawn():
    same = {"a": make_comparison(), "b": make_comparison(seed=1)}
    assert [key.label for key in draw_all_lags(same).legend] == ["one session", "mean"]
    other = {"a": make_comparison(), "b": make_comparison(n_lags=3)}
    assert [key.label for key in draw_all_lags(other).legend] == ["one session"]


# The table


def test_the_verdict_is_short():
    comparison = make_comparison()
    assert judge_shortly(comparison.summary) == "beyond chance"
    assert judge_shortly(make_comparison(leaks=8).summary) == "audit failed: test data leak"
    chance = [t.model_copy(update={"beyond": i % 2 == 0}) for i, t in enumerate(comparison.summary.chance)]
    assert judge_shortly(change(comparison, chance=chance).summary) == "beyond chance in 1 of 2 outputs"
    none = [t.model_copy(update={"beyond": False}) for t in chance]
    assert judge_shortly(change(comparison, chance=none).summary) == "not beyond chance"
    assert judge_shortly(change(comparison, chance=[]).summary) == "chance not tested"
    assert is_believed(comparison.summary)
    facts = comparison.summary.session.model_copy(update={"serious": ["spike times are in samples"]})
    assert judge_shortly(change(comparison, session=facts).summary) == "beyond chance; probably misread"
    assert not is_believed(change(comparison, session=facts).summary)
    assert not any(is_believed(change(comparison, chance=c).summary) for c in (chance, none, []))


def make_entries() -> list[IndexEntry]:
    done = [IndexEntry(f"day{i}", "done", href="r.html", comparison=make_comparison(seed=i)) for i in range(3)]
    leak = make_comparison(**CLASSES, leaks=8)
    return [
        *done,
        IndexEntry("rat-13_a-session-with-a-name-of-more-than-forty-letters", "done", comparison=leak),
        IndexEntry("bad", "failed", "bad.npz: archive: expected spikes, found no variable of this name"),
        IndexEntry("worse", "failed"),
    ]


def test_a_batch_gives_the_index_its_name():
    html = render_index(make_entries(), title="Spring <1>")
    assert "<h1>Spring &lt;1&gt;</h1>" in html
    assert "6 sessions: 4 decoded, 2 failed" in html
    assert "<h1>6 sessions</h1>" in render_index(make_entries())


def test_one_session_has_no_mean_over_sessions():
    assert draw_all_lags({"a": make_comparison()}) is None


def test_scores_have_two_digits_and_their_exact_value():
    html = render_index(make_entries())
    row = html[html.index(">day0</a>") :].split("</tr>")[0]
    main = make_comparison(seed=0).summary.headline.numbers.main
    assert f'data-value="{main.mean}">R² {main.mean:.2f}<br>' in row
    assert f"{main.low:.2f} to {main.high:.2f}" in row
    assert not re.search(r">[^<]*\d\.\d{3,}[^<]*<", row)
    assert "Beyond chance, without leaks or signs of misreading: 3 of 4." in html
    assert "no reason was given" in html


@pytest.fixture
def index(tmp_path) -> Path:
    path = tmp_path / "index.html"
    claims = [{"claim": "RGS wins", "published": "90 %", "found": "95 %", "holds": True}]
    path.write_text(render_index(make_entries(), claims), encoding="utf-8")
    return path


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_the_whole_table_is_seen_without_scrolling_to_the_side(index, open_page, width, scheme):
    page = open_page(index, width, scheme)
    check_layout(page)
    hidden = "e => [e.scrollWidth - e.clientWidth, e.scrollHeight - e.clientHeight]"
    assert page.locator("[aria-label=Sessions]").evaluate(hidden) == [0, 0]
    assert all(cell.is_visible() for cell in page.locator("#sessions-table tbody td:last-child").all())
    shown = page.locator("#sessions-table thead th:visible").count()
    assert shown == (7 if width == 1280 else 3)
    names = page.locator("#sessions-table tbody th").all_text_contents()
    assert names[:2] == ["bad", "worse"]
    assert find_violations(page) == []


@pytest.mark.browser
def test_a_phone_sorts_sessions_too(index, open_page):
    page = open_page(index, 400)
    page.locator("#sessions-table thead button", has_text="score").click()
    rows = page.locator("#sessions-table tbody tr")
    assert rows.locator("th").all_text_contents()[:2] == ["bad", "worse"]
    values = rows.locator("td:nth-child(2)[data-value]").evaluate_all(
        "cells => cells.map(c => Number(c.dataset.value))"
    )
    assert len(values) == 4
    assert values == sorted(values, reverse=True)
