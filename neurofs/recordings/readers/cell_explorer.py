"""CellExplorer and buzcode: the struct `spikes` of files named ``*.spikes.cellinfo.mat``, in both layouts.

`times` has the spikes of each unit in seconds, `UID` its number; whatever else has one value per unit is known of the
channels. Times in samples (`ts`), waveforms and lists of all spikes (`spindices`) say nothing more.
"""

from typing import Any

from neurofs.recordings.readers.spike_lists import is_ragged
from neurofs.recordings.readers.variables import has_size, is_line, is_texts
from neurofs.recordings.words import listed

SPIKES = "spikes."
PER_UNIT = (
    "UID",
    "shankID",
    "cluID",
    "maxWaveformCh",
    "maxWaveformCh1",
    "region",
    "electrodeGroup",
    "putativeCellType",
)
"""Fields that ought to have a value per unit; of others nothing is said where they have not."""


def is_cell_explorer(values: dict[str, Any]) -> bool:
    """Tell whether a MATLAB file has the struct `spikes` of CellExplorer."""
    return is_ragged(values.get("spikes.times")) and has_size(values.get("spikes.UID"), len(values["spikes.times"]))


def arrange(values: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """Return the variables with the struct `spikes` as spikes, names and columns of the table of channels.

    >>> import numpy as np
    >>> spikes = {"times": [np.array([0.1, 0.2]), np.array([0.3])], "UID": np.array([4, 9]), "region": ["CA1", "CA3"]}
    >>> sorted(arrange({f"spikes.{field}": value for field, value in spikes.items()}, []))
    ['channel_UID', 'channel_names', 'channel_region', 'spikes']
    """
    n_units = len(values["spikes.times"])
    fields = {name.removeprefix(SPIKES): value for name, value in values.items() if name.startswith(SPIKES)}
    known = {f: v for f, v in fields.items() if has_size(v, n_units) and (is_texts(v) or is_line(v) or n_units == 1)}
    odd = [f for f in PER_UNIT if f in fields and f not in known]
    if odd:
        notes.append(f"channels: left out, since not one value for each of {n_units} units: {listed(odd)}")
    others = {name: value for name, value in values.items() if not name.startswith(SPIKES)}
    columns = {f"channel_{field}": value for field, value in known.items() if field != "total"}
    return others | {"spikes": values["spikes.times"], "channel_names": values["spikes.UID"]} | columns
