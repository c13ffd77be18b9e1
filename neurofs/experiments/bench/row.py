"""`Row`: one measured line of the benchmark table."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """What was measured, the figure, and what it should be; `met` is None where nothing was promised."""

    what: str
    figure: str
    goal: str = ""
    met: bool | None = None


def render_row(row: Row) -> str:
    """Return one row as a line of text.

    >>> print(render_row(Row("binning", "0.8 s", "under 3 s", True)))
    binning                                                       0.8 s               under 3 s           yes
    """
    met = {True: "yes", False: "NO", None: ""}[row.met]
    return f"{row.what:<60}  {row.figure:<18}  {row.goal:<18}  {met}".rstrip()
