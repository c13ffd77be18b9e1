"""How long decode takes: the demo from a cold start, and the published protocol beside scikit-learn and NumPy.

The peers would need hours for the whole protocol, so a part of it is timed and extrapolated: some rows of an RGS
epoch, some features of SKS, and a few sizes of a curve. The times are multiplied up and divided by the number of
cores, as if the parts ran side by side without loss. The peers rank and make test curves; they do not choose n.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from neurofs.experiments.bench.loops import sklearn_knn, soften
from neurofs.experiments.bench.row import Row

PROTOCOL: dict[str, Any] = {
    "target": ("hand_velocity",),
    "selectors": ("rgs", "sks", "infogain", "corrcoef"),
    "decoders": ("knn",),
    "n_repeats": 5,
    "n_neighbors": 50,
    "beta": 0.5,
}
SAMPLES = 5050
SOME_ROWS, SOME_FEATURES, SOME_SIZES = 40, 4, (10, 71, 318)


def measure_decode() -> Iterator[Row]:
    """Yield the rows of the table."""
    from neurofs.report.page import render

    seconds = time_demo()
    yield Row("decode: demo, cold start, to the report", f"{seconds:.0f} s", "under 30 s", seconds < 30)
    prepared = prepare_protocol()
    ours, comparison = time_protocol(prepared)
    shape = "64 x 10 features, 5050 samples, 200 fits"
    yield Row(f"decode: published protocol ({shape})", f"{ours:.0f} s", "under 120 s", ours < 120)
    seconds = _time(render, comparison)
    yield Row("report: published protocol", f"{seconds:.1f} s", "under 10 s", seconds < 10)
    parts = time_peers(prepared.problem)
    for name, part in parts.items():
        yield Row(f"  scikit-learn and NumPy, extrapolated: {name}", f"{part:.0f} s")
    ratio = sum(parts.values()) / ours
    yield Row("decode: times faster than scikit-learn and NumPy", f"{ratio:.1f}", "at least 8", ratio >= 8)


def time_demo() -> float:
    """Return the seconds that the demo takes in a fresh process with nothing compiled."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(Path(folder) / "cache")}
        start = time.perf_counter()
        command = ["-m", "neurofs", "decode", "--out", str(Path(folder) / "run")]
        subprocess.run([sys.executable, *command], check=True, capture_output=True, env=environment)
        return time.perf_counter() - start


def prepare_protocol() -> Any:
    """Return a simulated day cut to the published number of samples."""
    from neurofs.ground.config import RunOptions
    from neurofs.pipeline import prepare
    from neurofs.recordings.simulate import simulate_session

    n_trials = 371
    prepared = prepare(RunOptions(**PROTOCOL), simulate_session(n_trials, random_state=2005))
    found = len(prepared.problem.samples)
    if abs(found - SAMPLES) > 100:
        raise AssertionError(f"expected about {SAMPLES} samples; found {found}. Change n_trials.")
    return prepared


def time_protocol(prepared: Any) -> tuple[float, Any]:
    """Return how long all tasks and the statistics take on all cores, loops compiled, and what they found."""
    from neurofs.comparison.evaluate import run_task
    from neurofs.comparison.problem import list_tasks
    from neurofs.pipeline import finish
    from neurofs.running.executors import make_executor

    tasks = list_tasks(prepared.problem)
    for task in [t for t in tasks if t.fold == 0 and t.repeat == 0 and t.output < 1][:6]:
        run_task(prepared.problem, task)
    start = time.perf_counter()
    comparison = finish(prepared, dict(make_executor().run(run_task, prepared.problem, tasks)))
    return time.perf_counter() - start, comparison


def time_peers(problem: Any) -> dict[str, float]:
    """Return the extrapolated seconds of each part of the protocol with scikit-learn and NumPy."""
    from sklearn.feature_selection import mutual_info_regression, r_regression

    from neurofs.comparison.problem import make_sizes
    from neurofs.running.executors import count_jobs

    fold = problem.folds[0]
    X, Q = np.asarray(problem.samples[fold.train]), np.asarray(problem.samples[fold.test])
    y = problem.targets[fold.train, 0]
    n_fits = len(problem.folds) * len(problem.outputs)
    share = n_fits / count_jobs(None)
    sizes = make_sizes(problem.options, X.shape[1])
    order = np.argsort(-np.abs(r_regression(X, y)))
    curve = np.mean([_time(sklearn_knn, X[:, order[:n]], y, Q[:, order[:n]]) for n in SOME_SIZES])
    rgs = _time(_step_rgs, X.astype(np.float64), y, SOME_ROWS) / SOME_ROWS * len(X) * 3
    sks = _time(_score_sks, X[:, :SOME_FEATURES], y) / SOME_FEATURES * X.shape[1]
    gain = _time(mutual_info_regression, X[:, :SOME_FEATURES], y) / SOME_FEATURES * X.shape[1]
    return {
        "RGS, 3 epochs, from 40 rows": share * rgs,
        "SKS, from 4 features": share * sks,
        "infogain, from 4 features": share * gain,
        "corrcoef": share * _time(r_regression, X, y),
        f"curves of 5 selectors, {len(sizes)} sizes, from 3": share * 5 * len(sizes) * float(curve),
    }


def _time(function: Any, *arguments: Any) -> float:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        start = time.perf_counter()
        function(*arguments)
        return time.perf_counter() - start


def _score_sks(X: np.ndarray, y: np.ndarray) -> list[float]:
    """Return the error of kNN on each feature alone, leaving out the row that is predicted."""
    from sklearn.neighbors import NearestNeighbors

    errors = []
    for column in X.T[:, :, None]:
        distance, index = NearestNeighbors(n_neighbors=51).fit(column).kneighbors(column)
        weights = soften(distance[:, 1:])
        predicted = (weights * y[index[:, 1:]]).sum(axis=1) / weights.sum(axis=1)
        errors.append(float(np.mean((predicted - y) ** 2)))
    return errors


def _step_rgs(X: np.ndarray, y: np.ndarray, n_rows: int) -> np.ndarray:
    """Do some steps of RGS in plain NumPy."""
    w = np.ones(X.shape[1])
    y = (y - y.mean()) / y.std()
    for i in range(n_rows):
        squares = (X - X[i]) ** 2
        distance = squares @ w**2
        distance[i] = np.inf
        near = np.argpartition(distance, 50)[:50]
        a = np.exp(-distance[near] / (0.25 * distance[near].mean()))
        a /= a.sum()
        centered = a * (y[near] - a @ y[near])
        slope = -2 * w / (0.25 * distance[near].mean()) * (centered @ squares[near])
        w += 2 * (y[i] - a @ y[near]) * slope
    return w
