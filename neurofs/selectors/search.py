"""Forward selection and backward elimination, with a price on features.

    score(S) = loss(S) + λ |S|,   or AIC: m ln loss + 2 |S|,   or BIC: m ln loss + |S| ln m

Forward adds the feature that lowers the score most, backward removes the one, while that helps, or up to a
fixed size. The loss is the leave-one-out error of soft kNN with unit weights (`SoftKNNLoss`: one column more
or less in a table of distances per candidate) or that of any scikit-learn estimator (`EstimatorLoss`). With
`feature_groups` whole groups, such as all lags of a channel, are added or removed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np

from neurofs.features.samples import Samples
from neurofs.ground.works import WORKS
from neurofs.selectors.base import SetSelector
from neurofs.selectors.feature_groups import FeatureGroups
from neurofs.selectors.losses import EstimatorLoss, SoftKNNLoss
from neurofs.selectors.targets import EstimatorSelector


@dataclass(frozen=True)
class Step:
    """One step of a search, as given to `callback` and kept in `steps_`."""

    group: Any  #: the feature, or the label of the group, that was added or removed; None at the start
    n_features: int  #: size of the set after it
    loss: float
    score: float


@dataclass(eq=False, repr=False)
class _Search(SetSelector, EstimatorSelector):
    """What the two directions share."""

    estimator: object = None
    penalty: object = 0.0
    include: object = ()
    cv: object = 5
    scoring: object = None
    n_neighbors: int | Literal["auto"] = "auto"
    beta: float | Literal["adaptive"] = "adaptive"
    exclude: str = "overlap"
    callback: Callable[[Step], None] | None = None
    _: KW_ONLY
    beta_factor: float = 0.5
    discrete_target: bool | Literal["auto"] = "auto"

    def _weigh(self, samples: Samples, Y: np.ndarray, groups: Any) -> np.ndarray:
        feature_groups = FeatureGroups(self.feature_groups, samples.n_features)
        score = Price(self.penalty, len(samples))
        loss: Any
        if self.estimator is None:
            loss = SoftKNNLoss(self, samples, self._columns(Y), groups)
        else:
            loss = EstimatorLoss(self, samples, self._target, groups)
        del self._target
        self.steps_: list[Step] = []
        must = np.zeros(len(feature_groups), bool)
        must[feature_groups.find(self._included())] = True
        size = self._fix_size(len(feature_groups))
        if size is not None and size < must.sum():
            raise ValueError(f"include names {must.sum()} features or groups, but n_features_to_select is {size}")
        walk = _Walk(loss, feature_groups, score, self._note)
        order = self._search(walk, must, size)
        self.loss_curve_ = np.array([step.loss for step in self.steps_])
        self.score_curve_ = np.array([step.score for step in self.steps_])
        return self._choose(feature_groups, order, int(walk.chosen.sum()))

    def _included(self) -> Any:
        """Return `include`, the names of the columns of a data frame as their numbers."""
        names = getattr(self, "feature_names_in_", np.empty(0, object)).tolist()
        if self.feature_groups is not None:
            return self.include
        return [names.index(name) if name in names else name for name in np.asarray(self.include).tolist()]

    def _note(self, step: Step) -> None:
        """Keep a step and tell the callback."""
        self.steps_.append(step)
        if self.callback is not None:
            self.callback(step)

    def _search(self, walk: _Walk, must: np.ndarray, size: int | None) -> np.ndarray:
        """Walk to the set, and return all groups, best first, those of the set before the others."""
        raise NotImplementedError


class Price:
    """What a loss and a number of features are worth together."""

    def __init__(self, penalty: Any, n_rows: int) -> None:
        """Check the penalty."""
        number = isinstance(penalty, Real) and 0 <= float(penalty) < np.inf
        if not number and penalty not in ("aic", "bic"):
            raise ValueError(f"penalty must be a number of at least 0, 'aic' or 'bic'; found {penalty!r}")
        self.penalty, self.n_rows = penalty, n_rows

    def __call__(self, loss: float, n_features: int) -> float:
        """Return the score; low is good."""
        if not isinstance(self.penalty, str):
            return loss + float(self.penalty) * n_features
        if loss < 0:
            raise ValueError(
                f"penalty {self.penalty!r} takes the logarithm of the loss, and scoring gives {loss:g}; "
                "give the price as a number"
            )
        price = 2.0 if self.penalty == "aic" else np.log(self.n_rows)
        return float(self.n_rows * np.log(max(loss, np.finfo(float).tiny)) + price * n_features)


class _Walk:
    """A set of feature groups that grows or shrinks by one at a time."""

    def __init__(self, loss: Any, feature_groups: FeatureGroups, score: Price, note: Callable[[Step], None]) -> None:
        """Start from the empty set."""
        self.loss, self.feature_groups, self.score, self.note = loss, feature_groups, score, note
        self.chosen = np.zeros(len(feature_groups), bool)
        self.value = np.inf

    def begin(self, chosen: np.ndarray) -> None:
        """Start from a set."""
        self.chosen = chosen.copy()
        loss = self.loss.begin(self._features(chosen))
        self._arrive(None, loss)

    def _features(self, chosen: np.ndarray) -> np.ndarray:
        return np.flatnonzero(chosen[self.feature_groups.of_feature])

    def _arrive(self, label: Any, loss: float) -> None:
        n = int(self._features(self.chosen).size)
        self.value = self.score(loss, n)
        self.note(Step(label, n, loss, self.value))

    def try_all(self, candidates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the loss and the score after the flip of each candidate."""
        losses, scores = np.empty(candidates.size), np.empty(candidates.size)
        n = self._features(self.chosen).size
        for c, group in enumerate(candidates):
            members = self.feature_groups.members[group]
            sign = -1 if self.chosen[group] else 1
            losses[c] = self.loss.after(members, sign)
            scores[c] = self.score(losses[c], n + sign * members.size)
        return losses, scores

    def take(self, group: int, loss: float) -> None:
        """Add a feature group, or remove it if it is in."""
        self.loss.change(self.feature_groups.members[group], -1 if self.chosen[group] else 1)
        self.chosen[group] = not self.chosen[group]
        self._arrive(self.feature_groups.labels[group].item(), loss)


class ForwardSelection(_Search):
    """Add the best feature, then the best to go with it, and so on.

    Parameters
    ----------
    n_features_to_select : int, float or None
        Size of the set (number of groups with `feature_groups`); None, the default, stops where the score no
        longer improves, but never without any feature.
    estimator : scikit-learn estimator, optional
        What the loss is of; None, the default, is soft kNN in leave-one-out manner.
    penalty : float, "aic" or "bic"
        λ, the price of a feature in units of the loss, or one of the two criteria.
    include : array of features (numbers, or names of a data frame), or of group labels
        What has to be in the set.
    cv : int, splitter or None
        How the loss of an estimator is measured: on the test parts of these folds, which get the `groups` of
        `fit`; None measures it on the training data themselves.
    scoring : str or callable, optional
        A scikit-learn scorer, whose negative is the loss; by default the loss is the mean squared error
        in units of the target's variance, or for a classifier the share of errors.
    n_neighbors : "auto" or int
        k of soft kNN; "auto" is 30, or all other rows if there are fewer.
    beta : "adaptive" or float
        Width of the Gaussian of soft kNN: `beta_factor` times the mean distance of each row's neighbors, or a
        number.
    exclude : "overlap" or "self"
        Which rows are no neighbors of a row: all whose windows overlap it, or only itself. With `groups` in
        `fit`, never those of its own group.
    callback : callable, optional
        Called with a `Step` after every step.
    beta_factor : float
        See `beta`.
    discrete_target : "auto" or bool
        Whether the target is a class, which gives soft kNN one output per class. "auto": all but floating-point
        numbers are classes.

    Attributes
    ----------
    weights_ : array (n_features,)
        1 for the chosen features, else 0.
    steps_ : list of Step
        The path of the search; `loss_curve_` and `score_curve_` are its losses and scores.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((150, 8))
    >>> selector = ForwardSelection(penalty=0.02).fit(X, X[:, 2] + X[:, 5])
    >>> selector.get_support(indices=True), [step.group for step in selector.steps_]
    (array([2, 5]), [None, 5, 2])
    """

    name, label = "forward", "forward selection"
    citation, origin = WORKS["navot2006"], "Navot 2006, 4.3; price: He 2021"
    color, marker = "olive", "d"
    cost = "m² N per step; m² memory"

    def _search(self, walk: _Walk, must: np.ndarray, size: int | None) -> np.ndarray:
        walk.begin(must)
        order, rest = np.flatnonzero(must), np.flatnonzero(~must)
        losses = np.zeros(rest.size)
        while rest.size and (size is None or walk.chosen.sum() < size):
            losses, scores = walk.try_all(rest)
            best = int(np.argmin(scores))
            if size is None and walk.chosen.any() and not scores[best] < walk.value:
                break
            walk.take(rest[best], losses[best])
            order = np.append(order, rest[best])
            rest, losses = np.delete(rest, best), np.delete(losses, best)
        return np.concatenate([order, rest[np.argsort(losses, kind="stable")]])


class BackwardElimination(_Search):
    """Start from all features and remove the one that is missed least, again and again.

    Parameters and attributes are those of `ForwardSelection`. With no size given, it goes on while the score
    gets no worse.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((150, 5))
    >>> BackwardElimination().fit(X, X[:, 2] + X[:, 4]).get_support(indices=True)
    array([2, 4])
    """

    name, label = "backward", "backward elimination"
    citation, origin = WORKS["kohavi1997"], "Kohavi & John 1997; price: He 2021"
    color, marker, line = "olive", "d", "--"
    cost = "m² N per step, N steps; m² memory"

    def _search(self, walk: _Walk, must: np.ndarray, size: int | None) -> np.ndarray:
        walk.begin(np.ones(must.size, bool))
        rest, removed = np.flatnonzero(~must), np.empty(0, np.int64)
        losses = np.zeros(rest.size)
        while rest.size and walk.chosen.sum() > (size or 1):
            losses, scores = walk.try_all(rest)
            best = int(np.argmin(scores))
            if size is None and not scores[best] <= walk.value:
                break
            walk.take(rest[best], losses[best])
            removed = np.append(removed, rest[best])
            rest, losses = np.delete(rest, best), np.delete(losses, best)
        kept = np.concatenate([np.flatnonzero(must), rest[np.argsort(-losses, kind="stable")]])
        return np.concatenate([kept, removed[::-1]])
