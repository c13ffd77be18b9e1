"""Formats that an installed package adds by entry points."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import numpy as np
import pytest
from writers import write_npz, write_text

from neurofs.ground.errors import InputError, UsageError
from neurofs.recordings.readers import list_formats, load
from neurofs.recordings.readers.formats import TABLE, render_markdown

SPIKES = "0.5\n1.5\n"
COUNTS = {"counts": np.ones((20, 3), dtype=np.uint8), "velocity": np.linspace(-1, 1, 20), "dt": 0.05}
PACKAGE = '''
"""One spike time per line."""

import numpy as np
from neurofs import Recording
from neurofs.ground.errors import InputError

number = 5


def read(path, options):
    """One spike time per line.

    More about it.
    """
    if path.stat().st_size < 4:
        raise InputError("spikes", "several", "few", "Record longer.")
    return Recording(options.name or path.stem, spikes=[np.loadtxt(path)])
'''


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a package with these entry points: a suffix, and what it loads."""

    def write_package(**entries):
        folder = tmp_path / "site" / "lab_package-1.2.dist-info"
        folder.mkdir(parents=True)
        lines = [f"{suffix} = {value}" for suffix, value in entries.items()]
        write_text(folder / "entry_points.txt", "\n".join(["[neurofs.readers]", *lines, ""]))
        write_text(folder / "METADATA", "Metadata-Version: 2.1\nName: lab-package\nVersion: 1.2\n")
        write_text(folder.parent / "lab_package.py", PACKAGE)
        monkeypatch.syspath_prepend(folder.parent)
        monkeypatch.delitem(sys.modules, "lab_package", raising=False)

    return write_package


@pytest.mark.parametrize("value", ["lab_package:read", "lab_package"])
def test_a_plug_in_reads_its_format(tmp_path, install, value):
    install(lab=value)
    path = write_text(tmp_path / "day1.LAB", SPIKES)
    recording = load(path, name="Day 1")
    assert (recording.name, recording.n_spikes, recording.source) == ("Day 1", 2, "day1.LAB")
    assert recording.source_hash == hashlib.sha256(path.read_bytes()).hexdigest()
    record = list_formats()[-1].record()
    assert (record["files"], record["format"], record["package"]) == (
        ".lab",
        "One spike time per line.",
        "lab-package 1.2",
    )
    with pytest.raises(InputError, match=r"^b\.lab: spikes: expected several; found few\. Record longer\.$"):
        load(write_text(tmp_path / "b.lab", "1"))


def test_a_broken_plug_in_gives_one_line_and_stops_no_other_format(tmp_path, install):
    install(five="lab_package:number", gone="no_such_package:read", lab="lab_package:read", none="lab_package:no")
    assert load(write_text(tmp_path / "a.lab", SPIKES)).n_spikes == 2
    assert load(write_npz(tmp_path / "a.npz", **COUNTS)).n_channels == 3
    cases = {
        "gone": "the reader no_such_package:read of lab-package 1.2 cannot be imported: No module named",
        "none": "cannot be imported: module 'lab_package' has no attribute 'no'",
        "five": "is no function, and has none named read",
    }
    about = {row.files[0]: row.about for row in list_formats()}
    for suffix, message in cases.items():
        with pytest.raises(UsageError) as caught:
            load(write_text(tmp_path / f"a.{suffix}", SPIKES))
        assert message in str(caught.value)
        assert str(caught.value).isprintable()
        assert about[f".{suffix}"] == str(caught.value)
    with pytest.raises(InputError, match=r"Known: .*\.lab, \.mat"):
        load(write_text(tmp_path / "a.xyz", SPIKES))


def test_a_plug_in_cannot_replace_a_format_of_neurofs(tmp_path, install):
    install(csv="lab_package:read")
    with pytest.raises(UsageError, match=r"^\.csv: the reader lab_package:read of lab-package 1\.2 would replace"):
        load(write_text(tmp_path / "a.csv", SPIKES))
    assert load(write_npz(tmp_path / "a.npz", **COUNTS)).n_channels == 3


def test_the_formats_of_neurofs_are_listed():
    rows = list_formats()
    assert [name for row in rows for name in row.files] == [name for row in TABLE for name in row.files]
    assert all(row.about and row.reads and row.tested for row in rows)


def test_the_readme_has_the_table_of_formats():
    readme = (Path(__file__).parents[2] / "data" / "README.md").read_text(encoding="utf-8")
    assert render_markdown() in readme
