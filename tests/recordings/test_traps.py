"""What is misread without a word elsewhere is refused, or said, here."""

import numpy as np
import pytest
from lab_traps import LAB_SOUND, LAB_TRAPS
from signal_traps import SIGNAL_TRAPS
from traps import COUNTS, ODD_BUT_SOUND, SOUND_FILES, TRAPS

from neurofs.ground.errors import InputError
from neurofs.recordings.checks import find_remarks
from neurofs.recordings.readers import load
from neurofs.recordings.simulate import simulate_session


@pytest.mark.parametrize("trap", [*TRAPS, *LAB_TRAPS, *SIGNAL_TRAPS], ids=lambda trap: trap.name)
def test_a_trap_is_seen(trap, tmp_path):
    path = trap.make(tmp_path)
    if trap.how == "refused":
        with pytest.raises(InputError) as caught:
            load(path, **trap.options)
        assert trap.said in str(caught.value)
        return
    recording = load(path, **trap.options)
    remarks = [remark.text for remark in find_remarks(recording) if remark.serious == (trap.how == "serious")]
    said = recording.notes if trap.how == "note" else remarks
    assert any(trap.said in text for text in said), find_remarks(recording)


def test_there_are_sixty_traps_across_formats():
    traps = [*TRAPS, *LAB_TRAPS, *SIGNAL_TRAPS]
    assert len({trap.name for trap in traps}) == len(traps) >= 120
    assert all(trap.mistake for trap in traps)


@pytest.mark.parametrize("kind", [*SOUND_FILES, *ODD_BUT_SOUND, *LAB_SOUND])
def test_a_sound_file_raises_no_alarm(kind, tmp_path):
    recording = load({**SOUND_FILES, **ODD_BUT_SOUND, **LAB_SOUND}[kind](tmp_path))
    assert [remark for remark in find_remarks(recording) if remark.serious] == []


@pytest.mark.parametrize("options", [{}, {"noise": True}, {"bursts": False, "drift": 1.0}, {"n_electrodes": 1}])
def test_simulated_sessions_raise_no_alarm(options):
    session = simulate_session(30, random_state=4, **{"n_electrodes": 4, **options})
    assert not any(remark.serious for remark in find_remarks(session))


@pytest.mark.parametrize("name", ["rates-npz", "rates-miller", "rates-thirds"])
def test_rates_become_the_counts_that_they_were(name, tmp_path):
    trap = next(trap for trap in TRAPS if trap.name == name)
    np.testing.assert_array_equal(load(trap.make(tmp_path)).counts, COUNTS)


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("name", "options", "remarks"),
    [
        (
            "stevenson2011_m1.mat",
            {},
            [
                "series 'handVel': constant in z",
                "series 'handPos': constant in z",
                "series 'target': 7200 of 15536 samples are missing",
                "series 'target': constant in z",
                "series 'startBinned': nearly constant: 98.8% of samples are 0",
            ],
        ),
        ("chewie_20131003_m1.npz", {}, []),
        (
            "a2929_head_direction.nwb",
            {},
            [
                "series rx, ry, rz, x and 2 more: behavior covers 44 % of the time with spikes",
                "series sleep_ripples: behavior covers 50 % of the time with spikes",
                "series 'sleep_ripples': 230 gaps in its samples",
            ],
        ),
        (
            "contdata95.mat",
            {"counts": "Y", "counts_bin_width": 0.1, "behavior": "X"},
            [
                "the position in 'X' jumps 1,455 times farther than the velocity beside it says: pieces put together, "
                "such as trials? Lags and folds join them unless trials are named",
                "series 'X': columns 2, 3 are the velocity of 0, 1; to decode the position: --target X:0,X:1",
            ],
        ),
    ],
)
def test_real_recordings_raise_no_false_alarm(name, options, remarks, shared_data):
    """Every remark about them is true: it was checked by hand in the file."""
    found = find_remarks(load(shared_data / name, **options))
    assert [remark.text for remark in found] == remarks
    assert not any(remark.serious for remark in found)


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("name", "n_sorted", "n_all"), [("file_spec_3_0.nev", 108, 864), ("l101210-001.nev", 5248, 14210)]
)
def test_unsorted_spikes_of_blackrock_are_left_out_and_said(name, n_sorted, n_all, shared_data):
    path = shared_data / "formats" / "blackrock" / name
    sorted_, everything = load(path), load(path, unsorted=True)
    assert (sorted_.n_spikes, everything.n_spikes) == (n_sorted, n_all)
    assert "--unsorted keeps them" in sorted_.remarks[0].text
    assert set(sorted_.channels["quality"]) == {"sorted"}
