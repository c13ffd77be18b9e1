"""Writing a recording to a file that any tool of the field can read: NWB, .npz or plain HDF5.

The bytes depend on the recording alone (no dates, no random identifiers), so that a session written twice is
the same file twice. A file is written beside its final name and moved there when it is complete.
"""

import os
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd

from neurofs.ground.errors import UsageError, printable
from neurofs.recordings.recording import Recording, Series

NWB_VERSION = "2.7.0"
EPOCH = "2005-01-01T00:00:00+00:00"
"""Start of a session whose date is unknown or irrelevant: NWB requires one."""

NAMESPACE = uuid.UUID("7b3b6a52-3d6c-5d0e-9b0d-0c6f6e5f7a01")


def write(recording: Recording, path: str | Path) -> Path:
    """Write a recording of spike times, or of a continuous signal; the ending chooses the format."""
    path = Path(path)
    if path.suffix not in WRITERS:
        raise UsageError(f"{printable(path.name)}: expected one of the endings {', '.join(WRITERS)}")
    if recording.spikes is None and not recording.is_signal:
        raise UsageError(f"{printable(recording.name)}: only recordings with spike times or a signal can be written")
    return write_whole(path, lambda part: WRITERS[path.suffix](recording, part))


def write_series(path: Path, name: str, series: Sequence[Series], notes: Sequence[str]) -> Path:
    """Write an NWB file of behavior alone: each series a TimeSeries in processing/behavior."""

    def write_parts(part: Path) -> None:
        with h5py.File(part, "w") as file:
            _write_header(file, name, notes)
            module = _make_behavior(file)
            for one in series:
                _write_time_series(module, one)

    return write_whole(path, write_parts)


def add_column(table: h5py.Group, name: str, values: np.ndarray, about: str) -> None:
    """Write a column of a table as NWB has it."""
    column = _typed(_dataset(table, name, values), "VectorData", "hdmf-common")
    column.attrs["description"] = about


def write_whole(path: Path, write_part: Callable[[Path], None]) -> Path:
    """Let a file be written beside its name, and move it there."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        write_part(part)
        os.replace(part, path)
    except OSError as error:
        raise UsageError(f"{printable(path)}: cannot be written: {error.strerror or error}") from None
    finally:
        part.unlink(missing_ok=True)
    return path


# Flat variables, for .npz and plain HDF5


def _flatten(r: Recording) -> dict[str, np.ndarray]:
    variables: dict[str, Any] = {"channel_names": r.channels["name"].to_numpy(dtype=str)}
    if r.is_signal:
        seen, time = _take_observed(r)
        variables |= {"signal": seen, "signal_unit": np.array([r.unit]), "time": time}
    else:
        spikes = r.spikes or ()
        channels = np.repeat(np.arange(r.n_channels), [len(s) for s in spikes])
        variables |= {"spike_times": np.concatenate(spikes), "spike_channels": channels, "observed": r.observed}
    for series in r.behavior.values():
        variables[series.name] = series.values
        variables[f"{series.name}_time"] = series.time
        variables[f"{series.name}_columns"] = np.array(series.columns)
        variables[f"{series.name}_unit"] = np.array([series.unit])
    for name, column in r.trials.items():
        variables[f"trial_{name}" if name in ("start", "stop") else str(name)] = _plain(column)
    return variables


def _take_observed(r: Recording) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples of a signal that were observed, and the time at which each begins."""
    time = r.start + np.arange(len(r.counts)) * r.bin_width
    last = np.searchsorted(r.observed[:, 0], time + r.bin_width / 2, side="right") - 1
    seen = (last >= 0) & (time + r.bin_width / 2 < r.observed[np.maximum(last, 0), 1])
    return r.counts[seen], time[seen]


def _write_npz(recording: Recording, path: Path) -> None:
    with open(path, "wb") as file:
        np.savez(file, allow_pickle=False, **_flatten(recording))


def _write_hdf5(recording: Recording, path: Path) -> None:
    with h5py.File(path, "w") as file:
        for name, values in _flatten(recording).items():
            _dataset(file, name, values)


def _plain(column: pd.Series) -> np.ndarray:
    """Return a column of a table as an array of numbers or text."""
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy(dtype=np.float64, na_value=np.nan) if column.hasnans else column.to_numpy()
    return column.map(str).to_numpy(dtype=str)


def _dataset(group: h5py.Group, name: str, values: Any, **attributes: Any) -> h5py.Dataset:
    values = np.asarray(values)
    if values.dtype.kind in "UO":
        values = values.astype(h5py.string_dtype())
    dataset = group.create_dataset(name, data=values, track_times=False)
    dataset.attrs.update(attributes)
    return dataset


# NWB


def _write_nwb(recording: Recording, path: Path) -> None:
    with h5py.File(path, "w") as file:
        _write_header(file, recording.name, recording.notes)
        if recording.is_signal:
            _write_rois(file, recording)
        else:
            _write_electrodes(file, recording.channels)
            _write_units(file, recording)
        _write_behavior(file, recording)
        if len(recording.trials):
            _write_trials(file, recording.trials)


def _typed(obj: Any, kind: str, namespace: str = "core") -> Any:
    """Give a group or data set the attributes by which NWB knows its type."""
    identifier = str(uuid.uuid5(NAMESPACE, f"{obj.name}"))
    obj.attrs.update({"namespace": namespace, "neurodata_type": kind, "object_id": identifier})
    return obj


def _write_header(file: h5py.File, name: str, notes: Sequence[str]) -> None:
    _typed(file, "NWBFile").attrs["nwb_version"] = NWB_VERSION
    for group in ("acquisition", "analysis", "general", "processing", "stimulus"):
        file.create_group(group)
    for group in ("presentation", "templates"):
        file["stimulus"].create_group(group)
    _dataset(file, "file_create_date", [EPOCH])
    _dataset(file, "identifier", str(uuid.uuid5(NAMESPACE, name)))
    _dataset(file, "session_description", "; ".join([name, *notes]))
    _dataset(file, "session_start_time", EPOCH)
    _dataset(file, "timestamps_reference_time", EPOCH)


def _table(parent: h5py.Group, name: str, kind: str, columns: list[str], n_rows: int, about: str) -> h5py.Group:
    namespace = "hdmf-common" if kind == "DynamicTable" else "core"
    group = _typed(parent.create_group(name), kind, namespace)
    group.attrs["description"] = about
    group.attrs["colnames"] = np.array(columns, dtype=h5py.string_dtype())
    _typed(_dataset(group, "id", np.arange(n_rows)), "ElementIdentifiers", "hdmf-common")
    return group


def _column(table: h5py.Group, name: str, values: Any, about: str = "") -> h5py.Dataset:
    column = _typed(_dataset(table, name, values), "VectorData", "hdmf-common")
    column.attrs["description"] = about or name.replace("_", " ")
    return column


def _ragged(table: h5py.Group, name: str, parts: list[np.ndarray], about: str) -> h5py.Dataset:
    column = _column(table, name, np.concatenate(parts), about)
    index = _column(table, f"{name}_index", np.cumsum([len(p) for p in parts]).astype(np.uint32), f"Index for {name}")
    _typed(index, "VectorIndex", "hdmf-common").attrs["target"] = column.ref
    return column


def _write_electrodes(file: h5py.File, channels: pd.DataFrame) -> None:
    if "electrode" not in channels:
        return
    general = file["general"]
    device = _typed(general.create_group("devices/array"), "Device")
    ephys = general.create_group("extracellular_ephys")
    group = _typed(ephys.create_group("electrodes_0"), "ElectrodeGroup")
    group.attrs.update({"description": "electrodes of the session", "location": "unknown"})
    group["device"] = h5py.SoftLink(device.name)
    known = channels.drop_duplicates("electrode").sort_values("electrode")
    n_electrodes = len(known)
    columns = [c for c in ("x", "y") if c in known]
    names = [*columns, "location", "group", "group_name"]
    table = _table(ephys, "electrodes", "DynamicTable", names, n_electrodes, "electrodes")
    for name in columns:
        _column(table, name, known[name].to_numpy(dtype=np.float64), f"{name} position, in micrometres")
    _column(table, "location", ["unknown"] * n_electrodes)
    _column(table, "group_name", ["electrodes_0"] * n_electrodes)
    references = np.array([group.ref] * n_electrodes, dtype=h5py.ref_dtype)
    _typed(table.create_dataset("group", data=references, track_times=False), "VectorData", "hdmf-common")
    table["group"].attrs["description"] = "electrode group"


def _write_units(file: h5py.File, r: Recording) -> None:
    extra = [c for c in r.channels.columns if c not in ("name", "electrode", "x", "y")]
    with_electrodes = "electrode" in r.channels
    columns = ["unit_name", *extra, "spike_times", "obs_intervals"] + ["electrodes"] * with_electrodes
    units = _table(file, "units", "Units", columns, r.n_channels, "channels of the session")
    _column(units, "unit_name", r.channels["name"].to_numpy(dtype=str))
    for name in extra:
        _column(units, name, _plain(r.channels[name]))
    _ragged(units, "spike_times", list(r.spikes or ()), "spike times in seconds")
    _ragged(units, "obs_intervals", [r.observed] * r.n_channels, "intervals in which spikes were observed")
    if with_electrodes:
        rank = r.channels["electrode"].rank(method="dense").astype(int).to_numpy() - 1
        region = _ragged(units, "electrodes", list(rank[:, None]), "electrode of each unit")
        _typed(region, "DynamicTableRegion", "hdmf-common").attrs["table"] = file[
            "general/extracellular_ephys/electrodes"
        ].ref


def _write_rois(file: h5py.File, r: Recording) -> None:
    """Write a signal as dF/F of regions of interest, whose table has what is known of the channels."""
    device = _typed(file["general"].create_group("devices/microscope"), "Device")
    plane = _typed(file["general"].create_group("optophysiology/plane"), "ImagingPlane")
    for name, value in {"description": "unknown", "indicator": "unknown", "location": "unknown"}.items():
        _dataset(plane, name, value)
    _dataset(plane, "excitation_lambda", np.nan)
    light = _typed(plane.create_group("light"), "OpticalChannel")
    _dataset(light, "description", "unknown")
    _dataset(light, "emission_lambda", np.nan)
    plane["device"] = h5py.SoftLink(device.name)
    module = _typed(file["processing"].create_group("ophys"), "ProcessingModule")
    module.attrs["description"] = "imaging"
    segmentation = _typed(module.create_group("ImageSegmentation"), "ImageSegmentation")
    known = [c for c in r.channels.columns if c != "name"]
    columns = ["roi_name", *known, "pixel_mask"]
    rois = _table(segmentation, "rois", "PlaneSegmentation", columns, r.n_channels, "regions of interest")
    rois["imaging_plane"] = h5py.SoftLink(plane.name)
    rois.create_group("reference_images")
    _column(rois, "roi_name", r.channels["name"].to_numpy(dtype=str))
    for name in known:
        _column(rois, name, _plain(r.channels[name]))
    pixels = np.zeros(r.n_channels, dtype=[("x", np.uint32), ("y", np.uint32), ("weight", np.float32)])
    pixels["x"] = np.arange(r.n_channels)
    _ragged(rois, "pixel_mask", list(pixels[:, None]), "a pixel of each region")
    container = _typed(module.create_group("DfOverF"), "DfOverF")
    group = _typed(container.create_group("signal"), "RoiResponseSeries")
    group.attrs.update({"description": "the signal of each region", "comments": "no comments"})
    seen, time = _take_observed(r)
    _dataset(group, "data", seen, conversion=1.0, offset=0.0, resolution=-1.0, unit=r.unit)
    _write_times(group, time, 1 / r.bin_width)
    region = _typed(_dataset(group, "rois", np.arange(r.n_channels)), "DynamicTableRegion", "hdmf-common")
    region.attrs.update({"description": "the region of each column", "table": rois.ref})


def _write_behavior(file: h5py.File, r: Recording) -> None:
    module = _make_behavior(file)
    for series in r.behavior.values():
        container = _typed(module.create_group(f"{series.name}_container"), _container(series))
        _write_time_series(container, series)


def _make_behavior(file: h5py.File) -> h5py.Group:
    module = _typed(file["processing"].create_group("behavior"), "ProcessingModule")
    module.attrs["description"] = "behavior"
    return module


def _write_time_series(container: h5py.Group, series: Series) -> None:
    group = _typed(container.create_group(series.name), "SpatialSeries" if series.circular else "TimeSeries")
    group.attrs.update({"description": ", ".join(series.columns), "comments": "no comments"})
    values = series.values.astype(np.float32)
    unit = series.unit or "unknown"
    _dataset(group, "data", values, conversion=1.0, offset=0.0, resolution=-1.0, unit=unit)
    if series.circular:
        _dataset(group, "reference_frame", "unknown")
    _write_times(group, series.time, series.rate)


def _write_times(group: h5py.Group, time: np.ndarray, rate: float) -> None:
    """Write when samples were taken: the first and their rate, or all of them if they are not regular."""
    if np.abs(time[0] + np.arange(len(time)) / rate - time).max() < 1e-7:
        _dataset(group, "starting_time", time[0], rate=rate, unit="seconds")
    else:
        _dataset(group, "timestamps", time, interval=np.int32(1), unit="seconds")


def _container(series: Series) -> str:
    return "CompassDirection" if series.circular else "BehavioralTimeSeries"


def _write_trials(file: h5py.File, trials: pd.DataFrame) -> None:
    renamed = trials.rename(columns={"start": "start_time", "stop": "stop_time"})
    group = file.create_group("intervals")
    table = _table(group, "trials", "TimeIntervals", list(renamed.columns), len(trials), "trials of the session")
    for name in renamed:
        _column(table, name, _plain(renamed[name]))


WRITERS: dict[str, Callable[[Recording, Path], None]] = {".nwb": _write_nwb, ".npz": _write_npz, ".h5": _write_hdf5}
