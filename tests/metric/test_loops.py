"""Every loop against its slow twin in `reference`."""

import zlib
from pathlib import Path

import numpy as np
import pytest
import reference

from neurofs.features.samples import Samples
from neurofs.metric import loops_neighbors, neighbors
from neurofs.selectors import loops_errors, loops_rgs
from neurofs.selectors.filters import sks_scores

KINDS = ("random", "tied", "constant", "duplicated", "offset")
M, N = 30, 7


def make(kind, m=M, n=N, seed=0):
    """Data on a grid of eighths, so that float32 and float64 agree about ties."""
    rng = np.random.default_rng(seed)
    X = {
        "random": lambda: rng.integers(-40, 40, (m, n)) / 8,
        "tied": lambda: rng.integers(0, 2, (m, n)).astype(float),
        "constant": lambda: np.full((m, n), 2.0),
        "duplicated": lambda: np.repeat(rng.integers(-40, 40, (m // 2, n)) / 8, 2, axis=0),
        "offset": lambda: 1000 + rng.integers(-40, 40, (m, n)) / 8,
    }[kind]()
    return X, rng.normal(size=(m, 2)), rng.integers(1, 5, n) / 4


def windows(m=25, channels=3, lags=4, seed=1):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(1.0, (m + lags - 1, channels))
    return Samples.from_counts(counts, lags), rng.normal(size=(m, 2)), rng.integers(1, 5, channels * lags) / 4


@pytest.mark.parametrize("kind", KINDS)
def test_query_distances(kind):
    X, _, w = make(kind)
    for m in (1, 2, 3, 4, 5, M):
        samples, out = Samples.from_array(X[:m]), np.empty(m, np.float32)
        loops_neighbors.query_distances(samples.flat, samples.starts, np.float32(w**2), np.float32(X[0]), out)
        np.testing.assert_allclose(out, reference.distances(X[:1], X[:m], w)[0], rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 5, M - 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbors_leave_one_out(kind, k, dtype):
    X, Y, w = make(kind)
    near = neighbors.find_neighbors(X.astype(dtype), weights=w, k=k)
    D, banned = reference.distances(X, X, w), np.eye(M, dtype=bool)
    expected = [reference.nearest(D[i], k, banned[i]) for i in range(M)]
    np.testing.assert_array_equal(near.index, expected)
    np.testing.assert_allclose(near.distance, np.take_along_axis(D, near.index, 1), rtol=1e-5)
    for beta, adaptive in ((0.5, True), (3.0, False)):
        estimate = neighbors.soft_knn(near, Y, beta=beta, adaptive=adaptive)
        np.testing.assert_allclose(estimate, reference.soft_knn(D, Y, k, beta, adaptive, banned), atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_neighbors_of_test_rows(kind):
    X, Y, w = make(kind)
    Q = make(kind, m=10, seed=5)[0]
    near = neighbors.find_neighbors(X, Q, weights=w, k=6)
    D = reference.distances(Q, X, w)
    np.testing.assert_array_equal(near.index, [reference.nearest(d, 6) for d in D])
    expected = reference.soft_knn(D, Y, 4, 0.25, True)
    np.testing.assert_allclose(neighbors.soft_knn(near, Y, k=4, beta=0.25), expected, atol=1e-5)


@pytest.mark.parametrize("k", [1, 7, 40])
@pytest.mark.parametrize("levels", [2, 5, 1000])
@pytest.mark.parametrize("bound", [np.inf, "k-th"])
@pytest.mark.parametrize("shift", [0, 3, 2000])
def test_the_nearest_of_many_rows_with_ties(k, levels, bound, shift):
    """More rows than are put together at a time; some are of the query's group, or overlap it; negative "distances"."""
    rng = np.random.default_rng(levels)
    d = rng.integers(0, levels, 500).astype(np.float32)
    d[:200] += levels / 2  # so that what is found first is not what is nearest
    d -= shift
    d[::90], d[5], d[499] = np.inf, -0.0, 0.0
    starts, groups = np.arange(500), np.arange(500) // 3
    allowed = np.flatnonzero((np.abs(starts - 250) >= 4) & (groups != 30))
    expected = allowed[np.lexsort((allowed, d[allowed]))][:k]
    limit = d[expected].max() if bound == "k-th" else bound
    index, distance = np.full(k, -1), np.full(k, np.inf, np.float32)
    found = loops_neighbors.k_smallest(d, float(limit), starts, groups, 250, 30, 4, k, index, distance)
    assert found == k
    np.testing.assert_array_equal(index, expected)
    np.testing.assert_array_equal(distance, d[expected])


def test_windows_exclude_what_overlaps_and_trials():
    samples, _, w = windows()
    groups = np.arange(25) // 6
    X = np.asarray(samples, float)
    D = reference.distances(X, X, w)
    for given in (None, groups):
        near = neighbors.find_neighbors(samples, weights=w, k=24, groups=given)
        banned = reference.banned_pairs(samples.starts, samples.span, given)
        for i in range(25):
            expected = reference.nearest(D[i], 24, banned[i])
            assert near.index[i, : near.count[i]].tolist() == expected
            assert not samples.overlaps(i, near.index[i, : near.count[i]]).any()
            assert (near.index[i, near.count[i] :] == -1).all()
    alone = neighbors.find_neighbors(samples, weights=w, k=24, exclude="self")
    assert (alone.count == 24).all()


def test_a_query_without_neighbors_gets_nan():
    near = neighbors.find_neighbors(np.eye(4), k=2, groups=[1, 1, 1, 1])
    assert (near.count == 0).all()
    assert np.isnan(neighbors.soft_knn(near, np.ones(4))).all()
    assert np.isnan(neighbors.local_linear(near, np.ones(4))).all()


def test_equal_distances_give_the_mean():
    X = np.vstack([np.zeros(3), np.eye(3)])
    near = neighbors.find_neighbors(X[1:], X[:1], k=3)
    for adaptive in (True, False):
        assert neighbors.soft_knn(near, [1.0, 2.0, 6.0], beta=1e-3, adaptive=adaptive)[0, 0] == pytest.approx(3.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 6, 7, M])
def test_local_linear(kind, k):
    X, Y, w = make(kind)
    Q = make(kind, m=6, seed=5)[0]
    near = neighbors.find_neighbors(X, Q, weights=w, k=k)
    expected = reference.local_linear(Q, X, w, Y, k, 0.5, True, 0.05)
    np.testing.assert_allclose(neighbors.local_linear(near, Y, ridge=0.05), expected, atol=2e-4)
    table = neighbors.pairwise_distances(X, weights=w)
    np.testing.assert_allclose(neighbors.local_linear(near, Y, ridge=0.05, pairwise=table), expected, atol=2e-3)
    rough = neighbors.local_linear(near, Y, ridge=0.05, tolerance=1e-3)
    np.testing.assert_allclose(rough, expected, atol=5e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_pairwise_distances(kind):
    X, _, w = make(kind)
    D = neighbors.pairwise_distances(X, weights=w)
    np.testing.assert_allclose(D, reference.distances(X, X, w), rtol=1e-5, atol=1e-3)
    assert (np.diag(D) == 0).all()
    cross = neighbors.pairwise_distances(X[:5], X, weights=w)
    np.testing.assert_allclose(cross, D[:5], rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize(
    "starts",
    [np.arange(37) * 3, np.arange(0, 37, 3) * 3, 3 * np.array([20, 2, 9]), 1 + np.arange(36) * 3, np.array([0, 4, 11])],
    ids=["all", "thinned", "few of many", "shifted", "of no bins"],
)
@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_distances_of_single_windows(starts, offset):
    rng = np.random.default_rng(0)
    flat, w = (rng.normal(size=120) + offset).astype(np.float32), rng.integers(0, 4, 12) / 4
    rows = Samples(flat, starts, 12, n_channels=3)
    X, window = np.asarray(rows), Samples((rng.normal(size=15) + offset).astype(np.float32), np.array([3]), 12)
    expected = reference.distances(np.asarray(window).astype(float), X.astype(float), w)
    ready = neighbors.Distances(rows, w)
    for _ in range(2):  # what it works in is used again
        np.testing.assert_allclose(ready.to(window), expected, rtol=1e-7)
    whole = neighbors.pairwise_distances(window, rows, weights=w, dtype=np.float64)
    np.testing.assert_allclose(whole, expected, rtol=1e-7)


def slope_of(samples, Y, i, w, k, beta, adaptive, dtype=np.float64):
    flat, w2 = samples.flat.astype(dtype), (w * w).astype(dtype)
    d, slope = np.empty(len(samples), np.float32), np.zeros(samples.n_features, dtype)
    x = flat[samples.starts[i] : samples.starts[i] + samples.n_features]
    loops_neighbors.query_distances(flat, samples.starts, w2, x, d)
    groups = np.arange(len(samples))
    loss = loops_rgs.rgs_slope(flat, samples.starts, groups, samples.span, Y, i, d, w2, k, beta, adaptive, slope)
    return slope, loss


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("adaptive", [True, False])
def test_gradient_against_central_differences(outputs, adaptive):
    rng = np.random.default_rng(3)
    X, Y, w = rng.random((20, 5)), rng.normal(size=(20, outputs)), 0.5 + rng.random(5)
    samples, beta = Samples.from_array(X), 0.4
    X, banned, h = np.asarray(samples, float), np.eye(20, dtype=bool), 1e-5
    for i in range(20):
        slope, loss = slope_of(samples, Y, i, w, 19, beta, adaptive)  # all others: no jumps of the neighbor set
        assert loss == pytest.approx(-2 * reference.rgs_value(w, X, Y, i, 19, beta, adaptive, banned))
        for f in range(5):
            up, down = w + h * (np.arange(5) == f), w - h * (np.arange(5) == f)
            values = [reference.rgs_value(v, X, Y, i, 19, beta, adaptive, banned) for v in (up, down)]
            numeric = (values[0] - values[1]) / (2 * h)
            assert w[f] * slope[f] == pytest.approx(numeric, abs=1e-6)
        slope, _ = slope_of(samples, Y, i, w, 8, beta, adaptive)
        twin = reference.rgs_slope(w, X, Y, i, 8, beta, adaptive, banned)
        np.testing.assert_allclose(slope, twin, atol=1e-6)


def test_slopes_of_several_rows_add_up():
    samples, Y, w = windows()
    X, banned = np.asarray(samples, float), reference.banned_pairs(samples.starts, samples.span)
    rows, slope, w2 = np.array([3, 0, 17, 9, 21]), np.empty(12, np.float32), np.float32(w**2)
    groups = np.arange(25)
    loss = loops_rgs.rgs_slopes(samples.flat, samples.starts, groups, samples.span, Y, rows, 6, 0.5, True, w2, slope)
    expected = sum(reference.rgs_slope(w, X, Y, i, 6, 0.5, True, banned) for i in rows)
    np.testing.assert_allclose(slope, expected, atol=1e-5 * np.abs(expected).max())
    values = [reference.rgs_value(w, X, Y, i, 6, 0.5, True, banned) for i in rows]
    assert loss == pytest.approx(-2 * sum(values), rel=1e-5)


@pytest.mark.parametrize("batch", [1, 3, 4, 8])
@pytest.mark.parametrize("adaptive", [True, False])
def test_epoch(batch, adaptive):
    samples, Y, w = windows()
    X, banned = np.asarray(samples, float), reference.banned_pairs(samples.starts, samples.span)
    order = np.random.default_rng(0).permutation(25)
    got, beta = w.copy(), 0.5 if adaptive else 4.0
    groups = np.arange(25)
    loops_rgs.rgs_epoch(
        samples.flat, samples.starts, groups, samples.span, Y, order, batch, 6, beta, adaptive, 0.1, 0.5, got
    )
    expected = reference.rgs_epoch(X, Y, order, batch, 6, beta, adaptive, 0.1, 0.5, w, banned)
    np.testing.assert_allclose(got, expected, rtol=1e-3)
    assert np.abs(expected / w - 1).max() > 0.05


def test_visits_with_all_rows_as_candidates_are_an_epoch():
    samples, Y, w = windows()
    X, banned = np.asarray(samples, float), reference.banned_pairs(samples.starts, samples.span)
    order = np.random.default_rng(0).permutation(25)
    index, count = np.zeros((25, 25), np.int64), (~banned[order]).sum(axis=1)
    for b, i in enumerate(order):
        index[b, : count[b]] = np.flatnonzero(~banned[i])
    got, steps = w.copy(), np.where(np.arange(25) < 13, 0.1, 0.05)
    loops_rgs.rgs_visits(samples.flat, samples.starts, Y, order, index, count, 4, 6, 0.5, True, steps, 0.5, got)
    half = reference.rgs_epoch(X, Y, order[:16], 4, 6, 0.5, True, 0.1, 0.5, w, banned)
    expected = reference.rgs_epoch(X, Y, order[16:], 4, 6, 0.5, True, 0.05, 0.5, half, banned)
    np.testing.assert_allclose(got, expected, rtol=1e-3)
    assert np.abs(expected / w - 1).max() > 0.05


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 5, M - 1])
def test_sks(kind, k):
    X, Y, _ = make(kind)
    expected = reference.sks(X, Y, k, 0.5, True, np.eye(M, dtype=bool))
    np.testing.assert_allclose(sks_scores(X, Y, k=k), expected, rtol=1e-6)


@pytest.mark.parametrize("k", [1, 6, 12])
def test_sks_of_windows(k):
    samples, Y, _ = windows()
    X, banned = np.asarray(samples, float), reference.banned_pairs(samples.starts, samples.span)
    expected = reference.sks(X, Y, k, 2.0, False, banned)
    np.testing.assert_allclose(sks_scores(samples, Y, k=k, beta=2.0, adaptive=False), expected, rtol=1e-6)
    groups = np.arange(25) // 6
    banned = banned | (groups[:, None] == groups)
    expected = reference.sks(X, Y, k, 0.5, True, banned)
    np.testing.assert_allclose(sks_scores(samples, Y, k=k, groups=groups), expected, rtol=1e-6)


def test_sks_judged_by_some_rows():
    X, Y, _ = make("tied")
    rows, banned = np.array([0, 3, 4, M - 1]), np.eye(M, dtype=bool)
    expected = reference.sks(X, Y, 5, 0.5, True, banned, rows)
    np.testing.assert_allclose(sks_scores(X, Y, k=5, judged=rows), expected, rtol=1e-6)
    assert not np.allclose(expected, sks_scores(X, Y, k=5))


def test_sks_is_the_mean_over_all_choices_among_ties():
    rng = np.random.default_rng(3)
    X, Y, banned = rng.integers(0, 3, (9, 4)).astype(float), rng.normal(size=(9, 2)), np.eye(9, dtype=bool)
    for k in (1, 2, 4, 7, 8):
        for f, error in enumerate(sks_scores(X, Y, k=k)):
            D = (X[:, f : f + 1] - X[:, f]) ** 2
            by_hand = [reference.tied_error_by_hand(D[i], Y, i, k, 0.5, True, banned[i]) for i in range(9)]
            np.testing.assert_allclose(error, np.mean(by_hand, axis=0), rtol=1e-9)


def test_sks_does_not_depend_on_the_order_of_trials():
    samples, Y, _ = windows(m=120, channels=5)
    groups, order = np.arange(120) // 10, np.random.default_rng(0).permutation(120)
    expected = sks_scores(samples, Y, k=7, groups=groups)
    got = sks_scores(samples[order], Y[order], k=7, groups=groups[order])
    np.testing.assert_allclose(got, expected, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sizes", [list(range(1, 21)), [1, 2, 20], [20]])
@pytest.mark.parametrize("weighted", [True, False])
def test_prefix_curve(kind, sizes, weighted):
    X, Y, w = make(kind, n=20)
    Q, order = make(kind, m=9, n=20, seed=5)[0], np.random.default_rng(2).permutation(20)
    got = neighbors.prefix_curve(X, Y, Q, order=order, sizes=sizes, weights=w if weighted else None, k=5)
    expected = reference.prefix_curve(X, Y, Q, order, sizes, w if weighted else np.ones(20), 5, 0.5, True)
    np.testing.assert_allclose(got, expected, atol=1e-4)


POINTS = [(1, 0.1), (1, 0.5), (5, 0.1), (5, 0.25), (5, 0.5), (5, 0.07), (29, 0.25), (29, 0.5)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("adaptive", [True, False])
def test_prefix_curves_of_many_points(kind, adaptive):
    """Points of one k share their exponentials where a β is a multiple of another, which changes no estimate."""
    (X, Y, w), Q = make(kind, n=20), make(kind, m=9, n=20, seed=5)[0]
    order, sizes = np.random.default_rng(2).permutation(20), [1, 3, 8, 20]
    given = {"order": order, "sizes": sizes, "weights": w, "adaptive": adaptive}
    got = neighbors.prefix_curves(X, Y, Q, points=POINTS, **given)
    for at, (k, beta) in enumerate(POINTS):
        expected = reference.prefix_curve(X, Y, Q, order, sizes, w, k, beta, adaptive)
        np.testing.assert_allclose(got[at], expected, atol=1e-5)
    own = neighbors.prefix_curves(X, Y, Q, points=POINTS[4:], one_each=True, **given)
    np.testing.assert_allclose(own[0], [got[4 + at, at] for at in range(4)], atol=1e-12)


def test_prefix_curve_leaving_out():
    samples, Y, w = windows()
    got = neighbors.prefix_curve(samples, Y, order=np.arange(12), sizes=[4, 12], weights=w, k=6)
    near = neighbors.find_neighbors(samples, weights=w, k=6)
    np.testing.assert_allclose(got[1], neighbors.soft_knn(near, Y), atol=1e-6)


def test_prefix_sizes_must_ascend():
    with pytest.raises(ValueError, match="ascend"):
        neighbors.prefix_curve(np.eye(4), np.ones(4), order=np.arange(4), sizes=[2, 2], k=1)


def all_results(samples, Y, w):
    near = neighbors.find_neighbors(samples, weights=w, k=6)
    curve = neighbors.prefix_curve(samples, Y, order=np.arange(w.size), sizes=[1, 5, w.size], weights=w, k=6)
    parts = (near.index, near.distance, neighbors.local_linear(near, Y), curve, sks_scores(samples, Y, k=6))
    return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)


@pytest.mark.parametrize("loops", [loops_errors, loops_rgs])
def test_loops_name_the_file_that_they_are_built_on(loops):
    """Numba compiles the loops of a file anew when that file changes, and not when another one does."""
    text = Path(loops_neighbors.__file__).read_text(encoding="utf-8")
    assert f"{zlib.crc32(text.encode()):08x}" == loops.BUILT_ON, "write the new checksum into the file"


@pytest.mark.slow
def test_read_only_and_memory_mapped_input(tmp_path):
    samples, Y, w = windows()
    expected = all_results(samples, Y, w)
    samples.flat.tofile(tmp_path / "flat")
    mapped = np.memmap(tmp_path / "flat", np.float32, mode="r")
    Y.flags.writeable = False
    frozen = Samples(mapped, samples.starts, samples.n_features)
    assert not frozen.flat.flags.writeable
    assert all_results(frozen, Y, w) == expected


def test_numbers_far_from_zero_keep_their_distances():
    rng = np.random.default_rng(0)
    X = rng.integers(-8, 9, (40, 6)) / 8
    near, far = neighbors.find_neighbors(X, k=10), neighbors.find_neighbors(X + 4096, k=10)
    np.testing.assert_array_equal(near.index, far.index)
    np.testing.assert_array_equal(near.distance, far.distance)


def test_centering_serves_windows_of_any_phase():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 3, (20, 2)) + np.array([1000.0, -500.0])
    samples = Samples.from_counts(counts, 3)
    train, test = neighbors.centered(samples[5:], samples[:4])
    assert np.abs(train.flat).max() < 10
    a, b = np.asarray(samples, float), np.vstack([np.asarray(test), np.asarray(train)])
    np.testing.assert_array_equal(
        reference.distances(a[:4], a[5:], np.ones(6)), reference.distances(b[:4], b[4:], np.ones(6))
    )
