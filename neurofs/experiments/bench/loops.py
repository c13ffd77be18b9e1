"""How fast the compiled loops are: RGS epochs, distances, prefix curves, memory and growth.

All of it runs on one core, warm, with m = 4040 samples of 64 channels × 10 lags and k = 50. A ratio compares two
forms of the same work in this process, each by the least of several runs.
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

from neurofs.experiments.bench.meters import MemoryMeter, run_alone, seconds
from neurofs.experiments.bench.peers import measure_peers
from neurofs.experiments.bench.row import Row

M, CHANNELS, LAGS, K = 4040, 64, 10, 50

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
        yield from _epoch_rows()
        yield from _distance_rows()
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


def epoch(samples: Any, Y: np.ndarray, rows: np.ndarray, k: int = K, batch: int = 8) -> np.ndarray:
    """Run our epoch over some rows, from unit weights."""
    from neurofs.selectors import loops_rgs

    w = np.ones(samples.n_features)
    groups = np.arange(len(samples))
    loops_rgs.rgs_epoch(samples.flat, samples.starts, groups, samples.span, Y, rows, batch, k, 0.25, True, 2.0, 0.5, w)
    return w


def numpy_epoch(samples: Any, X: np.ndarray, X2: np.ndarray | None, Y: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Run the same in NumPy, one row per step: distances by two products if X² is given, else directly."""
    w = np.ones(X.shape[1], X.dtype)
    for i in rows:
        w2 = w * w
        d = ((X - X[i]) ** 2) @ w2 if X2 is None else X2 @ w2 + X2[i] @ w2 - 2 * (X @ (w2 * X[i]))
        d[np.abs(samples.starts - samples.starts[i]) < samples.span] = np.inf
        near = np.argpartition(d, K)[:K]
        dn, g = d[near], Y[near, 0].astype(X.dtype)
        beta = 0.25 * dn.mean()
        p = np.exp(-(dn - dn.min()) / beta)
        p /= p.sum()
        estimate = p @ g
        u = (-2 / beta * (Y[i, 0] - estimate)).astype(X.dtype) * p * (g - estimate)
        u -= (u @ dn) / dn.sum()
        w *= 1 + np.clip(2.0 * (u @ (X[near] - X[i]) ** 2), -0.5, 0.5)
    return w


def _epoch_rows() -> Iterator[Row]:
    samples, Y = make_session()
    X = np.asarray(samples)
    X2, wide = X * X, X.astype(np.float64)
    some = np.random.default_rng(1).permutation(M)[:200]
    ours, single = (seconds(partial(epoch, samples, Y, some, batch=b)) / 200 for b in (8, 1))
    best = seconds(lambda: numpy_epoch(samples, X, X2, Y, some), 3) / 200
    direct = seconds(lambda: numpy_epoch(samples, wide, None, Y, some[:40]), 3) / 40
    narrow = seconds(lambda: numpy_epoch(samples, X, None, Y, some[:40]), 3) / 40
    yield Row("RGS epoch, 8 rows per step", f"{1e6 * ours:.0f} µs per row; {ours * M:.2f} s for {M} rows")
    yield _times("  against the best NumPy form (two float32 products)", best / ours, 4)
    yield _times("  against the direct NumPy form (float64, NumPy's default)", direct / ours, 40)
    yield Row("  against the direct NumPy form in float32", f"{narrow / ours:.1f} times faster")
    yield Row("  one row per step, against the best NumPy form", f"{best / single:.1f} times faster")


def _times(what: str, ratio: float, goal: float) -> Row:
    """Return a row that says how many times faster, with its goal."""
    return Row(what, f"{ratio:.1f} times faster", f"at least {goal:g}", ratio >= goal)


# ------------------------------------------------------------------------------------------- distances and C


def _distance_rows() -> Iterator[Row]:
    from neurofs.metric import loops_neighbors

    samples, _ = make_session()
    w2, out = np.full(samples.n_features, 0.5, np.float32), np.empty(M, np.float32)
    x = np.asarray(samples[:1])[0]
    ours = seconds(lambda: loops_neighbors.query_distances(samples.flat, samples.starts, w2, x, out), 200)
    norms, queries, d = out.copy(), np.tile(w2 * x, (4, 1)), np.empty((4, M), np.float32)
    four = norms[:4].copy()
    batch = seconds(lambda: loops_neighbors.batch_distances(samples.flat, samples.starts, norms, queries, four, d), 200)
    yield Row("distances of a query to all rows", f"{1e6 * ours:.0f} µs; in a batch {1e6 * batch / 4:.0f} µs")
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
        rows = np.random.default_rng(1).permutation(m)[:64]
        return seconds(lambda: epoch(samples, Y, rows, k)) / rows.size

    sizes = [1000, 2000, 4000, 8000]
    yield Row("growth of a step with m", slope(sizes, [row_time(m=m) for m in sizes]))
    sizes = [16, 32, 64, 128]
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
