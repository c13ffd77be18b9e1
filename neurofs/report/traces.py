"""`Traces`: decoded beside true targets, in the order of time, for drawing and for the viewer of the report."""

from dataclasses import dataclass

import numpy as np

from neurofs.comparison.comparison import Comparison

MAX_METHODS, MAX_ROWS = 4, 20_000


@dataclass(frozen=True, eq=False)
class Traces:
    """Decoded (method, output, time) and true (output, time) targets of the first repeat."""

    time: np.ndarray
    trial: np.ndarray
    target: np.ndarray
    predicted: np.ndarray
    sd: np.ndarray | None
    methods: list[str]
    outputs: list[str]
    units: list[str]
    classes: list[str]
    interval: float
    n_left_out: int

    def has_band(self, method: int) -> bool:
        """Whether a method says how sure it is."""
        return self.sd is not None and bool(np.isfinite(self.sd[method]).any())

    @property
    def is_velocity(self) -> bool:
        """Whether trials can be summed to paths: by the unit of the outputs or, where there is none, their name."""
        known = zip(self.units, self.outputs, strict=True)
        return bool((self.trial >= 0).any()) and all(u.endswith("/s") if u else "vel" in o.lower() for u, o in known)


def get_traces(comparison: Comparison) -> Traces | None:
    """Return the traces of the best methods, the headline's first; None if nothing was predicted.

    A session of more than 20,000 samples is cut off there, and `n_left_out` says by how much.
    """
    table = comparison.predictions
    methods = _choose_methods(comparison)
    if not methods or not table.sizes["time"]:
        return None
    kept = table.isel(time=slice(0, MAX_ROWS), repeat=0).sel({"method": methods})
    dims = ("method", "output", "time")
    return Traces(
        time=kept["time"].values.astype(float),
        trial=kept["trial"].values.astype(int),
        target=kept["target"].transpose("output", "time").values.astype(float),
        predicted=kept["predicted"].transpose(*dims).values.astype(float),
        sd=kept["predicted_sd"].transpose(*dims).values.astype(float) if "predicted_sd" in kept else None,
        methods=methods,
        outputs=[str(o) for o in kept["output"].values],
        units=[o.unit for o in comparison.summary.session.outputs],
        classes=comparison.summary.session.classes,
        interval=_find_interval(kept["time"].values, comparison.summary.session.bin_width),
        n_left_out=max(0, table.sizes["time"] - MAX_ROWS),
    )


def _find_interval(time: np.ndarray, bin_width: float) -> float:
    """Return the seconds between samples: a bin, or the step between samples where that is larger."""
    return max(bin_width, round(float(np.median(np.diff(time))), 9)) if len(time) > 1 else bin_width


def _choose_methods(comparison: Comparison) -> list[str]:
    """Return up to four methods that predicted anything: the headline's, the reference, then the best."""
    table = comparison.predictions
    done = np.isfinite(table["predicted"].values).any(axis=(1, 2, 3)) if table.sizes["time"] else []
    known = [str(m) for m, d in zip(table["method"].values, done, strict=False) if d]
    wished = [comparison.summary.main, comparison.summary.reference]
    wished += [m.method for m in comparison.summary.methods]
    return [m for m in dict.fromkeys(wished) if m in known][:MAX_METHODS]


def find_stretch(traces: Traces, seconds: float) -> slice:
    """Return the rows of about so many seconds from the first predicted one on, in whole trials if there are."""
    known = np.flatnonzero(np.isfinite(traces.predicted[0]).all(axis=0))
    first = int(known[0]) if len(known) else 0
    stop = int(np.searchsorted(traces.time, traces.time[first] + seconds))
    while stop < len(traces.time) and traces.trial[stop] >= 0 and traces.trial[stop] == traces.trial[stop - 1]:
        stop += 1
    return slice(first, max(stop, first + 1))


def find_path(traces: Traces, values: np.ndarray) -> np.ndarray:
    """Return two outputs (2, rows) as a path: velocities summed over time, anything else as it is.

    >>> empty = np.empty(0)
    >>> still = Traces(empty, np.zeros(1), empty, empty, None, [], ["x", "y"], ["cm/s"] * 2, [], 0.1, 0)
    >>> find_path(still, np.array([[1.0, 2.0], [0.0, 1.0]])).round(3).tolist()
    [[0.1, 0.3], [0.0, 0.1]]
    """
    return np.cumsum(values, axis=1) * traces.interval if traces.is_velocity else values
