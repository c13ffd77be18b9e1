"""Distances, neighbors and estimates over `Samples`: the checked front of the loops_neighbors.

    train = Samples.from_counts(counts, n_lags=10)[rows]
    near = find_neighbors(train, weights=w, k=50)             # leave-one-out: overlapping windows excluded
    near = find_neighbors(train, test, weights=w, k=50)       # test rows against training rows
    soft_knn(near, Y, k=20, beta=0.25)                        # any k up to 50 and any β, for next to nothing
    local_linear(near, Y, ridge=0.01)

Neighbors are found once, with the largest k of interest; estimates for many (k, β, ridge) then cost little.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from scipy.linalg.blas import sgemm

from neurofs.features.samples import Samples, as_samples
from neurofs.metric import loops_linear, loops_neighbors

FAR_FROM_ZERO = 8.0  # |mean| / SD above which sums of squares lose too many digits
MAX_TABLE = 12_000  # rows up to which a table of all distances is kept in memory
BLOCK = 1024  # rows materialized at a time for matrix products
MOST_BINS_PER_ROW = 4  # of a buffer; with more, rows are multiplied one by one
PREFIX_BLOCK, PREFIX_FEATURES = 1024, 512  # query rows whose distances are kept at a time in a prefix curve; columns
PREFIX_GEMM = 12  # new features from which a matrix product beats adding columns one by one


def as_outputs(y: Any, n_rows: int) -> np.ndarray:
    """Return targets as float64 (rows, outputs)."""
    Y = np.ascontiguousarray(y, dtype=np.float64).reshape(n_rows, -1)
    return Y


def as_w2(weights: Any, n_features: int) -> np.ndarray:
    """Return the squared weights as float32; ones where there are no weights."""
    if weights is None:
        return np.ones(n_features, np.float32)
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (n_features,):
        raise ValueError(f"weights must have one number per feature ({n_features}); found {weights.shape}")
    return (weights * weights).astype(np.float32)


def centered(*samples: Samples) -> tuple[Samples, ...]:
    """Return the samples with a constant taken off each feature where it lies far from zero.

    Distances do not change, but sums of squares of numbers like 1000 ± 1 would lose them in rounding. Each
    position of the buffer belongs to the feature (position − start) mod P of every window, P being the
    greatest common divisor of the differences of starts, so one constant per residue serves all windows.
    Constants are multiples of a power of two near the standard deviation: counts stay exact, ties stay ties.
    """
    starts = [s.starts - s.starts[0] for s in samples if len(s)]
    period = int(np.gcd.reduce(np.concatenate(starts))) if starts else 0
    period = period or max(s.n_features for s in samples)
    offset = _offsets(samples[0], period)
    if not offset.any():
        return samples
    moved: dict[tuple[int, int], np.ndarray] = {}
    for s in samples:
        key = (id(s.flat), int(s.starts[0]) % period if len(s) else 0)
        if key not in moved:
            moved[key] = s.flat - np.resize(np.roll(offset, key[1]), s.flat.size)
    return tuple(replace(s, flat=moved[id(s.flat), int(s.starts[0]) % period if len(s) else 0]) for s in samples)


def _offsets(samples: Samples, period: int) -> np.ndarray:
    """Return one constant per residue of the buffer position, zero if none lies far from zero."""
    first = int(samples.starts[0]) if len(samples) else 0
    flat = samples.flat[first % period :]
    n_rows = flat.size // period
    if n_rows < 2:
        return np.zeros(period, np.float32)
    table = flat[: n_rows * period].reshape(n_rows, period)
    mean, sd = table.mean(axis=0, dtype=np.float64), table.std(axis=0, dtype=np.float64)
    if not np.isfinite(mean).all() or not (np.abs(mean) > FAR_FROM_ZERO * sd).any():
        return np.zeros(period, np.float32)
    quantum = 2.0 ** np.floor(np.log2(np.where(sd > 0, sd, 1.0)))
    return np.where(sd > 0, quantum * np.rint(mean / quantum), mean).astype(np.float32)


# ----------------------------------------------------------------------------------------------- neighbors


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The k nearest training rows of every query, nearest first; ranks from count[i] on are −1 and inf."""

    index: np.ndarray
    distance: np.ndarray
    count: np.ndarray
    train: Samples
    queries: Samples
    w2: np.ndarray


def _pair_rows(
    train: Samples, queries: Any, groups: Any, exclude: str
) -> tuple[Samples, Samples, np.ndarray, np.ndarray, int]:
    """Return training rows and queries, centered, the group of each, and the span within which rows overlap.

    Rows of one group, or that overlap, are no neighbors; where queries are given, all training rows are.
    """
    if queries is None:
        (train,) = centered(train)
        trial = loo_groups(groups, len(train))
        return train, train, trial, trial, exclusion_span(train, exclude)
    train, queries = centered(train, as_samples(queries))
    return train, queries, np.zeros(len(train), np.int64), np.full(len(queries), -1), 0


def find_neighbors(
    train: Any, queries: Any = None, *, weights: Any = None, k: int, groups: Any = None, exclude: str = "overlap"
) -> Neighbors:
    """Find the k nearest training rows under d_w(x, x') = Σ_f w_f² (x_f − x'_f)².

    Without `queries`, every training row is a query and finds its neighbors in leave-one-out manner: rows
    whose windows overlap it are no neighbors (``exclude="self"``: only itself), nor are rows of its group.
    """
    train = as_samples(train)
    w2 = as_w2(weights, train.n_features)
    train, queries, t_groups, q_groups, span = _pair_rows(train, queries, groups, exclude)
    k = max(1, min(k, len(train)))
    index, distance = np.full((len(queries), k), -1), np.full((len(queries), k), np.inf, np.float32)
    count, norms = np.zeros(len(queries), np.int64), np.empty(len(train), np.float32)
    if len(train) and len(queries):
        flat, q_flat = plain(train.flat), plain(queries.flat)
        loops_neighbors.row_norms(flat, train.starts, w2, norms)
        loops_neighbors.neighbors(
            flat, train.starts, t_groups, norms, w2, q_flat, queries.starts, q_groups, span, index, distance, count
        )
    return Neighbors(index, distance, count, train, queries, w2)


class Search:
    """Training rows, ready for single windows: `find_neighbors` without what all windows share.

    >>> train = Samples.from_array(np.random.default_rng(0).normal(size=(50, 3)))
    >>> near, same = Search(train, None, k=4).find(train[[7]]), find_neighbors(train, train[[7]], k=4)
    >>> np.array_equal(near.index, same.index), np.array_equal(near.distance, same.distance)
    (True, True)
    """

    def __init__(self, train: Samples, weights: Any, k: int) -> None:
        self.w2, silence = as_w2(weights, train.n_features), np.zeros(train.n_features, np.float32)
        self.train, moved = centered(train, Samples(silence, np.zeros(1), train.n_features))
        self.shift, self.k = moved.flat, max(1, min(k, len(train)))
        self.norms = np.empty(len(train), np.float32)
        loops_neighbors.row_norms(plain(self.train.flat), self.train.starts, self.w2, self.norms)
        self.groups = np.zeros(len(train), np.int64), np.full(1, -1)

    def find(self, window: Samples) -> Neighbors:
        """Return the nearest rows of one window."""
        start = int(window.starts[0])
        moved = Samples(window.flat[start : start + window.n_features] + self.shift, np.zeros(1), window.n_features)
        index, distance = np.full((1, self.k), -1), np.full((1, self.k), np.inf, np.float32)
        count, (t_groups, q_groups) = np.zeros(1, np.int64), self.groups
        train = plain(self.train.flat), self.train.starts, t_groups, self.norms, self.w2
        loops_neighbors.neighbors(*train, moved.flat, moved.starts, q_groups, 0, index, distance, count)
        return Neighbors(index, distance, count, self.train, moved, self.w2)


class Distances:
    """Training rows, ready for single windows: `pairwise_distances` in double precision without what all windows share.

    Windows overlap: each bin of the buffer is multiplied once with every lag of the window, and the products of a row
    lie on a diagonal.

    >>> train = Samples.from_counts(np.random.default_rng(0).poisson(1.0, size=(50, 3)), n_lags=4)
    >>> expected = pairwise_distances(train[[7]], train, dtype=np.float64)
    >>> np.allclose(Distances(train, None).to(train[[7]]), expected, rtol=1e-12)
    True
    """

    def __init__(self, train: Samples, weights: Any) -> None:
        firsts = np.unique(train.starts % train.n_channels)
        if len(firsts) > 1 or train.flat.size // train.n_channels > MOST_BINS_PER_ROW * len(train):
            train, firsts = Samples.from_array(np.asarray(train)), np.zeros(1, int)
        first, n_channels, n_lags = int(firsts[0]), train.n_channels, train.n_lags
        self.w2 = np.square(np.sqrt(as_w2(weights, train.n_features)), dtype=np.float64)
        n_bins = (train.flat.size - first) // n_channels
        self.bins = train.flat[first : first + n_bins * n_channels].reshape(n_bins, n_channels).astype(np.float64)
        self.places = (train.starts - first) // n_channels
        self.products = np.empty((n_bins, n_lags))
        across, down = self.products.strides[1], self.products.strides[0]
        self.diagonals = as_strided(self.products, (n_bins - n_lags + 1, n_lags), (down, down + across))
        self.norms = self._multiply(self.bins**2, self.w2)

    def _multiply(self, bins: np.ndarray, window: np.ndarray) -> np.ndarray:
        """Return the inner products of all rows of some bins with a window."""
        np.matmul(bins, window.reshape(self.products.shape[1], -1).T, out=self.products)
        return np.asarray(self.diagonals.sum(axis=1)[self.places])

    def to(self, window: Samples) -> np.ndarray:
        """Return the squared distances of one window to all rows, (1, rows)."""
        start = int(window.starts[0])
        x = window.flat[start : start + window.n_features].astype(np.float64)
        weighted = self.w2 * x
        d = self._multiply(self.bins, weighted)
        d *= -2.0
        d += self.norms
        d += weighted @ x
        return np.maximum(d, 0.0, out=d)[None]


def plain(flat: np.ndarray) -> np.ndarray:
    """Return the buffer as a base ndarray (a memory map is a subclass)."""
    return flat.view(np.ndarray)


def loo_groups(groups: Any, n_rows: int) -> np.ndarray:
    """Return integer groups, by default every row its own, so that a row is never its own neighbor."""
    if groups is None:
        return np.arange(n_rows)
    groups = np.asarray(groups)
    if groups.shape != (n_rows,):
        raise ValueError(f"groups must have one entry per row ({n_rows}); found shape {groups.shape}")
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)


def exclusion_span(samples: Samples, exclude: str) -> int:
    """Return how near two starts may be; 0 lets every pair of different rows be neighbors."""
    if exclude not in ("overlap", "self"):
        raise ValueError(f"exclude must be 'overlap' or 'self'; found {exclude!r}")
    return samples.span if exclude == "overlap" else 0


def check_pairs(samples: Samples, groups: Any, exclude: str) -> None:
    """Refuse samples of which no two may be neighbors; as a rule the first row has one already."""
    span, trial = exclusion_span(samples, exclude), loo_groups(groups, len(samples))
    for i in range(len(samples)):
        if ((trial != trial[i]) & (np.abs(samples.starts - samples.starts[i]) >= span)).any():
            return
    raise ValueError("no row has a neighbor: every other row overlaps it or is of its group")


def allowed_pairs(samples: Samples, groups: Any, exclude: str, who: str) -> np.ndarray:
    """Return which pairs of rows may be neighbors, (rows, rows); too many rows for such a table are refused."""
    if len(samples) > MAX_TABLE:
        raise ValueError(
            f"{who} keeps a table of all distances, for at most {MAX_TABLE} samples; found {len(samples)}. "
            "Fit it to a part of the rows."
        )
    trial, starts = loo_groups(groups, len(samples)), samples.starts
    apart = np.abs(starts[:, None] - starts) >= exclusion_span(samples, exclude)
    return apart & (trial[:, None] != trial)


# ----------------------------------------------------------------------------------------------- estimates


def soft_knn(near: Neighbors, y: Any, *, k: int | None = None, beta: float = 0.5, adaptive: bool = True) -> np.ndarray:
    """Estimate ĝ(x) = Σ g(x') a(x') / Σ a(x'), a = exp(−d/β), from the first k neighbors; (queries, outputs).

    With `adaptive`, β is `beta` times the mean distance of the k neighbors of each query, else `beta` itself.
    """
    Y = as_outputs(y, len(near.train))
    out = np.empty((len(near.queries), Y.shape[1]))
    k = near.index.shape[1] if k is None else k
    loops_neighbors.soft_average(near.index, near.distance, near.count, k, Y, beta, adaptive, out)
    return out


def local_linear(
    near: Neighbors,
    y: Any,
    *,
    k: int | None = None,
    beta: float = 0.5,
    adaptive: bool = True,
    ridge: float = 0.01,
    pairwise: np.ndarray | None = None,
    tolerance: float = 1e-5,
) -> np.ndarray:
    """Estimate by weighted ridge regression on the first k neighbors, evaluated at the query.

    `pairwise`, the squared distances among the training rows under the same weights (`pairwise_distances`),
    saves the k² products over all features of each query. `tolerance` is that of the equations of a regression, as
    a fraction of their right-hand side.
    """
    Y = as_outputs(y, len(near.train))
    out = np.empty((len(near.queries), Y.shape[1]))
    k = near.index.shape[1] if k is None else k
    p = np.empty((len(near.queries), min(k, near.index.shape[1])))
    loops_neighbors.soft_weights_of_rows(near.distance, near.count, p.shape[1], beta, adaptive, p)
    if pairwise is not None:
        table = np.ascontiguousarray(pairwise, np.float32)
        loops_linear.local_linear_from_table(table, near.index, near.distance, near.count, p, Y, ridge, tolerance, out)
        return out
    train, queries = near.train, near.queries
    windows = plain(train.flat), train.starts, near.w2, plain(queries.flat), queries.starts
    loops_linear.local_linear(*windows, near.index, near.count, p, Y, ridge, tolerance, out)
    return out


# ------------------------------------------------------------------------------------------------ matrices


def blocks(n_rows: int, size: int) -> Iterator[slice]:
    """Cut the range of n_rows into slices of at most `size`."""
    return (slice(a, min(a + size, n_rows)) for a in range(0, n_rows, size))


def pairwise_distances(a: Any, b: Any = None, *, weights: Any = None, dtype: Any = np.float32) -> np.ndarray:
    """Return the squared distances d_w between the rows of `a` and of `b` (or of `a`).

    Matrix products over blocks of materialized rows, of features with a weight. Among the rows of one set each pair
    is computed once, and the diagonal is exactly 0.
    """
    same = b is None
    a, b = as_samples(a), as_samples(a if same else b)
    w = np.sqrt(as_w2(weights, a.n_features)).astype(dtype, copy=False)
    if dtype == np.float32:  # in double precision, rounding takes nothing away
        a, b = centered(a, b)
    kept = np.flatnonzero(w)
    out = np.empty((len(a), len(b)), dtype)
    for cols in blocks(len(b), BLOCK):
        B = _weigh_rows(b[cols], w, kept)
        b_norms = np.einsum("ij,ij->i", B, B)
        for rows in blocks(len(a), BLOCK):
            if same and rows.start < cols.start:
                continue
            A = _weigh_rows(a[rows], w, kept)
            block = np.matmul(A, B.T, out=out[rows, cols])
            block *= -2.0
            block += b_norms
            block += np.einsum("ij,ij->i", A, A)[:, None]
            np.maximum(block, 0.0, out=block)
            if same and rows != cols:
                out[cols, rows] = block.T
    if same:
        np.fill_diagonal(out, 0.0)
    return out


def _weigh_rows(samples: Samples, w: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return rows times weights, of the features `kept`."""
    if kept.size == w.size:
        return np.asarray(samples) * w
    return np.asarray(samples.flat[samples.starts[:, None] + kept] * w[kept])


# ------------------------------------------------------------------------------------------- prefix curves


def prefix_curve(train: Any, y: Any, queries: Any = None, *, k: int, beta: float = 0.5, **options: Any) -> Any:
    """Predict by soft kNN on the first n features of an order, for every n: (sizes, queries, outputs).

    As `prefix_curves`, which says what the `options` are, with one k and one beta.
    """
    return prefix_curves(train, y, queries, points=[(k, beta)], **options)[0]


def prefix_curves(
    train: Any,
    y: Any,
    queries: Any = None,
    *,
    order: Any,
    sizes: Any,
    points: Sequence[tuple[int, float]],
    weights: Any = None,
    adaptive: bool = True,
    groups: Any = None,
    exclude: str = "overlap",
    one_each: bool = False,
) -> np.ndarray:
    """Predict by soft kNN on the first n features of `order`, for every n of `sizes`, in one sweep.

    Returns (points, sizes, queries, outputs), a point being a pair of k and beta; or with `one_each`, where each size
    has its own point, (1, sizes, queries, outputs). Distances only grow by the features that a size adds to the one
    before, so all sizes together cost little more than the largest, and further points next to nothing. Without
    `weights` the chosen features count alike; without `queries` the training rows are predicted leaving out as
    `find_neighbors` does.
    """
    train = as_samples(train)
    order, sizes = np.asarray(order, np.int64), np.asarray(sizes, np.int64)
    if sizes.size and (sizes.min() < 1 or sizes.max() > order.size or (np.diff(sizes) <= 0).any()):
        raise ValueError(f"sizes must ascend from 1 to at most {order.size}; found {sizes.tolist()[:10]}")
    train, queries, t_groups, q_groups, span = _pair_rows(train, queries, groups, exclude)
    Y, w2 = as_outputs(y, len(train)), as_w2(weights, train.n_features)
    added = np.split(order[: sizes.max(initial=0)], sizes[:-1])
    columns, q_columns = Columns(train), Columns(queries)
    k = max(1, min(max(k for k, _ in points), len(train)))
    ks, betas = np.array([min(own_k, k) for own_k, _ in points]), np.array([float(beta) for _, beta in points])
    out = np.empty((1 if one_each else len(points), sizes.size, len(queries), Y.shape[1]))
    for rows in blocks(len(queries), PREFIX_BLOCK):
        who = train.starts, t_groups, queries.starts[rows], q_groups[rows], span
        d = np.zeros((len(queries.starts[rows]), len(train)), np.float32)
        index, distance = np.full((len(d), k), -1), np.full((len(d), k), np.inf, np.float32)
        count = np.zeros(len(d), np.int64)
        for at, features in enumerate(added):
            for few in np.split(features, range(PREFIX_FEATURES, len(features), PREFIX_FEATURES)):
                _add_features(columns.take(few), q_columns.take(few, rows), w2[few], d)
            loops_neighbors.prefix_select(d, *who, index, distance, count)
            used = slice(at, at + 1) if one_each else slice(None)
            loops_neighbors.soft_averages(index, distance, count, ks[used], betas[used], Y, adaptive, out[:, at, rows])
    return out


class Columns:
    """Features of samples, one contiguous row each; from a copy of the buffer by channel where bins are whole.

    >>> samples = Samples.from_counts(np.arange(8).reshape(4, 2), n_lags=2)
    >>> Columns(samples).take(np.array([3, 0]))
    array([[3., 5., 7.],
           [0., 2., 4.]], dtype=float32)
    """

    def __init__(self, samples: Samples) -> None:
        n = samples.n_channels
        n = n if samples.flat.size % n == 0 and not (samples.starts % n).any() else 1
        self.series = np.ascontiguousarray(plain(samples.flat).reshape(-1, n).T)
        self.bins = samples.starts // n

    def take(self, features: np.ndarray, rows: slice = slice(None)) -> np.ndarray:
        """Return the chosen features of some rows, (features, rows)."""
        lags, channels = np.divmod(features, len(self.series))
        out = np.empty((features.size, len(self.bins[rows])), np.float32)
        loops_neighbors.take_features(self.series, channels, lags, self.bins[rows], out)
        return out


def _add_features(columns: np.ndarray, q_columns: np.ndarray, w2: np.ndarray, d: np.ndarray) -> None:
    """Add the distances of some features to d: one by one, or q_i + q_j − 2 Σ w² x x' by a matrix product."""
    if len(columns) < PREFIX_GEMM:
        loops_neighbors.prefix_add(columns, q_columns, w2, d)
        return
    weighted = q_columns * w2[:, None]
    sgemm(-2.0, columns.T, weighted.T, beta=1.0, c=d.T, trans_b=True, overwrite_c=True)
    norms, q_norms = np.einsum("cj,cj,c->j", columns, columns, w2), np.einsum("ci,ci->i", weighted, q_columns)
    loops_neighbors.prefix_add_norms(norms, q_norms, d)
