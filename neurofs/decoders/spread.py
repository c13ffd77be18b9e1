"""How wide the errors of a decoder are at a sample: its own deviation, corrected by where it erred before.

A Gaussian process knows how far a sample lies from its training data, but takes noise to be the same everywhere. The
errors of spike decoders are not: they are larger in fast movements. What was left out of training block by
block tells how much, and the correction is scaled so that intervals hold 95 % of those rows, on average.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import nnls

from neurofs.metric.block_ridge import inner_products, square_norms

NORMAL_95 = 1.959964
N_NEAREST = 50
FEWEST = 200  # rows below which the errors are taken to be alike everywhere
LEAST = 0.1  # of the mean ratio: no deviation is corrected to less
PART = 500  # rows handled at a time


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Rows that were predicted without their block.

    Each row in the coordinates of the metric, what was predicted and by how much it was wrong (rows, outputs), the
    deviation that the decoder claimed (rows,), and the number of the block.
    """

    rows: np.ndarray
    predicted: np.ndarray
    errors: np.ndarray
    deviation: np.ndarray
    block: np.ndarray

    @classmethod
    def nothing(cls, n_outputs: int) -> LeftOut:
        """Return no rows, of which nothing can be learned."""
        none = np.empty((0, n_outputs))
        return cls(none, none, none, np.empty(0), np.empty(0, dtype=np.int64))

    def __getitem__(self, kept: np.ndarray) -> LeftOut:
        arrays = (self.rows, self.predicted, self.errors, self.deviation, self.block)
        return LeftOut(*(values[kept] for values in arrays))

    @property
    def ratios(self) -> np.ndarray:
        """|error| / deviation, (rows, outputs)."""
        return np.asarray(np.abs(self.errors) / self.deviation[:, None])


@dataclass(frozen=True, eq=False)
class Spread:
    """The factor on the deviation of a sample x with prediction m, for each output o.

    f_o(x) = a_o + b_o |m_o| + c_o ‖m‖ + d_o r_o(x),   r_o(x) the mean |error| / deviation of the 50 nearest rows

    `coefficients` are (outputs, 4), none negative; `least` is the smallest factor of each output.
    """

    rows: np.ndarray
    ratios: np.ndarray
    coefficients: np.ndarray
    least: np.ndarray

    @cached_property
    def _norms(self) -> np.ndarray:
        return square_norms(self.rows)

    def __call__(self, rows: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """Return the factors of some rows, (rows, outputs)."""
        if not self.coefficients[:, 1:].any():
            return np.tile(np.maximum(self.coefficients[:, 0], self.least), (len(rows), 1))
        nearby = mean_of_nearest(rows, self.rows, self.ratios, norms=self._norms)
        return _apply(self.coefficients, _columns(predicted, nearby), self.least)


def fit_spread(left_out: LeftOut) -> Spread:
    """Learn the factor from rows that were left out; the neighbors of a row are of other blocks.

    The metric was learned on these errors, which are therefore a little too small, and errors of one block go
    together. So the quantile is taken one standard error above 95 %, blocks being the independent units.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, size=(1000, 1))
    >>> errors = np.where(x > 0, 3.0, 1.0) * rng.normal(size=(1000, 1))
    >>> spread = fit_spread(LeftOut(x, 0 * x, errors, np.ones(1000), np.arange(1000) // 10))
    >>> left, right = spread(np.array([[-0.5], [0.5]]), np.zeros((2, 1)))[:, 0]
    >>> bool(2 < right / left < 4)
    True
    """
    ratios, n_blocks = left_out.ratios, len(np.unique(left_out.block))
    if len(ratios) < FEWEST or n_blocks < 2:
        return _same_everywhere(left_out, n_blocks)
    least, level = LEAST * ratios.mean(axis=0), _level(n_blocks)
    nearby = mean_of_nearest(left_out.rows, left_out.rows, ratios, (left_out.block, left_out.block))
    columns = _columns(left_out.predicted, nearby)
    coefficients = np.array([nnls(columns[o], ratios[:, o])[0] for o in range(len(columns))])
    factors = np.maximum(_apply(coefficients, columns, least), np.finfo(float).tiny)
    scale = np.quantile(ratios / factors, level, axis=0) / NORMAL_95
    return Spread(left_out.rows, ratios, coefficients * scale[:, None], least * scale)


def _same_everywhere(left_out: LeftOut, n_blocks: int) -> Spread:
    """Return one factor for all samples; 1 if nothing is known."""
    ratios = left_out.ratios
    factor = np.quantile(ratios, _level(n_blocks), axis=0) / NORMAL_95 if len(ratios) else np.ones(ratios.shape[1])
    return Spread(left_out.rows, ratios, np.pad(factor[:, None], ((0, 0), (0, 3))), np.zeros(len(factor)))


def _level(n_blocks: int) -> float:
    """Return the level of the quantile: 95 % and one standard error of so many blocks.

    >>> round(_level(100), 3), _level(3)
    (0.972, 0.995)
    """
    return float(min(0.995, 0.95 + np.sqrt(0.95 * 0.05 / n_blocks)))


def _columns(predicted: np.ndarray, nearby: np.ndarray) -> np.ndarray:
    """Return what the factor is a sum of, (outputs, rows, 4)."""
    length = np.linalg.norm(predicted, axis=1)
    pairs = zip(predicted.T, nearby.T, strict=True)
    return np.array([np.column_stack([np.ones(len(m)), np.abs(m), length, r]) for m, r in pairs])


def _apply(coefficients: np.ndarray, columns: np.ndarray, least: np.ndarray) -> np.ndarray:
    return np.maximum(np.einsum("oc,orc->ro", coefficients, columns), least)


def mean_of_nearest(
    queries: np.ndarray,
    rows: np.ndarray,
    values: np.ndarray,
    blocks: tuple[np.ndarray, np.ndarray] | None = None,
    norms: np.ndarray | None = None,
) -> np.ndarray:
    """Return the mean of `values` over the 50 rows nearest to each query, or as many as there are.

    `blocks` are those of queries and rows: a query has no neighbors in its own. `norms` are the squared norms of
    rows, where they are known.

    >>> rows = np.arange(200.0)[:, None]
    >>> mean_of_nearest(np.array([[0.0], [99.4]]), rows, rows)
    array([[24.5],
           [99.5]])
    """
    norms = square_norms(rows) if norms is None else norms
    n = min(N_NEAREST, len(rows) - 1)
    out = np.empty((len(queries), values.shape[1]))
    for first in range(0, len(queries), PART):
        part = slice(first, first + PART)
        d = norms - 2.0 * inner_products(queries[part], rows)
        if blocks is not None:
            d[blocks[0][part, None] == blocks[1]] = np.inf
        near = np.argpartition(d, n - 1, axis=1)[:, :n]
        known = np.isfinite(np.take_along_axis(d, near, axis=1))
        out[part] = np.einsum("ij,ijo->io", known, values[near]) / np.maximum(known.sum(axis=1), 1)[:, None]
    return out
