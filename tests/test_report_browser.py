"""The report in a real browser (Debian's Chromium), opened from a file, with the network off."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from comparisons import HOSTILE, make_comparison

from neurofs.config import RunOptions
from neurofs.errors import printable
from neurofs.feature_maps import describe_channels, mean_weights
from neurofs.loaders import demo_path
from neurofs.methods_text import write_methods
from neurofs.pipeline import decode
from neurofs.report import format_number, render, render_index, write_report
from neurofs.results import read

pytestmark = pytest.mark.browser

CHROMIUM = Path("/usr/bin/chromium")


@pytest.fixture(scope="module")
def browser():
    """Chromium; CI must have it."""
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        sync_playwright = None
    if sync_playwright is None or not CHROMIUM.exists():
        message = f"needs playwright and {CHROMIUM} (apt-get install chromium)"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def run(browser, tmp_path_factory) -> Path:
    """A run of the demo session, small but whole."""
    folder = tmp_path_factory.mktemp("demo")
    options = RunOptions(
        file=str(demo_path()),
        target="hand_velocity",
        selectors=("rgs", "corrcoef"),
        decoder=("knn",),
        n_splits=2,
        n_shifts=3,
        n_lags=5,
        sizes=(1, 5, 20, 100, 320),
        settings={"rgs": {"n_epochs": 1}},
    )
    decode(options, folder)
    write_report(folder)
    return folder


@pytest.fixture
def open_page(browser):
    """Open a file in a page of its own; whatever the browser complains about fails the test."""
    contexts, complaints = [], []

    def open_(path: Path, width: int = 1280, scheme: str = "light", **options):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True, **options
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda r: complaints.append(r.url) if not r.url.startswith(("file:", "data:")) else None,
        )
        page.goto(path.as_uri())
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []


def write_page(comparison, tmp_path: Path) -> Path:
    path = tmp_path / "report.html"
    path.write_text(render(comparison), encoding="utf-8")
    return path


# What it does


def test_the_slider_selects_n_features_of_every_selector(run, open_page):
    page = open_page(run / "report.html")
    maps = page.locator("[data-maps]")
    slider = page.locator("[data-role=n]")
    for key, times in (("Home", 0), ("ArrowRight", 6), ("End", 0), ("ArrowLeft", 1)):
        slider.press(key) if not times else [slider.press(key) for _ in range(times)]
        n = int(maps.get_attribute("data-n"))
        assert page.locator("[data-role=count]").text_content() == str(n)
        assert slider.get_attribute("aria-valuetext") == f"{n} of 320 features"
        selected = [float(value) for value in maps.get_attribute("data-selected").split()]
        assert selected == pytest.approx([n, n], rel=1e-3)
        assert f"best {n}" in page.locator(".map h3").nth(1).text_content()
    assert n < 320
    slider.press("Home")
    assert maps.get_attribute("data-n") == "1"


def test_hovering_a_cell_names_it(run, open_page):
    page, found = open_page(run / "report.html"), read(run)
    canvas = page.locator("canvas[data-kind=weights]")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 40)
    text = page.locator("[data-maps] [data-role=readout]").text_content()
    check_cell(text, found)


def check_cell(text: str, found) -> None:
    """Check every number of a readout against weights.nc."""
    name = text.split("channel ")[1].split(", electrode")[0]
    lag = float(text.split("lag ")[1].split(" ms")[0]) / 1000
    channel = [str(c) for c in found.weights["channel"].values].index(name)
    at = int(np.argmin(np.abs(found.weights["lag"].values - lag)))
    assert f"electrode {found.session['electrode'].values[channel]}" in text
    weight = mean_weights(found, "rgs")[:, channel, at].mean()
    assert float(text.split("weight ")[1].split(",")[0]) == pytest.approx(weight, rel=6e-3)
    ranks = found.weights["ranking"].sel(selector="rgs").values[..., channel, at].ravel()
    assert float(text.split("median rank ")[1].split(" ")[0]) == pytest.approx(np.median(ranks))
    n = int(text.split("among the best ")[1].split(" ")[0])
    assert f"in {int((ranks <= n).sum())} of {ranks.size} folds" in text


def test_the_map_is_read_with_the_keyboard(run, open_page):
    page, found = open_page(run / "report.html"), read(run)
    names = [str(name) for name in found.weights["channel"].values]
    page.locator("canvas[data-kind=weights]").focus()
    readout = page.locator("[data-maps] [data-role=readout]")
    assert f"channel {names[0]}, electrode" in readout.text_content()
    assert "lag 0 ms" in readout.text_content()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert f"channel {names[1]}, electrode" in readout.text_content()
    assert "lag 200 ms" in readout.text_content()
    check_cell(readout.text_content(), found)
    page.keyboard.press("End")
    assert f"channel {names[-1]}, electrode" in readout.text_content()
    page.locator("[data-role=output]").select_option(label="hand_velocity:y")
    assert f"of {found.weights.sizes['fold']} folds" in readout.text_content()


def test_all_controls_are_reached_by_tab(run, open_page):
    page = open_page(run / "report.html")
    seen = set()
    for _ in range(80):
        page.keyboard.press("Tab")
        seen.add(
            page.evaluate("(e => e.dataset.role || e.dataset.copy || e.tagName)(document.activeElement)")
        )
    wanted = {"method", "previous", "next", "in", "out", "scroll", "output", "n", "CANVAS", "methods-text"}
    assert wanted <= seen


@pytest.mark.parametrize("column", ["weight", "channel", "rate (Hz)"])
def test_tables_are_sorted_by_a_click(run, open_page, column):
    page = open_page(run / "report.html")
    table = page.locator("#channels-table")
    head = table.locator("thead th", has_text=column).first
    names = table.locator("thead th").all_text_contents()
    place = [name.strip() for name in names].index(column)
    orders = []
    for _ in range(2):
        head.locator("button").click()
        cells = table.locator(f"tbody tr td:nth-child({place + 1})")
        values = cells.evaluate_all("cells => cells.map(c => c.dataset.value ?? c.textContent)")
        numbers = [float(v) for v in values] if column != "channel" else None
        direction = head.get_attribute("aria-sort")
        orders.append(direction)
        if numbers:
            assert numbers == sorted(numbers, reverse=direction == "descending")
    assert set(orders) == {"ascending", "descending"}
    assert len(values) == 64


def test_traces_zoom_scroll_and_go_from_trial_to_trial(run, open_page):
    page, found = open_page(run / "report.html"), read(run)
    traces = page.locator("[data-traces]")

    def window():
        return np.array([float(traces.get_attribute(f"data-{end}")) for end in ("start", "stop")])

    before = window()
    page.get_by_role("button", name="Zoom in").click()
    after = window()
    assert np.diff(after) == pytest.approx(np.diff(before) / 2)
    assert after.mean() == pytest.approx(before.mean())
    page.get_by_role("button", name="Zoom out").click()
    assert window() == pytest.approx(before)
    page.locator("[data-role=scroll]").press("End")
    assert window()[1] == pytest.approx(found.predictions["time"].values[-1] + 0.1)
    page.locator("[data-role=scroll]").press("Home")
    canvas = traces.locator("canvas").first
    canvas.focus()
    page.keyboard.press("ArrowRight")
    assert window() == pytest.approx(before + 0.1 * np.diff(before))
    page.keyboard.press("+")
    assert np.diff(window()) == pytest.approx(np.diff(before) / 2)
    page.keyboard.press("Home")
    page.get_by_role("button", name="Next trial").click()
    page.get_by_role("button", name="Next trial").click()
    trial, time = found.predictions["trial"].values, found.predictions["time"].values
    inside = time[(time >= window()[0]) & (time < window()[1])]
    shown = trial[np.isin(time, inside)]
    assert len(set(shown)) == 1
    assert f"trial {shown[0]}." in traces.locator("[data-role=readout]").text_content()


def test_hovering_a_trace_reads_true_and_decoded_values(run, open_page):
    page, found = open_page(run / "report.html"), read(run)
    page.locator("[data-role=method]").select_option(label="correlation")
    canvas = page.locator("[data-traces] canvas").first
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 60)
    text = page.locator("[data-traces] [data-role=readout]").text_content()
    row = int(np.argmin(np.abs(found.predictions["time"].values - float(text.split(" s")[0]))))
    method = found.predictions["method"].values.tolist().index("corrcoef")
    for output, name in enumerate(found.predictions["output"].values):
        part = text.split(f"{name}: true ")[1]
        true, decoded = (
            float(part.split(",")[0]),
            float(part.split("decoded ")[1].split(";")[0].split(" (")[0]),
        )
        assert true == pytest.approx(found.predictions["target"].values[row, output], rel=1e-3)
        expected = found.predictions["predicted"].values[method, 0, output, row]
        assert decoded == pytest.approx(expected, rel=1e-3)


def test_the_methods_text_is_copied(run, open_page):
    page, found = open_page(run / "report.html", permissions=["clipboard-read", "clipboard-write"]), read(run)
    page.get_by_role("button", name="Copy methods").click()
    page.locator(".copied", has_text="Copied.").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == write_methods(found)


def test_without_scripts_everything_can_be_read(run, open_page):
    page = open_page(run / "report.html", java_script_enabled=False)
    for name in ("traces", "curves", "wins", "lags", "stability", "null", "rates", "raster"):
        assert page.locator(f"#figure-{name} svg").first.is_visible()
    assert page.locator("#figure-maps svg").first.is_visible()
    assert page.locator("#channels-table tbody tr").count() == 64
    assert not page.locator("[data-role=n]").is_visible()
    assert not page.locator("button").first.is_visible()


def test_a_printed_report_is_light_and_whole(run, open_page):
    page = open_page(run / "report.html", scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("#figure-traces svg").first.is_visible()
    assert not page.locator("nav.contents").is_visible()
    assert not page.locator("[data-role=n]").is_visible()


# What it looks like

OVERLAPS = """() => {
  const boxes = [];
  const clip = (box, element) => {
    let { left, top, right, bottom } = box;
    for (let e = element; e; e = e.parentElement) {
      if (!/auto|hidden|scroll/.test(getComputedStyle(e).overflow + getComputedStyle(e).overflowX)) continue;
      const o = e.getBoundingClientRect();
      left = Math.max(left, o.left); right = Math.min(right, o.right);
      top = Math.max(top, o.top); bottom = Math.min(bottom, o.bottom);
    }
    return { left, top, right, bottom };
  };
  const walker = document.createTreeWalker(document.querySelector(".page"), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!node.textContent.trim() || !parent.checkVisibility()) continue;
    if (parent.closest("script, style, .hidden, option")) continue;
    if (parent.closest("thead")) continue;   // sticky heads lie above their own rows by design
    const svg = parent.closest("svg") !== null;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of svg ? [parent.getBoundingClientRect()] : range.getClientRects()) {
      const box = clip(rect, parent), slack = svg ? 0.18 * (box.bottom - box.top) : 1;
      if (box.right - box.left < 1 || box.bottom - box.top < 1) continue;
      boxes.push({ text: node.textContent.trim().slice(0, 60), node: parent, left: box.left + 1,
        right: box.right - 1, top: box.top + slack, bottom: box.bottom - slack });
    }
  }
  boxes.sort((a, b) => a.top - b.top);
  const found = [];
  for (const [i, a] of boxes.entries()) for (const b of boxes.slice(i + 1)) {
    if (b.top >= a.bottom) break;
    if (a.node !== b.node && a.left < b.right && b.left < a.right) found.push([a.text, b.text]);
  }
  const wide = Array.from(document.querySelectorAll(".page *")).filter((e) => {
    if (!e.checkVisibility()) return false;
    const r = clip(e.getBoundingClientRect(), e.parentElement);
    return r.right - r.left > 1 && r.right > innerWidth + 1;
  }).map((e) => e.tagName + " " + e.textContent.slice(0, 40));
  const overflow = document.documentElement.scrollWidth - innerWidth;
  return { overlaps: found.slice(0, 5), wide: wide.slice(0, 5), overflow, boxes: boxes.length };
}"""


def check_layout(page) -> None:
    found = page.evaluate(OVERLAPS)
    assert found["boxes"] > 20
    assert found["overflow"] <= 0
    assert found["wide"] == []
    assert found["overlaps"] == []


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
def test_nothing_overflows_or_overlaps(run, open_page, tmp_path, width, scheme):
    page = open_page(run / "report.html", width, scheme)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    page.screenshot(path=tmp_path / f"{width}-{scheme}.png", full_page=True)
    check_layout(page)


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_overlaps_without_scripts(run, open_page, width):
    page = open_page(run / "report.html", width, java_script_enabled=False)
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
        {"name": HOSTILE[0], "status": "failed", "reason": HOSTILE[1], "href": "javascript:window.hacked=1"},
        {"name": HOSTILE[5], "status": "done", "href": HOSTILE[6], "comparison": comparison},
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


def find_violations(page) -> list[str]:
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [
        f"{v['id']}: {v['nodes'][0]['html'][:120]}" for v in found if v["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_violation(run, open_page, tmp_path, scheme):
    assert find_violations(open_page(run / "report.html", scheme=scheme)) == []
    classes = make_comparison(classes=("left", "right"), outputs=("side",), leaks=8)
    assert find_violations(open_page(write_page(classes, tmp_path), scheme=scheme)) == []
    path = tmp_path / "index.html"
    failed = {"name": "bad", "status": "failed", "reason": "no spikes"}
    path.write_text(
        render_index([failed, {"name": "a", "status": "done", "comparison": classes}]), encoding="utf-8"
    )
    assert find_violations(open_page(path, scheme=scheme)) == []


# Numbers


def test_the_numbers_of_the_headline_are_those_of_the_run(run, open_page):
    page = open_page(run / "report.html")
    summary, scores = json.loads((run / "summary.json").read_text()), pd.read_csv(run / "scores.csv")
    for key, number in summary["headline"]["numbers"].items():
        card = page.locator(f"[data-number={key}]")
        if key == "best" and number["method"] == summary["reference"]:
            assert card.count() == 0
            continue
        assert float(card.locator(".value").get_attribute("data-value")) == number["mean"]
        assert card.locator(".value").inner_text() == format_number(number["mean"])
        if key != "chance":
            own = scores[scores["chosen"] & (scores["method"] == number["method"])]
            assert number["mean"] == pytest.approx(own["r2"].mean())
    for sentence in summary["headline"]["sentences"]:
        assert sentence in page.locator("#headline").inner_text()


def test_the_table_of_methods_is_that_of_the_run(run, open_page):
    page = open_page(run / "report.html")
    summary, scores = json.loads((run / "summary.json").read_text()), pd.read_csv(run / "scores.csv")
    rows = read_table(page, "#methods-table")
    assert len(rows) == len(summary["methods"])
    for row, method in zip(rows, summary["methods"], strict=True):
        own = scores[scores["chosen"] & (scores["method"] == method["method"])]
        for column, score in {"R²": "r2", "r": "r", "MSE": "mse"}.items():
            assert float(row[column]) == pytest.approx(own[score].mean())
        assert float(row["n"]) == method["n"]["median"]


def read_table(page, selector: str) -> list[dict[str, str]]:
    """Return the rows of a table, exact values where there are some."""
    table = page.locator(selector)
    columns = [name.strip() for name in table.locator("thead th").all_text_contents()]
    rows = table.locator("tbody tr").evaluate_all(
        "rows => rows.map(r => Array.from(r.cells).map(c => c.dataset.value ?? c.textContent))"
    )
    return [dict(zip(columns, row, strict=True)) for row in rows]


def test_the_numbers_of_three_figures_are_those_of_the_run(run, open_page):
    page = open_page(run / "report.html")
    summary, scores = json.loads((run / "summary.json").read_text()), pd.read_csv(run / "scores.csv")
    curve = scores[~scores["chosen"]]
    rows = read_table(page, "#numbers-curves")
    assert len(rows) >= 2 * 2 * 5
    for row in rows:
        own = curve[(curve["selector"] == row["selector"]) & (curve["output"] == row["output"])]
        own = own[(own["n"] == int(row["n"])) & (own["weighted"] == (row["selector"] == "rgs"))]
        assert len(own) == 2
        assert float(row["MSE"]) == pytest.approx(own["mse"].mean())
    wins = {w["rival"]: w for w in summary["wins"] if w["weighted"]}
    rows = read_table(page, "#numbers-wins")
    assert len(rows) == sum(len(w["n"]) for w in wins.values())
    for row in rows:
        w = wins[row["rival"]]
        assert float(row["share"]) == w["share"][w["n"].index(int(row["n"]))]
    for row, null in zip(read_table(page, "#numbers-null"), summary["null"], strict=True):
        assert [float(row[k]) for k in ("real r2", "chance (mean of shifts)", "p")] == [
            null[k] for k in ("real", "chance", "p")
        ]


def test_the_table_of_channels_is_that_of_the_run(run, open_page):
    page, found = open_page(run / "report.html"), read(run)
    rows = read_table(page, "#channels-table")
    records = describe_channels(found)
    assert [row["channel"] for row in rows] == [record["channel"] for record in records]
    weights = found.weights["weights"].sel(selector="rgs").mean(("output", "repeat", "fold")).sum("lag")
    for row in rows:
        assert float(row["weight"]) == pytest.approx(float(weights.sel(channel=row["channel"])), rel=1e-4)
        rate = found.session["rate"].sel(channel=row["channel"])
        assert float(row["rate (Hz)"]) == pytest.approx(float(rate))


def test_sorting_the_index_keeps_failures_first(open_page, tmp_path):
    done = [make_comparison(seed=seed, n_rows=100) for seed in range(3)]
    entries = [{"name": f"day{i}", "status": "done", "comparison": c} for i, c in enumerate(done)]
    path = tmp_path / "index.html"
    path.write_text(
        render_index([*entries, {"name": "bad", "status": "failed", "reason": "x"}]), encoding="utf-8"
    )
    page = open_page(path)
    table = page.locator("#sessions-table")
    for direction in ("descending", "ascending"):
        table.locator("thead button", has_text="first selector").click()
        names = table.locator("tbody th").all_text_contents()
        means = [c.summary["headline"]["numbers"]["reference"]["mean"] for c in done]
        order = sorted(range(3), key=lambda i: means[i], reverse=direction == "descending")
        assert names == ["bad", *(f"day{i}" for i in order)]
