"""Which folder a run writes into, and what it does not write over."""

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from neurofs.commands.main import main
from neurofs.comparison.comparison import read, start_run
from neurofs.ground.config import RunOptions
from neurofs.ground.errors import UsageError
from neurofs.recordings.simulate import simulate_session
from neurofs.recordings.writers import write
from neurofs.running.earlier import check_settings, find_differences

FEW = ("--selectors", "corrcoef", "--n-splits", 3, "--decoders", "knn", "--jobs", 1)


def decode(*arguments):
    return CliRunner().invoke(main, ["decode", *map(str, (*arguments, *FEW))])


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "day1.npz"
    return write(simulate_session(12, n_electrodes=2, random_state=5, name="day1"), path)


def test_what_differs_is_named(session, tmp_path):
    options = RunOptions(file=str(session), target=("v",), n_lags=3)
    check_settings(tmp_path / "none", options)
    start_run(tmp_path, options)
    check_settings(tmp_path, options)
    check_settings(tmp_path, options.model_copy(update={"name": "other"}))
    check_settings(tmp_path, options.model_copy(update={"n_lags": "auto"}))
    changed = options.model_copy(update={"target": ("w",), "n_lags": 5, "seed": 1, "sqrt": True, "settings": {"a": {}}})
    told = list(find_differences(tmp_path, changed))
    assert told[:2] == ["target was v, now w", "n_lags was 3, now 5"]
    assert len(told) == 5
    with pytest.raises(UsageError, match=r"settings \(target was v, now w; .* and 2 more\)\. .*--overwrite"):
        check_settings(tmp_path, changed)


def test_another_file_is_another_run_unless_its_content_is_the_same(session, tmp_path):
    start_run(tmp_path, RunOptions(file=str(session), target=("v",)))
    moved = Path(shutil.copy(session, tmp_path / "moved.npz"))
    assert not list(find_differences(tmp_path, RunOptions(file=str(moved), target=("v",))))
    other = write(simulate_session(12, n_electrodes=2, random_state=6), tmp_path / "other.npz")
    (told,) = find_differences(tmp_path, RunOptions(file=str(other), target=("v",)))
    assert told.startswith("file was ")


def test_settings_that_cannot_be_read_are_not_written_over(session, tmp_path):
    (tmp_path / "run.toml").write_text("no_such_key = 1\n")
    with pytest.raises(UsageError, match="cannot be read"):
        check_settings(tmp_path, RunOptions(file=str(session)))


@pytest.mark.slow
def test_two_targets_have_two_folders_and_nothing_is_replaced_unasked(session, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for target in ("hand_velocity:x", "hand_velocity:y"):
        assert decode(session, "--target", target).exit_code == 0
    first = Path("reports/day1-hand_velocity-x")
    assert sorted(Path("reports").iterdir()) == [first, Path("reports/day1-hand_velocity-y")]
    report = (first / "report.html").read_bytes()
    refused = decode(session, "--target", "hand_velocity:x", "--n-lags", 2, "--fresh")
    assert refused.exit_code == 2
    assert "(n_lags was 10, now 2). Choose another folder with --out" in refused.stderr
    assert (first / "report.html").read_bytes() == report
    assert read(first).config.n_lags == 10
    assert list((first / "tasks").iterdir())
    assert decode(session, "--target", "hand_velocity:x").exit_code == 0
    assert decode(session, "--target", "hand_velocity:x", "--n-lags", 2, "--overwrite").exit_code == 0
    assert read(first).config.n_lags == 2


@pytest.mark.slow
def test_several_sessions_are_not_replaced_unasked(session, tmp_path):
    other = write(simulate_session(12, n_electrodes=2, random_state=6, name="day2"), tmp_path / "day2.npz")
    out = ("--target", "hand_velocity:x", "--out", tmp_path / "out")
    assert decode(session, other, *out, "--n-lags", 2).exit_code == 0
    assert decode(session, other, *out, "--n-lags", 2).exit_code == 0
    refused = decode(session, other, *out, "--n-lags", 3)
    assert refused.exit_code == 2
    assert "day1 holds a run with other settings (n_lags was 2, now 3)" in refused.stderr
    chosen = decode(session, other, *out)
    assert chosen.exit_code == 1
    assert "n_lags was 2, now 10" in chosen.stderr
    assert read(tmp_path / "out" / "day1").config.n_lags == 2
    assert decode(session, other, *out, "--overwrite").exit_code == 0
    assert read(tmp_path / "out" / "day1").config.n_lags == 10
