"""Draws the picture of the project's README: a channel × lag map of weights, and decoded against true velocity.

``python data/make_demo_picture.py`` draws it for the demo session, as ``demo.png`` beside this file; another path
may be given.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from neurofs.comparison.scores import score_values
from neurofs.decoders.kernel_rgs import KernelRGSDecoder
from neurofs.features.tensor import build_tensor, map_features, to_samples
from neurofs.recordings.demo import demo_path
from neurofs.recordings.readers import load
from neurofs.recordings.simulate import map_truth
from neurofs.report.palette import TRUE, VERMILION, find_key
from neurofs.report.pictures import STYLE
from neurofs.selectors.rgs import RGS

N_TRAINING = 64
"""Trials to learn from; the other 16 are decoded."""


def plot_weights(axes: Any, weights: xr.DataArray, truth: xr.DataArray | None = None) -> None:
    """Draw weights (channel, lag) as a map; rings mark the features of `truth`."""
    step = float(weights["lag"][1] - weights["lag"][0]) if weights.sizes["lag"] > 1 else 0.1
    lags = 1000 * weights["lag"].values
    edges = np.append(lags - 500 * step, lags[-1] + 500 * step)
    rows = np.arange(weights.sizes["channel"] + 1) - 0.5
    image = axes.pcolormesh(edges, rows, weights.values, cmap="Greys", vmin=0, rasterized=True)
    if truth is not None:
        channel, lag = np.nonzero(truth.transpose("channel", "lag").values)
        axes.plot(lags[lag], channel, "o", mfc="none", mec=VERMILION, ms=4, mew=0.8, label="truly tuned")
        axes.legend(loc="upper right", fontsize=7, framealpha=0.9)
    shown = np.arange(0, weights.sizes["channel"], max(1, weights.sizes["channel"] // 16))
    axes.set_yticks(shown, [str(weights["channel"].values[i]) for i in shown], fontsize=7)
    axes.invert_yaxis()
    axes.set(xlabel="lag: spikes precede the target by (ms)", ylabel="channel")
    axes.figure.colorbar(image, ax=axes, label="weight", fraction=0.06, pad=0.02)


def plot_decoded(axes: Any, truth: np.ndarray, decoded: np.ndarray, bin_width: float, label: str) -> None:
    """Draw one output over the test samples, put one after the other."""
    time = np.arange(len(truth)) * bin_width
    axes.plot(time, truth, color=TRUE, lw=2.4, label="true")
    axes.plot(time, decoded, color=find_key("kernel-rgs").color, lw=1.2, label="decoded")
    axes.set_title(f"R² = {score_values(truth, decoded)['r2']:.2f} on trials not used for training")
    axes.set(ylabel=label)


def draw_demo(path: Path) -> None:
    """Weigh the demo session with RGS and decode it with kernel RGS."""
    session = load(demo_path())
    tensor = build_tensor(session, "hand_velocity")
    samples, y, trial = to_samples(tensor)
    train, test = trial < N_TRAINING, trial >= N_TRAINING
    decoder = KernelRGSDecoder(random_state=0).fit(samples[train], y[train], trial[train])
    decoded = decoder.predict(samples[test])
    selector = RGS(random_state=0).fit(samples[train], y[train], trial[train])
    weights = map_features(selector.weights_, tensor)
    truth = map_truth(session, tensor["lag"].values.tolist(), tensor.attrs["bin_width"])
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(10, 5), layout="constrained")
        left, right = figure.subfigures(1, 2, width_ratios=[1, 1.25])
        plot_weights(left.subplots(), weights, truth)
        panels = right.subplots(2, 1, sharex=True)
        for i, axes in enumerate(panels):
            label = f"{tensor['output'].values[i].split(':')[-1]} velocity ({tensor['unit'].values[i]})"
            plot_decoded(axes, y[test, i], decoded[:, i], tensor.attrs["bin_width"], label)
        panels[0].legend(loc="upper right", ncols=2, fontsize=7, framealpha=0.9)
        panels[1].set_xlabel("time in the test trials, put one after the other (s)")
        figure.savefig(path, dpi=130, metadata={"Software": None} if path.suffix == ".png" else None)


if __name__ == "__main__":
    draw_demo(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("demo.png"))
