"""What `neurofs decode` is given: classes, holes in the target, leaking folds, and what it must refuse."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from neurofs.commands.main import main
from neurofs.comparison import comparison
from neurofs.recordings.recording import Recording, Series
from neurofs.recordings.simulate import simulate_session
from neurofs.recordings.writers import write
from neurofs.running.comparing import compare

pytestmark = pytest.mark.slow


def run(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


def test_classes_are_decoded_with_a_confusion_matrix(tmp_path):
    session = simulate_session(40, n_electrodes=4, random_state=2)
    found = compare(session, "direction", n_lags=2, n_splits=3, selectors=("relieff", "infogain"), decoders=("knn",))
    counts = np.array(found.summary.confusion.counts)
    assert counts.sum() == found.summary.session.n_samples
    rows = found.scores[found.scores["chosen"] & (found.scores["method"] == found.summary.main)]
    weighted = np.average(rows["accuracy"], weights=rows["n_test"])
    assert np.trace(counts) / counts.sum() == pytest.approx(weighted)
    assert found.summary.score == "accuracy"
    assert found.scores["r2"].isna().all()
    assert comparison.read(comparison.save(found, tmp_path / "run")) == found


def toy(n_trials=12, target=None, **changes):
    """A small recording with an output that can be spoiled."""
    rng = np.random.default_rng(0)
    n = 20 * max(n_trials, 1)
    values = rng.normal(size=(n, 1)) if target is None else target(n)
    starts = np.arange(max(n_trials, 1)) * 2.0
    trials = pd.DataFrame({"start": starts, "stop": starts + 2.0}) if n_trials else None
    return Recording(
        "toy",
        spikes=[np.sort(rng.uniform(0, 0.1 * n, size=n)) for _ in range(5)],
        behavior={"speed": Series("speed", np.arange(n) * 0.1 + 0.05, values)},
        trials=trials,
        **{"observed": [[0.0, 0.1 * n]], **changes},
    )


BAD = {
    "unknown target": (toy(), ["--target", "sped"], "did you mean 'speed'"),
    "no target": (toy(), [], "choose one with --target"),
    "no trials": (toy(0), ["--target", "speed", "--folds", "trials"], "no trials"),
    "one trial": (toy(1), ["--target", "speed"], "expected at least 5 trials"),
    "too few samples for k": (toy(), ["--target", "speed", "--n-neighbors", "300"], "expected at least 376 samples"),
    "more lags than bins in every trial": (toy(), ["--target", "speed", "--n-lags", "30"], "fewer lags"),
    "constant target": (
        toy(target=lambda n: np.full((n, 1), 3.0)),
        ["--target", "speed"],
        "expected values that vary; found 3",
    ),
    "nothing but NaN": (toy(target=lambda n: np.full((n, 1), np.nan)), ["--target", "speed"], "the target is missing"),
    "unknown selector": (toy(), ["--target", "speed", "--selectors", "rsg"], "no selector named 'rsg'"),
    "selector of classes": (toy(), ["--target", "speed", "--selectors", "simba"], "needs classes"),
    "unknown decoder": (toy(), ["--target", "speed", "--decoders", "lstm"], "no decoder named 'lstm'"),
    "shuffled": (toy(), ["--target", "speed", "--folds", "shuffled"], "--allow-leakage"),
    "bad setting": (toy(), ["--target", "speed", "--set", "rgs.epochs=3"], "no parameter 'epochs'"),
    "no setting": (toy(), ["--target", "speed", "--set", "rgs"], "SELECTOR.NAME=VALUE"),
    "sizes": (toy(), ["--target", "speed", "--sizes", "0"], "expected numbers from 1 to 50"),
    "no finite bin": (toy(), ["--target", "speed", "--bin-width", "inf"], "bin_width: Input should be a finite number"),
    "bins that fill the memory": (
        toy(observed=[[0.0, 86400.0]]),
        ["--target", "speed", "--bin-width", "1e-6", "--n-lags", "1"],
        "expected at most 20,000,000 bins",
    ),
    "lead that is no number": (toy(), ["--target", "speed", "--lead", "nan"], "lead: Input should be a finite number"),
    "lead of ages": (toy(), ["--target", "speed", "--lead", "1e300"], "lead: Input should be less than"),
    "smooth": (toy(), ["--target", "speed", "--smooth", "1e9"], "smooth: Input should be less than"),
    "no neighbors": (toy(), ["--target", "speed", "--n-neighbors", "0"], "n_neighbors: Input should be greater"),
    "no width": (toy(), ["--target", "speed", "--beta", "0"], "beta: Input should be greater than 0"),
    "width that is no number": (toy(), ["--target", "speed", "--beta", "nan"], "beta: Input should be a finite"),
    "tiny target": (
        toy(target=lambda n: 1e-300 * np.random.default_rng(0).normal(size=(n, 1))),
        ["--target", "speed"],
        "expected values between",
    ),
    "huge target": (
        toy(target=lambda n: 1e50 * np.random.default_rng(0).normal(size=(n, 1))),
        ["--target", "speed"],
        "expected values between",
    ),
    "too many folds": (toy(), ["--target", "speed", "--n-splits", "20"], "expected at least 20 trials"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_usage_is_one_line_and_writes_nothing(case, tmp_path):
    recording, arguments, message = BAD[case]
    path = write(recording, tmp_path / "toy.npz")
    result = run("decode", path, *arguments, "--out", tmp_path / "out", "--jobs", 1)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_missing_targets_are_dropped_counted_and_reported(tmp_path):
    def with_holes(n):
        values = np.random.default_rng(1).normal(size=(n, 1))
        values[::7] = np.nan
        return values

    path = write(toy(target=with_holes), tmp_path / "toy.npz")
    result = run(
        *("decode", path, "--target", "speed", "--n-lags", 2, "--selectors", "corrcoef"),
        *("--out", tmp_path / "out", "--jobs", 1, "--json"),
    )
    assert result.exit_code == 0, result.stderr
    session = json.loads(result.stdout)["session"]
    holes = {t for t in range(0, 240, 7) if t % 20 >= 1}
    assert session["dropped"]["target"] == len(holes)
    assert any(f"{len(holes)} lack the target" in warning for warning in session["warnings"])


def test_leaking_folds_are_in_the_summary(tmp_path):
    session = simulate_session(12, n_electrodes=2, random_state=2)
    found = compare(
        session, "hand_velocity:x", n_lags=3, n_splits=3, selectors=("corrcoef",), folds="shuffled", allow_leakage=True
    )
    assert not found.summary.audit.passed
    assert found.summary.audit.n_overlaps > 0
    assert any("leak" in warning for warning in found.summary.session.warnings)
