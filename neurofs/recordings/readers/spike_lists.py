"""Spike times: a list per channel, or one long list with the channel of each spike."""

import re
from typing import Any

import numpy as np
import pandas as pd

from neurofs.ground.errors import InputError, printable, quoted
from neurofs.recordings.readers.amplitudes import WORDS
from neurofs.recordings.readers.bins import read_seconds_per_unit
from neurofs.recordings.readers.variables import Variables, describe, has_size, is_line, is_number, is_numeric, is_texts
from neurofs.recordings.words import split_words, word, words_of

SPIKE_WORDS = split_words("spiketimes spikes spiketrains spiketrain units unit neurons unitspiketimes timestamps ts")
CHANNEL_WORDS = split_words(
    "spikechannels spikechannel spikeclusters spikeclusterids clusters cluids spikeunits channelofspike unitofspike"
)
UNIT_FIELDS = ("ts", "times", "timestamps", "spiketimes", "spiketrain", "spikes")
LARGE = 1000
"""Whole numbers above this are no likely seconds."""

NUMBERED = re.compile(
    r"(unit|neuron|cell|cluster|channel|chan|ch|electrode|sig|spk|spikes?)[_ ]?\d+[_ ]?[a-z]?", re.IGNORECASE
)
"""Names of variables that hold the spikes of one unit each."""

INDEX_ENDS = ("_index", "_ends")
NAME_WORDS = split_words("channelnames channelname unitnames unitname channelids unitids neuronnames labels")


def is_ragged(value: Any) -> bool:
    """Tell whether a value is a list of number lists, one per channel."""
    return isinstance(value, list) and bool(value) and all(_is_spike_list(item) for item in value)


def _is_spike_list(item: Any) -> bool:
    """Tell whether a value is a list of numbers, be it of one or none."""
    return is_numeric(item) and sum(n > 1 for n in item.shape) <= 1


def find_spikes(v: Variables) -> list[str]:
    """Return the variables, or groups of variables, that could hold spike times."""
    by_name = v.find(SPIKE_WORDS, is_ragged)
    flat = [n for n in v.find(SPIKE_WORDS, is_line) if _has_channels(v, n) or "spike" in word(n)]
    return by_name + flat + [g for g in _groups(v) if word(g) in SPIKE_WORDS]


def expand_channel_structs(v: Variables) -> None:
    """Turn an array of structs with one entry per channel into a list of spike times and a channel table."""
    for name, entries in list(v.values.items()):
        if not isinstance(entries, list) or not entries or not all(isinstance(e, dict) for e in entries):
            continue
        fields = [f for f in entries[0] if word(f) in UNIT_FIELDS and all(_is_spike_list(e.get(f)) for e in entries)]
        if len(fields) != 1:
            continue
        v.values[name] = [entry[fields[0]] for entry in entries]
        v.note(f"spikes: the field {quoted(fields[0])} of {quoted(name)}, one entry per channel")
        for other in entries[0]:
            column = _scalar_column([entry.get(other) for entry in entries])
            if column is not None:
                v.values[f"channel_{other}"] = column


def join_numbered_units(v: Variables) -> None:
    """Turn variables of one unit each into a list: `units.unit_0.spike_times` and its likes, or `unit_0`, `unit_1` …"""
    groups: dict[tuple[str, str], list[str]] = {}
    for name, value in v.values.items():
        parts = name.rsplit(".", 2)
        if len(parts) == 3 and word(name) in UNIT_FIELDS and _is_spike_list(value):
            groups.setdefault((parts[0], parts[2]), []).append(name)
        elif NUMBERED.fullmatch(parts[-1]) and _is_rising(value):
            groups.setdefault((".".join(parts[:-1]), ""), []).append(name)
    for (place, field), names in groups.items():
        if len(names) < 2 or v.options.spikes in names:
            continue
        joined = place.rpartition(".")[2] if field and place not in v.values else "units"
        owners = [name.rsplit(".", 2)[-2] if field else name.rpartition(".")[2] for name in names]
        values = {name: v.values.pop(name) for name in names}
        others = [n for n in v.values if field and any(n.startswith(f"{place}.{owner}.") for owner in owners)]
        known = {
            n.rpartition(".")[2]: [v.values.get(f"{place}.{o}.{n.rpartition('.')[2]}") for o in owners] for n in others
        }
        v.values = {name: value for name, value in v.values.items() if name not in others}
        v.values |= {joined: list(values.values()), "channel_names": owners}
        columns = {f"channel_{key}": _scalar_column(column) for key, column in known.items()}
        v.values |= {key: column for key, column in columns.items() if column is not None}
        v.note(f"spikes: {len(names)} variables of one unit each, from {quoted(names[0])} to {quoted(names[-1])}")
        return


def _is_rising(value: Any) -> bool:
    """Tell whether a value is spike times of one unit, which never fall."""
    return is_line(value) and bool((np.diff(value.reshape(-1)) >= 0).all())


def _scalar_column(values: list[Any]) -> Any:
    """Return one number or text per entry as a column, or None if some entry is neither."""
    if all(isinstance(value, str) for value in values):
        return values
    if all(is_number(value) for value in values):
        return np.array([value.reshape(-1)[0] for value in values])
    return None


def _groups(v: Variables) -> list[str]:
    """Return the structs whose fields are all number lists."""
    parents = {name.rsplit(".", 1)[0] for name in v.values if "." in name}
    return sorted(p for p in parents if all(_is_spike_list(v.values[n]) for n in _members(v, p)))


def _members(v: Variables, group: str) -> list[str]:
    return [name for name in v.values if name.rpartition(".")[0] == group]


def _has_channels(v: Variables, name: str) -> bool:
    size = v.values[name].size
    beside = any(is_numeric(v.values.get(name + end)) for end in INDEX_ENDS)
    return beside or bool(v.find(CHANNEL_WORDS, lambda value: has_size(value, size)))


def read_spikes(v: Variables, name: str) -> tuple[list[np.ndarray], list[str] | None]:
    """Return the spike times of each channel in seconds, and the channels' names if they have some."""
    lists, names = _read_lists(v, name)
    per_unit = _read_unit(v, name, lists)
    lists = [np.asarray(times, dtype=np.float64).reshape(-1) for times in lists]
    lists = lists if per_unit == 1.0 else [times * per_unit for times in lists]
    if v.ask("sort_spikes"):
        lists = [np.sort(times) for times in lists]
    return lists, names


def read_marked_spikes(v: Variables, name: str) -> tuple[list[np.ndarray], list[str] | None, list[np.ndarray]]:
    """Return spike times and names as `read_spikes` does, and the amplitude of each spike of each channel."""
    fits = is_ragged if is_ragged(v.values.get(name)) else is_line
    marks = v.find_one("amplitudes", WORDS, fits)
    if marks is None:
        raise InputError("--amplitude-bands", "an amplitude for each spike", "none", "Name them with --amplitudes.")
    if fits is is_ragged:
        lists, names = read_spikes(v, name)
        sizes = [np.asarray(part, dtype=np.float64).reshape(-1) for part in v.values[marks]]
    else:
        times, flat = v.vector(v.use(name)), v.vector(marks).astype(np.float64)
        if len(flat) != len(times):
            raise InputError(quoted(marks), f"{len(times)} amplitudes, one per spike", len(flat), "Name another.")
        places, names = _split(v, name, np.arange(len(times)))
        lists = [times[place] * _read_unit(v, name, [times]) for place in places]
        sizes = [flat[place] for place in places]
    if len(sizes) != len(lists):
        raise InputError(quoted(marks), f"amplitudes of {len(lists)} channels", len(sizes), "Name another.")
    return lists, names, sizes


def _read_lists(v: Variables, name: str) -> tuple[list[np.ndarray], list[str] | None]:
    value = v.values.get(name)
    if value is None:
        members = [v.use(member) for member in _members(v, name)]
        return [v.vector(m) for m in members], [m.rpartition(".")[2] for m in members]
    v.use(name)
    if is_ragged(value):
        return value, None
    if not _is_spike_list(value):
        filled = is_numeric(value) and value.ndim == 2 and (value != np.rint(value)).any() and not np.min(value) > 0
        remedy = (
            "Rows filled up with NaN, 0 or -1? Cut these off, and give a list (a cell) per channel."
            if filled
            else "Name another variable with --spikes, or this one with --counts if it holds counts."
        )
        raise InputError(quoted(name), "a list of spike times per channel, or one long list", describe(value), remedy)
    return _split(v, name, value.reshape(-1))


def _split(v: Variables, name: str, times: np.ndarray) -> tuple[list[np.ndarray], list[str] | None]:
    """Divide one long list among its channels."""
    for end in INDEX_ENDS:
        if v.options.spike_channels is None and is_numeric(v.values.get(name + end)):
            return _split_at(v.vector(v.use(name + end)), times, name + end), None
    labels = v.find_one("spike_channels", CHANNEL_WORDS, lambda value: has_size(value, len(times)))
    if labels is None:
        _refuse_channels(v, len(times))
        _refuse_counts(name, times)
        v.note(f"spikes: {quoted(name)} read as one channel; no variable says the channel of each spike")
        return [times], None
    return _split_by(v, labels, times)


def _refuse_channels(v: Variables, n_spikes: int) -> None:
    """Refuse a variable that is called the channel of each spike, and does not have one for each."""
    found = [name for name in v.find(CHANNEL_WORDS[:2]) if v.values[name].size > 1]
    if found:
        n_found = v.values[found[0]].size
        raise InputError(quoted(found[0]), f"{n_spikes} channels, one per spike", n_found, "Correct it, or rename it.")


def _refuse_counts(name: str, times: np.ndarray) -> None:
    """Refuse whole numbers that go up and down: one list of them is more likely counts than times."""
    if (times == np.rint(times)).all() and (np.diff(times) < 0).any():
        raise InputError(
            quoted(name),
            "spike times of one channel, or counts of one channel",
            "whole numbers that go up and down, which could be either",
            f"Say --counts {printable(name)}, or --spikes {printable(name)} with --spike-channels.",
        )


def _split_at(ends: np.ndarray, times: np.ndarray, name: str) -> list[np.ndarray]:
    if (np.diff(ends) < 0).any() or (len(ends) and (ends[0] < 0 or ends[-1] != len(times))):
        raise InputError(
            quoted(name),
            f"increasing ends of each channel's spikes, up to {len(times)}",
            f"{ends[-1]} at the end",
            "Correct it, or name the channel of each spike with --spike-channels.",
        )
    return np.split(times, ends[:-1].astype(np.int64)) if len(ends) else []


def _split_by(v: Variables, name: str, times: np.ndarray) -> tuple[list[np.ndarray], list[str] | None]:
    value = v.values[name]
    labels = np.asarray(value if is_texts(value) else v.vector(name)).reshape(-1)
    if len(labels) != len(times):
        raise InputError(quoted(name), f"{len(times)} channels, one per spike", len(labels), "Name another.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InputError(quoted(name), "a channel for every spike", "NaN", "Remove these spikes.")
    known = find_channel_names(v)
    if known is not None and labels.dtype.kind != "U":
        return _split_by_number(v, name, times, labels, len(known[1])), None
    index, found = pd.factorize(labels, sort=True)
    v.note(f"channels: the {len(found)} different values of {quoted(name)}; one without spikes cannot be seen")
    return split_by_channel(times, index, len(found)), [_label(x) for x in found]


def _label(value: Any) -> str:
    return str(int(value)) if np.asarray(value).dtype.kind == "f" and value == int(value) else str(value)


def _split_by_number(
    v: Variables, name: str, times: np.ndarray, labels: np.ndarray, n_channels: int
) -> list[np.ndarray]:
    base = v.ask_index_base()
    v.note(f"channels: numbered from {base} in {quoted(name)}")
    bad = (labels < base) | (labels >= n_channels + base)
    if labels.dtype.kind == "f":
        bad |= labels != np.rint(labels)
    if bad.any():
        spike = int(np.argmax(bad))
        raise InputError(
            f"{quoted(name)}, spike {spike}",
            f"a channel from {base} to {n_channels - 1 + base}",
            labels[spike],
            "Check --index-base, or which variable names the channels.",
        )
    return split_by_channel(times, labels - base, n_channels)


def split_by_channel(times: np.ndarray, index: np.ndarray, n_channels: int) -> list[np.ndarray]:
    """Return the times of each channel, in the order in which they are stored."""
    small = index.astype(np.min_scalar_type(n_channels))  # 16 bits or less are sorted by radix
    in_order = bool((small[1:] >= small[:-1]).all())
    ends = np.cumsum(np.bincount(small, minlength=n_channels))
    return np.split(times if in_order else times[np.argsort(small, kind="stable")], ends[:-1])


def find_channel_names(v: Variables) -> tuple[str, list[str]] | None:
    """Return the variable with the channels' names, and these, if the file has them or the user named it."""
    name = v.named("channel_names") or _guess_channel_names(v)
    if name is None:
        return None
    value = v.values[name]
    if isinstance(value, str):
        return name, [value]
    return name, list(value) if is_texts(value) else [_label(x) for x in v.vector(name)]


def _guess_channel_names(v: Variables) -> str | None:
    """Return the variable known by a word for channel names; asking twice gives the same answer."""
    known = [n for n in v.values if words_of(n) & set(NAME_WORDS)]
    return next((n for n in known if is_texts(v.values[n]) or is_line(v.values[n])), None)


def _read_unit(v: Variables, name: str, lists: list[np.ndarray]) -> float:
    """Return the seconds per unit of the spike times; refuse what may be samples."""
    if v.options.time_unit is None and _look_like_samples(lists):
        largest = max(float(times.max()) for times in lists if len(times.reshape(-1)))
        raise InputError(
            quoted(name),
            "spike times in seconds",
            f"only whole numbers, up to {largest:.10g}",
            "Say --time-unit samples and --sampling-rate RATE, or --time-unit ms (or s).",
        )
    return read_seconds_per_unit(v)


def _look_like_samples(lists: list[np.ndarray]) -> bool:
    """Tell whether all times are whole numbers and some are large; stops at the first that is not whole."""
    largest, n_times = 0.0, 0
    for times in lists:
        known = times[np.isfinite(times)] if times.dtype.kind == "f" else times
        if known.dtype.kind == "f" and (known != np.rint(known)).any():
            return False
        largest, n_times = max(largest, float(known.max(initial=0))), n_times + known.size
    return n_times > 1 and largest > LARGE
