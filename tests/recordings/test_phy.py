"""Folders of Kilosort and phy: made here, with everything that can be wrong with them; real ones elsewhere."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from writers import write_text

from neurofs.commands.main import main
from neurofs.features.tensor import build_tensor
from neurofs.ground.errors import InputError, UsageError
from neurofs.recordings.readers import hash_input, load

SAMPLES = np.array([[30], [300], [600], [900], [3000], [6000]], dtype=np.uint64)
CLUSTERS = np.array([7, 2, 7, 9, 2, 7], dtype=np.int32)
GROUPS = "cluster_id\tgroup\n2\tgood\n3\tgood\n7\tmua\n9\tnoise\n"
PARAMS = "dat_path = r'..\\raw.dat'\nsample_rate = 30_000.  # Hz\nhp_filtered = False\n"


def write_folder(folder, params=PARAMS, **tables):
    folder.mkdir()
    np.save(folder / "spike_times.npy", SAMPLES)
    np.save(folder / "spike_clusters.npy", CLUSTERS)
    if params is not None:
        write_text(folder / "params.py", params)
    for name, text in (tables or {"cluster_group": GROUPS}).items():
        write_text(folder / f"{name}.tsv", text)
    return folder


def test_clusters_become_channels_and_noise_is_left_out(tmp_path):
    folder = write_folder(tmp_path / "sorted")
    recording = load(folder)
    assert recording.channels["name"].tolist() == ["2", "7"]
    assert recording.channels["quality"].tolist() == ["good", "mua"]
    assert [s.tolist() for s in recording.spikes] == [[0.01, 0.1], [0.001, 0.02, 0.2]]
    assert (recording.name, recording.source) == ("sorted", "sorted")
    assert recording.span == (0.001, 0.200000001)
    assert any("1 noise channel is left out; --unsorted keeps it" in note for note in recording.notes)
    assert any("30000 per second of params.py" in note for note in recording.notes)
    assert load(folder, channels="quality == 'noise'").channels["name"].tolist() == ["9"]
    assert load(folder, channels="9,2").channels["name"].tolist() == ["2", "9"]
    assert load(folder, channels="rate > 0").channels["name"].tolist() == ["2", "7"]


def test_params_is_text_and_is_never_run(tmp_path):
    proof = tmp_path / "run"
    code = f"open({str(proof)!r}, 'w')\nimport os; os.abort()\nsample_rate = 20000\n"
    assert load(write_folder(tmp_path / "a", code)).spikes[0].tolist() == [300 / 20000, 3000 / 20000]
    assert not proof.exists()


@pytest.mark.parametrize(
    ("params", "found"),
    [
        (None, "no such file"),
        ("dat_path = 'x'\n", "none"),
        ("sample_rate = 2 * 15000\n", "'2 \\* 15000'"),
        ("sample_rate = -1\n", "'-1'"),
        ("sample_rate = inf\n", "'inf'"),
        ("# sample_rate = 30000\n", "none"),
        ("resample_rate = 30000\n", "none"),
    ],
)
def test_a_rate_that_is_not_known_is_asked_for(tmp_path, params, found):
    folder = write_folder(tmp_path / "a", params)
    with pytest.raises(InputError, match=rf"^a: params\.py.*found {found}\. Say it with --sampling-rate"):
        load(folder)
    assert load(folder, sampling_rate=15000).spikes[0].tolist() == [0.02, 0.2]


def test_a_file_of_the_folder_means_the_folder(tmp_path):
    folder = write_folder(tmp_path / "a")
    for name in ("params.py", "spike_times.npy", "spike_clusters.npy", "cluster_group.tsv"):
        assert load(folder / name).n_channels == 2


def test_what_all_tables_know(tmp_path):
    folder = write_folder(
        tmp_path / "a",
        cluster_KSLabel="cluster_id\tKSLabel\n2\tmua\n7\tgood\n9\tgood\n",
        cluster_info="id\tch\tdepth\tgroup\tn_spikes\tsh\n2\t11\t20.5\t\t2\t0\n7\t3\t\t\t3\t0\n",
    )
    table = load(folder).channels
    assert table.columns.tolist() == ["name", "quality", "ch", "depth", "group", "sh"]
    assert table["quality"].tolist() == ["mua", "good", "good"]
    assert table["ch"].tolist()[:2] == [11, 3]
    assert np.isnan(table["depth"][1])


def test_templates_before_curation(tmp_path):
    folder = write_folder(tmp_path / "a")
    (folder / "spike_clusters.npy").rename(folder / "spike_templates.npy")
    recording = load(folder)
    assert recording.n_spikes == 5
    assert any("templates of Kilosort" in note for note in recording.notes)


def damage(folder, what):
    arrays = {
        "objects": ("spike_times", np.array([1, "a", None], dtype=object)),
        "fractions": ("spike_times", np.linspace(0, 1, 6)),
        "text": ("spike_clusters", np.array(list("abcdef"))),
        "floats": ("spike_clusters", np.ones(6)),
        "short": ("spike_clusters", CLUSTERS[:5]),
        "unsorted": ("spike_times", SAMPLES[::-1]),
        "empty": ("spike_times", SAMPLES[:0]),
    }
    if what in arrays:
        name, array = arrays[what]
        np.save(folder / f"{name}.npy", array, allow_pickle=True)
    elif what == "cut":
        (folder / "spike_times.npy").write_bytes((folder / "spike_times.npy").read_bytes()[:-8])
    elif what == "lying":
        header = (folder / "spike_times.npy").read_bytes().replace(b"(6, 1)", b"(9**9,)")
        (folder / "spike_times.npy").write_bytes(header)
    else:
        write_text(folder / "cluster_group.tsv", what)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("objects", "spike_times.npy: expected numbers or text; found Python objects, which only unpickling"),
        ("fractions", "spike_times.npy: expected times in samples, whole numbers; found fractions. If they are in s"),
        ("text", "spike_clusters.npy: expected numbers; found <U1"),
        ("floats", "spike_clusters.npy: expected whole numbers; found float64"),
        ("short", "spike_clusters.npy: expected one cluster per spike; found 5 clusters for 6 spikes"),
        ("unsorted", "channel '2': expected spike times in increasing order"),
        ("empty", "spike_clusters.npy: expected one cluster per spike; found 6 clusters for 0 spikes"),
        ("cut", "spike_times.npy: expected 48 bytes for shape (6, 1); found 40 bytes"),
        ("lying", "spike_times.npy: expected the header of a NumPy array; found other bytes"),
        ("group\ngood\n", "cluster_group.tsv: expected columns of different names, with cluster_id; found group"),
        ("cluster_id\tgroup\n1\n", "cluster_group.tsv: expected 2 columns in each row; found 1 in row 1"),
        ("cluster_id\tgroup\n1\ta\n1\tb\n", "cluster_group.tsv: cluster_id: expected a number for each cluster, once"),
        ("", "cluster_group.tsv: expected columns of different names, with cluster_id; found an empty file"),
    ],
)
def test_damaged_folders_give_one_line(tmp_path, what, message):
    folder = write_folder(tmp_path / "a")
    damage(folder, what)
    found = CliRunner().invoke(main, ["inspect", str(folder)])
    assert found.exit_code == 2
    assert message in found.output
    assert "Traceback" not in found.output


def test_seconds_and_other_options(tmp_path):
    folder = write_folder(tmp_path / "a")
    damage(folder, "fractions")
    assert load(folder, time_unit="s").spikes[0].tolist() == [0.2, 0.8]
    with pytest.raises(UsageError, match="counts has no meaning for folders of Kilosort and phy"):
        load(folder, counts="x")


def test_another_folder_is_not_guessed_at(tmp_path):
    with pytest.raises(InputError, match=r"expected a file, or a folder of a known kind; found another folder\."):
        load(tmp_path)


def test_the_hash_is_that_of_what_is_read(tmp_path):
    folder = write_folder(tmp_path / "a")
    before = hash_input(folder)
    assert load(folder).source_hash == before
    (folder / "raw.dat").write_bytes(b"any")
    assert hash_input(folder) == hash_input(folder / "params.py") == before
    write_text(folder / "cluster_group.tsv", GROUPS.replace("mua", "good"))
    assert hash_input(folder) != before


@pytest.mark.slow
def test_decode_takes_a_folder_and_a_session_file_that_names_one(tmp_path):
    rng = np.random.default_rng(0)
    folder = tmp_path / "day1"
    folder.mkdir()
    np.save(folder / "spike_times.npy", np.sort(rng.integers(0, 60 * 1000, 4000)))
    np.save(folder / "spike_clusters.npy", rng.integers(0, 4, 4000))
    write_text(folder / "params.py", "sample_rate = 1000.\n")
    np.savez(tmp_path / "behavior.npz", time=np.arange(0, 60, 0.02), velocity=rng.normal(size=3000))
    write_text(
        tmp_path / "day1.toml",
        'file = "day1"\nbehavior_file = "behavior.npz"\ntarget = "velocity"\nselectors = ["corrcoef"]\nn_lags = 2\n'
        'n_splits = 2\nsizes = [1, 4]\ndecoders = ["knn"]\n',
    )
    assert build_tensor(load(tmp_path / "day1.toml"), "velocity")["counts"].values.sum() == 4000
    for out in ("first", "again"):
        command = ["decode", str(tmp_path / "day1.toml"), "--out", str(tmp_path / "run"), "--json", "--jobs", "1"]
        found = CliRunner().invoke(main, command)
        assert found.exit_code == 0, (out, found.output)
    inputs = json.loads((tmp_path / "run" / "summary.json").read_text())["provenance"]["inputs"]
    assert [one["path"] for one in inputs] == ["day1", "behavior.npz"]
    assert inputs[0]["sha256"] == hash_input(folder)
