"""The index page across runs: every session, the failed ones first, and figures over all of them.

Claims are mappings with `claim`, `published`, `found` and `holds` (True, False, or None where it could not be
tested).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import numpy as np

from neurofs.comparison.comparison import Comparison
from neurofs.comparison.names import name_method
from neurofs.comparison.summary import Summary
from neurofs.comparison.wording import SCORE_NAMES
from neurofs.report.captions import count_of
from neurofs.report.feature_maps import find_n, share_by_kind
from neurofs.report.figures.across import draw_all_lags, draw_all_scores, draw_all_wins
from neurofs.report.pictures import Picture, Table

Claim = Mapping[str, Any]


@dataclass(frozen=True)
class IndexEntry:
    """A session on the index page: how it ended, why it failed, and where its report is.

    `status` is ``done`` or ``failed``; `href` is a path that starts where the page lies.
    """

    name: str
    status: str
    reason: str = ""
    href: str = ""
    comparison: Comparison | None = None


def make_index(
    entries: Sequence[IndexEntry],
    claims: Sequence[Claim],
    draw: Callable[[Picture], Any],
    variations: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Return what the template of the index page shows."""
    done = _name_apart(entries)
    drawn = (draw_all_scores(done), draw_all_wins(done), draw_all_lags(done))
    pictures = [draw(picture) for picture in drawn if picture is not None]
    n_failed = sum(entry.status != "done" for entry in entries)
    contents = [("claims", "Claims")] * bool(claims) + [("sessions", "Sessions")]
    contents += [("variations", "Variations")] * bool(variations)
    return {
        "n_sessions": count_of(len(entries), "session"),
        "n_done": len(entries) - n_failed,
        "n_failed": n_failed,
        "believed": _tell_believed([c.summary for c in done.values()]),
        "claims": [_show_claim(claim) for claim in claims],
        "entries": [_show_entry(entry) for entry in sorted(entries, key=lambda e: e.status == "done")],
        "variations": [{**one, "page": _quote_path(one["page"]) if one["page"] else ""} for one in variations],
        "pictures": pictures,
        "kinds": _make_kinds(done),
        "contents": contents + [("across", "Across sessions")] * bool(pictures),
    }


def _name_apart(entries: Sequence[IndexEntry]) -> dict[str, Comparison]:
    """Return the comparisons by name; sessions of the same name are numbered."""
    named: dict[str, Comparison] = {}
    for entry in entries:
        if entry.status == "done" and entry.comparison is not None:
            name, n = entry.name, 2
            while name in named:
                name, n = f"{entry.name} ({n})", n + 1
            named[name] = entry.comparison
    return named


def _show_claim(claim: Claim) -> dict[str, str]:
    verdict = {True: "holds", False: "does not hold", None: "not tested"}[claim["holds"]]
    return {**{key: str(claim[key]) for key in ("claim", "published", "found")}, "verdict": verdict}


def _show_entry(entry: IndexEntry) -> dict[str, Any]:
    shown = {"name": entry.name, "status": entry.status, "reason": entry.reason, "numbers": []}
    shown["href"] = _quote_path(entry.href) if entry.status == "done" and entry.href else ""
    return shown if entry.comparison is None else shown | _show_scores(entry.comparison.summary)


def _show_scores(summary: Summary) -> dict[str, Any]:
    numbers = summary.headline.numbers
    return {
        "numbers": [numbers.main, numbers.reference, numbers.all, numbers.rival],
        "n": numbers.main.n,
        "score": SCORE_NAMES[summary.score],
        "verdict": judge_shortly(summary),
        "bad": not is_believed(summary),
    }


def judge_shortly(summary: Summary) -> str:
    """Return in a few words whether a result may be believed."""
    verdict = _judge_chance(summary)
    return f"{verdict}; probably misread" if summary.session.serious else verdict


def _judge_chance(summary: Summary) -> str:
    tests = summary.chance_of(summary.main)
    n_beyond = sum(test.beyond for test in tests)
    if not summary.audit.passed:
        return "audit failed: test data leak"
    if not tests:
        return "chance not tested"
    if 0 < n_beyond < len(tests):
        return f"beyond chance in {n_beyond} of {count_of(len(tests), 'output')}"
    return "beyond chance" if n_beyond else "not beyond chance"


def is_believed(summary: Summary) -> bool:
    """Whether the audit passed, every output is beyond chance, and nothing says that the file was misread."""
    tests = summary.chance_of(summary.main)
    sound = summary.audit.passed and not summary.session.serious
    return sound and bool(tests) and all(test.beyond for test in tests)


def _tell_believed(summaries: Sequence[Summary]) -> str:
    if not summaries:
        return ""
    n = sum(map(is_believed, summaries))
    return f"Beyond chance, without leaks or signs of misreading: {n} of {len(summaries):,}."


def _quote_path(href: str) -> str:
    """Return a relative link; a path cannot become another kind of address."""
    path = quote(href)
    return path if path.startswith(("/", ".")) else f"./{path}"


def _make_kinds(done: Mapping[str, Comparison]) -> Table | None:
    """Return the share of each kind of channel among the selected features, mean over sessions."""
    found: dict[str, dict[str, list[float]]] = {}
    for comparison in done.values():
        kinds, rows = share_by_kind(comparison, find_n(comparison))
        for row in rows:
            for kind, share in zip(kinds, row[1:], strict=True):
                found.setdefault(str(row[0]), {}).setdefault(kind, []).append(share)
    if not found:
        return None
    kinds = list(dict.fromkeys(kind for shares in found.values() for kind in shares))
    rows = [
        (name_method(s), *(100 * float(np.mean(shares[k])) if k in shares else None for k in kinds))
        for s, shares in found.items()
    ]
    caption = "Share of each kind of channel among the selected features, mean over sessions"
    return Table(caption, ("selector", *(f"{kind} (%)" for kind in kinds)), rows, digits=0)
