"""The fuzzer's fixed part, and as much of its random part as CI has time for, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.posix, pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")]

ROOT = Path(__file__).resolve().parents[2]


def run_fuzzer(*arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "tests.fuzz", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800)


def test_every_reproducer_is_read_or_refused_in_one_line():
    ended = run_fuzzer("--corpus")
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_faults_of_the_machine_are_said_in_one_line_and_made_good():
    ended = run_fuzzer("--faults")
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_spoiled_batches_are_made_good():
    ended = run_fuzzer("--spoils", "3")
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_a_while_of_fuzzing_finds_nothing(tmp_path):
    ended = run_fuzzer("--minutes", "0.75", "--trials", "250", "--seed", "22", "--keep", str(tmp_path))
    assert ended.returncode == 0, ended.stdout + ended.stderr
