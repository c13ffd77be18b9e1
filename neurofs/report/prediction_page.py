"""A short page on what a model decoded: the score of each session, and a minute of each beside its target."""

from __future__ import annotations

import io
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import xarray as xr

from neurofs.ground.errors import printable

SECONDS = 60.0
MOST_OUTPUTS = 4
STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse}td,th{padding:.2rem .8rem;border-bottom:1px solid #ccc;text-align:left}"
    "img{max-width:100%}"
)


def render_page(
    title: str, lines: Sequence[str], table: Sequence[Sequence[str]], days: Sequence[tuple[str, xr.Dataset]]
) -> str:
    """Return one HTML file: sentences, a table whose first row are heads, and a figure per session."""
    head, *rows = table
    parts = [
        f"<title>{_safe(title)}</title><style>{STYLE}</style><h1>{_safe(title)}</h1>",
        *(f"<p>{_safe(line)}</p>" for line in lines),
        f"<table><tr>{''.join(f'<th>{_safe(cell)}</th>' for cell in head)}</tr>",
        *(f"<tr>{''.join(f'<td>{_safe(cell)}</td>' for cell in row)}</tr>" for row in rows),
        "</table>",
        *(_show(name, found) for name, found in days),
    ]
    return f'<!doctype html><html lang="en"><meta charset="utf-8">{"".join(parts)}</html>\n'


def _safe(text: object) -> str:
    return escape(printable(text, 600))


def _show(name: str, found: xr.Dataset) -> str:
    """Return a heading and the figure of one session."""
    about = f"Decoded (line, with 95 % interval) and true (gray) target of the first {SECONDS:.0f} s of {name}"
    return f"<h2>{_safe(name)}</h2><figure>{_draw(found, about)}<figcaption>{_safe(about)}.</figcaption></figure>"


def _draw(found: xr.Dataset, about: str) -> str:
    """Return one panel per output, as SVG that needs nothing else."""
    from matplotlib.figure import Figure

    time = found["time"].values
    part = found.isel(time=time < time[0] + SECONDS)
    n = min(MOST_OUTPUTS, part.sizes["output"])
    figure = Figure(figsize=(9, 1 + 1.7 * n), layout="constrained")
    axes = np.ravel(figure.subplots(n, 1, sharex=True))
    seconds = _with_gaps(part["time"].values, part["time"].values, found.attrs["bin_width"])
    for o, ax in enumerate(axes):
        _draw_output(ax, part.isel(output=o), seconds, found.attrs["bin_width"])
    axes[-1].set_xlabel("time (s)")
    content = io.StringIO()
    figure.savefig(content, format="svg", metadata={"Date": None, "Title": printable(about, 200)})
    text = content.getvalue()
    return text[text.index("<svg") :]


def _draw_output(ax: Any, part: xr.Dataset, seconds: np.ndarray, width: float) -> None:
    columns = {
        name: _with_gaps(part[name].values, part["time"].values, width)
        for name in ("predicted", "low", "high", "target")
        if name in part
    }
    if "low" in columns:
        ax.fill_between(seconds, columns["low"], columns["high"], color="#0072b2", alpha=0.2, lw=0)
    if "target" in columns:
        ax.plot(seconds, columns["target"], color="#777", lw=1.5)
    ax.plot(seconds, columns["predicted"], color="#0072b2", lw=1.2)
    unit = str(part["unit"].values)
    label = printable(str(part["output"].values), 40) + (f" ({printable(unit, 12)})" if unit else "")
    ax.set_ylabel(label.replace("$", r"\$"))


def _with_gaps(values: np.ndarray, time: np.ndarray, width: float) -> np.ndarray:
    """Return values with NaN where bins are missing, so that no line is drawn across.

    >>> _with_gaps(np.array([1.0, 2, 5]), np.array([0.0, 0.1, 0.5]), 0.1)
    array([ 1.,  2., nan,  5.])
    """
    cuts = np.flatnonzero(np.diff(time) > 1.5 * width) + 1
    return np.insert(values.astype(np.float64), cuts, np.nan)
