"""Class labels given to selectors: one column per class for those of values, as in `neurofs decode`."""

import numpy as np
import pytest

from neurofs.features.samples import Samples
from neurofs.selectors import RGS, SELECTORS

RNG = np.random.default_rng(4)
X = RNG.random((90, 6))
CODES = (3 * X[:, 2]).astype(int)
CODES = np.array([1, 2, 0])[CODES]  # in no order of the feature, so that regression on the numbers goes wrong
NAMES = np.array(["up", "down", "left"])[CODES]
COARSE = (4 * X).astype(int).astype(float)  # for selectors that count equal rows
COARSE_CODES = (COARSE[:, 2] > 1).astype(int)
COARSE_NAMES = np.array(["a", "b"])[COARSE_CODES]
CONTINUOUS, EITHER, CLASSES = (
    sorted(name for name, kind in SELECTORS.items() if kind.target == target)
    for target in ("continuous", "continuous or classes", "classes")
)


def one_hot(labels):
    """Write out one column per class, in the order of their names."""
    return np.array([[float(label == name) for name in sorted(set(labels))] for label in labels])


def fit(name, y, data=X):
    kind = SELECTORS[name]
    seed = {"random_state": 0} if "random_state" in kind().get_params() else {}
    return kind(**seed).fit(data, y)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_labels_are_one_column_per_class(name):
    plain = fit(name, one_hot(NAMES.tolist()))
    for y in (NAMES, NAMES.tolist(), NAMES.astype(object), NAMES[:, None]):
        np.testing.assert_array_equal(fit(name, y).weights_, plain.weights_)
    np.testing.assert_array_equal(fit(name, NAMES, Samples.from_array(X)).weights_, plain.weights_)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_truth_values_and_whole_numbers_are_classes(name):
    truth = CODES == 0
    np.testing.assert_array_equal(fit(name, truth).weights_, fit(name, one_hot(truth.tolist())).weights_)
    plain = fit(name, one_hot(CODES.tolist())).weights_
    for y in (CODES, CODES.tolist(), CODES.astype(np.uint8), CODES.astype(object), CODES[:, None]):
        np.testing.assert_array_equal(fit(name, y).weights_, plain)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_floating_point_numbers_and_several_columns_are_values(name):
    one_column = fit(name, CODES.astype(float)[:, None]).weights_
    np.testing.assert_array_equal(fit(name, CODES.astype(float)).weights_, one_column)
    np.testing.assert_array_equal(fit(name, CODES.astype(float).astype(object)).weights_, one_column)
    columns = np.column_stack([CODES, 100 * X[:, 1]]).astype(int)
    np.testing.assert_array_equal(fit(name, columns).weights_, fit(name, columns.astype(float)).weights_)


def test_labels_and_their_numbers_are_not_the_same():
    numbers = RGS(random_state=0).fit(X, CODES.astype(float))
    for labels in (RGS(random_state=0).fit(X, NAMES), RGS(random_state=0).fit(X, CODES)):
        assert labels.order_[0] == 2
        assert not np.allclose(labels.weights_, numbers.weights_)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_many_whole_numbers_are_refused_since_they_may_be_values(name):
    pixels = np.arange(90) % 51
    with pytest.raises(ValueError, match=r"found 51 different ones .*y\.astype\(float\).*y\.astype\(str\)"):
        fit(name, pixels)
    for y in (pixels % 50, pixels.astype(float), pixels.astype(str)):
        assert len(fit(name, y).weights_) == 6


@pytest.mark.parametrize("name", EITHER)
def test_selectors_of_both_take_the_same_labels_as_classes(name):
    plain = fit(name, CODES).weights_
    for y in (CODES[:, None], CODES.astype(object), np.array(["a", "b", "c"])[CODES]):
        np.testing.assert_array_equal(fit(name, y).weights_, plain)
    values = fit(name, CODES.astype(float)).weights_
    np.testing.assert_array_equal(fit(name, CODES.astype(float).astype(object)).weights_, values)


@pytest.mark.parametrize("name", CLASSES)
def test_selectors_of_classes_take_numbers_and_text(name):
    np.testing.assert_array_equal(fit(name, COARSE_CODES, COARSE).weights_, fit(name, COARSE_NAMES, COARSE).weights_)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (["a"] * 90, "at least 2 classes"),
        (["a", None] * 45, "labels of one kind"),
        (["a", np.nan] * 45, "labels of one kind"),
        (np.array([["a", "b"]] * 90), "one column of labels"),
        (["a", "b"], "inconsistent"),
    ],
)
def test_labels_that_cannot_be_used_are_refused(y, words):
    y = np.array(y, dtype=object)
    with pytest.raises(ValueError, match=words):
        RGS().fit(X, y)
