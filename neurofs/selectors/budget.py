"""Features that cost something: what to measure when there is not money for all (economy, Navot 2006, 1.2).

Navot (2006, 5.3.2) gives two ways: to draw features until a budget is used up (`Mufasa` with `budget`), and to
take the best by quality over cost as far as the budget reaches (`rank_per_cost`, then `spend`). Both look at
features one by one, or at whole sets. `BudgetedSelection` stands between them: it adds the feature, or channel,
with the largest gain per cost to what was bought already. Nothing of that kind is printed in the source; it is
the plain greedy search, with the bound that is known for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_array

from neurofs.features.samples import Samples
from neurofs.ground.works import WORKS
from neurofs.selectors.base import SetSelector
from neurofs.selectors.feature_groups import FeatureGroups
from neurofs.selectors.losses import SoftKNNLoss
from neurofs.selectors.parameters import check_positive
from neurofs.selectors.targets import EitherSelector


def check_costs(costs: Any, n_groups: int) -> np.ndarray:
    """Return what each feature (or feature group) costs: numbers above 0, 1 each if nothing is given."""
    if costs is None:
        return np.ones(n_groups)
    given = check_array(costs, ensure_2d=False, dtype=np.float64, input_name="costs")
    if given.shape != (n_groups,) or not (given > 0).all():
        raise ValueError(f"costs must be {n_groups} numbers above 0; found {given.tolist()!r:.60}")
    return given


def check_budget(budget: Any, costs: np.ndarray) -> float:
    """Return what may be spent, enough for at least one feature; None pays for all."""
    if budget is None:
        return float(costs.sum())
    if (checked := check_positive("budget", budget)) < costs.min():
        raise ValueError(f"budget must pay for the cheapest feature, {costs.min():g}; found {budget!r}")
    return checked


def spend(order: Any, costs: np.ndarray, budget: float) -> np.ndarray:
    """Return the features of an order that can be paid one after the other; a dearer one is passed over.

    >>> spend([2, 0, 1], np.array([3.0, 1.0, 4.0]), budget=5.5).tolist()
    [2, 1]
    """
    bought, left = [], budget * (1 + 1e-12)
    for feature in order:
        if costs[feature] <= left:
            bought.append(feature)
            left -= costs[feature]
    return np.array(bought, dtype=np.int64)


def rank_per_cost(quality: Any, costs: Any) -> np.ndarray:
    """Return the features by quality over cost, best first (the normalized infogain of Navot 2006, 5.3.2).

    >>> rank_per_cost([3.0, 2.0, 1.0], [3.0, 1.0, 2.0]).tolist()
    [1, 0, 2]
    """
    return np.argsort(-np.asarray(quality, dtype=float) / np.asarray(costs, dtype=float), kind="stable")


def choose_within_budget(
    make_loss: Callable[[], Any], members: Sequence[np.ndarray], costs: np.ndarray, budget: float
) -> tuple[list[int], float]:
    """Return the feature groups that a greedy search buys, in this order, and the loss of their set.

    Two searches add one group after the other among those that can still be paid, while the loss falls: one
    takes the largest gain per cost, the other the largest gain. The better set of the two is returned. Where
    gains only shrink as the set grows (a monotone submodular quality), it gains at least ½ (1 − 1/e) of what the
    best set does (Leskovec et al. 2007); either search alone can be arbitrarily bad.

    Parameters
    ----------
    make_loss : callable
        Returns a new loss as in `selectors.losses`: `begin(features)`, `after(members, sign)`, `change`.
    members : sequence of arrays
        The features of each group.
    costs : array (n_groups,)
    budget : float
    """
    found = [_grow(make_loss(), members, costs, budget, divisor) for divisor in (costs, np.ones_like(costs))]
    return min(found, key=lambda pair: pair[1])


def _grow(
    loss: Any, members: Sequence[np.ndarray], costs: np.ndarray, budget: float, divisor: np.ndarray
) -> tuple[list[int], float]:
    """Add the affordable group with the largest gain / divisor until none helps."""
    chosen: list[int] = []
    current, left = loss.begin(np.array([], dtype=np.int64)), budget * (1 + 1e-12)
    while True:
        payable = [g for g in range(len(members)) if g not in chosen and costs[g] <= left]
        after = np.array([loss.after(members[g], 1) for g in payable])
        gains = (current - after) / divisor[payable]
        if not payable or not gains.max() > 0:
            return chosen, float(current)
        best = int(np.argmax(gains))
        loss.change(members[payable[best]], 1)
        chosen.append(payable[best])
        current, left = after[best], left - costs[payable[best]]


@dataclass(eq=False, repr=False)
class BudgetedSelection(SetSelector, EitherSelector):
    """Buy features, or channels, for a budget: greedy search by gain per cost (`choose_within_budget`).

    The loss is the leave-one-out error of soft kNN with unit weights. Without costs and budget this is
    `ForwardSelection`, so it is not among `SELECTORS`.

    Parameters
    ----------
    n_features_to_select : None
        Not used: the budget says it.
    budget : float, optional
        What the set may cost; by default all that helps is bought.
    costs : array, optional
        What each feature costs, or each feature group in the order of its label; 1 by default.
    n_neighbors, beta, beta_factor, exclude : as in `ForwardSelection`
    discrete_target : "auto" or bool
        Whether the target is a class.
    feature_groups : array of labels, optional
        Features with the same label, such as all lags of a channel, are bought together at one cost.

    Attributes
    ----------
    weights_ : array (n_features,)
        1 for what was bought, else 0. The order is that of buying, then of quality per cost alone.
    spent_, loss_ : float
        What the set costs, and its error in units of the variance.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b, noise = rng.normal(size=(3, 200))
    >>> X = np.column_stack([a + b, a, b, noise])                    # the sum in one feature, or in two
    >>> BudgetedSelection(budget=2.0, costs=[5, 1, 1, 1]).fit(X, a + b).get_support(indices=True).tolist()
    [1, 2]
    >>> BudgetedSelection(budget=2.0, costs=[2, 1.5, 1.5, 1]).fit(X, a + b).get_support(indices=True).tolist()
    [0]
    """

    name, label = "budgeted", "budgeted selection"
    citation, origin = WORKS["navot2006"], "economy, Navot 2006, 1.2; the greedy search is ours"
    color, marker = "darkcyan", "P"
    cost = "m² N n"

    budget: object = None
    costs: object = None
    n_neighbors: int | Literal["auto"] = "auto"
    _: KW_ONLY
    beta: float | Literal["adaptive"] = "adaptive"
    beta_factor: float = 0.5
    exclude: str = "overlap"
    discrete_target: bool | Literal["auto"] = "auto"

    def _weigh(self, samples: Samples, Y: np.ndarray, groups: Any) -> np.ndarray:
        feature_groups = FeatureGroups(self.feature_groups, samples.n_features)
        costs = check_costs(self.costs, len(feature_groups))
        budget, members = check_budget(self.budget, costs), feature_groups.members

        def make_loss() -> SoftKNNLoss:
            return SoftKNNLoss(self, samples, self._columns(Y), groups)

        chosen, self.loss_ = choose_within_budget(make_loss, members, costs, budget)
        self.spent_ = float(costs[chosen].sum())
        alone = make_loss()
        start = alone.begin(np.array([], dtype=np.int64))
        gains = np.array([start - alone.after(group, 1) for group in members])
        rest = [g for g in rank_per_cost(gains, costs) if g not in chosen]
        return self._choose(feature_groups, [*chosen, *rest], len(chosen))

    def _rank(self, importance: np.ndarray, feature_groups: FeatureGroups) -> None:
        super()._rank(importance, feature_groups)
        self.n_selected_ = int(self._chosen.sum())
