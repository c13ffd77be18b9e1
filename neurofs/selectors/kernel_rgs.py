"""Kernel RGS as a selector: one weight per channel × lag, learned as in `neurofs.learned_metric`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from neurofs.learned_metric import N_ROWS, N_STEPS, learn_metric
from neurofs.samples import Samples
from neurofs.selectors.base import Selector
from neurofs.selectors.rgs import standardised

__all__ = ["KernelRGS"]


class KernelRGS(Selector):
    """Feature weights that minimise the leave-block-out error of kernel ridge regression.

    All outputs are learned together. Constant features weigh nothing.

    Parameters
    ----------
    n_features_to_select : int, float or None
        How many features `transform` keeps; None keeps all, a float is a fraction.
    mixed : bool
        Also learn how the bins of a channel are mixed, the same way for all channels, after each was given its
        weight: every channel × lag keeps one weight.
    n_steps, n_rows : int
        Steps of the search, and rows drawn for each; neither needs tuning.
    random_state : int, RandomState or None
        Seed of these draws.
    progress : callable, optional
        Called with the number of the step and its loss.
    feature_groups : array of labels, optional
        Features with the same label are ranked and selected together.

    Attributes
    ----------
    weights_, order_, ranking_ : arrays
        See `neurofs.selectors.base.Selector`; the largest weight is 1.
    loss_curve_ : array
        Logarithm of the leave-block-out mean squared error at each step, targets having variance 1.
    metric_ : LearnedMetric
        The metric with its ridge and linear part.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 10))
    >>> selector = KernelRGS(random_state=0).fit(X, X[:, 2] * X[:, 5])
    >>> sorted(selector.order_[:2].tolist())
    [2, 5]
    """

    is_metric = True
    cost = "r³ + r² N per step of r ≤ 800 rows"
    reference = "neurofs"

    def __init__(
        self,
        n_features_to_select: Any = None,
        *,
        mixed: bool = True,
        n_steps: int = N_STEPS,
        n_rows: int = N_ROWS,
        random_state: Any = None,
        progress: Callable[[int, float], None] | None = None,
        feature_groups: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.mixed = mixed
        self.n_steps = n_steps
        self.n_rows = n_rows
        self.random_state = random_state
        self.progress = progress
        self.feature_groups = feature_groups

    def _weigh(self, samples: Samples, Y: np.ndarray, groups: Any) -> np.ndarray:
        """Learn the metric and return its weights."""
        seed = check_random_state(self.random_state).randint(2**31)
        self.metric_ = learn_metric(
            samples,
            standardised(Y),
            None if groups is None else np.asarray(groups),
            np.random.default_rng(seed),
            mixed=self.mixed,
            n_steps=self.n_steps,
            n_rows=self.n_rows,
            progress=self.progress,
        )
        self.loss_curve_ = self.metric_.loss_curve
        weights = np.where(self.metric_.varies, self.metric_.weights, 0.0)
        return weights / weights.max() if weights.any() else np.ones_like(weights)
