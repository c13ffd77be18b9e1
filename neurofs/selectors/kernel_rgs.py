"""Kernel RGS as a selector: one weight per channel × lag, learned as in `metric.learning`.

Where the search begins decides what it can find. Features that matter only in pairs hardly move the error of a
kernel in which hundreds of others weigh as much as they do. Three starts are compared by their leave-block-out
error before the first step, and the best is taken:

    the weights of RGS, which looks at few neighbors at a time
    (z / max z)¹⁶ of the products of pairs (`selectors.pairs`), the best pair and hardly anything else
    the weights of RGS, with those features raised that stand out in a pair

NOTES.md says how many features each start finds.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from neurofs.features.samples import Samples
from neurofs.ground.keys import RandomState
from neurofs.metric.channel_path import learn_sparse_metric
from neurofs.metric.learning import N_ROWS, N_STEPS, choose_start, learn_metric, sort_rows
from neurofs.selectors.pairs import standing_out, survey_pairs
from neurofs.selectors.rgs import RGS
from neurofs.selectors.targets import EitherSelector, standardize

N_SURVEYED = 2000  # rows, by RGS and for pairs
SHARPNESS = 16


@dataclass(eq=False, repr=False)
class KernelRGS(EitherSelector):
    """Feature weights that minimize the leave-block-out error of kernel ridge regression.

    All outputs are learned together; classes become one output each, 1 for its rows and 0 for the others.
    Constant features weigh nothing.

    Parameters
    ----------
    mixed : bool
        Also learn how the bins of a channel are mixed, the same way for all channels, after each was given its
        weight: every channel × lag keeps one weight.
    head_start : bool
        Begin where RGS and the survey of pairs suggest, each made on at most 2000 rows; else at equal weights.
    sparse : bool
        Switch off the channels that are not needed (`metric.channel_path`): their weights are 0.
    n_steps, n_rows : int
        Steps of the search, and rows drawn for each; neither needs tuning.
    discrete_target : "auto" or bool
        Whether the target is a class; "auto" says so of everything but floating-point numbers.
    random_state : int, RandomState or None
        Seed of these draws.
    progress : callable, optional
        Called with the number of the step and its loss.

    Attributes
    ----------
    weights_, order_, ranking_ : arrays
        See `selectors.base.Selector`; the largest weight is 1.
    loss_curve_ : array
        Logarithm of the leave-block-out mean squared error at each step, targets having variance 1.
    metric_ : LearnedMetric
        The metric with its ridge and linear part.
    channel_path_ : ChannelPath
        Only if sparse: the error with so many channels, and which channels suffice.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 10))
    >>> selector = KernelRGS(random_state=0).fit(X, X[:, 2] * X[:, 5])
    >>> sorted(selector.order_[:2].tolist())
    [2, 5]
    """

    name, label = "kernel-rgs", "kernel RGS"
    origin = "neurofs"
    color, marker = "violet", "D"
    is_metric = True
    cost = "r³ + r² N per step of r ≤ 800 rows"

    _: KW_ONLY
    mixed: bool = True
    head_start: bool = True
    sparse: bool = False
    n_steps: int = N_STEPS
    n_rows: int = N_ROWS
    random_state: RandomState = None
    progress: Callable[[int, float], None] | None = None
    discrete_target: bool | Literal["auto"] = "auto"

    def _weigh(self, samples: Samples, Y: np.ndarray, groups: Any) -> np.ndarray:
        """Learn the metric and return its weights."""
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        data = samples, standardize(self._columns(Y)), None if groups is None else np.asarray(groups), rng
        weigh = find_start if self.head_start else None
        settings: dict[str, Any] = {
            "mixed": self.mixed,
            "n_steps": self.n_steps,
            "n_rows": self.n_rows,
            "progress": self.progress,
        }
        if self.sparse:
            self.metric_, self.channel_path_ = learn_sparse_metric(*data, weigh, **settings)
        else:
            self.metric_ = learn_metric(*data, start=None if weigh is None else weigh(*data), **settings)
        self.loss_curve_ = self.metric_.loss_curve
        return self.metric_.feature_weights


def find_start(samples: Samples, Y: np.ndarray, groups: np.ndarray | None, rng: np.random.Generator) -> np.ndarray:
    """Return the weights at which a search begins: by RGS, by pairs, or by both, whichever errs least."""
    rgs = weigh_by_rgs(samples, Y, groups, rng)
    z, _ = survey_pairs(samples, Y, N_SURVEYED)
    if not (z.any() and rgs.any()):
        return rgs
    both = np.maximum(rgs / rgs.max(), standing_out(z))
    return choose_start([rgs, (z / z.max()) ** SHARPNESS, both], samples, Y, groups, rng)


def weigh_by_rgs(samples: Samples, Y: np.ndarray, groups: np.ndarray | None, rng: np.random.Generator) -> np.ndarray:
    """Return the weights of RGS, with the head start that it gives, for at most 2000 of the rows.

    Trials are kept apart as in `learn_metric`: not if there are only a few. Rows that all overlap give equal
    weights.
    """
    if np.ptp(samples.starts) < samples.span:
        return np.ones(samples.n_features)
    _, trials = sort_rows(samples, groups)
    rows = np.sort(rng.permutation(len(samples))[:N_SURVEYED])
    rgs = RGS(random_state=int(rng.integers(2**31)))
    rgs.fit(samples[rows], Y[rows], None if groups is None or trials is None else groups[rows])
    return rgs.weights_ * rgs.head_start_
