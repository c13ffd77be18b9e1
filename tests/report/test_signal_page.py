"""The page of a continuous signal speaks of it and of its unit, and of spikes only to say that none were counted."""

import html
import re

import pytest

import neurofs
from neurofs.recordings.calcium import image_calcium
from neurofs.recordings.simulate import simulate_session


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    """All that can be read on the page, with what is folded, and the texts of the figures."""
    session = image_calcium(simulate_session(14, n_electrodes=3, random_state=7), 7)
    found = neurofs.compare(session, "hand_velocity", selectors=["corrcoef"], n_lags=3, n_splits=2, decoders=["ridge"])
    path = found.report(tmp_path_factory.mktemp("run") / "report.html")
    page = re.sub(r"<(script|style)[^>]*>.*?</\1>", " ", path.read_text(encoding="utf-8"), flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_the_unit_stands_where_the_signal_does(words):
    for said in (
        "mean of the signal (dF/F)",
        "SD (dF/F)",
        "signal (dF/F)",
        "Means of the signal (dF/F) in bins of 100 ms",
    ):
        assert said in words


def test_no_word_of_spikes_is_used(words):
    for word in ("rate (Hz)", "spikes/s", "spikes per", "neuron", "firing", "fires", "Fano", "mean count"):
        assert word not in words
    for note in ("no spikes are counted", "made from spikes that decay"):  # how it was read, and how simulated
        words = words.replace(note, "")
    assert "spike" not in words


def test_how_channels_were_scaled_is_said(words):
    assert "each channel was centered at its median and divided by its spread" in words
