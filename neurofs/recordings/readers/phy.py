"""Folders of Kilosort and phy: a time and a cluster of each spike, and tables on the clusters.

Clusters become channels. Labels come from ``cluster_group.tsv``, which people wrote with phy, else from Kilosort's
own ``cluster_KSLabel.tsv``; they are the column `quality`. ``params.py`` is read as text, never run.
"""

import csv
import re
from pathlib import Path

import numpy as np
import pandas as pd

from neurofs.ground.config import LoadOptions, refuse_options
from neurofs.ground.errors import InputError, quoted
from neurofs.ground.files import hash_files
from neurofs.recordings.readers.amplitudes import divide_by_amplitude
from neurofs.recordings.readers.bins import SECONDS
from neurofs.recordings.readers.npy import read_npy
from neurofs.recordings.readers.spike_lists import split_by_channel
from neurofs.recordings.readers.variables import find_kept
from neurofs.recordings.recording import Recording
from neurofs.recordings.words import listed, split_words

OPTIONS = split_words("name behavior_file trials exclude_channels sort_spikes time_unit sampling_rate amplitude_bands")
LABELS = ("group", "KSLabel")
"""Columns with the label of a cluster, the surest first."""

MAX_TEXT = 2**24
"""Bytes of a table or of params.py; real ones have some thousand."""

LEAST_RATE = 1000.0
"""Samples per second below which no spike is seen."""

RATE = re.compile(r"^[ \t]*sample_rate[ \t]*=[ \t]*([^#;\n]*)", re.MULTILINE)
AMPLITUDES = "amplitudes.npy"
TABLES = ("cluster_*.tsv", "cluster_*.csv")


def read(path: Path, options: LoadOptions) -> Recording:
    """Return the recording in a folder of Kilosort or phy."""
    refuse_options(options, OPTIONS, "folders of Kilosort and phy; behavior is named with behavior_file")
    notes: list[str] = []
    clusters, times, sizes = _read_spikes(path, options, notes)
    channels = _read_channels(path, clusters, notes)
    kept = find_kept(channels["name"], options.exclude_channels)
    content = {"spikes": [times[i] for i in kept], "channels": channels.iloc[kept]}
    if options.amplitude_bands is not None:
        content = divide_by_amplitude(content, [sizes[i] for i in kept], options.amplitude_bands, notes.append)
    return Recording(
        name=options.name or path.resolve().name,
        spikes=[np.sort(part) if options.sort_spikes else part for part in content["spikes"]],
        channels=content["channels"],
        source=path.resolve().name,
        source_hash=hash_files(list_files(path), path),
        notes=[*notes, "observed: the folder does not say when; taken from the first to the last spike"],
    )


def list_files(path: Path) -> list[Path]:
    """Return the files of a folder that are read."""
    known = [path / name for name in ("spike_times.npy", _find_clusters(path), "params.py", AMPLITUDES)]
    return [file for file in known if file.is_file()] + _find_tables(path)


def _find_clusters(path: Path) -> str:
    """Return the file with the cluster of each spike; before curation, Kilosort's templates are the clusters."""
    return "spike_clusters.npy" if (path / "spike_clusters.npy").is_file() else "spike_templates.npy"


def _find_tables(path: Path) -> list[Path]:
    """Return the tables on clusters; phy's overview comes last, since the others are what it is made of."""
    found = sorted(file for pattern in TABLES for file in path.glob(pattern) if file.is_file())
    return sorted(found, key=lambda file: file.stem == "cluster_info")


# Spikes


def _read_spikes(
    path: Path, options: LoadOptions, notes: list[str]
) -> tuple[list[int], list[np.ndarray], list[np.ndarray]]:
    """Return the clusters that have spikes, the times of these in seconds and, where asked for, their amplitudes."""
    samples, name = read_npy(path / "spike_times.npy").reshape(-1), _find_clusters(path)
    if not (path / name).is_file():
        remedy = "Copy it into the folder; it says the cluster of each spike."
        raise InputError("spike_clusters.npy", "this file beside spike_times.npy", "none", remedy)
    if name != "spike_clusters.npy":
        notes.append("channels: the templates of Kilosort, since the folder has no spike_clusters.npy")
    labels = read_npy(path / name).reshape(-1)
    if len(labels) != len(samples):
        found = f"{len(labels):,} clusters for {len(samples):,} spikes"
        raise InputError(name, "one cluster per spike", found, "The folder is incomplete; copy it again.")
    if labels.dtype.kind not in "iu":
        raise InputError(name, "whole numbers", f"{labels.dtype}", "Check which file it is.")
    index, found = pd.factorize(labels, sort=True)
    times = split_by_channel(_as_seconds(samples, path, options, notes), index, len(found))
    if options.amplitude_bands is None:
        return [int(label) for label in found], times, []
    if not (path / AMPLITUDES).is_file():
        raise InputError(AMPLITUDES, "the amplitude of each spike", "no such file", "Leave out --amplitude-bands.")
    sizes = read_npy(path / AMPLITUDES).reshape(-1).astype(np.float64)
    if len(sizes) != len(samples):
        found_sizes = f"{len(sizes):,} amplitudes for {len(samples):,} spikes"
        raise InputError(AMPLITUDES, "one amplitude per spike", found_sizes, "The folder is incomplete; copy it again.")
    return [int(label) for label in found], times, split_by_channel(sizes, index, len(found))


def _as_seconds(samples: np.ndarray, path: Path, options: LoadOptions, notes: list[str]) -> np.ndarray:
    unit = options.time_unit or "samples"
    if unit != "samples":
        return samples.astype(np.float64) * SECONDS[unit]
    if samples.dtype.kind == "f" and (samples != np.rint(samples)).any():
        remedy = "If they are in seconds, say --time-unit s."
        raise InputError("spike_times.npy", "times in samples, whole numbers", "fractions", remedy)
    rate, source = (options.sampling_rate, "as given") if options.sampling_rate else (_read_rate(path), "of params.py")
    if rate < LEAST_RATE:
        remedy = f"In kHz? Then say --sampling-rate {1000 * rate:g}."
        raise InputError("sampling rate", f"at least {LEAST_RATE:g} samples per second", f"{rate:g} {source}", remedy)
    notes.append(f"spike times: samples, {rate:g} per second {source}")
    return samples.astype(np.float64) / rate


def _read_rate(path: Path) -> float:
    """Return the sampling rate that params.py assigns, read as text."""
    remedy = "Say it with --sampling-rate, such as --sampling-rate 30000."
    if not (path / "params.py").is_file():
        raise InputError("params.py", "the sampling rate of spike_times.npy", "no such file", remedy)
    found = RATE.findall(_read_text(path / "params.py"))
    try:
        rate = float(found[-1].strip()) if found else np.nan
    except ValueError:
        rate = np.nan
    if not (np.isfinite(rate) and rate > 0):
        text = quoted(found[-1].strip()) if found else "none"
        raise InputError("params.py: sample_rate", "a number of samples per second", text, remedy)
    return rate


# What is known of clusters


def _read_channels(path: Path, clusters: list[int], notes: list[str]) -> pd.DataFrame:
    """Return a row for each cluster with spikes: its number as name, `quality`, and the columns of all tables."""
    table = pd.DataFrame({"name": [str(cluster) for cluster in clusters]}, index=pd.Index(clusters))
    for file in _find_tables(path):
        known = _read_table(file)
        added = [column for column in known if column not in table and column != "n_spikes"]
        table = table.join(known[added])
    labels = [column for column in LABELS if column in table and table[column].notna().any()]
    if labels:
        table.insert(1, "quality", table.pop(labels[0]))
        notes.append(f"channels: quality is the column {labels[0]} of the tables of clusters")
    return table.reset_index(drop=True)


def _read_table(path: Path) -> pd.DataFrame:
    """Return a table by cluster; columns of numbers become numbers."""
    rows = list(csv.reader(_read_text(path).splitlines(), delimiter="," if path.suffix == ".csv" else "\t"))
    header = rows[0] if rows else []
    key = next((name for name in ("cluster_id", "id") if name in header), None)
    if key is None or len(set(header)) < len(header):
        found = listed(header) if header else "an empty file"
        raise InputError(path.name, "columns of different names, with cluster_id", found, "Correct or remove it.")
    uneven = next((i for i, row in enumerate(rows) if len(row) != len(header)), None)
    if uneven is not None:
        found = f"{len(rows[uneven])} in row {uneven}"
        raise InputError(path.name, f"{len(header)} columns in each row", found, "Correct or remove it.")
    table = pd.DataFrame({name: _as_column([row[i] for row in rows[1:]]) for i, name in enumerate(header)})
    ids = pd.to_numeric(table.pop(key), errors="coerce")
    if ids.isna().any() or ids.duplicated().any():
        raise InputError(f"{path.name}: {key}", "a number for each cluster, once", "other values", "Correct it.")
    return table.set_index(ids.astype(np.int64).to_numpy())


def _as_column(texts: list[str]) -> pd.Series:
    """Return texts as numbers if all that are not empty are numbers; empty ones are missing."""
    column = pd.Series([text.strip() or None for text in texts], dtype=object)
    numbers = pd.to_numeric(column, errors="coerce")
    return numbers if numbers.notna().equals(column.notna()) and column.notna().any() else column


def _read_text(path: Path) -> str:
    if path.stat().st_size > MAX_TEXT:
        raise InputError(path.name, "a small text", f"{path.stat().st_size:,} bytes", "Check which file it is.")
    return path.read_bytes().decode("utf-8", errors="replace")
