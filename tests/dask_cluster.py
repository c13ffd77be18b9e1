"""A Dask cluster on loopback: a scheduler and workers, started as commands of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from batches import wait_for

DASK = [sys.executable, "-m", "dask"]


@contextmanager
def start_cluster(folder: Path, n_workers: int = 2) -> Iterator[tuple[str, list[subprocess.Popen]]]:
    """Yield the address of the scheduler, and its process and those of the workers, which all end with this."""
    folder.mkdir(exist_ok=True)
    contact = folder / "scheduler.json"
    options = ["--scheduler-file", str(contact), "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    processes = [_start([*DASK, "scheduler", *options], folder / "scheduler.log")]
    try:
        address = _read_address(contact)
        processes += [start_worker(folder, f"worker{number}") for number in range(n_workers)]
        yield address, processes
    finally:
        end(processes)


def start_worker(folder: Path, name: str) -> subprocess.Popen:
    """Start one more worker of the cluster in a folder."""
    options = ["--scheduler-file", str(folder / "scheduler.json"), "--host", "127.0.0.1", "--no-dashboard"]
    options += ["--nthreads", "1", "--no-nanny", "--local-directory", str(folder)]
    return _start([*DASK, "worker", *options], folder / f"{name}.log")


def end(processes: list[subprocess.Popen]) -> None:
    """End processes at once and wait until they are gone."""
    for process in processes:
        process.kill()
    for process in processes:
        process.wait()


def _start(command: list[str], log: Path) -> subprocess.Popen:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with log.open("wb") as file:
        return subprocess.Popen(command, stdout=file, stderr=file, env=environment)


def _read_address(contact: Path) -> str:
    wait_for(lambda: contact.exists() and contact.read_text().rstrip().endswith("}"))
    return json.loads(contact.read_text())["address"]
