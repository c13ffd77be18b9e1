"""Every selector against its slow twin in `reference_selectors`, compiled or not."""

import numpy as np
import pandas as pd
import pytest
import reference
import reference_selectors as slow
import reference_trees
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GroupKFold, KFold

from neurofs.features.holdouts import pick_evenly
from neurofs.features.samples import Samples
from neurofs.features.splits import BlockedKFold
from neurofs.selectors import (
    SKS,
    BackwardElimination,
    CorrCoef,
    ForwardSelection,
    GFlip,
    InfoGain,
    Relief,
    ReliefD,
    ReliefF,
    RReliefF,
    Simba,
    filters,
)
from neurofs.selectors.margin import find_margins

KINDS = ("random", "tied", "constant column", "duplicate columns", "duplicate rows", "offset")


def make(kind, m=40, n=5, classes=3, seed=0):
    """Data on a grid of quarters, ranges powers of two, so that float32 and float64 agree about ties."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-8, 9, (m, n)) / 4
    X[0], X[1] = -2.0, 2.0
    if kind == "tied":
        X = rng.integers(0, 2, (m, n)).astype(float)
    elif kind == "constant column":
        X[:, 1] = 0.5
    elif kind == "duplicate columns":
        X[:, 3] = X[:, 1]
    elif kind == "duplicate rows":
        X[1::2] = X[::2]
    elif kind == "offset":
        X += 1000
    y = rng.integers(0, classes, m)
    return X, y, X[:, [0, 2]] * X[:, [2, 3]] + rng.normal(size=(m, 2)), np.eye(m, dtype=bool)


def windows(m=40, channels=2, lags=3, seed=1):
    """Overlapping windows in five trials, and the pairs that may not be neighbors."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 5, (m + lags - 1, channels)).astype(float)
    counts[0], counts[-1] = 0, 4
    samples, trial = Samples.from_counts(counts, lags), np.arange(m) // 8
    banned = reference.banned_pairs(samples.starts, samples.span, trial)
    X = np.asarray(samples, float)
    return samples, X, rng.integers(0, 2, m), X[:, [1, 4]] + rng.normal(size=(m, 2)), trial, banned


# ------------------------------------------------------------------------------------------------- rankers


@pytest.mark.parametrize("kind", KINDS)
def test_corrcoef(kind):
    X, _, Y, _ = make(kind)
    selector = CorrCoef().fit(X, Y)
    np.testing.assert_allclose(selector.output_scores_, slow.corrcoef(X, Y), atol=1e-9)
    np.testing.assert_allclose(selector.weights_, slow.corrcoef(X, Y).mean(axis=0), atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_bins", [2, 5])
def test_infogain(kind, n_bins):
    X, y, Y, _ = make(kind)
    expected = [[slow.information(slow.bins(x, n_bins), slow.bins(t, n_bins)) for x in X.T] for t in Y.T]
    np.testing.assert_allclose(InfoGain(n_bins=n_bins).fit(X, Y).output_scores_, expected, atol=1e-12)
    expected = [slow.information(slow.bins(x, n_bins), y) for x in X.T]
    np.testing.assert_allclose(InfoGain(n_bins=n_bins).fit(X, y).weights_, expected, atol=1e-12)
    split = InfoGain(n_bins=n_bins, discrete_target=False).fit(X, y).weights_
    expected = [slow.information(slow.bins(x, n_bins), slow.bins(y, n_bins)) for x in X.T]
    np.testing.assert_allclose(split, expected, atol=1e-12)


def test_infogain_of_sparse_counts():
    X = np.array([[0, 0], [0, 0], [0, 3], [0, 1], [1, 0]])
    weights = InfoGain().fit(X, np.array([1.0, 2.0, 8.0, 9.0, 3.0])).weights_
    assert weights[1] == pytest.approx(np.log2(5) - 0.4 * 1 - 0.6 * np.log2(3))  # fires above the median only
    assert 0 < weights[0] < weights[1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 7])
def test_sks(kind, k):
    X, _, Y, banned = make(kind)
    Z = (Y - Y.mean(axis=0)) / Y.std(axis=0)
    expected = 1 - reference.sks(X, Z, k, 0.5, True, banned)
    np.testing.assert_allclose(SKS(n_neighbors=k).fit(X, Y).output_scores_, expected.T, atol=1e-6)


def test_sks_takes_an_even_selection_of_many_rows_unless_told_to_take_all(monkeypatch):
    X, Y = np.random.default_rng(0).random((90, 4)), np.random.default_rng(1).random(90)
    monkeypatch.setattr(filters, "MOST_ROWS", 30)
    rows, groups = pick_evenly(90, 30), np.arange(90) // 9
    few = SKS().fit(X, Y, groups=groups).output_scores_
    np.testing.assert_array_equal(few, SKS().fit(X[rows], Y[rows], groups=groups[rows]).output_scores_)
    assert not np.array_equal(few, SKS(effort="full").fit(X, Y, groups=groups).output_scores_)


def test_sks_of_windows_and_trials():
    samples, X, _, Y, trial, banned = windows()
    Z = (Y - Y.mean(axis=0)) / Y.std(axis=0)
    expected = 1 - reference.sks(X, Z, 5, 2.0, False, banned)
    got = SKS(n_neighbors=5, beta=2.0).fit(samples, Y, groups=trial)
    np.testing.assert_allclose(got.output_scores_, expected.T, atol=1e-6)


# -------------------------------------------------------------------------------------------------- Relief


@pytest.mark.parametrize("kind", KINDS)
def test_relief(kind):
    X, y, _, banned = make(kind)
    np.testing.assert_allclose(Relief().fit(X, y).scores_, slow.relief(X, y, banned), atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 4, 30])
def test_relieff(kind, k):
    X, y, _, banned = make(kind)
    got = ReliefF(n_neighbors=k).fit(X, y).scores_
    np.testing.assert_allclose(got, slow.relieff(X, y, k, banned), atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 10])
def test_rrelieff(kind, k):
    X, _, Y, banned = make(kind)
    got = RReliefF(n_neighbors=k, sigma=5.0).fit(X, Y).output_scores_
    expected = [slow.rrelieff(X, g, k, 5.0, banned) for g in Y.T]
    np.testing.assert_allclose(got, expected, atol=1e-6)


def test_relief_family_of_windows_and_trials():
    samples, X, y, Y, trial, banned = windows()
    fit = {"groups": trial}
    np.testing.assert_allclose(Relief().fit(samples, y, **fit).scores_, slow.relief(X, y, banned), atol=1e-6)
    got = ReliefF(n_neighbors=3).fit(samples, y, **fit).scores_
    np.testing.assert_allclose(got, slow.relieff(X, y, 3, banned), atol=1e-6)
    got = RReliefF(n_neighbors=3).fit(samples, Y[:, 0], **fit).scores_
    np.testing.assert_allclose(got, slow.rrelieff(X, Y[:, 0], 3, 20.0, banned), atol=1e-6)
    raw = Relief(exclude="self").fit(samples, y).scores_
    np.testing.assert_allclose(raw, slow.relief(X, y, np.eye(40, dtype=bool)), atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_reliefd(seed):
    """All rows and all ties; a nominal feature of two values differs as a number does."""
    rng = np.random.default_rng(seed)
    X, y, groups = rng.integers(0, 3, (40, 5)).astype(float), rng.integers(0, 2 + seed % 2, 40), np.arange(40) // 2
    X[:, 0], X[:, 1], X[:, 2] = X[:, 0] > 1, y + (rng.random(40) < 0.3), 0.1 * X[:, 2]
    expected = reference_trees.reliefd(X, y, groups[:, None] == groups)
    selector = ReliefD(nominal=2 * (seed // 2)).fit(X, y, groups=groups)
    np.testing.assert_allclose(selector.scores_, expected, atol=1e-12)
    np.testing.assert_array_equal(selector.get_support(), expected > 0)
    np.testing.assert_allclose(selector.weights_, np.maximum(expected, 0), atol=1e-12)
    middle = float(np.sort(expected)[2])
    assert ReliefD(threshold=middle + 1e-9).fit(X, y, groups=groups).get_support().sum() == 2
    assert ReliefD(threshold=9).fit(X, y, groups=groups).get_support(indices=True).tolist() == [expected.argmax()]


def test_reliefd_of_three_values():
    """By hand: as numbers 0 and 2 differ by 1 and 0 and 1 by ½; as names they all differ by 1."""
    X, y = np.array([[0.0], [1.0], [2.0], [2.0]]), [0, 1, 0, 1]
    # nearest hits: row 2 (1), row 3 (½), row 0 (1), row 1 (½); misses: row 1 (½), rows 0 and 2 (½), row 3 (0), row 2
    assert ReliefD().fit(X, y).scores_[0] == pytest.approx((0.5 - 1 + 0.5 - 0.5 + 0 - 1 + 0 - 0.5) / 4)
    assert ReliefD(nominal=3).fit(X, y).scores_[0] == pytest.approx((1 - 1 + 1 - 1 + 0 - 1 + 0 - 1) / 4)
    with pytest.raises(ValueError, match="threshold"):
        ReliefD(threshold="low").fit(X, y)
    with pytest.raises(ValueError, match="neighbor both"):
        ReliefD().fit(X[:2], y[:2])


def test_relieff_without_scaling():
    X, y, _, _ = make("random")
    X[:, 2] *= 4
    got = ReliefF(n_neighbors=4, scaled=False).fit(X, y).scores_
    spread = np.column_stack([X, np.zeros(len(X))])  # a column that makes no difference
    same = ReliefF(n_neighbors=4, scaled=False).fit(spread, y).scores_
    np.testing.assert_allclose(same[:-1], got)
    scaled = ReliefF(n_neighbors=4).fit(X, y).scores_
    assert np.argmax(np.abs(got / np.abs(scaled))) == 2


# ------------------------------------------------------------------------------------------------- margins


@pytest.mark.parametrize("kind", KINDS)
def test_margins(kind):
    X, y, _, banned = make(kind)
    w = np.arange(1, 6) / 4
    expected = [slow.margin(X, y, w, i, banned) for i in range(len(X))]
    np.testing.assert_allclose(find_margins(X, y, w), expected, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("utility", ["linear", "sigmoid"])
def test_simba(kind, utility):
    X, y, _, banned = make(kind)
    order = np.random.RandomState(3).permutation(len(X))
    expected = slow.simba(X, y, order, utility, 2.0, 0.1, banned)
    settings = {"utility": utility, "beta": 2.0, "step_size": 0.1, "n_starts": 1, "random_state": 3}
    selector = Simba(**settings).fit(X, y)
    np.testing.assert_allclose(selector.metric_weights_, expected, atol=1e-4)
    np.testing.assert_allclose(selector.weights_, expected**2, atol=1e-4)
    e = slow.evaluation(X, y, expected, utility, 2.0, banned)
    assert selector.evaluation_ == pytest.approx(e, abs=1e-2)


def test_simba_of_windows_and_trials():
    samples, X, y, _, trial, banned = windows()
    order = np.random.RandomState(0).permutation(len(X))
    expected = slow.simba(X, y, order, "linear", 1.0, 0.1, banned)
    got = Simba(step_size=0.1, n_starts=1, random_state=0).fit(samples, y, groups=trial)
    np.testing.assert_allclose(got.metric_weights_, expected, atol=1e-4)


def test_simba_goes_up_the_gradient():
    X, y, _, banned = make("random")
    h, w = 1e-5, np.arange(2, 7) / 4
    i = 7
    order = np.array([i])
    from neurofs.metric import loops_neighbors
    from neurofs.selectors import loops_margin

    samples, got = Samples.from_array(X), w.copy()
    d, groups = np.empty(len(X), np.float32), np.arange(len(X))
    loops_neighbors.query_distances(samples.flat, samples.starts, np.float32(w**2), samples.flat[5 * i : 5 * i + 5], d)
    loops_margin.simba_step(samples.flat, samples.starts, groups, 0, y, order[0], d, True, 1.5, 1.0, got)
    for f in range(5):
        up, down = w + h * (np.arange(5) == f), w - h * (np.arange(5) == f)
        values = [slow.utility(slow.margin(X, y, v, i, banned), "sigmoid", 1.5) for v in (up, down)]
        assert got[f] - w[f] == pytest.approx((values[0] - values[1]) / (2 * h), abs=1e-6)


@pytest.mark.parametrize("kind", ["random", "constant column", "duplicate columns", "duplicate rows"])
@pytest.mark.parametrize("utility", ["linear", "zero-one", "sigmoid"])
def test_gflip(kind, utility):
    X, y, _, banned = make(kind, m=24, n=4)
    rng = np.random.RandomState(5)
    orders = [rng.permutation(4) for _ in range(20)]
    expected, n_passes = slow.gflip(X, y, orders, utility, 2.0, banned, np.zeros(4, bool))
    selector = GFlip(utility=utility, beta=2.0, n_starts=1, random_state=5).fit(X, y)
    np.testing.assert_array_equal(selector.get_support(), expected)
    assert selector.n_passes_ == n_passes
    e = slow.evaluation(X, y, expected.astype(float), utility, 2.0, banned)
    assert selector.evaluation_ == pytest.approx(e)
    for f in range(4):
        flipped = expected.copy()
        flipped[f] = not flipped[f]
        after = slow.evaluation(X, y, flipped.astype(float), utility, 2.0, banned)
        worth = e - after if expected[f] else after - e
        assert selector.scores_[f] == pytest.approx(worth, abs=1e-6)


def endless_orders(rng, n):
    while True:
        yield rng.permutation(n)


@pytest.mark.parametrize(("start", "chosen"), [("empty", np.zeros(4, bool)), ("all", np.ones(4, bool))])
def test_gflip_starts_from_what_it_is_told(start, chosen):
    X, y, _, banned = make("random", m=24, n=4)
    rng = np.random.RandomState(1)
    ends = [slow.gflip(X, y, endless_orders(rng, 4), "linear", 1.0, banned, chosen)[0] for _ in range(2)]
    values = [slow.evaluation(X, y, end.astype(float), "linear", 1.0, banned) for end in ends]
    for n_starts in (1, 2):
        got = GFlip(start=start, n_starts=n_starts, random_state=1).fit(X, y)
        np.testing.assert_array_equal(got.get_support(), ends[int(np.argmax(values[:n_starts]))])


def test_beta_of_the_mean_distance():
    X, y, _, _ = make("random", m=24, n=4)
    pairs = [np.sqrt(((X[i] - X[j]) ** 2).sum()) for i in range(24) for j in range(i)]
    for kind in (Simba, GFlip):
        got, expected = (
            kind(utility="sigmoid", beta=beta, random_state=0).fit(X, y) for beta in ("distance", 1 / np.mean(pairs))
        )
        assert got.evaluation_ == pytest.approx(expected.evaluation_, rel=1e-6)
        linear = kind(beta="distance", random_state=0).fit(X, y)  # has no β
        assert linear.evaluation_ == kind(random_state=0).fit(X, y).evaluation_


def test_gflip_of_windows_and_trials():
    samples, X, y, _, trial, banned = windows()
    rng = np.random.RandomState(0)
    orders = [rng.permutation(6) for _ in range(20)]
    expected, _ = slow.gflip(X, y, orders, "linear", 1.0, banned, np.zeros(6, bool))
    got = GFlip(n_starts=1, random_state=0).fit(samples, y, groups=trial)
    np.testing.assert_array_equal(got.get_support(), expected)


# -------------------------------------------------------------------------------------------------- search


def scorer(penalty, m):
    if penalty == "aic":
        return lambda loss, n: m * np.log(loss) + 2 * n
    if penalty == "bic":
        return lambda loss, n: m * np.log(loss) + n * np.log(m)
    return lambda loss, n: loss + penalty * n


@pytest.mark.parametrize("direction", [ForwardSelection, BackwardElimination])
@pytest.mark.parametrize("penalty", [0.0, 0.05, "aic", "bic"])
@pytest.mark.parametrize("kind", ["random", "tied", "offset"])
def test_search(direction, penalty, kind):
    X, _, Y, banned = make(kind, m=30)
    units = [[f] for f in range(5)]
    loss = lambda features: slow.soft_knn_loss(X, Y, features, 6, 0.5, True, banned)  # noqa: E731
    chosen, path = slow.search(loss, units, scorer(penalty, 30), direction is ForwardSelection)
    selector = direction(n_neighbors=6, penalty=penalty).fit(X, Y)
    assert [step.group for step in selector.steps_[1:]] == path
    assert selector.get_support(indices=True).tolist() == sorted(chosen)
    assert selector.loss_curve_[-1] == pytest.approx(loss(sorted(chosen)), abs=1e-5)


@pytest.mark.parametrize("direction", [ForwardSelection, BackwardElimination])
def test_search_by_groups_of_windows_and_trials(direction):
    samples, X, _, Y, trial, banned = windows()
    labels = np.array(["b", "a", "b", "a", "c", "c"])
    units = [[1, 3], [0, 2], [4, 5]]
    loss = lambda features: slow.soft_knn_loss(X, Y, features, 5, 0.5, True, banned)  # noqa: E731
    chosen, path = slow.search(loss, units, scorer(0.0, 40), direction is ForwardSelection, size=2)
    selector = direction(2, n_neighbors=5, feature_groups=labels).fit(samples, Y, groups=trial)
    assert [step.group for step in selector.steps_[1:]] == ["abc"[u] for u in path]
    assert selector.get_support(indices=True).tolist() == sorted(f for u in chosen for f in units[u])
    assert selector.transform(samples).shape == (40, 4)


@pytest.mark.parametrize("direction", [ForwardSelection, BackwardElimination])
@pytest.mark.parametrize("cv", [None, KFold(3)])
def test_search_with_an_estimator(direction, cv):
    X, _, Y, _ = make("random", m=30)

    def loss(features):
        if not len(features):
            return np.inf
        errors = []
        for train, test in [(slice(None), slice(None))] if cv is None else cv.split(X):
            model = LinearRegression().fit(X[train][:, features], Y[train])
            error = ((Y[test] - model.predict(X[test][:, features])) ** 2).mean(axis=0)
            errors.append((error / Y.var(axis=0)).mean())
        return np.mean(errors)

    forward = direction is ForwardSelection
    chosen, path = slow.search(loss, [[f] for f in range(5)], scorer("aic", 30), forward)
    selector = direction(estimator=LinearRegression(), cv=cv, penalty="aic").fit(X, Y)
    assert [step.group for step in selector.steps_[1:]] == path
    assert selector.get_support(indices=True).tolist() == sorted(chosen)


def test_search_with_a_classifier_and_a_scorer():
    X, _, _, _ = make("random", m=60)
    y = np.where(X[:, 3] > 0, "left", "right")
    for scoring in (None, "roc_auc"):
        selector = ForwardSelection(1, LogisticRegression(), scoring=scoring, cv=3).fit(X, y)
        assert selector.get_support(indices=True).tolist() == [3]
    assert ForwardSelection(1).fit(X, y).get_support(indices=True).tolist() == [3]


def test_must_include_and_progress():
    X, _, Y, _ = make("random")
    seen = []
    selector = ForwardSelection(3, include=[1], callback=seen.append).fit(X, Y)
    assert selector.order_[0] == 1
    assert [step.n_features for step in seen] == [1, 2, 3]
    assert seen == selector.steps_
    kept = BackwardElimination(2, include=[1, 3]).fit(X, Y)
    assert kept.get_support(indices=True).tolist() == [1, 3]
    assert kept.order_[:2].tolist() == [1, 3]
    assert ForwardSelection(2, include=["b"], feature_groups=list("aabbc")).fit(X, Y).ranking_[2] == 1
    frame = pd.DataFrame(X, columns=list("abcde"))
    assert ForwardSelection(2, include=["d"]).fit(frame, Y).order_[0] == 3
    with pytest.raises(ValueError, match="include names 9"):
        ForwardSelection(include=[9]).fit(X, Y)
    with pytest.raises(ValueError, match="n_features_to_select is 1"):
        ForwardSelection(1, include=[1, 3]).fit(X, Y)


def test_a_criterion_needs_a_loss_with_a_logarithm():
    X, _, Y, _ = make("random")
    with pytest.raises(ValueError, match="logarithm"):
        ForwardSelection(estimator=LinearRegression(), scoring="r2", penalty="bic", cv=None).fit(X, Y)


@pytest.mark.parametrize("penalty", ["cic", -1.0, None, np.inf])
def test_wrong_penalties_are_named(penalty):
    with pytest.raises(ValueError, match="penalty"):
        ForwardSelection(penalty=penalty).fit(*make("random")[:2])


def test_search_with_the_folds_of_a_splitter():
    samples, X, _, Y, trial, _ = windows()
    target = Y[:, 0]
    for cv in (GroupKFold(3), BlockedKFold(3)):
        seen = ForwardSelection(2, LinearRegression(), cv=cv).fit(samples, target, groups=trial)
        folds = list(cv.split(samples, target, trial))
        errors = [
            ((target[test] - LinearRegression().fit(X[train][:, c], target[train]).predict(X[test][:, c])) ** 2).mean()
            for c in [seen.get_support(indices=True)]
            for train, test in folds
        ]
        assert seen.loss_curve_[-1] == pytest.approx(np.mean(errors) / target.var(), rel=1e-5)


def test_whole_numbers_are_classes_for_a_search_unless_said_otherwise():
    X, _, _, _ = make("random", m=60)
    y = np.where(X[:, 3] > 1, 7, np.where(X[:, 3] < -1, 7, 1))
    names = np.array(["near", "far"])[(y == 7).astype(int)]
    losses = [ForwardSelection(2).fit(X, target).loss_curve_ for target in (y, names)]
    np.testing.assert_allclose(losses[0], losses[1])
    plain = ForwardSelection(2, discrete_target=False).fit(X, y)
    np.testing.assert_allclose(plain.loss_curve_, ForwardSelection(2).fit(X, y.astype(float)).loss_curve_)
    with pytest.raises(ValueError, match="discrete_target"):
        ForwardSelection(discrete_target="no").fit(X, y)


@pytest.mark.parametrize("selector", [GFlip(), ForwardSelection(), BackwardElimination()])
def test_too_many_rows_for_a_table_are_refused(selector, monkeypatch):
    monkeypatch.setattr("neurofs.metric.neighbors.MAX_TABLE", 39)
    X, y, _, _ = make("random")
    with pytest.raises(ValueError, match=f"{type(selector).__name__} keeps a table .* at most 39 samples; found 40"):
        selector.fit(X, y)
