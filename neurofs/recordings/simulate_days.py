"""Simulated days of one array: the same channels, which drift from day to day as electrodes move.

From one day to the next

- some units are lost: their channel falls silent, or a new unit with a tuning of its own takes its place;
- some silent channels hear a unit that was not there before;
- all rates change, and preferred directions turn a little.

The truth of each day is in its channel table, as in `recordings.simulate`, with the columns `base_rate` (Hz), `depth`
and `changed`: kept, lost, replaced or new, since the first day.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from neurofs.ground.errors import UsageError
from neurofs.recordings.recording import Recording
from neurofs.recordings.simulate import draw_channels, record_day


@dataclass(frozen=True)
class Drift:
    """How much changes from one day to the next; all 0 for days that differ in nothing but chance."""

    lost: float = 0.1  # share of units that are gone
    replaced: float = 0.5  # share of these whose channel hears another unit instead
    new: float = 0.1  # share of silent channels that begin to hear one
    rate: float = 0.2  # standard deviation of the logarithm of rates
    rotation: float = 12.0  # standard deviation of the turn of preferred directions, in degrees


STILL = Drift(0.0, 0.0, 0.0, 0.0, 0.0)


def simulate_days(
    n_days: int = 2,
    n_trials: int = 100,
    *,
    n_electrodes: int = 16,
    drift: Drift | None = None,
    within: float = 0.2,
    random_state: int = 0,
) -> list[Recording]:
    """Simulate days of one array.

    Parameters
    ----------
    n_days, n_trials : int
        Days, and reaches on each.
    n_electrodes : int
        Electrodes with 4 channels each.
    drift : Drift, optional
        What changes from day to day; `STILL` for nothing.
    within : float
        Standard deviation of the slow drift of gains within each day.
    random_state : int
        Seed.

    Examples
    --------
    >>> first, second = simulate_days(2, 10, random_state=1)
    >>> first.name, second.name, list(first.channels["name"]) == list(second.channels["name"])
    ('day1', 'day2', True)
    >>> sorted(second.channels["changed"].unique())
    ['kept', 'lost', 'new', 'replaced']
    """
    if n_days < 1:
        raise UsageError("simulate: expected at least one day")
    drift = Drift() if drift is None else drift
    trait_seed, *day_seeds = np.random.SeedSequence((random_state, 77)).spawn(n_days + 1)
    rng = np.random.default_rng(trait_seed)
    channels = draw_channels(n_electrodes, rng)
    n = len(channels)
    traits = {"base_rate": rng.uniform(5, 11, n), "depth": rng.uniform(1.6, 2.4, n), "presence": np.ones(n)}
    channels = channels.assign(**traits, changed="kept")
    days = []
    for number, seed in enumerate(day_seeds, start=1):
        if number > 1:
            channels = _age(channels, drift, rng)
        days.append(record_day(channels, n_trials, within, f"day{number}", seed))
    return days


def _age(channels: pd.DataFrame, drift: Drift, rng: np.random.Generator) -> pd.DataFrame:
    """Return the channels one day later."""
    table = channels.copy()
    heard = np.flatnonzero(table["kind"] == "isolated")
    silent = np.flatnonzero(table["kind"] == "unused")
    turned = table["preferred_direction"] + rng.normal(0, drift.rotation, len(table))
    table["preferred_direction"] = turned % 360
    table["base_rate"] *= np.exp(rng.normal(0, drift.rate, len(table)))
    gone = _some(heard, drift.lost, rng)
    taken = _some(gone, drift.replaced, rng)
    arrived = _some(silent, drift.new, rng)
    left = np.setdiff1d(gone, taken)
    table.loc[left, ["kind", "tuning", "changed"]] = ["unused", "none", "lost"]
    for rows, label in ((taken, "replaced"), (arrived, "new")):
        _replace(table, rows, label, rng)
    partners = table["partner"].to_numpy()
    alone = (partners >= 0) & np.isin(partners, gone)  # a product says nothing without the state that goes with it
    table.loc[alone, ["tuning", "partner"]] = ["none", -1]
    return table


def _some(rows: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Return about so many of the rows, at least one if the share is not 0."""
    n = min(len(rows), max(1, round(share * len(rows)))) if share > 0 else 0
    return rng.choice(rows, n, replace=False)


def _replace(table: pd.DataFrame, rows: np.ndarray, label: str, rng: np.random.Generator) -> None:
    """Let channels hear units that were not there before, two thirds of them tuned to a direction."""
    for row in rows:
        tuned = rng.random() < 2 / 3
        table.loc[row, ["kind", "tuning", "changed"]] = ["isolated", "cosine" if tuned else "none", label]
        table.loc[row, "tuning_lag"] = round(int(rng.integers(-10, 41)) * 0.01, 2)
        table.loc[row, "preferred_direction"] = float(rng.integers(0, 360))
        table.loc[row, "partner"] = -1
        table.loc[row, "base_rate"] = rng.uniform(5, 11)
        table.loc[row, "depth"] = rng.uniform(1.6, 2.4)
