"""Names in tables are text, whatever they begin with."""

import csv
import io

import pandas as pd
import pytest

from neurofs.ground.csv_tables import read_csv, render_csv

HOSTILE = ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "'", "''=", "\tx", "plain", 'a,b"c', "=1\n=2"]


@pytest.mark.parametrize("kind", ["str", object])
def test_no_cell_begins_a_formula_and_reading_gives_the_names_back(tmp_path, kind):
    table = pd.DataFrame({"channel": pd.Series(HOSTILE, dtype=kind), "=r2": -0.5, "n": -3})
    text = render_csv(table)
    header, *rows = csv.reader(io.StringIO(text))
    assert header == ["channel", "'=r2", "n"]
    assert not [row for row in rows if row[0][0] in "=+-@\t\r"]
    (tmp_path / "table.csv").write_text(text, encoding="utf-8", newline="")
    found = read_csv(tmp_path / "table.csv", {"channel": "str", "n": "int64"})
    assert found["channel"].tolist() == HOSTILE
    assert found["n"].tolist() == [-3] * len(HOSTILE)


@pytest.mark.parametrize("number", ["1e300", "-1e300", "nan", "inf", "0.5"])
def test_what_is_no_whole_number_is_refused_without_a_warning(tmp_path, number):
    (tmp_path / "table.csv").write_text(f"n\n{number}\n")
    with pytest.raises(ValueError, match="n"):
        read_csv(tmp_path / "table.csv", {"n": "int64"})
