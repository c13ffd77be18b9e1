"""Selection under a budget against exhaustive search."""

from itertools import chain, combinations

import numpy as np
import pytest
import reference_selectors

from neurofs.selectors.budget import BudgetedSelection, choose_within_budget, rank_per_cost, spend
from neurofs.selectors.search import ForwardSelection


class SetLoss:
    """Minus a quality of sets, as a loss of `selectors.losses`."""

    def __init__(self, quality):
        self.quality, self.chosen = quality, frozenset()

    def begin(self, features):
        self.chosen = frozenset(features.tolist())
        return -self.quality(self.chosen)

    def after(self, members, sign):
        assert sign == 1
        return -self.quality(self.chosen | set(members.tolist()))

    def change(self, members, sign):
        assert sign == 1
        self.chosen |= set(members.tolist())


def subsets(n):
    return chain.from_iterable(combinations(range(n), size) for size in range(n + 1))


def best_quality(quality, costs, budget):
    return max(quality(frozenset(s)) for s in subsets(len(costs)) if costs[list(s)].sum() <= budget)


def search(quality, costs, budget):
    members = [np.array([g]) for g in range(len(costs))]
    return choose_within_budget(lambda: SetLoss(quality), members, costs, budget)


@pytest.mark.parametrize("seed", range(30))
def test_the_greedy_search_keeps_its_bound_on_covers(seed):
    """Sets cover points of a value: at least ½ (1 − 1/e) of the best set, never beyond the budget."""
    rng = np.random.default_rng(seed)
    covers, value = rng.random((8, 12)) < 0.3, rng.exponential(size=12)
    costs, budget = rng.uniform(0.5, 3, 8), rng.uniform(3, 6)

    def quality(s):
        return float(value[covers[list(s)].any(axis=0)].sum()) if s else 0.0

    chosen, loss = search(quality, costs, budget)
    assert costs[chosen].sum() <= budget + 1e-9
    assert -loss == pytest.approx(quality(frozenset(chosen)))
    best = best_quality(quality, costs, budget)
    assert 0.5 * (1 - np.exp(-1)) * best <= -loss <= best + 1e-12


@pytest.mark.parametrize("seed", range(30))
def test_half_of_the_best_where_qualities_add_and_all_of_it_where_costs_are_equal(seed):
    rng = np.random.default_rng(seed)
    gains, costs, budget = rng.exponential(size=9), rng.uniform(0.5, 3, 9), 5.0

    def quality(s):
        return float(gains[list(s)].sum())

    assert -search(quality, costs, budget)[1] >= 0.5 * best_quality(quality, costs, budget)
    equal = np.ones(9)
    assert -search(quality, equal, 4.0)[1] == pytest.approx(best_quality(quality, equal, 4.0))


def test_either_rule_alone_can_be_bad_and_the_better_is_taken():
    def quality(s):
        return sum((1.01, 100.0)[g] for g in s)

    assert search(quality, np.array([1.0, 100.0]), 100.0)[0] == [1]  # gain per cost alone would buy feature 0
    many = lambda s: sum(1.1 if g == 0 else 1.0 for g in s)  # noqa: E731
    assert search(many, np.array([5.0, 1, 1, 1, 1, 1]), 5.0)[0] == [1, 2, 3, 4, 5]  # gain alone would buy 0


def test_the_selector_finds_the_best_set_that_can_be_paid():
    """On a problem with independent features greedy search is exact: compare with all subsets."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(150, 6))
    y = X @ np.array([0.3, 1.5, 1.0, 0.8, 0.0, 0.0])
    costs, budget, banned = np.array([4.0, 1.0, 1.0, 1.0, 1.0, 0.5]), 3.0, np.eye(150, dtype=bool)
    selector = BudgetedSelection(budget=budget, costs=costs, n_neighbors=10).fit(X, y)

    def loss(s):
        return reference_selectors.soft_knn_loss(X, y[:, None], np.array(s), 10, 0.5, True, banned)

    best = min((s for s in subsets(6) if s and costs[list(s)].sum() <= budget), key=loss)
    assert tuple(selector.get_support(indices=True)) == best == (1, 2, 3)
    assert selector.loss_ == pytest.approx(loss(best), abs=1e-5)
    assert selector.spent_ == 3.0
    assert sorted(selector.order_.tolist()) == list(range(6))
    assert set(selector.order_[:3]) == {1, 2, 3}


def test_without_costs_it_is_forward_selection():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 7))
    y = X[:, 2] + 0.7 * X[:, 5] + 0.5 * X[:, 0]
    forward = ForwardSelection(3).fit(X, y)
    bought = BudgetedSelection(budget=3).fit(X, y)
    assert bought.order_[:3].tolist() == forward.order_[:3].tolist()
    assert set(bought.get_support(indices=True)) == set(forward.get_support(indices=True))


def test_channels_are_bought_whole():
    rng = np.random.default_rng(1)
    X, channel = rng.normal(size=(100, 6)), np.array(["a", "b", "c"] * 2)
    selector = BudgetedSelection(budget=2, costs=[2, 1, 1], feature_groups=channel).fit(X, X[:, 1] + X[:, 5])
    assert selector.get_support(indices=True).tolist() == [1, 2, 4, 5]
    assert selector.group_ranking_.tolist()[0] == 3


def test_orders_are_bought_one_after_the_other():
    costs = np.array([1.0, 5.0, 2.0])
    assert spend([1, 2, 0], costs, 3.0).tolist() == [2, 0]
    assert spend([0, 1, 2], np.full(3, 0.1), 0.1 + 0.2).tolist() == [0, 1, 2]  # rounding costs no feature
    assert rank_per_cost([1.0, 10.0, 1.0], costs).tolist() == [1, 0, 2]


@pytest.mark.parametrize("wrong", [{"costs": [1, 2]}, {"costs": [1, 0, 1]}, {"budget": -1}, {"budget": 0.5}])
def test_wrong_settings_are_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        BudgetedSelection(**wrong).fit(np.eye(3), np.arange(3.0))
