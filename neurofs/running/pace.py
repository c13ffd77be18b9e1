"""How long tasks take: about, before any is done, and better with each one that is."""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from neurofs.comparison.problem import Problem, Task, decoders_of

REFERENCE_ROWS, REFERENCE_FEATURES, MOST_ROWS = 730, 640, 6500
SELECTOR_SECONDS = {
    "rgs": 0.9, "sks": 0.75, "all": 0.06, "random": 0.4, "mufasa": 3.0, "kernel-rgs": 5.0, "simba": 1.5, "pairs": 1.0
}  # fmt: skip
"""Seconds of a task with so many rows for training and so many features, on one core, decoded by soft kNN; they grow
with rows² x features up to the most rows that methods compare with each other at normal effort, then with rows."""
OTHER_SELECTOR = 0.6

JOINT_SECONDS = {"ridge": 0.4, "kalman": 0.3, "kernel-rgs-decoder": 2.5, "kernel-rgs-sparse-decoder": 4.3}
DECODER_SECONDS = {"auto": 1.4, "average": 1.3, "local-linear": 1.0, "mlp": 1.0, "gradient-boosting": 1.0, "lvq": 1.2}
OTHER_DECODER, OF_CLASSES = 0.3, 2.5
"""Seconds of a decoder of all features, and of a further decoder of selected ones, by how much more `auto` takes for
classes; they grow with rows x features, since most work on no more than some hundred rows at a time."""

OVERHEAD, FINISH = 0.1, 5.0
"""Seconds of whatever surrounds a task; and a session, which is loaded, tested against chance and reported."""


@dataclass(frozen=True)
class Size:
    """What the time of tasks depends on: rows for training, features, further decoders by method, kind of target."""

    n_train: int
    n_features: int
    decoders: Mapping[str, Sequence[str]] = field(default_factory=dict)
    of_classes: bool = False

    @classmethod
    def of(cls, problem: Problem, tasks: Iterable[Task]) -> "Size":
        """Return the size of the tasks of a session."""
        n_train = sum(len(fold.train) for fold in problem.folds) // len(problem.folds)
        decoders = {task.method: decoders_of(problem, task.method) for task in tasks}
        return cls(n_train, problem.samples.n_features, decoders, bool(problem.classes))


def guess_seconds(size: Size, method: str) -> float:
    """Return about how long a task takes on a reference machine: for its selector as rows² x features up to a bound.

    Measured within a factor of three for the default methods and decoders; searches over sets may take far longer.
    """
    rows, features = size.n_train / REFERENCE_ROWS, size.n_features / REFERENCE_FEATURES
    if method in JOINT_SECONDS:
        return OVERHEAD + rows * features * JOINT_SECONDS[method]
    more = [DECODER_SECONDS.get(name, OTHER_DECODER) for name in size.decoders.get(method, ())]
    decoding = sum(more) * (OF_CLASSES if size.of_classes else 1)
    compared = min(rows, MOST_ROWS / REFERENCE_ROWS)
    return OVERHEAD + rows * features * (compared * SELECTOR_SECONDS.get(method, OTHER_SELECTOR) + decoding)


class Pace:
    """The time left of the tasks of a session, of which `n_jobs` are done at a time.

    A task takes as long as those of its method took. Where none is done yet, it takes as long as was guessed, times
    how far the guesses were off for the others.

    >>> tasks = [Task(method, 0, 0, fold) for fold in range(3) for method in ("rgs", "sks")]
    >>> pace = Pace(Size(730, 640), tasks, n_jobs=2)
    >>> pace.finish(tasks[0], 10.0)
    >>> round(pace.seconds_left)                # 2 tasks of 10 s, and 3 of somewhat less, two at a time
    28
    """

    def __init__(self, size: Size, tasks: Sequence[Task], n_jobs: int) -> None:
        self.size, self.n_jobs = size, n_jobs
        self.left = list(tasks)
        self._seconds: dict[str, list[float]] = defaultdict(list)
        self._started, self._spent = time.monotonic(), 0.0

    def finish(self, task: Task, seconds: float, kept: bool = False) -> None:
        """Take note of a task that took so many seconds, now or (if it was kept) in an earlier run."""
        self.left.remove(task)
        self._seconds[task.method].append(seconds)
        self._spent += 0.0 if kept else seconds

    @property
    def seconds_left(self) -> float:
        """Seconds until all is done and reported."""
        ahead = sum(self._expect(task.method) for task in self.left)
        under_way = max(self.n_jobs * (time.monotonic() - self._started) - self._spent, 0.0)
        return FINISH + max(ahead - under_way, ahead / 10) / self.n_jobs

    def _expect(self, method: str) -> float:
        if method in self._seconds:
            return median(self._seconds[method])
        ratios = [median(seconds) / guess_seconds(self.size, name) for name, seconds in self._seconds.items()]
        return guess_seconds(self.size, method) * (median(ratios) if ratios else 1.0)
