"""Children that begin with their libraries loaded: a clean process loads them once, and each child is a fork of it.

Loading the libraries takes a process more than a second, longer than a short task. So, on Linux, children are asked
of a server, a process of our own that does nothing else:

    parent ─ socket ─▶ server      loads the module that the child will need, and forks
                         └▶ minder    waits for the child, and tells the parent how it ended
                              └▶ child   talks to the parent through pipes, as any child process does

Forks are safe here because the server has one thread, which it makes sure of each time, and because it has done
nothing but import: it runs with the environment of a worker (`SINGLE_THREAD`), and no compiled loop or BLAS has begun.
A command that will need children starts the server first of all (`start_server`), so that both load their libraries
side by side.
The server ends when its parent does, or has another environment or working folder, which would not be that of the
child. Where there is no server, or it could not load the module, a child is a process like any other: `fork_child`
returns None.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import IO, Any

from neurofs.ground.garbage import collect_seldom

MAX_REQUEST = 2**16
N_BYTES = 16
"""Length of a number in what a minder says."""

PASSING = ("PYTEST_CURRENT_TEST", "KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK")
"""Variables of the environment that change as a program goes on, and mean nothing to a library that is loaded (or are
set by it: the last two by scikit-learn)."""


class Forked:
    """A child that was forked for this process; it is handled like a `subprocess.Popen`."""

    def __init__(self, pid: int, stdin: IO[bytes], stdout: IO[bytes], minder: socket.socket) -> None:
        self.pid, self.stdin, self.stdout = pid, stdin, stdout
        self.returncode: int | Any = None  # while it runs
        self._minder = minder
        self._lock = threading.Lock()

    def poll(self) -> int | None:
        """Return how the child ended, as `subprocess.Popen` does; None if it runs."""
        with self._lock:
            return self._look()

    def kill(self) -> None:
        """End the child at once, if it runs; its minder keeps its number from being given to another process."""
        with self._lock:
            if self._look() is None:
                self._send_kill()

    def _send_kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def communicate(self) -> None:
        """Close the pipes, which ends the child if it runs, and wait for its end."""
        with suppress(OSError):
            self.stdin.close()
        self.stdout.close()
        _hear(self._minder, socket.MSG_PEEK)
        self.poll()
        self._dismiss_minder()

    def _dismiss_minder(self) -> None:
        """Say that the end of the child is known, and note how much memory it took."""
        with suppress(OSError), self._minder:
            self._minder.shutdown(socket.SHUT_WR)
            _hear(self._minder)
            _peaks.append(_hear(self._minder) or 0)

    def _look(self) -> int | None:
        """Return how the child ended, as its minder says, again to each thread that asks; None if it runs."""
        if self.returncode is None:
            with suppress(BlockingIOError):
                said = _hear(self._minder, socket.MSG_PEEK | socket.MSG_DONTWAIT)
                if said is None:  # the minder is gone: nobody would hear of the child any more
                    self._send_kill()
                self.returncode = -signal.SIGKILL if said is None else said
        return self.returncode


_peaks: list[int] = []


def peak_memory() -> int:
    """Return the memory of the largest child that was forked for this process and has ended, in bytes."""
    return 1024 * max(_peaks, default=0)


def _hear(minder: socket.socket, flags: int = 0) -> int | None:
    """Return the next number that a minder says, None if it is gone."""
    try:
        words = minder.recv(N_BYTES, flags)
    except ConnectionError:
        return None
    return int(words) if words else None


class Server:
    """The parent's end of a server, whose `command` calls `serve_forks`."""

    def __init__(self, command: str, environment: Mapping[str, str]) -> None:
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)  # whole messages
        self._has_forked = False
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", command, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment,
                pass_fds=[theirs.fileno()],
            )

    def load(self, module: str) -> None:
        """Let the server load a module before a child needs it."""
        with suppress(ConnectionError):
            self._requests.sendall(json.dumps([module, 0]).encode())

    def fork(self, module: str, memory: int, words: IO[bytes]) -> Forked | None:
        """Return a new child, None if the server cannot fork it."""
        self._has_forked = True
        (their_in, our_in), (our_out, their_out) = os.pipe(), os.pipe()
        minder, theirs = socket.socketpair()
        stdin, stdout = os.fdopen(our_in, "wb"), os.fdopen(our_out, "rb")
        with suppress(ConnectionError):  # then nobody has the other end of `minder`, either
            request = json.dumps([module, memory]).encode()
            socket.send_fds(self._requests, [request], [their_in, their_out, words.fileno(), theirs.fileno()])
        os.close(their_in)
        os.close(their_out)
        theirs.close()
        pid = _hear(minder)
        if pid is not None:
            return Forked(pid, stdin, stdout, minder)
        for end in (stdin, stdout, minder):
            end.close()
        return None

    def close(self) -> None:
        """End the server, even while it loads libraries for nobody; its children go on."""
        self._requests.close()
        if not self._has_forked:
            self._process.kill()
        self._process.wait()


_lock = threading.RLock()
_servers: dict[Any, Server] = {}
"""The server of this process, by everything that its children inherit: one at most."""


def fork_child(
    command: str, environment: Mapping[str, str], module: str, memory: int, words: IO[bytes]
) -> Forked | None:
    """Return a child that has loaded `module`, may use `memory` bytes (0: any) and writes errors to `words`."""
    if sys.platform != "linux" or not hasattr(os, "fork"):
        return None
    with _lock:
        child = _find_server(command, environment).fork(module, memory, words)
        if child is None:
            close_server()
    return child


def start_server(command: str, environment: Mapping[str, str], module: str) -> None:
    """Let a server load a module while this process does other things, if children can be forked."""
    if sys.platform == "linux":
        with _lock:
            _find_server(command, environment).load(module)


def _find_server(command: str, environment: Mapping[str, str]) -> Server:
    """Return the server for what children inherit now, a new one if that has changed."""
    key = _describe_place(environment)
    if key not in _servers:
        close_server()
        _servers[key] = Server(command, environment)
    return _servers[key]


def _describe_place(environment: Mapping[str, str]) -> tuple[Any, ...]:
    """Return what a server must have in common with this process; a folder is known even after it was removed."""
    folder = os.stat(".")
    lasting = sorted(item for item in environment.items() if item[0] not in PASSING)
    return os.getpid(), sys.executable, folder.st_dev, folder.st_ino, *lasting


@atexit.register
def close_server() -> None:
    """End the server of this process, if there is one."""
    with _lock:
        while _servers:
            _servers.popitem()[1].close()


# The server


def serve_forks(serve: Callable[[int], None]) -> None:
    """Fork a child for each request of the parent, until it goes away; a child calls `serve` with its memory."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    collect_seldom()
    requests = socket.socket(fileno=int(sys.argv[1]))
    while True:
        request, fds, _, _ = socket.recv_fds(requests, MAX_REQUEST, 4)
        if not request:
            _reap()
            os._exit(0)
        module, memory = json.loads(request)
        _load(module)
        if fds and os.fork() == 0:
            break
        for fd in fds:
            os.close(fd)
    requests.close()
    _mind(fds)
    serve(memory)


def _reap(*_: Any) -> None:
    """Take note of minders that ended: they leave nothing behind, and their time counts as ours."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _load(module: str) -> None:
    """Import what a child will need; a library that started a thread makes forks unsafe, and ends the server."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # a library may wait for children of its own
    if module:
        importlib.import_module(module)
        gc.freeze()  # what is loaded is no garbage: children need not look through it
    signal.signal(signal.SIGCHLD, _reap)
    _reap()
    if len(os.listdir("/proc/self/task")) > 1:
        os._exit(1)


def _mind(fds: list[int]) -> None:
    """Fork the child, in which this returns, and tell the parent about it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    *streams, minder = fds
    pid = os.fork()
    if pid == 0:
        os.close(minder)
        _take(streams)
        return
    for fd in streams:
        os.close(fd)
    with suppress(ConnectionError):
        _tell(socket.socket(fileno=minder), pid)
    os._exit(0)


def _tell(parent: socket.socket, pid: int) -> None:
    """Say the number of a child, how it ended and, once the parent knows that, how much memory it took."""
    parent.sendall(b"%16d" % pid)
    end = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # its number stays its own
    assert end is not None
    parent.sendall(b"%16d" % (end.si_status if end.si_code == os.CLD_EXITED else -end.si_status))
    parent.recv(1)
    parent.sendall(b"%16d" % os.wait4(pid, 0)[2].ru_maxrss)


def _take(streams: list[int]) -> None:
    """Make three files the standard input, output and error of this process."""
    for number, fd in enumerate(streams):
        os.dup2(fd, number)
        os.close(fd)
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()  # else the unseeded draws of all children would be the same
