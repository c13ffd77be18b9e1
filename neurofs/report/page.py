"""The report of a run: one HTML file that needs nothing else, and an index page across runs.

Everything shown comes from the `Comparison`; nothing is recomputed. Figures are matplotlib's, as inline SVG;
the map, the traces and the tables become interactive by the one script in the file, and can be read without
it. Names from files are hostile text: jinja2 escapes them, JSON escapes markup, and the page's
Content-Security-Policy allows no script or style but those whose hash it states.
"""

from __future__ import annotations

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
from neurofs.comparison.names import name_method
from neurofs.comparison.session import fill_session
from neurofs.comparison.summary import Estimate, Summary
from neurofs.ground.errors import printable
from neurofs.ground.files import write_atomically
from neurofs.report.palette import Key, render_variables
from neurofs.report.pictures import Picture, Table, render_panels, save_picture
from neurofs.report.sections import PICTURES, make_sections
from neurofs.report.svg import Styles

__all__ = ["render", "render_body", "render_index", "render_page", "save_figures", "write_report"]

METRIC_TEXT = {
    "r2": "R²: 1 is perfect, 0 is as good as knowing the mean, below 0 is worse than that.",
    "accuracy": "Accuracy: share of samples whose class is right; 1 is perfect.",
}


def render(comparison: Comparison) -> str:
    """Return the report of a comparison as one HTML document."""
    comparison = replace(
        comparison, session=fill_session(comparison.session, comparison.weights["channel"].values)
    )
    styles = Styles()
    sections = make_sections(comparison, lambda picture: show_picture(picture, styles))
    summary = comparison.summary
    body = (
        _environment()
        .get_template("report.html")
        .render(
            session=summary["session"],
            audit=summary["audit"],
            headline=summary["headline"],
            about=_describe_run(summary),
            numbers=_list_numbers(summary),
            metric_text=METRIC_TEXT[summary["metric"]],
            verdict=_judge(summary),
            sections=sections,
        )
    )
    contents = [("headline", "Headline"), *((s.id, s.title) for s in sections)]
    return render_page(printable(summary["session"]["name"]), body, styles, contents)


def write_report(folder: str | Path) -> Path:
    """Read a run folder, write its report.html, and return where it is."""
    folder = Path(folder)
    return write_atomically(folder / "report.html", render(read(folder)))


def save_figures(comparison: Comparison, folder: str | Path, kind: str) -> list[Path]:
    """Write all figures as files for a paper: pdf, svg or png."""
    comparison = replace(
        comparison, session=fill_session(comparison.session, comparison.weights["channel"].values)
    )
    pictures = [picture for draw in PICTURES if (picture := draw(comparison)) is not None]
    return [save_picture(picture, Path(folder), kind) for picture in pictures]


def render_index(entries: Iterable[dict[str, Any]], claims: Iterable[dict[str, Any]] = ()) -> str:
    """Return the index page of many runs; see `report.index`."""
    from neurofs.report.index import make_index

    styles = Styles()
    context = make_index(list(entries), list(claims), lambda picture: show_picture(picture, styles))
    body = _environment().get_template("index.html").render(**context)
    return render_page(context["title"], body, styles, context["contents"])


# The page


def render_page(title: str, body: str, styles: Styles, contents: list[tuple[str, str]]) -> str:
    """Return a whole page, with a policy that admits its own style and script alone."""
    templates = Path(__file__).parent / "templates"
    css = render_variables() + (templates / "report.css").read_text(encoding="utf-8") + styles.render()
    js = (templates / "report.js").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; script-src '{_hash(js)}'; style-src '{_hash(css)}'; img-src data:; base-uri "
        "'none'; form-action 'none'"
    )
    page = _environment().get_template("page.html")
    return page.render(
        title=title, body=body, css=css, js=js, policy=policy, contents=contents, version=__version__
    )


def render_body(template: str, **context: Any) -> str:
    """Return the body of a page, made from the text of a template that another room brings along."""
    return _environment().from_string(template).render(**context)


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
        "as_shown": show_table,
    }
    return environment


def _show_long(text: object) -> str:
    """Return text with control characters shown as escapes, of any length."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def format_number(value: float, digits: int = 3) -> str:
    """Return a number for people, with so many decimals; very small ones keep two digits.

    >>> format_number(0.83456), format_number(0.00042), format_number(1234, 0), format_number(-15.25, 1)
    ('0.835', '0.00042', '1,234', '−15.2')
    """
    small = value and abs(value) < 10**-digits
    return (f"{value:.2g}" if small else f"{value:,.{digits}f}").replace("-", "−")


def show_table(table: Table) -> dict[str, Any]:
    """Return a table as the template shows it: each column in one format, the exact value beside each number."""
    columns = [[row[i] for row in table.rows] for i in range(len(table.columns))]
    shown = [_show_column(cells, table.digits) for cells in columns]
    kinds = ["num" if any(cell["kind"] == "num" for cell in cells) else "text" for cells in shown]
    return {
        "caption": table.caption,
        "columns": [{"name": name, "kind": kind} for name, kind in zip(table.columns, kinds, strict=True)],
        "rows": list(zip(*shown, strict=True)),
    }


def _show_column(cells: list[Any], digits: int) -> list[dict[str, Any]]:
    numbers = [c["mean"] if isinstance(c, Estimate) else c for c in cells]
    known = [n for n in numbers if isinstance(n, int | float) and math.isfinite(n)]
    digits = 0 if all(float(n).is_integer() for n in known) else digits
    kind = "num" if known else "text"
    return [_show_cell(cell, number, digits, kind) for cell, number in zip(cells, numbers, strict=True)]


def _show_cell(cell: Any, number: Any, digits: int, kind: str) -> dict[str, Any]:
    if isinstance(number, str):
        return {"text": _show_long(number), "value": None, "kind": "text"}
    if number is None or not math.isfinite(number):
        return {"text": None, "value": None, "kind": kind}
    text = format_number(number, digits)
    if isinstance(cell, Estimate) and cell["low"] is not None:
        text += f" ({format_number(cell['low'], digits)} to {format_number(cell['high'], digits)})"
    return {"text": text, "value": number, "kind": "num"}


def show_picture(picture: Picture, styles: Styles) -> dict[str, Any]:
    """Return a picture as the template shows it, its panels as SVG."""
    panels = [
        {"svg": panel["svg"], "width": styles.name_of(f"width: {panel['width']}px")}
        for panel in render_panels(picture, styles)
    ]
    return {
        "name": picture.name,
        "title": picture.title,
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
    return {
        "label": key.label,
        "line_class": line,
        "marker_path": path,
        "marker_class": styles.name_of(marker),
    }


# The headline


def _describe_run(summary: Summary) -> str:
    s = summary["session"]
    outputs = ", ".join(
        printable(o["name"]) + (f" ({printable(o['unit'])})" if o["unit"] else "") for o in s["outputs"]
    )
    trials = f"{s['n_trials']} trials, " if s["n_trials"] else ""
    lags = "1 lag" if s["n_lags"] == 1 else f"{s['n_lags']} lags"
    return (
        f"{s['n_channels']} channels × {lags} of {1000 * s['bin_width']:g} ms; "
        f"{trials}{s['n_samples']:,} samples in {s['duration']:.0f} s. Target: {outputs}."
    )


def _list_numbers(summary: Summary) -> list[dict[str, Any]]:
    """Return the numbers of the headline in order; the best pipeline only if it is not the reference itself."""
    numbers = summary["headline"]["numbers"]
    keys = ["reference", "best", "all", "rival", "chance"]
    if (numbers.get("best") or {}).get("method") == (numbers.get("reference") or {}).get("method"):
        keys.remove("best")
    return [_show_number(key, numbers.get(key)) for key in keys]


def _show_number(key: str, number: dict[str, Any] | None) -> dict[str, Any]:
    """Return a number with what it is."""
    if number is None:
        label = {"all": "All features", "rival": "Best rival", "chance": "Chance"}.get(key, key)
        return {"key": key, "label": label, "mean": None, "low": None, "high": None, "detail": "not run"}
    if key == "chance":
        limit = f"; 95 % of them below {format_number(number['high'])}" if number["high"] is not None else ""
        return {**number, "key": key, "low": None, "detail": f"mean of shifted targets{limit}"}
    n = f"{number['n']:g} features" if number.get("n") is not None else ""
    detail = ", ".join(part for part in (name_method(number["method"]), n) if part)
    return {**number, "key": key, "detail": detail}


def _judge(summary: Summary) -> list[dict[str, str]]:
    """Return the verdict on the data: audit, null control, warnings."""
    audit = summary["audit"]
    n_folds = len(audit["folds"])
    kind = {"trials": "whole trials", "blocks": "contiguous blocks", "shuffled": "shuffled bins"}[
        summary["session"]["kind"]
    ]
    if audit["passed"]:
        text = f"No training sample shares raw data with a test sample, in any of {n_folds} folds of {kind}."
        items = [{"kind": "pass", "title": "Audit passed.", "text": text}]
    else:
        text = f"{audit['n_overlaps']:,} pairs of training and test samples share raw data ({kind})."
        items = [{"kind": "fail", "title": "Audit failed.", "text": text}]
    items.append(_judge_null(summary["null"]))
    items += [{"kind": "warn", "title": "Warning.", "text": w} for w in summary["session"]["warnings"]]
    if not summary["session"]["warnings"]:
        items.append({"kind": "pass", "title": "No warnings.", "text": "Nothing in the file looked wrong."})
    return items


def _judge_null(nulls: list[dict[str, Any]]) -> dict[str, str]:
    known = [n for n in nulls if n["p"] is not None]
    if not known:
        text = "The target was not shifted against the spikes, so that chance is not known."
        return {"kind": "warn", "title": "No null control.", "text": text}
    p, shifts = max(n["p"] for n in known), min(len(n["values"]) for n in known)
    floor = ", the smallest that this many shifts can give" if p <= 1 / (shifts + 1) + 1e-12 else ""
    each = " for the worst output" if len(known) > 1 else ""
    if p <= 0.05:
        text = f"p = {p:.2g}{each} against {shifts} shifted targets{floor}: this is not chance."
        return {"kind": "pass", "title": "Null control passed.", "text": text}
    if floor:
        text = f"p = {p:.2g} against {shifts} shifted targets{floor}. Ask for 19 or more with --n-shifts."
        return {"kind": "warn", "title": "Too few shifts.", "text": text}
    text = f"p = {p:.2g}{each} against {shifts} shifted targets: this may be chance. Do not interpret the weights."
    return {"kind": "fail", "title": "Null control failed.", "text": text}
