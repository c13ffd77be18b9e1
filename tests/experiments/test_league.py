import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge as SklearnRidge

from neurofs.comparison.evaluate import run_task
from neurofs.comparison.problem import Problem, Task
from neurofs.decoders.kernel_rgs import KernelRGSDecoder
from neurofs.experiments.bench import league
from neurofs.experiments.bench.league import ROWS, coverage, run_league, run_session
from neurofs.experiments.bench.league_table import GOALS, KERNEL_RGS, RIVALS, league_rows, render_league, summarize
from neurofs.experiments.bench.recordings import RECORDINGS, Session
from neurofs.features.holdouts import hold_out
from neurofs.features.samples import Samples
from neurofs.features.splits import Fold
from neurofs.ground.config import CompareOptions
from neurofs.ground.errors import UsageError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def session():
    """200 bins of 8 channels, four of which follow a velocity; 2 lags."""
    rng = np.random.default_rng(0)
    velocity = np.column_stack([np.sin(np.arange(200) / 6), np.cos(np.arange(200) / 9)])
    tuning = np.hstack([rng.normal(size=(2, 4)), np.zeros((2, 4))])
    samples = Samples.from_counts(rng.poisson(np.exp(1.5 + velocity @ tuning)), n_lags=2)
    return Session("simulated", samples, velocity[1:], ("x", "y"), n_channels=8)


@pytest.fixture(scope="module")
def scores(session):
    rows = [*(set(GOALS) - set(KERNEL_RGS)), "ridge", "Kalman", "kNN on best n by correlation"]
    return run_session(session, rows, report=lambda line: None)


@pytest.mark.parametrize("selector", ["corrcoef", "all"])
def test_selectors_with_auto_equal_the_task_of_decode(session, selector):
    """One fold of the row has the predictions of the task that `neurofs decode` would run on it."""
    train, test = next(iter(session.folds()))
    options = CompareOptions(selectors=("corrcoef",), decoders=("knn", "auto"))
    about = (np.arange(len(session.y)), [Fold(0, 0, train, test, 0)], session.outputs, ("", ""), (), options)
    problem = Problem(session.samples, session.y, None, *about)
    expected = [run_task(problem, Task(selector, o, 0, 0)).predicted[f"{selector} + auto"] for o in range(2)]
    found = league.SelectorAuto(selector).fit(session.samples[train], session.y[train]).predict(session.samples[test])
    np.testing.assert_allclose(found, np.column_stack(expected), rtol=1e-5)


def test_scores_are_tidy_and_nothing_overlaps(scores):
    assert len(scores) == 7 * 5 * 2
    assert not scores.duplicated(["recording", "decoder", "fold", "seed", "output"]).any()
    assert (scores["overlaps"] == 0).all()
    assert scores["r2"].between(-1, 1).all()
    own = scores[scores["decoder"] == "ridge"]
    assert (own["weights_seconds"] == 0).all()
    assert (own["fit_seconds"] > 0).all()


def test_decoders_do_decode(scores):
    means = scores.groupby("decoder")["r2"].mean()
    assert means.min() > 0.2
    assert means["RGS average"] > 0.5


def test_rows_say_what_was_promised(scores):
    rows = {row.what: row for row in league_rows(scores.assign(recording="chewie"))}
    value = scores.loc[scores["decoder"] == "RGS + soft kNN", "r2"].mean()
    assert rows["chewie: RGS + soft kNN"].goal == "at least 0.775"
    assert rows["chewie: RGS + soft kNN"].figure == f"R² {value:.3f}"
    assert rows["chewie: RGS + soft kNN"].met == (value >= 0.775)
    assert rows["chewie: best RGS decoder against ridge"].goal == "above"
    assert not any("LSTM" in what for what in rows)  # did not take part


def test_the_best_row_with_weights_meets_the_network(scores):
    network = scores[scores["decoder"] == "ridge"].assign(decoder="LSTM", r2=-1.0)
    with_network = pd.concat([scores, network]).assign(recording="a2929")
    (row,) = [row for row in league_rows(with_network) if "LSTM" in row.what]
    assert row.met


def test_seeds_are_averaged_and_their_spread_is_told(scores):
    ridge = scores[scores["decoder"] == "ridge"]
    seeds = pd.concat([ridge.assign(seed=seed, r2=ridge["r2"] + 0.01 * seed) for seed in range(3)])
    row = summarize(seeds).loc[("ridge", "simulated")]
    assert row.r2 == pytest.approx(ridge["r2"].mean() + 0.01)
    assert row.spread == pytest.approx(0.01)
    runs = ridge.drop_duplicates("fold")
    assert row.seconds == pytest.approx((runs["fit_seconds"] + runs["predict_seconds"]).mean())
    assert " ±.010" in render_league(seeds)
    assert "±" not in render_league(scores)


def test_a_row_with_seeds_runs_once_for_each(session, monkeypatch):
    class Constant:
        def __init__(self, seed):
            self.seed = seed

        def fit(self, X, y, groups):
            self.mean = y.mean(axis=0) + self.seed

        def predict(self, X):
            return np.tile(self.mean, (len(X), 1))

    monkeypatch.setitem(ROWS, "ridge", league.Entry(lambda p, seed: Constant(seed), n_seeds=3))
    scores = run_session(session, ["ridge"], report=lambda line: None)
    assert scores["seed"].tolist() == [0, 0, 1, 1, 2, 2] * 5
    assert scores.groupby("seed")["r2"].mean().is_monotonic_decreasing


def test_time_and_coverage_are_compared(scores):
    ridge = scores[scores["decoder"] == "ridge"].assign(recording="chewie", fit_seconds=2.0, coverage=0.95)
    slow = ridge.assign(decoder="kernel RGS", fit_seconds=3.0, coverage=0.9, far_coverage=0.8)
    rows = {row.what: row for row in league_rows(pd.concat([ridge.assign(decoder="LSTM"), slow]))}
    assert not rows["chewie: kernel RGS, time per fold"].met
    assert not rows["chewie: kernel RGS, 95 % intervals cover"].met
    assert rows["chewie: kernel RGS, 95 % intervals cover"].figure == "90.0%"
    assert rows["chewie: LSTM, 95 % intervals cover"].met
    far = rows["chewie: kernel RGS, 95 % intervals cover, farthest fifth"]
    assert (far.figure, far.met) == ("80.0%", None), "no goal: intervals are made for the average"


def test_only_decoders_with_deviations_have_a_coverage(session, scores, monkeypatch):
    assert scores["coverage"].isna().all()
    monkeypatch.setitem(ROWS, "kernel RGS", league.Entry(lambda p, seed: KernelRGSDecoder(n_steps=3)))
    ours = run_session(session, ["kernel RGS"], report=lambda line: None)
    assert ours["coverage"].between(0.5, 1).all()
    assert ours["far_coverage"].between(0, 1).all()
    assert (ours["far_coverage"] != ours["coverage"]).any()
    truth = np.zeros((4, 2))
    predicted = np.array([[0.0, 1.0], [0.0, 1.0], [2.0, 3.0], [0.0, 0.0]])
    np.testing.assert_array_equal(coverage(truth, predicted, np.ones((4, 2))), [0.75, 0.75])
    which = np.array([[True, False], [False, False], [True, True], [False, True]])
    np.testing.assert_array_equal(coverage(truth, predicted, np.ones((4, 2)), which), [0.5, 0.5])


def test_folds_in_processes_of_their_own_score_alike(session, scores):
    alike = run_session(session, ["ridge", "Kalman"], n_jobs=2, report=lambda line: None)
    alone = scores[scores["decoder"].isin(["ridge", "Kalman"])].reset_index(drop=True)
    pd.testing.assert_frame_equal(alike[["decoder", "fold", "seed", "output", "r2"]], alone[alike.columns[1:6]])


def test_table_puts_the_best_first(scores):
    head, *lines = render_league(scores).splitlines()
    assert head.split()[:3] == ["decoder", "simulated", "R²"]
    means = scores.groupby("decoder")["r2"].mean()
    assert lines[0].startswith(means.idxmax())
    assert lines[-1].startswith(means.idxmin())


def test_order_by_correlation(session):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 6))
    X[:, 2] = 1
    y = X[:, 4] - 0.5 * X[:, 0]
    r = [abs(np.corrcoef(X[:, f], y)[0, 1]) if f != 2 else 0 for f in range(6)]
    order = league.correlation_order(Samples.from_array(X), y)
    np.testing.assert_array_equal(order, np.argsort(r)[::-1])


def test_a_missing_library_is_told_by_name(session, monkeypatch):
    monkeypatch.setattr(league, "find_spec", lambda name: None)
    lines = []
    scores = run_session(session, ["LSTM", "ridge"], report=lines.append)
    assert lines[0] == "LSTM is skipped: torch is not installed"
    assert set(scores["decoder"]) == {"ridge"}


def test_unknown_names_are_explained(session):
    with pytest.raises(UsageError, match="no row named 'magic'; known are RGS"):
        run_session(session, ["magic"])
    with pytest.raises(UsageError, match="no recording named 'other'"):
        run_league(["other"])


def test_a_missing_folder_is_explained(tmp_path):
    with pytest.raises(UsageError, match="NEUROFS_SHARED_DATA"):
        run_league(["chewie"], folder=tmp_path / "absent")


def test_every_promise_is_a_row():
    assert set(GOALS) | set(RIVALS) <= set(ROWS)
    assert all(set(goals) == set(RECORDINGS) for goals in GOALS.values())


def test_the_network_learns(session):
    pytest.importorskip("torch")
    from neurofs.experiments.bench.lstm import LSTM

    decoder = LSTM(session.n_channels, sizes=(6, 8), max_epochs=200)
    decoder.fit(session.samples[:150], session.y[:150])
    assert decoder.parts_[0].chosen["cells"] in (6, 8)
    assert decoder.predict(session.samples[155:]).shape == (44, 2)
    assert decoder.score(session.samples[155:], session.y[155:]) > 0.2


@pytest.mark.shared_data
def test_ridge_on_chewie_by_scikit_learn(shared_data):
    scores = run_league(["chewie"], ["ridge"], shared_data, report=lambda line: None)
    session = RECORDINGS["chewie"](shared_data)
    X, y = np.asarray(session.samples, dtype=np.float64), session.y
    expected = []
    for train, test in session.folds():
        errors = {}
        for part in hold_out(session.samples[train], y[train], lambda *_: None, session.trials[train]):
            fit, held = train[part.fit], train[part.test]
            for ridge in (0.1, 0.3, 1.0):
                predicted = _sklearn_ridge(X[fit], y[fit], ridge).predict(X[held])
                error = np.mean((predicted - y[held]) ** 2 / y[train].var(axis=0))
                errors[ridge] = errors.get(ridge, 0) + error
        best = min(errors, key=errors.get)
        residual = y[test] - _sklearn_ridge(X[train], y[train], best).predict(X[test])
        expected.extend(1 - (residual**2).mean(axis=0) / y[test].var(axis=0))
    np.testing.assert_allclose(scores["r2"], expected, atol=1e-4)
    assert 0.66 < scores["r2"].mean() < 0.72


def _sklearn_ridge(X, y, ridge):
    return SklearnRidge(alpha=ridge * len(X) * X.var(axis=0).mean()).fit(X, y)


@pytest.mark.shared_data
def test_recordings_have_the_expected_shape(shared_data):
    for name, shape in {"stevenson": (7759, 1960), "chewie": (1322, 522), "a2929": (5293, 150)}.items():
        session = RECORDINGS[name](shared_data)
        assert session.samples.shape == shape
        assert session.y.shape == (shape[0], 2)
        assert np.isfinite(session.y).all()
        assert session.samples.n_features % session.n_channels == 0
