"""Hostile names on the pages of variations, windows in time, comparisons and predictions, in notebooks and tables."""

import csv
import io
import re

import numpy as np
import pandas as pd
import pytest
from comparisons import HOSTILE, make_comparison

import neurofs
from neurofs.ground.csv_tables import FORMULA, render_csv
from neurofs.running.predicting import predict_sessions, tabulate, write_page

pytestmark = [pytest.mark.slow, pytest.mark.browser]

NUMBER = re.compile(r"-?[0-9.]+(e-?[0-9]+)?")
FORMULAS = ("=1+1", "+1", "-1+1", "@SUM(1)", "\t=1", "\r=1", "\n=1", "a\r=1", "\uff1d1+1", "'=1")


def make_hostile(n_bins: int = 900) -> neurofs.Recording:
    """A session in which every name that a file may choose is hostile: session, channels, areas, series, conditions."""
    rng = np.random.default_rng(3)
    time = 0.1 * np.arange(n_bins)
    hand = np.column_stack([np.sin(time), np.cos(0.7 * time)])
    counts = rng.poisson(np.exp(0.4 * hand @ rng.normal(size=(2, 8))))
    series = neurofs.Series(HOSTILE[0], time, hand, columns=(HOSTILE[1], HOSTILE[5]), unit=HOSTILE[6])
    names = [f"{HOSTILE[i]}{i}" for i in range(8)]
    channels = pd.DataFrame({"name": names, "area": [HOSTILE[0], HOSTILE[1]] * 4})
    start = np.arange(0.0, 88, 2.0)
    trials = pd.DataFrame({"start": start, "stop": start + 2, "go": start + 0.7})
    trials["side"] = np.resize([HOSTILE[0], HOSTILE[5]], len(trials))
    fields = {"channels": channels, "behavior": {HOSTILE[0]: series}, "trials": trials, "source": HOSTILE[1]}
    return neurofs.Recording(HOSTILE[1], counts=counts, bin_width=0.1, **fields)


def check_page(page) -> None:
    """Nothing ran, nothing was drawn that is no picture of ours, and a name can be read as it is."""
    page.wait_for_timeout(200)
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, iframe, object, embed, svg [onload]").count() == 0
    assert "window.hacked" in page.locator("body").inner_text()


@pytest.fixture(scope="module")
def session():
    return make_hostile()


@pytest.mark.parametrize("by", ["area", "side"])
def test_pages_of_variations(open_page, session, tmp_path, by):
    found = neurofs.vary(session, HOSTILE[0], by=by, n_lags=1, n_splits=3)
    found.save(tmp_path)
    check_page(open_page(tmp_path / "variation.html"))


def test_pages_of_windows_in_time(open_page, session, tmp_path):
    found = neurofs.decode_around(session, "side", "go", around=(-0.5, 0.6), window=0.2, n_splits=3)
    found.save(tmp_path)
    check_page(open_page(tmp_path / "time_course.html"))


def test_pages_of_comparisons(open_page, tmp_path):
    runs = {HOSTILE[i]: make_comparison(seed=i, names=HOSTILE) for i in (0, 1)}
    neurofs.compare_runs(runs).save(tmp_path)
    check_page(open_page(tmp_path / "variation.html"))


def test_pages_of_predictions(open_page, session, tmp_path):
    model = neurofs.fit(session, HOSTILE[0], decoder="ridge", n_lags=2)
    found = list(predict_sessions(model, [(HOSTILE[5], lambda: session)], [[]]))
    assert not found[0].error
    check_page(open_page(write_page(found, model, tmp_path / "report.html")))


def test_notebooks(open_page, session, tmp_path):
    model = neurofs.fit(session, HOSTILE[0], decoder="ridge", n_lags=2)
    shown = [session, model, neurofs.build_tensor(session, HOSTILE[0]), make_comparison(names=HOSTILE)]
    parts = "".join(one._repr_html_() for one in shown if hasattr(one, "neurofs") or "neurofs" in type(one).__module__)
    (tmp_path / "notebook.html").write_text(f'<meta charset="utf-8">{parts}', encoding="utf-8")
    check_page(open_page(tmp_path / "notebook.html"))


def read_cells(text: str) -> list[str]:
    return [cell for line in csv.reader(io.StringIO(text)) for cell in line]


def test_no_cell_of_a_table_is_a_formula(session):
    named = pd.DataFrame({f"{name}{i}": [name] for i, name in enumerate(FORMULAS)})
    assert len(read_cells(render_csv(named))) == 2 * len(FORMULAS)
    decoded = tabulate(neurofs.fit(session, HOSTILE[0], decoder="ridge", n_lags=2).predict(session))
    for table in (named, decoded):
        cells = read_cells(render_csv(table))
        texts = [cell for cell in cells if not NUMBER.fullmatch(cell)]
        assert texts
        assert not any(text.startswith(FORMULA[:-1]) for text in texts)
