"""Tables as CSV files, in which no name is taken for a formula by the program that opens them.

A spreadsheet computes cells that begin with =, +, - or @. Names come from files, so that such a text is written with
an apostrophe before it, as is one that begins with an apostrophe; reading takes one off again.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")


def shield(value: Any) -> Any:
    """Return a value as it is written: text that could be a formula gets an apostrophe.

    >>> shield("=1+1"), shield("hand"), shield("'quoted"), shield(-2.5)
    ("'=1+1", 'hand', "''quoted", -2.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def render_csv(table: pd.DataFrame) -> str:
    """Return a table, without its index, as the text of a CSV file."""
    texts = {name: table[name].map(shield) for name in table.columns if table[name].dtype.kind not in "biuf"}
    return table.assign(**texts).rename(columns=shield).to_csv(index=False, lineterminator="\n")


def read_csv(path: Path, columns: Mapping[str, str]) -> pd.DataFrame:
    """Read a table that `render_csv` wrote, whose columns have the given types."""
    table = pd.read_csv(path, dtype=dict(columns), keep_default_na=False, na_values=[""])
    texts = {name: table[name].str.removeprefix("'") for name, kind in columns.items() if kind == "str"}
    return table.assign(**texts)
