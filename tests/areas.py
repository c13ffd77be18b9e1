"""A session of two areas whose channels follow a slow target at known leads, as counts, made in a moment."""

from __future__ import annotations

import numpy as np
import pandas as pd

from neurofs.recordings.recording import Recording, Series

WIDTH = 0.1
LEADS = {"M1": 0.2, "S1": -0.1}
"""Seconds by which the spikes of each area precede the target."""


def make_areas(seed: int, n_bins: int = 600, n_channels: int = 5, gain: float = 1.0, trials: bool = False) -> Recording:
    """Simulate Poisson counts whose log rates follow two smooth random targets, each channel a direction of its own."""
    rng = np.random.default_rng([seed, 77])
    target = _smooth(rng.normal(size=(n_bins + 40, 2)))[20:-20]
    counts, areas = [], []
    for area, lead in LEADS.items():
        ahead = np.roll(target, -round(lead / WIDTH), axis=0)  # what the target will be
        angle = rng.uniform(0, 2 * np.pi, n_channels)
        drive = ahead @ np.array([np.cos(angle), np.sin(angle)])
        counts.append(rng.poisson(np.exp(0.5 + gain * 0.5 * drive)))
        areas += [area] * n_channels
    time = WIDTH * (np.arange(n_bins) + 0.5)
    table = None
    if trials:
        start = np.arange(0, n_bins * WIDTH - 2.9, 3.0)
        table = pd.DataFrame({"start": start, "stop": start + 3.0, "load": ["light", "heavy"] * (len(start) // 2)})
    return Recording(
        f"areas{seed}",
        counts=np.hstack(counts),
        bin_width=WIDTH,
        behavior={"hand": Series("hand", time, target, ("x", "y"), "cm"), "fast": Series("fast", time, target**2)},
        channels=pd.DataFrame({"name": [f"{a}-{i}" for i, a in enumerate(areas)], "area": areas}),
        trials=table,
    )


def _smooth(noise: np.ndarray) -> np.ndarray:
    kernel = np.exp(-0.5 * (np.arange(-6, 7) / 2.0) ** 2)
    kernel /= np.sqrt(np.sum(kernel**2))
    return np.column_stack([np.convolve(column, kernel, "same") for column in noise.T])
