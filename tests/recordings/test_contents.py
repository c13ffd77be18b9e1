"""What inspect tells of files that are no recordings yet."""

import json
import shlex

import numpy as np
import pytest
import scipy.io
from click.testing import CliRunner
from writers import npy_header, write_h5, write_mat73, write_npz, write_raw_npz

from neurofs.commands.main import main
from neurofs.recordings.contents import Variable, advise, list_variables

COUNTS = np.tile(np.arange(5), (40, 1))
MOVES = np.sin(np.arange(80)).reshape(40, 2)


def inspect(*arguments):
    return CliRunner().invoke(main, ["inspect", *map(str, arguments)])


def write_mat5(path, **values):
    scipy.io.savemat(path, values)
    return path


@pytest.mark.parametrize(
    ("write", "name"), [(write_npz, "a.npz"), (write_h5, "a.h5"), (write_mat5, "a.mat"), (write_mat73, "a.mat")]
)
def test_variables_and_the_options_that_help_in_every_format(tmp_path, write, name):
    """Nothing says how wide the bins are, so that the file cannot be a recording."""
    path = write(tmp_path / name, Y=COUNTS.astype(np.uint8), X=MOVES, label=np.array([3.0]))
    result = inspect(path)
    assert result.exit_code == 2
    assert "--counts-bin-width" in result.stderr
    lines = {line.split()[0]: line for line in result.stdout.splitlines() if line.startswith("  ")}
    assert "uint8, 40 × 5, 0 … 4" in lines["Y"]
    assert "40 × 2, -1 … 0.9999" in lines["X"]
    assert "  --counts Y --counts-bin-width SECONDS" in result.stdout
    assert "  --behavior X   if" in result.stdout, "as long as the counts, so that no rate is needed"
    mended = inspect(path, "--counts", "Y", "--counts-bin-width", 0.1, "--behavior", "X")
    assert mended.exit_code == 0, mended.stderr


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("backward", [False, True])
def test_velocities_tell_the_width_of_bins_and_the_whole_command(tmp_path, turned, backward):
    position = np.cumsum(np.random.default_rng(0).normal(size=(40, 2)), axis=0)
    velocity = (
        np.diff(position, axis=0, prepend=position[:1]) / 0.05 if backward else np.gradient(position, 0.05, axis=0)
    )
    table = np.hstack([position, velocity])
    path = write_mat5(tmp_path / "my a.mat", Y=COUNTS.astype(np.uint8), X=table.T if turned else table)
    result = inspect(path)
    assert result.exit_code == 2
    assert "  --counts Y --counts-bin-width 0.05   if" in result.stdout
    assert "in steps of 0.05 s if units agree" in result.stdout
    suggested = shlex.split(result.stdout.splitlines()[-1])
    assert suggested[:3] == ["neurofs", "inspect", str(path)]
    again = inspect(*suggested[2:])
    assert again.exit_code == 0, again.stderr
    assert "Decode it with" in again.stdout


def test_what_is_no_velocity_tells_nothing_of_bins(tmp_path):
    noise = np.random.default_rng(0).normal(size=(40, 4))
    path = write_mat5(tmp_path / "a.mat", Y=COUNTS.astype(np.uint8), X=noise)
    suggested = inspect(path).stdout.splitlines()[-1].strip()
    assert suggested == f"neurofs inspect {path} --counts Y --counts-bin-width SECONDS --behavior X"


def test_the_same_as_json(tmp_path):
    path = write_npz(tmp_path / "a.npz", Y=COUNTS, X=MOVES)
    result = inspect(path, "--json")
    assert result.exit_code == 2
    about = json.loads(result.stdout)
    assert [variable["name"] for variable in about["contents"]] == ["Y", "X"]
    assert about["contents"][0]["shape"] == [40, 5]
    assert about["error"].startswith("a.npz: ")
    assert about["advice"][0].startswith("--counts Y")


def test_nwb_without_units_is_behavior_for_another_file(tmp_path):
    import h5py

    path = tmp_path / "b.nwb"
    with h5py.File(path, "w") as file:
        file.attrs["nwb_version"] = "2.6.0"
        file["processing/behavior/position/data"] = MOVES
        file["specifications/core/x"] = "long text"
    result = inspect(path)
    assert result.exit_code == 2
    assert "processing/behavior/position/data  float64, 40 × 2" in result.stdout
    assert "specifications" not in result.stdout
    assert "--behavior-file b.nwb" in result.stdout


def test_many_and_hostile_names_stay_short_and_harmless(tmp_path):
    values = {f"v{i}": np.arange(3.0) for i in range(200)}
    path = write_npz(tmp_path / "a.npz", **{"\x1b[31mred\n": MOVES}, **values)
    result = inspect(path)
    assert result.exit_code == 2
    assert len(result.stdout.splitlines()) < 60
    assert "… and 161 more" in result.stdout
    assert "\x1b" not in result.stdout
    assert "\\x1b[31mred\\n" in result.stdout


def test_ranges_come_from_the_first_numbers_only(tmp_path):
    values = np.zeros((30_000, 2))
    values[-1] = 99
    (found,) = list_variables(write_npz(tmp_path / "a.npz", late=values))
    assert (found.low, found.high) == (0, 0)
    (found,) = list_variables(write_h5(tmp_path / "a.h5", late=values))
    assert (found.low, found.high) == (0, 0)


def test_an_archive_that_lies_or_holds_objects_is_listed_as_far_as_it_can_be(tmp_path):
    lie = npy_header((10**12, 4), "<f8") + bytes(16)
    path = write_raw_npz(tmp_path / "a.npz", lie=lie, objects=npy_header((3,), "|O") + bytes(8), other=b"no array")
    result = inspect(path)
    assert result.exit_code == 2
    assert "lie" in result.stdout
    assert "Python objects" in result.stdout


def test_a_file_of_which_nothing_can_be_told_is_one_line(tmp_path):
    path = tmp_path / "a.npz"
    path.write_bytes(b"no data")
    result = inspect(path)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1


def test_advice_names_spikes_by_the_last_part_of_a_name(tmp_path):
    cells = Variable("session.spikes.times", "cells", (6,))
    uid = Variable("spikes.UID", "uint8", (1, 6), 1, 6, True, True)
    advice = list(advise([uid, cells], tmp_path / "a.mat"))
    assert advice[0].startswith("--spikes session.spikes.times")
    assert advice[1].startswith("--behavior-file FILE")
    (first, second) = advise([Variable("a b; rm", "float64", (100, 2), -1.0, 1.0)], tmp_path / "my file.mat")
    assert first.startswith("--behavior 'a b; rm' --behavior-rate HZ")
    assert second.startswith("--behavior-file 'my file.mat'")


@pytest.mark.parametrize("name", ["lfp", "ECoG_raw"])
def test_a_name_of_a_signal_is_enough_whatever_its_channels(tmp_path, name):
    result = inspect(write_h5(tmp_path / "a.h5", **{name: MOVES, "X": MOVES}))
    assert result.exit_code == 2
    assert f"  --signal {name} --sampling-rate HZ" in result.stdout
