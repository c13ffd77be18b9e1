"""The ascent of RGS: one search for weights, from row to row, up the gradient of e(w).

With every row as a possible neighbor of every other, an epoch costs m² N. Where that is more than the effort allows,
the search makes a given number of visits instead, in blocks. For each block some rows are drawn anew as references, and
each row of the block finds its k nearest among them by one matrix product. Steps of a few rows follow as before, with
the k/2 that are nearest under the weights of the moment: few references are farther apart than all rows. Steps
shrink to nothing toward the last visit, which averages out the chance of what was drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from neurofs.features.holdouts import pick_evenly
from neurofs.features.samples import Samples
from neurofs.ground.effort import bound
from neurofs.metric import loops_neighbors, neighbors
from neurofs.selectors import loops_rgs
from neurofs.selectors.parameters import check_positive, resolve_auto

if TYPE_CHECKING:
    from neurofs.selectors.rgs import RGS

MOST_NEIGHBORS = 30
MOST_EPOCHS = 20
SURVEY = 1000  # most rows, and most neighbors of each, of the survey
STANDS_OUT = 3.0  # deviations from which the survey counts a feature as standing out
HEAD_START = 0.2  # added to its weight for each further deviation, at most 5
JUDGES, FEW_JUDGES = 500, 200  # rows on which the leave-one-out error is watched, and where visits are bounded
WORTHWHILE = 0.02  # least relative improvement of an epoch that counts
PATIENCE = 500  # rows visited without such an improvement before stopping
MOST_WEIGHT = 1e15  # squares of larger ones, times squared distances, leave the range of float32
BATCH = 8  # most rows that share one step
MOST_PAIRS = 128e6  # of rows in three epochs of normal effort, and of quick, so that all rows are neighbors
VISITS, REFERENCES = 25_000, 2_500  # of normal effort where there would be more
USUAL_EPOCHS = 3
ROUNDS = 2  # parts of the visits, after which the error is looked at
BLOCK = 128  # visits that share their references
MOST_STEP = 16.0  # of the first visit; n / 250 if less


class Run:
    """One run: the best weights so far and the losses seen."""

    def __init__(self, weights: np.ndarray, loss: float, beta: float) -> None:
        """Start from `weights` and what they give."""
        self.start, self.weights, self.loss, self.beta = weights.copy(), weights.copy(), loss, beta
        self.losses = [loss]

    def note(self, weights: np.ndarray, loss: float, beta: float, shrinking: bool = False) -> bool:
        """Record an epoch; return whether it was worthwhile.

        Where steps shrink, the later weights are the better ones: what a few rows say counts only against the start.
        """
        self.losses.append(loss)
        better = loss < self.loss * (1 - WORTHWHILE)
        if loss < (self.losses[0] if shrinking else self.loss) or len(self.losses) == 2:
            self.weights, self.loss, self.beta = weights.copy(), loss, beta
        return better


class Ascent:
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
        self.batch = int(resolve_auto(settings.batch_size, min(max(m // 16, 1), BATCH), "batch_size", whole=True))
        self.fixed_epochs = not isinstance(settings.n_epochs, str)
        self.epochs = int(resolve_auto(settings.n_epochs, MOST_EPOCHS, "n_epochs", whole=True))
        self.survey = bool(settings.survey)
        self.limit = np.inf if settings.step_limit == "none" else check_positive("step_limit", settings.step_limit)
        self.starts = int(resolve_auto(settings.n_starts, 1, "n_starts", whole=True))
        many = min(self.epochs, USUAL_EPOCHS) * m * m > bound(settings.effort, MOST_PAIRS)
        self.visits = int(bound(settings.effort, VISITS)) if many else None
        usual = min(2.0, n / 50) if self.visits is None else min(max(n / 250, min(2.0, n / 50)), MOST_STEP)
        self.step = resolve_auto(settings.step_size, usual, "step_size")

    def best_of_starts(self, Y: np.ndarray, rng: np.random.RandomState) -> Run:
        """Return the run with the least leave-one-out error."""
        m = len(self.samples)
        judges = np.sort(rng.permutation(m)[: JUDGES if self.visits is None else FEW_JUDGES])
        width = self._width()
        w = self.look(Y, rng, width) if self.survey else np.ones(self.samples.n_features)
        runs = [self.run(Y, w.copy(), judges, width, rng) for _ in range(self.starts)]
        return min(runs, key=lambda run: run.loss)

    def _width(self) -> float:
        """Return the β given to the loops: a factor if adaptive, else a width."""
        if self.adaptive:
            return self.factor
        if self.beta == "auto":
            rows = pick_evenly(len(self.samples), len(self.samples) if self.visits is None else JUDGES)
            _, distance, count = self._near(np.ones(self.samples.n_features), rows)
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

    def run(self, Y: np.ndarray, w: np.ndarray, judges: np.ndarray, width: float, rng: np.random.RandomState) -> Run:
        """Go through the epochs from the weights w."""
        best = Run(w, *self.judge(w, Y, judges, width))
        idle = 0
        for order in self._plan(rng):
            if self.visits is None:
                self.epoch(Y, order, width, w)
            else:
                first = (len(best.losses) - 1) * len(order)
                self.visit(Y, order, 1 - (first + np.arange(len(order))) / self.visits, width, w, rng)
            worthwhile = best.note(w, *self.judge(w, Y, judges, width), shrinking=self.visits is not None)
            idle = 0 if worthwhile else idle + 1
            if not self.fixed_epochs and idle * len(order) >= PATIENCE:
                break
        return best

    def _plan(self, rng: np.random.RandomState) -> Iterator[np.ndarray]:
        """Yield the rows to visit until the error is looked at: an epoch, or a part of the visits."""
        m = len(self.samples)
        if self.visits is None:
            yield from (rng.permutation(m) for _ in range(self.epochs))
        else:
            order = np.concatenate([rng.permutation(m) for _ in range(-(-self.visits // m))])
            yield from np.split(order[: self.visits - self.visits % ROUNDS], ROUNDS)

    def epoch(self, Y: np.ndarray, order: np.ndarray, width: float, w: np.ndarray) -> None:
        """Change w by one pass over the rows of `order`, all rows being possible neighbors."""
        data = self.flat, self.samples.starts, self.groups, self.span, Y
        rules = self.batch, self.k, width, self.adaptive, self.step, self.limit
        loops_rgs.rgs_epoch(*data, order, *rules, w)
        self._keep_in_range(w)

    def visit(
        self,
        Y: np.ndarray,
        order: np.ndarray,
        shares: np.ndarray,
        width: float,
        w: np.ndarray,
        rng: np.random.RandomState,
    ) -> None:
        """Change w by visits to the rows of `order`, each with a share of the step size, some rows being neighbors."""
        data = self.flat, self.samples.starts, Y
        for first in range(0, len(order), BLOCK):
            rows = order[first : first + BLOCK]
            references = np.sort(rng.permutation(len(self.samples))[:REFERENCES])
            index, count = self._candidates(w, rows, references)
            steps = self.step * shares[first : first + BLOCK]
            rules = self.batch, max(1, self.k // 2), width, self.adaptive, steps, self.limit
            loops_rgs.rgs_visits(*data, rows, index, count, *rules, w)
            self._keep_in_range(w)

    def _candidates(self, w: np.ndarray, rows: np.ndarray, references: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the references nearest to each of some rows, as rows, and how many there are."""
        s, w2 = self.samples, (w * w).astype(np.float32)
        near = s[references]
        d, norms = np.empty((len(rows), len(near)), np.float32), np.empty(len(near), np.float32)
        loops_neighbors.row_norms(self.flat, near.starts, w2, norms)
        queries = np.asarray(s[rows]) * (-2 * w2)
        for part in neighbors.blocks(len(near), neighbors.BLOCK):
            np.matmul(queries, np.asarray(near[part]).T, out=d[:, part])
        d += norms
        index = np.zeros((len(rows), min(self.k, len(near))), np.int64)
        distance, count = np.zeros(index.shape, np.float32), np.zeros(len(rows), np.int64)
        who = near.starts, self.groups[references], s.starts[rows], self.groups[rows], self.span
        loops_neighbors.prefix_select(d, *who, index, distance, count)
        return references[index], count

    def _keep_in_range(self, w: np.ndarray) -> None:
        """Refuse weights without end, and let their mean square be 1 where their size does not matter."""
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


def count_neighbors(n_neighbors: Any, m: int) -> int:
    """Return k for m rows: at least 1, at most m − 1."""
    if isinstance(n_neighbors, str) and n_neighbors == "log2":
        k = int(np.ceil(np.log2(m)))
    else:
        k = int(resolve_auto(n_neighbors, min(m // 2, MOST_NEIGHBORS), "n_neighbors", whole=True))
    return max(1, min(k, m - 1))
