"""Several sessions as one: their tensors one after the other, on the channels that they share by name."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from neurofs.ground.errors import UsageError, printable, quoted


def join_tensors(tensors: Sequence[xr.Dataset]) -> xr.Dataset:
    """Return one tensor of all sessions, whose windows never cross from one to the next.

    Channels are those that all sessions have, in the order of the first; classes are matched by name. Between two
    sessions there are silent bins that belong to none, as many as a sample may reach. Time goes on.

    >>> from neurofs.features.tensor import build_tensor, to_samples
    >>> from neurofs.recordings.simulate import simulate_session
    >>> days = [simulate_session(3, n_electrodes=1, random_state=seed) for seed in (1, 2)]
    >>> tensors = [build_tensor(day, "hand_velocity") for day in days]
    >>> rows = [len(to_samples(tensor).samples) for tensor in (*tensors, join_tensors(tensors))]
    >>> rows[0] + rows[1] == rows[2]
    True
    """
    if len(tensors) == 1:
        return tensors[0]
    first = tensors[0]
    _check_alike(tensors)
    shared = set.intersection(*({str(name) for name in tensor["channel"].values} for tensor in tensors))
    channels = [str(name) for name in first["channel"].values if str(name) in shared]
    if not channels:
        names = ", ".join(printable(tensor.attrs["name"]) for tensor in tensors)
        raise UsageError(f"sessions {names}: expected channels of the same names; found none that all have")
    gap = max(max(t.sizes["lag"] + t.attrs["reach"], t.attrs["target_span"]) for t in tensors)
    classes = list(dict.fromkeys(name for tensor in tensors for name in tensor.attrs["classes"]))
    parts: dict[str, list[np.ndarray]] = {name: [] for name in ("counts", "target", "trial", "valid")}
    n_trials = 0
    for tensor in tensors:
        part = _take(tensor, channels, classes, n_trials, gap)
        n_trials += int(tensor.attrs["n_trials"])
        for name, values in part.items():
            parts[name].append(values)
    joined = {name: np.concatenate(values) for name, values in parts.items()}
    dropped = [key for key in first.attrs if key.startswith("dropped_")]
    bin_width = first.attrs["bin_width"]
    return xr.Dataset(
        {
            "counts": (("time", "channel"), joined["counts"]),
            "target": (("time", "output"), joined["target"]),
            "trial": ("time", joined["trial"]),
            "valid": ("time", joined["valid"]),
        },
        coords={
            "time": ("time", bin_width * np.arange(len(joined["valid"])), {"units": "s"}),
            "channel": ("channel", np.array(channels)),
            **{name: first.coords[name] for name in ("lag", "output", "unit")},
        },
        attrs={
            **first.attrs,
            "name": " + ".join(tensor.attrs["name"] for tensor in tensors),
            "reach": max(tensor.attrs["reach"] for tensor in tensors),
            "target_span": max(tensor.attrs["target_span"] for tensor in tensors),
            "n_trials": n_trials,
            "classes": classes,
            "notes": [note for tensor in tensors for note in tensor.attrs["notes"]],
            **{key: sum(tensor.attrs[key] for tensor in tensors) for key in dropped},
        },
    )


def _check_alike(tensors: Sequence[xr.Dataset]) -> None:
    """Refuse sessions whose bins, outputs or units differ, and one that is there twice."""

    def describe(tensor: xr.Dataset) -> dict[str, Any]:
        return {
            "bins": (tensor.attrs["bin_width"], tensor.sizes["lag"], tensor.attrs["first_lag"]),
            "outputs": tensor["output"].values.tolist(),
            "units": tensor["unit"].values.tolist(),
            "numbers": tensor.attrs["numbers"],
        }

    expected = describe(tensors[0])
    for tensor in tensors[1:]:
        for what, found in describe(tensor).items():
            if found != expected[what]:
                raise UsageError(
                    f"{printable(tensor.attrs['name'])}: expected the {what} of the first session, "
                    f"{quoted(expected[what])}; found {quoted(found)}"
                )
    for n, tensor in enumerate(tensors):
        for other in tensors[:n]:
            if all(np.array_equal(tensor[name].values, other[name].values) for name in ("counts", "valid")):
                both = " and ".join(printable(one.attrs["name"]) for one in (other, tensor))
                raise UsageError(f"{both}: the same data twice, trained on and tested at once; name each session once")


def _take(
    tensor: xr.Dataset, channels: list[str], classes: list[str], n_trials: int, gap: int
) -> dict[str, np.ndarray]:
    """Return the arrays of one session, and of a gap of bins behind it."""
    target, trial = tensor["target"].values, tensor["trial"].values
    if classes:
        codes = np.array([classes.index(name) for name in tensor.attrs["classes"]], float)
        target = np.where(np.isfinite(target), codes[np.nan_to_num(target).astype(int)], np.nan)
    after = ((0, gap), (0, 0))
    return {
        "counts": np.pad(tensor["counts"].sel(channel=channels).values, after),
        "target": np.pad(target, after, constant_values=np.nan),
        "trial": np.pad(np.where(trial >= 0, trial + n_trials, -1), after[0], constant_values=-1).astype(np.int32),
        "valid": np.pad(tensor["valid"].values, after[0]),
    }
