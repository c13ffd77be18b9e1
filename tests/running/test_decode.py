"""`neurofs decode` as a user meets it: the run folder, resuming, repeating, errors."""

import io
import json
import re
import shutil
import signal

import numpy as np
import pytest
from batches import start, wait_for
from click.testing import CliRunner

import neurofs
from neurofs.commands.main import main
from neurofs.comparison import comparison
from neurofs.comparison.problem import Task
from neurofs.comparison.summary import SCHEMA, Summary
from neurofs.ground.config import RunOptions
from neurofs.ground.errors import InputError
from neurofs.recordings.simulate import simulate_session
from neurofs.recordings.writers import write
from neurofs.running.batch.config import place_sessions
from neurofs.running.batch.coordinator import run_batch
from neurofs.running.executors import Processes, Serial
from neurofs.running.lock import FolderInUse, hold_folder
from neurofs.running.progress import Progress
from neurofs.running.session import decode

pytestmark = pytest.mark.slow

SMALL = {"target": "hand_velocity", "n_lags": 2, "n_splits": 3, "selectors": ("rgs", "corrcoef"), "sizes": (2, 8, 24)}
FILES = ("run.toml", "scores.csv", "weights.nc", "predictions.nc", "session.nc")


def run(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "day1.npz"
    return write(simulate_session(20, n_electrodes=3, random_state=5, name="day1"), path)


@pytest.fixture(scope="module")
def options(session):
    return RunOptions(file=str(session), **SMALL)


@pytest.fixture(scope="module")
def finished(options, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "day1"
    return folder, decode(options, folder)


def read_files(folder):
    return {name: (folder / name).read_bytes() for name in FILES}


def test_read_gives_back_what_was_saved(finished):
    folder, found = finished
    assert comparison.read(folder) == found
    assert not list(folder.rglob("*.part"))


def test_python_writes_the_report_too(options, finished, tmp_path):
    assert neurofs.decode is decode
    folder, found = finished
    assert (folder / "report.html").read_text(encoding="utf-8") == neurofs.render(comparison.read(folder))
    copy = shutil.copytree(folder, tmp_path / "run")
    (copy / "report.html").unlink()
    assert decode(options, copy).scores.equals(found.scores)
    assert (copy / "report.html").is_file()


def test_a_changed_run_is_not_equal(finished, tmp_path):
    _, found = finished
    folder = comparison.save(found, tmp_path / "copy")
    text = (folder / "scores.csv").read_text()
    (folder / "scores.csv").write_text(text.replace("corrcoef,knn", "corrcoef,svr", 1))
    assert comparison.read(folder) != found


def test_same_bytes_for_any_number_of_processes(options, finished, tmp_path):
    decode(options, tmp_path / "two", Processes(2))
    assert read_files(tmp_path / "two") == read_files(finished[0])


def test_run_toml_repeats_the_run(finished, tmp_path):
    folder, _ = finished
    result = run("decode", folder / "run.toml", "--out", tmp_path / "again", "--jobs", 1)
    assert result.exit_code == 0, result.stderr
    assert read_files(tmp_path / "again") == read_files(folder)


class Counting(Serial):
    """An executor that remembers what it was asked to do."""

    def __init__(self, stop_after=None):
        self.done, self.stop_after = [], stop_after

    def run(self, function, shared, items):
        for item, result in super().run(function, shared, items):
            self.done.append(item)
            yield item, result
            if len(self.done) == self.stop_after:
                raise KeyboardInterrupt


def test_an_interrupted_run_goes_on_where_it_stopped(options, finished, tmp_path):
    first, second = Counting(stop_after=7), Counting()
    with pytest.raises(KeyboardInterrupt):
        decode(options, tmp_path / "run", first)
    decode(options, tmp_path / "run", second)
    assert len(first.done) == 7
    assert not set(first.done) & set(second.done)
    assert read_files(tmp_path / "run") == read_files(finished[0])


def test_a_folder_is_no_finished_run_while_it_is_written_again(options, finished, tmp_path, monkeypatch):
    """Settings of one run beside the results of another would pass for a run."""
    folder = shutil.copytree(finished[0], tmp_path / "run")
    changed = options.model_copy(update={"settings": {"corrcoef": {"feature_groups": None}}})
    with pytest.raises(KeyboardInterrupt):
        decode(changed, folder, Counting(stop_after=1), overwrite=True)
    with pytest.raises(InputError, match="expected a finished run"):
        comparison.read(folder)
    folder = shutil.copytree(finished[0], tmp_path / "saved")
    monkeypatch.setattr(comparison, "to_netcdf", interrupt)
    with pytest.raises(KeyboardInterrupt):
        comparison.save(finished[1], folder)
    with pytest.raises(InputError, match="expected a finished run"):
        comparison.read(folder)


def interrupt(*_):
    raise KeyboardInterrupt


def test_two_runs_do_not_share_a_folder(options, finished, tmp_path):
    folder = shutil.copytree(finished[0], tmp_path / "run")
    with hold_folder(folder), pytest.raises(FolderInUse):
        decode(options, folder, fresh=True)
    assert list((folder / "tasks").iterdir())
    assert comparison.read(folder) == finished[1]


def test_what_a_killed_run_left_half_written_is_removed(options, finished, tmp_path):
    folder = shutil.copytree(finished[0], tmp_path / "run")
    (folder / "other").mkdir()
    parts = [folder / name for name in (".weights.nc.77.part", "tasks/.x.npz.77.part", "other/.y.78.part")]
    for part in parts:
        part.write_bytes(b"half")
    decode(options, folder)
    assert [part.exists() for part in parts] == [False, False, True]  # the last may be another run's


class InterruptedTwice(Serial):
    """Ctrl-C comes again while the first is cleared up."""

    def run(self, function, shared, items):
        try:
            yield from super().run(function, shared, items)
        finally:
            raise KeyboardInterrupt("again")


def test_a_second_interrupt_is_not_swallowed(options, tmp_path):
    with pytest.raises(KeyboardInterrupt, match="again"):
        decode(options, tmp_path, InterruptedTwice(), progress=lambda done, total, *_: done and interrupt())


def test_sigterm_is_an_interrupt(session, tmp_path):
    out = tmp_path / "out"
    endless = ("--selectors", "corrcoef,rgs", "--set", "rgs.n_epochs=100000000")
    process = start("decode", session, "--target", "hand_velocity", *endless, "--out", out, "--jobs", 2)
    wait_for(lambda: list(out.glob("tasks/*.npz")))
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=900)
    assert process.returncode == 130, err
    assert f"go on with\n  neurofs decode {out / 'run.toml'} --out {out}" in err
    assert "Traceback" not in err
    assert not list(out.rglob("*.part"))
    assert not (out / ".lock").exists()


def test_a_damaged_task_is_done_again(options, finished, tmp_path):
    folder = shutil.copytree(finished[0], tmp_path / "run")
    path = folder / "tasks" / f"{Task('rgs', 0, 0, 0).id}.npz"
    path.write_bytes(path.read_bytes()[:-50])
    again = Counting()
    decode(options, folder, again)
    assert again.done == [Task("rgs", 0, 0, 0)]
    assert read_files(folder) == read_files(finished[0])


def test_a_changed_setting_does_again_what_it_touches(options, finished, tmp_path):
    folder, again = shutil.copytree(finished[0], tmp_path / "run"), Counting()
    changed = options.model_copy(update={"settings": {"corrcoef": {"feature_groups": None}}})
    decode(changed, folder, again, overwrite=True)
    assert {task.method for task in again.done} == {"corrcoef"}


def test_summary_agrees_with_the_table_of_scores(finished):
    _, comparison = finished
    summary, scores = comparison.summary, comparison.scores
    content = json.dumps(summary.to_json(), allow_nan=False)
    assert json.loads(content)["schema"] == SCHEMA
    assert Summary.model_validate_json(content) == summary
    chosen = scores[scores["chosen"]]
    for method in summary.methods:
        rows = chosen[chosen["method"] == method.method]
        assert method.pooled.r2.mean == pytest.approx(rows["r2"].mean())
        for output, found in method.outputs.items():
            assert found.mse.mean == pytest.approx(rows.loc[rows["output"] == output, "mse"].mean())
    curve = scores[~scores["chosen"]]
    for wins in summary.wins:
        ours = curve[(curve["selector"] == "rgs") & (curve["weighted"] == wins.weighted)]
        theirs = curve[curve["selector"] == wins.rival]
        ours, theirs = (table.groupby(["fold", "n"])["r2"].mean() for table in (ours, theirs))
        won = (ours > theirs) + 0.5 * (ours == theirs)  # a fold is won over all outputs and repeats
        share = won.groupby("n").mean()
        assert share.tolist() == pytest.approx(wins.share)
        assert wins.n == [2, 8, 24]
    assert summary.audit.passed
    assert summary.audit.n_overlaps == 0


def test_scores_can_be_computed_again_from_the_predictions(finished):
    _, comparison = finished
    predicted, target = comparison.predictions["predicted"], comparison.predictions["target"]
    rows = comparison.scores[comparison.scores["chosen"]]
    assert set(rows["method"]) == set(predicted["method"].values)
    trial = comparison.predictions["trial"].values
    n_trials = len(np.unique(trial))
    for (method, output, fold), part in rows.groupby(["method", "output", "fold"]):
        fold_of_trial = np.arange(n_trials) * 3 // n_trials
        test = fold_of_trial[np.searchsorted(np.unique(trial), trial)] == fold
        values = predicted.sel({"method": method, "output": output}).isel(repeat=0).values[test]
        truth = target.sel(output=output).values[test]
        assert part["mse"].item() == pytest.approx(np.mean((values - truth) ** 2), rel=1e-4)


def test_the_command_prints_a_table_two_sentences_and_the_report(session, tmp_path):
    options = ["--target", "hand_velocity:x", "--n-lags", 2, "--n-splits", 3]
    result = run("decode", session, *options, "--selectors", "corrcoef", "--out", tmp_path / "r", "--jobs", 1)
    assert result.exit_code == 0, result.stderr
    assert re.search(r"^correlation \+ auto +\d+ +−?0\.\d+ \(", result.stdout, re.M)
    assert re.search(
        r"^Correlation \+ auto, the decoder chosen on training data, (decodes|is not shown to decode) hand_velocity:x",
        result.stdout,
        re.M,
    )
    assert re.search(r"(It is (ahead of|behind)|The folds do not tell it from|Nor is) the best rival, ", result.stdout)
    assert "chance" in result.stdout
    assert result.stdout.rstrip().endswith(f"report: {tmp_path / 'r' / 'report.html'}")
    assert "tasks" in result.stderr
    quiet = run("decode", session, *options, "--selectors", "corrcoef", "--out", tmp_path / "r", "--json")
    assert json.loads(quiet.stdout)["reference"] == "corrcoef"


def test_a_selector_that_refuses_is_one_line_and_the_rest_is_in_the_log(session, tmp_path):
    options = ["--target", "direction", "--n-lags", 2, "--n-splits", 2, "--jobs", 1]
    settings = ["--selectors", "focus2", "--set", "focus2.tolerance=0", "--set", "focus2.max_tests=3"]
    result = run("decode", session, *options, *settings, "--out", tmp_path / "r")
    assert result.exit_code == 1
    told = [line for line in result.stderr.splitlines() if line.startswith("neurofs: ")]
    assert len(told) == 1
    assert told[0].startswith("neurofs: focus2-o0-r0-f0: Focus2 tested 3 sets")
    assert told[0].endswith(
        "Give parameters as --set focus2.PARAMETER=VALUE, or leave focus2 out; what is finished is kept."
    )
    assert "Traceback" not in result.stderr
    assert "Traceback" in (tmp_path / "r" / "log.txt").read_text()


def test_several_sessions_have_a_folder_each_and_a_bad_one_does_not_stop_the_others(session, tmp_path):
    bad = tmp_path / "bad.npz"
    bad.write_bytes(b"no data")
    result = run(
        *("decode", bad, session, "--target", "hand_velocity:x", "--n-lags", 2, "--n-splits", 3),
        *("--selectors", "corrcoef", "--out", tmp_path / "out", "--jobs", 1),
    )
    assert result.exit_code == 1
    assert "bad.npz" in result.stderr
    assert (tmp_path / "out" / "day1" / "report.html").is_file()
    assert "1 of 2 sessions done" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("failed: bad: bad.npz: archive: expected")
    assert "bad.npz: archive: expected" in (tmp_path / "out" / "bad" / "log.txt").read_text()
    index = (tmp_path / "out" / "index.html").read_text()
    assert "day1/report.html" in index
    assert "bad.npz: archive: expected" in index


def test_several_sessions_find_what_one_finds_and_go_on_from_there(options, finished, session, tmp_path):
    other = write(simulate_session(20, n_electrodes=3, random_state=6, name="day2"), tmp_path / "day2.npz")
    runs = [options, options.model_copy(update={"file": str(other), "selectors": ("corrcoef",)})]
    out, kept = tmp_path / "out", tmp_path / "out" / "notes.txt"
    sessions = place_sessions(runs, out)
    assert [s.folder for s in sessions] == [out / "day1", out / "day2"]
    first = run_sessions(sessions, out)
    assert read_files(out / "day1") == read_files(finished[0])
    assert (out / "day1" / "report.html").is_file()
    kept.write_text("not ours")
    again, fresh = run_sessions(sessions, out), run_sessions(sessions, out, fresh=True)
    n_tasks = [state.n_tasks for state in first.sessions]
    assert [[s.n_run for s in o.sessions] for o in (first, again, fresh)] == [n_tasks, [0, 0], n_tasks]
    assert kept.read_text() == "not ours"
    with hold_folder(out / "day2"), pytest.raises(FolderInUse):
        run_sessions(sessions, out)


def run_sessions(sessions, out, **options):
    return run_batch(sessions, out, Serial(), Progress(io.StringIO()), owns_folder=False, **options)


def test_a_batch_does_not_trust_what_another_run_wrote_over(options, finished, tmp_path):
    sessions = place_sessions([options], tmp_path)
    shutil.copytree(finished[0], tmp_path / "day1")
    assert run_sessions(sessions, tmp_path).sessions[0].n_run == 0
    decode(options.model_copy(update={"n_lags": 3}), tmp_path / "day1", overwrite=True)
    run_sessions(sessions, tmp_path)
    assert comparison.read(tmp_path / "day1").config == options.model_copy(update={"bin_width": 0.1})


def test_several_sessions_of_one_name_are_refused(session, tmp_path):
    result = run("decode", session, session, "--target", "hand_velocity", "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "two sessions would share the folder 'day1'. Decode them one by one" in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written_is_one_line(session, tmp_path):
    (tmp_path / "file").write_text("")
    result = run("decode", session, "--target", "hand_velocity", "--out", tmp_path / "file" / "run")
    assert result.exit_code == 2
    assert len(result.stderr.strip().splitlines()) == 1
