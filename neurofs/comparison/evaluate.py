"""`run_task`: the only place where a selector meets a decoder.

In every fold, on the training part alone: channels of a continuous signal get one scale; the selector ranks the
features; it ranks them again without each of a few inner hold-outs, on which soft kNN is tried with the first n
features for many n, k and β, with and without the selector's weights; the best n, k and β are chosen there. The test
part is then predicted for every n (the curve; of a long test part some rows, spread evenly) and at the chosen n (the
headline). Further decoders are tuned on the same hold-outs.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from neurofs.comparison.names import find_decoder, split_method
from neurofs.comparison.problem import Problem, Task, decoders_of, effort_of, make_sizes
from neurofs.comparison.scores import score_classes, score_values
from neurofs.comparison.store import TaskResult
from neurofs.decoders import DECODERS
from neurofs.decoders.nearest import SoftKNN, count_references
from neurofs.features.holdouts import Holdout, hold_out, pick_evenly
from neurofs.features.samples import Samples
from neurofs.ground.effort import bound
from neurofs.ground.errors import MAX_MESSAGE, UsageError, printable
from neurofs.ground.threads import one_thread
from neurofs.metric.neighbors import prefix_curves
from neurofs.selectors import SELECTORS
from neurofs.selectors.targets import one_hot

HOLDOUTS = 2  # inner hold-outs of a training part
TIMED = 15  # estimates whose time is taken
JUDGED = 1000  # samples of a hold-out on which n, k and β are chosen, and of a test part in a curve, with normal effort
NEIGHBORS = (5, 10, 20, 40, 80)
BETAS = (0.1, 0.25, 0.5)


@dataclass(frozen=True, eq=False)
class Half:
    """The training or the test part of a fold: samples, targets (values of one or all outputs), trials."""

    samples: Samples
    y: np.ndarray
    trials: np.ndarray | None

    def __getitem__(self, rows: np.ndarray) -> Half:
        return Half(self.samples[rows], self.y[rows], None if self.trials is None else self.trials[rows])


@dataclass(frozen=True, eq=False)
class Ranking:
    """What a selector found: features, best first; their weights; the weights of its metric if it has one."""

    order: np.ndarray
    weights: np.ndarray
    metric: np.ndarray | None

    def top(self, n: int) -> np.ndarray:
        """Return the metric of the first n features, all others 0; unit weights if there is no metric."""
        kept = np.zeros(self.order.size)
        kept[self.order[:n]] = 1.0 if self.metric is None else self.metric[self.order[:n]]
        return kept if kept.any() else np.isin(np.arange(kept.size), self.order[:n]).astype(float)


@dataclass(frozen=True)
class Choice:
    """A number of features, k and β of soft kNN, and whether distances are weighted."""

    n: int
    k: int
    beta: float
    weighted: bool


@dataclass(frozen=True, eq=False)
class Tuned:
    """The rehearsal of one selector: its rankings without the hold-outs, and the best point for every n."""

    holdouts: list[Holdout]
    best: dict[tuple[bool, int], tuple[int, float]]
    choice: Choice


def run_task(problem: Problem, task: Task) -> TaskResult:
    """Do one task, with one thread."""
    started = time.perf_counter()
    with one_thread():
        fold = next(f for f in problem.folds if (f.repeat, f.fold) == (task.repeat, task.fold))
        whole = take_all(problem, task, fold.train)
        run = _run_joint if find_decoder(task.method) else _run_selector
        result = run(problem, task, whole[fold.train], whole[fold.test])
    return replace(result, seconds=time.perf_counter() - started)


def take_all(problem: Problem, task: Task, train: np.ndarray | None = None) -> Half:
    """Return all samples, with the targets of a task; signals are on the scale of the training rows."""
    y = problem.targets if task.output < 0 else problem.targets[:, task.output]
    return Half(problem.scale(train), y[:, 0] if y.ndim == 2 and problem.classes else y, problem.trials)


# ------------------------------------------------------------------------------------------------- selectors


def _run_selector(problem: Problem, task: Task, train: Half, test: Half) -> TaskResult:
    """Rank, choose, draw the curve, and decode at the choice."""
    seed = task.seed(problem.options.seed)
    sizes = _sizes(problem, task.method)
    ranking = fit_selector(problem, task.method, train, seed)
    tuned = rehearse(problem, task.method, train, sizes, seed)
    rows, predicted, choice = [], {}, tuned.choice
    few = test[_thin(problem, len(test.y))]
    for weighted in sorted({weighted for weighted, _ in tuned.best}):
        points = [tuned.best[weighted, n] for n in sizes]
        curve = _predict_curves(problem, ranking, train, few, sizes, points, weighted, one_each=True)[0]
        rows += _curve_rows(problem, task, few, sizes, points, curve, weighted)
        if weighted == choice.weighted:
            predicted[task.method] = curve[list(sizes).index(choice.n)]
    if len(few.y) < len(test.y):
        point = [(choice.k, choice.beta)]
        curves = _predict_curves(problem, ranking, train, test, np.array([choice.n]), point, choice.weighted)
        predicted[task.method] = curves[0, 0]
    about = {"selector": task.method, "decoder": "knn", **vars(choice)}
    chosen = [_row(problem, task, test, task.method, predicted[task.method], about)]
    latency = {task.method: _time_estimate(_fit_soft_knn(problem, ranking, choice, train), test)}
    for name in decoders_of(problem, task.method):
        method = f"{task.method} + {name}"
        decoder, about = _fit_decoder(problem, name, ranking, tuned, train)
        predicted[method] = _labels(problem, decoder.predict(test.samples))
        latency[method] = _time_estimate(decoder, test)
        chosen.append(_row(problem, task, test, method, predicted[method], {"selector": task.method, **about}))
    for row in (*rows, *chosen):
        row["n_train"] = len(train.y)
    return TaskResult(
        [*rows, *chosen],
        weights=ranking.weights.astype(np.float32),
        order=ranking.order.astype(np.int32),
        predicted={method: values.astype(np.float32) for method, values in predicted.items()},
        latency=latency,
    )


def _thin(problem: Problem, n_rows: int) -> np.ndarray:
    """Return the rows by which soft kNN is judged for all n, k and β: all, or an even selection.

    Neighboring rows share most of their bins, so that few of them say nearly as much as all.
    """
    return pick_evenly(n_rows, int(min(bound(problem.options.effort, JUDGED), n_rows)))


def _references(problem: Problem, train: Half) -> Half:
    """Return the training rows among which soft kNN looks for neighbors: all, or of very many an even selection."""
    most = count_references(len(train.y), problem.samples.n_features, problem.options.effort)
    return train if most == len(train.y) else train[pick_evenly(len(train.y), most)]


def _sizes(problem: Problem, method: str) -> np.ndarray:
    """Return the numbers of features of a curve; the baseline of all features has but one."""
    n_features = problem.samples.n_features
    return np.array([n_features]) if method == "all" else make_sizes(problem.options, n_features)


def fit_selector(problem: Problem, name: str, train: Half, seed: int) -> Ranking:
    """Fit a selector by name to the training part."""
    kind = SELECTORS[name]
    settings = problem.settings(name)
    if "random_state" in kind().get_params():
        settings = {"random_state": seed, **settings}
    selector = kind(**settings)
    y = train.y
    if problem.classes and kind.target == "continuous":
        y = one_hot(train.y, len(problem.classes))
    try:
        selector.fit(train.samples, y, groups=train.trials)
    except ValueError as error:
        why = printable(error, MAX_MESSAGE).rstrip(".")
        remedy = f"Give parameters as --set {name}.PARAMETER=VALUE, or leave {name} out; what is finished is kept."
        raise UsageError(f"{why}. {remedy}") from error
    metric = getattr(selector, "metric_weights_", selector.weights_) if kind.is_metric else None
    return Ranking(selector.order_, selector.weights_, metric)


def rehearse(problem: Problem, name: str, train: Half, sizes: np.ndarray, seed: int, at_most: int = HOLDOUTS) -> Tuned:
    """Choose n, k, β and the weighting on hold-outs of the training part."""

    def fit(samples: Samples, y: np.ndarray, trials: Any) -> Ranking:
        return fit_selector(problem, name, Half(samples, y, trials), seed)

    holdouts = hold_out(train.samples, train.y, fit, train.trials, at_most)
    points = _points(problem, min(len(h.fit) for h in holdouts))
    best, least = {}, np.inf
    for weighted in (False, True) if holdouts[0].weights.metric is not None else (False,):
        errors = np.mean([_errors(problem, train, h, sizes, points, weighted) for h in holdouts], axis=0)
        for n, by_point in zip(sizes, errors.T, strict=True):
            best[weighted, int(n)] = points[int(np.argmin(by_point))]
        if errors.min() < least:
            least, n = errors.min(), int(sizes[int(np.argmin(errors.min(axis=0)))])
            choice = Choice(n, *best[weighted, n], weighted)
    return Tuned(holdouts, best, choice)


def _points(problem: Problem, n_rows: int) -> list[tuple[int, float]]:
    """Return the pairs of k and β to try, k at most the number of training rows."""
    options = problem.options
    neighbors = NEIGHBORS if options.n_neighbors == "auto" else (options.n_neighbors,)
    betas = BETAS if options.beta == "auto" else (options.beta,)
    fitting = sorted({min(k, n_rows) for k in neighbors})
    return list(product(fitting, betas))


def _errors(problem: Problem, train: Half, held: Holdout, sizes: np.ndarray, points: Any, weighted: bool) -> np.ndarray:
    """Return the error on a hold-out, (points, sizes): squared error, or the share of wrong classes."""
    fit, test = train[held.fit], train[held.test[_thin(problem, len(held.test))]]
    curves = _predict_curves(problem, held.weights, fit, test, sizes, points, weighted)
    wrong = curves != test.y if problem.classes else (curves - test.y) ** 2
    return np.mean(wrong, axis=-1)


def _predict_curves(
    problem: Problem,
    ranking: Ranking,
    train: Half,
    test: Half,
    sizes: np.ndarray,
    points: list[tuple[int, float]],
    weighted: bool,
    one_each: bool = False,
) -> np.ndarray:
    """Predict the test part with the first n features, (points, sizes, rows): values, or classes.

    With `one_each`, each size has its own point.
    """
    train = _references(problem, train)
    curves = prefix_curves(
        train.samples,
        _targets(problem, train),
        test.samples,
        order=ranking.order,
        sizes=sizes,
        points=points,
        weights=ranking.metric if weighted else None,
        one_each=one_each,
    )
    return curves.argmax(axis=-1) if problem.classes else curves[..., 0]


def _fit_decoder(
    problem: Problem, name: str, ranking: Ranking, tuned: Tuned, train: Half
) -> tuple[Any, dict[str, Any]]:
    """Fit another decoder: one that chooses how far to trust a metric takes all of it, the others the chosen features.

    It may then end with all features alike, so that a metric that misleads costs nothing. The number of features was
    chosen for soft kNN, which needs few where kernel ridge needs many.
    """
    whole = getattr(DECODERS[name], "SOFTENS", False) and ranking.metric is not None
    n = ranking.order.size if whole else tuned.choice.n
    holdouts = [Holdout(h.fit, h.test, h.weights.top(n)) for h in tuned.holdouts]
    decoder = DECODERS[name](**effort_of(DECODERS[name], problem.options))
    decoder.fit(train.samples, _targets(problem, train), train.trials, ranking.top(n), holdouts)
    used = decoder.preferred_[0] if name == "auto" else name
    return decoder, {"decoder": used, "n": n, "weighted": ranking.metric is not None}


def fit_method(problem: Problem, method: str, task: Task, train: Half) -> Any:
    """Return the decoder of a method, fitted to a training part as `run_task` fits it.

    `task` is one of the selector, or of the decoder itself if it decodes all features. A selector alone is decoded
    by soft kNN, with its choices.
    """
    if find_decoder(method):
        decoder = _make_joint(problem, task)[0]
        return decoder.fit(train.samples, _targets(problem, train), train.trials)
    selector, name = split_method(method)
    seed = task.seed(problem.options.seed)
    ranking = fit_selector(problem, selector, train, seed)
    tuned = rehearse(problem, selector, train, _sizes(problem, selector), seed)
    if name:
        return _fit_decoder(problem, name, ranking, tuned, train)[0]
    return _fit_soft_knn(problem, ranking, tuned.choice, train)


def _fit_soft_knn(problem: Problem, ranking: Ranking, choice: Choice, train: Half) -> SoftKNN:
    """Return soft kNN with the choices of a selector."""
    metric = (ranking if choice.weighted else replace(ranking, metric=None)).top(choice.n)
    train = _references(problem, train)
    decoder: SoftKNN = SoftKNN(n_neighbors=choice.k, beta=choice.beta)
    return decoder.fit(train.samples, _targets(problem, train), train.trials, metric)


def _time_estimate(decoder: Any, test: Half) -> float:
    """Return how long one estimate after another takes, in milliseconds: the median of a few."""
    step, took = decoder.start_online(), []
    for i in range(min(len(test.y), TIMED)):
        started = time.perf_counter()
        step(test.samples[i : i + 1], i > 0)
        took.append(time.perf_counter() - started)
    return 1000.0 * float(np.median(took))


def _targets(problem: Problem, part: Half) -> np.ndarray:
    """Return what a regressor is fitted to: values, or one column per class."""
    return one_hot(part.y, len(problem.classes)) if problem.classes else part.y


def _labels(problem: Problem, predicted: np.ndarray) -> np.ndarray:
    """Return values, or the class with the largest score."""
    return predicted.argmax(axis=-1) if problem.classes else predicted


# ------------------------------------------------------------------------------------------------- baselines


def _run_joint(problem: Problem, task: Task, train: Half, test: Half) -> TaskResult:
    """Fit a decoder on all features to all outputs at once."""
    decoder, about = _make_joint(problem, task)
    decoder.fit(train.samples, _targets(problem, train), train.trials)
    deviations, kept = {}, None
    if decoder.gives_deviation and not problem.classes:
        predicted, deviation = decoder.predict(test.samples, return_std=True)
        deviations[task.method] = deviation.reshape(len(predicted), -1).astype(np.float32)
    else:
        predicted = _labels(problem, decoder.predict(test.samples))
    columns = predicted.reshape(len(predicted), -1)
    if hasattr(decoder, "channel_path_"):
        channels = decoder.channel_path_.channels
        about["n"] = len(channels) * problem.samples.n_lags
        kept = np.isin(np.arange(problem.samples.n_channels), channels)
    about = {**about, "n_train": len(train.y)}
    rows = [
        _row(problem, Task(task.method, o, task.repeat, task.fold), _column(test, o), task.method, values, about)
        for o, values in enumerate(columns.T)
    ]
    predictions = {task.method: columns.astype(np.float32)}
    latency = {task.method: _time_estimate(decoder, test)}
    return TaskResult(rows, kept=kept, predicted=predictions, deviation=deviations, latency=latency)


def _make_joint(problem: Problem, task: Task) -> tuple[Any, dict[str, Any]]:
    """Return a decoder of all outputs, and what to say of it."""
    name = split_method(task.method)[1]
    kind, n = DECODERS[name], problem.samples.n_features
    settings: dict[str, Any] = (
        {"random_state": task.seed(problem.options.seed)} if "random_state" in kind().get_params() else {}
    )
    settings |= effort_of(kind, problem.options)
    about = {"selector": kind.own_metric or "all", "decoder": kind.own_metric or name}
    return kind(**settings), {**about, "n": n, "weighted": bool(kind.own_metric)}


def _column(part: Half, output: int) -> Half:
    """Return the part with one output alone."""
    return Half(part.samples, part.y.reshape(len(part.y), -1)[:, output], part.trials)


# ------------------------------------------------------------------------------------------------------ rows


def _curve_rows(
    problem: Problem,
    task: Task,
    test: Half,
    sizes: np.ndarray,
    points: list[tuple[int, float]],
    curve: np.ndarray,
    weighted: bool,
) -> list[dict[str, Any]]:
    """Return one row of scores for every size."""
    about = {"selector": task.method, "decoder": "knn", "weighted": weighted, "chosen": False}
    return [
        _row(problem, task, test, task.method, values, {**about, "n": int(n), "k": k, "beta": beta})
        for n, (k, beta), values in zip(sizes, points, curve, strict=True)
    ]


def _row(
    problem: Problem, task: Task, test: Half, method: str, predicted: np.ndarray, about: dict[str, Any]
) -> dict[str, Any]:
    """Return one row of the table of scores."""
    score = score_classes if problem.classes else score_values
    return {
        "output": problem.outputs[task.output],
        "repeat": task.repeat,
        "fold": task.fold,
        "method": method,
        "chosen": True,
        **about,
        **{name: float(value) for name, value in score(test.y, predicted).items()},
        "n_test": len(test.y),
    }
