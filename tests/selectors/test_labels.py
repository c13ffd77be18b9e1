"""Class labels given to selectors of values: one column per class, as in `neurofs decode`."""

import numpy as np
import pytest

from neurofs.features.samples import Samples
from neurofs.selectors import RGS, SELECTORS

RNG = np.random.default_rng(4)
X = RNG.random((90, 6))
CODES = (3 * X[:, 2]).astype(int)
CODES = np.array([1, 2, 0])[CODES]  # in no order of the feature, so that regression on the numbers goes wrong
NAMES = np.array(["up", "down", "left"])[CODES]
CONTINUOUS = sorted(name for name, kind in SELECTORS.items() if kind.target == "continuous")


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
def test_truth_values_are_two_classes_and_whole_numbers_are_numbers(name):
    truth = CODES == 0
    np.testing.assert_array_equal(fit(name, truth).weights_, fit(name, one_hot(truth.tolist())).weights_)
    np.testing.assert_array_equal(fit(name, CODES).weights_, fit(name, CODES.astype(float)).weights_)


def test_labels_and_their_numbers_are_not_the_same():
    labels, numbers = RGS(random_state=0).fit(X, NAMES), RGS(random_state=0).fit(X, CODES)
    assert labels.order_[0] == 2
    assert not np.allclose(labels.weights_, numbers.weights_)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (["a"] * 90, "at least 2 classes"),
        (["a", None] * 45, "a mixture"),
        (["a", np.nan] * 45, "a mixture"),
        (np.array([["a", "b"]] * 90), "one column of labels"),
        (["a", "b"], "inconsistent"),
    ],
)
def test_labels_that_cannot_be_used_are_refused(y, words):
    y = np.array(y, dtype=object)
    with pytest.raises(ValueError, match=words):
        RGS().fit(X, y)
