"""When the samples of NeuroExplorer's signals were taken: in stretches, between which the recording stood still.

Neo reads the stretches of a signal as if they were one; here are their times.
"""

from pathlib import Path

import numpy as np

from neurofs.ground.errors import InputError

HEADER, ENTRY, SIGNAL = 544, 208, 5
"""Bytes of the header of a file and of each variable, and the number of the kind that signals are."""

_FILE = np.dtype({"names": ["frequency", "n"], "formats": ["<f8", "<i4"], "offsets": [264, 280], "itemsize": HEADER})
_VARIABLE = np.dtype(
    {
        "names": ["kind", "name", "offset", "n_parts", "rate", "n_samples"],
        "formats": ["<i4", "S64", "<i4", "<i4", "<f8", "<i4"],
        "offsets": [0, 8, 72, 76, 112, 128],
        "itemsize": ENTRY,
    }
)


def read_signal_times(path: Path) -> dict[str, np.ndarray]:
    """Return the time of each sample of each signal, in seconds, by name."""
    content = np.memmap(path, dtype=np.uint8, mode="r")
    try:
        header = content[:HEADER].view(_FILE)[0]
        variables = content[HEADER : HEADER + ENTRY * int(header["n"])].view(_VARIABLE)
        signals = [v for v in variables if v["kind"] == SIGNAL]
        return {_name(v): _read_times(content, v, float(header["frequency"])) for v in signals}
    except (ValueError, IndexError, ZeroDivisionError):
        raise InputError("signals", "stretches of samples with times", "other bytes", "Get a sound copy.") from None


def _name(variable: np.void) -> str:
    return bytes(variable["name"]).split(b"\0")[0].decode("latin-1").strip()


def _read_times(content: np.ndarray, variable: np.void, frequency: float) -> np.ndarray:
    begin, n_parts, n_samples = int(variable["offset"]), int(variable["n_parts"]), int(variable["n_samples"])
    starts, first = content[begin : begin + 8 * n_parts].view("<i4").reshape(2, n_parts)
    if n_samples > content.size or (np.diff(first) < 0).any() or not variable["rate"] > 0 or not frequency > 0:
        raise ValueError
    number = np.arange(n_samples)
    part = np.searchsorted(first, number, side="right") - 1
    return starts[part] / frequency + (number - first[part]) / float(variable["rate"])
