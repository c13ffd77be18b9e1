"""Small batches for tests, and what must be true of every output folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from neurofs.comparison.store import TaskStore
from neurofs.ground.files import hash_file
from neurofs.running.events import read_events
from neurofs.running.marks import TABLES

DEFAULTS = """
[defaults]
target = "hand_velocity:x"
n_lags = 2
selectors = ["corrcoef"]
decoders = "knn"
n_splits = 2
sizes = [1, 4]
n_neighbors = 5
beta = 0.5
"""

MINI = DEFAULTS + '[[simulate]]\nname = "day"\nn_sessions = 2\nn_trials = 12\nn_electrodes = 2\n'
"""Two sessions of 10 quick tasks each."""


def write_batch(folder: Path, text: str = MINI) -> Path:
    path = folder / "batch.toml"
    path.write_text(text, encoding="utf-8")
    return path


def start(
    *arguments: object, path: Path | None = None, environment: Mapping[str, str] = os.environ
) -> subprocess.Popen:
    """Start ``neurofs`` as a command, `path` being searched for modules first.

    It obeys Ctrl-C even where these tests run in the background, where shells let commands ignore it.
    """
    places = [str(path)] if path else []
    environment = {**environment, "PYTHONPATH": os.pathsep.join([*places, *filter(None, sys.path)])}
    command = [sys.executable, "-m", "neurofs", *map(str, arguments)]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
        encoding="utf-8",
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def run(*arguments: object, path: Path | None = None) -> subprocess.CompletedProcess:
    process = start(*arguments, path=path)
    out, err = process.communicate(timeout=900)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def wait_for(condition, seconds=300):
    """Wait for what must come, even on a machine that is very busy."""
    for _ in range(10 * seconds):
        if condition():
            return
        time.sleep(0.1)
    raise TimeoutError


def read_results(out: Path) -> dict[str, str]:
    """The SHA-256 of every table that a batch leaves, by its path."""
    names = ("scores.csv", *TABLES, "channels.csv", "pairs.csv")
    found = [*out.glob("scores.csv"), *(p for p in out.glob("sessions/*/*") if p.name in names)]
    assert len(found) > 5
    return {str(path.relative_to(out)): hash_file(path) for path in found}


def stored_keys(out: Path) -> set[tuple[str, str]]:
    """The sessions and tasks whose results are there."""
    return {(path.parents[1].name, path.stem) for path in out.glob("sessions/*/tasks/*.npz")}


def check_folder(out: Path) -> None:
    """Nothing half-written is left, and no task was started after it was recorded."""
    assert not list(out.rglob("*.part"))
    assert not (out / ".lock").exists()
    recorded = set()
    for event in read_events(out / "events.jsonl"):
        task = (event.get("session"), event.get("task"), event.get("key"))
        if event["event"] == "task_recorded":
            assert task not in recorded
            recorded.add(task)
        assert event["event"] != "task_started" or task not in recorded
    for session, task, key in recorded:
        assert TaskStore(out / "sessions" / session / "tasks").read(task, key) is not None
