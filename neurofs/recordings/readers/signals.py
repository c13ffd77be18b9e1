"""Continuous signals in place of spikes: dF/F of calcium, band power of LFP or ECoG, and their like.

A table is a signal if the user says so (`--signal`, `--signal-unit`), if its name does, or if the file states a unit
that only signals have. Nothing else is taken for one: numbers that are no counts may be rates, or counts that were
scaled. A sample belongs to the time from its own to that of the next one. What a channel lacks (NaN) is not observed.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from neurofs.ground.errors import InputError, quoted
from neurofs.recordings.readers.bins import Bins
from neurofs.recordings.readers.rates import as_counts, find_stated
from neurofs.recordings.readers.variables import Variables, is_table
from neurofs.recordings.recording import SPIKES
from neurofs.recordings.words import listed, split_words, word

ARBITRARY = "a.u."
DFF = "dF/F"
SIGNAL_WORDS = dict.fromkeys(split_words("dff dfof dfoverf deltafoverf deltaff dfftraces"), DFF) | dict.fromkeys(
    split_words(
        "signal fluorescence calcium calciumtraces calciumsignals calciumactivity roiresponses bandpower lfppower "
        "lfpbandpower ecogpower ecogbandpower gammapower highgamma highgammapower spikingbandpower"
    ),
    ARBITRARY,
)
"""Names that only signals have, and the unit of such a signal."""

SIGNAL_UNITS = split_words("df/f dff deltaf/f dfof %df/f δf/f ∆f/f")
MOSTLY = 0.5
"""Share of missing samples above which a channel, or the whole signal, is not used."""


def find_signals(v: Variables) -> list[str]:
    """Return the variables whose name says that they hold a signal."""
    return [name for name in v.find(SIGNAL_WORDS, is_table) if min(v.values[name].shape) > 1]


def as_numbers(v: Variables, name: str, numbers: np.ndarray, width: float) -> tuple[np.ndarray, str]:
    """Return a stored table as counts of spikes, or as the signal that it is, and its unit."""
    unit = find_signal_unit(v, name)
    if unit is None:
        return as_counts(v, name, numbers, width), SPIKES
    v.note(f"signal: {quoted(name)} is continuous, in {unit}; no spikes are counted")
    return numbers, unit


def find_signal_unit(v: Variables, name: str) -> str | None:
    """Return the unit of a table that is said to be a continuous signal; None if nothing says so."""
    if (v.options.signal or v.options.signal_unit) and v.options.counts_unit:
        raise InputError("--counts-unit", "counts or rates", "a signal", "Leave it out, or --signal and --signal-unit.")
    asked, stated = v.ask("signal_unit"), find_stated(v, name)
    if asked is not None:
        return str(asked)
    known = SIGNAL_WORDS.get(word(name))
    by_name = known is not None and v.options.counts is None and v.options.counts_unit is None
    if v.ask("signal") is not None or by_name or stated.lower() in SIGNAL_UNITS:
        return stated or known or ARBITRARY
    return None


def settle_signal(content: dict[str, Any], note: Callable[[str], None]) -> dict[str, Any]:
    """Return the content of a recording without channels and moments that a signal lacks; counts are left as they are.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"name": ["a", "b"]})
    >>> counts = np.array([[1.0, np.nan], [np.nan, np.nan], [2.0, np.nan]])
    >>> content = {"counts": counts, "unit": "dF/F", "bin_width": 0.5, "start": 0.0, "channels": table}
    >>> settled = settle_signal(content, print)
    channels: 1 without a signal (NaN) left out: b
    signal: 1 of 3 samples are missing (NaN); nothing was observed then
    >>> settled["counts"].tolist(), settled["observed"].tolist()
    ([[1.0], [0.0], [2.0]], [[0.0, 0.5], [1.0, 1.5]])
    """
    signal = content.get("counts")
    if content.get("unit", SPIKES) == SPIKES or signal is None or signal.dtype.kind != "f" or not signal.size:
        return content
    missing = np.isnan(signal)
    kept = missing.mean(axis=0) <= MOSTLY
    names = content["channels"]["name"].to_numpy()
    if not kept.any():
        raise InputError("signal", "numbers", "NaN in most samples of every channel", "Name another with --signal.")
    if not kept.all():
        note(f"channels: {(~kept).sum()} without a signal (NaN) left out: {listed(names[~kept])}")
        content = content | {"counts": signal[:, kept], "channels": content["channels"][kept].reset_index(drop=True)}
    return _mark_missing(content, missing[:, kept].any(axis=1), note)


def _mark_missing(content: dict[str, Any], missing: np.ndarray, note: Callable[[str], None]) -> dict[str, Any]:
    """Return the content with the samples that some channel lacks as not observed."""
    if not missing.any():
        return content
    if missing.mean() > MOSTLY:
        found = f"{missing.mean():.0%} of samples with NaN in some channel"
        raise InputError("signal", "samples of all channels", found, "Leave such channels out (--exclude-channels).")
    note(f"signal: {missing.sum():,} of {len(missing):,} samples are missing (NaN); nothing was observed then")
    bins = Bins(content["start"], content["bin_width"], np.arange(len(missing)))
    before = content.get("observed")
    seen = ~missing if before is None else ~missing & _inside(np.asarray(before, float), bins.centers)
    observed = Bins(bins.start, bins.width, np.flatnonzero(seen)).observed
    return content | {"counts": np.where(missing[:, None], 0.0, content["counts"]), "observed": observed}


def _inside(intervals: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Tell which times lie in one of the sorted intervals."""
    last = np.searchsorted(intervals[:, 0], times, side="right") - 1
    return (last >= 0) & (times < intervals[np.maximum(last, 0), 1])
