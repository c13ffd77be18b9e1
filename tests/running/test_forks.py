"""Children forked from a server: what they inherit, how their end is known, and that nothing outlives its parent."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import closing

import jobs
import pytest
from batches import wait_for

import neurofs.running.forks
from neurofs.ground.config import RunOptions
from neurofs.recordings.simulate import simulate_session
from neurofs.recordings.writers import write
from neurofs.running.forks import Forked, close_server, fork_child, peak_memory
from neurofs.running.session import decode
from neurofs.running.worker import _SERVE_FORKS, SINGLE_THREAD, Failure, Shared, Worker, expect_workers

QUICK = {"decoders": ("knn",), "n_splits": 2, "sizes": (1, 4), "n_neighbors": 5, "beta": 0.5}

pytestmark = [
    pytest.mark.posix,
    pytest.mark.skipif(sys.platform != "linux", reason="children are forked on Linux only"),
]


@pytest.fixture
def worker():
    with closing(Worker()) as worker:
        yield worker


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write a module that children can import."""

    def write(name, text):
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.syspath_prepend(tmp_path)
        return name

    yield write
    close_server()


def call(worker, function, item=0, shared=None):
    return worker.call(function, Shared.pack(repr(shared), shared), item)


def fork(name=""):
    environment = os.environ | SINGLE_THREAD | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with tempfile.TemporaryFile() as words:
        return fork_child(_SERVE_FORKS, environment, name, 0, words)


def end(child):
    child.kill()
    child.communicate()
    return child.returncode


def find_server():
    return next(iter(neurofs.running.forks._servers.values()))._process.pid


def list_states():
    """State of every process, with its parent, by number."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as file:
                state, parent = file.read().rsplit(")", 1)[1].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            continue
        found[int(pid)] = (state, int(parent))
    return found


def list_descendants(pid):
    states = list_states()
    children = [child for child, (_, parent) in states.items() if parent == pid]
    return {child: states[child][0] for child in children} | {
        key: state for child in children for key, state in list_descendants(child).items()
    }


def runs(pid):
    return list_states().get(pid, ("Z", 0))[0] != "Z"


def test_children_of_one_server_are_processes_of_their_own(worker):
    with closing(Worker()) as other:
        pids = {call(worker, jobs.wait), call(other, jobs.wait)}
        assert len(pids | {os.getpid(), find_server()}) == 4
        assert isinstance(worker._process, Forked)


def test_what_a_child_needs_is_loaded_by_the_server(worker, module):
    name = module("loads", "import os\nWHERE = os.getpid()")
    end(fork(name))
    assert call(worker, jobs.read_attribute, (name, "WHERE")) == find_server()


def test_a_child_has_the_environment_of_its_parent(monkeypatch):
    for value in ("one", "two"):
        monkeypatch.setenv("NEUROFS_TEST", value)
        with closing(Worker()) as worker:
            assert call(worker, jobs.read_environment, "NEUROFS_TEST") == value


def test_a_child_is_in_the_folder_of_its_parent(tmp_path, monkeypatch):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        with closing(Worker()) as worker:
            assert call(worker, jobs.read_folder) == str(tmp_path / name)


def test_there_is_one_server_at_a_time(worker, monkeypatch):
    call(worker, jobs.wait)
    first = find_server()
    monkeypatch.setenv("NEUROFS_TEST", "changed")
    with closing(Worker()) as other:
        call(other, jobs.wait)
        assert first not in list_states()
        assert call(worker, jobs.add, 1, shared=2) == 3  # a child outlives its server


def test_draws_without_a_seed_differ():
    end(fork("numpy.random"))
    drawn = set()
    for _ in range(2):
        with closing(Worker()) as worker:
            drawn.add(call(worker, jobs.draw_unseeded))
    assert len(drawn) == 2


def test_how_a_child_ended_is_known():
    child = fork()
    assert child.poll() is None
    child.stdin.close()
    wait_for(lambda: child.poll() is not None)
    assert (child.poll(), end(child)) == (1, 1)  # killing what has ended does nothing
    child = fork()
    assert end(child) == -signal.SIGKILL


def test_children_that_ended_leave_nothing_behind():
    with closing(Worker()) as worker:
        call(worker, jobs.wait)
        assert len(list_descendants(os.getpid())) >= 3
    wait_for(lambda: list(list_descendants(find_server())) == [])


def test_the_memory_of_the_largest_child_is_known(monkeypatch):
    monkeypatch.setattr(neurofs.running.forks, "_peaks", [])
    assert peak_memory() == 0
    for n_bytes in (2**28, 8):
        with closing(Worker()) as worker:
            call(worker, jobs.fill, n_bytes)
    assert 2**28 < peak_memory() < 2**29


def test_a_run_says_what_its_largest_child_took(tmp_path, monkeypatch):
    monkeypatch.setattr(neurofs.running.forks, "_peaks", [2**32])
    file = write(simulate_session(12, n_electrodes=2, random_state=1), tmp_path / "day.npz")
    options = RunOptions(file=str(file), target="hand_velocity:x", n_lags=2, selectors=("corrcoef",), **QUICK)
    assert decode(options, tmp_path / "run").summary.provenance.peak_memory == 2**42


def test_a_server_that_was_expected_is_the_one_that_forks(worker, module, monkeypatch):
    close_server()
    name = module("loaded_early", "import os\n\n\ndef tell(shared, item):\n    return os.getpid()\n")
    expect_workers(name)
    (server,) = neurofs.running.forks._servers.values()
    monkeypatch.setenv("KMP_INIT_AT_FORK", "FALSE")  # as scikit-learn does when it is loaded here
    function = importlib.import_module(name).tell
    call(worker, function)
    assert list(neurofs.running.forks._servers.values()) == [server]


def test_a_server_that_nobody_needed_ends_while_it_loads(module):
    close_server()
    expect_workers(module("loads_for_long", "import time\n\ntime.sleep(60)\n"))
    start = time.monotonic()
    close_server()
    assert time.monotonic() - start < 20


def test_the_time_of_children_counts_as_that_of_the_command():
    """As `time` tells it: the server takes note of its children, and this process of the server."""
    close_server()
    before = sum(os.times()[2:4])
    with closing(Worker()) as worker:
        call(worker, jobs.work, 0.5)
    wait_for(lambda: list(list_descendants(find_server())) == [])
    close_server()
    assert sum(os.times()[2:4]) - before >= 0.5


def test_a_child_whose_minder_was_killed_counts_as_dead(worker):
    pid = call(worker, jobs.wait)
    os.kill(list_states()[pid][1], signal.SIGKILL)
    wait_for(lambda: worker._process.poll() is not None)
    assert call(worker, jobs.wait) != pid
    wait_for(lambda: not runs(pid))


def test_a_server_that_was_killed_is_replaced(worker):
    pid = call(worker, jobs.wait)
    os.kill(find_server(), signal.SIGKILL)
    with closing(Worker()) as other:
        assert call(other, jobs.add, 1, shared=2) == 3
    assert call(worker, jobs.wait) == pid
    with closing(Worker()) as other:
        assert call(other, jobs.add, 1, shared=2) == 3
        assert isinstance(other._process, Forked)


@pytest.mark.parametrize(
    "text",
    [
        "import threading, time\nthreading.Thread(target=time.sleep, args=(3600,), daemon=True).start()",
        "import os\nos.abort()",
        "raise ValueError('not today')",
    ],
    ids=["thread", "abort", "error"],
)
def test_no_child_is_forked_from_a_server_that_cannot_load_its_module(module, text):
    assert fork(module("troubles", text)) is None
    assert end(fork()) == -signal.SIGKILL  # a new server is sound


def test_a_child_that_cannot_be_forked_is_started(monkeypatch):
    monkeypatch.setattr("neurofs.running.worker.fork_child", lambda *arguments: None)
    with closing(Worker()) as worker:
        assert call(worker, jobs.add, 1, shared=2) == 3
        assert isinstance(worker._process, subprocess.Popen)
        assert call(worker, jobs.abort, 1) == Failure(
            "its process died (SIGABRT): free(): invalid pointer", "free(): invalid pointer", died=True
        )


def test_elsewhere_children_are_not_forked(monkeypatch):
    monkeypatch.setattr("sys.platform", "darwin")
    assert fork() is None


def test_a_server_has_one_thread_after_it_loaded_all_libraries(worker):
    from neurofs.running.batch.session import outline_session

    end(fork(outline_session.__module__))
    assert len(os.listdir(f"/proc/{find_server()}/task")) == 1


def test_nothing_outlives_a_parent_that_is_killed(tmp_path):
    """Neither server nor minder nor child, though the child is in the middle of a task."""
    code = (
        "import jobs; from neurofs.running.worker import *;"
        f"Worker().call(jobs.mark_and_wait, Shared.pack('', {str(tmp_path)!r}), 3600)"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen([sys.executable, "-c", code], env=environment) as parent:
        wait_for(lambda: list(tmp_path.iterdir()))
        others = list_descendants(parent.pid)
        assert len(others) == 3
        parent.kill()
    wait_for(lambda: not any(runs(pid) for pid in others))
