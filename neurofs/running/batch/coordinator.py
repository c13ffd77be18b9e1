"""A batch: many sessions, each as ``neurofs decode`` does it, with nothing done twice and nothing lost.

The coordinator loads the sessions one after the other in a child process, hands their tasks to an executor, keeps
each result as it comes, and has a session finished as soon as its last task is done. Everything it knows is in
the output folder:

    sessions/NAME/    the run folder of each session (`comparison.comparison`)
    simulated/        simulated sessions
    scores.csv        the scores of all sessions
    claims.json       the published claims that were checked
    index.html        links to all reports, and why sessions failed
    events.jsonl      what happened when

so that a second start does only what is missing. The events are

    batch_started     with the number of sessions
    session_opened    with its tasks: all, those kept, those that changed, those to do
    task_started      handed to the executor; with session, task and key
    task_recorded     its result is safe; with session, task, key and seconds
    task_failed       with its reason
    session_done      its run folder is complete
    session_failed    with its reason
    batch_ended       with the number of sessions done and failed
"""

import shutil
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neurofs.comparison.evaluate import run_task
from neurofs.ground.errors import InputError, printable
from neurofs.ground.files import make_folder, remove_parts
from neurofs.running.batch.config import Session
from neurofs.running.batch.session import Outline, SessionState, finish_session, outline_session
from neurofs.running.events import EventLog, write_log
from neurofs.running.executors import Executor, Job
from neurofs.running.lock import hold_folder
from neurofs.running.marks import MARK
from neurofs.running.progress import Progress
from neurofs.running.session import open_run
from neurofs.running.worker import Failure, Limits, Shared, Worker

MAX_FAILURES = 3
"""After so many failed tasks, the rest of a session is left."""

SPACE_PER_SESSION = 20 * 2**20
"""Bytes of disk that a session may need."""


@dataclass(frozen=True)
class Outcome:
    """How a batch ended."""

    out: Path
    sessions: list[SessionState]
    claims: list[dict[str, Any]]

    @property
    def done(self) -> list[SessionState]:
        """Sessions that have a report."""
        return [state for state in self.sessions if state.status == "done"]

    @property
    def failed(self) -> list[SessionState]:
        """Sessions that have none."""
        return [state for state in self.sessions if state.status != "done"]

    def to_json(self) -> dict[str, Any]:
        """Return the outcome for JSON."""
        return {
            "out": str(self.out),
            "index": str(self.out / "index.html"),
            "scores": str(self.out / "scores.csv"),
            "sessions": [
                {
                    "name": state.name,
                    "status": state.status,
                    "reason": state.reason,
                    "folder": str(state.session.folder),
                    "tasks": state.n_tasks,
                    "run": state.n_run,
                }
                for state in self.sessions
            ],
            "claims": self.claims,
        }

    def render(self) -> str:
        """Return the outcome for people; sessions that failed come last."""
        lines = [f"{claim['holds']!s:>5}  {claim['claim']}: {claim['found']}" for claim in self.claims]
        lines += [f"{len(self.done)} of {len(self.sessions)} sessions done"]
        lines += [f"index: {self.out / 'index.html'}", f"scores: {self.out / 'scores.csv'}"]
        lines += [f"failed: {printable(state.name)}: {state.reason or 'not run'}" for state in self.failed]
        return "\n".join(lines)


def run_batch(
    sessions: Sequence[Session],
    out: Path,
    executor: Executor,
    view: Progress,
    *,
    limits: Limits | None = None,
    fresh: bool = False,
    keep_going: bool = True,
    check_published: bool = False,
    title: str = "",
    command: str = "",
    owns_folder: bool = True,
) -> Outcome:
    """Do what is missing of many sessions, write their table and index, and return how each session ended.

    A batch of its own holds the whole folder `out`, and `fresh` clears it. If `owns_folder` is false, there may be
    other things: only the run folders of the sessions are held and, if `fresh`, done again. `title` is what the index
    page is called.
    """
    folders = [session.folder for session in sessions]
    with ExitStack() as held:
        for folder in [out] if owns_folder else folders:
            held.enter_context(hold_folder(folder))
        if fresh and owns_folder:
            _remove(out, *OUTPUTS)
        for folder in folders if fresh else ():
            _remove(folder, "tasks", MARK)
        check_space(make_folder(out), len(sessions))
        places = [*folders, *(folder / "tasks" for folder in folders), out / "simulated"]
        places += [out] if owns_folder else []
        remove_parts(*places)
        batch = Batch(sessions, out, executor, view, limits, command, keep_going)
        try:
            states = batch.run()
            claims = batch.publish(check_published, title)
        finally:
            batch.close()
            remove_parts(*places)
    return Outcome(out, states, claims)


OUTPUTS = ("sessions", "simulated", "variations", "scores.csv", "variations.json", "index.html", "events.jsonl")
"""What a batch leaves in its folder."""


def _remove(folder: Path, *names: str) -> None:
    for place in [folder / name for name in names]:
        if place.is_dir():
            shutil.rmtree(place, ignore_errors=True)
        else:
            place.unlink(missing_ok=True)


def check_space(out: Path, n_sessions: int) -> None:
    """Refuse to begin on a disk that is nearly full."""
    free, needed = shutil.disk_usage(out).free, n_sessions * SPACE_PER_SESSION
    if free < needed:
        found = f"{free / 2**20:.0f} MB"
        raise InputError(out, f"{needed / 2**20:.0f} MB of free space", found, "Make room, or use --out.")


class Batch:
    """The coordinator: it alone writes results and events."""

    def __init__(
        self,
        sessions: Sequence[Session],
        out: Path,
        executor: Executor,
        view: Progress,
        limits: Limits | None = None,
        command: str = "",
        keep_going: bool = True,
    ) -> None:
        self.states = [SessionState(session) for session in sessions]
        self.out, self.executor, self.view = out, executor, view
        self.command, self.keep_going = command, keep_going
        self.events = EventLog(out / "events.jsonl")
        self._helper = Worker(limits)  # loads and finishes sessions
        self._thread = ThreadPoolExecutor(1)  # talks to the helper: nothing else may
        self._finishing: deque[tuple[SessionState, Future[Any]]] = deque()

    def close(self) -> None:
        """End the helper."""
        self._helper.stop()
        self._thread.shutdown(cancel_futures=True)
        self._helper.close()

    def _ask(self, function: Callable[[Any, Any], Any], shared: Shared, item: Any, in_time: bool = True) -> Future[Any]:
        """Let the helper do one thing after what it was asked before."""
        return self._thread.submit(self._helper.call, function, shared, item, in_time=in_time)

    def run(self) -> list[SessionState]:
        """Run all tasks that are missing and finish every session; return how they ended."""
        self.events.write("batch_started", sessions=len(self.states), command=self.command)
        self.view.plan_sessions(len(self.states))
        with closing(self.executor.run_jobs(run_task, self._make_jobs())) as results:
            for job, result in results:
                self._record(job, result)
                self._settle(wait=False)
                if self._must_stop():
                    break
        self._settle(wait=True)
        return self.states

    def publish(self, check_published: bool, title: str) -> list[dict[str, Any]]:
        """Write the table of all scores and the index; return the claims that were checked."""
        from neurofs.running.batch.index import publish  # loads what draws, which nothing else here needs

        shared = Shared.pack("index", (self.out, check_published, title))
        claims = self._ask(publish, shared, self.states, in_time=False).result()
        if isinstance(claims, Failure):
            raise InputError(self.out / "index.html", "an index", claims.reason, "Run the batch again.")
        failed = sum(state.status != "done" for state in self.states)
        self.events.write("batch_ended", done=len(self.states) - failed, failed=failed)
        return claims

    # Jobs

    def _make_jobs(self) -> Iterator[Job]:
        """Yield the tasks to do, session by session; the next session is loaded while one is worked on."""
        ahead = [self._outline(state) for state in self.states[:1]]
        for number, state in enumerate(self.states):
            if self._must_stop():
                return
            outline = ahead.pop().result()
            ahead += [self._outline(following) for following in self.states[number + 1 : number + 2]]
            yield from self._open(state, outline)

    def _outline(self, state: SessionState) -> Future[Any]:
        if state.session.reason is not None:
            known: Future[Any] = Future()
            known.set_result(Failure(state.session.reason))
            return known
        shared = Shared.pack("outline", True)
        return self._ask(outline_session, shared, state.session)

    def _open(self, state: SessionState, outline: Outline | Failure) -> Iterator[Job]:
        """Yield the tasks of one session that are missing."""
        if isinstance(outline, Failure):
            self.view.plan_tasks(0)
            self._fail(state, outline.reason, outline.detail)
            return
        state.n_tasks, state.n_left = outline.n_tasks, len(outline.missing)
        kept = outline.n_tasks - len(outline.missing)
        self.view.plan_tasks(outline.n_tasks, kept)
        self._announce(state, outline, kept)
        if outline.finished:
            self._end(state, "done")
        elif outline.missing:
            yield from self._start(state, outline)
        else:
            self._close(state)

    def _announce(self, state: SessionState, outline: Outline, kept: int) -> None:
        counts = {"tasks": outline.n_tasks, "kept": kept, "changed": outline.n_changed}
        self.events.write("session_opened", session=state.name, **counts, to_do=len(outline.missing))
        text = f"{outline.n_tasks} tasks, {kept} kept, {len(outline.missing)} to do"
        if outline.n_changed:
            text += f", of which {outline.n_changed} again: settings, input or code have changed, or the result"
        if outline.spoiled:
            text += f"; made anew, since changed or lost: {', '.join(outline.spoiled)}"
        self._log(state, text)
        if kept or outline.n_changed or outline.spoiled:
            self.view.note(f"{state.name}: {text}")

    def _start(self, state: SessionState, outline: Outline) -> Iterator[Job]:
        open_run(state.session.folder, state.session.options)
        state.status = "running"
        shared = Shared(str(state.session.folder), outline.packed)
        for number, (task, key) in enumerate(outline.missing):
            if len(state.failures) >= MAX_FAILURES:
                self._drop(state, len(outline.missing) - number)
                return
            self.events.write("task_started", session=state.name, task=task.id, key=key)
            yield Job(shared, task, (state, key))

    def _drop(self, state: SessionState, n_tasks: int) -> None:
        """Leave the rest of a session in which too much fails."""
        self._log(state, f"{n_tasks} tasks left undone after {len(state.failures)} failed")
        self.view.drop_tasks(n_tasks)
        state.n_left -= n_tasks
        if state.n_left == 0:
            self._close(state)

    # Results

    def _record(self, job: Job, result: Any) -> None:
        """Keep a result, or the reason why there is none."""
        state, key = job.tag
        facts = {"session": state.name, "task": job.item.id, "key": key}
        if isinstance(result, Failure):
            state.failures.append(f"{job.item.id}: {result.reason}")
            self.events.write("task_failed", **facts, reason=result.reason)
            self._log(state, f"{state.failures[-1]}\n{result.detail}")
        else:
            state.session.store.write(job.item.id, key, result)
            self.events.write("task_recorded", **facts, seconds=round(result.seconds, 3))
            self._log(state, f"{job.item.id} took {result.seconds:.2f} s")
            state.n_run += 1
        self.view.finish_task(failed=isinstance(result, Failure))
        state.n_left -= 1
        if state.n_left == 0:
            self._close(state)

    def _close(self, state: SessionState) -> None:
        """After the last task of a session: have it finished, or say why it cannot be."""
        if state.failures:
            more = f" ({len(state.failures)} tasks failed)" if len(state.failures) > 1 else ""
            self._fail(state, state.failures[0] + more)
            return
        state.status = "finishing"
        shared = Shared.pack("finish", self.command)
        self._finishing.append((state, self._ask(finish_session, shared, state.session, in_time=False)))

    def _settle(self, wait: bool) -> None:
        """Take note of the sessions that were finished meanwhile."""
        while self._finishing and (wait or self._finishing[0][1].done()):
            state, future = self._finishing.popleft()
            result = future.result()
            if isinstance(result, Failure):
                self._fail(state, result.reason, result.detail)
            else:
                self._end(state, "done")

    def _fail(self, state: SessionState, reason: str, detail: str = "") -> None:
        self._log(state, f"{reason}\n{detail}")
        self._end(state, "failed", reason)

    def _end(self, state: SessionState, status: str, reason: str | None = None) -> None:
        state.status, state.reason = status, reason
        self.events.write(f"session_{status}", session=state.name, **({"reason": reason} if reason else {}))
        self._log(state, status)
        self.view.finish_session(state.name, status, reason)

    def _must_stop(self) -> bool:
        return not self.keep_going and any(state.status == "failed" for state in self.states)

    def _log(self, state: SessionState, text: str) -> None:
        write_log(state.session.folder, text)
