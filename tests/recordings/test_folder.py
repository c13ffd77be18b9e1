"""A folder of sessions: a line about each, and a pipeline that `neurofs batch` takes."""

import glob
import json
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from writers import write_npz, write_text

from neurofs.commands.main import main
from neurofs.comparison.given import choose_all
from neurofs.ground.errors import InputError, UsageError
from neurofs.ground.files import find_paths
from neurofs.recordings.folder import find_sessions, inspect_folder, write_pipeline
from neurofs.recordings.recording import Recording, Series
from neurofs.recordings.writers import write
from neurofs.running.batch.config import plan_sessions, read_batch_file
from neurofs.running.worker import Failure


def write_session(path: Path, seed: int = 0, **fields) -> Path:
    rng = np.random.default_rng(seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    time = np.arange(0, 70, 0.1)
    velocity = Series("hand_velocity", time, np.column_stack([np.sin(time), np.cos(1.3 * time)]), unit="cm/s")
    spikes = [np.sort(rng.uniform(0, 70, 400)) for _ in range(3)]
    behavior = {"hand_velocity": velocity}
    return write(Recording("m", spikes=spikes, **{"behavior": behavior, **fields}), path)


@pytest.fixture
def lab(tmp_path):
    """Two days of two sessions, one bad file, counts with a session file, one without behavior, and other things."""
    for name in ("day1/a.nwb", "day1/b.nwb", "day2/a.nwb"):
        write_session(tmp_path / name, seed=len(name))
    write_text(tmp_path / "bad.mat", "junk")
    rng = np.random.default_rng(1)
    velocity = np.column_stack([np.sin(np.arange(900) / 9), np.cos(np.arange(900) / 7)])
    write_npz(tmp_path / "counts.npz", y=rng.poisson(1.0, (900, 4)), kin=velocity)
    write_text(tmp_path / "counts.toml", "file = 'counts.npz'\ncounts = 'y'\ncounts_bin_width = 0.1\ntarget = 'kin'\n")
    write_session(tmp_path / "sleep.npz", behavior={})
    write_text(tmp_path / "pyproject.toml", "[project]\nname = 'other'\n")
    write_session(tmp_path / "reports" / "run" / "copy.nwb")
    write_text(tmp_path / "reports" / "run" / "run.toml", "seed = 0\n")
    return tmp_path


def test_sessions_are_found_and_what_is_none_is_not(lab):
    names = [path.relative_to(lab).as_posix() for path in find_sessions(lab)]
    assert names == ["bad.mat", "counts.toml", "day1/a.nwb", "day1/b.nwb", "day2/a.nwb", "sleep.npz"]


def test_one_bad_file_costs_one_line(lab):
    sessions = {session["file"]: session for session in inspect_folder(lab)["sessions"]}
    assert not sessions["bad.mat"]["readable"]
    assert sessions["bad.mat"]["error"].startswith("content: expected a MATLAB file")
    assert sessions["day1/a.nwb"]["n_channels"] == 3
    assert sessions["day1/a.nwb"]["minutes"] == pytest.approx(1.17, abs=0.01)
    assert sessions["counts.toml"]["kind"] == "counts in 0.1 s bins"
    assert sessions["sleep.npz"]["settings"] is None


def test_the_pipeline_decodes_what_can_be_decoded(lab):
    place = lab / "spring.toml"
    place.write_text(write_pipeline(inspect_folder(lab), place))
    text = place.read_text()
    assert "# left out: bad.mat: content: expected a MATLAB file" in text
    assert "# left out: sleep.npz: it has no behavior to decode" in text
    planned = plan_sessions(read_batch_file(place), lab / "out")
    assert [session.name for session in planned] == ["counts", "day1-a", "b", "day2-a"]
    assert [session.options.target for session in planned] == [("kin",), *[("hand_velocity",)] * 3]


def test_a_pattern_stands_for_all_files_of_a_kind_and_names_tell_folders_apart(lab):
    place = lab / "nwb.toml"
    report = inspect_folder(lab, pattern="day*/*")
    place.write_text(write_pipeline(report, place))
    content = tomllib.loads(place.read_text())
    assert content["session"] == [{"file": "*/*.nwb"}]
    assert content["defaults"] == {"target": ["hand_velocity"]}
    planned = plan_sessions(read_batch_file(place), lab / "out")
    assert [session.name for session in planned] == ["day1-a", "b", "day2-a"]
    assert all(Path(session.options.file).is_file() for session in planned)


def test_what_is_probably_wrong_is_said_in_table_and_pipeline(tmp_path):
    starts = np.arange(0.0, 60, 3)
    trials = pd.DataFrame({"start": starts, "stop": starts + 2, "direction": np.repeat([0, 1, 2, 3], 5)})
    write_session(tmp_path / "a.nwb", trials=trials)
    result = CliRunner().invoke(main, ["inspect", str(tmp_path)])
    assert result.exit_code == 0
    assert "1 serious" in result.stdout
    assert result.stdout.count("a.nwb: trials are sorted by 'direction'") == 2


def test_the_command_writes_a_pipeline_once(lab):
    out = lab / "new" / "spring.toml"
    run = ["inspect", str(lab), "--pattern", "day*/*", "--out", str(out), "--json"]
    result = CliRunner().invoke(main, run)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["written"] == str(out)
    assert tomllib.loads(out.read_text())["session"] == [{"file": "../*/*.nwb"}]
    assert len(plan_sessions(read_batch_file(out), lab / "out")) == 3
    again = CliRunner().invoke(main, run)
    assert again.exit_code == 2
    assert "a file that exists" in again.stdout


def test_a_file_that_crashes_a_library_costs_one_line(lab):
    """Its process dies; whoever runs the others says why."""

    def run(function, shared, items):
        for item in items:
            died = Failure("its process died (SIGSEGV)") if item.name == "b.nwb" else None
            yield item, died or function(shared, item)

    sessions = {session["file"]: session for session in inspect_folder(lab, pattern="day1/*", run=run)["sessions"]}
    assert sessions["day1/b.nwb"]["error"] == "its process died (SIGSEGV)"
    assert sessions["day1/a.nwb"]["readable"]


@pytest.mark.parametrize(("pattern", "code"), [("**/*", 1), ("bad.mat", 2), ("day1/*", 0), ("none*", 2)])
def test_exit_codes(lab, pattern, code):
    assert CliRunner().invoke(main, ["inspect", str(lab), "--pattern", pattern]).exit_code == code


def test_a_folder_without_sessions(tmp_path):
    with pytest.raises(InputError, match="sessions of a known kind"):
        inspect_folder(tmp_path)


def test_one_session_file_for_a_whole_lab(lab):
    rng = np.random.default_rng(1)
    for day in ("1", "2"):
        kin = np.column_stack([np.sin(np.arange(900) / 9), np.cos(np.arange(900) / 7)])
        (lab / f"d{day}").mkdir()
        write_npz(lab / f"d{day}" / "m.npz", y=rng.poisson(1.0, (900, 4)), kin=kin)
    keys = "counts = 'y'\ncounts_bin_width = 0.1\ntarget = 'kin'\n"
    path = write_text(lab / "lab.toml", f"file = 'd*/m.npz'\n{keys}")
    shown = CliRunner().invoke(main, ["inspect", str(path), "--json"])
    assert shown.exit_code == 0, shown.output
    assert [session["file"] for session in json.loads(shown.stdout)["sessions"]] == ["d1/m.npz", "d2/m.npz"]
    runs = choose_all(path, {"n_lags": 3})
    assert [(run.name, Path(str(run.file)).name, run.target, run.n_lags) for run in runs] == [
        ("d1-m", "m.npz", ("kin",), 3),
        ("d2-m", "m.npz", ("kin",), 3),
    ]
    planned = plan_sessions(read_batch_file(path), lab / "out")
    assert [session.name for session in planned] == ["d1-m", "d2-m"]
    assert "lab.toml" not in [p.name for p in find_sessions(lab)]
    with pytest.raises(InputError, match=r"lab\.toml: expected files; found none that match e\*"):
        choose_all(write_text(lab / "lab.toml", f"file = 'e*/m.npz'\n{keys}"), {})
    with pytest.raises(UsageError, match="name is for a single file"):
        choose_all(write_text(lab / "lab.toml", f"file = 'd*/m.npz'\nname = 'x'\n{keys}"), {})


def test_links_that_lead_in_circles_are_met_once(lab):
    found = find_sessions(lab)
    for place in (lab, lab / "day1"):
        for name in ("x", "y"):
            (place / name).symlink_to(lab, target_is_directory=True)
    assert find_sessions(lab) == found


@pytest.mark.parametrize("pattern", ["**/*.nwb", "day*/**/a.*", "**", "day1/**", "**/**/a.nwb", "*/*.nwb", "d**y1/*"])
def test_patterns_mean_what_they_mean_to_glob(lab, pattern):
    (lab / ".hidden").mkdir()
    (lab / ".hidden" / "a.nwb").touch()
    expected = {name.rstrip("/") for name in glob.glob(pattern, root_dir=lab, recursive=True)}
    assert set(find_paths(lab, pattern)) == expected - {"", "day1" if pattern == "day1/**" else ""}
    assert expected
