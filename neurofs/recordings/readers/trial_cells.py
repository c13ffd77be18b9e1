"""Cells with an entry per trial: beside each other, they are what an array of trial structs is.

Spike times may be cells of trials by channels, or cells in cells; counts a cell with a matrix for each trial. Which of
the two axes is that of trials is told by what else has an entry per trial; where nothing tells, the file is refused.
"""

from typing import Any

import numpy as np

from neurofs.ground.errors import InputError, quoted
from neurofs.recordings.readers.counts import COUNT_WORDS
from neurofs.recordings.readers.signals import SIGNAL_WORDS
from neurofs.recordings.readers.spike_lists import SPIKE_WORDS, is_ragged
from neurofs.recordings.readers.variables import Variables, is_line, is_numeric, is_table, is_texts
from neurofs.recordings.words import word

NAME = "trials of cells"
"""What the array of structs is called in messages."""


def is_nested(value: Any) -> bool:
    """Tell whether a value is lists of spike lists, as many in each: cells of trials by channels."""
    return (
        isinstance(value, list)
        and len(value) > 1
        and all(map(is_ragged, value))
        and len({len(part) for part in value}) == 1
        and len(value[0]) > 1
    )


def is_tables(value: Any) -> bool:
    """Tell whether a value is a list of tables, such as one for each trial."""
    return isinstance(value, list) and len(value) > 1 and all(is_table(x) and min(x.shape) > 1 for x in value)


def join_trial_cells(v: Variables) -> None:
    """Put variables with an entry per trial together as an array of structs, if spikes are stored so."""
    neural = [name for name, value in v.values.items() if _is_neural(v, name, value)]
    if not neural:
        return
    trials = {name: _by_trial(v, name) for name in neural}
    n_trials = len(trials[neural[0]])
    odd = next((name for name in neural if len(trials[name]) != n_trials), None)
    if odd is not None:
        found = f"{len(trials[odd])} of {quoted(odd)} and {n_trials} of {quoted(neural[0])}"
        raise InputError("cells", "one for each trial", found, "Choose with --spikes or --counts.")
    for name, value in v.values.items():
        if name not in trials and (entries := _entries(value, n_trials)) is not None:
            trials[name] = entries
    others = {name: value for name, value in v.values.items() if name not in trials}
    v.values = others | {NAME: [{name: value[i] for name, value in trials.items()} for i in range(n_trials)]}


def _is_neural(v: Variables, name: str, value: Any) -> bool:
    asked = v.options.spikes or v.options.counts or v.options.signal
    known = (*SPIKE_WORDS, *COUNT_WORDS, *SIGNAL_WORDS)
    called = name == asked if asked else word(name) in known or word(name).endswith("spikes")
    return called and (is_nested(value) or is_tables(value))


def _by_trial(v: Variables, name: str) -> list[Any]:
    """Return the cells with trials first; refuse those of which nothing tells which axis that is."""
    value = v.values[name]
    if is_tables(value):
        return list(value)
    shape = len(value), len(value[0])
    others = [x for n, x in v.values.items() if n != name]
    for lengths in ({len(x) for x in others if is_tables(x)}, {x.size for x in others if is_line(x)}):
        fits = [n in lengths for n in shape]
        if fits == [True, False] or (fits == [True, True] and shape[0] == shape[1]):
            return value
        if fits == [False, True]:
            v.note(f"spikes: the cells of {quoted(name)} read as channels by trials")
            return [list(part) for part in zip(*value, strict=True)]
    raise InputError(
        quoted(name),
        "cells of which something tells whether they are trials or channels",
        f"{shape[0]} × {shape[1]} cells",
        "Store behavior as a cell for each trial beside them, or spikes as one list for each channel.",
    )


def _entries(value: Any, n_trials: int) -> list[Any] | None:
    """Return what a variable has for each trial; None if it is not of trials."""
    if isinstance(value, list):
        is_plain = is_texts(value) or all(map(is_numeric, value)) or is_nested(value)
        return value if len(value) == n_trials and is_plain else None
    return list(np.reshape(value, (n_trials, 1))) if is_line(value) and value.size == n_trials else None
