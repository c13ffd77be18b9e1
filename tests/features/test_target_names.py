"""What can be decoded, and what is said if something else is asked for."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from neurofs.commands.main import main
from neurofs.features.target_names import describe_targets
from neurofs.features.tensor import build_tensor
from neurofs.ground.config import LoadOptions
from neurofs.ground.errors import UsageError
from neurofs.recordings.quality import suggest
from neurofs.recordings.recording import Recording, Series
from neurofs.recordings.writers import write

TIME = np.arange(0, 80, 0.05)


def series(name, n_columns, **about):
    return Series(name, TIME, np.random.default_rng(0).normal(size=(len(TIME), n_columns)), **about)


def session(*behavior):
    starts = np.arange(0.0, 80, 2)
    side = ["left", "right"] * 20
    trials = pd.DataFrame({"start": starts, "stop": starts + 2, "side": side, "onset": starts + 0.5, "all": 1})
    spikes = [np.sort(np.random.default_rng(1).uniform(0, 80, 500))]
    return Recording("toy", spikes=spikes, observed=[[0, 80]], trials=trials, behavior={s.name: s for s in behavior})


def names(recording):
    return [record["target"] for record in describe_targets(recording)]


def test_series_columns_velocities_and_conditions():
    found = session(series("hand_pos", 2, unit="cm"), series("force", 1))
    assert names(found) == ["hand_pos", "hand_pos:x", "hand_pos:y", "hand_pos.velocity", "force", "side"]
    side = describe_targets(found)[-1]
    assert side == {"target": "side", "kind": "condition of trials", "unit": "", "range": "2 classes: left, right"}


def test_no_velocity_is_derived_where_the_file_has_one():
    assert "hand_position.velocity" not in names(session(series("hand_position", 2), series("hand_velocity", 2)))


@pytest.mark.parametrize("recording", [session(series("hand_pos", 2), series("kin", 5)), session(series("pos", 6))])
def test_everything_that_is_listed_can_be_decoded(recording):
    for name in names(recording):
        assert build_tensor(recording, name, n_lags=2)["valid"].any(), name


@pytest.mark.parametrize("name", ["pos", "pos.velocity"])
def test_many_columns_without_names_are_not_taken_together(name):
    with pytest.raises(UsageError) as error:
        build_tensor(session(series("pos", 5)), name)
    assert f"choose some: {name}:0, {name}:1, {name}:2, {name}:3, {name}:4" in str(error.value)
    named = session(series("pos", 5, columns=tuple("abcde")))
    assert build_tensor(named, name).sizes["output"] == 5


def test_a_suggestion_names_one_column():
    found = suggest(session(series("kin", 4)), "f.npz", LoadOptions())
    assert found["options"]["target"] == ["kin:0"]


def test_messages_list_series_velocities_and_conditions():
    recording = session(series("hand_pos", 2), series("kin", 4))
    for target in ([], "nothing"):
        with pytest.raises(UsageError) as error:
            build_tensor(recording, target)
        assert "hand_pos, hand_pos.velocity, kin:COLUMN; conditions of trials: side" in str(error.value)
    with pytest.raises(UsageError, match="did you mean 'side'"):
        build_tensor(recording, "sid")
    with pytest.raises(UsageError, match="target 'side': a condition of the trials is decoded alone"):
        build_tensor(recording, ["hand_pos", "side"])


def test_the_command_lists_targets(tmp_path):
    path = write(session(series("hand_pos", 2, unit="cm")), tmp_path / "day.nwb")
    run = CliRunner().invoke
    listed = json.loads(run(main, ["list", "targets", str(path), "--json"]).stdout)
    assert [record["target"] for record in listed][:2] == ["hand_pos", "hand_pos:x"]
    assert "hand_pos.velocity" in run(main, ["list", "targets", str(path)]).stdout
    assert run(main, ["list", "selectors", str(path)]).exit_code == 2
    assert run(main, ["list", "targets", "missing.nwb"]).exit_code == 2
