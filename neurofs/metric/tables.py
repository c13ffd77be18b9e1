"""Tables of the distances among training rows, and choices, which several decoders of one metric share."""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from neurofs.features.samples import Samples
from neurofs.metric.neighbors import as_w2, pairwise_distances

_known: ContextVar[dict[Hashable, Any] | None] = ContextVar("tables", default=None)


@contextmanager
def shared_tables() -> Iterator[None]:
    """Inside, `find_table` computes each table once, and `find_once` other things, for all decoders that ask."""
    token = _known.set({})
    try:
        yield
    finally:
        _known.reset(token)


def find_once(key: Hashable, of: Any, compute: Callable[[], Any]) -> Any:
    """Return what is computed from one object, once where tables are shared; `key` says what it is.

    >>> numbers, sums = [1, 2], []
    >>> with shared_tables():
    ...     [find_once("sum", numbers, lambda: sums.append(0) or sum(numbers)) for _ in range(3)], len(sums)
    ([3, 3, 3], 1)
    """
    known = _known.get()
    if known is None:
        return compute()
    place = key, id(of)
    if place not in known:
        known[place] = of, compute()  # holds the object, so that no other one gets its id
    return known[place][1]


def find_table(train: Samples, weights: Any) -> np.ndarray:
    """Return the distances among the rows, as `pairwise_distances` does; not to be written to.

    >>> train = Samples.from_array(np.eye(3))
    >>> with shared_tables():
    ...     find_table(train, None) is find_table(train[[0, 1, 2]], np.ones(3))
    True
    """
    known = _known.get()
    if known is None:
        return pairwise_distances(train, weights=weights)
    key = id(train.flat), train.starts.tobytes(), as_w2(weights, train.n_features).tobytes()
    if key not in known:
        known[key] = pairwise_distances(train, weights=weights)
    return known[key]
