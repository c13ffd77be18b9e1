"""``neurofs vary`` and ``neurofs compare``, as they are typed."""

import json

import pytest
from click.testing import CliRunner
from comparisons import make_comparison

import neurofs
from neurofs.commands.main import main


def run(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def day(tmp_path_factory):
    path = tmp_path_factory.mktemp("day") / "day1.nwb"
    return neurofs.write(neurofs.simulate_session(24, n_electrodes=2, random_state=1), path)


def test_vary_prints_sentences_and_writes_a_folder(day, tmp_path):
    keys = ("--target", "hand_velocity", "--n-splits", 3, "-j", 1, "--out", tmp_path / "v")
    result = run("vary", day, "--by", "lead", "--values", "-0.1,0,0.1", *keys)
    assert result.exit_code == 0, result.output
    assert "Ridge: best at a lead of" in result.stdout
    names = {path.name for path in (tmp_path / "v").iterdir()}
    assert names == {
        "vary.toml", "folds.csv", "variation.csv", "variation.json", "variation.html", "events.jsonl", "tasks",
    }  # fmt: skip
    record = json.loads(run("vary", day, "--by", "lead", "--values", "-0.1,0,0.1", *keys, "--json").stdout)
    assert [row["label"] for row in record["table"]] == ["-0.1", "0", "0.1"]


def test_vary_by_time(day, tmp_path):
    keys = ("--target", "direction", "--out", tmp_path / "t", "--window", 0.4)
    result = run("vary", day, "--by", "time", "--event", "move_onset", "--around", "-0.4,0.8", *keys)
    assert result.exit_code == 0, result.output
    assert "Ridge in windows of 0.4 s, on " in result.stdout
    assert (tmp_path / "t" / "time_course.html").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--by", "time", "--target", "direction"), "time needs --event"),
        (("--by", "time", "--target", "direction", "--event", "start", "--around", "now"), "around."),
        (("--by", "time", "--target", "direction", "--event", "start", "--around", "1"), "around."),
        (("--by", "aera", "--target", "hand_velocity"), "nothing named 'aera'"),
        (("--by", "lead"), "expected a target"),
    ],
)
def test_bad_usage_is_one_line(day, tmp_path, arguments, message):
    result = run("vary", day, *arguments, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_compare_sets_runs_side_by_side(tmp_path):
    for seed, name in enumerate(("day1", "day2")):
        neurofs.save(make_comparison(seed=seed), tmp_path / name)
    result = run("compare", tmp_path / "day1", tmp_path / "day2", "--methods", "ridge", "--out", tmp_path / "both")
    assert result.exit_code == 0, result.output
    assert "day2, R² = " in result.stdout
    assert (tmp_path / "both" / "variation.html").exists()
    record = json.loads(run("compare", tmp_path / "day1", tmp_path / "day2", "--json").stdout)
    assert record["by"] == "run"
    alone = run("compare", tmp_path / "day1")
    assert alone.exit_code == 2
    assert "at least two runs" in alone.stderr
