"""Every command line and every file in the READMEs: they run, on small sessions of the names that they use."""

import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.io import savemat

import neurofs
from neurofs.commands.main import main
from neurofs.recordings.calcium import image_calcium
from neurofs.running.batch.config import read_batch_file

HOME = Path(__file__).parents[2]
FOLDERS = [".", "data", "pipelines", "neurofs", "reports"]

FASTER = shlex.split("--n-splits 2 --selectors corrcoef --decoders knn --sizes 2,10 --effort quick --jobs 1")
"""Added to every decode, which would compare all methods otherwise."""

FASTER_KEYS = 'n_splits = 2\nselectors = ["corrcoef"]\ndecoders = ["knn"]\nsizes = [2, 10]\neffort = "quick"'

SMALLER = {"--n-trials 400": "--n-trials 20", "--n-trials 200 --n-electrodes 24": "--n-trials 24 --n-electrodes 1"}

ELSEWHERE = {
    "neurofs inspect https://HOST/PATH/session.nwb": "names no real place; tests/recordings has a server of its own",
    "neurofs inspect dandi:DANDISET/PATH/session.nwb": "the same",
    "neurofs inspect s3://BUCKET/PATH/session.nwb": "the same",
}


def read(folder):
    return (HOME / folder / "README.md").read_text(encoding="utf-8")


def commands_of(folder):
    """Command lines without their comments, in order; several that are joined by && are several."""
    lines = re.findall(r"^    \$ (.*?)(?:\s+#.*)?$", read(folder), flags=re.M)
    return [part.strip() for line in lines for part in line.split("&&")]


def files_of(folder):
    """Files in the text, by the name that stands in their first line."""
    blocks = re.findall(r"```toml\n(.*?)```", read(folder), flags=re.S)
    return {name[1]: block for block in blocks if (name := re.match(r"# (\S+\.toml)\n", block))}


def run(line):
    for long, short in SMALLER.items():
        line = line.replace(long, short)
    words = shlex.split(line)
    env = dict([words.pop(0).split("=")]) if "=" in words[0] else {}
    assert words.pop(0) == "neurofs"
    if words and words[0] == "decode":
        words += FASTER
    return CliRunner().invoke(main, words, env=env, prog_name="neurofs")


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A folder with all files that the command lines name."""
    folder = tmp_path_factory.mktemp("lab")
    make_sessions(folder)
    make_tables(folder)
    for source in FOLDERS:
        for name, text in files_of(source).items():
            (folder / name).write_text(text.replace("n_repeats = 5", FASTER_KEYS))
    return folder


def make_sessions(folder):
    """Sessions as NWB: units with areas and conditions, and dF/F."""
    small, large = (neurofs.simulate_session(n, n_electrodes=m, random_state=1) for n, m in ((24, 3), (125, 8)))
    (folder / "data" / "day1").mkdir(parents=True)
    for name in ("session", "day2", "spikes", "data/m1-a", "data/m1-b", "data/day1/a"):
        neurofs.write(annotate(small), folder / f"{name}.nwb")
    neurofs.write(annotate(large), folder / "m1.nwb")
    imaging = image_calcium(small)
    velocity = imaging.behavior["hand_velocity"]
    speed = neurofs.Series("running_speed", velocity.time, np.hypot(*velocity.values.T), unit="cm/s")
    neurofs.write(replace(imaging, behavior={"running_speed": speed}), folder / "imaging.nwb")


def annotate(session):
    """Add areas of channels and conditions of trials."""
    n = len(session.trials)
    areas = np.resize(["M1", "PMd"], session.n_channels)
    trials = session.trials.assign(load=np.resize(["light", "heavy"], n), correct=np.arange(n) % 3 > 0)
    return replace(session, channels=session.channels.assign(area=areas), trials=trials)


def make_tables(folder):
    """Counts, spikes, signals and behavior in files without a standard."""
    rng = np.random.default_rng(0)
    smooth = np.cumsum(rng.normal(size=(1200, 2)), axis=0)
    velocity = smooth - np.convolve(smooth[:, 0], np.ones(50) / 50, "same")[:, None]
    counts = rng.poisson(2 + np.tanh(velocity @ rng.normal(size=(2, 8)) / 5)).astype(np.uint8)
    hand = np.column_stack([velocity, np.zeros(len(velocity))]) / 100
    savemat(folder / "m1.mat", {"spikes": counts, "handVel": hand})
    savemat(folder / "data" / "odd.mat", {"spikes": counts, "hand_velocity": velocity})
    time = 0.02 * np.arange(2400)
    tracking = pd.DataFrame({"time": time, "x": np.sin(time), "y": np.cos(time / 2)})
    tracking.to_csv(folder / "tracking.csv", index=False)
    units = np.empty((1, 3), dtype=object)
    units[0] = [np.sort(rng.uniform(0, 20, 200))[:, None] for _ in range(3)]
    savemat(folder / "sorted.mat", {"units": units})
    np.savez(folder / "video.npz", hand_position=np.column_stack([np.sin(time), np.cos(time / 2)]))
    traces = np.tanh(velocity @ rng.normal(size=(2, 8)) / 5) + rng.normal(size=(1200, 8))
    np.savez(folder / "traces.npz", traces=traces, hand_velocity=velocity)
    at = np.arange(1200) / 30
    pd.DataFrame(traces, columns=[f"c{i}" for i in range(8)]).assign(time=at).to_csv(
        folder / "day_signal.csv", index=False
    )
    pd.DataFrame({"time": at, "hand_velocity_x": velocity[:, 0], "hand_velocity_y": velocity[:, 1]}).to_csv(
        folder / "day_behavior.csv", index=False
    )
    np.savez(
        folder / "lfp.npz", lfp=rng.normal(size=(40_000, 3)), hand_velocity=np.repeat(velocity, 40, axis=0)[:40_000]
    )


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS[:3])
def test_every_command_line_runs(folder, lab, monkeypatch):
    monkeypatch.chdir(lab)
    for day in ("day1", "day2"):
        if not (lab / "reports" / day).exists():
            assert run(f"neurofs decode day2.nwb --target hand_velocity --out reports/{day}").exit_code == 0
    for line in commands_of(folder):
        if line in ELSEWHERE:
            continue
        if "--out spring.toml" in line:
            (lab / "spring.toml").unlink()
        result = run(re.sub(r'^eval "\$\((.*)\)"$', r"\1", line).partition(" | ")[0])
        assert result.exit_code == 0, f"{line}: {result.output}"
        assert result.stdout, line


def test_what_is_not_run_is_known():
    lines = [line for folder in FOLDERS for line in commands_of(folder)]
    assert set(ELSEWHERE) <= set(lines)
    assert len(lines) > 30
    assert not [folder for folder in FOLDERS[3:] if commands_of(folder)]


def test_a_session_file_is_read_as_it_stands(lab):
    """data/README.md's session file; the pipeline files run with their folder, above."""
    recording = neurofs.load(lab / "m1.toml")
    assert recording.counts.shape == (1200, 8)
    assert recording.bin_width == 0.05


@pytest.mark.parametrize("section", ["cluster", "vary"])
def test_sections_of_a_pipeline_are_understood(section, lab):
    blocks = re.findall(r"```toml\n(.*?)```", read("pipelines"), flags=re.S)
    block = next(block for block in blocks if f"[{section}]" in block)
    (lab / "added.toml").write_text(files_of("pipelines")["spring.toml"] + "\n" + block)
    config = read_batch_file(lab / "added.toml")
    if section == "vary":
        assert [varied.by for varied in config.vary] == ["area", "time"]
    else:
        assert config.cluster is not None
        assert (config.cluster.kind, config.cluster.jobs) == ("slurm", 20)


def test_objects_in_memory_are_loaded_as_is_written():
    nap = pytest.importorskip("pynapple")
    time = 0.02 * np.arange(500)
    known = {
        "neurofs": neurofs,
        "units": nap.TsGroup({0: nap.Ts(np.linspace(0.1, 9.8, 80)), 1: nap.Ts(np.linspace(0.2, 9.7, 50))}),
        "velocity": nap.TsdFrame(t=time, d=np.column_stack([np.sin(time), np.cos(time)])),
        "epochs": nap.IntervalSet(start=[0.0, 5.0], end=[4.0, 9.0]),
    }
    exec("\n".join(re.findall(r"```python\n(.*?)```", read("data"), flags=re.S)), known)
    assert known["session"].n_channels == 2
    assert len(known["session"].trials) == 2
