"""The report of a run: one HTML file."""

from __future__ import annotations

from html import escape
from pathlib import Path

from neurofs.headline import render_summary
from neurofs.results import Comparison, read, write_atomically

__all__ = ["render", "write_report"]


def render(comparison: Comparison) -> str:
    """Return the report as HTML."""
    name = escape(comparison.summary["session"]["name"])
    body = escape(render_summary(comparison.summary))
    return f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{name}</title><pre>{body}</pre></html>\n'


def write_report(folder: str | Path) -> Path:
    """Read a run folder and write its report.html."""
    folder = Path(folder)
    return write_atomically(folder / "report.html", render(read(folder)))
