"""Sessions with known truth that are made to fool a test: spikes independent of the target, or of one output, or not.

Each scenario has a target and something else that moves the rates: slowly, in one step, along the trial. Without
information, rates follow that alone; with it, they follow the target as well, each channel a direction of its own that
is the same in every session, so that sessions differ by chance alone. The two halves of the channels have the same
directions and gains, so that both tell equally much.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from neurofs.experiments.reproduce.channel_sessions import BIN_WIDTH, N_BINS, reach, rest, walk, wander
from neurofs.recordings.recording import Recording, Series

N_HALF = 20
"""Channels in each of two equal halves."""

BASE = 0.5
GAIN = 0.35


@dataclass(frozen=True, eq=False)
class Movement:
    """A target (bins, 2), the trial of each bin or None, the share of it that has passed, and its direction."""

    target: np.ndarray
    trial: np.ndarray | None = None
    share: np.ndarray | None = None
    directions: np.ndarray | None = None


@dataclass(frozen=True)
class Scenario:
    """How the target moves, and what is added to the logarithm of rates, (bins, channels).

    `follows` says which outputs rates follow where there is information. What is decoded is the target itself
    (`hand`), its `angle`, or the `direction` of the trial, a class.
    """

    move: Callable[[np.random.Generator], Movement]
    disturb: Callable[[np.random.Generator, Movement], np.ndarray]
    follows: tuple[bool, bool] = (True, True)
    decoded: str = "hand"
    gain: float = GAIN

    @property
    def silent(self) -> tuple[bool, bool]:
        """Which outputs spikes know nothing of, in sessions without information."""
        x, y = self.follows
        return (not x or y, not y or x)


def simulate(name: str, informed: bool, seed: int) -> Recording:
    """Return a session of a scenario, with spikes that know of the target or not.

    >>> session = simulate("few trials", True, 0)
    >>> session.n_channels, len(session.trials)
    (40, 25)
    """
    scenario, rng = SCENARIOS[name], np.random.default_rng([seed, informed, *name.encode()])
    movement = scenario.move(rng)
    known = np.array(scenario.follows) if informed or scenario.follows != (True, True) else np.zeros(2)
    drive = scenario.gain * (movement.target * known) @ _directions(scenario.follows)
    counts = rng.poisson(BASE * np.exp(np.clip(drive + scenario.disturb(rng, movement), -4, 2)))
    return _record(name, counts, movement)


def _directions(follows: tuple[bool, bool]) -> np.ndarray:
    """Return the direction of each channel, (2, channels), the same in both halves and in all sessions."""
    angle = np.tile(2 * np.pi * np.arange(N_HALF) / N_HALF, 2)
    return np.vstack([np.cos(angle), np.sin(angle)]) if all(follows) else np.sign(np.cos(angle + 0.1)) * np.ones((2, 1))


def _record(name: str, counts: np.ndarray, movement: Movement) -> Recording:
    time = (np.arange(len(counts)) + 0.5) * BIN_WIDTH
    x, y = movement.target.T
    behavior = {
        "hand": Series("hand", time, movement.target, ("x", "y")),
        "angle": Series("angle", time, np.arctan2(y, x)[:, None], circular=True),
    }
    trials = None
    if movement.trial is not None:
        edges = np.flatnonzero(np.diff(movement.trial, prepend=-1, append=-1)) * BIN_WIDTH
        trials = pd.DataFrame({"start": edges[:-1].round(6), "stop": edges[1:].round(6)})
        trials["direction"] = [f"{45 * direction}°" for direction in np.asarray(movement.directions)]
    return Recording(name, counts=counts.astype(np.float32), bin_width=BIN_WIDTH, behavior=behavior, trials=trials)


def halve(session: Recording, half: int) -> Recording:
    """Return a session with one of the two equal halves of its channels."""
    own = slice(half * N_HALF, (half + 1) * N_HALF)
    assert session.counts is not None
    return Recording(
        session.name,
        counts=session.counts[:, own],
        bin_width=BIN_WIDTH,
        behavior=session.behavior,
        trials=session.trials if len(session.trials) else None,
    )


# ------------------------------------------------------------------------------------------- targets and rates


def _steady(rng: np.random.Generator, movement: Movement) -> np.ndarray:
    return np.zeros((len(movement.target), 2 * N_HALF))


def _drifting(seconds: float, size: float = 0.4) -> Callable[[np.random.Generator, Movement], np.ndarray]:
    return lambda rng, movement: size * wander(rng, len(movement.target), seconds, 2 * N_HALF)


def _swinging(rng: np.random.Generator, movement: Movement) -> np.ndarray:
    """Return rates that swing with periods from 15 to 45 s."""
    period = np.exp(rng.uniform(np.log(15), np.log(45), 2 * N_HALF))
    time = np.arange(len(movement.target))[:, None] * BIN_WIDTH
    return np.asarray(0.5 * np.sin(2 * np.pi * (time / period + rng.random(2 * N_HALF))))


def _switching(rng: np.random.Generator, movement: Movement) -> np.ndarray:
    """Return rates that jump, all at one moment, each up or down."""
    after = np.arange(len(movement.target)) > rng.uniform(0.25, 0.75) * len(movement.target)
    return np.asarray(after[:, None] * rng.uniform(-1.1, 1.1, 2 * N_HALF))


def _trending(rng: np.random.Generator, movement: Movement) -> np.ndarray:
    return np.asarray(np.linspace(-1, 1, len(movement.target))[:, None] * rng.uniform(-1, 1, 2 * N_HALF))


def _locked(rng: np.random.Generator, movement: Movement) -> np.ndarray:
    """Return rates that follow the time course of the trial, each with a peak of its own, alike in both halves."""
    assert movement.share is not None
    peak = np.tile(np.linspace(0.2, 0.9, N_HALF), 2)
    return np.asarray(1.5 * np.exp(-0.5 * ((movement.share[:, None] - peak) / 0.15) ** 2))


def _switch_target(rng: np.random.Generator) -> Movement:
    target = wander(rng, N_BINS, 2.0)
    target[int(rng.uniform(0.25, 0.75) * N_BINS) :] += rng.normal(0, 1.5, 2)
    return Movement(target)


def _trend_target(rng: np.random.Generator) -> Movement:
    return Movement(wander(rng, N_BINS, 2.0) + np.linspace(-1, 1, N_BINS)[:, None] * rng.normal(0, 1, 2))


def _reach(n_trials: int, order: str = "random") -> Callable[[np.random.Generator], Movement]:
    """Return reaches in eight directions, in random order or sorted; or all in one, of varying size."""

    def move(rng: np.random.Generator) -> Movement:
        directions = rng.permutation(np.arange(n_trials) % 8)
        directions = {"random": directions, "sorted": np.sort(directions), "one": np.ones_like(directions)}[order]
        return Movement(*reach(rng, directions), directions)

    return move


def _turn(rng: np.random.Generator) -> Movement:
    """Return a direction that wanders around the circle."""
    angle = np.cumsum(rng.normal(0, 0.2, N_BINS))
    return Movement(np.column_stack([np.cos(angle), np.sin(angle)]))


def _wander(seconds: float) -> Callable[[np.random.Generator], Movement]:
    return lambda rng: Movement(wander(rng, N_BINS, seconds))


SCENARIOS: dict[str, Scenario] = {
    "white": Scenario(lambda rng: Movement(rng.normal(size=(N_BINS, 2))), _steady),
    "slow": Scenario(_wander(3.0), _steady),
    "slow drift": Scenario(_wander(20.0), _drifting(20.0)),
    "random walk": Scenario(lambda rng: Movement(walk(rng)), _drifting(60.0)),
    "switch": Scenario(_switch_target, _switching),
    "trend": Scenario(_trend_target, _trending),
    "few trials": Scenario(_reach(25), _drifting(20.0)),
    "sorted trials": Scenario(_reach(96, "sorted"), _drifting(20.0)),
    "phase-locked": Scenario(_reach(96, "one"), _locked),
    "rest": Scenario(lambda rng: Movement(rest(rng)), _drifting(20.0)),
    "one output": Scenario(_wander(2.0), _drifting(20.0), (True, False)),
    "drift near the cutoff": Scenario(_wander(5.0), _swinging),
    "angle": Scenario(_turn, _drifting(20.0), decoded="angle"),
    "classes": Scenario(_reach(96), _drifting(20.0), decoded="direction"),
    "few trials of a class": Scenario(_reach(32), _drifting(20.0), decoded="direction", gain=1.5),
    "sorted classes": Scenario(_reach(96, "sorted"), _drifting(20.0), decoded="direction"),
}
