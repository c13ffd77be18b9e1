"""The numbers that the report shows in a real browser are those of the run."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from comparisons import make_comparison

from neurofs.comparison.comparison import read
from neurofs.comparison.wording import format_number
from neurofs.report.feature_maps import describe_channels, order_channels
from neurofs.report.index import IndexEntry
from neurofs.report.page import render_index
from neurofs.selectors import SELECTORS

pytestmark = pytest.mark.browser


def test_the_numbers_of_the_headline_are_those_of_the_run(demo_run, open_page):
    page = open_page(demo_run / "report.html")
    summary, scores = (json.loads((demo_run / "summary.json").read_text()), pd.read_csv(demo_run / "scores.csv"))
    for key, number in summary["headline"]["numbers"].items():
        card = page.locator(f"[data-number={key}]")
        if key in ("reference", "all"):  # all features have a card only where the rival is linear
            continue
        assert float(card.locator(".value").get_attribute("data-value")) == number["mean"]
        assert card.locator(".value").inner_text() == format_number(number["mean"])
        own = scores[scores["chosen"] & (scores["method"] == number["method"])]
        assert number["mean"] == pytest.approx(own["r2"].mean())
    linear = scores[scores["chosen"] & scores["method"].isin(["ridge", "kalman"])].groupby("method")["r2"].mean().max()
    is_rival = summary["headline"]["numbers"]["rival"]["method"] in ("ridge", "kalman")
    shown = page.locator(f"[data-number={'rival' if is_rival else 'linear'}] .value")
    assert page.locator("[data-number=linear]").count() == (not is_rival)
    assert float(shown.get_attribute("data-value")) == pytest.approx(linear)
    assert float(page.locator("[data-number=chance]").locator(".value").get_attribute("data-value")) == 0
    for sentence in (*summary["headline"]["how_well"], *summary["headline"]["which"]):
        assert sentence in page.locator("#headline").inner_text()


def test_the_table_of_methods_is_that_of_the_run(demo_run, open_page):
    page = open_page(demo_run / "report.html")
    summary, scores = (json.loads((demo_run / "summary.json").read_text()), pd.read_csv(demo_run / "scores.csv"))
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


def test_the_numbers_of_three_figures_are_those_of_the_run(demo_run, open_page):
    page = open_page(demo_run / "report.html")
    summary, scores = (json.loads((demo_run / "summary.json").read_text()), pd.read_csv(demo_run / "scores.csv"))
    curve = scores[~scores["chosen"]]
    rows = read_table(page, "#numbers-curves")
    assert len(rows) >= 2 * 2 * 5
    names = {SELECTORS[name].label: name for name in curve["selector"].unique()}
    for row in rows:
        row["selector"] = names[row["selector"]]
        own = curve[(curve["selector"] == row["selector"]) & (curve["output"] == row["output"])]
        own = own[(own["n"] == int(row["n"])) & (own["weighted"] == (row["selector"] == "rgs"))]
        assert len(own) == 2
        assert float(row["MSE"]) == pytest.approx(own["mse"].mean())
    wins = {w["rival"]: w for w in summary["wins"] if w["weighted"]}
    rows = read_table(page, "#numbers-wins")
    assert len(rows) == sum(len(w["n"]) for w in wins.values())
    for row in rows:
        w = wins[names[row["rival"]]]
        assert float(row["share"]) == w["share"][w["n"].index(int(row["n"]))]
    for row, test in zip(read_table(page, "#numbers-chance"), summary["chance"], strict=True):
        assert [float(row[k]) for k in ("no shift", "mean of shifts", "p (corrected)")] == [
            test[k] for k in ("real", "mean", "p_corrected")
        ]


def test_the_table_of_channels_is_that_of_the_run(demo_run, open_page):
    page, found = open_page(demo_run / "report.html"), read(demo_run)
    rows = read_table(page, "#channels-table")
    records = describe_channels(found)
    assert [row["channel"] for row in rows] == [records[i]["channel"] for i in order_channels(found)]
    weights = found.weights["weights"].sel(selector="rgs").mean(("output", "repeat", "fold")).sum("lag")
    for row in rows:
        assert float(row["weight"]) == pytest.approx(float(weights.sel(channel=row["channel"])), rel=1e-4)
        rate = found.session["rate"].sel(channel=row["channel"])
        assert float(row["rate (Hz)"]) == pytest.approx(float(rate))


def test_sorting_the_index_keeps_failures_first(open_page, tmp_path):
    done = [make_comparison(seed=seed, n_rows=100) for seed in range(3)]
    entries = [IndexEntry(f"day{i}", "done", comparison=c) for i, c in enumerate(done)]
    path = tmp_path / "index.html"
    path.write_text(render_index([*entries, IndexEntry("bad", "failed", "x")]), encoding="utf-8")
    page = open_page(path)
    table = page.locator("#sessions-table")
    for direction in ("descending", "ascending"):
        table.locator("thead button", has_text="first selector").click()
        names = table.locator("tbody th").all_text_contents()
        means = [c.summary.headline.numbers.reference.mean for c in done]
        order = sorted(range(3), key=lambda i: means[i], reverse=direction == "descending")
        assert names == ["bad", *(f"day{i}" for i in order)]
