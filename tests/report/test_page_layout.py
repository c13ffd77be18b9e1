"""What the report looks like in a real browser: no overlaps, whatever the names are, and readable for everyone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from comparisons import HOSTILE, make_comparison
from pages import OVERLAPS, WORDS, check_layout, find_violations, open_all

from neurofs.comparison.headline import write_headline
from neurofs.comparison.summary import Estimate
from neurofs.ground.errors import printable
from neurofs.report.index import IndexEntry
from neurofs.report.page import render, render_index

pytestmark = pytest.mark.browser


def write_page(comparison, tmp_path: Path) -> Path:
    path = tmp_path / "report.html"
    path.write_text(render(comparison), encoding="utf-8")
    return path


def test_the_check_of_the_layout_sees_overlaps(open_page, tmp_path):
    path = tmp_path / "bad.html"
    lines = "".join(f"<p>line {i}</p>" for i in range(30))
    path.write_text(
        "<style>.a{position:absolute;top:9px;left:9px} .b{width:3000px}</style>"
        f"<div class=page>{lines}<p class=a>one</p><p class=a>two</p><p class=b>wide</p></div>"
    )
    page = open_page(path)
    found = page.evaluate(OVERLAPS)
    assert ["one", "two"] in found["overlaps"] or ["two", "one"] in found["overlaps"]
    assert found["overflow"] > 0
    assert found["wide"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_overflows_or_overlaps(demo_run, open_page, tmp_path, width, scheme):
    page = open_page(demo_run / "report.html", width, scheme)
    open_all(page)
    page.screenshot(path=tmp_path / f"{width}-{scheme}.png", full_page=True)
    check_layout(page)


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_overlaps_without_scripts(demo_run, open_page, width):
    page = open_page(demo_run / "report.html", width, java_script_enabled=False)
    check_layout(page)


EDGES = {
    "one output": {"outputs": ("y",)},
    "one lag": {"n_lags": 1},
    "classes": {"classes": ("left", "right", "up"), "outputs": ("direction",)},
    "no trials": {"trials": False},
    "NaN scores": {"nan_scores": True},
    "one selector": {"selectors": ("corrcoef",), "baselines": ()},
    "bands and leaks": {"sd": True, "leaks": 40, "n_repeats": 2},
}


@pytest.mark.parametrize("case", EDGES)
def test_edge_cases_render_without_overlaps(case, open_page, tmp_path):
    path = write_page(make_comparison(**EDGES[case]), tmp_path)
    check_layout(open_page(path))
    check_layout(open_page(path, width=400))


def make_angle():
    """A run on an angle, whose error is also told in degrees."""
    comparison = make_comparison(outputs=("cos(ry)", "sin(ry)"), trials=False)
    degrees = Estimate(mean=8.5, low=0.0, high=11.1)
    methods = [method.model_copy(update={"in_field": degrees}) for method in comparison.summary.methods]
    summary = comparison.summary.model_copy(update={"methods": methods, "guess_in_field": 41.0})
    return replace(comparison, summary=summary.model_copy(update={"headline": write_headline(summary)}))


KINDS = {
    "classes": lambda: make_comparison(classes=tuple("01234567"), outputs=("direction",)),
    "an angle": make_angle,
    "kernel RGS": lambda: make_comparison(baselines=("ridge", "kernel-rgs-decoder"), sd=True),
    "1,000 channels": lambda: make_comparison(n_channels=1000, n_lags=6),
    "no trials": lambda: make_comparison(trials=False, outputs=("speed",)),
}
"""Pages of all kinds of runs; that of the demo, and the index, are below."""


@pytest.mark.parametrize("kind", KINDS)
def test_pages_of_every_kind_are_sound(kind, open_page, tmp_path):
    path = write_page(KINDS[kind](), tmp_path)
    for width, scheme in ((1280, "light"), (400, "dark")):
        page = open_page(path, width, scheme)
        open_all(page)
        check_layout(page)
        assert find_violations(page) == []
        assert page.evaluate("document.querySelector('#figure-best svg').getBoundingClientRect().width") > 200
    first = page.locator(".number .value").all_text_contents()
    assert ("8.5" in first) == (kind == "an angle")
    assert ("0.0 to 11.1" in page.locator("#headline").inner_text()) == (kind == "an angle")
    assert ("always the mean angle would give 41.0" in page.locator("#headline").inner_text()) == (kind == "an angle")
    assert len(first) == 4
    rival = page.locator("[data-number=rival]").inner_text()
    simple = page.locator("[data-number=linear]").count()
    assert simple == (not any(name in rival for name in ("ridge", "Kalman"))), "a simple decoder stands beside it, once"


def test_the_index_of_a_failed_batch_is_sound(open_page, tmp_path):
    reason = "day3.nwb: expected an HDF5 file; found a file that ends early. Fetch it again."
    entries = [
        IndexEntry(f"day{i}", "done", href=f"day{i}/report.html", comparison=make_comparison(seed=i)) for i in (1, 2)
    ]
    path = tmp_path / "index.html"
    path.write_text(render_index([*entries, IndexEntry("day3", "failed", reason)]), encoding="utf-8")
    for width, scheme in ((1280, "light"), (400, "dark")):
        page = open_page(path, width, scheme)
        assert reason in page.locator("#sessions-table tbody tr").first.inner_text()
        check_layout(page)
        assert find_violations(page) == []


# How much there is to read


def test_words_are_counted_as_they_are_seen(open_page, tmp_path):
    path = tmp_path / "words.html"
    path.write_text(
        "<p>R² = 0.5, of 3</p><details><summary>more</summary><p>folded too</p></details><pre>code</pre>"
        "<pre class=prose>in prose</pre><table><caption>a title</caption><tr><td>cell</table>"
        "<svg><text>tick</text></svg>"
    )
    assert open_page(path).evaluate(WORDS) == 5 + 1 + 2 + 2 + 2


def test_the_report_of_the_demo_is_short(demo_run, open_page):
    page = open_page(demo_run / "report.html")
    page.set_viewport_size({"width": 1280, "height": 800})
    assert page.evaluate("document.documentElement.scrollHeight") <= 8 * 800
    assert page.evaluate("document.querySelector('#figure-best svg').getBoundingClientRect().bottom") <= 800
    assert page.evaluate("document.querySelector('.verdict li').getBoundingClientRect().bottom") <= 800
    assert (demo_run / "report.html").stat().st_size <= 1e6
    assert page.evaluate(WORDS) <= 1500


# Hostile names


def test_hostile_names_execute_nothing_and_show_literally(open_page, tmp_path):
    comparison = make_comparison(names=HOSTILE, n_channels=len(HOSTILE))
    page = open_page(write_page(comparison, tmp_path))
    page.locator("canvas[data-kind=weights]").focus()
    page.keyboard.press("ArrowRight")
    page.locator("#channels-table thead button").first.click()
    page.wait_for_timeout(200)
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, iframe, object, embed, svg [onload]").count() == 0
    assert page.title() == HOSTILE[1]
    text = page.locator("body").inner_text()
    for i, name in enumerate(HOSTILE):
        assert f"{printable(name)}{i}" in text
    assert "49" not in page.locator("h1").inner_text()
    check_layout(page)


def test_a_hostile_index_executes_nothing(open_page, tmp_path):
    comparison = make_comparison(names=HOSTILE)
    entries = [
        IndexEntry(HOSTILE[0], "failed", HOSTILE[1], "javascript:window.hacked=1"),
        IndexEntry(HOSTILE[5], "done", href=HOSTILE[6], comparison=comparison),
    ]
    path = tmp_path / "index.html"
    path.write_text(render_index(entries), encoding="utf-8")
    page = open_page(path)
    hrefs = page.locator("#sessions-table a").evaluate_all("links => links.map(a => a.href)")
    assert len(hrefs) == 1
    assert all(href.startswith("file:") for href in hrefs)
    assert HOSTILE[1] in page.locator("body").inner_text()
    assert page.evaluate("window.hacked") is None
    check_layout(page)
    check_layout(open_page(path, width=400))


# Accessibility


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_violation(demo_run, open_page, tmp_path, scheme):
    assert find_violations(open_page(demo_run / "report.html", scheme=scheme)) == []
    classes = make_comparison(classes=("left", "right"), outputs=("side",), leaks=8)
    assert find_violations(open_page(write_page(classes, tmp_path), scheme=scheme)) == []
    path = tmp_path / "index.html"
    entries = [IndexEntry("bad", "failed", "no spikes"), IndexEntry("a", "done", comparison=classes)]
    path.write_text(render_index(entries), encoding="utf-8")
    assert find_violations(open_page(path, scheme=scheme)) == []
