"""A method has one label, wherever it is named: terminal, report, summary.json and index; scores.csv has its name."""

import json
import re

import pandas as pd
import pytest
from click.testing import CliRunner

from neurofs.commands.main import main
from neurofs.comparison.names import name_method
from neurofs.recordings.simulate import simulate_session
from neurofs.recordings.writers import write
from neurofs.running.run_folders import rebuild_all

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with a selector, its decoders, and baselines; and what the command printed."""
    folder = tmp_path_factory.mktemp("labels")
    file = write(simulate_session(30, n_electrodes=2, random_state=1), folder / "day.npz")
    options = ["--target", "hand_velocity:x", "--n-lags", 2, "--n-splits", 2, "--selectors", "corrcoef,infogain"]
    arguments = ["decode", file, *options, "--decoders", "auto,local-linear", "--out", folder / "run", "--jobs", 1]
    result = CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return folder / "run", result.stdout


def test_every_method_has_one_label(run):
    folder, printed = run
    methods = list(pd.read_csv(folder / "scores.csv").query("chosen")["method"].unique())
    assert {"corrcoef", "corrcoef + auto", "infogain + local-linear", "all + auto", "ridge"} <= set(methods)
    labels = {method: name_method(method) for method in methods}
    assert len(set(labels.values())) == len(methods)
    summary = json.loads((folder / "summary.json").read_text())
    assert {m["method"]: m["label"] for m in summary["methods"]} == labels
    rows = [re.split(r"\s{2,}", line)[0] for line in printed.splitlines()]
    assert [m["label"] for m in summary["methods"]] == [row for row in rows if row in labels.values()]
    page = (folder / "report.html").read_text()
    table = page[page.index('id="methods-table"') :]
    cells = re.findall(r'<tr><td class="text">(.*?)</td>', table[: table.index("</table>")])
    assert cells == [m["label"] for m in summary["methods"]]


def test_the_index_names_methods_alike(run, tmp_path):
    folder, _ = run
    html = rebuild_all([folder], tmp_path / "index")[0].read_text()
    labels = {method["label"] for method in json.loads((folder / "summary.json").read_text())["methods"]}
    keys = re.findall(r"<li><svg.*?</svg>(.*?)</li>", html, flags=re.S)
    others = {"method of the headline, 95 % interval", "best rival", "first selector, soft kNN", "one session", "mean"}
    assert {"information gain", "all features"} <= set(keys) <= labels | others
    assert "corrcoef" not in re.sub(r"<(script|style).*?</\1>", "", html, flags=re.S)
