"""How values show themselves in a notebook: a small table of facts, in which no name is markup."""

from collections.abc import Mapping
from html import escape

from neurofs.ground.errors import printable

CELL = "padding:.1em 1em .1em 0;text-align:left;vertical-align:top"
MOST = 400
"""Characters of a fact."""


def render_facts(title: str, facts: Mapping[str, object]) -> str:
    """Return a title and facts as HTML.

    >>> render_facts("day <1>", {"channels": 64})
    '<div><b>day &lt;1&gt;</b><table><tr><th style="padding:.1em 1em .1em 0;text-align:left;vertical-align:top">\
channels</th><td style="padding:.1em 1em .1em 0;text-align:left;vertical-align:top">64</td></tr></table></div>'
    """
    rows = "".join(
        f'<tr><th style="{CELL}">{_safe(name)}</th><td style="{CELL}">{_safe(fact)}</td></tr>'
        for name, fact in facts.items()
    )
    return f"<div><b>{_safe(title)}</b><table>{rows}</table></div>"


def _safe(text: object) -> str:
    return escape(printable(text, MOST))
