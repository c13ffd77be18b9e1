"""Do p-values and intervals of a report hold their level? Sessions with known truth, made to fool them.

Sessions of 200 s are decoded as `neurofs decode` does, with one repeat and with five: values by a selector with soft
kNN (correlation, which is quick), ridge regression and the Kalman filter, classes by information gain with soft kNN
and ridge regression. What is counted, for each scenario (`scenarios`):

    beyond     sessions without information in which a method decodes an output beyond chance; in the scenario with one
               informative output, the other one. At most 5 % should.
    equal      sessions in which two equal methods, the same decoder on two equal halves of the channels, differ at
               p ≤ 0.05. At most 5 % should.
    coverage   sessions with information whose 95 % interval of the score (R², or accuracy) contains the mean over all
               sessions of the scenario: of those whose report has no doubt that the interval holds (`find_doubts`), of
               those whose report has, and of all. Other intervals (`INTERVALS`) are counted where there is no doubt.

A standard error stands beside each rate: that of a share of n sessions, after one hit and one miss are added, so that a
share of none or all has one as well. Three sessions of each kind are a look; `--repetitions 10` is the full form, some
25 minutes of one core. What else a report prints is counted elsewhere: channels and peak lags by `reproduce
significance`, pairs of channels by `reproduce dependency`.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import binom

from neurofs.comparison.digest import summarize
from neurofs.comparison.evaluate import run_task
from neurofs.comparison.places import Places
from neurofs.comparison.problem import Task, list_tasks
from neurofs.comparison.provenance import describe_provenance
from neurofs.comparison.stats import compare_paired
from neurofs.comparison.store import TaskResult
from neurofs.comparison.summary import Estimate, Summary
from neurofs.comparison.tables import assemble_predictions, assemble_scores, assemble_weights
from neurofs.experiments.reproduce.claims import Claim, make_claim
from neurofs.experiments.reproduce.figures import add_legends, make_axes
from neurofs.experiments.reproduce.scenarios import SCENARIOS, Scenario, halve, simulate
from neurofs.experiments.reproduce.tables import Progress, align, choose
from neurofs.ground.config import RunOptions
from neurofs.ground.errors import TaskFailed
from neurofs.ground.threads import one_thread
from neurofs.pipeline import Prepared, prepare
from neurofs.recordings.recording import Recording
from neurofs.running.executors import make_executor
from neurofs.running.worker import Failure

MINUTES, OURS = 8, True
METHODS = {"hand": ("corrcoef", "ridge", "kalman"), "direction": ("infogain", "ridge")}
"""What decodes values and classes; the selector first."""

REPEATS = (1, 5)
OPTIONS: dict[str, Any] = {"n_lags": 3, "decoders": ("knn",), "sizes": (3, 15, 60), "n_neighbors": 20, "beta": 0.25}
KEYS = ["scenario", "repeats", "method"]
LEVEL = 0.05
LEAST_COVERAGE, MOST_SIZE = 0.92, 0.06
TAIL = 0.023
"""How unlikely the sessions of a scenario must be for a claim not to hold: beyond two standard errors."""


class Found(NamedTuple):
    """What a report prints of scores and chance, and how its intervals count folds."""

    scores: pd.DataFrame
    summary: Summary
    places: Places


def run(
    repetitions: int = 3,
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
    with one_thread():
        return [about | row for row in count(SCENARIOS[name], recording)]


def _methods_of(scenario: Scenario) -> tuple[str, ...]:
    return METHODS.get(scenario.decoded, METHODS["hand"])


def _count_false(scenario: Scenario, recording: Recording) -> Iterator[dict[str, Any]]:
    """Decode a session without information with one half of its channels."""
    for repeats, found in _decode(scenario, halve(recording, 0)).items():
        for method in _methods_of(scenario):
            of_outputs = found.summary.chance_of(method)
            tests = [test for test, silent in zip(of_outputs, scenario.silent, strict=False) if silent]
            yield {
                "repeats": repeats,
                "method": method,
                "p": min(test.p_corrected for test in tests),
                "beyond": any(test.beyond for test in tests),
                "score": found.summary.by_method[method].pooled.of(found.summary.score).mean,
            }


def _compare_halves(scenario: Scenario, recording: Recording) -> Iterator[dict[str, Any]]:
    """Decode a session with information twice, from equal halves of its channels."""
    one, other = (_decode(scenario, halve(recording, half)) for half in (0, 1))
    for repeats in REPEATS:
        found = one[repeats]
        for method in _methods_of(scenario):
            differences = _by_place(found, method) - _by_place(other[repeats], method)
            yield {
                "repeats": repeats,
                "method": method,
                "p": compare_paired(differences, found.places.ratio)["p"],
                "beyond": any(test.beyond for test in found.summary.chance_of(method)),
                "doubted": bool(found.summary.session.doubts),
                **_list_intervals(found.summary, method),
            }


def _list_intervals(summary: Summary, method: str) -> dict[str, float | None]:
    """Return the mean and both ends of every interval that is printed of a method."""
    scores = summary.by_method[method]
    printed = {"score": scores.pooled.of(summary.score), "balanced": scores.pooled.balanced_accuracy}
    printed |= {"r": scores.pooled.r, "mse": scores.pooled.mse, "fvaf": scores.pooled.fvaf}
    if len(scores.outputs) > 1:
        printed |= dict(zip("xy", (one.r2 for one in scores.outputs.values()), strict=True))
    if scores.in_field is not None:
        printed["field"] = scores.in_field
    if method in summary.tests_by_method:
        printed["difference"] = summary.tests_by_method[method].difference
    if method == summary.reference:
        printed["curve"] = _take_middle(summary)
    ends = ("mean", "low", "high")
    return {_column(name, end): getattr(found, end) for name, found in printed.items() for end in ends}


def _column(name: str, end: str) -> str:
    return name if end == "mean" else f"{name}_{end}"


def _take_middle(summary: Summary) -> Estimate:
    """Return the score of the first output with the middle number of features, as it is drawn."""
    band = summary.curves[0].of(summary.score)
    assert band is not None
    middle = len(band.mean) // 2
    return Estimate(mean=band.mean[middle], low=band.low[middle], high=band.high[middle])


def _by_place(found: Found, method: str) -> np.ndarray:
    """Return the score of each place in time, the mean over outputs and repeats."""
    own = found.scores[found.scores["chosen"] & (found.scores["method"] == method)]
    return np.asarray(own.groupby(found.places.keys)[found.summary.score].mean())


def _decode(scenario: Scenario, recording: Recording) -> dict[int, Found]:
    """Return the comparisons with one repeat and with five; the tasks of the first repeat are the same."""
    methods = _methods_of(scenario)
    options = OPTIONS | {"target": scenario.decoded, "selectors": methods[:1]}
    prepared = {n: prepare(RunOptions(**options, n_repeats=n), recording) for n in REPEATS}
    tasks = [task for task in list_tasks(prepared[5].problem) if task.method in methods]
    results = {task: run_task(prepared[5].problem, task) for task in tasks}
    first = {task: result for task, result in results.items() if task.repeat == 0}
    return {1: _sum_up(prepared[1], first), 5: _sum_up(prepared[5], results)}


def _sum_up(prepared: Prepared, results: dict[Task, TaskResult]) -> Found:
    """Put results together as `pipeline.finish` does, without the tests of channels (`reproduce significance`)."""
    problem, tensor, recording = prepared.problem, prepared.tensor, prepared.recording
    scores, weights = assemble_scores(problem, results), assemble_weights(problem, tensor, results)
    predictions, provenance = assemble_predictions(problem, results), describe_provenance(prepared.options, recording)
    summary = summarize(recording, tensor, problem, scores, weights, predictions, provenance)
    return Found(scores, summary, Places.of(problem))


# --------------------------------------------------------------------------------------------------- figures


def measure(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rate of each quantity by scenario, number of repeats and method, with n and its standard error."""
    silent, informed = choose(table, informed=False), choose(table, informed=True)
    covered = {name: _covers(informed, name) for name in ("score", *INTERVALS)}
    calm, doubted = (informed["doubted"] == doubt for doubt in (False, True))
    return pd.concat(
        [
            _rate("beyond", silent, silent["beyond"]),
            _rate("equal", informed, informed["p"] <= LEVEL),
            _rate("coverage", informed[calm], covered["score"][calm]),
            _rate("doubted", informed, informed["doubted"]),
            _rate("coverage of doubted", informed[doubted], covered["score"][doubted]),
            _rate("coverage of all", informed, covered["score"]),
            _rate("power", informed, informed["beyond"]),
            *(_rate(name, informed[calm], covered[name][calm]) for name in INTERVALS),
        ]
    )


def _covers(rows: pd.DataFrame, name: str) -> pd.Series:
    """Return whether each interval contains the mean over all rows of its scenario; NaN where there is no interval."""
    if name not in rows:
        return pd.Series(np.nan, rows.index)
    truth = rows.groupby(KEYS)[name].transform("mean")
    holds = (rows[f"{name}_low"] <= truth) & (truth <= rows[f"{name}_high"])
    return holds.astype(float).where(rows[f"{name}_low"].notna())


def _rate(quantity: str, rows: pd.DataFrame, hits: pd.Series) -> pd.DataFrame:
    """Return the share of hits in each group, with the standard error of (hits + 1) / (n + 2).

    >>> rows = pd.DataFrame({"scenario": "white", "repeats": 1, "method": "ridge"}, index=range(8))
    >>> _rate("equal", rows, pd.Series([True] * 8)).round(3).values.tolist()
    [['white', 1, 'ridge', 1.0, 8, 0.095, 'equal']]
    """
    by = rows[KEYS].assign(rate=hits.astype(float)).dropna().groupby(KEYS, sort=False)["rate"]
    found = by.agg(["mean", "count"]).set_axis(["rate", "n"], axis=1).reset_index()
    middle = (found["rate"] * found["n"] + 1) / (found["n"] + 2)
    return found.assign(se=np.sqrt(middle * (1 - middle) / (found["n"] + 2)), quantity=quantity)


QUANTITIES = {
    "beyond": "Sessions without information that are called beyond chance (at most 0.05)",
    "equal": "Sessions in which two equal methods differ at p ≤ 0.05 (at most 0.05)",
    "coverage": "95 % intervals of the score that contain the mean over sessions, where the report does not doubt it",
    "doubted": "Sessions whose report says that the interval may hold less often than 95 %",
    "coverage of doubted": "95 % intervals of the score that contain the mean over sessions, of these sessions",
    "coverage of all": "95 % intervals of the score that contain the mean over sessions, of all sessions",
    "power": "Sessions with information in which an output is called beyond chance",
}
INTERVALS = {
    "x": "R² of x",
    "y": "R² of y",
    "r": "r",
    "mse": "MSE",
    "fvaf": "FVAF",
    "difference": "difference",
    "curve": "curve",
    "balanced": "balanced",
    "field": "field",
}
"""Other intervals: of the difference to the selector's score, of a point of its curve, of balanced accuracy, and of
accuracy per trial or the error in degrees."""


def tabulate(table: pd.DataFrame) -> list[str]:
    """Return the figures as lines of text: scenarios by method and number of repeats."""
    found = measure(table)
    found["column"] = found["method"] + " " + found["repeats"].astype(str)
    n = len(table["seed"].unique())
    lines = [f"{n} sessions of 200 s of each scenario and kind; columns: method and number of repeats"]
    for quantity, words in QUANTITIES.items():
        lines += ["", f"{words}, ± standard error", *_render(choose(found, quantity=quantity))]
    for repeats in REPEATS:
        others = choose(found[found["quantity"].isin(INTERVALS)], repeats=repeats)
        mean = others.groupby(["scenario", "quantity"], sort=False).agg({"rate": "mean", "se": "max"}).reset_index()
        mean["column"] = mean["quantity"].map(INTERVALS)
        title = f"Other 95 % intervals that contain the mean over sessions, mean over methods, {repeats} repeat"
        lines += ["", title + "s" * (repeats > 1), *_render(mean)]
    return lines


def _render(found: pd.DataFrame) -> list[str]:
    """Return rates as lines of text, one for each scenario."""
    cells = found.assign(cell=[f"{rate:.3f} ± {se:.3f}" for rate, se in zip(found["rate"], found["se"], strict=True)])
    wide = cells.pivot(index="scenario", columns="column", values="cell").reindex(
        index=found["scenario"].unique(), columns=found["column"].unique()
    )
    return align([("", *wide.columns), *wide.fillna("–").itertuples()], 24, 16)


def claims(table: pd.DataFrame) -> Iterator[Claim]:
    """Yield what a report promises, and whether it holds in every scenario, as far as so few sessions can tell."""
    found = measure(table)
    for repeats in REPEATS:
        own, again = choose(found, repeats=repeats), f"with {repeats} repeat{'s' * (repeats > 1)}"
        for claim, quantity, level, sign in (
            ("at most 5 % of sessions without information are called beyond chance", "beyond", LEVEL, 1),
            ("95 % intervals that the report does not doubt cover at least 92 %", "coverage", LEAST_COVERAGE, -1),
            ("at most 6 % of tests of equal methods are below 0.05", "equal", MOST_SIZE, 1),
        ):
            cells = choose(own, quantity=quantity)
            past = sign * (cells["rate"] - level)
            chance = pd.Series(_tail(cells["rate"] * cells["n"], cells["n"], level, sign), cells.index)
            worst = cells.loc[chance.idxmin()]
            yield make_claim(
                f"{again}, {claim}",
                None,
                f"{np.average(cells['rate'], weights=cells['n']):.3f} of all {cells['n'].sum()}; "
                f"{int((past > 0).sum())} of {len(cells)} cells are past it; worst "
                f"{worst['rate']:.3f} ± {worst['se']:.3f} of {worst['n']} ({worst['scenario']}, {worst['method']})",
                (chance > TAIL).all(),
            )


def _tail(hits: pd.Series, n: pd.Series, level: float, sign: int) -> np.ndarray:
    """Return how likely so many hits of n, or more, are at the level; so few or fewer where the sign is −1.

    >>> _tail(pd.Series([3.0]), pd.Series([10]), 0.05, 1).round(4), _tail(pd.Series([0.0]), pd.Series([1]), 0.92, -1)
    (array([0.0115]), array([0.08]))
    """
    hits = hits.round()
    return np.asarray(binom.sf(hits - 1, n, level) if sign > 0 else binom.cdf(hits, n, level))


def plot(table: pd.DataFrame) -> Any:
    """Draw size and coverage of each scenario, open marks for one repeat and filled ones for five."""
    found = measure(table)
    names = list(found["scenario"].unique())
    figure, axes = make_axes((10, 0.9 + 0.3 * len(names)), 3, sharey=True)
    for ax, quantity, level in zip(axes, ("beyond", "equal", "coverage"), (LEVEL, LEVEL, 0.95), strict=True):
        for repeats, fill in ((1, "white"), (5, "#0072b2")):
            for method, marker in zip(found["method"].unique(), "os^d", strict=False):
                own = choose(found, quantity=quantity, repeats=repeats, method=method).set_index("scenario")
                label = f"{method}, {repeats} repeat{'s' * (repeats > 1)}"
                ax.plot(own["rate"].reindex(names), range(len(names)), marker, mfc=fill, mec="#0072b2", label=label)
        ax.axvline(level, color="#d55e00", lw=1)
        ax.set(xlabel=quantity, yticks=range(len(names)), yticklabels=names)
    add_legends(axes[0])
    axes[0].invert_yaxis()
    return figure
