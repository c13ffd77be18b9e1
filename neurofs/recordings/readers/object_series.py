"""Behavior and trials that other libraries hold in memory."""

from typing import Any

import numpy as np
import pandas as pd

from neurofs.ground.errors import InputError, quoted
from neurofs.recordings.readers.tables import UNITS, find_time as find_time_name, split_unit
from neurofs.recordings.recording import Series
from neurofs.recordings.words import listed

STARTS, STOPS = ("start", "start_time"), ("stop", "stop_time", "end", "end_time")


def find_library(item: Any, library: str, name: str) -> bool:
    """Tell whether an object is of a class of this library, or of one derived from it; nothing is imported.

    >>> find_library(pd.DataFrame(), "pandas", "DataFrame")
    True
    """
    return any(kind.__name__ == name and kind.__module__.split(".")[0] == library for kind in type(item).__mro__)


def as_series(name: str, item: Any, circular: bool = False) -> Series:
    """Return behavior as a Series; times are in seconds, on the clock of the spikes.

    >>> as_series("speed", pd.Series([1.0, 2.0], index=[0.0, 0.1])).rate
    10.0
    """
    if isinstance(item, Series):
        return item
    time, values, columns, unit = _take_apart(name, item)
    values = np.asarray(values, dtype=np.float64)
    named = tuple(str(c) for c in columns) if columns is not None and values.ndim == 2 and values.shape[1] > 1 else ()
    return Series(name, np.array(time, dtype=np.float64), np.array(values), named, unit, circular)


def _take_apart(name: str, item: Any) -> tuple[Any, Any, Any, str]:
    """Return times, values, names of columns (None: they have none) and the unit."""
    if any(find_library(item, "pynapple", kind) for kind in ("Tsd", "TsdFrame")):
        columns = getattr(item, "columns", None)
        return item.t, item.values, None if _are_numbers(columns) else columns, ""
    if find_library(item, "pandas", "Series") or find_library(item, "pandas", "DataFrame"):
        column = find_time_column(item)
        kept = item if column is None else item.drop(columns=column)
        return find_time(item, name), kept.to_numpy(dtype=np.float64), getattr(kept, "columns", None), ""
    if find_library(item, "xarray", "DataArray"):
        other = item.dims[1] if item.ndim == 2 else None
        columns = item[other].values if other in item.coords else None
        return find_time(item, name), item.values, columns, str(item.attrs.get("units", item.attrs.get("unit", "")))
    if find_library(item, "neo", "AnalogSignal") or find_library(item, "neo", "IrregularlySampledSignal"):
        return item.times.rescale("s").magnitude, item.magnitude, None, str(item.dimensionality)
    if find_library(item, "pynwb", "TimeSeries"):
        values = np.asarray(item.data, dtype=np.float64) * (item.conversion or 1.0) + (item.offset or 0.0)
        return _nwb_times(item), values, None, str(item.unit or "")
    raise InputError(
        f"behavior '{name}'",
        "a Series of neurofs or pandas, a DataFrame, Tsd, TsdFrame, DataArray, AnalogSignal or TimeSeries",
        f"{type(item).__module__}.{type(item).__name__}",
        "Give neurofs.Series(name, time, values).",
    )


def _are_numbers(columns: Any) -> bool:
    """Tell whether columns are merely numbered, as pynapple does where they have no names."""
    return columns is None or all(isinstance(c, int | np.integer) for c in columns)


def _nwb_times(item: Any) -> np.ndarray:
    if item.timestamps is not None:
        return np.asarray(item.timestamps, dtype=np.float64)
    return float(item.starting_time) + np.arange(len(item.data)) / float(item.rate)


def find_time(item: Any, name: str) -> np.ndarray:
    """Return the times, in seconds, of a table of pandas (its column `time`, else its index) or an array of xarray."""
    if find_library(item, "xarray", "DataArray"):
        if item.dims[0] not in item.coords:
            raise InputError(f"'{name}'", "times on its first dimension", "none", f"Add a coordinate {item.dims[0]}.")
        times, unit = item[item.dims[0]].values, find_unit(item[item.dims[0]])
    else:
        column = find_time_column(item)
        times, unit = np.asarray(item.index if column is None else item[column]), 1.0
        unit = (split_unit(column)[1] or 1.0) if column is not None else 1.0
        if column is None and isinstance(item.index, pd.RangeIndex) and item.index.step == 1:
            found, remedy = "row numbers", "Make the time of each row the index, or a column time."
            raise InputError(f"'{name}'", "times in seconds", found, remedy)
    if times.dtype.kind not in "iuf":
        found = f"{times.dtype}"
        raise InputError(f"'{name}'", "times in seconds", found, "Take seconds since the beginning of the recording.")
    return np.asarray(times, dtype=np.float64) * unit


def find_time_column(table: Any) -> str | None:
    """Return the column of a table of pandas that has times, whatever unit its name states."""
    return find_time_name([c for c in table.columns if isinstance(c, str)]) if table.ndim == 2 else None


def find_unit(times: Any) -> float:
    """Return how many seconds the unit is that an array of xarray states for its times.

    >>> import xarray as xr
    >>> find_unit(xr.DataArray([0, 50], attrs={"units": "ms"}))
    0.001
    """
    unit = str(times.attrs.get("units", times.attrs.get("unit", "")))
    known = UNITS.get(unit.split(" since ")[0].strip().lower()) if unit else 1.0
    if known is None:
        remedy = "Take seconds since the beginning of the recording."
        raise InputError(quoted(str(times.name)), "times in seconds", f"the unit {quoted(unit)}", remedy)
    return known


def as_trials(item: Any) -> pd.DataFrame:
    """Return trials as a table with start, stop and whatever else is known of each.

    >>> as_trials(pd.DataFrame({"start_time": [0.0], "end": [1.0], "side": ["left"]})).columns.tolist()
    ['start', 'stop', 'side']
    """
    if find_library(item, "neo", "Epoch"):
        starts = item.times.rescale("s").magnitude
        stops = starts + item.durations.rescale("s").magnitude
        return pd.DataFrame({"start": starts, "stop": stops, "label": [str(label) for label in item.labels]})
    if find_library(item, "pynapple", "IntervalSet"):
        table = item.as_dataframe()
    elif find_library(item, "pynwb", "TimeIntervals"):
        table = item.to_dataframe()
    elif find_library(item, "pandas", "DataFrame"):
        table = item
    else:
        found = f"{type(item).__module__}.{type(item).__name__}"
        remedy = "Give a DataFrame with the columns start and stop, in seconds."
        raise InputError("trials", "a DataFrame, IntervalSet, Epoch or TimeIntervals", found, remedy)
    names = [next((name for name in known if name in table), None) for known in (STARTS, STOPS)]
    if None in names:
        found = listed(table.columns)
        raise InputError("trials", "columns start and stop", found, "Name them so.")
    table = table.rename(columns=dict(zip(names, ("start", "stop"), strict=True))).reset_index(drop=True)
    plain = [c for c in table if table[c].map(np.ndim).eq(0).all()]
    return table[["start", "stop", *(c for c in plain if c not in ("start", "stop"))]]


def as_intervals(item: Any) -> np.ndarray:
    """Return starts and stops as an array (n, 2), from an IntervalSet of pynapple or from pairs of numbers."""
    if find_library(item, "pynapple", "IntervalSet"):
        return np.column_stack([item.start, item.end])
    try:
        pairs = np.asarray(item, dtype=np.float64)
    except (TypeError, ValueError):
        pairs = np.empty(1)
    if pairs.size % 2:
        found, remedy = f"{type(item).__name__}", "Give pairs of numbers, or an IntervalSet."
        raise InputError("observed", "starts and stops in seconds", found, remedy)
    return pairs.reshape(-1, 2)
