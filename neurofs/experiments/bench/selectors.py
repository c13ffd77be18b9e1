"""How fast the selectors are, on one core: RGS, SKS, a step of forward selection, a pass of G-flip, ReliefF."""

import time
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

from neurofs.experiments.bench.meters import seconds
from neurofs.experiments.bench.row import Row

LAGS = 10
RELIEF_ROWS, RELIEF_FEATURES = 600, 100  # skrebate takes long for more


def measure_selectors() -> Iterator[Row]:
    """Yield the rows of the table; times are those of the processor, after a small run that compiles."""
    from neurofs.ground.threads import one_thread

    with one_thread():
        yield from rgs_rows()
        yield growth_row()
        yield sks_row()
        yield forward_row()
        yield gflip_row()
        yield from relieff_rows()


def make_counts(m: int, channels: int, lags: int = LAGS) -> tuple[Any, np.ndarray]:
    """Return windows over Poisson counts of different rates, and two targets that depend on a few of them."""
    from neurofs.features.samples import Samples

    rng = np.random.default_rng(0)
    counts = rng.poisson(rng.uniform(0.2, 3, channels), (m + lags - 1, channels))
    samples = Samples.from_counts(counts, lags)
    column = [samples.flat[samples.starts + f] for f in range(6)]
    noise = rng.normal(size=(m, 2))
    return samples, np.column_stack([column[0] + column[1] * column[2], column[3] - column[4] * column[5]]) + noise


def _under(what: str, spent: float, goal: float) -> Row:
    return Row(what, f"{spent:.2f} s", f"under {goal:g} s", spent < goal)


def rgs_rows(m: int = 20_000, channels: int = 48) -> Iterator[Row]:
    """Compare normal with full effort of RGS: time, and R² of soft kNN on as many further samples as a quarter."""
    samples, Y = make_counts(m + m // 4 + LAGS, channels)
    train, test = np.arange(m), np.arange(m + LAGS, m + LAGS + m // 4)
    spent, reached = zip(*(_fit_rgs(samples, Y, train, test, effort) for effort in ("normal", "full")), strict=True)
    ratio, gap = spent[1] / spent[0], reached[0] - reached[1]
    yield Row(f"RGS, m = {m}, N = {samples.n_features}: normal effort", f"{spent[0]:.2f} s")
    yield Row("  times faster than full effort", f"{ratio:.1f}", "at least 8", ratio >= 8)
    yield Row("  its R² of soft kNN less that of full effort", f"{gap:+.4f}", "at least -0.002", gap >= -0.002)


def _fit_rgs(samples: Any, Y: np.ndarray, train: np.ndarray, test: np.ndarray, effort: str) -> tuple[float, float]:
    """Return the time of a fit as `decode` does it, and R² of soft kNN in its metric."""
    from neurofs.metric.neighbors import find_neighbors, soft_knn
    from neurofs.selectors import RGS

    rgs = RGS(n_epochs=3, survey=False, random_state=0, effort=effort)
    rgs.fit(samples[train[:300]], Y[train[:300]])
    spent = seconds(lambda: rgs.fit(samples[train], Y[train]), 1 if effort == "full" else 2)
    near = find_neighbors(samples[train], samples[test], weights=rgs.weights_, k=20)
    error = Y[test] - soft_knn(near, Y[train], beta=0.12)
    return spent, float(np.mean(1 - error.var(axis=0) / Y[test].var(axis=0)))


def growth_row(few: int = 5_000, many: int = 80_000, channels: int = 16) -> Row:
    """Say how the time of RGS grows with the number of samples, with normal effort."""
    samples, Y = make_counts(many, channels)
    spent = [_fit_rgs(samples, Y, np.arange(m), np.arange(10), "normal")[0] for m in (few, many)]
    exponent = float(np.log(spent[1] / spent[0]) / np.log(many / few))
    return Row(
        f"RGS, exponent of its time from m = {few} to {many}", f"{exponent:.2f}", "at most 1.15", exponent <= 1.15
    )


def sks_row(m: int = 4040, channels: int = 64) -> Row:
    """Rank all features by SKS."""
    from neurofs.selectors import SKS

    samples, Y = make_counts(m, channels)
    SKS().fit(samples[:100], Y[:100])
    spent = seconds(lambda: SKS(n_neighbors=50).fit(samples, Y[:, 0]), 1)
    return _under(f"SKS, m = {m}, N = {samples.n_features}, k = 50", spent, 3)


def forward_row(m: int = 2000, channels: int = 64, n_steps: int = 4) -> Row:
    """Time the steps of forward selection and report the slowest."""
    from neurofs.selectors import ForwardSelection

    samples, Y = make_counts(m, channels)
    ForwardSelection(2).fit(samples[:100], Y[:100])
    times = [time.process_time()]
    ForwardSelection(n_steps, callback=lambda step: times.append(time.process_time())).fit(samples, Y)
    spent = float(np.diff(times[1:]).max())
    return _under(f"slowest of {n_steps} forward steps, m = {m}, {samples.n_features} candidates", spent, 5)


def gflip_row(m: int = 1640, n_features: int = 522) -> Row:
    """Time one pass of G-flip over features of which most carry something about eight classes."""
    from neurofs.selectors import GFlip

    rng = np.random.default_rng(0)
    y = rng.integers(0, 8, m)
    X = rng.poisson(1 + rng.random((8, n_features))[y]).astype(np.float32)
    one_pass = GFlip(n_starts=1, max_passes=1, random_state=0)
    one_pass.fit(X[:100], y[:100])
    spent = seconds(lambda: one_pass.fit(X, y), 1)
    return _under(f"G-flip, one pass and the worth of each feature, m = {m}, N = {n_features}", spent, 20)


def relieff_rows(m: int = RELIEF_ROWS, n_features: int = RELIEF_FEATURES) -> Iterator[Row]:
    """Compare ReliefF with skrebate's: the same algorithm, data and neighbors."""
    from neurofs.selectors import ReliefF

    X, y = relieff_task(m, n_features)
    ours = ReliefF(n_neighbors=10)
    ours.fit(X[:100], y[:100])
    spent = seconds(lambda: ours.fit(X, y), 3)
    what = f"ReliefF, m = {m}, N = {n_features}, against skrebate"
    if find_spec("skrebate") is None:
        yield Row(what, "skipped: skrebate is not installed")
        return
    from skrebate import ReliefF as Peer

    peer = Peer(n_neighbors=10, n_features_to_select=20, n_jobs=1)
    theirs = seconds(lambda: peer.fit(X, y), 1)
    ratio, same = theirs / spent, set(ours.order_[:20]) == set(peer.top_features_[:20])
    yield Row(what, f"{ratio:.0f} times faster", "at least 10", ratio >= 10)
    yield Row("  the same 20 best features", "yes" if same else "no", "yes", same)
    gap = float(np.abs(ours.scores_ - peer.feature_importances_).max())
    yield Row("  largest difference of a score", f"{gap:.1e}")


def relieff_task(m: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two classes that 25 continuous features tell apart, some more than others."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, m)
    X = rng.normal(size=(m, n_features))
    X[:, :25] += np.linspace(1.5, 0.3, 25) * y[:, None]
    return X, y
