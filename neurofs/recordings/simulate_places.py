"""Simulated place cells: sparse spikes, a slow walk, and excitability that drifts.

Weights that a selector learns from such a session are noisy: a channel fires every other second, and the animal comes
back to a place a few times only.
"""

import numpy as np

from neurofs.recordings.recording import Recording, Series

BIN_WIDTH = 0.2
BACKGROUND = 0.3  # share of spikes that know nothing of the place
DRIFT, DRIFT_BINS = 1.0, 200  # deviation of the log rate, and the bins over which it changes


def simulate_places(
    n_bins: int = 4000, n_channels: int = 63, mean_rate: float = 0.5, random_state: int = 0
) -> Recording:
    """Return counts of place cells in bins of 200 ms, and the position in a box of 1 m.

    >>> session = simulate_places(1000)
    >>> session.counts.shape, bool(0.3 < session.counts.mean() / 0.2 < 0.7)
    ((1000, 63), True)
    """
    rng = np.random.default_rng(random_state)
    position = _walk(n_bins, rng)
    centers, widths = rng.random((n_channels, 2)), rng.uniform(0.08, 0.2, n_channels)
    field = np.exp(-((position[:, None] - centers) ** 2).sum(axis=2) / (2 * widths**2))
    field = (1 - BACKGROUND) * field / np.maximum(field.mean(axis=0), 1e-3) + BACKGROUND
    rate = rng.lognormal(0.0, 0.8, n_channels)
    noise = rng.normal(size=(n_bins + DRIFT_BINS - 1, n_channels))
    sums = np.cumsum(np.vstack([np.zeros(n_channels), noise]), axis=0)
    drift = np.exp(DRIFT * (sums[DRIFT_BINS:] - sums[:-DRIFT_BINS]) / np.sqrt(DRIFT_BINS) - DRIFT**2 / 2)
    counts = rng.poisson(field * drift * rate / rate.mean() * mean_rate * BIN_WIDTH)
    time = BIN_WIDTH * (np.arange(n_bins) + 0.5)
    behavior = {"position": Series("position", time, position, ("x", "y"), "m")}
    return Recording(f"places{random_state}", counts=counts, bin_width=BIN_WIDTH, behavior=behavior)


def _walk(n_bins: int, rng: np.random.Generator) -> np.ndarray:
    """Return a smooth walk (bins, 2) in a box of side 1 that turns back at the walls."""
    position, velocity = np.full(2, 0.5), np.zeros(2)
    path = np.empty((n_bins, 2))
    for t in range(n_bins):
        velocity = 0.95 * velocity + 0.004 * rng.normal(size=2)
        position = position + velocity
        outside = (position < 0) | (position > 1)
        velocity = np.where(outside, -velocity, velocity)
        position = np.where(position < 0, -position, np.where(position > 1, 2 - position, position))
        path[t] = position
    return path
