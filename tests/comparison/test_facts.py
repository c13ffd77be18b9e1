"""What is said of a session before it is decoded, and who repeats it."""

import numpy as np
import pytest
from click.testing import CliRunner
from comparisons import make_comparison
from traps import TRAPS, npz

from neurofs.commands.main import main
from neurofs.comparison.facts import describe_facts
from neurofs.ground.config import RunOptions
from neurofs.pipeline import prepare
from neurofs.report.verdict import judge
from neurofs.running.session import _introduce

QUICK = {"n_lags": 3, "n_splits": 2, "selectors": ("corrcoef",)}


def prepare_trap(name, folder, **options):
    trap = next(trap for trap in TRAPS if trap.name == name)
    return prepare(RunOptions(file=str(trap.make(folder)), **QUICK, **options))


def test_what_is_serious_is_repeated_before_the_work(tmp_path):
    prepared = prepare_trap("sorted-by-condition", tmp_path, target="hand_velocity")
    said = list(_introduce(prepared.options, prepared))
    assert any(line.startswith("warning: trials are sorted by 'direction'") for line in said)
    facts = describe_facts(prepared.recording, prepared.tensor, prepared.problem)
    assert len(facts.serious) == 1
    assert facts.warnings[0] == facts.serious[0], "serious ones come first, and are among all warnings"


def test_classes_that_a_training_part_does_not_have_are_said(tmp_path):
    prepared = prepare_trap("sorted-by-condition", tmp_path, target="direction")
    labels, halves = prepared.problem.targets[:, 0], prepared.problem.folds
    share = np.mean([label not in labels[half.train] for half in halves for label in labels[half.test]])
    facts = describe_facts(prepared.recording, prepared.tensor, prepared.problem)
    said = f"{100 * share:.0f} % of test samples are of a class that their training part does not have"
    assert share > 0.5
    assert any(text.startswith(said) for text in facts.warnings), facts.warnings


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ((np.arange(1300) % 80 == 0) * 1.0, "the target 'lick' is nearly constant: 98.8% of samples are 0"),
        (np.arange(1300) ** 1.5, "the target 'lick' only rises"),
    ],
)
def test_a_target_that_cannot_be_decoded_is_named(values, said, tmp_path):
    path = npz(velocity=None, lick=values)(tmp_path)
    prepared = prepare(RunOptions(file=str(path), target="lick", bin_width=0.05, **QUICK))
    facts = describe_facts(prepared.recording, prepared.tensor, prepared.problem)
    assert any(text.startswith(said) for text in facts.serious), facts.serious


def test_a_channel_that_copies_a_derived_target_is_named(tmp_path):
    position = np.column_stack([np.sin(np.arange(1300) / 9), np.cos(np.arange(1300) / 7)])
    copy = np.rint(100 + 90 * np.cos(np.arange(1300) / 9)).astype(int)  # of the velocity, which the file does not hold
    counts = np.column_stack([np.random.default_rng(0).poisson(1.0, (1300, 3)), copy])
    path = npz(counts=counts, velocity=None, position=position)(tmp_path)
    prepared = prepare(RunOptions(file=str(path), target="position.velocity:x", bin_width=0.05, **QUICK))
    facts = describe_facts(prepared.recording, prepared.tensor, prepared.problem)
    assert any("channel '3' follows the target" in text for text in facts.serious)


@pytest.mark.parametrize("repeated", [False, True])
def test_stretches_that_are_in_the_file_twice_are_named(repeated, tmp_path):
    rng = np.random.default_rng(0)
    counts, lick = rng.poisson(1.0, (1300, 8)), rng.normal(size=1300)
    if repeated:
        counts[700:800], lick[700:800] = counts[200:300], lick[200:300]
    path = npz(counts=counts, velocity=None, lick=lick)(tmp_path)
    prepared = prepare(RunOptions(file=str(path), target="lick", bin_width=0.05, **QUICK))
    facts = describe_facts(prepared.recording, prepared.tensor, prepared.problem)
    assert any(text.startswith("100 bins are copies of others") for text in facts.serious) == repeated


def test_the_report_shows_it_in_its_verdict():
    summary = make_comparison().summary
    session = summary.session.model_copy(update={"serious": ["sorted"], "warnings": ["sorted", "short"]})
    verdict = judge(summary.model_copy(update={"session": session}))
    shown = [(v["kind"], v["title"], v["text"]) for v in verdict][-2:]
    assert shown == [("fail", "Probably wrong.", "Sorted."), ("warn", "Warning.", "Short.")]


def test_fit_says_it_too(tmp_path):
    path = next(trap for trap in TRAPS if trap.name == "sorted-by-condition").make(tmp_path)
    options = ["--target", "hand_velocity", "--decoder", "ridge", "--no-cross-validate", "--n-lags", "3"]
    done = CliRunner().invoke(main, ["fit", str(path), *options, "--out", str(tmp_path / "model"), "--jobs", "1"])
    assert done.exit_code == 0, done.output
    assert done.stderr.startswith("warning: session: trials are sorted by 'direction'")


@pytest.mark.parametrize(("n_splits", "said"), [(2, "only 2 folds: intervals are rough"), (5, "")])
def test_few_folds_are_a_warning(n_splits, said, tmp_path):
    path = npz()(tmp_path)
    options = {"n_lags": 3, "selectors": ("corrcoef",), "target": "velocity", "n_splits": n_splits}
    prepared = prepare(RunOptions(file=str(path), **options))
    warnings = describe_facts(prepared.recording, prepared.tensor, prepared.problem).warnings
    assert any("intervals are rough" in text for text in warnings) == bool(said)
    assert any(text.startswith(said) for text in warnings) or not said
