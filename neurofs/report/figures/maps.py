"""Figures of channel × lag: weights, the best n features of every selector, profiles over lags and the array."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from neurofs.comparison.comparison import Comparison
from neurofs.ground.errors import printable
from neurofs.report.feature_maps import (
    find_n,
    list_selectors,
    mean_weights,
    selected_share,
    weigh_channels,
    weigh_lags,
)
from neurofs.report.palette import INK, MUTED, RULE, find_key
from neurofs.report.pictures import Panel, Picture, Table

__all__ = ["draw_lags", "draw_positions", "draw_top_maps", "draw_weight_maps"]

WIDE = (9.4, 2.3)
MAP_CAPTION = (
    "Columns are channels, rows are lags: the bottom row is the bin of the movement itself, higher rows "
    "are spikes that came earlier. A vertical streak is a channel that tells the same at many lags; single "
    "dark cells are channels that matter at one lag. × marks silent channels; no selector has a reason to "
    "select them."
)


def draw_weight_maps(comparison: Comparison) -> Picture | None:
    """Return the mean weights of the reference, one map per output."""
    selectors = list_selectors(comparison)
    if not selectors:
        return None
    first, weights = selectors[0], mean_weights(comparison, selectors[0])
    panels = [
        Panel(
            str(output),
            _describe_map(comparison, weights[i], str(output)),
            partial(_plot_map, values=weights[i] / max(np.nanmax(weights[i]), 1e-300), comparison=comparison),
            WIDE,
        )
        for i, output in enumerate(comparison.weights["output"].values)
    ]
    caption = (
        f"Weight of each channel × lag by {find_key(first).label}, mean over folds; black is the largest of "
        f"the map. {MAP_CAPTION}"
    )
    return Picture("weights", f"Weights of {find_key(first).label}", caption, panels)


def _describe_map(comparison: Comparison, weights: np.ndarray, output: str) -> str:
    best = np.argsort(-np.nan_to_num(weights).ravel(), kind="stable")[:3]
    channels, lags = comparison.weights["channel"].values, comparison.weights["lag"].values
    places = [np.unravel_index(i, weights.shape) for i in best]
    some = ", ".join(f"{printable(channels[c])} at {1000 * lags[t]:.0f} ms" for c, t in places)
    return f"Map of weights for {printable(output)}; the largest: {some}"


def draw_top_maps(comparison: Comparison) -> Picture | None:
    """Return for every selector how often each feature is among the best n."""
    selectors, n = list_selectors(comparison), find_n(comparison)
    if not selectors:
        return None
    panels = [
        Panel(
            find_key(s).label,
            f"How often {find_key(s).label} selects each channel and lag among the best {n}",
            partial(_plot_map, values=selected_share(comparison, s, n), comparison=comparison),
            WIDE,
        )
        for s in selectors
    ]
    caption = (
        f"The best {n} features of every selector; black: selected in every fold and for every output, "
        "gray: in some. Rankings that look at one feature at a time may take all lags of a few channels, "
        "which repeat each other; the table below counts channels and lags."
    )
    return Picture("top", "Selected features of every selector", caption, panels)


def _plot_map(axes: Any, values: np.ndarray, comparison: Comparison) -> None:
    """Draw values in [0, 1] (channel, lag) as shades, channels from left to right and lag 0 at the bottom."""
    n_channels, n_lags = values.shape
    rgba = np.zeros((n_lags, n_channels, 4))
    rgba[..., 3] = np.clip(np.nan_to_num(values.T), 0, 1)
    extent = (-0.5, n_channels - 0.5, -0.5, n_lags - 0.5)
    axes.imshow(rgba, origin="lower", aspect="auto", interpolation="nearest", extent=extent)
    silent = np.flatnonzero(comparison.session["silent"].values)
    axes.plot(silent, np.full(len(silent), n_lags - 0.1), "x", color=MUTED, ms=3, mew=0.8, clip_on=False)
    names = [printable(name)[:8] for name in comparison.weights["channel"].values]
    step = max(1, -(-n_channels // 32), -(-n_channels * max(map(len, names)) // 130))
    axes.set_xticks(range(0, n_channels, step), names[::step], fontsize=7)
    shown = range(0, n_lags, max(1, -(-n_lags // 6)))
    axes.set_yticks(shown, [f"{1000 * comparison.weights['lag'].values[i]:.0f}" for i in shown])
    axes.set(xlabel="channel", ylabel="lag (ms)", xlim=extent[:2], ylim=(-0.5, n_lags - 0.5))


def draw_lags(comparison: Comparison) -> Picture | None:
    """Return each lag's share of the weight, for every selector."""
    selectors = list_selectors(comparison)
    lags = 1000 * comparison.weights["lag"].values
    if not selectors or len(lags) < 2:
        return None
    profiles = {s: weigh_lags(comparison, s) for s in selectors}
    first = profiles[selectors[0]]
    alt = f"Share of weight by lag; {find_key(selectors[0]).label} peaks at {lags[int(np.argmax(first))]:.0f} ms"
    caption = (
        "Weight summed over channels, as a share of all weight, mean over folds and outputs. A peak says "
        "how long before the movement the spikes tell most: in motor cortex some 50 to 200 ms. The dashed "
        "line is what equal weights give; a profile that follows it has found no preferred lag. A rise "
        "toward the longest lag is a reason to try more lags."
    )
    rows = [(s, float(lag), float(v)) for s, p in profiles.items() for lag, v in zip(lags, p, strict=True)]
    numbers = Table("Share of weight by lag", ("selector", "lag (ms)", "share"), rows, digits=4)
    panel = Panel("", alt, partial(_plot_lags, lags=lags, profiles=profiles), (4.6, 2.8))
    return Picture("lags", "Lag profile", caption, [panel], [find_key(s) for s in selectors], numbers)


def _plot_lags(axes: Any, lags: np.ndarray, profiles: dict[str, np.ndarray]) -> None:
    axes.axhline(100 / len(lags), color=MUTED, lw=0.8, ls="--")
    for i, (selector, profile) in enumerate(profiles.items()):
        key = find_key(selector)
        width = 2.0 if i == 0 else 1.0
        axes.plot(lags, 100 * profile, color=key.color, marker=key.marker, ls=key.line, lw=width)
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.set(xlabel="lag: spikes precede the movement by (ms)", ylabel="share of weight (%)")
    axes.set_ylim(bottom=0)


def draw_positions(comparison: Comparison) -> Picture | None:
    """Return the weight at each place of the array, where places are known."""
    x, y = comparison.session["x"].values, comparison.session["y"].values
    known = np.isfinite(x) & np.isfinite(y)
    selectors = list_selectors(comparison)
    if not selectors or len(np.unique(np.column_stack([x, y])[known], axis=0)) < 2:
        return None
    places, at = np.unique(np.column_stack([x, y])[known], axis=0, return_inverse=True)
    weight = np.bincount(at.ravel(), weights=weigh_channels(comparison, selectors[0])[known])
    best = places[int(np.argmax(weight))]
    alt = f"Weight by position on the array; the largest at {best[0]:g}, {best[1]:g}"
    caption = (
        f"Area of a disk: weight by {find_key(selectors[0]).label}, summed over the channels and lags of "
        "one place. Rings are places without weight. Disks that grow toward one side suggest a place for "
        "the next array."
    )
    panel = Panel("", alt, partial(_plot_positions, places=places, weight=weight), (4.6, 3.6))
    rows = [(float(px), float(py), float(w)) for (px, py), w in zip(places, weight, strict=True)]
    return Picture(
        "positions",
        "Positions on the array",
        caption,
        [panel],
        (),
        Table("Weight by place", ("x", "y", "weight"), rows),
    )


def _plot_positions(axes: Any, places: np.ndarray, weight: np.ndarray) -> None:
    size = min(420.0, 20_000 / len(places)) * weight / max(float(weight.max()), 1e-300)
    axes.scatter(*places.T, s=12, facecolors="none", edgecolors=RULE, linewidths=1)
    axes.scatter(*places.T, s=size, color=find_key("rgs").color, alpha=0.75, lw=0)
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.15)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.set(xlabel="x (as in the file)", ylabel="y (as in the file)")
    axes.tick_params(colors=INK)
