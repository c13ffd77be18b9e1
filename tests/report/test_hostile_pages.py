"""Hostile names on the pages of variations, windows in time, comparisons and predictions, in notebooks and tables."""

import csv
import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from comparisons import HOSTILE, make_comparison

import neurofs
from neurofs.ground.csv_tables import FORMULA, render_csv
from neurofs.running.batch.index import merge_scores
from neurofs.running.predicting import predict_sessions, tabulate, write_page
from neurofs.running.run_folders import CLAIMS, VARIED, rebuild_all

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


def test_pages_of_encodings(open_page, session, tmp_path):
    neurofs.encode(session, HOSTILE[0], n_lags=1, n_splits=3).save(tmp_path)
    check_page(open_page(tmp_path / "encoding.html"))


def decode_all(session, target):
    """Return a comparison with all that a report may show: pairs, classes or outputs, trials, windows."""
    quick = {"selectors": ["corrcoef"], "decoders": ["knn"], "n_lags": 2, "n_splits": 3, "sizes": [1, 4]}
    return neurofs.compare(session, target, dependency=True, progress=False, **quick)


@pytest.mark.parametrize("target", [HOSTILE[0], "side"])
def test_the_report_of_a_session_that_was_decoded(open_page, session, tmp_path, target):
    path = tmp_path / "report.html"
    decode_all(session, target).report(path)
    page = open_page(path)
    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true })")
    check_page(page)


def test_an_index_with_claims_and_variations(open_page, session, tmp_path):
    neurofs.save(make_comparison(names=HOSTILE), tmp_path / "sessions" / "day")
    claim = {"claim": HOSTILE[0], "published": HOSTILE[1], "found": HOSTILE[5], "holds": False}
    named = {"session": HOSTILE[0], "by": HOSTILE[1], "reason": "", "sentences": [HOSTILE[5]], "page": HOSTILE[6]}
    failed = named | {"reason": HOSTILE[1], "sentences": [], "page": "javascript:window.hacked=1"}
    for name, content in ((CLAIMS, [claim]), (VARIED, [named, failed])):
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    path, _ = rebuild_all([tmp_path / "sessions" / "day"], tmp_path)
    page = open_page(path)
    check_page(page)
    hrefs = page.locator("a").evaluate_all("links => links.map(a => a.href)")
    assert hrefs
    assert all(href.startswith("file:") for href in hrefs)


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
        check_cells(cells)


def check_cells(cells: list[str]) -> None:
    """No text begins as a formula does."""
    texts = [cell for cell in cells if not NUMBER.fullmatch(cell)]
    assert texts
    assert not [text for text in texts if text.startswith(FORMULA[:-1])]


def make_formulas(session: neurofs.Recording) -> neurofs.Recording:
    """The same session, with formulas for names."""
    names = [f"{FORMULAS[i]}{i}" for i in range(8)]
    channels = session.channels.assign(name=names, area=[FORMULAS[0], FORMULAS[3]] * 4)
    (series,) = session.behavior.values()
    series = neurofs.Series(FORMULAS[0], series.time, series.values, columns=FORMULAS[1:3], unit=FORMULAS[3])
    side = np.resize([FORMULAS[0], FORMULAS[5]], len(session.trials))
    fields = {"counts": session.counts, "bin_width": session.bin_width, "trials": session.trials.assign(side=side)}
    return neurofs.Recording(FORMULAS[0], channels=channels, behavior={FORMULAS[0]: series}, **fields)


def test_no_table_of_any_output_has_a_formula(session, tmp_path):
    formulas = make_formulas(session)
    for number, target in enumerate((FORMULAS[0], "side")):
        neurofs.save(decode_all(formulas, target), tmp_path / f"run{number}")
    for by in ("area", "side"):
        neurofs.vary(formulas, FORMULAS[0], by=by, n_lags=1, n_splits=3).save(tmp_path / by)
    around = {"around": (-0.5, 0.6), "window": 0.2, "n_splits": 3}
    neurofs.decode_around(formulas, "side", "go", **around).save(tmp_path / "course")
    neurofs.encode(formulas, FORMULAS[0], n_lags=1, n_splits=3).save(tmp_path / "encoding")
    runs = {name: neurofs.read(tmp_path / "run0") for name in FORMULAS[:2]}
    neurofs.compare_runs(runs).save(tmp_path / "contrast")
    tables = sorted(tmp_path.rglob("*.csv"))
    found = {path.name for path in tables}
    assert found >= {
        "scores.csv",
        "pairs.csv",
        "channels.csv",
        "variation.csv",
        "folds.csv",
        "time_course.csv",
        "encoding.csv",
    }
    for path in tables:
        check_cells(read_cells(path.read_bytes().decode()))
    merged = read_cells(merge_scores([tmp_path / "run0", tmp_path / "run1"]))
    check_cells(merged)
