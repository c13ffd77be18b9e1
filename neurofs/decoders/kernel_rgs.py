"""Kernel RGS as a decoder: kernel ridge regression, or its Gaussian process, in learned metrics.

The largest thing in memory is the kernel matrix of the rows of a model, 8 n² bytes. Before anything is done,
`count_model_rows` tells how many rows the bound allows: all, or landmarks (Nyström), or it refuses.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from itertools import pairwise
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.linalg.lapack import dpotrf
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from neurofs.decoders.base import Decoder, Step, as_values
from neurofs.decoders.spread import LeftOut, Spread, fit_spread
from neurofs.features.holdouts import pick_evenly
from neurofs.features.samples import Samples, as_samples
from neurofs.ground.keys import RandomState
from neurofs.metric.block_ridge import PART, block_residuals, inner_products, inverse, kernel, square_norms
from neurofs.metric.channel_path import learn_sparse_metric
from neurofs.metric.learning import N_ROWS, N_STEPS, LearnedMetric, learn_metric, make_blocks, sort_rows

MOST_ROWS = 10_000
LANDMARKS = 2_000
DEVIATION_ROWS = 2_000  # rows of a model by which deviations are found
FEWEST_LANDMARKS = 100
Data = tuple[Samples, np.ndarray, np.ndarray | None]
RIDGES = (0.5, 1.0, 2.0, 4.0)
CHOOSING_ROWS = 2500
ROUNDING = 1e-6  # what distances in float32 may take from the eigenvalues of K, of its mean diagonal


@dataclass(eq=False, repr=False)
class KernelRGSDecoder(Decoder):
    """Kernel ridge regression in metrics learned by its own leave-block-out error.

    K(x, x') = 1 / (1 + d_w(x, x')) + c x·x' + 1, with ridge λ; w, c and λ are learned (`metric.learning`),
    and λ is chosen once more among ½, 1, 2 and 4 times the learned value for the final fit. Above 10,000 rows, or
    where the memory does not suffice for all, some of the rows, at most 2,000, serve as landmarks (Nyström).

    The prediction is the mean of two such models: the metric of one mixes the bins of each channel, that of the
    other has four directions through all channels. The intervals are those of the first model, made wider where
    its leave-block-out errors are (`decoders.spread`). They are to hold 95 % of all samples on average; of
    those whose target lies far from its mean, they hold fewer.

    Parameters
    ----------
    mixed : bool
        Learn how the bins of a channel are mixed. Without, there is one model, whose metric is one weight for each
        channel × lag and nothing else.
    sparse : bool
        Use only the channels that are needed (`metric.channel_path`), in one model.
    n_directions : int
        Directions in the metric of the second model; 0 for the first model alone.
    n_steps, n_rows : int
        Steps of the search, and rows drawn for each.
    memory_limit : float
        Most memory that the fit may take, in bytes, apart from the samples.
    random_state : int, RandomState or None

    Attributes
    ----------
    metrics_ : list of LearnedMetric
    feature_weights_ : array (n_features,)
        Weight of each channel × lag, the mean over metrics; the largest is 1.
    loss_curve_ : array
        Logarithm of the leave-block-out mean squared error at each step of the search for the first metric.
    channel_path_ : ChannelPath
        Only if sparse: the error with so many channels, and which channels suffice.
    spread_ : Spread
        By how much the Gaussian process misstates its 95 % intervals at a sample.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(400, 8))
    >>> y = X[:, 0] * X[:, 1]
    >>> decoder = KernelRGSDecoder(random_state=0).fit(X[:300], y[:300])
    >>> bool(decoder.score(X[300:], y[300:]) > 0.9)
    True
    >>> mean, std = decoder.predict(X[300:], return_std=True)
    >>> mean.shape == std.shape == (100,)
    True
    """

    name, label, origin, cost = ("kernel-rgs", "kernel RGS decoder", "neurofs", "r³ + r² N per step; m³, m² memory")
    color, marker, line = "violet", "D", "--"
    own_metric, gives_deviation = "kernel-rgs", True

    mixed: bool = True
    _: KW_ONLY
    sparse: bool = False
    n_directions: int = 4
    n_steps: int = N_STEPS
    n_rows: int = N_ROWS
    memory_limit: float = 2e9
    random_state: RandomState = None

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Learn the metrics and fit the models; `groups` names the trial of each row."""
        samples, Y = as_samples(X), as_values(y, type(self).__name__)
        self._one_output = Y.ndim == 1
        Y = Y.reshape(len(samples), -1)
        n_model = count_model_rows(*samples.shape, self.n_rows, self.memory_limit)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        self.mean_, self.sd_ = Y.mean(axis=0), np.where(Y.std(axis=0) > 0, Y.std(axis=0), 1.0)
        data = samples, (Y - self.mean_) / self.sd_, None if groups is None else np.asarray(groups)
        ridges = self._learn(data, rng)
        weights = np.mean([metric.feature_weights for metric in self.metrics_], axis=0)
        self.feature_weights_ = weights / weights.max()
        self.loss_curve_ = self.metrics_[0].loss_curve
        self.n_features_in_ = samples.n_features
        rows = samples[np.sort(rng.permutation(len(samples))[:n_model])]
        self._others = [
            KernelModel(metric, ridge, rows).fit(*data[:2])
            for metric, ridge in zip(self.metrics_[1:], ridges[1:], strict=True)
        ]
        self._first = KernelModel(self.metrics_[0], ridges[0], rows).fit(*data[:2])
        return self

    def _learn(self, data: Data, rng: np.random.Generator) -> list[float]:
        """Learn the metrics and how wide the intervals are; return the ridge of each metric."""
        settings: dict[str, Any] = {"n_steps": self.n_steps, "n_rows": self.n_rows}
        if self.sparse:
            first, self.channel_path_ = learn_sparse_metric(*data, rng, mixed=self.mixed, **settings)
        else:
            first = learn_metric(*data, rng, mixed=self.mixed, **settings)
        self.metrics_: list[LearnedMetric] = [first]
        ridge, left_out = choose_ridge(first, *data, rng)
        self.spread_: Spread = fit_spread(left_out)
        if not self.mixed or self.sparse or self.n_directions == 0:
            return [ridge]
        second = learn_metric(*data, rng, mixed=False, n_directions=self.n_directions, **settings)
        self.metrics_.append(second)
        return [ridge, choose_ridge(second, *data, rng)[0]]

    @overload
    def predict(self, X: ArrayLike, return_std: Literal[False] = False) -> np.ndarray: ...

    @overload
    def predict(self, X: ArrayLike, return_std: Literal[True]) -> tuple[np.ndarray, np.ndarray]: ...

    def predict(self, X: ArrayLike, return_std: bool = False) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return the decoded targets; with `return_std` also their calibrated standard deviation."""
        check_is_fitted(self, "metrics_")
        samples = as_samples(X)
        if samples.n_features != self.n_features_in_:
            raise ValueError(f"X has {samples.n_features} features; the decoder was fitted with {self.n_features_in_}")
        parts = [self._predict_part(samples[i : i + PART], return_std) for i in range(0, len(samples), PART)]
        mean = np.concatenate([part[0] for part in parts])
        mean = mean[:, 0] if self._one_output else mean
        if not return_std:
            return mean
        std = np.concatenate([part[1] for part in parts])
        return mean, std[:, 0] if self._one_output else std

    def start_online(self) -> Step:
        """Return a function that predicts one window after another, with its deviation."""
        return lambda window, follows: tuple(found[0] for found in self._predict_part(window, True))

    def _predict_part(self, samples: Samples, return_std: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and standard deviation of some samples, the latter of zeros if nobody asks for it."""
        if return_std:
            first, std = self._first.predict_std(samples)
            deviation = std[:, None] * self.spread_(self.metrics_[0].transform(samples), first)
        else:
            first = self._first.predict(samples)
            deviation = np.zeros(first.shape)
        mean = np.mean([first, *(model.predict(samples) for model in self._others)], axis=0)
        return mean * self.sd_ + self.mean_, deviation * self.sd_


@dataclass(eq=False, repr=False)
class SparseKernelRGSDecoder(KernelRGSDecoder):
    """Kernel ridge regression in a learned metric of the fewest channels that suffice.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(400, 8))
    >>> decoder = SparseKernelRGSDecoder(n_steps=40, random_state=0).fit(X, X[:, 0] * X[:, 1])
    >>> decoder.channel_path_.channels[:2].tolist(), decoder.channel_path_.n_channels < 8
    ([0, 1], True)
    """

    name, label, line = "kernel-rgs-sparse", "kernel RGS decoder, fewest channels", ":"

    sparse: bool = field(default=True, kw_only=True)


def count_model_rows(n_samples: int, n_features: int, n_rows: int, limit: float) -> int:
    """Return how many rows a model may keep: all of them, or fewer as landmarks; too little memory is refused.

    >>> count_model_rows(6000, 100, 800, 2e9), count_model_rows(50_000, 100, 800, 2e9)
    (6000, 2000)
    """
    if n_samples <= MOST_ROWS and needed_memory(n_samples, n_samples, n_features, n_rows) <= limit:
        return n_samples
    for n in range(min(LANDMARKS, n_samples), FEWEST_LANDMARKS - 1, -50):
        if needed_memory(n, n_samples, n_features, n_rows) <= limit:
            return n
    least = needed_memory(FEWEST_LANDMARKS, n_samples, n_features, n_rows)
    raise ValueError(
        f"kernel RGS needs at least {least / 1e6:.0f} MB for {n_samples} samples of {n_features} features; "
        f"memory_limit is {limit / 1e6:.0f} MB. Raise it, or select features first."
    )


def needed_memory(n_model: int, n_samples: int, n_features: int, n_rows: int) -> float:
    """Return the bytes that a fit takes at its peak: a step of the search, the choice of λ, or the last fit.

    The last fit has the rows of both models, those by which errors are judged, and one kernel matrix at a time.
    """
    step, choice = min(n_rows, n_samples), min(CHOOSING_ROWS, n_samples)
    learning = 12 * 8 * step**2 + 6 * 4 * step * n_features
    choosing = 5 * 8 * choice**2 + 2 * 4 * choice * n_features
    matrices = 8 * n_model**2 * (1 if n_model == n_samples else 2)
    part = min(PART, n_samples)
    last = matrices + 3 * 8 * part * n_model + 4 * (3 * n_model + 2 * part + choice) * n_features
    return max(learning, choosing, last)


class KernelModel:
    """The rows of a model in their metric, and α with K α + λ α = Y.

    Examples
    --------
    >>> from neurofs.metric.learning import learn_metric
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> samples, Y = Samples.from_array(X), X[:, :1] * X[:, 1:]
    >>> metric = learn_metric(samples, Y, None, np.random.default_rng(0), n_steps=20)
    >>> model = KernelModel(metric, metric.ridge, samples[:200]).fit(samples[:200], Y[:200])
    >>> bool(np.mean((model.predict(samples[200:]) - Y[200:]) ** 2) < 0.1)
    True
    """

    def __init__(self, metric: LearnedMetric, ridge: float, rows: Samples) -> None:
        self.metric, self.ridge = metric, ridge
        self.rows = metric.transform(rows)
        self.measure()

    def measure(self) -> None:
        """Find what follows from the rows."""
        self.norms = square_norms(self.rows)
        self.rounding = ROUNDING * float(np.mean(self._prior(self.norms)))
        self.judges = pick_evenly(len(self.rows), DEVIATION_ROWS)
        self.factor: np.ndarray | None = None

    def fit(self, samples: Samples, Y: np.ndarray) -> KernelModel:
        """Fit standardized targets of all samples."""
        everything = len(samples) == len(self.rows)
        self.alpha = (self._solve_all if everything else self._solve_landmarks)(samples, Y)
        self.factor_ridge = self.ridge * len(self.judges) / len(samples)
        return self

    def _solve_all(self, samples: Samples, Y: np.ndarray) -> np.ndarray:
        """Solve (K + λI) α = Y."""
        return np.asarray(cho_solve((self._factor(self.rows, self.ridge), True), Y))

    def _solve_landmarks(self, samples: Samples, Y: np.ndarray) -> np.ndarray:
        """Solve (K_nm K_mn + λ K_nn) α = K_nm Y for the landmarks n and all rows m, some rows at a time.

        With K_nn = L Lᵀ, A = L⁻¹ K_nm and α = L⁻ᵀ β that is (A Aᵀ + λI) β = A Y, which rounding harms less.
        """
        L = self._factor(self.rows, self.rounding)
        H, rhs = np.diag(np.full(len(L), self.ridge)), np.zeros((len(L), Y.shape[1]))
        for first in range(0, len(samples), PART):
            Z = self.metric.transform(samples[first : first + PART])
            between = _kernel_in_single(Z, square_norms(Z), self.rows, self.norms, self.metric.linear)
            A = solve_triangular(L, between.T, lower=True)
            H += A @ A.T
            rhs += A @ Y[first : first + PART]
        beta = cho_solve(cho_factor(H.T, lower=True, overwrite_a=True), rhs)
        return np.asarray(solve_triangular(L, beta, lower=True, trans="T"))

    def _factor(self, rows: np.ndarray, ridge: float) -> np.ndarray:
        """Return the lower factor of K + ridge I among rows.

        Where rounding spoils it, there is a little more on the diagonal. K is made some rows at a time, and overwritten
        by its factor.
        """
        for more in (0.0, 1.0, 10.0, 100.0, 1000.0):
            K = self._make_kernel(rows)
            K.flat[:: len(K) + 1] += ridge + more * self.rounding
            factor, failed = dpotrf(K.T, lower=1, clean=0, overwrite_a=1)
            if not failed:
                return np.asarray(factor)
        raise np.linalg.LinAlgError("the kernel matrix has no Cholesky factor; are there NaN among the samples?")

    def _prior(self, norms: np.ndarray) -> np.ndarray:
        """Return the variance of rows before anything is known: the diagonal of K."""
        return 2.0 + self.metric.linear * norms

    def _make_kernel(self, rows: np.ndarray) -> np.ndarray:
        """Return K among transformed rows."""
        n, norms = len(rows), square_norms(rows)
        K = np.empty((n, n))
        for first in range(0, n, PART):
            part = slice(first, first + PART)
            K[part] = _kernel_in_single(rows[part], norms[part], rows, norms, self.metric.linear)
        return K

    def _kernel_of(self, rows: np.ndarray) -> np.ndarray:
        """Return K between transformed rows and those of the model in double precision."""
        return kernel(inner_products(rows, self.rows), square_norms(rows), self.norms, self.metric.linear)

    def predict(self, samples: Samples) -> np.ndarray:
        """Return the mean of the targets of some samples."""
        return self._kernel_of(self.metric.transform(samples)) @ self.alpha

    def predict_std(self, samples: Samples) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean of the targets, and the standard deviation that all outputs share.

        The deviation is that of a model of at most 2,000 of the rows, each of which stands for several: the time of
        an estimate would otherwise grow with the square of their number.
        """
        rows = self.metric.transform(samples)
        K = self._kernel_of(rows)
        if self.factor is None:
            self.factor = self._factor(self.rows[self.judges], self.factor_ridge)
        half = solve_triangular(self.factor, K[:, self.judges].T, lower=True, check_finite=False)
        variance = self._prior(square_norms(rows)) + self.ridge - np.einsum("ji,ji->i", half, half)
        return K @ self.alpha, np.sqrt(np.maximum(variance, self.ridge))


def _kernel_in_single(
    rows: np.ndarray, norms: np.ndarray, others: np.ndarray, other_norms: np.ndarray, linear: float
) -> np.ndarray:
    """Return K between rows and others, from inner products in single precision, which many rows need half as long."""
    return kernel((rows @ others.T).astype(np.float64), norms, other_norms, linear)


def choose_ridge(
    metric: LearnedMetric, samples: Samples, Y: np.ndarray, groups: np.ndarray | None, rng: np.random.Generator
) -> tuple[float, LeftOut]:
    """Return the ridge with the least leave-block-out error, and what that error was at each row."""
    order, trial = sort_rows(samples, groups)
    drawn = np.sort(rng.permutation(len(samples))[:CHOOSING_ROWS])
    rows = order[drawn]
    edges, scored = make_blocks(samples, rows, None if trial is None else trial[drawn], rng)
    if not scored.any():
        return metric.ridge, LeftOut.nothing(Y.shape[1])
    Z = metric.transform(samples[rows])
    norms = square_norms(Z)
    K = _kernel_in_single(Z, norms, Z, norms, metric.linear)
    tried = {}
    for ridge in np.multiply(RIDGES, metric.ridge).tolist():
        H = K.copy()
        H.flat[:: len(H) + 1] += ridge
        P = inverse(H)
        errors = block_residuals(P, P @ Y[rows], edges)
        variance = np.concatenate([np.diag(np.linalg.inv(P[a:b, a:b])) for a, b in pairwise(edges)])
        tried[float(np.mean(errors[scored] ** 2))] = (ridge, errors, variance)
    ridge, errors, variance = tried[min(tried)]
    block = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
    left_out = LeftOut(Z, Y[rows] - errors, errors, np.sqrt(variance), block)
    return ridge, left_out[scored]
