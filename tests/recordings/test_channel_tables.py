"""Channels chosen by what a file knows of them, in every format and through session files."""

import numpy as np
import pandas as pd
import pytest
import scipy.io
from writers import write_h5, write_mat73, write_nev, write_npz, write_text

from neurofs.ground.errors import InputError
from neurofs.recordings.readers import load
from neurofs.recordings.readers.blackrock import read_labels
from neurofs.recordings.recording import Recording, Series
from neurofs.recordings.writers import write

RNG = np.random.default_rng(3)
SPIKES = [np.sort(RNG.uniform(0, 100, n)) for n in (400, 20, 400, 400, 400)]  # the second is below 0.5 Hz
QUALITY, AREA = ["good", "good", "mua", "good", "noise"], ["M1", "M1", "M1", "PMd", "M1"]
CHOICE = "quality == 'good' and rate > 0.5 and area == 'M1'"
TIME = np.arange(0, 100, 0.1)
VELOCITY = np.column_stack([np.sin(TIME), np.cos(1.3 * TIME)])
COUNTS = np.column_stack([np.histogram(s, np.arange(0, 100.05, 0.1))[0] for s in SPIKES])
FLAT = {"counts": COUNTS, "bin_width": 0.1, "velocity": VELOCITY}


def npz(folder):
    return write_npz(folder / "m.npz", **FLAT, channel_quality=QUALITY, channel_area=AREA)


def h5(folder):
    return write_h5(folder / "m.h5", **FLAT, units__quality=QUALITY, units__brain_area=AREA)


def mat5(folder):
    entries = [{"ts": s, "quality": q, "area": a} for s, q, a in zip(SPIKES, QUALITY, AREA, strict=True)]
    scipy.io.savemat(folder / "m.mat", {"units": entries, "velocity": VELOCITY, "t": TIME})
    return folder / "m.mat"


def mat73(folder):
    return write_mat73(folder / "m.mat", **FLAT, quality=QUALITY, region=AREA)


def nwb(folder):
    table = pd.DataFrame({"quality": QUALITY, "location": AREA})
    series = Series("hand_velocity", TIME, VELOCITY)
    return write(Recording("m", spikes=SPIKES, channels=table, behavior={"v": series}), folder / "m.nwb")


def csv(folder):
    pd.DataFrame(COUNTS, columns=list("abcde")).assign(time=TIME).to_csv(folder / "m_counts.csv", index=False)
    pd.DataFrame(VELOCITY, columns=["v_x", "v_y"]).assign(time=TIME).to_csv(folder / "m_behavior.csv", index=False)
    table = pd.DataFrame({"name": list("edcba"), "quality": QUALITY[::-1], "area": AREA[::-1]})
    table.to_csv(folder / "m_channels.csv", index=False)
    return folder / "m_counts.csv"


def phy(folder):
    ticks, clusters = np.concatenate(SPIKES) * 30_000, np.repeat(np.arange(5), [len(s) for s in SPIKES])
    order = np.argsort(ticks, kind="stable")
    np.save(folder / "spike_times.npy", np.rint(ticks[order]).astype(np.int64))
    np.save(folder / "spike_clusters.npy", clusters[order].astype(np.int32))
    write_text(folder / "params.py", "sample_rate = 30000.0\n")
    for name, values in (("group", QUALITY), ("area", AREA)):
        lines = [f"cluster_id\t{name}", *(f"{i}\t{value}" for i, value in enumerate(values))]
        write_text(folder / f"cluster_{name}.tsv", "\n".join(lines) + "\n")
    return folder


FORMATS = [npz, h5, mat5, mat73, nwb, csv, phy]


@pytest.mark.parametrize("make", FORMATS, ids=lambda make: make.__name__)
def test_channels_are_chosen_by_what_the_file_knows(make, tmp_path):
    path = make(tmp_path)
    whole, part = load(path), load(path, channels=CHOICE)
    assert whole.n_channels == 4, "noise is left out"
    assert part.n_channels == 1
    assert part.n_spikes == pytest.approx(400, abs=1)
    assert any("chosen by quality == 'good'" in note for note in part.notes)


@pytest.mark.parametrize("make", [npz, nwb, csv], ids=lambda make: make.__name__)
def test_the_same_from_a_session_file(make, tmp_path):
    name = make(tmp_path).name
    text = f'file = "{name}"\nchannels = "{CHOICE}"\n'
    assert load(write_text(tmp_path / "m.toml", text)).n_channels == 1
    kept = load(write_text(tmp_path / "m.toml", f'file = "{name}"\nunsorted = true\n'))
    assert kept.n_channels == 5


def test_labels_of_blackrock(tmp_path):
    path = write_nev(tmp_path / "m.nev", [(3000, 1, 1), (6000, 2, 1)])
    data = path.read_bytes()
    assert read_labels(path) == {}
    label = b"NEUEVLBL" + (2).to_bytes(2, "little") + b"elec1-2".ljust(16, b"\0") + bytes(6)
    n_extended = int.from_bytes(data[332:336], "little")
    start = int.from_bytes(data[12:16], "little")
    head = data[:12] + (start + 32).to_bytes(4, "little") + data[16:332] + (n_extended + 1).to_bytes(4, "little")
    path.write_bytes(head + data[336:start] + label + data[start:])
    assert read_labels(path) == {2: "elec1-2"}
    pytest.importorskip("neo", reason="the optional package neo is not installed")
    assert load(path).channels["label"].tolist() == ["", "elec1-2"]
    assert load(path, channels="label == 'elec1-2' and electrode == 2").n_channels == 1


def test_a_table_of_channels_that_does_not_fit_is_refused(tmp_path):
    path = csv(tmp_path)
    write_text(tmp_path / "m_channels.csv", "name,area\na,M1\nz,M1\n")
    with pytest.raises(InputError, match=r"m_channels.csv: column 'name': expected names of channels.*'z'"):
        load(path)
    write_text(tmp_path / "m_channels.csv", "name,area\na,M1\n")
    assert load(path, channels="area == 'M1'").channels["name"].tolist() == ["a"], "a missing value fulfills no test"
