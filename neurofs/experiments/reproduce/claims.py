"""A published claim beside our figure, and whether it holds: the same record in every experiment."""

from collections.abc import Iterable
from typing import Any, TypedDict


class Claim(TypedDict):
    """What is claimed, what was published and where, what we find, and whether it holds."""

    claim: str
    published: str
    ours: str
    holds: bool


def make_claim(claim: str, published: str, ours: str, holds: Any, why: str = "") -> Claim:
    """Return a claim; `why` is our explanation, told only if the claim does not hold.

    >>> make_claim("a beats b", "figure 1: 90 against 50 %", "88 against 51 %", 88 > 51)["holds"]
    True
    >>> make_claim("a beats b", "figure 1", "50 against 51 %", False, why="fewer samples")["ours"]
    '50 against 51 %; our explanation: fewer samples'
    """
    told = f"{ours}; our explanation: {why}" if why and not holds else ours
    return {"claim": claim, "published": published, "ours": told, "holds": bool(holds)}


def render_claims(claims: Iterable[Claim]) -> list[str]:
    """Return the claims as lines of text.

    >>> print(*render_claims([make_claim("a beats b", "figure 1", "no: 50 against 51 %", False)]), sep="\\n")
    Published claims
      does not hold  a beats b
                     published: figure 1
                     ours: no: 50 against 51 %
    """
    lines = ["Published claims"]
    for record in claims:
        lines.append(f"  {'holds' if record['holds'] else 'does not hold':<13}  {record['claim']}")
        lines += [f"{'':17}published: {record['published']}", f"{'':17}ours: {record['ours']}"]
    return lines
