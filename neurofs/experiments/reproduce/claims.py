"""A claim beside our figure, and whether it holds: the same record in every experiment."""

from collections.abc import Iterable
from typing import Any, TypedDict


class Claim(TypedDict):
    """What is claimed, what was published and where (None: the claim is ours), what we find, whether it holds."""

    claim: str
    published: str | None
    ours: str
    holds: bool


def make_claim(claim: str, published: str | None, ours: str, holds: Any) -> Claim:
    """Return a claim, with None for `published` if nobody but us makes it.

    >>> make_claim("a beats b", "figure 1: 90 against 50 %", "88 against 51 %", 88 > 51)["holds"]
    True
    """
    return {"claim": claim, "published": published, "ours": ours, "holds": bool(holds)}


def render_claims(claims: Iterable[Claim]) -> list[str]:
    """Return the claims as lines of text, published ones before our own.

    >>> ours = make_claim("b is fast", None, "1 s", True)
    >>> print(*render_claims([ours, make_claim("a beats b", "figure 1", "50 to 51 %", False)]), sep="\\n")
    Published claims
      does not hold  a beats b
                     published: figure 1
                     ours: 50 to 51 %
    Our own claims
      holds          b is fast
                     ours: 1 s
    """
    claims = list(claims)
    lines = []
    for head, ours in (("Published claims", False), ("Our own claims", True)):
        records = [record for record in claims if (record["published"] is None) == ours]
        if records:
            lines += [head, *(line for record in records for line in _render_claim(record))]
    return lines


def _render_claim(record: Claim) -> list[str]:
    lines = [f"  {'holds' if record['holds'] else 'does not hold':<13}  {record['claim']}"]
    if record["published"] is not None:
        lines.append(f"{'':17}published: {record['published']}")
    return [*lines, f"{'':17}ours: {record['ours']}"]
