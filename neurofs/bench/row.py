"""`Row`: one measured line of the benchmark table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Row", "render_rows"]


@dataclass(frozen=True)
class Row:
    """What was measured, the figure, and what it should be; `met` is None where nothing was promised."""

    what: str
    figure: str
    goal: str = ""
    met: bool | None = None


def render_rows(rows: Iterable[Row]) -> str:
    """Return rows as aligned text.

    >>> print(render_rows([Row("binning", "0.8 s", "under 3 s", True), Row("peer X", "not installed")]))
    binning  0.8 s          under 3 s  yes
    peer X   not installed             -
    """
    table = [(row.what, row.figure, row.goal, {True: "yes", False: "NO", None: "-"}[row.met]) for row in rows]
    widths = [max((len(line[i]) for line in table), default=0) for i in range(4)]
    return "\n".join(
        "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in table
    )
