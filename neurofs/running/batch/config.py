"""The file of a batch: which sessions, with which settings, run where.

    [batch]
    name = "spring"                  # the title of the index
    out = "reports/spring"           # where everything goes; relative to the working folder

    [defaults]                       # any key of a run, for all sessions
    target = "hand_velocity"
    n_lags = 10

    [[session]]
    file = "data/m1-*.nwb"           # one file, or all that match; relative to this file

    [[session]]
    file = "data/odd.mat"            # a session with settings of its own
    counts = "spikes"

    [[simulate]]                     # sessions with known truth, written once into the output folder
    name = "day"
    n_sessions = 3

    [cluster]                        # workers on a cluster, through dask-jobqueue
    kind = "slurm"
    jobs = 20

    [claims]
    navot2005 = true                 # check the published claims on the sessions together

Unknown keys are rejected with the nearest known name.
"""

import difflib
import glob
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from neurofs.comparison.store import TaskStore
from neurofs.ground.config import Options, RunOptions, given_options, make_options, read_session_file, read_toml
from neurofs.ground.errors import NeurofsError, UsageError, printable, quoted
from neurofs.ground.files import find_address, find_paths, make_absolute
from neurofs.ground.system import find_path
from neurofs.recordings.readers import is_session_file

RESERVED = re.compile(r"con|prn|aux|nul|com\d|lpt\d", re.IGNORECASE)
"""Names that no file or folder of Windows may have."""


class BatchOptions(Options):
    """The batch as a whole."""

    name: str | None = Field(None, description="Title of the index; the name of the file by default.")
    out: str | None = Field(None, description="Folder of all results.")


class SimulateOptions(Options):
    """Simulated sessions: the settings of ``neurofs simulate``, and how many."""

    name: str = Field("day", description="Beginning of the names; a number follows if there are several.")
    n_sessions: int = Field(1, ge=1, le=1000, description="Sessions, with the seeds seed, seed + 1, …")
    n_trials: int = Field(100, ge=1, description="Reaches.")
    n_electrodes: int = Field(16, ge=1, description="Electrodes with 4 channels each.")
    bursts: bool = Field(True, description="Let a third of the channels burst.")
    drift: float = Field(0.2, ge=0, description="SD of the slow drift of log rates.")
    noise: bool = Field(False, description="Make the spikes independent of the movement.")
    seed: int = Field(0, ge=0, description="Seed of the first session.")


class ClusterOptions(Options):
    """Workers that a queueing system starts."""

    kind: Literal["slurm", "pbs", "lsf", "sge", "htcondor"]
    jobs: int = Field(1, ge=1, description="Jobs to submit, each one worker.")
    cores: int = Field(1, ge=1, description="Cores of a job: tasks that it does at a time.")
    memory: str = Field("4GB", description="Memory of a job.")
    walltime: str | None = Field(None, description="Time after which the queue may end a job.")
    queue: str | None = Field(None, description="Queue or partition.")
    account: str | None = Field(None, description="Account or project that is charged.")
    settings: dict[str, Any] = Field(
        default_factory=dict, description="Anything else that dask-jobqueue's cluster of this kind takes."
    )


class ClaimOptions(Options):
    """Published claims to check on the finished sessions."""

    navot2005: bool = Field(False, description="The claims of the RGS paper about motor cortex.")


@dataclass(frozen=True)
class BatchConfig:
    """A checked batch file."""

    path: Path
    batch: BatchOptions
    defaults: dict[str, Any]
    sessions: tuple[dict[str, Any], ...]
    simulate: tuple[SimulateOptions, ...]
    cluster: ClusterOptions | None
    claims: ClaimOptions

    @property
    def title(self) -> str:
        """Name of the batch."""
        return self.batch.name or self.path.stem


_SECTIONS = ("batch", "defaults", "session", "simulate", "cluster", "claims")


def read_batch_file(path: str | Path) -> BatchConfig:
    """Return a batch file with every key checked, or raise a `UsageError` that says what to change."""
    path = Path(path)
    content = read_toml(path, "a batch file")
    where = printable(path.name)
    for key in content:
        if key not in _SECTIONS:
            raise UsageError(f"{where}: unknown section {quoted(key)}{_nearest(key)}")
    defaults = _table(content, "defaults", where)
    _check_defaults(defaults, where)
    config = BatchConfig(
        path,
        _make(BatchOptions, _table(content, "batch", where), f"{where}: batch"),
        defaults,
        tuple(_tables(content, "session", where)),
        tuple(_make(SimulateOptions, t, f"{where}: simulate") for t in _tables(content, "simulate", where)),
        _make(ClusterOptions, content["cluster"], f"{where}: cluster") if "cluster" in content else None,
        _make(ClaimOptions, _table(content, "claims", where), f"{where}: claims"),
    )
    if not config.sessions and not config.simulate:
        raise UsageError(f"{where}: no sessions; add [[session]] with file, or [[simulate]]")
    for number, values in enumerate(config.sessions, 1):
        _check_session(values, defaults, f"{where}: session {number}")
    return config


def _make(kind: Any, values: Any, where: str) -> Any:
    if not isinstance(values, Mapping):
        raise UsageError(f"{where}: expected a section of keys; found {quoted(values)}")
    return make_options(kind, values, where)


def _table(content: Mapping[str, Any], key: str, where: str) -> dict[str, Any]:
    value = content.get(key, {})
    if not isinstance(value, dict):
        raise UsageError(f"{where}: expected one section [{key}]; found {quoted(value)}")
    return value


def _tables(content: Mapping[str, Any], key: str, where: str) -> list[dict[str, Any]]:
    value = content.get(key, [])
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
        raise UsageError(f"{where}: expected sections [[{key}]] in double brackets; found {quoted(value)}")
    return value


def _nearest(key: str) -> str:
    near = difflib.get_close_matches(key, _SECTIONS, n=1)
    return f"; did you mean {near[0]}?" if near else f". Known: {', '.join(_SECTIONS)}"


def _check_defaults(defaults: Mapping[str, Any], where: str) -> None:
    for key in ("file", "name"):
        if key in defaults:
            raise UsageError(f"{where}: defaults: {key} belongs to a session; move it to [[session]]")
    make_options(RunOptions, defaults, f"{where}: defaults")


def _check_session(values: Mapping[str, Any], defaults: Mapping[str, Any], where: str) -> None:
    if "file" not in values:
        raise UsageError(f'{where}: no file; add file = "…"')
    make_options(RunOptions, _merge(defaults, values), where)


def _merge(*parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of all parts; later parts overrule earlier ones, in settings selector by selector."""
    merged: dict[str, Any] = {}
    for part in parts:
        settings = {**merged.get("settings", {}), **part.get("settings", {})}
        merged = {**merged, **part} | ({"settings": settings} if settings else {})
    return merged


# Sessions


@dataclass(frozen=True)
class Session:
    """One session of a batch, with its run folder; `reason` says why it cannot be run, if its session file is bad.

    The file of a session that is to be simulated is written when it is first needed. A batch brings its folders up to
    date; without `overwrite`, one that holds a run with other settings is left alone.
    """

    name: str
    folder: Path
    options: RunOptions
    reason: str | None = None
    simulate: SimulateOptions | None = None
    overwrite: bool = True

    @property
    def store(self) -> TaskStore:
        """Where the results of its tasks are."""
        return TaskStore(self.folder / "tasks")


def place_sessions(runs: Sequence[RunOptions], out: Path | None, overwrite: bool = True) -> list[Session]:
    """Return sessions that are given by their options, each with a folder in `out`, or in `reports` with its target.

    >>> run = RunOptions(file="data/m1.nwb", target=("hand_velocity:x", "hand_velocity:y"))
    >>> place_sessions([run], None)[0].folder.as_posix()
    'reports/m1-hand_velocity-x-hand_velocity-y'
    """
    names = [options.name or Path(str(options.file)).stem for options in runs]
    if out is None:
        names = ["-".join((name, *options.target)) for name, options in zip(names, runs, strict=True)]
    places = [(out or Path("reports")) / name_folder(name) for name in names]
    sessions = [
        Session(name, folder, options, overwrite=overwrite)
        for name, folder, options in zip(names, places, runs, strict=True)
    ]
    _check_folders(sessions, "Decode them one by one, with --out or --name.")
    return sessions


def plan_sessions(config: BatchConfig, out: Path) -> list[Session]:
    """Return the sessions of a batch, in the order of the file; those of a pattern by name."""
    sessions = [
        *(session for entry in config.sessions for session in _plan_entry(config, entry, out)),
        *(session for entry in config.simulate for session in _plan_simulated(config, entry, out)),
    ]
    _check_folders(sessions, "Give each a name of its own with name = …", f"{printable(config.path.name)}: ")
    return sessions


def _plan_entry(config: BatchConfig, entry: dict[str, Any], out: Path) -> Iterator[Session]:
    """Yield the sessions of the file, or of the files that match a pattern."""
    base, pattern = config.path.resolve().parent, str(entry["file"])
    if not glob.has_magic(pattern) or find_address(pattern):
        yield _plan_file(config, entry, find_path(base, pattern), out)
        return
    pattern = pattern.replace("\\", "/")  # written on Windows; elsewhere no folder has it in its name
    if "name" in entry:
        raise UsageError(f"{printable(config.path.name)}: {quoted(pattern)}: name is for a single file; leave it out")
    found = find_paths(base, pattern)
    if not found:
        raise UsageError(
            f"{printable(config.path.name)}: no file matches {quoted(pattern)} in {printable(base)}. "
            "Check the path, or remove the session."
        )
    stems = [Path(file).stem.casefold() for file in found]
    for file in found:  # files of one name in several folders are known by their folders, too
        same = len(found) > len(set(stems)) and stems.count(Path(file).stem.casefold()) > 1
        own = {"name": "-".join(Path(file).with_suffix("").parts)} if same else {}
        yield _plan_file(config, entry | own, base / file, out)


def _plan_file(config: BatchConfig, entry: dict[str, Any], path: Path, out: Path) -> Session:
    """Plan one file; a session file that cannot be read costs its session only."""
    name = str(entry.get("name", path.stem))
    own: dict[str, Any] = {}
    if is_session_file(path):
        try:
            path, options = read_session_file(path)
        except NeurofsError as error:
            return Session(name, _place(out, name), RunOptions(), str(error))
        own = given_options(options)
        name = str(entry.get("name", own.get("name", name)))
    values = _merge(config.defaults, own, entry) | {"file": make_absolute(path), "name": name}
    if "behavior_file" in values:
        values["behavior_file"] = make_absolute(find_path(config.path.parent, str(values["behavior_file"])))
    return Session(name, _place(out, name), make_options(RunOptions, values, printable(config.path.name)))


def _plan_simulated(config: BatchConfig, entry: SimulateOptions, out: Path) -> Iterator[Session]:
    """Yield the simulated sessions of an entry; the names of their files tell their settings apart."""
    for number in range(entry.n_sessions):
        name = entry.name if entry.n_sessions == 1 else f"{entry.name}{number + 1}"
        one = entry.model_copy(update={"name": name, "n_sessions": 1, "seed": entry.seed + number})
        digest = hashlib.sha256(one.model_dump_json().encode()).hexdigest()[:8]
        file = (out / "simulated" / f"{name_folder(name)}-{digest}.nwb").resolve()
        values = {**config.defaults, "name": name, "file": str(file)}
        options = make_options(RunOptions, values, printable(config.path.name))
        yield Session(name, _place(out, name), options, simulate=one)


def _place(out: Path, name: str) -> Path:
    return out / "sessions" / name_folder(name)


def _check_folders(sessions: Sequence[Session], remedy: str, where: str = "") -> None:
    """Refuse sessions that would share a folder, on file systems that ignore case, too."""
    seen: set[str] = set()
    for session in sessions:
        folder = session.folder.name
        if folder.casefold() in seen:
            raise UsageError(f"{where}two sessions would share the folder {quoted(folder)}. {remedy}")
        seen.add(folder.casefold())


def name_folder(name: str) -> str:
    """Return a name as the name of a folder: letters, digits, dots, dashes and underscores.

    What Windows has another use for gets an underscore.

    >>> name_folder("../m1 day 3"), name_folder("Maus-Übung"), name_folder("aux.1")
    ('m1-day-3', 'Maus-Übung', '_aux.1')
    """
    plain = re.sub(r"[^\w.-]+", "-", name).strip(".-")[:80].rstrip(".") or "session"
    return f"_{plain}" if RESERVED.fullmatch(plain.split(".")[0]) else plain
