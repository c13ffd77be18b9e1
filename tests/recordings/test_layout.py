"""What variables of a free layout are taken to be; each test writes none but the variables it is about."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from neurofs.ground.config import LoadOptions
from neurofs.ground.errors import InputError
from neurofs.recordings.readers.layout import interpret
from neurofs.recordings.readers.variables import Variables
from neurofs.recordings.recording import Recording

COUNTS = np.arange(60).reshape(20, 3) % 4
VELOCITY = np.linspace(-1, 1, 40).reshape(20, 2)
SOUND = {"counts": COUNTS, "velocity": VELOCITY, "bin_width": np.array(0.05)}


def read(values: dict[str, Any], index_base: int = 0, **options: Any) -> Recording:
    values = {n: np.asarray(v) if isinstance(v, (int, float)) else v for n, v in values.items()}
    return interpret(Variables(values, LoadOptions(**options), index_base=index_base), name="session")


def ragged(*lists: list[float]) -> list[np.ndarray]:
    return [np.array(times, dtype=float) for times in lists]


class TestCounts:
    def test_the_longer_companion_decides_the_orientation(self):
        recording = read(SOUND | {"counts": COUNTS.T, "velocity": VELOCITY.T})
        np.testing.assert_array_equal(recording.counts, COUNTS)
        np.testing.assert_array_equal(recording.behavior["velocity"].values, VELOCITY)
        assert "counts: 'counts' read as channel-by-time because 'velocity' has length 20" in recording.notes

    def test_the_option_decides_where_nothing_else_does(self):
        values = {"counts": np.eye(4, dtype=int) * [1, 2, 3, 4] + np.eye(4, k=1, dtype=int), "dt": 0.1}
        by_time = read(values, orientation="time-by-channel").counts
        by_channel = read(values, orientation="channel-by-time").counts
        np.testing.assert_array_equal(by_time, values["counts"])
        np.testing.assert_array_equal(by_channel, values["counts"].T)

    def test_a_time_vector_outweighs_a_list_of_channels(self):
        values = SOUND | {"velocity": np.ones((20, 3)), "time": np.arange(20) * 0.05, "depth": np.ones(3)}
        assert read(values).counts.shape == (20, 3)

    def test_counts_known_by_content_alone(self):
        recording = read({"a": COUNTS, "velocity": VELOCITY, "dt": 0.1})
        assert recording.counts.shape == (20, 3)
        assert "counts: taken from 'a'" in recording.notes

    def test_one_channel(self):
        for one in (COUNTS[:, 1], COUNTS[None, :, 1]):
            recording = read(SOUND | {"counts": one}, counts="counts")
            np.testing.assert_array_equal(recording.counts, COUNTS[:, [1]])

    def test_rates_become_counts(self):
        recording = read(SOUND | {"counts": COUNTS / 0.05}, counts_unit="Hz")
        np.testing.assert_array_equal(recording.counts, COUNTS)
        assert recording.counts.dtype == np.uint8

    def test_smooth_rates_stay_what_they_are(self):
        recording = read(SOUND | {"counts": COUNTS * 1.7}, counts_unit="Hz")
        np.testing.assert_allclose(recording.counts, COUNTS * 1.7 * 0.05)

    def test_whole_floats_are_counts(self):
        recording = read(SOUND | {"counts": COUNTS * 1.0 + 254})
        assert recording.counts.dtype == np.uint16
        np.testing.assert_array_equal(recording.counts, COUNTS + 254)

    def test_the_option_wins_over_a_wrong_bin_width_and_this_is_said(self):
        recording = read(SOUND, counts_bin_width=0.1)
        assert recording.bin_width == 0.1
        assert "bin width: 0.1 s as given; the file's 'bin_width' is 0.05" in recording.notes

    def test_channel_names_columns_and_excluded_channels(self):
        values = SOUND | {
            "channel_names": ["a", "b\x1b", "c"],
            "electrode": np.array([5, 6, 7]),
            "unit_quality": ["good", "mua", "good"],
        }
        recording = read(values, exclude_channels=["b\x1b"])
        assert recording.channels.to_dict("list") == {
            "name": ["a", "c"],
            "electrode": [5, 7],
            "quality": ["good", "good"],
        }
        np.testing.assert_array_equal(recording.counts, COUNTS[:, [0, 2]])


class TestTime:
    def test_times_are_the_starts_of_bins(self):
        recording = read(SOUND | {"bin_width": np.array("x"), "time": 3 + np.arange(20) * 0.05})
        assert (recording.start, recording.bin_width) == (3.0, 0.05)
        assert recording.behavior["velocity"].time[0] == pytest.approx(3.025)
        assert "bin width: 0.05 s, the usual step of 'time'" in recording.notes

    def test_edges_are_one_more_than_bins(self):
        recording = read(SOUND | {"time": 3 + np.arange(21) * 0.05})
        assert recording.span == (3.0, pytest.approx(4.0))

    def test_milliseconds(self):
        time = np.arange(20) * 50.0 + 1000
        recording = read(SOUND | {"time": time}, time_unit="ms")
        assert (recording.start, recording.bin_width) == (1.0, 0.05)
        recording = read(SOUND | {"time": time, "bin_width": 50.0}, time_unit="ms")
        assert (recording.start, recording.bin_width) == (1.0, 0.05)

    def test_a_gap_is_unobserved(self):
        time = np.arange(20) * 0.05 + 0.25 * (np.arange(20) >= 12)
        recording = read(SOUND | {"time": time})
        np.testing.assert_allclose(recording.observed, [[0, 0.6], [0.85, 1.25]])
        np.testing.assert_array_equal(recording.counts[:12], COUNTS[:12])
        np.testing.assert_array_equal(recording.counts[12:17], 0)
        np.testing.assert_array_equal(recording.counts[17:], COUNTS[12:])
        np.testing.assert_allclose(recording.behavior["velocity"].time[11:13], [0.575, 0.875])
        assert "time: 1 gaps in 'time'; nothing was observed in them" in recording.notes

    def test_jitter_is_no_gap(self):
        jitter = np.random.default_rng(0).uniform(-0.002, 0.002, 20)
        jitter[[0, -1]] = 0
        assert read(SOUND | {"time": np.arange(20) * 0.05 + jitter}).counts.shape == (20, 3)

    def test_time_none_numbers_the_bins(self):
        recording = read(SOUND | {"time": np.zeros(20)}, time="none")
        assert recording.start == 0
        assert "time: row number times the bin width of 0.05 s ('bin_width'), from 0" in recording.notes

    @given(st.lists(st.integers(1, 9), min_size=1, max_size=30))
    def test_every_count_keeps_its_own_time(self, gaps):
        slots = np.cumsum([0] + [step for gap in gaps for step in (1, 1, gap)])
        counts = np.arange(2 * len(slots)).reshape(-1, 2) + 1
        recording = read({"counts": counts, "time": 7 + slots * 0.1, "dt": 0.1}, orientation="time-by-channel")
        np.testing.assert_array_equal(recording.counts[slots], counts)
        assert recording.n_spikes == counts.sum()
        assert recording.duration == pytest.approx(len(slots) * 0.1)


class TestBehavior:
    def test_missing_values_stay_missing(self):
        velocity = np.where(VELOCITY > 0.8, np.nan, VELOCITY)
        recording = read(SOUND | {"velocity": velocity})
        np.testing.assert_array_equal(recording.behavior["velocity"].values, velocity)
        assert "behavior: 'velocity' has 2 samples with missing values (NaN)" in recording.notes

    def test_a_constant_column_is_kept_and_noted(self):
        recording = read(SOUND | {"velocity": VELOCITY * [1, 0]})
        assert recording.behavior["velocity"].values.shape == (20, 2)
        assert "behavior: 'velocity' column y is 0 throughout" in recording.notes

    def test_stillness_is_noted_where_there_are_no_trials(self):
        velocity = VELOCITY.copy()
        velocity[[5, 11]] = 0
        note = "behavior: 'velocity' is exactly zero in 2 samples; trials may meet there"
        assert note in read(SOUND | {"velocity": velocity}).notes
        assert note not in read(SOUND | {"velocity": velocity, "trial": np.arange(20) // 5}).notes

    def test_its_own_clock(self):
        values = SOUND | {"gaze": np.ones((7, 2)), "gaze_time": np.arange(7.0)}
        recording = read(values)
        assert sorted(recording.behavior) == ["gaze", "velocity"]
        np.testing.assert_array_equal(recording.behavior["gaze"].time, np.arange(7.0))

    def test_a_rate_instead_of_times(self):
        recording = read({"spikes": ragged([0.1, 0.5]), "gaze": np.ones((2, 50))}, behavior=["gaze"], behavior_rate=100)
        np.testing.assert_allclose(recording.behavior["gaze"].time[:2], [0.005, 0.015])
        assert recording.behavior["gaze"].values.shape == (50, 2)

    def test_units_columns_and_angles(self):
        values = SOUND | {"angle": np.linspace(0, 3, 20), "velocity_unit": "cm/s", "velocity_columns": ["a", "b"]}
        recording = read(values, circular=["angle"])
        assert recording.behavior["velocity"].unit == "cm/s"
        assert recording.behavior["velocity"].columns == ("a", "b")
        assert recording.behavior["angle"].circular
        assert not recording.behavior["velocity"].circular

    def test_an_unrelated_position_does_not_matter(self):
        recording = read(SOUND | {"position": np.ones((96, 2))})
        assert list(recording.behavior) == ["velocity"]
        assert "not used: position" in recording.notes


class TestTrials:
    def test_runs_of_a_label(self):
        trial = np.array([np.nan] * 2 + [4] * 8 + [-1] * 2 + [7] * 8)
        recording = read(SOUND | {"trial": trial, "go": np.where(trial == 4, 10, 20)})
        np.testing.assert_allclose(recording.trials["start"], [0.1, 0.6])
        np.testing.assert_allclose(recording.trials["stop"], [0.5, 1.0])
        assert recording.trials["trial"].tolist() == [4, 7]
        assert recording.trials["go"].tolist() == [10, 20]

    def test_labels_may_be_text(self):
        recording = read(SOUND | {"trial": ["a"] * 10 + ["b"] * 10})
        assert recording.trials["trial"].tolist() == ["a", "b"]

    def test_what_changes_within_a_trial_is_behavior(self):
        recording = read(SOUND | {"trial": np.arange(20) // 10, "speed": np.arange(20.0)})
        assert "speed" in recording.behavior
        assert "speed" not in recording.trials

    @pytest.mark.parametrize(("base", "first"), [(0, 0.1), (1, 0.05)])
    def test_start_bins_count_from_the_base(self, base, first):
        recording = read(SOUND | {"startBins": np.array([2, 12])}, index_base=base)
        np.testing.assert_allclose(recording.trials["start"], [first, first + 0.5])
        np.testing.assert_allclose(recording.trials["stop"], [first + 0.5, 1.0])
        assert f"trials: bins of 'startBins' are numbered from {base}" in recording.notes

    def test_the_option_changes_the_base(self):
        recording = read(SOUND | {"startBins": np.array([2, 12])}, index_base=1)
        assert recording.trials["start"][0] == pytest.approx(0.05)
        given_base = interpret(
            Variables(SOUND | {"startBins": np.array([2, 12])}, LoadOptions(index_base=0), index_base=1), "a"
        )
        assert given_base.trials["start"][0] == pytest.approx(0.1)

    def test_stop_bins_are_the_last_in_matlab_and_the_first_after_elsewhere(self):
        values = SOUND | {"startBins": np.array([1, 11]), "stopBins": np.array([8, 20])}
        np.testing.assert_allclose(read(values, index_base=1).trials["stop"], [0.4, 1.0])
        np.testing.assert_allclose(read(values, index_base=0).trials["stop"], [0.4, 1.0])
        np.testing.assert_allclose(read(values, index_base=0).trials["start"], [0.05, 0.55])

    def test_start_bins_before_and_after_a_gap(self):
        time = np.arange(20) * 0.05 + 0.25 * (np.arange(20) >= 12)
        recording = read(SOUND | {"time": time, "startBins": np.array([2, 15])})
        np.testing.assert_allclose(recording.trials["start"], time[[2, 15]])

    def test_starts_as_times(self):
        recording = read(SOUND | {"trial_start": np.array([0.1, 0.5]), "side": ["left", "right"]})
        np.testing.assert_allclose(recording.trials["stop"], [0.5, 1.0])
        assert recording.trials["side"].tolist() == ["left", "right"]

    def test_as_many_trials_as_columns_of_behavior_makes_no_condition_of_it(self):
        recording = read(SOUND | {"trial": np.arange(20) // 10})
        assert list(recording.behavior) == ["velocity"]

    def test_no_trials(self):
        values = SOUND | {"trial": np.array([0] * 5 + [1] * 10 + [0] * 5)}
        assert len(read(values, trials=False).trials) == 0

    def test_groups_of_a_file(self):
        values = {
            "units.a": np.array([0.1, 0.4]),
            "units.b": np.array([0.2]),
            "trials.start": np.array([0.0, 0.5]),
            "trials.stop": np.array([0.4, 0.9]),
            "trials.side": ["left", "right"],
            "behavior.time": np.arange(10) * 0.1,
            "behavior.pos": np.ones((10, 2)),
        }
        recording = read(values)
        assert recording.channels["name"].tolist() == ["a", "b"]
        assert list(recording.trials.columns) == ["start", "stop", "side"]
        assert list(recording.behavior) == ["behavior.pos"]


class TestSpikes:
    def test_one_list_per_channel(self):
        recording = read({"spikes": ragged([0.1, 0.4], [], [0.2])})
        assert [s.tolist() for s in recording.spikes] == [[0.1, 0.4], [], [0.2]]

    @pytest.mark.parametrize("labels", [np.array([7, 3, 7]), ["7", "3", "7"]])
    def test_one_long_list_with_labels(self, labels):
        recording = read({"spike_times": np.array([0.1, 0.2, 0.4]), "spike_channels": labels})
        assert recording.channels["name"].tolist() == ["3", "7"]
        assert [s.tolist() for s in recording.spikes] == [[0.2], [0.1, 0.4]]

    def test_labels_are_positions_where_channels_have_names(self):
        values = {
            "spike_times": np.array([0.1, 0.2]),
            "spike_channels": np.array([2, 0]),
            "channel_names": ["a", "b", "c"],
        }
        recording = read(values)
        assert [len(s) for s in recording.spikes] == [1, 0, 1]
        assert recording.channels["name"].tolist() == ["a", "b", "c"]

    def test_ends_of_each_channel(self):
        values = {"spike_times": np.array([0.1, 0.2, 0.05]), "spike_times_index": np.array([0, 2, 3])}
        assert [s.tolist() for s in read(values).spikes] == [[], [0.1, 0.2], [0.05]]

    def test_samples(self):
        values = {"spikes": ragged([3000, 30000], [15000]), "fs": 30000.0}
        assert read(values, time_unit="samples").spikes[0].tolist() == [0.1, 1.0]
        both = read(values | {"trial_start": np.array([3000.0, 15000.0])}, time_unit="samples")
        assert both.trials["start"].tolist() == [0.1, 0.5]
        values.pop("fs")
        spikes = read(values, time_unit="samples", sampling_rate=15000).spikes
        assert spikes[0].tolist() == [0.2, 2.0]
        assert read(values, time_unit="s").spikes[0].tolist() == [3000, 30000]

    def test_observed_intervals(self):
        values = {"spikes": ragged([0.1, 5.0]), "observed": np.array([[0.0, 1.0], [4.0, 6.0]])}
        assert read(values).duration == 3.0

    def test_a_single_list_is_one_channel_and_this_is_said(self):
        recording = read({"spike_times": np.array([0.1, 0.2])})
        assert recording.n_channels == 1
        assert any("read as one channel" in note for note in recording.notes)


def test_what_found_no_use_is_named():
    assert "not used: subject" in read(SOUND | {"subject": "C"}).notes


def test_an_option_for_another_kind_of_file_is_refused():
    with pytest.raises(InputError, match="--spike-channels"):
        read(SOUND, spike_channels="velocity")
