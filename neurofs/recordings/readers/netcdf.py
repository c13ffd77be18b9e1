"""netCDF 4 files: the variables of a Dataset of xarray, as `readers.objects` takes them.

`counts` on (time, channel), or `spike_times` with `spike_channel`; behavior on a time of its own; `trial_start` and
`trial_stop`, with whatever else is known of each trial.
"""

from pathlib import Path

import h5py

from neurofs.ground.config import LoadOptions, refuse_options
from neurofs.ground.errors import InputError, printable
from neurofs.ground.files import hash_file
from neurofs.ground.netcdf import read_netcdf
from neurofs.recordings.readers.h5files import check_size, open_h5, where_in
from neurofs.recordings.readers.hdf5 import find_objects
from neurofs.recordings.readers.objects import OPTIONS, read_object
from neurofs.recordings.readers.sizes import find_budget
from neurofs.recordings.recording import Recording


def read(path: Path, options: LoadOptions) -> Recording:
    """Return the recording in a netCDF file."""
    refuse_options(options, OPTIONS, "netCDF files")
    _check_sizes(path)
    try:
        dataset = read_netcdf(path, decode_times=False)
    except (OSError, ValueError) as error:
        found = printable(str(error) or type(error).__name__)
        raise InputError("content", "a netCDF 4 file", found, "Write it with to_netcdf(engine='h5netcdf').") from None
    named = options.model_copy(update={"name": options.name or path.stem})
    return read_object(dataset, named).with_source(path.name, hash_file(path))


def _check_sizes(path: Path) -> None:
    """Refuse data that are stored elsewhere, or that are declared and not there."""
    budget = find_budget()
    with open_h5(path, free_layout=True) as file:
        for item in find_objects(file).values():
            if isinstance(item, h5py.Dataset):
                check_size(item, budget)
                _check_dimensions(item)


def _check_dimensions(item: h5py.Dataset) -> None:
    """Refuse a list of more dimensions than there are axes, at which the library writes where it may not."""
    if "DIMENSION_LIST" in item.attrs and item.attrs.get_id("DIMENSION_LIST").shape != (item.ndim,):
        found = f"shape {item.shape} and another number of dimensions"
        raise InputError(where_in(item), "a dimension for each axis", found, "The file is damaged; write it again.")
