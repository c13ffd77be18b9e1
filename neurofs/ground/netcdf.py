"""Datasets as NetCDF-4 files.

>>> import xarray as xr
>>> dataset = xr.Dataset({"rate": ("channel", [1.5, 2.0])})
>>> read_netcdf(to_netcdf(dataset)).identical(dataset)
True
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import h5py
import xarray as xr

from neurofs.ground.system import bound_memory


def to_netcdf(dataset: xr.Dataset) -> bytes:
    """Return a dataset as compressed NetCDF-4; the same dataset gives the same bytes."""
    packed = {"zlib": True, "complevel": 4}
    encoding = {name: packed for name, v in dataset.variables.items() if v.dtype.kind in "iuf" and v.size > 64}
    return bytes(dataset.to_netcdf(engine="h5netcdf", encoding=encoding))


def read_netcdf(source: Path | bytes, **options: Any) -> xr.Dataset:
    """Return the dataset of a file or of its bytes, in memory; options are those of `xarray.open_dataset`.

    Raises OSError or ValueError for a file that is damaged.
    """
    content = io.BytesIO(source) if isinstance(source, bytes) else source
    size = len(source) if isinstance(source, bytes) else source.stat().st_size
    with bound_memory(most_memory(size)):
        return _read(content, options)


def most_memory(size: int) -> int:
    """Return the bytes of memory for which HDF5 may ask to read a file; it believes whatever a damaged one says."""
    return max(10**9, 200 * size)


def _read(content: Any, options: dict[str, Any]) -> xr.Dataset:
    try:
        with h5py.File(content, "r") as file:  # h5netcdf prints a traceback if this is what it cannot read
            file.attrs.get("_nc3_strict")
        with xr.open_dataset(content, engine="h5netcdf", **options) as dataset:
            return dataset.load()
    except (TypeError, LookupError, RuntimeError, AttributeError, ArithmeticError, MemoryError) as error:
        raise ValueError(f"{error}") from None  # what a library makes of a damaged file
