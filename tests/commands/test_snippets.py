"""Files in the READMEs are understood as they stand; so is the code of data/README.md."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

import neurofs
from neurofs.running.batch.config import read_batch_file

HOME = Path(__file__).parents[2]


def read(folder):
    return (HOME / folder / "README.md").read_text(encoding="utf-8")


def files_of(folder):
    """Files in the text, by the name that stands in their first line."""
    blocks = re.findall(r"```toml\n(.*?)```", read(folder), flags=re.S)
    return {name[1]: block for block in blocks if (name := re.match(r"# (\S+\.toml)\n", block))}


@pytest.fixture
def lab(tmp_path):
    """A folder with the files of the READMEs, and the counts that one of them names."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(2, size=(1200, 8)).astype(np.uint8)
    savemat(tmp_path / "m1.mat", {"spikes": counts, "handVel": rng.normal(size=(1200, 3))})
    for folder in ("data", "pipelines"):
        for name, text in files_of(folder).items():
            (tmp_path / name).write_text(text)
    return tmp_path


def test_a_session_file_is_read_as_it_stands(lab):
    """The session file of data/README.md."""
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
