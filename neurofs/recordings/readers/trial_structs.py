"""Trial structs: one entry per trial, with its spikes, kinematics, events and conditions (`trial_data`).

The trials are put one after the other on a row clock: trial i begins where trial i - 1 ends. Fields named
`idx_…` hold bins of their trial, numbered from 1, and become times on that clock. Fields with one row per bin
are behavior; fields with one value are conditions; a `…_unit_guide` describes the channels.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from neurofs.ground.errors import InputError, printable, quoted
from neurofs.recordings.readers.behavior import BEHAVIOR_WORDS, Clock, as_series, mark_circular
from neurofs.recordings.readers.bins import JITTER, TIME_WORDS, WIDTH_WORDS, Bins, check_width, find_bin_width
from neurofs.recordings.readers.counts import COUNT_WORDS
from neurofs.recordings.readers.signals import SIGNAL_WORDS, as_numbers
from neurofs.recordings.readers.spike_lists import SPIKE_WORDS, is_ragged
from neurofs.recordings.readers.variables import (
    Variables,
    describe,
    flag,
    is_line,
    is_number,
    is_numeric,
    is_table,
    is_text,
    require_name,
)
from neurofs.recordings.words import listed, word

GUIDE = "_unit_guide"


@dataclass(frozen=True)
class Trials:
    """The fields of a trial struct, one value per trial; `base` is the number of the first trial."""

    fields: dict[str, list[Any]]
    base: int

    def where(self, i: int) -> str:
        """Return how a message names trial `i`."""
        return f"trial {i + self.base}"

    def require(self, name: str, key: str) -> str:
        """Return `name` if there is such a field, else say which there are."""
        return require_name(name, self.fields, flag(key), "a field of the trials")

    def find(self, keep: Any) -> list[str]:
        """Return the fields all of whose values pass a test."""
        return [name for name, values in self.fields.items() if all(keep(value) for value in values)]


def find_trial_structs(v: Variables) -> str | None:
    """Return the variable that is an array of trials, if there is one."""
    wanted = v.options.counts or v.options.signal or v.options.spikes or ""
    structs = {n: _as_trials(x, 0) for n, x in v.values.items() if _is_structs(x)}
    found = [n for n, trials in structs.items() if wanted.removeprefix(f"{n}.") in trials.fields]
    found = found or [n for n, trials in structs.items() if _spike_fields(trials)]
    if len(found) > 1:
        raise InputError(
            "variables",
            "one array of trials",
            f"{quoted(found[0])} and {quoted(found[1])}",
            "Choose with --counts STRUCT.FIELD or --spikes STRUCT.FIELD.",
        )
    return found[0] if found else None


def _is_structs(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _as_trials(structs: list[dict[str, Any]], base: int) -> Trials:
    return Trials({name: [s.get(name) for s in structs] for name in structs[0]}, base)


def _spike_fields(trials: Trials) -> list[str]:
    names = [n for n, values in trials.fields.items() if _is_wide(values[0]) or is_ragged(values[0])]
    known = [n for n in names if word(n).endswith("spikes") or word(n) in (*SPIKE_WORDS, *COUNT_WORDS)]
    return known or [n for n in names if word(n) in SIGNAL_WORDS]


def _is_wide(value: Any) -> bool:
    """Tell whether a value has time and channels; a mere list would be the spike times of a channel."""
    return is_table(value) and min(value.shape) > 1


def read_trial_structs(v: Variables, name: str) -> dict[str, Any]:
    """Return the content of a recording from an array of trials."""
    trials = _as_trials(v.values[v.use(name)], v.index_base)
    fields = _choose_fields(v, trials, name)
    v.note(f"trials: {len(trials.fields[fields[0]])} entries of {quoted(name)}, put one after the other")
    if is_ragged(trials.fields[fields[0]][0]):
        return _read_times(v, trials, fields)
    return _read_counts(v, trials, fields)


def _choose_fields(v: Variables, trials: Trials, name: str) -> list[str]:
    key = next((key for key in ("counts", "signal") if getattr(v.options, key)), "spikes")
    wanted = v.ask(key)
    if wanted is None:
        fields = _spike_fields(trials)
        lists = [f for f in fields if is_ragged(trials.fields[f][0])]
        tables = [f for f in fields if f not in lists]
        if lists and tables:
            raise InputError(
                quoted(name),
                "trials with spike times or counts",
                f"{quoted(lists[0])} (spikes) and {quoted(tables[0])} (counts)",
                f"Choose with --spikes {printable(lists[0])} or --counts {printable(tables[0])}.",
            )
        return fields
    return [trials.require(wanted.removeprefix(f"{name}."), key)]


def _read_counts(v: Variables, trials: Trials, fields: list[str]) -> dict[str, Any]:
    tables = {name: _orient(v, trials, name) for name in fields}
    n_rows = np.array([len(table) for table in tables[fields[0]]])
    for name in fields[1:]:
        _check_rows(trials, name, [len(t) for t in tables[name]], fields[0], n_rows)
    bins = Bins(0.0, _read_width(v, trials), np.arange(n_rows.sum()))
    v.note(f"time: row number times the bin width of {bins.width:g} s, from 0")
    parts = [as_numbers(v, name, np.vstack(tables[name]), bins.width) for name in fields]
    units = list(dict.fromkeys(unit for _, unit in parts))
    if len(units) > 1:
        raise InputError("trials", "one kind of numbers", f"{units[0]} and {units[1]}", "Choose with --counts.")
    sizes = {name: tables[name][0].shape[1] for name in fields}
    content = {"counts": np.hstack([part for part, _ in parts]), "unit": units[0], "bin_width": bins.width}
    content |= {"start": bins.start, "channels": _channels(trials, sizes)}
    starts = np.concatenate([[0], np.cumsum(n_rows)])
    return content | _read_rest(v, trials, fields, starts * bins.width, n_rows, bins.width)


def _orient(v: Variables, trials: Trials, name: str) -> list[np.ndarray]:
    """Return the counts of each trial as (time, channel): the channels stay the same number."""
    tables = trials.fields[name]
    for i, table in enumerate(tables):
        if not is_table(table):
            raise InputError(
                f"{trials.where(i)}: {quoted(name)}", "counts", describe(table), "Correct or remove this trial."
            )
    same = [len({table.shape[axis] for table in tables}) == 1 for axis in (0, 1)]
    orientation = v.ask("orientation")
    if orientation is None and same == [True, True]:
        orientation = _orient_by_kinematics(trials, name)
    if orientation is None:
        orientation = "channel-by-time" if same == [True, False] else "time-by-channel"
    tables = [table.T for table in tables] if orientation == "channel-by-time" else tables
    first = tables[0].shape[1]
    for i, table in enumerate(tables):
        if table.shape[1] != first:
            raise InputError(
                f"{trials.where(i)}: {quoted(name)}", f"{first} channels", table.shape[1], "Check --orientation."
            )
    v.note(f"counts: {quoted(name)} read as {orientation}")
    return tables


def _orient_by_kinematics(trials: Trials, name: str) -> str:
    """Return which axis is time: the length that all counts and kinematics of a trial share."""
    shape = trials.fields[name][0].shape
    others = [trials.fields[n][0] for n in trials.find(is_table) if word(n) in BEHAVIOR_WORDS]
    others += [trials.fields[n][0] for n in _spike_fields(trials) if is_numeric(trials.fields[n][0])]
    fits = [len(others) > 1 and all(length in other.shape for other in others) for length in shape]
    if fits[0] == fits[1] or shape[0] == shape[1]:
        raise InputError(
            quoted(name),
            "one way to read it",
            f"shape {shape} in every trial",
            "Say --orientation time-by-channel or channel-by-time.",
        )
    return "time-by-channel" if fits[0] else "channel-by-time"


def _check_rows(trials: Trials, name: str, lengths: list[int], other: str, n_rows: np.ndarray) -> None:
    for i, length in enumerate(lengths):
        if length != n_rows[i]:
            raise InputError(
                trials.where(i),
                f"{n_rows[i]} rows of {quoted(name)}, as many as of {quoted(other)}",
                f"{length} rows",
                "Correct or remove this trial.",
            )


def _read_width(v: Variables, trials: Trials) -> float:
    stated = find_bin_width(v)
    name = next((n for n in trials.find(is_number) if word(n) in WIDTH_WORDS), None)
    if stated is None and name is not None:
        widths = {float(value.reshape(-1)[0]) for value in trials.fields.pop(name)}
        if len(widths) > 1:
            raise InputError(quoted(name), "one bin width", f"{len(widths)} different", "Bin all trials alike.")
        stated = widths.pop(), quoted(name)
    if stated is None and v.options.behavior_rate is not None:
        stated = 1.0 / v.ask("behavior_rate"), flag("behavior_rate")
    if stated is None and (clock := find_clock(trials)) is not None:
        stated = _find_step(trials, clock), f"the step of {quoted(clock)}"
    if stated is None:
        raise InputError("trials", "a bin width", "none", "Say it with --counts-bin-width (seconds).")
    check_width(*stated)
    return stated[0]


def find_clock(trials: Trials) -> str | None:
    """Return the field with the time of each row."""
    return next((name for name in trials.find(is_line) if word(name) in TIME_WORDS), None)


def _find_step(trials: Trials, name: str) -> float:
    """Return the time from one row to the next, which must be the same in all trials."""
    steps = np.concatenate([np.diff(times.reshape(-1)) for times in trials.fields[name]])
    step = float(np.median(steps))
    odd = steps[~(np.abs(steps - step) <= JITTER * abs(step))]
    if odd.size or not step > 0:
        found = f"{odd[0]:g} beside {step:g}" if odd.size else f"{step:g}"
        raise InputError(quoted(name), "times in steps of one length", found, "Say --counts-bin-width (seconds).")
    return round(step, 12)


def _channels(trials: Trials, sizes: dict[str, int]) -> pd.DataFrame:
    """Return the channel table: with several arrays, names such as 'M1 0' and the area."""
    tables = []
    for name, size in sizes.items():
        area = name.removesuffix("_spikes") if name.endswith("_spikes") else ""
        prefix = f"{area or name} " if len(sizes) > 1 else ""
        table = pd.DataFrame({"name": [f"{prefix}{i}" for i in range(size)]})
        table = table.assign(area=area) if area else table
        guide = trials.fields.get(f"{area}{GUIDE}", [None])[0]
        if is_numeric(guide) and guide.shape == (size, 2):
            table = table.assign(electrode=guide[:, 0], unit=guide[:, 1])
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _read_rest(
    v: Variables, trials: Trials, fields: list[str], edges: np.ndarray, n_rows: np.ndarray, width: float
) -> dict[str, Any]:
    """Return behavior and trials; `edges` are the starts of the trials, and the end of the last."""
    starts, stops = edges[:-1], edges[1:]
    times = np.concatenate([s + (np.arange(n) + 0.5) * width for s, n in zip(starts, n_rows, strict=True)])
    clock = Clock(times, quoted(fields[0]))
    behavior = {
        name: as_series(v, name, np.vstack(tables), clock)
        for name, tables in _behavior_tables(v, trials, fields, n_rows).items()
    }
    content: dict[str, Any] = {"behavior": mark_circular(v, behavior)}
    if v.ask("trials"):
        table = pd.DataFrame({"start": starts, "stop": stops})
        events = _events(v, trials, starts, n_rows, width)
        content["trials"] = table.assign(**events, **_conditions(v, trials, {*fields, *events, *behavior}))
    return content


def _behavior_tables(
    v: Variables, trials: Trials, fields: list[str], n_rows: np.ndarray
) -> dict[str, list[np.ndarray]]:
    named = [trials.require(name, "behavior") for name in v.ask("behavior")]
    guessed = [n for n in trials.find(is_numeric) if n not in fields and word(n) not in TIME_WORDS]
    tables = {}
    for name in named or guessed:
        turned = [_rows_first(value, n) for value, n in zip(trials.fields[name], n_rows, strict=True)]
        lengths = [-1 if t is None else len(t) for t in turned]
        if lengths == list(n_rows) and (n_rows.max() > 1 or named):
            tables[name] = [t for t in turned if t is not None]
        elif named or word(name) in BEHAVIOR_WORDS:
            _check_rows(trials, name, [max(np.shape(x), default=0) for x in trials.fields[name]], fields[0], n_rows)
    return {name: found for name, found in tables.items() if len({t.shape[1] for t in found}) == 1}


def _rows_first(value: Any, n_rows: int) -> np.ndarray | None:
    if not is_numeric(value) or value.ndim > 2 or n_rows not in value.shape:
        return None
    table = value.reshape(-1, 1) if value.ndim == 1 else value
    return table if len(table) == n_rows else table.T


def _events(
    v: Variables, trials: Trials, starts: np.ndarray, n_rows: np.ndarray, width: float
) -> dict[str, np.ndarray]:
    """Return the times of the `idx_…` fields; events outside their trial are missing, and that is noted."""
    base = v.ask_index_base()
    columns: dict[str, np.ndarray] = {}
    outside = 0
    for name in [n for n in trials.fields if n.startswith("idx_")]:
        values = trials.fields[name]
        if not all(is_numeric(x) and x.size <= 1 for x in values):
            v.note(f"events: {quoted(name)} left out; it is not one bin per trial")
            continue
        rows = np.array([float(x.reshape(-1)[0]) if x.size else np.nan for x in values]) - base
        late = (rows < 0) | (rows > n_rows)
        outside += int(late.sum())
        event = name.removeprefix("idx_")
        event = name if event in ("start", "stop") or event in trials.fields else event
        columns[event] = np.where(late, np.nan, starts + rows * width)
    if columns:
        v.note(f"events: {listed(columns)}; bins numbered from {base} in each trial")
    if outside:
        v.note(f"events: {outside} lie outside their trial and are taken as missing (NaN)")
    return columns


def _conditions(v: Variables, trials: Trials, taken: set[str]) -> dict[str, list[Any]]:
    """Return the fields with one number or text per trial; an empty one is missing."""
    named = [trials.require(name, "conditions") for name in v.ask("conditions")]
    columns = {}
    for name in named or trials.fields:
        if name in taken or name in ("start", "stop") or name.startswith("idx_"):
            continue
        values = trials.fields[name]
        if all(is_text(x) for x in values):
            columns[name] = [x if isinstance(x, str) else x[0] for x in values]
        elif all(is_numeric(x) and x.size <= 1 for x in values) and any(x.size for x in values):
            columns[name] = [x.reshape(-1)[0] if x.size else np.nan for x in values]
        elif named:
            raise InputError(f"--conditions {name}", "one value per trial", "more", "Name another field.")
    return columns


def _read_times(v: Variables, trials: Trials, fields: list[str]) -> dict[str, Any]:
    """Return the content where each trial has a list of spike times per channel, from the trial's start."""
    width = _read_width(v, trials)
    n_rows = _count_rows(v, trials, fields)
    edges = np.concatenate([[0.0], np.cumsum(n_rows) * width])
    lists: list[np.ndarray] = []
    sizes = {name: len(trials.fields[name][0]) for name in fields}
    for name in fields:
        lists += _join_times(trials, name, edges)
    lists = [np.sort(times) for times in lists] if v.ask("sort_spikes") else lists
    clock = find_clock(trials)
    since = (
        "from the start of their trial" if clock is None else f"on the clock of {quoted(clock)}, the start of each row"
    )
    v.note(f"spikes: times read as seconds {since}")
    content = {"spikes": lists, "channels": _channels(trials, sizes), "observed": edges[[0, -1]]}
    return content | _read_rest(v, trials, fields, edges, n_rows, width)


def _count_rows(v: Variables, trials: Trials, fields: list[str]) -> np.ndarray:
    """Return the number of behavior samples of each trial, which is what says how long it lasts."""
    names = list(v.options.behavior) or [n for n in trials.find(is_table) if word(n) in BEHAVIOR_WORDS]
    name = next((n for n in names if n in trials.fields and n not in fields), None)
    if name is None:
        raise InputError("trials", "behavior that shows how long they are", "none", "Name it with --behavior.")
    return np.array([max(np.shape(value), default=0) for value in trials.fields[name]])


def _join_times(trials: Trials, name: str, edges: np.ndarray) -> list[np.ndarray]:
    """Return the spike times of each channel over all trials."""
    n_channels = len(trials.fields[name][0])
    parts: list[list[np.ndarray]] = [[] for _ in range(n_channels)]
    clock = find_clock(trials)
    for i, cells in enumerate(trials.fields[name]):
        begin = 0.0 if clock is None else float(trials.fields[clock][i].reshape(-1)[0])
        if not is_ragged(cells) or len(cells) != n_channels:
            raise InputError(
                f"{trials.where(i)}: {quoted(name)}",
                f"spike times of {n_channels} channels",
                describe(cells),
                "Correct or remove this trial.",
            )
        for channel, times in enumerate(cells):
            seconds = np.asarray(times, dtype=np.float64).reshape(-1) - begin
            duration = edges[i + 1] - edges[i]
            if len(seconds) and not (seconds.min() >= 0 and seconds.max() < duration):
                raise InputError(
                    f"{trials.where(i)}: {quoted(name)}, channel {channel}",
                    f"spike times from 0 to {duration:g} s after the start of the trial",
                    f"{seconds.min():g} to {seconds.max():g}",
                    "Check the bin width, or store the times in seconds from each trial's start.",
                )
            parts[channel].append(edges[i] + seconds)
    return [np.concatenate(part) for part in parts]
