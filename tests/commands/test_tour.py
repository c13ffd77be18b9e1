"""The notebook: it runs from top to bottom, and its pictures are those of today's code."""

import os
import re
from pathlib import Path

import pytest

TOUR = Path(__file__).parents[2] / "pipelines" / "tour.ipynb"


def read_tour():
    nbformat = pytest.importorskip("nbformat", reason="needs the extra notebook")
    return nbformat.read(TOUR, as_version=4)


def outputs_of(notebook):
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


NUMBER = re.compile(r"[-−]?\d+(?:[.,]\d+)*(?:e-?\d+)?")


def texts_of(notebook):
    """What stands below the cells as text."""
    texts = [output.get("data", {}).get("text/plain", "") for output in outputs_of(notebook)]
    return [text for text in texts if not text.startswith("<Figure")]


def words_of(text):
    """The words of a text; numbers may differ by what processors differ in."""
    return re.sub(r"\s+|-+", " ", NUMBER.sub("#", text))


def test_the_notebook_is_kept_with_its_pictures():
    notebook = read_tour()
    outputs = outputs_of(notebook)
    assert not [output for output in outputs if output.output_type in ("error", "stream")]
    assert sum("image/png" in output.get("data", {}) for output in outputs) >= 4
    assert str(Path.home()) not in TOUR.read_text(encoding="utf-8")
    assert TOUR.stat().st_size < 1_000_000


@pytest.mark.slow
def test_the_notebook_runs_from_top_to_bottom(tmp_path):
    client = pytest.importorskip("nbclient", reason="needs the extra notebook")
    notebook, kept = read_tour(), read_tour()
    client.NotebookClient(notebook, timeout=1200, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = outputs_of(notebook)
    if "NEUROFS_KEEP_TOUR" in os.environ:  # how the pictures in the repository are made anew
        import nbformat

        nbformat.write(notebook, TOUR)
        kept = notebook
    assert list(map(words_of, texts_of(notebook))) == list(map(words_of, texts_of(kept)))
    assert sum("image/png" in output.get("data", {}) for output in outputs) >= 4
    assert sum("text/html" in output.get("data", {}) for output in outputs) >= 6
