"""The result in plain words: the headline of a summary, and the table that decode prints."""

from __future__ import annotations

from typing import Any

from neurofs.comparison.names import name_method
from neurofs.comparison.problem import KERNEL, SPARSE
from neurofs.ground.errors import printable

__all__ = ["render_summary", "write_headline"]

MOST_NAMED = 40
METRIC_NAMES = {"r2": "R²", "accuracy": "accuracy"}


def write_headline(summary: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers that matter most, and two or three sentences about them."""
    methods = {m["method"]: m for m in summary["methods"]}
    reference = summary["reference"]
    best = f"{reference} + auto" if f"{reference} + auto" in methods else reference
    metric, rival = summary["metric"], _best_rival(summary)
    numbers = {
        "best": _number("Best pipeline", methods[best], metric),
        "reference": _number(f"{name_method(reference)} at its chosen n", methods[reference], metric),
        "all": _number("All features", methods["all"], metric) if "all" in methods else None,
        "rival": _number("Best rival", rival, metric) if rival else None,
        "chance": _chance(summary),
    }
    return {
        "method": best,
        "numbers": numbers,
        "sentences": list(_sentences(summary, numbers, methods[best])),
    }


def _number(label: str, method: dict[str, Any], metric: str) -> dict[str, Any]:
    return {
        "label": label,
        "method": method["method"],
        "n": method["n"]["median"],
        **method["pooled"][metric],
    }


def _best_rival(summary: dict[str, Any]) -> dict[str, Any] | None:
    """Return the best method that does not use the reference; methods are sorted, best first."""
    apart = [m for m in summary["methods"] if m["selector"] != summary["reference"]]
    return next((m for m in apart if m["method"] not in ("all", "random")), None)


def _chance(summary: dict[str, Any]) -> dict[str, Any] | None:
    null = summary["null"]
    if not null:
        return None
    mean = sum(one["chance"] for one in null) / len(null)
    high = sum(one["high"] for one in null) / len(null)
    p = max(one["p"] for one in null)
    return {
        "label": "Chance",
        "method": "shifted target",
        "n": None,
        "mean": mean,
        "low": None,
        "high": high,
        "p": p,
    }


def _sentences(summary: dict[str, Any], numbers: dict[str, Any], best: dict[str, Any]) -> Any:
    metric, n_features = METRIC_NAMES[summary["metric"]], _count_features(summary)
    ours = next(m for m in summary["methods"] if m["method"] == summary["reference"])
    outputs = " and ".join(
        f"{printable(name)} with {metric} = {_with_interval(found[summary['metric']])}"
        for name, found in ours["outputs"].items()
    )
    n, name = ours["n"]["median"], name_method(ours["method"])
    first = f"With {n} features, chosen on training data, {name} decodes {outputs}"
    if numbers["all"]:
        first += f"; all {n_features} features alike reach {_value(numbers['all']['mean'])}"
    if numbers["chance"]:
        first += f"; chance is {_value(numbers['chance']['mean'])}"
    yield first + "."
    yield _second(numbers, best)
    if numbers["chance"]:
        yield _third(summary, numbers["chance"])
    yield from _few_channels(summary)


def _second(numbers: dict[str, Any], best: dict[str, Any]) -> str:
    """Compare the best pipeline with the best rival, whichever is ahead."""
    name, reached = name_method(best["selector"]), _value(numbers["best"]["mean"])
    what = "weights" if best["weighted"] else "features"
    text = f"{name} {what} with {best['decoder']} decoding reach {reached}"
    rival = numbers["rival"]
    if rival is None:
        return text + "."
    place = "ahead of" if (numbers["best"]["mean"] or 0) > (rival["mean"] or 0) else "but behind"
    return f"{text}, {place} the best rival, {name_method(rival['method'])}, with {_value(rival['mean'])}."


def _third(summary: dict[str, Any], chance: dict[str, Any]) -> str:
    shifts = len(summary["null"][0]["values"])
    if chance["p"] <= 0.05:
        return f"This is no chance result: p = {chance['p']:.2g} against {shifts} shifted targets."
    least = 1 / (shifts + 1)
    if least > 0.05 and chance["p"] < least + 1e-9:
        return (
            f"Better than all of {shifts} shifted targets, too few to rule out chance (p = {least:.2g}); ask for "
            "19 or more with --n-shifts."
        )
    return (
        f"This may be chance: p = {chance['p']:.2g} against {shifts} shifted targets. "
        "Do not read anything into the weights."
    )


def _few_channels(summary: dict[str, Any]) -> Any:
    """Say how many channels suffice and which, if that was asked."""
    few, methods = summary["few_channels"], {m["method"]: m for m in summary["methods"]}
    if few is None:
        return
    n, n_channels = few["n"], summary["session"]["n_channels"]
    reached = {
        m: _value(methods[m]["pooled"][summary["metric"]]["mean"]) for m in (SPARSE, KERNEL) if m in methods
    }
    text = f"{n['median']} of {n_channels} channels suffice ({n['low']} to {n['high']} in single folds): "
    text += f"kernel RGS with these alone reaches {reached[SPARSE]}"
    yield text + (f", with all {reached[KERNEL]}." if KERNEL in reached else ".")
    often = [printable(one["channel"]) for one in few["channels"] if one["share"] > 0.5]
    if 0 < len(often) <= MOST_NAMED:
        yield f"Kept in most folds: {', '.join(often)}."


def _count_features(summary: dict[str, Any]) -> int:
    return int(summary["session"]["n_channels"] * summary["session"]["n_lags"])


def _value(value: float | None, digits: int = 3) -> str:
    return "n/a" if value is None else f"{value:.{digits}f}".replace("-", "−")


def _with_interval(estimate: dict[str, Any]) -> str:
    if estimate["low"] is None:
        return _value(estimate["mean"])
    return f"{_value(estimate['mean'])} ({_value(estimate['low'], 2)} to {_value(estimate['high'], 2)})"


def _with_interval_in_units(estimate: dict[str, Any]) -> str:
    """Return an estimate that may be of any size, with three digits that count."""
    if estimate["mean"] is None or estimate["low"] is None:
        return "n/a" if estimate["mean"] is None else f"{estimate['mean']:.3g}"
    return f"{estimate['mean']:.3g} ({estimate['low']:.2g} to {estimate['high']:.2g})"


def render_summary(summary: dict[str, Any]) -> str:
    """Return the table of methods, one row each, and the headline, as text."""
    columns = _columns(summary)
    header = [
        "method",
        "n",
        *(title for title, _ in columns),
        f"{name_method(summary['reference'])} wins",
        "p (Holm)",
    ]
    tests = {t["method"]: t for t in summary["tests"] if t["output"] in ("pooled", _only_output(summary))}
    rows = [
        [
            m["method"],
            str(m["n"]["median"]),
            *(_cell(name, m["pooled"][name]) for _, name in columns),
            *_test_cells(tests.get(m["method"])),
        ]
        for m in summary["methods"]
    ]
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (header, *rows)
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:], "", *summary["headline"]["sentences"]])


def _cell(name: str, estimate: dict[str, Any]) -> str:
    return _with_interval_in_units(estimate) if name == "mse" else _with_interval(estimate)


def _columns(summary: dict[str, Any]) -> list[tuple[str, str]]:
    if summary["metric"] == "accuracy":
        return [("accuracy", "accuracy"), ("balanced accuracy", "balanced_accuracy")]
    return [("R²", "r2"), ("r", "r"), ("MSE", "mse")]


def _only_output(summary: dict[str, Any]) -> str | None:
    outputs = summary["session"]["outputs"]
    return outputs[0]["name"] if len(outputs) == 1 else None


def _test_cells(test: dict[str, Any] | None) -> list[str]:
    if test is None:
        return ["", ""]
    wins = "" if test["wins"] is None else f"{100 * test['wins']:.0f} %"
    p = test["p_holm"]
    return [wins, "" if p is None else f"{p:.2g}"]
