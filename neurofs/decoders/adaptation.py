"""Another day without its targets: what can be corrected from the counts alone.

Electrodes move, and units are lost, replaced, or fire at other rates. Of a new day, the counts x are known:

    x' = m + r (x − m₁) s / s₁

with mean m and standard deviation s in training, m₁ and s₁ on the new day: rate and spread of each channel are matched.
How far the channel is trusted is r, from 0 to 1. It is 0 for one that is missing or fell silent, and lower where its
correlations with all other channels are not what they were in training: the unit that it hears has another tuning, or
is another unit. How much two halves of the training data agree tells what to expect where nothing has changed.

All of this takes it that behavior is alike on both days. Where it is not, rates differ because the target does, and to
match them does harm (`neurofs/decoders/NOTES.md` has an example, and what was tried against it).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MOST_GAIN = 3.0  # spreads are matched up to this ratio
SILENT = 0.1  # of the rate in training, below which a channel is taken to be lost
EXPECTED = 0.3  # agreement of two halves below which nothing can be said of a channel
FULL, NONE = 0.5, 0.0  # share of the expected agreement at which a channel is wholly trusted, and not at all


@dataclass(frozen=True, eq=False)
class ChannelMemory:
    """What a model remembers: correlations (channels, channels), and how well two halves of training agree on them."""

    correlations: np.ndarray
    agreement: np.ndarray


@dataclass(frozen=True, eq=False)
class Adaptation:
    """The correction of each channel: x' = offset + gain · x, and how far it is trusted."""

    offset: np.ndarray
    gain: np.ndarray
    trust: np.ndarray

    def __call__(self, counts: np.ndarray) -> np.ndarray:
        """Correct counts (bins, channels)."""
        return np.ascontiguousarray(self.offset + self.gain * counts, np.float32)


def remember(counts: np.ndarray, valid: np.ndarray, n_lags: int) -> ChannelMemory:
    """Return what is to be remembered of the counts (bins, channels) of training, at valid bins."""
    sums = sum_windows(counts, valid, n_lags)
    half = len(sums) // 2
    first, second = correlate(sums[:half]), correlate(sums[half:])
    return ChannelMemory(correlate(sums), agree(first, second, np.ones(len(first), bool)))


def find_adaptation(
    mean: np.ndarray, sd: np.ndarray, memory: ChannelMemory, counts: np.ndarray, valid: np.ndarray, n_lags: int
) -> Adaptation:
    """Return the correction of a new day's counts (bins, channels), given means and SDs of training."""
    now = counts[valid].astype(np.float64)
    new_mean, new_sd = now.mean(axis=0), now.std(axis=0)
    there = (sd > 0) & (new_sd > 0) & (new_mean > SILENT * mean)
    trust = np.where(there, 1.0, 0.0)
    if there.sum() > 3:
        trust *= _find_trust(memory, correlate(sum_windows(counts, valid, n_lags)), there)
    ratio = np.clip(np.where(there, sd, 1.0) / np.where(there, new_sd, 1.0), 1 / MOST_GAIN, MOST_GAIN)
    gain = trust * ratio
    return Adaptation(mean - gain * new_mean, gain, trust)


def _find_trust(memory: ChannelMemory, correlations: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Return how far each channel is what it was, 0 to 1; 1 where nothing can be said."""
    share = agree(memory.correlations, correlations, there) / np.maximum(memory.agreement, EXPECTED)
    trust = np.clip((share - NONE) / (FULL - NONE), 0.0, 1.0)
    return np.where(memory.agreement < EXPECTED, 1.0, trust)


def sum_windows(counts: np.ndarray, valid: np.ndarray, n_lags: int) -> np.ndarray:
    """Return the sum of the counts of the last bins at each valid bin, (valid bins, channels)."""
    total = np.cumsum(np.vstack([np.zeros((1, counts.shape[1])), counts.astype(np.float64)]), axis=0)
    newest = np.flatnonzero(valid) + 1
    return np.asarray(total[newest] - total[np.maximum(newest - n_lags, 0)])


def correlate(values: np.ndarray) -> np.ndarray:
    """Return the correlations of columns; 0 where one of them is constant.

    >>> correlate(np.array([[0.0, 1, 5], [1, 0, 5], [2, -1, 5]]))
    array([[ 1., -1.,  0.],
           [-1.,  1.,  0.],
           [ 0.,  0.,  0.]])
    """
    centered = values - values.mean(axis=0, dtype=np.float64)
    norms = np.linalg.norm(centered, axis=0)
    scaled = centered / np.where(norms > 0, norms, 1.0)
    return np.asarray(scaled.T @ scaled)


def agree(one: np.ndarray, other: np.ndarray, used: np.ndarray) -> np.ndarray:
    """Return how alike the correlations of each channel with the used ones are in two tables: their cosine.

    The channel itself, with which every channel agrees, is left out.
    """
    away = ~np.eye(len(one), dtype=bool) & used
    a, b = np.where(away, one, 0.0), np.where(away, other, 0.0)
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return np.asarray((a * b).sum(axis=1) / np.where(lengths > 0, lengths, 1.0))
