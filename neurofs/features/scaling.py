"""`Scaling`: channels of a continuous signal on one scale, so that distances weigh them alike.

Counts of spikes share a unit, and are compared as they are. Signals do not: the fluorescence of one ROI may be a
thousand times that of another. Each channel is therefore centered at its median and divided by its spread, the
distance between its 5th and 95th percentiles over that of a normal distribution of deviation 1 (3.29). Up to 5 % of
artifacts to either side do not change it. A channel that hardly ever leaves its median has none, and is divided by its
standard deviation. In a comparison, medians and spreads are those of the training part.
"""

from dataclasses import dataclass, replace

import numpy as np

from neurofs.features.holdouts import pick_evenly
from neurofs.features.samples import Samples

LOW, HIGH = 5.0, 95.0
NORMAL = 3.2897072539029435
"""Distance between these percentiles of a normal distribution of deviation 1."""

MOST_ROWS = 5000
"""Rows, spread evenly, from which percentiles are taken."""


@dataclass(frozen=True, eq=False)
class Scaling:
    """Center and spread of each channel."""

    center: np.ndarray
    spread: np.ndarray

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Return values (…, channel) on the common scale, as float32 in C order."""
        return np.ascontiguousarray((values - self.center) / self.spread, np.float32)


def find_scaling(samples: Samples) -> Scaling:
    """Return center and spread of each channel, from the newest bins of the samples.

    >>> samples = Samples.from_counts(np.arange(404.0).reshape(101, 4) * [1, 10, 0, -1], n_lags=1)
    >>> scaling = find_scaling(samples)
    >>> scaling.center.tolist(), scaling.spread.round(1).tolist()
    ([200.0, 2010.0, 0.0, -203.0], [109.4, 1094.3, 1.0, 109.4])
    """
    rows = pick_evenly(len(samples), MOST_ROWS)
    newest = samples.starts[rows] + samples.n_features - samples.n_channels
    values = samples.flat[newest[:, None] + np.arange(samples.n_channels)].astype(np.float64)
    low, center, high = np.percentile(values, [LOW, 50.0, HIGH], axis=0)
    spread, deviation = (high - low) / NORMAL, values.std(axis=0)
    spread = np.where(spread > 0, spread, deviation)
    return Scaling(center, np.where(spread > 0, spread, 1.0))


def scale_samples(samples: Samples, scaling: Scaling) -> Samples:
    """Return the same windows on a scaled copy of the buffer."""
    table = samples.flat.reshape(-1, samples.n_channels)
    return replace(samples, flat=scaling(table).reshape(-1))
