"""Another day without its targets: what can be corrected from the counts alone.

Electrodes move, and units are lost, replaced, or fire at other rates. Of a new day, the counts x are known:

    x' = m + r (x − m − b (m₁ − m)) (s / s₁)^c

with mean m and standard deviation s in training, m₁ and s₁ on the new day: rate and spread of each channel are matched,
as far as they changed by more than chance. How much of a change that is, from 0 to 1, is b for means and c for spreads.
With z the change in standard errors, it is the larger of what all channels together tell (empirical Bayes, with 1.5
instead of 1 for caution) and what the channel tells alone:

    b = max(t / (t + 1.5), 1 − 16 / z²),   t = mean of z² over channels − 1.5, or 0

How far a channel is trusted is r, from 0 to 1. It is 0 for one that is missing or fell silent, and lower where its
correlations with all other channels are not what they were in training: the unit that it hears has another tuning, or
is another unit. How much two halves of the training data agree tells what to expect where nothing has changed.

All of this takes it that behavior is alike on both days. Where it is not, rates differ because the target does, and to
match them does harm (`neurofs/decoders/NOTES.md` has an example, and what was tried against it). Behavior that changes
slowly within a day makes the standard errors large, which protects from most of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MOST_GAIN = 3.0  # spreads are matched up to this ratio
SILENT = 0.1  # of the rate in training, below which a channel is taken to be lost
EXPECTED = 0.3  # agreement of two halves below which nothing can be said of a channel
FULL, NONE = 0.5, 0.0  # share of the expected agreement at which a channel is wholly trusted, and not at all
N_STRETCHES = 20  # of a day, whose means tell how far its mean is off by chance
CAUTION = 1.5  # what z² is taken to be where nothing has changed; 1 if standard errors were exact
LARGEST = 9.0  # z² of a single channel, as it goes into the mean
CLEAR = 16.0  # z² above which a channel is corrected whatever the others say


@dataclass(frozen=True, eq=False)
class ChannelMemory:
    """What a model remembers of its channels.

    Correlations (channels, channels), and how well two halves of training agree on them; and standard errors of the
    means of counts, and of the logarithms of their standard deviations.
    """

    correlations: np.ndarray
    agreement: np.ndarray
    mean_error: np.ndarray
    spread_error: np.ndarray


@dataclass(frozen=True, eq=False)
class Adaptation:
    """The correction of each channel: x' = offset + gain · x, how far it is trusted, and b of all channels together."""

    offset: np.ndarray
    gain: np.ndarray
    trust: np.ndarray
    drift: float

    def __call__(self, counts: np.ndarray) -> np.ndarray:
        """Correct counts (bins, channels)."""
        return np.ascontiguousarray(self.offset + self.gain * counts, np.float32)


def remember(counts: np.ndarray, valid: np.ndarray, n_lags: int) -> ChannelMemory:
    """Return what is to be remembered of the counts (bins, channels) of training, at valid bins."""
    sums = sum_windows(counts, valid, n_lags)
    half = len(sums) // 2
    first, second = correlate(sums[:half]), correlate(sums[half:])
    agreement = agree(first, second, np.ones(len(first), bool))
    return ChannelMemory(correlate(sums), agreement, *find_errors(counts[valid].astype(np.float64)))


def find_adaptation(
    mean: np.ndarray,
    sd: np.ndarray,
    memory: ChannelMemory,
    counts: np.ndarray,
    valid: np.ndarray,
    n_lags: int,
    rates: bool = True,
) -> Adaptation:
    """Return the correction of a new day's counts (bins, channels), given means and SDs of training.

    Where means are no `rates`, as those of a continuous signal, a small one does not say that a channel is lost.
    """
    now = counts[valid].astype(np.float64)
    new_mean, new_sd = now.mean(axis=0), now.std(axis=0)
    there = (sd > 0) & (new_sd > 0) & ((new_mean > SILENT * mean) | (not rates))
    trust = np.where(there, 1.0, 0.0)
    if there.sum() > 3:
        trust *= _find_trust(memory, correlate(sum_windows(counts, valid, n_lags)), there)
    mean_error, spread_error = find_errors(now)
    widened = np.log(np.where(there, new_sd, 1.0) / np.where(there, sd, 1.0))
    moved, drift = _keep_change(new_mean - mean, memory.mean_error, mean_error, there)
    widened, _ = _keep_change(widened, memory.spread_error, spread_error, there)
    gain = trust * np.clip(np.exp(-widened), 1 / MOST_GAIN, MOST_GAIN)
    return Adaptation(mean - gain * (mean + moved), gain, trust, drift)


def _keep_change(
    change: np.ndarray, error: np.ndarray, new_error: np.ndarray, there: np.ndarray
) -> tuple[np.ndarray, float]:
    """Return what is left of the changes of channels without the share of chance, and what all together tell of it."""
    z2 = change**2 / np.maximum(error**2 + new_error**2, 1e-12)
    beyond = max(0.0, np.minimum(z2[there], LARGEST).mean() - CAUTION) if there.any() else 0.0
    alone = 1.0 - CLEAR / np.maximum(z2, CLEAR)
    together = float(beyond / (beyond + CAUTION))
    return np.asarray(change * np.maximum(together, alone)), together


def find_errors(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the standard errors of the means of channels, and of the logarithms of their standard deviations.

    Bins that follow each other are alike, stretches of a twentieth of the day hardly: their means tell the errors.

    >>> counts = np.random.default_rng(0).poisson(4.0, size=(10_000, 1))
    >>> mean_error, spread_error = find_errors(counts.astype(float))
    >>> mean_error.round(2), spread_error.round(2)  # expected: 0.02 and about 0.0075
    (array([0.02]), array([0.01]))
    """
    n = min(N_STRETCHES, len(counts))
    if n < 2:
        return np.zeros(counts.shape[1]), np.zeros(counts.shape[1])
    squares = (counts - counts.mean(axis=0)) ** 2
    parts = [np.array([part.mean(axis=0) for part in np.array_split(values, n)]) for values in (counts, squares)]
    errors = [part.std(axis=0, ddof=1) / np.sqrt(n) for part in parts]
    variance = squares.mean(axis=0)
    return errors[0], errors[1] / (2 * np.where(variance > 0, variance, 1.0))


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
