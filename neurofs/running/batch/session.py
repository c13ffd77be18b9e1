"""One session of a batch, in a child process: what is there to do, and the run folder once all is done.

Loading and finishing run in a child, since a file can crash a library; and the coordinator of the batch stays
small, since it never holds a recording or the results of a session.
"""

import hashlib
import pickle
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path

from neurofs.comparison.problem import Task, decoders_of, list_tasks, task_key
from neurofs.ground.config import RunOptions
from neurofs.ground.errors import InputError
from neurofs.ground.files import hash_file, make_folder, write_atomically
from neurofs.pipeline import Prepared, prepare
from neurofs.recordings.readers import hash_input
from neurofs.recordings.recording import Recording
from neurofs.recordings.simulate import simulate_session
from neurofs.recordings.writers import write
from neurofs.running.batch.config import Session, SimulateOptions
from neurofs.running.earlier import check_settings
from neurofs.running.marks import find_changed, read_mark, remove_mark, write_mark
from neurofs.running.session import finish_run


@dataclass(frozen=True)
class Outline:
    """What there is to do for a session.

    Attributes
    ----------
    n_tasks, n_changed : int
        All tasks; those whose result is there but was computed from other settings, input or code.
    missing : list of (Task, key)
    packed : bytes
        The `Problem` that the missing tasks share, packed, if there are any.
    shape : (rows, features)
    n_train : int
        Rows of the training part of a fold, on average.
    decoders : dict
        The decoders of each method beside soft kNN.
    of_classes : bool
    seconds : dict
        Mean time of the tasks that are there, by method.
    finished : bool
        Whether the run folder is complete and made from these results.
    spoiled : list of str
        Files of a finished run folder that were changed or lost since.
    """

    n_tasks: int
    n_changed: int = 0
    missing: list[tuple[Task, str]] = field(default_factory=list)
    packed: bytes = b""
    shape: tuple[int, int] = (0, 0)
    n_train: int = 0
    decoders: dict[str, list[str]] = field(default_factory=dict)
    of_classes: bool = False
    seconds: dict[str, float] = field(default_factory=dict)
    finished: bool = False
    spoiled: list[str] = field(default_factory=list)


@dataclass
class SessionState:
    """A session as the batch goes on: waiting, running, finishing, then done or failed."""

    session: Session
    status: str = "waiting"
    reason: str | None = None
    n_tasks: int = 0
    n_left: int = 0
    n_run: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Name of the session."""
        return self.session.name


def outline_session(write_files: bool, session: Session) -> Outline:
    """Load a session and compare its tasks with the results that are there."""
    path = Path(str(session.options.file))
    simulated = None
    if session.simulate is not None and not _is_as_written(path):
        simulated = _simulate(session.simulate)
    if simulated is not None and write_files:
        make_folder(path.parent)
        write(simulated, path)
        write_atomically(_find_checksum(path), hash_file(path))
    mark = read_mark(session.folder)
    spoiled = [] if mark is None else find_changed(session.folder, mark)
    is_same = mark is not None and path.exists() and mark.key == _session_key(session.options)
    if mark is not None and is_same and not spoiled:
        return Outline(mark.n_tasks, finished=True)
    if simulated is not None and not write_files:
        return _outline(session, prepare(session.options, simulated), spoiled)
    prepared = _load(session.options.model_dump_json())
    if not session.overwrite and not is_same:
        check_settings(session.folder, prepared.options)
    return _outline(session, prepared, spoiled)


def _is_as_written(path: Path) -> bool:
    """Tell whether a simulated file is there, and what it was when it was written."""
    try:
        return hash_file(path) == _find_checksum(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def _find_checksum(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _simulate(settings: SimulateOptions) -> Recording:
    others = settings.model_dump(exclude={"n_sessions", "seed"})
    return simulate_session(**others, random_state=settings.seed)


@lru_cache(maxsize=2)
def _load(options: str) -> Prepared:
    """Prepare a session; it is likely to be finished by the same process."""
    return prepare(RunOptions.model_validate_json(options))


def _outline(session: Session, prepared: Prepared, spoiled: list[str]) -> Outline:
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
        sum(len(fold.train) for fold in problem.folds) // len(problem.folds),
        {task.method: decoders_of(problem, task.method) for task in tasks},
        bool(problem.classes),
        {method: sum(times) / len(times) for method, times in seconds.items()},
        spoiled=spoiled,
    )


def finish_session(command: str, session: Session) -> None:
    """Put the results of a session together and write its run folder, the mark last."""
    prepared = _load(session.options.model_dump_json())
    problem = prepared.problem
    results = {task: session.store.read(task.id, task_key(problem, task)) for task in list_tasks(problem)}
    found = {task: result for task, result in results.items() if result is not None}
    if len(found) < len(results):
        raise InputError(
            session.name,
            "the same file as at the beginning",
            "another",
            "Run the batch again when the file no longer changes.",
        )
    remove_mark(session.folder)
    finish_run(session.folder, prepared, found, command, sum(result.seconds for result in found.values()))
    write_mark(session.folder, _session_key(session.options), len(found))


def _session_key(options: RunOptions) -> str:
    """Return a hash of the options, the input and all code: if it is the same, nothing needs to be loaded."""
    files = [Path(file) for file in (options.file, options.behavior_file) if file is not None]
    parts = [options.model_dump_json(exclude={"file", "behavior_file"}), *map(hash_input, files), _hash_package()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@cache
def _hash_package() -> str:
    """Return a hash of the source of this package."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parents[2].rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
