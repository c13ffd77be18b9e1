"""Objects in memory: one session through six libraries gives the same tensor, bit for bit."""

import datetime
import hashlib

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import neurofs
from neurofs.features.tensor import build_tensor
from neurofs.ground.errors import InputError, UsageError
from neurofs.recordings.readers import load
from neurofs.recordings.recording import Recording, Series
from neurofs.recordings.writers import write

RATE, SECONDS = 10_000, 60.0


@pytest.fixture(scope="module")
def session():
    """Spikes on the samples of a recording of 10 kHz, velocity at 100 Hz, trials with a condition."""
    rng = np.random.default_rng(7)
    samples = [np.unique(rng.integers(0, int(SECONDS * RATE), rng.integers(50, 900))) for _ in range(6)]
    time = np.arange(int(SECONDS * 100)) / 100
    velocity = Series("velocity", time, rng.normal(size=(len(time), 2)), ("x", "y"))
    starts = np.arange(0.5, 58, 3.0)
    trials = pd.DataFrame({"start": starts, "stop": starts + 2.5, "side": [f"s{i % 2}" for i in range(len(starts))]})
    table = pd.DataFrame({"name": [str(i) for i in range(6)], "area": ["M1", "M1", "PMd", "PMd", "M1", "S1"]})
    return Recording(
        "session",
        spikes=[s / RATE for s in samples],
        behavior={"velocity": velocity},
        trials=trials,
        channels=table,
        observed=[[0.0, SECONDS]],
    )


def through_pynapple(r, tmp_path):
    nap = pytest.importorskip("pynapple")
    support = nap.IntervalSet(0.0, SECONDS)
    spikes = {i: nap.Ts(times, time_support=support) for i, times in enumerate(r.spikes)}
    units = nap.TsGroup(spikes, time_support=support, metadata={"area": r.channels["area"].to_numpy()})
    v = r.behavior["velocity"]
    trials = nap.IntervalSet(r.trials["start"], r.trials["stop"], metadata={"side": r.trials["side"].to_list()})
    frame = nap.TsdFrame(t=v.time, d=v.values, columns=["x", "y"])
    return load(units, behavior={"velocity": frame}, trials=trials)


def through_spikeinterface(r, tmp_path):
    si = pytest.importorskip("spikeinterface.core")
    frames = {str(i): np.rint(times * RATE).astype(np.int64) for i, times in enumerate(r.spikes)}
    sorting = si.NumpySorting.from_unit_dict([frames], float(RATE))
    sorting.set_property("area", r.channels["area"].to_numpy(dtype=str))
    sorting.register_recording(
        si.generate_recording(num_channels=1, sampling_frequency=float(RATE), durations=[SECONDS])
    )
    return load(sorting, behavior=r.behavior, trials=r.trials)


def through_neo(r, tmp_path):
    neo = pytest.importorskip("neo")
    pq = pytest.importorskip("quantities")
    segment = neo.Segment(name="session")
    for name, times in zip(r.channels["name"], r.spikes, strict=True):
        segment.spiketrains.append(neo.SpikeTrain(times * pq.s, t_start=0 * pq.s, t_stop=SECONDS * pq.s, name=name))
    v = r.behavior["velocity"]
    segment.analogsignals.append(neo.AnalogSignal(v.values * pq.m / pq.s, sampling_rate=100 * pq.Hz, name="velocity"))
    starts, stops = r.trials["start"].to_numpy(), r.trials["stop"].to_numpy()
    segment.epochs.append(
        neo.Epoch(starts * pq.s, (stops - starts) * pq.s, labels=r.trials["side"].to_list(), name="trials")
    )
    fast = neo.AnalogSignal(np.ones((10, 1)) * pq.mV, sampling_rate=30 * pq.kHz)
    segment.analogsignals.append(fast)
    found = load(segment)
    assert segment.analogsignals[1] is fast
    assert (len(segment.analogsignals), segment.annotations) == (2, {})
    return found


def through_pynwb(r, tmp_path):
    pynwb = pytest.importorskip("pynwb")
    file = pynwb.NWBFile("one session", "session", datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC))
    file.add_unit_column("area", "where it is")
    for times, area in zip(r.spikes, r.channels["area"], strict=True):
        file.add_unit(spike_times=times, obs_intervals=[[0.0, SECONDS]], area=area)
    v = r.behavior["velocity"]
    module = file.create_processing_module("behavior", "what moved")
    module.add(pynwb.TimeSeries(name="velocity", data=v.values, timestamps=v.time, unit="m/s"))
    file.add_trial_column("side", "where to")
    for trial in r.trials.itertuples():
        file.add_trial(start_time=trial.start, stop_time=trial.stop, side=trial.side)
    with pynwb.NWBHDF5IO(tmp_path / "a.nwb", "w") as io:
        io.write(file)
    with pynwb.NWBHDF5IO(tmp_path / "a.nwb", "r") as io:
        return load(io.read())


def through_pandas(r, tmp_path):
    parts = [
        pd.DataFrame({"time": t, "channel": n, "area": a})
        for t, n, a in zip(r.spikes, r.channels["name"], r.channels["area"], strict=True)
    ]
    spikes = pd.concat(parts).sort_values("time", kind="stable")
    v = r.behavior["velocity"]
    behavior = pd.DataFrame(v.values, index=v.time, columns=["x", "y"])
    return load(spikes, behavior={"velocity": behavior}, trials=r.trials, observed=[[0.0, SECONDS]])


def through_xarray(r, tmp_path):
    edges = np.arange(601)
    counts = np.stack([np.histogram(np.rint(t * RATE).astype(np.int64) // 1000, edges)[0] for t in r.spikes], axis=1)
    v = r.behavior["velocity"]
    dataset = xr.Dataset(
        {"counts": (("time", "channel"), counts), "velocity": (("sample", "axis"), v.values)},
        {"time": np.arange(600) * 0.1, "channel": list(r.channels["name"]), "sample": v.time, "axis": ["x", "y"]},
    )
    return load(dataset.assign_coords(area=("channel", list(r.channels["area"]))), trials=r.trials)


WAYS = [through_pynapple, through_spikeinterface, through_neo, through_pynwb, through_pandas, through_xarray]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__.removeprefix("through_"))
def test_the_same_tensor_bit_for_bit(session, tmp_path, way):
    found = way(session, tmp_path)
    assert found.channels["name"].tolist() == session.channels["name"].tolist()
    if way is not through_neo:
        assert found.channels["area"].tolist() == session.channels["area"].tolist()
    assert found.source_hash
    own, other = (build_tensor(r, "velocity", bin_width=0.1, n_lags=5) for r in (session, found))
    assert own["counts"].values.sum() == sum(map(len, session.spikes))
    assert other.sizes["time"] == own.sizes["time"] == 600
    for name in ("time", "channel", "lag", "output", "counts", "features", "target", "trial", "valid"):
        assert own[name].values.dtype == other[name].values.dtype
        assert own[name].values.tobytes() == other[name].values.tobytes(), name
    by_side = [build_tensor(r, "label" if way is through_neo and r is found else "side") for r in (session, found)]
    assert by_side[0]["target"].values.tobytes() == by_side[1]["target"].values.tobytes()


def test_an_object_and_its_hash(session):
    again = load(session, channels="area == 'M1'", name="again")
    assert (again.n_channels, again.name) == (3, "again")
    spikes = dict(zip("abcdef", session.spikes, strict=True))
    one, two = load(spikes), load(spikes | {"a": session.spikes[0][1:]})
    assert one.source == "builtins.dict in memory"
    assert one.source_hash != two.source_hash
    assert len(one.source_hash) == len(hashlib.sha256().hexdigest())
    assert load(spikes, exclude_channels=["b"], from_time=10).n_channels == 5
    assert neurofs.compare(
        load(spikes, behavior=session.behavior), "velocity:x", selectors=["corrcoef"], n_lags=2, n_splits=2
    )


def test_counts_of_pandas_and_gaps(session):
    counts = pd.DataFrame(np.ones((5, 2), dtype=int), index=np.arange(5) * 0.05, columns=["a", "b"])
    found = load(counts)
    assert (found.bin_width, found.start, found.n_spikes) == (0.05, 0.0, 10)
    with pytest.raises(InputError, match=r"regular bins in seconds; found from 0.05 to 0.1 s apart"):
        load(counts.drop(index=counts.index[2]))
    with pytest.raises(InputError, match="times in seconds; found datetime64"):
        load(counts.set_index(pd.date_range("2026-01-01", periods=5)))


def test_rates_in_a_table_are_found_out(session):
    rates = pd.DataFrame(np.random.default_rng(0).poisson(1, size=(90, 2)) * 20, index=np.arange(90) * 0.05)
    found = load(rates)
    assert found.n_spikes == rates.to_numpy().sum() // 20
    assert any("multiples of 20" in note for note in found.notes) or found.remarks
    assert load(rates, counts_unit="count").n_spikes == rates.to_numpy().sum()
    with pytest.raises(InputError, match="'counts': expected"):
        load(rates * 0.37)


def test_netcdf(session, tmp_path):
    v, n = session.behavior["velocity"], len(session.trials)
    spikes = [(t, name) for t, name in zip(session.spikes, session.channels["name"], strict=True)]
    times, labels = np.concatenate([t for t, _ in spikes]), np.concatenate([[name] * len(t) for t, name in spikes])
    dataset = xr.Dataset(
        {
            "spike_times": ("spike", times),
            "spike_channel": ("spike", labels),
            "velocity": (("sample", "axis"), v.values),
            "trial_start": ("trial", session.trials["start"]),
            "trial_stop": ("trial", session.trials["stop"]),
            "side": ("trial", session.trials["side"].to_numpy(dtype=str)),
        },
        {"sample": v.time, "axis": ["x", "y"]},
    )
    dataset.to_netcdf(tmp_path / "day1.nc", engine="h5netcdf")
    found = load(tmp_path / "day1.nc")
    assert (found.name, found.source, len(found.trials)) == ("day1", "day1.nc", n)
    assert found.source_hash == hashlib.sha256((tmp_path / "day1.nc").read_bytes()).hexdigest()
    assert all(np.array_equal(a, b) for a, b in zip(found.spikes, session.spikes, strict=True))
    assert build_tensor(found, "side")["counts"].values.sum() == session.n_spikes
    assert len(load(tmp_path / "day1.nc", trials=False).trials) == 0
    for content in (b"CDF\x01" + bytes(100), (tmp_path / "day1.nc").read_bytes()[:3000]):
        (tmp_path / "bad.nc").write_bytes(content)
        with pytest.raises(InputError, match=r"^bad\.nc: "):
            load(tmp_path / "bad.nc")


def test_what_cannot_be_loaded_gives_one_line(session, tmp_path):
    si = pytest.importorskip("spikeinterface.core")
    pynwb = pytest.importorskip("pynwb")
    write(session, tmp_path / "a.nwb")
    with pynwb.NWBHDF5IO(tmp_path / "a.nwb", "r") as io:
        closed = io.read()
    two = si.NumpySorting.from_unit_dict([{"a": np.array([1, 5])}, {"a": np.array([2])}], 1000.0)
    cases = [
        (lambda: load(3), "a path, a mapping of spike times, or an object that holds spikes; found builtins.int"),
        (lambda: load({"a": "text"}), "channel 'a': expected spike times in seconds"),
        (lambda: load({"a": [0.3, 0.1]}), "spike times in increasing order"),
        (lambda: load(two), "expected one segment; found 2 segments"),
        (lambda: load(closed), "expected a file that pynwb has opened"),
        (lambda: load({"a": [0.1]}, trials=pd.DataFrame({"start": [0.0]})), "trials: expected columns start and stop"),
        (
            lambda: load({"a": [0.1]}, trials=5),
            "expected a DataFrame, IntervalSet, Epoch or TimeIntervals; found builtins",
        ),
        (lambda: load({"a": [0.1]}, behavior={"v": [1, 2]}), "behavior 'v': expected a Series"),
        (lambda: load(xr.Dataset({"x": ("t", [1])})), "counts, a signal, or spike_times and spike_channel; found x"),
    ]
    for call, message in cases:
        with pytest.raises(InputError) as caught:
            call()
        assert message in str(caught.value)
    with pytest.raises(InputError, match="observed: expected starts and stops in seconds; found str"):
        load({"a": [0.1]}, observed="x")
    for call in (lambda: load({"a": [0.1]}, counts="x"), lambda: load({"a": [0.1]}, behavior="velocity")):
        with pytest.raises(UsageError):
            call()


def test_noise_of_a_sorting_is_left_out():
    si = pytest.importorskip("spikeinterface.core")
    sorting = si.NumpySorting.from_unit_dict([{"a": np.array([1, 5]), "b": np.array([2, 9])}], 1000.0)
    sorting.set_property("quality", np.array(["good", "noise"]))
    found = load(sorting)
    assert found.channels["name"].tolist() == ["a"]
    assert found.spikes[0].tolist() == [0.001, 0.005]


def test_a_spike_at_the_end_of_what_pynapple_observed_is_kept():
    nap = pytest.importorskip("pynapple")
    units = nap.TsGroup({0: nap.Ts([0.5, 2.0]), 1: nap.Ts([1.0, 1.5])}, time_support=nap.IntervalSet(0.0, 2.0))
    found = load(units, behavior={"speed": nap.Tsd(np.arange(20) / 10, np.arange(20.0))})
    assert build_tensor(found, "speed", bin_width=0.5, n_lags=1)["counts"].values.sum() == 4


def test_times_that_are_none_or_in_another_unit(session):
    counts, steps = np.random.default_rng(1).poisson(1.0, (600, 4)), np.arange(600)
    milliseconds = xr.DataArray(counts, dims=("t", "neuron"), coords={"t": ("t", 100.0 * steps, {"units": "ms"})})
    found = load(milliseconds.transpose("neuron", "t"))
    assert (found.bin_width, found.duration, found.spike_counts.tolist()) == (0.1, 60.0, counts.sum(axis=0).tolist())
    frame = pd.DataFrame(counts)
    behavior = load({"a": [0.1]}, behavior={"v": frame.assign(time_ms=100.0 * steps)}).behavior["v"]
    assert load(frame.assign(time_ms=100.0 * steps)).bin_width == pytest.approx(behavior.interval) == 0.1
    assert behavior.values.shape == (600, 4)
    for call in (lambda: load(frame), lambda: load({"a": [0.1]}, behavior={"v": frame})):
        with pytest.raises(InputError, match="times in seconds; found row numbers"):
            call()
    with pytest.raises(InputError, match="times in seconds; found the unit 'days'"):
        load(xr.DataArray(counts, dims=("time", "channel"), coords={"time": ("time", steps, {"units": "days"})}))
    with pytest.raises(InputError, match="the dimensions time and channel; found dim_0, dim_1"):
        load(xr.DataArray(counts))


def test_tables_as_pandas_has_them(session):
    rng = np.random.default_rng(2)
    times, neurons = np.sort(rng.uniform(0, 60, 200)), rng.integers(0, 3, 200)
    found = load(pd.DataFrame({"spike_time": times, "neuron_id": neurons}))
    assert (found.channels["name"].tolist(), found.n_spikes) == (["0", "1", "2"], 200)
    long = pd.DataFrame({"time": np.repeat(np.arange(50.0), 2), "channel": np.tile([1, 2], 50), "count": 1})
    with pytest.raises(InputError, match=r"a column for each channel; found a column 'count'\. Turn it: table\.pivot"):
        load(long)
    areas = pd.MultiIndex.from_product([["M1", "S1"], ["a", "b"]])
    whole = pd.DataFrame(rng.poisson(1.0, (60, 4)), index=np.arange(60) * 0.1, columns=areas)
    found = load(whole.astype("Int64"))
    assert found.channels["name"].tolist() == ["M1.a", "M1.b", "S1.a", "S1.b"]
    np.testing.assert_array_equal(found.counts, whole.to_numpy())


def test_segments_as_neo_has_them():
    neo = pytest.importorskip("neo")
    pq = pytest.importorskip("quantities")
    segment = neo.Segment(name="session")
    for times in ([1.0, 2.0], [], [3.0]):
        segment.spiketrains.append(neo.SpikeTrain(times * pq.s, t_start=0.5 * pq.s, t_stop=60 * pq.s))
    for name, start, rate in (("slow", 0.0, 10), ("later", 5.0, 100)):
        signal = neo.AnalogSignal(
            np.zeros((60 * rate, 1)), "cm", sampling_rate=rate * pq.Hz, t_start=start * pq.s, name=name
        )
        segment.analogsignals.append(signal)
    segment.irregularlysampledsignals.append(neo.IrregularlySampledSignal([1, 5] * pq.s, [[1], [2]] * pq.V, name="odd"))
    found = load(segment)
    assert (found.span, found.spike_counts.tolist()) == ((0.5, 60.0), [2, 0, 1])
    assert {s.name: (s.rate, s.time[0]) for s in found.behavior.values()} == {"slow": (10, 0), "later": (100, 5)}
    assert any("times of their own (odd)" in note for note in found.notes)
    block = neo.Block()
    with pytest.raises(InputError, match="Block: expected a segment with spike trains; found none"):
        load(block)
    again = neo.Segment()
    again.spiketrains.append(neo.SpikeTrain(np.arange(30.0) * pq.s, t_stop=60 * pq.s))
    block.segments = [again, again]
    with pytest.raises(InputError, match="expected one clock; found 0 after 29, where the clock begins anew"):
        load(block)
