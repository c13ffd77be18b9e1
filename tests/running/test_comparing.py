"""`neurofs.compare` with what only Python can give: estimators, functions, splitters, scores of one's own."""

import numpy as np
import pandas as pd
import pytest
from areas import make_areas
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest, VarianceThreshold, f_classif, f_regression
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import f1_score, mean_absolute_error
from sklearn.model_selection import GroupKFold, KFold, RepeatedKFold, ShuffleSplit, TimeSeriesSplit

import neurofs
from neurofs.comparison.comparison import read, save
from neurofs.comparison.own_scores import list_own
from neurofs.decoders import LocalLinear
from neurofs.ground.errors import UsageError

SMALL = {"n_lags": 2, "selectors": ["corrcoef"], "decoders": [], "n_splits": 2, "bin_width": 0.1, "progress": False}


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def session():
    return make_areas(0, n_bins=400)


@pytest.fixture(scope="module")
def trials():
    return make_areas(0, n_bins=600, trials=True)


def compare(session, **more):
    return neurofs.compare(session, "hand:x", **{**SMALL, **more})


def weigh(X, y):
    """Weigh features by their covariance with y."""
    return np.abs((X - X.mean(axis=0)).T @ (y - y.mean()))


def least_squares(X, y):
    """Return a function that predicts."""
    coefficients = np.linalg.lstsq(X, y, rcond=None)[0]
    return lambda queries: queries @ coefficients


# Estimators and functions


@pytest.mark.parametrize(
    "selector",
    [
        SelectKBest(f_regression),
        RFE(LinearRegression(), n_features_to_select=3),
        SelectFromModel(Lasso(alpha=0.1)),
        Lasso(alpha=0.1),
        VarianceThreshold(),
        weigh,
    ],
)
def test_any_estimator_or_function_is_a_selector(session, selector):
    found = compare(session, selectors=[selector, "corrcoef"], decoders=[Ridge(alpha=3.0), least_squares])
    name = found.summary.reference
    assert name not in neurofs.SELECTORS  # known while the comparison ran
    methods = [method.method for method in found.summary.methods]
    assert {name, f"{name} + ridge-2", f"{name} + least-squares", "all + least-squares"} <= set(methods)
    assert found.report().startswith("<!DOCTYPE html>")


def test_a_function_does_what_the_same_selector_does(session):
    by_name = compare(session, selectors=["corrcoef"])
    by_function = compare(session, selectors=[lambda X, y: neurofs.selectors.CorrCoef().fit(X, y).weights_])
    ours = by_name.scores.query("method == 'corrcoef'")["r2"]
    np.testing.assert_allclose(by_function.scores.query("method == 'function'")["r2"], ours)


def test_one_estimator_twice_and_with_any_parameters(session):
    groups = np.tile(np.arange(10), 2)
    selectors = [neurofs.RGS(n_epochs=1), neurofs.RGS(n_epochs=2), neurofs.RGS(n_epochs=1, feature_groups=groups)]
    found = compare(session, selectors=selectors, decoders=[LocalLinear(n_neighbors=30), "local-linear"], sizes=[2, 8])
    labels = {method.method: method.label for method in found.summary.methods}
    assert labels["rgs-2"] == "RGS (n_epochs = 2)"
    assert "rgs-3" in labels
    assert labels["rgs + local-linear-2"] == "RGS + local linear (n_neighbors = 30)"
    assert "rgs + local-linear" in labels
    assert found.config.settings == {"rgs": {"n_epochs": 1}}


def test_classes_take_classifiers(trials):
    found = neurofs.compare(
        trials, "load", **{**SMALL, "selectors": [SelectKBest(f_classif)], "decoders": [LogisticRegression()]},
        scores=lambda truth, predicted: f1_score(truth, predicted, pos_label="heavy"),
    )  # fmt: skip
    assert found.summary.score == "accuracy"
    assert "select-k-best + logistic-regression" in {method.method for method in found.summary.methods}
    assert list_own(found) == ["<lambda>"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"selectors": [lambda X, y: np.full(X.shape[1], np.nan)]}, "function: 20 of 20 weights are NaN"),
        ({"selectors": [lambda X, y: np.zeros(3)]}, r"expected 20 weights, one per feature; found shape \(3,\)"),
        ({"selectors": [lambda X, y: None]}, "expected 20 weights"),
        ({"selectors": [KFold()]}, "selectors: expected names, estimators or functions; found KFold"),
        ({"selectors": [SelectKBest]}, r"found the class SelectKBest\. Write SelectKBest\(\)"),
        ({"selectors": [3]}, "selectors: expected names, estimators or functions; found int"),
        ({"selectors": [neurofs.SoftKNN()]}, "selectors: expected names, estimators or functions; found SoftKNN"),
        ({"decoders": [lambda X, y: 3]}, "expected a decoder that returns a function of X; found int"),
        ({"decoders": [lambda X, y: lambda Q: np.full(len(Q), np.nan)]}, "predictions are NaN or infinite"),
        ({"decoders": [lambda X, y: lambda Q: [1.0]]}, "predictions, one per row; found shape"),
        ({"scores": lambda truth, predicted: "good"}, "expected a number; it returned str"),
        ({"scores": {"r2": mean_absolute_error}}, "'r2' is a column of all comparisons"),
        ({"scores": ["r2"]}, "expected functions of truth and prediction; found 'r2'"),
    ],
)
def test_what_cannot_be_used_is_one_line(session, more, message):
    with pytest.raises(UsageError, match=message) as caught:
        compare(session, **more)
    assert "\n" not in str(caught.value)


# Splitters


def test_the_same_folds_give_the_same_scores(session):
    plain = compare(session, n_splits=3)
    given = compare(session, cv=neurofs.BlockedKFold(3))
    pd.testing.assert_frame_equal(plain.scores, given.scores)
    assert (given.config.folds, given.config.n_splits) == ("given", 3)
    assert given.summary.session.kind == "blocks"  # what they are, so that chance is tested
    assert given.summary.chance


def test_a_splitter_that_leaks_is_refused_unless_told(session, tmp_path):
    with pytest.raises(UsageError, match=r"cv: KFold leaks: .* neurofs\.BlockedKFold"):
        compare(session, cv=KFold(3))
    with pytest.raises(UsageError, match="cv: KFold leaks"):
        compare(session, cv=KFold(3, shuffle=True, random_state=0))
    found = compare(session, cv=KFold(3, shuffle=True, random_state=0), allow_leakage=True)
    assert not found.summary.audit.passed
    assert found.summary.session.kind == "given"
    assert "test data leak" in found.report() or "share raw data" in found.report()
    assert read(save(found, tmp_path / "run")) == found


def test_trials_are_the_groups_of_a_splitter(trials):
    found = compare(trials, cv=GroupKFold(4))
    assert found.summary.audit.passed
    assert found.config.n_splits == 4


def test_folds_that_test_a_part_or_are_repeated(session):
    ahead = compare(session, cv=TimeSeriesSplit(3, gap=5))
    assert np.isnan(ahead.predictions["predicted"].isel(time=0)).all()
    again = compare(session, cv=RepeatedKFold(n_splits=2, n_repeats=2, random_state=0), allow_leakage=True)
    assert (again.config.n_repeats, again.config.n_splits) == (2, 2)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (ShuffleSplit(3, random_state=0), "expected at least 2 folds that test different rows"),
        ([([0, 1], [900])], "expected parts of rows by their numbers"),
        ([([0.5], [1])], "expected parts of rows by their numbers"),
        (GroupKFold(3), "cv: .*groups"),
        (3, "cv: "),
    ],
)
def test_folds_that_are_none_are_one_line(session, cv, message):
    with pytest.raises(UsageError, match=message):
        compare(session, cv=cv)
    with pytest.raises(UsageError, match=r"neurofs\.compare\(…, cv=splitter\)"):
        compare(session, folds="given")


# Scores and progress


def test_own_scores_stand_beside_the_others(session, tmp_path):
    found = compare(session, scores=[mean_absolute_error, lambda truth, predicted: np.nan])
    rows = found.scores[found.scores["chosen"] & (found.scores["method"] == "ridge")]
    predicted = found.predictions["predicted"].sel({"method": "ridge"}).values[0, 0]
    errors = np.abs(predicted - found.predictions["target"].values[:, 0])
    assert np.average(rows["mean_absolute_error"], weights=rows["n_test"]) == pytest.approx(errors.mean(), rel=1e-6)
    assert found.scores.loc[~found.scores["chosen"], "mean_absolute_error"].isna().all()
    frame = found.to_frame().query("score == 'mean_absolute_error' and method == 'ridge' and output == '(mean)'")
    assert frame["mean"].item() == pytest.approx(rows["mean_absolute_error"].mean())
    assert frame["low"].item() < frame["mean"].item() < frame["high"].item()
    assert read(save(found, tmp_path / "run")) == found


def test_progress_is_told_if_it_takes_long(session, capsys, monkeypatch):
    compare(session, progress=True)
    assert capsys.readouterr().err == ""  # a moment needs no words
    monkeypatch.setattr("neurofs.running.progress.Progress.__init__.__defaults__", (None, "", 0.0))
    compare(session, progress=True)
    assert "areas0: " in capsys.readouterr().err
    compare(session, progress=False)
    assert capsys.readouterr().err == ""
