"""How fast files become tensors: 200 channels of 20 Hz for two hours (29 million spikes), and a folder of phy."""

import tempfile
import time
from pathlib import Path

import numpy as np

from neurofs.experiments.bench.meters import MemoryMeter, run_alone
from neurofs.experiments.bench.row import Row

N_CHANNELS, HOURS, RATE = 200, 2.0, 20.0
N_CLUSTERS, N_SORTED, SECONDS = 400, 380_000, 120.0


def measure_data() -> list[Row]:
    """Read and bin a large NWB file in a process of its own, and compare with plain `numpy.histogram`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.nwb"
        _write_large(path)
        path.read_bytes()  # into the system's cache
        seen = run_alone(read_and_bin, str(path))
        sorted_seconds = run_alone(read_sorted, str(_write_sorted(Path(folder) / "phy")))
    total, peak = seen["read"] + seen["bin"], seen["peak"] / (8 * seen["spikes"])
    ratio = seen["histogram"] / seen["bin"]
    what = f"read and bin {seen['spikes'] / 1e6:.1f} M spikes, one core"
    return [
        Row(what, f"{total:.2f} s", "under 3 s", total < 3),
        Row("  of which reading, checking and hashing", f"{seen['read']:.2f} s"),
        Row("  peak memory, times the spike array", f"{peak:.2f}", "under 3", peak < 3),
        Row("  binning against numpy.histogram", f"{ratio:.1f} times faster"),
        Row(
            f"phy folder of {N_SORTED:,} spikes to a tensor", f"{sorted_seconds:.2f} s", "under 1 s", sorted_seconds < 1
        ),
    ]


def _write_sorted(folder: Path) -> Path:
    """Write what Kilosort and phy leave of a sorting, and behavior beside it."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    np.save(folder / "spike_times.npy", np.sort(rng.integers(0, int(30_000 * SECONDS), N_SORTED, dtype=np.uint64)))
    np.save(folder / "spike_clusters.npy", rng.integers(0, N_CLUSTERS, N_SORTED, dtype=np.int32))
    labels = "".join(f"{i}\t{('good', 'mua')[i % 2]}\n" for i in range(N_CLUSTERS))
    (folder / "cluster_group.tsv").write_text(f"cluster_id\tgroup\n{labels}", encoding="utf-8")
    (folder / "params.py").write_text("sample_rate = 30000.\n", encoding="utf-8")
    time_of = np.arange(0, SECONDS, 0.01)
    np.savez(folder / "behavior.npz", time=time_of, velocity=rng.normal(size=len(time_of)))
    return folder


def read_sorted(folder: str) -> float:
    """Return the seconds from a folder of phy to a tensor, after the imports."""
    from neurofs.features.tensor import build_tensor
    from neurofs.recordings.readers import load

    seconds = []
    for _ in range(2):  # the first time imports readers
        start = time.perf_counter()
        recording = load(folder, behavior_file=str(Path(folder) / "behavior.npz"))
        tensor = build_tensor(recording, "velocity", bin_width=0.1, n_lags=10)
        seconds.append(time.perf_counter() - start)
        if tensor["counts"].values.sum() != N_SORTED:
            raise SystemExit("the counts are wrong; a time would mean nothing")
    return seconds[1]


def _write_large(path: Path) -> None:
    from neurofs.recordings.recording import Recording, Series
    from neurofs.recordings.writers import write

    rng = np.random.default_rng(0)
    seconds = 3600 * HOURS
    spikes = [np.sort(rng.uniform(0, seconds, rng.poisson(RATE * seconds))) for _ in range(N_CHANNELS)]
    noise = rng.normal(size=(int(seconds * 100), 2))
    velocity = Series("velocity", np.arange(0, seconds, 0.01), noise, ("x", "y"))
    write(Recording("large", spikes=spikes, behavior={"velocity": velocity}, observed=[[0, seconds]]), path)


def read_and_bin(path: str) -> dict[str, float]:
    """Return the number of spikes, and what reading and binning the file take, in seconds and bytes."""
    from neurofs.features.tensor import build_tensor
    from neurofs.recordings.demo import demo_path
    from neurofs.recordings.readers import load

    build_tensor(load(demo_path()), "hand_velocity")  # everything imported and warm
    memory, start = MemoryMeter(), time.perf_counter()
    recording = load(path)
    middle = time.perf_counter()
    tensor = build_tensor(recording, "velocity", bin_width=0.1, n_lags=10)
    stop, peak = time.perf_counter(), memory.read()
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
