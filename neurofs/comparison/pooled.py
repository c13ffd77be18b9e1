"""The same variation of several sessions as one: sessions take the place of folds.

Scores are means over the folds of each session. Sessions share no training data, so that intervals and tests are those
of independent values; what they say holds for sessions like these, not for one of them alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from scipy.stats import norm, t

from neurofs.comparison.names import name_method
from neurofs.comparison.variation import TABLE_COLUMNS, Variation, describe_cases, find_best, fit_laws
from neurofs.comparison.variation_words import tell
from neurofs.comparison.wording import SCORE_NAMES, format_number
from neurofs.ground.errors import UsageError, printable

FEWEST = 3
"""Sessions from which on they are put together."""

POWER = 0.8
DIFFERENCE = 0.05
"""What a plan asks for: to see this difference of scores with this probability."""


def pool(variations: Mapping[str, Variation], name: str = "all sessions") -> Variation:
    """Return the variation of all sessions together, on the values that all of them have."""
    if len(variations) < FEWEST:
        raise UsageError(f"expected at least {FEWEST} sessions to put together; found {len(variations)}")
    first = next(iter(variations.values()))
    same = {(v.found.by, v.found.score, tuple(v.found.methods)) for v in variations.values()}
    if len(same) > 1:
        raise UsageError("expected sessions of the same kind of target, varied and decoded in the same way")
    common = set.intersection(*(set(v.table["label"]) for v in variations.values()))
    against = {row.label: row.against for row in first.table.itertuples()}
    against = {label: other if other in common else "" for label, other in against.items()}
    if len(common) < 2:
        raise UsageError(f"by: the sessions have too few values of {printable(first.found.by)} in common")
    folds = pd.concat(
        [v.folds.assign(repeat=v.folds["fold"], fold=number) for number, v in enumerate(variations.values())],
        ignore_index=True,
    )
    folds = folds[folds["label"].isin(common)]
    methods = first.found.methods
    tables = [describe_cases(folds[folds["method"] == m], m, against, 0.0, first.found.score) for m in methods]
    table = pd.concat(tables, ignore_index=True).astype(TABLE_COLUMNS)
    found = first.found.model_copy(
        update={
            "name": name,
            "ratio": 0.0,
            "sessions": list(variations),
            "matched": all(v.found.matched for v in variations.values()),
            "best": list(find_best(folds, methods, 0.0)) if first.found.best else [],
            "laws": list(fit_laws(folds, methods, 0.0)) if first.found.laws else [],
        }
    )
    labels = {method: name_method(method) for method in methods}
    sentences = list(tell(found, table, labels))
    return Variation(table, folds, found.model_copy(update={"sentences": sentences}), first.config)


def tell_plan(pooled: Variation) -> Iterator[str]:
    """Yield what an experiment may expect: the range of single sessions, and how many show a difference."""
    score = SCORE_NAMES[pooled.found.score]
    for method in pooled.found.methods:
        rows = pooled.folds[pooled.folds["method"] == method]
        most = rows[rows["value"] == rows["value"].max()]
        values = most.groupby("fold")["score"].mean().to_numpy()
        n, spread = len(values), float(values.std(ddof=1))
        half = float(t.ppf(0.975, n - 1)) * spread * np.sqrt(1 + 1 / n)
        shown = [format_number(float(v)) for v in (values.mean() - half, min(values.mean() + half, 1.0), spread)]
        label = name_method(method)
        yield (
            f"{label[0].upper()}{label[1:]}: a single session of this size has {score} between {shown[0]} and "
            f"{shown[1]} (95 %); sessions differ by a standard deviation of {shown[2]}."
        )
        yield (
            f"To see a difference of {DIFFERENCE:g} between two groups of sessions ({100 * POWER:g} % power, two-sided "
            f"5 %), each needs {count_sessions(spread)} sessions."
        )


def count_sessions(spread: float, difference: float = DIFFERENCE) -> int:
    """Return how many sessions each of two groups needs for a difference of their means to be seen.

    >>> count_sessions(0.05), count_sessions(0.02)
    (17, 4)
    """
    z = norm.ppf(0.975) + norm.ppf(POWER)
    n = max(2, int(np.ceil(2 * (z * spread / difference) ** 2)))
    while n < 10_000 and _find_power(n, spread, difference) < POWER:
        n += 1
    return n


def _find_power(n: int, spread: float, difference: float) -> float:
    """Return the power of a t-test of two groups of n, by the shifted distribution."""
    if spread == 0:
        return 1.0
    freedom = 2 * n - 2
    return float(t.sf(t.ppf(0.975, freedom) - difference / (spread * np.sqrt(2 / n)), freedom))
