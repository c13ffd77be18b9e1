"""Tables as CSV files, in which no name is taken for a formula by the program that opens them.

A spreadsheet computes cells that begin with =, +, - or @. Names come from files, so that such a text is written with
an apostrophe before it, as is one that begins with an apostrophe; reading takes one off again.
"""

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from neurofs.ground.files import read_file

FORMULA = (*"=+-@\t\r\n", *map(chr, (0xFF0B, 0xFF0D, 0xFF1D, 0xFF20)), "'")
"""How a formula may begin; some programs take the wide forms of these signs for the same."""


def shield(value: Any) -> Any:
    """Return a value as it is written: text that could be a formula gets an apostrophe.

    >>> shield("=1+1"), shield("hand"), shield("'quoted"), shield(-2.5)
    ("'=1+1", 'hand', "''quoted", -2.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def render_csv(table: pd.DataFrame) -> str:
    """Return a table, without its index, as the text of a CSV file."""
    texts = {name: table[name].map(shield) for name in table.columns if table[name].dtype.kind not in "biuf"}
    whole = table.assign(**texts).rename(columns=shield)
    cells = [text for column in (whole.columns, *texts.values()) for text in column if isinstance(text, str)]
    return str(whole.to_csv(index=False, lineterminator="\n", quoting=_choose_quotes(cells)))


def _choose_quotes(cells: Iterable[str]) -> Literal[0, 1]:
    """Quote all cells where one has a CR, which is not quoted by itself, and ends a line for some programs."""
    return csv.QUOTE_ALL if any("\r" in text for text in cells) else csv.QUOTE_MINIMAL


def join_csv(tables: Iterable[tuple[str, str]], column: str) -> str:
    """Return tables of the same columns, which `render_csv` made, as one, with a first column of their names.

    >>> join_csv([("a", "x,y\\n1,2\\n"), ("=b", "x,y\\n3,4\\n")], "table")
    "table,x,y\\na,1,2\\n'=b,3,4\\n"
    """
    lines: list[list[str]] = []
    for name, content in tables:
        head, *rows = csv.reader(io.StringIO(content, newline=""))
        lines += [] if lines else [[column, *head]]
        lines += [[shield(name), *row] for row in rows]
    joined = io.StringIO()
    quoting = _choose_quotes(cell for line in lines for cell in line)
    csv.writer(joined, lineterminator="\n", quoting=quoting).writerows(lines)
    return joined.getvalue()


def read_csv(path: Path, columns: Mapping[str, str]) -> pd.DataFrame:
    """Read a table that `render_csv` wrote, whose columns have the given types."""
    with np.errstate(invalid="ignore"):  # 1e300 as a whole number is refused, and needs no warning of NumPy besides
        table = pd.read_csv(io.BytesIO(read_file(path)), dtype=dict(columns), keep_default_na=False, na_values=[""])
    texts = {name: table[name].str.removeprefix("'") for name, kind in columns.items() if kind == "str"}
    return table.assign(**texts)
