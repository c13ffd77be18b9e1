"""Folders of Open Ephys in its binary format: the spikes that were detected, and sorted on line if they were.

`structure.oebin` (JSON) names a folder for each electrode, or group of such, with plain arrays: a time, an electrode
and a cluster (0: not sorted) of each spike. Times are those that the folder has in seconds, else samples by the rate
that it states. Of the voltage nothing is read.
"""

import json
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pandas as pd

from neurofs.ground.config import LoadOptions, refuse_options
from neurofs.ground.errors import InputError, printable
from neurofs.ground.files import hash_files
from neurofs.recordings.readers.npy import read_npy
from neurofs.recordings.readers.spike_lists import split_by_channel
from neurofs.recordings.readers.variables import find_kept
from neurofs.recordings.recording import Recording
from neurofs.recordings.words import split_words

OPTIONS = split_words("name behavior_file trials exclude_channels sort_spikes")
MARK = "structure.oebin"
MAX_TEXT = 2**26
"""Bytes of structure.oebin; real ones have some hundred thousand."""

NAMES = (
    {"samples": "sample_numbers.npy", "electrodes": "electrode_indices.npy", "clusters": "clusters.npy"},
    {"samples": "spike_times.npy", "electrodes": "spike_electrode_indices.npy", "clusters": "spike_clusters.npy"},
)
"""What the arrays are called, since version 0.6 and before."""

SECONDS = "timestamps.npy"
SOUND = "Get a sound copy of the folder."


def read(path: Path, options: LoadOptions) -> Recording:
    """Return the recording in a folder of Open Ephys."""
    refuse_options(options, OPTIONS, "folders of Open Ephys; behavior is named with behavior_file")
    notes: list[str] = []
    spikes: list[np.ndarray] = []
    rows: list[dict[str, object]] = []
    for group in _list_groups(path):
        times, known = _read_group(path, group, notes)
        spikes += times
        rows += known
    channels = pd.DataFrame(rows, columns=["name", "electrode", "unit", "quality"])
    kept = find_kept(channels["name"], options.exclude_channels)
    return Recording(
        name=options.name or path.resolve().name,
        spikes=[np.sort(spikes[i]) if options.sort_spikes else spikes[i] for i in kept],
        channels=channels.iloc[kept],
        source=path.resolve().name,
        source_hash=hash_files(list_files(path), path),
        notes=[*notes, "observed: the folder does not say when; taken from the first to the last spike"],
    )


def list_files(path: Path) -> list[Path]:
    """Return the files of a folder that are read."""
    folders = [_find_folder(path, group) for group in _list_groups(path)]
    names = [name for known in NAMES for name in known.values()] + [SECONDS]
    return [path / MARK, *(folder / name for folder in folders for name in names if (folder / name).is_file())]


def _list_groups(path: Path) -> list[dict[str, Any]]:
    """Return what structure.oebin says of each folder of spikes; refuse one without spikes."""
    file = path / MARK
    if file.stat().st_size > MAX_TEXT:
        raise InputError(MARK, "a small text", f"{file.stat().st_size:,} bytes", SOUND)
    try:
        content = json.loads(file.read_bytes())
    except (ValueError, RecursionError):
        raise InputError(MARK, "a text in JSON", "another content", SOUND) from None
    groups = content.get("spikes", []) if isinstance(content, dict) else None
    if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
        raise InputError(MARK, "a list of spikes", "something else", SOUND)
    if not groups:
        remedy = "Sort the spikes, and name the folder of Kilosort or phy; or convert it to NWB."
        raise InputError(MARK, "spikes", "a recording of Open Ephys with voltage alone", remedy)
    return groups


def _find_folder(path: Path, group: dict[str, Any]) -> Path:
    """Return the folder of a group, which must lie within that of the recording."""
    name = group.get("folder") or group.get("folder_name") or ""
    parts = PurePosixPath(str(name).replace("\\", "/")).parts
    if not parts or any(part in ("..", "/") or ":" in part for part in parts):
        raise InputError(f"{MARK}: folder", "the name of a folder within it", printable(name), SOUND)
    return path.joinpath("spikes", *parts)


def _read_group(
    path: Path, group: dict[str, Any], notes: list[str]
) -> tuple[list[np.ndarray], list[dict[str, object]]]:
    """Return the spikes of each cluster on each electrode of a group, and what is known of these."""
    folder = _find_folder(path, group)
    names = next((known for known in NAMES if (folder / known["samples"]).is_file()), None)
    if names is None:
        raise InputError(folder.name, f"{NAMES[0]['samples']}, the time of each spike", "no such file", SOUND)
    samples, electrodes, clusters = (read_npy(folder / names[key]).reshape(-1) for key in names)
    if not len(samples) == len(electrodes) == len(clusters):
        found = f"{len(samples):,} times, {len(electrodes):,} electrodes and {len(clusters):,} clusters"
        raise InputError(folder.name, "one of each for each spike", found, SOUND)
    if electrodes.dtype.kind not in "iu" or clusters.dtype.kind not in "iu":
        raise InputError(folder.name, "whole numbers of electrodes and clusters", "others", SOUND)
    times = _read_seconds(folder, samples, group, notes)
    pairs = electrodes.astype(np.int64) * 2**20 + clusters.astype(np.int64)
    index, found_pairs = pd.factorize(pairs, sort=True)
    own, several = _name(folder, path), len(np.unique(electrodes)) > 1
    rows = [_describe(f"{own}.{pair >> 20}" if several else own, int(pair) % 2**20) for pair in found_pairs]
    return split_by_channel(times, index, len(found_pairs)), rows


def _name(folder: Path, path: Path) -> str:
    return ".".join(folder.relative_to(path / "spikes").parts)


def _describe(electrode: str, unit: int) -> dict[str, object]:
    quality = "sorted" if unit else "unsorted"
    return {"name": f"{electrode}#{unit}", "electrode": electrode, "unit": unit, "quality": quality}


def _read_seconds(folder: Path, samples: np.ndarray, group: dict[str, Any], notes: list[str]) -> np.ndarray:
    """Return the times of spikes in seconds: as the folder has them, or from samples and the rate."""
    if (folder / SECONDS).is_file():
        seconds = read_npy(folder / SECONDS).reshape(-1).astype(np.float64)
        if len(seconds) == len(samples) and np.isfinite(seconds).all() and (seconds >= 0).all():
            return seconds
        notes.append(f"{folder.name}: {SECONDS} has no time for some spikes; samples are taken instead")
    rate = group.get("sample_rate")
    if not isinstance(rate, int | float) or not 0 < rate < np.inf:
        raise InputError(f"{MARK}: sample_rate", "samples per second", printable(rate), SOUND)
    notes.append(f"spike times: samples, {rate:g} per second of {MARK}")
    return samples.astype(np.float64) / rate
