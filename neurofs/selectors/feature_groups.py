"""Features that are chosen together: all lags of one channel, all channels of one lag, or each on its own.

A selector with `feature_groups` (one label per feature) ranks whole groups. The weight of a group is the root
of the sum of squares of the weights of its features, which is what the group contributes to the distance
d_w(x, x') = Σ_f w_f² (x_f − x'_f)²; a larger group has more to sum, so groups are best of equal size.
"""

from typing import Any

import numpy as np


class FeatureGroups:
    """Which features belong together.

    >>> groups = FeatureGroups(["a", "b", "a"], n_features=3)
    >>> len(groups), [f.tolist() for f in groups.members], groups.labels.tolist()
    (2, [[0, 2], [1]], ['a', 'b'])
    >>> FeatureGroups(None, n_features=2).members
    [array([0]), array([1])]
    """

    def __init__(self, feature_groups: Any, n_features: int) -> None:
        """Number the groups in ascending order of their labels; without groups, each feature is one."""
        if feature_groups is None:
            self.labels, self.of_feature = np.arange(n_features), np.arange(n_features)
        else:
            given = np.asarray(feature_groups)
            if given.shape != (n_features,):
                raise ValueError(
                    f"feature_groups must have a label per feature ({n_features}); found shape {given.shape}"
                )
            self.labels, self.of_feature = np.unique(given, return_inverse=True)
        order = np.argsort(self.of_feature, kind="stable")
        sizes = np.bincount(self.of_feature, minlength=len(self.labels))
        self.members = np.split(order, np.cumsum(sizes)[:-1])

    def __len__(self) -> int:
        return len(self.labels)

    def find(self, wanted: Any) -> list[int]:
        """Return the feature groups with the labels `wanted`; an unknown label is refused by name."""
        at = {label: u for u, label in enumerate(self.labels.tolist())}
        unknown = [label for label in np.asarray(wanted).tolist() if label not in at]
        if unknown:
            raise ValueError(f"include names {unknown[0]!r}, which is no feature or feature group")
        return [at[label] for label in np.asarray(wanted).tolist()]


def group_weights(weights: np.ndarray, feature_groups: FeatureGroups) -> np.ndarray:
    """Return √ Σ w_f² over the features of each group.

    >>> group_weights(np.array([3.0, 1.0, 4.0]), FeatureGroups(["a", "b", "a"], 3))
    array([5., 1.])
    """
    largest = weights.max(initial=0.0) or 1.0
    squares = (weights / largest) ** 2
    return largest * np.sqrt(np.bincount(feature_groups.of_feature, weights=squares, minlength=len(feature_groups)))
