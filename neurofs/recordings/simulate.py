"""A simulated motor-cortex session with known truth.

A hand makes planar center-out reaches to eight targets while 16 electrodes with 4 channels each record, as in
the experiments of Navot et al. (2005): three channels of an electrode match templates, about a quarter of all
channels are unused templates, and the fourth channel takes whatever passes a threshold, a mixture of the
electrode's other channels. Each of these follows the movement at a lag of its own:

- ``cosine``: the velocity along a preferred direction;
- ``speed``: the speed;
- ``product``: the velocity along a preferred direction *times* a hidden state of ±1 that another channel, of the
  tuning ``state``, reports. Neither says anything about the movement alone; the two together do;
- ``none``: nothing.

The truth is in the channel table: `tuning`, `tuning_lag` (seconds by which the spikes precede the movement;
negative: they follow it), `preferred_direction` (degrees) and `partner`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from neurofs.ground.errors import UsageError
from neurofs.recordings.recording import Recording, Series

CLOCK = 30_000
"""Spike times are whole samples of this rate, in Hz."""

STEP = 0.01
"""Time between samples of the movement and of the rates, in seconds."""

REACH = 8.0
"""Distance of the targets, in cm."""

PEAK_SPEED = 20.0
"""Speed to which tuning is scaled, in cm/s."""

CHANNELS_PER_ELECTRODE = 4
MOST_TRIALS, MOST_ELECTRODES, MOST_DRIFT = 100_000, 10_000, 3.0


def simulate_session(
    n_trials: int = 100,
    *,
    n_electrodes: int = 16,
    bursts: bool = True,
    drift: float = 0.2,
    noise: bool = False,
    name: str = "simulated",
    random_state: int = 0,
) -> Recording:
    """Simulate a session.

    Parameters
    ----------
    n_trials : int
        Reaches; 100 last about five minutes, 420 give the 5050 samples of a published day.
    n_electrodes : int
        Electrodes with 4 channels each.
    bursts : bool
        Let a third of the channels fire in bursts; otherwise all spikes are Poisson.
    drift : float
        Standard deviation of the slow logarithmic drift of each channel's gain.
    noise : bool
        Make all channels independent of the movement, for measuring chance.
    random_state : int
        Seed; the same seed gives the same session.

    Examples
    --------
    >>> session = simulate_session(10, random_state=1)
    >>> session.n_channels, len(session.trials), list(session.behavior)
    (64, 10, ['hand_position', 'hand_velocity'])
    >>> sorted(session.channels["kind"].unique())
    ['isolated', 'threshold', 'unused']
    """
    if not 1 <= n_trials <= MOST_TRIALS or not 1 <= n_electrodes <= MOST_ELECTRODES:
        raise UsageError(
            f"simulate: expected 1 to {MOST_TRIALS:,} trials and 1 to {MOST_ELECTRODES:,} electrodes; "
            f"found {n_trials} and {n_electrodes}"
        )
    if random_state < 0 or not 0 <= drift <= MOST_DRIFT:
        found = f"found {random_state} and {drift:g}"
        raise UsageError(f"simulate: expected a seed of at least 0 and a drift from 0 to {MOST_DRIFT:g}; {found}")
    seeds = np.random.SeedSequence(random_state).spawn(4)
    task_rng, channel_rng, spike_rng, mix_rng = (np.random.default_rng(seed) for seed in seeds)
    movement = _simulate_movement(n_trials, task_rng)
    channels = _draw_channels(n_electrodes, noise, channel_rng)
    spikes = _simulate_channels(channels, movement, bursts, drift, spike_rng)
    _mix_thresholds(channels, spikes, movement.duration, mix_rng)
    return _make_recording(name, channels, spikes, movement, f"simulated with seed {random_state}")


def draw_channels(n_electrodes: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return the channels of an array with their tuning; see the module."""
    return _draw_channels(n_electrodes, False, rng)


def record_day(
    channels: pd.DataFrame, n_trials: int, drift: float, name: str, seed: np.random.SeedSequence
) -> Recording:
    """Return a session of given channels, which have a `base_rate` and a `depth`; all spikes are Poisson."""
    task_rng, spike_rng, mix_rng = (np.random.default_rng(one) for one in seed.spawn(3))
    movement = _simulate_movement(n_trials, task_rng)
    spikes = _simulate_channels(channels, movement, False, drift, spike_rng)
    _mix_thresholds(channels, spikes, movement.duration, mix_rng)
    return _make_recording(name, channels, spikes, movement, f"simulated {name}")


def _make_recording(
    name: str, channels: pd.DataFrame, spikes: list[np.ndarray], movement: _Movement, note: str
) -> Recording:
    return Recording(
        name=name,
        spikes=[_on_clock(times, movement.duration) for times in spikes],
        behavior={
            "hand_position": Series("hand_position", movement.time, movement.position, ("x", "y"), "cm"),
            "hand_velocity": Series("hand_velocity", movement.time, movement.velocity, ("x", "y"), "cm/s"),
        },
        trials=movement.trials,
        channels=channels,
        observed=[[0.0, movement.duration]],
        notes=[note],
    )


def map_truth(recording: Recording, lags: Sequence[float], bin_width: float) -> xr.DataArray:
    """Return which channel × lag features of a simulated recording carry the movement directly.

    Spikes of a channel with tuning lag τ that fall into the bin at lag l follow the movement of the target's bin
    if ``|l - τ| < bin_width``. Threshold channels only mix what the others carry and are not marked.
    """
    tuned = recording.channels["tuning"].isin(["cosine", "speed", "product", "state"]).to_numpy()
    tau = recording.channels["tuning_lag"].to_numpy(dtype=float)
    near = np.abs(np.asarray(lags)[None, :] - tau[:, None]) < bin_width - 1e-9
    coords = {"channel": recording.channels["name"].to_numpy(dtype=str), "lag": np.asarray(lags)}
    return xr.DataArray(near & tuned[:, None], dims=("channel", "lag"), coords=coords)


# Movement


@dataclass(frozen=True)
class _Movement:
    time: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    trials: pd.DataFrame

    @property
    def duration(self) -> float:
        return round(len(self.time) * STEP, 6)


def _simulate_movement(n_trials: int, rng: np.random.Generator) -> _Movement:
    """Reach out in each trial (hold, movement, hold) and come back between trials."""
    direction = 45 * np.concatenate([rng.permutation(8) for _ in range(-(-n_trials // 8))])[:n_trials]
    # Steps of 10 ms: hold at the center, reach, hold at the target, way back, rest.
    steps = np.column_stack([rng.integers(low, high, n_trials) for low, high in _PHASES])
    angle = np.deg2rad(direction)
    targets = REACH * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, 0.4, (n_trials, 2))
    path = [_reach_and_return(target, phases) for target, phases in zip(targets, steps, strict=True)]
    position = np.round(np.concatenate([part[0] for part in path]), 4)
    velocity = np.round(np.concatenate([part[1] for part in path]), 4)
    begin = np.concatenate([[0], np.cumsum(steps.sum(axis=1))[:-1]])
    edges = (begin[:, None] + np.cumsum(steps, axis=1)) * STEP
    trials = pd.DataFrame(
        {
            "start": np.round(begin * STEP, 6),
            "stop": np.round(edges[:, 2], 6),
            "move_onset": np.round(edges[:, 0], 6),
            "move_end": np.round(edges[:, 1], 6),
            "direction": direction.astype(np.int64),
        }
    )
    time = np.round((np.arange(len(position)) + 0.5) * STEP, 6)
    return _Movement(time, position, velocity, trials)


_PHASES = [(90, 131), (70, 101), (30, 51), (60, 81), (20, 41)]


def _reach_and_return(target: np.ndarray, phases: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    hold, reach, stay, back, rest = phases
    out, out_speed = _minimum_jerk(reach)
    way, way_speed = _minimum_jerk(back)
    share = np.concatenate([np.zeros(hold), out, np.ones(stay), 1 - way, np.zeros(rest)])
    speed = np.concatenate([np.zeros(hold), out_speed, np.zeros(stay), -way_speed, np.zeros(rest)])
    return share[:, None] * target, speed[:, None] * target


def _minimum_jerk(n_steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the share of the way, 10 s³ − 15 s⁴ + 6 s⁵, and its derivative per second."""
    s = (np.arange(n_steps) + 0.5) / n_steps
    return s**3 * (10 - 15 * s + 6 * s**2), 30 * s**2 * (1 - s) ** 2 / (n_steps * STEP)


# Channels


def _draw_channels(n_electrodes: int, noise: bool, rng: np.random.Generator) -> pd.DataFrame:
    n_channels = n_electrodes * CHANNELS_PER_ELECTRODE
    electrode = np.repeat(np.arange(n_electrodes), CHANNELS_PER_ELECTRODE)
    place = np.arange(n_channels) % CHANNELS_PER_ELECTRODE
    kind = np.where(place == CHANNELS_PER_ELECTRODE - 1, "threshold", "isolated").astype(object)
    templates = np.flatnonzero(kind == "isolated")
    kind[rng.choice(templates, n_channels // 4, replace=False)] = "unused"
    side = int(np.ceil(np.sqrt(n_electrodes)))
    table = pd.DataFrame(
        {
            "name": [f"{e + 1}{'abct'[p]}" for e, p in zip(electrode, place, strict=True)],
            "electrode": electrode,
            "kind": kind,
            "x": electrode % side * 400.0,
            "y": electrode // side * 400.0,
            "tuning": "none",
            "tuning_lag": np.nan,
            "preferred_direction": np.nan,
            "partner": -1,
            "presence": 1.0,
        }
    )
    if not noise:
        _draw_tuning(table, rng)
    return table


def _draw_tuning(table: pd.DataFrame, rng: np.random.Generator) -> None:
    """Give isolated channels a tuning: of 32, about 13 cosine, 5 speed, 4 pairs of product and state, 6 none."""
    isolated = rng.permutation(np.flatnonzero(table["kind"] == "isolated"))
    n = len(isolated)
    n_pairs, n_cosine, n_speed = n // 8, round(0.4 * n), round(0.16 * n)
    products, states = isolated[:n_pairs], isolated[n_pairs : 2 * n_pairs]
    cosine, speed = np.split(isolated[2 * n_pairs : 2 * n_pairs + n_cosine + n_speed], [n_cosine])
    for label, rows in {"product": products, "state": states, "cosine": cosine, "speed": speed}.items():
        table.loc[rows, "tuning"] = label
        table.loc[rows, "tuning_lag"] = np.round(rng.integers(-10, 41, len(rows)) * STEP, 2)
    table.loc[states, "tuning_lag"] = table.loc[products, "tuning_lag"].to_numpy()
    table.loc[products, "partner"] = states
    table.loc[states, "partner"] = products
    aimed = np.concatenate([products, cosine])
    table.loc[aimed, "preferred_direction"] = rng.integers(0, 360, len(aimed)).astype(float)
    briefly = rng.choice(np.concatenate([cosine, speed]), (n_cosine + n_speed) // 5, replace=False)
    table.loc[briefly, "presence"] = np.round(rng.uniform(0.3, 0.6, len(briefly)), 2)


# Spikes


def _simulate_channels(
    channels: pd.DataFrame, movement: _Movement, bursts: bool, drift: float, rng: np.random.Generator
) -> list[np.ndarray]:
    n_steps = len(movement.time)
    states = np.flatnonzero(channels["tuning"] == "state").tolist()
    state = {row: _telegraph(n_steps, rng) for row in states}
    spikes = []
    for row, channel in enumerate(channels.itertuples()):
        base = rng.uniform(5, 11)
        base = getattr(channel, "base_rate", base)
        gain = _slow_drift(n_steps, drift, rng) * _presence(n_steps, channel.presence, rng)
        bursty = bursts and rng.random() < 1 / 3
        if channel.kind == "isolated":
            rate = base * gain * np.maximum(0, 1 + _modulation(row, channel, movement, state, rng))
        elif channel.kind == "unused" and rng.random() < 0.3:
            rate = np.full(n_steps, 3 / (n_steps * STEP))  # a few random spikes in a whole session
        else:
            rate = np.zeros(n_steps)
        times = _draw_spikes(rate, rng)
        spikes.append(_add_bursts(times, rng) if bursty and channel.kind == "isolated" else times)
    return spikes


def _modulation(
    row: int, channel: Any, movement: _Movement, state: dict[int, np.ndarray], rng: np.random.Generator
) -> np.ndarray:
    """Return the relative change of the rate at each step, from the movement `tuning_lag` later."""
    depth = rng.uniform(1.6, 2.4)
    depth = getattr(channel, "depth", depth)
    tuning = channel.tuning
    if tuning == "none":
        return np.zeros(len(movement.time))
    if tuning == "state":
        return 0.9 * state[row]
    shift = round(channel.tuning_lag / STEP)
    later = np.clip(np.arange(len(movement.time)) + shift, 0, len(movement.time) - 1)
    velocity = movement.velocity[later] / PEAK_SPEED
    if tuning == "speed":
        return depth * np.hypot(velocity[:, 0], velocity[:, 1])
    angle = np.deg2rad(channel.preferred_direction)
    along = velocity @ np.array([np.cos(angle), np.sin(angle)])
    return depth * along * (state[channel.partner] if tuning == "product" else 1.0)


def _telegraph(n_steps: int, rng: np.random.Generator, mean_dwell: float = 1.0) -> np.ndarray:
    """Return a state of ±1 that flips after exponential times."""
    flips = rng.random(n_steps) < STEP / mean_dwell
    return np.where(np.cumsum(flips) % 2, 1.0, -1.0)


def _slow_drift(n_steps: int, sd: float, rng: np.random.Generator) -> np.ndarray:
    """Return a gain that wanders over minutes: exp of a random curve through one point a minute."""
    minutes = n_steps * STEP / 60
    knots = rng.normal(0, sd, int(minutes) + 3)
    return np.exp(np.interp(np.arange(n_steps) * STEP / 60, np.arange(len(knots)), knots))


def _presence(n_steps: int, share: float, rng: np.random.Generator) -> np.ndarray:
    first = int(rng.uniform(0, 1 - share) * n_steps)
    on = np.zeros(n_steps)
    on[first : first + int(share * n_steps) + 1] = 1.0
    return on


def _draw_spikes(rate: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw an inhomogeneous Poisson process by inverting its cumulative rate."""
    total = np.concatenate([[0], np.cumsum(np.round(rate, 6) * STEP)])
    n_spikes = rng.poisson(total[-1])
    return np.interp(np.sort(rng.uniform(0, total[-1], n_spikes)), total, np.arange(len(total)) * STEP)


def _add_bursts(times: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Let each spike be followed, with probability 0.3, by one to three more at 2–5 ms."""
    followers = np.where(rng.random(len(times)) < 0.3, rng.integers(1, 4, len(times)), 0)
    extra = [times[followers > n] + rng.uniform(0.002, 0.005, int(np.sum(followers > n))) * (n + 1) for n in range(3)]
    return np.concatenate([times, *extra])


def _mix_thresholds(
    channels: pd.DataFrame, spikes: list[np.ndarray], duration: float, rng: np.random.Generator
) -> None:
    """Fill threshold channels in place: most spikes of the electrode's isolated channels, and 2 Hz of noise."""
    for row in np.flatnonzero(channels["kind"] == "threshold"):
        mates = np.flatnonzero((channels["electrode"] == channels["electrode"][row]) & (channels["kind"] == "isolated"))
        heard = [spikes[mate][rng.random(len(spikes[mate])) < 0.7] for mate in mates]
        hiss = rng.uniform(0, duration, rng.poisson(2 * duration))
        spikes[row] = np.concatenate([*heard, hiss])


def _on_clock(times: np.ndarray, duration: float) -> np.ndarray:
    """Return sorted times on the sampling clock, each sample at most once."""
    samples = np.unique(np.rint(times[times < duration] * CLOCK).astype(np.int64))
    return samples[samples < round(duration * CLOCK)] / CLOCK
