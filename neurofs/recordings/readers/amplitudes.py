"""Threshold crossings with amplitudes: the spikes of a channel become several channels, from small to large.

Where spikes are not sorted, their amplitudes tell neurons apart in part. Bands hold the same number of spikes of a
channel each; where they end is found from all its spikes, without a look at behavior.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from neurofs.ground.errors import InputError, quoted

WORDS = ("spikeamplitudes", "spikeamplitude", "amplitudes", "amplitude", "spikeamps", "amps")


def divide_by_amplitude(
    content: dict[str, Any], amplitudes: Sequence[np.ndarray], n_bands: int, note: Callable[[str], None]
) -> dict[str, Any]:
    """Return content whose channels are bands of amplitude; `amplitudes` has one for each spike of each channel.

    >>> content = {"spikes": [np.array([0.1, 0.2, 0.3, 0.4])], "channels": pd.DataFrame({"name": ["a"]})}
    >>> divided = divide_by_amplitude(content, [np.array([-50.0, -90.0, -70.0, -60.0])], 2, print)
    spikes: divided by amplitude into 2 channels for each; the first has the smallest
    >>> [times.tolist() for times in divided["spikes"]], divided["channels"]["name"].tolist()
    ([[0.1, 0.4], [0.2, 0.3]], ['a:1', 'a:2'])
    """
    spikes, table = [], content["channels"].reset_index(drop=True)
    names = table["name"] if "name" in table else pd.Series([str(i) for i in range(len(amplitudes))])
    for name, times, sizes in zip(names, content["spikes"], amplitudes, strict=True):
        if len(sizes) != len(times) or not np.isfinite(sizes).all():
            found = f"{len(sizes)} for {len(times)} spikes" if len(sizes) != len(times) else "missing ones (NaN)"
            raise InputError(f"amplitudes of channel {quoted(name)}", "one for each spike", found, "Correct them.")
        size = np.abs(sizes)
        edges = np.quantile(size, np.arange(1, n_bands) / n_bands) if size.size else []
        band = np.searchsorted(edges, size, side="right")
        spikes += [times[band == i] for i in range(n_bands)]
    bands = np.tile(np.arange(1, n_bands + 1), len(table))
    table = table.loc[np.repeat(np.arange(len(table)), n_bands)].reset_index(drop=True)
    own = np.repeat(names.to_numpy(), n_bands)
    table["name"] = [f"{name}:{band}" for name, band in zip(own, bands, strict=True)]
    table["amplitude_band"] = bands
    note(f"spikes: divided by amplitude into {n_bands} channels for each; the first has the smallest")
    return content | {"spikes": spikes, "channels": table}
