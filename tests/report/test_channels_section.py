"""What a report says of single channels: sentences, marks in maps, profiles, the table and the methods text."""

from dataclasses import replace

import numpy as np
import pytest
from comparisons import HOSTILE, make_comparison
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from neurofs.comparison.headline import tell_channels
from neurofs.report.data import pack_maps
from neurofs.report.feature_maps import describe_channels, find_reported
from neurofs.report.figures.encoding import MOST_SHOWN, draw_encoding, tell_marks
from neurofs.report.figures.maps import draw_weight_maps
from neurofs.report.methods_text import write_bibtex, write_methods
from neurofs.report.page import render
from neurofs.report.palette import BLUE, VERMILION


def change(comparison, **facts):
    """Return the comparison with other facts about its tests; None for no tests at all."""
    tests = comparison.summary.channels.model_copy(update=facts) if facts else None
    return replace(comparison, summary=comparison.summary.model_copy(update={"channels": tests}))


def find_none(comparison):
    """Return the comparison with no channel reported."""
    rows = [one.model_copy(update={"tuned": False, "adds": False}) for one in comparison.summary.channels.channels]
    return change(comparison, channels=rows, n_tuned=0, n_adds=0, lag_range=None)


def draw(picture):
    axes = Figure().subplots()
    picture.panels[0].draw(axes)
    return axes


# -------------------------------------------------------------------------------------------------- sentences


def test_the_headline_counts_channels_and_names_lags():
    tests = make_comparison().summary.channels
    assert list(tell_channels(tests)) == [
        "4 of 8 channels are tuned (false discovery rate 10 %); 2 add something that no other has; "
        "2 of the tuned tell most at 0 to 100 ms. Most strongly tuned: c0, c2, c4, c6."
    ]
    assert "2 of the tuned tell most at 0 to 100 ms." in next(tell_channels(tests, (0.0, 0.2)))
    spread = "the most informative lags of the tuned are spread over all of 0 to 100 ms."
    assert spread in next(tell_channels(tests, (0.0, 0.1)))
    late = tests.model_copy(update={"lag_range": (0.2, 0.2)})
    assert "2 of the tuned tell most at 200 ms." in next(tell_channels(late))
    assert "2 of the tuned tell most at 200 ms, the longest lag tried." in next(tell_channels(late, (0.0, 0.2)))
    first = [c.model_copy(update={"tuned": i == 0}) for i, c in enumerate(tests.channels)]
    one = tests.model_copy(update={"channels": first, "n_tuned": 1, "n_adds": 1, "lag_range": (0.1, 0.1)})
    assert next(tell_channels(one)) == (
        "1 of 8 channels is tuned (false discovery rate 10 %); 1 adds something that no other has; "
        "the tuned one tells most at 100 ms."
    )
    never = [c.model_copy(update={"tuned": False}) for c in tests.channels]
    none = tests.model_copy(update={"channels": never, "n_tuned": 0, "n_adds": 0, "lag_range": None})
    assert next(tell_channels(none)) == (
        "0 of 8 channels are tuned (false discovery rate 10 %); none adds something that no other has."
    )
    not_asked = tests.model_copy(update={"n_adds": None, "n_windows": 1})
    assert next(tell_channels(not_asked)).startswith("4 of 8 channels are tuned (false discovery rate 10 %). Most")
    assert list(tell_channels(None)) == []


def test_methods_say_what_was_tested_in_this_run():
    comparison = make_comparison(n_lags=6)
    text = write_methods(comparison)
    assert (
        "go with the outputs and their norm (speed), given cosines of the session (periods above 12 s) and of" in text
    )
    assert "whole trials in random orders (300 shifts)" in text
    assert "given all other channels (lags in 4 sums; 60 shifts)" in text
    assert "False discovery rate: 0.1" in text
    assert "benjamini1995" in write_bibtex(comparison)
    alone = write_methods(change(make_comparison(trials=False, outputs=("speed",)), n_adds=None))
    assert "go with the target, given cosines of the session (periods above 12 s): Pillai" in alone
    assert "the session shifted around its end" in alone
    assert "was not asked: there are too few samples" in alone
    classes = write_methods(make_comparison(outputs=("direction",), classes=("left", "right")))
    assert "go with the classes of the target" in classes
    without = change(comparison)
    assert "Pillai" not in write_methods(without)
    assert "benjamini1995" not in write_bibtex(without)


def test_captions_say_how_channels_are_marked():
    comparison = make_comparison()
    assert "Blue: tuned; vermilion: it adds something; others are faded." in draw_weight_maps(comparison).caption.text
    assert "vermilion" in tell_marks(comparison.summary.channels)
    assert "vermilion" not in tell_marks(comparison.summary.channels.model_copy(update={"n_adds": None}))
    assert "all are faded" in tell_marks(find_none(comparison).summary.channels)
    assert "faded" not in draw_weight_maps(change(comparison)).caption.text


# --------------------------------------------------------------------------------------------------- figures


def test_maps_mark_tuned_channels_and_those_that_add():
    axes = draw(draw_weight_maps(make_comparison()))
    marks = {to_hex(line.get_color()): line.get_xdata().tolist() for line in axes.lines if line.get_marker() == "s"}
    assert marks == {BLUE: [0, 2, 4, 6], VERMILION: [0, 4]}


def test_without_tests_no_channel_is_faded():
    comparison = make_comparison()
    assert find_reported(comparison).tolist() == [True, False] * 4
    assert find_reported(change(comparison)).all()
    assert not find_reported(find_none(comparison)).any()
    assert pack_maps(comparison)["faded"] == [0, 1] * 4
    assert pack_maps(comparison)["tuned"] == [1, 0] * 4
    assert pack_maps(comparison)["adds"] == [1, 0, 0, 0] * 2
    assert pack_maps(change(comparison))["faded"] == [0] * 8


def test_profiles_show_tuned_channels_by_their_peak():
    comparison = make_comparison()
    picture = draw_encoding(comparison)
    axes = draw(picture)
    shown = [label.get_text() for label in axes.get_yticklabels()]
    assert shown == ["c0", "c4", "c2", "c6"], "peaks at 0, 0, 200 and 200 ms; the larger R² first"
    assert axes.lines[0].get_xdata().tolist() == [0, 0, 200, 200]
    encoding = comparison.weights["encoding"].values[[0, 4, 2, 6]]
    image = axes.images[0].get_array()[..., 3]
    np.testing.assert_allclose(image, 0.4 * encoding / encoding.max(axis=1, keepdims=True))
    assert [row[:4] for row in picture.numbers.rows][2] == ("c2", 200.0, 0.0, 300.0)
    assert "R² of the counts on the outputs" in picture.caption.text


def test_profiles_of_many_channels_are_those_with_most_to_tell():
    picture = draw_encoding(make_comparison(n_channels=200))
    assert len(picture.numbers.rows) == MOST_SHOWN
    assert f"Of 100 tuned channels, the {MOST_SHOWN} with the largest R²" in picture.caption.text


@pytest.mark.parametrize("make", [change, find_none])
def test_no_profiles_where_there_is_nothing_to_show(make):
    assert draw_encoding(make(make_comparison())) is None


def test_no_profiles_of_one_lag():
    assert draw_encoding(make_comparison(n_lags=1)) is None


# ----------------------------------------------------------------------------------------------------- table


def test_the_table_has_tests_and_peaks_of_tuned_channels():
    records = {record["channel"]: record for record in describe_channels(make_comparison())}
    assert (records["c0"]["tuned"], records["c0"]["adds"]) == ("yes", "yes")
    assert (records["c1"]["tuned"], records["c1"]["adds"], records["c1"]["peak"]) == ("no", "no", None)
    peak = records["c2"]["peak"]
    assert (peak.mean, peak.low, peak.high) == (200.0, 0.0, 300.0)
    without = describe_channels(change(make_comparison()))
    assert {record["tuned"] for record in without} == {""}


def test_the_page_shows_the_tests():
    page = render(make_comparison())
    assert "peak lag (ms)" in page
    assert "200 (0 to 300)" in page
    assert "Profiles of all tuned channels" in page
    assert "beyond slow time and the course of a trial. Adds: even given all other channels." in page
    assert "Expected to be false: at most 10 % of either." in page
    assert "best lag" not in page
    blocks = render(make_comparison(trials=False))
    assert "the course of a trial" not in blocks


def test_the_page_says_what_was_not_asked():
    comparison = change(make_comparison(), n_adds=None)
    assert "Adds: not asked, since there are too few samples" in render(comparison)
    assert "No encoding profiles" in render(find_none(comparison))
    old = render(change(comparison))
    assert "Tuned: the counts go with" not in old
    assert "peak lag (ms)" not in old


def test_names_of_channels_cannot_break_the_page():
    page = render(make_comparison(names=HOSTILE))
    assert "<script>window.hacked" not in page
    assert "<img src=x" not in page
