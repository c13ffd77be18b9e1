"""What the scripts of a report need, as JSON: the map of features and the traces.

Long arrays are base64 of little-endian numbers, which is a third of their size as text.
"""

import base64
import json
from typing import Any

import numpy as np

from neurofs.comparison.comparison import Comparison
from neurofs.ground.errors import printable
from neurofs.report.feature_maps import find_n, find_reported, find_tested, get_ranks, list_selectors, mean_weights
from neurofs.report.figures.session import STRETCH, path_labels
from neurofs.report.palette import THEME, find_key
from neurofs.report.traces import Traces

MAX_RANKS = 3_000_000
"""Ranks in one page; with more, only the first repeat is shown."""


def encode_json(value: Any) -> str:
    """Return JSON that is safe inside a script element: no markup can begin in it.

    >>> encode_json("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)  # ASCII: U+2028 and the like are escaped
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _pack(values: np.ndarray, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode("ascii")


def pack_maps(comparison: Comparison) -> dict[str, Any]:
    """Return channels, lags and, per selector, weights (output, cell) and ranks (output, fold, cell)."""
    selectors, weights = list_selectors(comparison), comparison.weights
    all_ranks = {s: get_ranks(comparison, s) for s in selectors}
    some = next(iter(all_ranks.values()))
    only_first = sum(r.size for r in all_ranks.values()) > MAX_RANKS and some.shape[1] > 1
    n_cells = weights.sizes["channel"] * weights.sizes["lag"]
    wide = n_cells > np.iinfo(np.uint16).max
    packed = []
    for s in selectors:
        ranks = all_ranks[s][:, :1] if only_first else all_ranks[s]
        packed.append(
            {
                "name": s,
                "label": printable(find_key(s).label),
                "weights": _pack(mean_weights(comparison, s), "<f4"),
                "ranks": _pack(ranks, "<u4" if wide else "<u2"),
            }
        )
    tuned, adds = find_tested(comparison)
    return {
        "tuned": [int(t) for t in tuned],
        "adds": [int(a) for a in adds],
        "faded": [int(not r) for r in find_reported(comparison)],
        "channels": [printable(c) for c in weights["channel"].values],
        "electrodes": [printable(e) for e in comparison.session["electrode"].values],
        "silent": [int(s) for s in comparison.session["silent"].values],
        "lags": [round(1000 * float(lag), 3) for lag in weights["lag"].values],
        "outputs": [printable(o) for o in weights["output"].values],
        "n_folds": int((1 if only_first else some.shape[1]) * some.shape[2]),
        "n": find_n(comparison),
        "wide": int(wide),
        "selectors": packed,
    }


def pack_traces(traces: Traces) -> dict[str, Any]:
    """Return the traces of all shown methods."""
    has_trials = bool((traces.trial >= 0).any())
    lengths = np.unique(traces.trial[traces.trial >= 0], return_counts=True)[1]
    return {
        "time": _pack(traces.time, "<f8"),
        "trial": _pack(traces.trial, "<i4"),
        "target": [_pack(values, "<f4") for values in traces.target],
        "methods": [
            {
                "name": method,
                "label": printable(find_key(method).label),
                "color": THEME[find_key(method).color],
                "predicted": [_pack(values, "<f4") for values in traces.predicted[m]],
                "sd": [_pack(values, "<f4") for values in traces.sd[m]]
                if traces.sd is not None and traces.has_band(m)
                else None,
            }
            for m, method in enumerate(traces.methods)
        ],
        "outputs": [printable(name) for name in traces.outputs],
        "units": [printable(unit) for unit in traces.units],
        "classes": [printable(name) for name in traces.classes],
        "interval": traces.interval,
        "stretch": STRETCH,
        "has_trials": has_trials,
        "trial_length": float(np.median(lengths) * traces.interval) if has_trials else None,
        "summed": traces.is_velocity,
        "plane": path_labels(traces) if len(traces.outputs) == 2 and not traces.classes else None,
    }
