"""The page of an encoding: what was found, the tuning of the best channels, and the table of all."""

from __future__ import annotations

from functools import partial

import numpy as np

from neurofs.comparison.encoding import Encoding
from neurofs.ground.errors import printable
from neurofs.report.captions import TUNING, Caption, count_of
from neurofs.report.figures.tuning import plot_tuning
from neurofs.report.page import render_body, render_page, show_picture
from neurofs.report.pictures import Panel, Picture, Table
from neurofs.report.svg import Styles

TEMPLATE = """
{% import "parts.html" as parts with context %}
<h1>{{ title | shown_long }}</h1>
<section id="found" aria-labelledby="found-title"><h2 id="found-title">What was found</h2>
{% for line in sentences %}<p>{{ line | shown_long }}</p>{% endfor %}
{{ parts.picture(picture) }}</section>
<section id="channels" aria-labelledby="channels-title"><h2 id="channels-title">All channels</h2>
<p class="lead">Pseudo-R²: share of the deviance of a channel that the target explains in test parts (Poisson
regression). Alone: R² of a linear decoder from this channel; unique: what it loses without it.</p>
{{ parts.table(table, id="channels-table") }}</section>
"""

MOST_DRAWN = 12


def render_encoding(encoding: Encoding) -> str:
    """Return the page of an encoding as one HTML document."""
    styles, about = Styles(), encoding.tuning.attrs
    title = f"{printable(about['name'])}: encoding of {printable(about['target'])}"
    ranked = encoding.table.sort_values("pseudo_r2", ascending=False)
    rows = [
        (r.channel, r.rate, 1000 * r.lag, r.pseudo_r2, r.low, r.high, r.preferred_direction, r.depth, r.alone, r.unique)
        for r in ranked.itertuples()
    ]
    columns = (
        "channel", "rate (Hz)", "lag (ms)", "pseudo-R²", "from", "to", "preferred direction (°)", "depth", "alone (R²)",
        "unique (R²)",
    )  # fmt: skip
    table = Table("Channels, best predicted first, with the 95 % interval of pseudo-R²", columns, rows, 3)
    picture = show_picture(draw_encoding(encoding), styles)
    body = render_body(TEMPLATE, title=title, sentences=encoding.sentences, picture=picture, table=table)
    return render_page(title, body, styles, [("found", "What was found"), ("channels", "All channels")])


def draw_encoding(encoding: Encoding) -> Picture:
    """Return the mean rate of the best predicted channels against the target, a small panel each."""
    tuning, table = encoding.tuning, encoding.table
    order = np.argsort(-table["pseudo_r2"].fillna(-np.inf).to_numpy(), kind="stable")[:MOST_DRAWN]
    panels = [
        Panel(
            f"{printable(table['channel'][i])}, pseudo-R² {table['pseudo_r2'][i]:.3f}",
            f"Mean rate of channel {printable(table['channel'][i])} against the target",
            partial(plot_tuning, session=tuning, channel=int(i)),
            (2.3, 1.9),
        )
        for i in order
    ]
    against = TUNING[tuning.attrs["tuning_kind"]].format(name=printable(tuning.attrs["tuning_name"]))
    caption = Caption(
        f"Tuning of the {count_of(len(panels), 'channel')} that the target predicts best",
        f"Mean rate against {against}, each at its own lag, with standard errors; dashed: mean.",
    )
    return Picture("tuning", caption, panels)
