"""The league: all decoders on the same folds of three recordings, everything chosen inside the training part.

    scores = run_league()                       # one row per recording, decoder, fold, seed and output
    print(render_league(scores))                # of `experiments.bench.league_table`

All decoders get raw counts and one thread; folds are five contiguous blocks with gaps, or whole trials. RGS
weights are fitted once per fold, and once more without each hold-out on which parameters are chosen. All decoders
of a fold share them: there is one metric for all outputs, and for soft kNN one per output, the root mean square of
the output's own and the common one.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from neurofs.comparison.coverage import N_PARTS, holds, rank_by_size
from neurofs.comparison.evaluate import Half, fit_method
from neurofs.comparison.problem import Problem, Task
from neurofs.comparison.scores import r_squared
from neurofs.decoders.base import Part, Rehearsal, TunedDecoder
from neurofs.decoders.kalman import Kalman
from neurofs.decoders.kernel_rgs import KernelRGSDecoder
from neurofs.decoders.kernel_ridge import KernelRidgeMetric
from neurofs.decoders.libraries import MLP, SVR, GradientBoosting
from neurofs.decoders.linear import Ridge, WienerCascade
from neurofs.decoders.nearest import LocalLinear, SoftKNN
from neurofs.experiments.bench.lstm import LSTM
from neurofs.experiments.bench.meters import MemoryMeter
from neurofs.experiments.bench.recordings import RECORDINGS, Session, shared_data
from neurofs.features.holdouts import Holdout, hold_out
from neurofs.features.samples import Samples
from neurofs.features.splits import overlap_audit
from neurofs.ground.config import CompareOptions
from neurofs.ground.errors import UsageError
from neurofs.ground.threads import one_thread
from neurofs.metric.neighbors import prefix_curve
from neurofs.selectors.rgs import RGS

RGS_SETTINGS: Mapping[str, Any] = {"n_epochs": 3, "survey": False, "random_state": 0}  # a metric, not a ranking
Report = Callable[[str], None]
Run = tuple[str, int]  # a row and its seed


@dataclass(frozen=True)
class Entry:
    """A row of the league: how to make its decoder with a seed, which weights it gets, what must be installed."""

    make: Callable[[Session, int], Any]
    weights: str = "unit"
    needs: str = ""
    n_seeds: int = 1


class CorrelationKNN(TunedDecoder):
    """kNN (k = 10) on the features of largest |correlation| with each output, as many as the hold-outs favor."""

    ALWAYS_TUNED = True
    SIZES = (5, 10, 20, 35, 50, 75, 100, 150, 200, 300, 500, 800, 1200)

    def _fit_part(self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]) -> Part:
        sizes = [n for n in self.SIZES if n < train.n_features] + [train.n_features]
        fitted, chosen = [], {}
        for o in range(targets.shape[1]):
            errors = np.mean([self._errors(t, o, sizes) for t in rehearsals], axis=0)
            best = sizes[int(np.argmin(errors))]
            fitted.append((train, targets[:, o], correlation_order(train, targets[:, o]), [best]))
            chosen[f"n_{o}"] = float(best)
        return Part(None, fitted, chosen)

    def _errors(self, t: Rehearsal, o: int, sizes: Sequence[int]) -> list[float]:
        curve = self._curve(t.train, t.targets[:, o], correlation_order(t.train, t.targets[:, o]), sizes, t.queries)
        return [float(np.mean((t.truth[:, o] - p[:, 0]) ** 2)) for p in curve]

    def _curve(self, train: Samples, y: np.ndarray, order: Any, sizes: Any, queries: Samples) -> np.ndarray:
        return prefix_curve(train, y, queries, order=order, sizes=sizes, k=10, beta=1e6)  # all ten alike

    def _predict_part(self, part: Part, queries: Samples) -> np.ndarray:
        predicted = [self._curve(train, y, order, sizes, queries)[0] for train, y, order, sizes in part.model]
        return np.column_stack(predicted)


class SelectorAuto:
    """A selector and the decoder that the training data prefer on its features, as `neurofs decode` joins them."""

    def __init__(self, selector: str) -> None:
        self.selector = selector

    def fit(self, X: Samples, y: np.ndarray, groups: Any = None) -> Self:
        """Fit each output by itself."""
        outputs = tuple(f"output {o}" for o in range(y.shape[1]))
        options = CompareOptions(selectors=(self.selector,))
        problem = Problem(X, y, groups, np.arange(len(X)), [], outputs, ("",) * len(outputs), (), options)
        self.decoders_ = [
            fit_method(problem, f"{self.selector} + auto", Task(self.selector, o, 0, 0), Half(X, y[:, o], groups))
            for o in range(y.shape[1])
        ]
        return self

    def predict(self, X: Samples) -> np.ndarray:
        """Return one column for each output."""
        return np.column_stack([decoder.predict(X) for decoder in self.decoders_])


def correlation_order(samples: Samples, y: np.ndarray) -> np.ndarray:
    """Return the features by falling |Pearson r| with y, constant features last."""
    X = np.asarray(samples, dtype=np.float64)
    X -= X.mean(axis=0)
    norms = np.linalg.norm(X, axis=0)
    r = np.abs((y - y.mean()) @ X) / np.where(norms > 0, norms, 1.0)
    return np.argsort(-r, kind="stable")


ROWS: dict[str, Entry] = {
    "RGS + soft kNN": Entry(lambda p, seed: SoftKNN(), weights="own"),
    "RGS + local-linear": Entry(lambda p, seed: LocalLinear(), weights="common"),
    "RGS + kernel ridge": Entry(lambda p, seed: KernelRidgeMetric(), weights="common"),
    "kernel RGS": Entry(lambda p, seed: KernelRGSDecoder(random_state=seed)),
    "kernel RGS, lags not mixed": Entry(lambda p, seed: KernelRGSDecoder(mixed=False, random_state=seed)),
    "RGS + auto": Entry(lambda p, seed: SelectorAuto("rgs")),
    "SKS + auto": Entry(lambda p, seed: SelectorAuto("sks")),
    "infogain + auto": Entry(lambda p, seed: SelectorAuto("infogain")),
    "corrcoef + auto": Entry(lambda p, seed: SelectorAuto("corrcoef")),
    "all features + auto": Entry(lambda p, seed: SelectorAuto("all")),
    "soft kNN": Entry(lambda p, seed: SoftKNN()),
    "local-linear": Entry(lambda p, seed: LocalLinear()),
    "kernel ridge": Entry(lambda p, seed: KernelRidgeMetric()),
    "SVR-RBF": Entry(lambda p, seed: SVR()),
    "XGBoost": Entry(lambda p, seed: GradientBoosting(library="xgboost"), needs="xgboost"),
    "MLP": Entry(lambda p, seed: MLP(random_state=seed)),
    "LSTM": Entry(lambda p, seed: LSTM(p.n_channels, random_state=seed), needs="torch", n_seeds=3),
    "kNN on best n by correlation": Entry(lambda p, seed: CorrelationKNN()),
    "ridge": Entry(lambda p, seed: Ridge()),
    "Wiener cascade": Entry(lambda p, seed: WienerCascade()),
    "Kalman": Entry(lambda p, seed: Kalman()),
}
OURS = ("RGS + soft kNN", "RGS + local-linear", "RGS + kernel ridge")
AVERAGES: dict[str, tuple[str, ...]] = {
    "RGS average": OURS,
    "RGS and kernel RGS average": (*OURS, "kernel RGS"),
    "unit average": ("soft kNN", "local-linear", "kernel ridge"),
}


def run_league(
    recordings: Sequence[str] | None = None,
    rows: Sequence[str] | None = None,
    folder: Path | None = None,
    n_jobs: int = 1,
    report: Report = print,
) -> pd.DataFrame:
    """Run the league on the recordings of `folder`, all or those named; see `run_session`."""
    names = _known("recording", recordings, RECORDINGS)
    folder = shared_data() if folder is None else folder
    if not folder.is_dir():
        raise UsageError(f"no folder {folder} with the recordings; name it in NEUROFS_SHARED_DATA")
    tables = [run_session(RECORDINGS[name](folder), rows, n_jobs, report) for name in names]
    return pd.concat(tables, ignore_index=True)


def run_session(
    session: Session, rows: Sequence[str] | None = None, n_jobs: int = 1, report: Report = print
) -> pd.DataFrame:
    """Run all rows, or those named, on the folds of one session.

    Returns a tidy table: recording, decoder, fold, seed, output, r2, coverage (share of the test samples inside
    their 95 % interval, NaN where a decoder has none), far_coverage (the same of the fifth of the samples whose
    target lies farthest from its mean), weights_seconds (RGS, shared by the rows of a fold), fit_seconds,
    predict_seconds (CPU seconds), memory_mb (growth of the resident memory at its peak, fitting and predicting),
    overlaps (pairs of training and test samples that share raw data: 0). With n_jobs > 1, fits run in processes of
    their own; scores do not depend on it.
    """
    chosen = _installed(_known("row", rows, ROWS), report)
    splits = list(session.folds())
    weighings = _weigh_folds(session, [train for train, _ in splits], chosen, n_jobs)
    tasks = [
        delayed(_run_row)(session, name, seed, fold, *split, weighings[fold][ROWS[name].weights])
        for fold, split in enumerate(splits)
        for name in chosen
        for seed in range(ROWS[name].n_seeds)
    ]
    results: dict[int, dict[Run, Result]] = {fold: {} for fold in range(len(splits))}
    for fold, run, result in Parallel(n_jobs=n_jobs, return_as="generator_unordered")(tasks):
        results[fold][run] = result
        report(_progress(session, fold, run, result, splits[fold][1]))
    records = [r for fold, split in enumerate(splits) for r in _score_fold(session, fold, *split, results[fold])]
    return pd.DataFrame(records).sort_values(["decoder", "fold", "seed"], kind="stable", ignore_index=True)


def _known(what: str, names: Sequence[str] | None, known: Mapping[str, Any]) -> list[str]:
    """Return the names, all if none are given."""
    unknown = sorted(set(names or ()) - set(known))
    if unknown:
        raise UsageError(f"no {what} named {unknown[0]!r}; known are {', '.join(known)}")
    return list(known) if names is None else list(names)


def _installed(names: Sequence[str], report: Report) -> list[str]:
    """Return the rows whose library is installed, and report the others."""
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
    """What a row predicted for the test part of a fold, with which deviations (NaN: none), and what it cost."""

    predicted: np.ndarray
    deviations: Any
    costs: dict[str, float]


def _training_data(session: Session, train: np.ndarray) -> tuple[Any, ...]:
    trials = None if session.trials is None else session.trials[train]
    return session.samples[train], session.y[train], trials


def _run_row(
    session: Session, name: str, seed: int, fold: int, train: np.ndarray, test: np.ndarray, weighing: Weighing
) -> tuple[int, Run, Result]:
    """Fit one row on one fold and predict."""
    data, queries = _training_data(session, train), session.samples[test]
    with one_thread():
        predicted, deviations, costs = _measure(ROWS[name].make(session, seed), data, weighing.arguments, queries)
    return fold, (name, seed), Result(predicted, deviations, costs | {"weights_seconds": weighing.seconds})


def _score_fold(
    session: Session, fold: int, train: np.ndarray, test: np.ndarray, results: dict[Run, Result]
) -> Iterator[dict[str, Any]]:
    """Yield the scores of every row of a fold, and of the averages of rows."""
    overlaps, truth = overlap_audit(session.samples, train, test), session.y[test]
    for (name, seed), result in (results | _average(results)).items():
        r2 = r_squared(truth, result.predicted, axis=0)
        covered = coverage(truth, result.predicted, result.deviations)
        far = coverage(truth, result.predicted, result.deviations, rank_by_size(truth.T).T == N_PARTS - 1)
        for o, output in enumerate(session.outputs):
            yield {
                "recording": session.name,
                "decoder": name,
                "fold": fold,
                "seed": seed,
                "output": output,
                "r2": r2[o],
                "coverage": covered[o],
                "far_coverage": far[o],
                **result.costs,
                "overlaps": overlaps,
            }


def _average(results: Mapping[Run, Result]) -> dict[Run, Result]:
    """Return the averages whose members all took part, each with its first seed."""
    averages: dict[Run, Result] = {}
    for name, members in AVERAGES.items():
        parts = [results[member, 0] for member in members if (member, 0) in results]
        if len(parts) == len(members):
            mean = np.mean([part.predicted for part in parts], axis=0)
            averages[name, 0] = Result(mean, np.nan, _joint_cost([part.costs for part in parts]))
    return averages


def _joint_cost(costs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the joint cost: the weights are counted once, times are added up, the largest memory counts."""
    table = pd.DataFrame(costs)
    once = table[["weights_seconds", "memory_mb"]].max()
    return {**table[["fit_seconds", "predict_seconds"]].sum().to_dict(), **once.to_dict()}


def _weigh_folds(
    session: Session, trains: Sequence[np.ndarray], rows: Sequence[str], n_jobs: int
) -> list[dict[str, Weighing]]:
    """Return the weighings of each fold, of every kind that the rows ask for."""
    kinds = {ROWS[name].weights for name in rows}
    fits = [_fit_common] * bool(kinds - {"unit"}) + [_fit_separate] * ("own" in kinds)
    tasks = [delayed(_timed)(fit, *_training_data(session, train)) for train in trains for fit in fits]
    done = Parallel(n_jobs=n_jobs)(tasks)
    parts = [done[i * len(fits) : (i + 1) * len(fits)] for i in range(len(trains))]
    return [_make_weighings(part) for part in parts]


def _timed(fit: Callable[..., Any], *data: Any) -> tuple[Any, float]:
    start = time.process_time()
    with one_thread():
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
) -> tuple[np.ndarray, Any, dict[str, float]]:
    """Return predictions, standard deviations (NaN if the decoder knows none), and what it cost."""
    meter, start = MemoryMeter(), time.process_time()
    decoder.fit(*data, *weighing)
    middle = time.process_time()
    predicted = decoder.predict(queries)
    stop = time.process_time()
    memory = meter.read() / 1e6 if meter.restarts else np.nan
    costs = {"fit_seconds": middle - start, "predict_seconds": stop - middle, "memory_mb": memory}
    deviations = decoder.predict(queries, return_std=True)[1] if _has_deviations(decoder) else np.nan
    return predicted, deviations, costs


def _has_deviations(decoder: Any) -> bool:
    return "return_std" in signature(decoder.predict).parameters


def coverage(truth: np.ndarray, predicted: np.ndarray, deviations: Any, which: Any = True) -> np.ndarray:
    """Return for each output the share of rows within 1.96 deviations of the truth, NaN without deviations.

    `which` (rows, outputs) says which rows count.

    >>> coverage(np.zeros((2, 1)), np.array([[1.0], [3.0]]), np.ones((2, 1)))
    array([0.5])
    """
    inside = holds(truth, predicted, deviations)
    known = np.isfinite(deviations).all()
    return inside.mean(axis=0, where=which) if known else np.full(truth.shape[1], np.nan)


def _progress(session: Session, fold: int, run: Run, result: Result, test: np.ndarray) -> str:
    """Return one line on a decoder and a fold."""
    r2 = float(np.mean(r_squared(session.y[test], result.predicted, axis=0)))
    row = run[0] if ROWS[run[0]].n_seeds == 1 else f"{run[0]} seed {run[1]}"
    return f"{session.name} fold {fold} {row}: R² {r2:.3f}, {result.costs['fit_seconds']:.1f} s"
