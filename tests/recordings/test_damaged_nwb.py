"""Damaged and hostile NWB files: each is answered with one line that names file, object, fault and remedy."""

import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

from neurofs.ground.errors import NeurofsError
from neurofs.recordings.readers import load
from neurofs.recordings.simulate import simulate_session
from neurofs.recordings.writers import write


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("nwb") / "good.nwb"
    return write(simulate_session(3, n_electrodes=1, random_state=5), path).read_bytes()


def replace(name, value):
    """Return an edit that puts another data set in the place of one."""

    def edit(file):
        del file[name]
        file[name] = value

    return edit


def delete(name):
    def edit(file):
        del file[name]

    return edit


def link(name, target):
    def edit(file):
        del file[name]
        file[name] = target

    return edit


def attribute(name, key, value):
    def edit(file):
        file[name].attrs[key] = value

    return edit


def change(name, position, value):
    def edit(file):
        file[name][position] = value

    return edit


def store_outside(file):
    del file["units/spike_times"]
    file["units"].create_dataset("spike_times", (10,), "f8", external=[("/etc/passwd", 0, 80)])


def declare_too_much(file):
    del file["units/spike_times"]
    file["units"].create_dataset("spike_times", (10**9,), "f8", chunks=(1000,))


def declare_more_than_memory(file):
    del file["units/spike_times"]
    file["units"].create_dataset("spike_times", (10**15,), "f8", chunks=(1000,))


def virtual_spikes(file):
    layout = h5py.VirtualLayout((10,), "f8")
    layout[:] = h5py.VirtualSource("/etc/other.h5", "spikes", (10,))
    del file["units/spike_times"]
    file["units"].create_virtual_dataset("spike_times", layout)


def break_chunk(file):
    times = file["units/spike_times"][()]
    del file["units/spike_times"]
    d = file["units"].create_dataset("spike_times", times.shape, "f8", chunks=(len(times),), compression="gzip")
    d.id.write_direct_chunk((0,), b"this is not a deflate stream")


def zero_units(file):
    for name in list(file["units"]):
        shape = (0, 2) if name == "obs_intervals" else (0,)
        kind = file["units"][name].dtype if file["units"][name].dtype.kind != "O" else "i4"
        del file["units"][name]
        file["units"].create_dataset(name, shape, kind)


def no_spikes(file):
    n = len(file["units/spike_times_index"])
    replace("units/spike_times", np.empty(0))(file)
    replace("units/spike_times_index", np.zeros(n, dtype=int))(file)


def two_steps(file):
    """A link within the file whose way leads through another one."""
    shutil.copy(file.filename, Path(file.filename).with_name("other.nwb"))
    del file["units"]
    file["x"] = h5py.ExternalLink("other.nwb", "/")
    file["units"] = h5py.SoftLink("/x/units")


def external_step(file):
    file["far"] = h5py.ExternalLink("raw.h5", "/")


def round_in_circles(file):
    """Twelve hard links of a group to itself: 12 ** depth ways."""
    group = file.create_group("processing/circles")
    for i in range(12):
        group[f"again{i}"] = group


def borrow_electrodes(file):
    with h5py.File(Path(file.filename).with_name("other.nwb"), "w") as other:
        other["extracellular_ephys/electrodes/id"] = np.arange(4)
        other["extracellular_ephys/electrodes/secret"] = ["a", "b", "c", "d"]
    if "general" in file:
        del file["general"]
    file["general"] = h5py.ExternalLink("other.nwb", "/")


HAND = "processing/behavior/hand_velocity_container/hand_velocity"
DAMAGE = {
    "no version": (lambda f: f.attrs.__delitem__("nwb_version"), ["an NWB 2 file; found one without", ".h5"]),
    "version 1": (lambda f: f.attrs.__setitem__("nwb_version", "NWB-1.0.6"), ["found version NWB-1.0.6", "Convert"]),
    "no units": (delete("units"), ["/units: expected a table of units; found none"]),
    "units is a number": (replace("units", 3), ["/units: expected a table of units"]),
    "units elsewhere": (link("units", h5py.ExternalLink("/etc/x.h5", "/units")), ["an external link to /etc/x.h5"]),
    "units elsewhere by two steps": (two_steps, ["an external link to other.nwb"]),
    "units lead nowhere": (link("units", h5py.SoftLink("/gone")), ["/units", "a link to /gone, which leads nowhere"]),
    "no spike times": (delete("units/spike_times"), ["/units: expected a column spike_times"]),
    "no index": (delete("units/spike_times_index"), ["spike_times_index: expected the index of a ragged column"]),
    "index too long": (change("units/spike_times_index", -1, 10**6), ["rises to the end", "ends at 1000000 of"]),
    "index falls": (change("units/spike_times_index", 0, 10**6), ["rises to the end; found one that falls"]),
    "index of text": (replace("units/spike_times_index", ["a", "b"]), ["a data set of numbers"]),
    "spikes of text": (
        replace("units/spike_times", ["a", "b"]),
        ["/units/spike_times: expected a data set of numbers"],
    ),
    "spikes as a group": (lambda f: (delete("units/spike_times")(f), f.create_group("units/spike_times")), ["group"]),
    "spikes stored outside": (store_outside, ["data stored in this file; found virtual or external storage"]),
    "virtual spikes": (virtual_spikes, ["data stored in this file; found virtual or external storage"]),
    "declared, not stored": (declare_too_much, ["as much data as it declares", "declared and 0 stored"]),
    "more than memory": (declare_more_than_memory, ["as much data as it declares", "0,000 bytes"]),
    "broken chunk": (break_chunk, ["/units/spike_times: expected data that can be read"]),
    "no units at all": (zero_units, ["channels: expected at least one channel; found none"]),
    "no spikes at all": (no_spikes, ["spikes: expected at least one spike"]),
    "NaN spike": (change("units/spike_times", 3, np.nan), ["channel '1", "finite spike times; found nan at position"]),
    "unsorted": (change("units/spike_times", 0, 9.99), ["increasing order", "--sort-spikes"]),
    "wrong number of ids": (replace("units/id", [1, 2]), ["/units/id: expected 4 ids, one per unit; found 2"]),
    "intervals of one column": (
        lambda f: replace("units/obs_intervals", f["units/obs_intervals"][:, 0])(f),
        ["/units/obs_intervals: expected start and stop times of each unit"],
    ),
    "intervals backwards": (change("units/obs_intervals", 0, [5.0, 1.0]), ["obs_intervals: expected at least half"]),
    "times too few": (
        lambda f: (delete(f"{HAND}/starting_time")(f), f.__setitem__(f"{HAND}/timestamps", np.arange(5.0))),
        ["hand_velocity: expected one timestamp per sample; found 5 timestamps for"],
    ),
    "times fall": (
        lambda f: (
            delete(f"{HAND}/starting_time")(f),
            f.__setitem__(f"{HAND}/timestamps", -np.arange(float(len(f[f"{HAND}/data"])))),
        ),
        ["series 'hand_velocity': expected timestamps that increase"],
    ),
    "rate of zero": (attribute(f"{HAND}/starting_time", "rate", 0.0), ["a time and a rate above 0 Hz; found rate 0"]),
    "rate of text": (attribute(f"{HAND}/starting_time", "rate", "fast"), ["attribute rate: expected a number"]),
    "conversion of text": (attribute(f"{HAND}/data", "conversion", "cm"), ["attribute conversion: expected a number"]),
    "infinite velocity": (change(f"{HAND}/data", 0, np.inf), ["finite numbers or NaN; found infinity"]),
    "no stop": (delete("intervals/trials/stop_time"), ["columns start_time and stop_time", "--no-trials"]),
    "too few stops": (replace("intervals/trials/stop_time", [1.0]), ["one stop per start; found 1 stops for 3 starts"]),
    "trial ends first": (change("intervals/trials/stop_time", 1, 0.1), ["trials, row 1", "--no-trials"]),
    "trial without end": (change("intervals/trials/stop_time", 1, np.inf), ["trials", "--no-trials"]),
    "trials elsewhere": (link("intervals/trials", h5py.ExternalLink("x.h5", "/")), ["an external link to x.h5"]),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_named_in_one_line(tmp_path, good, kind):
    path = tmp_path / "session.nwb"
    path.write_bytes(good)
    edit, fragments = DAMAGE[kind]
    with h5py.File(path, "a") as file:
        edit(file)
    with pytest.raises(NeurofsError) as error:
        load(path)
    message = str(error.value)
    assert message.startswith("session.nwb: "), message
    assert "\n" not in message
    assert error.value.exit_code == 2
    for fragment in fragments:
        assert fragment in message


@pytest.mark.parametrize("length", [0, 4, 100, 1000, 5000])
def test_truncated_files(tmp_path, good, length):
    path = tmp_path / "session.nwb"
    path.write_bytes(good[:length])
    with pytest.raises(NeurofsError, match=r"^session\.nwb: expected"):
        load(path)


@pytest.mark.parametrize(
    "edit",
    [
        lambda f: f["processing/behavior"].__setitem__("again", h5py.SoftLink("/processing/behavior")),
        lambda f: f["processing/behavior"].__setitem__("hard", f["processing"]),
        lambda f: f["acquisition"].__setitem__("raw", h5py.ExternalLink("raw.h5", "/")),
        lambda f: f["units"].__setitem__("far", h5py.ExternalLink("raw.h5", "/")),
        lambda f: f["acquisition"].__setitem__("raw", h5py.SoftLink("/far/away")) or external_step(f),
        borrow_electrodes,
        round_in_circles,
        lambda f: f["processing"].__setitem__("pictures", h5py.Empty("f4")),
        lambda f: f[HAND].attrs.__setitem__("neurodata_type", "SomethingNew"),
    ],
    ids=[
        "soft cycle",
        "hard cycle",
        "raw data elsewhere",
        "column elsewhere",
        "raw by two steps",
        "electrodes elsewhere",
        "many cycles",
        "empty",
        "extension",
    ],
)
def test_what_is_not_needed_does_not_matter(tmp_path, good, edit):
    path = tmp_path / "session.nwb"
    path.write_bytes(good)
    with h5py.File(path, "a") as file:
        edit(file)
    r = load(path)
    assert r.n_channels == 4
    assert "secret" not in r.channels
    assert any("hand_velocity" in name for name in r.behavior)


def test_hostile_names_are_data_and_never_reach_the_terminal_raw(tmp_path, good):
    path = tmp_path / "session.nwb"
    path.write_bytes(good)
    name = "\x1b]0;owned\x07<script>alert(1)</script>"
    with h5py.File(path, "a") as file:
        file.move(HAND, f"processing/behavior/{name}".replace("</", "<|"))
        file["units/unit_name"][0] = name
        file["units/spike_times"][0] = 9.99
    with pytest.raises(NeurofsError) as error:
        load(path)
    assert "\x1b" not in str(error.value)
    r = load(path, sort_spikes=True)
    assert r.channels["name"][0] == name
