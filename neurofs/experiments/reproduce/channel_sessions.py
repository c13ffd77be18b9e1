"""Sessions of which it is known which channels are tuned and which add something: counts drawn directly, no spikes.

A session has 40 channels of about 5 spikes a second in 200 s, in bins of 100 ms. Half of them follow the target some
bins later, each in a direction of its own with a gain between 0.1 and 0.6 (rate = base · exp(gain · target)); the
others do not. Scenarios differ in the target, and in what else moves the rates. Every channel that drifts has a drift
of its own: channels with a common drift would clean each other, and then add something without being tuned.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.signal import lfilter

N_BINS, N_CHANNELS, N_LAGS = 2000, 40, 8
BIN_WIDTH = 0.1
BASE = 0.5  # spikes in a bin
GAINS = (0.1, 0.6)


@dataclass(frozen=True, eq=False)
class Session:
    """Counts and targets with the truth about the channels.

    Attributes
    ----------
    counts : array (bins, channels)
    target : array (bins, outputs)
    trial : array (bins,) or None
        Number of the trial of each bin.
    tuned, adds : boolean arrays (channels,)
    lag : array (channels,)
        By how many bins the spikes of each channel precede what they follow.
    classes : bool
        Whether the target has a column for each class.
    """

    counts: np.ndarray
    target: np.ndarray
    trial: np.ndarray | None
    tuned: np.ndarray
    adds: np.ndarray
    lag: np.ndarray
    classes: bool = False


def make_session(scenario: str, seed: int) -> Session:
    """Return a session of one scenario.

    >>> session = make_session("copies", 0)
    >>> session.counts.shape, int(session.tuned.sum()), int(session.adds.sum())
    ((2000, 40), 25, 20)
    """
    return SCENARIOS[scenario](np.random.default_rng([seed, *scenario.encode()]))


# ------------------------------------------------------------------------------------------------- targets


def wander(rng: np.random.Generator, n: int, seconds: float, columns: int = 2) -> np.ndarray:
    """Return noise of variance 1 that forgets within so many seconds (Ornstein and Uhlenbeck), (n, columns)."""
    decay = np.exp(-BIN_WIDTH / seconds)
    lead = int(5 * seconds / BIN_WIDTH)
    noise = rng.normal(size=(n + lead, columns)) * np.sqrt(1 - decay**2)
    return np.asarray(lfilter([1.0], [1.0, -decay], noise, axis=0)[lead:])


def walk(rng: np.random.Generator, n: int = N_BINS) -> np.ndarray:
    """Return a random walk in the plane, of variance 1."""
    return _scale(np.cumsum(rng.normal(size=(n, 2)), axis=0))


def rest(rng: np.random.Generator, n: int = N_BINS) -> np.ndarray:
    """Return a target that is constant but for movements of a second, about every ten seconds."""
    moving = np.zeros(n, bool)
    for start in np.flatnonzero(rng.random(n) < BIN_WIDTH / 10):
        moving[start : start + 10] = True
    return np.asarray(2.5 * wander(rng, n, 0.3) * moving[:, None])


def _scale(values: np.ndarray) -> np.ndarray:
    return np.asarray((values - values.mean(axis=0)) / values.std(axis=0))


# --------------------------------------------------------------------------------------------------- counts


def count(
    rng: np.random.Generator,
    target: np.ndarray,
    more: np.ndarray | float = 0.0,
    n_tuned: int = N_CHANNELS // 2,
    trial: np.ndarray | None = None,
    outputs: slice = slice(None),
) -> Session:
    """Draw counts of channels of which the first `n_tuned` follow the target.

    `more` (bins, channels) is added to log rates. Spikes precede the target: the rate of bin t follows the target a few
    bins later.
    """
    tuned = np.arange(N_CHANNELS) < n_tuned
    parts = target[:, outputs]
    angle = rng.uniform(0, 2 * np.pi, N_CHANNELS)
    directions = np.vstack([np.cos(angle), np.sin(angle)]) if parts.shape[1] == 2 else np.ones((1, N_CHANNELS))
    gains = np.exp(rng.uniform(np.log(GAINS[0]), np.log(GAINS[1]), N_CHANNELS)) * tuned
    drive = (parts @ directions) * gains
    lags = rng.integers(0, N_LAGS - 2, N_CHANNELS)
    for channel, lag in enumerate(lags):
        drive[:, channel] = _advance(drive[:, channel], int(lag), trial)
    counts = rng.poisson(BASE * np.exp(np.clip(drive + more, -4, 2.5)))
    return Session(counts.astype(np.float32), target, trial, tuned, tuned.copy(), lags)


def _advance(values: np.ndarray, lag: int, trial: np.ndarray | None) -> np.ndarray:
    """Return the values `lag` bins later, those of the last bins again at the end of the session or trial."""
    rows = np.minimum(np.arange(len(values)) + lag, len(values) - 1)
    if trial is not None:
        last = np.searchsorted(trial, trial, side="right") - 1
        rows = np.minimum(rows, last)
    return np.asarray(values[rows])


def add_copies(rng: np.random.Generator, session: Session, n: int = 5) -> Session:
    """Let untuned channels hear tuned ones: their spikes and noise. A copy is tuned, and adds nothing."""
    counts, tuned = session.counts.copy(), session.tuned.copy()
    first = int(tuned.sum())
    counts[:, first : first + n] = counts[:, :n] + rng.poisson(BASE / 2, (len(counts), n))
    tuned[first : first + n] = True
    lag = session.lag.copy()
    lag[first : first + n] = lag[:n]
    return replace(session, counts=counts, tuned=tuned, lag=lag)


def add_partners(rng: np.random.Generator, session: Session, n: int = 5) -> Session:
    """Let untuned channels share noise spikes with tuned ones: a partner adds, by what it cleans, and is not tuned."""
    counts, adds = session.counts.copy(), session.adds.copy()
    gains = np.argsort(-np.abs(_correlate(session)[: int(session.tuned.sum())]))[:n]
    noise = rng.poisson(1.0, (len(counts), n))
    first = int(session.tuned.sum())
    counts[:, gains] += noise
    counts[:, first : first + n] = noise + rng.poisson(0.1, noise.shape)
    adds[first : first + n] = True
    return replace(session, counts=counts, adds=adds)


def _correlate(session: Session) -> np.ndarray:
    """Return the largest correlation of each channel with an output within the lags."""
    counts = _scale(session.counts)
    target = _scale(session.target)
    n = len(counts)
    each = [np.abs(counts[: n - lag].T @ target[lag:]).max(axis=1) / n for lag in range(N_LAGS)]
    return np.asarray(np.max(each, axis=0))


# --------------------------------------------------------------------------------------------------- trials


def reach(rng: np.random.Generator, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return velocity, the trial of each bin, and the share of the trial that has passed, of reaches."""
    sizes = rng.integers(18, 25, len(directions))
    trial = np.repeat(np.arange(len(directions)), sizes)
    share = np.concatenate([(np.arange(size) + 0.5) / size for size in sizes])
    speed = np.exp(-0.5 * ((share - 0.6) / 0.12) ** 2) * rng.uniform(1.5, 2.5, len(directions))[trial]
    angle = directions[trial] * np.pi / 4
    velocity = speed[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return velocity + 0.1 * wander(rng, len(trial), 0.3), trial, share


def make_trials(rng: np.random.Generator, n_trials: int, ordered: bool = False, locked: float = 0.0) -> Session:
    """Return reaches in eight directions; `locked` lets all channels follow the time course of the trial."""
    directions = rng.permutation(np.arange(n_trials) % 8)
    velocity, trial, share = reach(rng, np.sort(directions) if ordered else directions)
    drift = 0.2 * wander(rng, n_trials, 10 * BIN_WIDTH, N_CHANNELS)[trial] if ordered else 0.0
    peak, width = rng.uniform(0.2, 0.9, N_CHANNELS), 0.15
    course = locked * np.exp(-0.5 * ((share[:, None] - peak) / width) ** 2)
    return count(rng, velocity, drift + course, trial=trial)


def make_classes(rng: np.random.Generator, n_trials: int, ordered: bool = True) -> Session:
    """Return the same with the direction of the reach as target, one column for each."""
    session = make_trials(rng, n_trials, ordered)
    angle = np.arctan2(*session.target.T[::-1])
    strong = np.linalg.norm(session.target, axis=1)
    trial = np.asarray(session.trial)
    peaks = [np.flatnonzero(trial == i)[np.argmax(strong[trial == i])] for i in range(n_trials)]
    directions = np.rint(angle[peaks] / (np.pi / 4)).astype(int) % 8
    return replace(session, target=np.eye(8)[directions[trial]], classes=True)


# ------------------------------------------------------------------------------------------------ scenarios


def _drift(rng: np.random.Generator, seconds: float, size: float = 0.4) -> np.ndarray:
    return size * wander(rng, N_BINS, seconds, N_CHANNELS)


def _swing(rng: np.random.Generator) -> np.ndarray:
    """Return a drift of each channel that swings with periods from 15 to 45 s."""
    time = np.arange(N_BINS)[:, None] * BIN_WIDTH
    period = np.exp(rng.uniform(np.log(15), np.log(45), N_CHANNELS))
    return np.asarray(0.4 * np.sin(2 * np.pi * (time / period + rng.random(N_CHANNELS))))


def _switch(rng: np.random.Generator) -> np.ndarray:
    """Return rates that jump by up to three times somewhere in the middle half, up or down."""
    jump = rng.uniform(-1.1, 1.1, N_CHANNELS) * (np.arange(N_BINS)[:, None] > rng.uniform(0.25, 0.75) * N_BINS)
    return np.asarray(jump)


def _trend(rng: np.random.Generator) -> np.ndarray:
    return np.asarray(rng.uniform(-1.0, 1.0, N_CHANNELS) * np.linspace(-1, 1, N_BINS)[:, None])


def _plain(rng: np.random.Generator, n_tuned: int = N_CHANNELS // 2) -> Session:
    return count(rng, wander(rng, N_BINS, 0.5), n_tuned=n_tuned)


SCENARIOS: dict[str, Callable[[np.random.Generator], Session]] = {
    "white target": lambda rng: count(rng, rng.normal(size=(N_BINS, 2))),
    "slow target": lambda rng: count(rng, wander(rng, N_BINS, 3.0)),
    "random walk": lambda rng: count(rng, walk(rng)),
    "drift": lambda rng: count(rng, wander(rng, N_BINS, 2.0), _drift(rng, 60.0)),
    "drift near the cutoff": lambda rng: count(rng, wander(rng, N_BINS, 5.0), _swing(rng)),
    "walk and drift": lambda rng: count(rng, walk(rng), _drift(rng, 30.0)),
    "switch": lambda rng: count(rng, wander(rng, N_BINS, 2.0), _switch(rng)),
    "trend": lambda rng: count(rng, walk(rng), _trend(rng)),
    "rest": lambda rng: count(rng, rest(rng), _drift(rng, 60.0)),
    "one output": lambda rng: count(rng, wander(rng, N_BINS, 0.5), outputs=slice(0, 1)),
    "copies": lambda rng: add_copies(rng, _plain(rng)),
    "partners": lambda rng: add_partners(rng, _plain(rng)),
    "few trials": lambda rng: make_trials(rng, 25),
    "sorted trials": lambda rng: make_trials(rng, 96, ordered=True),
    "sorted classes": lambda rng: make_classes(rng, 96),
    "random classes": lambda rng: make_classes(rng, 96, ordered=False),
    "phase locked": lambda rng: make_trials(rng, 96, locked=1.5),
    "nothing": lambda rng: count(rng, wander(rng, N_BINS, 2.0), _drift(rng, 60.0), n_tuned=0),
}
