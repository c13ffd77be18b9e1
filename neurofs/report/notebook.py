"""A comparison in a notebook: its figures as axes of matplotlib, and its report as a page to look at."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import matplotlib
from matplotlib.axes import Axes

from neurofs.comparison.comparison import Comparison
from neurofs.ground.errors import UsageError, quoted
from neurofs.report.page import arrange, render
from neurofs.report.palette import PAPER
from neurofs.report.pictures import STYLE, Picture, draw_panel, make_handle
from neurofs.report.sections import PICTURES

FEW_PANELS, IN_A_ROW = 4, 4


@dataclass(frozen=True, eq=False)
class Plots:
    """The figures of a report, drawn with pyplot: ``found.plot.weights()`` returns the axes of its panels.

    >>> import neurofs
    >>> session = neurofs.simulate_session(12, n_electrodes=2, random_state=1)
    >>> found = neurofs.compare(session, "hand_velocity", n_lags=2, selectors=["corrcoef"], decoders=[], n_splits=2)
    >>> [axes.get_title("left") for axes in found.plot.weights()]
    ['hand_velocity:x', 'hand_velocity:y']
    """

    comparison: Comparison

    def weights(self) -> list[Axes]:
        """Draw the mean weights of the first selector, a map of channels and lags per output."""
        return self.figure("weights")

    def curves(self) -> list[Axes]:
        """Draw the score against the number of features, for every selector."""
        return self.figure("curves")

    def traces(self) -> list[Axes]:
        """Draw decoded and true target of half a minute."""
        return self.figure("traces")

    def channels(self) -> list[Axes]:
        """Draw how much channels tell of the target at each lag."""
        return self.figure("encoding")

    @property
    def names(self) -> list[str]:
        """Names of all figures that this comparison has."""
        return [picture.name for picture in _list_pictures(self.comparison)]

    def figure(self, name: str) -> list[Axes]:
        """Draw the figure of this name (`names`); return the axes of its panels."""
        pictures = {picture.name: picture for picture in _list_pictures(self.comparison)}
        if name not in pictures:
            raise UsageError(f"this comparison has no figure {quoted(name)}; it has {', '.join(pictures)}")
        return show_axes(pictures[name])


def _list_pictures(comparison: Comparison) -> list[Picture]:
    arranged = arrange(comparison)
    return [picture for draw in PICTURES if (picture := draw(arranged)) is not None]


def show_axes(picture: Picture) -> list[Axes]:
    """Draw a picture as a figure of pyplot; return the axes of its panels.

    A few panels stand one below the other, many small ones in rows.
    """
    from matplotlib import pyplot

    per_row = 1 if len(picture.panels) <= FEW_PANELS else IN_A_ROW
    width = per_row * max(panel.size[0] for panel in picture.panels)
    heights = [panel.size[1] for panel in picture.panels[::per_row]]
    # Not in the context: the backend of a notebook becomes interactive with the first figure, and has to stay so.
    figure = pyplot.figure(figsize=(width, sum(heights)), layout="constrained", facecolor=PAPER)
    with matplotlib.rc_context(STYLE):
        grid = figure.subplots(len(heights), per_row, squeeze=False, height_ratios=heights).ravel()
        for axes, panel in zip(grid, picture.panels, strict=False):
            draw_panel(panel, axes)
        for axes in grid[len(picture.panels) :]:
            axes.remove()
        if picture.legend:
            handles = [make_handle(key) for key in picture.legend]
            figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
    return list(grid[: len(picture.panels)])


class Page(str):
    """A report as HTML, which a notebook shows in a frame of its own."""

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self)}" style="width:100%;height:40em;border:1px solid #ccc"></iframe>'


def show_report(comparison: Comparison) -> Page:
    """Return the report of a comparison, to be looked at in a notebook."""
    return Page(render(comparison))
