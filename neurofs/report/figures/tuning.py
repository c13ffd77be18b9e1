"""The tuning of the channels with the largest weight: their mean rate, or signal, against the target."""

from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from neurofs.comparison.comparison import Comparison
from neurofs.ground.errors import printable
from neurofs.recordings.recording import SPIKES
from neurofs.report.captions import TUNING, count_of, write_caption
from neurofs.report.palette import BLUE, MUTED
from neurofs.report.pictures import Panel, Picture, Table

TURNS = ("direction", "angle")
"""Kinds of tuning whose axis is a circle: its end is its beginning."""


def draw_tuning(comparison: Comparison) -> Picture | None:
    """Return the mean rate of each channel of the raster against the target, at the channel's own lag."""
    session = comparison.session
    if not session["tuning_rate"].size or not np.isfinite(session["tuning_rate"].values).any():
        return None
    names = [str(name) for name in session["raster_channel"].values]
    panels = [
        Panel(
            f"{name}, lag {1000 * session['tuning_lag'].values[i]:.0f} ms",
            _describe(session, i, name),
            partial(plot_tuning, session=session, channel=i),
            (2.3, 1.9),
        )
        for i, name in enumerate(names)
    ]
    of = "trials" if session.sizes["trial"] else "parts of the session"
    against = TUNING[session.attrs["tuning_kind"]].format(name=printable(session.attrs["tuning_name"]))
    caption = write_caption("tuning", what=_name(session)[0], against=against, n=count_of(len(names), "channel"), of=of)
    return Picture("tuning", caption, panels, (), _tabulate(session, names))


def _name(session: xr.Dataset) -> tuple[str, str]:
    """Return what is averaged, a rate or a signal, and its unit."""
    numbers = session.attrs.get("numbers", SPIKES)
    return ("rate", "Hz") if numbers == SPIKES else ("signal", printable(numbers))


def _describe(session: xr.Dataset, channel: int, name: str) -> str:
    """Return in words at which bin of the target a channel fires most and least."""
    rate = session["tuning_rate"].values[channel]
    labels = [printable(label) for label in session["tuning_label"].values]
    if not np.isfinite(rate).any():
        return f"Tuning of channel {printable(name)}: unknown"
    what, unit = _name(session)
    digits = ".1f" if what == "rate" else ".3g"
    most, least = int(np.nanargmax(rate)), int(np.nanargmin(rate))
    return (
        f"Mean {what} of channel {printable(name)} against the target: most at {labels[most]}, "
        f"{rate[most]:{digits}} {unit}; least at {labels[least]}, {rate[least]:{digits}} {unit}"
    )


def plot_tuning(axes: Any, session: xr.Dataset, channel: int) -> None:
    """Draw the mean rate, or signal, of one channel against the target."""
    kind = session.attrs["tuning_kind"]
    x = session["tuning_value"].values
    rate, error = (session[name].values[channel] for name in ("tuning_rate", "tuning_error"))
    if kind in TURNS:
        x, rate, error = np.append(x, 360.0), np.append(rate, rate[0]), np.append(error, error[0])
    n = session["tuning_n"].values
    axes.axhline(np.nansum(n * session["tuning_rate"].values[channel]) / max(n.sum(), 1), color=MUTED, lw=0.8, ls="--")
    line = {"ls": "none"} if kind == "classes" else {"ls": "-"}
    axes.errorbar(x, rate, error, color=BLUE, marker="o", ms=3, lw=1.2, elinewidth=1, **line)
    what, unit = _name(session)
    axes.set(ylabel=f"{what} ({unit})")
    if what == "rate":
        axes.set_ylim(bottom=0)
    axes.locator_params(axis="y", nbins=4)
    _label_target(axes, session)


def _label_target(axes: Any, session: xr.Dataset) -> None:
    """Put the target on the axis: degrees, values with their unit, or names of classes."""
    kind, unit = session.attrs["tuning_kind"], printable(session.attrs["tuning_unit"])
    if kind in TURNS:
        axes.set(xlabel=f"{kind} (°)", xticks=[0, 90, 180, 270, 360], xlim=(-15, 375))
    elif kind == "value":
        name = printable(session.attrs["tuning_name"])[:20]
        axes.set(xlabel=f"{name} ({unit})" if unit else name)
        axes.locator_params(axis="x", nbins=4)
    else:
        labels = [printable(label) for label in session["tuning_label"].values]
        every = max(1, sum(len(label[:8]) + 1 for label in labels) // 26 + 1) if len(labels) > 2 else 1
        places = np.arange(len(labels))[::every]
        axes.set_xticks(places, [labels[i][:8] for i in places])
        axes.set(xlabel="class", xlim=(-0.5, len(labels) - 0.5))


def _tabulate(session: xr.Dataset, names: list[str]) -> Table:
    """Return rate and standard error of each channel in each bin of the target."""
    rows = [
        (name, f"{1000 * session['tuning_lag'].values[i]:.0f}", str(session["tuning_label"].values[b]), n, *cells)
        for i, name in enumerate(names)
        for b, n in enumerate(session["tuning_n"].values.tolist())
        if (cells := [float(session[key].values[i, b]) for key in ("tuning_rate", "tuning_error")])
    ]
    what, unit = _name(session)
    columns = ("channel", "lag (ms)", "target", "samples", f"{what} ({unit})", f"standard error ({unit})")
    return Table(f"Mean {what}s against the target", columns, rows, digits=2 if what == "rate" else 4)
