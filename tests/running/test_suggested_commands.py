"""What `neurofs inspect` suggests for real recordings is accepted as it stands, and loses no more than it must."""

import json
import shlex

import pytest
from click.testing import CliRunner

from neurofs.commands.main import main
from neurofs.comparison.amount import MOST, warn_of_losses
from neurofs.comparison.facts import describe_facts
from neurofs.pipeline import prepare
from neurofs.running import session as run_session

pytestmark = [pytest.mark.shared_data, pytest.mark.slow]


class Prepared(Exception):
    """Carries what a command was about to decode, so that the test need not wait for it."""


def stop_before_the_work(options, *_, **__):
    raise Prepared(prepare(options))


@pytest.mark.parametrize(
    ("name", "given", "warned"),
    [
        ("a2929_head_direction.nwb", [], "lack the target"),
        ("chewie_20131003_m1.npz", [], ""),
        ("contdata95.mat", ["--counts", "Y", "--counts-bin-width", "0.1", "--behavior", "X"], ""),
        ("stevenson2011_m1.mat", [], ""),
    ],
)
def test_the_suggested_command_is_accepted_and_loses_little_or_says_why(shared_data, monkeypatch, name, given, warned):
    asked = CliRunner().invoke(main, ["inspect", str(shared_data / name), *given, "--json"])
    assert asked.exit_code == 0, asked.stderr
    advice = json.loads(asked.stdout)["decode"]
    others = CliRunner().invoke(main, shlex.split(advice["others"])[1:])
    assert others.exit_code == 0, others.stderr
    command = shlex.split(advice["command"])
    assert command[command.index("--target") + 1].split(",")[0] in others.stdout
    monkeypatch.setattr(run_session, "decode", stop_before_the_work)
    result = CliRunner().invoke(main, command[1:])
    assert isinstance(result.exception, Prepared), result.stderr
    prepared = result.exception.args[0]
    facts = describe_facts(prepared.recording, prepared.tensor, prepared.problem)
    assert facts.dropped.window < MOST * facts.n_samples
    warnings = list(warn_of_losses(facts))
    assert bool(warnings) == bool(warned)
    assert all(warned in warning for warning in warnings)
    assert facts.n_trials >= 0.9 * facts.n_trials_recorded


def test_a_file_without_a_bin_width_is_shown_with_the_command_that_it_needs(shared_data):
    path = str(shared_data / "contdata95.mat")
    asked = CliRunner().invoke(main, ["inspect", path])
    assert asked.exit_code == 2
    command = shlex.split(asked.stdout.splitlines()[-1])
    assert command == f"neurofs inspect {path} --counts Y --counts-bin-width 0.1 --behavior X".split()
    again = CliRunner().invoke(main, command[1:])
    assert again.exit_code == 0, again.stderr


def test_velocities_without_names_are_suggested(shared_data):
    given = ["--counts", "Y", "--counts-bin-width", "0.1", "--behavior", "X", "--quiet"]
    asked = CliRunner().invoke(main, ["inspect", str(shared_data / "contdata95.mat"), *given])
    assert asked.stdout.rstrip().endswith("--target X:2,X:3")
