"""Files over the network, from a server that stalls, cuts and lies; a file of 1 GB of which little is fetched."""

import json
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
from click.testing import CliRunner
from remote_server import serve, stop

from neurofs.commands.main import main
from neurofs.comparison.given import choose_options
from neurofs.features.tensor import build_tensor
from neurofs.ground.errors import InputError, UsageError
from neurofs.pipeline import prepare
from neurofs.recordings.readers import hash_input, load, remote
from neurofs.recordings.simulate import simulate_session
from neurofs.recordings.writers import write


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(remote, "TIMEOUT", 2.0)
    monkeypatch.setattr(remote, "STALL", 0.5)


@pytest.fixture(autouse=True)
def without_proxy(monkeypatch):
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A session in NWB, and the same with 1 GB of raw voltage beside it that takes no place on the disk."""
    folder = tmp_path_factory.mktemp("archive")
    session = simulate_session(12, n_electrodes=4, random_state=3)
    for name in ("a.nwb", "large.nwb"):
        write(session, folder / name)
    with h5py.File(folder / "large.nwb", "r+") as file:
        group = file.create_group("acquisition/raw")
        group.attrs["neurodata_type"] = "ElectricalSeries"
        group.create_dataset("starting_time", data=0.0).attrs["rate"] = 30000.0
        data = group.create_dataset("data", shape=(2**20, 512), dtype="i2")
        data[-1] = 1  # which makes the file as long as the data
    return folder


def test_of_a_file_of_1_gb_little_is_fetched(folder):
    assert (folder / "large.nwb").stat().st_size > 2**30
    with serve(folder) as server:
        found = CliRunner().invoke(main, ["inspect", f"{server.url}/large.nwb", "--json"])
        assert found.exit_code == 0, found.output
        assert server.sent < 5e6
        report = json.loads(found.stdout)
    own = load(folder / "large.nwb")
    assert report["channels"]["n_spikes"] == own.n_spikes
    assert report["name"] == "large"
    assert report["decode"]["command"].startswith(f"neurofs decode {server.url}/large.nwb")


def test_the_same_recording_from_afar(folder):
    own = load(folder / "a.nwb")
    with serve(folder) as server:
        far = load(f"{server.url}/a.nwb")
        assert hash_input(f"{server.url}/a.nwb") == far.source_hash
        assert far.source == f"{server.url}/a.nwb"
    a, b = (build_tensor(r, "hand_velocity") for r in (own, far))
    np.testing.assert_array_equal(a["counts"], b["counts"])
    np.testing.assert_array_equal(a["target"], b["target"])


def test_what_passes_is_tried_again(folder):
    with serve(folder, "flaky") as server:
        assert load(f"{server.url}/a.nwb").n_channels == load(folder / "a.nwb").n_channels


@pytest.mark.parametrize(
    ("mood", "message"),
    [
        ("stall", "a.nwb: server: expected an answer within 2 s; found timed out. Check the address"),
        ("late", "a.nwb: server: expected an answer within 2 s; found timed out. Check the address"),
        ("slow", "a.nwb: server: expected an answer within 2 s; found only "),
        ("cut", " bytes, then the end. Check the address and the network"),
        ("growing", "a.nwb: server: expected the same file throughout; found another length or version"),
        ("shifted", "a.nwb: server: expected bytes 0 to 131,072; found 131,072 bytes from 1 on"),
        ("html", "a.nwb: server: expected a server that sends parts of files; found one that does not"),
        ("loop", "a.nwb: server: expected an answer within 2 s; found redirections that never end. Check"),
        ("drip", "a.nwb: server: expected an answer within 2 s; found no end of its answer in 2 s. Check"),
        ("local", "a.nwb: server: expected an answer within 2 s; found a redirection to what is no address of HTTP"),
        ("busy", "a.nwb: server: expected an answer within 2 s; found 503"),
        ("missing", "a.nwb: server: expected an answer within 2 s; found 404"),
    ],
)
def test_a_bad_server_gives_one_line_within_the_time(impatient, folder, mood, message):
    with serve(folder, mood) as server:
        start = time.monotonic()
        found = CliRunner().invoke(main, ["inspect", f"{server.url}/a.nwb"])
        seconds = time.monotonic() - start
    assert found.exit_code == 2, found.output
    assert found.output.startswith("neurofs: a.nwb: ")
    assert message in found.output
    assert found.output.count("\n") == 1
    assert seconds < 2 * remote.TIMEOUT + 1


def test_a_server_that_is_killed_while_it_is_read(impatient, folder):
    with serve(folder) as server:
        file = remote.RemoteFile(f"{server.url}/large.nwb")
        address = f"{server.url}/large.nwb"
        stop(server)
        file.seek(2**29)
        with pytest.raises(InputError, match="Connection refused"):
            file.read(10)
        start = time.monotonic()
        with pytest.raises(InputError, match="Connection refused"):
            file.read(10)  # what failed is not tried again
        assert time.monotonic() - start < 0.1
        found = CliRunner().invoke(main, ["inspect", address])
        assert found.exit_code == 2
        assert "large.nwb: server: expected an answer within 2 s; found [Errno 111] Connection refused." in found.output


def test_other_content_gives_one_line(folder, tmp_path):
    (tmp_path / "a.nwb").write_bytes(b"not HDF5" * 100_000)
    (tmp_path / "cut.nwb").write_bytes((folder / "a.nwb").read_bytes()[:150_000])
    with h5py.File(tmp_path / "plain.nwb", "w") as file:
        file["x"] = 1
    with serve(tmp_path) as server:
        for name in ("a.nwb", "cut.nwb", "plain.nwb"):
            found = CliRunner().invoke(main, ["inspect", f"{server.url}/{name}"])
            assert found.exit_code == 2
            assert found.output.startswith(f"neurofs: {name}: content: expected an NWB"), found.output


def test_a_file_of_the_dandi_archive(folder, tmp_path, monkeypatch):
    (tmp_path / "a.nwb").write_bytes((folder / "a.nwb").read_bytes())
    assets = {"results": [{"path": "sub-1/a.nwb", "asset_id": "17"}, {"path": "sub-1/a.nwb.old", "asset_id": "5"}]}
    (tmp_path / "assets.json").write_text(json.dumps(assets))
    with serve(tmp_path) as archive, serve(tmp_path, "json") as index:
        monkeypatch.setattr(remote, "DANDI", f"{index.url}/api")
        url = remote._find_url("dandi:000128/sub-1/a.nwb")
        assert url == f"{index.url}/api/assets/17/download/"
        with pytest.raises(InputError, match="a file of this dandiset; found none of this path"):
            load("dandi:000128/sub-2/a.nwb")
        with pytest.raises(InputError, match=r"with a number of six digits; found 128/a\.nwb"):
            load("dandi:128/a.nwb")
        far = remote.RemoteFile(f"{archive.url}/api/assets/17/download/")
        assert far.length == (folder / "a.nwb").stat().st_size
    assert remote._find_url("s3://bucket/sub 1/a.nwb") == "https://bucket.s3.amazonaws.com/sub%201/a.nwb"


def test_behavior_must_be_here(folder):
    with pytest.raises(UsageError, match=r"^behavior_file: b\.nwb is not on this machine; download it first$"):
        load(folder / "a.nwb", behavior_file="https://host/b.nwb")


def test_decode_takes_an_address(folder):
    with serve(folder) as server:
        options = choose_options(Path(f"{server.url}/a.nwb"), {"target": "hand_velocity:x"})
        assert options.file == f"{server.url}/a.nwb"
        assert prepare(options).recording.n_channels == load(folder / "a.nwb").n_channels
