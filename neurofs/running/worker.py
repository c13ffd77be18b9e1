"""A child process that does one task at a time, under limits of time and memory.

Whatever a task does to its process (a crash in a library, memory without end, a loop that never ends) costs the
task and nothing else: the parent gets a `Failure` with the reason, and the next task gets a new process. Parent
and child talk through the pipes of standard input and output:

    parent → child    ("share", function, shared)   once for all tasks that share it; the child answers None
    parent → child    ("do", item)                  the child answers function(shared, item) or a `Failure`

The child runs on one thread, and ends when its parent does. On Linux it is a fork of a process that has loaded the
libraries (`running.forks`); elsewhere it loads them itself.

Messages are pickled, as those of `multiprocessing` and Dask are. What is unpickled here was packed by this program
itself: both ends of the anonymous pipes are its own processes, and a `Shared` value that goes through a Dask
cluster comes from the coordinator, whose workers run whatever the cluster sends them in any case. Nothing from a
file of the user is ever unpickled; results on disk are arrays and JSON (`comparison.comparison`).
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Any

from neurofs.ground.errors import MAX_MESSAGE, NeurofsError, UsageError, printable
from neurofs.ground.system import can_limit_memory, limit_memory
from neurofs.running.forks import Forked, fork_child, start_server

_LIBRARIES = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "NUMBA")
SINGLE_THREAD = {f"{name}_NUM_THREADS": "1" for name in _LIBRARIES} | {
    "VECLIB_MAXIMUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}
"""Environment of every worker, set before it starts: many tasks side by side, each on one thread.

The last is for pyarrow, which pandas loads where it is installed: a thread of its allocator would forbid forks."""

DATA_ERRORS = (NeurofsError, ArithmeticError, LookupError, MemoryError, RuntimeError, TypeError, ValueError)
"""What a task may raise because of its data; anything else ends its process."""

TRIES = 2
"""A task whose process died is tried once more, in a new one."""

Process = subprocess.Popen[bytes] | Forked
"""A child, however it came about."""


@dataclass(frozen=True)
class Failure:
    """Why a task has no result: one line for the user, and whatever helps to find the cause."""

    reason: str
    detail: str = ""
    died: bool = False


@dataclass(frozen=True)
class Limits:
    """The most that a task may take: seconds, and bytes of its process (of which the libraries take 0.4 GB)."""

    seconds: float | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        if self.memory is not None and not can_limit_memory():
            raise UsageError("a limit of memory needs Linux; leave --memory-limit out")


@dataclass(frozen=True, eq=False)
class Shared:
    """A value that many tasks share, packed once and sent to each worker once, known by its key.

    >>> Shared.pack("day1", [1, 2]).value
    [1, 2]
    """

    key: str
    packed: bytes

    @classmethod
    def pack(cls, key: str, value: Any) -> Shared:
        """Pack a value."""
        return cls(key, pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL))

    @cached_property
    def value(self) -> Any:
        """The value, as a worker sees it."""
        return pickle.loads(self.packed)


class Worker:
    """A child process, started when it is first needed and again after it died.

    >>> worker = Worker()
    >>> worker.call(divmod, Shared.pack("seven", 7), 2)
    (3, 1)
    >>> worker.call(divmod, Shared.pack("seven", 7), 0).reason
    'ZeroDivisionError: integer division or modulo by zero'
    >>> worker.close()
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._process: Process | None = None
        self._words: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  what the child says on stderr
        self._held: tuple[Any, str] | None = None
        self._module = ""  # of the function that is called
        self._late = self._stopped = False

    def call(self, function: Callable[[Any, Any], Any], shared: Shared, item: Any, *, in_time: bool = True) -> Any:
        """Return ``function(shared.value, item)`` or a `Failure`, within the limit of time if `in_time`."""
        for _ in range(TRIES):
            result = self._try(function, shared, item, self.limits.seconds if in_time else None)
            if self._stopped or not (isinstance(result, Failure) and result.died):
                break
        return result

    def stop(self) -> None:
        """End the child at once; a call that waits for it in another thread gets a `Failure`."""
        self._stopped = True
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """End the child and give back what it held; no call may be waiting for it."""
        self.stop()
        if self._process is not None:
            self._bury(self._process)
        self._words.close()

    def _try(self, function: Callable[[Any, Any], Any], shared: Shared, item: Any, seconds: float | None) -> Any:
        self._module = getattr(function, "__module__", None) or ""
        process = self._process = self._find_process()
        if self._stopped:  # before this child was there, or before anybody could know it
            process.kill()
        try:
            if self._held != (function, shared.key):
                _ask(process, ("share", function, shared))
                self._held = (function, shared.key)
            result = self._ask_in_time(process, item, seconds)
        except (EOFError, OSError, pickle.UnpicklingError):
            return self._bury(process)
        if self._late:
            self._bury(process)
        return result

    def _find_process(self) -> Process:
        """Return the child, a new one if there is none or it died while idle."""
        if self._process is not None and self._process.poll() is None:
            return self._process
        if self._process is not None:
            self._bury(self._process)
        return self._start()

    def _start(self) -> Process:
        self._words.seek(0)
        self._words.truncate()
        self._late = False
        memory, environment = self.limits.memory or 0, _describe_environment()
        forked = fork_child(_SERVE_FORKS, environment, self._module, memory, self._words)
        return forked or subprocess.Popen(
            [sys.executable, "-c", _SERVE, str(memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._words,
            env=environment,
        )

    def _ask_in_time(self, process: Process, item: Any, seconds: float | None) -> Any:
        if seconds is None:
            return _ask(process, ("do", item))
        timer = threading.Timer(seconds, self._stop_late, (process,))
        timer.start()
        try:
            return _ask(process, ("do", item))
        finally:
            timer.cancel()
            timer.join()  # if it is at work, the child is gone before the next task

    def _stop_late(self, process: Process) -> None:
        self._late = True
        process.kill()

    def _bury(self, process: Process) -> Failure:
        """Clear up after a child that died, and return why it did."""
        process.communicate()
        self._process = self._held = None
        self._words.seek(0)
        words = self._words.read().decode("utf-8", "replace").strip()
        if self._stopped:
            return Failure("stopped")
        if self._late:
            return Failure(f"took longer than the limit of {self.limits.seconds:g} s", words)
        last = words.splitlines()[-1] if words else "it left no message"
        reason = f"its process died ({_name_code(process.returncode)}): {printable(last)}"
        return Failure(reason, words, died=True)


def expect_workers(module: str) -> None:
    """Load what workers will need, in a process from which they are forked, while this one does other things."""
    start_server(_SERVE_FORKS, _describe_environment(), module)


def _describe_environment() -> dict[str, str]:
    """Return the environment of a worker."""
    return os.environ | SINGLE_THREAD | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def _ask(process: Process, message: Any) -> Any:
    assert process.stdin is not None
    assert process.stdout is not None
    pickle.dump(message, process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
    process.stdin.flush()
    return pickle.load(process.stdout)


def _name_code(code: int) -> str:
    """Return what the exit code of a process means.

    >>> _name_code(-6), _name_code(3)
    ('SIGABRT', 'exit code 3')
    """
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def attempt(function: Any, shared: Any, item: Any) -> Any:
    """Return ``function(shared, item)``, or a `Failure` if the data made it fail.

    >>> attempt(divmod, 7, 2), attempt(divmod, 7, 0).reason
    ((3, 1), 'ZeroDivisionError: integer division or modulo by zero')
    """
    try:
        return function(shared, item)
    except NeurofsError as error:
        return Failure(str(error), _trace() if error.__cause__ else "")
    except MemoryError as error:
        return Failure(f"needed more memory than it may use: {printable(error) or 'MemoryError'}", _trace())
    except DATA_ERRORS as error:
        return Failure(f"{type(error).__name__}: {printable(error, MAX_MESSAGE)}", _trace())


def _trace() -> str:
    return traceback.format_exc().strip()


# The child

_SERVE = "import sys; from neurofs.running.worker import serve; serve(int(sys.argv[1]))"
_SERVE_FORKS = "from neurofs.running import forks, worker; forks.serve_forks(worker.serve)"


def serve(memory: int) -> None:
    """Answer the parent's messages, in a process that may use so many bytes (0: any), until the parent goes away."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    limit_memory(memory)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print must not get among the answers
    messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(messages,), daemon=True).start()
    function = shared = None
    while True:
        kind, *content = messages.get()
        if kind == "share":
            function, shared = content[0], content[1].value
            answer = None
        else:
            answer = attempt(function, shared, *content)
        pickle.dump(answer, answers, protocol=pickle.HIGHEST_PROTOCOL)
        answers.flush()


def _listen(messages: queue.SimpleQueue[Any]) -> None:
    """Receive messages; when there are no more, end the process even in the middle of a task."""
    source = os.fdopen(os.dup(0), "rb")
    try:
        while True:
            messages.put(pickle.load(source))
    finally:
        if not isinstance(sys.exc_info()[1], EOFError):
            traceback.print_exc()
        os._exit(1)
