"""Columns without names: which of them are what a person would decode."""

import numpy as np

from neurofs.ground.errors import printable
from neurofs.recordings.recording import Series, default_columns

MOST_TOGETHER = 3
"""Columns without names of their own up to which a series is decoded as a whole."""

ALIKE = 0.2
"""Median distance of a velocity from the differences of its position, at most, as a share of its median size."""


FEWEST_ROWS = 20
"""Rows from which on a table may tell the time between them."""


def is_unnamed(series: Series) -> bool:
    """Whether a series has many columns that have only numbers for names.

    >>> is_unnamed(Series("kin", [0.0], np.zeros((1, 4)))), is_unnamed(Series("kin", [0.0], np.zeros((1, 3))))
    (True, False)
    """
    n_columns = len(series.columns)
    return n_columns > MOST_TOGETHER and series.columns == default_columns(series.name, n_columns)


def find_velocity(series: Series) -> tuple[str, ...]:
    """Return the columns of the second half that are the velocity of those of the first; none if they are not.

    Medians are compared, so that jumps of the position between trials do not matter, nor does the unit of velocity.

    >>> time = np.arange(100) / 10
    >>> position = np.column_stack([np.sin(time), np.cos(2 * time)])
    >>> find_velocity(Series("kin", time, np.hstack([position, np.gradient(position, time, axis=0)])))
    ('2', '3')
    >>> find_velocity(Series("kin", time, np.hstack([position, position])))
    ()
    """
    half, odd = divmod(len(series.columns), 2)
    if odd or len(series.time) < 3:
        return ()
    position, velocity = series.values[:, :half], series.values[1:, half:]
    steps = np.diff(position, axis=0) / np.diff(series.time)[:, None]
    alike = all(_are_alike(v, d) for v, d in zip(velocity.T, steps.T, strict=True))
    return series.columns[half:] if alike else ()


def _are_alike(velocity: np.ndarray, steps: np.ndarray) -> bool:
    """Whether most values are steps in another unit, which the ratio of the larger ones tells."""
    known = np.isfinite(velocity) & np.isfinite(steps)
    velocity, steps = velocity[known], steps[known]
    large = np.abs(steps) > np.median(np.abs(steps)) if len(steps) else np.zeros(0, dtype=bool)
    if not large.any():
        return False
    distance = np.median(np.abs(velocity - np.median(velocity[large] / steps[large]) * steps))
    return bool(distance < ALIKE * np.median(np.abs(velocity)))


def find_step(rows: np.ndarray) -> float | None:
    """Return the seconds between rows if the last half of the columns is the velocity of the first half, else None.

    Most rows must agree within a hundredth: velocities were differences once, backward, forward or central.

    >>> position = np.cumsum(np.random.default_rng(0).normal(size=(50, 2)), axis=0)
    >>> velocity = np.gradient(position, 0.05, axis=0)
    >>> find_step(np.hstack([position, velocity])), find_step(np.hstack([velocity, position]))
    (0.05, None)
    """
    half = rows.shape[1] // 2
    if rows.shape[1] % 2 or len(rows) < FEWEST_ROWS:
        return None
    position, velocity = rows[:, :half], rows[:, half:]
    change, both = np.diff(position, axis=0), (position[2:] - position[:-2]) / 2
    for moved, speed in ((change, velocity[1:]), (change, velocity[:-1]), (both, velocity[1:-1])):
        moving = (moved != 0) & (speed != 0) & np.isfinite(moved) & np.isfinite(speed)
        steps = moved[moving] / speed[moving]
        if len(steps) >= FEWEST_ROWS and (middle := float(np.median(steps))) > 0:
            agreed = np.abs(steps / middle - 1) < 0.01
            if agreed.mean() > 0.8:
                return float(f"{middle:.3g}")
    return None


def tell_unnamed(series: Series) -> str:
    """Say what columns without names seem to be, and how to name those that are to be decoded."""
    names, half = [printable(f"{series.name}:{c}") for c in series.columns], len(series.columns) // 2
    velocity = find_velocity(series)
    if not velocity:
        return f"{len(names)} columns without names; name those to decode: --target {names[0]}"
    them, others = ", ".join(velocity), ", ".join(series.columns[:half])
    return f"columns {them} are the velocity of {others}; to decode the position: --target {','.join(names[:half])}"
