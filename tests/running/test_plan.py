"""The estimate of a batch's time: what it must depend on. How right it is, is measured, not tested."""

import pytest

from neurofs.comparison.problem import Task
from neurofs.running.batch.plan import estimate_seconds, render_plan
from neurofs.running.batch.session import Outline
from neurofs.running.pace import FINISH, OVERHEAD


def estimate(method="corrcoef", n_tasks=10, n_train=1000, n_features=640, **about):
    missing = [(Task(method, 0, 0, fold), "") for fold in range(n_tasks)]
    return estimate_seconds(Outline(n_tasks, 0, missing, b"", (2 * n_train, n_features), n_train, **about))


def test_it_grows_with_rows_features_tasks_and_decoders():
    plain = estimate()
    assert estimate(n_train=2000) - FINISH > 3 * (plain - FINISH)
    assert estimate(n_features=1280) - FINISH > 1.5 * (plain - FINISH)
    assert estimate(n_tasks=20) - FINISH == pytest.approx(2 * (plain - FINISH))
    auto = estimate(decoders={"corrcoef": ["auto"]})
    assert auto - FINISH > 2 * (plain - FINISH)
    assert estimate(decoders={"corrcoef": ["auto"]}, of_classes=True) > auto
    assert estimate(decoders={"rgs": ["auto"]}) == plain


def test_tasks_that_are_done_tell_better():
    assert estimate(seconds={"corrcoef": 7.0}) == pytest.approx(FINISH + 10 * (7.0 + OVERHEAD))
    assert estimate(finished=True) == 0


def test_it_is_said_how_it_was_made():
    assert "estimated from finished tasks, or by size where there are none" in render_plan(
        {"sessions": [], "seconds": 3.0, "jobs": 2}
    )
