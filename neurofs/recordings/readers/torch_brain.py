"""HDF5 files of torch_brain (temporaldata): spikes with the unit of each, series on clocks of their own, intervals.

    spikes/timestamps, spikes/unit_index    all spikes in order of time, and the row of each in the table of units
    spikes/domain/start, …/end              when spikes were observed
    units/id, units/…                       a row per unit
    NAME/timestamps, NAME/…                 an IrregularTimeSeries; a RegularTimeSeries has a sampling_rate instead
    trials/start, trials/end, trials/…      an Interval

Every group says in its attribute `object` what it is (temporaldata 0.1). A series is called by its group and its own
name, such as `cursor_vel`.
"""

from typing import Any

import numpy as np
import pandas as pd

from neurofs.ground.config import LoadOptions, refuse_options
from neurofs.ground.errors import InputError, quoted
from neurofs.recordings.readers.spike_lists import split_by_channel
from neurofs.recordings.readers.variables import find_kept, has_size, is_numeric, require_name
from neurofs.recordings.recording import Series
from neurofs.recordings.words import listed, split_words

OPTIONS = split_words("name behavior behavior_file circular trials exclude_channels sort_spikes")
TIMES = "timestamps"
SERIES = ("IrregularTimeSeries", "RegularTimeSeries")
PRIVATE = ("object", "_unicode_keys", "timekeys", "allow_split_mask_overlap")
"""Attributes of the objects themselves."""

NOT_SERIES = (TIMES, "timestamp_indices_1s", "unit_index", "unit_id")


def is_torch_brain(values: dict[str, Any]) -> bool:
    """Tell whether the variables of an HDF5 file are those of a Data object with spikes."""
    return values.get("object") == "Data" and f"spikes.{TIMES}" in values


def arrange(values: dict[str, Any], options: LoadOptions, notes: list[str]) -> dict[str, Any]:
    """Return the content of a recording."""
    refuse_options(options, OPTIONS, "files of torch_brain")
    table, spikes = _read_spikes(values, options)
    kept = find_kept(table["name"], options.exclude_channels)
    return {
        "spikes": [spikes[i] for i in kept],
        "channels": table.iloc[kept].reset_index(drop=True),
        "observed": _read_observed(values),
        "behavior": _read_behavior(values, options, notes),
        "trials": _read_trials(values) if options.trials else None,
        "notes": notes,
    }


def _read_spikes(values: dict[str, Any], options: LoadOptions) -> tuple[pd.DataFrame, list[np.ndarray]]:
    """Return the table of units, and the spike times of each."""
    times, index = values[f"spikes.{TIMES}"], _get(values, "spikes.unit_index")
    if not is_numeric(index) or index.shape != times.shape or index.dtype.kind not in "iu":
        raise InputError("spikes/unit_index", "the unit of each spike", "none", "Write the file with unit_index.")
    own = _take_group(values, "units")
    ids = own.pop("id", None)
    n_units = len(ids) if ids is not None else int(index.max(initial=-1)) + 1
    if len(index) and not 0 <= index.min() <= index.max() < n_units:
        found = f"{index.min()} to {index.max()}"
        raise InputError("spikes/unit_index", f"rows of {n_units} units", found, "Correct the file.")
    names = [str(i) for i in (range(n_units) if ids is None else ids)]
    known = {name: value for name, value in own.items() if has_size(value, n_units) and np.ndim(value) == 1}
    table = pd.DataFrame({"name": names}).assign(**{n: v for n, v in known.items() if n != "name"})
    spikes = split_by_channel(times.astype(np.float64), index.astype(np.int64), n_units)
    return table, [np.sort(one) for one in spikes] if options.sort_spikes else spikes


def _read_observed(values: dict[str, Any]) -> np.ndarray | None:
    """Return when spikes were observed: the domain of the spikes, else of the file."""
    for place in ("spikes.domain", "domain"):
        start, end = _get(values, f"{place}.start"), _get(values, f"{place}.end")
        if is_numeric(start) and is_numeric(end) and start.shape == end.shape:
            return np.column_stack([start, end]).astype(np.float64)
    return None


def _read_behavior(values: dict[str, Any], options: LoadOptions, notes: list[str]) -> dict[str, Series]:
    """Return every column of numbers of every series but the spikes."""
    kinds = {name.removesuffix(".object"): v for name, v in values.items() if name.endswith(".object")}
    groups = [name for name, kind in kinds.items() if isinstance(kind, str) and kind in SERIES]
    found = {}
    for group in (group for group in groups if group != "spikes"):
        for name, value in values.items():
            key = name.removeprefix(f"{group}.")
            if not name.startswith(f"{group}.") or "." in key or key in NOT_SERIES or not is_numeric(value):
                continue
            time = _read_times(values, group, len(np.atleast_1d(value)))
            if time is not None and value.ndim in (1, 2) and len(time) == len(value):
                called = f"{group}_{key}".replace(".", "_")
                found[called] = Series(called, time, value, circular=called in options.circular)
    for option, asked in (("--behavior", options.behavior), ("--circular", options.circular)):
        for name in asked:
            require_name(name, found, option, "a series of the file")
    notes.append(f"read as a file of torch_brain, with the series {listed(map(quoted, found))}")
    return {name: series for name, series in found.items() if not options.behavior or name in options.behavior}


def _read_times(values: dict[str, Any], group: str, n_samples: int) -> np.ndarray | None:
    """Return the times of a series: its own, or those that its rate tells from the start of its domain on."""
    times, rate = _get(values, f"{group}.{TIMES}"), _get(values, f"{group}.sampling_rate")
    if is_numeric(times) and times.ndim == 1:
        return np.asarray(times, dtype=np.float64)
    start = _get(values, f"{group}.domain.start")
    if not is_numeric(rate) or rate.size != 1 or not float(rate.reshape(-1)[0]) > 0:
        return None
    first = float(start.reshape(-1)[0]) if is_numeric(start) and start.size else 0.0
    return first + np.arange(n_samples) / float(rate.reshape(-1)[0])


def _read_trials(values: dict[str, Any]) -> pd.DataFrame | None:
    """Return the trials, with whatever is known of each."""
    start = _get(values, "trials.start")
    if values.get("trials.object") != "Interval" or not is_numeric(start):
        return None
    columns = _take_group(values, "trials")
    plain = {n: v for n, v in columns.items() if has_size(v, start.size) and np.ndim(v) == 1}
    table = pd.DataFrame({{"end": "stop"}.get(n, n): v for n, v in plain.items()})
    return table[sorted(table, key=lambda name: {"start": 0, "stop": 1}.get(name, 2))]


def _take_group(values: dict[str, Any], group: str) -> dict[str, Any]:
    """Return what a group holds, without its private attributes."""
    own = {name.removeprefix(f"{group}."): v for name, v in values.items() if name.startswith(f"{group}.")}
    return {name: value for name, value in own.items() if name not in PRIVATE}


def _get(values: dict[str, Any], name: str) -> Any:
    return values.get(name)
