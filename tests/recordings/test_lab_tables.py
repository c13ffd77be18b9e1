"""Tables and cells as labs have them: written by Excel, pandas and MATLAB, and read as they were meant."""

import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.io
from writers import write_mat73, write_text

from neurofs.ground.errors import InputError
from neurofs.recordings.checks import find_remarks
from neurofs.recordings.readers import load

RNG = np.random.default_rng(11)
WIDTH, N = 0.05, 400
BINS = np.round(WIDTH * np.arange(N), 3)
COUNTS = RNG.poisson(1.0, (N, 3))
VELOCITY = np.column_stack([np.sin(BINS), np.cos(1.3 * BINS)])
SPIKES = [np.round(np.sort(RNG.uniform(0, 20, n)), 4) for n in (80, 60, 40)]


def counts_table(**columns):
    return pd.DataFrame({"time": BINS, **{f"n{i}": COUNTS[:, i] for i in range(3)}, **columns})


def spikes_table(time="time", channel="channel", scale=1.0):
    parts = [pd.DataFrame({channel: i, time: np.round(times * scale, 6)}) for i, times in enumerate(SPIKES)]
    return pd.concat(parts, ignore_index=True)


def behavior_table(time="time", scale=1.0):
    return pd.DataFrame({time: np.round(BINS * scale, 6), "hand_x": VELOCITY[:, 0], "hand_y": VELOCITY[:, 1]})


def save(folder, spikes, behavior=None, end="spikes", **how):
    how = {"index": False} | how
    (behavior_table() if behavior is None else behavior).to_csv(folder / "m_behavior.csv", **how)
    spikes.to_csv(folder / f"m_{end}.csv", **how)
    return folder / f"m_{end}.csv"


def check_counts(recording):
    np.testing.assert_array_equal(recording.counts, COUNTS)
    assert recording.channels["name"].tolist() == ["n0", "n1", "n2"]
    np.testing.assert_allclose(recording.behavior["hand"].values, VELOCITY, atol=1e-12)


def check_spikes(recording):
    assert recording.channels["name"].tolist() == ["0", "1", "2"]
    for times, own in zip(recording.spikes, SPIKES, strict=True):
        np.testing.assert_allclose(times, own, rtol=0, atol=2e-9)  # pandas cuts to nanoseconds
    np.testing.assert_allclose(recording.behavior["hand"].time, BINS, atol=1e-9)


# Written by Excel


def test_decimal_commas_between_semicolons(tmp_path):
    recording = load(save(tmp_path, counts_table(), end="counts", sep=";", decimal=","))
    check_counts(recording)
    assert "m_counts.csv: commas are read as decimal marks" in recording.notes


def test_what_may_be_thousands_is_no_decimal_comma(tmp_path):
    write_text(tmp_path / "m_behavior.csv", "x\n1\n2\n")
    path = write_text(tmp_path / "m_counts.csv", "a;b\n1,000;1\n2,000;0\n")
    with pytest.raises(InputError, match=r"line 2, column 'a': expected a number; found '1,000'"):
        load(path, counts_bin_width=0.1)
    path = write_text(tmp_path / "m_counts.csv", "a;b\n1,5;1\n2.5;0\n")
    with pytest.raises(InputError, match=r"line 2, column 'a': expected a number; found '1,5'"):
        load(path, counts_bin_width=0.1)


def test_tabs_and_times_of_a_clock(tmp_path):
    spikes_table().to_csv(tmp_path / "m_spikes.tsv", sep="\t", index=False)
    behavior_table().to_csv(tmp_path / "m_behavior.tsv", sep="\t", index=False)
    check_spikes(load(tmp_path / "m_spikes.tsv"))
    write_text(tmp_path / "m_behavior.tsv", "time\tx\n00:00.5\t1\n00:01.0\t2\n")
    with pytest.raises(InputError, match=r"found '00:00\.5'\. Write times in seconds\."):
        load(tmp_path / "m_spikes.tsv")


# Written by pandas


def test_an_index_without_a_name_is_no_channel(tmp_path):
    recording = load(save(tmp_path, counts_table(), end="counts", index=True, encoding="utf-8-sig"))
    check_counts(recording)
    assert "m_counts.csv: the first column, which has no name, is an index and left out" in recording.notes
    check_spikes(load(save(tmp_path, spikes_table().sort_values("time"), index=True)))


def test_times_without_a_name_are_asked_for(tmp_path):
    nameless = counts_table().set_index("time").rename_axis(None)
    with pytest.raises(
        InputError, match=r"line 1: expected a name for each column; found none for the first\. Name it"
    ):
        load(save(tmp_path, nameless, end="counts", index=True))
    nameless.to_parquet(tmp_path / "m_counts.parquet")
    behavior_table().to_parquet(tmp_path / "m_behavior.parquet")
    with pytest.raises(InputError, match="expected a name for each column"):
        load(tmp_path / "m_counts.parquet")


@pytest.mark.parametrize(
    ("time", "channel"),
    [("spike_time", "unit_id"), ("Time (s)", "Unit"), ("t", "cluster_id"), ("timestamps", "cell_id")],
)
def test_names_that_columns_have(tmp_path, time, channel):
    check_spikes(load(save(tmp_path, spikes_table(time, channel), behavior_table("Time (s)"))))


@pytest.mark.parametrize(
    ("name", "scale"), [("time_ms", 1e3), ("Time (ms)", 1e3), ("t [us]", 1e6), ("spike_time_ms", 1e3)]
)
def test_the_unit_that_a_name_states(tmp_path, name, scale):
    recording = load(save(tmp_path, spikes_table(name, scale=scale), behavior_table("time_ms", 1e3)))
    check_spikes(recording)
    assert any("to make seconds" in note for note in recording.notes)
    given = load(save(tmp_path, spikes_table("time_ms", scale=1e3), behavior_table("time_ms", 1e3)), time_unit="ms")
    check_spikes(given)  # what the user says is not done twice


def test_trials_in_milliseconds(tmp_path):
    pd.DataFrame({"start_ms": [0, 5000], "stop_ms": [4000, 9000]}).to_csv(tmp_path / "m_trials.csv", index=False)
    assert load(save(tmp_path, spikes_table())).trials.to_numpy().tolist() == [[0.0, 4.0], [5.0, 9.0]]


def test_a_line_for_each_channel_at_each_time(tmp_path):
    long = counts_table().melt("time", var_name="unit", value_name="count")
    check_counts(load(save(tmp_path, long, end="counts")))
    with pytest.raises(InputError, match="one line for each channel at each time; found 1,199 lines for 400 times"):
        load(save(tmp_path, long.iloc[1:], end="counts"))


def test_parquet_with_categories_and_durations(tmp_path):
    spikes = spikes_table()
    spikes = spikes.assign(time=pd.to_timedelta(spikes["time"], unit="s"), channel=spikes["channel"].astype("category"))
    spikes.to_parquet(tmp_path / "m_spikes.parquet")
    behavior_table().set_index("time").to_parquet(tmp_path / "m_behavior.parquet")
    check_spikes(load(tmp_path / "m_spikes.parquet"))


# Amplitudes


def test_threshold_crossings_are_divided_by_their_amplitudes(tmp_path):
    spikes = spikes_table().assign(amplitude=-RNG.gamma(3, 10, 180))
    recording = load(save(tmp_path, spikes), amplitude_bands=2)
    assert recording.channels["name"].tolist() == ["0:1", "0:2", "1:1", "1:2", "2:1", "2:2"]
    assert recording.spike_counts.tolist() == [40, 40, 30, 30, 20, 20]
    small = spikes[(spikes["channel"] == 0) & (spikes["amplitude"].abs() < spikes["amplitude"][:80].abs().median())]
    np.testing.assert_allclose(recording.spikes[0], small["time"])
    assert load(tmp_path / "m_spikes.csv").spike_counts.tolist() == [80, 60, 40]
    with pytest.raises(InputError, match="an amplitude for each spike; found none"):
        load(save(tmp_path, spikes_table()), amplitude_bands=2)


def test_amplitudes_of_cells_and_of_phy(tmp_path):
    cells, sizes = np.empty(3, object), np.empty(3, object)
    cells[:], sizes[:] = SPIKES, [np.arange(len(times)) for times in SPIKES]
    scipy.io.savemat(tmp_path / "a.mat", {"spikes": cells, "spike_amplitudes": sizes})
    recording = load(tmp_path / "a.mat", amplitude_bands=4)
    np.testing.assert_array_equal(recording.spikes[4], SPIKES[1][:15])
    folder = tmp_path / "phy"
    folder.mkdir()
    np.save(folder / "spike_times.npy", np.arange(10, dtype=np.uint64)[:, None] * 100)
    np.save(folder / "spike_clusters.npy", np.repeat([3, 7], 5))
    np.save(folder / "amplitudes.npy", np.tile(np.arange(5.0), 2)[:, None])
    write_text(folder / "params.py", "sample_rate = 1000.; hp_filtered = False\n")
    recording = load(folder, amplitude_bands=2)
    assert [times.tolist() for times in recording.spikes] == [[0.0, 0.1], [0.2, 0.3, 0.4], [0.5, 0.6], [0.7, 0.8, 0.9]]


# Cells of MATLAB

EDGES = np.arange(0, 20.1, 2.0)
TRIALS = [(times[(times >= a) & (times < a + 2)] - a)[:, None] for a in EDGES[:-1] for times in SPIKES]


def cells_of(values, *shape):
    found = np.empty(len(values), object)
    found[:] = values
    return found.reshape(shape)


VELOCITIES = list(VELOCITY.reshape(10, 40, 2))


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("version", ["5", "7.3", "cells in cells"])
def test_cells_of_trials_by_channels(tmp_path, turned, version):
    cells = cells_of(TRIALS, 10, 3)
    cells = cells.T if turned else cells
    cells = (
        cells if "." in version or version == "5" else cells_of([cells_of(row, len(row)) for row in cells], len(cells))
    )
    if version != "7.3":
        values = {"spikes": cells, "vel": cells_of(VELOCITIES, 10), "dt": WIDTH, "side": np.arange(10)[:, None] % 2}
        scipy.io.savemat(tmp_path / "a.mat", values)
    else:
        write_mat73(tmp_path / "a.mat", spikes=cells, vel=VELOCITIES, dt=WIDTH, side=np.arange(10)[:, None] % 2)
    recording = load(tmp_path / "a.mat")
    assert recording.n_channels == 3
    for times, own in zip(recording.spikes, SPIKES, strict=True):
        np.testing.assert_allclose(times, own, atol=1e-9)
    np.testing.assert_array_equal(recording.behavior["vel"].values, VELOCITY)
    np.testing.assert_allclose(recording.trials["start"], EDGES[:-1])
    assert recording.trials["side"].tolist() == [0, 1] * 5


def test_cells_of_which_nothing_tells_what_they_are(tmp_path):
    scipy.io.savemat(tmp_path / "a.mat", {"spikes": cells_of(TRIALS, 10, 3), "dt": WIDTH})
    with pytest.raises(InputError, match="whether they are trials or channels; found 10 × 3 cells"):
        load(tmp_path / "a.mat")


def test_a_matrix_of_counts_for_each_trial(tmp_path):
    values = {"counts": cells_of(list(COUNTS.reshape(10, 40, 3)), 10), "vel": cells_of(VELOCITIES, 10), "dt": WIDTH}
    scipy.io.savemat(tmp_path / "a.mat", values)
    recording = load(tmp_path / "a.mat", orientation="time-by-channel")
    np.testing.assert_array_equal(recording.counts, COUNTS)
    assert len(recording.trials) == 10


def test_trial_structs_with_times_of_their_own(tmp_path):
    """Spikes and samples of a trial keep one clock, whose zero may be an event within the trial."""
    kind = [("spikes", object), ("vel", object), ("t", object)]
    structs = np.empty(10, kind)
    for i in range(10):
        times = [TRIALS[3 * i + c] - 0.5 for c in range(3)]
        structs[i] = (cells_of(times, 3), VELOCITIES[i], np.arange(40)[:, None] * WIDTH - 0.5)
    scipy.io.savemat(tmp_path / "a.mat", {"trials": structs})
    recording = load(tmp_path / "a.mat")
    for times, own in zip(recording.spikes, SPIKES, strict=True):
        np.testing.assert_allclose(times, own, atol=1e-9)
    structs[4]["t"] = structs[4]["t"] * 1.5
    scipy.io.savemat(tmp_path / "a.mat", {"trials": structs})
    with pytest.raises(InputError, match=r"'t': expected times in steps of one length; found 0\.075 beside 0\.05"):
        load(tmp_path / "a.mat")


# Units and numbers of MATLAB


def test_spikes_in_milliseconds_beside_behavior_in_seconds(tmp_path):
    values = {"spikes": cells_of([1000 * times for times in SPIKES], 3), "time": BINS, "vel": VELOCITY}
    scipy.io.savemat(tmp_path / "a.mat", values)
    recording = load(tmp_path / "a.mat", time_unit="ms")
    np.testing.assert_allclose(recording.behavior["vel"].time, BINS)
    assert "behavior: times of 'vel' are in seconds, unlike those of the spikes" in recording.notes
    scipy.io.savemat(tmp_path / "a.mat", values | {"time": 1000 * BINS})
    np.testing.assert_allclose(load(tmp_path / "a.mat", time_unit="ms").behavior["vel"].time, BINS)


def test_trials_that_number_the_samples_of_behavior(tmp_path):
    starts = np.arange(1, 400, 40)
    values = {"spikes": cells_of(SPIKES, 3), "time": BINS, "vel": VELOCITY}
    values |= {"trialStart": starts, "trialEnd": starts + 39}
    scipy.io.savemat(tmp_path / "a.mat", values)
    with pytest.raises(
        InputError, match=r"'trialStart': expected trial starts in seconds; found whole numbers up to 361"
    ):
        load(tmp_path / "a.mat")
    trials = load(tmp_path / "a.mat", trial_unit="bin").trials
    np.testing.assert_allclose(trials["start"], EDGES[:-1])
    np.testing.assert_allclose(trials["stop"], EDGES[1:])


def test_a_table_is_not_turned_by_as_many_columns_as_channels(tmp_path):
    time = np.arange(900) * 0.02
    np.savez(tmp_path / "a.npz", counts=COUNTS[:, :2], bin_width=WIDTH, velocity=np.ones((900, 2)), velocity_time=time)
    recording = load(tmp_path / "a.npz")
    assert recording.counts.shape == (N, 2)
    assert not [remark for remark in find_remarks(recording) if "orientation" in remark.text]


def test_trials_without_a_stop_are_left_out(tmp_path):
    starts = np.arange(0, 20, 2.0)
    table = pd.DataFrame({"start": starts, "stop": np.where(starts == 6, np.nan, starts + 1), "side": np.arange(10)})
    table.to_csv(tmp_path / "m_trials.csv", index=False)
    recording = load(save(tmp_path, spikes_table()))
    assert recording.trials["side"].tolist() == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    assert "trials: 1 of 10 without a start or stop (NaN) left out" in recording.notes
    table.assign(stop=np.nan).to_csv(tmp_path / "m_trials.csv", index=False)
    with pytest.raises(InputError, match=r"'trials\.stop': expected finite numbers; found nan"):
        load(tmp_path / "m_spikes.csv")


# A variable for each unit


@pytest.mark.parametrize("field", ["", "spike_times"])
def test_a_variable_for_each_unit(tmp_path, field):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for i, times in enumerate(SPIKES):
            file[f"units/unit_{i}/{field}" if field else f"unit_{i}"] = times
            if field:
                file[f"units/unit_{i}/depth"] = 100.0 * i
        file["velocity"], file["time"] = VELOCITY, BINS
    recording = load(tmp_path / "a.h5")
    assert recording.channels["name"].tolist() == ["unit_0", "unit_1", "unit_2"]
    assert ("depth" in recording.channels) == bool(field)
    for times, own in zip(recording.spikes, SPIKES, strict=True):
        np.testing.assert_array_equal(times, own)


def test_counts_of_one_unit_each_are_not_taken_for_times(tmp_path):
    np.savez(tmp_path / "a.npz", unit_0=COUNTS[:, 0], unit_1=COUNTS[:, 1], velocity=VELOCITY, bin_width=WIDTH)
    with pytest.raises(InputError, match="nothing known as such"):
        load(tmp_path / "a.npz")


def test_counts_with_an_axis_of_trials_are_refused_in_one_line(tmp_path):
    np.savez(
        tmp_path / "a.npz", spikes=COUNTS.reshape(10, 40, 3), velocity=VELOCITY.reshape(10, 40, 2), bin_width=WIDTH
    )
    with pytest.raises(
        InputError, match="'spikes': expected two axes, time and channel; found three of lengths 10, 40, 3"
    ):
        load(tmp_path / "a.npz")
