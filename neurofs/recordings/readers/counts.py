"""Stored counts or signals: which variable, and which way round."""

from typing import Any

import numpy as np

from neurofs.ground.errors import InputError, quoted
from neurofs.recordings.readers.behavior import BEHAVIOR_WORDS
from neurofs.recordings.readers.bins import TIME_WORDS, Bins, read_bins
from neurofs.recordings.readers.signals import as_numbers, find_signal_unit
from neurofs.recordings.readers.trial_tables import LABEL_WORDS
from neurofs.recordings.readers.variables import Variables, describe, is_line, is_numeric, is_table
from neurofs.recordings.words import split_words

COUNT_WORDS = split_words(
    "counts spikecounts binnedspikes spikesbinned spikebins spikes spk neuraldata neural rates firingrates "
    "firingrate fr spikeratedata spikerates spikerate ratedata firingratedata"
)
MOST_CHANNELS_PER_BIN = 50
"""A table that is this many times as long as wide is longer in time."""

_AXES = ("time-by-channel", "channel-by-time")


def find_counts(v: Variables) -> list[str]:
    """Return the variables whose name says that they hold counts."""
    return [name for name in v.find(COUNT_WORDS, is_table) if min(v.values[name].shape) > 1]


def find_counted(v: Variables) -> list[str]:
    """Return the variables that could hold counts by their content."""
    return [name for name, value in v.values.items() if name not in v.used and _looks_counted(value)]


def _looks_counted(value: Any) -> bool:
    if not is_table(value) or min(value.shape) < 2 or value.dtype.kind == "f":
        return False
    return bool(value.min() >= 0)


def read_counts(v: Variables, name: str) -> tuple[np.ndarray, Bins, str]:
    """Return the counts, or the signal, of a variable as stored rows (time, channel), their bins and their unit."""
    table = v.numbers(name)
    if is_line(table):
        v.note(f"counts: {quoted(name)} is a single list, read as one channel")
        counts = table.reshape(-1, 1)
    elif table.ndim != 2:
        raise InputError(
            quoted(name), "a table of counts, time by channel", describe(table), "Name another with --counts."
        )
    else:
        orientation = v.ask("orientation") or _find_orientation(v, name, table.shape)
        counts = table if orientation == "time-by-channel" else table.T
    bins = read_bins(v, len(counts), sampled=find_signal_unit(v, name) is not None)
    numbers, unit = as_numbers(v, name, counts, bins.width)
    return numbers, bins, unit


def _find_orientation(v: Variables, name: str, shape: tuple[int, ...]) -> str:
    """Return which axis is time, from the lengths of other variables; the surest kind of these decides."""
    for words in (TIME_WORDS, LABEL_WORDS, BEHAVIOR_WORDS, None):
        others = v.find(words) if words else [n for n, x in v.values.items() if is_numeric(x)]
        witnesses = [
            next((n for n in others if n not in v.used | {name} and _has_length(v.values[n], length)), None)
            for length in shape
        ]
        if shape[0] != shape[1] and sum(w is not None for w in witnesses) == 1:
            axis = 0 if witnesses[0] else 1
            witness = quoted(witnesses[axis])
            v.note(f"counts: {quoted(name)} read as {_AXES[axis]} because {witness} has length {shape[axis]}")
            return _AXES[axis]
    if max(shape) > MOST_CHANNELS_PER_BIN * min(shape):
        axis = int(np.argmax(shape))
        v.note(f"counts: {quoted(name)} read as {_AXES[axis]} since {max(shape):,} channels are too many")
        return _AXES[axis]
    raise InputError(
        quoted(name),
        "one way to read it",
        f"shape {shape}: {shape[0]} bins of {shape[1]} channels, or {shape[1]} bins of {shape[0]} channels",
        "Say --orientation time-by-channel or channel-by-time.",
    )


def _has_length(value: np.ndarray, length: int) -> bool:
    """Tell whether a length is that of the longer axis of a table, which is its time."""
    return value.ndim <= 2 and value.size > 1 and length == max(value.shape)
