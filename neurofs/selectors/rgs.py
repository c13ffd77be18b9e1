"""RGS: feature weights that minimize the leave-one-out error of soft k-nearest-neighbor regression.

    e(w) = −½ Σ_x |g(x) − ĝ_w(x)|²
    w_f ← w_f + η ∂e/∂w_f

after Navot, Shpigelman, Tishby and Vaadia (NIPS 2005), with the gradient as it follows from e(w); the printed
algorithm has four slips (a sign inside u, a factor, the sign of ∇e, and an update that drops the error).

NOTES.md says how the defaults came about.
"""

from __future__ import annotations

import sys
from dataclasses import KW_ONLY, dataclass
from math import isqrt
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from neurofs.features.samples import Samples
from neurofs.ground.effort import bound
from neurofs.ground.keys import RandomState
from neurofs.ground.works import WORKS
from neurofs.metric import neighbors
from neurofs.selectors.ascent import BATCH, BLOCK, MOST_NEIGHBORS, MOST_PAIRS, REFERENCES, USUAL_EPOCHS, VISITS, Ascent
from neurofs.selectors.base import UNTOLD, Selector
from neurofs.selectors.targets import standardize


@dataclass(eq=False, repr=False)
class RGS(Selector):
    """Regression, gradient guided, feature selection.

    Parameters
    ----------
    n_neighbors : "auto", "log2" or int
        k. "auto" takes half of the rows, at most 30; "log2" is ⌈log2 m⌉, the default of the authors' program.
    beta : "adaptive", "auto" or float
        Width of the Gaussian: `beta_factor` times the mean distance of each row's own neighbors, recomputed
        all the time; one such value for all rows, taken before the first step; or a number.
    step_size : "auto" or float
        η, for targets of unit variance. "auto" is 2, and less below 100 features.
    n_epochs : "auto" or int
        Passes over the rows. "auto" stops when the leave-one-out error no longer improves.
    n_starts : int
        Runs with different row orders; the one with the least leave-one-out error is kept.
    exclude : "overlap" or "self"
        Which rows are no neighbors of a row: all whose windows overlap it, or only itself. With `groups` in
        `fit`, never those of its own group.
    multi_output : "joint" or "separate"
        One set of weights for all outputs, or one for each (`output_weights_`), `weights_` being their root
        mean square.
    random_state : int, RandomState or None
        Seed of the row orders.
    beta_factor : float
        See `beta`.
    batch_size : "auto" or int
        Rows that share one step; "auto" is m / 16, from 1 to 8.
    survey : bool
        Start with a first look at the gradient through many neighbors (half of the rows): features that stand
        out there by more than 3 deviations get a head start, up to twice the weight of the others. Effects of
        single features show clearly among many neighbors, those of pairs only among few.
    step_limit : "none" or float
        The most that one step may change a weight, as a fraction of it.
    order_by : "contribution" or "weight"
        What ranks the features: w √SD (times `head_start_`), since a quiet channel can have a large weight and yet
        matter little, and a busy one the reverse; or w alone, as published.
    effort : "quick", "normal" or "full"
        "full" finds the neighbors of each row among all rows, which costs m² N per epoch. "normal" does so up to some
        6,500 rows; beyond, it makes 25,000 visits whose k/2 neighbors are found among 2,500 rows drawn anew for every
        128 visits, with steps that shrink to nothing. "quick" makes 6,250 visits, from some 3,300 rows on.

    Attributes
    ----------
    weights_ : array (n_features,)
        The metric: w of d_w(x, x') = Σ_f w_f² (x_f − x'_f)²; with adaptive β the largest is 1. A feature that
        never changes has weight 0.
    importances_, order_, ranking_ : arrays (n_features,)
        What features are ordered by (`order_by`), and the order.
    head_start_ : array (n_features,)
        Weights after the survey, from 1 to 2.
    output_weights_ : array (n_outputs, n_features)
        Weights of each output; the same for all if joint.
    loss_curve_ : array (n_epochs_ + 1,)
        Leave-one-out mean squared error, in units of the target's variance, before the first epoch and after
        each, on at most 500 rows; the mean over outputs if separate runs were made.
    n_epochs_, beta_, n_neighbors_ : int, float, int
        What was used; `beta_` is the mean over rows if adaptive.

    Examples
    --------
    Text, truth values and whole numbers are classes, with an output each; floating-point numbers are values.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).random((80, 20))
    >>> selector = RGS(n_features_to_select=2, random_state=0).fit(X, np.sin(6 * X[:, 3]) * X[:, 7])
    >>> sorted(selector.order_[:2].tolist())
    [3, 7]
    >>> RGS(random_state=0).fit(X, (4 * X[:, 3]).astype(int)).output_weights_.shape     # 4 classes
    (4, 20)
    """

    name, label = "rgs", "RGS"
    citation, origin = WORKS["navot2005"], "Navot, Shpigelman, Tishby & Vaadia 2005"
    color = "blue"
    is_metric = True
    cost = "m² N per epoch, m N with normal effort"

    n_neighbors: int | Literal["auto", "log2"] = "auto"
    beta: float | Literal["adaptive", "auto"] = "adaptive"
    step_size: float | Literal["auto"] = "auto"
    n_epochs: int | Literal["auto"] = "auto"
    n_starts: int = 1
    exclude: str = "overlap"
    multi_output: str = "joint"
    random_state: RandomState = None
    _: KW_ONLY
    beta_factor: float = 0.25
    batch_size: int | Literal["auto"] = "auto"
    survey: bool = True
    step_limit: float | Literal["none"] = 0.5
    order_by: str = "contribution"
    effort: str = "normal"

    @classmethod
    def published(cls, **changes: Any) -> RGS:
        """Return RGS as published for neural data (Navot et al., 2005).

        k = 50; one β, half of the mean distance of the rows to their k neighbors before the first step; η = 1; one
        epoch of single rows; each output on its own; ranked by w.

        Two things are not as in the source: η depends on the scale of the target, which the source does not give, so
        that targets are standardized first; and rows whose windows overlap are no neighbors of each other, where the
        source excludes the row alone (``exclude="self"``).
        """
        settings = {
            "n_neighbors": 50,
            "beta": "auto",
            "beta_factor": 0.5,
            "step_size": 1.0,
            "n_epochs": 1,
            "batch_size": 1,
            "survey": False,
            "multi_output": "separate",
            "step_limit": "none",
            "order_by": "weight",
            "effort": "full",
        }
        return cls(**{**settings, **changes})

    def describe(self) -> str:
        """Return the settings in words, and whether they are the published ones.

        >>> RGS.published().describe()[:50]
        'as published for neural data: k = 50; one β, 0.5 t'
        >>> RGS(n_epochs=3, survey=False, effort="full").describe()[-62:]
        ' 3 epochs, up to 8 samples per step; features ordered by w·√SD'
        """
        usual = self.published().get_params()
        changed = [k for k, v in self.get_params().items() if v != usual[k] and k not in (*UNTOLD, "multi_output")]
        form = "in a form other than the published one" if changed else "as published for neural data"
        parts = (self._tell_neighbors(), self._tell_width(), self._tell_steps(), self._tell_order())
        return f"{form}: {'; '.join(parts)}"

    def _tell_neighbors(self) -> str:
        k = {"auto": f"half of the samples, at most {MOST_NEIGHBORS}", "log2": "⌈log2 of the number of samples⌉"}
        return f"k = {k.get(str(self.n_neighbors), self.n_neighbors)}"

    def _tell_width(self) -> str:
        if self.beta == "adaptive":
            return f"β = {self.beta_factor:g} times the mean distance of each sample's own neighbors"
        if self.beta == "auto":
            return f"one β, {self.beta_factor:g} times the mean distance of neighbors before the first step"
        return f"β = {self.beta}"

    def _tell_steps(self) -> str:
        """Return what is said of η, epochs, samples per step, starts and survey."""
        eta = "2, or 1/50 of the number of features if less," if self.step_size == "auto" else f"{self.step_size:g}"
        epochs = "epochs until the error no longer fell" if self.n_epochs == "auto" else f"{self.n_epochs} epochs"
        batch = f"up to {BATCH} samples" if self.batch_size == "auto" else f"{self.batch_size} samples"
        text = f"η = {eta} for targets of unit variance, {epochs}, {batch} per step"
        text = text.replace(" 1 epochs", " one epoch").replace(" 1 samples", " one sample")
        text += f", best of {self.n_starts} starts" if self.n_starts > 1 else ""
        text += ", after a survey of the gradient through many neighbors" if self.survey else ""
        return text + (f" ({self._tell_effort()})" if self.effort != "full" else "")

    def most_compared(self) -> int:
        """Return up to how many rows every row is surely compared with every other, whatever the number of epochs.

        >>> RGS().most_compared(), RGS(effort="quick").most_compared()
        (6531, 3265)
        """
        pairs = bound(self.effort, MOST_PAIRS)
        return sys.maxsize if np.isinf(pairs) else isqrt(int(pairs) // USUAL_EPOCHS)

    def _tell_effort(self) -> str:
        return (
            f"above {self.most_compared():,} samples: {int(bound(self.effort, VISITS)):,} visits, each with "
            f"k/2 neighbors among {REFERENCES:,} samples drawn anew for every {BLOCK}, and steps that shrink to 0"
        )

    def _tell_order(self) -> str:
        head = " times the head start of the survey" if self.survey else ""
        return "features ordered by " + ("w" if self.order_by == "weight" else f"w·√SD{head}")

    def _weigh(self, samples: Samples, Y: np.ndarray, groups: Any) -> np.ndarray:
        """Fit one run per output (or one for all) and keep what it learned."""
        Y = standardize(Y)
        if self.multi_output not in ("joint", "separate"):
            raise ValueError(f"multi_output must be 'joint' or 'separate'; found {self.multi_output!r}")
        if self.order_by not in ("contribution", "weight"):
            raise ValueError(f"order_by must be 'contribution' or 'weight'; found {self.order_by!r}")
        (samples,) = neighbors.centered(samples)
        samples, unit = of_usual_size(samples)
        ascent = Ascent(self, samples, groups, unit)
        rng = check_random_state(self.random_state)
        parts = [Y] if self.multi_output == "joint" else np.split(Y, Y.shape[1], axis=1)
        runs = [ascent.best_of_starts(part / np.sqrt(part.shape[1]), rng) for part in parts]
        self.n_neighbors_ = ascent.k
        self.beta_ = float(np.mean([run.beta for run in runs])) / unit**2
        self.n_epochs_ = max(len(run.losses) - 1 for run in runs)
        self.loss_curve_ = mean_curve([run.losses for run in runs])
        weights = np.array([run.weights for run in runs])
        self.scale_ = feature_deviations(samples)
        if self.scale_.any():
            weights[:, self.scale_ == 0] = 0.0
        if ascent.adaptive:
            weights /= weights.max(axis=1, keepdims=True)
        self.head_start_ = np.mean([run.start for run in runs], axis=0)
        self.output_weights_ = np.repeat(weights, Y.shape[1] // len(weights), axis=0)
        return np.sqrt((self.output_weights_**2).mean(axis=0))

    def _importance(self, samples: Samples, scores: np.ndarray) -> np.ndarray:
        """Order by w, or by w √SD, halfway between the weight and what it adds to a typical distance, w · SD.

        In the latter case, what stood out in the survey stands out here, too: kNN gives up features that it could
        use because it can use only so many.
        """
        by_weight = self.order_by == "weight"
        self.importances_ = scores if by_weight else scores * np.sqrt(self.scale_) * self.head_start_
        return self.importances_


def of_usual_size(samples: Samples) -> tuple[Samples, float]:
    """Multiply by a power of two where squares would leave the range of float32; return both."""
    largest = float(np.max(np.abs(samples.flat), initial=0.0))
    if largest == 0 or 1e-6 < largest < 1e6 or not np.isfinite(largest):
        return samples, 1.0
    unit = 2.0 ** -np.floor(np.log2(largest))
    flat = samples.flat * np.float32(unit)
    return Samples(flat, samples.starts, samples.n_features, samples.span), float(unit)


def feature_deviations(samples: Samples) -> np.ndarray:
    """Return the standard deviation of each feature, exactly 0 for one that never changes.

    No step moves the weight of a constant feature, which therefore means nothing.
    """
    columns = (samples.flat[samples.starts + f].astype(np.float64) for f in range(samples.n_features))
    return np.array([column.std() if column.min() < column.max() else 0.0 for column in columns])


def mean_curve(curves: list[list[float]]) -> np.ndarray:
    """Average curves of different length, each held at its last value."""
    longest = max(len(c) for c in curves)
    return np.mean([c + [c[-1]] * (longest - len(c)) for c in curves], axis=0)
