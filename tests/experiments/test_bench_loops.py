"""The benchmark measures what it says: its rival forms compute the same. No test asserts a time."""

import os
import subprocess
import time

import numba
import numpy as np
import pytest

from neurofs.experiments.bench import loops as speed
from neurofs.experiments.bench.limits import measure_limits
from neurofs.experiments.bench.meters import MemoryMeter, run_alone
from neurofs.experiments.bench.peers import PEERS, measure_peers

pytestmark = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="slow uncompiled; tests/metric checks the loops that way"
)


def test_the_numpy_forms_compute_the_same_epoch():
    samples, Y = speed.make_session(200, channels=4, jitter=0.5)
    X, rows = np.asarray(samples), np.arange(0, 200, 11)
    ours = speed.epoch(samples, Y, rows)
    for rival in (speed.numpy_epoch(samples, X, X * X, Y, rows), speed.numpy_epoch(samples, X, None, Y, rows)):
        np.testing.assert_allclose(rival, ours, rtol=0.01)
    assert np.ptp(ours) > 0.1
    assert np.abs(ours - speed.epoch(samples, Y, rows, batch=1)).max() > 0.05  # the steps matter


def test_the_limits_of_this_machine_are_of_the_right_order():
    limits = measure_limits()
    assert 1e8 < limits.products < 1e13
    assert 1e8 < limits.memory < 1e12


def test_the_c_loop_computes_the_same_distances(tmp_path):
    loop = speed.compile_c(tmp_path)
    if loop is None:
        pytest.skip("no C compiler")
    samples, _ = speed.make_session(30, channels=4)
    x, out, w2 = np.asarray(samples)[3], np.empty(30, np.float32), np.full(40, 0.5, np.float32)
    loop(samples.flat, samples.starts, w2, x, out)
    np.testing.assert_allclose(out, ((np.asarray(samples) - x) ** 2) @ w2, rtol=1e-5)


def test_scikit_learns_knn_predicts_the_same():
    from neurofs.metric.neighbors import prefix_curve

    samples, Y = speed.make_session(200, channels=4, jitter=0.5)
    X = np.asarray(samples)
    ours = prefix_curve(X[:150], Y[:150], X[150:], order=np.arange(40), sizes=[40], k=speed.K)
    assert speed.agreement(ours[0], speed.sklearn_knn(X[:150], Y[:150], X[150:])) == 1


def test_missing_peers_are_skipped_by_name(monkeypatch):
    monkeypatch.setattr("neurofs.experiments.bench.peers.find_spec", lambda name: None)
    rows = list(measure_peers())
    assert len(rows) == len(PEERS)
    assert all(row.figure.startswith("skipped: ") and row.met is None for row in rows)


def test_the_memory_meter_sees_what_is_used_and_given_back():
    meter = MemoryMeter()
    np.ones(8_000_000).sum()
    assert 60e6 < meter.read() < 200e6


def test_a_function_runs_alone_on_one_thread_and_says_why_it_failed():
    assert run_alone(os.getpid) != os.getpid()
    assert run_alone(os.getenv, "OMP_NUM_THREADS") == "1"
    with pytest.raises(subprocess.CalledProcessError) as caught:
        run_alone(speed.make_session, "many")
    assert "TypeError" in caught.value.stderr
    with pytest.raises(subprocess.TimeoutExpired):
        run_alone(time.sleep, 60, timeout=0.1)
