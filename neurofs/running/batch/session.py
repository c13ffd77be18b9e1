"""One session of a batch, in a child process: what is there to do, and the run folder once all is done.

Loading and finishing run in a child, since a file can crash a library; and the coordinator of the batch stays
small, since it never holds a recording or the results of a session.
"""

from __future__ import annotations

import hashlib
import json
import pickle
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from neurofs.comparison.comparison import save, start_run
from neurofs.comparison.problem import Task, list_tasks, task_key
from neurofs.comparison.provenance import describe_provenance
from neurofs.comparison.store import TaskStore
from neurofs.ground.config import RunOptions
from neurofs.ground.errors import InputError
from neurofs.ground.files import hash_file, write_atomically
from neurofs.pipeline import Prepared, finish, prepare
from neurofs.recordings.recording import Recording
from neurofs.recordings.simulate import simulate_session
from neurofs.recordings.writers import write
from neurofs.report.page import write_report
from neurofs.running.batch.config import Planned, SimulateOptions, name_folder

__all__ = ["Outline", "SessionRun", "finish_session", "outline_session", "place_sessions"]

MARK = "finished.json"
"""Written last into a run folder: what it was made from."""

FILES = (
    "run.toml",
    "scores.csv",
    "weights.nc",
    "predictions.nc",
    "session.nc",
    "summary.json",
    "report.html",
)


@dataclass(frozen=True)
class SessionRun:
    """A session with its place: the options of the run, its folder, and the settings of a simulation."""

    name: str
    folder: Path
    options: RunOptions | None
    problem: str | None = None
    simulate: SimulateOptions | None = None

    @property
    def store(self) -> TaskStore:
        """Where the results of its tasks are."""
        return TaskStore(self.folder / "tasks")


@dataclass(frozen=True)
class Outline:
    """What there is to do for a session.

    Attributes
    ----------
    n_tasks, n_changed : int
        All tasks; those whose result is there but was computed from other settings, input or code.
    missing : list of (Task, key)
    problem : bytes
        The packed `Problem`, if anything is missing.
    shape : (rows, features)
    seconds : dict
        Mean time of the tasks that are there, by method.
    finished : bool
        Whether the run folder is complete and made from these results.
    """

    n_tasks: int
    n_changed: int = 0
    missing: list[tuple[Task, str]] = field(default_factory=list)
    problem: bytes = b""
    shape: tuple[int, int] = (0, 0)
    seconds: dict[str, float] = field(default_factory=dict)
    finished: bool = False


def place_sessions(planned: list[Planned], out: Path) -> list[SessionRun]:
    """Give each session its folder, and the simulated ones their file."""
    return [_place(session, out) for session in planned]


def _place(session: Planned, out: Path) -> SessionRun:
    folder, options = out / "sessions" / session.folder, session.options
    if session.simulate is not None and options is not None:
        text = session.simulate.model_dump_json()
        name = f"{name_folder(session.name)}-{hashlib.sha256(text.encode()).hexdigest()[:8]}.nwb"
        options = options.model_copy(update={"file": str((out / "simulated" / name).resolve())})
    return SessionRun(session.name, folder, options, session.problem, session.simulate)


def outline_session(write_files: bool, session: SessionRun) -> Outline:
    """Load a session and compare its tasks with the results that are there."""
    assert session.options is not None
    path = Path(str(session.options.file))
    simulated = _simulate(session) if session.simulate is not None and not path.exists() else None
    if simulated is not None and write_files:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(simulated, path)
    mark = _read_mark(session)
    if path.exists() and mark.get("key") == _session_key(session.options):
        return Outline(mark["n_tasks"], finished=True)
    if simulated is not None and not write_files:
        return _outline(session, prepare(session.options, simulated))
    return _outline(session, _load(session.options.model_dump_json()))


def _simulate(session: SessionRun) -> Recording:
    assert session.simulate is not None
    settings = session.simulate.model_dump(exclude={"name", "n_sessions", "seed"})
    return simulate_session(**settings, name=session.name, random_state=session.simulate.seed)


@lru_cache(maxsize=2)
def _load(options: str) -> Prepared:
    """Prepare a session; it is likely to be finished by the same process."""
    return prepare(RunOptions.model_validate_json(options))


def _outline(session: SessionRun, prepared: Prepared) -> Outline:
    problem = prepared.problem
    tasks = list_tasks(problem)
    missing, n_changed, seconds = [], 0, defaultdict(list)
    for task in tasks:
        key = task_key(problem, task)
        result = session.store.read(task.id, key)
        if result is None:
            missing.append((task, key))
            n_changed += (session.store.folder / f"{task.id}.npz").exists()
        else:
            seconds[task.method].append(result.seconds)
    return Outline(
        len(tasks),
        n_changed,
        missing,
        pickle.dumps(problem, protocol=pickle.HIGHEST_PROTOCOL) if missing else b"",
        problem.samples.shape,
        {method: sum(times) / len(times) for method, times in seconds.items()},
    )


def finish_session(command: str, session: SessionRun) -> None:
    """Put the results of a session together and write its run folder, the mark last."""
    assert session.options is not None
    prepared = _load(session.options.model_dump_json())
    problem = prepared.problem
    results = {task: session.store.read(task.id, task_key(problem, task)) for task in list_tasks(problem)}
    found = {task: result for task, result in results.items() if result is not None}
    if len(found) < len(results):
        raise InputError(
            session.name, "the same file as at the beginning", "another", "Run the batch again when it rests."
        )
    (session.folder / MARK).unlink(missing_ok=True)
    seconds = sum(result.seconds for result in found.values())
    provenance = describe_provenance(session.options, prepared.recording, command, seconds)
    save(finish(prepared, found, provenance), session.folder)
    write_report(session.folder)
    mark = {"key": _session_key(session.options), "n_tasks": len(found)}
    write_atomically(session.folder / MARK, json.dumps(mark) + "\n")


def start_session(session: SessionRun) -> None:
    """Say in the run folder what is to be done, and that it is not finished."""
    assert session.options is not None
    (session.folder / MARK).unlink(missing_ok=True)
    start_run(session.folder, session.options)


def _session_key(options: RunOptions) -> str:
    """Return a hash of the options, the input and all code: if it is the same, nothing needs to be loaded."""
    parts = [options.model_dump_json(exclude={"file"}), hash_file(Path(str(options.file))), _hash_package()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@cache
def _hash_package() -> str:
    """Return a hash of the source of this package."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parents[2].rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _read_mark(session: SessionRun) -> dict[str, Any]:
    """Return the mark of a run folder that has all its files, else nothing."""
    if not all((session.folder / name).is_file() for name in FILES):
        return {}
    try:
        return dict(json.loads((session.folder / MARK).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}
