"""The index page across runs: every session, the failed ones first, and figures over all of them.

An entry is a dictionary: `name`, `status` (``done`` or ``failed``), `reason` (of a failure), `href` (or `folder`,
where its report.html lies) and `comparison` (None if there is none). Claims are dictionaries with `claim`,
`published`, `found` and `holds` (True, False, or None where it could not be tested).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

import numpy as np

from neurofs.comparison.comparison import Comparison
from neurofs.comparison.names import name_method
from neurofs.ground.errors import printable
from neurofs.report.feature_maps import find_n, list_selectors, share_by_kind, weigh_lags
from neurofs.report.palette import MUTED, Key, find_key
from neurofs.report.pictures import Panel, Picture, Table, use_log_n

__all__ = ["make_index"]

Entry = Mapping[str, Any]


def make_index(
    entries: Sequence[Entry], claims: Sequence[Entry], draw: Callable[[Picture], Any]
) -> dict[str, Any]:
    """Return what the template of the index page shows."""
    claims = [*claims, *(claim for entry in entries for claim in entry.get("claims") or ())]
    done = _name_apart([e for e in entries if e["status"] == "done" and e.get("comparison") is not None])
    pictures = [p for p in (_draw_wins(done), _draw_scores(done), _draw_lags(done)) if p is not None]
    n_failed = sum(entry["status"] != "done" for entry in entries)
    contents = [("claims", "Claims")] * bool(claims) + [("sessions", "Sessions")]
    return {
        "title": f"{len(entries)} sessions" if len(entries) != 1 else "1 session",
        "n_done": len(entries) - n_failed,
        "n_failed": n_failed,
        "claims": [_show_claim(claim) for claim in claims],
        "entries": sorted((_show_entry(entry) for entry in entries), key=lambda e: e["status"] == "done"),
        "pictures": [draw(picture) for picture in pictures],
        "kinds": _make_kinds(done),
        "contents": contents + [("across", "Across sessions")] * bool(pictures),
    }


def _name_apart(entries: Sequence[Entry]) -> dict[str, Comparison]:
    """Return the comparisons by name; sessions of the same name are numbered."""
    named: dict[str, Comparison] = {}
    for entry in entries:
        name, n = str(entry["name"]), 2
        while name in named:
            name, n = f"{entry['name']} ({n})", n + 1
        named[name] = entry["comparison"]
    return named


def _show_claim(claim: Entry) -> dict[str, str]:
    verdict = {True: "holds", False: "does not hold", None: "not tested"}[claim["holds"]]
    return {**{key: str(claim[key]) for key in ("claim", "published", "found")}, "verdict": verdict}


def _show_entry(entry: Entry) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "name": str(entry["name"]),
        "status": str(entry["status"]),
        "reason": str(entry.get("reason") or ""),
        "href": _find_href(entry) if entry["status"] == "done" else "",
        "numbers": [],
        "n": None,
        "verdict": "",
    }
    comparison: Comparison | None = entry.get("comparison")
    if comparison is None:
        return shown
    summary = comparison.summary
    numbers = summary["headline"]["numbers"]
    p = [null["p"] for null in summary["null"] if null["p"] is not None]
    verdict = "audit passed" if summary["audit"]["passed"] else "audit FAILED"
    verdict += f", p = {max(p):.2g}" if p else ", no null control"
    return shown | {
        "numbers": [numbers.get(key) for key in ("reference", "best", "all", "rival", "chance")],
        "n": (numbers.get("reference") or {}).get("n"),
        "metric": {"r2": "R²", "accuracy": "accuracy"}[summary["metric"]],
        "verdict": verdict,
        "leaks": not summary["audit"]["passed"],
    }


def _find_href(entry: Entry) -> str:
    """Return a relative link to the report; a path cannot become another kind of address."""
    href = entry.get("href")
    if not href:
        return f"{quote(PurePath(entry['folder']).as_posix())}/report.html" if entry.get("folder") else ""
    path = quote(str(href))
    return path if path.startswith(("/", ".")) else f"./{path}"


# Figures over all sessions


def _draw_wins(done: Mapping[str, Comparison]) -> Picture | None:
    """Return the share of all folds of all sessions that the reference wins, against n."""
    curves: dict[str, list[tuple[np.ndarray, np.ndarray, int]]] = {}
    for comparison in done.values():
        best = {w["rival"]: w for w in sorted(comparison.summary["wins"], key=lambda w: w["weighted"])}
        for rival, w in best.items():
            if len(w["n"]) > 1 and None not in w["share"]:
                curves.setdefault(rival, []).append((np.array(w["n"]), np.array(w["share"]), w["n_folds"]))
    if not curves:
        return None
    merged = {rival: _merge_wins(parts) for rival, parts in curves.items()}
    names = {c.summary["reference"] for c in done.values()}
    reference = name_method(names.pop()) if len(names) == 1 else "the reference"
    rows = [
        (r, int(n), float(s)) for r, (ns, share) in merged.items() for n, s in zip(ns, share, strict=True)
    ]
    alt = f"Winning percentage of {reference} over all folds of {len(done)} sessions"
    caption = (
        f"Share of all folds of all sessions in which {reference} decodes better than each rival with the "
        "same number of features. 50 % is a draw. Sessions that tried other numbers of features are "
        "interpolated."
    )
    return Picture(
        "all-wins",
        "Winning percentages over all sessions",
        caption,
        [Panel("", alt, partial(_plot_wins, merged=merged))],
        [find_key(rival) for rival in merged],
        Table("Share of folds won", ("rival", "n", "share"), rows),
    )


def _merge_wins(parts: Sequence[tuple[np.ndarray, np.ndarray, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the sizes that all sessions cover, and the mean share, weighted by the folds of each session.

    >>> _merge_wins([(np.array([1, 4]), np.array([0.5, 1.0]), 10), (np.array([1, 4]), np.array([1.0, 0.0]), 30)])
    (array([1, 4]), array([0.875, 0.25 ]))
    """
    low, high = max(n[0] for n, _, _ in parts), min(n[-1] for n, _, _ in parts)
    sizes = np.unique(np.concatenate([n for n, _, _ in parts]))
    sizes = sizes[(sizes >= low) & (sizes <= high)]
    shares = [np.interp(np.log(sizes), np.log(n), share) for n, share, _ in parts]
    return sizes, np.average(shares, axis=0, weights=[folds for _, _, folds in parts])


def _plot_wins(axes: Any, merged: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> None:
    axes.axhline(50, color=MUTED, lw=0.8, ls="--")
    for rival, (n, share) in merged.items():
        key = find_key(rival)
        axes.plot(n, 100 * share, color=key.color, marker=key.marker, ls=key.line, markevery=2)
    use_log_n(axes, int(max((n.max() for n, _ in merged.values() if len(n)), default=1)))
    axes.set(ylim=(-2, 103), ylabel="folds won (%)", yticks=[0, 25, 50, 75, 100])


def _draw_scores(done: Mapping[str, Comparison]) -> Picture | None:
    """Return the error (of classes: the accuracy) of every method in every session."""
    panels, rows = [], []
    methods: dict[str, None] = {}
    for score, label in {"mse": "mean squared error", "accuracy": "accuracy"}.items():
        found = {name: _pooled(c, score) for name, c in done.items()}
        found = {name: values for name, values in found.items() if values}
        if not found:
            continue
        methods |= {m: None for values in found.values() for m in values}
        rows += [(name, m, score, v) for name, values in found.items() for m, v in values.items()]
        units = {o["unit"] for name in found for o in done[name].summary["session"]["outputs"]}
        unit = (
            f" ({printable(units.pop())})²" if len(units) == 1 and "" not in units and score == "mse" else ""
        )
        mixed = ", in the units of each session" if len(units) > 1 else ""
        alt = f"{label} of each method in {len(found)} sessions"
        draw = partial(_plot_scores, found=found, label=label + unit + mixed)
        panels.append(Panel("", alt, draw, (9.4, 1.1 + 0.28 * len(found))))
    if not panels:
        return None
    caption = (
        "One row per session, one mark per method, the mean over folds and outputs. Sessions differ in how "
        "hard they are; what counts is the order of the marks within each row, and whether it is the same "
        "in all."
    )
    numbers = Table("Scores of each method in each session", ("session", "method", "score", "value"), rows)
    keys = [Key(k.label, k.color, k.marker or "|", "") for k in map(find_key, methods)]
    return Picture("all-scores", "Error of each session", caption, panels, keys, numbers)


def _pooled(comparison: Comparison, score: str) -> dict[str, float]:
    means = {m["method"]: m["pooled"][score]["mean"] for m in comparison.summary["methods"]}
    return {method: mean for method, mean in means.items() if mean is not None}


def _plot_scores(axes: Any, found: Mapping[str, Mapping[str, float]], label: str) -> None:
    for y, values in enumerate(found.values()):
        for method, value in values.items():
            key = find_key(method)
            hollow = {"mfc": "none"} if " + " in method else {}
            axes.plot(value, y, marker=key.marker or "|", color=key.color, ms=6, ls="none", **hollow)
    axes.set_yticks(range(len(found)), [printable(name)[:24] for name in found])
    axes.set(xlabel=label, ylim=(len(found) - 0.5, -0.5))
    axes.grid(axis="y", lw=0.4)


def _draw_lags(done: Mapping[str, Comparison]) -> Picture | None:
    """Return each lag's share of the reference's weight, every session and their mean."""
    profiles = {}
    for name, comparison in done.items():
        selectors = list_selectors(comparison)
        if selectors and comparison.weights.sizes["lag"] > 1:
            lags = 1000 * comparison.weights["lag"].values
            profiles[name] = (lags, weigh_lags(comparison, selectors[0]))
    if not profiles:
        return None
    rows = [
        (name, float(lag), float(share))
        for name, (lags, shares) in profiles.items()
        for lag, share in zip(lags, shares, strict=True)
    ]
    caption = (
        "Share of the weight at each lag, of the first selector of each session (thin lines); the thick "
        "line is their mean where the sessions have the same lags. A peak at the same lag in all sessions "
        "is a finding; a peak that moves from session to session is not."
    )
    panel = Panel(
        "", f"Share of weight by lag in {len(profiles)} sessions", partial(_plot_lags, profiles=profiles)
    )
    numbers = Table("Share of weight by lag", ("session", "lag (ms)", "share"), rows)
    return Picture("all-lags", "Lags that matter everywhere", caption, [panel], (), numbers)


def _plot_lags(axes: Any, profiles: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> None:
    for lags, share in profiles.values():
        axes.plot(lags, 100 * share, color=MUTED, lw=0.8)
    grids = [tuple(lags) for lags, _ in profiles.values()]
    if len(set(grids)) == 1:
        key = find_key("rgs")
        mean = np.mean([share for _, share in profiles.values()], axis=0)
        axes.plot(grids[0], 100 * mean, color=key.color, marker=key.marker, lw=2)
    axes.set(xlabel="lag: spikes precede the movement by (ms)", ylabel="share of weight (%)")
    axes.set_ylim(bottom=0)


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
        (name_method(s), *(float(np.mean(shares[k])) if k in shares else None for k in kinds))
        for s, shares in found.items()
    ]
    caption = "Share of each kind of channel among the selected features, mean over sessions"
    return Table(caption, ("selector", *kinds), rows)
