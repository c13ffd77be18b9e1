"""One trial: a command of neurofs in a fork of this process, watched for all that must not happen."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import resource
import select
import signal
import struct
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from neurofs.commands.main import main

SECONDS = 20.0
"""Time of the processor that a trial may take."""

PATIENCE = 60.0
"""Seconds by the clock after which a trial that waits for something is ended; a busy machine is no failure."""

MEMORY = 1.5e9
"""Bytes that a trial may take, or twice its file if that is more."""

LAST_RESORT = 6 * 10**9
"""Bytes that no trial gets, so that the machine goes on."""

TRACEBACK, EXIT = "Traceback (most recent call last)", 70


@dataclass(frozen=True)
class Verdict:
    """What became of a trial: `failure` says what must not have happened, or nothing."""

    kind: str
    failure: str
    words: str
    seconds: float
    memory: float


def try_command(
    arguments: Sequence[object],
    n_bytes: int = 0,
    bait: Path | None = None,
    prepare: Callable[[], object] | None = None,
    allowed: tuple[int, ...] = (0, 2),
) -> Verdict:
    """Return what ``neurofs`` does with a file of so many bytes; nothing in the folder `bait` may be opened."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, Watch(bait) as watch:
        pid = os.fork()
        if pid == 0:
            _run([str(argument) for argument in arguments], out.fileno(), err.fileno(), prepare)
        hangs = not _await_end(pid)
        if hangs:
            os.kill(pid, signal.SIGABRT)  # it then says where it stands
            time.sleep(1.0)
        status, usage = _bury(pid)
        said, words = (_read(file) for file in (out, err))
        opened = watch.opened()
    memory, seconds = 1024.0 * usage.ru_maxrss, usage.ru_utime + usage.ru_stime
    limit = max(MEMORY, 2.0 * n_bytes)
    failure = "a hang" if hangs else _find_failure(status, said, words, allowed)
    failure = failure or (f"opened {opened}" if opened else "")
    failure = failure or (f"took {seconds:.0f} s" if seconds > SECONDS else "")
    failure = failure or (f"took {memory / 1e9:.1f} GB" if memory > limit else "")
    kind = "sane" if status == 0 else "refused"
    return Verdict(kind, failure, (words or said)[-4000:], seconds, memory)


def _find_failure(status: int, said: str, words: str, allowed: tuple[int, ...]) -> str:
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        return f"signal {signal.Signals(-code).name}"
    if TRACEBACK in words or TRACEBACK in said:
        return "a traceback"
    if code not in allowed:
        return f"exit code {code}"
    lines = words.splitlines()
    if code and len(lines) != 1 and not (said and not lines) and not words.startswith("Usage: "):
        return f"{len(lines)} lines of error"
    if not all(line.isprintable() for line in [*lines, *said.splitlines()]):
        return "control characters on the terminal"
    return ""


def _read(file) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def _run(arguments: list[str], out: int, err: int, prepare: Callable[[], object] | None) -> None:
    """Be the child: run the command and end."""
    code = EXIT
    try:
        os.setpgid(0, 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        faulthandler.enable(2)
        sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
        resource.setrlimit(resource.RLIMIT_CPU, (int(SECONDS) + 5, int(SECONDS) + 5))
        resource.setrlimit(resource.RLIMIT_DATA, (LAST_RESORT, LAST_RESORT))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if prepare is not None:
            prepare()
        main.main(arguments, prog_name="neurofs")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _await_end(pid: int) -> bool:
    """Wait for a child, and return whether it ended; one that has work to do is waited for."""
    handle = os.pidfd_open(pid)
    try:
        deadline = time.monotonic() + PATIENCE
        while not select.select([handle], [], [], 1.0)[0]:
            if _works(pid):
                deadline = max(deadline, time.monotonic() + 10)
            elif time.monotonic() > deadline:
                return False
        return True
    finally:
        os.close(handle)


def _works(pid: int) -> bool:
    """Tell whether a process, or one that it has started, runs, or would if it had a processor."""
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        states = {one.status() for one in (process, *process.children(recursive=True))}
        return bool(states & {psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP})
    return True  # one of them has just ended


def _bury(pid: int) -> tuple[int, resource.struct_rusage]:
    """End a child and all that it started, if they have not ended, and return how, and what it used."""
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # one that has ended keeps its status
    _, status, usage = os.wait4(pid, 0)
    return status, usage


class Watch:
    """Notes which files of a folder are opened, by Python or by a library."""

    OPENED = 0x20  # IN_OPEN
    _libc = ctypes.CDLL(None, use_errno=True)

    def __init__(self, folder: Path | None) -> None:
        self.folder, self._fd = folder, -1

    def __enter__(self) -> Watch:
        if self.folder is not None:
            self._fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
            if self._libc.inotify_add_watch(self._fd, os.fsencode(self.folder), self.OPENED) < 0:
                raise OSError(ctypes.get_errno(), f"{self.folder} cannot be watched")
        return self

    def __exit__(self, *_: object) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    def opened(self) -> str:
        """Return the name of the first file that was opened."""
        try:
            events = os.read(self._fd, 4096) if self._fd >= 0 else b""
        except BlockingIOError:
            return ""
        if not events:
            return ""
        length = struct.unpack_from("iIII", events)[3]
        return events[16 : 16 + length].rstrip(b"\0").decode() or str(self.folder)
