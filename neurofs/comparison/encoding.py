"""`Encoding`: how well the target predicts each channel, and each channel the target, as a value and as a folder.

A folder holds

    encoding.csv      the table (`encoding_models.ENCODING_COLUMNS`)
    tuning.nc         the mean rate of every channel against the target (`comparison.tuning`)
    encoding.html     the page
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import xarray as xr

import neurofs
from neurofs.comparison.encoding_models import ABOUT, ENCODING_COLUMNS, describe_encoding
from neurofs.comparison.problem import Problem
from neurofs.comparison.session import find_tuning
from neurofs.ground.csv_tables import read_csv, render_csv
from neurofs.ground.errors import InputError, UsageError, printable
from neurofs.ground.files import make_folder, read_file, write_atomically
from neurofs.ground.netcdf import read_netcdf, to_netcdf
from neurofs.ground.showing import render_facts
from neurofs.recordings.recording import Recording
from neurofs.recordings.unit_columns import copy_with_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NAMED = 5
COLUMNS = {name: "str" if name == "channel" else "float64" for name in ENCODING_COLUMNS}


@dataclass(frozen=True, eq=False)
class Encoding:
    """How well the target predicts each channel, and each channel the target.

    Attributes
    ----------
    table : DataFrame
        `encoding_models.ENCODING_COLUMNS`, a row per channel.
    tuning : Dataset
        Mean rates of all channels against the target, each at its own lag: `comparison.tuning`.
    """

    table: pd.DataFrame
    tuning: xr.Dataset

    @property
    def sentences(self) -> list[str]:
        """What was found, in words."""
        found = self.table[self.table["low"] > 0].sort_values("pseudo_r2", ascending=False)
        target, n = printable(self.tuning.attrs["target"]), len(self.table)
        if found.empty:
            return [f"The interval of pseudo-R² lies above 0 for none of {n} channels: {target} predicts none."]
        names = ", ".join(printable(name) for name in found["channel"][:MOST_NAMED])
        return [
            f"{target} predicts {len(found)} of {n} channels (95 % interval of pseudo-R² above 0; not "
            f"corrected for the number of channels), best {names}{', …' if len(found) > MOST_NAMED else ''}; "
            f"median pseudo-R² of these {found['pseudo_r2'].median():.3f}."
        ]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Encoding):
            return NotImplemented
        return self.table.equals(other.table) and self.tuning.identical(other.tuning)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        head = f"<Encoding of {printable(self.tuning.attrs['target'])!r} in {printable(self.tuning.attrs['name'])!r}>"
        return "\n".join([head, *self.sentences])

    def _repr_html_(self) -> str:
        head = render_facts(repr(self).partition("\n")[0], {"found": " ".join(self.sentences)})
        return head + self.table.round(3).to_html(index=False, escape=True, max_rows=12)

    def plot(self) -> list[Axes]:
        """Draw the tuning of the channels that are predicted best; return the axes."""
        return neurofs.show_axes(neurofs.draw_encoding(self))

    def save(self, folder: str | Path) -> Path:
        """Write table and tuning as a folder, with their page."""
        folder = make_folder(folder)
        write_atomically(folder / "encoding.csv", render_csv(self.table))
        write_atomically(folder / "tuning.nc", to_netcdf(self.tuning))
        write_atomically(folder / "encoding.html", neurofs.render_encoding(self))
        return folder

    def write_units(self, copy: str | Path) -> Path:
        """Write a copy of the NWB file that was decoded, with the table as further columns of its units."""
        source = self.tuning.attrs.get("file", "")
        if not source:
            raise UsageError("write_units: expected the encoding of an NWB file, of which a copy is made")
        columns = {f"neurofs_{key}": (self.table[key].to_numpy(), about) for key, about in ABOUT.items()}
        return copy_with_columns(Path(source), Path(copy), list(self.table["channel"]), columns)


def read_encoding(folder: str | Path) -> Encoding:
    """Read the folder of an encoding back."""
    folder = Path(folder)
    try:
        return Encoding(read_csv(folder / "encoding.csv", COLUMNS), read_netcdf(read_file(folder / "tuning.nc")))
    except (OSError, ValueError) as error:
        raise InputError(folder, "the folder of an encoding", error, "Run it again: neurofs encode.") from None


def describe(recording: Recording, problem: Problem, tensor: xr.Dataset, target: str, file: str) -> Encoding:
    """Return the encoding of a recording whose problem and tensor are given."""
    channels = [str(channel) for channel in tensor["channel"].values]
    table = describe_encoding(problem, channels, tensor["lag"].values, tensor.attrs["bin_width"])
    tuning = find_tuning(recording, tensor, channels)
    tuning = tuning.assign_coords(raster_channel=("raster_channel", np.array(channels, dtype=object)))
    return Encoding(table, tuning.assign_attrs(name=recording.name, target=target, file=file))
