"""The table of an experiment: how its rows are collected, chosen, averaged and printed."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd

Progress = Callable[[int, int], None] | None
Item = TypeVar("Item")


def track(items: Iterable[Item], progress: Progress, total: int | None = None) -> Iterator[Item]:
    """Yield the items and tell `progress`, after the work on each, how many are done and how many there are.

    >>> for letter in track("ab", lambda done, total: print(done, "of", total)):
    ...     print(letter)
    a
    1 of 2
    b
    2 of 2
    """
    if total is None:
        items = list(items)
        total = len(items)
    for done, item in enumerate(items, 1):
        yield item
        if progress:
            progress(done, total)


def choose(table: pd.DataFrame, **values: Any) -> pd.DataFrame:
    """Return the rows that have these values in the columns of these names.

    >>> choose(pd.DataFrame({"method": ["a", "b"], "value": [1, 2]}), method="b")["value"].tolist()
    [2]
    """
    for column, value in values.items():
        table = table[table[column] == value]
    return table


def average(table: pd.DataFrame, index: Any, columns: str, value: str = "value") -> pd.DataFrame:
    """Return the mean of a column for each value of `index` (rows) and `columns`, in the order of the table."""
    return table.pivot_table(index=index, columns=columns, values=value, sort=False)


def align(rows: Iterable[Sequence[Any]], left: int, right: int) -> list[str]:
    """Return rows as lines of text: first cells `left` wide and to the left, the others to the right.

    >>> print(*align([("", "n = 1", "n = 2"), ("rgs", 0.5, "–")], 5, 7), sep="\\n")
           n = 1  n = 2
    rgs      0.5      –
    """
    return [f"{first:<{left}}" + "".join(f"{cell:>{right}}" for cell in cells) for first, *cells in rows]


def render_means(
    means: pd.DataFrame, form: str, left: int, right: int, corner: str = "", head: str = "{}", missing: str = "–"
) -> list[str]:
    """Return a table of numbers as lines of text, below the names of its columns in the form `head`.

    >>> means = pd.DataFrame({10: {"rgs": 0.25, "sks": np.nan}})
    >>> print(*render_means(means, ".3f", 8, 8, corner="method", head="n = {}"), sep="\\n")
    method    n = 10
    rgs        0.250
    sks            –
    """
    heads = [head.format(name) for name in means.columns]
    rows = [
        (name, *(missing if np.isnan(value) else format(value, form) for value in row))
        for name, row in means.iterrows()
    ]
    return align([(corner, *heads), *rows], left, right)
