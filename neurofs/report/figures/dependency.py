"""Figures and sentences on channels that work together: a matrix of pairs, and what each channel adds."""

from functools import partial
from typing import Any

import numpy as np

from neurofs.comparison.channel_summary import ChannelPart
from neurofs.comparison.comparison import Comparison
from neurofs.comparison.names import name_method
from neurofs.comparison.summary import Dependency, Gap
from neurofs.comparison.wording import format_estimate, format_number
from neurofs.ground.errors import printable
from neurofs.report.captions import count_of, write_caption
from neurofs.report.palette import BLUE, MUTED, VERMILION
from neurofs.report.pictures import Panel, Picture, Table, shade


def tell_pairs(found: Dependency) -> str:
    """Return in words how many pairs were found."""
    tested = f"{count_of(found.n_pairs, 'pair')} of channels tested against {found.n_shifts} shifts of the target"
    if not found.n_found:
        return f"No pair of channels stands out: of {tested}, the best may be chance (p = {found.p_any:.2g})."
    names = [f"{printable(a)} × {printable(b)}" for a, b in (pair.channels for pair in found.pairs[: found.n_found])]
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    echoes = f" {count_of(found.n_echoes, 'more pair')} only repeat them." if found.n_echoes else ""
    return (
        f"{count_of(found.n_found, 'pair')} of channels that tell together what no sum of channels tells: "
        f"{', '.join(names[:6])}{more}. Of {tested}; {100 * found.false_discovery_rate:g} % of those found may be "
        f"false.{echoes}"
    )


def tell_gap(gap: Gap | None, score: str) -> str:
    """Return in words whether judging sets of features beats judging one at a time."""
    if gap is None:
        return "Sets against single features: the run has no selector of one of the two kinds."
    name = {"r2": "R²", "accuracy": "accuracy"}[score]
    mean, told = gap.difference.mean, format_estimate(gap.difference, 3, 3)
    sure = gap.p is not None and gap.p < 0.05 and mean is not None
    verdict = "no clear difference" if not sure else "sets are better" if mean > 0 else "single features are better"  # type: ignore[operator]
    return (
        f"Sets against single features: {name_method(gap.together)}, the best selector that judges sets, minus "
        f"{name_method(gap.alone)}, the best that judges one feature at a time, is {told} in "
        f"{name}, with its 95 % interval; p = {format_number(gap.p, 3)}, corrected for overlapping folds and "
        f"{count_of(gap.n_choices, 'choice')}: {verdict}."
    )


def draw_pairs(comparison: Comparison) -> Picture | None:
    """Return the matrix of pairs of channels."""
    found, table = comparison.summary.dependency, comparison.pairs
    if found is None or table is None or table.empty:
        return None
    names = [part.channel for part in found.channels]
    place = {name: i for i, name in enumerate(names)}
    at = np.array([[place[a], place[b]] for a, b in zip(table["channel"], table["other"], strict=True)])
    values = np.zeros((len(names), len(names)))
    values[at[:, 0], at[:, 1]] = values[at[:, 1], at[:, 0]] = table["strength"] / max(table["strength"].max(), 1e-300)
    marks = {verdict: at[(table["verdict"] == verdict).to_numpy()] for verdict in ("found", "echo")}
    draw = partial(_plot_pairs, values=values, names=[printable(name)[:8] for name in names], marks=marks)
    words = {"n": len(names), "found": found.n_found, "rate": f"{100 * found.false_discovery_rate:g}"}
    panel = Panel("", f"Matrix of pairs of channels. {tell_pairs(found)}", draw, (5.6, 5.2))
    return Picture("pairs", write_caption("pairs", **words), [panel])


def _plot_pairs(axes: Any, values: np.ndarray, names: list[str], marks: dict[str, np.ndarray]) -> None:
    axes.imshow(shade(values), interpolation="nearest")
    for verdict, look in {"found": ("o", 9, "none"), "echo": (".", 3, VERMILION)}.items():
        rows = np.concatenate([marks[verdict], marks[verdict][:, ::-1]])
        marker, size, face = look
        axes.plot(rows[:, 1], rows[:, 0], marker, color=VERMILION, ms=size, mfc=face, mew=1.3)
    step = max(1, -(-len(names) // 24))
    shown = range(0, len(names), step)
    axes.set_xticks(shown, names[::step], fontsize=6.5, rotation=90)
    axes.set_yticks(shown, names[::step], fontsize=6.5)
    axes.set(xlabel="channel", ylabel="channel")


def draw_unique(comparison: Comparison) -> Picture | None:
    """Return what each channel tells alone, and what is lost without it."""
    found = comparison.summary.dependency
    parts = [] if found is None else [p for p in found.channels if p.alone is not None and p.unique is not None]
    if not parts:
        return None
    best = max(parts, key=lambda part: part.unique or 0.0)
    alt = f"What each channel adds to all others; {printable(best.channel)} adds most"
    rows = [(part.channel, 100 * (part.alone or 0.0), 100 * (part.unique or 0.0)) for part in parts]
    numbers = Table("What one channel adds", ("channel", "alone (%)", "lost without it (%)"), rows)
    panel = Panel("", alt, partial(_plot_unique, parts=parts), (4.6, 3.4))
    return Picture("unique", write_caption("unique"), [panel], (), numbers)


def _plot_unique(axes: Any, parts: list[ChannelPart]) -> None:
    values = 100 * np.array([[part.alone, part.unique] for part in parts], float)
    most = max(float(values.max()), 0.0)
    axes.plot([0, most], [0, most], color=MUTED, lw=0.8, ls="--")
    axes.axhline(0, color=MUTED, lw=0.8)
    axes.plot(*values.T, "o", color=BLUE, ms=4, alpha=0.8)
    top = 1.1 * max(float(values[:, 1].max()), 0.05)
    axes.set_ylim(min(float(values[:, 1].min()), 0.0) - 0.1 * top, top)
    for part, (x, y) in sorted(zip(parts, values, strict=True), key=lambda item: -item[1][1])[:5]:
        axes.annotate(printable(part.channel)[:8], (x, y), (3, 3), textcoords="offset points", fontsize=7)
    axes.set(xlabel="told by the channel alone (% of variance)", ylabel="lost without it (%)")
