"""RGS: feature weights that minimize the leave-one-out error of soft k-nearest-neighbor regression.

    e(w) = −½ Σ_x |g(x) − ĝ_w(x)|²
    w_f ← w_f + η ∂e/∂w_f

after Navot, Shpigelman, Tishby and Vaadia (NIPS 2005), with the gradient as it follows from e(w); the printed
algorithm has four slips (a sign inside u, a factor, the sign of ∇e, and an update that drops the error).

NOTES.md says how the defaults came about.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from neurofs.features.samples import Samples
from neurofs.ground.works import WORKS
from neurofs.metric import loops_neighbors, neighbors
from neurofs.selectors import loops_rgs
from neurofs.selectors.base import UNTOLD, Selector
from neurofs.selectors.parameters import check_positive, resolve_auto
from neurofs.selectors.targets import standardize

MOST_NEIGHBORS = 30
MOST_EPOCHS = 20
SURVEY = 1000  # most rows, and most neighbors of each, of the survey
STANDS_OUT = 3.0  # deviations from which the survey counts a feature as standing out
HEAD_START = 0.2  # added to its weight for each further deviation, at most 5
JUDGES = 500  # rows on which the leave-one-out error is watched
WORTHWHILE = 0.02  # least relative improvement of an epoch that counts
PATIENCE = 500  # rows visited without such an improvement before stopping
MOST_WEIGHT = 1e15  # squares of larger ones, times squared distances, leave the range of float32
BATCH = 8  # most rows that share one step


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
    Labels that are text or truth values are classes, with an output each; whole numbers are numbers.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).random((80, 20))
    >>> selector = RGS(n_features_to_select=2, random_state=0).fit(X, np.sin(6 * X[:, 3]) * X[:, 7])
    >>> sorted(selector.order_[:2].tolist())
    [3, 7]
    """

    name, label = "rgs", "RGS"
    citation, origin = WORKS["navot2005"], "Navot, Shpigelman, Tishby & Vaadia 2005"
    color = "blue"
    is_metric = True
    cost = "m² N per epoch"

    n_neighbors: Any = "auto"
    beta: Any = "adaptive"
    step_size: Any = "auto"
    n_epochs: Any = "auto"
    n_starts: int = 1
    exclude: str = "overlap"
    multi_output: str = "joint"
    random_state: Any = None
    _: KW_ONLY
    beta_factor: float = 0.25
    batch_size: Any = "auto"
    survey: bool = True
    step_limit: Any = 0.5
    order_by: str = "contribution"

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
        }
        return cls(**{**settings, **changes})

    def describe(self) -> str:
        """Return the settings in words, and whether they are the published ones.

        >>> RGS.published().describe()[:50]
        'as published for neural data: k = 50; one β, 0.5 t'
        >>> RGS(n_epochs=3, survey=False).describe()[-62:]
        ' 3 epochs, up to 8 samples per step; features ordered by w·√SD'
        """
        usual = self.published().get_params()
        changed = [k for k, v in self.get_params().items() if v != usual[k] and k not in (*UNTOLD, "multi_output")]
        form = "in a form other than the published one" if changed else "as published for neural data"
        parts = (self._tell_neighbors(), self._tell_width(), self._tell_steps(), self._tell_order())
        return f"{form}: {'; '.join(parts)}"

    def _tell_neighbors(self) -> str:
        k = {"auto": f"half of the samples, at most {MOST_NEIGHBORS}", "log2": "⌈log2 of the number of samples⌉"}
        return f"k = {k.get(self.n_neighbors, self.n_neighbors)}"

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
        return text + (", after a survey of the gradient through many neighbors" if self.survey else "")

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
        ascent = _Ascent(self, samples, groups, unit)
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


class _Run:
    """One run: the best weights so far and the losses seen."""

    def __init__(self, weights: np.ndarray, loss: float, beta: float) -> None:
        """Start from `weights` and what they give."""
        self.start, self.weights, self.loss, self.beta = weights.copy(), weights.copy(), loss, beta
        self.losses = [loss]

    def note(self, weights: np.ndarray, loss: float, beta: float) -> bool:
        """Record an epoch; return whether it was worthwhile."""
        self.losses.append(loss)
        better = loss < self.loss * (1 - WORTHWHILE)
        if loss < self.loss or len(self.losses) == 2:
            self.weights, self.loss, self.beta = weights.copy(), loss, beta
        return better


class _Ascent:
    """The samples of one fit with every "auto" resolved."""

    def __init__(self, settings: RGS, samples: Samples, groups: Any, unit: float) -> None:
        """Resolve the settings of `settings` for `samples`, which were multiplied by `unit`."""
        m, n = samples.shape
        self.samples, self.flat = samples, neighbors.plain(samples.flat)
        self.groups = neighbors.loo_groups(groups, m)
        self.span = neighbors.exclusion_span(samples, settings.exclude)
        self.adaptive = isinstance(settings.beta, str) and settings.beta == "adaptive"
        self.beta, self.unit = settings.beta, unit
        self.factor = check_positive("beta_factor", settings.beta_factor)
        self.k = count_neighbors(settings.n_neighbors, m)
        self.step = resolve_auto(settings.step_size, min(2.0, n / 50), "step_size")
        self.batch = int(resolve_auto(settings.batch_size, min(max(m // 16, 1), BATCH), "batch_size", whole=True))
        self.fixed_epochs = not isinstance(settings.n_epochs, str)
        self.epochs = int(resolve_auto(settings.n_epochs, MOST_EPOCHS, "n_epochs", whole=True))
        self.survey = bool(settings.survey)
        self.limit = np.inf if settings.step_limit == "none" else check_positive("step_limit", settings.step_limit)
        self.starts = int(resolve_auto(settings.n_starts, 1, "n_starts", whole=True))

    def best_of_starts(self, Y: np.ndarray, rng: np.random.RandomState) -> _Run:
        """Return the run with the least leave-one-out error."""
        m = len(self.samples)
        judges = np.sort(rng.permutation(m)[:JUDGES])
        width = self._width()
        w = self.look(Y, rng, width) if self.survey else np.ones(self.samples.n_features)
        runs = [self.run(Y, w.copy(), judges, width, rng) for _ in range(self.starts)]
        return min(runs, key=lambda run: run.loss)

    def _width(self) -> float:
        """Return the β given to the loops: a factor if adaptive, else a width."""
        if self.adaptive:
            return self.factor
        if self.beta == "auto":
            _, distance, count = self._near(np.ones(self.samples.n_features), np.arange(len(self.samples)))
            means = [row[:c].mean() for row, c in zip(distance, count, strict=True) if c]
            width = self.factor * float(np.mean(means)) if means else 0.0
            return width if width > 0 else 1.0
        return check_positive("beta", self.beta) * self.unit**2

    def look(self, Y: np.ndarray, rng: np.random.RandomState, width: float) -> np.ndarray:
        """Return the weights after the survey: the slope of e at unit weights, through many neighbors."""
        m, n = self.samples.shape
        rows, slope = rng.permutation(m)[:SURVEY], np.empty(n, np.float32)
        k, w2 = max(1, min(m // 2, SURVEY)), np.ones(n, np.float32)
        data = self.flat, self.samples.starts, self.groups, self.span, Y
        loops_rgs.rgs_slopes(*data, rows, k, width, self.adaptive, w2, slope)
        away = slope.astype(np.float64) - np.median(slope)
        deviation = 1.4826 * np.median(np.abs(away))  # of a normal distribution, from its median
        if not 0 < deviation < np.inf:
            return np.ones(n)
        return 1.0 + HEAD_START * np.clip(away / deviation - STANDS_OUT, 0.0, 5.0)

    def run(self, Y: np.ndarray, w: np.ndarray, judges: np.ndarray, width: float, rng: np.random.RandomState) -> _Run:
        """Go through the epochs from the weights w."""
        best = _Run(w, *self.judge(w, Y, judges, width))
        idle = 0
        for _ in range(self.epochs):
            order = rng.permutation(len(self.samples))
            self.epoch(Y, order, width, w)
            idle = 0 if best.note(w, *self.judge(w, Y, judges, width)) else idle + 1
            if not self.fixed_epochs and idle * len(self.samples) >= PATIENCE:
                break
        return best

    def epoch(self, Y: np.ndarray, order: np.ndarray, width: float, w: np.ndarray) -> None:
        """Change w by one pass over the rows of `order`."""
        loops_rgs.rgs_epoch(
            self.flat,
            self.samples.starts,
            self.groups,
            self.span,
            Y,
            order,
            self.batch,
            self.k,
            width,
            self.adaptive,
            self.step,
            self.limit,
            w,
        )
        if not np.abs(w).max() < MOST_WEIGHT:
            raise ValueError("the weights of RGS grow without end; take a smaller step_size, or step_limit=0.5")
        if self.adaptive:
            w /= np.sqrt(np.mean(w * w))

    def _near(self, w: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return index, distance and count of the neighbors of some rows."""
        s, w2 = self.samples, (w * w).astype(np.float32)
        index, count = np.zeros((rows.size, self.k), np.int64), np.zeros(rows.size, np.int64)
        distance, norms = np.zeros((rows.size, self.k), np.float32), np.empty(len(s), np.float32)
        loops_neighbors.row_norms(self.flat, s.starts, w2, norms)
        query = (self.flat, s.starts[rows], self.groups[rows])
        loops_neighbors.neighbors(
            self.flat, s.starts, self.groups, norms, w2, *query, self.span, index, distance, count
        )
        return index, distance, count

    def judge(self, w: np.ndarray, Y: np.ndarray, rows: np.ndarray, width: float) -> tuple[float, float]:
        """Return the leave-one-out mean squared error of w on some rows, and the mean β."""
        index, distance, count = self._near(w, rows)
        predicted = np.empty((rows.size, Y.shape[1]))
        loops_neighbors.soft_average(index, distance, count, self.k, Y, width, self.adaptive, predicted)
        has = count > 0
        if not has.any():
            raise ValueError("no row has a neighbor: every other row overlaps it or is of its group")
        loss = float(((Y[rows] - predicted)[has] ** 2).sum(axis=1).mean())
        beta = width * float(distance[has].mean()) if self.adaptive else width
        return loss, beta


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


def count_neighbors(n_neighbors: Any, m: int) -> int:
    """Return k for m rows: at least 1, at most m − 1."""
    if isinstance(n_neighbors, str) and n_neighbors == "log2":
        k = int(np.ceil(np.log2(m)))
    else:
        k = int(resolve_auto(n_neighbors, min(m // 2, MOST_NEIGHBORS), "n_neighbors", whole=True))
    return max(1, min(k, m - 1))
