"""Spikes of Neuralynx: files of single electrodes (`.nse`), stereotrodes (`.nst`) and tetrodes (`.ntt`), and folders.

A record is a time in microseconds, the number of the unit (0: not sorted), and a waveform for each wire. The wires of
a tetrode share their spikes, so that a unit is one channel, not four. Times stay on the clock of the recording.
"""

import re
from pathlib import Path

import numpy as np
import pandas as pd

from neurofs.ground.config import LoadOptions, refuse_options
from neurofs.ground.errors import InputError, printable
from neurofs.ground.files import hash_file, hash_files
from neurofs.recordings.readers.sizes import find_budget
from neurofs.recordings.readers.spike_lists import split_by_channel
from neurofs.recordings.readers.variables import find_kept
from neurofs.recordings.recording import Recording
from neurofs.recordings.words import split_words

OPTIONS = split_words("name behavior_file trials exclude_channels sort_spikes")
WIRES = {".nse": 1, ".nst": 2, ".ntt": 4}
HEADER = 16384
"""Bytes of text at the beginning of each file of Neuralynx."""

MAGIC = b"######## Neuralynx"
SAMPLES = 32
"""Samples per waveform."""


def read(path: Path, options: LoadOptions) -> Recording:
    """Return the recording in a file of spikes, or in all of a folder."""
    refuse_options(options, OPTIONS, "files of Neuralynx; behavior is named with behavior_file")
    notes: list[str] = []
    spikes: list[np.ndarray] = []
    rows: list[dict[str, object]] = []
    files = list_files(path)
    for file in files:
        units, times = _read_spikes(file, notes)
        spikes += times
        rows += [_describe(file, unit) for unit in units]
    channels = pd.DataFrame(rows, columns=["name", "electrode", "unit", "quality"])
    kept = find_kept(channels["name"], options.exclude_channels)
    return Recording(
        name=options.name or (path.resolve().name if path.is_dir() else path.stem),
        spikes=[np.sort(spikes[i]) if options.sort_spikes else spikes[i] for i in kept],
        channels=channels.iloc[kept],
        source=path.resolve().name,
        source_hash=hash_files(files, path) if path.is_dir() else hash_file(path),
        notes=[*notes, "observed: the files do not say when; taken from the first to the last spike"],
    )


def list_files(path: Path) -> list[Path]:
    """Return the files of spikes of a folder, those without a record left out; or the file itself."""
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.iterdir() if file.suffix.lower() in WIRES and file.is_file())
    return [file for file in found if file.stat().st_size > HEADER] or found[:1]


def _describe(file: Path, unit: int) -> dict[str, object]:
    quality = "sorted" if unit else "unsorted"
    return {"name": f"{file.stem}#{unit}", "electrode": file.stem, "unit": unit, "quality": quality}


def _read_spikes(file: Path, notes: list[str]) -> tuple[list[int], list[np.ndarray]]:
    """Return the units of a file, and the times of each in seconds."""
    records = _map_records(file, notes)
    index, units = pd.factorize(records["unit"], sort=True)
    times = records["time"].astype(np.float64) / 1e6
    return [int(unit) for unit in units], split_by_channel(times, index, len(units))


def _map_records(file: Path, notes: list[str]) -> np.ndarray:
    """Return the records of a file on disk; of the waveforms nothing is read."""
    n_wires = WIRES[file.suffix.lower()]
    kind = np.dtype(
        [("time", "<u8"), ("wire", "<u4"), ("unit", "<u4"), ("features", "<i4", 8), ("x", "<i2", (SAMPLES, n_wires))]
    )
    with file.open("rb") as stream:
        header = stream.read(HEADER)
    if not header.startswith(MAGIC):
        raise InputError(file.name, "a file of Neuralynx", printable(header[:20]), "Check which file it is.")
    size = re.search(rb"-RecordSize\s+(\d+)", header)
    if size is not None and int(size[1]) != kind.itemsize:
        found = f"{int(size[1])} bytes, as its header says"
        remedy = f"Only waveforms of {SAMPLES} samples are read; export the spikes in another format."
        raise InputError(f"{file.name}: records", f"{kind.itemsize} bytes each", found, remedy)
    n_records, rest = divmod(file.stat().st_size - HEADER, kind.itemsize)
    if n_records < 1:
        raise InputError(file.name, "spikes", "a header alone", "Nothing was recorded in this file; name another.")
    if rest:
        notes.append(f"{file.name}: the last record is incomplete ({rest} bytes) and left out")
    find_budget().take(file.name, n_records * 16, file.stat().st_size)
    return np.memmap(file, dtype=kind, mode="r", offset=HEADER, shape=(n_records,))
