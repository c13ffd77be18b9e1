"""`Samples`: training and test samples as windows of one flat buffer.

Spike counts binned to (time, channel) in C order are one flat buffer, and the features of the sample whose
newest bin is ``t`` are one contiguous slice of it: the ``n_lags`` bins ``t - n_lags + 1 … t``. A sample is
therefore a start offset, a fold is a subset of the offsets, and nothing is copied once per lag.

    x_i = flat[starts[i] : starts[i] + n_features]
    feature f = (lag position f // n_channels, channel f % n_channels); lag position 0 is the oldest bin

An ordinary matrix is the special case ``starts[i] = i * n_features``. Two samples share raw data exactly when
their starts differ by less than `span`, which is `n_features` unless the counts were smoothed or the target of a
sample was made of the raw target of more than its own bin.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neurofs.ground.showing import render_facts


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples as windows of one flat float32 buffer.

    Parameters
    ----------
    flat : array of float32, 1-D, C-contiguous
        The buffer.
    starts : array of int64
        Offset of the first feature of each sample.
    n_features : int
        Numbers in a window.
    span : int, optional
        How far the raw data of a sample reaches, in numbers of the buffer; `n_features` by default, more if
        the counts were smoothed along time, or if the target is a derivative or interpolated.
    n_channels : int, optional
        Channels of a bin, so that feature f is channel ``f % n_channels``; `n_features` by default, a
        window of one bin.

    Examples
    --------
    >>> import numpy as np
    >>> counts = np.arange(8).reshape(4, 2)          # 4 bins of 2 channels
    >>> samples = Samples.from_counts(counts, n_lags=2)
    >>> samples.shape
    (3, 4)
    >>> np.asarray(samples)                           # oldest bin first
    array([[0., 1., 2., 3.],
           [2., 3., 4., 5.],
           [4., 5., 6., 7.]], dtype=float32)
    >>> np.asarray(samples[[2, 0]])[:, 0]
    array([4., 0.], dtype=float32)
    >>> bool(samples.overlaps(0, 1)), bool(samples.overlaps(0, 2))
    (True, False)
    """

    flat: np.ndarray
    starts: np.ndarray
    n_features: int
    span: int = 0
    n_channels: int = 0

    def __post_init__(self) -> None:
        flat = np.ascontiguousarray(self.flat, dtype=np.float32)
        starts = np.ascontiguousarray(self.starts, dtype=np.int64)
        if flat.ndim != 1 or starts.ndim != 1:
            raise ValueError(f"flat and starts must be 1-D; found {flat.ndim}-D and {starts.ndim}-D")
        if self.n_features < 1:
            raise ValueError(f"n_features must be at least 1; found {self.n_features}")
        if starts.size and (starts.min() < 0 or starts.max() + self.n_features > flat.size):
            raise ValueError(
                f"windows of {self.n_features} numbers must lie inside the buffer of {flat.size}; "
                f"found starts from {starts.min()} to {starts.max()}"
            )
        if self.span and self.span < self.n_features:
            raise ValueError(f"span must be at least n_features = {self.n_features}; found {self.span}")
        if self.n_channels and self.n_features % self.n_channels:
            raise ValueError(f"{self.n_features} features are no whole number of bins of {self.n_channels} channels")
        object.__setattr__(self, "n_channels", self.n_channels or self.n_features)
        object.__setattr__(self, "flat", flat)
        object.__setattr__(self, "starts", starts)
        object.__setattr__(self, "span", self.span or self.n_features)

    @classmethod
    def from_counts(cls, counts: ArrayLike, n_lags: int, rows: ArrayLike | None = None) -> Samples:
        """Windows of `n_lags` bins over `counts` (time, channel), without a copy if it is float32 in C order.

        `rows` are the newest bins of the windows; by default all that have ``n_lags - 1`` bins before them.
        """
        counts = np.ascontiguousarray(counts, dtype=np.float32)
        if counts.ndim != 2:
            raise ValueError(f"counts must be (time, channel); found {counts.ndim} dimensions")
        n_bins, n_channels = counts.shape
        rows = np.arange(n_lags - 1, n_bins) if rows is None else np.asarray(rows)
        starts = (rows - (n_lags - 1)) * n_channels
        return cls(counts.reshape(-1), starts, n_lags * n_channels, n_channels=n_channels)

    @classmethod
    def from_array(cls, X: ArrayLike) -> Samples:
        """Take the rows of an ordinary matrix as samples, which then do not overlap; no copy if float32."""
        X = np.ascontiguousarray(X, dtype=np.float32)
        if X.ndim != 2:
            raise ValueError(f"X must be 2-D; found {X.ndim} dimensions")
        n_rows, n_features = X.shape
        return cls(X.reshape(-1), np.arange(n_rows) * n_features, n_features)

    @property
    def n_lags(self) -> int:
        """Number of bins in a window."""
        return self.n_features // self.n_channels

    @property
    def shape(self) -> tuple[int, int]:
        """Number of samples and of features."""
        return len(self.starts), self.n_features

    def __len__(self) -> int:
        return len(self.starts)

    def __repr__(self) -> str:
        return f"<Samples: {len(self):,} of {self._shape_of_one()}>"

    def _repr_html_(self) -> str:
        facts = {
            "samples": f"{len(self):,}",
            "each": self._shape_of_one(),
            "memory": f"{self.flat.nbytes / 2**20:.1f} MB",
            "overlap": f"samples that start less than {self.span:,} numbers apart share raw data",
        }
        return render_facts("Samples", facts)

    def _shape_of_one(self) -> str:
        return f"{self.n_features:,} features ({self.n_channels} channels × {self.n_lags} lags)"

    def __getitem__(self, rows: Any) -> Samples:
        """Return the samples of `rows` (indices, slice or mask) on the same buffer."""
        return replace(self, starts=np.atleast_1d(self.starts[rows]))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("windows that overlap cannot become an array without a copy")
        if len(self.starts) == 1:  # bin by bin, where every microsecond counts
            start = int(self.starts[0])
            return np.array(self.flat[start : start + self.n_features], dtype or np.float32)[None]
        windows = np.lib.stride_tricks.sliding_window_view(self.flat, self.n_features)
        return windows[self.starts].astype(dtype or np.float32, copy=False)

    def unfold(self, channels: ArrayLike) -> np.ndarray:
        """Return the windows of some channels, (samples, lags, channels), oldest lag first.

        >>> Samples.from_counts(np.arange(8).reshape(4, 2), n_lags=2).unfold([1])[:, :, 0]
        array([[1., 3.],
               [3., 5.],
               [5., 7.]], dtype=float32)
        """
        places = np.arange(self.n_lags)[:, None] * self.n_channels + np.asarray(channels)
        return np.asarray(self.flat[self.starts[:, None, None] + places])

    def overlaps(self, i: ArrayLike, j: ArrayLike) -> np.ndarray:
        """Whether samples `i` and `j` share raw data."""
        return np.abs(self.starts[np.asarray(i)] - self.starts[np.asarray(j)]) < self.span


def as_samples(X: Any) -> Samples:
    """Return `X` if it is `Samples`, else its rows as samples."""
    return X if isinstance(X, Samples) else Samples.from_array(X)
