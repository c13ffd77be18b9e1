"""The README: its Python code runs, and it names every command."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

import neurofs
from neurofs.commands.main import main
from neurofs.recordings.simulate import simulate_session
from neurofs.recordings.writers import write

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_python_code_runs(tmp_path, monkeypatch):
    write(simulate_session(30, n_electrodes=4, random_state=1), tmp_path / "day1.nwb")
    monkeypatch.chdir(tmp_path)
    code = "\n".join(re.findall(r"```python\n(.*?)```", README, flags=re.S)).replace("300", "22")
    seen: dict = {}
    exec(code, seen)
    assert seen["selector"].weights_.shape == (160,)
    assert seen["velocity"].shape == seen["sd"].shape
    assert os.path.exists("day1.nwb")
    assert np.isfinite(seen["decoder"].score(seen["samples"][seen["test"]], seen["y"][seen["test"]]))


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["pipelines"])
def test_the_python_code_of_a_folder_runs(folder, tmp_path, monkeypatch):
    pytest.importorskip("pynapple")
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).parents[2] / folder / "README.md").read_text(encoding="utf-8")
    seen: dict = {}
    exec("\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.S)), seen)
    assert (tmp_path / "reports" / "by-lead" / "variation.html").exists()
    assert len(seen["course"].table) == 11
    assert np.isfinite(seen["scores"]).all()
    assert seen["scores"].mean() > 0


def test_every_command_is_named():
    for command in main.commands:
        assert f"neurofs {command}" in README


def test_every_public_name_exists():
    for name in neurofs.__all__:
        assert getattr(neurofs, name) is not None
