"""`Grid`: the bins of a session, counted in whole ticks so that no spike falls between two of them."""

from dataclasses import dataclass

import numpy as np

from neurofs.recordings.recording import TICK


@dataclass(frozen=True)
class Grid:
    """Half-open bins ``[origin + i Δ, origin + (i + 1) Δ)``, counted in whole ticks from the origin.

    >>> grid = Grid(origin=0.0, width=100_000_000, n_bins=10)      # 10 bins of 0.1 s
    >>> grid.bins(np.array([0.1 + 0.2, 0.29999]))
    array([3, 2])
    """

    origin: float
    width: int
    n_bins: int

    @property
    def bin_width(self) -> float:
        """Width of a bin in seconds."""
        return round(self.width * TICK, 12)

    def ticks(self, times: np.ndarray) -> np.ndarray:
        """Return times as whole ticks since the origin."""
        ticks = np.subtract(times, self.origin)
        np.divide(ticks, TICK, out=ticks)
        return np.rint(ticks, out=ticks).astype(np.int64)

    def bins(self, times: np.ndarray) -> np.ndarray:
        """Return the bin of each time; below 0 or from `n_bins` on, it is outside the grid."""
        return self.ticks(times) // self.width

    def inside(self, intervals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the first bin that lies wholly inside each interval, and the one after the last.

        >>> Grid(0.0, 100_000_000, 10).inside(np.array([[0.05, 0.4]]))
        (array([1]), array([4]))
        """
        ticks = self.ticks(np.asarray(intervals, dtype=np.float64).reshape(-1, 2))
        first = np.clip(-(-ticks[:, 0] // self.width), 0, self.n_bins)
        return first, np.clip(ticks[:, 1] // self.width, first, self.n_bins)

    @property
    def starts(self) -> np.ndarray:
        """Time at which each bin begins."""
        return self.origin + np.arange(self.n_bins) * self.bin_width

    @property
    def centers(self) -> np.ndarray:
        """Time at the middle of each bin."""
        return self.starts + 0.5 * self.bin_width
