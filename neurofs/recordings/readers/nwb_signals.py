"""Continuous signals of NWB files: responses of ROIs (dF/F, fluorescence), and the power of bands.

A file without units that holds one of them is read as such; beside units it is named with --signal. Where there are
several, dF/F goes before raw fluorescence, and what is left is named with --signal, as is voltage (LFP).
"""

from collections.abc import Iterator
from typing import Any

import h5py
import numpy as np
import pandas as pd

from neurofs.ground.config import LoadOptions
from neurofs.ground.errors import InputError, quoted
from neurofs.recordings.readers.counts import read_counts
from neurofs.recordings.readers.h5files import as_text, children, follow, get_child, read_array, read_text, where_in
from neurofs.recordings.readers.nwb_tables import plain_columns
from neurofs.recordings.readers.signals import ARBITRARY, DFF, settle_signal
from neurofs.recordings.readers.variables import Variables, find_kept
from neurofs.recordings.remarks import Remark

ROIS, BANDS, VOLTAGE = "RoiResponseSeries", "DecompositionSeries", "ElectricalSeries"
SIGNALS = (ROIS, BANDS)
"""Types of the NWB core that hold one continuous signal per channel."""

SCALE = (("conversion", 1.0), ("offset", 0.0))
"""Attributes that turn stored numbers into those of the unit."""

NO_UNIT = ("", "n.a.", "n/a", "na", "none", "unknown", "lumens", "-", "no unit", "arbitrary")
"""What files write where a signal has no unit; lumens is the default of old versions of pynwb."""


def choose_signal(series: dict[str, h5py.Group]) -> str | None:
    """Return the one series by name that holds a signal, None if there is none; refuse to choose among several."""
    found = {name: group for name, group in series.items() if _type_of(group) in SIGNALS}
    first = [name for name, group in found.items() if _type_of(group.parent) == "DfOverF"]
    names = first or list(found)
    if len(names) > 1:
        found_names = f"{quoted(names[0])} and {quoted(names[1])}"
        raise InputError("series", "one of a signal", found_names, "Choose with --signal.")
    return names[0] if names else None


def read_signal(
    name: str, group: h5py.Group, times: np.ndarray, options: LoadOptions, notes: list[str]
) -> dict[str, Any]:
    """Return a signal from a series; each sample lasts from its own time to that of the next one."""
    data = get_child(group, "data")
    numbers = read_array(data, where_in(group, "data"))
    conversion, offset = (float(np.asarray(data.attrs.get(key, usual)).reshape(-1)[0]) for key, usual in SCALE)
    numbers = numbers if (conversion, offset) == (1.0, 0.0) else numbers * conversion + offset
    table = _describe(group, numbers.shape[1:])
    numbers = numbers.reshape(len(numbers), -1)
    values = {name: numbers, "time": times}
    unit = options.signal_unit or _find_unit(group, data)
    given = {"signal": name, "signal_unit": unit, "orientation": "time-by-channel", "time": "time"}
    v = Variables(values, LoadOptions(**given, counts_bin_width=options.counts_bin_width), notes)
    counts, bins, unit = read_counts(v, v.use(name))
    kept = find_kept(table["name"], options.exclude_channels)
    content = {
        "counts": bins.fill_gaps(counts)[:, kept],
        "unit": unit,
        "bin_width": bins.width,
        "start": bins.start,
        "observed": bins.observed,
        "channels": table.iloc[kept].reset_index(drop=True),
        "remarks": list(_remark(group)),
    }
    content = settle_signal(content, v.note)
    notes[:] = v.notes
    return content


def _type_of(group: h5py.Group) -> str:
    return as_text(group.attrs.get("neurodata_type", ""))


def _find_unit(group: h5py.Group, data: h5py.Dataset) -> str:
    """Return the unit of a signal, with what was measured of a band."""
    unit = as_text(data.attrs.get("unit", "")).strip()
    unit = unit if unit.lower() not in NO_UNIT else DFF if _type_of(group.parent) == "DfOverF" else ARBITRARY
    metric = _metric(group)
    return f"{metric} ({unit})" if metric else unit


def _metric(group: h5py.Group) -> str:
    metric = get_child(group, "metric")
    return str(read_text(metric)[()]) if isinstance(metric, h5py.Dataset) and metric.shape == () else ""


def _remark(group: h5py.Group) -> Iterator[Remark]:
    if "phase" in _metric(group).lower():
        yield Remark("the signal is a phase: it wraps around, and means over a bin mislead", serious=True)


# What is known of the channels


def _describe(group: h5py.Group, shape: tuple[int, ...]) -> pd.DataFrame:
    """Return the table of channels: ROIs, electrodes, or each band of each electrode."""
    n = shape[0] if shape else 1
    region, column = {BANDS: ("source_channels", "electrode"), VOLTAGE: ("electrodes", "electrode")}.get(
        _type_of(group), ("rois", "roi")
    )
    rows, known = _read_region(group, region, n)
    if len(shape) < 2:
        return pd.concat([pd.DataFrame({"name": rows}), known], axis=1)
    bands = _read_bands(group, shape[1])
    names = [f"{row}:{band}" for row in rows for band in bands["band"]]
    table = pd.DataFrame({"name": names, column: np.repeat(rows, len(bands))})
    per_band = pd.concat([bands] * n, ignore_index=True)
    per_row = known.loc[np.repeat(np.arange(n), len(bands))].reset_index(drop=True)
    return pd.concat([table, per_band, per_row], axis=1)


def _read_region(group: h5py.Group, name: str, n: int) -> tuple[list[str], pd.DataFrame]:
    """Return the names of the rows of a table that channels are, and the plain columns of these rows."""
    numbered = [str(i) for i in range(n)], pd.DataFrame(index=range(n))
    try:
        region = get_child(group, name)
        table = follow(group.file, region.attrs.get("table"), where_in(region)) if region is not None else None
    except InputError:
        return numbered
    if region is None or region.shape != (n,) or not isinstance(table, h5py.Group):
        return numbered
    rows = read_array(region, where_in(group, name)).astype(np.int64)
    ids = get_child(table, "id")
    if ids is None or len(set(rows.tolist())) < n or rows.min(initial=0) < 0 or rows.max(initial=0) >= len(ids):
        return numbered
    known = plain_columns(table, len(ids), skip={"group"}).iloc[rows].reset_index(drop=True)
    own = next((c for c in ("roi_name", "name") if c in known and known[c].is_unique), None)
    names = read_array(ids, where_in(table, "id"))[rows] if own is None else known[own]
    return [str(name) for name in names], known.drop(columns=["name", "roi_name"], errors="ignore")


def _read_bands(group: h5py.Group, n: int) -> pd.DataFrame:
    """Return name and limits of each band; of a file that does not tell, their numbers."""
    names, table = [f"band {i}" for i in range(n)], {}
    bands = get_child(group, "bands")
    for column, dataset in children(bands) if isinstance(bands, h5py.Group) else ():
        if column == "band_name" and dataset.shape == (n,):
            names = [str(text) for text in read_text(dataset)]
        elif column == "band_limits" and dataset.shape == (n, 2):
            limits = read_array(dataset, where_in(bands, column))
            table = {"band_low": limits[:, 0], "band_high": limits[:, 1]}
    return pd.DataFrame({"band": names if len(set(names)) == n else [f"band {i}" for i in range(n)], **table})
