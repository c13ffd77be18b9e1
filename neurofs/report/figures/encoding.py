"""Figures and sentences on single channels: which are tuned, which add something, and at which lags they tell most."""

from functools import partial
from typing import Any

import numpy as np

from neurofs.comparison.channel_summary import ChannelTests, TestedChannel
from neurofs.comparison.comparison import Comparison
from neurofs.comparison.summary import SessionFacts
from neurofs.ground.errors import printable
from neurofs.report.captions import count_of, write_caption
from neurofs.report.feature_maps import list_selectors, mean_weights
from neurofs.report.palette import VERMILION, find_key
from neurofs.report.pictures import Panel, Picture, Table, add_scale, shade

MOST_BEST = 16
"""Channels in the picture at the top of the report."""

MOST_SHOWN = 60
"""Channels in the figure of profiles; those with the largest R² are shown."""


def tell_marks(tests: ChannelTests | None) -> str:
    """Return how channels that are tuned, or add something, are marked in a map."""
    if tests is None:
        return ""
    rate = f"{100 * tests.false_discovery_rate:g} %"
    if not any(one.tuned or one.adds for one in tests.channels):
        return f" No channel is tuned or adds anything (false discovery rate {rate}): all are faded."
    adds = "" if tests.n_adds is None else "; vermilion: it adds something"
    return f" Blue: tuned{adds}; others are faded."


def name_target(session: SessionFacts) -> str:
    """Return what counts or signals are compared with: outputs, with their norm if there are several, or classes."""
    if session.classes:
        return "the classes of the target"
    names = [output.name for output in session.outputs]
    if len(names) == 1:
        return "the target"
    angle = len(names) == 2 and names[0].startswith("cos(") and names[1] == f"sin{names[0][3:]}"
    return "the angle" if angle else "the outputs and their norm (speed)"


def name_numbers(session: SessionFacts) -> str:
    """Return what the numbers in bins are called."""
    return "signal" if session.is_signal else "counts"


def draw_encoding(comparison: Comparison) -> Picture | None:
    """Return the profile of each tuned channel over lags, with its peak and the peak's interval."""
    tests, lags = comparison.summary.channels, 1000 * comparison.weights["lag"].values
    if tests is None or not tests.n_tuned or len(lags) < 2 or "encoding" not in comparison.weights:
        return None
    shown = sorted(tests.most_tuned[:MOST_SHOWN], key=lambda one: (one.peak, -one.r2))
    profiles = comparison.weights["encoding"].sel(channel=[one.channel for one in shown]).transpose("channel", "lag")
    draw = partial(_plot_encoding, profiles=profiles.values, lags=lags, channels=shown)
    best = max(shown, key=lambda one: one.r2)
    alt = f"Profiles over lags of {count_of(len(shown), 'tuned channel')}; the strongest, {printable(best.channel)}, "
    panel = Panel("", f"{alt}peaks at {1000 * best.peak:.0f} ms", draw, (5.6, 1.3 + 0.14 * max(len(shown), 8)))
    return Picture("encoding", _write_caption(comparison, tests, len(shown)), [panel], (), _tabulate(shown))


def draw_best(comparison: Comparison) -> Picture | None:
    """Return the profiles of the most strongly tuned channels, or the weights of the best channels."""
    tests, lags = comparison.summary.channels, 1000 * comparison.weights["lag"].values
    shown = [] if tests is None else tests.most_tuned[:MOST_BEST]
    if not shown or len(lags) < 2 or "encoding" not in comparison.weights:
        return draw_best_weights(comparison)
    profiles = comparison.weights["encoding"].sel(channel=[one.channel for one in shown]).transpose("channel", "lag")
    draw = partial(_plot_encoding, profiles=profiles.values, lags=lags, channels=shown)
    alt = f"Profiles over lags of the {count_of(len(shown), 'channel')} that are most strongly tuned"
    size = (4.6, 1.0 + 0.15 * max(len(shown), 6))
    level = f"{100 * tests.interval:g}" if tests else ""
    caption = write_caption("best", n=_name_shown(len(shown), tests), level=level)
    return Picture("best", caption, [Panel("", alt, draw, size)])


def _name_shown(n: int, tests: ChannelTests | None) -> str:
    """Return which of the tuned channels are shown."""
    every = tests is not None and n == tests.n_tuned
    return f"{'All' if every else 'The'} {n}{'' if every else ' most strongly'} tuned channels"


def draw_best_weights(comparison: Comparison) -> Picture | None:
    """Return the weights of the channels with the largest ones, one row each."""
    selectors = list_selectors(comparison)
    if not selectors:
        return None
    names = [printable(name)[:8] for name in comparison.weights["channel"].values[:MOST_BEST]]
    weights = np.nan_to_num(mean_weights(comparison, selectors[0])).mean(axis=0)[: len(names)]
    draw = partial(_plot_best_weights, weights=weights, lags=1000 * comparison.weights["lag"].values, names=names)
    label = find_key(selectors[0]).label
    panel = Panel("", f"Weights by {label} of {', '.join(names)}", draw, (4.6, 1.0 + 0.15 * max(len(names), 6)))
    return Picture("best", write_caption("best weights", selector=label, n=len(names)), [panel])


def _plot_best_weights(axes: Any, weights: np.ndarray, lags: np.ndarray, names: list[str]) -> None:
    largest = max(float(weights.max()), 1e-300)
    axes.imshow(shade(weights / largest), aspect="auto", interpolation="nearest")
    add_scale(axes, "0", f"{largest:.2g}", "weight")
    axes.set_yticks(range(len(names)), names, fontsize=6.5)
    some = range(0, len(lags), max(1, -(-len(lags) // 6)))
    axes.set_xticks(some, [f"{lags[i]:.0f}" for i in some])
    axes.set(xlabel="lag: activity precedes the target by (ms)", ylabel="channel")


def _write_caption(comparison: Comparison, tests: ChannelTests, n_shown: int) -> Any:
    rest = "" if n_shown == tests.n_tuned else f" Of {tests.n_tuned} tuned channels, the {n_shown} with the largest R²."
    return write_caption(
        "encoding",
        target=name_target(comparison.summary.session),
        level=f"{100 * tests.interval:g}",
        rest=rest,
        numbers=name_numbers(comparison.summary.session),
    )


def _tabulate(shown: list[TestedChannel]) -> Table:
    rows = [(one.channel, *(1000 * lag for lag in (one.peak, one.peak_low, one.peak_high)), one.r2) for one in shown]
    return Table("Peaks of the profiles", ("channel", "peak (ms)", "from (ms)", "to (ms)", "R² at the peak"), rows)


def _plot_encoding(axes: Any, profiles: np.ndarray, lags: np.ndarray, channels: list[TestedChannel]) -> None:
    """Draw one row per channel, shaded by its R², with a dot at the peak and a line for its interval."""
    step, rows = lags[1] - lags[0], np.arange(len(channels))
    values = profiles / np.maximum(profiles.max(axis=1, keepdims=True), 1e-300)
    extent = (lags[0] - step / 2, lags[-1] + step / 2, len(channels) - 0.5, -0.5)
    axes.imshow(0.4 * shade(values), aspect="auto", interpolation="nearest", extent=extent)
    add_scale(axes, "0", "1", "R² / largest", most=0.4)
    peak, low, high = 1000 * np.array([[one.peak, one.peak_low, one.peak_high] for one in channels]).T
    axes.hlines(rows, low, high, color=VERMILION, lw=1.2)
    axes.plot(peak, rows, "o", color=VERMILION, ms=3.5)
    some = lags[:: max(1, -(-len(lags) // 6))]
    axes.set_xticks(some, [f"{lag:.0f}" for lag in some])
    every = max(1, -(-len(channels) // 40))
    axes.set_yticks(rows[::every], [printable(one.channel)[:8] for one in channels[::every]], fontsize=6.5)
    axes.set(xlabel="lag: activity precedes the target by (ms)", ylabel="tuned channel")
