"""Behavior in a file of its own: spikes in one file, what is decoded in another, both on one clock in seconds.

Series and trials come from the second file (trials from the first where the second has none), and the options that
name them apply to it. Series without times of their own may have one sample per bin of the first file's counts.
"""

import dataclasses
import importlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from neurofs.ground.config import LoadOptions
from neurofs.ground.errors import InputError, UsageError
from neurofs.recordings.readers.behavior import Clock, find_shared_clock, read_behavior, read_clock
from neurofs.recordings.readers.bins import TIME_WORDS
from neurofs.recordings.readers.trial_tables import add_conditions, read_trials
from neurofs.recordings.readers.variables import Variables, is_line
from neurofs.recordings.recording import Recording, Series
from neurofs.recordings.words import split_words

OPTIONS = split_words("behavior behavior_time behavior_rate circular trials trial_start trial_stop conditions")
"""Options that apply to the file with the behavior, once there is one."""


class Behavior(NamedTuple):
    """What is taken from a file of behavior."""

    series: dict[str, Series]
    trials: pd.DataFrame | None
    notes: list[str]


def leave_to_behavior_file(options: LoadOptions) -> LoadOptions:
    """Return the options for the file with the spikes: those that apply to the other one are left out.

    >>> leave_to_behavior_file(LoadOptions(behavior_file="b.csv", behavior=("pos",), sort_spikes=True)).behavior
    ()
    """
    if options.behavior_file is None:
        return options
    plain = LoadOptions()
    return options.model_copy(update={key: getattr(plain, key) for key in OPTIONS if key != "trials"})


def add_behavior(recording: Recording, path: Path, module: str, options: LoadOptions) -> Recording:
    """Return a recording with the behavior, and the trials if there are any, of the file that `module` reads."""
    own = options.model_copy(update=dict.fromkeys(("behavior_file", "name")))
    found = _read_nwb(path, own) if _is_nwb(path, module) else _read_free(path, module, own, recording)
    if not found.series:
        remedy = "Name them with --behavior, and their times with --behavior-time or --behavior-rate."
        raise InputError(path.name, "behavior series", "none", remedy)
    _check_overlap(recording, path, found.series)
    trials = recording.trials if found.trials is None else found.trials
    notes = [*recording.notes, *(f"{path.name}: {note}" for note in found.notes)]
    notes.append(f"behavior: taken from {path.name}, on the clock of the spikes")
    return dataclasses.replace(recording, behavior=found.series, trials=trials, notes=notes)


def _is_nwb(path: Path, module: str) -> bool:
    if module != "hdf5":
        return module == "nwb"
    from neurofs.recordings.readers.h5files import open_h5

    with open_h5(path, free_layout=True) as file:
        return "nwb_version" in file.attrs


def _read_nwb(path: Path, options: LoadOptions) -> Behavior:
    from neurofs.recordings.readers.nwb import read_behavior_and_trials

    notes: list[str] = []
    return Behavior(*read_behavior_and_trials(path, options, notes), notes)


def _read_free(path: Path, module: str, options: LoadOptions, recording: Recording) -> Behavior:
    """Read a file whose layout is free."""
    reader = importlib.import_module(f"neurofs.recordings.readers.{module}")
    if not hasattr(reader, "read_variables"):
        raise UsageError(f"--behavior-file {path.name}: behavior cannot be read from this kind of file")
    values, notes = reader.read_variables(path)
    wanted = LoadOptions(**{key: getattr(options, key) for key in OPTIONS})
    v = Variables(values, wanted, notes, index_base=1 if module == "matlab" else 0)
    clocks = _find_clocks(v, recording)
    trials = read_trials(v, None, recording.span[1])
    if trials is not None:
        trials = add_conditions(v, trials, None, {len(clock.times) for clock in clocks})
    series = read_behavior(v, clocks)
    v.refuse_unused_options()
    return Behavior(series, trials, v.notes)


def _find_clocks(v: Variables, recording: Recording) -> list[Clock]:
    """Return the times of the file, and the bins of the counts that the other file may have."""
    shared = find_shared_clock(v)
    own = shared or [read_clock(v, name) for name in v.find(TIME_WORDS, is_line)[:1]]
    if recording.counts is None:
        return own
    centers = recording.start + (np.arange(len(recording.counts)) + 0.5) * recording.bin_width
    return [*own, Clock(centers, "the counts")]


def _check_overlap(recording: Recording, path: Path, series: dict[str, Any]) -> None:
    """Refuse behavior of which nothing was sampled while spikes were recorded."""
    start, stop = recording.span
    spans = [(float(s.time[0]), float(s.time[-1])) for s in series.values() if len(s.time)]
    if not any(first < stop and last > start for first, last in spans):
        first, last = (min(a for a, _ in spans), max(b for _, b in spans)) if spans else (np.nan, np.nan)
        raise InputError(
            path.name,
            f"behavior between {start:g} and {stop:g} s, when spikes were recorded",
            f"times from {first:g} to {last:g}",
            "Both files must keep one clock, in seconds.",
        )
