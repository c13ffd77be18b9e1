import runpy
from pathlib import Path

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

script = runpy.run_path(str(Path(__file__).parents[2] / "data" / "make_demo_picture.py"))


def test_the_map_shows_every_weight_and_rings_the_truth(tmp_path):
    coords = {"channel": ["a", "b", "c"], "lag": [0.0, 0.1]}
    weights = xr.DataArray(np.arange(6.0).reshape(3, 2), dims=("channel", "lag"), coords=coords)
    figure = Figure()
    axes = figure.subplots()
    script["plot_weights"](axes, weights, weights > 3.5)
    assert axes.collections[0].get_array().ravel().tolist() == [0, 1, 2, 3, 4, 5]
    assert axes.lines[0].get_xydata().tolist() == [[0, 2], [100, 2]]
    assert axes.yaxis_inverted()
    figure.savefig(tmp_path / "map.png")


def test_one_lag_is_enough():
    weights = xr.DataArray(np.ones((2, 1)), dims=("channel", "lag"), coords={"channel": ["a", "b"], "lag": [0.0]})
    script["plot_weights"](Figure().subplots(), weights)


def test_the_decoded_trace_says_its_r2():
    axes = Figure().subplots()
    truth = np.array([0.0, 1.0, 2.0, 3.0])
    script["plot_decoded"](axes, truth, truth + np.array([0.5, -0.5, 0.5, -0.5]), 0.1, "x")
    assert "R² = 0.80" in axes.get_title()
    np.testing.assert_allclose(axes.lines[0].get_xdata(), [0, 0.1, 0.2, 0.3])
