"""Batches that are killed, and finished batches whose files are spoiled: the same command ends with the same bytes."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
from batches import MINI, check_folder, read_results, run, start, write_batch
from dask_cluster import start_cluster

from .mutate import Rng, pick, spoil

VICTIMS = ("child", "coordinator", "worker", "scheduler")


def kill_batches(n: int, seed: int) -> int:
    """Kill a batch, or a part of it, `n` times at random moments, and resume it; return how often that went wrong."""
    with tempfile.TemporaryDirectory() as place:
        path = write_batch(Path(place), MINI)
        began = time.monotonic()
        expected = _finish(path, Path(place) / "sound")
        seconds, n_failed, n_late = time.monotonic() - began, 0, 0
        for number in range(n):
            rng, victim = np.random.default_rng([seed, number]), VICTIMS[number % len(VICTIMS)]
            out = Path(place) / "out"
            shutil.rmtree(out, ignore_errors=True)
            failure, is_late = _kill_once(path, out, victim, float(rng.uniform(0.1, 1.0) * seconds), expected)
            n_failed, n_late = n_failed + bool(failure), n_late + is_late
            if failure:
                print(f"FAILED kill {number}, {victim}: {failure}", flush=True)
    print(f"{n_failed} of {n} kills failed; {n_late} came when the batch was done, or had not begun")
    return n_failed


def _kill_once(path: Path, out: Path, victim: str, moment: float, expected: dict[str, str]) -> tuple[str, bool]:
    """Return what is wrong after a kill, and whether it met nobody at work."""
    with _cluster(victim, out.parent / "dask") as (options, processes):
        process = start("batch", path, "--out", out, *options)
        time.sleep(moment)
        is_late = process.poll() is not None or not out.exists()
        is_late |= _kill(process, victim, processes) is None
        words = process.communicate(timeout=900)[1]
    if victim in ("child", "worker") and process.returncode != 0:
        return f"{victim} was killed: exit code {process.returncode}: {words[-300:]}", is_late
    return _compare(path, out, expected), is_late


def _resume(path: Path, out: Path, expected: dict[str, str]) -> str:
    """Start the same command once more, and return what is wrong with its results."""
    ended = run("batch", path, "--out", out, "--jobs", 2)
    if ended.returncode != 0:
        return f"exit code {ended.returncode}: {ended.stderr[-500:]}"
    found = read_results(out)
    changed = [name for name in expected if found.get(name) != expected[name]]
    return "" if found == expected else f"other bytes: {changed[:3]}"


def _compare(path: Path, out: Path, expected: dict[str, str]) -> str:
    """The same, and what a batch may have left behind."""
    if failure := _resume(path, out, expected):
        return failure
    try:
        check_folder(out)
    except AssertionError as error:
        return f"leftovers: {traceback.extract_tb(error.__traceback__)[-1].line}"
    left = [p.pid for p in psutil.process_iter(["cmdline"]) if str(out) in " ".join(p.info["cmdline"] or ())]
    return f"processes left: {left}" if left else ""


def _finish(path: Path, out: Path) -> dict[str, str]:
    ended = run("batch", path, "--out", out, "--jobs", 2)
    assert ended.returncode == 0, ended.stderr
    return read_results(out)


@contextlib.contextmanager
def _cluster(victim: str, folder: Path) -> Iterator[tuple[list, list]]:
    """Yield the options of the batch, and the scheduler and workers of Dask if it needs them."""
    if victim not in ("worker", "scheduler"):
        yield ["--jobs", 2], []
        return
    shutil.rmtree(folder, ignore_errors=True)
    with start_cluster(folder, 3) as (address, processes):
        yield ["--scheduler", address], processes


def _kill(process, victim: str, processes: list) -> int | None:
    """End the victim at once, and return its number; None if there is none, since the batch is done by then."""
    if victim == "child":
        with contextlib.suppress(psutil.NoSuchProcess):
            for child in psutil.Process(process.pid).children(recursive=True)[-1:]:
                child.kill()
                return child.pid
        return None
    dead = {"coordinator": [process], "worker": processes[-1:], "scheduler": processes[:1]}[victim][0]
    with contextlib.suppress(ProcessLookupError):
        os.kill(dead.pid, signal.SIGKILL)
    return dead.pid


def spoil_batches(n: int, seed: int) -> int:
    """Spoil a file of a finished batch `n` times, and start it again; return how often that went wrong."""
    with tempfile.TemporaryDirectory() as place:
        path, sound, n_failed = write_batch(Path(place), MINI), Path(place) / "sound", 0
        expected = _finish(path, sound)
        for number in range(n):
            rng, out = np.random.default_rng([seed, number]), Path(place) / "out"
            shutil.rmtree(out, ignore_errors=True)
            shutil.copytree(sound, out)
            what = _spoil_one(out, rng)
            failure = _resume(path, out, expected)
            n_failed += bool(failure)
            if failure:
                print(f"FAILED spoiled {number}: {what}: {failure}", flush=True)
    print(f"{n_failed} of {n} spoiled folders failed")
    return n_failed


def _spoil_one(out: Path, rng: Rng) -> str:
    """Change, cut, empty or remove a file, and return which and how."""
    file = pick(rng, sorted(path for path in out.rglob("*") if path.is_file()))
    how = pick(rng, ("change", "change", "cut", "empty", "remove", "text"))
    content = file.read_bytes()
    if how == "remove":
        file.unlink()
    else:
        changed = {"change": spoil(content, rng), "cut": content[: len(content) // 2], "empty": b"", "text": b"[5]"}
        file.write_bytes(changed[how])
    return f"{file.relative_to(out)} {how}"
