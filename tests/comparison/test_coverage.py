import numpy as np
import xarray as xr

from neurofs.comparison.coverage import describe_coverage


def predictions(sd):
    """Ten samples of one output, decoded by one method without deviations and one with; two repeats."""
    target = np.array([0.0, 1, -1, 2, -2, 3, -3, 4, -4, 0])
    predicted = np.stack([np.full((2, 1, 10), 9.0), np.zeros((2, 1, 10))])
    deviations = np.stack([np.full((2, 1, 10), np.nan), np.full((2, 1, 10), sd)])
    dims = ("method", "repeat", "output", "time")
    variables = {"predicted": (dims, predicted), "predicted_sd": (dims, deviations)}
    return xr.Dataset({**variables, "target": (("time", "output"), target[:, None])}, {"method": ["a", "b"]})


def test_the_share_of_each_fifth_by_hand():
    (found,) = describe_coverage(predictions(sd=1.5))  # holds |y| <= 2.94
    assert found.method == "b"
    assert found.mean == 0.6
    assert found.by_size == [1.0, 1.0, 1.0, 0.0, 0.0]
    assert np.isclose(found.half_width, 1.959964 * 1.5 / np.sqrt(6))


def test_only_samples_that_were_predicted_count():
    table = predictions(sd=1.5)
    table["predicted_sd"][1, 0, 0, 5:] = np.nan  # the first repeat predicted five samples: 0, 1, −1, 2, −2
    table["predicted_sd"][1, 1] = np.nan
    (found,) = describe_coverage(table)
    assert found.mean == 1.0
    assert found.by_size == [1.0, 1.0, 1.0, None, None]


def test_size_is_the_distance_from_the_mean():
    far = predictions(sd=1.5)
    far["target"] += 100
    far["predicted"] += 100
    assert describe_coverage(far)[0].by_size == describe_coverage(predictions(sd=1.5))[0].by_size


def test_without_deviations_there_is_no_coverage():
    assert describe_coverage(predictions(1.0).drop_vars("predicted_sd")) == []
