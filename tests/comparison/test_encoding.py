"""Encoding as a value, a folder and a page, and in the units of a copy of the file."""

import h5py
import numpy as np
import pytest
from click.testing import CliRunner

import neurofs
from neurofs.commands.main import main
from neurofs.ground.errors import InputError, UsageError
from neurofs.ground.files import hash_file

KEYS = {"n_lags": 2, "n_splits": 3, "bin_width": 0.1}


@pytest.fixture(scope="module")
def day(tmp_path_factory):
    path = tmp_path_factory.mktemp("day") / "day1.nwb"
    return neurofs.write(neurofs.simulate_session(24, n_electrodes=3, random_state=1), path)


@pytest.fixture(scope="module")
def found(day):
    return neurofs.encode(day, "hand_velocity", **KEYS)


def test_the_folder_is_read_back(found, tmp_path):
    assert neurofs.read_encoding(found.save(tmp_path / "out")) == found
    page = (tmp_path / "out" / "encoding.html").read_text(encoding="utf-8")
    assert page.count("pseudo-R² ") >= 12  # a panel for each channel
    assert found.sentences[0].replace("&", "&amp;") in page
    with pytest.raises(InputError, match="the folder of an encoding"):
        neurofs.read_encoding(tmp_path)


def test_it_shows_itself_in_few_words(found):
    assert len(repr(found)) < 1000
    assert "predicts" in repr(found)
    assert found._repr_html_().startswith("<div><b>")
    import matplotlib

    matplotlib.use("agg")
    axes = found.plot()
    assert len(axes) == 12
    best = found.table.sort_values("pseudo_r2").iloc[-1]
    assert best["channel"] in axes[0].get_title("left")


def test_the_units_of_a_copy_have_the_table(day, found, tmp_path):
    before = hash_file(day)
    copy = found.write_units(tmp_path / "copy.nwb")
    assert hash_file(day) == before
    again = neurofs.load(copy)
    np.testing.assert_allclose(again.channels["neurofs_pseudo_r2"], found.table["pseudo_r2"])
    np.testing.assert_array_equal(again.spikes[3], neurofs.load(day).spikes[3])
    part = neurofs.encode(copy, "hand_velocity", channels=["1a", "3c"], **KEYS)
    twice = neurofs.load(part.write_units(tmp_path / "twice.nwb")).channels.set_index("name")["neurofs_pseudo_r2"]
    assert sorted(twice.dropna().index) == ["1a", "3c"]  # replaced, and NaN elsewhere


def test_other_tools_read_the_copy(found, tmp_path):
    pynwb = pytest.importorskip("pynwb")
    copy = found.write_units(tmp_path / "copy.nwb")
    with pynwb.NWBHDF5IO(copy, "r") as io:
        table = io.read().units.to_dataframe()
    np.testing.assert_allclose(table["neurofs_depth"], found.table["depth"])
    with pynwb.NWBHDF5IO(copy, "r") as io:
        assert not pynwb.validate(io=io)


def test_what_has_no_units_is_one_line(day, found, tmp_path):
    with pytest.raises(UsageError, match="another file than the recording"):
        found.write_units(day)
    with pytest.raises(UsageError, match=r"ends in \.nwb"):
        found.write_units(tmp_path / "copy.csv")
    session = neurofs.load(day)
    with pytest.raises(UsageError, match="expected the encoding of an NWB file"):
        neurofs.encode(session, "hand_velocity", **KEYS).write_units(tmp_path / "copy.nwb")
    npz = neurofs.write(session, tmp_path / "day.npz")
    with pytest.raises(UsageError, match="expected an NWB file"):
        neurofs.encode(npz, "hand_velocity", **KEYS).write_units(tmp_path / "copy.nwb")
    with h5py.File(day) as file:
        assert "neurofs_depth" not in file["units"]


def test_the_command_prints_and_writes(day, tmp_path):
    keys = ("--target", "hand_velocity", "--n-lags", "2", "--n-splits", "3", "--out", str(tmp_path / "out"))
    result = CliRunner().invoke(main, ["encode", str(day), *keys, "--units", str(tmp_path / "copy.nwb")])
    assert result.exit_code == 0, result.output
    assert "hand_velocity predicts" in result.stdout
    assert (tmp_path / "out" / "encoding.html").exists()
    assert (tmp_path / "copy.nwb").exists()
