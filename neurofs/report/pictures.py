"""`Picture`: a figure of the report, on its page panel by panel, or as one file for a paper.

A picture is data: a name, a caption (`report.captions`), a legend, and panels that know how to draw themselves
on axes. `render_panels` makes inline SVG of them, `save_picture` one PDF, SVG or PNG.
"""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from neurofs.ground.errors import printable
from neurofs.ground.files import write_atomically
from neurofs.report.captions import Caption
from neurofs.report.palette import INK, MUTED, PAPER, Key
from neurofs.report.svg import Styles, to_svg

STYLE: Any = {
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlecolor": INK,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "lines.linewidth": 1.4,
    "lines.markersize": 3.5,
    "axes.facecolor": PAPER,
    "figure.facecolor": PAPER,
    "text.parse_math": False,  # names from files may contain dollar signs
    "axes.formatter.use_mathtext": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "neurofs",
    "pdf.fonttype": 42,
}


@dataclass(frozen=True)
class Panel:
    """One set of axes: its title, what it shows in words, how to draw it, and its size in inches."""

    title: str
    alt: str
    draw: Callable[[Any], None]
    size: tuple[float, float] = (4.6, 3.1)


@dataclass(frozen=True)
class Table:
    """A table: column names, rows of cells (text, numbers or None), and digits of numbers, of all or each column."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    digits: int | Sequence[int] = 3


@dataclass(frozen=True)
class Picture:
    """A figure of the report; `numbers` is the same as a table."""

    name: str
    caption: Caption
    panels: Sequence[Panel]
    legend: Sequence[Key] = ()
    numbers: Table | None = None


def render_panels(picture: Picture, styles: Styles) -> list[dict[str, Any]]:
    """Return each panel as inline SVG with its width in CSS pixels."""
    rendered = []
    for i, panel in enumerate(picture.panels):
        with matplotlib.rc_context(STYLE):
            figure = Figure(figsize=panel.size, layout="constrained")
            draw_panel(panel, figure.subplots())
            svg = to_svg(figure, styles, f"{picture.name}{i}", panel.alt)
        rendered.append({"svg": svg, "width": round(panel.size[0] * 96)})
    return rendered


def save_picture(picture: Picture, folder: Path, kind: str) -> Path:
    """Write a picture as one file, its panels in rows of at most 10 inches, its legend below."""
    rows = _lay_out(picture.panels)
    width = max(sum(panel.size[0] for panel in row) for row in rows)
    heights = [max(panel.size[1] for panel in row) for row in rows]
    keys = 0.3 * -(-len(picture.legend) // 5)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width, sum(heights) + keys), layout="constrained")
        parts: Any = figure.subfigures(len(rows), 1, height_ratios=heights, squeeze=False)
        for part, row in zip(parts[:, 0], rows, strict=True):
            grid = part.subplots(1, len(row), squeeze=False, width_ratios=[p.size[0] for p in row])
            for axes, panel in zip(grid[0], row, strict=True):
                draw_panel(panel, axes)
        if picture.legend:
            handles = [make_handle(key) for key in picture.legend]
            figure.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False)
        buffer = io.BytesIO()
        stamp = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {"Software": None}}[kind]
        figure.savefig(buffer, format=kind, dpi=300, metadata=stamp)
    folder.mkdir(parents=True, exist_ok=True)
    return write_atomically(folder / f"{picture.name}.{kind}", buffer.getvalue())


def draw_panel(panel: Panel, axes: Any) -> None:
    """Draw a panel with its title on axes."""
    panel.draw(axes)
    if panel.title:
        axes.set_title(shorten(printable(panel.title), round(11 * panel.size[0])))


def shorten(text: str, most: int) -> str:
    """Return text that fits above a panel, its middle cut out.

    >>> shorten("a very long name", 9)
    'a ve…name'
    """
    return text if len(text) <= most else f"{text[: (most - 1) // 2]}…{text[-(most - 1 - (most - 1) // 2) :]}"


def _lay_out(panels: Sequence[Panel], widest: float = 10.0) -> list[list[Panel]]:
    rows: list[list[Panel]] = [[]]
    for panel in panels:
        if rows[-1] and sum(p.size[0] for p in rows[-1]) + panel.size[0] > widest:
            rows.append([])
        rows[-1].append(panel)
    return rows


def make_handle(key: Key) -> Line2D:
    """Return the mark of a legend for a key."""
    return Line2D([], [], color=key.color, marker=key.marker or "none", ls=key.line, label=key.label)


def shade(values: np.ndarray) -> np.ndarray:
    """Return an image of black (rows, columns, 4) that is as opaque as the values, which lie between 0 and 1."""
    image = np.zeros((*values.shape, 4))
    image[..., 3] = np.clip(np.nan_to_num(values), 0, 1)
    return image


def add_scale(axes: Any, low: str, high: str, label: str, most: float = 1.0) -> None:
    """Draw the scale of shades to the right of an image, from `low` at the bottom to `high` at the top."""
    bar = axes.inset_axes((1.015, 0.0, 0.018, 1.0))
    bar.imshow(most * shade(np.linspace(0, 1, 64)[:, None]), origin="lower", aspect="auto", extent=(0, 1, 0, 1))
    bar.set(xticks=[], yticks=[0, 1], yticklabels=[low, high])
    bar.yaxis.tick_right()
    bar.yaxis.set_label_position("right")
    bar.set_ylabel(label, fontsize=7.5)
    bar.tick_params(length=0, labelsize=7)


def use_log_n(axes: Any, largest: int) -> None:
    """Put numbers of features on a logarithmic axis with plain labels."""
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(10, subs=(1.0, 3.0) if largest < 3000 else (1.0,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_locator(MaxNLocator(6))
    axes.set_xlabel("number of features")
