"""Effort: how much work methods may put into sessions of many samples.

Some methods compare every sample with every other, which takes four times as long for twice the samples. Each of them
names a bound from which on it draws or thins samples; sessions below it are not touched. One word moves all bounds:
"normal" takes each as it stands, "quick" a quarter of it, and "full" none.
"""

from math import inf
from typing import Literal, get_args

Effort = Literal["quick", "normal", "full"]
SHARES = {"quick": 0.25, "normal": 1.0, "full": inf}


def bound(effort: str, normal: float) -> float:
    """Return the bound of an effort: `normal`, a quarter of it, or none.

    >>> bound("normal", 1000), bound("quick", 1000), bound("full", 1000)
    (1000.0, 250.0, inf)
    """
    if effort not in SHARES:
        raise ValueError(f"effort must be one of {', '.join(get_args(Effort))}; found {effort!r}")
    return normal * SHARES[effort]
