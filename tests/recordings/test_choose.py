"""Parts of a session, and the expressions in which they are asked for, also by people who mean no good."""

import operator

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from neurofs.commands.main import main
from neurofs.ground.config import LoadOptions, RunOptions, given_options, make_options, render_toml
from neurofs.ground.errors import UsageError
from neurofs.pipeline import prepare
from neurofs.recordings.checks import find_remarks
from neurofs.recordings.choose import choose_part
from neurofs.recordings.expressions import MAX_DEPTH, MAX_LENGTH, choose_rows
from neurofs.recordings.readers import load
from neurofs.recordings.recording import Recording
from neurofs.recordings.simulate import simulate_session
from neurofs.recordings.writers import write

TABLE = pd.DataFrame(
    {
        "rate": [0.1, 0.5, 2.0, 9.0, np.nan],
        "electrode": [1, 1, 2, 3, 3],
        "kind": ["mua", "unit", None, "unit", "mua"],
        "name": ["1", "2", "3", "4", "x"],
        "good": [True, False, True, True, False],
        "a b": [1, 2, 3, 4, 5],
    }
)

RIGHT = {
    "rate > 0.5": [2, 3],
    "rate >= .5 and electrode != 3": [1, 2],
    "electrode == 2 or electrode == 3 and good": [2, 3],
    "(electrode == 2 or electrode == 3) and not good": [4],
    "not rate > 0.5": [0, 1, 4],
    "rate != 9": [0, 1, 2],
    "0.2 < rate <= 2": [1, 2],
    "electrode in (1, 3)": [0, 1, 3, 4],
    "electrode not in [1, 3]": [2],
    "kind == 'unit'": [1, 3],
    'kind != "unit"': [0, 4],
    "kind not in ('mua')": [1, 3],
    "name == 3": [2],
    "electrode == '3'": [3, 4],
    "good": [0, 2, 3],
    "good == false": [1, 4],
    "`a b` >= 4": [3, 4],
    "rate > -1e-3 and electrode < 2": [0, 1],
    "rate < electrode": [0, 1],
}


@pytest.mark.parametrize("text", RIGHT)
def test_expressions(text):
    assert np.flatnonzero(choose_rows(text, TABLE, "where")).tolist() == RIGHT[text]


def test_chains_of_tests_follow_the_precedence_of_python():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 4, size=(50, 3)), columns=list("abc"))
    signs = {"<": operator.lt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne}
    for _ in range(100):
        parts, values = [], []
        for _ in range(3):
            column, sign, number = rng.choice(list("abc")), rng.choice(list(signs)), rng.integers(0, 4)
            negated = rng.random() < 0.3
            parts.append(f"{'not ' * negated}{column} {sign} {number}")
            values.append(signs[sign](table[column], number).to_numpy() ^ negated)
        text = f"{parts[0]} or {parts[1]} and {parts[2]}"
        np.testing.assert_array_equal(choose_rows(text, table, "t"), values[0] | (values[1] & values[2]))


HOSTILE = {
    "unknown": ("rte > 1", "no column 'rte'; did you mean rate? Known: rate, electrode, kind"),
    "dunder": ("__class__ == 1", "no column '__class__'"),
    "attribute": ("rate.__class__ == 1", "no column 'rate.__class__'"),
    "call": ("__import__('os').system('true')", "cannot read"),
    "call of a column": ("rate(1) > 1", "expected a comparison such as > or ==, found '('"),
    "lambda": ("lambda: 1", "cannot read ': 1'"),
    "assignment": ("rate = 1", "cannot read '= 1'"),
    "walrus": ("(x := 1) > 0", "cannot read ':= 1) > 0'"),
    "arithmetic": ("rate + 1 > 2", "cannot read '+ 1 > 2'"),
    "power": ("9**9**9**9 > rate", "cannot read '**9**9**9 > rate'"),
    "index": ("rate[0] > 1", "expected a comparison"),
    "empty": ("", "expected a column or a value, found the end"),
    "open": ("(rate > 1", "expected ')', found the end"),
    "closed": ("rate > 1)", "expected and, or, or the end, found ')'"),
    "half": ("rate >", "expected a column or a value, found the end"),
    "two": ("rate > 1 electrode", "expected and, or, or the end"),
    "no list": ("rate in 3", "expected a list such as (1, 2)"),
    "open list": ("rate in (1, 2", "expected ',' or ')'"),
    "empty list": ("rate in ()", "expected a column or a value, found ')'"),
    "number alone": ("3", "expected a comparison"),
    "column alone": ("rate", "expected a comparison"),
    "not at the end": ("rate not", "expected in, found the end"),
    "order of texts": ("kind > 'a'", "'kind' is text"),
    "open text": ("kind == 'unit", "cannot read ''unit'"),
    "escapes": ("\x1b[31m > 1", "cannot read '\\x1b[31m > 1'"),
    "nested": ("(" * 5000, f"at most {MAX_LENGTH} characters"),
    "deep": ("(" * (MAX_DEPTH + 1) + "rate > 1" + ")" * (MAX_DEPTH + 1), f"more than {MAX_DEPTH} parentheses"),
    "nots": ("not " * 400 + "good", f"more than {MAX_DEPTH} parentheses and nots"),
    "long": ("rate > 1 or " * 10**6, "characters; found 12000000"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_what_is_no_expression_is_answered_in_one_line(case):
    text, message = HOSTILE[case]
    with pytest.raises(UsageError) as error:
        choose_rows(text, TABLE, "where")
    said = str(error.value)
    assert said.startswith("where: ")
    assert message in said
    assert said.isprintable()
    assert len(said) < 500


def test_the_longest_and_deepest_expressions_are_read():
    deep = "(" * (MAX_DEPTH - 1) + "rate > 1" + ")" * (MAX_DEPTH - 1)
    assert choose_rows(deep, TABLE, "where").sum() == 2
    wide = " or ".join(["rate>1"] * (MAX_LENGTH // 11))
    assert choose_rows(wide, TABLE, "where").sum() == 2


# Parts of a session


@pytest.fixture(scope="module")
def session():
    return simulate_session(24, n_electrodes=4, random_state=1)


def part(session, **options):
    return choose_part(session, LoadOptions(**options))


def test_nothing_asked_for_is_the_same_session(session):
    assert part(session) is session


def test_channels_by_name_and_by_expression(session):
    rates = dict(zip(session.channels["name"], session.rates, strict=True))
    busy = part(session, channels="rate > 5")
    assert busy.channels["name"].tolist() == [name for name, rate in rates.items() if rate > 5]
    assert f"{busy.n_channels} of {session.n_channels} channels chosen by rate > 5" in busy.notes
    for asked in ("2b,1a", ["2b", "1a"], ("1a", "name == '2b'")):
        some = part(session, channels=asked)
        assert some.channels["name"].tolist() == ["1a", "2b"]
        names = session.channels["name"].tolist()
        for own, name in zip(some.spikes, ("1a", "2b"), strict=True):
            np.testing.assert_array_equal(own, session.spikes[names.index(name)])


def test_time_cuts_spikes_and_trials(session):
    some = part(session, from_time=10.0, to_time=40.0)
    assert some.span == (10.0, 40.0)
    for own, whole in zip(some.spikes, session.spikes, strict=True):
        np.testing.assert_array_equal(own, whole[(whole >= 10) & (whole < 40)])
    whole = session.trials[(session.trials["start"] >= 10) & (session.trials["stop"] <= 40)]
    assert some.trials["start"].tolist() == whole["start"].tolist()
    np.testing.assert_allclose(some.rates, [len(s) / 30 for s in some.spikes])
    assert f"10 to 40 s chosen, of 0 to {session.span[1]:g} s, with {len(whole)} of 24 trials" in some.notes
    assert part(session, from_time=-5.0).span == session.span


@pytest.mark.parametrize(("start", "stop"), [(0.0, 10.0), (10.0, 40.0), (20.0, 33.0)])
def test_time_cuts_behavior_so_that_clocks_are_not_suspected(session, start, stop):
    some = part(session, from_time=start, to_time=stop)
    for name, series in some.behavior.items():
        whole = session.behavior[name]
        inside = (whole.time >= start) & (whole.time < stop)
        assert inside.sum() <= len(series.time) <= inside.sum() + 2
        assert set(whole.time[inside]) <= set(series.time)
    assert not any("behavior" in remark.text for remark in find_remarks(some))


def test_time_cuts_whole_bins_of_counts():
    counts = np.arange(40).reshape(20, 2)
    whole = Recording("c", counts=counts, bin_width=0.1, start=1.0)
    some = part(whole, from_time=1.25, to_time=2.0, channels="1")
    assert (some.start, some.span[1]) == (pytest.approx(1.3), pytest.approx(2.0))
    np.testing.assert_array_equal(some.counts, counts[3:10, 1:])


def test_trials_by_number_and_by_expression(session):
    starts = session.trials["start"].to_numpy()
    assert part(session, trials="0-2,5,22-").trials["start"].tolist() == starts[[0, 1, 2, 5, 22, 23]].tolist()
    assert part(session, trials=[3, "5"]).trials["start"].tolist() == starts[[3, 5]].tolist()
    assert part(session, trials=3).trials["start"].tolist() == [starts[3]]
    ninety = starts[session.trials["direction"] == 90].tolist()
    assert part(session, where="direction == 90").trials["start"].tolist() == ninety
    assert part(session, trials="direction == 90").trials["start"].tolist() == ninety
    both = part(session, trials="trial < 12", where="direction == 90")
    assert both.trials["start"].tolist() == [start for start in ninety if start < starts[12]]
    assert len(part(session, where="duration > 2").trials) == (session.trials.eval("stop - start") > 2).sum()


REFUSED = {
    "no such channel": ({"channels": "1z"}, "channels: no channel '1z'; the first is '1a'"),
    "no channel": ({"channels": "rate > 1e6"}, "channels: none of 16 channels is chosen by 'rate > 1e6'"),
    "no trial": ({"where": "direction == 7"}, "where: none of 24 trials is chosen by 'direction == 7'"),
    "beyond": ({"trials": "20-24"}, "trials: expected numbers from 0 to 23; found '20-24'"),
    "backwards": ({"trials": "5-3"}, "trials: expected numbers from 0 to 23"),
    "no number": ({"trials": "first"}, "trials: expected numbers and ranges"),
    "huge": ({"trials": "9" * 5000}, "trials: expected numbers and ranges"),
    "no time": ({"from_time": 1e4}, "nothing was observed from 10000 to"),
    "no time between": ({"from_time": 5.0, "to_time": 5.0}, "nothing was observed from 5 to 5 s"),
    "no whole trial": ({"from_time": 5.0, "to_time": 5.1}, "no trial lies wholly between 5 and 5.1 s"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_empty_part_is_refused(case, session):
    options, message = REFUSED[case]
    with pytest.raises(UsageError) as error:
        part(session, **options)
    assert message in str(error.value)
    assert len(str(error.value)) < 300


def test_a_session_without_trials_has_none_to_choose():
    with pytest.raises(UsageError, match="where: the recording has no trials to choose from; use --from and --to"):
        part(Recording("toy", spikes=[[0.5]]), where="direction == 3")


def test_a_file_a_session_file_and_python_give_the_same_part(session, tmp_path):
    path = write(session, tmp_path / "day.nwb")
    asked = {"channels": ("electrode < 3",), "from_time": 5.0, "trials": ("0-15",), "where": "direction != 90"}
    loaded = load(path, **asked)
    (tmp_path / "day.toml").write_text(render_toml({"file": "day.nwb", **asked}))
    from_toml = load(tmp_path / "day.toml")
    from_memory = choose_part(load(path), LoadOptions(**asked))
    for found in (from_toml, from_memory):
        assert found.notes == loaded.notes
        assert found.trials.equals(loaded.trials)
        assert found.channels.equals(loaded.channels)
    assert loaded.source_hash == load(path).source_hash
    whole, some = (
        prepare(RunOptions(file=str(path), target="hand_velocity", n_lags=2, n_splits=2, **options)).problem
        for options in ({}, asked)
    )
    assert some.samples.n_features == 2 * loaded.n_channels
    assert some.data_key != whole.data_key
    again = prepare(RunOptions(target="hand_velocity", n_lags=2, n_splits=2, **asked), load(path)).problem
    assert again.data_key == some.data_key


def test_a_part_is_written_into_run_toml_and_read_back():
    asked = {"channels": ["rate > 1", "1a"], "trials": "0-9", "where": "direction in (1, 2)", "to_time": 5}
    options = make_options(RunOptions, asked)
    assert make_options(RunOptions, given_options(options)) == options
    assert options.trials == ("0-9",)
    assert make_options(RunOptions, {"trials": False}).trials is False


def run(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


def test_the_command_line_takes_parts(session, tmp_path):
    path = write(session, tmp_path / "day.nwb")
    asked = ["--channels", "rate > 1 and electrode in (1, 2)", "--from", 3, "--to", 60, "--trials", "0-9"]
    result = run("inspect", path, *asked, "--where", "direction < 200")
    assert result.exit_code == 0, result.stderr
    assert "channels chosen by rate > 1 and electrode in (1, 2)" in result.stdout
    assert "--channels 'rate > 1 and electrode in (1, 2)' --from-time 3.0" in result.stdout
    refused = run("inspect", path, "--trials", "3", "--no-trials")
    assert refused.exit_code == 2
    assert "either --trials or --no-trials" in refused.stderr
