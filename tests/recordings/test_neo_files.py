from __future__ import annotations

import sys

import numpy as np
import pytest
from writers import write_nev

from neurofs.ground.errors import InputError
from neurofs.recordings.readers import load, neo_files

SPIKES = [(3000, 1, 1), (6000, 2, 0), (9000, 1, 1), (12000, 1, 2)]


def test_without_neo_the_command_that_installs_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "neo", None)
    with pytest.raises(InputError, match=r"a.nev: format: .*pip install 'neurofs\[neo\]'"):
        load(write_nev(tmp_path / "a.nev", SPIKES))


def test_blackrock_events(tmp_path):
    pytest.importorskip("neo", reason="the optional package neo is not installed")
    recording = load(write_nev(tmp_path / "a.nev", SPIKES), unsorted=True)
    assert recording.channels["name"].tolist() == ["ch1#1", "ch1#2", "ch2#0"]
    assert recording.channels["electrode"].tolist() == [1, 1, 2]
    assert recording.channels["quality"].tolist() == ["sorted", "sorted", "unsorted"]
    assert [s.tolist() for s in recording.spikes] == [[0.1, 0.3], [0.4], [0.2]]
    assert recording.span[1] > 0.4
    assert recording.source == "a.nev"


def test_unsorted_spikes_and_noise_are_left_out_where_others_are_sorted(tmp_path):
    pytest.importorskip("neo", reason="the optional package neo is not installed")
    path = write_nev(tmp_path / "a.nev", [*SPIKES, (15000, 3, 255)])
    recording = load(path)
    assert recording.channels["name"].tolist() == ["ch1#1", "ch1#2"]
    assert recording.remarks[0].text == "1 noise and 1 unsorted channels are left out; --unsorted keeps them"
    assert load(path, unsorted=True).n_channels == 4
    assert load(path, channels="ch2#0").n_channels == 1, "who names a channel gets it"
    assert load(path, channels="quality == 'noise' or unit == 2").channels["name"].tolist() == ["ch1#2", "ch3#255"]
    alone = load(write_nev(tmp_path / "b.nev", [(3000, 1, 0), (6000, 2, 0), (9000, 3, 255)]))
    assert alone.channels["name"].tolist() == ["ch1#0", "ch2#0"], "threshold crossings, none of them sorted"


def test_signals_events_and_epochs(monkeypatch, tmp_path):
    neo = pytest.importorskip("neo", reason="the optional package neo is not installed")
    pq = pytest.importorskip("quantities")
    segment = neo.Segment()
    segment.spiketrains.append(neo.SpikeTrain([100, 300] * pq.ms, t_start=0 * pq.ms, t_stop=1000 * pq.ms))
    segment.analogsignals.append(
        neo.AnalogSignal(np.ones((100, 2)) * pq.mV, sampling_rate=0.1 * pq.kHz, name="joystick")
    )
    segment.analogsignals.append(neo.AnalogSignal(np.ones((30000, 1)) * pq.mV, sampling_rate=30 * pq.kHz))
    segment.epochs.append(
        neo.Epoch([100, 500] * pq.ms, durations=[200, 300] * pq.ms, labels=["left", "right"], name="trials")
    )
    segment.events.append(neo.Event([0.15, 0.6] * pq.s, labels=["go", "go"], name="go"))
    monkeypatch.setattr(neo_files, "_read_segments", lambda path, notes: [neo_files._load_parts(segment)])
    monkeypatch.setattr(neo_files, "read_apart", lambda module, name, path: getattr(neo_files, name)(path))
    path = tmp_path / "a.plx"
    path.write_bytes(b"x")
    recording = load(path)
    assert recording.spikes[0].tolist() == [0.1, 0.3]
    joystick = recording.behavior["joystick"]
    assert (joystick.values.shape, joystick.unit, joystick.rate) == ((100, 2), "mV", 100.0)
    np.testing.assert_allclose(recording.trials[["start", "stop"]], [[0.1, 0.3], [0.5, 0.8]])
    assert recording.trials["label"].tolist() == ["left", "right"]
    assert recording.trials["event.go"].tolist() == [0.15, 0.6]
    assert "behavior: 1 signals above 2000 Hz left out as raw voltage" in recording.notes
