"""FOCUS and the greedy algorithms against brute force, and what they refuse."""

import numpy as np
import pytest
import reference_sets
from hypothesis import given, settings, strategies as st
from sklearn.tree import DecisionTreeClassifier

from neurofs.features.samples import Samples
from neurofs.features.splits import BlockedKFold
from neurofs.selectors import Focus1, Focus2, MutualInformationGreedy, SimpleGreedy, WeightedGreedy, loops_sets
from neurofs.selectors.conflicts import Conflicts, Partition, count_pairs
from neurofs.selectors.memory import check_memory
from neurofs.selectors.tolerance import TOLERANCES

ALL = [Focus1, Focus2, SimpleGreedy, MutualInformationGreedy, WeightedGreedy]
EXAMPLE = ["010100", "110010", "101111", "011000", "101001", "100101"]


def draw(seed, m=25, n=7, n_values=2, n_classes=2, noise=0.0):
    """A random function of three features; with noise, some classes are random."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_values, (m, n))
    table = rng.integers(0, n_classes, n_values**3)
    table[0], table[-1], X[0, :3], X[1, :3] = 0, 1, 0, n_values - 1
    y = table[X[:, :3] @ n_values ** np.arange(3)]
    return X, np.where(rng.random(m) < noise, rng.integers(0, n_classes, m), y)


def draw_rule(m=100):
    """A function of three features that greedy algorithms find, too."""
    X = np.random.default_rng(0).integers(0, 2, (m, 7))
    return X, (X[:, 0] & X[:, 1]) | X[:, 2]


# ----------------------------------------------------------------------------------------- the source's figures


def test_the_example_of_the_source():
    X, y = [[int(bit) for bit in row] for row in EXAMPLE], list("+++---")
    first, second = Focus1().fit(X, y), Focus2().fit(X, y)
    assert second.get_support(indices=True).tolist() == [0, 2, 3]
    assert second.n_tests_ == 7
    assert first.n_selected_ == 3
    assert first.n_tests_ >= 23
    with pytest.raises(ValueError, match=r"Focus1 tested 22 sets of up to"):
        Focus1(max_tests=22).fit(X, y)


def test_the_conflicts_of_the_source():
    codes = np.array([[int(bit) for bit in row] for row in EXAMPLE]).T
    listed = Conflicts(codes, np.array([0, 0, 0, 1, 1, 1]), "Focus2")
    sets = ["".join(str(int(f in listed.unpack(bits))) for f in range(6)) for bits in listed.bits]
    expected = "001100 111101 110001 101010 011011 010111 110111 000110 001010"
    assert sets == expected.split()


# ---------------------------------------------------------------------------------------------- brute force


@pytest.mark.parametrize("tolerance", [0.0, 0.02, 0.1, 0.3])
@pytest.mark.parametrize(("n_values", "n_classes"), [(2, 2), (3, 2), (2, 4)])
@pytest.mark.parametrize("seed", range(4))
def test_focus_finds_a_smallest_set(seed, n_values, n_classes, tolerance):
    X, y = draw(seed, n_values=n_values, n_classes=n_classes, noise=0.1 if tolerance else 0.0)
    pairs = reference_sets.conflicts(X, y)
    size = reference_sets.smallest_size(X, y, tolerance)
    if size is None:
        for kind in (Focus1, Focus2):
            with pytest.raises(ValueError, match="inconsistent"):
                kind(tolerance=tolerance).fit(X, y)
        return
    for kind in (Focus1, Focus2):
        selector = kind(tolerance=tolerance).fit(X, y)
        chosen = selector.get_support(indices=True)
        assert len(chosen) == max(1, size)
        left = reference_sets.count_uncovered(pairs, chosen)
        assert left <= tolerance * len(pairs) + 1e-6
        assert selector.uncovered_ == pytest.approx(left / len(pairs))
        assert selector.n_conflicts_ == len(pairs)


def test_focus_2_makes_no_more_tests_than_focus_1():
    for seed in range(10):
        X, y = draw(seed, m=60, n=10)
        assert Focus2().fit(X, y).n_tests_ <= Focus1().fit(X, y).n_tests_


def test_more_than_64_features():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (60, 130))
    X[:, 5] = 0
    y = X[:, 70] ^ X[:, 128]
    for kind in (Focus1, Focus2):
        assert kind(tolerance=0.0).fit(X, y).get_support(indices=True).tolist() == [70, 128]


@pytest.mark.parametrize("tolerance", [0.0, 0.05])
@pytest.mark.parametrize(("n_values", "n_classes"), [(2, 2), (3, 3)])
@pytest.mark.parametrize("seed", range(4))
def test_greedy_choices_equal_explicit_counts(seed, n_values, n_classes, tolerance):
    X, y = draw(seed, n_values=n_values, n_classes=n_classes)
    scores = {
        SimpleGreedy: reference_sets.covered_by,
        WeightedGreedy: reference_sets.paid_to,
        MutualInformationGreedy: lambda pairs, chosen, f: -round(reference_sets.entropy(X, y, [*chosen, f]), 10),
    }
    for kind, score in scores.items():
        selector = kind(tolerance=tolerance).fit(X, y)
        expected = reference_sets.greedy(X, y, score, tolerance)
        assert selector.order_[: selector.n_selected_].tolist() == expected
        assert selector.n_tests_ == len(expected) + 1


# ----------------------------------------------------------------------------------- tolerance by cross-validation


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("seed", [1])
def test_cross_validation_equals_fits_without_the_rows_left_out(kind, seed):
    X, y = draw(seed, m=60, n=5, n_values=3, n_classes=3, noise=0.1)
    selector = kind(tolerance="cv").fit(X, y)
    wrong = dict.fromkeys(TOLERANCES, 0)
    for fit, test in BlockedKFold(5, n_runs=1).split(X):
        for tolerance in TOLERANCES:
            try:
                part = kind(tolerance=tolerance).fit(X[fit], y[fit])
            except ValueError:
                part = kind(tolerance="auto").fit(X[fit], y[fit])
            chosen = part.get_support() if part.n_tests_ > 1 else np.zeros(5, bool)
            if not chosen.any():
                wrong[tolerance] += (y[test] != np.bincount(y[fit]).argmax()).sum()
                continue
            tree = DecisionTreeClassifier(criterion="entropy", random_state=0).fit(X[fit][:, chosen], y[fit])
            wrong[tolerance] += (tree.predict(X[test][:, chosen]) != y[test]).sum()
    assert selector.cv_errors_ == pytest.approx({tolerance: count / 60 for tolerance, count in wrong.items()})
    best = max(t for t in TOLERANCES if selector.cv_errors_[t] == min(selector.cv_errors_.values()))
    pairs = reference_sets.conflicts(X, y)
    inherent = reference_sets.count_uncovered(pairs, range(5))
    assert selector.tolerance_ == pytest.approx(max(inherent, int(best * len(pairs))) / len(pairs))


@pytest.mark.parametrize("kind", ALL)
def test_noise_is_left_to_the_tolerance(kind):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (150, 7))
    y = ((X[:, 0] & X[:, 1]) | X[:, 2]) ^ (rng.random(150) < 0.08)
    chosen = kind(tolerance="cv").fit(X, y)
    assert chosen.get_support(indices=True).tolist() == [0, 1, 2]
    assert kind().fit(X, y).n_selected_ > 3
    again = kind(tolerance=chosen.tolerance_).fit(X, y)
    assert again.get_support(indices=True).tolist() == [0, 1, 2]


def test_a_search_that_gives_up_leaves_the_larger_tolerances():
    X, y = draw(0, m=60, n=9, noise=0.2)
    errors = Focus1(tolerance="cv", max_tests=30).fit(X, y).cv_errors_
    found = [t for t in TOLERANCES if errors[t] < np.inf]
    assert 0 < len(found) < len(TOLERANCES)
    assert found == list(TOLERANCES[-len(found) :])
    with pytest.raises(ValueError, match="Focus2 found no set at any tolerance within max_tests"):
        Focus2(tolerance="cv", max_tests=1).fit(X, y)


def test_scores_of_a_partition():
    X, y = draw(3, n_values=3, n_classes=3)
    pairs, part = reference_sets.conflicts(X, y), Partition(X.T, y)
    for chosen in ([], [1], [1, 4]):
        left, entropy = part.score()
        assert part.n_left == reference_sets.count_uncovered(pairs, chosen)
        assert left.tolist() == [reference_sets.count_uncovered(pairs, [*chosen, f]) for f in range(7)]
        np.testing.assert_allclose(entropy, [reference_sets.entropy(X, y, [*chosen, f]) for f in range(7)], atol=1e-12)
        part.split({0: 1, 1: 4}.get(len(chosen), 0))
    assert part.count_inherent() == reference_sets.count_uncovered(pairs, range(7))


@settings(max_examples=50)
@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=20))
def test_bits_are_counted(words):
    sets, out = np.array(words, np.uint64).reshape(-1, 1), np.empty(len(words), np.int64)
    loops_sets.set_sizes(sets, out)
    assert out.tolist() == [word.bit_count() for word in words]


def test_pairs_of_different_classes():
    rng = np.random.default_rng(0)
    cell, y = rng.integers(0, 4, 40), rng.integers(0, 3, 40)
    expected = sum(cell[i] == cell[j] and y[i] != y[j] for i in range(40) for j in range(i))
    assert count_pairs(cell, y) == expected


# -------------------------------------------------------------------------------------------- noise, settings


@pytest.mark.parametrize("kind", ALL)
def test_inconsistent_samples(kind):
    X = np.array([[0, 0], [0, 0], [0, 1], [1, 1]])
    y = [0, 1, 1, 1]
    with pytest.raises(ValueError, match=r"inconsistent: 1 of 3 pairs .* Set tolerance to 0.3334 or more"):
        kind(tolerance=0.0).fit(X, y)
    assert kind(tolerance=0.3334).fit(X, y).uncovered_ == pytest.approx(1 / 3)
    assert kind().fit(X, y).uncovered_ == pytest.approx(1 / 3)


@pytest.mark.parametrize("kind", ALL)
def test_discrete_features_are_asked_for(kind):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.integers(0, 2, 50)
    with pytest.raises(ValueError, match=r"feature 0 has the value .* Set levels=2, binning='quantile'"):
        kind().fit(X, y)
    with pytest.raises(ValueError, match="whole numbers"):
        kind(levels=2).fit(X, y)
    kind(levels=2, binning="quantile").fit(X, y)
    many = np.arange(600.0).reshape(300, 2)
    with pytest.raises(ValueError, match=r"at most 256 different values; feature 0 has 300"):
        kind().fit(many, np.arange(300) % 2)
    for setting, value in (("levels", 1), ("binning", "round"), ("tolerance", 1.0), ("tolerance", "none")):
        with pytest.raises(ValueError, match=setting):
            kind(**{setting: value}).fit(np.eye(4), [0, 0, 1, 1])


@pytest.mark.parametrize("kind", ALL)
def test_spike_counts_as_samples(kind):
    """The class is whether channel 2 fired one bin ago; counts capped at 1 tell it, whatever their number."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.7, (150, 5))
    samples = Samples.from_counts(counts, 3)
    y = counts[1:-1, 2] > 0
    selector = kind(levels=2).fit(samples, y)
    assert selector.get_support(indices=True).tolist() == [5 + 2]
    assert selector.curve_.tolist() == [1.0, 0.0]


def test_size_and_order():
    X, y = draw_rule()
    for kind in ALL:
        whole = kind().fit(X, y)
        assert set(whole.order_[: whole.n_selected_]) == {0, 1, 2}
        wider = kind(n_features_to_select=5).fit(X, y)
        np.testing.assert_array_equal(wider.order_, whole.order_)
        assert wider.get_support().sum() == 5
        narrow = kind(n_features_to_select=1).fit(X, y)
        assert narrow.get_support(indices=True).tolist() == [whole.order_[0]]
        assert (np.diff(whole.curve_) <= 0).all()


def test_groups_are_one_feature_of_combined_values():
    X, y = draw_rule()
    labels = ["a", "a", "a", "b", "b", "c", "c"]
    for kind in ALL:
        selector = kind(feature_groups=labels).fit(X, y)
        assert selector.get_support(indices=True).tolist() == [0, 1, 2]


def test_a_search_that_takes_too_long_ends():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (200, 40)), rng.integers(0, 2, 200)
    for kind in (Focus1, Focus2):
        with pytest.raises(ValueError, match=rf"{kind.__name__} tested 500 sets .* WeightedGreedy"):
            kind(max_tests=500).fit(X, y)
        with pytest.raises(ValueError, match="max_tests"):
            kind(max_tests=0).fit(X, y)


@pytest.mark.parametrize("kind", [Focus1, Focus2, WeightedGreedy])
def test_a_list_that_does_not_fit(kind, monkeypatch):
    monkeypatch.setattr("neurofs.selectors.memory.memory_limit", lambda: 1000)
    X, y = draw(0)
    with pytest.raises(ValueError, match=r"pairs of samples .* GiB, .* use SimpleGreedy"):
        kind().fit(X, y)
    with pytest.raises(ValueError, match="less"):
        check_memory(2000, "this", "Take less.")
