"""NWB in folders of Zarr, written by hdmf-zarr from the HDF5 file that they are compared with."""

import json
import os
import pickle
import sys
import warnings

import numpy as np
import pytest

from neurofs.features.tensor import build_tensor
from neurofs.ground.errors import InputError
from neurofs.recordings.readers import hash_input, load
from neurofs.recordings.simulate import simulate_session
from neurofs.recordings.writers import write


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """The same session as HDF5 and as Zarr."""
    pynwb = pytest.importorskip("pynwb")
    hdmf_zarr = pytest.importorskip("hdmf_zarr.nwb")
    folder = tmp_path_factory.mktemp("zarr")
    write(simulate_session(12, n_electrodes=4, random_state=3), folder / "a.nwb")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries that only write here
        with (
            pynwb.NWBHDF5IO(folder / "a.nwb", "r") as source,
            hdmf_zarr.NWBZarrIO(str(folder / "a.nwb.zarr"), "w") as io,
        ):
            io.export(src_io=source, write_args={"link_data": False})
    return folder


def test_the_same_recording_as_from_hdf5(stores):
    own, other = load(stores / "a.nwb"), load(stores / "a.nwb.zarr")
    assert (other.name, other.source) == ("a", "a.nwb.zarr")
    assert other.n_spikes == own.n_spikes > 1000
    assert all(np.array_equal(a, b) for a, b in zip(own.spikes, other.spikes, strict=True))
    columns = [c for c in own.channels if c in other.channels]
    assert {"name", "electrode", "tuning"} <= set(columns)
    assert own.channels[columns].equals(other.channels[columns])
    assert own.trials.equals(other.trials[own.trials.columns])
    np.testing.assert_array_equal(own.observed, other.observed)
    a, b = (build_tensor(r, "hand_velocity") for r in (own, other))
    for name in ("counts", "target", "trial", "valid"):
        assert a[name].values.tobytes() == b[name].values.tobytes()
    assert other.source_hash == hash_input(stores / "a.nwb.zarr") != own.source_hash


@pytest.fixture
def copy(stores, tmp_path):
    import shutil

    return shutil.copytree(stores / "a.nwb.zarr", tmp_path / "b.nwb.zarr")


class Bomb:
    def __reduce__(self):
        return (sys.exit, ("unpickled",))


def test_nothing_is_unpickled(copy, monkeypatch):
    monkeypatch.setenv("NUMCODECS_ALLOW_UNSAFE_PICKLE_DECODE", "1")
    pickles = pytest.importorskip("numcodecs.pickles")
    monkeypatch.setattr(pickles, "ALLOW_UNSAFE_PICKLE_DECODE", True, raising=False)
    column = copy / "units" / "bomb"
    column.mkdir()
    declared = json.loads((copy / "units" / "id" / ".zarray").read_text())
    declared |= {"dtype": "|O", "filters": [{"id": "pickle", "protocol": 5}], "compressor": None, "fill_value": None}
    (column / ".zarray").write_text(json.dumps(declared))
    (column / "0").write_bytes(pickle.dumps(np.array([Bomb()] * declared["shape"][0], dtype=object)))
    (copy / ".zmetadata").unlink(missing_ok=True)
    recording = load(copy)
    assert "bomb" not in recording.channels
    assert "left out 'units/bomb': neither numbers nor text" in recording.notes


def test_damaged_folders_give_one_line(copy, monkeypatch):
    (copy / ".zmetadata").unlink(missing_ok=True)
    times = copy / "units" / "spike_times"
    chunk = next(file for file in sorted(times.iterdir()) if not file.name.startswith("."))
    whole = chunk.read_bytes()
    chunk.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"^b\.nwb\.zarr: content: expected an NWB file of Zarr; found"):
        load(copy)
    chunk.write_bytes(whole)
    declared = (times / ".zarray").read_text()
    (times / ".zarray").write_text(json.dumps(json.loads(declared) | {"shape": [10**13]}))
    with pytest.raises(InputError, match=r"^b\.nwb\.zarr: units/spike_times: expected as much data as it declares"):
        load(copy)
    (times / ".zarray").write_text("{")
    with pytest.raises(InputError, match=r"^b\.nwb\.zarr: "):
        load(copy)
    (times / ".zarray").write_text(declared)
    (copy / ".zattrs").write_text("{}")
    with pytest.raises(InputError, match=r"^b\.nwb\.zarr: content: expected an NWB 2 file; found one without nwb_v"):
        load(copy)
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(InputError, match=r"^b\.nwb\.zarr: format: .*pip install 'neurofs\[zarr\]'"):
        load(copy)


def test_links_to_other_folders_are_not_followed(copy, stores):
    (copy / "units").rename(copy.parent / "units")
    (copy / "units").symlink_to(copy.parent / "units", target_is_directory=True)
    with pytest.raises(InputError, match=r"^b\.nwb\.zarr: /units: expected a table of units; found none"):
        load(copy)
    (copy / "units").unlink()
    (copy.parent / "units").rename(copy / "units")
    series = next(path for path in sorted((copy / "processing").rglob("hand_velocity")) if path.is_dir())
    (series / "data").rename(copy.parent / "data")
    (series / "data").symlink_to(copy.parent / "data", target_is_directory=True)
    recording = load(copy)
    assert "hand_velocity" not in recording.behavior
    assert any("a link to another folder" in note for note in recording.notes)


@pytest.mark.posix
def test_a_pipe_is_not_waited_for(copy):
    (copy / "units" / ".zgroup").unlink()
    os.mkfifo(copy / "units" / ".zgroup")
    with pytest.raises(InputError, match=r"'\.zgroup': expected a file or a folder; found something else"):
        load(copy)
