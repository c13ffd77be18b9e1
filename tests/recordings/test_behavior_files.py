"""Spikes in one file, behavior in another."""

import json
import tomllib
from dataclasses import replace

import h5py
import numpy as np
import pytest
import scipy.io
from click.testing import CliRunner
from writers import write_h5, write_mat73, write_npz, write_text

from neurofs.commands.main import main
from neurofs.comparison.given import choose_options
from neurofs.ground.errors import InputError
from neurofs.recordings.readers import load
from neurofs.recordings.simulate import simulate_session
from neurofs.recordings.writers import write

TIME = np.arange(0, 20, 0.1)
HAND = np.column_stack([np.sin(TIME), np.cos(TIME)])


@pytest.fixture
def spikes(tmp_path):
    """A file with spikes alone."""
    session = replace(simulate_session(5, n_electrodes=1), behavior={}, trials=None)
    return write(session, tmp_path / "spikes.nwb")


def write_nwb(path, **values):
    """Write behavior and trials as NWB, without units."""
    with h5py.File(path, "w") as file:
        file.attrs["nwb_version"] = "2.6.0"
        group = file.create_group("processing/behavior/hand")
        group["data"], group["timestamps"] = values["hand"], values["time"]
        trials = file.create_group("intervals/trials")
        trials["start_time"], trials["stop_time"] = values["trial_start"], values["trial_stop"]
    return path


def write_csv(path, **values):
    rows = [f"{t:.6f},{x!r},{y!r}" for t, (x, y) in zip(values["time"].tolist(), values["hand"].tolist(), strict=True)]
    return write_text(path, "\n".join(["time,hand_x,hand_y", *rows]) + "\n")


def write_mat5(path, **values):
    scipy.io.savemat(path, values)
    return path


@pytest.mark.parametrize(
    ("write_file", "name", "n_trials"),
    [
        (write_nwb, "b.nwb", 2),
        (write_nwb, "b.h5", 2),
        (write_npz, "b.npz", 2),
        (write_h5, "b.h5", 2),
        (write_mat5, "b.mat", 2),
        (write_mat73, "b.mat", 2),
        (write_csv, "b.csv", 0),
    ],
)
def test_behavior_of_every_format_joins_the_spikes(spikes, tmp_path, write_file, name, n_trials):
    trials = {"trial_start": np.array([1.0, 5.0]), "trial_stop": np.array([4.0, 9.5])}
    path = write_file(tmp_path / name, hand=HAND, time=TIME, **trials)
    alone, both = load(spikes), load(spikes, behavior_file=str(path))
    assert list(both.behavior) == ["hand"]
    np.testing.assert_allclose(both.behavior["hand"].values, HAND)
    np.testing.assert_allclose(both.behavior["hand"].time, TIME)
    assert len(both.trials) == n_trials
    assert [s.tolist() for s in both.spikes] == [s.tolist() for s in alone.spikes]
    assert both.source_hash == alone.source_hash
    assert f"behavior: taken from {name}, on the clock of the spikes" in both.notes


def test_spikes_of_csv_need_no_behavior_beside_them_then(tmp_path):
    path = write_text(tmp_path / "day_spikes.csv", "time,channel\n0.5,a\n1.5,b\n9.0,a\n")
    with pytest.raises(InputError, match="--behavior-file"):
        load(path)
    behavior = write_csv(tmp_path / "moves.csv", time=TIME, hand=HAND)
    assert load(path, behavior_file=str(behavior)).behavior["hand"].columns == ("x", "y")


def test_behavior_without_times_has_a_sample_per_bin_or_a_rate(spikes, tmp_path):
    counts = write_npz(tmp_path / "c.npz", counts=np.ones((200, 3), np.uint8), bin_width=np.array(0.05))
    behavior = write_npz(tmp_path / "b.npz", hand=HAND)
    found = load(counts, behavior_file=str(behavior), orientation="time-by-channel")
    np.testing.assert_allclose(found.behavior["hand"].time[:3], [0.025, 0.075, 0.125])
    with pytest.raises(InputError, match=r"^b\.npz: .*--behavior-rate"):
        load(spikes, behavior_file=str(behavior))
    assert load(spikes, behavior_file=str(behavior), behavior_rate=10).behavior["hand"].rate == 10


def test_options_of_behavior_apply_to_its_file(spikes, tmp_path):
    path = write_npz(tmp_path / "b.npz", angle=TIME % 6, other=TIME * 2, time=TIME)
    found = load(spikes, behavior_file=str(path), behavior=("angle",), circular=("angle",))
    assert list(found.behavior) == ["angle"]
    assert found.behavior["angle"].circular
    with pytest.raises(InputError, match=r"^b\.npz: --behavior nothing"):
        load(spikes, behavior_file=str(path), behavior=("nothing",))


@pytest.mark.parametrize("shift", [1000.0, -1000.0])
def test_files_on_two_clocks_are_refused_in_one_line(spikes, tmp_path, shift):
    path = write_npz(tmp_path / "b.npz", hand=HAND, time=TIME + shift)
    with pytest.raises(InputError, match=r"^b\.npz: expected behavior between .* one clock, in seconds\.$"):
        load(spikes, behavior_file=str(path))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [("none.npz", None, "expected a file"), ("b.txt", b"text", "known kind"), ("b.npz", b"text", "NumPy archive")],
)
def test_bad_files_are_refused_in_one_line(spikes, tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=f"^{name}: .*{message}"):
        load(spikes, behavior_file=str(tmp_path / name))


def test_inspect_suggests_the_option_and_then_the_command_with_it(spikes, tmp_path):
    path = write_npz(tmp_path / "b.npz", hand=HAND, time=TIME)
    alone = CliRunner().invoke(main, ["inspect", str(spikes)])
    assert "name it with --behavior-file FILE" in alone.stdout
    both = CliRunner().invoke(main, ["inspect", str(spikes), "--behavior-file", str(path), "--json"])
    assert f"--behavior-file {path} --target hand" in json.loads(both.stdout)["decode"]["command"]


def test_a_session_file_names_it_beside_itself_and_a_run_keeps_the_whole_path(spikes, tmp_path, monkeypatch):
    write_npz(tmp_path / "b.npz", hand=HAND, time=TIME)
    session = write_text(tmp_path / "s.toml", 'file = "spikes.nwb"\nbehavior_file = "b.npz"\ntarget = "hand"\n')
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert list(load(session).behavior) == ["hand"]
    assert choose_options(session, {}).behavior_file == str(tmp_path / "b.npz")
    assert choose_options(spikes, {"behavior_file": "../b.npz"}).behavior_file == str(tmp_path / "b.npz")
    assert tomllib.loads(session.read_text())["behavior_file"] == "b.npz"
