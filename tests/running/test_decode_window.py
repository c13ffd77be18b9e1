"""`neurofs decode` chooses bins and lags, says so before it starts, and writes them down."""

import tomllib

import pytest
from click.testing import CliRunner

from neurofs.commands.main import main
from neurofs.comparison.comparison import read
from neurofs.recordings.simulate import simulate_session
from neurofs.recordings.writers import write

pytestmark = pytest.mark.slow

TABLES = ("run.toml", "scores.csv", "weights.nc", "predictions.nc", "session.nc")


def decode(*arguments):
    return CliRunner().invoke(main, ["decode", *map(str, arguments), "--jobs", "1"])


@pytest.fixture(scope="module")
def short_trials(tmp_path_factory):
    """A session in which only a second of each reach is a trial."""
    session = simulate_session(30, n_electrodes=2, random_state=3, name="short")
    session.trials["stop"] = session.trials["start"] + 1.0
    return write(session, tmp_path_factory.mktemp("data") / "short.npz")


def test_lags_are_chosen_said_and_written_down(short_trials, tmp_path):
    few = ("--target", "hand_velocity:x", "--selectors", "corrcoef", "--n-splits", 3, "--decoders", "knn")
    result = decode(short_trials, *few, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.stderr
    assert "100 ms bins × 3 lags (chosen for trials of 1 s); decodes 215 samples of 30 trials, 0.4 min" in result.stderr
    assert "60 at the edge of trials, where no window of 0.3 s fits" in result.stderr
    warnings = [line for line in result.stderr.splitlines() if line.startswith("warning")]
    assert warnings == ["warning: the target 'hand_velocity:x' is nearly constant: 97.7% of samples are 0"]
    assert "short: 100 ms bins × 3 lags; decodes 215 samples of 30 trials" in result.stdout
    settings = tomllib.loads((tmp_path / "run" / "run.toml").read_text())
    assert (settings["bin_width"], settings["n_lags"]) == (0.1, 3)
    facts = read(tmp_path / "run").summary.session
    assert facts.dropped.window == 60
    assert facts.n_trials_recorded == 30
    again = decode(tmp_path / "run" / "run.toml", "--out", tmp_path / "again")
    assert "chosen" not in again.stderr
    for name in TABLES:
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "run" / name).read_bytes()
