"""The average of the decoders that take a metric, and the one of them that the training data prefer."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from neurofs.decoders.base import Part, PartStep, Rehearsal, TunedDecoder
from neurofs.decoders.kernel_ridge import KernelRidgeMetric
from neurofs.decoders.nearest import TUNING_ROWS, LocalLinear, SoftKNN, count_references
from neurofs.features.holdouts import Holdout, pick_evenly
from neurofs.features.samples import Samples
from neurofs.ground.effort import bound
from neurofs.metric.tables import shared_tables

MAX_JUDGED = 300  # rows, over all hold-outs, on which decoders are judged


@dataclass(eq=False, repr=False)
class MetricAverage(TunedDecoder):
    """Mean of the predictions of soft kNN, local-linear regression and kernel ridge in one metric.

    The three err differently, so that their mean is often better than the best of them.

    Parameters
    ----------
    effort : "quick", "normal" or "full"
        Of local-linear regression and kernel ridge; soft kNN takes at most 130 million numbers of the training data
        (rows × features) with normal effort, a quarter of that with quick.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> decoder = MetricAverage().fit(X[:200], X[:200].sum(axis=1))
    >>> bool(decoder.score(X[200:], X[200:].sum(axis=1)) > 0.95)
    True
    """

    name, label, origin = "average", "average", "neurofs"
    cost = "the sum of knn, local-linear and kernel-ridge"
    ALWAYS_TUNED = SOFTENS = True

    effort: str = "normal"

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        feature_weights: ArrayLike | None = None,
        holdouts: Sequence[Holdout] | None = None,
    ) -> Self:
        """Fit all three, as `TunedDecoder.fit` does."""
        with shared_tables():
            return super().fit(X, y, groups, feature_weights, holdouts)

    def _least_error(self, rehearsals: list[Rehearsal]) -> float:
        """Return the error of kernel ridge, for all three."""
        return KernelRidgeMetric(effort=self.effort)._least_error(rehearsals)

    def _fit_part(self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]) -> Part:
        members: list[TunedDecoder] = [LocalLinear(effort=self.effort), KernelRidgeMetric(effort=self.effort)]
        nearest = self._fit_soft_knn(train, targets, weights, rehearsals)
        fitted = {m.name: (m, m._fit_part(train, targets, weights, rehearsals)) for m in members}
        return Part(weights, {SoftKNN.name: nearest, **fitted}, {})

    def _fit_soft_knn(
        self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]
    ) -> tuple[TunedDecoder, Part]:
        """Fit soft kNN to all training rows, or to as many as the effort allows."""
        few = [t.keep(count_references(len(t.train), train.n_features, self.effort)) for t in rehearsals]
        rows = pick_evenly(len(train), count_references(len(train), train.n_features, self.effort))
        decoder = SoftKNN()
        return decoder, decoder._fit_part(train[rows], targets[rows], weights, few)

    def _predict_part(self, part: Part, queries: Samples) -> np.ndarray:
        predicted = [decoder._predict_part(fitted, queries) for decoder, fitted in part.model.values()]
        return np.mean(predicted, axis=0)

    def _start_part(self, part: Part) -> PartStep:
        steps = [decoder._start_part(fitted) for decoder, fitted in part.model.values()]
        return lambda window, follows: np.mean([step(window, follows) for step in steps], axis=0)


class PreferredDecoder(MetricAverage):
    """Soft kNN, local-linear regression, kernel ridge or their average, whichever the hold-outs prefer.

    Each is fitted with its parameters chosen on the hold-outs, then judged there with weights that were
    learned without them, all with the same training rows: those that parameters are chosen with.

    Parameters
    ----------
    effort : "quick", "normal" or "full"
        Of local-linear regression and kernel ridge.

    Attributes
    ----------
    parts_ : list
        One per metric; ``parts_[0].chosen`` has the error of each on the hold-outs.
    preferred_ : list of str
        Name of the decoder in use, one per metric.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> decoder = PreferredDecoder().fit(X[:200], X[:200].sum(axis=1))
    >>> decoder.preferred_, bool(decoder.score(X[200:], X[200:].sum(axis=1)) > 0.99)
    (['local-linear'], True)
    """

    name, label = "auto", "auto"

    def _fit_part(self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]) -> Part:
        every = super()._fit_part(train, targets, weights, rehearsals)
        errors = judge(every.model, [t.keep(int(min(self._most(), len(t.train)))) for t in rehearsals])
        best = _find_best(errors)
        return replace(every, chosen=errors, model=every.model if best == "average" else {best: every.model[best]})

    def _most(self) -> float:
        """Return how many training rows are used at most while decoders are judged, as while they are tuned."""
        return bound(self.effort, TUNING_ROWS)

    @property
    def preferred_(self) -> list[str]:
        """Name of the decoder in use for each metric."""
        return [_find_best(part.chosen) for part in self.parts_]


def _find_best(errors: Any) -> str:
    """Return the name of the least error, the first of equals."""
    return min(errors, key=errors.__getitem__)


def judge(fitted: dict[str, tuple[TunedDecoder, Part]], rehearsals: list[Rehearsal]) -> dict[str, float]:
    """Return the mean squared error of each decoder, and of their average, over the hold-outs."""
    errors: dict[str, list[float]] = {name: [] for name in (*fitted, "average")}
    for t in (t.thin(MAX_JUDGED // len(rehearsals)) for t in rehearsals):
        predicted = {name: _predict_held_out(*pair, t) for name, pair in fitted.items()}
        predicted["average"] = np.mean(list(predicted.values()), axis=0)
        for name, values in predicted.items():
            errors[name].append(t.error(values))
    return {name: float(np.mean(values)) for name, values in errors.items()}


def _predict_held_out(decoder: TunedDecoder, fitted: Part, t: Rehearsal) -> np.ndarray:
    """Predict the test rows of a hold-out with the parameters that were chosen."""
    fixed = clone(decoder).set_params(**fitted.chosen)
    return fixed._predict_part(fixed._fit_part(t.train, t.targets, t.weights, []), t.queries)
