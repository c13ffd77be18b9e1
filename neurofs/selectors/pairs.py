"""Which features matter together with another one, told from products of two at a time.

A feature that matters only in a pair is independent of the target taken alone. The product of the two is not:

    z_fg = Σ_i r_i x_if x_ig / √(Σ_i r_i² x_if² x_ig²)

for standardized features x, and r what a ridge regression leaves of the target. The denominator is the standard
error of the sum for independent rows; where rows follow each other in time all z are larger, and they are divided
by what makes the median of |z| over many pairs that of a normal distribution. f = g is among the pairs, and finds
features whose square matters. The score of a feature is its largest |z|.

By chance the best of N features has about √(2 ln(N²/2)): 5 for 640. NOTES.md says what recordings have.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.linalg import solve

from neurofs.features.holdouts import pick_evenly
from neurofs.features.samples import Samples
from neurofs.selectors.targets import EitherSelector

RIDGE = 0.1
N_JUDGED = 200  # features from whose pairs the deviation of z is taken
AT_ONCE = 8_000_000  # pairs
MOST_NUMBERS = 30_000_000  # of the rows that are looked at
STANDS_OUT, FULLY = 3.0, 6.0  # deviations
NORMAL_QUARTILE = 0.6745


@dataclass(eq=False, repr=False)
class Pairs(EitherSelector):
    """Features whose product with another one tells of the target what no sum of features does.

    The score is |z| of the best product that a feature takes part in; the best of 640 features has about 5 by
    chance. What matters alone is not looked for: a ranking to be read beside others. At most 30 million numbers
    are looked at: 1500 rows, evenly spread, of 20,000 features.

    Parameters
    ----------
    discrete_target : "auto" or bool
        Whether the target is a class; "auto" says so of everything but floating-point numbers.

    Attributes
    ----------
    weights_ : array (n_features,)
        Largest |z| of each feature, for any output; 0 for a constant feature.
    partners_ : array (n_features,)
        The feature with which it has this z.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(500, 30))
    >>> selector = Pairs(2).fit(X, X[:, 4] * X[:, 7] + X[:, 1])
    >>> selector.get_support(indices=True), selector.partners_[[4, 7]]
    (array([4, 7]), array([7, 4]))
    """

    name, label = "pairs", "products of pairs"
    origin = "neurofs"
    color, marker = "teal", "p"
    cost = "m N²"

    discrete_target: bool | Literal["auto"] = "auto"

    def _weigh(self, samples: Samples, Y: np.ndarray, groups: Any) -> np.ndarray:
        z, self.partners_ = survey_pairs(samples, self._columns(Y))
        return z


def survey_pairs(samples: Samples, Y: np.ndarray, at_most: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest |z| of each feature with any feature and for any output, and with which feature.

    At most so many rows are looked at, evenly spread over all. A constant feature has 0, and itself for a partner.
    """
    rows = pick_evenly(len(samples), min(at_most or len(samples), max(MOST_NUMBERS // samples.n_features, 2)))
    X, varies = _standardize(np.asarray(samples[rows]))
    largest, partner = np.zeros(samples.n_features), np.arange(samples.n_features)
    for r in _residuals(X, Y[rows]).T:
        z, best = _Products(X, r).best()
        better = varies[z > largest[varies]]
        partner[better] = varies[best[z > largest[varies]]]
        largest[varies] = np.maximum(largest[varies], z)
    return largest, partner


def standing_out(z: np.ndarray) -> np.ndarray:
    """Return 0 for what is within 3 deviations of the median, 1 beyond 6, and in proportion between.

    >>> standing_out(np.array([1.0, 2.0, 3.0, 1.5, 2.5, 30.0]))
    array([0., 0., 0., 0., 0., 1.])
    """
    away = z - np.median(z)
    deviation = np.median(np.abs(away)) / NORMAL_QUARTILE
    if not 0 < deviation < np.inf:
        return np.zeros_like(z)
    return np.clip((away / deviation - STANDS_OUT) / (FULLY - STANDS_OUT), 0.0, 1.0)


class _Products:
    """|z| of all pairs of standardized features, for one output."""

    def __init__(self, X: np.ndarray, r: np.ndarray) -> None:
        """Keep the features, the features times r, and the squares of both."""
        self.X, self.R = X, X * r[:, None]
        self.X2, self.R2 = self.X**2, self.R**2

    def scores(self, rows: slice, columns: slice | np.ndarray) -> np.ndarray:
        """Return |z| of every feature of `rows` with every one of `columns`."""
        squares = self.X2[:, rows].T @ self.R2[:, columns]
        return np.abs(self.X[:, rows].T @ self.R[:, columns]) / np.sqrt(np.where(squares > 0, squares, 1.0))

    def deviation(self) -> float:
        """Return the deviation of z, from the median over the pairs of some features; 1 if that is 0."""
        n = self.X.shape[1]
        median = float(np.median(self.scores(slice(n), pick_evenly(n, N_JUDGED)))) if n else 0.0
        return median / NORMAL_QUARTILE if median > 0 else 1.0

    def best(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the largest |z| of each feature, and with which one."""
        n = self.X.shape[1]
        largest, partner, size = np.zeros(n), np.arange(n), max(1, AT_ONCE // max(n, 1))
        for first in range(0, n, size):
            columns = slice(first, first + size)
            z = self.scores(slice(n), columns)
            partner[columns], largest[columns] = z.argmax(axis=0), z.max(axis=0)
        return largest / self.deviation(), partner


def _standardize(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the features that vary, with mean 0 and variance 1, and which these are."""
    X = X.astype(np.float64)
    X -= X.mean(axis=0)
    deviation = X.std(axis=0)
    varies = np.flatnonzero(deviation > 1e-6 * np.abs(X).max(axis=0, initial=0.0))
    return (X[:, varies] / deviation[varies]).astype(np.float32), varies


def _residuals(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return what a ridge regression leaves of each output, with variance 1.

    λ = m / 10 + N: a weaker ridge fits fewer rows than features without a rest, and what is left tells nothing.
    """
    m, n = X.shape
    Y = Y - Y.mean(axis=0)
    ridge = RIDGE * m + n
    if m <= n:
        left = solve(X @ X.T + ridge * np.eye(m), Y, assume_a="pos")  # in proportion to Y − X b
    else:
        left = Y - X @ solve(X.T @ X + ridge * np.eye(n), X.T @ Y, assume_a="pos")
    deviation = left.std(axis=0)
    return (left / np.where(deviation > 0, deviation, 1.0)).astype(np.float32)
