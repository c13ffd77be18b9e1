"""A package of somebody else with a selector, a decoder and a reader, installed into an environment of its own."""

import html
import json
import os
import re
import site
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import neurofs
from neurofs.report.palette import COLORS, THEME

pytestmark = pytest.mark.slow

MODULE = '''
import numpy as np
from neurofs import Recording, Selector, Series, TunedDecoder, Work
from neurofs.decoders.base import weigh

DOE = Work.from_bibtex("@misc{doe2026, author = {Doe, Jane}, title = {On Variance}, year = {2026}}")


class Varied(Selector):
    """Features that vary most come first."""

    name, label, citation, cost = "varied", "variance of counts", DOE, "m N"
    color, marker = "olive", "h"

    def _weigh(self, samples, Y, groups):
        return np.asarray(samples).var(axis=0)


class Squares(TunedDecoder):
    """Least squares."""

    name, label = "squares", "least squares"
    citation = Work.from_bibtex("@misc{roe2025, author = {Roe, Max}, title = {Squares}, year = {2025}}")

    def _fit_part(self, train, targets, weights, rehearsals):
        return weights, np.linalg.lstsq(weigh(train, weights), targets, rcond=None)[0]

    def _predict_part(self, part, queries):
        weights, coefficients = part
        return weigh(queries, weights) @ coefficients


def read(path, options):
    """Rows of velocity and counts."""
    table = np.loadtxt(path)
    velocity = Series("velocity", 0.1 * np.arange(len(table)) + 0.1, table[:, 0], unit="cm/s")
    return Recording(path.stem, counts=table[:, 1:], bin_width=0.1, behavior={"velocity": velocity})
'''

ENTRIES = """
[neurofs.selectors]
varied = labkit:Varied
torn = labkit.absent:Torn

[neurofs.decoders]
squares = labkit:Squares

[neurofs.readers]
rows = labkit:read
"""


def write_wheel(folder):
    """A wheel is an archive with a list of its files; pip installs one without building or downloading."""
    info, wheel = "labkit-3.1.dist-info", folder / "labkit-3.1-py3-none-any.whl"
    files = {
        "labkit.py": MODULE,
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: labkit\nVersion: 3.1\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": ENTRIES,
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return wheel


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """A virtual environment that sees the packages of this one, with labkit installed."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv")
    python = folder / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    where = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip()
    seen = [Path(neurofs.__file__).parents[1], *site.getsitepackages()]
    Path(where, "seen.pth").write_text("\n".join(map(str, seen)))
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check")
    run(*pip, "install", "--quiet", "--no-index", "--no-deps", write_wheel(folder))
    return python


def run(*command, status=0):
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, env=environ)
    assert done.returncode == status, done.stderr
    return done


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """Six channels that follow a velocity, in a format that only labkit reads."""
    rng = np.random.default_rng(0)
    velocity = np.sin(np.arange(300) / 9)
    counts = rng.poisson(np.exp(1 + np.outer(velocity, rng.normal(size=6))))
    path = tmp_path_factory.mktemp("session") / "monday.rows"
    np.savetxt(path, np.column_stack([velocity, counts]), fmt="%.6g")
    return path


@pytest.fixture(scope="module")
def report(environment, session):
    out = session.parent / "run"
    run(
        *(environment, "-m", "neurofs", "decode", session, "--target", "velocity", "--out", out),
        *("--selectors", "corrcoef,varied", "--decoders", "squares"),
        *("--n-lags", "2", "--n-splits", "2"),
    )
    return out


def test_decode_uses_what_a_package_adds(report):
    summary = json.loads((report / "summary.json").read_text())
    assert summary["session"]["name"] == "monday"
    methods = {m["method"]: m["pooled"]["r2"]["mean"] for m in summary["methods"]}
    assert {"varied", "corrcoef + squares", "varied + squares"} <= methods.keys()
    assert methods["varied + squares"] > 0.5


def test_the_report_names_colors_and_cites_it(report):
    page = html.unescape((report / "report.html").read_text())
    assert "variance of counts + least squares" in page
    assert "ranked by correlation and variance of counts (Doe, 2026)" in page
    assert "correlation + least squares (Roe, 2025)" in page
    mark = re.search(r'class="(\w+)"/></svg>variance of counts</li>', page)[1]
    assert re.search(rf"\.{mark} ?{{[^}}]*var\({THEME[COLORS['olive'][0]]}\)", page)
    assert "@misc{doe2026," in page
    assert "@misc{roe2025," in page


def test_what_a_package_adds_is_listed(environment):
    listed = json.loads(run(environment, "-m", "neurofs", "list", "selectors", "--json").stdout)
    assert listed[-1] == {
        "name": "varied",
        "what it does": "Features that vary most come first.",
        "target": "continuous",
        "cost": "m N",
        "reference": "Doe, 2026; labkit 3.1",
    }


def test_a_broken_one_says_why_in_one_line(environment, session):
    command = (environment, "-m", "neurofs", "decode", session, "--target", "velocity", "--selectors", "torn")
    said = run(*command, "--out", session.parent / "torn", status=2).stderr
    assert re.search(r"selector 'torn' cannot be used: labkit 3\.1: .*labkit\.absent", said)
    assert "Traceback" not in said
