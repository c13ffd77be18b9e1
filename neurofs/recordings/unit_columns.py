"""Further columns for the units of an NWB file, written into a copy of it; the file itself is left as it is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import h5py
import numpy as np

from neurofs.ground.errors import InputError, UsageError, printable, quoted
from neurofs.recordings.readers.h5files import as_text, get_child
from neurofs.recordings.readers.nwb import name_units
from neurofs.recordings.writers import add_column, write_whole


def copy_with_columns(
    source: Path, copy: Path, names: Sequence[str], columns: Mapping[str, tuple[np.ndarray, str]]
) -> Path:
    """Copy an NWB file (HDF5) and give its units columns, each with its values and what they are.

    `names` are those of channels, as `load` has them; units that are not among them get NaN. A column that the file
    has under the same name is replaced.
    """
    if source.suffix != ".nwb" or not source.is_file():
        raise UsageError(f"{printable(source.name)}: expected an NWB file on this computer, of which a copy is made")
    if copy.suffix != ".nwb":
        raise UsageError(f"{printable(copy.name)}: expected a name that ends in .nwb")
    if copy.exists() and os.path.samefile(source, copy):
        raise UsageError(f"{printable(copy.name)}: expected another file than the recording, which stays as it is")

    def write_part(part: Path) -> None:
        shutil.copyfile(source, part)
        with h5py.File(part, "r+") as file:
            _add_columns(file, source.name, names, columns)

    return write_whole(copy, write_part)


def _add_columns(
    file: h5py.File, name: str, names: Sequence[str], columns: Mapping[str, tuple[np.ndarray, str]]
) -> None:
    units = get_child(file, "units")
    if not isinstance(units, h5py.Group):
        raise InputError(name, "a table of units", "none", "Only files of spikes have one.")
    own = name_units(units)
    rows = np.array([own.index(channel) if channel in own else -1 for channel in names])
    if (rows < 0).any():
        missing = names[int(np.argmin(rows))]
        raise InputError(name, f"a unit named {quoted(missing)}", "none", "Encode the file as it is now.")
    listed = [as_text(column) for column in np.atleast_1d(units.attrs.get("colnames", []))]
    for key, (values, about) in columns.items():
        placed = np.full(len(own), np.nan)
        placed[rows] = values
        if key in units:
            del units[key]
        add_column(units, key, placed, about)
        listed += [key] * (key not in listed)
    units.attrs["colnames"] = np.array(listed, dtype=h5py.string_dtype())
