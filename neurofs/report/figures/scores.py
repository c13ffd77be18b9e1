"""Figures of scores: error against the number of features, winning percentages, chance, stability, classes.

They draw what `summary.json` holds (see `comparison.summary`) and compute nothing of their own, but for means.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from neurofs.comparison.comparison import Comparison
from neurofs.ground.errors import printable
from neurofs.report.palette import CHANCE, INK, MUTED, RULE, Key, find_key
from neurofs.report.pictures import Panel, Picture, Table, use_log_n

__all__ = ["draw_confusion", "draw_curves", "draw_null", "draw_stability", "draw_weighting", "draw_wins"]

METRIC_NAMES = {"mse": "mean squared error", "r2": "R²", "accuracy": "share of right classes"}
BASELINES = ("all", "ridge", "kalman")


def _list_outputs(comparison: Comparison) -> list[dict[str, str]]:
    return list(comparison.summary["session"]["outputs"])


def _best_curves(comparison: Comparison, output: str) -> list[dict[str, Any]]:
    """Return one curve per selector: the weighted one where there is one."""
    curves: dict[str, dict[str, Any]] = {}
    for curve in comparison.summary["curves"]:
        if curve["output"] == output and len(curve["n"]) > 1:
            known = curves.get(curve["selector"])
            if known is None or curve["weighted"]:
                curves[curve["selector"]] = curve
    return list(curves.values())


def _numbers(values: Sequence[float | None]) -> np.ndarray:
    return np.array([np.nan if v is None else v for v in values], dtype=float)


# Error against the number of features (figure 4.3 of the thesis)


def draw_curves(comparison: Comparison) -> Picture | None:
    """Return error against n for every selector, with the lines that it must beat."""
    discrete = comparison.summary["metric"] == "accuracy"
    score = "accuracy" if discrete else "mse"
    panels, rows = [], []
    selectors: dict[str, None] = {}
    for output in _list_outputs(comparison):
        curves = [c for c in _best_curves(comparison, output["name"]) if c.get(score)]
        if not curves:
            continue
        selectors |= {c["selector"]: None for c in curves}
        lines = _find_lines(comparison, output["name"], score)
        marks = _find_choice(comparison, output["name"], score)
        unit = "" if discrete else f" ({output['unit']})²" if output["unit"] else ""
        label = METRIC_NAMES[score] + unit
        draw = partial(_plot_curves, curves=curves, score=score, lines=lines, marks=marks, label=label)
        panels.append(Panel(output["name"], _describe_curves(curves, score, output["name"]), draw))
        rows += [
            (output["name"], c["selector"], n, *(c[score][part][i] for part in ("mean", "low", "high")))
            for c in curves
            for i, n in enumerate(c["n"])
        ]
    if not panels:
        return None
    better = "Higher is better" if discrete else "Lower is better"
    caption = (
        f"Each line is one way to rank the features; soft kNN decodes with the best n of them. {better}; "
        "bands are 95 % intervals over folds. A good ranking comes down early and stays low: few features "
        "say most of what all of them say. If a line reaches its best only at the right edge, the ranking "
        "found no small set. The ring is the n that was chosen without looking at the test data. "
        f"{_explain_lines(comparison, discrete)}"
    )
    caption = caption if not discrete else caption.replace("comes down early and stays low", "rises early")
    columns = ("output", "selector", "n", score.upper() if score == "mse" else score, "low", "high")
    title = f"{'Accuracy' if discrete else 'Error'} against the number of features"
    legend = [find_key(s) for s in selectors] + _line_keys(comparison)
    return Picture("curves", title, caption, panels, legend, Table(title, columns, rows, digits=4))


def _explain_lines(comparison: Comparison, discrete: bool) -> str:
    """Return what the horizontal lines are, and where that of chance comes from."""
    if not comparison.summary["null"]:
        return "Horizontal lines: all features and the linear decoders."
    text = "Horizontal lines: all features, the linear decoders, and chance"
    if discrete:
        return f"{text}, the accuracy measured with the target shifted against the spikes."
    return (
        f"{text}. The null control measures chance as R², with the target shifted against the spikes; the line "
        "is that R² turned into an error, (1 − R² at chance) × the variance of the test targets, so that it may "
        "lie above the variance itself."
    )


def _line_keys(comparison: Comparison) -> list[Key]:
    present = [m["method"] for m in comparison.summary["methods"]]
    keys = [find_key(b) for b in BASELINES if b in present]
    return [*keys, CHANCE] if comparison.summary["null"] else keys


def _find_lines(comparison: Comparison, output: str, score: str) -> dict[str, float]:
    """Return the horizontal lines: baselines by method, and chance."""
    lines = {}
    for method in comparison.summary["methods"]:
        estimate = method["outputs"].get(output, {}).get(score)
        if method["method"] in BASELINES and estimate and estimate["mean"] is not None:
            lines[method["method"]] = estimate["mean"]
    chance = _find_chance(comparison, output, score)
    return lines if chance is None else lines | {"chance": chance}


def _find_chance(comparison: Comparison, output: str, score: str) -> float | None:
    """Return chance as measured; an R² of chance becomes an error through the target's variance."""
    null = next((n for n in comparison.summary["null"] if n["output"] == output), None)
    if null is None or null["chance"] is None:
        return None
    if score != "mse":
        return float(null["chance"])
    table: pd.DataFrame = comparison.scores
    table = table[(table["output"] == output) & table["chosen"] & (table["r2"] < 1)]
    variance = (table["mse"] / (1 - table["r2"])).mean()
    return float((1 - null["chance"]) * variance) if np.isfinite(variance) else None


def _find_choice(comparison: Comparison, output: str, score: str) -> tuple[float, float] | None:
    """Return where the reference chose: median n, mean score."""
    for method in comparison.summary["methods"]:
        estimate = method["outputs"].get(output, {}).get(score)
        if method["method"] == comparison.summary["reference"] and estimate and estimate["mean"] is not None:
            table = comparison.scores
            own = table[table["chosen"] & (table["method"] == method["method"]) & (table["output"] == output)]
            return float(np.percentile(own["n"], 50, method="nearest")), float(estimate["mean"])
    return None


def _plot_curves(
    axes: Any,
    curves: list[dict[str, Any]],
    score: str,
    lines: dict[str, float],
    marks: tuple[float, float] | None,
    label: str,
) -> None:
    for name, value in lines.items():
        key = CHANCE if name == "chance" else find_key(name)
        axes.axhline(value, color=key.color, ls=key.line, lw=1.0)
    for curve in reversed(curves):
        key, n = find_key(curve["selector"]), np.array(curve["n"])
        mean, low, high = (_numbers(curve[score][part]) for part in ("mean", "low", "high"))
        axes.fill_between(n, low, high, color=key.color, alpha=0.13, lw=0)
        axes.plot(n, mean, color=key.color, marker=key.marker, ls=key.line, markevery=2)
    if marks is not None:
        axes.plot(*marks, "o", ms=9, mfc="none", mec=INK, mew=1.4)
    use_log_n(axes, max(max(c["n"]) for c in curves))
    axes.set_ylabel(label)
    shown = np.concatenate([_numbers(curve[score]["mean"]) for curve in curves] + [list(lines.values())])
    top = 1.2 * float(np.nanmax(shown)) if np.isfinite(shown).any() else 1.0
    axes.set_ylim(0, top if score == "mse" else 1)  # bands of few folds may reach far beyond


def _describe_curves(curves: list[dict[str, Any]], score: str, output: str) -> str:
    parts = []
    for curve in curves:
        mean = _numbers(curve[score]["mean"])
        if np.isfinite(mean).any():
            best = int(np.nanargmin(mean) if score == "mse" else np.nanargmax(mean))
            parts.append(
                f"{find_key(curve['selector']).label} best {mean[best]:.3g} at {curve['n'][best]} features"
            )
    return f"{METRIC_NAMES[score]} against number of features for {printable(output)}: " + "; ".join(parts)


# Winning percentages (figures 4.4 and 4.5)


def draw_wins(comparison: Comparison) -> Picture | None:
    """Return the share of folds that the reference wins against each rival, against n."""
    best = {w["rival"]: w for w in sorted(comparison.summary["wins"], key=lambda w: w["weighted"])}
    wins = [
        w for w in best.values() if len(w["n"]) > 1
    ]  # the weighted form of the reference where it has one
    if not wins:
        return None
    reference = find_key(comparison.summary["reference"]).label
    caption = (
        f"In how many per cent of all folds and outputs {reference} decodes better than each rival with the "
        "same number of features. 50 % is a draw; above 90 %, the lead does not depend on which trials are "
        "tested. Folds share training data, so that these are not independent trials of a coin."
    )
    alt = f"Winning percentage of {reference} against " + "; ".join(
        f"{find_key(w['rival']).label} {_percent(w['share'][-1])} at {w['n'][-1]} features" for w in wins
    )
    rows = [(w["rival"], n, s) for w in wins for n, s in zip(w["n"], w["share"], strict=True)]
    numbers = Table(f"Share of folds that {reference} wins", ("rival", "n", "share"), rows)
    panel = Panel(f"{reference} against rivals", alt, partial(_plot_wins, wins=wins))
    return Picture(
        "wins", "Winning percentages", caption, [panel], [find_key(w["rival"]) for w in wins], numbers
    )


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{100 * share:.0f} %"


def _plot_wins(axes: Any, wins: list[dict[str, Any]]) -> None:
    axes.axhline(50, color=MUTED, lw=0.8, ls="--")
    for w in wins:
        key = find_key(w["rival"])
        axes.plot(
            w["n"], 100 * _numbers(w["share"]), color=key.color, marker=key.marker, ls=key.line, markevery=2
        )
    use_log_n(axes, max(max(w["n"]) for w in wins))
    axes.set(ylim=(-2, 103), ylabel="folds won (%)", yticks=[0, 25, 50, 75, 100])


def draw_weighting(comparison: Comparison) -> Picture | None:
    """Return weighted against unweighted soft kNN, for the selectors that have weights of a metric."""
    shares = [w for w in comparison.summary["weighting"] if len(w["n"]) > 1]
    if not shares:
        return None
    discrete = comparison.summary["metric"] == "accuracy"
    score = "accuracy" if discrete else "mse"
    first = shares[0]["selector"]
    pairs = [
        c for c in comparison.summary["curves"] if c["selector"] == first and c.get(score) and len(c["n"]) > 1
    ]
    left = Panel(
        "folds in which weights help",
        "Share of folds in which weighted features decode better than the same features unweighted",
        partial(
            _plot_wins, wins=[{"rival": s["selector"], "n": s["n"], "share": s["share"]} for s in shares]
        ),
    )
    label = METRIC_NAMES[score]
    right = Panel(
        f"{find_key(first).label}: with weights (solid) and without (dashed)",
        f"{label} of {find_key(first).label} with and without weights against number of features",
        partial(_plot_pairs, curves=pairs, score=score, label=label),
    )
    caption = (
        "The same features in the same order, once weighed by the selector's weights and once all alike. "
        "Weights that help more the more features are used mean that they make up for choosing too many; "
        "below 50 %, the order of the features is all that is worth keeping."
    )
    rows = [(s["selector"], n, share) for s in shares for n, share in zip(s["n"], s["share"], strict=True)]
    numbers = Table("Share of folds in which weights help", ("selector", "n", "share"), rows)
    keys = [find_key(s["selector"]) for s in shares]
    outputs = dict.fromkeys(c["output"] for c in pairs) if len(_list_outputs(comparison)) > 1 else {}
    color = find_key(first).color
    keys += [Key(f"right: {printable(o)}", color, "os^Dv"[i % 5], "") for i, o in enumerate(outputs)]
    return Picture("weighting", "Weighted against unweighted", caption, [left, right], keys, numbers)


def _plot_pairs(axes: Any, curves: list[dict[str, Any]], score: str, label: str) -> None:
    outputs = list(dict.fromkeys(c["output"] for c in curves))
    for curve in curves:
        key = find_key(curve["selector"])
        marker = "os^Dv"[outputs.index(curve["output"]) % 5]
        style = {"ls": "-" if curve["weighted"] else "--", "alpha": 1.0 if curve["weighted"] else 0.7}
        mean = _numbers(curve[score]["mean"])
        axes.plot(curve["n"], mean, color=key.color, marker=marker, markevery=3, **style)
    use_log_n(axes, max((max(c["n"]) for c in curves), default=1))
    axes.set_ylabel(label)


# Chance, stability, classes


def draw_null(comparison: Comparison) -> Picture | None:
    """Return the scores at shifted targets beside the real one."""
    metric = comparison.summary["metric"]
    nulls = [n for n in comparison.summary["null"] if n["values"]]
    if not nulls:
        return None
    panels = [
        Panel(
            null["output"],
            f"{METRIC_NAMES[metric]} at {len(null['values'])} shifted targets, and {_number(null['real'])} "
            "unshifted",
            partial(_plot_null, null=null, label=METRIC_NAMES[metric]),
            (4.6, 2.4),
        )
        for null in nulls
    ]
    reference = find_key(comparison.summary["reference"]).label
    some = (
        f" on {nulls[0]['n_rows']:,} samples from the middle of the session" if nulls[0].get("n_rows") else ""
    )
    caption = (
        "The target was shifted against the spikes by many seconds, so that whatever is decoded then is "
        "chance, including slow drifts that spikes and movement share. Each dot is one shift, with "
        f"{reference} and soft kNN fitted anew{some}; the line is the same at no shift, with less data than "
        "the headline. It should lie far to the right of all dots: p is the share of shifts, with the real "
        "one counted among them, that do at least as well."
    )
    rows = [(n["output"], n["real"], n["chance"], n["high"], n["p"], len(n["values"])) for n in nulls]
    columns = ("output", f"real {metric}", "chance (mean of shifts)", "95th percentile", "p", "shifts")
    return Picture("null", "Null control", caption, panels, (), Table("Null control", columns, rows))


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3g}"


def _plot_null(axes: Any, null: dict[str, Any], label: str) -> None:
    values = np.sort(_numbers(null["values"]))
    axes.plot(values, np.linspace(0.15, 0.85, len(values)), "o", color=MUTED, ms=4, alpha=0.8)
    if null["chance"] is not None:
        axes.axvline(null["chance"], color=MUTED, lw=1, ls=":")
        axes.annotate("chance", (null["chance"], 1.0), ha="center", va="bottom", color=MUTED, fontsize=8)
    if null["real"] is not None:
        axes.axvline(null["real"], color=find_key("rgs").color, lw=2)
        place = {
            "ha": "right",
            "va": "center",
            "xytext": (-4, 0),
            "textcoords": "offset points",
            "fontsize": 8,
        }
        axes.annotate("unshifted", (null["real"], 0.5), color=find_key("rgs").color, **place)
    axes.set(yticks=[], ylim=(0, 1.12), xlabel=label)
    axes.spines["left"].set_visible(False)
    axes.margins(x=0.12)


def draw_stability(comparison: Comparison) -> Picture | None:
    """Return how much the selected sets agree between folds."""
    found = [s for s in comparison.summary["stability"] if s["index"] is not None]
    if not found:
        return None
    panels = []
    for output in dict.fromkeys(s["output"] for s in found):
        own = [s for s in found if s["output"] == output]
        alt = f"Stability for {printable(output)}: " + ", ".join(
            f"{find_key(s['selector']).label} {s['index']:.2f}" for s in own
        )
        panels.append(Panel(output, alt, partial(_plot_stability, rows=own), (4.6, 0.9 + 0.26 * len(own))))
    caption = (
        "How well the sets that were selected in different folds agree (Nogueira's index): 1 when every "
        "fold selects the same features, 0 when they agree no more than random sets of that size. Above "
        "0.75 is excellent, below 0.4 poor. A selector can decode well and still be unstable where many "
        "features say the same: then trust the prediction, not the list of features."
    )
    rows = [(s["output"], s["selector"], s["n"], s["index"], s["low"], s["high"]) for s in found]
    columns = ("output", "selector", "n", "index", "low", "high")
    return Picture(
        "stability", "Stability of the selection", caption, panels, (), Table("Stability", columns, rows)
    )


def _plot_stability(axes: Any, rows: list[dict[str, Any]]) -> None:
    for limit in (0.4, 0.75):
        axes.axvline(limit, color=RULE, lw=0.8)
    axes.axvline(0, color=MUTED, lw=0.8, ls="--")
    for y, row in enumerate(rows):
        key = find_key(row["selector"])
        if row["low"] is not None:
            axes.plot([row["low"], row["high"]], [y, y], color=key.color, lw=1.4)
        axes.plot(row["index"], y, marker=key.marker or "o", color=key.color, ms=5)
    axes.set_yticks(range(len(rows)), [f"{find_key(r['selector']).label}, n = {r['n']:g}" for r in rows])
    axes.set(
        xlabel="stability (0: as random sets, 1: identical)", xlim=(-0.2, 1.05), ylim=(len(rows) - 0.4, -0.6)
    )


def draw_confusion(comparison: Comparison) -> Picture | None:
    """Return which classes are taken for which."""
    confusion = comparison.summary["confusion"]
    if not confusion or not confusion["counts"]:
        return None
    classes = [printable(c) for c in confusion["classes"]]
    side = min(9.0, 2.2 + 0.42 * len(classes))
    draw = partial(_plot_confusion, counts=np.array(confusion["counts"]), classes=classes)
    caption = (
        f"Decoded by {find_key(confusion['method']).label}. Each row is a true class and adds up to 100 %; "
        "a perfect decoder has 100 on the diagonal. Mistakes beside the diagonal are confusions of classes "
        "that follow each other, such as neighboring directions; mistakes all over the matrix are chance."
    )
    rows = [(c, *row) for c, row in zip(classes, confusion["counts"], strict=True)]
    numbers = Table("Test samples by true (row) and decoded (column) class", ("true", *classes), rows)
    panel = Panel("", f"Confusion matrix of {len(classes)} classes", draw, (side, side))
    return Picture("confusion", "Confusion matrix", caption, [panel], (), numbers)


def _plot_confusion(axes: Any, counts: np.ndarray, classes: list[str]) -> None:
    share = 100 * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    rgba = np.zeros((*share.shape, 4))
    rgba[..., 3] = share / 100
    axes.imshow(rgba, interpolation="nearest", zorder=0)
    if len(classes) <= 16:
        for (i, j), value in np.ndenumerate(share):
            color = "#ffffff" if value > 50 else INK
            axes.annotate(f"{value:.0f}", (j, i), ha="center", va="center", color=color, fontsize=7.5)
    ticks = range(0, len(classes), max(1, len(classes) // 16))
    names = [c[:12] for c in classes]
    axes.set_xticks(ticks, [names[i] for i in ticks], rotation=90 if max(map(len, names)) > 3 else 0)
    axes.set_yticks(ticks, [names[i] for i in ticks])
    axes.set(xlabel="decoded class", ylabel="true class")
