"""Windows and macOS: what can be proved here. What only those systems can prove is listed in tests/README.md."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from writers import write_npz

from neurofs.commands.main import main
from neurofs.ground import system
from neurofs.ground.config import read_session_file
from neurofs.ground.errors import InputError, UsageError
from neurofs.recordings.readers import load
from neurofs.running.batch.config import name_folder, plan_sessions, read_batch_file

PORTABLE = Path(__file__).parents[1] / "portable"
LIKE_WINDOWS = {**os.environ, "PYTHONPATH": str(PORTABLE)}
IMPORT_ALL = """
import importlib, os, pkgutil, sys
assert not hasattr(os, "fork")
import neurofs
names = [module.name for module in pkgutil.walk_packages(neurofs.__path__, "neurofs.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
from neurofs.ground.system import can_limit_memory, peak_memory
print(len(names), can_limit_memory(), peak_memory() > 10**7)
"""


def run_like_windows(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], env=LIKE_WINDOWS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_all_modules_are_imported_without_those_of_posix():
    n_modules, can_limit, has_peak = run_like_windows("-c", IMPORT_ALL).split()
    assert int(n_modules) > 200
    assert (can_limit, has_peak) == ("False", "True")


def test_what_is_hidden_is_hidden():
    """The test above could not fail if modules of neurofs could still import what Windows does not have."""
    script = "import sys, types; m = types.ModuleType('neurofs.x'); exec('import fcntl', m.__dict__)"
    done = subprocess.run([sys.executable, "-c", script], env=LIKE_WINDOWS, capture_output=True, text=True, check=False)
    assert "No module named 'fcntl'" in done.stderr


@pytest.mark.slow
def test_a_decode_with_spawned_workers_gives_the_same_scores(tmp_path):
    options = ["--target", "hand_velocity:x", "--selectors", "corrcoef", "--decoders", "ridge", "--n-splits", "2"]
    write = ["-m", "neurofs", "simulate", str(tmp_path / "m.nwb"), "--n-trials", "12", "--n-electrodes", "2", "-q"]
    run_like_windows(*write)
    decode = ["-m", "neurofs", "decode", str(tmp_path / "m.nwb"), *options, "--n-lags", "3", "--jobs", "2", "--json"]
    spawned = json.loads(run_like_windows(*decode, "--out", str(tmp_path / "spawned")))
    done = subprocess.run(
        [sys.executable, *decode, "--out", str(tmp_path / "usual")], capture_output=True, text=True, check=True
    )
    assert spawned["methods"] == json.loads(done.stdout)["methods"]
    scores = [(tmp_path / folder / "scores.csv").read_bytes() for folder in ("spawned", "usual")]
    assert scores[0] == scores[1]


# Paths and lines of Windows


def write_session(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    arrays = {"counts": rng.poisson(1.0, (200, 3)), "velocity": rng.normal(size=(200, 2)), "bin_width": 0.1}
    return write_npz(folder / "m1.npz", **arrays)


def test_a_session_file_written_on_windows(tmp_path):
    write_session(tmp_path / "day 1")
    text = "file = 'day 1\\m1.npz'\r\n# lines of Windows\r\ntarget = \"velocity\"\r\n"
    (tmp_path / "m1.toml").write_bytes(text.encode())
    path, options = read_session_file(tmp_path / "m1.toml")
    assert path == tmp_path / "day 1" / "m1.npz"
    assert options.target == ("velocity",)
    assert load(tmp_path / "m1.toml").n_channels == 3


def test_a_backslash_in_double_quotes_gets_the_right_advice(tmp_path):
    (tmp_path / "m1.toml").write_text('file = "C:\\data\\m1.npz"\n')
    with pytest.raises(InputError, match="paths of Windows in single quotes"):
        read_session_file(tmp_path / "m1.toml")


def test_a_drive_letter_is_part_of_a_path_not_of_an_option(tmp_path):
    (tmp_path / "m1.toml").write_text("file = 'C:\\data\\m1.npz'\n")
    with pytest.raises(InputError, match=r"m1.npz: expected a file; found none at .*data"):
        load(tmp_path / "m1.toml")


def test_csv_with_lines_of_windows(tmp_path):
    head = b"\xef\xbb\xbftime,a,b\r\n"
    (tmp_path / "m_counts.csv").write_bytes(head + b"".join(b"%.1f,%d,1\r\n" % (i / 10, i % 3) for i in range(50)))
    lines = b"".join(b"%.1f,%d\r\n" % (i / 10, i % 7) for i in range(50))
    (tmp_path / "m_behavior.csv").write_bytes(b"time,speed\r\n" + lines)
    recording = load(tmp_path / "m_counts.csv")
    assert recording.channels["name"].tolist() == ["a", "b"]
    assert list(recording.behavior) == ["speed"]


def test_a_pattern_written_on_windows(tmp_path):
    write_session(tmp_path / "data" / "a")
    (tmp_path / "all.toml").write_text("[[session]]\nfile = 'data\\*\\m1.npz'\ntarget = 'velocity'\n")
    sessions = plan_sessions(read_batch_file(tmp_path / "all.toml"), tmp_path / "out")
    assert [Path(s.options.file) for s in sessions] == [(tmp_path / "data" / "a" / "m1.npz").resolve()]


def test_sessions_whose_names_differ_by_case_alone_are_refused(tmp_path):
    path = write_session(tmp_path)
    text = "".join(f"[[session]]\nfile = '{path.name}'\nname = '{name}'\n" for name in ("Day1", "day1"))
    (tmp_path / "all.toml").write_text(f"defaults.target = 'velocity'\n{text}")
    with pytest.raises(UsageError, match="two sessions would share the folder 'day1'"):
        plan_sessions(read_batch_file(tmp_path / "all.toml"), tmp_path / "out")


@pytest.mark.parametrize("name", ["con", "AUX", "nul.x", "m1:day/2", "end. "])
def test_folders_have_names_that_windows_takes(name):
    folder = name_folder(name)
    assert folder.split(".")[0].lower() not in ("con", "prn", "aux", "nul", "com1", "lpt1")
    assert not set(folder) & set('<>:"/\\|?*')
    assert folder[-1] not in ". "


def test_memory_is_known_without_the_module_resource(monkeypatch):
    usual = system.peak_memory()
    monkeypatch.setattr(system, "_find_resource", lambda: None)
    assert 0.2 * usual < system.peak_memory() < 2 * usual
    assert not system.can_limit_memory()
    result = CliRunner().invoke(main, ["batch", "none.toml", "--memory-limit", "1GB"])
    assert result.exit_code == 2


def test_a_process_that_never_was_does_not_run():
    assert system.find_start(2**30) is None
    assert system.find_start(-1) is None
