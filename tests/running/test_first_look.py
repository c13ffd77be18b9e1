"""What is on the screen while a session is decoded: the first fold, and the time left."""

import pytest

from neurofs.comparison.evaluate import run_task
from neurofs.comparison.problem import Task, list_tasks
from neurofs.comparison.store import TaskStore
from neurofs.ground.config import RunOptions
from neurofs.pipeline import prepare
from neurofs.recordings.simulate import simulate_session
from neurofs.running.executors import Serial
from neurofs.running.first_look import FirstLook
from neurofs.running.pace import FINISH, Pace, Size
from neurofs.running.session import run_tasks

QUICK = {"selectors": ("corrcoef", "infogain"), "decoders": ("knn",), "n_splits": 3, "n_lags": 2, "sizes": (1, 8)}


@pytest.fixture(scope="module")
def problem():
    recording = simulate_session(20, n_electrodes=2, random_state=1)
    return prepare(RunOptions(target="hand_velocity", **QUICK), recording).problem


def mean_r2(problem, method):
    tasks = [task for task in list_tasks(problem) if (task.method, task.repeat, task.fold) == (method, 0, 0)]
    rows = [row for task in tasks for row in run_task(problem, task).rows if row["chosen"]]
    return sum(row["r2"] for row in rows) / len(rows)


def test_the_first_fold_is_told_before_the_others_are_done(problem, tmp_path):
    said = []

    def count(done, total, seconds_left):
        said.append(done)

    results = run_tasks(problem, TaskStore(tmp_path), Serial(), count, said.append)
    ridge, corrcoef = mean_r2(problem, "ridge"), mean_r2(problem, "corrcoef")
    assert said[:3] == [0, f"the first of 3 folds: ridge R² = {ridge:.3f}", 1]
    assert said[6] == f"the first of 3 folds: correlation R² = {corrcoef:.3f}"
    assert said[7:] == list(range(5, len(results) + 1))
    again = []
    run_tasks(problem, TaskStore(tmp_path), Serial(), say=again.append)
    assert again == [said[1], said[6]]


def test_all_tasks_are_done_once_with_the_looks_in_front(problem):
    tasks = list_tasks(problem)
    ordered = FirstLook(problem, print).order(tasks)
    assert sorted(ordered) == sorted(tasks)
    first = ["ridge-all", "corrcoef-o0", "kalman-all", "infogain-o0", "corrcoef-o1"]
    assert [task.id for task in ordered[:5]] == [f"{task}-r0-f0" for task in first]
    assert ordered[5:] == [task for task in tasks if task not in ordered[:5]]


def pace(methods=("rgs", "sks", "ridge"), n_folds=4, n_jobs=2):
    tasks = [Task(method, 0, 0, fold) for fold in range(n_folds) for method in methods]
    return Pace(Size(1000, 500), tasks, n_jobs), tasks


def test_the_time_left_is_that_of_tasks_of_the_same_method(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("neurofs.running.pace.time.monotonic", lambda: clock[0])
    view, tasks = pace()
    for task, seconds in zip(tasks[:3], (60.0, 20.0, 4.0), strict=True):
        view.finish(task, seconds)
    assert view.seconds_left == FINISH + 3 * 84 / 2
    clock[0] = 52.0  # 104 s of work, of which 84 in tasks that are done
    assert view.seconds_left == FINISH + (3 * 84 - 20) / 2
    clock[0] = 1e6
    assert view.seconds_left == pytest.approx(FINISH + 3 * 84 / 20)


def test_methods_not_yet_seen_are_guessed_from_the_others():
    slow, fast = (pace(n_jobs=1)[0] for _ in range(2))
    slow.finish(slow.left[0], 500.0)
    fast.finish(fast.left[0], 5.0)
    assert slow.seconds_left - FINISH == pytest.approx(100 * (fast.seconds_left - FINISH), rel=0.1)


def test_tasks_kept_from_an_earlier_run_are_not_this_runs_time():
    view, tasks = pace()
    for task in tasks[:-1]:
        view.finish(task, 10.0, kept=True)
    assert view.seconds_left == pytest.approx(FINISH + 5.0, abs=0.5)
