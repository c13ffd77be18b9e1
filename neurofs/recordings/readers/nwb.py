"""NWB 2 files, read with h5py alone.

Read are the units with their spike times, observation intervals and plain columns; the electrodes they sit on; in a
file without units, counts or a continuous signal (`readers.nwb_signals`); every time series of ``processing`` and
``acquisition`` that could be behavior; and the trials. Whatever
else the file holds, extensions included, does not matter.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd

from neurofs.ground.config import LoadOptions, refuse_options
from neurofs.ground.errors import InputError, printable, quoted
from neurofs.ground.files import hash_file
from neurofs.recordings.defects import MOST_COLUMNS
from neurofs.recordings.readers.amplitudes import WORDS, divide_by_amplitude
from neurofs.recordings.readers.bins import seconds_per_unit
from neurofs.recordings.readers.counts import read_counts
from neurofs.recordings.readers.h5files import (
    LeavesFile,
    as_text,
    children,
    get_child,
    has_child,
    open_h5,
    read_array,
    where_in,
)
from neurofs.recordings.readers.nwb_signals import SIGNALS, VOLTAGE, choose_signal, read_signal
from neurofs.recordings.readers.nwb_tables import plain_columns, read_trials
from neurofs.recordings.readers.variables import Variables, find_kept, require_name
from neurofs.recordings.recording import Recording, Series
from neurofs.recordings.words import listed, split_words, word

OPTIONS = split_words(
    "name behavior behavior_file circular trials exclude_channels sort_spikes time_unit sampling_rate "
    "counts counts_unit counts_bin_width signal signal_unit amplitudes amplitude_bands"
)

NOT_BEHAVIOR = split_words(
    "ElectricalSeries SpikeEventSeries DecompositionSeries ImageSeries ImageMaskSeries IndexSeries OpticalSeries "
    "OnePhotonSeries TwoPhotonSeries RoiResponseSeries PatchClampSeries CurrentClampSeries VoltageClampSeries"
)
"""Series types of the NWB core that hold signals or pictures, not behavior."""

NOT_READ = tuple(kind for kind in NOT_BEHAVIOR if kind not in SIGNALS)
"""Those that are not read as signals unless they are named: raw voltage, and pictures."""

PICTURES = tuple(kind for kind in NOT_READ if kind != VOLTAGE)

COUNTS = re.compile(r"(spike|bin)[a-z]*[_ ]?(count|spike)|counts$|^tx$|threshold_?crossing", re.IGNORECASE)
"""How series of counts are called in files without units."""

MASK = "eval_mask"
"""A series that says which samples are to be evaluated."""

DAMAGED = "The file is damaged; write it again."


def read(path: Path, options: LoadOptions) -> Recording:
    """Read an NWB file."""
    with open_h5(path) as file:
        return read_open(file, path.stem, options, path.name, hash_file(path))


def read_open(
    file: h5py.File, name: str, options: LoadOptions, source: str = "", source_hash: str = "", known: Sequence[str] = ()
) -> Recording:
    """Read an NWB file that is open; `name` is that of a session without one, `known` are notes so far."""
    refuse_options(options, OPTIONS, "NWB files")
    _check_version(file)
    notes = list(known)
    binned = _find_binned(file, options)
    content = _read_units(file, options, notes) if binned is None else _read_binned(*binned, options, notes)
    return Recording(
        name=options.name or name,
        behavior=_read_behavior(file, options, notes, binned[0] if binned else ""),
        trials=read_trials(file, notes) if options.trials else None,
        source=source,
        source_hash=source_hash,
        notes=notes,
        **content,
    )


def _read_units(file: h5py.File, options: LoadOptions, notes: list[str]) -> dict[str, Any]:
    units = _get_units(file)
    seconds = seconds_per_unit(options.time_unit, options.sampling_rate)
    spikes = _read_spikes(units, seconds, options.sort_spikes, notes)
    channels = _read_channels(file, units, len(spikes))
    kept = find_kept(channels["name"], options.exclude_channels)
    channels = channels.iloc[kept].reset_index(drop=True)
    observed = _read_observed(units, channels, kept, notes)
    content = {"spikes": [spikes[i] for i in kept], "channels": channels, "observed": observed}
    if options.amplitude_bands is None:
        return content
    sizes = _read_amplitudes(units, options)
    return divide_by_amplitude(content, [sizes[i] for i in kept], options.amplitude_bands, notes.append)


def _read_amplitudes(units: h5py.Group, options: LoadOptions) -> list[np.ndarray]:
    """Return the ragged column with the amplitude of each spike."""
    names = [name for name in units if has_child(units, f"{name}_index")]
    found = options.amplitudes or next((name for name in names if word(name) in WORDS), None)
    if found is None or found not in names:
        remedy = f"Name one of these with --amplitudes: {listed(names)}."
        raise InputError(where_in(units), "a column with the amplitude of each spike", found or "none", remedy)
    return _ragged(units, found) or []


def _check_version(file: h5py.File) -> None:
    version = as_text(file.attrs.get("nwb_version", ""))
    if not version:
        remedy = "If it is plain HDF5, give it the ending .h5."
        raise InputError("content", "an NWB 2 file", "one without nwb_version", remedy)
    if version.startswith(("1", "NWB-1")):
        raise InputError("content", "an NWB 2 file", f"version {version}", "Convert it to NWB 2 first.")


def _get_units(file: h5py.File) -> h5py.Group:
    units = get_child(file, "units")
    if not isinstance(units, h5py.Group):
        voltage = [
            g.name for g in _find_series(file, PICTURES) if as_text(g.attrs.get("neurodata_type", "")) == VOLTAGE
        ]
        named = f" {_short_names(voltage)[0]} --bands 13-30,70-150" if voltage else ""
        remedy = (
            f"The file has no sorted spikes; a series is named with --counts, or --signal{named} if it is continuous."
        )
        raise InputError("/units", "a table of units", "none", remedy)
    return units


# Counts and signals


def _find_binned(file: h5py.File, options: LoadOptions) -> tuple[str, h5py.Group] | None:
    """Return the series that the user names or, in a file without units, the one of counts or of a signal."""
    if options.counts and options.signal:
        raise InputError("--counts and --signal", "one of the two", "both", "Leave one out.")
    groups = list(_find_series(file, PICTURES if options.signal else NOT_READ))
    series = dict(zip(_short_names([group.name for group in groups]), groups, strict=True))
    for key in ("counts", "signal"):
        name = getattr(options, key)
        if name is not None:
            return name, series[require_name(name, series, f"--{key}", "a series of the file")]
    if get_child(file, "units") is not None:
        return None
    called = {name: get_child(group, "data") for name, group in series.items() if COUNTS.search(name)}
    found = [name for name, data in called.items() if getattr(data, "ndim", 0) == 2]
    if len(found) > 1:
        remedy = "Choose with --counts."
        raise InputError("series", "one of counts", f"{quoted(found[0])} and {quoted(found[1])}", remedy)
    name = found[0] if found else choose_signal(series)
    return None if name is None else (name, series[name])


def _read_binned(name: str, group: h5py.Group, options: LoadOptions, notes: list[str]) -> dict[str, Any]:
    """Return counts per bin, or a signal, from a series; its times are the beginnings of the bins."""
    is_signal = options.signal is not None or options.signal_unit is not None
    if is_signal or (options.counts is None and as_text(group.attrs.get("neurodata_type", "")) in SIGNALS):
        times = _read_times(group, len(get_child(group, "data")))
        return read_signal(name, group, times, options, notes)
    data = get_child(group, "data")
    numbers, unit = read_array(data, where_in(group, "data")), as_text(data.attrs.get("unit", ""))
    values = {name: numbers, f"{name}_unit": unit, "time": _read_times(group, len(numbers))}
    given = {"counts": name, "orientation": "time-by-channel", "time": "time"}
    given |= {key: getattr(options, key) for key in ("counts_unit", "counts_bin_width")}
    v = Variables(values, LoadOptions(**given), notes)
    counts, bins, unit = read_counts(v, v.use(name))
    kept = find_kept([str(i) for i in range(counts.shape[1])], options.exclude_channels)
    notes[:] = [*v.notes, f"counts: taken from the series {quoted(name)}"]
    return {
        "counts": bins.fill_gaps(counts)[:, kept],
        "unit": unit,
        "bin_width": bins.width,
        "start": bins.start,
        "observed": bins.observed,
        "channels": pd.DataFrame({"name": [str(i) for i in kept]}),
        "remarks": v.remarks,
    }


# Units


def _read_spikes(units: h5py.Group, seconds: float, sort: bool, notes: list[str]) -> list[np.ndarray]:
    times = _ragged(units, "spike_times")
    if times is None:
        found = ", ".join(printable(name) for name in units) or "nothing"
        raise InputError(where_in(units), "a column spike_times", found, "The file has no spike times.")
    if seconds != 1.0:
        times = [t * seconds for t in times]
        notes.append(f"spike times: multiplied by {seconds:g} to make seconds")
    unsorted = sum(bool(np.any(t[1:] < t[:-1])) for t in times) if sort else 0
    if unsorted:
        times = [np.sort(t) for t in times]
        notes.append(f"spike times: {unsorted} units sorted, as asked")
    return times


def _ragged(table: h5py.Group, name: str) -> list[np.ndarray] | None:
    """Return a ragged column as one array per row, without a copy; None if the table has no such column."""
    values, index = get_child(table, name), get_child(table, f"{name}_index")
    if values is None:
        return None
    if index is None:
        raise InputError(where_in(table, f"{name}_index"), "the index of a ragged column", "none", DAMAGED)
    flat = read_array(values, where_in(table, name)).astype(np.float64, copy=False)
    stops = read_array(index, where_in(table, f"{name}_index")).astype(np.int64)
    if not flat.ndim or stops.ndim != 1:
        found = f"values of shape {flat.shape} and an index of shape {stops.shape}"
        raise InputError(where_in(table, name), "a ragged column", found, DAMAGED)
    starts = np.concatenate([[0], stops])[:-1]
    if len(stops) and (np.any(stops < starts) or stops[-1] != len(flat)):
        found = (
            f"an index that ends at {stops[-1]} of {len(flat)} values" if np.all(stops >= starts) else "one that falls"
        )
        raise InputError(where_in(table, f"{name}_index"), "an index that rises to the end", found, DAMAGED)
    return [flat[a:b] for a, b in zip(starts, stops, strict=True)]


def _read_channels(file: h5py.File, units: h5py.Group, n_units: int) -> pd.DataFrame:
    """Return the plain columns of the units, and of the first electrode of each."""
    table = plain_columns(units, n_units, skip={"spike_times", "obs_intervals", "electrodes"})
    table.insert(0, "name", _name_units(units, table))
    if "unit_name" in table and table["unit_name"].is_unique:
        del table["unit_name"]
    electrode = _ragged(units, "electrodes") if get_child(units, "electrodes_index") is not None else None
    if electrode is not None and len(electrode) == n_units:
        first = pd.array([_whole_number(e) for e in electrode], dtype="Int64")
        table.insert(1, "electrode", first)
        table = _join_electrodes(file, table)
    return table


def _name_units(units: h5py.Group, table: pd.DataFrame) -> list[str]:
    """Return the names of units: their own if they are unique, else their ids."""
    ids, n_units = get_child(units, "id"), len(table)
    names = np.atleast_1d(read_array(ids, where_in(units, "id"))) if ids is not None else np.arange(n_units)
    if len(names) != n_units:
        raise InputError(where_in(units, "id"), f"{n_units} ids, one per unit", len(names), DAMAGED)
    own = "unit_name" in table and table["unit_name"].is_unique
    return [str(name) for name in (table["unit_name"] if own else names)]


def name_units(units: h5py.Group) -> list[str]:
    """Return the names that channels get from a table of units, in its order."""
    spikes = _ragged(units, "spike_times") or []
    return _name_units(units, plain_columns(units, len(spikes), skip={"spike_times", "obs_intervals", "electrodes"}))


def _whole_number(values: np.ndarray) -> Any:
    """Return the first of some numbers; missing if there is none, or one that counts nothing."""
    return int(values[0]) if values.size and values.ndim == 1 and abs(values[0]) < 2**53 else pd.NA


def _join_electrodes(file: h5py.File, table: pd.DataFrame) -> pd.DataFrame:
    try:
        group = get_child(file, "general/extracellular_ephys/electrodes")
        ids = get_child(group, "id") if isinstance(group, h5py.Group) else None
    except LeavesFile:
        return table
    if ids is None:
        return table
    electrodes = plain_columns(group, read_array(ids, where_in(group, "id")).size, skip=set())
    wanted = [c for c in electrodes if c not in table]
    rows = table["electrode"].to_numpy(dtype=float, na_value=np.nan)
    known = np.isfinite(rows) & (rows >= 0) & (rows < len(electrodes))
    joined = electrodes[wanted].reindex(np.where(known, rows, -1).astype(int)).reset_index(drop=True)
    return pd.concat([table, joined], axis=1)


# Observation


def _read_observed(units: h5py.Group, channels: pd.DataFrame, kept: list[int], notes: list[str]) -> np.ndarray | None:
    """Return the intervals in which every unit was observed; None if the file does not say."""
    values = get_child(units, "obs_intervals")
    if values is None or not kept:
        notes.append("observed: the file does not say when; taken from the first to the last spike")
        return None
    parts = _ragged(units, "obs_intervals") or []
    if values.shape[1:] != (2,) or len(parts) <= max(kept):
        found = f"{len(parts)} units, values of shape {values.shape}"
        raise InputError(where_in(units, "obs_intervals"), "start and stop times of each unit", found, DAMAGED)
    parts = [parts[i] for i in kept]
    durations = np.array([float(np.sum(p[:, 1] - p[:, 0])) for p in parts])
    distinct = {p.tobytes(): p for p in parts}
    observed = _intersect(list(distinct.values()))
    total = float(np.sum(observed[:, 1] - observed[:, 0]))
    if len(distinct) > 1:
        channels["observed_seconds"] = durations
        notes.append(f"observed: the {total:.1f} s in which all units were (each alone up to {durations.max():.1f} s)")
    if total < 0.5 * durations.max():
        worst = channels["name"].iloc[int(np.argmin(durations))]
        remedy = "Leave such units out with --exclude-channels."
        found = f"{total:.1f} s; unit {worst} was observed for {durations.min():.1f} s"
        expected = f"at least half of {durations.max():.1f} s observed in all units"
        raise InputError(where_in(units, "obs_intervals"), expected, found, remedy)
    return observed


def _intersect(sets: list[np.ndarray]) -> np.ndarray:
    """Return the intervals common to all sets of sorted intervals."""
    edges = np.concatenate([np.column_stack([s[:, i], np.full(len(s), 1 - 2 * i)]) for s in sets for i in (0, 1)])
    edges = edges[np.lexsort((edges[:, 1], edges[:, 0]))]  # where one ends as another begins, the end comes first
    depth = np.cumsum(edges[:, 1])
    begins = np.flatnonzero(depth[:-1] == len(sets))
    common = np.column_stack([edges[begins, 0], edges[begins + 1, 0]])
    return common[common[:, 1] > common[:, 0]]


# Behavior


def _read_behavior(file: h5py.File, options: LoadOptions, notes: list[str], counts: str = "") -> dict[str, Series]:
    """Return the series that may be behavior, without those that hold the counts or say what counts."""
    groups = list(_find_series(file))
    names = _short_names([group.name for group in groups])
    for option, asked in (("--behavior", options.behavior), ("--circular", options.circular)):
        for name in asked:
            require_name(name, names, option, "a series of the file")
    wanted = options.behavior or [name for name in names if name not in (counts, MASK)]
    behavior = {}
    for name, group in zip(names, groups, strict=True):
        if name in wanted:
            series = _read_series(name, group, name in options.circular, notes)
            if series is not None:
                behavior[name] = series
    mask = _read_series(MASK, groups[names.index(MASK)], False, notes) if MASK in names else None
    return {name: _apply_mask(series, mask, notes) for name, series in behavior.items()} if mask else behavior


def _apply_mask(series: Series, mask: Series, notes: list[str]) -> Series:
    """Return a series without the samples that the file leaves out of every evaluation."""
    if not np.array_equal(series.time, mask.time):
        notes.append(f"series {quoted(series.name)}: {MASK} has other times and is not applied to it")
        return series
    kept = mask.values[:, 0] > 0
    notes.append(f"series {quoted(series.name)}: {int((~kept).sum())} of {len(kept)} samples left out by {MASK}")
    return replace(series, values=np.where(kept[:, None], series.values, np.nan))


def read_behavior_and_trials(
    path: Path, options: LoadOptions, notes: list[str]
) -> tuple[dict[str, Series], pd.DataFrame | None]:
    """Return the behavior and the trials of a file that may have no units."""
    with open_h5(path) as file:
        _check_version(file)
        return _read_behavior(file, options, notes), read_trials(file, notes) if options.trials else None


def _find_series(file: h5py.File, leave_out: Sequence[str] = NOT_BEHAVIOR) -> Iterator[h5py.Group]:
    """Yield the groups that hold a time series which could be behavior, or counts, or a signal."""
    for top in ("processing", "acquisition"):
        group = get_child(file, top)
        if isinstance(group, h5py.Group):
            yield from _walk(group, leave_out, depth=0, seen=set())


def _walk(group: h5py.Group, leave_out: Sequence[str], depth: int, seen: set[int]) -> Iterator[h5py.Group]:
    """Yield the time series in a group, each once, though links may go round in circles."""
    place = h5py.h5o.get_info(group.id).addr
    if place in seen:
        return
    seen.add(place)
    for _, child in children(group):
        if not isinstance(child, h5py.Group) or as_text(child.attrs.get("neurodata_type", "")) in leave_out:
            continue
        if has_child(child, "data") and (has_child(child, "timestamps") or has_child(child, "starting_time")):
            yield child
        elif depth < 4:
            yield from _walk(child, leave_out, depth + 1, seen)


def _short_names(paths: list[str]) -> list[str]:
    """Return for each path its shortest end that no other path shares.

    >>> _short_names(["/acquisition/Position/x", "/acquisition/Position/y", "/processing/behavior/Eye/x"])
    ['Position/x', 'y', 'Eye/x']
    """
    ends = [_list_ends(path) for path in paths]
    times = Counter(end for own in ends for end in own)
    return [next(end for end in own if times[end] == 1) for own in ends]


def _list_ends(path: str) -> list[str]:
    parts = path.strip("/").split("/")
    return ["/".join(parts[i:]) for i in range(len(parts) - 1, -1, -1)]


def _read_series(name: str, group: h5py.Group, circular: bool, notes: list[str]) -> Series | None:
    data = get_child(group, "data")
    if not isinstance(data, h5py.Dataset) or data.dtype.kind not in "biuf" or data.ndim not in (1, 2):
        notes.append(f"series '{name}': left out, not a table of numbers")
        return None
    if data.ndim == 2 and data.shape[1] > MOST_COLUMNS:
        notes.append(f"series '{name}': left out, {data.shape[1]:,} columns are no behavior")
        return None
    values = read_array(data).astype(np.float64)
    values = values * _number_attribute(data, "conversion", 1.0) + _number_attribute(data, "offset", 0.0)
    unit = as_text(data.attrs.get("unit", ""))
    in_compass = as_text(group.parent.attrs.get("neurodata_type", "")) == "CompassDirection"
    circular = circular or (in_compass and unit.lower().startswith(("rad", "deg")))
    if circular and unit.lower().startswith("deg"):
        values, unit = np.deg2rad(values), "radian"
        notes.append(f"series '{name}': degrees turned into radians")
    time = _read_times(group, len(values))
    if len(time) != len(values):
        found = f"{len(time)} timestamps for {len(values)} samples"
        raise InputError(where_in(group), "one timestamp per sample", found, DAMAGED)
    return Series(name, time, values, (), unit, circular)


def _read_times(group: h5py.Group, n_samples: int) -> np.ndarray:
    timestamps = get_child(group, "timestamps")
    if timestamps is not None:
        return read_array(timestamps, where_in(group, "timestamps")).astype(np.float64, copy=False)
    start = get_child(group, "starting_time")
    first = read_array(start, where_in(group, "starting_time"))
    rate = _number_attribute(start, "rate", 0.0)
    if not 0 < rate < np.inf or np.ndim(first) > 0:
        found = f"rate {rate:g}, start of shape {np.shape(first)}"
        raise InputError(where_in(group, "starting_time"), "a time and a rate above 0 Hz", found, "Correct the file.")
    return float(first) + np.arange(n_samples) / rate


def _number_attribute(dataset: h5py.Dataset, name: str, default: float) -> float:
    value = np.asarray(dataset.attrs.get(name, default))
    if value.size != 1 or value.dtype.kind not in "biuf":
        where = f"{where_in(dataset)}, attribute {name}"
        raise InputError(where, "a number", as_text(value), "Correct it in the file.")
    return float(value.reshape(-1)[0])
