"""A comparison as a run folder: what is saved is read back, and what is damaged is named."""

import json

import pytest
from comparisons import make_comparison

from neurofs.comparison.comparison import read, save
from neurofs.comparison.summary import SCHEMA, Estimate, Summary
from neurofs.ground.errors import InputError, printable

AGAIN = "Run it again: neurofs decode FOLDER/run.toml."


@pytest.fixture
def folder(tmp_path):
    return save(make_comparison(n_splits=3), tmp_path / "run")


def change(folder, **values):
    """Change single values of a summary."""
    path = folder / "summary.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def fault(folder):
    with pytest.raises(InputError) as caught:
        read(folder)
    message = str(caught.value)
    assert message.startswith(f"{printable(folder / 'summary.json')}: expected schema {SCHEMA} of a summary; found ")
    assert message.endswith(AGAIN)
    assert "\n" not in message
    return message


def test_what_is_saved_is_read_back(folder):
    assert read(folder) == make_comparison(n_splits=3)
    assert read(folder) != make_comparison(n_splits=3, seed=1)


def test_the_schema_of_an_older_run_is_named(folder):
    change(folder, schema=1, metric="r2")
    assert f"found schema 1. {AGAIN}" in fault(folder)


def test_a_damaged_summary_is_named_with_the_place(folder):
    change(folder, methods=[{"method": "rgs"}])
    assert "found methods.0.label: Field required." in fault(folder)
    (folder / "summary.json").write_text("[]")
    assert "found no schema." in fault(folder)


def test_a_summary_that_is_no_json_is_named(folder):
    (folder / "summary.json").write_text('{"schema": 2, "sco')
    with pytest.raises(InputError, match=r"summary\.json: expected the summary of a run; found .*Run it again"):
        read(folder)


def test_what_is_not_a_number_is_null():
    assert Estimate(mean=float("nan"), low=float("-inf"), high=1.0).model_dump() == {
        "mean": None,
        "low": None,
        "high": 1.0,
    }


def test_the_schema_describes_every_part():
    parts = Summary.model_json_schema()["$defs"]
    assert all("description" in part for part in parts.values())
