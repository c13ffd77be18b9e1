"""Figures of the session itself: decoded and true target, rates, trials, and spikes around events."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from neurofs.comparison.comparison import Comparison
from neurofs.ground.errors import printable
from neurofs.report.captions import PATHS, TRACES, count_of, write_caption
from neurofs.report.palette import BLUE, INK, MUTED, RULE, TRUE, VERMILION, Key, find_key
from neurofs.report.pictures import Panel, Picture, shade
from neurofs.report.traces import Traces, find_path, find_stretch, get_traces

STRETCH = 30.0
"""Seconds of decoded target in the static figure."""


def draw_traces(comparison: Comparison) -> Picture | None:
    """Return decoded and true target of a stretch of the session, one panel per output."""
    traces = get_traces(comparison)
    if traces is None:
        return None
    part = find_stretch(traces, STRETCH)
    panels = [
        Panel(
            name,
            f"{printable(name)}, decoded by {find_key(traces.methods[0]).label} and true, "
            f"{traces.time[part][0]:.0f} to {traces.time[part][-1]:.0f} s",
            partial(_plot_trace, traces=traces, output=o, part=part),
            (9.4, 1.9),
        )
        for o, name in enumerate(traces.outputs)
    ]
    caption = write_caption(
        "traces",
        good=TRACES["classes" if traces.classes else "values"],
        band=TRACES["band"] if traces.has_band(0) else "",
    )
    return Picture("traces", caption, panels, trace_keys(traces))


def trace_keys(traces: Traces) -> list[Key]:
    """Return the legend of truth and decoded values."""
    decoded = find_key(traces.methods[0])
    return [Key("true", TRUE, "", "-"), Key(f"decoded, {decoded.label}", decoded.color, "", "-")]


def _plot_trace(axes: Any, traces: Traces, output: int, part: slice) -> None:
    time, color = traces.time[part], find_key(traces.methods[0]).color
    broken = np.flatnonzero(np.diff(time) > 1.5 * traces.interval) + 1
    step = {"drawstyle": "steps-mid"} if traces.classes else {}
    for piece in np.split(np.arange(len(time)), broken):
        rows = np.arange(part.start, part.stop)[piece]
        decoded = traces.predicted[0, output, rows]
        if traces.sd is not None and traces.has_band(0):
            sd = traces.sd[0, output, rows]
            axes.fill_between(time[piece], decoded - sd, decoded + sd, color=color, alpha=0.18, lw=0)
        axes.plot(time[piece], traces.target[output, rows], color=TRUE, lw=2.4, **step)
        axes.plot(time[piece], decoded, color=color, lw=1.2, **step)
    axes.set(xlabel="time (s)", ylabel=printable(traces.units[output]) or ("class" if traces.classes else "value"))
    axes.margins(x=0.01)
    if traces.classes:
        axes.set_yticks(range(len(traces.classes)), [printable(c)[:12] for c in traces.classes])


def draw_plane(comparison: Comparison) -> Picture | None:
    """Return the paths of two outputs in their plane, for some trials or a stretch."""
    traces = get_traces(comparison)
    if traces is None or len(traces.outputs) != 2 or traces.classes:
        return None
    color = find_key(traces.methods[0]).color
    panels = []
    for title, rows in _choose_paths(traces):
        true, decoded = (find_path(traces, traces.target[:, rows]), find_path(traces, traces.predicted[0][:, rows]))
        draw = partial(_plot_path, true=true, decoded=decoded, color=color, labels=path_labels(traces))
        panels.append(Panel(title, f"True and decoded path, {title}", draw, (2.3, 2.3)))
    caption = write_caption("plane", what=PATHS["velocity" if traces.is_velocity else "position"])
    return Picture("plane", caption, panels, trace_keys(traces))


def _choose_paths(traces: Traces) -> list[tuple[str, np.ndarray]]:
    """Return up to eight trials, spread over the session, or four stretches where there are no trials."""
    usable = np.isfinite(traces.predicted[0]).all(axis=0)
    trials = np.unique(traces.trial[(traces.trial >= 0) & usable])
    if len(trials):
        some = trials[np.unique(np.linspace(0, len(trials) - 1, 8).round().astype(int))]
        return [(f"trial {t}", np.flatnonzero((traces.trial == t) & usable)) for t in some]
    rows = np.flatnonzero(usable)
    size = max(2, round(5.0 / traces.interval))
    starts = np.unique(np.linspace(0, max(0, len(rows) - size), 4).round().astype(int))
    return [(f"from {traces.time[rows[s]]:.0f} s", rows[s : s + size]) for s in starts if len(rows)]


def path_labels(traces: Traces) -> list[str]:
    """Return short axis labels of the plane, with units."""
    units = [u.removesuffix("/s") if traces.is_velocity else u for u in traces.units]
    columns = [name.split(":")[-1] for name in traces.outputs]
    names = [name if column.isdigit() else column for name, column in zip(traces.outputs, columns, strict=True)]
    return [printable(f"{n[:14]} ({u})" if u else n[:14]) for n, u in zip(names, units, strict=True)]


def _plot_path(axes: Any, true: np.ndarray, decoded: np.ndarray, color: str, labels: Sequence[str]) -> None:
    axes.plot(*true, color=TRUE, lw=2.4)
    axes.plot(*decoded, color=color, lw=1.3)
    axes.plot(*true[:, :1], "o", mfc="none", mec=INK, ms=5)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set(xlabel=labels[0], ylabel=labels[1])
    axes.locator_params(nbins=4)


def draw_rates(comparison: Comparison) -> Picture:
    """Return the firing rates of all channels, in order, and their Fano factors; or the spreads of a signal."""
    session = comparison.session
    if comparison.summary.session.is_signal:
        return _draw_spreads(comparison)
    rate, part = session["rate"].values, session["partly_active"].values
    fano = session["fano"].values
    n_silent = int(session["silent"].values.sum())
    middle = f"{np.median(rate):.1f} Hz" if len(rate) else "unknown"
    panels = [
        Panel(
            "firing rates",
            f"Firing rates of {len(rate)} channels in order, median {middle}, {n_silent} silent",
            partial(_plot_rates, rate=rate, part=part),
            (4.6, 2.6),
        ),
        Panel(
            "variability of counts",
            "Fano factor of each channel against its firing rate",
            partial(_plot_fano, rate=rate, fano=fano, part=part),
            (4.6, 2.6),
        ),
    ]
    without = f"Without {count_of(n_silent, 'silent channel')}. " if n_silent else ""
    marked = "Diamonds: active in part. " if part.any() else ""
    return Picture("rates", write_caption("rates", without=without, part=marked), panels)


def _draw_spreads(comparison: Comparison) -> Picture:
    """Return the standard deviations of the channels of a continuous signal, in order."""
    sd, unit = comparison.session["sd"].values, printable(comparison.summary.session.numbers)
    varying = np.sort(sd[sd > 0])[::-1]
    middle = f"median {np.median(varying):.3g} {unit}" if len(varying) else "none varies"
    alt = f"Standard deviations of {len(sd)} channels in order, {middle}"
    panel = Panel("spread of the signal", alt, partial(_plot_spreads, sd=varying, unit=unit), (4.6, 2.6))
    constant = len(sd) - len(varying)
    without = f" Without {count_of(constant, 'constant channel')}." if constant else ""
    return Picture("spreads", write_caption("spreads", without=without), [panel])


def _plot_spreads(axes: Any, sd: np.ndarray, unit: str) -> None:
    axes.plot(np.arange(1, len(sd) + 1), sd, "o", color=BLUE, ms=3)
    if len(sd):
        _plain_log(axes, "y", sd)
    axes.set(xlabel="channels, in order of SD", ylabel=f"SD ({unit})")


def _plain_log(axes: Any, which: str, values: np.ndarray) -> None:
    """Make an axis logarithmic with plain labels; a short one gets labels between the powers of ten."""
    axis = getattr(axes, f"{which}axis")
    getattr(axes, f"set_{which}scale")("log")
    axis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0) if values.max() < 50 * values.min() else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axis.set_minor_formatter(NullFormatter())


def _plot_rates(axes: Any, rate: np.ndarray, part: np.ndarray) -> None:
    order = np.argsort(-rate, kind="stable")
    order = order[rate[order] > 0]
    place = np.arange(1, len(order) + 1)
    steady = ~part[order]
    axes.plot(place[steady], rate[order][steady], "o", color=BLUE, ms=3)
    axes.plot(place[~steady], rate[order][~steady], "D", color=VERMILION, ms=3.5)
    if len(order):
        _plain_log(axes, "y", rate[order])
    axes.set(xlabel="channels, in order of rate", ylabel="rate (spikes/s)")


def _plot_fano(axes: Any, rate: np.ndarray, fano: np.ndarray, part: np.ndarray) -> None:
    known = np.isfinite(fano) & (rate > 0)
    axes.axhline(1, color=MUTED, lw=0.8, ls="--")
    for mask, marker, color in ((~part, "o", BLUE), (part, "D", VERMILION)):
        axes.plot(rate[known & mask], fano[known & mask], marker, color=color, ms=3)
    if known.any():
        _plain_log(axes, "x", rate[known])
    axes.set(xlabel="rate (spikes/s)", ylabel="Fano factor")
    axes.set_ylim(bottom=0)


def draw_trials(comparison: Comparison) -> Picture | None:
    """Return the lengths of the trials."""
    length = comparison.session["trial_stop"].values - comparison.session["trial_start"].values
    if not len(length):
        return None
    alt = f"Lengths of {len(length)} trials, {length.min():.2f} to {length.max():.2f} s"
    window = comparison.summary.session.n_lags * comparison.summary.session.bin_width
    panel = Panel("trial lengths", alt, partial(_plot_lengths, length=length, window=window), (4.6, 2.4))
    return Picture("trials", write_caption("trials", window=f"{window:g}"), [panel])


def _plot_lengths(axes: Any, length: np.ndarray, window: float) -> None:
    axes.hist(length, bins=min(30, max(5, len(length) // 4)), color=BLUE)
    axes.axvline(window, color=INK, lw=1, ls="--")
    axes.set(xlabel="length (s)", ylabel="trials")


def draw_raster(comparison: Comparison) -> Picture | None:
    """Return spikes of the most informative channels around movement onset, or whatever was aligned to."""
    session = comparison.session
    raster = session["raster"].values
    if not raster.size:
        return None
    condition = [str(c) for c in session["event_condition"].values]
    order = sorted(range(len(condition)), key=lambda i: _as_sortable(condition[i]))
    borders = [k + 0.5 for k in range(len(order) - 1) if condition[order[k]] != condition[order[k + 1]]]
    time, event, words = session["raster_time"].values, name_event(session), _word_raster(session)
    is_signal = comparison.summary.session.is_signal
    what = "Signal" if is_signal else "Spikes"
    raster = _raise_to_zero(raster) if is_signal else raster
    panels = [
        Panel(
            str(name),
            f"{what} of channel {printable(name)} around {event}, {count_of(len(order), words['row'])}",
            partial(
                _plot_raster, counts=raster[i][order], time=time, borders=borders, width=session.attrs["raster_bin"]
            ),
            (2.3, 2.0),
        )
        for i, name in enumerate(session["raster_channel"].values)
    ]
    return Picture("raster", write_caption("raster", n=len(panels), event=event, what=what, **words), panels)


def _raise_to_zero(signal: np.ndarray) -> np.ndarray:
    """Return each channel of a signal from 0 to 1, its 0.5th and 99.5th percentiles."""
    low, high = (np.nanpercentile(signal, q, axis=(1, 2), keepdims=True) for q in (0.5, 99.5))
    return np.asarray((signal - low) / np.where(high > low, high - low, 1.0))


def name_event(session: xr.Dataset) -> str:
    """Return in a few words what spikes are aligned to.

    >>> name_event(xr.Dataset(attrs={"alignment": "movement onset, from the trial column move_onset"}))
    'movement onset'
    >>> name_event(xr.Dataset(attrs={"alignment": "speed of the target rises through 20% of its 99th percentile"}))
    'moments when the target begins to change'
    """
    alignment = str(session.attrs["alignment"])
    if alignment.startswith("speed of the target"):
        return "moments when the target begins to change"
    name = printable(alignment.partition(",")[0])
    return f"the {name}" if name.startswith("start") else name


def _word_raster(session: xr.Dataset) -> dict[str, str]:
    """Return what a row of the raster is, in which order rows stand, and what is blank."""
    by, in_trials = session.attrs["condition"], bool((session["event_trial"].values >= 0).any())
    what = "the trial has not begun or is over" if in_trials else "nothing was observed"
    return {
        "row": "trial" if in_trials else "moment",
        "rows": f"in order of {printable(by)} (lines divide its values)" if by else "in order of time",
        "blank": f" Where {what}, rows are blank, too." if np.isnan(session["raster"].values).any() else "",
        "alignment": printable(session.attrs["alignment"]),
    }


def _as_sortable(text: str) -> tuple[int, float, str]:
    try:
        return 0, float(text), text
    except ValueError:
        return 1, 0.0, text


def _plot_raster(axes: Any, counts: np.ndarray, time: np.ndarray, borders: list[float], width: float) -> None:
    most = max(1.0, float(np.nanpercentile(counts, 99.5)))
    extent = (time[0], time[-1] + width, len(counts) - 0.5, -0.5)
    axes.imshow(shade(counts / most), aspect="auto", interpolation="nearest", extent=extent)
    for y in borders:
        axes.axhline(y, color=RULE, lw=0.6)
    axes.axvline(0, color=VERMILION, lw=0.9)
    axes.set(xlabel="time (s)", yticks=[], xlim=extent[:2], ylim=extent[2:])
