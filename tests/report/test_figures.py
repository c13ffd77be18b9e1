"""What the figures of a report draw, and the weights and ranks that they are made of."""

from dataclasses import replace

import numpy as np
import pytest
from comparisons import make_comparison
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from neurofs.comparison.summary import Estimate
from neurofs.report.feature_maps import (
    FADED,
    count_channels,
    describe_channels,
    find_n,
    list_selectors,
    mean_weights,
    selected_share,
    share_by_kind,
    weigh_lags,
)
from neurofs.report.figures.across import draw_all_lags
from neurofs.report.figures.maps import draw_lags, draw_positions, draw_top_maps, draw_weight_maps
from neurofs.report.figures.scores import draw_chance, draw_confusion, draw_curves, draw_stability, draw_wins
from neurofs.report.figures.session import draw_raster, draw_traces
from neurofs.report.methods_text import write_methods
from neurofs.report.page import MARKERS, render, show_table
from neurofs.report.palette import BLUE, THEME, find_key
from neurofs.report.pictures import Table
from neurofs.selectors import SELECTORS

# What figures draw


def draw(picture, panel=0):
    axes = Figure().subplots()
    picture.panels[panel].draw(axes)
    return axes


def test_curves_are_drawn_from_the_scores():
    comparison = make_comparison()
    scores = comparison.scores
    for panel, output in enumerate(comparison.predictions["output"].values):
        axes = draw(draw_curves(comparison), panel)
        lines = {line.get_color(): line for line in axes.lines if len(line.get_xdata()) > 2}
        for selector in ("rgs", "corrcoef", "infogain"):
            own = scores[~scores["chosen"] & (scores["selector"] == selector) & (scores["output"] == output)]
            own = own[own["weighted"] == (selector == "rgs")].groupby("n")["r2"].mean()
            x, y = lines[find_key(selector).color].get_data()
            assert x.tolist() == own.index.tolist()
            np.testing.assert_allclose(y, own.to_numpy())
        ring = axes.lines[-1]
        own = scores[scores["chosen"] & (scores["method"] == "rgs") & (scores["output"] == output)]
        assert ring.get_xdata()[0] == own["n"].median()
        assert ring.get_ydata()[0] == pytest.approx(own["r2"].mean())


def test_chance_is_a_line_at_the_mean_or_at_shifted_targets():
    axes = draw(draw_curves(make_comparison()))
    levels = [line.get_ydata()[0] for line in axes.lines if len(set(line.get_ydata())) == 1]
    assert 0.0 in levels
    classes = make_comparison(classes=("a", "b"), outputs=("d",))
    test = classes.summary.chance_of(classes.summary.main)[0]
    levels = [line.get_ydata()[0] for line in draw(draw_curves(classes)).lines if len(set(line.get_ydata())) == 1]
    assert test.mean in levels


def test_the_caption_says_where_the_line_of_chance_comes_from():
    comparison = make_comparison()
    assert "chance: predicting the mean" in draw_curves(comparison).caption.text
    classes = make_comparison(classes=("a", "b"), outputs=("d",))
    assert "the accuracy at shifted targets" in draw_curves(classes).caption.text


def test_the_caption_answers_how_many_features_were_chosen():
    comparison = make_comparison()
    chosen = comparison.summary.by_method["rgs"].n.median
    text = draw_curves(comparison).caption.text
    assert f"chosen on training data: RGS {chosen}, " in text
    assert "random" not in text
    assert "all features" not in text


def test_the_caption_says_if_curves_leave_the_figure():
    comparison = make_comparison()
    assert "not drawn" not in draw_curves(comparison).caption.text
    first, *others = comparison.summary.curves
    low = first.r2.model_copy(update={"mean": [-1.5, *first.r2.mean[1:]]})
    curves = [first.model_copy(update={"r2": low}), *others]
    below = replace(comparison, summary=comparison.summary.model_copy(update={"curves": curves}))
    chosen = {(line.selector, line.weighted) for line in curves if line.weighted or line.selector != "rgs"}
    assert ("Below −1: not drawn." in draw_curves(below).caption.text) == ((first.selector, first.weighted) in chosen)


def test_captions_of_classes_speak_of_accuracy():
    classes = make_comparison(classes=("a", "b"), outputs=("d",))
    assert draw_curves(classes).caption.title == "Accuracy by number of features"
    assert draw_traces(classes).caption.text.endswith("stays on the true class within a trial.")
    values = make_comparison()
    assert draw_curves(values).caption.title == "R² by number of features"
    assert draw_traces(values).caption.text.endswith("stays near the mean.")


def test_what_belongs_to_the_reference_has_its_color():
    comparison = make_comparison(selectors=("infogain", "rgs"))
    color = find_key("infogain").color
    assert draw(draw_chance(comparison)).lines[2].get_color() == find_key(comparison.summary.main).color
    disks = draw(draw_positions(comparison)).collections[1]
    assert to_hex(disks.get_facecolor()[0]) == color
    index = [make_comparison(selectors=("infogain", "rgs"), seed=seed) for seed in range(2)]
    axes = draw(draw_all_lags(dict(enumerate(index))))
    assert axes.lines[-1].get_color() == color
    axes = draw(draw_all_lags({"a": comparison, "b": make_comparison()}))
    assert axes.lines[-1].get_color() == BLUE


def test_the_methods_text_of_one_lag():
    assert "bins of 100 ms at a lag of 0 ms (positive:" in write_methods(make_comparison(n_lags=1))
    assert " at lags of 0 to" in write_methods(make_comparison())


def test_every_selector_has_a_name_and_a_style_of_its_own():
    keys = {name: find_key(name) for name in (*SELECTORS, "ridge", "kalman")}
    styles = {(key.color, key.marker, str(key.line)) for key in keys.values()}
    assert len(styles) == len({key.label for key in keys.values()}) == len(keys)
    assert {key.marker for key in keys.values()} <= {*MARKERS, "x", ""}


def test_wins_are_those_of_the_weighted_reference():
    comparison = make_comparison()
    summary = comparison.summary
    wins = [w.model_copy(update={"weighted": True, "share": [0.25] * len(w.n)}) for w in summary.wins]
    both = replace(comparison, summary=summary.model_copy(update={"wins": summary.wins + wins}))
    axes = draw(draw_wins(both))
    assert {y for line in axes.lines[1:] for y in line.get_ydata()} == {25.0}


def test_maps_shade_every_feature():
    comparison = make_comparison()
    image = draw(draw_weight_maps(comparison)).images[0].get_array()
    weights = comparison.weights["weights"].values[0, 0].mean(axis=(0, 1))
    fading = np.where(np.arange(8) % 2 == 0, 1.0, FADED)  # every other one is tuned, as `comparisons` has it
    np.testing.assert_allclose(image[..., 3], weights.T / weights.max() * fading, rtol=1e-5)
    n = find_n(comparison)
    image = draw(draw_top_maps(comparison)).images[0].get_array()
    share = (comparison.weights["ranking"].values[0] <= n).mean(axis=(0, 1, 2))
    np.testing.assert_allclose(image[..., 3], share.T * fading)


def test_traces_show_the_first_repeat_of_the_best_method():
    comparison = make_comparison(n_repeats=2)
    axes = draw(draw_traces(comparison), 1)
    best = comparison.predictions["method"].values.tolist().index(comparison.summary.main)
    true, decoded = axes.lines[0].get_ydata(), axes.lines[1].get_ydata()
    np.testing.assert_allclose(true, comparison.predictions["target"].values[: len(true), 1])
    np.testing.assert_allclose(
        decoded, comparison.predictions["predicted"].values[best, 0, 1, : len(decoded)], rtol=1e-6
    )


def test_the_band_is_one_standard_deviation():
    axes = draw(draw_traces(make_comparison(sd=True)))
    low, high = axes.collections[0].get_paths()[0].vertices[:, 1].min(), axes.lines[1].get_ydata()
    assert low == pytest.approx(high.min() - 2.0, abs=1e-5)


def test_the_figure_of_chance_marks_shifts_and_no_shift():
    comparison = make_comparison()
    axes = draw(draw_chance(comparison))
    test = comparison.summary.chance_of(comparison.summary.main)[0]
    np.testing.assert_allclose(axes.lines[0].get_xdata(), np.sort(test.values))
    assert axes.lines[2].get_xdata()[0] == test.real
    assert len(draw_chance(comparison).numbers.rows) == len(comparison.summary.chance)


def test_wins_are_drawn_beside_a_fair_coin():
    comparison = make_comparison()
    (band,) = draw(draw_wins(comparison)).patches
    assert (band.get_y(), band.get_y() + band.get_height()) == (20.0, 80.0), "2 to 8 of 10 throws"


def test_confusions_are_percentages_of_rows():
    comparison = make_comparison(classes=("a", "b", "c"), outputs=("d",))
    axes = draw(draw_confusion(comparison))
    counts = np.array(comparison.summary.confusion.counts)
    shown = np.array([int(text.get_text()) for text in axes.texts]).reshape(3, 3)
    np.testing.assert_array_equal(shown, np.round(100 * counts / counts.sum(axis=1, keepdims=True)))


def test_rasters_are_ordered_by_condition():
    comparison = make_comparison()
    axes = draw(draw_raster(comparison))
    order = np.argsort([float(c) for c in comparison.session["event_condition"].values], kind="stable")
    expected = comparison.session["raster"].values[0][order]
    np.testing.assert_array_equal(axes.images[0].get_array()[..., 3] > 0, expected > 0)


def test_stability_positions_and_lags_have_their_numbers():
    comparison = make_comparison()
    rows = draw_stability(comparison).numbers.rows
    assert {row[3] for row in rows} == {s.index for s in comparison.summary.stability}
    lags = draw_lags(comparison).numbers.rows
    assert sum(share for name, _, share in lags if name == "RGS") == pytest.approx(1)
    weights = comparison.weights["weights"].sel(selector="rgs").mean(("output", "repeat", "fold"))
    places = draw_positions(comparison).numbers.rows
    assert sum(row[2] for row in places) == pytest.approx(float(weights.sum()), rel=1e-5)


# Weights and ranks, put together


def test_maps_are_means_over_what_is_there():
    comparison = make_comparison()
    weights = comparison.weights.copy(deep=True)
    weights["weights"].values[0, 0, 0, 1:] = np.nan
    weights["ranking"].values[0, 0, 0, 1:] = 0
    partial = replace(comparison, weights=weights)
    np.testing.assert_allclose(mean_weights(partial, "rgs")[0], weights["weights"].values[0, 0, 0, 0], rtol=1e-6)
    ranks = weights["ranking"].values[0].reshape(-1, 8, 4)
    known = ranks[ranks.max(axis=(1, 2)) > 0]
    np.testing.assert_allclose(selected_share(partial, "rgs", 5), (known <= 5).mean(axis=0))
    name, channels, lags = count_channels(partial, 5)[0]
    used = (known <= 5).any(axis=2).sum(axis=1)
    assert (name, channels) == ("rgs", used.mean())
    assert lags == pytest.approx((5 / used).mean())
    assert "all" not in list_selectors(partial)


def test_a_selector_without_results_is_left_out():
    comparison = make_comparison()
    weights = comparison.weights.copy(deep=True)
    weights["ranking"].values[1] = 0
    weights["weights"].values[1] = np.nan
    partial = replace(comparison, weights=weights)
    assert "corrcoef" not in list_selectors(partial)
    render(partial)


def test_kinds_add_up():
    comparison = make_comparison()
    kinds, rows = share_by_kind(comparison, 6)
    assert kinds == ["isolated", "threshold"]
    assert [sum(row[1:]) for row in rows] == pytest.approx([1.0] * len(rows))
    assert weigh_lags(comparison, "rgs").sum() == pytest.approx(1)


def test_channels_are_listed_with_remarks():
    comparison = make_comparison(n_channels=9)
    rate = comparison.session["rate"].copy()
    rate.values[:4] = 20.0, 30.0, 0.1 - 1e-9, 40.0
    rate.values[5:9] = 6 / 60, 1 / 60, 100 / 60, 99 / 60
    records = describe_channels(replace(comparison, session=comparison.session.assign(rate=rate)))
    assert [record["channel"] for record in records] == comparison.session["channel"].values.tolist()
    remarks = {record["channel"]: record["remarks"] for record in records}
    assert remarks["c4"] == "silent"
    assert remarks["c0"] == ""
    assert remarks["c1"] == "active in 40 % of the session"
    assert remarks["c2"] == "6 spikes, rare (0.1 Hz)"
    assert remarks["c3"] == "same spikes as c0"
    assert remarks["c5"] == "6 spikes"
    assert remarks["c6"] == "1 spike, rare (0.017 Hz)"
    assert (remarks["c7"], remarks["c8"]) == ("", "99 spikes")


def test_tables_show_each_column_in_one_format():
    rows = [("a", 1.0, Estimate(mean=0.5, low=0.25, high=0.75), None), ("b", 12345.0, None, float("nan"))]
    shown = show_table(Table("t", ("name", "n", "score", "empty"), rows, digits=2))
    assert [column["kind"] for column in shown["columns"]] == ["text", "num", "num", "text"]
    assert [[cell["text"] for cell in row] for row in shown["rows"]] == [
        ["a", "1", "0.50 (0.25 to 0.75)", None],
        ["b", "12,345", None, None],
    ]
    assert shown["rows"][0][2]["value"] == 0.5


def test_every_selector_has_a_color_for_light_and_dark():
    for name in ("rgs", "corrcoef", "unheard-of", "rgs + svr"):
        assert find_key(name).color in THEME
    known = ["rgs", "kernel-rgs", "corrcoef", "infogain", "sks", "rrelieff"]
    assert len({find_key(name).color for name in known}) == len(known)
