"""What the first fold says, on the screen while the others are computed."""

from collections.abc import Callable, Iterator

import numpy as np

from neurofs.comparison.names import name_method
from neurofs.comparison.problem import BASELINES, Problem, Task
from neurofs.comparison.store import TaskResult

BASELINE = "ridge"


class FirstLook:
    """Says how well the baseline and the first selector decode the first fold, as soon as that is known."""

    def __init__(self, problem: Problem, say: Callable[[str], None]) -> None:
        self._say = say
        self._score = "accuracy" if problem.classes else "r2"
        self._n_folds = len(problem.folds)
        first = problem.folds[0]
        self._place = first.repeat, first.fold
        self._n_outputs = len(problem.outputs)
        self._rows: dict[str, list[dict[str, float]]] = {BASELINE: [], problem.reference: []}

    def order(self, tasks: list[Task]) -> list[Task]:
        """Return the tasks with those that are looked at in front; they come in no order that results depend on.

        A Kalman filter and another selector stand before further outputs of the first selector: from a cold start,
        two workers would compile the same loops side by side if both began with the same method.
        """
        others = [t for t in tasks if t.output == 0 and self._is_first(t) and t.method not in (*self._rows, *BASELINES)]

        def place(task: Task) -> int:
            if self._is_wanted(task):
                return 0 if task.method == BASELINE else 1 if task.output == 0 else 4
            if task.method == "kalman" and self._is_first(task):
                return 2
            return 3 if task in others[:1] else 5

        return sorted(tasks, key=place)

    def take(self, task: Task, result: TaskResult) -> None:
        """Look at the result of a task."""
        if self._is_wanted(task):
            rows = self._rows[task.method]
            rows += [row for row in result.rows if row["chosen"]]
            if len({row["output"] for row in rows}) == self._n_outputs:
                self._say(f"the first of {self._n_folds} folds: {', '.join(self._describe(rows))}")

    def _is_wanted(self, task: Task) -> bool:
        return task.method in self._rows and self._is_first(task)

    def _is_first(self, task: Task) -> bool:
        """Tell whether a task is of the first fold."""
        return (task.repeat, task.fold) == self._place

    def _describe(self, rows: list[dict[str, float]]) -> Iterator[str]:
        name = {"accuracy": "accuracy", "r2": "R²"}[self._score]
        for method in dict.fromkeys(str(row["method"]) for row in rows):
            mean = np.mean([row[self._score] for row in rows if row["method"] == method])
            yield f"{name_method(method)} {name} = {mean:.3f}"
