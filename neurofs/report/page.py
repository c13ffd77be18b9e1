"""The report of a run: one HTML file that needs nothing else, and an index page across runs.

Everything shown comes from the `Comparison`; nothing is recomputed. Figures are matplotlib's, as inline SVG;
the map, the traces and the tables become interactive by the one script in the file, and can be read without
it. Names from files are hostile text: jinja2 escapes them, JSON escapes markup, and the page's
Content-Security-Policy allows no script or style but those whose hash it states.
"""

import base64
import hashlib
import math
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from neurofs import __version__
from neurofs.comparison.comparison import Comparison, read
from neurofs.comparison.session import fill_session
from neurofs.comparison.summary import Estimate
from neurofs.comparison.wording import format_ends, format_estimate, format_number
from neurofs.ground.errors import printable
from neurofs.ground.files import write_atomically
from neurofs.report.feature_maps import order_channels
from neurofs.report.figures.encoding import draw_best
from neurofs.report.index import Claim, IndexEntry, make_index
from neurofs.report.palette import Key, render_variables
from neurofs.report.pictures import Picture, Table, render_panels, save_picture
from neurofs.report.sections import PICTURES, make_sections
from neurofs.report.svg import Styles
from neurofs.report.verdict import describe_run, explain_score, judge, list_numbers


def render(comparison: Comparison) -> str:
    """Return the report of a comparison as one HTML document."""
    comparison, styles = arrange(comparison), Styles()
    sections = make_sections(comparison, lambda picture: show_picture(picture, styles))
    summary, best = comparison.summary, draw_best(comparison)
    body = _render_template(
        "report.html",
        session=summary.session,
        audit=summary.audit,
        headline=summary.headline,
        about=describe_run(summary.session),
        numbers=list_numbers(summary),
        score_text=explain_score(summary),
        verdict=judge(summary),
        best=None if best is None else show_picture(best, styles),
        sections=sections,
    )
    contents = [("headline", "The answer"), *((s.id, s.short or s.title) for s in sections)]
    return render_page(printable(summary.session.name), body, styles, contents)


def arrange(comparison: Comparison) -> Comparison:
    """Return a comparison with unknowns where its session lacks something, channels in order of contribution."""
    session = fill_session(comparison.session, comparison.weights["channel"].values)
    order = order_channels(comparison)
    return replace(comparison, session=session.isel(channel=order), weights=comparison.weights.isel(channel=order))


def write_report(folder: str | Path) -> Path:
    """Read a run folder, write its report.html, and return where it is."""
    folder = Path(folder)
    return write_atomically(folder / "report.html", render(read(folder)))


def save_figures(comparison: Comparison, folder: str | Path, kind: str) -> list[Path]:
    """Write all figures as files for a paper: pdf, svg or png."""
    comparison = arrange(comparison)
    pictures = [picture for draw in PICTURES if (picture := draw(comparison)) is not None]
    return [save_picture(picture, Path(folder), kind) for picture in pictures]


def render_index(
    entries: Iterable[IndexEntry], claims: Iterable[Claim] = (), variations: Iterable[Claim] = (), title: str = ""
) -> str:
    """Return the index page of many runs, with what a batch found out beside them."""
    styles = Styles()
    context = make_index(list(entries), list(claims), lambda picture: show_picture(picture, styles), list(variations))
    context["title"] = printable(title) or context["n_sessions"]
    return render_page(context["title"], _render_template("index.html", **context), styles, context["contents"])


# The page


def render_page(title: str, body: str, styles: Styles, contents: list[tuple[str, str]]) -> str:
    """Return a whole page, with a policy that admits its own style and script alone.

    `body` is HTML and must have escaped what comes from files; `styles` are its own rules beside those of the
    report, and `contents` lists its sections as (id, title).
    """
    templates = Path(__file__).parent / "templates"
    css = render_variables() + (templates / "report.css").read_text(encoding="utf-8") + styles.render()
    js = (templates / "report.js").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; script-src '{_hash(js)}'; style-src '{_hash(css)}'; img-src data:; base-uri "
        "'none'; form-action 'none'"
    )
    return _render_template(
        "page.html", title=title, body=body, css=css, js=js, policy=policy, contents=contents, version=__version__
    )


def render_body(template: str, **context: Any) -> str:
    """Return the body of a page, made from the text of a template that another room brings along."""
    return _environment().from_string(template).render(**context)


def _render_template(name: str, **context: Any) -> str:
    return _environment().get_template(name).render(**context)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {
        "shown": printable,
        "shown_long": _show_long,
        "figure": format_number,
        "to": format_ends,
        "as_shown": show_table,
    }
    return environment


def _show_long(text: object) -> str:
    """Return text with control characters shown as escapes, of any length."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def show_table(table: Table) -> dict[str, Any]:
    """Return a table as the template shows it: each column in one format, the exact value beside each number."""
    columns = [[row[i] for row in table.rows] for i in range(len(table.columns))]
    digits = [table.digits] * len(columns) if isinstance(table.digits, int) else table.digits
    shown = [_show_column(*column) for column in zip(columns, digits, strict=True)]
    kinds = ["num" if any(cell["kind"] == "num" for cell in cells) else "text" for cells in shown]
    return {
        "caption": table.caption,
        "columns": [{"name": name, "kind": kind} for name, kind in zip(table.columns, kinds, strict=True)],
        "rows": list(zip(*shown, strict=True)),
    }


def _show_column(cells: list[Any], digits: int) -> list[dict[str, Any]]:
    numbers = [c.mean if isinstance(c, Estimate) else c for c in cells]
    known = [n for n in numbers if isinstance(n, int | float) and math.isfinite(n)]
    digits = 0 if all(float(n).is_integer() for n in known) else digits
    kind = "num" if known else "text"
    return [_show_cell(cell, number, digits, kind) for cell, number in zip(cells, numbers, strict=True)]


def _show_cell(cell: Any, number: Any, digits: int, kind: str) -> dict[str, Any]:
    if isinstance(number, str):
        return {"text": _show_long(number), "value": None, "kind": "text"}
    if number is None or not math.isfinite(number):
        return {"text": None, "value": None, "kind": kind}
    is_estimate = isinstance(cell, Estimate)
    text = format_estimate(cell, digits, digits) if is_estimate else format_number(number, digits)
    return {"text": text, "value": number, "kind": "num"}


def show_picture(picture: Picture, styles: Styles) -> dict[str, Any]:
    """Return a picture as the template shows it, its panels as SVG."""
    panels = [
        {"svg": panel["svg"], "width": styles.name_of(f"width: {panel['width']}px")}
        for panel in render_panels(picture, styles)
    ]
    return {
        "name": picture.name,
        "caption": picture.caption,
        "numbers": picture.numbers,
        "panels": panels,
        "narrow": len(picture.panels) == 1 and picture.panels[0].size[0] < 5,
        "legend": [show_key(key, styles) for key in picture.legend],
    }


MARKERS = {
    "o": "M12 6a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z",
    "s": "M12.3 3.3h5.4v5.4h-5.4z",
    "^": "M15 2.5L18.4 9H11.6z",
    "v": "M15 9.5L18.4 3H11.6z",
    "D": "M15 2L19 6L15 10L11 6z",
    "d": "M15 1.8L17.6 6L15 10.2L12.4 6z",
    "<": "M11.4 6L17.9 2.6V9.4z",
    ">": "M18.6 6L12.1 2.6V9.4z",
    "p": "M15 2.2L18.6 4.8L17.2 9.1H12.8L11.4 4.8z",
    "h": "M15 2.2L18.3 4.1V7.9L15 9.8L11.7 7.9V4.1z",
    "*": "M15 1.8L16 4.6L19 4.7L16.6 6.5L17.5 9.4L15 7.7L12.5 9.4L13.4 6.5L11 4.7L14 4.6z",
    "P": "M13.8 2.5h2.4v2.3h2.3v2.4h-2.3v2.3h-2.4v-2.3h-2.3v-2.4h2.3z",
}
_CROSS = "M12.5 3.5l5 5M17.5 3.5l-5 5"


def show_key(key: Key, styles: Styles) -> dict[str, Any]:
    """Return an entry of a legend, drawn like matplotlib draws the line."""
    dashes = {"--": "6 3", ":": "2 2", "-.": "6 2 1.5 2", "-": ""}
    dash = dashes.get(key.line, "3 1.5 1 1.5")
    pattern = f"; stroke-dasharray: {dash}" if dash else ""
    line = styles.name_of(f"fill: none; stroke: {key.color}; stroke-width: 1.8{pattern}") if key.line else ""
    crossed = key.marker not in MARKERS
    marker = f"fill: none; stroke: {key.color}; stroke-width: 1.6" if crossed else f"fill: {key.color}"
    path = MARKERS.get(key.marker, _CROSS) if key.marker else ""
    return {"label": key.label, "line_class": line, "marker_path": path, "marker_class": styles.name_of(marker)}
