"""Figures of channel × lag: weights, the best n features of every selector, profiles over lags and the array."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from neurofs.comparison.comparison import Comparison
from neurofs.ground.errors import printable
from neurofs.report.captions import write_caption
from neurofs.report.feature_maps import (
    FADED,
    find_n,
    find_reported,
    find_tested,
    list_selectors,
    mean_weights,
    selected_share,
    weigh_channels,
    weigh_lags,
)
from neurofs.report.figures.encoding import tell_marks
from neurofs.report.palette import BLUE, INK, MUTED, RULE, VERMILION, find_key
from neurofs.report.pictures import Panel, Picture, Table, add_scale, shade

WIDE = (9.4, 2.3)

Profiles = Mapping[str, tuple[np.ndarray, np.ndarray]]
"""Lags in ms and the share of weight at each, by what they belong to."""


def draw_weight_maps(comparison: Comparison) -> Picture | None:
    """Return the mean weights of the reference, one map per output."""
    selectors = list_selectors(comparison)
    if not selectors:
        return None
    weights = mean_weights(comparison, selectors[0])
    panels = [
        Panel(
            str(output),
            _describe_map(comparison, weights[i], str(output)),
            partial(_plot_weights, values=weights[i], comparison=comparison),
            WIDE,
        )
        for i, output in enumerate(comparison.weights["output"].values)
    ]
    marks = tell_marks(comparison.summary.channels)
    silent = "; ×: silent" if comparison.session["silent"].values.any() else ""
    caption = write_caption("weights", selector=find_key(selectors[0]).label, marks=marks, silent=silent)
    return Picture("weights", caption, panels)


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
            partial(_plot_share, values=selected_share(comparison, s, n), comparison=comparison),
            WIDE,
        )
        for s in selectors
    ]
    return Picture("top", write_caption("top", n=n), panels)


def _plot_weights(axes: Any, values: np.ndarray, comparison: Comparison) -> None:
    largest = max(float(np.nanmax(values)), 1e-300)
    _plot_map(axes, values / largest, comparison)
    add_scale(axes, "0", f"{largest:.2g}", "weight")


def _plot_share(axes: Any, values: np.ndarray, comparison: Comparison) -> None:
    _plot_map(axes, values, comparison)
    add_scale(axes, "0", "1", "share of folds")


def _plot_map(axes: Any, values: np.ndarray, comparison: Comparison) -> None:
    """Draw values in [0, 1] (channel, lag) as shades, channels from left to right and lag 0 at the bottom."""
    n_channels, n_lags = values.shape
    extent = (-0.5, n_channels - 0.5, -0.5, n_lags - 0.5)
    image = shade(values.T) * np.where(find_reported(comparison), 1.0, FADED)[None, :, None]
    axes.imshow(image, origin="lower", aspect="auto", interpolation="nearest", extent=extent)
    _mark_reported(axes, comparison)
    silent = np.flatnonzero(comparison.session["silent"].values)
    axes.plot(silent, np.full(len(silent), n_lags - 0.7), "x", color=MUTED, ms=3, mew=0.8)
    names = [printable(name)[:8] for name in comparison.weights["channel"].values]
    step = max(1, -(-n_channels // 32), -(-n_channels * max(map(len, names)) // 130))
    axes.set_xticks(range(0, n_channels, step), names[::step], fontsize=7)
    shown = range(0, n_lags, max(1, -(-n_lags // 6)))
    axes.set_yticks(shown, [f"{1000 * comparison.weights['lag'].values[i]:.0f}" for i in shown])
    axes.set(xlabel="channel", ylabel="lag (ms)", xlim=extent[:2], ylim=(-0.5, n_lags - 0.5))


def _mark_reported(axes: Any, comparison: Comparison) -> None:
    """Mark tuned channels above a map and, above these, those that add something."""
    tuned, adds = find_tested(comparison)
    for found, height, color in ((tuned, 1.04, BLUE), (adds, 1.1, VERMILION)):
        places = np.flatnonzero(found)
        at = {"transform": axes.get_xaxis_transform(), "clip_on": False}
        axes.plot(places, np.full(len(places), height), "s", color=color, ms=2.2, mew=0, **at)


def draw_lags(comparison: Comparison) -> Picture | None:
    """Return each lag's share of the weight, for every selector."""
    selectors = list_selectors(comparison)
    lags = 1000 * comparison.weights["lag"].values
    if not selectors or len(lags) < 2:
        return None
    profiles = {s: weigh_lags(comparison, s) for s in selectors}
    first = profiles[selectors[0]]
    alt = f"Share of weight by lag; {find_key(selectors[0]).label} peaks at {lags[int(np.argmax(first))]:.0f} ms"
    panel = Panel("", alt, partial(_plot_lags, lags=lags, profiles=profiles), (4.6, 2.8))
    numbers = tabulate_lags("selector", {find_key(s).label: (lags, p) for s, p in profiles.items()}, digits=4)
    return Picture("lags", write_caption("lags"), [panel], [find_key(s) for s in selectors], numbers)


def tabulate_lags(who: str, profiles: Profiles, digits: int = 3) -> Table:
    """Return lag profiles as a table; `who` names the column of what they belong to."""
    rows = [
        (name, float(lag), float(share))
        for name, (lags, shares) in profiles.items()
        for lag, share in zip(lags, shares, strict=True)
    ]
    return Table("Share of weight by lag", (who, "lag (ms)", "share"), rows, digits)


def _plot_lags(axes: Any, lags: np.ndarray, profiles: dict[str, np.ndarray]) -> None:
    axes.axhline(100 / len(lags), color=MUTED, lw=0.8, ls="--")
    for i, (selector, profile) in enumerate(profiles.items()):
        key = find_key(selector)
        width = 2.0 if i == 0 else 1.0
        axes.plot(lags, 100 * profile, color=key.color, marker=key.marker, ls=key.line, lw=width)
    axes.xaxis.set_major_locator(MaxNLocator(6))
    label_lags(axes)


def label_lags(axes: Any) -> None:
    """Label the axes of lag profiles."""
    axes.set(xlabel="lag: activity precedes the target by (ms)", ylabel="share of weight (%)")
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
    key = find_key(selectors[0])
    draw = partial(_plot_positions, places=places, weight=weight, color=key.color)
    rows = [(float(px), float(py), float(w)) for (px, py), w in zip(places, weight, strict=True)]
    numbers = Table("Weight by place", ("x", "y", "weight"), rows)
    caption = write_caption("positions", selector=key.label)
    return Picture("positions", caption, [Panel("", alt, draw, (4.6, 3.6))], (), numbers)


def _plot_positions(axes: Any, places: np.ndarray, weight: np.ndarray, color: str) -> None:
    size = min(420.0, 20_000 / len(places)) * weight / max(float(weight.max()), 1e-300)
    axes.scatter(*places.T, s=12, facecolors="none", edgecolors=RULE, linewidths=1)
    axes.scatter(*places.T, s=size, color=color, alpha=0.75, lw=0)
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.15)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.set(xlabel="x (as in the file)", ylabel="y (as in the file)")
    axes.tick_params(colors=INK)
