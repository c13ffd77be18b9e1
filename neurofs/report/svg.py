"""matplotlib figures as inline SVG for a page with a strict Content-Security-Policy.

Such a page allows no ``style`` attributes. `Styles` turns each different style into a class, replaces colors by
the page's variables (so that figures follow light and dark), and collects the rules for the page's style sheet.
Text stays text, in the font of the page.
"""

import io
import re
import xml.etree.ElementTree as ET
from typing import Any

from matplotlib.backends.backend_svg import FigureCanvasSVG

from neurofs.report.palette import THEME

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_NUMBER = re.compile(r"-?\d+\.\d+")
_DROPPED = {f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"}


class Styles:
    """The style rules of all figures of a page.

    >>> styles = Styles()
    >>> styles.name_of("fill: #ffffff; font-family: 'DejaVu Sans'"), styles.name_of("fill: #ffffff")
    ('f0', 'f0')
    >>> styles.render()
    '.f0{fill:var(--c3)}\\n'
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def name_of(self, style: str) -> str:
        """Return the class that stands for a ``style`` attribute."""
        parts = [part.strip() for part in style.split(";") if part.strip()]
        pairs = [part.split(":", 1) for part in parts if not part.startswith("font-family")]
        rule = ";".join(f"{name.strip()}:{_themed(value.strip())}" for name, value in pairs)
        return self._names.setdefault(rule, f"f{len(self._names)}")

    def render(self) -> str:
        """Return the rules as CSS."""
        return "".join(f".{name}{{{rule}}}\n" for rule, name in self._names.items())


def _themed(value: str) -> str:
    return f"var({THEME[value]})" if value in THEME else value


def to_svg(figure: Any, styles: Styles, prefix: str, title: str) -> str:
    """Return a figure as an ``<svg>`` element, named by `title`; `prefix` makes its ids unique on the page."""
    buffer = io.StringIO()
    FigureCanvasSVG(figure).figure.dpi = 72  # with which savefig writes SVG
    figure.get_layout_engine().execute(figure)
    figure.set_layout_engine(None)  # else savefig draws everything once more to find the layout
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    ET.register_namespace("", _SVG)
    ET.register_namespace("xlink", _XLINK)
    root = ET.fromstring(buffer.getvalue())
    _clean(root, styles, f"{prefix}-")
    for attribute in ("width", "height", "version"):
        root.attrib.pop(attribute, None)
    root.set("role", "img")
    root.set("aria-label", title)
    text = ET.tostring(root, encoding="unicode")
    return text.replace(f' xmlns="{_SVG}"', "").replace(f' xmlns:xlink="{_XLINK}"', "")


def _clean(element: ET.Element, styles: Styles, prefix: str) -> None:
    """Replace styles by classes, make ids unique, and drop what a page does not need."""
    for child in [c for c in element if c.tag in _DROPPED]:
        element.remove(child)
    element.text = (element.text or "").strip() or None
    element.tail = None
    if "style" in element.attrib:
        element.set("class", styles.name_of(element.attrib.pop("style")))
    _rename(element, prefix)
    for name in ("d", "x", "y", "transform", "points"):
        if name in element.attrib:
            element.set(name, _shorten(element.attrib[name]))
    if element.get("transform", "").startswith("rotate(0 ") or element.get("transform", "").startswith("rotate(-0 "):
        del element.attrib["transform"]
    for child in element:
        _clean(child, styles, prefix)


def _rename(element: ET.Element, prefix: str) -> None:
    if element.tag == f"{{{_SVG}}}g" or element.tag == f"{{{_SVG}}}image":
        element.attrib.pop("id", None)  # nothing refers to groups and images
    elif "id" in element.attrib:
        element.set("id", prefix + element.attrib["id"])
    href = element.attrib.pop(f"{{{_XLINK}}}href", None)
    if href is not None:
        element.set("href", f"#{prefix}{href[1:]}" if href.startswith("#") else re.sub(r"\s", "", href))
    clip = element.get("clip-path")
    if clip:
        element.set("clip-path", clip.replace("url(#", f"url(#{prefix}"))


def _shorten(numbers: str) -> str:
    """Round coordinates to hundredths of a point."""
    rounded = _NUMBER.sub(lambda match: f"{float(match.group()):.2f}".rstrip("0").rstrip("."), numbers)
    return re.sub(r"\s+", " ", rounded).strip()
