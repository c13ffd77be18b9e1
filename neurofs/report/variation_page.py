"""The page of a variation: what was found, one figure, and the table of all values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from neurofs.comparison.names import name_method
from neurofs.comparison.summary import Estimate
from neurofs.comparison.variation import PowerLaw, Variation
from neurofs.comparison.variation_words import name_unit
from neurofs.comparison.wording import SCORE_NAMES, format_number, format_value
from neurofs.ground.errors import printable
from neurofs.report.captions import Caption, count_of
from neurofs.report.page import render_body, render_page, show_picture
from neurofs.report.palette import MUTED, Key, find_key
from neurofs.report.pictures import Panel, Picture, Table, shorten
from neurofs.report.svg import Styles

TEMPLATE = """
{% import "parts.html" as parts with context %}
<h1>{{ title | shown_long }}</h1>
<p class="about">{{ about | shown_long }}</p>
<section id="found" aria-labelledby="found-title"><h2 id="found-title">What was found</h2>
{% for line in sentences %}<p>{{ line | shown_long }}</p>{% endfor %}
{{ parts.picture(picture) }}</section>
<section id="values" aria-labelledby="values-title"><h2 id="values-title">All values</h2>
{{ parts.table(table, id="values-table") }}</section>
"""

LOWEST = -0.5
"""R² below this is drawn here."""

BY_NAME = {
    "lead": "lead: target after the spikes (s)",
    "n_lags": "number of lags",
    "bin_width": "bin width (s)",
    "smooth": "smoothing (s)",
    "minutes": "minutes of training data",
    "trials": "trials of training data",
    "channels": "number of channels",
}


def render_variation(variation: Variation) -> str:
    """Return the page of a variation as one HTML document."""
    styles, found = Styles(), variation.found
    body = render_body(
        TEMPLATE,
        title=f"{printable(found.name)} by {printable(found.by)}",
        about=f"{count_of(variation.table['label'].nunique(), 'value')}, decoded by "
        f"{', '.join(name_method(method) for method in found.methods)}; target {', '.join(variation.config.target)}.",
        sentences=found.sentences,
        picture=show_picture(draw_variation(variation), styles),
        table=tabulate_variation(variation),
    )
    contents = [("found", "What was found"), ("values", "All values")]
    return render_page(f"{printable(found.name)} by {printable(found.by)}", body, styles, contents)


def tabulate_variation(variation: Variation) -> Table:
    """Return the table of a variation for people."""
    rows = [
        (
            name_method(row.method),
            row.label if np.isnan(row.value) else format_value(row.value),
            Estimate(mean=row.mean, low=row.low, high=row.high),
            row.against if not np.isnan(row.difference) else "",
            Estimate(mean=row.difference, low=row.difference_low, high=row.difference_high),
            row.p_holm,
            row.n_channels,
        )
        for row in variation.table.itertuples()
    ]
    score, over = SCORE_NAMES[variation.found.score], "sessions" if variation.found.sessions else "folds"
    columns = ("method", variation.found.by, score, "compared with", f"difference of {score}", "p (Holm)", "channels")
    return Table(f"Scores with 95 % intervals, and differences paired over {over}", columns, rows, 3)


def draw_variation(variation: Variation) -> Picture:
    """Return the figure: scores against a number, or one row per case."""
    table, found = variation.table, variation.found
    numeric = not table["value"].isna().any()
    score = SCORE_NAMES[found.score]
    best = table.loc[table["mean"].idxmax()]
    top = f"the highest, {format_number(best['mean'], 2)}, at {printable(best['label'])}"
    alt = f"{score} by {printable(found.by)}; {top}"
    if numeric:
        draw, size = partial(_plot_numbers, variation=variation), (6.4, 3.6)
    else:
        draw, size = partial(_plot_rows, variation=variation), (6.4, 0.9 + 0.26 * table["label"].nunique())
    reading = f"Bars and bands: 95 % intervals of the mean over {'sessions' if found.sessions else 'folds'}. "
    reading += "Dashed: the power law, to twice as much data." if found.laws else ""
    reading += "Gray: as good as knowing the mean." if found.score == "r2" and not found.laws else ""
    if table["low"].min() < LOWEST:
        reading += f" What is below {format_value(LOWEST)} is drawn there."
    caption = Caption(f"{score} by {printable(found.by)}", reading)
    return Picture("variation", caption, [Panel("", alt, draw, size)], [_key(m) for m in found.methods])


def _key(method: str) -> Key:
    """Return how a method is drawn: here its lines are solid, since a dashed one is a law."""
    key = find_key(method)
    return replace(key, marker=key.marker or "o", line="-")


def _plot_numbers(axes: Any, variation: Variation) -> None:
    """Draw the score against the value, a line with a band per method."""
    found = variation.found
    for method in found.methods:
        rows, key = _rows_of(variation, method).sort_values("value"), _key(method)
        x, low, high = (rows[name].to_numpy() for name in ("value", "low", "high"))
        axes.fill_between(x, np.maximum(low, LOWEST), high, color=key.color, alpha=0.18, lw=0)
        axes.plot(x, np.maximum(rows["mean"], LOWEST), color=key.color, marker=key.marker, ls="-")
    for law in found.laws:
        _plot_law(axes, law)
    if found.score == "r2":
        axes.axhline(0, color=MUTED, lw=0.8)
    if found.by == "lead":
        axes.axvline(0, color=MUTED, lw=0.8, ls=":")
    if found.laws:
        _use_log_amounts(axes, {*variation.table["value"], *(law.asked for law in found.laws)})
    unit = name_unit(found.by)
    axes.set(xlabel=BY_NAME.get(found.by, f"{found.by} {unit}".strip()), ylabel=SCORE_NAMES[found.score])


def _use_log_amounts(axes: Any, amounts: Iterable[float]) -> None:
    """Make the axis logarithmic, with marks at the amounts themselves."""
    ticks = sorted(amounts)
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{amount:.3g}" for amount in ticks])
    axes.minorticks_off()


def _plot_law(axes: Any, law: PowerLaw) -> None:
    n = np.geomspace(law.most / 16, law.asked, 60)
    color = find_key(law.method).color
    axes.plot(n, np.maximum(law.a - law.b * n**-law.c, LOWEST), color=color, ls="--", lw=1)
    if law.predicted.low is not None and law.predicted.high is not None:
        axes.plot([law.asked] * 2, [max(law.predicted.low, LOWEST), law.predicted.high], color=color, lw=1.8)


def _plot_rows(axes: Any, variation: Variation) -> None:
    """Draw one row per case: a mark and its interval per method."""
    labels = list(dict.fromkeys(variation.table["label"]))
    methods = variation.found.methods
    for i, method in enumerate(methods):
        key, shift = _key(method), 0.16 * (i - (len(methods) - 1) / 2)
        for row in _rows_of(variation, method).itertuples():
            y = labels.index(row.label) + shift
            axes.plot(np.clip([row.low, row.high], LOWEST, 1), [y, y], color=key.color, lw=1.8)
            axes.plot(max(row.mean, LOWEST), y, marker=key.marker, color=key.color, ms=5, ls="none")
    axes.set_yticks(range(len(labels)), [shorten(printable(label), 28) for label in labels], fontsize=7.5)
    axes.set(xlabel=SCORE_NAMES[variation.found.score], ylim=(len(labels) - 0.5, -0.5))
    axes.axvline(0, color=MUTED, lw=0.8)
    axes.grid(axis="y", lw=0.4)


def _rows_of(variation: Variation, method: str) -> pd.DataFrame:
    return variation.table[variation.table["method"] == method]
