"""What the report does in a real browser (Debian's Chromium), opened from a file, with the network off."""

from __future__ import annotations

import numpy as np
import pytest

from neurofs.comparison.comparison import read
from neurofs.report.feature_maps import mean_weights, order_channels
from neurofs.report.methods_text import write_methods

pytestmark = pytest.mark.browser


def unfold(page):
    """Open all that is folded."""
    for fold in page.locator("details > summary").all():
        if fold.is_visible():
            fold.click()


def test_the_slider_selects_n_features_of_every_selector(demo_run, open_page):
    page = open_page(demo_run / "report.html")
    unfold(page)
    maps = page.locator("[data-maps]")
    slider = page.locator("[data-role=n]")
    for key, times in (("Home", 0), ("ArrowRight", 6), ("End", 0), ("ArrowLeft", 1)):
        slider.press(key) if not times else [slider.press(key) for _ in range(times)]
        n = int(maps.get_attribute("data-n"))
        assert page.locator("[data-role=count]").text_content() == str(n)
        assert slider.get_attribute("aria-valuetext") == f"{n} of 320 features"
        selected = [float(value) for value in maps.get_attribute("data-selected").split()]
        assert selected == pytest.approx([n, n], rel=1e-3)
        assert f"best {n};" in page.locator("canvas[data-kind=top]").first.get_attribute("aria-label")
    assert n < 320
    slider.press("Home")
    assert maps.get_attribute("data-n") == "1"


def test_hovering_a_cell_names_it(demo_run, open_page):
    page, found = open_page(demo_run / "report.html"), read(demo_run)
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


def test_the_map_is_read_with_the_keyboard(demo_run, open_page):
    page, found = open_page(demo_run / "report.html"), read(demo_run)
    names = [str(name) for name in found.weights["channel"].values[order_channels(found)]]
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


def test_all_controls_are_reached_by_tab(demo_run, open_page):
    page = open_page(demo_run / "report.html")
    unfold(page)
    page.locator("h1").click()
    seen = set()
    for _ in range(120):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("(e => e.dataset.role || e.dataset.copy || e.tagName)(document.activeElement)"))
    wanted = {"method", "previous", "next", "in", "out", "scroll", "output", "n", "CANVAS", "methods-text"}
    assert wanted <= seen


@pytest.mark.parametrize("column", ["weight", "channel", "rate (Hz)"])
def test_tables_are_sorted_by_a_click(demo_run, open_page, column):
    page = open_page(demo_run / "report.html")
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


def test_traces_zoom_scroll_and_go_from_trial_to_trial(demo_run, open_page):
    page, found = open_page(demo_run / "report.html"), read(demo_run)
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


def test_hovering_a_trace_reads_true_and_decoded_values(demo_run, open_page):
    page, found = open_page(demo_run / "report.html"), read(demo_run)
    assert page.locator("[data-role=name]").text_content() != "decoded, correlation"
    page.locator("[data-role=method]").select_option(label="correlation")
    assert page.locator("[data-role=name]").text_content() == "decoded, correlation"
    caption = page.locator("#figure-traces figcaption p").first.text_content()
    assert "by the method chosen above" in caption, "which names none, so that it holds for each"
    canvas = page.locator("[data-traces] canvas").first
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 60)
    text = page.locator("[data-traces] [data-role=readout]").text_content()
    row = int(np.argmin(np.abs(found.predictions["time"].values - float(text.split(" s")[0]))))
    method = found.predictions["method"].values.tolist().index("corrcoef")
    for output, name in enumerate(found.predictions["output"].values):
        part = text.split(f"{name}: true ")[1]
        true, decoded = (float(part.split(",")[0]), float(part.split("decoded ")[1].split(";")[0].split(" (")[0]))
        assert true == pytest.approx(found.predictions["target"].values[row, output], rel=1e-3)
        expected = found.predictions["predicted"].values[method, 0, output, row]
        assert decoded == pytest.approx(expected, rel=1e-3)


def test_the_methods_text_is_copied(demo_run, open_page):
    page, found = (
        open_page(demo_run / "report.html", permissions=["clipboard-read", "clipboard-write"]),
        read(demo_run),
    )
    unfold(page)
    page.get_by_role("button", name="Copy methods").click()
    page.locator(".copied", has_text="Copied.").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == write_methods(found)


def test_without_scripts_everything_can_be_read(demo_run, open_page):
    page = open_page(demo_run / "report.html", java_script_enabled=False)
    unfold(page)
    for name in ("traces", "curves", "wins", "lags", "stability", "chance", "rates", "raster"):
        assert page.locator(f"#figure-{name} svg").first.is_visible()
    assert page.locator("#figure-maps svg").first.is_visible()
    assert page.locator("#channels-table tbody tr").count() == 64
    assert not page.locator("[data-role=n]").is_visible()
    assert not page.locator("button").first.is_visible()


def test_a_printed_report_is_light_and_whole(demo_run, open_page):
    page = open_page(demo_run / "report.html", scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("#figure-traces svg").first.is_visible()
    assert not page.locator("nav.contents").is_visible()
    assert not page.locator("[data-role=n]").is_visible()
