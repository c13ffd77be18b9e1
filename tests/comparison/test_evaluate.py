"""The comparison against independent computations, and that no test sample influences a fit."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
from sklearn_protocol import predict_knn, predict_ridge, rank_by_correlation, split

import neurofs
from neurofs.comparison import evaluate
from neurofs.comparison.evaluate import HOLDOUTS, run_task
from neurofs.comparison.headline import MOST_KEPT
from neurofs.comparison.problem import KERNEL, RESULT_ROOMS, SPARSE, Problem, Task, list_tasks, task_key
from neurofs.decoders import DECODERS, nearest
from neurofs.decoders.base import Decoder
from neurofs.features.holdouts import hold_out, pick_evenly
from neurofs.features.splits import overlap_audit
from neurofs.features.tensor import build_tensor
from neurofs.ground.config import CompareOptions, RunOptions
from neurofs.ground.errors import UsageError
from neurofs.pipeline import prepare
from neurofs.recordings.quality import inspect_file
from neurofs.recordings.simulate import simulate_session
from neurofs.selectors import SELECTORS

SESSION = simulate_session(24, n_electrodes=3, random_state=3)


def make_problem(target="hand_velocity", n_lags=2, **options):
    tensor = build_tensor(SESSION, target, n_lags=n_lags)
    return Problem.from_tensor(tensor, CompareOptions(**{"n_splits": 4, **options}))


def without_ties(problem):
    """The same problem with counts that no two bins share, so that every nearest neighbor is unique."""
    flat = problem.samples.flat
    noise = np.random.default_rng(0).normal(scale=0.3, size=flat.shape).astype(np.float32)
    return dataclasses.replace(problem, samples=dataclasses.replace(problem.samples, flat=flat + noise))


def test_blocks_that_cut_trials_are_refused_where_a_trial_has_one_class():
    assert make_problem("direction", n_lags=2).kind == "trials"
    with pytest.raises(UsageError, match="all bins of a trial have its class"):
        make_problem("direction", n_lags=2, folds="blocks")
    assert make_problem(folds="blocks").kind == "blocks"


@pytest.mark.parametrize("output", [0, 1])
def test_curve_and_choice_equal_scikit_learn(output):
    problem = without_ties(make_problem(n_neighbors=7, beta=0.5, sizes=(1, 4, 9, 24), decoders=("knn",)))
    task = Task("corrcoef", output, 0, 2)
    train, test, rows, test_rows = split(problem, task)
    y, truth = problem.targets[rows, output], problem.targets[test_rows, output]
    order = rank_by_correlation(train, y)
    found = run_task(problem, task)
    np.testing.assert_array_equal(found.order, order)
    for row in found.rows:
        kept = order[: row["n"]]
        predicted = predict_knn(train[:, kept], y, test[:, kept], 7)
        assert row["mse"] == pytest.approx(np.mean((truth - predicted) ** 2), rel=2e-3)
        assert row["r2"] == pytest.approx(1 - np.mean((truth - predicted) ** 2) / truth.var(), abs=2e-3)
        assert row["r"] == pytest.approx(np.corrcoef(truth, predicted)[0, 1], abs=2e-3)
        assert (row["n_train"], row["n_test"]) == (len(rows), len(test_rows))
    assert [row["n"] for row in found.rows if not row["chosen"]] == [1, 4, 9, 24]
    assert len([row for row in found.rows if row["chosen"]]) == 1


@pytest.mark.parametrize("selector", ["corrcoef", "rgs", "all"])
def test_curves_of_long_test_parts_show_an_even_selection(selector, monkeypatch):
    problem = make_problem(n_neighbors=7, beta=0.5, sizes=(1, 4, 9, 24), decoders=("knn",))
    task, n_judged = Task(selector, 0, 0, 2), 15
    monkeypatch.setattr(evaluate, "JUDGED", n_judged)
    found = run_task(problem, task)
    test = problem.folds[2].test
    few = test[pick_evenly(len(test), n_judged)]
    assert {row["n_test"] for row in found.rows if not row["chosen"]} == {n_judged}
    assert {row["n_test"] for row in found.rows if row["chosen"]} == {len(test)}
    assert found.predicted[selector].shape == (len(test),)
    chosen = next(row for row in found.rows if row["chosen"])
    same = [row for row in found.rows if (row["n"], row["weighted"]) == (chosen["n"], chosen["weighted"])]
    truth, predicted = problem.targets[few, 0], found.predicted[selector][pick_evenly(len(test), n_judged)]
    assert same[0]["mse"] == pytest.approx(np.mean((truth - predicted) ** 2), rel=1e-4)


def test_soft_knn_looks_among_an_even_selection_of_very_many_training_rows(monkeypatch):
    problem = without_ties(make_problem(n_neighbors=7, beta=0.5, decoders=("knn",)))
    monkeypatch.setattr(nearest, "COMPARED", 30 * problem.samples.n_features)
    task = Task("all", 0, 0, 2)
    train, test, rows, _ = split(problem, task)
    few = pick_evenly(len(rows), 30)
    predicted = predict_knn(train[few], problem.targets[rows[few], 0], test, 7)
    found = run_task(problem, task)
    np.testing.assert_allclose(found.predicted["all"], predicted, atol=2e-3 * np.abs(predicted).max())
    assert {row["n_train"] for row in found.rows} == {len(rows)}
    full = without_ties(make_problem(n_neighbors=7, beta=0.5, decoders=("knn",), effort="full"))
    predicted = predict_knn(train, problem.targets[rows, 0], test, 7)
    whole = run_task(full, task).predicted["all"]
    np.testing.assert_allclose(whole, predicted, atol=2e-3 * np.abs(predicted).max())


def test_n_is_chosen_by_the_inner_hold_outs_alone():
    sizes = (1, 4, 9, 24)
    problem = without_ties(make_problem(n_neighbors=7, beta=0.5, sizes=sizes, decoders=("knn",)))
    task = Task("corrcoef", 0, 0, 1)
    train, _, rows, _ = split(problem, task)
    y, trials = problem.targets[rows, 0], problem.trials[rows]
    errors = []
    for held in hold_out(problem.samples[rows], y, lambda *_: None, trials, HOLDOUTS):
        fit, test = train[held.fit], train[held.test]
        order = rank_by_correlation(fit, y[held.fit])
        for n in sizes:
            predicted = predict_knn(fit[:, order[:n]], y[held.fit], test[:, order[:n]], 7)
            errors.append(np.mean((predicted - y[held.test]) ** 2))
    best = sizes[np.argmin(np.mean(np.reshape(errors, (HOLDOUTS, 4)), axis=0))]
    (chosen,) = [row for row in run_task(problem, task).rows if row["chosen"]]
    assert chosen["n"] == best


def test_ridge_equals_scikit_learn_with_the_strength_that_the_hold_outs_prefer():
    problem = make_problem()
    task = Task("ridge", -1, 0, 0)
    train, test, rows, _ = split(problem, task)
    Y = problem.targets[rows]
    found = run_task(problem, task).predicted["ridge"]
    np.testing.assert_allclose(found, predict_ridge(problem, rows, train, Y, test), atol=2e-3 * Y.std())


@pytest.mark.slow
@pytest.mark.shared_data
@pytest.mark.parametrize("name", ["stevenson2011_m1.mat", "chewie_20131003_m1.npz", "a2929_head_direction.nwb"])
def test_real_recordings_with_what_inspect_suggests_equal_scikit_learn(shared_data, name):
    suggested = inspect_file(shared_data / name)["decode"]["options"]
    options = RunOptions(
        file=str(shared_data / name),
        **suggested,
        n_neighbors=25,
        beta=0.5,
        decoders=("knn",),
        sizes=(100, 150),
        effort="full",
    )
    problem = prepare(options).problem
    assert all(fold.n_overlaps == 0 for fold in problem.folds)
    task = Task("corrcoef", 0, 0, 1)
    train, test, rows, test_rows = split(problem, task)
    y, truth = problem.targets[rows, 0], problem.targets[test_rows, 0]
    order = rank_by_correlation(train, y)
    for row in run_task(problem, task).rows:
        kept = order[: row["n"]]
        predicted = predict_knn(train[:, kept], y, test[:, kept], 25)
        assert row["r2"] == pytest.approx(1 - np.mean((truth - predicted) ** 2) / truth.var(), abs=0.004)
    task = Task("ridge", -1, 0, 1)
    expected = predict_ridge(problem, rows, train, problem.targets[rows], test)
    truths = problem.targets[test_rows].T
    for row, values, truth in zip(run_task(problem, task).rows, expected.T, truths, strict=True):
        assert row["r2"] == pytest.approx(1 - np.mean((truth - values) ** 2) / truth.var(), abs=1e-3)


def with_other_test_targets(problem, task):
    """The same problem with the targets of the test rows exchanged for others."""
    _, _, _, test = split(problem, task)
    targets = problem.targets.copy()
    rng = np.random.default_rng(0)
    if problem.classes:
        targets[test] = rng.integers(len(problem.classes), size=targets[test].shape)
    else:
        targets[test] = 1e3 * rng.normal(size=targets[test].shape)
    return dataclasses.replace(problem, targets=targets)


def assert_same_arrays(one, other):
    """Compare all that two results hold beside their rows and times."""
    for name in vars(one).keys() - {"rows", "seconds", "latency"}:
        np.testing.assert_equal(getattr(one, name), getattr(other, name), err_msg=name)


def assert_nothing_learned_from_test_targets(problem, task):
    one, other = run_task(problem, task), run_task(with_other_test_targets(problem, task), task)
    assert_same_arrays(one, other)
    learned = ("method", "decoder", "n", "k", "beta", "weighted")
    for row, again in zip(one.rows, other.rows, strict=True):
        assert {key: row.get(key) for key in learned} == {key: again.get(key) for key in learned}
    scores = "accuracy" if problem.classes else "mse"
    assert any(row[scores] != again[scores] for row, again in zip(one.rows, other.rows, strict=True))


@pytest.mark.parametrize("selector", [name for name, kind in SELECTORS.items() if kind.target != "classes"])
def test_no_selector_learns_from_test_targets(selector):
    n_lags, sizes = (1, (2, 6, 12)) if selector == "best-subset" else (2, (2, 12, 24))  # it takes few features
    selectors = (selector,) if selector not in ("all", "random") else ()
    problem = make_problem(n_lags=n_lags, selectors=selectors, sizes=sizes, decoders=("knn",))
    assert_nothing_learned_from_test_targets(problem, Task(selector, 0, 0, 1))


@pytest.mark.slow
@pytest.mark.parametrize("selector", [name for name, kind in SELECTORS.items() if kind.target != "continuous"])
def test_no_selector_of_classes_learns_from_test_targets(selector):
    quick = {"levels": 2, "tolerance": 0.2, "n_steps": 3}
    known = SELECTORS[selector]().get_params()
    settings = {selector: {name: value for name, value in quick.items() if name in known}}
    problem = make_problem(
        "direction",
        n_lags=1,
        selectors=(selector,) if selector not in ("all", "random") else (),
        sizes=(2, 6, 12),
        decoders=("knn",),
        settings=settings,
    )
    assert_nothing_learned_from_test_targets(problem, Task(selector, 0, 0, 1))


OWN_METRIC = [name for name, kind in DECODERS.own.items() if kind.own_metric]
OF_CLASSES = [name for name, kind in DECODERS.own.items() if kind.target == "classes"]


@pytest.mark.parametrize("decoder", OF_CLASSES)
def test_no_decoder_of_classes_learns_from_test_targets(decoder):
    problem = make_problem("direction", n_lags=1, selectors=("infogain",), decoders=(decoder,), sizes=(6, 12))
    task = Task("infogain", 0, 0, 1)
    assert_nothing_learned_from_test_targets(problem, task)
    assert {row["method"] for row in run_task(problem, task).rows} == {"infogain", f"infogain + {decoder}"}
    with pytest.raises(UsageError, match=f"decoder {decoder} needs classes"):
        make_problem(decoders=(decoder,))


@pytest.mark.parametrize("decoder", [name for name in DECODERS.own if name not in ("knn", *OWN_METRIC, *OF_CLASSES)])
def test_no_decoder_learns_from_test_targets(decoder):
    problem = make_problem(selectors=("rgs",), decoders=(decoder,), sizes=(6, 24))
    assert_nothing_learned_from_test_targets(problem, Task("rgs", 0, 0, 1))


def test_decoders_that_choose_how_far_to_trust_a_metric_take_all_of_it():
    """Down to all features alike, so that a metric and a number of features that mislead cost them nothing."""
    problem = make_problem(selectors=("rgs", "corrcoef"), decoders=("kernel-ridge", "ridge"), sizes=(2, 4))
    rows = [row for name in ("rgs", "corrcoef") for row in run_task(problem, Task(name, 0, 0, 1)).rows if row["chosen"]]
    found = {row["method"]: row["n"] for row in rows}
    assert found["rgs + kernel-ridge"] == problem.samples.n_features
    assert {found[m] for m in ("rgs", "rgs + ridge", "corrcoef", "corrcoef + kernel-ridge")} <= {2, 4}


@pytest.mark.parametrize("method", ["ridge", "kalman", KERNEL, SPARSE])
def test_no_decoder_of_all_features_learns_from_test_targets(method):
    problem = make_problem(decoders=tuple(OWN_METRIC))
    assert Task(method, -1, 0, 1) in list_tasks(problem)
    assert_nothing_learned_from_test_targets(problem, Task(method, -1, 0, 1))


class Mean(Decoder):
    """The mean of the training targets."""

    name, own_metric = "mean", "mean"

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y, groups=None):
        self.mean_ = np.mean(y, axis=0)
        return self

    def predict(self, X):
        return np.tile(self.mean_, (len(X), 1))


def test_any_decoder_with_a_metric_of_its_own_takes_part_without_a_selector(monkeypatch):
    monkeypatch.setitem(DECODERS.own, "mean", Mean)
    problem = make_problem(decoders=("knn", "mean"), selectors=("corrcoef",))
    task = Task("mean-decoder", -1, 0, 1)
    assert task in list_tasks(problem)
    rows = run_task(problem, task).rows
    assert [(row["method"], row["selector"], row["decoder"]) for row in rows] == [("mean-decoder", "mean", "mean")] * 2
    assert all(row["r2"] <= 0 for row in rows)
    assert not any("mean" in row["method"] for row in run_task(problem, Task("corrcoef", 0, 0, 1)).rows)


@pytest.mark.slow
def test_fewest_channels_are_counted_and_said():
    found = neurofs.compare(
        SESSION, "hand_velocity", n_lags=3, n_splits=3, selectors=["corrcoef"], decoders=["knn", "kernel-rgs-sparse"]
    )
    n = found.scores.loc[found.scores["method"] == SPARSE, "n"]
    assert len(n) == 6
    assert (n % 3 == 0).all(), "whole channels"
    assert n.between(3, 3 * SESSION.n_channels).all()
    kept = found.weights["kept"]
    np.testing.assert_array_equal(kept.sum("channel").values.ravel(), n.to_numpy()[:3] // 3)
    few = found.summary.few_channels
    assert few.n.median == int(n.median()) // 3
    assert {one.channel: one.share for one in few.channels} == {
        name: pytest.approx(share)
        for name, share in zip(SESSION.channels["name"], kept.mean(["repeat", "fold"]).values, strict=True)
        if share > 0
    }
    said = " ".join(found.summary.headline.sentences)
    assert f"{few.n.median} of {SESSION.n_channels} channels" in said
    often = [one.channel for one in few.channels if one.share > 0.5]
    assert f"Kept in most folds: {', '.join(often[:MOST_KEPT])}" in said
    assert ("these channels suffice" in said) == few.suffice
    table = found.scores[found.scores["chosen"]].pivot_table("r2", "fold", "method")
    assert few.difference.mean == pytest.approx((table[SPARSE] - table[KERNEL]).mean())
    assert few.suffice == (few.difference.low > -few.margin and any(c.beyond for c in found.summary.chance_of(SPARSE)))


def test_folds_are_whole_trials_and_pass_the_audit():
    problem = make_problem(n_repeats=3)
    assert len(problem.folds) == 12
    for fold in problem.folds:
        assert not set(problem.trials[fold.train]) & set(problem.trials[fold.test])
        assert fold.n_overlaps == overlap_audit(problem.samples, fold.train, fold.test) == 0
    orders = {tuple(f.test) for f in problem.folds if f.fold == 0}
    assert len(orders) == 3, "repeats must shift the borders"
    for fold in problem.folds:
        assert (np.diff(fold.test) == 1).all(), "a fold is one stretch of trials"
    for repeat in range(3):
        tested = np.concatenate([f.test for f in problem.folds if f.repeat == repeat])
        np.testing.assert_array_equal(np.sort(tested), np.arange(len(problem.samples)))


def test_shuffled_bins_are_refused_and_caught_by_the_audit_if_forced():
    with pytest.raises(UsageError, match="overlapping windows"):
        make_problem(folds="shuffled")
    problem = make_problem(folds="shuffled", allow_leakage=True)
    assert all(fold.n_overlaps > 0 for fold in problem.folds)


def test_the_key_of_a_task_knows_what_touches_it():
    problem, task = make_problem(), Task("rgs", 0, 0, 0)
    key = task_key(problem, task)
    assert task_key(make_problem(), task) == key
    assert task_key(make_problem(n_repeats=4), task) == key, "more repeats touch no task that is there"
    assert task_key(make_problem(selectors=("rgs", "sks")), task) == key
    assert task_key(make_problem(settings={"sks": {"n_neighbors": 9}}), task) == key
    for changed in (
        {"seed": 1},
        {"n_splits": 5},
        {"n_neighbors": 9},
        {"settings": {"rgs": {"n_epochs": 1}}},
        {"decoders": ("knn",)},
        {"n_lags": 3},
        {"effort": "full"},
    ):
        assert task_key(make_problem(**changed), task) != key, changed
    assert len({t.id for t in list_tasks(problem)}) == len(list_tasks(problem))


def test_the_key_of_a_task_knows_the_version_of_a_plug_in(monkeypatch):
    problem = make_problem(selectors=("rgs", "sks"), decoders=("knn", "svr", "kernel-rgs"))
    tasks = [Task("rgs", 0, 0, 0), Task("sks", 0, 0, 0), Task(KERNEL, -1, 0, 0)]

    def find_changed(registry, name):
        keys = []
        for version in "12":
            monkeypatch.setattr(registry, "package", lambda n, v=version: f"labkit {v}" if n == name else "")
            keys.append([task_key(problem, task) for task in tasks])
        monkeypatch.undo()
        return [before != after for before, after in zip(*keys, strict=True)]

    assert find_changed(SELECTORS, "rgs") == [True, False, False]
    assert find_changed(SELECTORS, "sks") == [False, True, False]
    assert find_changed(DECODERS, "svr") == [True, True, False]
    assert find_changed(DECODERS, "kernel-rgs") == [False, False, True]


@pytest.mark.slow
def test_the_version_of_the_code_covers_all_that_evaluate_imports():
    code = "import sys, neurofs.comparison.evaluate; print(*(m for m in sys.modules if m.startswith('neurofs.')))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for name in (module.removeprefix("neurofs.") for module in loaded.split()):
        assert name.partition(".")[0] in {*RESULT_ROOMS, "recordings"}, name


def test_results_do_not_depend_on_what_ran_before():
    problem = make_problem(selectors=("rgs",), sizes=(3, 24))
    task = Task("rgs", 1, 0, 3)
    first = run_task(problem, task)
    run_task(problem, Task("random", 0, 0, 0))
    again = run_task(problem, task)
    assert first.rows == again.rows
    assert_same_arrays(first, again)
