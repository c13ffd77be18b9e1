"""How fast the compiled loops are: RGS epochs, distances, prefix curves, memory and growth.

All of it runs on one core, warm, with m = 4040 samples of 64 channels × 10 lags and k = 50. A ratio compares two
forms of the same work in this process, each by the least of several runs: NumPy takes the same steps of 8 rows, and
has their distances by one matrix product. The rates of large products and of the memory are measured beside it.
"""

import ctypes
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from neurofs.experiments.bench.limits import MachineLimits, measure_limits
from neurofs.experiments.bench.meters import MemoryMeter, run_alone, seconds
from neurofs.experiments.bench.peers import measure_peers
from neurofs.experiments.bench.row import Row

M, CHANNELS, LAGS, K, STEP = 4040, 64, 10, 50, 8

C_LOOP = """
void distances(const float *flat, const long *starts, const float *w2, const float *x,
               long m, long n, float *out) {
  for (long j = 0; j < m; j += 4) {
    const float *rows[4];
    float s[4] = {0, 0, 0, 0};
    for (int r = 0; r < 4; r++) rows[r] = flat + starts[j + r < m ? j + r : m - 1];
    for (long f = 0; f < n; f++)
      for (int r = 0; r < 4; r++) { float t = x[f] - rows[r][f]; s[r] += w2[f] * t * t; }
    for (int r = 0; r < 4 && j + r < m; r++) out[j + r] = s[r];
  }
}
"""


def measure_loops() -> Iterator[Row]:
    """Yield the rows of the table, one by one; heavy libraries are loaded on the way."""
    import sklearn.neighbors  # noqa: F401  (libraries loaded after the limit would not obey it)

    import neurofs.metric.neighbors  # noqa: F401
    from neurofs.ground.threads import one_thread

    with one_thread():
        limits = measure_limits()
        yield Row("this machine, one core: products in float32 (sgemm)", f"{limits.products / 1e9:.0f} Gflop/s")
        yield Row("this machine, one core: reading memory", f"{limits.memory / 1e9:.1f} GB/s")
        yield from _epoch_rows()
        yield from _distance_rows(limits)
        yield from _prefix_rows()
        yield from _growth_rows()
    yield from _memory_rows()
    yield from measure_peers()


def make_session(m: int = M, channels: int = CHANNELS, jitter: float = 0.0) -> tuple[Any, np.ndarray]:
    """Return windows over Poisson counts and a target that depends on a few features.

    A little `jitter` on the counts leaves no ties, which libraries break in different ways.
    """
    from neurofs.features.samples import Samples

    rng = np.random.default_rng(0)
    counts = rng.poisson(0.5, (m + LAGS - 1, channels)) + jitter * rng.random((m + LAGS - 1, channels))
    samples = Samples.from_counts(counts, LAGS)
    y = sum(samples.flat[samples.starts + f] for f in range(5)) + rng.normal(size=m)
    return samples, ((y - y.mean()) / y.std())[:, None]


# ------------------------------------------------------------------------------------------------ an epoch


def epoch(samples: Any, Y: np.ndarray, rows: np.ndarray, k: int = K, batch: int = STEP) -> np.ndarray:
    """Run our epoch over some rows, from unit weights."""
    from neurofs.selectors import loops_rgs

    w = np.ones(samples.n_features)
    groups = np.arange(len(samples))
    loops_rgs.rgs_epoch(samples.flat, samples.starts, groups, samples.span, Y, rows, batch, k, 0.25, True, 2.0, 0.5, w)
    return w


def numpy_epoch(
    samples: Any, X: np.ndarray, X2: np.ndarray | None, Y: np.ndarray, rows: np.ndarray, batch: int = STEP
) -> np.ndarray:
    """Run the same in NumPy: the distances of a step by one matrix product if X² is given, else by differences."""
    w = np.ones(X.shape[1], X.dtype)
    for first in range(0, len(rows), batch):
        few = rows[first : first + batch]
        w2 = w * w
        if X2 is None:
            D = np.stack([((X - X[i]) ** 2) @ w2 for i in few])
        else:
            norms = X2 @ w2
            D = norms[few, None] + norms - 2 * ((X[few] * w2) @ X.T)
        D[np.abs(samples.starts - samples.starts[few, None]) < samples.span] = np.inf
        w *= 1 + np.clip(2.0 * sum(_numpy_slope(X, Y, i, d) for i, d in zip(few, D, strict=True)), -0.5, 0.5)
    return w


def _numpy_slope(X: np.ndarray, Y: np.ndarray, i: int, d: np.ndarray) -> Any:
    """Return the slope of a row, given its distances to all rows."""
    near = np.argpartition(d, K)[:K]
    dn, g = d[near], Y[near, 0].astype(X.dtype)
    beta = 0.25 * dn.mean()
    p = np.exp(-(dn - dn.min()) / beta)
    p /= p.sum()
    estimate = p @ g
    u = (-2 / beta * (Y[i, 0] - estimate)).astype(X.dtype) * p * (g - estimate)
    u -= (u @ dn) / dn.sum()
    return u @ (X[near] - X[i]) ** 2


def _epoch_rows() -> Iterator[Row]:
    samples, Y = make_session()
    X = np.asarray(samples)
    X2, wide = X * X, X.astype(np.float64)
    some = np.random.default_rng(1).permutation(M)[:200]
    ours = seconds(partial(epoch, samples, Y, some)) / 200
    products = seconds(lambda: numpy_epoch(samples, X, X2, Y, some), 3) / 200
    direct = seconds(lambda: numpy_epoch(samples, wide, None, Y, some[:40]), 3) / 40
    yield Row(f"RGS epoch, {STEP} rows per step", f"{1e6 * ours:.0f} µs per row; {ours * M:.2f} s for {M} rows")
    yield _times("  against NumPy in the same steps, one float32 product each", products / ours, 1.5)
    yield _times("  against NumPy by differences, float64 (its default)", direct / ours, 20)


def _times(what: str, ratio: float, goal: float) -> Row:
    """Return a row that says how many times faster, with its goal."""
    return Row(what, f"{ratio:.1f} times faster", f"at least {goal:g}", ratio >= goal)


# ------------------------------------------------------------------------------------------- distances and C


def _distance_rows(limits: MachineLimits) -> Iterator[Row]:
    from neurofs.metric import loops_neighbors

    samples, _ = make_session()
    w2, out = np.full(samples.n_features, 0.5, np.float32), np.empty(M, np.float32)
    X, x = np.asarray(samples), np.asarray(samples[:1])[0]
    ours = seconds(lambda: loops_neighbors.query_distances(samples.flat, samples.starts, w2, x, out), 200)
    norms, queries, d = out.copy(), np.tile(w2 * x, (4, 1)), np.empty((4, M), np.float32)
    four, eight, D = norms[:4].copy(), np.tile(w2 * x, (STEP, 1)), np.empty((STEP, M), np.float32)
    batch = seconds(lambda: loops_neighbors.batch_distances(samples.flat, samples.starts, norms, queries, four, d), 200)
    product = seconds(lambda: np.matmul(eight, X.T, out=D), 200)
    work = 2 * X.size  # of the product of a query with all rows
    share, theirs = work / (batch / 4) / limits.products, work / (product / STEP) / limits.products
    yield Row("distances of a query to all rows", f"{1e6 * ours:.0f} µs; in a batch {1e6 * batch / 4:.0f} µs")
    yield Row("  in a batch: share of the rate of sgemm", f"{share:.0%}", "at least 60 %", share >= 0.6)
    yield Row(f"  NumPy's product of {STEP} rows with all: share of that rate", f"{theirs:.0%}")
    with tempfile.TemporaryDirectory() as folder:
        loop = compile_c(Path(folder))
        if loop is None:
            yield Row("  against a C loop", "skipped: no C compiler `cc` here")
            return
        in_c = seconds(lambda: loop(samples.flat, samples.starts, w2, x, out), 200)
    yield _share("  time of a query against the C loop", ours / in_c, 2)
    yield _share("  time of a query in a batch against the C loop", batch / 4 / in_c, 2)


def _share(what: str, ratio: float, goal: float) -> Row:
    """Return a row that says how many times as long as the other it takes, with its goal."""
    return Row(what, f"{ratio:.2f} times", f"at most {goal:g}", ratio <= goal)


def compile_c(folder: Path) -> Callable[..., None] | None:
    """Return the C loop, compiled at full optimization, or None without a compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    source, part, library = folder / "loop.c", folder / "loop.o", folder / "loop.so"
    source.write_text(C_LOOP)
    flags = ["-O3", "-march=native", "-ffast-math", "-fPIC"]
    # Linked apart: with -ffast-math the linker would add code that switches off denormals everywhere.
    for command in ([*flags, "-c", str(source), "-o", str(part)], ["-shared", str(part), "-o", str(library)]):
        subprocess.run([compiler, *command], check=True, capture_output=True)
    function = ctypes.CDLL(str(library)).distances

    def call(flat: Any, starts: Any, w2: Any, x: Any, out: Any) -> None:
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (flat, starts, w2, x)]
        sizes = ctypes.c_long(len(starts)), ctypes.c_long(len(x))
        function(*pointers, *sizes, ctypes.c_void_p(out.ctypes.data))

    return call


# -------------------------------------------------------------------------------------------- prefix curves


def _prefix_rows() -> Iterator[Row]:
    from neurofs.metric.neighbors import prefix_curve

    samples, Y = make_session(jitter=0.5)
    cut = M - 400
    train, test = samples[: cut - LAGS], samples[cut:]
    Y = Y[: cut - LAGS]
    order = np.random.default_rng(2).permutation(samples.n_features)
    A, B = np.asarray(train)[:, order], np.asarray(test)[:, order]
    logs = np.unique(np.geomspace(1, order.size, 34).round().astype(int))  # 30 different sizes
    for sizes, goal, stride in ((np.arange(1, order.size + 1), 8, 10), (logs, 2, 1)):
        curve = prefix_curve(train, Y, test, order=order, sizes=sizes, k=K, beta=0.5)
        ours = seconds(partial(prefix_curve, train, Y, test, order=order, sizes=sizes, k=K, beta=0.5), 2)
        start = time.process_time()
        theirs = [sklearn_knn(A[:, :n], Y, B[:, :n]) for n in sizes[::stride]]
        peer = (time.process_time() - start) * sizes.size / len(theirs)
        agree = agreement(curve[::stride], np.array(theirs))
        yield _times(f"prefix curve, {sizes.size} sizes, against looping scikit-learn's kNN", peer / ours, goal)
        yield Row("  predictions that agree to 0.001", f"{agree:.2%}", "at least 99%", agree >= 0.99)


def sklearn_knn(X: np.ndarray, Y: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Predict by scikit-learn's brute-force kNN with the same soft weights."""
    from sklearn.neighbors import KNeighborsRegressor

    return KNeighborsRegressor(K, weights=soften, algorithm="brute").fit(X, Y).predict(Q)


def soften(distance: np.ndarray) -> np.ndarray:
    """Return the weights of soft kNN for the distances of neighbors, the nearest first."""
    d = distance.astype(np.float64) ** 2
    width = 0.5 * d.mean(axis=1, keepdims=True)
    return np.exp(-(d - d[:, :1]) / np.where(width > 0, width, 1.0))


def agreement(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Return the share of predictions that differ by less than 0.001 (near ties may go either way)."""
    return float(np.mean(np.abs(ours - theirs) < 1e-3))


# --------------------------------------------------------------------------------------------------- growth


def _growth_rows() -> Iterator[Row]:
    def slope(sizes: list[int], times: list[float]) -> str:
        exponent = np.polyfit(np.log(sizes), np.log(times), 1)[0]
        listed = ", ".join(f"{n}: {1e6 * t:.0f}" for n, t in zip(sizes, times, strict=True))
        return f"exponent {exponent:.2f}   (µs per row at {listed})"

    def row_time(m: int = M, channels: int = CHANNELS, k: int = K) -> float:
        samples, Y = make_session(m, channels)
        rows = np.random.default_rng(1).permutation(m)[:32]
        return seconds(lambda: epoch(samples, Y, rows, k)) / rows.size

    sizes = [4500, 18_000, 72_000]
    yield Row("growth of a step with m", slope(sizes, [row_time(m=m) for m in sizes]))
    sizes = [64, 384, 2000]
    widths = [LAGS * c for c in sizes]
    yield Row("growth of a step with N", slope(widths, [row_time(channels=c) for c in sizes]))
    sizes = [10, 30, 100, 300]
    yield Row("growth of a step with k", slope(sizes, [row_time(k=k) for k in sizes]))


# --------------------------------------------------------------------------------------------------- memory


def _memory_rows() -> Iterator[Row]:
    """Fit RGS in a process of its own and compare its peak with the binned counts."""
    seen = run_alone(fit_memory)
    allowed = 3 * seen["counts"] + 50e6
    yield Row(
        f"memory of a fit, {M} × {CHANNELS} × {LAGS}, beyond the imports",
        f"{seen['grown'] / 1e6:.1f} MB for {seen['counts'] / 1e6:.1f} MB of counts",
        f"at most {allowed / 1e6:.0f} MB",
        seen["grown"] <= allowed,
    )


def fit_memory() -> dict[str, float]:
    """Return the size of the counts and by how much the peak grew during a fit, with all code loaded before."""
    from neurofs.selectors import RGS

    RGS(n_epochs=1).fit(*make_session(200))
    samples, Y = make_session()
    memory = MemoryMeter()
    RGS(n_neighbors=K, n_epochs=1).fit(samples, Y)
    return {"counts": samples.flat.nbytes, "grown": memory.read()}
