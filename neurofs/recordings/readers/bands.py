"""Power of bands of a voltage (LFP, ECoG, EMG): each band of each channel becomes a channel.

The power at a time is that of the voltage before it, in a window with cosine edges that is as long as the band needs:
three periods of its lowest frequency, and twice the inverse of its width. So nothing looks ahead, as a filter that runs
both ways does. Its logarithm is taken, which is nearly Gaussian.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import scipy.signal

from neurofs.ground.errors import InputError, printable
from neurofs.recordings.readers.signals import settle_signal
from neurofs.recordings.readers.sizes import find_budget
from neurofs.recordings.recording import Recording

STEP = 0.02
"""Seconds from one value of power to the next."""

PERIODS, RESOLUTION = 3.0, 2.0
"""Periods of the lowest frequency in a window, and windows per inverse of the width of a band."""

AT_ONCE = 2**21
"""Samples of windows that are transformed at once."""

BAND = re.compile(r"(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)")


def read_bands(texts: Sequence[str]) -> list[tuple[float, float]]:
    """Return the limits of bands in Hz.

    >>> read_bands(["13-30", "70-150"])
    [(13.0, 30.0), (70.0, 150.0)]
    """
    found = [BAND.fullmatch(text.replace(" ", "").removesuffix("Hz")) for text in texts]
    bands = [(float(m[1]), float(m[2])) for m in found if m]
    if len(bands) < len(texts) or not all(0 < low < high for low, high in bands) or len(set(bands)) < len(bands):
        raise InputError(
            "--bands", "frequencies from low to high, such as 13-30,70-150", printable(texts), "Correct it."
        )
    return bands


def take_power(recording: Recording, texts: Sequence[str]) -> Recording:
    """Return a recording of the power of a voltage; moments whose window was not all observed are not observed."""
    bands, signal = read_bands(texts), recording.counts
    if not recording.is_signal or signal is None:
        raise InputError("--bands", "a voltage", recording.kind, "Name the voltage with --signal.")
    rate = 1.0 / recording.bin_width
    step = max(1, round(STEP * rate))
    lengths = [_find_length(band, rate) for band in bands]
    n_steps, n_channels = len(signal) // step, signal.shape[1]
    if max(lengths) > len(signal):
        found = f"{len(signal) / rate:.3g} s"
        raise InputError(
            "--bands", f"a recording longer than {max(lengths) / rate:.3g} s", found, "Choose higher ones."
        )
    find_budget().take("power of bands", n_steps * n_channels * len(bands) * 8, signal.nbytes)
    missing = ~_find_observed(recording, rate)
    power = np.empty((n_steps, n_channels, len(bands)))
    for i in range(n_channels):
        voltage = np.ascontiguousarray(signal[:, i], dtype=np.float64)
        for b, (band, length) in enumerate(zip(bands, lengths, strict=True)):
            power[:, i, b] = _measure(voltage, missing, band, length, step, n_steps, rate)
    notes = [*recording.notes, _tell(bands, lengths, rate)]
    content = {
        "counts": power.reshape(n_steps, -1),
        "unit": f"log10 of ({recording.unit})²",
        "bin_width": step / rate,
        "start": recording.start,
        "channels": _describe(recording.channels, bands, n_channels),
        "observed": None,
    }
    content = settle_signal(content, notes.append)
    return replace(recording, notes=notes, **content)


def _tell(bands: Sequence[tuple[float, float]], lengths: Sequence[int], rate: float) -> str:
    parts = [f"{a:g}-{b:g} Hz over {n / rate:.3g} s" for (a, b), n in zip(bands, lengths, strict=True)]
    return f"signal: log10 of the power in {', '.join(parts)} before each moment"


def _find_length(band: tuple[float, float], rate: float) -> int:
    """Return the length of the window of a band, in samples."""
    low, high = band
    if high > rate / 2:
        found = f"{high:g} Hz in {rate:g} samples per second"
        raise InputError("--bands", f"frequencies up to {rate / 2:g} Hz", found, "Choose lower bands.")
    return max(8, round(rate * max(PERIODS / low, RESOLUTION / (high - low))))


def _find_observed(recording: Recording, rate: float) -> np.ndarray:
    """Tell which samples were observed."""
    n = len(recording.counts)
    edges = np.clip(np.rint((recording.observed - recording.start) * rate), 0, n).astype(int)
    seen = np.zeros(n, dtype=bool)
    for begin, end in edges:
        seen[begin:end] = True
    return seen


def _measure(
    voltage: np.ndarray,
    missing: np.ndarray,
    band: tuple[float, float],
    length: int,
    step: int,
    n_steps: int,
    rate: float,
) -> np.ndarray:
    """Return log10 of the power of one channel in one band, at the end of each step; NaN without a whole window."""
    window = scipy.signal.windows.hann(length, sym=False)
    frequencies = np.fft.rfftfreq(length, 1 / rate)
    inside = frequencies[(frequencies >= band[0] - 1e-9) & (frequencies <= band[1] + 1e-9)]
    angles = 2 * np.pi * np.arange(length)[:, None] * inside / rate
    waves = window[:, None] * np.hstack([np.cos(angles), np.sin(angles)])
    waves -= waves.mean(axis=0)  # which is to take the mean of the voltage away
    ends = step * np.arange(1, n_steps + 1)
    gone = np.concatenate([[0], np.cumsum(missing)])
    whole = np.flatnonzero((ends >= length) & (gone[ends] == gone[np.maximum(ends - length, 0)]))
    views = np.lib.stride_tricks.sliding_window_view(voltage, length)
    found = np.full(n_steps, np.nan)
    at_once = max(1, AT_ONCE // length)
    for first in range(0, len(whole), at_once):
        rows = whole[first : first + at_once]
        found[rows] = ((views[ends[rows] - length] @ waves) ** 2).sum(axis=1) * 2 / (length * (window**2).sum())
    positive = found > 0
    if not positive.any():
        return np.full(n_steps, np.nan)
    floor = found[positive].min()
    return np.log10(np.where(np.isnan(found), np.nan, np.maximum(found, floor)))


def _describe(table: pd.DataFrame, bands: Sequence[tuple[float, float]], n_channels: int) -> pd.DataFrame:
    """Return the table of channels, with a row for each band of each."""
    names = table["name"]
    wide = table.iloc[np.repeat(np.arange(n_channels), len(bands))].reset_index(drop=True)
    texts = [f"{low:g}-{high:g} Hz" for low, high in bands]
    wide["name"] = [f"{name} {text}" for name in names for text in texts]
    wide["electrode_name"] = np.repeat(names.to_numpy(), len(bands))
    wide["band_low"], wide["band_high"] = np.tile(np.array(bands).T, n_channels)
    return wide
