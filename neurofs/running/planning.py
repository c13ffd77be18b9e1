"""`plan_experiment`: how much data an experiment needs, from simulated sessions, before anything is recorded.

Sessions of the built-in simulator are decoded with parts of their training trials, or of their channels; the score
against the amount, and how much sessions differ, tell what more trials or electrodes would give.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from neurofs.comparison.cases import FEWEST_TRIALS, find_active
from neurofs.comparison.pooled import FEWEST, pool, tell_plan
from neurofs.comparison.variation import Variation
from neurofs.ground.config import RunOptions, make_options
from neurofs.ground.errors import UsageError
from neurofs.recordings.recording import Recording
from neurofs.recordings.simulate import simulate_session
from neurofs.running.executors import Executor, Serial
from neurofs.running.progress import Progress
from neurofs.running.varying import run_variation

AMOUNTS = 5


def plan_experiment(
    n_trials: int = 100,
    n_electrodes: int = 16,
    *,
    by: Literal["trials", "channels"] = "trials",
    n_sessions: int = 5,
    target: str = "hand_velocity",
    methods: str | Sequence[str] = ("ridge",),
    bursts: bool = True,
    drift: float = 0.2,
    noise: bool = False,
    seed: int = 0,
    executor: Executor | None = None,
    view: Progress | None = None,
) -> Variation:
    """Simulate sessions, decode them with parts of their data, and say what more of it would give.

    Parameters
    ----------
    n_trials, n_electrodes, bursts, drift, noise
        As `simulate_session` takes them: the largest session that is planned.
    by : {"trials", "channels"}
        What there is less of.
    n_sessions : int
        Simulated sessions, from which intervals come.
    target, methods
        As `vary` takes them.
    seed : int
        Of the first session; the others follow.

    Examples
    --------
    >>> plan = plan_experiment(20, 1, n_sessions=3)
    >>> plan.table["value"].tolist()
    [4.0, 8.0, 16.0]
    """
    if not isinstance(n_trials, int) or not isinstance(n_electrodes, int) or not isinstance(n_sessions, int):
        raise UsageError("plan: expected whole numbers of trials, electrodes and sessions")
    if by not in ("trials", "channels"):
        raise UsageError(f"by: a plan is by trials or channels; found {by!r}")
    if n_sessions < FEWEST:
        raise UsageError(f"plan: expected at least {FEWEST} sessions, since they show how much sessions differ")
    options = make_options(RunOptions, {"target": target, "seed": seed, "bin_width": 0.1})
    sessions = [
        simulate_session(
            n_trials, n_electrodes=n_electrodes, bursts=bursts, drift=drift, noise=noise, random_state=seed + number
        )
        for number in range(n_sessions)
    ]
    values = _choose_values(sessions, by, options.n_splits)
    found = {}
    if view is not None:
        view.plan_tasks(n_sessions)
    for number, session in enumerate(sessions, 1):
        variation = run_variation(options, by, values, methods, 1, executor or Serial(), recording=session)
        found[f"session {number}"] = variation
        if view is not None:
            view.finish_task()
    pooled = pool(found, "plan")
    sentences = [*pooled.sentences, *tell_plan(pooled), "All of it for sessions as the simulator makes them."]
    return replace(pooled, found=pooled.found.model_copy(update={"sentences": sentences}))


def _choose_values(sessions: Sequence[Recording], by: str, n_splits: int) -> list[float]:
    """Return the amounts that all sessions have: halves of the largest."""
    n_trials = min(len(session.trials) for session in sessions)
    n_channels = min(int(find_active(session).sum()) for session in sessions)
    most, fewest = (n_trials - -(-n_trials // n_splits), FEWEST_TRIALS) if by == "trials" else (n_channels, 1)
    values = sorted({most // 2**k for k in range(AMOUNTS) if most // 2**k >= fewest})
    if len(values) < 3:
        raise UsageError(f"plan: expected at least {4 * fewest} {by} to train on; found {most}. Ask for more of them")
    return [float(value) for value in values]
