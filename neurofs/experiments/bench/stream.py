"""How long one estimate takes, bin by bin, and whether an hour of it fills the memory.

Times are from counts to estimate, one thread, after `warm_up`, of 3,000 bins; beside them the same model called through
`predict` with a single window, as one would call any decoder of scikit-learn.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neurofs.decoders import DECODERS
from neurofs.decoders.adaptation import remember
from neurofs.decoders.model import Model
from neurofs.decoders.model_head import Binning, Channel, Head, Output
from neurofs.decoders.online import Latencies, OnlineDecoder, time_steps
from neurofs.experiments.bench.meters import peak_memory, run_alone
from neurofs.experiments.bench.row import Row
from neurofs.features.samples import Samples
from neurofs.ground.threads import one_thread

N_BINS, N_PREDICTED, HOUR = 3000, 200, 36_000
BIN_WIDTH = 0.1


@dataclass(frozen=True)
class Case:
    """A decoder, the size of its training data, and how long an estimate may take."""

    decoder: str
    n_rows: int
    n_channels: int
    most_ms: float | None
    settings: dict[str, Any] = field(default_factory=dict)
    n_lags: int = 10


KALMAN = {"lag": 0, "n_bins": 3, "noise": 1.0, "integral": 1, "derivative": 1, "shrinkage": 0.03}
KNN = {"n_neighbors": 40, "beta": 0.2}
KERNEL = {"n_steps": 3, "random_state": 0}  # how long an estimate takes does not depend on what was learned
CASES = (
    Case("ridge", 5000, 96, 0.2, {"ridge": 0.1}),
    Case("kalman", 5000, 96, 0.2, KALMAN),
    Case("knn", 5000, 96, 3.0, KNN),
    Case("kernel-rgs", 2000, 64, 3.0, KERNEL),
    Case("kernel-rgs", 5000, 64, 3.0, KERNEL),
    Case("knn", 5000, 384, 10.0, KNN),
)


def measure_stream() -> Iterator[Row]:
    """Yield the latency of each case, then what an hour of bins does to the memory."""
    for case in CASES:
        yield from _measure_case(case)
    grown = run_alone(_grow, HOUR)
    what = f"peak memory after {HOUR:,} bins of soft kNN, beyond that after 1,000"
    yield Row(what, f"{grown / 1e6:.2f} MB", "under 1 MB", grown < 1e6)


def make_model(case: Case) -> tuple[Model, np.ndarray]:
    """Return a model fitted to made-up counts that follow two slow outputs, and the counts."""
    rng = np.random.default_rng(0)
    outputs = np.cumsum(rng.normal(size=(case.n_rows + case.n_lags - 1, 2)), axis=0)
    outputs = (outputs - outputs.mean(axis=0)) / outputs.std(axis=0)
    rates = np.exp(0.3 * outputs @ rng.normal(size=(2, case.n_channels)))
    counts = rng.poisson(rates).astype(np.float32)
    decoder = DECODERS[case.decoder](**case.settings)
    decoder.fit(Samples.from_counts(counts, case.n_lags), outputs[case.n_lags - 1 :])
    head = Head(
        version="",
        created="",
        method=case.decoder,
        label=decoder.label,
        target=["made up"],
        binning=Binning(bin_width=BIN_WIDTH, n_lags=case.n_lags),
        channels=[Channel(name=str(i), mean=1.0, sd=1.0) for i in range(case.n_channels)],
        outputs=[Output(name="x"), Output(name="y")],
        sessions=[],
        packages={},
    )
    memory = remember(counts, np.ones(len(counts), bool), case.n_lags)
    return Model(head, (decoder,), ((0, 1),), memory), counts


def _measure_case(case: Case) -> Iterator[Row]:
    with one_thread():
        model, counts = make_model(case)
    online = time_steps(OnlineDecoder(model), np.resize(counts, (N_BINS, case.n_channels)))
    found, whole = online.summarize(), time_predict(model, counts).summarize()
    p99, median = found["p99_ms"] or 0.0, found["median_ms"] or 0.0
    size = f"{case.n_rows:,} rows × {case.n_channels} channels × {case.n_lags} lags"
    goal = "" if case.most_ms is None else f"at most {case.most_ms:g} ms"
    met = None if case.most_ms is None else p99 <= case.most_ms
    yield Row(f"{case.decoder}, {size}: 99th percentile", f"{p99:.3f} ms", goal, met)
    yield Row("  median, largest", f"{median:.3f}, {found['largest_ms']:.3f} ms")
    yield Row("  median of the same model through predict", f"{whole['median_ms']:.3f} ms")


def time_predict(model: Model, counts: np.ndarray) -> Latencies:
    """Return how long `predict` takes with one window at a time."""
    times, n_lags = Latencies(), model.head.binning.n_lags
    with one_thread():
        for first in range(N_PREDICTED):
            window = Samples.from_counts(counts[first : first + n_lags], n_lags)
            started = time.perf_counter_ns()
            model.predict_samples(window)
            times.add(time.perf_counter_ns() - started)
    return times


def _grow(n_bins: int) -> float:
    """Return by how many bytes the peak of a process has grown between 1,000 bins and so many."""
    model, counts = make_model(Case("knn", 1000, 32, None, KNN))
    decoder = OnlineDecoder(model)
    decoder.warm_up()
    before = 0
    for n in range(n_bins):
        if n == 1000:
            before = peak_memory()
        decoder.step(counts[n % len(counts)])
    return float(peak_memory() - before)
