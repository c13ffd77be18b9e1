"""The published claims about RGS on motor cortex (Navot et al., 2005), checked on finished comparisons.

All sessions are taken together. A *win* is a fold (of a session, output and repeat) in which one of two has the
lower mean squared error; rankings are compared by soft kNN without weights, as published.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from neurofs.comparison.comparison import Comparison
from neurofs.comparison.problem import BASELINES
from neurofs.comparison.wording import format_percent

Claim = dict[str, Any]

REFERENCE = "rgs"
TOP = 100
"""Number of features whose channels and lags were published."""

FOLD = ["session", "output", "repeat", "fold"]


def check_claims(comparisons: Sequence[Comparison], top: int = TOP) -> list[Claim]:
    """Return each claim with what was published, what was found, and whether it holds (None: cannot be told)."""
    curves = collect_curves(comparisons)
    return [
        check_wins(curves, top),
        check_few_against_all(curves, top),
        check_weights(curves),
        check_spread(comparisons, top),
        check_isolated(comparisons, top),
    ]


def collect_curves(comparisons: Sequence[Comparison]) -> pd.DataFrame:
    """Return the errors of all folds as a table with one column per (selector, weighted, n)."""
    parts = [c.scores.assign(session=str(number)) for number, c in enumerate(comparisons)]
    scores = pd.concat(parts)
    points = scores[~scores["chosen"]]
    return points.pivot_table("mse", FOLD, ["selector", "weighted", "n"])


def _wins(curves: pd.DataFrame, one: tuple[str, bool, int], other: tuple[str, bool, int]) -> float:
    """Return the share of folds in which `one` has the lower error."""
    return float((curves[one] < curves[other]).mean())


def _sizes(curves: pd.DataFrame, selector: str, weighted: bool = False) -> list[int]:
    return sorted(n for name, is_weighted, n in curves.columns if (name, is_weighted) == (selector, weighted))


def _rivals(names: Any) -> list[str]:
    return [name for name in dict.fromkeys(names) if name not in (REFERENCE, *BASELINES)]


def _claim(claim: str, published: str, found: str, holds: bool | None) -> Claim:
    return {"claim": claim, "published": published, "found": found, "holds": holds}


def check_wins(curves: pd.DataFrame, top: int) -> Claim:
    """RGS wins over 90 % of folds against each rival once there are enough features.

    The source does not say how many are enough. Here the claim holds if there is a number, not above `top`, from which
    on RGS wins over 90 % against each rival, up to half of all features: of more, every ranking holds mostly the same.
    The verdict is on the rankings alone, soft kNN without weights, as published.
    """
    claim = "RGS wins nearly every fold against each rival once there are enough features"
    published = "over 90 % of folds"
    rivals = _rivals(curves.columns.get_level_values("selector"))
    errors = {n: curves[REFERENCE, False, n].mean() for n in _sizes(curves, REFERENCE)}
    sizes = [n for n in errors if n <= max(errors) / 2]
    if not rivals or not sizes:
        return _claim(claim, published, "no RGS, or no rival", None)
    shares = _win_shares(curves, rivals, sizes)
    losing = [i for i in range(len(sizes)) if min(found[i] for found in shares.values()) <= 0.9]
    first = losing[-1] + 1 if losing else 0
    best = sizes.index(min(sizes, key=errors.__getitem__))
    found = f"where its error is least, n = {sizes[best]}: {_list_spans(shares, best, best)}"
    if first < len(sizes):
        found = f"from n = {sizes[first]} to {sizes[-1]}: {_list_spans(shares, first, len(sizes) - 1)}; {found}"
    return _claim(claim, published, found, first < len(sizes) and sizes[first] <= top)


def _win_shares(curves: pd.DataFrame, rivals: Sequence[str], sizes: Sequence[int]) -> dict[str, list[float]]:
    """Return the share of folds that RGS wins against each rival at each number of features."""
    return {name: [_wins(curves, (REFERENCE, False, n), (name, False, n)) for n in sizes] for name in rivals}


def _list_spans(shares: dict[str, list[float]], first: int, last: int) -> str:
    """Return the least and the largest of some shares of each rival, once if they are the same."""
    parts = {name: found[first : last + 1] for name, found in shares.items()}
    spans = {name: dict.fromkeys(map(format_percent, (min(part), max(part)))) for name, part in parts.items()}
    return ", ".join(f"{name} {' to '.join(ends)}" for name, ends in spans.items())


def _list_shares(shares: dict[str, float]) -> str:
    return ", ".join(f"{name} {format_percent(share)}" for name, share in shares.items())


def check_few_against_all(curves: pd.DataFrame, top: int) -> Claim:
    """About 100 features of RGS beat all features."""
    claim, published = f"About {top} features of RGS beat all features", "92 % of folds"
    sizes, everything = _sizes(curves, REFERENCE), _sizes(curves, "all")
    if not everything or max(sizes, default=0) <= top:
        return _claim(claim, published, f"not more than {top} features", None)
    n = min(sizes, key=lambda n: abs(n - top))
    share = _wins(curves, (REFERENCE, False, n), ("all", False, everything[-1]))
    return _claim(claim, published, f"{format_percent(share)} of folds at n = {n}", share > 0.9)


def check_weights(curves: pd.DataFrame) -> Claim:
    """Weights help more, the more features are used.

    The share of folds that they win does not fall behind what it was with fewer features by more than 10 points, and
    from the smaller third of the numbers of features to the larger, the error that they save grows.
    """
    claim, published = "The weights of RGS help more, the more features are used", "share of folds grows with n"
    sizes = _sizes(curves, REFERENCE, True)
    if len(sizes) < 3:
        return _claim(claim, published, "fewer than three numbers of features", None)
    shares = [_wins(curves, (REFERENCE, True, n), (REFERENCE, False, n)) for n in sizes]
    saved = [1 - curves[REFERENCE, True, n].mean() / curves[REFERENCE, False, n].mean() for n in sizes]
    third = len(sizes) // 3
    few, many = float(np.mean(saved[:third])), float(np.mean(saved[-third:]))
    shown = [0, len(sizes) // 2, len(sizes) - 1]
    found = ", ".join(f"{format_percent(shares[i])} at n = {sizes[i]}" for i in shown)
    ends = f"up to n = {sizes[third - 1]} and {format_percent(many)} from n = {sizes[-third]}"
    found += f"; they save {format_percent(few)} of the error {ends}"
    falls = max(np.maximum.accumulate(shares) - shares)
    return _claim(claim, published, found, bool(falls <= 0.1 and shares[-1] > 0.5 and many > max(few, 0)))


def check_spread(comparisons: Sequence[Comparison], top: int) -> Claim:
    """RGS takes many channels with few lags each; the rankers take all lags of few channels."""
    claim = f"Of the {top} best features, those of RGS lie in more channels, with fewer lags each"
    published = "more channels and fewer lags than with every ranker"
    counts = _average(comparisons, top, _count_channels)
    if len(counts) < 2 or REFERENCE not in counts:
        return _claim(claim, published, "no RGS, no rival, or too few features", None)
    found = ", ".join(f"{name} {n:.0f} channels × {top / n:.1f} lags" for name, n in counts.items())
    holds = counts[REFERENCE] > max(n for name, n in counts.items() if name != REFERENCE)
    return _claim(claim, published, found, holds)


def check_isolated(comparisons: Sequence[Comparison], top: int) -> Claim:
    """Most of the best features belong to isolated units, with RGS more than with the rankers."""
    claim = f"Of the {top} best features, most belong to isolated units, with RGS more than with the others"
    published = "RGS 95 %, the others 70–80 %"
    known = [c for c in comparisons if (c.session["kind"].values == "isolated").any()]
    shares = _average(known, top, _share_isolated)
    if len(shares) < 2 or REFERENCE not in shares:
        return _claim(claim, published, "not known which units are isolated", None)
    others = [share for name, share in shares.items() if name != REFERENCE]
    holds = shares[REFERENCE] > max(others) and min(others) > 0.5
    return _claim(claim, published, _list_shares(shares), holds)


def _average(comparisons: Sequence[Comparison], top: int, measure: Any) -> dict[str, float]:
    """Return a measure of the `top` best features of each selector, the mean over sessions, outputs and folds."""
    found: dict[str, list[float]] = {}
    for comparison in comparisons:
        ranking = comparison.weights["ranking"]
        if ranking.sizes["channel"] * ranking.sizes["lag"] <= top:
            continue
        names = [str(name) for name in ranking["selector"].values]
        for name in [REFERENCE] * (REFERENCE in names) + _rivals(names):
            best = ranking.sel(selector=name) <= top
            found.setdefault(name, []).append(float(measure(best, comparison)))
    return {name: float(np.mean(values)) for name, values in found.items()}


def _count_channels(best: Any, comparison: Comparison) -> float:
    """Return the number of channels with at least one of the best features."""
    return float(best.any("lag").sum("channel").mean())


def _share_isolated(best: Any, comparison: Comparison) -> float:
    """Return the share of the best features that belong to isolated units."""
    isolated = comparison.session["kind"] == "isolated"
    return float((best & isolated).sum() / best.sum())
