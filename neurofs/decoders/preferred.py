"""The decoder that the training data prefer, for a given metric."""

from __future__ import annotations

from typing import Any

import numpy as np

from neurofs.decoders.base import Part, Rehearsal, TunedDecoder
from neurofs.decoders.nearest import KernelRidgeMetric, LocalLinear, SoftKNN
from neurofs.features.samples import Samples

__all__ = ["PreferredDecoder"]

MEMBERS: dict[str, type[TunedDecoder]] = {
    "knn": SoftKNN,
    "local-linear": LocalLinear,
    "kernel-ridge": KernelRidgeMetric,
}
MAX_JUDGED = 300  # rows, over all hold-outs, on which decoders are judged
PARAMETERS = {"k": "n_neighbors"}  # where the name of a choice is not that of the parameter


class PreferredDecoder(TunedDecoder):
    """Soft kNN, local-linear regression, kernel ridge or their average, whichever the hold-outs prefer.

    Each is fitted with its parameters chosen on the hold-outs, then judged there with weights that were
    learned without them.

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

    ALWAYS_TUNED = True

    def _fit_part(
        self, train: Samples, targets: np.ndarray, weights: Any, rehearsals: list[Rehearsal]
    ) -> Part:
        fitted = {
            name: (kind(), kind()._fit_part(train, targets, weights, rehearsals))
            for name, kind in MEMBERS.items()
        }
        errors = judge(fitted, rehearsals)
        best = min(errors, key=lambda name: errors[name])
        return Part(weights, list(fitted.values()) if best == "average" else [fitted[best]], errors)

    @property
    def preferred_(self) -> list[str]:
        """Name of the decoder in use for each metric."""
        return [min(part.chosen, key=lambda name: part.chosen[name]) for part in self.parts_]

    def _predict_part(self, part: Part, queries: Samples) -> np.ndarray:
        return np.mean([decoder._predict_part(fitted, queries) for decoder, fitted in part.model], axis=0)


def judge(fitted: dict[str, tuple[TunedDecoder, Any]], rehearsals: list[Rehearsal]) -> dict[str, float]:
    """Return the mean squared error of each decoder, and of their average, over the hold-outs."""
    errors: dict[str, list[float]] = {name: [] for name in (*fitted, "average")}
    for t in (t.thin(MAX_JUDGED // len(rehearsals)) for t in rehearsals):
        predicted = {name: _predict_held_out(*pair, t) for name, pair in fitted.items()}
        predicted["average"] = np.mean(list(predicted.values()), axis=0)
        for name, values in predicted.items():
            errors[name].append(t.error(values))
    return {name: float(np.mean(values)) for name, values in errors.items()}


def _predict_held_out(decoder: TunedDecoder, fitted: Any, t: Rehearsal) -> np.ndarray:
    """Predict the test rows of a hold-out with the parameters that were chosen."""
    chosen = {PARAMETERS.get(name, name): value for name, value in fitted.chosen.items()}
    if "n_neighbors" in chosen:
        chosen["n_neighbors"] = int(chosen["n_neighbors"])
    fixed = type(decoder)(**chosen)
    return fixed._predict_part(fixed._fit_part(t.train, t.targets, t.weights, []), t.queries)
