"""What selectors ask of the parameters that they are given."""

from numbers import Integral, Real
from typing import Any

import numpy as np


def is_count(value: Any) -> bool:
    """Tell whether a value is a whole number above 0.

    >>> is_count(3), is_count(np.int64(3)), is_count(3.0), is_count(True)
    (True, True, False, False)
    """
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1


def check_positive(name: str, value: Any) -> float:
    """Return a number above 0."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < float(value) < np.inf:
        raise ValueError(f"{name} must be a number above 0; found {value!r}")
    return float(value)


def resolve_auto(value: Any, default: float, name: str, whole: bool = False) -> float:
    """Return `default` for "auto", else the number given."""
    if isinstance(value, str) and value == "auto":
        return default
    if whole and not isinstance(value, Integral):
        raise ValueError(f"{name} must be a whole number above 0; found {value!r}")
    return check_positive(name, value)


def check_neighbors(n_neighbors: Any, n_samples: int, default: int) -> int:
    """Return k: `default`, as far as there are rows, for "auto"; a number beyond the rows is refused."""
    if isinstance(n_neighbors, str) and n_neighbors == "auto":
        return max(1, min(default, n_samples - 1))
    if not is_count(n_neighbors):
        raise ValueError(f"n_neighbors must be 'auto' or a whole number above 0; found {n_neighbors!r}")
    if int(n_neighbors) >= n_samples:
        raise ValueError(
            f"n_neighbors = {n_neighbors} needs at least {int(n_neighbors) + 1} samples; found {n_samples}"
        )
    return int(n_neighbors)


def check_width(beta: Any, factor: Any) -> tuple[float, bool]:
    """Return the number that the loops take as β, and whether it multiplies the mean distance."""
    if isinstance(beta, str) and beta == "adaptive":
        return check_positive("beta_factor", factor), True
    return check_positive("beta", beta), False
