"""Free layouts: which variable of a file is what.

Options decide first. What they leave open is decided by names and shapes, and every such guess is written
into the notes of the `Recording`. Where two readings are possible the file is refused, with the option that
decides. Conventions: the rows of counts are bins in order; a time vector gives the start of each bin;
behavior stored per bin sits in the middle of its bin; bins in `.mat` files are numbered from 1.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from neurofs.ground.errors import InputError, quoted
from neurofs.recordings.readers.amplitudes import divide_by_amplitude
from neurofs.recordings.readers.behavior import Clock, find_shared_clock, note_stillness, read_behavior, read_clock
from neurofs.recordings.readers.bins import TIME_WORDS, Bins, read_seconds_per_unit
from neurofs.recordings.readers.counts import COUNT_WORDS, find_counted, find_counts, read_counts
from neurofs.recordings.readers.signals import SIGNAL_WORDS, find_signals, settle_signal
from neurofs.recordings.readers.spike_lists import (
    expand_channel_structs,
    find_channel_names,
    find_spikes,
    join_numbered_units,
    read_marked_spikes,
    read_spikes,
)
from neurofs.recordings.readers.trial_cells import join_trial_cells
from neurofs.recordings.readers.trial_structs import find_trial_structs, read_trial_structs
from neurofs.recordings.readers.trial_tables import add_conditions, leave_out_open, read_trials
from neurofs.recordings.readers.variables import Variables, find_kept, is_line, is_numeric, is_texts
from neurofs.recordings.recording import Recording, Series
from neurofs.recordings.words import listed, word

OBSERVED_WORDS = ("observed", "obsintervals", "observedintervals")
CHANNEL_PREFIXES = ("channel_", "unit_", "channels.", "units.", "electrode_")
CHANNEL_WORDS = ("electrode", "electrodes", "quality", "area", "kind", "brainarea", "region")


@dataclass
class Neural:
    """The spikes, counts or signals of a file, before they become a recording."""

    n_channels: int
    names: list[str] | None = None
    bins: Bins | None = None
    content: dict[str, Any] = field(default_factory=dict)


def interpret(v: Variables, name: str, source: str = "", source_hash: str = "") -> Recording:
    """Return the recording that the variables of a file describe; `name` is that of a session without one."""
    name = v.ask("name") or name
    join_trial_cells(v)
    structs = find_trial_structs(v)
    if structs is None:
        expand_channel_structs(v)
        join_numbered_units(v)
    content = read_trial_structs(v, structs) if structs else _read_plain(v)
    content = settle_signal(_leave_out_channels(v, content), v.note)
    if "amplitudes" in content:
        content = divide_by_amplitude(content, content.pop("amplitudes"), v.ask("amplitude_bands"), v.note)
    v.refuse_unused_options()
    v.note_unused_variables()
    return Recording(name, notes=v.notes, remarks=v.remarks, source=source, source_hash=source_hash, **content)


def _read_plain(v: Variables) -> dict[str, Any]:
    neural = _read_neural(v)
    channels = _channel_table(v, neural)
    content = dict(neural.content, channels=channels)
    stop = neural.bins.stop if neural.bins else _last_time(neural.content["spikes"])
    if "observed" in content:
        stop = float(np.max(content["observed"]))
    clocks = _find_clocks(v, neural)
    trials = read_trials(v, neural.bins, stop, [clock.times for clock in clocks])
    if trials is not None:
        taken = {neural.n_channels, *(len(clock.times) for clock in clocks)}
        content["trials"] = leave_out_open(add_conditions(v, trials, neural.bins, taken), v.note)
    behavior = read_behavior(v, clocks, neural.bins.start if neural.bins else 0.0)
    content["behavior"] = behavior if neural.bins else _settle_clocks(v, _last_time(neural.content["spikes"]), behavior)
    if trials is None:
        note_stillness(v, content["behavior"])
    return content


def _last_time(lists: list[np.ndarray]) -> float:
    return max((float(times[-1]) for times in lists if len(times)), default=0.0)


def _read_neural(v: Variables) -> Neural:
    kind, name = _choose_neural(v)
    if kind != "spikes":
        counts, bins, unit = read_counts(v, v.use(name))
        content = {
            "counts": bins.fill_gaps(counts),
            "unit": unit,
            "bin_width": bins.width,
            "start": bins.start,
            "observed": bins.observed,
        }
        return Neural(counts.shape[1], None, bins, content)
    if v.ask("amplitude_bands"):
        lists, names, sizes = read_marked_spikes(v, name)
        return Neural(len(lists), names, None, {"spikes": lists, "amplitudes": sizes} | _read_observed(v))
    lists, names = read_spikes(v, name)
    content = {"spikes": lists} | _read_observed(v)
    return Neural(len(lists), names, None, content)


def _choose_neural(v: Variables) -> tuple[str, str]:
    """Return whether the file holds spikes, counts or a signal, and in which variable."""
    asked = [key for key in ("spikes", "counts", "signal") if getattr(v.options, key)]
    if len(asked) > 1:
        raise InputError(f"--{asked[0]} and --{asked[1]}", "one of the two", "both", "Leave one out.")
    for key in ("counts", "signal"):
        if key in asked:
            return key, str(v.named(key))
    if v.options.spikes:
        wanted = v.ask("spikes")
        is_group = any(name.startswith(wanted + ".") for name in v.values)
        return "spikes", wanted if is_group else v.require(wanted, "spikes")
    found = [("spikes", name) for name in find_spikes(v)] + [("counts", name) for name in find_counts(v)]
    found = found or [("signal", name) for name in find_signals(v)] or [("counts", name) for name in find_counted(v)]
    if len(found) == 1:
        kind, name = found[0]
        v.note(f"{kind}: taken from {quoted(name)}")
        return found[0]
    if not found:
        _refuse_three_axes(v)
        raise InputError(
            "variables",
            "spike times, counts or a signal",
            "nothing known as such",
            f"Name one with --spikes, --counts or --signal. The file has: {listed(v.values)}.",
        )
    first, second = found[:2]
    raise InputError(
        "variables",
        "one with spike times or counts",
        f"{quoted(first[1])} ({first[0]}) and {quoted(second[1])} ({second[0]})",
        f"Choose with --{first[0]} {_bare(first[1])} or --{second[0]} {_bare(second[1])}.",
    )


def _refuse_three_axes(v: Variables) -> None:
    """Say what to do about counts with an axis of trials, of which nothing tells which axis is which."""
    words = (*COUNT_WORDS, *SIGNAL_WORDS)
    cubes = [n for n, x in v.values.items() if is_numeric(x) and x.ndim == 3 and min(x.shape) > 1 and word(n) in words]
    if cubes:
        raise InputError(
            quoted(cubes[0]),
            "two axes, time and channel",
            f"three of lengths {', '.join(map(str, v.values[cubes[0]].shape))}",
            "Put the trials one after the other, with a variable trial that has the number of each row's trial.",
        )


def _bare(name: str) -> str:
    return quoted(name)[1:-1]


def _read_observed(v: Variables) -> dict[str, Any]:
    found = v.find(OBSERVED_WORDS, lambda value: is_numeric(value) and value.ndim == 2 and value.shape[1] == 2)
    return {"observed": v.numbers(v.use(found[0])) * read_seconds_per_unit(v)} if found else {}


def _find_clocks(v: Variables, neural: Neural) -> list[Clock]:
    """Return the clocks that behavior may keep: its own, then that of the bins or the file's times."""
    shared = find_shared_clock(v)
    if neural.bins:
        return [*shared, Clock(neural.bins.centers, "the counts")]
    wanted = v.named("time") if v.options.time != "none" else v.ask("time")
    if wanted == "none":
        return shared
    names = [wanted] if wanted else [] if shared else v.find(TIME_WORDS, is_line)
    return [*shared, *(read_clock(v, name) for name in names)]


def _settle_clocks(v: Variables, last: float, behavior: dict[str, Series]) -> dict[str, Series]:
    """Return behavior on the clock of the spikes, which end at `last`; refuse it if they run a hundred times longer.

    Where the user names the unit of the spikes, times of behavior that fit without it are in seconds.
    """
    per_unit, found = read_seconds_per_unit(v), dict(behavior)
    for name, series in behavior.items():
        end = series.time[-1] if len(series.time) else 0.0
        if v.options.time_unit is not None and end and last > 100 * end and 0.5 * last < end / per_unit < 2 * last:
            found[name] = replace(series, time=np.round(series.time / per_unit, 9))
            v.note(f"behavior: times of {quoted(name)} are in seconds, unlike those of the spikes")
        elif v.options.time_unit is None and len(series.time) and last > 100 * max(end, 1.0):
            raise InputError(
                f"spikes and {quoted(series.name)}",
                "times in the same unit",
                f"spikes up to {last:g} and behavior up to {series.time[-1]:g}",
                "Say the unit with --time-unit, and the times of the behavior with --behavior-rate.",
            )
    return found


def _channel_table(v: Variables, neural: Neural) -> pd.DataFrame:
    """Return what the file knows about each channel."""
    names = _channel_names(v, neural)
    table: dict[str, Any] = {"name": names or [str(i) for i in range(neural.n_channels)]}
    for name, value in v.values.items():
        column = _channel_column(name)
        if name in v.used or column is None or column in table:
            continue
        if is_texts(value) and len(value) == neural.n_channels:
            table[column] = list(v.values[v.use(name)])
        elif is_line(value) and value.size == neural.n_channels:
            table[column] = v.vector(v.use(name))
    return pd.DataFrame(table)


def _channel_names(v: Variables, neural: Neural) -> list[str] | None:
    found = find_channel_names(v)
    if found is None:
        return neural.names
    variable, names = found
    if len(names) == neural.n_channels:
        v.use(variable)
        return names
    if v.options.channel_names is None:
        return neural.names
    raise InputError(
        f"--channel-names {variable}",
        f"{neural.n_channels} names, one per channel",
        len(names),
        "Name another variable.",
    )


def _channel_column(name: str) -> str | None:
    if word(name) in CHANNEL_WORDS:
        return name.rsplit(".", 1)[-1]
    return next((name.removeprefix(p) for p in CHANNEL_PREFIXES if name.startswith(p)), None)


def _leave_out_channels(v: Variables, content: dict[str, Any]) -> dict[str, Any]:
    """Return the content without the channels that the user excludes."""
    channels = content["channels"]
    excluded = v.ask("exclude_channels")
    keep = find_kept(channels["name"], excluded)
    if not excluded:
        return content
    v.note(f"channels: {len(excluded)} left out as asked")
    content = dict(content, channels=channels.iloc[keep])
    if "counts" in content:
        content["counts"] = content["counts"][:, keep]
    else:
        content |= {key: [content[key][i] for i in keep] for key in ("spikes", "amplitudes") if key in content}
    return content
