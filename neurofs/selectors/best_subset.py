"""Best-subset selection: all sets of features are tried, so it is for few features.

    score(S) = loss(S) + λ |S|,   AIC: m ln loss + 2 |S|,   BIC: m ln loss + |S| ln m,   or the validation error

The loss is that of linear regression with intercept on the training rows, and no set is missed: with N features, 2^N
are fitted, each in the time of one row of a triangular factor more. After He's lecture (NYU 2021), which goes on to
forward selection, since no efficient algorithm is known for many features.
"""

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any

import numpy as np

from neurofs.features.samples import Samples
from neurofs.features.splits import split_off
from neurofs.ground.works import WORKS
from neurofs.selectors import loops_all_sets
from neurofs.selectors.base import SetSelector
from neurofs.selectors.feature_groups import FeatureGroups
from neurofs.selectors.memory import check_memory
from neurofs.selectors.search import Price
from neurofs.selectors.subsets import DEPENDENT

MOST_GROUPS = 20  # of which all sets, a million, are tried within seconds
EQUAL = 1e-9  # share of the variance below which losses are equal


@dataclass(eq=False, repr=False)
class BestSubset(SetSelector):
    """Best subset: of all sets of few features, the one of the best score in linear regression.

    Parameters
    ----------
    n_features_to_select : int, float or None
        Size of the set (number of groups with `feature_groups`); None, the default, leaves it to the criterion.
    criterion : "bic", "aic", "validation" or float
        What sets of different size are compared by: one of the two criteria; the error on rows held out; or the
        error on the training rows and this price per feature (or group), in units of the target's variance.
    hold_out : float
        With "validation", the share of the rows, or trials if `fit` gets `groups`, that is held out, spread over the
        session in up to five runs. Training rows that share raw data with them are left out.
    allow_empty : bool
        Whether the empty set may be the best; False, the default, chooses at least one feature.

    Attributes
    ----------
    weights_ : array (n_features,)
        1 for the chosen features, else 0.
    loss_curve_, score_curve_ : arrays
        Loss and score of the best set of each size 0, 1, 2, …; a loss of 1 is that of the mean.
    sets_ : list of arrays
        These sets: features, or labels of groups. Features in more of them come first in `order_`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 10))
    >>> selector = BestSubset().fit(X, X[:, 2] - X[:, 5] + 0.1 * rng.normal(size=200))
    >>> selector.get_support(indices=True), selector.loss_curve_[:4].round(4)
    (array([2, 5]), array([1.    , 0.5385, 0.0053, 0.0052]))
    """

    name, label = "best-subset", "best subset"
    citation, origin = WORKS["he2021"], "He 2021"
    color, marker, line = "olive", "d", "-."
    cost = f"2^N, N up to {MOST_GROUPS}"

    criterion: object = "bic"
    _: KW_ONLY
    hold_out: float = 0.3
    allow_empty: bool = False

    def _weigh(self, samples: Samples, Y: np.ndarray, groups: Any) -> np.ndarray:
        feature_groups = FeatureGroups(self.feature_groups, samples.n_features)
        price = self._check(feature_groups, len(samples))
        if self.criterion == "validation":
            train, test = split_off(samples, self.hold_out, None if groups is None else np.asarray(groups))
        else:
            train, test = np.arange(len(samples)), np.empty(0, np.int64)
        losses, best = self._try_all(samples, Y, train, test, feature_groups)
        self.loss_curve_ = losses
        self.score_curve_ = np.array([price(loss, size) for size, loss in enumerate(losses)])
        self.sets_ = [feature_groups.labels[row == 1] for row in best]
        least = 0 if self.allow_empty else 1
        size = self._fix_size(len(feature_groups)) or least + int(np.argmin(self.score_curve_[least:]))
        order = np.lexsort((-best.sum(axis=0), 1 - best[size]))
        return self._choose(feature_groups, order, size)

    def _check(self, feature_groups: FeatureGroups, n_rows: int) -> Price:
        """Refuse too many features and what is no criterion; return the price of a set."""
        n = len(feature_groups)
        if n > MOST_GROUPS:
            raise ValueError(
                f"BestSubset tries all sets of at most {MOST_GROUPS} features or groups; found {n}. Give it fewer, "
                "such as the first ones of a ranking, or use ForwardSelection or OrderedFS."
            )
        number = isinstance(self.criterion, Real) and 0 <= float(self.criterion) < np.inf
        if not number and self.criterion not in ("aic", "bic", "validation"):
            raise ValueError(
                f"criterion must be 'aic', 'bic', 'validation' or a price of at least 0; found {self.criterion!r}"
            )
        return Price(0.0 if self.criterion == "validation" else self.criterion, n_rows)

    def _try_all(
        self, samples: Samples, Y: np.ndarray, train: np.ndarray, test: np.ndarray, feature_groups: FeatureGroups
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the loss of the best set of each size, and which groups are in it."""
        n, q = samples.n_features, Y.shape[1]
        check_memory(8 * (n + 1) * (n + q) ** 2, f"the search over sets of {n} features", "Give it fewer features.")
        columns = np.concatenate(feature_groups.members)
        fitted, held = (np.hstack([np.asarray(samples[rows], float)[:, columns], Y[rows]]) for rows in (train, test))
        mean, sd = fitted.mean(axis=0), fitted.std(axis=0)
        sd = np.where(sd > 0, sd, 1.0)
        Z, Q = (fitted - mean) / sd, (held - mean) / sd
        n_scored = q * (len(Q) or len(Z))
        losses, best = np.empty(len(feature_groups) + 1), np.zeros((len(feature_groups) + 1, len(feature_groups)), int)
        starts = np.cumsum([0, *(members.size for members in feature_groups.members)])
        held_products = Q.T @ Q if len(Q) else np.empty((0, 0))
        settings = (starts, DEPENDENT * len(Z), EQUAL * n_scored)
        loops_all_sets.try_all_sets(Z.T @ Z, held_products, *settings, losses, best)
        return np.maximum(losses, 0.0) / n_scored, best
