import base64
import hashlib
import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
import xarray as xr
from click.testing import CliRunner
from comparisons import HOSTILE, make_comparison

from neurofs.commands.main import main
from neurofs.comparison.comparison import save
from neurofs.comparison.summary import Coverage
from neurofs.ground.config import RunOptions
from neurofs.report.data import encode_json, pack_maps
from neurofs.report.index import IndexEntry
from neurofs.report.methods_text import write_bibtex, write_methods
from neurofs.report.page import render, render_index, save_figures, write_report

pytestmark = pytest.mark.slow

CASES = {
    "usual": {},
    "one output": {"outputs": ("y",)},
    "one lag": {"n_lags": 1},
    "one channel": {"n_channels": 1},
    "three outputs": {"outputs": ("x", "y", "z")},
    "classes": {"classes": ("left", "right"), "outputs": ("side",)},
    "no trials": {"trials": False},
    "NaN scores": {"nan_scores": True},
    "one selector": {"selectors": ("corrcoef",), "baselines": ()},
    "bands, leaks, repeats": {"sd": True, "leaks": 40, "n_repeats": 2},
    "hostile": {"names": HOSTILE},
}


@pytest.fixture(scope="module")
def usual():
    comparison = make_comparison()
    return comparison, render(comparison)


@pytest.mark.parametrize("case", CASES)
def test_every_kind_of_run_renders(case):
    html = render(make_comparison(**CASES[case]))
    assert html.startswith("<!DOCTYPE html>")
    assert html.rstrip().endswith("</html>")
    for name in ("decoded", "channels", "features", "wins", "trust", "quality", "methods", "glossary", "provenance"):
        assert f'<section id="{name}"' in html


def test_what_is_missing_is_said():
    bare = make_comparison(selectors=("corrcoef",), baselines=(), outputs=("y",), trials=False, nan_scores=True)
    summary = bare.summary.model_copy(update={"chance": [], "stability": []})
    html = render(replace(bare, summary=summary, session=xr.Dataset()))
    for words in (
        "No winning percentages: there is no rival",
        "Chance is not tested",
        "The session has no trials.",
        "No raster",
        "No map of the array",
        "No score could be computed for correlation",
        "No stability",
        "not run",
    ):
        assert words in html


def test_intervals_are_shown_with_how_often_they_hold():
    bands = make_comparison(sd=True)
    found = Coverage(method="rgs", mean=0.951, by_size=[0.99, 0.98, 0.97, 0.94, 0.876], half_width=0.62)
    html = render(replace(bands, summary=bands.summary.model_copy(update={"coverage": [found]})))
    table = html[html.index('id="coverage-table"') :].split("</table>")[0]
    for words in ("on average", "farthest", "0.951", "0.876", "0.620"):
        assert words in table
    assert "made to hold 95 % of samples, on average" in html
    assert 'id="coverage-table"' not in render(bands)


def test_the_reach_of_the_target_is_told():
    usual = make_comparison()
    audit = usual.summary.audit.model_copy(update={"target_span": 7})
    derived = replace(usual, summary=usual.summary.model_copy(update={"audit": audit}))
    assert "made of samples of more than one bin, lies less than 7 bins away, were left out" in write_methods(derived)
    assert "more than one bin" not in write_methods(usual)


def test_a_leak_is_shouted_at_the_very_top():
    html = render(make_comparison(leaks=40))
    assert 0 < html.index('class="alarm"') < html.index("<h1>")
    assert "40 pairs of a training and a test sample share raw data" in html
    assert 'class="alarm"' not in render(make_comparison())


def test_what_may_be_chance_is_said():
    comparison = make_comparison()
    assert "Beyond chance." in render(comparison)
    worse = {"p_corrected": 0.4, "beyond": False}
    tests = [test.model_copy(update=worse) for test in comparison.summary.chance]
    html = render(replace(comparison, summary=comparison.summary.model_copy(update={"chance": tests})))
    assert "Not beyond chance." in html
    mixed = [*tests[:1], *comparison.summary.chance[1:]]
    html = render(replace(comparison, summary=comparison.summary.model_copy(update={"chance": mixed})))
    assert "Beyond chance in part." in html


def test_folds_lost_are_whole_percents():
    comparison = make_comparison()
    tests = [test.model_copy(update={"wins": 2 / 3}) for test in comparison.summary.tests]
    html = render(replace(comparison, summary=comparison.summary.model_copy(update={"tests": tests})))
    table = html[html.index('id="methods-table"') :].split("</table>")[0]
    shown = re.findall(r'<td class="num" data-value="66\.6\d+">(.*?)</td>', table)
    assert set(shown) == {"67"}


# Safety


def test_the_policy_admits_exactly_the_page_s_own_script_and_style(usual):
    _, html = usual
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1].replace("&#39;", "'")
    for tag, directive in (("script", "script-src"), ("style", "style-src")):
        blocks = re.findall(rf"<{tag}>(.*?)</{tag}>", html, flags=re.S)
        assert len(blocks) == 1
        digest = base64.b64encode(hashlib.sha256(blocks[0].encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_no_inline_styles_handlers_or_addresses(usual):
    body = usual[1].split("<body>")[1].split("<script>")[0]
    assert not re.search(r"<[^>]*\sstyle=", body)
    assert not re.search(r"<[^>]*\son[a-z]+=", body)
    assert not re.search(r"""(?:src|href)=["']?(?:https?:|//)""", body)


def test_names_are_escaped_everywhere():
    html = render(make_comparison(names=HOSTILE, n_channels=len(HOSTILE)))
    for name in HOSTILE:
        if "<" in name:
            assert name not in html
    assert html.count("<script>") == 1
    assert "\x1b" not in html
    assert "\u202e" not in html


def test_json_in_the_page_cannot_end_its_script():
    value = {"a": ["</script>", "<!--", "]]>", "&amp;", "\u2028"]}
    text = encode_json(value)
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == value


# Size


def test_a_large_session_makes_a_small_page():
    html = render(make_comparison(n_channels=1000, n_lags=20, n_rows=4000, n_repeats=5))
    assert len(html.encode()) < 15e6


def test_too_many_ranks_are_cut_to_the_first_repeat(monkeypatch):
    comparison = make_comparison(n_repeats=3)
    assert pack_maps(comparison)["n_folds"] == 15
    monkeypatch.setattr("neurofs.report.data.MAX_RANKS", 100)
    assert pack_maps(comparison)["n_folds"] == 5


# Methods


def test_the_methods_text_follows_the_settings():
    comparison = make_comparison(n_repeats=3, n_splits=4)
    text = write_methods(comparison)
    for words in ("8 channels (1 silent)", "bins of 100 ms", "0 to 300 ms", "32 features"):
        assert words in text
    assert "4 folds of whole trials, repeated 3 times" in text
    assert "RGS (Navot et al., 2005), correlation" in text
    assert "n, k, β and whether RGS weighed distances were chosen on inner hold-outs" in text
    assert "RGS was run in a form other than the published one: k = half of the samples, at most 30; β = 0.25 " in text
    assert "3 epochs, up to 8 samples per step; features ordered by w·√SD. " in text
    assert "For the sake of time" not in text, "so few samples are never thinned"
    facts = comparison.summary.session.model_copy(update={"n_samples": 7000})
    long = write_methods(replace(comparison, summary=comparison.summary.model_copy(update={"session": facts})))
    assert "3 epochs, up to 8 samples per step (above 6,531 samples: 25,000 visits, " in long
    assert "steps that shrink to 0); features ordered by w·√SD. " in long
    assert "Neighbors for RGS came from other trials, without overlapping windows." in text
    assert "shifted by up to 12.0 s to both sides (200 shifts), with p = m/(N + 1) (Harris, 2020)" in text
    fixed = replace(comparison, config=RunOptions(n_neighbors=50, beta=0.5, sqrt=True, smooth=0.05))
    text = write_methods(fixed)
    assert "with k = 50 and β = 0.5" in text
    assert "n and whether RGS weighed distances were chosen" in text
    assert "Square roots of the counts were taken and counts were smoothed" in text
    assert "an audit found 40 pairs" in write_methods(make_comparison(leaks=40))
    summary = comparison.summary
    folds = [fold.model_copy(update={"n_test": 1001}) for fold in summary.audit.folds]
    long = summary.model_copy(update={"audit": summary.audit.model_copy(update={"folds": folds})})
    text = write_methods(replace(comparison, summary=long))
    assert "For the sake of time (normal effort), n, k and β of soft kNN were chosen on at most 1,000 samples" in text
    assert "chosen on at most 1,000 samples of each hold-out, and its curves over n show as many" in text
    assert "counted the errors of 2,000 samples" in text
    assert "Soft kNN looked for neighbors among" not in text
    many = [fold.model_copy(update={"n_train": 5_000_000}) for fold in folds]
    longer = summary.model_copy(update={"audit": summary.audit.model_copy(update={"folds": many})})
    text = write_methods(replace(comparison, summary=longer))
    assert "Soft kNN looked for neighbors among 4,062,500 training samples, spread evenly." in text
    full = comparison.config.model_copy(update={"effort": "full"})
    assert "For the sake of time" not in write_methods(replace(comparison, summary=long, config=full))
    pipeline = Path(__file__).parents[2] / "pipelines" / "navot2005.toml"
    defaults = tomllib.loads(pipeline.read_text(encoding="utf-8"))["defaults"]
    published = write_methods(replace(comparison, config=RunOptions(settings=defaults["settings"])))
    assert "RGS was run as published for neural data: k = 50; one β, 0.5 times" in published
    assert "η = 1 for targets of unit variance, one epoch, one sample per step; features ordered by w. " in published


def test_every_citation_is_in_the_bibliography():
    comparison = make_comparison(selectors=("rgs", "sks", "infogain", "rrelieff", "simba", "random", "all"))
    cited = set(re.findall(r"\d{4}(?=[;)])", write_methods(comparison)))
    bibtex = write_bibtex(comparison)
    assert cited <= set(re.findall(r"year = \{(\d+)\}", bibtex))
    keys = re.findall(r"@\w+\{(\w+),", bibtex)
    assert len(keys) == len(set(keys))
    assert bibtex.count("{") == bibtex.count("}")


def test_the_settings_are_in_full_and_repeat_the_run(usual):
    comparison, html = usual
    shown = re.search(r'<pre id="run-toml"[^>]*>(.*?)</pre>', html, flags=re.S)[1].replace("&#34;", '"')
    assert RunOptions(**tomllib.loads(shown)) == comparison.config


# Folders, figures and the index


def test_a_report_is_written_into_its_folder(tmp_path):
    folder = save(make_comparison(), tmp_path / "run")
    assert write_report(folder) == folder / "report.html"
    assert (folder / "report.html").read_text(encoding="utf-8") == render(make_comparison())


@pytest.mark.parametrize(("kind", "magic"), [("pdf", b"%PDF"), ("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_figures_are_written_as_files(tmp_path, kind, magic):
    paths = save_figures(make_comparison(n_rows=100), tmp_path, kind)
    assert len(paths) == 16
    assert all(path.suffix == f".{kind}" and path.read_bytes().startswith(magic) for path in paths)


def test_the_index_puts_failures_first_and_shows_claims():
    entries = [
        IndexEntry("day1", "done", href="day1/report.html", comparison=make_comparison()),
        IndexEntry("day2", "failed", "no spikes at all"),
        IndexEntry("day1", "done", "", "d 3/report.html", make_comparison(seed=1, n_lags=3)),
    ]
    claims = [{"claim": "RGS wins", "published": "90 %", "found": "95 %", "holds": True}]
    html = render_index(entries, claims)
    assert html.index("no spikes at all") < html.index("day1/report.html")
    assert html.index("RGS wins") < html.index("no spikes at all")
    assert "<b>holds</b>" in html
    assert 'href="./d%203/report.html"' in html
    assert "2 decoded, 1 failed" in html
    assert "day1 (2)" in html
    for name in ("all-wins", "all-scores", "all-lags"):
        assert f'id="figure-{name}"' in html
    assert "0 decoded, 1 failed" in render_index([entries[1]])


def test_the_command_rebuilds_a_report_and_its_figures(tmp_path):
    folder = save(make_comparison(n_rows=100), tmp_path / "run")
    result = CliRunner().invoke(main, ["report", str(folder), "--figures", "svg"])
    assert result.exit_code == 0, result.output
    assert result.output == f"report: {folder / 'report.html'}\n"
    assert (folder / "figures" / "curves.svg").is_file()
    other = tmp_path / "elsewhere" / "r.html"
    result = CliRunner().invoke(main, ["report", str(folder), "--out", str(other), "--json"])
    assert json.loads(result.output) == {"report": str(other)}
    assert other.read_text() == (folder / "report.html").read_text()


def test_the_command_makes_an_index_of_several_runs(tmp_path):
    save(make_comparison(n_rows=100), tmp_path / "a")
    save(make_comparison(n_rows=100, seed=1), tmp_path / "b")
    result = CliRunner().invoke(main, ["report", str(tmp_path / "a"), str(tmp_path / "b")])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "index.html").is_file()
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "run.toml").write_text('file = "c.nwb"\n')
    (tmp_path / "c" / "log.txt").write_text("loading\nout of memory\n")
    result = CliRunner().invoke(main, ["report", str(tmp_path), "--json"])
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert [run["status"] for run in found["runs"]] == ["done", "done", "failed"]
    html = (tmp_path / "index.html").read_text()
    assert "out of memory" in html
    assert 'href="./b/report.html"' in html


def test_the_command_knows_a_batch(tmp_path):
    save(make_comparison(n_rows=100), tmp_path / "sessions" / "day1")
    (tmp_path / "sessions" / "day2").mkdir()
    (tmp_path / "sessions" / "day2" / "log.txt").write_text("failed\n")
    events = [
        {"event": "session_failed", "session": name, "reason": f"{name} has no spikes"} for name in ("day1", "day2")
    ]
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    claims = [{"claim": "RGS wins", "published": "90 %", "found": "50 %", "holds": False}]
    (tmp_path / "claims.json").write_text(json.dumps(claims))
    result = CliRunner().invoke(main, ["report", str(tmp_path)])
    assert result.exit_code == 1
    html = (tmp_path / "index.html").read_text()
    assert "day2 has no spikes" in html
    assert "day1 has no spikes" not in html
    assert "does not hold" in html
    assert 'href="./sessions/day1/report.html"' in html


@pytest.mark.parametrize("what", ["missing", "empty"])
def test_a_folder_without_a_run_is_refused_in_one_line(tmp_path, what):
    (tmp_path / "empty").mkdir()
    result = CliRunner().invoke(main, ["report", str(tmp_path / what)])
    assert result.exit_code == 2
    assert result.stderr.startswith("neurofs: ")
    assert len(result.stderr.splitlines()) == 1
