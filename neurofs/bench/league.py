"""The league: all decoders on the same folds of three recordings, everything chosen inside the training part.

    scores = run_league()                       # one row per recording, decoder, fold and output
    print(render_league(scores))

Raw counts for all; five contiguous folds with gaps, or whole trials. RGS weights are fitted once per fold,
and once more without each hold-out on which parameters are chosen; all decoders of the fold share them: one
metric for all outputs, and for soft kNN one per output, the root mean square of its own and the common one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from neurofs.bench.lstm import LSTM
from neurofs.bench.recordings import RECORDINGS, Problem, shared_data
from neurofs.bench.row import Row
from neurofs.decoders import MLP, SVR, GradientBoosting, Kalman, Ridge, WienerCascade
from neurofs.errors import UsageError
from neurofs.kernel_decoder import KernelRGSDecoder
from neurofs.metric import prefix_curve
from neurofs.metric_decoders import KernelRidgeMetric, LocalLinear, SoftKNN
from neurofs.samples import Samples
from neurofs.selectors.rgs import RGS
from neurofs.splits import overlap_audit
from neurofs.tuning import Holdout, Part, Rehearsal, TunedDecoder, hold_out

__all__ = ["ROWS", "league_rows", "render_league", "run_league"]

RGS_SETTINGS: Mapping[str, Any] = {
    "n_epochs": 3,
    "survey": False,
    "random_state": 0,
}  # a metric, not a ranking
Report = Callable[[str], None]


@dataclass(frozen=True)
class Entry:
    """A row of the league: how to make the decoder, which RGS weights it gets, what must be installed."""

    make: Callable[[Problem], Any]
    weights: str = "unit"
    needs: str = ""


class CorrelationKNN(TunedDecoder):
    """kNN (k = 10) on the features of largest |correlation|, per output; how many, the hold-outs decide."""

    ALWAYS_TUNED = True
    SIZES = (5, 10, 20, 35, 50, 75, 100, 150, 200, 300, 500, 800, 1200)

    def _fit_part(
        self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]
    ) -> Part:
        sizes = [n for n in self.SIZES if n < train.n_features] + [train.n_features]
        fitted, chosen = [], {}
        for o in range(targets.shape[1]):
            errors = np.mean([self._errors(t, o, sizes) for t in rehearsals], axis=0)
            best = sizes[int(np.argmin(errors))]
            fitted.append((train, targets[:, o], correlation_order(train, targets[:, o]), [best]))
            chosen[f"n_{o}"] = float(best)
        return Part(None, fitted, chosen)

    def _errors(self, t: Rehearsal, o: int, sizes: Sequence[int]) -> list[float]:
        curve = self._curve(
            t.train, t.targets[:, o], correlation_order(t.train, t.targets[:, o]), sizes, t.queries
        )
        return [float(np.mean((t.truth[:, o] - p[:, 0]) ** 2)) for p in curve]

    def _curve(self, train: Samples, y: np.ndarray, order: Any, sizes: Any, queries: Samples) -> np.ndarray:
        return prefix_curve(train, y, queries, order=order, sizes=sizes, k=10, beta=1e6)  # all ten alike

    def _predict_part(self, part: Part, queries: Samples) -> np.ndarray:
        predicted = [self._curve(train, y, order, sizes, queries)[0] for train, y, order, sizes in part.model]
        return np.column_stack(predicted)


def correlation_order(samples: Samples, y: np.ndarray) -> np.ndarray:
    """Return the features by falling |Pearson r| with y, constant features last."""
    X = np.asarray(samples, dtype=np.float64)
    X -= X.mean(axis=0)
    norms = np.linalg.norm(X, axis=0)
    r = np.abs((y - y.mean()) @ X) / np.where(norms > 0, norms, 1.0)
    return np.argsort(-r, kind="stable")


ROWS: dict[str, Entry] = {
    "RGS + soft kNN": Entry(lambda p: SoftKNN(), weights="own"),
    "RGS + local-linear": Entry(lambda p: LocalLinear(), weights="common"),
    "RGS + kernel ridge": Entry(lambda p: KernelRidgeMetric(), weights="common"),
    "kernel RGS": Entry(lambda p: KernelRGSDecoder(random_state=0)),
    "kernel RGS, lags not mixed": Entry(lambda p: KernelRGSDecoder(mixed=False, random_state=0)),
    "soft kNN": Entry(lambda p: SoftKNN()),
    "local-linear": Entry(lambda p: LocalLinear()),
    "kernel ridge": Entry(lambda p: KernelRidgeMetric()),
    "SVR-RBF": Entry(lambda p: SVR()),
    "XGBoost": Entry(lambda p: GradientBoosting(library="xgboost"), needs="xgboost"),
    "MLP": Entry(lambda p: MLP()),
    "LSTM": Entry(lambda p: LSTM(p.n_channels), needs="torch"),
    "kNN on best n by correlation": Entry(lambda p: CorrelationKNN()),
    "ridge": Entry(lambda p: Ridge()),
    "Wiener cascade": Entry(lambda p: WienerCascade()),
    "Kalman": Entry(lambda p: Kalman(n_newest=p.n_channels)),
}
OURS = ("RGS + soft kNN", "RGS + local-linear", "RGS + kernel ridge")
AVERAGES: dict[str, tuple[str, ...]] = {
    "RGS average": OURS,
    "RGS and kernel RGS average": (*OURS, "kernel RGS"),
    "unit average": ("soft kNN", "local-linear", "kernel ridge"),
}
RIVALS = ("XGBoost", "SVR-RBF", "ridge", "kNN on best n by correlation")
GOALS: Mapping[str, Mapping[str, float]] = {
    "RGS + soft kNN": {"stevenson": 0.875, "chewie": 0.775, "a2929": 0.90},
    "RGS + local-linear": {"stevenson": 0.885, "chewie": 0.785, "a2929": 0.91},
    "RGS + kernel ridge": {"stevenson": 0.895, "chewie": 0.785, "a2929": 0.905},
}


def run_league(
    recordings: Sequence[str] | None = None,
    rows: Sequence[str] | None = None,
    folder: Path | None = None,
    n_jobs: int = 1,
    report: Report = print,
) -> pd.DataFrame:
    """Run the league on the recordings of `folder`, all or those named; see `run_problem`."""
    names = _known("recording", recordings, RECORDINGS)
    folder = shared_data() if folder is None else folder
    if not folder.is_dir():
        raise UsageError(f"no folder {folder} with the recordings; name it in NEUROFS_SHARED_DATA")
    tables = [run_problem(RECORDINGS[name](folder), rows, n_jobs, report) for name in names]
    return pd.concat(tables, ignore_index=True)


def run_problem(
    problem: Problem, rows: Sequence[str] | None = None, n_jobs: int = 1, report: Report = print
) -> pd.DataFrame:
    """Run all rows, or those named, on the folds of one problem.

    Returns a tidy table: recording, decoder, fold, output, r2, weights_seconds (RGS, shared by the rows of a
    fold), fit_seconds, predict_seconds (CPU seconds), memory_mb (growth of the resident memory at its peak,
    fitting and predicting), overlaps (pairs of training and test samples that share raw data: 0). With
    n_jobs > 1, fits run in processes of their own; scores do not depend on it.
    """
    chosen = _installed(_known("row", rows, ROWS), report)
    splits = list(problem.folds())
    weighings = _weigh_folds(problem, [train for train, _ in splits], chosen, n_jobs)
    tasks = [
        delayed(_run_row)(problem, name, fold, *split, weighings[fold][ROWS[name].weights])
        for fold, split in enumerate(splits)
        for name in chosen
    ]
    results: dict[int, dict[str, Result]] = {fold: {} for fold in range(len(splits))}
    for fold, name, result in Parallel(n_jobs=n_jobs, return_as="generator_unordered")(tasks):
        results[fold][name] = result
        report(_progress(problem, fold, name, result, splits[fold][1]))
    records = [
        r for fold, split in enumerate(splits) for r in _score_fold(problem, fold, *split, results[fold])
    ]
    return pd.DataFrame(records).sort_values(["decoder", "fold"], kind="stable", ignore_index=True)


def _known(what: str, names: Sequence[str] | None, known: Mapping[str, Any]) -> list[str]:
    """Return the names, all if none are given."""
    unknown = sorted(set(names or ()) - set(known))
    if unknown:
        raise UsageError(f"no {what} named {unknown[0]!r}; known are {', '.join(known)}")
    return list(known) if names is None else list(names)


def _installed(names: Sequence[str], report: Report) -> list[str]:
    """Leave out the rows whose library is missing, by name."""
    missing = [name for name in names if ROWS[name].needs and find_spec(ROWS[name].needs) is None]
    for name in missing:
        report(f"{name} is skipped: {ROWS[name].needs} is not installed")
    return [name for name in names if name not in missing]


# ------------------------------------------------------------------------------------------------- one fold


@dataclass(frozen=True, eq=False)
class Weighing:
    """Weights and hold-outs as `fit` takes them, and the CPU seconds they took."""

    arguments: tuple[Any, ...]
    seconds: float


@dataclass(frozen=True, eq=False)
class Result:
    """What a row predicted for the test part of a fold, and what it cost."""

    predicted: np.ndarray
    costs: dict[str, float]


def _training_data(problem: Problem, train: np.ndarray) -> tuple[Any, ...]:
    trials = None if problem.trials is None else problem.trials[train]
    return problem.samples[train], problem.y[train], trials


def _run_row(
    problem: Problem, name: str, fold: int, train: np.ndarray, test: np.ndarray, weighing: Weighing
) -> tuple[int, str, Result]:
    """Fit one row on one fold and predict."""
    data, queries = _training_data(problem, train), problem.samples[test]
    predicted, costs = _measure(ROWS[name].make(problem), data, weighing.arguments, queries)
    return fold, name, Result(predicted, costs | {"weights_seconds": weighing.seconds})


def _score_fold(
    problem: Problem, fold: int, train: np.ndarray, test: np.ndarray, results: dict[str, Result]
) -> Iterator[dict[str, Any]]:
    """Yield the scores of every row of a fold, and of the averages of rows."""
    overlaps = overlap_audit(problem.samples, train, test)
    for name, members in AVERAGES.items():
        if set(members) <= set(results):
            parts = [results[member] for member in members]
            mean = np.mean([part.predicted for part in parts], axis=0)
            results = results | {name: Result(mean, _joint_cost([part.costs for part in parts]))}
    for name, result in results.items():
        for output, r2 in zip(problem.outputs, r_squared(problem.y[test], result.predicted), strict=True):
            yield {
                "recording": problem.name,
                "decoder": name,
                "fold": fold,
                "output": output,
                "r2": r2,
                **result.costs,
                "overlaps": overlaps,
            }


def _joint_cost(costs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return what all together cost: weights once, times added up, the largest memory."""
    table = pd.DataFrame(costs)
    once = table[["weights_seconds", "memory_mb"]].max()
    return {**table[["fit_seconds", "predict_seconds"]].sum().to_dict(), **once.to_dict()}


def _weigh_folds(
    problem: Problem, trains: Sequence[np.ndarray], rows: Sequence[str], n_jobs: int
) -> list[dict[str, Weighing]]:
    """Return for each fold the weighings of every kind that the rows ask for."""
    kinds = {ROWS[name].weights for name in rows}
    fits = [_fit_common] * bool(kinds - {"unit"}) + [_fit_separate] * ("own" in kinds)
    tasks = [delayed(_timed)(fit, *_training_data(problem, train)) for train in trains for fit in fits]
    done = Parallel(n_jobs=n_jobs)(tasks)
    parts = [done[i * len(fits) : (i + 1) * len(fits)] for i in range(len(trains))]
    return [_make_weighings(part) for part in parts]


def _timed(fit: Callable[..., Any], *data: Any) -> tuple[Any, float]:
    start = time.process_time()
    return fit(*data), time.process_time() - start


def _make_weighings(fitted: Sequence[tuple[Any, float]]) -> dict[str, Weighing]:
    """Return unit weights, the common ones, and the root mean square of those and each output's own.

    The parameters of the latter are chosen in the common metric, which saves many fits.
    """
    weighings = {"unit": Weighing((), 0.0)}
    if fitted:
        (common, holdouts), seconds = fitted[0]
        weighings["common"] = Weighing((common, holdouts), seconds)
    if len(fitted) > 1:
        separate, more = fitted[1]
        own = np.sqrt((separate**2 + common**2) / 2)
        weighings["own"] = Weighing((own, holdouts), seconds + more)
    return weighings


def _fit_common(train: Samples, y: np.ndarray, trials: Any) -> tuple[np.ndarray, list[Holdout]]:
    """Return the common weights of the training part, and its hold-outs with weights of their own."""

    def fit_weights(X: Samples, y: np.ndarray, groups: Any) -> np.ndarray:
        return _unit_mean_square(RGS(**RGS_SETTINGS).fit(X, y, groups).weights_)

    return fit_weights(train, y, trials), hold_out(train, y, fit_weights, trials)


def _fit_separate(train: Samples, y: np.ndarray, trials: Any) -> np.ndarray:
    """Return one set of weights per output."""
    rgs = RGS(multi_output="separate", **RGS_SETTINGS).fit(train, y, trials)
    return _unit_mean_square(rgs.output_weights_)


def _unit_mean_square(weights: np.ndarray) -> np.ndarray:
    return weights / np.sqrt(np.mean(weights**2, axis=-1, keepdims=True))


def _measure(
    decoder: Any, data: tuple[Any, ...], weighing: tuple[Any, ...], queries: Samples
) -> tuple[np.ndarray, dict[str, float]]:
    """Fit, predict, and tell what it cost."""
    resting = _restart_peak()
    start = time.process_time()
    decoder.fit(*data, *weighing)
    middle = time.process_time()
    predicted = decoder.predict(queries)
    stop = time.process_time()
    memory = (_status("VmHWM") - resting) / 1e6
    return predicted, {"fit_seconds": middle - start, "predict_seconds": stop - middle, "memory_mb": memory}


def r_squared(truth: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Return 1 − Σ(y − ŷ)² / Σ(y − ȳ)² of each output, ȳ the mean of the test part.

    >>> r_squared(np.array([[0.0], [2.0]]), np.array([[0.5], [1.5]]))
    array([0.75])
    """
    return 1 - ((truth - predicted) ** 2).sum(axis=0) / ((truth - truth.mean(axis=0)) ** 2).sum(axis=0)


def _restart_peak() -> float:
    """Let the peak of the resident memory start anew, and return the memory in use; Linux only."""
    refs = Path("/proc/self/clear_refs")
    if not os.access(refs, os.W_OK):
        return np.nan
    refs.write_text("5")
    return _status("VmRSS")


def _status(field: str) -> float:
    """Return a field of the status of this process in bytes, NaN where there is none."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((float(line.split()[1]) * 1024 for line in lines if line.startswith(field)), np.nan)


# --------------------------------------------------------------------------------------------------- tables


def _progress(problem: Problem, fold: int, name: str, result: Result, test: np.ndarray) -> str:
    """Return one line on a decoder and a fold."""
    r2 = float(np.mean(r_squared(problem.y[test], result.predicted)))
    return f"{problem.name} fold {fold} {name}: R² {r2:.3f}, {result.costs['fit_seconds']:.1f} s"


def summarise(scores: pd.DataFrame) -> pd.DataFrame:
    """Return mean R², CPU seconds of all folds, and largest memory for each decoder and recording."""
    by = ["decoder", "recording"]
    folds = scores.drop_duplicates([*by, "fold"])
    seconds = folds.assign(seconds=folds[["weights_seconds", "fit_seconds", "predict_seconds"]].sum(axis=1))
    table = scores.groupby(by, sort=False)["r2"].mean().to_frame()
    table["seconds"] = seconds.groupby(by, sort=False)["seconds"].sum()
    table["memory_mb"] = scores.groupby(by, sort=False)["memory_mb"].max()
    return table


def render_league(scores: pd.DataFrame) -> str:
    """Return the league as text, best decoder first: mean R², CPU seconds and megabytes per recording."""
    summary = summarise(scores)
    names = list(dict.fromkeys(scores["recording"]))
    order = summary["r2"].groupby("decoder").mean().sort_values(ascending=False).index
    head = "decoder".ljust(30) + "".join(f"{name + ' R²':>14}{'s':>8}{'MB':>7}" for name in names)
    return "\n".join([head, *(_line(summary, decoder, names) for decoder in order)])


def _line(summary: pd.DataFrame, decoder: str, names: Sequence[str]) -> str:
    cells = []
    for name in names:
        if (decoder, name) not in summary.index:
            cells.append(" " * 29)
            continue
        r2, seconds, memory = summary.loc[(decoder, name)]
        cells.append(f"{r2:14.3f}{seconds:8.1f}{memory:7.0f}")
    return decoder.ljust(30) + "".join(cells)


def league_rows(scores: pd.DataFrame) -> list[Row]:
    """Return what was promised of the league beside what was measured."""
    r2 = summarise(scores)["r2"].unstack("decoder").T.to_dict()  # recording → decoder → R²
    return [
        row for name, found in r2.items() for rows in (_goals, _rivals, _lead) for row in rows(name, found)
    ]


def _goals(recording: str, found: Mapping[str, float]) -> Iterator[Row]:
    """Compare each RGS decoder with its goal."""
    for decoder in _measured(GOALS, found):
        value, goal = found[decoder], GOALS[decoder][recording]
        yield Row(f"{recording}: {decoder}", f"R² {value:.3f}", f"at least {goal:.3f}", value >= goal)


def _rivals(recording: str, found: Mapping[str, float]) -> Iterator[Row]:
    """Compare the best RGS decoder with each rival."""
    best = max((found[decoder] for decoder in _measured(GOALS, found)), default=np.nan)
    for rival in _measured(RIVALS, found):
        lead = best - found[rival]
        yield Row(f"{recording}: best RGS decoder against {rival}", f"{lead:+.3f}", "above", lead > 0)


def _lead(recording: str, found: Mapping[str, float]) -> Iterator[Row]:
    """Compare the best of all rows with learned weights, averages included, with the LSTM."""
    ours = {decoder: found[decoder] for decoder in _measured([d for d in found if "RGS" in d], found)}
    if ours and _measured(["LSTM"], found):
        best = max(ours, key=lambda decoder: ours[decoder])
        lead = ours[best] - found["LSTM"]
        yield Row(f"{recording}: {best} against LSTM", f"{lead:+.3f}", "above (goal)", lead > 0)


def _measured(decoders: Iterable[str], found: Mapping[str, float]) -> list[str]:
    """Return the decoders that took part."""
    return [decoder for decoder in decoders if not np.isnan(found.get(decoder, np.nan))]
