"""Objects in memory: spikes, behavior and trials as other libraries hold them.

    load(units, behavior={"hand_velocity": velocity}, trials=epochs)

`units` is what holds the spikes: a TsGroup of pynapple, a sorting of SpikeInterface, a Segment or Block of Neo, an
NWBFile that pynwb has opened, a DataFrame with the columns `time` and `channel`, a mapping of names to spike times; or
counts per bin: a DataFrame whose index (or column `time`), or a DataArray or Dataset of xarray whose `time`, says when
each bin begins. With `signal_unit="dF/F"` the same hold a continuous signal, and so does a TsdFrame of pynapple; a
Dataset may have a variable `signal` in place of `counts`, or one that the option of this name names.
`observed`, pairs of start and stop or an IntervalSet, says when spikes were recorded, where the object does not know.
What a Segment, an NWBFile or a Dataset hold beside the spikes is behavior and trials without being named. Libraries
are never imported here: an object that is given has been imported already.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from neurofs.ground.config import LoadOptions
from neurofs.ground.errors import InputError, UsageError, quoted
from neurofs.recordings.readers.bins import TIME_WORDS, read_bins
from neurofs.recordings.readers.csv_pairs import CHANNELS, VALUES
from neurofs.recordings.readers.object_series import (
    as_intervals,
    as_series,
    as_trials,
    find_library,
    find_time,
    find_time_column,
    find_unit,
)
from neurofs.recordings.readers.signals import as_numbers, settle_signal
from neurofs.recordings.readers.spike_lists import split_by_channel
from neurofs.recordings.readers.variables import Variables, find_kept
from neurofs.recordings.recording import TICK, Recording
from neurofs.recordings.words import listed, split_words, word

OPTIONS = split_words(
    "name trials channels exclude_channels from_time to_time where sort_spikes circular unsorted behavior_file "
    "counts_unit signal signal_unit"
)
Content = dict[str, Any]
"""Arguments of a Recording."""


def read_object(
    source: Any,
    options: LoadOptions,
    behavior: Mapping[str, Any] | None = None,
    trials: Any = None,
    observed: Any = None,
) -> Recording:
    """Return the recording that an object in memory holds, with behavior, trials and observation from others."""
    if isinstance(source, Recording):
        content = _take_apart(source) | {"source": source.source, "source_hash": source.source_hash}
    else:
        content = _find_reader(source)(source, options)
    if behavior is not None:
        if not isinstance(behavior, Mapping):
            raise UsageError("behavior: expected a mapping of names to objects, such as {'hand_velocity': velocity}")
        own = {name: as_series(str(name), item, name in options.circular) for name, item in behavior.items()}
        content["behavior"] = {**content.get("behavior", {}), **own}
    if trials is not None:
        content["trials"] = as_trials(trials)
    elif options.trials is False:
        content["trials"] = None
    if observed is not None:
        content["observed"] = as_intervals(observed)
    content = _settle_channels(content, options)
    kind = f"{type(source).__module__.split('.')[0]}.{type(source).__name__}"
    known = {"source": f"{kind} in memory", "source_hash": _hash(content)} if not content.get("source_hash") else {}
    return Recording(**(content | known | {"name": options.name or content.get("name") or kind}))


def _take_apart(recording: Recording) -> Content:
    keys = [key for key in recording.__dataclass_fields__ if key not in ("source", "source_hash")]
    return {key: getattr(recording, key) for key in keys}


def _find_reader(source: Any) -> Callable[[Any, LoadOptions], Content]:
    readers: dict[tuple[str, str], Callable[[Any, LoadOptions], Content]] = {
        ("pynapple", "TsGroup"): _read_ts_group,
        ("pynapple", "TsdFrame"): _read_tsd_frame,
        ("spikeinterface", "BaseSorting"): _read_sorting,
        ("neo", "Segment"): _read_segment,
        ("neo", "Block"): _read_segment,
        ("pynwb", "NWBFile"): _read_nwb_file,
        ("pandas", "DataFrame"): _read_frame,
        ("xarray", "DataArray"): _read_counts,
        ("xarray", "Dataset"): _read_dataset,
    }
    for (library, name), read in readers.items():
        if find_library(source, library, name):
            return read
    if isinstance(source, Mapping):
        return _read_mapping
    known = listed(f"{library}.{name}" for library, name in readers)
    raise InputError(
        f"load({type(source).__name__})", "a path, a mapping of spike times, or an object that holds spikes",
        f"{type(source).__module__}.{type(source).__name__}", f"Known: {known}.",
    )  # fmt: skip


def _settle_channels(content: Content, options: LoadOptions) -> Content:
    """Sort spikes and leave out channels, as asked."""
    if options.sort_spikes and "spikes" in content and content["spikes"] is not None:
        content = content | {"spikes": [np.sort(times) for times in content["spikes"]]}
    if not options.exclude_channels:
        return content
    kept = find_kept(content["channels"]["name"], options.exclude_channels)
    content = content | {"channels": content["channels"].iloc[kept]}
    if content.get("counts") is not None:
        return content | {"counts": content["counts"][:, kept]}
    return content | {"spikes": [content["spikes"][i] for i in kept]}


def _hash(content: Content) -> str:
    """Return a hash of the numbers: spikes, behavior, trials."""
    digest = hashlib.sha256()
    series = (content.get("behavior") or {}).items()
    parts = [*(content.get("spikes") or ()), content.get("counts"), content.get("observed")]
    parts += [part for name, s in series for part in (np.frombuffer(name.encode(), np.uint8), s.time, s.values)]
    parts += [content["trials"][["start", "stop"]].to_numpy()] if content.get("trials") is not None else []
    for part in parts:
        array = np.ascontiguousarray(part if part is not None else [])
        digest.update(f"{array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


# Spike times


def _read_mapping(source: Mapping[Any, Any], options: LoadOptions) -> Content:
    spikes = []
    for name, times in source.items():
        array = np.asarray(times)
        if array.ndim != 1 or array.dtype.kind not in "iuf":
            found = f"{type(times).__name__} of shape {array.shape}"
            raise InputError(
                f"channel '{name}'", "spike times in seconds", found, "Give one list of times per channel."
            )
        spikes.append(array.astype(np.float64))
    return {"spikes": spikes, "channels": pd.DataFrame({"name": [str(name) for name in source]})}


def _read_ts_group(source: Any, options: LoadOptions) -> Content:
    """Read the spikes of pynapple; its rates are left out, since they are computed where they are needed."""
    names = list(source.keys())
    table = pd.DataFrame(source.metadata).drop(columns="rate", errors="ignore").reset_index(drop=True)
    table = table.drop(columns="name", errors="ignore")
    table.insert(0, "name", [str(name) for name in names])
    spikes = [_own(source[name].t) for name in names]
    return {"spikes": spikes, "channels": table, "observed": _close(as_intervals(source.time_support), spikes)}


def _close(observed: np.ndarray, spikes: list[np.ndarray]) -> np.ndarray:
    """Return half-open intervals that hold all spikes of closed ones, also those at their very ends."""
    at_end = np.isin(observed[:, 1], np.concatenate([[], *spikes]))
    return observed + np.column_stack([np.zeros(len(observed)), TICK * at_end])


def _read_tsd_frame(source: Any, options: LoadOptions) -> Content:
    """Read a signal of pynapple; what is not said to be one could be counts, whose times are the middles of bins."""
    if options.signal_unit is None:
        remedy = "Give the TsGroup with the spikes; or say signal_unit='dF/F' (or whatever it is) of a signal."
        raise InputError("TsdFrame", "spikes, or a signal with its unit", "neither", remedy)
    names = [str(name) for name in source.columns]
    return _bins(source.t, source.values, names, options)


def _own(array: Any) -> np.ndarray:
    return np.array(array, dtype=np.float64)


def _read_sorting(source: Any, options: LoadOptions) -> Content:
    """Read a sorting of SpikeInterface; its properties are what is known of the channels."""
    if source.get_num_segments() != 1:
        found = f"{source.get_num_segments()} segments, each with a clock of its own"
        raise InputError("sorting", "one segment", found, "Take one: sorting.select_segments([0]).")
    units = list(source.unit_ids)
    spikes = [_own(source.get_unit_spike_train(unit, return_times=True)) for unit in units]
    table = pd.DataFrame({"name": [str(unit) for unit in units]})
    for key in source.get_property_keys():
        values = np.asarray(source.get_property(key))
        if values.ndim == 1 and key != "name":
            table[key] = values
    recording = getattr(source, "_recording", None)
    ends = (
        [recording.get_start_time(), recording.get_end_time() + 1 / recording.sampling_frequency] if recording else None
    )
    return {"spikes": spikes, "channels": table, "observed": None if ends is None else [ends]}


def _read_segment(source: Any, options: LoadOptions) -> Content:
    from neurofs.recordings.readers.neo_files import read_segments

    segments = list(source.segments) if find_library(source, "neo", "Block") else [source]
    found = read_segments(
        segments, options.model_copy(update={"channels": (), "exclude_channels": ()}), source.name or ""
    )
    return _take_apart(found)


def _read_nwb_file(source: Any, options: LoadOptions) -> Content:
    from neurofs.recordings.readers.nwb import read_open

    io = source.get_read_io()
    file = getattr(io, "_file", None)
    if file is None or not file:
        remedy = "Write it with NWBHDF5IO, and load the file; or load it before its NWBHDF5IO is closed."
        raise InputError("NWBFile", "a file that pynwb has opened", "one in memory, or closed", remedy)
    if source.modified:
        remedy = "Write it with NWBHDF5IO, and load the file."
        raise InputError("NWBFile", "the file as it was opened", "changes in memory", remedy)
    found = read_open(
        file, source.identifier, options.model_copy(update={"exclude_channels": (), "sort_spikes": False})
    )
    return _take_apart(found)


# Tables


def _read_frame(source: Any, options: LoadOptions) -> Content:
    """Read a line per spike (columns time and channel), or a line per bin and a column per channel."""
    time, channel = find_time_column(source), _find_column(source, CHANNELS)
    if time is None or channel is None:
        table = source.drop(columns=[] if time is None else [time])
        names = [".".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in table.columns]
        return _bins(find_time(source, "counts"), _as_plain(table), names, options)
    value = _find_column(source, VALUES)
    if value is not None:
        remedy = f"Turn it: table.pivot(index={time!r}, columns={channel!r}, values={value!r})."
        raise InputError("counts", "a column for each channel", f"a column {quoted(value)}", remedy)
    labels = source[channel]
    index, names = pd.factorize(labels, sort=True)
    if (index < 0).any():
        where = f"column {quoted(channel)}"
        raise InputError(where, "a channel for every spike", "a missing one", "Remove these spikes.")
    spikes = split_by_channel(find_time(source, "spikes"), index, len(names))
    known = [c for c in source.columns if c not in (time, channel) and _is_one_each(source[c], index)]
    first = pd.Series(np.arange(len(index))).groupby(index).first()
    table = source[known].iloc[first].reset_index(drop=True)
    table.insert(0, "name", [str(name) for name in names])
    return {"spikes": spikes, "channels": table}


def _find_column(table: Any, words: tuple[str, ...]) -> str | None:
    return next((name for name in table.columns if isinstance(name, str) and word(name) in words), None)


def _as_plain(table: Any) -> np.ndarray:
    """Return the values of a table, those of pandas' own kinds of numbers as floats, with NaN where one is missing."""
    numbers = len(table.columns) > 0 and all(pd.api.types.is_numeric_dtype(kind) for kind in table.dtypes)
    values = table.to_numpy()
    return table.to_numpy(dtype=np.float64, na_value=np.nan) if numbers and values.dtype.kind == "O" else values


def _is_one_each(column: Any, index: np.ndarray) -> bool:
    """Tell whether a column of a table of spikes says one thing of each channel, such as its area."""
    return bool((column.groupby(index).nunique(dropna=False) == 1).all())


def _read_counts(source: Any, options: LoadOptions) -> Content:
    """Read counts or a signal of xarray, on the dimensions time and one more, which names the channels."""
    time_dims = [str(dim) for dim in source.dims if word(str(dim)) in TIME_WORDS]
    if len(time_dims) != 1 or source.ndim != 2:
        raise InputError("counts", "the dimensions time and channel", listed(source.dims), "Rename or choose them.")
    counts = source.transpose(time_dims[0], ...)
    other = counts.dims[1]
    names = [str(name) for name in counts[other].values] if other in counts.coords else None
    unit = str(source.attrs.get("units", source.attrs.get("unit", "")))
    known = {str(key): c.values for key, c in counts.coords.items() if c.dims == (other,) and key != other}
    names = names or [str(i) for i in range(counts.shape[1])]
    is_signal = options.signal is not None or source.name == "signal"
    time = find_time(counts, "counts")
    return _bins(time, counts.values, names, options, unit, known, "signal" if is_signal else "counts")


def _read_dataset(source: Any, options: LoadOptions) -> Content:
    """Read a Dataset: `counts`, or `spike_times` with a coordinate `spike_channel`; the rest is behavior."""
    name = options.signal or ("counts" if "counts" in source else "signal")
    if name in source:
        content = _read_counts(source[name], options)
    elif "spike_times" in source and "spike_channel" in source:
        times = source["spike_times"].values * find_unit(source["spike_times"])
        pairs = {"time": times, "channel": source["spike_channel"].values}
        content = _read_frame(pd.DataFrame(pairs), options)
    else:
        remedy = "Name the counts so, or give the DataArray that holds them."
        expected = "counts, a signal, or spike_times and spike_channel"
        raise InputError("Dataset", expected, listed(source.data_vars), remedy)
    of_trials = source["trial_start"].dims if "trial_start" in source and "trial_stop" in source else None
    if of_trials is not None and options.trials:
        columns = {str(n): x.values for n, x in source.variables.items() if x.dims == of_trials}
        columns |= {n: columns[n] * find_unit(source[n]) for n in ("trial_start", "trial_stop")}
        names = {"trial_start": "start", "trial_stop": "stop"}
        content["trials"] = as_trials(pd.DataFrame({names.get(n, n): x for n, x in columns.items()}))
    taken = (name, "spike_times", "spike_channel")
    others = {str(n): x for n, x in source.data_vars.items() if n not in taken and x.dims != of_trials}
    behavior = {n: as_series(n, x, n in options.circular) for n, x in others.items() if _is_behavior(x)}
    return content | {"behavior": behavior}


def _is_behavior(item: Any) -> bool:
    return 1 <= item.ndim <= 2 and item.dims[0] in item.coords and item.dtype.kind in "iuf"


def _bins(
    time: np.ndarray,
    values: Any,
    names: list[str],
    options: LoadOptions,
    unit: str = "",
    known: Mapping[str, Any] | None = None,
    name: str = "counts",
) -> Content:
    """Return counts, or a signal, on bins that begin at these times; rates are turned into counts, or refused."""
    values = np.asarray(values)
    if values.dtype.kind not in "biuf":
        raise InputError(name, "numbers", f"{values.dtype}", "Leave out columns that are no channels.")
    given = {key: getattr(options, key) for key in ("counts_unit", "signal_unit")}
    given["signal"] = name if name == "signal" else None
    v = Variables({name: values, f"{name}_unit": unit, "time": time}, LoadOptions(**given, time_unit="s"))
    table = pd.DataFrame({"name": names}).assign(**(known or {}))
    if name == "signal" or options.signal_unit is not None:
        bins = read_bins(v, len(values), sampled=True)
        numbers, unit = as_numbers(v, name, values, bins.width)
        content = {"counts": bins.fill_gaps(numbers), "bin_width": bins.width, "start": bins.start}
        content |= {"unit": unit, "observed": bins.observed, "channels": table}
        return settle_signal(content, v.note) | {"notes": v.notes, "remarks": v.remarks}
    width = _find_width(time)
    numbers, unit = as_numbers(v, name, values, width)
    content = {"counts": numbers, "unit": unit, "bin_width": width, "start": float(time[0]), "channels": table}
    return content | {"notes": v.notes, "remarks": v.remarks}


def _find_width(time: np.ndarray) -> float:
    """Return the width of bins that begin at these times, which must be regular."""
    steps = np.diff(time)
    if not len(steps) or not np.allclose(steps, steps[0], rtol=0, atol=1e-6 * max(abs(steps[0]), 1e-3)):
        found = "one bin" if not len(steps) else f"from {steps.min():g} to {steps.max():g} s apart"
        raise InputError("counts", "regular bins in seconds", found, "Reindex them, with every bin in its place.")
    return round(float(time[-1] - time[0]) / (len(time) - 1), 9)
