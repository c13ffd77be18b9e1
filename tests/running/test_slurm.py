"""A real SLURM of one node: `neurofs batch` submits jobs, loses some, and ends with the same bytes as anywhere else."""

from __future__ import annotations

import os
import shutil

import pytest
from batches import DEFAULTS, check_folder, read_results, run, start, wait_for, write_batch
from slurm_cluster import find_missing, start_slurm

from neurofs.running.events import read_events

pytestmark = [pytest.mark.slurm, pytest.mark.posix]

N_RUNS = int(os.environ.get("NEUROFS_SLURM_RUNS", 1))
"""Runs with a worker that is canceled."""

SESSIONS = """
[[simulate]]
name = "day"
n_sessions = 2
n_trials = 12
n_electrodes = 2
"""

CLUSTER = """
[cluster]
kind = "slurm"
jobs = 2
memory = "1GB"

[cluster.settings]
log_directory = "{logs}"
local_directory = "{logs}"
"""


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    missing = find_missing() or ([] if os.geteuid() == 0 else ["the rights of root"])
    if missing:
        message = f"needs {', '.join(missing)} (apt-get install slurm-wlm munge)"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    with start_slurm(tmp_path_factory.mktemp("slurm")) as running:
        yield running


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    """The results of the batch in one process."""
    folder = tmp_path_factory.mktemp("serial")
    ended = run("batch", write_batch(folder, DEFAULTS + SESSIONS), "--out", folder / "out", "--executor", "serial")
    assert ended.returncode == 0, ended.stderr
    return read_results(folder / "out")


def count_recorded(out):
    path = out / "events.jsonl"
    return sum(event["event"] == "task_recorded" for event in read_events(path)) if path.exists() else 0


def start_batch(slurm, folder):
    logs = folder / "logs"
    logs.mkdir()
    path = write_batch(folder, DEFAULTS + SESSIONS + CLUSTER.format(logs=logs))
    return start("batch", path, "--out", folder / "out", environment=slurm.environment)


def check_end(slurm, process, out, serial):
    words = process.communicate(timeout=600)[1]
    assert process.returncode == 0, words
    assert read_results(out) == serial
    check_folder(out)
    wait_for(lambda: not slurm.jobs(), 60)
    wait_for(lambda: not slurm.find_job_processes(), 60)


@pytest.mark.parametrize("number", range(N_RUNS))
def test_a_canceled_worker_costs_nothing(slurm, serial, tmp_path, number):
    process, out = start_batch(slurm, tmp_path), tmp_path / "out"
    wait_for(lambda: (count_recorded(out) >= 1 + number % 12 and slurm.running_jobs()) or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    slurm.ask("scancel", slurm.running_jobs()[number % 2 - 1])
    check_end(slurm, process, out, serial)
    shutil.rmtree(tmp_path)


def test_a_node_that_fails_is_waited_for(slurm, serial, tmp_path):
    process, out = start_batch(slurm, tmp_path), tmp_path / "out"
    wait_for(lambda: count_recorded(out) >= 3 or process.poll() is not None)
    slurm.crash_node()
    recorded = count_recorded(out)
    slurm.start_node()
    wait_for(lambda: count_recorded(out) > recorded or process.poll() is not None)
    check_end(slurm, process, out, serial)


def test_an_interrupted_batch_leaves_no_job(slurm, tmp_path):
    process, out = start_batch(slurm, tmp_path), tmp_path / "out"
    wait_for(lambda: count_recorded(out) >= 2 or process.poll() is not None)
    process.terminate()
    process.communicate(timeout=300)
    assert process.returncode == 130
    wait_for(lambda: not slurm.jobs(), 60)
