"""The selectors as a table: what each one is, which target it takes, what it costs, and where it is from."""

from __future__ import annotations

from neurofs.selectors import SELECTORS

__all__ = ["describe_selectors", "render_selectors"]

COLUMNS = ("name", "what it does", "target", "cost", "reference")


def describe_selectors() -> list[dict[str, str]]:
    """Return one record per selector, in the order of `SELECTORS`."""
    lines = {name: (kind.__doc__ or "").strip().splitlines()[0] for name, kind in SELECTORS.items()}
    return [
        dict(zip(COLUMNS, (name, lines[name], kind.target, kind.cost, kind.reference), strict=True))
        for name, kind in SELECTORS.items()
    ]


def render_selectors() -> str:
    """Return the table as text, two lines per selector.

    >>> render_selectors().splitlines()[0].split()[:2]
    ['rgs', 'Regression,']
    """
    records = describe_selectors()
    width = max(len(record["name"]) for record in records) + 2
    lines = []
    for record in records:
        lines.append(record["name"].ljust(width) + record["what it does"])
        facts = f"target: {record['target']} · cost: {record['cost']} · {record['reference']}"
        lines.append(" " * width + facts)
    return "\n".join([*lines, "", "m samples, N features, k neighbors; weights, ranks and supports for all."])
