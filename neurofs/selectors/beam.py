"""Beam search over sets of features, with a part of the rows held out: ORDERED-FS, ORDERED-FS2 and STANDARD-WRAP.

All begin with the empty set and, from each of the b best sets of a size, try every feature more; the b best of
all these are the sets of the next size. Sets are fitted to the training rows.

    STANDARD-WRAP   ranks sets by the loss on the held-out rows, and returns the best set of all
    ORDERED-FS      ranks sets by the loss on the training rows, and lets the held-out rows choose the size only
    ORDERED-FS2     ranks sets by the loss on held-out rows, and lets a second part of held-out rows choose the size

STANDARD-WRAP compares so many sets on the held-out rows that the best of them is good there by chance; ORDERED-FS
compares one per size. ORDERED-FS2 does, too, and gets by with models that fit their training rows without error,
as if a feature were the number of the row. After Ng (ICML 1998; MIT 1998).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from neurofs.features.samples import Samples
from neurofs.features.splits import split_off
from neurofs.ground.keys import RandomState
from neurofs.ground.works import WORKS
from neurofs.selectors.base import SetSelector
from neurofs.selectors.feature_groups import FeatureGroups
from neurofs.selectors.memory import check_memory, memory_limit
from neurofs.selectors.parameters import is_count
from neurofs.selectors.subsets import AnyEstimator, Cut, LeastSquares, Logistic, Neighbors, SubsetModel
from neurofs.selectors.targets import EstimatorSelector

DIGITS = 9  # to which losses are equal
MODELS: dict[str, type[SubsetModel]] = {"least-squares": LeastSquares, "knn": Neighbors, "logistic": Logistic}


@dataclass(frozen=True, eq=False)
class Rung:
    """A set of feature groups: in the order they came in, as the bits of a number, and as a state of the model."""

    path: tuple[int, ...]
    key: int
    state: Any

    def grow(self, model: SubsetModel, group: int) -> Rung:
        """Return the set with a feature group more."""
        return Rung((*self.path, group), self.key | 1 << group, model.grow(self.state, group))


def climb(model: SubsetModel, n_groups: int, width: int, largest: int) -> Iterator[tuple[Rung, int]]:
    """Yield the best set of each size from 1 to `largest`, and how many sets were tried for it.

    A set that is reached on several ways is tried once; among equal losses the set made first wins.
    """
    beam = [Rung((), 0, model.start())]
    for _ in range(largest):
        seen: set[int] = set()
        losses, made = [], []
        for rung in beam:
            key = rung.key
            new = [group for group in range(n_groups) if not key >> group & 1 and key | 1 << group not in seen]
            if new:
                seen.update([key | 1 << group for group in new])
                made += [(rung, group) for group in new]
                losses.append(model.try_groups(rung.state, np.array(new)))
        best = np.argsort(np.round(np.concatenate(losses), DIGITS), kind="stable")[:width]
        beam = [made[at][0].grow(model, made[at][1]) for at in best]
        yield beam[0], len(made)


def follow(model: SubsetModel, path: tuple[int, ...]) -> Any:
    """Return the state of a model with these feature groups."""
    state = model.start()
    for group in path:
        state = model.grow(state, group)
    return state


@dataclass(eq=False, repr=False)
class _Beam(SetSelector, EstimatorSelector):
    """What the three share; they differ in the rows by which sets are ranked, and by which the size is chosen."""

    citation, origin = WORKS["ng1998"], "Ng 1998"
    _ranks_held_out = False

    estimator: object = "least-squares"
    beam_width: int = 50
    max_features: int | None = None
    hold_out: float = 0.3
    n_neighbors: int | Literal["auto"] = "auto"
    discrete_target: bool | Literal["auto"] = "auto"
    _: KW_ONLY
    allow_empty: bool = False
    split: str = "runs"
    random_state: RandomState = None

    def _weigh(self, samples: Samples, Y: np.ndarray, groups: Any) -> np.ndarray:
        feature_groups = FeatureGroups(self.feature_groups, samples.n_features)
        width, largest = self._check_size(len(feature_groups))
        cut = self._cut(samples, Y, groups, feature_groups)
        self._check_room(cut, width, largest)
        model = self._make_model(cut, self.hold_out_rows_)
        paths = self._search(model, len(feature_groups), width, largest)
        path = paths[self._pick(self._judge(cut, paths, samples, Y))]
        del self._target
        rest = np.setdiff1d(np.arange(len(feature_groups)), path)
        if rest.size:
            losses = model.try_groups(follow(model, path), rest)
            rest = rest[np.argsort(np.round(losses, DIGITS), kind="stable")]
        return self._choose(feature_groups, np.concatenate([path, rest]), len(path))

    def _check_size(self, n_groups: int) -> tuple[int, int]:
        """Return the width of the beam and the size of the largest sets."""
        if not is_count(self.beam_width):
            raise ValueError(f"beam_width must be a whole number above 0; found {self.beam_width!r}")
        if self.max_features is not None and not is_count(self.max_features):
            raise ValueError(f"max_features must be None or a whole number above 0; found {self.max_features!r}")
        largest = self._fix_size(n_groups) or min(n_groups, int(self.max_features or n_groups))
        return int(self.beam_width), largest

    def _cut(self, samples: Samples, Y: np.ndarray, groups: Any, feature_groups: FeatureGroups) -> Cut:
        """Hold out a part of the rows."""
        groups = None if groups is None else np.asarray(groups)
        train, test = self._hold_out(samples, groups)
        self.train_rows_, self.hold_out_rows_ = train, test
        y = self._encode(Y)
        if self._n_classes and len(np.unique(y[train])) < 2:
            raise ValueError(
                f"the {len(train)} rows left to train on are of one class. Give more rows, or rows whose classes "
                "change more often."
            )
        return Cut(
            X=np.asarray(samples[train], float),
            Q=np.asarray(samples[test], float),
            y=y[train],
            truth=y[test],
            n_classes=self._n_classes,
            train=samples[train],
            groups=None if groups is None else groups[train],
            feature_groups=feature_groups,
            rank_held_out=self._ranks_held_out,
        )

    def _hold_out(self, samples: Samples, groups: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows to fit sets to, and those on which they are compared."""
        return split_off(samples, self.hold_out, groups, random_state=self._split_rng())

    def _split_rng(self) -> np.random.Generator | None:
        """Return what draws the rows to hold out, None if they are runs."""
        if self.split not in ("runs", "random"):
            raise ValueError(f"split must be 'runs' or 'random'; found {self.split!r}")
        if self.split == "runs":
            return None
        return np.random.default_rng(check_random_state(self.random_state).randint(2**31))

    def _check_room(self, cut: Cut, width: int, largest: int) -> None:
        """Refuse a beam that does not fit into memory: the sets of two sizes are there at a time."""
        n_features = sum(sorted((m.size for m in cut.feature_groups.members), reverse=True)[:largest])
        fixed, each = self._model_kind().count_bytes(cut, n_features)
        fitting = max(0, memory_limit() - fixed) // (2 * each)
        smaller = f"Set beam_width={fitting} or less, or max_features" if fitting else "Fit it to fewer rows"
        check_memory(fixed + 2 * width * each, f"a beam of {width} sets of up to {n_features} features", f"{smaller}.")

    def _model_kind(self) -> type[SubsetModel]:
        """Return the model of the estimator, or refuse what is none."""
        if not isinstance(self.estimator, str):
            if not (hasattr(self.estimator, "fit") and hasattr(self.estimator, "predict")):
                raise ValueError(f"estimator must have fit and predict; found {self.estimator!r}")
            return AnyEstimator
        if self.estimator not in MODELS:
            known = ", ".join(map(repr, MODELS))
            raise ValueError(f"estimator must be one of {known} or have fit and predict; found {self.estimator!r}")
        if self.estimator == "logistic" and not self._n_classes:
            raise ValueError(
                "estimator='logistic' needs classes as the target; found numbers. Set discrete_target=True if "
                "they are classes, or estimator='least-squares'."
            )
        return MODELS[self.estimator]

    def _encode(self, Y: np.ndarray) -> np.ndarray:
        """Return targets as given, or the number of the class."""
        return Y[:, 0].astype(np.int64) if self._n_classes else Y

    def _make_model(self, cut: Cut, held_out: np.ndarray) -> SubsetModel:
        """Return the model of the training rows that is measured on these rows."""
        kind = self._model_kind()
        if kind is AnyEstimator:
            labels = self._target[self.train_rows_], self._target[held_out]
            return AnyEstimator(cut, self.estimator, *labels)
        return Neighbors(cut, self.n_neighbors, type(self).__name__) if kind is Neighbors else kind(cut)

    def _search(self, model: SubsetModel, n_groups: int, width: int, largest: int) -> list[tuple[int, ...]]:
        """Return the best set of each size, its groups in the order in which they came in; note their losses."""
        curves = [model.measure(model.start())]
        paths: list[tuple[int, ...]] = [()]
        self.n_sets_ = 1
        for rung, n_sets in climb(model, n_groups, width, largest):
            curves.append(model.measure(rung.state))
            paths.append(rung.path)
            self.n_sets_ += n_sets
        self.train_curve_, self.hold_out_curve_ = np.array(curves).T
        self.paths_ = [model.cut.feature_groups.labels[list(path)] for path in paths]
        return paths

    def _judge(self, cut: Cut, paths: list[tuple[int, ...]], samples: Samples, Y: np.ndarray) -> np.ndarray:
        """Return the losses of the best sets of each size by which the size is chosen."""
        return self.hold_out_curve_

    def _pick(self, losses: np.ndarray) -> int:
        """Return the size of the least loss, or the one that is asked for, the last."""
        if self.n_features_to_select is not None:
            return len(losses) - 1
        least = 0 if self.allow_empty else 1
        return least + int(np.argmin(np.round(losses[least:], DIGITS)))


class OrderedFS(_Beam):
    """ORDERED-FS: beam search by the error on training rows; held-out rows choose the number of features.

    Parameters
    ----------
    n_features_to_select : int, float or None
        None, the default, lets the held-out rows choose; a number (of groups with `feature_groups`) keeps the
        best set of that size.
    estimator : "least-squares", "knn", "logistic" or a scikit-learn estimator
        What is fitted to a set. "least-squares" takes continuous targets (mean squared error, 1 for the mean) and
        classes (the same of one column of 0 or 1 per class); "knn" takes both (mean squared error, or share of
        errors); "logistic" takes classes (share of errors; one class against the rest if there are several).
        These go from set to set without fitting anew. Any other is fitted to every set.
    beam_width : int
        b, the sets of each size that are followed; 1 is forward selection.
    max_features : int or None
        Size of the largest sets; None, the default, goes on to all features. Set it where all are too many: a
        search to size r tries about b r N sets.
    hold_out : float
        γ, the share of the rows, or trials if `fit` gets `groups`, that is held out, spread over the session in up
        to five runs. Training rows that share raw data with them are left out.
    n_neighbors : "auto" or int
        k of "knn"; "auto" is 10, or all other rows if there are fewer. Features are compared as they are.
    discrete_target : "auto" or bool
        Whether the target is a class. "auto": all but floating-point numbers are classes.
    allow_empty : bool
        Whether the held-out rows may choose the empty set, no feature at all, as published. False, the default,
        chooses at least one feature.
    split : "runs" or "random"
        "runs", the default, holds out runs of rows as `hold_out` says. "random" draws single rows, or trials, as
        published, for rows that do not overlap.
    random_state : int, RandomState or None
        Seed of that draw.

    Attributes
    ----------
    weights_ : array (n_features,)
        1 for the chosen features, else 0.
    train_curve_, hold_out_curve_ : arrays
        Losses of the best set of each size 0, 1, 2, … on the training and on the held-out rows.
    paths_ : list of arrays
        These sets (features, or labels of groups), in the order in which their features came in.
    n_sets_ : int
        Sets that were tried.
    train_rows_, hold_out_rows_ : arrays
        The rows of both parts.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 10))
    >>> selector = OrderedFS(max_features=4).fit(X, X[:, 2] - X[:, 5] + 0.1 * rng.normal(size=200))
    >>> selector.get_support(indices=True), selector.hold_out_curve_.round(4)
    (array([2, 5]), array([0.866 , 0.4872, 0.0052, 0.0053, 0.0053]))
    """

    name, label = "ordered-fs", "ORDERED-FS"
    color, marker = "vermilion", "p"
    cost = "b N² per size (least squares), at most b m² N (knn)"


class StandardWrap(_Beam):
    """STANDARD-WRAP: beam search by the error on held-out rows, the usual wrapper.

    Parameters and attributes are those of `OrderedFS`; the best set of a size is that of the least loss on the
    held-out rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 10))
    >>> y = X[:, 2] - X[:, 5] + 0.5 * rng.normal(size=200)
    >>> int(StandardWrap().fit(X, y).n_selected_)  # more than the two that matter
    9
    """

    name, label = "standard-wrap", "STANDARD-WRAP"
    color, marker, line = "vermilion", "p", "--"
    cost = "b N² per size (least squares), at most b m² N (knn)"
    _ranks_held_out = True


@dataclass(eq=False, repr=False)
class OrderedFS2(_Beam):
    """ORDERED-FS2: beam search by the error on held-out rows; a second part held out chooses the number of features.

    It is for models that fit their training rows without error whatever the features, such as trees that are given
    the number of the row as a feature. Parameters and attributes are those of `OrderedFS`, but for these.

    Parameters
    ----------
    hold_out : float
        γ₂, the share of the rows by which sets of the same size are ranked.
    final_hold_out : float
        γ₃, the share of the rows that choose the size. The rest, γ₁, is for training.

    Attributes
    ----------
    hold_out_curve_, final_curve_ : arrays
        Losses of the best set of each size 0, 1, 2, … on the first and on the second part held out.
    hold_out_rows_, final_rows_ : arrays
        The rows of these parts.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 10))
    >>> y = X[:, 2] - X[:, 5] + 0.5 * rng.normal(size=200)
    >>> int(OrderedFS2().fit(X, y).n_selected_)  # STANDARD-WRAP has 9
    3
    """

    name, label = "ordered-fs2", "ORDERED-FS2"
    color, marker, line = "vermilion", "p", "-."
    cost = "b N² per size (least squares), at most b m² N (knn)"
    _ranks_held_out = True

    final_hold_out: float = 0.2

    def _hold_out(self, samples: Samples, groups: Any) -> tuple[np.ndarray, np.ndarray]:
        if self.hold_out + self.final_hold_out >= 1:
            raise ValueError(
                f"hold_out and final_hold_out must leave rows to train on; found {self.hold_out} and "
                f"{self.final_hold_out}. Choose shares whose sum is below 1."
            )
        rng = self._split_rng()
        rest, self.final_rows_ = split_off(samples, self.final_hold_out, groups, random_state=rng)
        share = self.hold_out / (1 - self.final_hold_out)
        inside = None if groups is None else groups[rest]
        train, test = split_off(samples[rest], share, inside, random_state=rng)
        return rest[train], rest[test]

    def _judge(self, cut: Cut, paths: list[tuple[int, ...]], samples: Samples, Y: np.ndarray) -> np.ndarray:
        """Return the losses on the second part held out."""
        X, truth = np.asarray(samples[self.final_rows_], float), self._encode(Y)[self.final_rows_]
        model = self._make_model(replace(cut, Q=X, truth=truth, rank_held_out=False), self.final_rows_)
        self.final_curve_ = np.array([model.measure(follow(model, path))[1] for path in paths])
        return self.final_curve_
