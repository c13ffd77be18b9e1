"""Margin-based selection for classes: Simba climbs, G-flip flips.

    θ_w(x) = ½ (‖x − nearmiss‖_w − ‖x − nearhit‖_w),   ‖z‖_w² = Σ_f w_f² z_f²
    e(w) = Σ_x u(θ_w(x)),   u linear, zero-one, or sigmoid 1 / (1 + exp(−β θ))

nearhit and nearmiss of x are the nearest samples of its own and of another class; x itself, what overlaps it,
and what is of its trial are left out. After Gilad-Bachrach, Navot and Tishby (ICML 2004).
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils import check_random_state

from neurofs.features.holdouts import pick_evenly
from neurofs.features.samples import Samples
from neurofs.ground.keys import RandomState
from neurofs.ground.works import WORKS
from neurofs.metric import loops_neighbors, neighbors
from neurofs.selectors import loops_margin
from neurofs.selectors.base import SetSelector
from neurofs.selectors.feature_groups import FeatureGroups
from neurofs.selectors.parameters import resolve_auto
from neurofs.selectors.relief import nearest_hits_and_misses, squared_differences, usable_rows
from neurofs.selectors.targets import ClassSelector

UTILITIES = ("linear", "zero-one", "sigmoid")
STEPS = (1.0, 0.3, 0.1, 0.03, 0.01)  # step sizes that the starts of Simba try in turn
STARTS = ("by turns", "empty", "all")
MANY_ROWS = 2000  # rows of which all distances are averaged
MOST_PASSES = 100
WORTHWHILE = 1e-10  # least relative gain of e(F) that is no rounding error


def find_margins(
    X: Any, codes: np.ndarray, weights: Any = None, *, groups: Any = None, exclude: str = "overlap"
) -> np.ndarray:
    """Return θ_w(x) of every row that has a hit and a miss.

    >>> find_margins([[0.0], [1.0], [4.0], [6.0]], np.array([0, 0, 1, 1]))
    array([1.5, 1. , 0.5, 1.5])
    """
    samples = neighbors.as_samples(X)
    w = np.ones(samples.n_features) if weights is None else np.asarray(weights, float)
    hits, misses = nearest_hits_and_misses(samples, codes, w, groups=groups, exclude=exclude)
    rows = usable_rows(hits, misses)
    to_miss = [np.sqrt(z @ w**2) for z in squared_differences(samples, rows, misses[rows])]
    to_hit = [np.sqrt(z @ w**2) for z in squared_differences(samples, rows, hits[rows])]
    return 0.5 * (np.concatenate(to_miss) - np.concatenate(to_hit))


def evaluate_margins(theta: np.ndarray, utility: str = "linear", beta: float = 1.0) -> float:
    """Return e = Σ u(θ) over the margins that are not NaN.

    >>> evaluate_margins(np.array([1.0, -0.5])), evaluate_margins(np.array([1.0, -0.5]), "zero-one")
    (0.5, 1.0)
    """
    theta = theta[~np.isnan(theta)]
    if utility == "linear":
        return float(theta.sum())
    if utility == "zero-one":
        return float((theta > 0).sum())
    return float((0.5 + 0.5 * np.tanh(0.5 * beta * theta)).sum())  # the sigmoid, without overflow


def check_utility(utility: Any, known: tuple[str, ...]) -> None:
    """Refuse the name of a utility that is not `known`."""
    if utility not in known:
        raise ValueError(f"utility must be one of {', '.join(map(repr, known))}; found {utility!r}")


def check_beta(beta: Any, utility: str, theta: np.ndarray, samples: Samples) -> float:
    """Return β of the sigmoid: "auto" is one over the mean |θ|, "distance" one over the mean distance of rows."""
    published = isinstance(beta, str) and beta == "distance"
    scale = 1.0
    if utility == "sigmoid" and theta.size:
        scale = mean_distance(samples) if published else float(np.abs(theta).mean())
    return resolve_auto("auto" if published else beta, 1.0 / scale if scale > 0 else 1.0, "beta")


def mean_distance(samples: Samples) -> float:
    """Return the mean of ‖x − x'‖ over all pairs of rows; of many rows, over those of an even selection.

    >>> mean_distance(Samples.from_array(np.array([[0.0], [1.0], [3.0]])))
    2.0
    """
    some = samples[pick_evenly(len(samples), MANY_ROWS)]
    table = np.sqrt(neighbors.pairwise_distances(some).astype(np.float64))
    return float(table.sum() / (len(some) * (len(some) - 1)))


# --------------------------------------------------------------------------------------------------- Simba


@dataclass(eq=False, repr=False)
class _MarginSelector(ClassSelector):
    """What the two share."""

    citation, origin = WORKS["gilad2004"], "Gilad-Bachrach, Navot & Tishby 2004"

    utility: str = "linear"
    beta: float | Literal["auto", "distance"] = "auto"


@dataclass(eq=False, repr=False)
class Simba(_MarginSelector):
    """Simba: stochastic gradient ascent on e(w), with hits and misses found under the current weights.

    w ← w + Δ, Δ_f = ½ u'(θ) [(x − nearmiss)_f² / ‖x − nearmiss‖_w − (x − nearhit)_f² / ‖x − nearhit‖_w] w_f
    for one x after the other; at the end w ← w² / max w².

    Parameters
    ----------
    utility : "linear" or "sigmoid"
        u; its derivative is needed, so there is no zero-one.
    beta : "auto", "distance" or float
        Steepness of the sigmoid. "auto" is one over the mean |θ| at unit weights; "distance" is one over the mean
        distance of two rows, where section 3.9 of Navot (2006) would begin. NOTES.md compares them.
    n_epochs : int
        Passes over the rows, each in a random order.
    n_starts : int
        Runs with different row orders; the one with the largest e(w), at max w² = 1, is kept.
    step_size : "auto" or float
        What multiplies Δ, 1 as published. With "auto" the starts go through 1, 0.3, 0.1, 0.03, 0.01 divided by
        the root mean square of the features' standard deviations, so that neither the unit of the data nor
        the number of features matters: 1 is far too much for hundreds of features.
    exclude : "overlap" or "self"
        Which rows are no neighbors of a row: all whose windows overlap it, or only itself. With `groups` in
        `fit`, never those of its own group.
    random_state : int, RandomState or None
        Seed of the row orders.

    Attributes
    ----------
    weights_ : array (n_features,)
        w² / max w², as published; their roots, `metric_weights_`, are the w of ‖·‖_w.
    evaluation_ : float
        e(w) of the run that was kept.
    start_evaluations_ : array (n_starts,)
        e(w) of every run.

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(-1, 1, (300, 6))
    >>> selector = Simba(2, random_state=0).fit(X, X[:, 0] * X[:, 3] > 0)
    >>> sorted(selector.order_[:2].tolist())
    [0, 3]
    """

    name, label = "simba", "Simba"
    color, marker = "teal", "*"
    is_metric = True
    cost = "m² N per start and epoch"

    published_settings: ClassVar[dict[str, Any]] = {"step_size": 1.0}

    n_epochs: int = 1
    n_starts: int = 5
    step_size: float | Literal["auto"] = "auto"
    exclude: str = "overlap"
    random_state: RandomState = None

    def _weigh(self, samples: Samples, Y: np.ndarray, groups: Any) -> np.ndarray:
        check_utility(self.utility, ("linear", "sigmoid"))
        rng, (samples,) = check_random_state(self.random_state), neighbors.centered(samples)
        climb = Climb(self, samples, Y[:, 0].astype(np.int64), groups)
        epochs = int(resolve_auto(self.n_epochs, 1, "n_epochs", whole=True))
        starts = int(resolve_auto(self.n_starts, 1, "n_starts", whole=True))
        runs = [climb.run(epochs, climb.steps[start % len(climb.steps)], rng) for start in range(starts)]
        self.start_evaluations_ = np.array([value for _, value in runs])
        self.metric_weights_, self.evaluation_ = max(runs, key=lambda run: run[1])
        return self.metric_weights_**2


class Climb:
    """The samples of one fit and how to climb on them."""

    def __init__(self, settings: Simba, samples: Samples, codes: np.ndarray, groups: Any) -> None:
        """Resolve what is "auto"."""
        m = len(samples)
        self.samples, self.codes, self.flat = samples, codes, neighbors.plain(samples.flat)
        self.given_groups, self.exclude = groups, settings.exclude
        self.groups = neighbors.loo_groups(groups, m)
        self.span = neighbors.exclusion_span(samples, settings.exclude)
        self.utility = settings.utility
        self.beta = check_beta(settings.beta, self.utility, self.margins(np.ones(samples.n_features)), samples)
        deviation = root_mean_variance(samples) or 1.0
        fixed = resolve_auto(settings.step_size, 0.0, "step_size")
        self.steps = [fixed] if fixed else [factor / deviation for factor in STEPS]

    def run(self, n_epochs: int, step: float, rng: np.random.RandomState) -> tuple[np.ndarray, float]:
        """Return the weights after some epochs, at max |w| = 1, and e(w)."""
        w = np.ones(self.samples.n_features)
        for _ in range(n_epochs):
            self.climb(rng.permutation(len(self.samples)), step, w)
        w = np.abs(w) / np.abs(w).max()
        return w, evaluate_margins(self.margins(w), self.utility, self.beta)

    def climb(self, rows: np.ndarray, step: float, w: np.ndarray) -> None:
        """Take one step for each of `rows`, changing w."""
        starts, n = self.samples.starts, self.samples.n_features
        d = np.empty(len(self.samples), np.float32)
        rules = (self.utility == "sigmoid", self.beta, step)
        for i in rows:
            size = float(np.abs(w).max())  # the scale of w does not matter here, but might overflow float32
            w2 = ((w / size) ** 2).astype(np.float32)
            loops_neighbors.query_distances(self.flat, starts, w2, self.flat[starts[i] : starts[i] + n], d)
            loops_margin.simba_step(self.flat, starts, self.groups, self.span, self.codes, i, d, *rules, w)

    def margins(self, w: np.ndarray) -> np.ndarray:
        """Return θ_w of the rows that have one."""
        return find_margins(self.samples, self.codes, w, groups=self.given_groups, exclude=self.exclude)


def root_mean_variance(samples: Samples) -> float:
    """Return the root of the mean variance of the features."""
    columns = (samples.flat[samples.starts + f] for f in range(samples.n_features))
    return float(np.sqrt(np.mean([np.var(column, dtype=np.float64) for column in columns])))


# -------------------------------------------------------------------------------------------------- G-flip


@dataclass(eq=False, repr=False)
class GFlip(SetSelector, _MarginSelector):
    """G-flip: go through the features in random order and add or remove each one if that raises e(F).

    A pass without a change ends it: F is then a local maximum, and its size was nobody's choice. The table of
    distances moves by one column per flip, so that a pass takes O(N m²); it has m² numbers.

    Parameters
    ----------
    n_features_to_select : int, float or None
        None, the default, keeps F; a number keeps that many of the order: first F by what each feature of it
        is worth, then the others by how little they would cost.
    utility : "linear", "zero-one" or "sigmoid"
        u.
    beta : "auto", "distance" or float
        Steepness of the sigmoid, as in `Simba`.
    n_starts : int
        Runs with different orders; the F of largest e(F) is kept.
    start : "by turns", "empty" or "all"
        What a run starts from. "empty" is no feature, as published: ``GFlip(n_starts=1, start="empty")`` is the
        published algorithm. "all" is every feature. "by turns", the default, is no feature in the first run, all
        in the second, and so on: from nothing, features that only work together (exclusive or) are found by luck,
        from all of them safely, but F is then larger (NOTES.md).
    max_passes : int
        Most passes of a run; a handful is usual.
    exclude : "overlap" or "self"
        Which rows are no neighbors of a row: all whose windows overlap it, or only itself. With `groups` in
        `fit`, never those of its own group.
    random_state : int, RandomState or None
        Seed of the orders.

    Attributes
    ----------
    weights_ : array (n_features,)
        1 for the features of F, else 0.
    scores_ : array (n_features,)
        What e(F) would lose without a feature of F; minus what it would lose with one of the others.
    evaluation_, n_passes_ : float, int
        e(F) and the passes of the run that was kept.

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(-1, 1, (300, 6))
    >>> GFlip(random_state=0).fit(X, X[:, 0] * X[:, 3] > 0).get_support(indices=True)
    array([0, 3])
    """

    name, label = "gflip", "G-flip"
    color, marker = "magenta", "<"
    cost = "m² N per pass; m² memory"

    published_settings: ClassVar[dict[str, Any]] = {"n_starts": 1, "start": "empty"}

    n_starts: int = 2
    max_passes: int = MOST_PASSES
    exclude: str = "overlap"
    random_state: RandomState = None
    start: str = "by turns"

    def _weigh(self, samples: Samples, Y: np.ndarray, groups: Any) -> np.ndarray:
        check_utility(self.utility, UTILITIES)
        if self.start not in STARTS:
            raise ValueError(f"start must be one of {', '.join(map(repr, STARTS))}; found {self.start!r}")
        rng, (samples,) = check_random_state(self.random_state), neighbors.centered(samples)
        codes = Y[:, 0].astype(np.int64)
        theta = find_margins(samples, codes, groups=groups, exclude=self.exclude)
        beta = check_beta(self.beta, self.utility, theta, samples)
        feature_groups = FeatureGroups(self.feature_groups, samples.n_features)
        passes = int(resolve_auto(self.max_passes, MOST_PASSES, "max_passes", whole=True))
        runs = []
        for number in range(int(resolve_auto(self.n_starts, 2, "n_starts", whole=True))):
            run = _Flips(samples, codes, groups, self.exclude, feature_groups, self.utility, beta)
            if self.start == "all" or (self.start == "by turns" and number % 2):
                run.choose_all()
            run.climb(rng, passes)
            runs.append(run)
        best = max(runs, key=lambda run: run.value)
        self.evaluation_, self.n_passes_ = best.value, best.n_passes
        self._chosen = best.chosen[feature_groups.of_feature]
        self.scores_ = best.worth()[feature_groups.of_feature]
        return self.scores_

    def _importance(self, samples: Samples, scores: np.ndarray) -> np.ndarray:
        """Put F first, whatever its features are worth."""
        lift = np.abs(scores).max(initial=0.0) + 1.0
        return np.where(self._chosen, lift + scores, scores - lift)


class _Flips:
    """One run of G-flip: the chosen feature groups, the distances under them, and e(F)."""

    def __init__(
        self,
        samples: Samples,
        codes: np.ndarray,
        groups: Any,
        exclude: str,
        feature_groups: FeatureGroups,
        utility: str,
        beta: float,
    ) -> None:
        """Start from the empty set, with rows in the order of their classes."""
        order = np.argsort(codes, kind="stable")
        self.samples, self.members, self.utility, self.beta = (samples[order], feature_groups.members, utility, beta)
        sizes = np.bincount(codes)
        self.first = np.repeat(np.cumsum(sizes) - sizes, sizes)
        self.last = np.repeat(np.cumsum(sizes), sizes)
        allowed = neighbors.allowed_pairs(samples, groups, exclude, "GFlip")[np.ix_(order, order)]
        self.D = np.where(allowed, 0.0, np.inf)
        self.chosen = np.zeros(len(feature_groups), bool)
        self.value = self.evaluate(np.empty((0, len(samples))), 1.0)
        self.n_passes = 0

    def evaluate(self, columns: np.ndarray, sign: float) -> float:
        """Return e of the chosen set with some columns added (sign 1) or removed (−1)."""
        theta = np.empty(len(self.D))
        loops_margin.margins(self.D, columns, sign, self.first, self.last, theta)
        return evaluate_margins(theta, self.utility, self.beta)

    def columns(self, group: int) -> np.ndarray:
        """Return the features of a group, one row per feature."""
        return self.samples.flat[self.samples.starts + self.members[group][:, None]].astype(np.float64)

    def flip(self, group: int, value: float) -> None:
        """Add or remove a feature group; e is then `value`."""
        loops_margin.shift_distances(self.D, self.columns(group), -1.0 if self.chosen[group] else 1.0)
        self.chosen[group], self.value = not self.chosen[group], value

    def flipped(self, group: int) -> float:
        """Return what e would be after the flip of a feature group."""
        return self.evaluate(self.columns(group), -1.0 if self.chosen[group] else 1.0)

    def choose_all(self) -> None:
        """Put every group that is not constant into the set."""
        for group in range(len(self.members)):
            if np.ptp(self.columns(group), axis=1).any():
                self.flip(group, self.value)
        self.value = self.evaluate(np.empty((0, len(self.D))), 1.0)

    def climb(self, rng: np.random.RandomState, max_passes: int) -> None:
        """Flip feature groups until a pass changes nothing."""
        changed = True
        while changed and self.n_passes < max_passes:
            changed = False
            self.n_passes += 1
            for group in rng.permutation(len(self.members)):
                value = self.flipped(group)
                if value - self.value > WORTHWHILE * max(abs(value), abs(self.value)):
                    self.flip(group, value)
                    changed = True

    def worth(self) -> np.ndarray:
        """Return what e would lose without each chosen group, and minus what it would lose with each other."""
        after = np.array([self.flipped(group) for group in range(len(self.members))])
        return np.where(self.chosen, self.value - after, after - self.value)
