"""Faults of the machine, on purpose: each makes a command fail in one line, and the next one makes good."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import trap_files as files
from batches import check_folder, read_results, run, start, write_batch

from .corpus import QUICK
from .trial import Verdict, try_command

Fault = Callable[[Path], str]

NOT_TRIED = "not tried: this machine does not let us"


def decode(folder: Path, out: Path, prepare: Callable[[], object] | None = None) -> Verdict:
    """Decode a small session; a session that fails has exit code 1."""
    path = folder / "session.npz"
    if not path.exists():
        files.npz()(folder)
    command = ["decode", path, "--target", "velocity", "--out", out, *QUICK]
    return try_command(command, prepare=prepare, allowed=(0, 1, 2))


def make_good(folder: Path, first: Verdict) -> str:
    """Return what is wrong after a fault and one more start without it."""
    again = decode(folder, folder / "run")
    if first.failure or again.failure:
        return first.failure or again.failure
    if again.kind != "sane":
        return f"not made good: {again.words}"
    left = [path.name for path in (folder / "run").rglob("*") if path.suffix in (".part", ".stale")]
    return f"leftovers: {left}" if left else ""


def lack_files(folder: Path) -> str:
    """No more than 24 files may be open."""
    limit = (resource.RLIMIT_NOFILE, (24, 24))
    return make_good(folder, decode(folder, folder / "run", lambda: resource.setrlimit(*limit)))


def fill_disk(folder: Path) -> str:
    """No file may grow beyond some size, as on a full disk."""
    for size in (2_000, 20_000, 60_000):
        limit = (resource.RLIMIT_FSIZE, (size, size))
        failure = make_good(folder, decode(folder, folder / "run", lambda limit=limit: resource.setrlimit(*limit)))
        if failure:
            return f"{size} bytes: {failure}"
    return ""


def fill_real_disk(folder: Path) -> str:
    """A file system in memory that has room for little."""
    with mount_small(folder / "small", "200k") as place:
        if place is None:
            return NOT_TRIED
        first = decode(folder, place / "run")
        left = [path.name for path in place.rglob("*.part")]
    if first.failure or left:
        return first.failure or f"leftovers: {left}"
    return "" if first.kind == "refused" else "a report of more bytes than there are"


@contextmanager
def mount_small(place: Path, size: str):
    """Mount a small file system, or yield None where that is not allowed."""
    libc = ctypes.CDLL(None, use_errno=True)
    place.mkdir()
    done = libc.mount(b"tmpfs", os.fsencode(place), b"tmpfs", 0, f"size={size}".encode()) == 0
    try:
        yield place if done else None
    finally:
        if done:
            libc.umount2(os.fsencode(place), 2)


def write_nowhere(folder: Path) -> str:
    """A folder in which this user may not write."""
    (folder / "run").mkdir()
    (folder / "run").chmod(0o555)
    first = decode(folder, folder / "run", drop_rights)
    (folder / "run").chmod(0o755)
    return first.failure or ("" if first.kind == "refused" else "written where nothing may be")


def drop_rights() -> None:
    """Take from root the right to pass over permissions."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    libc.capget(header, data)
    data[0] &= ~0b110  # neither CAP_DAC_OVERRIDE nor CAP_DAC_READ_SEARCH
    data[1] &= ~0b110
    libc.capset(header, data)


def turn_clock(folder: Path) -> str:
    """The clock goes backward, an hour with each look."""
    begun, looks = time.time(), iter(range(10**9))

    def prepare() -> None:
        time.time = lambda: begun - 3600.0 * next(looks)

    return make_good(folder, decode(folder, folder / "run", prepare))


def meet_locks(folder: Path) -> str:
    """The lock of another computer stays; that of a process that is gone does not."""
    (folder / "run").mkdir()
    lock = folder / "run" / ".lock"
    lock.write_text(json.dumps({"host": "elsewhere", "pid": 1, "started": 1.0, "since": "2020-01-01"}))
    first = decode(folder, folder / "run")
    if first.kind != "refused" or "elsewhere" not in first.words or not lock.exists():
        return f"the lock of another computer was passed over: {first.words}"
    lock.unlink()
    return make_good(folder, first)


def start_eight(folder: Path) -> str:
    """Eight commands at once on one folder: those that are late are refused, and nothing is mixed up."""
    files.npz()(folder)
    pids = []
    for _ in range(8):
        pid = os.fork()
        if pid == 0:
            verdict = decode(folder, folder / "run")
            fine = verdict.kind == "sane" or "in use by" in verdict.words
            os._exit((0 if verdict.kind == "sane" else 2) if fine and not verdict.failure else 1)
        pids.append(pid)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    if 0 not in codes or set(codes) - {0, 2}:
        return f"exit codes {codes}"
    return make_good(folder, decode(folder, folder / "run"))


def start_two_batches(folder: Path) -> str:
    """Two batches at once in one folder: one is refused, and the other leaves what a third finds whole."""
    path, out = write_batch(folder), folder / "out"
    both = [start("batch", path, "--out", out, "--jobs", 1) for _ in range(2)]
    words = [process.communicate()[1] for process in both]
    codes = [process.returncode for process in both]
    refused = [text for text, code in zip(words, codes, strict=True) if code]
    if 0 not in codes or set(codes) - {0, 2} or not all("in use by" in text for text in refused):
        return f"exit codes {codes}: {words}"
    return check_again(path, out, read_results(out))


def lack_memory(folder: Path) -> str:
    """Tasks get less memory than they need; with more, the same batch ends."""
    path, out = write_batch(folder), folder / "out"
    poor = run("batch", path, "--out", out, "--jobs", 1, "--memory-limit", "64MB")
    if poor.returncode not in (1, 2) or "Traceback" in poor.stderr:
        return f"exit code {poor.returncode}: {poor.stderr[-300:]}"
    rich = run("batch", path, "--out", out, "--jobs", 1)
    return f"exit code {rich.returncode}: {rich.stderr[-300:]}" if rich.returncode else ""


def check_again(path: Path, out: Path, expected: dict[str, str]) -> str:
    """Return what is wrong after the same batch once more."""
    again = run("batch", path, "--out", out, "--jobs", 1)
    if again.returncode or read_results(out) != expected:
        return f"not the same again: exit code {again.returncode}: {again.stderr[-300:]}"
    check_folder(out)
    return ""


FAULTS: dict[str, Fault] = {
    "files run out": lack_files,
    "the disk is full": fill_disk,
    "a small disk": fill_real_disk,
    "nothing may be written": write_nowhere,
    "the clock goes backward": turn_clock,
    "locks": meet_locks,
    "eight at once": start_eight,
    "two batches": start_two_batches,
    "memory runs out": lack_memory,
}


def try_faults(only: str = "") -> int:
    """Try every fault, print what went wrong, and return how many did."""
    n_failed = 0
    for name, fault in FAULTS.items():
        if only in name:
            with tempfile.TemporaryDirectory() as place:
                failure = fault(Path(place))
            n_failed += bool(failure) and failure != NOT_TRIED
            said = failure if failure == NOT_TRIED else f"FAILED: {failure}" if failure else "made good"
            print(f"{name}: {said}", flush=True)
    return n_failed
