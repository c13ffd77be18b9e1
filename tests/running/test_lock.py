"""The lock of a folder, the log of events, and the view of progress."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
from types import SimpleNamespace

import pytest
from batches import wait_for

from neurofs.ground.errors import InputError
from neurofs.ground.files import remove_parts
from neurofs.ground.system import find_start
from neurofs.running.events import EventLog, read_events, write_log
from neurofs.running.lock import FolderInUse, _remove_stale, hold_folder
from neurofs.running.progress import LiveProgress, Progress, open_progress


def write_lock(folder, **changes):
    owner = {"host": socket.gethostname(), "pid": os.getpid(), "started": None, "since": "2026-01-01"}
    (folder / ".lock").write_text(json.dumps(owner | changes))


def dead_pid():
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_a_folder_is_held_by_one(tmp_path):
    with hold_folder(tmp_path), pytest.raises(FolderInUse) as caught, hold_folder(tmp_path):
        raise AssertionError("both have it")
    message = str(caught.value)
    assert f"in use by process {os.getpid()} on {socket.gethostname()}" in message
    assert message.endswith(f"if it no longer runs, delete {tmp_path / '.lock'}.")


def test_the_lock_of_a_dead_process_is_taken_over(tmp_path):
    write_lock(tmp_path, pid=dead_pid())
    with hold_folder(tmp_path):
        assert json.loads((tmp_path / ".lock").read_text())["pid"] == os.getpid()
    assert not list(tmp_path.iterdir())


def test_the_lock_of_a_killed_process_that_nobody_waited_for_is_taken_over(tmp_path):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        started = find_start(process.pid)
        write_lock(tmp_path, pid=process.pid, started=started)
        with pytest.raises(FolderInUse), hold_folder(tmp_path):
            raise AssertionError("taken")
        process.kill()
        wait_for(lambda: find_start(process.pid) is None)
        with hold_folder(tmp_path):
            assert json.loads((tmp_path / ".lock").read_text())["pid"] == os.getpid()


def test_a_lock_whose_file_was_cleared_up_before_it_was_in_place_is_written_again(tmp_path, monkeypatch):
    link, calls = os.link, []

    def link_after_clearing(source, target):
        calls.append(source)
        if len(calls) == 1:
            source.unlink()
        link(source, target)

    monkeypatch.setattr(os, "link", link_after_clearing)
    with hold_folder(tmp_path):
        assert json.loads((tmp_path / ".lock").read_text())["pid"] == os.getpid()
    assert len(calls) == 2


def test_a_lock_that_was_looked_at_is_not_cleared_up_as_half_written(tmp_path, monkeypatch):
    """Two take over a stale lock: the second one puts the lock of the first, which clears up, back in place."""
    write_lock(tmp_path, pid=dead_pid())
    stale, rename = json.loads((tmp_path / ".lock").read_text()), os.replace

    def rename_while_another_clears_up(source, target):
        rename(source, target)
        remove_parts(tmp_path)

    write_lock(tmp_path)  # the first one
    monkeypatch.setattr(os, "replace", rename_while_another_clears_up)
    _remove_stale(tmp_path / ".lock", stale)
    assert json.loads((tmp_path / ".lock").read_text())["pid"] == os.getpid()
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_a_process_that_only_has_the_same_number_is_not_the_owner(tmp_path):
    write_lock(tmp_path, started=1.5)
    with hold_folder(tmp_path):
        pass
    write_lock(tmp_path, started=find_start(os.getpid()) + 1)
    with pytest.raises(FolderInUse), hold_folder(tmp_path):
        raise AssertionError("a clock that was set by a second makes no other process")


def test_a_lock_that_cannot_be_read_is_taken_over(tmp_path):
    (tmp_path / ".lock").write_text("{")
    with hold_folder(tmp_path):
        pass


def test_the_lock_of_another_computer_stays(tmp_path):
    write_lock(tmp_path, host="node\x1b[31m7", pid=dead_pid())
    with pytest.raises(FolderInUse, match=r"on node\\x1b\[31m7"), hold_folder(tmp_path):
        raise AssertionError("taken")
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_a_folder_that_cannot_be_made_is_said_so(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="a folder that can be written"), hold_folder(tmp_path / "file"):
        raise AssertionError("held")


def test_a_torn_line_is_closed_and_skipped(tmp_path):
    path = tmp_path / "events.jsonl"
    EventLog(path).write("one", n=1)
    with path.open("ab") as file:
        file.write(b'{"event": "tor')
    EventLog(path).write("two", n=2)
    assert [(event["event"], event["n"]) for event in read_events(path)] == [("one", 1), ("two", 2)]


def test_the_log_of_a_session_has_the_time_on_every_line(tmp_path):
    write_log(tmp_path / "day1", "one\ntwo")
    lines = (tmp_path / "day1" / "log.txt").read_text().splitlines()
    assert [line[27:] for line in lines] == ["one", "two"]


def fill(view):
    with view:
        view.plan_sessions(2)
        view.plan_tasks(4, n_kept=1)
        view.finish_task()
        view.finish_task(failed=True)
        view.finish_session("day1", "failed", "sks: [bold]too long")
        return view.describe()


def test_plain_lines(tmp_path):
    stream = io.StringIO()
    text = fill(Progress(stream, interval=0))
    assert text.startswith("1 of 2 sessions, 3 of 4 tasks, ")
    assert text.endswith(" left, failed: 1 sessions, 1 tasks")
    assert "day1: failed: sks: [bold]too long\n" in stream.getvalue()


@pytest.mark.parametrize("kind", [Progress, LiveProgress])
def test_the_tasks_of_a_single_session_are_counted_from_outside(kind):
    with kind(io.StringIO(), "day1") as view:
        view.count_tasks(2, 5)
        assert view.describe() == "day1: 2 of 5 tasks"
        view.started -= 1000
        view.count_tasks(4, 5)
        assert view.describe() == "day1: 4 of 5 tasks, 0 per minute, about 8 min left"
        view.count_tasks(4, 5, 120.0)
        assert view.describe().endswith("about 2 min left")


def test_a_live_view_says_the_same():
    stream = io.StringIO()
    assert fill(LiveProgress(stream)).startswith("1 of 2 sessions, 3 of 4 tasks, ")
    assert "day1: failed: sks: [bold]too long" in stream.getvalue()


def test_lines_are_plain_where_there_is_no_terminal():
    assert type(open_progress(io.StringIO())) is Progress


def test_time_left_counts_sessions_not_yet_looked_at(monkeypatch):
    clock = SimpleNamespace(monotonic=lambda: 100.0)
    monkeypatch.setattr("neurofs.running.progress.time", clock)
    view = Progress(io.StringIO())
    view.plan_sessions(3)
    view.plan_tasks(10)
    assert view.seconds_left is None
    clock.monotonic = lambda: 110.0
    view.finish_task()
    assert view.seconds_left == 29 * 10
    view.plan_tasks(0)  # a session that cannot be read
    assert view.seconds_left == (9 + 5) * 10


def test_a_file_system_without_second_names(tmp_path, monkeypatch):
    def refuse(source, target):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.link", refuse)
    with hold_folder(tmp_path), pytest.raises(FolderInUse), hold_folder(tmp_path):
        raise AssertionError("both have it")
    assert not list(tmp_path.iterdir())
