"""The page of `neurofs predict`: how well a model decoded each session, and a minute of each beside its target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from neurofs.comparison.other_day import SessionScore
from neurofs.comparison.summary import Estimate
from neurofs.comparison.wording import SCORE_NAMES, UNKNOWN, format_percent
from neurofs.decoders.model_head import Head
from neurofs.ground.errors import printable
from neurofs.report.captions import Caption, count_of
from neurofs.report.page import render_body, render_page, show_picture
from neurofs.report.palette import BLUE, TRUE, Key
from neurofs.report.pictures import Panel, Picture, Table
from neurofs.report.svg import Styles

SECONDS = 60.0
MOST_OUTPUTS = 4
TEMPLATE = """
{% import "parts.html" as parts with context %}
<h1>{{ title | shown_long }}</h1>
{% for line in about %}<p class="about">{{ line | shown_long }}</p>{% endfor %}
<section id="scores" aria-labelledby="scores-title"><h2 id="scores-title">How well</h2>
{{ parts.table(table, id="scores-table") }}</section>
{% for day in days %}
<section id="{{ day.id }}" aria-labelledby="{{ day.id }}-title"><h2 id="{{ day.id }}-title">{{ day.name | shown }}</h2>
{% for note in day.notes %}<p class="note">{{ note | shown_long }}.</p>{% endfor %}
{% if day.picture %}{{ parts.picture(day.picture) }}{% endif %}</section>
{% endfor %}
"""


@dataclass(frozen=True)
class Day:
    """A session that was decoded, or could not be."""

    name: str
    n_samples: int
    score: SessionScore | None
    notes: Sequence[str]
    found: xr.Dataset | None


def render_predicted(head: Head, training: Sequence[str], days: Sequence[Day]) -> str:
    """Return the page as one HTML document; `training` are sentences on how good the model was where it was fitted."""
    styles, title = Styles(), f"{count_of(len(days), 'session')} decoded by {printable(head.label)}"
    fitted = f"Fitted to {', '.join(printable(one.name) for one in head.sessions)}; "
    about = [fitted + f"decodes {', '.join(printable(one.name) for one in head.outputs)}."]
    shown = []
    for i, day in enumerate(days):
        picture = None if day.found is None else show_picture(draw_day(day.found, f"day{i}"), styles)
        notes = [(note if day.found is None else f"{note[:1].upper()}{note[1:]}").rstrip(".") for note in day.notes]
        shown.append({"id": f"day{i}", "name": day.name, "notes": notes, "picture": picture})
    about += [f"{line[:1].upper()}{line[1:]}." for line in training]
    body = render_body(TEMPLATE, title=title, about=about, table=tabulate_days(head, days), days=shown)
    contents = [("scores", "How well"), *((f"day{i}", printable(day.name)) for i, day in enumerate(days))]
    return render_page(title, body, styles, contents)


def tabulate_days(head: Head, days: Sequence[Day]) -> Table:
    """Return the scores of all sessions, and the share of the target that intervals hold."""
    names = [printable(output.name) for output in head.outputs]
    rows = []
    for day in days:
        scores = {} if day.score is None else {one.output: one for one in day.score.outputs}
        estimates = [scores[o.name].score if o.name in scores else Estimate(mean=None) for o in head.outputs]
        held = [format_percent(one.coverage) for one in scores.values() if one.coverage is not None]
        rows.append((printable(day.name), day.n_samples, *estimates, ", ".join(held) or UNKNOWN))
    kind = SCORE_NAMES["accuracy" if head.classes else "r2"]
    caption = f"{kind} of each output, with its 95 % interval, and how often 95 % intervals hold the target"
    return Table(caption, ("session", "samples", *names, "intervals hold"), rows, 3)


def draw_day(found: xr.Dataset, name: str) -> Picture:
    """Return the first minute of a session: one panel per output."""
    time = found["time"].values
    part = found.isel(time=time < time[0] + SECONDS)
    outputs, n = [str(output) for output in found["output"].values], min(MOST_OUTPUTS, found.sizes["output"])
    span = f"{time[0]:.0f} to {part['time'].values[-1]:.0f} s"
    panels = [
        Panel(
            output,
            f"{printable(output)}, decoded{' and true' if 'target' in found else ''}, {span}",
            partial(_plot_output, part=part.isel(output=o)),
            (9.4, 1.9),
        )
        for o, output in enumerate(outputs[:n])
    ]
    band = "Band: 95 % interval. " if "low" in found and np.isfinite(found["low"].values).any() else ""
    rest = f"The first {n} of {len(outputs)} outputs. " if n < len(outputs) else ""
    true = [Key("true", TRUE, "", "-")] if "target" in found else []
    caption = Caption(f"Its first {SECONDS:.0f} s", f"{band}{rest}Gaps: bins without a whole window.")
    return Picture(name, caption, panels, [*true, Key("decoded", BLUE, "", "-")])


def _plot_output(axes: Any, part: xr.Dataset) -> None:
    time, width, classes = part["time"].values, part.attrs["bin_width"], part.attrs.get("classes")
    usual = np.median(np.diff(time)) if len(time) > 1 else width  # a model may not decode every bin
    step: Any = {"drawstyle": "steps-mid"} if classes else {}
    for piece in np.split(np.arange(len(time)), np.flatnonzero(np.diff(time) > 1.5 * usual) + 1):
        rows = part.isel(time=piece)
        if "low" in part:
            axes.fill_between(time[piece], rows["low"], rows["high"], color=BLUE, alpha=0.18, lw=0)
        if "target" in part:
            axes.plot(time[piece], rows["target"], color=TRUE, lw=2.4, **step)
        axes.plot(time[piece], rows["predicted"], color=BLUE, lw=1.2, **step)
    axes.set(xlabel="time (s)", ylabel=printable(str(part["unit"].values)) or ("class" if classes else "value"))
    axes.margins(x=0.01)
    if classes:
        axes.set_yticks(range(len(classes)), [printable(name)[:12] for name in classes])
