"""Variations of a batch: one page each, one table of all, reasons in the index, and nothing done twice."""

import json

import pandas as pd
import pytest
from batches import MINI, write_batch
from click.testing import CliRunner

from neurofs.commands.main import main
from neurofs.running.events import read_events

pytestmark = pytest.mark.slow

VARIED = (
    MINI.replace("n_sessions = 2", "n_sessions = 3")
    + '[[vary]]\nby = "lead"\nvalues = [0, 0.1]\n[[vary]]\nby = "load"\n'
)


def run(*arguments):
    return CliRunner().invoke(main, ["batch", *map(str, arguments), "-j", "1"])


@pytest.fixture(scope="module")
def varied(tmp_path_factory):
    folder = tmp_path_factory.mktemp("varied")
    result = run(write_batch(folder, VARIED), "--out", folder / "out", "--executor", "serial")
    return folder / "out", result


def test_each_session_is_varied_and_a_bad_variation_costs_itself_alone(varied):
    out, result = varied
    assert result.exit_code == 1  # these sessions have no column load
    assert "day1 by lead: Ridge: " in result.stdout
    assert "day2 by load: failed: by: nothing named 'load' can be varied" in result.stdout
    table = pd.read_csv(out / "variations.csv")
    assert table[["session", "by", "label"]].to_numpy().tolist() == [
        [session, "lead", label] for session in ("day1", "day2", "day3", "all sessions") for label in (0, 0.1)
    ]
    page = (out / "index.html").read_text(encoding="utf-8")
    assert 'href="./variations/all-sessions-by-lead/variation.html"' in page
    for day in (1, 2, 3):
        assert f'href="./variations/day{day}-by-lead/variation.html"' in page
        assert (out / "variations" / f"day{day}-by-lead" / "variation.html").exists()
    assert "<b>failed:</b> by: nothing named" in page
    ended = [event["event"] for event in read_events(out / "events.jsonl") if event["event"].startswith("variation")]
    assert ended == ["variation_done", "variation_failed"] * 3


def test_a_second_start_does_nothing_again(varied):
    out = varied[0]
    folders = [out / "variations" / f"day{day}-by-lead" for day in (1, 2, 3)]
    done = [read_done(folder) for folder in folders]
    assert min(done) > 0
    result = run(write_batch(out.parent, VARIED), "--out", out, "--executor", "serial", "--json")
    assert [read_done(folder) for folder in folders] == done
    records = json.loads(result.stdout)["variations"]
    assert [one["by"] for one in records] == ["lead", "load"] * 3 + ["lead"]
    assert "means over 3 sessions" in records[-1]["sentences"][-1]


def read_done(folder):
    events = list(read_events(folder / "events.jsonl"))
    return sum(event["event"] == "task_recorded" for event in events)


def test_a_dry_run_names_what_is_varied(tmp_path):
    result = run(write_batch(tmp_path, VARIED), "--out", tmp_path / "out", "--dry-run")
    assert "then each session by lead, load" in result.stdout
    assert not (tmp_path / "out").exists()
