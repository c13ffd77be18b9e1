"""Where a result comes from: versions, command, seed, inputs, time and memory."""

import datetime
import platform
import subprocess
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median

from neurofs import __version__
from neurofs.comparison.problem import Task
from neurofs.comparison.store import TaskResult
from neurofs.comparison.summary import Input, Provenance
from neurofs.ground.config import RunOptions
from neurofs.ground.system import peak_memory
from neurofs.recordings.readers import hash_input
from neurofs.recordings.recording import Recording

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "xarray", "pandas", "h5py", "joblib")


def describe_provenance(
    options: RunOptions, recording: Recording, command: str = "", seconds: float | None = None
) -> Provenance:
    """Return what a reader needs to repeat a run and to judge what it cost."""
    return Provenance(
        version=__version__,
        versions={name: find_version(name) for name in PACKAGES},
        python=platform.python_version(),
        platform=platform.platform(),
        command=command,
        seed=options.seed,
        finished=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        seconds=seconds,
        peak_memory=peak_memory(),
        git=_find_revision(),
        inputs=_list_inputs(options, recording),
        threads=1,
    )


def find_latency(results: Mapping[Task, TaskResult]) -> dict[str, float]:
    """Return how long one estimate of all outputs takes, of each method, in milliseconds: the median of the folds.

    >>> two = {Task("rgs", o, 0, f): TaskResult([], latency={"rgs": ms}) for o, f, ms in ((0, 0, 1.0), (1, 0, 2.0))}
    >>> find_latency(two)
    {'rgs': 3.0}
    """
    took: dict[tuple[str, int], list[float]] = {}
    for task, result in results.items():
        for method, milliseconds in result.latency.items():
            took.setdefault((method, task.output), []).append(milliseconds)
    total: dict[str, float] = {}
    for (method, _), values in sorted(took.items()):
        total[method] = total.get(method, 0.0) + median(values)
    return total


def _list_inputs(options: RunOptions, recording: Recording) -> list[Input]:
    """Return the file with the spikes, and that with the behavior if it is another."""
    first = Input(path=recording.source, sha256=recording.source_hash)
    if options.behavior_file is None:
        return [first]
    path = Path(options.behavior_file)
    return [first, Input(path=path.name, sha256=hash_input(path))]


def find_version(name: str) -> str | None:
    """Return the version of a package, None if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _find_revision() -> str | None:
    """Return the git revision of the package's source, if it is run from a checkout."""
    home = Path(__file__).parents[2]
    if not (home / ".git").exists():
        return None
    try:
        found = subprocess.run(
            ["git", "-C", str(home), "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip()
