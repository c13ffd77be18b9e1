import json
import os
import subprocess
import sys

import h5py
import numpy as np
import pytest
from batches import start
from click.testing import CliRunner

import neurofs
from neurofs.commands.main import main
from neurofs.ground.config import LoadOptions
from neurofs.recordings.demo import demo_path


def run(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


def test_inspect_shows_the_demo_by_default():
    result = run("inspect")
    assert result.exit_code == 0
    assert "Channels: 64" in result.stdout
    assert "neurofs decode" in result.stdout
    assert result.stderr == ""


def test_json_is_one_object_and_nothing_else():
    result = run("inspect", demo_path(), "--json")
    assert json.loads(result.stdout)["channels"]["n"] == 64


def test_every_key_of_a_session_file_is_an_option():
    text = run("inspect", "--help-all").stdout
    for key in LoadOptions.model_fields:
        assert f"--{key.replace('_', '-')}" in text


def test_options_reach_the_loader(tmp_path):
    np.savez(tmp_path / "c.npz", a=np.ones((300, 4)), b=np.random.default_rng(0).normal(size=(300, 2)))
    result = run(
        "inspect", tmp_path / "c.npz", "--counts", "a", "--counts-bin-width", 0.05, "--behavior", "b", "--json"
    )
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["kind"] == "counts in 0.05 s bins"
    assert [s["name"] for s in report["behavior"]] == ["b"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["inspect", "missing.nwb"], "neurofs: missing.nwb: expected a file"),
        (["inspect", "{tmp}/empty.nwb"], "neurofs: empty.nwb: expected"),
        (["inspect", "{tmp}/text.nwb"], "neurofs: text.nwb: expected an HDF5 file"),
        (["inspect", "--orientation", "sideways"], "sideways"),
        (["inspect", "--sampling-rate", "-3"], "sampling_rate"),
        (["simulate", "{tmp}/no/such/place.nwb"], "cannot be written"),
        (["simulate", "{tmp}/s.xyz"], "endings"),
        (["nonsense"], "nonsense"),
    ],
)
def test_bad_usage_is_one_clear_line_and_exit_code_2(tmp_path, arguments, message):
    (tmp_path / "empty.nwb").touch()
    (tmp_path / "text.nwb").write_text("not HDF5 at all\n" * 100)
    result = run(*[a.format(tmp=tmp_path) for a in arguments])
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    assert sorted(p.name for p in tmp_path.iterdir()) == ["empty.nwb", "text.nwb"]


def test_all_problems_of_a_bad_file_are_shown_with_exit_code_2(tmp_path):
    path = tmp_path / "bad.nwb"
    path.write_bytes(demo_path().read_bytes())
    with h5py.File(path, "a") as file:
        file["units/spike_times"][10] = 1e6
        file["units/spike_times"][-1] = np.nan
    result = run("inspect", path)
    assert result.exit_code == 2
    assert result.stdout.count("  - bad.nwb: channel") == 2
    assert "--sort-spikes" in result.stdout


LISTED = {"selectors": "rgs", "decoders": "kernel-ridge", "formats": ".nwb", "experiments": "navot2005-fig2"}


@pytest.mark.parametrize("what", LISTED)
def test_list_names_what_there_is(what):
    records = json.loads(run("list", what, "--json").stdout)
    names = [next(iter(record.values())) for record in records]
    assert LISTED[what] in names
    text = run("list", what).stdout
    assert all(any(line.startswith(name) for line in text.splitlines()) for name in names)


def test_list_prints_the_schema_of_the_summary():
    schema = json.loads(run("list", "schema").stdout)
    assert schema["title"] == "Summary"
    assert {"schema", "headline", "methods", "provenance"} <= set(schema["properties"])


def test_simulate_writes_a_session_that_inspect_reads(tmp_path):
    out = tmp_path / "day.nwb"
    assert run("simulate", out, "--n-trials", 5, "--seed", 3).exit_code == 0
    assert json.loads(run("inspect", out, "--json").stdout)["trials"]["n"] == 5


def test_simulate_writes_days_of_one_array(tmp_path):
    found = run("simulate", tmp_path / "day.nwb", "--days", 3, "--n-trials", 3, "--n-electrodes", 2, "--json")
    days = [neurofs.load(record["file"]) for record in json.loads(found.stdout)["days"]]
    assert [day.name for day in days] == ["day1", "day2", "day3"]
    assert all(list(day.channels["name"]) == list(days[0].channels["name"]) for day in days)
    assert (
        "--noise has a meaning only without --days"
        in run("simulate", tmp_path / "day.nwb", "--days", 2, "--noise").stderr
    )


@pytest.mark.slow
def test_reproduce_lists_and_runs_experiments(tmp_path):
    assert "navot2005-fig2" in run("reproduce", "--list").stdout
    files = ["--out", tmp_path / "table.csv", "--figure", tmp_path / "figure.png"]
    result = run("reproduce", "peaking", "--repetitions", 4, *files)
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "figure.png").exists()
    assert "published" in result.stdout
    assert (tmp_path / "table.csv").read_text().count("\n") > 20
    assert run("reproduce", "nothing").exit_code == 2


def test_bench_refuses_unknown_names():
    result = run("bench", "nothing")
    assert result.exit_code == 2
    assert "choose one of data, loops" in result.stderr


def test_an_interrupt_while_the_program_starts_is_one_line(tmp_path):
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt")
    process = start("--help", path=tmp_path)
    _, err = process.communicate()
    assert (process.returncode, err) == (130, "neurofs: interrupted\n")


@pytest.mark.parametrize(
    "command",
    [
        ("reproduce", "navot2005-fig2", "--repetitions", 10**6, "--out"),
        ("reproduce", "navot2005-fig2", "--repetitions", 10**6, "--figure"),
        ("bench", "--league", "--out"),
        ("transfer", demo_path(), "--to", demo_path(), "--target", "hand_velocity", "--out"),
    ],
    ids=["reproduce", "figure", "league", "transfer"],
)
def test_a_place_that_cannot_be_written_is_found_before_the_work(command, tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "folder.png").mkdir()
    for place, problem in [("file/table.png", "expected a folder that can be made"), ("folder.png", "found a folder")]:
        result = run(*command, tmp_path / place)
        assert result.exit_code == 2
        assert problem in result.stderr


def test_a_figure_that_cannot_be_drawn_is_found_before_the_work(tmp_path):
    for name in ["figure.xls", "figure"]:
        result = run("reproduce", "navot2005-fig2", "--repetitions", 10**6, "--figure", tmp_path / name)
        assert result.exit_code == 2
        assert f"no figure can be saved as '{name}'; end it in .png, .svg or .pdf" in result.stderr


def test_help_imports_nothing_heavy():
    heavy = "{'numpy', 'pandas', 'xarray', 'numba', 'sklearn', 'pydantic'}"
    code = f"import sys, neurofs.commands.main; print(sorted({heavy} & set(sys.modules)))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert result.stdout.strip() == "[]"
