"""Behavior series: which variables they are and which clock they keep."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from neurofs.ground.errors import InputError, quoted
from neurofs.recordings.readers.bins import read_seconds_per_unit
from neurofs.recordings.readers.variables import Variables, describe, is_line, is_numeric, is_texts, require_name
from neurofs.recordings.recording import Series, default_columns
from neurofs.recordings.words import listed, word

BEHAVIOR_WORDS = (
    *("handvel", "handvelocity", "velocity", "vel", "cursorvel", "cursorvelocity", "vels"),
    *("handpos", "handposition", "position", "pos", "cursorpos", "cursorposition", "kin", "kinematics"),
    *("handacc", "acceleration", "acc", "force", "emg", "behavior", "headdirection", "angle", "speed"),
)
OWN_TIME = ("_time", "_times", "_timestamps", ".time", ".timestamps", ".t")
SHARED_TIME = ("behaviortime", "behaviortimes", "behaviortimestamps", "kintime", "kintimes")


@dataclass(frozen=True)
class Clock:
    """The times of samples, and what they were taken from."""

    times: np.ndarray
    source: str


def read_clock(v: Variables, name: str) -> Clock:
    """Return a time vector of the file, in seconds."""
    return Clock(v.vector(v.use(name)) * read_seconds_per_unit(v), quoted(name))


def find_shared_clock(v: Variables) -> list[Clock]:
    """Return the times that all behavior series share, if the file or the user names them."""
    name = v.find_one("behavior_time", SHARED_TIME, is_line)
    return [read_clock(v, name)] if name else []


def read_behavior(v: Variables, clocks: list[Clock], start: float = 0.0) -> dict[str, Series]:
    """Return the behavior series that the user named, or all variables that keep one of the clocks.

    `clocks` are those of the file as a whole, the likeliest first; a variable beside a series, such as
    `gaze_time` beside `gaze`, is that series' own clock. Series with a rate alone begin at `start`.
    """
    named = v.ask("behavior")
    names = [v.require(name, "behavior") for name in named] or _guess_names(v, clocks)
    series = {name: _read_series(v, name, _own_clock(v, name), clocks, start) for name in names}
    if not named:
        _refuse_if_none_fits(v, series, clocks)
        if series:
            v.note(f"behavior: {listed(series)}, by their length")
    return mark_circular(v, series)


def keeps_own_clock(v: Variables, name: str) -> bool:
    """Tell whether a variable is a series with its own times beside it, or these times."""
    stems = [name.removesuffix(end) for end in OWN_TIME if name.endswith(end)]
    return any(is_line(v.values.get(name + end)) for end in OWN_TIME) or any(s in v.values for s in stems)


def _own_clock(v: Variables, name: str) -> Clock | None:
    beside = next((name + end for end in OWN_TIME if is_line(v.values.get(name + end))), None)
    return read_clock(v, beside) if beside else None


def _guess_names(v: Variables, clocks: list[Clock]) -> list[str]:
    lengths = {len(clock.times) for clock in clocks}
    return [name for name, value in v.values.items() if name not in v.used and _may_be_series(v, name, lengths)]


def _may_be_series(v: Variables, name: str, lengths: set[int]) -> bool:
    value = v.values[name]
    if not is_numeric(value) or not 1 <= value.ndim <= 2 or value.size < 2:
        return False
    if any(is_numeric(v.values.get(name + end)) for end in OWN_TIME):
        return True
    return bool(lengths & set(value.shape)) or (not lengths and v.options.behavior_rate is not None)


def _read_series(v: Variables, name: str, own: Clock | None, clocks: list[Clock], start: float) -> Series:
    values = v.numbers(v.use(name))
    rate = v.ask("behavior_rate") if own is None else None
    if rate is not None:
        table = _longer_axis_first(v, name, values)
        times = start + (np.arange(len(table)) + 0.5) / rate
        v.note(f"behavior: {quoted(name)} at {rate:g} samples per second from {start:g} s")
    else:
        candidates = [own] if own else clocks
        clock = next((c for c in candidates if len(c.times) in values.shape), None)
        if clock is None:
            raise _mismatch(name, values, candidates)
        table, times = fit_table(v, name, len(clock.times)), clock.times
    return as_series(v, name, table, Clock(times, ""))


def as_series(v: Variables, name: str, table: np.ndarray, clock: Clock) -> Series:
    """Return a table (sample, column) as a series, with the columns and unit that the file knows."""
    _note_oddities(v, name, table)
    return Series(name, clock.times, table, _columns(v, name, table.shape[1]), _unit(v, name))


def _mismatch(name: str, values: np.ndarray, clocks: list[Clock]) -> InputError:
    if not clocks:
        return InputError(
            quoted(name),
            "times for its samples",
            "none in the file",
            "Name them with --behavior-time, or say --behavior-rate (samples per second).",
        )
    wanted = " or ".join(f"{len(c.times)} samples (like {c.source})" for c in clocks)
    return InputError(
        quoted(name),
        wanted,
        f"shape {values.shape}",
        "Say its own clock with --behavior-time or --behavior-rate, or choose others with --behavior.",
    )


def fit_table(v: Variables, name: str, length: int) -> np.ndarray:
    """Return a variable as a table (row, column) with `length` rows, turned if it lies the other way."""
    values = v.numbers(name)
    table = values.reshape(-1, 1) if values.ndim == 1 else values
    if table.ndim != 2 or length not in table.shape:
        raise InputError(quoted(name), f"{length} rows", describe(values), "Name another variable.")
    if table.shape[0] != table.shape[1]:
        return table if len(table) == length else table.T
    orientation = v.ask("orientation")
    if orientation is None and length > 1:
        raise InputError(
            quoted(name),
            "one way to read it",
            f"shape {table.shape}, which fits both ways",
            "Say --orientation time-by-channel or channel-by-time.",
        )
    return table.T if orientation == "channel-by-time" else table


def _longer_axis_first(v: Variables, name: str, values: np.ndarray) -> np.ndarray:
    if values.ndim not in (1, 2) or not values.size:
        raise InputError(quoted(name), "samples by columns", describe(values), "Name another variable.")
    orientation = v.ask("orientation")
    if values.ndim == 1 or orientation is None:
        return fit_table(v, name, max(values.shape))
    return values.T if orientation == "channel-by-time" else values


def _columns(v: Variables, name: str, n_columns: int) -> tuple[str, ...]:
    for key in (f"{name}_columns", f"{name}.columns"):
        names: Any = v.values.get(key)
        if is_texts(names) and len(names) == n_columns:
            v.use(key)
            return tuple(names)
    return default_columns(name, n_columns)


def _unit(v: Variables, name: str) -> str:
    for key in (f"{name}.unit", f"{name}.units", f"{name}_unit", f"{name}_units"):
        text = v.text(key)
        if text is not None:
            v.use(key)
            return text
    return ""


def _note_oddities(v: Variables, name: str, table: np.ndarray) -> None:
    """Say what a user should know about the values; they are kept as they are."""
    values = table.astype(np.float64)
    missing = int(np.isnan(values).any(axis=1).sum())
    if missing:
        v.note(f"behavior: {quoted(name)} has {missing} samples with missing values (NaN)")
    for i, column in enumerate(default_columns(name, values.shape[1])):
        known = values[~np.isnan(values[:, i]), i]
        if len(known) and (known == known[0]).all():
            v.note(f"behavior: {quoted(name)} column {column} is {known[0] + 0.0:g} throughout")


def note_stillness(v: Variables, behavior: dict[str, Series]) -> None:
    """Say where a velocity is exactly zero: in a file without trials, trials may have been joined there."""
    for name, series in behavior.items():
        still = int((series.values == 0).all(axis=1).sum())
        if "vel" in word(name) and 0 < still < len(series.values):
            v.note(f"behavior: {quoted(name)} is exactly zero in {still} samples; trials may meet there")


def _refuse_if_none_fits(v: Variables, series: dict[str, Series], clocks: list[Clock]) -> None:
    """Raise if the file has what looks like behavior, yet none of it fits the clock."""
    looks = [] if series else v.find(BEHAVIOR_WORDS, lambda value: is_numeric(value) and value.size > 1)
    if looks:
        raise _mismatch(looks[0], v.numbers(looks[0]), clocks)


def mark_circular(v: Variables, series: dict[str, Series]) -> dict[str, Series]:
    """Return the series with those that the user says are angles marked as such."""
    for name in v.ask("circular"):
        require_name(name, series, "--circular", "a behavior series")
        old = series[name]
        series[name] = Series(name, old.time, old.values, old.columns, old.unit or "rad", circular=True)
    return series
