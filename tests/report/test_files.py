"""Figures saved as files from the page, in a real browser, offline and under the page's policy."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from comparisons import HOSTILE, make_comparison
from matplotlib.image import imread

from neurofs.report.index import IndexEntry
from neurofs.report.page import render, render_index

pytestmark = pytest.mark.browser


def save(page, name: str, kind: str, folder: Path) -> Path:
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    with page.expect_download() as download:
        page.locator(f"#figure-{name} button[data-file={kind}]").click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render(make_comparison()), encoding="utf-8")
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_figure_is_saved_as_svg_and_png(report, open_page, tmp_path, scheme):
    page = open_page(report, scheme=scheme)
    for name in ("tuning", "curves", "raster"):
        path = save(page, name, "svg", tmp_path)
        assert path.name == f"toy-{name}.svg"
        root = ET.parse(path).getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        width, height = float(root.get("width")), float(root.get("height"))
        assert 400 < width < 1100
        assert 150 < height < 2000
        text = path.read_text(encoding="utf-8")
        assert "var(" not in text  # nothing of the page is needed any more
        assert "class=" not in text
        assert text.count("<svg") > 2
        image = imread(save(page, name, "png", tmp_path))
        assert image.shape[:2] == (round(3 * height), round(3 * width))
        assert image[0, 0, :3].tolist() == [1.0, 1.0, 1.0]  # always on light paper
        assert 0.002 < np.mean(image[..., :3].min(axis=2) < 0.6) < 0.5  # and not empty


def test_a_saved_figure_is_the_same_on_every_screen(report, open_page, tmp_path):
    files = []
    for i, (width, scheme) in enumerate([(1280, "light"), (400, "dark")]):
        (tmp_path / str(i)).mkdir()
        files.append(save(open_page(report, width, scheme), "curves", "svg", tmp_path / str(i)).read_text())
    assert files[0] == files[1]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["maps", "traces"])
def test_interactive_figures_are_saved_as_shown_on_light_paper(report, open_page, tmp_path, name, scheme):
    page = open_page(report, scheme=scheme)
    assert page.locator(f"#figure-{name} button[data-file=svg]").count() == 0
    shots = f"[...document.querySelectorAll('#figure-{name} canvas')].map(c => c.toDataURL())"
    before = page.evaluate(shots)
    image = imread(save(page, name, "png", tmp_path))
    assert image.shape[0] > 200
    assert image.shape[1] > 480
    assert image[0, 0, :3].tolist() == [1.0, 1.0, 1.0]
    assert 0.005 < np.mean(image[..., :3].min(axis=2) < 0.7) < 0.6
    assert page.evaluate(shots) == before  # the page keeps its own colors


def test_buttons_are_small_and_named(report, open_page):
    page = open_page(report)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.get_by_role("button", name="SVG: save Tuning", exact=True).is_visible()
    boxes = [b.bounding_box() for b in page.locator(".files button").all() if b.is_visible()]
    assert len(boxes) > 20
    assert all(box["height"] < 26 for box in boxes)


def test_figures_of_hostile_names_are_saved(open_page, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(render(make_comparison(names=HOSTILE, n_channels=len(HOSTILE))), encoding="utf-8")
    page = open_page(path)
    saved = save(page, "tuning", "svg", tmp_path)
    assert not set('<>"/\\') & set(saved.name)
    assert ET.parse(saved).getroot() is not None
    assert page.evaluate("window.hacked") is None


def test_figures_of_the_index_are_saved(open_page, tmp_path):
    path = tmp_path / "index.html"
    path.write_text(render_index([IndexEntry("a", "done", comparison=make_comparison())]), encoding="utf-8")
    page = open_page(path)
    assert imread(save(page, "all-scores", "png", tmp_path)).shape[0] > 200
    assert ET.parse(save(page, "all-scores", "svg", tmp_path)).getroot() is not None
