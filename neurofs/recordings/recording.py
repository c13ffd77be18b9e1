"""`Recording`: one session as it was recorded, checked once and then trusted.

Everything is in seconds on one clock. A `Recording` holds spike times, one sorted array per channel, or
numbers per bin that were stored so: counts of spikes, or a continuous signal such as dF/F or band power; the behavior
series; the trials; a table of what is known about each channel; and the intervals of observation. A bad one cannot
exist: construction raises :class:`InvalidRecording`, which lists everything that is wrong (`recordings.defects`).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from neurofs.ground.errors import InputError, UsageError, printable
from neurofs.ground.showing import render_facts
from neurofs.recordings.defects import TICK as TICK, find_defects
from neurofs.recordings.remarks import Remark

SPIKES = "spikes"
"""The unit of counts; any other unit is that of a continuous signal."""


class InvalidRecording(InputError):
    """A recording that breaks a rule; `defects` has all of them, the message is the first."""

    def __init__(self, defects: Sequence[InputError], draft: Recording) -> None:
        first = defects[0]
        more = f" ({len(defects) - 1} more: see neurofs inspect.)" if len(defects) > 1 else ""
        super().__init__(first.where, first.expected, first.found, first.remedy + more)
        self.defects, self.draft = tuple(defects), draft


@dataclass(frozen=True, eq=False)
class Series:
    """A behavior series: `values` (sample, column) at increasing times in seconds.

    `circular` series are angles in radians; decoded as their cosine and sine. Missing values are NaN.

    >>> Series("hand_velocity", [0.0, 0.1], [[1.0, 2.0], [1.5, 2.5]], ("x", "y"), "cm/s").rate
    10.0
    """

    name: str
    time: np.ndarray
    values: np.ndarray
    columns: tuple[str, ...] = ()
    unit: str = ""
    circular: bool = False

    def __post_init__(self) -> None:
        time = np.asarray(self.time, dtype=np.float64)
        values = np.asarray(self.values, dtype=np.float64)
        values = values[:, None] if values.ndim == 1 else values
        if time.ndim != 1 or values.ndim != 2 or len(time) != len(values):
            raise InputError(
                self.name,
                "one time per row of values",
                f"times of shape {time.shape} and values of shape {values.shape}",
                "Check the orientation of the series and which times belong to it.",
            )
        for key in ("name", "unit"):
            object.__setattr__(self, key, without_nul(getattr(self, key)))
        columns = tuple(without_nul(str(c)) for c in self.columns) or default_columns(self.name, values.shape[1])
        if len(columns) != values.shape[1] or len(set(columns)) != len(columns):
            raise InputError(
                self.name, f"{values.shape[1]} different column names", list(columns), "Give one name per column."
            )
        object.__setattr__(self, "time", _frozen(time))
        object.__setattr__(self, "values", _frozen(values))
        object.__setattr__(self, "columns", columns)

    @property
    def interval(self) -> float:
        """Median time between two samples, in seconds."""
        return float(np.median(np.diff(self.time))) if len(self.time) > 1 else np.nan

    @property
    def rate(self) -> float:
        """Samples per second, from the median interval."""
        return round(1.0 / self.interval, 6) if self.interval else np.inf


def default_columns(name: str, n_columns: int) -> tuple[str, ...]:
    """Return the series' own name for one column, x, y, z for up to three, else their numbers."""
    if n_columns == 1:
        return (name,)
    return tuple("xyz"[:n_columns]) if n_columns <= 3 else tuple(str(i) for i in range(n_columns))


@dataclass(frozen=True, eq=False)
class Recording:
    """One recorded session.

    Parameters
    ----------
    name : str
        Name of the session, for people.
    spikes : sequence of arrays, optional
        Spike times of each channel, in seconds, sorted.
    counts : array (time, channel), optional
        Counts per bin instead of spike times, on a regular grid; or samples of a continuous signal.
    unit : str
        What `counts` are: "spikes", or the unit of a continuous signal ("dF/F", "uV²", "a.u.").
    bin_width, start : float
        Width of these bins and the time at which the first one begins; unused with spike times.
    behavior : mapping of str to Series
    trials : DataFrame with `start` and `stop`, and any conditions
        Half-open intervals that do not overlap; empty if the session has no trials.
    channels : DataFrame with `name`, and whatever is known: electrode, kind, quality, x, y …
    observed : array (n, 2), optional
        Intervals in which spikes were observed. Without it: from the first to the last spike, or all bins.
    source, source_hash : str
        The file and the SHA-256 of its content.
    notes : sequence of str
        What was guessed or derived on the way from the file.
    remarks : sequence of Remark
        What its reader found odd; `recordings.checks` finds more.

    Examples
    --------
    >>> r = Recording("toy", spikes=[[0.1, 0.2, 0.9], []], observed=[[0.0, 1.0]])
    >>> r.n_channels, r.n_spikes, r.duration
    (2, 3, 1.0)
    >>> Recording("toy", spikes=[[0.655, 0.412]])
    Traceback (most recent call last):
    neurofs.recordings.recording.InvalidRecording: channel '0': expected spike times in increasing order; \
found 0.412 after 0.655. Sort them, or pass --sort-spikes.
    """

    name: str
    spikes: Sequence[Any] | None = None
    counts: Any = None
    unit: str = SPIKES
    bin_width: float = 0.0
    start: float = 0.0
    behavior: Mapping[str, Series] = field(default_factory=dict)
    trials: pd.DataFrame = None
    channels: pd.DataFrame = None
    observed: Any = None
    source: str = ""
    source_hash: str = ""
    notes: Sequence[str] = ()
    remarks: Sequence[Remark] = ()

    def __post_init__(self) -> None:
        if (self.spikes is None) == (self.counts is None):
            raise InputError(
                self.name,
                "either spike times or counts",
                "neither" if self.spikes is None else "both",
                "Name the variable to use with --spikes or --counts.",
            )
        if self.spikes is not None and self.is_signal:
            raise InputError(self.name, "no unit for spike times", repr(self.unit), "Leave it out.")
        self._set(
            name=without_nul(self.name),
            unit=without_nul(self.unit),
            behavior={without_nul(name): series for name, series in self.behavior.items()},
            notes=tuple(self.notes),
            remarks=tuple(self.remarks),
            trials=_as_trials(self.trials),
        )
        if self.spikes is not None:
            self._set(spikes=tuple(_frozen(np.asarray(s, dtype=np.float64)) for s in self.spikes))
        else:
            self._set(
                counts=_frozen(np.asarray(self.counts)), start=float(self.start), bin_width=float(self.bin_width or 0.0)
            )
        self._set(channels=_as_channels(self.channels, self.n_channels))
        observed = self._default_observed() if self.observed is None else _pairs(self.observed)
        self._set(observed=_frozen(observed))
        defects = list(find_defects(self))
        if defects:
            raise InvalidRecording(defects, self)

    def with_source(self, source: str, source_hash: str) -> Recording:
        """Return the same recording with the name and hash of its file; its content is not checked again."""
        known = copy.copy(self)
        known._set(source=source, source_hash=source_hash)
        return known

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _default_observed(self) -> np.ndarray:
        if self.counts is not None:
            return np.array([[self.start, self.start + len(self.counts) * self.bin_width]])
        lists = [times for times in self.spikes or () if times.ndim == 1 and len(times)]
        ends = [t for times in lists for t in (times[0], times[-1]) if np.isfinite(t)]
        return np.array([[min(ends), max(ends) + TICK]]) if ends else np.empty((0, 2))

    @property
    def n_channels(self) -> int:
        """Number of channels."""
        if self.spikes is not None:
            return len(self.spikes)
        return self.counts.shape[1] if self.counts.ndim == 2 else 0

    @property
    def is_signal(self) -> bool:
        """Whether it holds a continuous signal in place of spikes."""
        return self.unit != SPIKES

    @property
    def n_spikes(self) -> int:
        """Number of spikes in all channels."""
        return int(self.spike_counts.sum())

    @property
    def spike_counts(self) -> np.ndarray:
        """Number of spikes of each channel in the whole session; a continuous signal has none."""
        if self.spikes is not None:
            return np.array([len(s) for s in self.spikes], dtype=np.int64)
        if self.is_signal:
            return np.zeros(self.n_channels, dtype=np.int64)
        total = self.counts.sum(axis=0, dtype=np.float64)
        return np.rint(total).astype(np.int64) if np.allclose(total, np.rint(total)) else total

    @property
    def span(self) -> tuple[float, float]:
        """First and last moment of observation, in seconds."""
        return (float(self.observed[0, 0]), float(self.observed[-1, 1])) if len(self.observed) else (0.0, 0.0)

    @property
    def duration(self) -> float:
        """Observed seconds."""
        return float(np.sum(self.observed[:, 1] - self.observed[:, 0]))

    @property
    def rates(self) -> np.ndarray:
        """Spikes per observed second of each channel."""
        return self.spike_counts / self.duration if self.duration else np.zeros(self.n_channels)

    def measure_signal(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of each channel of a continuous signal, where it was observed."""
        times = self.start + (np.arange(len(self.counts)) + 0.5) * self.bin_width
        last = np.searchsorted(self.observed[:, 0], times, side="right") - 1
        seen = self.counts[(last >= 0) & (times < self.observed[np.maximum(last, 0), 1])]
        return seen.mean(axis=0, dtype=np.float64), seen.std(axis=0, dtype=np.float64)

    def __repr__(self) -> str:
        return (
            f"<Recording {self.name!r}: {self.n_channels} channels ({self.kind}), {self.duration:.1f} s, "
            f"{len(self.trials)} trials, behavior {list(self.behavior)}>"
        )

    def _repr_html_(self) -> str:
        series = [f"{s.name} ({', '.join(s.columns)}) {s.unit}".strip() for s in self.behavior.values()]
        spikes = "" if self.is_signal else f", {self.n_spikes:,} spikes"
        facts = {
            "channels": f"{self.n_channels} ({self.kind}); known of each: {', '.join(map(str, self.channels.columns))}",
            "observed": f"{self.duration:,.1f} s{spikes}",
            "trials": f"{len(self.trials)}: {', '.join(map(str, self.trials.columns))}",
            "behavior": "; ".join(series) or "none",
            "source": self.source or "none",
        }
        return render_facts(f"Recording {self.name}", facts)

    @property
    def kind(self) -> str:
        """What it holds, for people."""
        if self.spikes is not None:
            return "spike times"
        if not self.is_signal:
            return f"counts in {self.bin_width:g} s bins"
        return f"signal in {printable(self.unit)}, {1 / self.bin_width:.6g} samples per second"


def find_gaps(intervals: np.ndarray) -> np.ndarray:
    """Return the gaps between sorted intervals, as an array (n, 2).

    >>> find_gaps(np.array([[0.0, 1.0], [1.5, 2.0]]))
    array([[1. , 1.5]])
    """
    gaps = np.column_stack([intervals[:-1, 1], intervals[1:, 0]])
    return gaps[gaps[:, 1] > gaps[:, 0]]


def _frozen(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view


def _pairs(intervals: Any) -> np.ndarray:
    array = np.asarray(intervals, dtype=np.float64)
    return array.reshape(-1, 2) if array.size % 2 == 0 else np.full((1, 2), np.nan)


def _as_trials(trials: pd.DataFrame | None) -> pd.DataFrame:
    if trials is None:
        return pd.DataFrame({"start": np.empty(0), "stop": np.empty(0)})
    return _clean_table(trials.reset_index(drop=True))


def _as_channels(channels: pd.DataFrame | None, n_channels: int) -> pd.DataFrame:
    table = pd.DataFrame(index=range(n_channels)) if channels is None else channels.reset_index(drop=True)
    if "name" not in table:
        table.insert(0, "name", [str(i) for i in range(len(table))])
    return _clean_table(table.assign(name=table["name"].map(str)))


def without_nul(value: Any) -> Any:
    """Return a text without the character NUL, which no file of results can hold; anything else as it is."""
    return value.replace("\0", "") if isinstance(value, str) and "\0" in value else value


def _clean_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table without NUL in the names of its columns and in texts."""
    texts = [c for c in table if any(isinstance(value, str) and "\0" in value for value in table[c])]
    clean = {c: [without_nul(value) for value in table[c]] for c in texts}
    return (table.assign(**clean) if clean else table).rename(columns=without_nul)


def require_recording(value: object, who: str) -> Recording:
    """Return a value if it is a recording, or say what is.

    >>> require_recording("day1.nwb", "fit")
    Traceback (most recent call last):
    neurofs.ground.errors.UsageError: fit: expected a Recording; found str. Read one with neurofs.load
    """
    if not isinstance(value, Recording):
        raise UsageError(f"{who}: expected a Recording; found {type(value).__name__}. Read one with neurofs.load")
    return value
