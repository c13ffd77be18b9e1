"""Figures of scores: R² or accuracy against the number of features, winning percentages, chance, stability, classes.

They draw what `summary.json` holds (see `comparison.summary`) and compute nothing of their own, but for means.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binom

from neurofs.comparison.comparison import Comparison
from neurofs.comparison.names import name_method
from neurofs.comparison.stats import describe_counts
from neurofs.comparison.summary import Band, Chance, Curve, Output, Stability, Summary, Wins
from neurofs.comparison.wording import format_number, format_percent
from neurofs.ground.errors import printable
from neurofs.report.captions import COIN, CURVE_WORDS, SHIFTED, write_caption
from neurofs.report.palette import CHANCE, INK, MUTED, PAPER, RULE, Key, find_key
from neurofs.report.pictures import Panel, Picture, Table, add_scale, shade, use_log_n

AXIS_NAMES = {"r2": "R²", "accuracy": "share of right classes"}
BASELINES = ("all", "ridge", "kalman")
NO_CHOICE = ("all", "random")
OUTPUT_MARKERS = "os^Dv"

LOWEST = -1.0
"""Scores below this are not drawn in curves."""

Shares = Mapping[str, tuple[np.ndarray, np.ndarray]]
"""Numbers of features and shares of folds, by method."""


class Line(NamedTuple):
    """One score of a selector against the number of features."""

    curve: Curve
    band: Band

    @property
    def key(self) -> Key:
        """How the selector is drawn."""
        return find_key(self.curve.selector)

    @property
    def mean(self) -> np.ndarray:
        """The means as numbers."""
        return _as_numbers(self.band.mean)


def _list_lines(summary: Summary, score: str) -> list[Line]:
    found = [(curve, curve.of(score)) for curve in summary.curves if len(curve.n) > 1]
    return [Line(curve, band) for curve, band in found if band is not None]


def _curve_score(summary: Summary) -> str:
    """Return the score that is drawn against the number of features."""
    return summary.score


def _as_numbers(values: Sequence[float | None]) -> np.ndarray:
    return np.array([np.nan if v is None else v for v in values], dtype=float)


# Score against the number of features (figure 4.3 of the thesis)


def draw_curves(comparison: Comparison) -> Picture | None:
    """Return the score against n for every selector, with the lines that it must beat."""
    summary = comparison.summary
    score = _curve_score(summary)
    found = {output.name: _choose_lines(summary, output.name, score) for output in summary.session.outputs}
    if not any(found.values()):
        return None
    panels = [
        _make_curve_panel(comparison, output, found[output.name], score)
        for output in summary.session.outputs
        if found[output.name]
    ]
    lines = [line for own in found.values() for line in own]
    low = any((line.mean < LOWEST).any() for line in lines)
    below = f" Below {format_number(LOWEST, 0)}: not drawn." if low else ""
    caption = write_caption(
        "curves", first=lines[0].key.label, **CURVE_WORDS[score], chosen=_tell_chosen(summary), below=below
    )
    legend = [find_key(s) for s in dict.fromkeys(line.curve.selector for line in lines)]
    numbers = _tabulate_curves(caption.title, lines, score)
    return Picture("curves", caption, panels, legend + _list_baseline_keys(summary), numbers)


def _tell_chosen(summary: Summary) -> str:
    """Return how many features each selector took for soft kNN."""
    found = summary.by_method
    chosen = [found[name] for name in dict.fromkeys(c.selector for c in summary.curves) if name in found]
    return ", ".join(f"{name_method(m.method)} {m.n.median:,}" for m in chosen if m.selector not in NO_CHOICE)


def _choose_lines(summary: Summary, output: str, score: str) -> list[Line]:
    """Return one line per selector: the weighted one where there is one."""
    lines: dict[str, Line] = {}
    for line in _list_lines(summary, score):
        if line.curve.output == output and (line.curve.selector not in lines or line.curve.weighted):
            lines[line.curve.selector] = line
    return list(lines.values())


def _make_curve_panel(comparison: Comparison, output: Output, lines: list[Line], score: str) -> Panel:
    draw = partial(
        _plot_curves,
        lines=lines,
        levels=_find_levels(comparison, output.name, score),
        ring=_find_choice(comparison, output.name, score),
    )
    alt = _describe_curves(lines, score, output.name)
    return Panel(output.name, alt, partial(draw, label=AXIS_NAMES[score]))


def _tabulate_curves(title: str, lines: list[Line], score: str) -> Table:
    rows = [
        (
            curve.output,
            name_method(curve.selector),
            n,
            band.mean[i],
            band.low[i],
            band.high[i],
            curve.mse and curve.mse.mean[i],
        )
        for curve, band in lines
        for i, n in enumerate(curve.n)
    ]
    return Table(title, ("output", "selector", "n", AXIS_NAMES[score], "low", "high", "MSE"), rows, digits=4)


def _list_baseline_keys(summary: Summary) -> list[Key]:
    present = [m.method for m in summary.methods]
    keys = [find_key(b) for b in BASELINES if b in present]
    return [*keys, CHANCE]


def _find_levels(comparison: Comparison, output: str, score: str) -> dict[str, float]:
    """Return the horizontal lines: baselines by method, and chance."""
    means = _find_means(comparison.summary, output, score)
    levels = {m: means[m] for m in means if m in BASELINES}
    chance = _find_chance(comparison, output, score)
    return levels if chance is None else levels | {"chance": chance}


def _find_means(summary: Summary, output: str, score: str) -> dict[str, float]:
    """Return the score of every method that has one."""
    means = {m.method: m.outputs[output].of(score).mean for m in summary.methods if output in m.outputs}
    return {method: mean for method, mean in means.items() if mean is not None}


def _find_chance(comparison: Comparison, output: str, score: str) -> float | None:
    """Return R² of predicting the mean, or the accuracy at shifted targets."""
    if score == "r2":
        return 0.0
    tests = comparison.summary.chance_of(comparison.summary.main)
    return next((test.mean for test in tests if test.output == output), None)


def _find_choice(comparison: Comparison, output: str, score: str) -> tuple[int, float] | None:
    """Return where the reference chose: median n, mean score."""
    reference, table = comparison.summary.reference, comparison.scores
    mean = _find_means(comparison.summary, output, score).get(reference)
    if mean is None:
        return None
    own = table[table["chosen"] & (table["method"] == reference) & (table["output"] == output)]
    return describe_counts(own["n"]).median, mean


def _plot_curves(
    axes: Any, lines: list[Line], levels: dict[str, float], ring: tuple[float, float] | None, label: str
) -> None:
    for name, value in levels.items():
        key = CHANCE if name == "chance" else find_key(name)
        axes.axhline(value, color=key.color, ls=key.line, lw=1.0)
    for line in reversed(lines):
        _plot_line(axes, line, with_band=line is lines[0])
    if ring is not None:
        axes.plot(*ring, "o", ms=9, mfc="none", mec=INK, mew=1.4)
    use_log_n(axes, max(max(line.curve.n) for line in lines))
    axes.set_ylabel(label)
    shown = np.concatenate([line.mean for line in lines] + [list(levels.values())])
    low = float(np.nanmin(shown)) if np.isfinite(shown).any() else 0.0
    axes.set_ylim(max(LOWEST, min(0.0, low - 0.05)), 1)  # bands of few folds may reach far beyond


def _plot_line(axes: Any, line: Line, with_band: bool) -> None:
    key, n = line.key, np.array(line.curve.n)
    if with_band:
        low, high = _as_numbers(line.band.low), _as_numbers(line.band.high)
        axes.fill_between(n, low, high, color=key.color, alpha=0.18, lw=0)
    axes.plot(n, line.mean, color=key.color, marker=key.marker, ls=key.line, markevery=2)


def _describe_curves(lines: list[Line], score: str, output: str) -> str:
    parts = []
    for line in lines:
        if np.isfinite(line.mean).any():
            best = int(np.nanargmax(line.mean))
            parts.append(f"{line.key.label} best {line.mean[best]:.3g} at {line.curve.n[best]} features")
    return f"{AXIS_NAMES[score]} against number of features for {printable(output)}: " + "; ".join(parts)


# Winning percentages (figures 4.4 and 4.5)


def draw_wins(comparison: Comparison) -> Picture | None:
    """Return the share of folds that the reference wins against each rival, against n."""
    wins = choose_wins(comparison.summary)
    if not wins:
        return None
    shares, n_folds = {w.rival: (np.array(w.n), _as_numbers(w.share)) for w in wins}, wins[0].n_folds
    reference = find_key(comparison.summary.reference).label
    alt = f"Winning percentage of {reference} against " + "; ".join(
        f"{find_key(w.rival).label} {format_percent(w.share[-1])} at {w.n[-1]} features" for w in wins
    )
    return Picture(
        "wins",
        write_caption(
            "wins", reference=reference, n_folds=n_folds, coin=COIN["some" if _find_coin(n_folds) else "all"]
        ),
        [Panel(f"{reference} against rivals", alt, partial(plot_shares, shares=shares, n_folds=n_folds))],
        [find_key(rival) for rival in shares],
        tabulate_shares(f"Share of folds that {reference} wins", "rival", shares),
    )


def choose_wins(summary: Summary) -> list[Wins]:
    """Return the wins against each rival, those of the weighted form of the reference where it has one."""
    best = {w.rival: w for w in sorted(summary.wins, key=lambda w: w.weighted)}
    return [w for w in best.values() if len(w.n) > 1]


def tabulate_shares(title: str, who: str, shares: Shares) -> Table:
    """Return shares of folds as a table; `who` names the column of methods."""
    rows = [
        (name_method(method), int(n), float(share))
        for method, (sizes, own) in shares.items()
        for n, share in zip(sizes, own, strict=True)
    ]
    return Table(title, (who, "n", "share"), rows)


def _find_coin(n_folds: int) -> tuple[float, float] | None:
    """Return between which percentages 95 % of fair coins fall; None if these are all, or folds are not counted.

    >>> _find_coin(5), _find_coin(10)
    (None, (20.0, 80.0))
    """
    low, high = 100 * binom.ppf([0.025, 0.975], n_folds, 0.5) / max(n_folds, 1)
    return (float(low), float(high)) if 0 < low < high < 100 else None


def plot_shares(axes: Any, shares: Shares, n_folds: int = 0) -> None:
    """Draw shares of folds against the number of features, one line per method, and what a fair coin gives."""
    axes.axhline(50, color=MUTED, lw=0.8, ls="--")
    if coin := _find_coin(n_folds):
        axes.axhspan(*coin, color=RULE, alpha=0.35, lw=0)
    for method, (n, share) in shares.items():
        key = find_key(method)
        axes.plot(n, 100 * share, color=key.color, marker=key.marker, ls=key.line, markevery=2)
    use_log_n(axes, int(max((n.max() for n, _ in shares.values() if len(n)), default=1)))
    axes.set(ylim=(-2, 103), ylabel="folds won (%)", yticks=[0, 25, 50, 75, 100])


def draw_weighting(comparison: Comparison) -> Picture | None:
    """Return weighted against unweighted soft kNN, for the selectors that have weights of a metric."""
    summary = comparison.summary
    found = [w for w in summary.weighting if len(w.n) > 1]
    if not found:
        return None
    shares = {w.selector: (np.array(w.n), _as_numbers(w.share)) for w in found}
    first, score = find_key(found[0].selector), _curve_score(summary)
    lines = [line for line in _list_lines(summary, score) if line.curve.selector == found[0].selector]
    help_panel = Panel(
        "folds in which weights help",
        "Share of folds in which weighted features decode better than the same features unweighted",
        partial(plot_shares, shares=shares, n_folds=found[0].n_folds),
    )
    pair_panel = Panel(
        f"{first.label}: with weights (solid) and without (dashed)",
        f"{AXIS_NAMES[score]} of {first.label} with and without weights against number of features",
        partial(_plot_pairs, lines=lines, label=AXIS_NAMES[score]),
    )
    return Picture(
        "weighting",
        write_caption("weighting"),
        [help_panel, pair_panel],
        [find_key(selector) for selector in shares] + _list_output_keys(summary, lines, first.color),
        tabulate_shares("Share of folds in which weights help", "selector", shares),
    )


def _list_output_keys(summary: Summary, lines: list[Line], color: str) -> list[Key]:
    """Return the markers of the outputs, where there are several."""
    if len(summary.session.outputs) == 1:
        return []
    outputs = dict.fromkeys(line.curve.output for line in lines)
    return [Key(f"right: {printable(o)}", color, _mark_output(i), "") for i, o in enumerate(outputs)]


def _mark_output(place: int) -> str:
    return OUTPUT_MARKERS[place % len(OUTPUT_MARKERS)]


def _plot_pairs(axes: Any, lines: list[Line], label: str) -> None:
    outputs = list(dict.fromkeys(line.curve.output for line in lines))
    for line in lines:
        weighted, marker = line.curve.weighted, _mark_output(outputs.index(line.curve.output))
        style = {"ls": "-" if weighted else "--", "alpha": 1.0 if weighted else 0.7}
        axes.plot(line.curve.n, line.mean, color=line.key.color, marker=marker, markevery=3, **style)
    use_log_n(axes, max((max(line.curve.n) for line in lines), default=1))
    axes.set_ylabel(label)


# Chance, stability, classes


AGREEMENT = {"r2": "correlation of decoded and true target", "accuracy": "share of right classes"}


def draw_chance(comparison: Comparison) -> Picture | None:
    """Return the agreement of predictions with shifted targets beside that with the real one."""
    summary = comparison.summary
    tests = summary.chance_of(summary.main)
    if not tests:
        return None
    key, label = find_key(summary.main), AGREEMENT[summary.score]
    shifted = SHIFTED[tests[0].shifted].format(farthest=f"{tests[0].farthest:,.0f}")
    caption = write_caption("chance", method=key.label, shifted=shifted, n=f"{tests[0].n_shifts:,}")
    rows = [
        (name_method(test.method), test.output, test.real, test.mean, test.high, test.p_corrected, _yes(test.beyond))
        for test in summary.chance
    ]
    columns = ("method", "output", "no shift", "mean of shifts", "95th percentile", "p (corrected)", "beyond chance")
    panels = [_make_chance_panel(test, label, key.color) for test in tests]
    return Picture("chance", caption, panels, (), Table(f"Chance: {label}", columns, rows))


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _make_chance_panel(test: Chance, label: str, color: str) -> Panel:
    real = "unknown" if test.real is None else f"{test.real:.3g}"
    alt = f"{label} at {test.n_shifts} shifted targets, and {real} at no shift"
    return Panel(test.output, alt, partial(_plot_chance, test=test, label=label, color=color), (4.6, 2.4))


def _plot_chance(axes: Any, test: Chance, label: str, color: str) -> None:
    values = np.sort(_as_numbers(test.values))
    axes.plot(values, np.linspace(0.15, 0.85, len(values)), "o", color=MUTED, ms=3, alpha=0.6)
    if test.high is not None:
        axes.axvline(test.high, color=MUTED, lw=1, ls=":")
        side = 1 if test.real is None or test.real < test.high else -1  # where the line of no shift is not
        beside = {"ha": "left" if side > 0 else "right", "va": "bottom", "xytext": (4 * side, 0)}
        axes.annotate("95 % of shifts", (test.high, 1.0), color=MUTED, fontsize=8, textcoords="offset points", **beside)
    if test.real is not None:
        axes.axvline(test.real, color=color, lw=2)
        place = {"ha": "right", "va": "center", "xytext": (-4, 0), "textcoords": "offset points"}
        axes.annotate("no shift", (test.real, 0.5), color=color, fontsize=8, **place)
    axes.set(yticks=[], ylim=(0, 1.12), xlabel=label)
    axes.spines["left"].set_visible(False)
    axes.margins(x=0.12)


def draw_stability(comparison: Comparison) -> Picture | None:
    """Return how much the selected sets agree between folds."""
    found = [s for s in comparison.summary.stability if s.index is not None]
    if not found:
        return None
    outputs = dict.fromkeys(s.output for s in found)
    panels = [_make_stability_panel(o, [s for s in found if s.output == o]) for o in outputs]
    rows = [(s.output, name_method(s.selector), s.n, s.index) for s in found]
    n_splits = comparison.config.n_splits
    caption = write_caption("stability", shared=f"{100 * (n_splits - 2) / (n_splits - 1):.0f}")
    return Picture("stability", caption, panels, (), Table("Stability", ("output", "selector", "n", "index"), rows))


def _make_stability_panel(output: str, rows: list[Stability]) -> Panel:
    each = ", ".join(f"{find_key(s.selector).label} {s.index:.2f}" for s in rows)
    alt = f"Stability for {printable(output)}: {each}"
    return Panel(output, alt, partial(_plot_stability, rows=rows), (4.6, 0.9 + 0.26 * len(rows)))


def _plot_stability(axes: Any, rows: list[Stability]) -> None:
    axes.axvline(0, color=MUTED, lw=0.8, ls="--")
    for y, row in enumerate(rows):
        key = find_key(row.selector)
        axes.plot(row.index, y, marker=key.marker or "o", color=key.color, ms=5)
    axes.set_yticks(range(len(rows)), [f"{find_key(r.selector).label}, n = {r.n:g}" for r in rows])
    axes.set(xlabel="stability (0: as random sets, 1: identical)", xlim=(-0.2, 1.05), ylim=(len(rows) - 0.4, -0.6))


def draw_confusion(comparison: Comparison) -> Picture | None:
    """Return which classes are taken for which."""
    confusion = comparison.summary.confusion
    if not confusion or not confusion.counts:
        return None
    classes = [printable(c) for c in confusion.classes]
    side = min(9.0, 1.8 + 0.32 * len(classes))
    draw = partial(_plot_confusion, counts=np.array(confusion.counts), classes=classes)
    rows = [(c, *row) for c, row in zip(classes, confusion.counts, strict=True)]
    numbers = Table("Test samples by true (row) and decoded (column) class", ("true", *classes), rows)
    panel = Panel("", f"Confusion matrix of {len(classes)} classes", draw, (side, side))
    caption = write_caption("confusion", method=find_key(confusion.method).label)
    return Picture("confusion", caption, [panel], (), numbers)


def _plot_confusion(axes: Any, counts: np.ndarray, classes: list[str]) -> None:
    share = 100 * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axes.imshow(shade(share / 100), interpolation="nearest", zorder=0)
    add_scale(axes, "0", "100", "% of the true class")
    if len(classes) <= 16:
        for (i, j), value in np.ndenumerate(share):
            color = PAPER if value > 50 else INK
            axes.annotate(f"{value:.0f}", (j, i), ha="center", va="center", color=color, fontsize=7.5)
    ticks = range(0, len(classes), max(1, len(classes) // 16))
    names = [c[:12] for c in classes]
    axes.set_xticks(ticks, [names[i] for i in ticks], rotation=90 if max(map(len, names)) > 3 else 0)
    axes.set_yticks(ticks, [names[i] for i in ticks])
    axes.set(xlabel="decoded class", ylabel="true class")
