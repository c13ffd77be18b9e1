"""Figures across sessions, for the index page: wins, scores and lags of all of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from neurofs.comparison.comparison import Comparison
from neurofs.comparison.names import name_method
from neurofs.comparison.summary import Number, Numbers, Wins
from neurofs.comparison.wording import SCORE_NAMES, format_number
from neurofs.ground.errors import printable
from neurofs.report.captions import count_of, write_caption
from neurofs.report.feature_maps import list_selectors, weigh_lags
from neurofs.report.figures.maps import Profiles, label_lags, tabulate_lags
from neurofs.report.figures.scores import choose_wins, plot_shares, tabulate_shares
from neurofs.report.palette import BLUE, COLORS, INK, MUTED, VERMILION, Key, find_key
from neurofs.report.pictures import Panel, Picture, Table, shorten

GREEN = COLORS["green"][0]

Sessions = Mapping[str, Comparison]

ROLES = {
    "main": Key("method of the headline, 95 % interval", BLUE, "o", "-"),
    "reference": Key("first selector, soft kNN", VERMILION, "D", ""),
    "all": Key("all features", INK, "x", ""),
    "rival": Key("best rival", GREEN, "^", ""),
}
"""What is drawn of each session, the headline's method last, on top."""

LOWEST = -0.5
"""R² below this is drawn here: how bad a useless decoder is, is no matter."""


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
    """Return the scores of every session, best first: R² in one panel, the accuracy of classes in another.

    Errors are not drawn: those of sessions with different targets have different units.
    """
    panels = []
    for score, label in SCORE_NAMES.items():
        found = {name: c.summary.headline.numbers for name, c in sessions.items() if c.summary.score == score}
        found = {name: numbers for name, numbers in found.items() if numbers.main.mean is not None}
        if found:
            draw = partial(_plot_scores, found=dict(sorted(found.items(), key=_by_score)), score=score)
            alt = f"{label} of {count_of(len(found), 'session')}, {_tell_range(found)}"
            panels.append(Panel("", alt, draw, (4.6, 0.8 + (0.24 if len(found) <= 40 else 0.16) * len(found))))
    if not panels:
        return None
    caption = write_caption("all-scores", most=count_of(len(sessions), "session"))
    used = [
        key
        for role, key in ROLES.items()
        if any(_find_number(c.summary.headline.numbers, role) for c in sessions.values())
    ]
    return Picture("all-scores", caption, panels, used, _tabulate_scores(sessions))


def _by_score(item: tuple[str, Numbers]) -> float:
    return -(item[1].main.mean or 0.0)


def _find_number(numbers: Numbers, role: str) -> Number | None:
    """Return the number of a role, if there is one that is not that of the headline's method again."""
    number: Number | None = getattr(numbers, role)
    if number is None or number.mean is None:
        return None
    return None if role != "main" and number.method == numbers.main.method else number


def _tell_range(found: Mapping[str, Numbers]) -> str:
    means = [numbers.main.mean for numbers in found.values() if numbers.main.mean is not None]
    return f"{format_number(min(means), 2)} to {format_number(max(means), 2)}"


def _plot_scores(axes: Any, found: Mapping[str, Numbers], score: str) -> None:
    """Draw one row per session: a mark per role, and the interval of the headline's method."""
    for y, numbers in enumerate(found.values()):
        if numbers.main.low is not None and numbers.main.high is not None:
            ends = np.clip([numbers.main.low, numbers.main.high], LOWEST, 1)
            axes.plot(ends, [y, y], color=ROLES["main"].color, lw=1.8)
        for role in reversed(ROLES):
            number, key = _find_number(numbers, role), ROLES[role]
            if number is not None:
                axes.plot(max(number.mean or 0.0, LOWEST), y, marker=key.marker, color=key.color, ms=5, ls="none")
    size = 7.5 if len(found) <= 40 else 5.5
    axes.set_yticks(range(len(found)), [shorten(printable(name), 20) for name in found], fontsize=size)
    left, right = axes.get_xlim()
    axes.set(xlabel=SCORE_NAMES[score], xlim=(min(left, -0.02), max(right, 1.0)), ylim=(len(found) - 0.5, -0.5))
    axes.axvline(0, color=MUTED, lw=0.8)
    axes.grid(axis="y", lw=0.4)


def _tabulate_scores(sessions: Sessions) -> Table:
    """Return the score of every method in every session."""
    rows = [
        (name, name_method(m.method), SCORE_NAMES[c.summary.score], m.pooled.of(c.summary.score))
        for name, c in sessions.items()
        for m in c.summary.methods
    ]
    return Table("Every method in every session", ("session", "method", "score", "value (95 % interval)"), rows, 2)


def draw_all_lags(sessions: Sessions) -> Picture | None:
    """Return each lag's share of the weight of the first selector, every session and their mean; none of one alone."""
    profiles, firsts = {}, []
    for name, comparison in sessions.items():
        selectors, lags = list_selectors(comparison), 1000 * comparison.weights["lag"].values
        if selectors and len(lags) > 1:
            firsts.append(selectors[0])
            profiles[name] = (lags, weigh_lags(comparison, selectors[0]))
    if len(profiles) < 2:
        return None
    draw = partial(_plot_lags, profiles=profiles, key=_find_common_key(firsts))
    panel = Panel("", f"Share of weight by lag in {len(profiles)} sessions", draw)
    legend = [Key("one session", MUTED, "", "-")]
    if _has_one_grid(profiles):
        legend.append(replace(_find_common_key(firsts), label="mean"))
    return Picture("all-lags", write_caption("all-lags"), [panel], legend, tabulate_lags("session", profiles))


def _has_one_grid(profiles: Profiles) -> bool:
    """Whether all sessions have the same lags, so that their mean can be drawn."""
    return len({tuple(lags) for lags, _ in profiles.values()}) == 1


def _plot_lags(axes: Any, profiles: Profiles, key: Key) -> None:
    for lags, share in profiles.values():
        axes.plot(lags, 100 * share, color=MUTED, lw=0.8)
    if _has_one_grid(profiles):
        mean = np.mean([share for _, share in profiles.values()], axis=0)
        axes.plot(next(iter(profiles.values()))[0], 100 * mean, color=key.color, marker=key.marker, lw=2)
    label_lags(axes)
