"""The page of a time course: what was found, windows over time, and generalization across time."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from neurofs.comparison.event_time import LEVEL
from neurofs.comparison.time_course import TimeCourse
from neurofs.comparison.wording import SCORE_NAMES
from neurofs.ground.errors import printable
from neurofs.report.captions import Caption
from neurofs.report.page import render_body, render_page, show_picture
from neurofs.report.palette import BLUE, MUTED, VERMILION, Key
from neurofs.report.pictures import Panel, Picture, Table, add_scale, shade
from neurofs.report.svg import Styles

TEMPLATE = """
{% import "parts.html" as parts with context %}
<h1>{{ title | shown_long }}</h1>
<section id="found" aria-labelledby="found-title"><h2 id="found-title">What was found</h2>
{% for line in sentences %}<p>{{ line | shown_long }}</p>{% endfor %}
{{ parts.picture(picture) }}</section>
<section id="windows" aria-labelledby="windows-title"><h2 id="windows-title">All windows</h2>
{{ parts.table(table, id="windows-table") }}</section>
"""


def render_time_course(course: TimeCourse) -> str:
    """Return the page of a time course as one HTML document."""
    styles, about = Styles(), course.data.attrs
    title = f"{printable(about['name'])}: {printable(about['target'])} around {printable(about['event'])}"
    rows = [tuple(row) for row in course.table.itertuples(index=False)]
    columns = ("from (s)", "to (s)", SCORE_NAMES[about["score"]], "agreement", "95 % by chance", "p of its cluster")
    table = Table("Windows trained and tested on their own", columns, rows, 3)
    picture = show_picture(draw_time_course(course), styles)
    body = render_body(TEMPLATE, title=title, sentences=course.sentences, picture=picture, table=table)
    return render_page(title, body, styles, [("found", "What was found"), ("windows", "All windows")])


def draw_time_course(course: TimeCourse) -> Picture:
    """Return the agreement over time beside chance, and that of windows trained at other times."""
    event = printable(course.data.attrs["event"])
    caption = Caption(
        f"Decoding around {event}",
        "Above: correlation of predictions with the target over trials. Below: trained in one window (vertical), "
        "tested in another (horizontal); dots: beyond chance over all pairs of windows (5 %).",
    )
    best = course.table.loc[course.table["agreement"].idxmax()]
    panels = [
        Panel(
            "Each window alone",
            f"Agreement over time, highest in the window that ends {best['window_end']:g} s from {event}",
            partial(_plot_course, course=course),
            (6.4, 2.8),
        ),
        Panel(
            "Generalization across time",
            "Agreement of every pair of a trained and a tested window",
            partial(_plot_matrix, course=course),
            (5.4, 4.2),
        ),
    ]
    keys = [Key("agreement", BLUE), Key("95 % by chance", MUTED, "", "--"), Key("clear cluster", VERMILION, "s", "")]
    return Picture("time-course", caption, panels, keys)


def _plot_course(axes: Any, course: TimeCourse) -> None:
    table = course.table
    end, clear = table["window_end"], table["p_cluster"] <= LEVEL
    axes.plot(end, table["agreement"], color=BLUE, marker="o")
    axes.plot(end, table["bound"], color=MUTED, ls="--", lw=1)
    axes.plot(end[clear], np.full(clear.sum(), 1.02), "s", color=VERMILION, ms=3, transform=axes.get_xaxis_transform(),
              clip_on=False)  # fmt: skip
    axes.axvline(0, color=MUTED, lw=0.8, ls=":")
    axes.axhline(0, color=MUTED, lw=0.8)
    axes.set(xlabel=f"end of the window, from {printable(course.data.attrs['event'])} (s)", ylabel="agreement (r)")


def _plot_matrix(axes: Any, course: TimeCourse) -> None:
    data = course.data
    values = np.clip(data["agreement"].values, 0, None)
    top, time = max(float(values.max()), 1e-9), data["time"].values
    half = data.attrs["step"] / 2
    extent = (time[0] - half, time[-1] + half) * 2
    axes.imshow(shade(values / top), origin="lower", extent=extent, aspect="equal", interpolation="nearest")
    trained, tested = np.nonzero(data["p"].values <= LEVEL)
    axes.plot(time[tested], time[trained], "o", color=VERMILION, ms=3.5, mec="white", mew=0.5)
    add_scale(axes, "0", f"{top:.2f}", "agreement (r)")
    axes.set(xlabel="tested: end of the window (s)", ylabel="trained: end of the window (s)")
