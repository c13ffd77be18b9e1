"""Real files of many systems: every spike counted, by Neo or by NumPy alone, and once more in the tensor."""

import json
import shutil

import h5py
import numpy as np
import pytest
import scipy.io
from click.testing import CliRunner

from neurofs.commands.main import main
from neurofs.features.tensor import build_tensor
from neurofs.ground.errors import InputError
from neurofs.recordings.checks import find_remarks
from neurofs.recordings.readers import load

pytestmark = pytest.mark.shared_data


@pytest.fixture(scope="module")
def formats(shared_data):
    folder = shared_data / "formats"
    if not folder.is_dir():
        pytest.fail(f"no real files at {folder}")
    return folder


def read_phy(path):
    """Samples at 30 kHz by cluster, without the four that are labeled noise."""
    samples, clusters = np.load(path / "spike_times.npy").ravel(), np.load(path / "spike_clusters.npy")
    rows = [line.split("\t") for line in (path / "cluster_group.tsv").read_text().splitlines()[1:]]
    kept = [int(cluster) for cluster, group in rows if group != "noise"]
    return {str(cluster): samples[clusters == cluster] / 30000 for cluster in kept}


def read_nev(path):
    """Packets of spikes: a time in ticks, an electrode, a class of units."""
    content = path.read_bytes()
    begin, size, ticks = np.frombuffer(content[12:24], "<u4")
    wide = content[8] == 3
    kind = [("time", "<u8" if wide else "<u4"), ("electrode", "<u2"), ("unit", "u1")]
    kind = np.dtype(
        {
            "names": [k[0] for k in kind],
            "formats": [k[1] for k in kind],
            "offsets": [0, 8, 10] if wide else [0, 4, 6],
            "itemsize": int(size),
        }
    )
    packets = np.frombuffer(content[begin:], kind)
    spikes = packets[(packets["electrode"] > 0) & (packets["electrode"] <= 2048)]
    pairs = sorted({(int(s["electrode"]), int(s["unit"])) for s in spikes})
    return {f"ch{e}#{u}": spikes["time"][(spikes["electrode"] == e) & (spikes["unit"] == u)] / ticks for e, u in pairs}


def read_neuralynx(n_wires):
    def read(path):
        kind = [("time", "<u8"), ("wire", "<u4"), ("unit", "<u4"), ("rest", "u1", 32 + 64 * n_wires)]
        records = np.fromfile(path, np.dtype(kind), offset=16384)
        return {f"{path.stem}#{u}": records["time"][records["unit"] == u] / 1e6 for u in np.unique(records["unit"])}

    return read


def read_nex(path):
    content = path.read_bytes()
    n_variables = int(np.frombuffer(content[280:284], "<i4")[0])
    found = {}
    for i in range(n_variables):
        head = content[544 + 208 * i : 544 + 208 * (i + 1)]
        kind, offset, count = (int(np.frombuffer(head[a : a + 4], "<i4")[0]) for a in (0, 72, 76))
        if kind == 0:
            name = head[8:72].split(b"\0")[0].decode()
            found[name] = np.frombuffer(content, "<i4", count, offset) / 40000
    return found


def read_cell_explorer(path):
    spikes = scipy.io.loadmat(path)["spikes"][0, 0]
    names = spikes["UID"].ravel()
    return {str(name): times.ravel() for name, times in zip(names, spikes["times"].ravel(), strict=True)}


def read_units(path):
    with h5py.File(path) as file:
        ends = file["units/spike_times_index"][()]
        times = np.split(file["units/spike_times"][()], ends[:-1])
        return {str(name): t for name, t in zip(file["units/id"][()], times, strict=True)}


def read_by_neo(name):
    def read(path):
        import neo

        trains = getattr(neo.io, name)(str(path)).read_block().segments[0].spiketrains
        return {i: train.rescale("s").magnitude for i, train in enumerate(trains)}

    return read


FILES = {
    "phy": (read_phy, 400, 378_424),
    "blackrock/file_spec_3_0.nev": (read_nev, 10, 864),
    "blackrock/l101210-001.nev": (read_nev, 218, 14_210),
    "neuralynx/STet3a.nse": (read_neuralynx(1), 1, 1_398),
    "neuralynx/TT1.ntt": (read_neuralynx(4), 1, 5_699),
    "neuroexplorer/File_neuroexplorer_1.nex": (read_nex, 6, 45_437),
    "plexon/File_plexon_1.plx": (read_by_neo("PlexonIO"), 4, 24_717),
    "spike2/File_spike2_1.smr": (read_by_neo("Spike2IO"), 15, 247),
    "nwb/ecephys_tutorial_v2.5.0.nwb": (read_units, 10, 195),
    "cellexplorer/Peter_MS22_180629_110319_concat_stubbed.spikes.cellinfo.mat": (read_cell_explorer, 3, 5_612),
    "cellexplorer/20170311_684um_2088um_170311_134350.spikes.cellinfo.mat": (read_cell_explorer, 6, 569),
}
"""How each is read without neurofs, and how many channels and spikes it has."""

SORTED = {
    "blackrock/file_spec_3_0.nev": (3, 108),
    "blackrock/l101210-001.nev": (122, 5_248),
    "spike2/File_spike2_1.smr": (14, 225),
}
"""Of those that have unsorted spikes beside sorted ones: what is left by default."""

OPTIONS = {"phy": {"sampling_rate": 30000}} | {name: {"unsorted": True} for name in SORTED}


@pytest.mark.parametrize("name", FILES)
def test_every_spike_of_a_real_file(formats, tmp_path, name):
    read, n_channels, n_spikes = FILES[name]
    expected = read(formats / name)
    recording = load(formats / name, **OPTIONS.get(name, {}))
    assert (recording.n_channels, recording.n_spikes) == (n_channels, n_spikes)
    assert sum(map(len, expected.values())) == n_spikes
    for channel, times, (key, own) in zip(recording.channels["name"], recording.spikes, expected.items(), strict=True):
        assert isinstance(key, int) or channel == key
        np.testing.assert_allclose(times, own, rtol=0, atol=1e-9)
    check_tensor(formats / name, tmp_path, list(expected.values()), OPTIONS.get(name, {}))


def check_tensor(path, tmp_path, expected, options):
    """The tensor with behavior from another file has every spike, in the bin of its time."""
    first, last = min(t[0] for t in expected if len(t)), max(t[-1] for t in expected if len(t))
    time = np.linspace(first - 1, last + 1, 2000)
    np.savez(tmp_path / "behavior.npz", time=time, velocity=np.sin(time))
    recording = load(path, behavior_file=str(tmp_path / "behavior.npz"), **options)
    width = 0.1 if last - first < 1000 else 1.0
    tensor = build_tensor(recording, "velocity", bin_width=width, n_lags=2)
    counts = tensor["counts"].values
    assert counts.shape[1] == len(expected)
    assert counts.sum() == sum(map(len, expected))
    origin = tensor["time"].values[0]
    for column, times in zip(counts.T, expected, strict=True):
        bins = np.rint((times - origin) * 1e9).astype(np.int64) // round(width * 1e9)
        np.testing.assert_array_equal(column, np.bincount(bins, minlength=len(column)))


@pytest.mark.parametrize("name", FILES)
def test_inspect_of_a_real_file(formats, name):
    rate = ["--sampling-rate", "30000"] if name == "phy" else []
    unsorted = ["--unsorted"] if name in SORTED else []
    found = CliRunner().invoke(main, ["inspect", str(formats / name), "--json", *rate, *unsorted])
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["channels"]["n_spikes"] == FILES[name][2]
    assert found.stderr == ""


@pytest.mark.parametrize("name", FILES)
def test_a_real_file_raises_no_false_alarm(formats, name):
    options = {"sampling_rate": 30000} if name == "phy" else {}
    assert not [remark for remark in find_remarks(load(formats / name, **options)) if remark.serious]


def test_no_real_file_is_forgotten(formats):
    files = {f.relative_to(formats).as_posix() for f in formats.rglob("*") if f.is_file() and f.suffix != ".md"}
    known = {name for name in files if name.startswith("phy/")} | set(FILES) | {"neuralynx/Events.nev"}
    assert files == known - {"phy"}


@pytest.mark.parametrize("name", SORTED)
def test_unsorted_spikes_beside_sorted_ones_are_left_out(formats, name):
    recording = load(formats / name)
    assert (recording.n_channels, recording.n_spikes) == SORTED[name]
    sorted_ones = [len(t) for key, t in FILES[name][0](formats / name).items() if str(key)[-2:] not in ("#0", "55")]
    assert name.endswith(".smr") or (len(sorted_ones), sum(sorted_ones)) == SORTED[name]


def test_what_phy_knows_of_clusters(formats):
    table = load(formats / "phy", sampling_rate=30000).channels
    assert table["quality"].value_counts().to_dict() == {"mua": 260, "good": 140}
    noise = load(formats / "phy", sampling_rate=30000, channels="quality == 'noise'")
    assert (noise.n_channels, noise.n_spikes) == (4, 379_321 - 378_424)


def test_events_of_neuralynx_are_not_blackrocks(formats):
    found = CliRunner().invoke(main, ["inspect", str(formats / "neuralynx" / "Events.nev")])
    assert found.exit_code == 2
    assert found.output == (
        "neurofs: Events.nev: content: expected spikes of Blackrock; found events of Neuralynx, which hold no spikes. "
        "Name the .nse, .nst or .ntt files of the recording, or their folder.\n"
    )


def test_a_folder_of_neuralynx(formats, tmp_path):
    recording = load(formats / "neuralynx")
    assert recording.channels["name"].tolist() == ["STet3a#0", "TT1#0"]
    assert recording.spike_counts.tolist() == [1_398, 5_699]
    whole = (formats / "neuralynx" / "TT1.ntt").read_bytes()
    (tmp_path / "cut.ntt").write_bytes(whole[: 16384 + 304 * 10 + 7])
    cut = load(tmp_path / "cut.ntt")
    assert cut.n_spikes == 10
    assert any("the last record is incomplete (7 bytes) and left out" in note for note in cut.notes)
    for name, content, message in (
        ("other.ntt", b"\x1b[31mno" * 9000, r"a file of Neuralynx; found b'"),
        ("empty.ntt", whole[:16384], "expected spikes; found a header alone"),
        ("TT1.nse", whole, "expected 112 bytes each; found 304 bytes, as its header says"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=message):
            load(tmp_path / name)


def test_signals_of_neuroexplorer_keep_their_pauses(formats, tmp_path):
    path = formats / "neuroexplorer" / "File_neuroexplorer_1.nex"
    series = load(path).behavior["ContChannel02"]
    assert len(series.time) == 70_031
    np.testing.assert_allclose(
        series.time[[0, 21250, 21251, 41658, 57654]], [0.015475, 10.640475, 15.516475, 34.862475, 47.922975]
    )
    shutil.copy(path, tmp_path / "a.nex")
    with open(tmp_path / "a.nex", "r+b") as file:
        file.seek(544 + 208 * 15 + 128)
        file.write(b"\xff\xff\xff\x7f")
    with pytest.raises(InputError, match=r"^a\.nex: "):
        load(tmp_path / "a.nex")
