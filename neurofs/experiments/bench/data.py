"""How fast files become tensors: 200 units of 20 Hz for two hours, about 29 million spikes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from neurofs.experiments.bench.memory import peak_memory
from neurofs.experiments.bench.row import Row
from neurofs.running.worker import SINGLE_THREAD

__all__ = ["measure_data"]

N_UNITS, HOURS, RATE = 200, 2.0, 20.0


def measure_data() -> list[Row]:
    """Read and bin a large NWB file in a process of its own, and compare with plain `numpy.histogram`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.nwb"
        _write_large(path)
        path.read_bytes()  # into the system's cache
        environment = {**os.environ, **SINGLE_THREAD}
        command = [sys.executable, "-m", "neurofs.experiments.bench.data", str(path)]
        answer = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    seen = json.loads(answer.stdout)
    size = seen["spikes"] * 8
    total, peak = seen["read"] + seen["bin"], seen["peak"] / size
    ratio = seen["histogram"] / seen["bin"]
    return [
        Row(
            f"read and bin {seen['spikes'] / 1e6:.1f} M spikes, one core",
            f"{total:.2f} s",
            "under 3 s",
            total < 3,
        ),
        Row("  of which reading, checking and hashing", f"{seen['read']:.2f} s"),
        Row("  peak memory, times the spike array", f"{peak:.2f}", "under 3", peak < 3),
        Row("  binning against numpy.histogram", f"{ratio:.1f} times faster"),
    ]


def _write_large(path: Path) -> None:
    from neurofs.recordings.recording import Recording, Series
    from neurofs.recordings.writers import write

    rng = np.random.default_rng(0)
    seconds = 3600 * HOURS
    spikes = [np.sort(rng.uniform(0, seconds, rng.poisson(RATE * seconds))) for _ in range(N_UNITS)]
    velocity = Series(
        "velocity", np.arange(0, seconds, 0.01), rng.normal(size=(int(seconds * 100), 2)), ("x", "y")
    )
    write(Recording("large", spikes=spikes, behavior={"velocity": velocity}, observed=[[0, seconds]]), path)


def _measure(path: str) -> dict[str, float]:
    from neurofs.features.tensor import build_tensor
    from neurofs.recordings.demo import demo_path
    from neurofs.recordings.readers import load

    build_tensor(load(demo_path()), "hand_velocity")  # everything imported and warm
    before, start = peak_memory(), time.perf_counter()
    recording = load(path)
    middle = time.perf_counter()
    tensor = build_tensor(recording, "velocity", bin_width=0.1, n_lags=10)
    stop, peak = time.perf_counter(), peak_memory() - before
    edges = np.arange(tensor.sizes["time"] + 1) * 0.1
    by_histogram = np.column_stack([np.histogram(s, edges)[0] for s in recording.spikes or ()])
    histogram = time.perf_counter() - stop
    if tensor["counts"].values.sum() != recording.n_spikes or by_histogram.sum() > recording.n_spikes:
        raise SystemExit("the counts are wrong; a time would mean nothing")
    return {
        "spikes": recording.n_spikes,
        "read": middle - start,
        "bin": stop - middle,
        "peak": peak,
        "histogram": histogram,
    }


if __name__ == "__main__":
    print(json.dumps(_measure(sys.argv[1])))
