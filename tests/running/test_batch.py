"""Batches as a user runs them: resume, change, crash, interrupt, and bad sessions among good ones."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
import time
from itertools import islice
from pathlib import Path

import h5py
import numpy as np
import pytest
from batches import DEFAULTS, MINI, check_folder, run, start, stored_keys, wait_for, write_batch
from dask_cluster import start_cluster

from neurofs.comparison.comparison import read
from neurofs.ground.errors import InputError
from neurofs.recordings.simulate import simulate_session
from neurofs.recordings.writers import write
from neurofs.report.page import render
from neurofs.running.batch.config import plan_sessions, read_batch_file
from neurofs.running.batch.coordinator import check_space, run_batch
from neurofs.running.batch.session import finish_session
from neurofs.running.events import read_events
from neurofs.running.executors import Processes, Serial
from neurofs.running.lock import FolderInUse, hold_folder
from neurofs.running.progress import Progress
from neurofs.running.run_folders import read_run
from neurofs.running.session import decode
from neurofs.running.worker import Worker

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """A finished batch, run in this process."""
    folder = tmp_path_factory.mktemp("batch")
    out = folder / "out"
    outcome = run_here(write_batch(folder), out)
    assert [state.status for state in outcome.sessions] == ["done", "done"]
    return out


def run_here(path, out, executor=None, **options):
    sessions = plan_sessions(read_batch_file(path), out)
    with open(os.devnull, "w") as nowhere:
        return run_batch(sessions, out, executor or Serial(), Progress(nowhere), **options)


def kinds(out, kind):
    return [event for event in read_events(out / "events.jsonl") if event["event"] == kind]


def test_a_batch_writes_a_run_folder_per_session_and_one_table(undisturbed):
    check_folder(undisturbed)
    lines = (undisturbed / "scores.csv").read_text().splitlines()
    own = [(undisturbed / "sessions" / day / "scores.csv").read_text().splitlines() for day in ("day1", "day2")]
    assert lines == [f"session,{own[0][0]}"] + [
        f"{day},{line}" for day, part in zip(("day1", "day2"), own, strict=True) for line in part[1:]
    ]
    assert "sessions/day1/report.html" in (undisturbed / "index.html").read_text()
    assert "done" in (undisturbed / "sessions" / "day2" / "log.txt").read_text()


def test_a_batch_and_decode_find_the_same(undisturbed, tmp_path):
    first = read(undisturbed / "sessions" / "day1")
    again = decode(first.config, tmp_path)
    assert again.scores.equals(first.scores)
    assert again.weights.identical(first.weights)


def test_processes_give_the_same_bytes(undisturbed, tmp_path):
    run_here(write_batch(tmp_path), tmp_path / "out", Processes(2))
    assert (tmp_path / "out" / "scores.csv").read_bytes() == (undisturbed / "scores.csv").read_bytes()


def test_a_second_start_does_nothing(undisturbed, tmp_path):
    out = shutil.copytree(undisturbed, tmp_path / "out")
    before = {path: path.stat().st_mtime_ns for path in out.glob("sessions/*/*.*") if path.name != "log.txt"}
    outcome = run_here(write_batch(tmp_path, MINI), out)
    assert [state.n_run for state in outcome.sessions] == [0, 0]
    assert {path: path.stat().st_mtime_ns for path in before} == before


@pytest.mark.parametrize("lost", ["tasks/corrcoef-o0-r0-f1.npz", "report.html", "finished.json"])
def test_only_what_is_missing_is_done(undisturbed, tmp_path, lost):
    out = shutil.copytree(undisturbed, tmp_path / "out")
    day = out / "sessions" / "day2"
    (day / lost).unlink()
    (day / "finished.json").unlink(missing_ok=True)
    outcome = run_here(write_batch(tmp_path), out)
    assert [state.n_run for state in outcome.sessions] == [0, int(lost.endswith("npz"))]
    assert (day / lost).is_file()
    assert (out / "scores.csv").read_bytes() == (undisturbed / "scores.csv").read_bytes()


def test_a_damaged_result_is_not_trusted(undisturbed, tmp_path):
    out = shutil.copytree(undisturbed, tmp_path / "out")
    day = out / "sessions" / "day1"
    task = day / "tasks" / "corrcoef-o0-r0-f0.npz"
    task.write_bytes(task.read_bytes()[:100])
    (day / "finished.json").unlink()
    assert [state.n_run for state in run_here(write_batch(tmp_path), out).sessions] == [1, 0]
    assert (out / "scores.csv").read_bytes() == (undisturbed / "scores.csv").read_bytes()


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("weights.nc", lambda content: content[:100]),
        ("scores.csv", lambda content: content.replace(b"0.", b"1.", 1)),
        ("summary.json", lambda content: b"{}"),
        ("finished.json", lambda content: b"5"),
        ("finished.json", lambda content: b'{"key": 1, "n_tasks": [], "files": 3}'),
        ("run.toml", lambda content: b"x = [" * 9),
    ],
)
def test_a_spoiled_file_is_made_anew(undisturbed, tmp_path, name, spoil):
    out = shutil.copytree(undisturbed, tmp_path / "out")
    file = out / "sessions" / "day1" / name
    whole = file.read_bytes()
    file.write_bytes(spoil(whole))
    assert file.read_bytes() != whole
    outcome = run_here(write_batch(tmp_path), out)
    assert [(state.status, state.n_run) for state in outcome.sessions] == [("done", 0), ("done", 0)]
    assert (out / "scores.csv").read_bytes() == (undisturbed / "scores.csv").read_bytes()
    assert (file.parent / "weights.nc").read_bytes() == (undisturbed / "sessions/day1/weights.nc").read_bytes()
    assert name == "finished.json" or name in (file.parent / "log.txt").read_text()


def test_an_edited_table_is_shown_as_edited(undisturbed, tmp_path):
    run = shutil.copytree(undisturbed / "sessions" / "day1", tmp_path / "run")
    assert "Changed since the run" not in render(read_run(run))
    scores = (run / "scores.csv").read_text()
    (run / "scores.csv").write_text(scores.replace(",0.", ",1.", 1))
    assert "Changed since the run, and shown as found: scores.csv." in render(read_run(run))


def test_a_changed_setting_reruns_what_it_touches_and_says_so(undisturbed, tmp_path):
    out = shutil.copytree(undisturbed, tmp_path / "out")
    one = MINI.replace('name = "day"\nn_sessions = 2', 'name = "day1"')
    changed = one.replace('selectors = ["corrcoef"]', 'selectors = ["corrcoef", "sks"]')
    outcome = run_here(write_batch(tmp_path, changed), out)
    assert [(state.name, state.n_run) for state in outcome.sessions] == [("day1", 2)]
    changed = changed.replace("[[simulate]]", "[defaults.settings.sks]\nn_neighbors = 7\n[[simulate]]")
    outcome = run_here(write_batch(tmp_path, changed), out)
    assert [state.n_run for state in outcome.sessions] == [2]
    started = [event["task"] for event in kinds(out, "task_started")[-2:]]
    assert all(task.startswith("sks-") for task in started)
    assert kinds(out, "session_opened")[-1]["changed"] == 2
    assert "2 to do, of which 2 again: settings" in (out / "sessions" / "day1" / "log.txt").read_text()


def test_a_changed_input_reruns_its_session_only(tmp_path):
    for day in ("a", "b"):
        write(simulate_session(12, n_electrodes=2, random_state=ord(day)), tmp_path / f"{day}.nwb")
    path = write_batch(tmp_path, DEFAULTS + '[[session]]\nfile = "?.nwb"\n')
    run_here(path, tmp_path / "out")
    write(simulate_session(12, n_electrodes=2, random_state=1), tmp_path / "b.nwb")
    assert [state.n_run for state in run_here(path, tmp_path / "out").sessions] == [0, 10]


def test_fresh_starts_over(undisturbed, tmp_path):
    out = shutil.copytree(undisturbed, tmp_path / "out")
    outcome = run_here(write_batch(tmp_path), out, fresh=True)
    assert [state.n_run for state in outcome.sessions] == [10, 10]
    assert len(kinds(out, "batch_started")) == 1


def test_a_dry_run_prints_the_plan_and_writes_nothing(undisturbed, tmp_path):
    path = write_batch(tmp_path)
    plan = json.loads(run("batch", path, "--out", tmp_path / "new", "--dry-run", "--json", "--jobs", 2).stdout)
    assert [(row["name"], row["to_do"]) for row in plan["sessions"]] == [("day1", 10), ("day2", 10)]
    assert plan["seconds"] > 0
    assert not (tmp_path / "new").exists()
    text = run("batch", path, "--out", undisturbed, "--dry-run", "--jobs", 2).stdout
    assert "\n0 tasks to do, about 0 s with 2 at a time\n" in text


# Sudden ends

MOMENTS = [round(0.03 + 0.97 * (number * 0.618034 % 1), 3) for number in range(30)]
"""When to kill, as shares of the time that an undisturbed batch takes; CI takes the first two."""


JOBS = ("--jobs", 2)


@pytest.fixture(scope="module")
def yardstick(tmp_path_factory):
    """The pipeline to kill (NEUROFS_KILL_PIPELINE names another), its undisturbed table, and its time."""
    folder = tmp_path_factory.mktemp("undisturbed")
    path = Path(os.environ.get("NEUROFS_KILL_PIPELINE") or write_batch(folder))
    started = time.monotonic()
    assert run("batch", path, "--out", folder / "out", *JOBS).returncode == 0
    return path, (folder / "out" / "scores.csv").read_bytes(), time.monotonic() - started


@pytest.mark.parametrize("moment", MOMENTS[: int(os.environ.get("NEUROFS_KILLS", 2))])
def test_a_killed_batch_goes_on_and_loses_nothing(yardstick, tmp_path, moment):
    path, expected, seconds = yardstick
    out = tmp_path / "out"
    process = start("batch", path, "--out", out, *JOBS)
    time.sleep(moment * seconds)
    process.kill()
    process.communicate()
    there = stored_keys(out)
    resumed = run("batch", path, "--out", out, *JOBS)
    assert (resumed.returncode, resumed.stderr.count("Traceback")) == (0, 0)
    assert (out / "scores.csv").read_bytes() == expected
    check_folder(out)
    assert not there & _started_last(out)


def _started_last(out):
    """The tasks that the last run started."""
    events = list(read_events(out / "events.jsonl"))
    last = max(number for number, event in enumerate(events) if event["event"] == "batch_started")
    return {(event["session"], event["task"]) for event in events[last:] if event["event"] == "task_started"}


def test_an_interrupted_batch_says_how_to_go_on(tmp_path):
    path = write_batch(tmp_path, MINI.replace("n_sessions = 2", "n_sessions = 40"))
    process = start("batch", path, "--out", tmp_path / "out", "--jobs", 1)
    wait_for(lambda: stored_keys(tmp_path / "out"))
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert f"Continue with: neurofs batch {path}" in err
    assert "Traceback" not in err
    check_folder(tmp_path / "out")


class InterruptedWhileWriting(Serial):
    """Ctrl-C comes while the helper writes a file of a session; it is killed, and the file stays half-written."""

    def __init__(self, folder):
        self.folder = folder

    def run_jobs(self, function, jobs):
        yield from islice(super().run_jobs(function, jobs), 1)
        (self.folder / ".weights.nc.77.part").write_bytes(b"half")
        raise KeyboardInterrupt


def test_an_interrupt_while_a_session_is_finished_leaves_nothing_half_written(tmp_path):
    folder = tmp_path / "out" / "sessions" / "day1"
    with pytest.raises(KeyboardInterrupt):
        run_here(write_batch(tmp_path), tmp_path / "out", InterruptedWhileWriting(folder))
    assert len(stored_keys(tmp_path / "out")) == 1
    check_folder(tmp_path / "out")


def test_an_interrupt_while_a_session_is_finished_takes_back_that_it_was(undisturbed, tmp_path, monkeypatch):
    """Else the mark of an earlier run would vouch for files of two runs."""
    out = shutil.copytree(undisturbed, tmp_path / "out")
    session = plan_sessions(read_batch_file(write_batch(tmp_path)), out)[0]

    def interrupt(folder):
        raise KeyboardInterrupt

    monkeypatch.setattr("neurofs.report.page.write_report", interrupt)
    with pytest.raises(KeyboardInterrupt):
        finish_session("", session)
    assert not (session.folder / "finished.json").exists()


# Cluster


@pytest.mark.dask
def test_a_dask_cluster_gives_the_same_bytes_though_a_worker_is_killed(undisturbed, tmp_path):
    out = tmp_path / "out"
    with start_cluster(tmp_path / "dask") as (address, processes):
        process = start("batch", write_batch(tmp_path), "--out", out, "--scheduler", address)
        wait_for(lambda: stored_keys(out))
        processes[1].kill()
        out_text, err = process.communicate(timeout=600)
    assert process.returncode == 0, err + out_text
    assert (out / "scores.csv").read_bytes() == (undisturbed / "scores.csv").read_bytes()
    check_folder(out)


# Bad sessions

CUSTOMIZE = """
import sys, types, os
from neurofs.recordings.readers.formats import FORMATS, Format
FORMATS[".aborts"] = Format((".aborts",), "a format whose reader aborts", "aborts", "nothing")
module = types.ModuleType("neurofs.recordings.readers.aborts")
module.read = lambda path, options: (os.write(2, b"double free or corruption\\n"), os.abort())
sys.modules["neurofs.recordings.readers.aborts"] = module
"""
"""Run by Python at its start where it is found: adds a kind of file whose loader aborts, like a broken library."""


def write_sessions(folder):
    """Five good sessions; one truncated, one hostile, one without units, one that aborts, one that is slow."""
    for number in range(1, 6):
        write(simulate_session(12, n_electrodes=2, random_state=number), folder / f"good{number}.nwb")
    good = (folder / "good1.nwb").read_bytes()
    (folder / "truncated.nwb").write_bytes(good[: len(good) // 2])
    np.savez(folder / "hostile.npz", counts=np.array([{"a": 1}, print], dtype=object))
    shutil.copy(folder / "good2.nwb", folder / "silent.nwb")
    with h5py.File(folder / "silent.nwb", "r+") as file:
        del file["units"]
    (folder / "broken.aborts").write_bytes(b"anything")
    write(simulate_session(60, n_electrodes=2, random_state=6), folder / "slow.nwb")
    text = DEFAULTS + "".join(
        f'[[session]]\nfile = "{name}"\n'
        for name in ("good[1-3].nwb", "truncated.nwb", "hostile.npz", "silent.nwb", "broken.aborts")
    )
    text += '[[session]]\nfile = "slow.nwb"\nselectors = ["rgs"]\nsettings.rgs.n_epochs = 100_000_000\n'
    return write_batch(folder, text + '[[session]]\nfile = "good[45].nwb"\n')


def test_five_bad_sessions_among_ten(undisturbed, tmp_path):
    path = write_sessions(tmp_path)
    (tmp_path / "start").mkdir()
    (tmp_path / "start" / "sitecustomize.py").write_text(CUSTOMIZE)
    out = tmp_path / "out"
    found = run("batch", path, "--out", out, "--jobs", 2, "--task-timeout", "20", "--json", path=tmp_path / "start")
    assert found.returncode == 1, found.stderr
    assert "Traceback" not in found.stderr
    sessions = {session["name"]: session for session in json.loads(found.stdout)["sessions"]}
    good = [f"good{number}" for number in range(1, 6)]
    assert [name for name in sessions if sessions[name]["status"] == "done"] == good
    assert all((out / "sessions" / name / "report.html").is_file() for name in good)
    reasons = {name: session["reason"] for name, session in sessions.items() if session["reason"]}
    assert reasons["truncated"].startswith("truncated.nwb: expected")
    assert reasons["hostile"].startswith("hostile.npz: array 'counts': expected")
    assert reasons["silent"].startswith("silent.nwb: ")
    assert "units" in reasons["silent"]
    assert reasons["broken"] == "its process died (SIGABRT): double free or corruption"
    assert "took longer than the limit of 20 s" in reasons["slow"]
    index = (out / "index.html").read_text()
    assert all(name in index for name in sessions)
    assert "double free or corruption" in index
    check_folder(out)


def test_failed_sessions_are_the_last_lines(tmp_path):
    (tmp_path / "bad.nwb").write_bytes(b"no HDF5")
    named = '[batch]\nname = "Spring"\n' + MINI + '[[session]]\nfile = "bad.nwb"\n'
    found = run("batch", write_batch(tmp_path, named), "--out", tmp_path / "o")
    assert found.returncode == 1
    assert "<h1>Spring</h1>" in (tmp_path / "o" / "index.html").read_text()
    assert found.stdout.splitlines()[-1].startswith("failed: bad: bad.nwb: expected")
    assert "2 of 3 sessions done" in found.stdout


def test_stop_on_error_stops_and_one_thread_talks_to_the_helper(tmp_path, monkeypatch):
    threads = []

    class Watched(Worker):
        def call(self, *arguments, **options):
            threads.append(threading.get_ident())
            return super().call(*arguments, **options)

    monkeypatch.setattr("neurofs.running.batch.coordinator.Worker", Watched)
    (tmp_path / "bad.nwb").write_bytes(b"no HDF5")
    path = write_batch(tmp_path, MINI + '[[session]]\nfile = "bad.nwb"\n')
    outcome = run_here(path, tmp_path / "out", keep_going=False)
    assert [state.status for state in outcome.sessions] == ["failed", "waiting", "waiting"]
    assert len(threads) == 3  # the bad session, the next one, the index
    assert len(set(threads)) == 1


# Folders


def test_two_batches_do_not_share_a_folder(tmp_path):
    with hold_folder(tmp_path / "out"), pytest.raises(FolderInUse, match=f"in use by process {os.getpid()} on"):
        run_here(write_batch(tmp_path), tmp_path / "out")
    assert not (tmp_path / "out" / "events.jsonl").exists()


def test_a_full_disk_is_reported_at_once(tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)._replace(free=2**20)
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    with pytest.raises(InputError, match="expected 40 MB of free space; found 1 MB"):
        check_space(tmp_path, 2)


def test_a_disk_that_fills_up_ends_the_batch_without_half_a_file(tmp_path):
    """No file may grow beyond 20 KB: the simulated session cannot be written, nor can a longer table."""
    command = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000));"
        "from neurofs.commands.main import main; main()"
    )
    import subprocess
    import sys

    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    write(simulate_session(12, n_electrodes=2, random_state=1), tmp_path / "day.nwb")
    text = DEFAULTS.replace("sizes = [1, 4]", "sizes = []").replace("n_lags = 2", "n_lags = 8")
    path = write_batch(tmp_path, text + '[[session]]\nfile = "day.nwb"\n')
    arguments = ["batch", str(path), "--out", str(tmp_path / "out"), "--jobs", "1"]
    found = subprocess.run([sys.executable, "-c", command, *arguments], env=environment, capture_output=True, text=True)
    assert found.returncode in (1, 2)
    assert "Check space and rights." in found.stdout + found.stderr
    assert "Traceback" not in found.stderr
    assert not list((tmp_path / "out").rglob("*.part"))
    assert not (tmp_path / "out" / "sessions" / "day" / "finished.json").exists()
    resumed = run("batch", path, "--out", tmp_path / "out", "--jobs", 1)
    assert resumed.returncode == 0
    check_folder(tmp_path / "out")
