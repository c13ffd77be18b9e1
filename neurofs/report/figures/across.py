"""Figures across sessions, for the index page: wins, scores and lags of all of them."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from neurofs.comparison.comparison import Comparison
from neurofs.comparison.summary import Wins
from neurofs.ground.errors import printable
from neurofs.report.captions import write_caption
from neurofs.report.feature_maps import list_selectors, weigh_lags
from neurofs.report.figures.maps import Profiles, label_lags, tabulate_lags
from neurofs.report.figures.scores import choose_wins, plot_shares, tabulate_shares
from neurofs.report.palette import BLUE, MUTED, Key, find_key
from neurofs.report.pictures import Panel, Picture, Table

Sessions = Mapping[str, Comparison]


def _find_common_key(methods: Iterable[str]) -> Key:
    """Return how to draw the method, if it is the same in all sessions."""
    found = set(methods)
    return find_key(found.pop()) if len(found) == 1 else Key("the reference", BLUE)


def draw_all_wins(sessions: Sessions) -> Picture | None:
    """Return the share of all folds of all sessions that the reference wins, against n."""
    found: dict[str, list[Wins]] = {}
    for comparison in sessions.values():
        for wins in choose_wins(comparison.summary):
            if None not in wins.share:
                found.setdefault(wins.rival, []).append(wins)
    if not found:
        return None
    shares = {rival: _merge_wins(parts) for rival, parts in found.items()}
    reference = _find_common_key(c.summary.reference for c in sessions.values()).label
    alt = f"Winning percentage of {reference} over all folds of {len(sessions)} sessions"
    return Picture(
        "all-wins",
        write_caption("all-wins", reference=reference),
        [Panel("", alt, partial(plot_shares, shares=shares))],
        [find_key(rival) for rival in shares],
        tabulate_shares("Share of folds won", "rival", shares),
    )


def _merge_wins(parts: Sequence[Wins]) -> tuple[np.ndarray, np.ndarray]:
    """Return the sizes that all sessions cover, and the mean share, weighted by the folds of each session.

    >>> day = Wins(rival="corrcoef", weighted=False, n=[1, 4], share=[0.5, 1.0], n_folds=10)
    >>> _merge_wins([day, day.model_copy(update={"share": [1.0, 0.0], "n_folds": 30})])
    (array([1, 4]), array([0.875, 0.25 ]))
    """
    low, high = max(part.n[0] for part in parts), min(part.n[-1] for part in parts)
    sizes = np.unique(np.concatenate([part.n for part in parts]))
    sizes = sizes[(sizes >= low) & (sizes <= high)]
    shares = [np.interp(np.log(sizes), np.log(part.n), np.array(part.share, float)) for part in parts]
    return sizes, np.average(shares, axis=0, weights=[part.n_folds for part in parts])


def draw_all_scores(sessions: Sessions) -> Picture | None:
    """Return the error (of classes: the accuracy) of every method in every session."""
    panels, rows = [], []
    for score, label in {"mse": "mean squared error", "accuracy": "accuracy"}.items():
        found = {name: pooled for name, c in sessions.items() if (pooled := _find_pooled(c, score))}
        if not found:
            continue
        rows += [(name, m, score, v) for name, values in found.items() for m, v in values.items()]
        unit = _name_unit(score, [sessions[name] for name in found])
        alt = f"{label} of each method in {len(found)} sessions"
        draw = partial(_plot_scores, found=found, label=label + unit)
        panels.append(Panel("", alt, draw, (9.4, 1.1 + 0.28 * len(found))))
    if not panels:
        return None
    numbers = Table("Scores of each method in each session", ("session", "method", "score", "value"), rows)
    keys = map(find_key, dict.fromkeys(method for _, method, _, _ in rows))
    legend = [Key(k.label, k.color, k.marker or "|", "") for k in keys]
    return Picture("all-scores", write_caption("all-scores"), panels, legend, numbers)


def _find_pooled(comparison: Comparison, score: str) -> dict[str, float]:
    means = {m.method: m.pooled.of(score).mean for m in comparison.summary.methods}
    return {method: mean for method, mean in means.items() if mean is not None}


def _name_unit(score: str, sessions: Sequence[Comparison]) -> str:
    """Return what to write behind the name of a score: its unit, where it is the same in all sessions."""
    units = {output.unit for c in sessions for output in c.summary.session.outputs}
    if len(units) > 1:
        return ", in the units of each session"
    return f" ({printable(units.pop())})²" if score == "mse" and units != {""} else ""


def _plot_scores(axes: Any, found: Mapping[str, Mapping[str, float]], label: str) -> None:
    for y, values in enumerate(found.values()):
        for method, value in values.items():
            key = find_key(method)
            hollow = {"mfc": "none"} if " + " in method else {}
            axes.plot(value, y, marker=key.marker or "|", color=key.color, ms=6, ls="none", **hollow)
    axes.set_yticks(range(len(found)), [printable(name)[:24] for name in found])
    axes.set(xlabel=label, ylim=(len(found) - 0.5, -0.5))
    axes.grid(axis="y", lw=0.4)


def draw_all_lags(sessions: Sessions) -> Picture | None:
    """Return each lag's share of the weight of the first selector, every session and their mean."""
    profiles, firsts = {}, []
    for name, comparison in sessions.items():
        selectors, lags = list_selectors(comparison), 1000 * comparison.weights["lag"].values
        if selectors and len(lags) > 1:
            firsts.append(selectors[0])
            profiles[name] = (lags, weigh_lags(comparison, selectors[0]))
    if not profiles:
        return None
    draw = partial(_plot_lags, profiles=profiles, key=_find_common_key(firsts))
    panel = Panel("", f"Share of weight by lag in {len(profiles)} sessions", draw)
    return Picture("all-lags", write_caption("all-lags"), [panel], (), tabulate_lags("session", profiles))


def _plot_lags(axes: Any, profiles: Profiles, key: Key) -> None:
    for lags, share in profiles.values():
        axes.plot(lags, 100 * share, color=MUTED, lw=0.8)
    grids = {tuple(lags) for lags, _ in profiles.values()}
    if len(grids) == 1:
        mean = np.mean([share for _, share in profiles.values()], axis=0)
        axes.plot(grids.pop(), 100 * mean, color=key.color, marker=key.marker, lw=2)
    label_lags(axes)
