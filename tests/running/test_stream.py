"""neurofs stream, as a user runs it: lines, records, replays, broken pipes, interrupts, Lab Streaming Layer."""

import json
import os
import signal
import struct
import subprocess
import sys
import time

import numpy as np
import pytest
from click.testing import CliRunner

import neurofs
from neurofs.commands.main import main
from neurofs.recordings.simulate import simulate_session
from neurofs.running.streams import LOOK_S, BinClock, _wait


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("stream")
    day = simulate_session(8, n_electrodes=1, random_state=2)
    neurofs.write(day, place / "day.nwb")
    neurofs.fit(day, "hand_velocity", decoder="ridge", n_lags=3, n_splits=3).save(place / "model")
    return place


@pytest.fixture(scope="module")
def expected(folder):
    """What predict says, by the number of the bin."""
    found = neurofs.read_model(folder / "model").predict(neurofs.load(folder / "day.nwb"))
    return dict(zip(np.rint(found["time"].values / 0.1).astype(int).tolist(), found["predicted"].values, strict=True))


def run(*arguments, text=None):
    return CliRunner().invoke(main, [str(a) for a in arguments], input=text)


def read_estimates(text):
    records = [json.loads(line) for line in text.splitlines()]
    return {record["bin"]: list(record["estimate"].values()) for record in records}


def check_same(found, expected):
    assert sorted(found) == sorted(expected)
    for number, values in found.items():
        np.testing.assert_allclose(values, expected[number], atol=1e-6)


def observed(folder):
    tensor = neurofs.build_tensor(neurofs.load(folder / "day.nwb"), None, bin_width=0.1, n_lags=1)
    for bin_ in np.flatnonzero(tensor["valid"].values):
        yield int(bin_), tensor["counts"].values[bin_], int(tensor["trial"].values[bin_])


def test_a_replay_is_what_predict_says(folder, expected):
    found = run("stream", folder / "model", "--replay", folder / "day.nwb", "--speed", 0)
    assert found.exit_code == 0, found.output
    check_same(read_estimates(found.stdout), expected)
    assert "latency: median" in found.stderr
    brief = run("stream", folder / "model", "--replay", folder / "day.nwb", "--speed", 0, "--json")
    summary = json.loads(brief.stdout)
    assert summary["counted"]["estimates"] == len(expected)
    assert 0 < summary["latency"]["median_ms"] <= summary["latency"]["p99_ms"] <= summary["latency"]["largest_ms"]


def test_lines_of_counts_and_of_names(folder, expected):
    names = neurofs.read_model(folder / "model").channels
    counts = [{"bin": n, "counts": c.tolist(), "trial": t} for n, c, t in observed(folder)]
    sparse = [
        {"bin": n, "spikes": {name: float(v) for name, v in zip(names, c, strict=True) if v}, "trial": t}
        for n, c, t in observed(folder)
    ]
    for records in (counts, sparse):
        found = run("stream", folder / "model", text="\n".join(map(json.dumps, records)))
        assert found.exit_code == 0, found.output
        check_same(read_estimates(found.stdout), expected)


def test_spikes_one_by_one(folder):
    model, day = neurofs.read_model(folder / "model"), neurofs.load(folder / "day.nwb")
    events = sorted((t, name) for name, times in zip(day.channels["name"], day.spikes, strict=True) for t in times)
    lines = [{"time": 0.0}, *({"time": t, "channel": name} for t, name in events), {"time": day.span[1]}]
    found = run("stream", folder / "model", text="\n".join(map(json.dumps, lines)))
    assert found.exit_code == 0, found.output
    whole = neurofs.Recording("whole", spikes=day.spikes, channels=day.channels, observed=day.observed)
    values = list(read_estimates(found.stdout).values())
    np.testing.assert_allclose(values, model.predict(whole)["predicted"].values[: len(values)], atol=1e-6)
    assert len(values) >= model.predict(whole).sizes["time"] - 1


def test_binary_records(folder, expected):
    content = b"".join(struct.pack("<qq", n, t) + c.astype("<f4").tobytes() for n, c, t in observed(folder))
    found = CliRunner().invoke(main, ["stream", str(folder / "model"), "--binary"], input=content)
    assert found.exit_code == 0, found.output
    records = np.frombuffer(found.stdout_bytes, np.dtype([("bin", "<i8"), ("estimate", "<f8", 2), ("sd", "<f8", 2)]))
    check_same(dict(zip(records["bin"].tolist(), records["estimate"], strict=True)), expected)
    short = CliRunner().invoke(main, ["stream", str(folder / "model"), "--binary"], input=content[:-3])
    assert short.exit_code == 2
    assert "at the end. Write whole records." in short.stderr


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nothing", "line 1: expected one JSON object"),
        ("[1]", "line 1: expected one JSON object"),
        ('{"bin": 1}', "line 1: expected counts, spikes or time; found bin"),
        ('{"counts": [1]}', "line 1: expected 4 counts, one per channel; found 1"),
        ('{"counts": [1, 2, 3, NaN]}', "line 1: expected finite numbers; found nan"),
        ('{"counts": [1, 2, 3, 1e300]}', "line 1: expected finite numbers; found 1e+300"),
        ('{"bin": -1, "counts": [1, 2, 3, 4]}', "line 1: expected a whole number as bin; found -1"),
        ('{"spikes": {"9z": 1}}', "line 1: expected a channel of the model; found '9z'"),
        ('{"time": 2}\n{"time": 1}', "line 2: expected events in the order of time"),
        ('{"time": 2}\n{"time": 1e9}', "line 2: expected at most 10,000 s between events; found 1000000000"),
        ('{"time": -2}', "line 1: expected times from 0 s on; found -2"),
        ('{"counts": [1, 2, -3, 4]}', "line 1: expected finite counts of at least 0; found -3 to 4"),
        ('{"spikes": {"1a": -1}}', "line 1: expected finite counts of at least 0; found -1 to 0"),
        (b"\xff\xfe{", "line 1: expected one JSON object"),
        ('{"counts": [' + "1, " * 4_000_000 + "1]}", "line 1: expected a line shorter than 10,000,000 bytes"),
    ],
)
def test_lines_that_cannot_be_read(folder, line, message):
    found = run("stream", folder / "model", text=line)
    assert found.exit_code == 2
    assert message in found.stderr
    assert "the stream cannot be read further" in found.stderr


def test_records_that_no_bin_is(folder):
    head = struct.pack("<qq", 3, -1)
    for values, message in (([0, -1, 2, 3], "found -1 to 3"), ([0, np.nan, 2, 3], "found nan to nan")):
        content = head + np.array(values, "<f4").tobytes()
        found = CliRunner().invoke(main, ["stream", str(folder / "model"), "--binary"], input=content)
        assert found.exit_code == 2
        assert f"record 1: expected finite counts of at least 0; {message}" in found.stderr


def test_a_file_is_replaced_only_if_that_is_said(folder, tmp_path):
    replay = ["stream", folder / "model", "--replay", folder / "day.nwb", "--speed", 0]
    (tmp_path / "mine.jsonl").write_text("mine")
    assert "a file is there" in run(*replay, "--out", tmp_path / "mine.jsonl").stderr
    assert (tmp_path / "mine.jsonl").read_text() == "mine"
    assert "is read, and would be replaced" in run(*replay, "--out", folder / "day.nwb", "--overwrite").stderr
    assert run(*replay, "--out", tmp_path / "mine.jsonl", "--overwrite").exit_code == 0
    assert read_estimates((tmp_path / "mine.jsonl").read_text())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device without room")
def test_a_place_without_room_ends_with_a_summary(folder):
    found = run("stream", folder / "model", "--replay", folder / "day.nwb", "--speed", 0, "--out", "/dev/full")
    assert found.exit_code == 2
    summary, _, error = found.stderr.splitlines()
    assert summary.startswith("estimates cannot be written further: 3 bins, 1 estimates")
    assert error.endswith("found No space left on device. Check space and rights.")


def test_a_stream_that_fails_is_one_object_of_json(folder):
    found = run("stream", folder / "model", "--json", text='{"counts": [1, 0, 2, 1]}\n{}')
    assert found.exit_code == 2
    summary = json.loads(found.stdout)
    assert summary["counted"]["bins"] == 1
    assert summary["error"].startswith("line 2: expected counts, spikes or time; found nothing")


@pytest.mark.skipif(os.name == "nt", reason="needs a shell of POSIX")
@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-"])
def test_an_input_or_output_that_is_closed_is_an_empty_one(folder, closed):
    line = json.dumps({"counts": [1, 0, 2, 1]})
    lines = f"for n in 1 2 3 4; do echo '{line}'; done"
    command = f"{lines} | {sys.executable} -m neurofs stream {folder / 'model'} {closed}"
    found = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    n_bins = 0 if closed.startswith("0") else 4
    assert len(found.stdout.splitlines()) == (2 if closed.startswith("2") else 0)
    assert found.stderr.startswith("" if closed.startswith("2") else f"the stream ended: {n_bins} bins")


def test_a_wait_never_lasts_long_so_that_an_interrupt_is_heard():
    asked = []
    assert _wait(asked.append, 0.01) is None
    assert set(asked) == {LOOK_S}
    assert _wait(lambda seconds: [1, 2], 10.0) == [1, 2]


@pytest.mark.parametrize("option", [["--speed", "2"], ["--missing", "zero"], ["--from", "3"]], ids=" ".join)
def test_options_of_a_replay_need_one(folder, option):
    found = run("stream", folder / "model", *option, text="")
    assert found.exit_code == 2
    assert f"{option[0]} has a meaning only with --replay" in found.stderr


def test_bins_are_numbered_by_their_times_though_clocks_differ():
    clock, rng = BinClock(0.02), np.random.default_rng(0)
    times = 1e6 + 0.02 * (1 + 1e-4) * np.arange(200_000) + rng.uniform(-0.006, 0.006, 200_000)  # 20 bins off at the end
    assert [clock.number(time) for time in times] == list(range(200_000))
    due = times[-1] + 0.02
    assert [clock.number(due + late) for late in (0.1, 0.08, 0.1)] == [200_005, 200_004, 200_005]


def start(folder, *arguments, **pipes):
    command = [sys.executable, "-m", "neurofs", "stream", str(folder / "model"), *map(str, arguments)]
    return subprocess.Popen(command, text=True, stderr=subprocess.PIPE, stdout=subprocess.PIPE, **pipes)


def test_a_pipe_that_closes_ends_with_a_summary(folder):
    with start(folder, "--replay", folder / "day.nwb", "--speed", 20) as reader:
        assert "estimate" in reader.stdout.readline()
        reader.stdout.close()
        assert "the reader of estimates went away" in reader.stderr.read()
        assert reader.wait(10) == 0


def test_an_interrupt_of_a_stalled_stream_ends_with_a_summary(folder):
    with start(folder, stdin=subprocess.PIPE) as stalled:
        for n in range(5):
            stalled.stdin.write(json.dumps({"bin": n, "counts": [1, 0, 2, 1]}) + "\n")
        stalled.stdin.flush()
        assert "estimate" in stalled.stdout.readline()  # it answers at once, and then waits
        time.sleep(0.2)
        os.kill(stalled.pid, signal.SIGINT)
        assert "interrupted: 5 bins, 3 estimates" in stalled.stderr.read()
        assert stalled.wait(10) == 130


OUTLET = """
import sys, time
import numpy as np, pylsl
info = pylsl.StreamInfo(sys.argv[1], "counts", 4, 10.0, "float32", sys.argv[1])
outlet = pylsl.StreamOutlet(info)
outlet.wait_for_consumers(20)
for n, counts in enumerate(np.load(sys.argv[2])):
    outlet.push_sample(counts.tolist(), 1000.0 + n / 10)
time.sleep(1.0)
"""


def test_a_stream_of_the_lab_streaming_layer(folder, tmp_path):
    model = neurofs.read_model(folder / "model")
    counts = np.random.default_rng(0).poisson(1.0, size=(40, 4)).astype(np.float32)
    np.save(tmp_path / "counts.npy", counts)
    name = f"neurofs-test-{os.getpid()}"
    with subprocess.Popen([sys.executable, "-c", OUTLET, name, tmp_path / "counts.npy"]) as outlet:
        found = run("stream", folder / "model", "--lsl", name, "--lsl-out", f"{name}-out")
        outlet.wait(10)
    assert found.exit_code == 0, found.output
    values = model.predict_samples(neurofs.Samples.from_counts(counts, 3))[0]
    np.testing.assert_allclose(list(read_estimates(found.stdout).values()), values, atol=1e-6)
