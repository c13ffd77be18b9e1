"""Do p-values and intervals of a report hold their level? Sessions with known truth, made to fool them.

Sessions of 200 s are decoded as `neurofs decode` does, with one repeat and with five, by a selector with soft kNN
(correlation, which is quick), ridge regression and the Kalman filter. What is counted, for each scenario (`scenarios`):

    beyond     sessions without information in which a method decodes an output beyond chance; in the scenario with one
               informative output, the other one. At most 5 % should.
    coverage   sessions with information whose 95 % interval of R² contains the mean over all sessions; of those whose
               report does not warn that the target hardly varies in a fold (few sessions of a resting animal, and not
               all random walks)
    equal      sessions in which two equal methods, the same decoder on two equal halves of the channels, differ at
               p ≤ 0.05. At most 5 % should.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from neurofs.comparison.digest import summarize
from neurofs.comparison.evaluate import run_task
from neurofs.comparison.problem import Task, list_tasks
from neurofs.comparison.provenance import describe_provenance
from neurofs.comparison.stats import compare_paired
from neurofs.comparison.store import TaskResult
from neurofs.comparison.summary import Summary
from neurofs.comparison.tables import assemble_predictions, assemble_scores, assemble_weights
from neurofs.experiments.reproduce.claims import Claim, make_claim
from neurofs.experiments.reproduce.figures import add_legends, make_axes
from neurofs.experiments.reproduce.scenarios import SCENARIOS, halve, simulate
from neurofs.experiments.reproduce.tables import Progress, choose, render_means
from neurofs.ground.config import RunOptions
from neurofs.ground.errors import TaskFailed
from neurofs.pipeline import Prepared, prepare
from neurofs.recordings.recording import Recording
from neurofs.running.executors import make_executor
from neurofs.running.worker import Failure

MINUTES, OURS = 18, True
METHODS = ("corrcoef", "ridge", "kalman")
REPEATS = (1, 5)
OPTIONS: dict[str, Any] = {
    "target": "hand",
    "n_lags": 3,
    "selectors": ("corrcoef",),
    "decoders": ("knn",),
    "sizes": (3, 15, 60),
    "n_neighbors": 20,
    "beta": 0.25,
}
LEVEL = 0.05
LEAST_COVERAGE, MOST_SIZE = 0.92, 0.06


class Found(NamedTuple):
    """What a report prints of scores and chance."""

    scores: pd.DataFrame
    summary: Summary


def run(
    repetitions: int = 6,
    seed: int = 0,
    scenarios: Sequence[str] = tuple(SCENARIOS),
    jobs: int = 1,
    progress: Progress = None,
) -> pd.DataFrame:
    """Decode so many sessions of each scenario and kind: one row per session, number of repeats and method."""
    sessions = [
        (name, informed, 10_000 * seed + r) for r in range(repetitions) for name in scenarios for informed in (0, 1)
    ]
    rows: dict[Any, list[dict[str, Any]]] = {}
    executor = make_executor(jobs)
    for done, (session, found) in enumerate(executor.run(_analyze, None, sessions), 1):
        if isinstance(found, Failure):
            raise TaskFailed(f"session {session}: {found.reason}", found.detail)
        rows[session] = found
        if progress:
            progress(done, len(sessions))
    return pd.DataFrame([row for session in sessions for row in rows[session]])


def _analyze(shared: None, session: tuple[str, int, int]) -> list[dict[str, Any]]:
    name, informed, seed = session
    recording = simulate(name, bool(informed), seed)
    count = _compare_halves if informed else _count_false
    about = {"scenario": name, "informed": bool(informed), "seed": seed}
    return [about | row for row in count(name, recording)]


def _count_false(name: str, recording: Recording) -> Iterator[dict[str, Any]]:
    """Decode a session without information with one half of its channels."""
    silent = dict(zip(("hand:x", "hand:y"), SCENARIOS[name].silent, strict=True))
    for repeats, found in _decode(halve(recording, 0)).items():
        for method in METHODS:
            tests = [test for test in found.summary.chance_of(method) if silent[test.output]]
            p = min(test.p_corrected for test in tests)
            beyond = any(test.beyond for test in tests)
            mean = found.summary.by_method[method].pooled.r2.mean
            yield {"repeats": repeats, "method": method, "p": p, "beyond": beyond, "r2": mean}


def _compare_halves(name: str, recording: Recording) -> Iterator[dict[str, Any]]:
    """Decode a session with information twice, from equal halves of its channels."""
    one, other = (_decode(halve(recording, half)) for half in (0, 1))
    for repeats in REPEATS:
        ratio = float((one[repeats].scores["n_test"] / one[repeats].scores["n_train"]).mean())
        for method in METHODS:
            means = [_fold_means(found[repeats].scores, method) for found in (one, other)]
            interval = one[repeats].summary.by_method[method].pooled.r2
            p = compare_paired(means[0] - means[1], ratio)["p"]
            numbers = {"r2": interval.mean, "low": interval.low, "high": interval.high, "p": p}
            numbers["warned"] = any("varies" in text for text in one[repeats].summary.session.warnings)
            beyond = any(test.beyond for test in one[repeats].summary.chance_of(method))
            yield {"repeats": repeats, "method": method, "beyond": beyond, **numbers}


def _fold_means(scores: pd.DataFrame, method: str) -> np.ndarray:
    """Return R² of each place in time, the mean over outputs and repeats."""
    own = scores[scores["chosen"] & (scores["method"] == method)]
    return np.asarray(own.groupby("fold")["r2"].mean())


def _decode(recording: Recording) -> dict[int, Found]:
    """Return the comparisons with one repeat and with five; the tasks of the first repeat are the same."""
    prepared = {n: prepare(RunOptions(**OPTIONS, n_repeats=n), recording) for n in REPEATS}
    tasks = [task for task in list_tasks(prepared[5].problem) if task.method in METHODS]
    results = {task: run_task(prepared[5].problem, task) for task in tasks}
    first = {task: result for task, result in results.items() if task.repeat == 0}
    return {1: _sum_up(prepared[1], first), 5: _sum_up(prepared[5], results)}


def _sum_up(prepared: Prepared, results: dict[Task, TaskResult]) -> Found:
    """Put results together as `pipeline.finish` does, without the tests of channels (`reproduce significance`)."""
    problem, tensor, recording = prepared.problem, prepared.tensor, prepared.recording
    scores, weights = assemble_scores(problem, results), assemble_weights(problem, tensor, results)
    predictions, provenance = assemble_predictions(problem, results), describe_provenance(prepared.options, recording)
    return Found(scores, summarize(recording, tensor, problem, scores, weights, predictions, provenance))


# --------------------------------------------------------------------------------------------------- figures


def measure(table: pd.DataFrame) -> pd.DataFrame:
    """Return size, coverage and power by scenario, number of repeats and method."""
    keys = ["scenario", "repeats", "method"]
    found = pd.DataFrame({"beyond": choose(table, informed=False).groupby(keys, sort=False)["beyond"].mean()})
    informed = choose(table, informed=True)
    calm = choose(informed, warned=False)
    truth = calm.groupby(keys)["r2"].transform("mean")
    inside = calm.assign(coverage=(calm["low"] <= truth) & (truth <= calm["high"])).groupby(keys, sort=False)
    by = informed.assign(equal=informed["p"] <= LEVEL, power=informed["beyond"]).groupby(keys, sort=False)
    return found.join(inside["coverage"].mean()).join(by[["equal", "power", "warned"]].mean()).reset_index()


QUANTITIES = {
    "beyond": "Sessions without information that are called beyond chance (at most 0.05)",
    "coverage": "95 % intervals of R² that contain the mean over sessions",
    "equal": "Sessions in which two equal methods differ at p ≤ 0.05 (at most 0.05)",
    "warned": "Sessions with information whose report warns that the target hardly varies in a fold",
    "power": "Sessions with information in which an output is called beyond chance",
}


def tabulate(table: pd.DataFrame) -> list[str]:
    """Return the figures as lines of text: scenarios by method and number of repeats."""
    found = measure(table)
    found["column"] = found["method"] + " " + found["repeats"].astype(str)
    lines = [f"{len(table['seed'].unique())} sessions of 200 s of each scenario and kind; method and number of repeats"]
    for quantity, words in QUANTITIES.items():
        means = found.pivot_table(index="scenario", columns="column", values=quantity, sort=False)
        lines += ["", words, *render_means(means, ".3f", 24, 12)]
    return lines


def claims(table: pd.DataFrame) -> Iterator[Claim]:
    """Yield what a report promises, and whether it holds in every scenario."""
    found = measure(table)
    n = len(table["seed"].unique())
    slack = 2 * np.sqrt(LEVEL * (1 - LEVEL) / n)
    for repeats in REPEATS:
        own = choose(found, repeats=repeats)
        again = f"with {repeats} repeat{'s' * (repeats > 1)}"
        yield make_claim(
            f"{again}, at most 5 % of sessions without information are called beyond chance",
            None,
            f"{_most(own, 'beyond')} (two standard errors: {slack:.3f})",
            own["beyond"].max() <= LEVEL + slack,
        )
        yield make_claim(
            f"{again}, 95 % intervals of R² cover at least 92 %",
            None,
            _least(own, "coverage"),
            own["coverage"].min() >= LEAST_COVERAGE - slack,
        )
        yield make_claim(
            f"{again}, at most 6 % of tests of equal methods are below 0.05",
            None,
            f"{_most(own, 'equal')} (two standard errors: {slack:.3f})",
            own["equal"].max() <= MOST_SIZE + slack,
        )


def _most(found: pd.DataFrame, quantity: str) -> str:
    worst = found.loc[found[quantity].idxmax()]
    return f"mean {found[quantity].mean():.3f}, most {worst[quantity]:.3f} ({worst['scenario']}, {worst['method']})"


def _least(found: pd.DataFrame, quantity: str) -> str:
    worst = found.loc[found[quantity].idxmin()]
    return f"mean {found[quantity].mean():.3f}, least {worst[quantity]:.3f} ({worst['scenario']}, {worst['method']})"


def plot(table: pd.DataFrame) -> Any:
    """Draw size and coverage of each scenario, open marks for one repeat and filled ones for five."""
    found = measure(table)
    names = list(found["scenario"].unique())
    figure, axes = make_axes((10, 0.9 + 0.3 * len(names)), 3, sharey=True)
    for ax, quantity, level in zip(axes, ("beyond", "equal", "coverage"), (LEVEL, LEVEL, 0.95), strict=True):
        for repeats, fill in ((1, "white"), (5, "#0072b2")):
            for method, marker in zip(METHODS, "os^", strict=True):
                own = choose(found, repeats=repeats, method=method).set_index("scenario").reindex(names)
                label = f"{method}, {repeats} repeat{'s' * (repeats > 1)}"
                ax.plot(own[quantity], range(len(names)), marker, mfc=fill, mec="#0072b2", label=label)
        ax.axvline(level, color="#d55e00", lw=1)
        ax.set(xlabel=quantity, yticks=range(len(names)), yticklabels=names)
    add_legends(axes[0])
    axes[0].invert_yaxis()
    return figure
