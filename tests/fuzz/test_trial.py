"""The watch over trials can see each thing that it is there to see."""

from __future__ import annotations

import os
import signal
import sys

import pytest
import trap_files as files

pytestmark = [pytest.mark.slow, pytest.mark.posix, pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")]

if sys.platform == "linux":
    from . import trial
    from .kinds import lay_bait


def raise_error():
    raise ZeroDivisionError


def take_memory():
    take_memory.content = bytearray(b"x") * int(1.01 * trial.MEMORY)


def say(*lines, code=2):
    for line in lines:
        print(line, file=sys.stderr)
    sys.exit(code)


@pytest.mark.parametrize(
    ("prepare", "failure"),
    [
        (lambda: None, ""),
        (lambda: os.kill(os.getpid(), signal.SIGSEGV), "signal SIGSEGV"),
        (raise_error, "a traceback"),
        (take_memory, "took "),
        (lambda: say("one"), ""),
        (lambda: say("one", "two"), "2 lines of error"),
        (lambda: say(), "0 lines of error"),
        (lambda: say("one", code=1), "exit code 1"),
        (lambda: say("red \x1b[31m"), "control characters on the terminal"),
    ],
)
def test_what_must_not_happen_is_seen(tmp_path, prepare, failure):
    path = files.npz()(tmp_path)
    found = trial.try_command(["inspect", path], path.stat().st_size, prepare=prepare).failure
    assert found.startswith(failure), found
    assert bool(found) == bool(failure), found


def test_a_file_that_must_not_be_opened_is_seen(tmp_path):
    bait = lay_bait(tmp_path)
    assert trial.try_command(["inspect", bait / "bait.nwb"], bait=bait).failure == "opened bait.nwb"


def test_one_that_waits_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(trial, "PATIENCE", 0.5)
    os.mkfifo(tmp_path / "pipe")
    path = files.npz()(tmp_path)
    verdict = trial.try_command(["inspect", path], prepare=lambda: (tmp_path / "pipe").read_bytes())
    assert verdict.failure == "a hang"


def test_one_that_works_without_end_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(trial, "SECONDS", 0.5)

    def work():
        while True:
            sum(range(1000))

    verdict = trial.try_command(["inspect", files.npz()(tmp_path)], prepare=work)
    assert verdict.failure.startswith(("took", "signal")), verdict
