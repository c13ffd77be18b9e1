"""What this machine can do at most: the rate of its matrix products, and of its memory."""

from dataclasses import dataclass

import numpy as np

from neurofs.experiments.bench.meters import seconds

SIDE, LONG = 1536, 2**25


@dataclass(frozen=True)
class MachineLimits:
    """Of one core: operations per second of a large product in float32 (sgemm), bytes per second read from memory."""

    products: float
    memory: float


def measure_limits() -> MachineLimits:
    """Measure both with NumPy and its BLAS."""
    rng = np.random.default_rng(0)
    A, B = rng.random((2, SIDE, SIDE), np.float32)
    C = np.empty_like(A)
    long = np.ones(LONG, np.float32)
    return MachineLimits(
        2 * SIDE**3 / seconds(lambda: np.matmul(A, B, out=C)), long.nbytes / seconds(lambda: long.dot(long))
    )
