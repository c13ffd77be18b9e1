"""Figures of tuning and of the course of a trial, and the words of the raster."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from comparisons import make_comparison
from matplotlib.figure import Figure

from neurofs.report.captions import _CAPTIONS
from neurofs.report.figures.session import draw_raster
from neurofs.report.figures.time_course import draw_time_course, find_courses
from neurofs.report.figures.tuning import draw_tuning
from neurofs.report.page import render


def draw(picture, panel=0):
    axes = Figure().subplots()
    picture.panels[panel].draw(axes)
    return axes


def with_session(comparison, **attrs):
    return replace(comparison, session=comparison.session.assign_attrs(attrs))


# Tuning


def test_tuning_is_drawn_around_the_circle():
    comparison = make_comparison()
    picture = draw_tuning(comparison)
    assert [panel.title for panel in picture.panels] == [
        "c0, lag 0 ms",
        "c1, lag 100 ms",
        "c2, lag 200 ms",
        "c3, lag 300 ms",
    ]
    line = draw(picture, 1).lines[1]
    rate = comparison.session["tuning_rate"].values[1]
    np.testing.assert_allclose(line.get_ydata(), [*rate, rate[0]])
    assert line.get_xdata()[-1] == 360
    assert "most at 45°, 16.0 Hz; least at 225°, 4.0 Hz" in picture.panels[1].alt
    assert "direction of hand_velocity" in picture.caption.text
    assert "standard errors over trials" in picture.caption.text
    assert len(picture.numbers.rows) == 4 * 8


def test_tuning_of_classes_names_them():
    axes = draw(draw_tuning(make_comparison(classes=("left", "right", "up"), outputs=("side",))))
    assert [label.get_text() for label in axes.get_xticklabels()] == ["left", "right", "up"]
    assert axes.get_xlabel() == "class"


def test_tuning_of_values_has_their_unit():
    comparison = with_session(make_comparison(trials=False), tuning_kind="value", tuning_name="grip", tuning_unit="N")
    picture = draw_tuning(comparison)
    axes = draw(picture)
    assert axes.get_xlabel() == "grip (N)"
    assert "over parts of the session" in picture.caption.text


def test_a_run_without_tuning_says_so():
    comparison = make_comparison()
    old = comparison.session.drop_vars([name for name in comparison.session if str(name).startswith("tuning")])
    html = render(replace(comparison, session=old))
    assert "No tuning: it is not known" in html
    assert 'id="figure-raster"' in html


# Time in the trial


def test_the_course_is_that_of_the_main_method():
    comparison = make_comparison(n_repeats=2)
    table = comparison.predictions
    method = table["method"].values.tolist().index(comparison.summary.main)
    for o, course in enumerate(find_courses(comparison)):
        true = table["target"].values[:, o].reshape(20, 20)
        guess = table["predicted"].values[method, 0, o].reshape(20, 20)
        np.testing.assert_allclose(course.score, np.sqrt(np.mean((true - guess) ** 2, axis=0)), rtol=1e-5)
        np.testing.assert_allclose(course.reference, true.std(axis=0))
        np.testing.assert_allclose(course.time, 0.1 * np.arange(20) + 0.05)
        assert set(course.n) == {20}
    axes = draw(draw_time_course(comparison), 1)
    np.testing.assert_allclose(axes.lines[2].get_ydata(), course.score)
    assert axes.get_ylabel() == "RMSE (cm/s)"


def test_bins_of_few_trials_are_dotted_and_of_fewer_left_out():
    comparison = make_comparison(n_rows=800)
    table = comparison.predictions.copy(deep=True)
    late = np.arange(800) % 20 >= 15
    trial = table["trial"].values
    table["predicted"].values[..., late & (trial >= 12)] = np.nan
    table["predicted"].values[..., (np.arange(800) % 20 >= 18) & (trial >= 8)] = np.nan
    picture = draw_time_course(replace(comparison, predictions=table))
    axes = draw(picture)
    assert axes.lines[1].get_linestyle() == ":"
    assert np.isfinite(axes.lines[2].get_ydata()).tolist() == [True] * 15 + [False] * 3
    assert "Dotted" in picture.caption.text
    assert "Dotted" not in draw_time_course(comparison).caption.text
    assert {row[-1] for row in picture.numbers.rows} == {40, 12}


def test_classes_have_a_course_of_accuracy():
    comparison = make_comparison(classes=("a", "b"), outputs=("side",))
    picture = draw_time_course(comparison)
    axes = draw(picture)
    assert axes.get_ylabel() == "accuracy"
    assert axes.lines[0].get_ydata() == pytest.approx(np.full(20, 0.5))
    assert [key.label for key in picture.legend][1] == "most frequent class"


@pytest.mark.parametrize("options", [{"trials": False}, {"n_rows": 100}])
def test_without_enough_trials_there_is_no_course(options):
    assert draw_time_course(make_comparison(**options)) is None


# The words of the raster


def test_the_raster_says_what_it_is_aligned_to():
    caption = draw_raster(make_comparison()).caption
    assert caption.title == "Spikes around movement onset"
    assert "One row per trial, in order of direction" in caption.text
    comparison = make_comparison(trials=False)
    none = comparison.session.assign(event_trial=("event", np.full(5, -1)))
    none.attrs |= {"alignment": "speed of the target rises through 20% of its 99th percentile", "condition": ""}
    picture = draw_raster(replace(comparison, session=none))
    assert picture.caption.title == "Spikes around moments when the target begins to change"
    assert "One row per moment, in order of time" in picture.caption.text
    assert "5 moments" in picture.panels[0].alt
    assert "trial" not in picture.caption.text
    assert "movement" not in picture.caption.text
    assert "blank" not in picture.caption.text  # a channel that is silent looks the same
    gaps = none.assign(raster=none["raster"].where(none["raster_time"] < 0.5))
    assert "nothing was observed" in draw_raster(replace(comparison, session=gaps)).caption.text
    start = with_session(make_comparison(), alignment="start of the trial")
    assert draw_raster(start).caption.title == "Spikes around the start of the trial"


def test_no_caption_of_these_figures_speaks_of_black_white_or_motor_cortex():
    for name in ("tuning", "time-course", "raster", "lags", "encoding", "pairs", "all-scores", "all-lags", "all-wins"):
        text = _CAPTIONS[name].title + _CAPTIONS[name].text
        assert not any(word in text.lower() for word in ("black", "white", "dark", "motor cortex")), name


def test_an_empty_session_has_no_tuning():
    html = render(replace(make_comparison(), session=xr.Dataset()))
    assert "No tuning" in html
