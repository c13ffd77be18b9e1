"""Progress: one live view on a terminal, plain lines elsewhere.

with open_progress() as view:
    view.plan_sessions(3)
    view.plan_tasks(200, n_kept=40)
    view.finish_task()
    view.finish_session("day1", "done")
"""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import IO, Any


class Progress:
    """Counts what is done; the plain form prints a line now and then.

    Parameters
    ----------
    stream : file, optional
        Where lines go; standard error by default.
    name : str
        What is being done, if that has to be said.
    interval : float
        Least seconds between two lines about tasks.
    """

    def __init__(self, stream: IO[str] | None = None, name: str = "", interval: float = 10.0) -> None:
        self.stream = stream or sys.stderr
        self.name = name
        self.interval = interval
        self.n_sessions = self.sessions_done = self.sessions_failed = self.sessions_known = 0
        self.n_tasks = self.tasks_done = self.tasks_kept = self.tasks_failed = 0
        self.started = self._spoken = time.monotonic()
        self._end: float | None = None

    def __enter__(self) -> Progress:
        self.started = self._spoken = time.monotonic()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: Any, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Leave the view."""

    def note(self, text: str) -> None:
        """Say something."""
        print(text, file=self.stream, flush=True)

    def plan_sessions(self, n_sessions: int) -> None:
        """Say how many sessions there will be."""
        self.n_sessions = n_sessions

    def plan_tasks(self, n_tasks: int, n_kept: int = 0) -> None:
        """Add the tasks of one session, of which some were there already."""
        self.sessions_known += 1
        self.n_tasks += n_tasks
        self.tasks_kept += n_kept
        self._changed()

    def count_tasks(self, done: int, total: int, seconds_left: float | None = None) -> None:
        """Take the state of a single session; the first call says what was there already."""
        self._end = None if seconds_left is None else time.monotonic() + seconds_left
        if self.n_tasks:
            self.tasks_done = done - self.tasks_kept
        else:
            self.n_tasks, self.tasks_kept, self.started = total, done, time.monotonic()
            self._spoken -= self.interval  # say at once how much there is to do
        self._changed()

    def finish_task(self, failed: bool = False) -> None:
        """Count a task."""
        self.tasks_done += 1
        self.tasks_failed += failed
        self._changed()

    def drop_tasks(self, n_tasks: int) -> None:
        """Take tasks that will not be done off the plan."""
        self.n_tasks -= n_tasks

    def finish_session(self, name: str, status: str, reason: str | None = None) -> None:
        """Count a session and say how it ended."""
        self.sessions_done += 1
        self.sessions_failed += status == "failed"
        self.note(f"{name}: {status}{f': {reason}' if reason else ''}")
        self._changed()

    @property
    def seconds_left(self) -> float | None:
        """Time left as told, else at the pace so far; sessions not looked at count as the average of the others."""
        if self._end is not None:
            return max(self._end - time.monotonic(), 0.0)
        if not self.tasks_done:
            return None
        known = max(self.sessions_known, 1)
        ahead: float = self.n_tasks - self.tasks_kept - self.tasks_done
        ahead += max(self.n_sessions - known, 0) * self.n_tasks / known
        return ahead * (time.monotonic() - self.started) / self.tasks_done

    def describe(self) -> str:
        """Return the state in one line."""
        done, elapsed = self.tasks_kept + self.tasks_done, time.monotonic() - self.started
        parts = [f"{done} of {self.n_tasks} tasks"]
        if self.n_sessions > 1:
            parts.insert(0, f"{self.sessions_done} of {self.n_sessions} sessions")
        if self.tasks_done and elapsed > 0:
            parts.append(f"{60 * self.tasks_done / elapsed:.0f} per minute")
        if self.seconds_left is not None:
            parts.append(f"about {format_seconds(self.seconds_left)} left")
        if self.tasks_failed or self.sessions_failed:
            parts.append(f"failed: {self.sessions_failed} sessions, {self.tasks_failed} tasks")
        return (f"{self.name}: " if self.name else "") + ", ".join(parts)

    def _changed(self) -> None:
        if time.monotonic() - self._spoken >= self.interval:
            self._spoken = time.monotonic()
            self.note(self.describe())


class LiveProgress(Progress):
    """The same on a terminal: a bar that moves, below what has been said."""

    def __init__(self, stream: IO[str] | None = None, name: str = "") -> None:
        super().__init__(stream, name, interval=0.0)
        from rich.console import Console
        from rich.progress import BarColumn, Progress as Bar, TextColumn, TimeElapsedColumn

        self._bar = Bar(
            BarColumn(bar_width=30),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            console=Console(file=self.stream),
            transient=True,
        )
        self._row = self._bar.add_task("", total=None)

    def __enter__(self) -> Progress:
        self._bar.start()
        return super().__enter__()

    def close(self) -> None:
        """Take the bar away."""
        self._bar.stop()

    def note(self, text: str) -> None:
        """Say something above the bar."""
        self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _changed(self) -> None:
        done = self.tasks_kept + self.tasks_done
        self._bar.update(self._row, completed=done, total=self.n_tasks or None, description=self.describe())


class QuietProgress(Progress):
    """Counts, and says nothing but which sessions failed."""

    def finish_session(self, name: str, status: str, reason: str | None = None) -> None:
        """Count a session; say how it ended only if it failed."""
        if status == "failed":
            super().note(f"{name}: {status}{f': {reason}' if reason else ''}")

    def note(self, text: str) -> None:
        """Say nothing."""


def open_progress(
    stream: IO[str] | None = None, name: str = "", quiet: bool = False, verbose: bool = False
) -> Progress:
    """Return the live view if the stream (standard error by default) is a terminal, else plain lines.

    If `quiet`, only failures are told; if `verbose`, there is a line after each task.
    """
    stream = stream or sys.stderr
    if quiet:
        return QuietProgress(stream, name)
    if verbose:
        return Progress(stream, name, interval=0.0)
    return (LiveProgress if stream.isatty() else Progress)(stream, name)


def format_seconds(seconds: float) -> str:
    """Return a time for people.

    >>> [format_seconds(s) for s in (4.2, 200, 9000)]
    ['4 s', '3 min', '2 h 30 min']
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
