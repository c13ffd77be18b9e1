"""Options: the same on every command, told with their defaults, and no other ones in the words of the project."""

import json
import re
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from neurofs.commands.help import LAYOUT, ORDER
from neurofs.commands.main import main
from neurofs.decoders import DECODERS
from neurofs.ground.config import RunOptions
from neurofs.recordings.demo import demo_path

HOME = Path(__file__).parents[2]
READMES = ["README.md", *(f"{folder}/README.md" for folder in ("data", "pipelines", "reports", "neurofs"))]


def run(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


def options_of(name):
    command = main.commands[name]
    params = command.get_params(click.Context(command, help_option_names=["-h", "--help"]))
    return [param for param in params if isinstance(param, click.Option) and not param.hidden]


def help_of(name):
    """All of a command's help, without line breaks, which may follow a hyphen."""
    rare = any("--help-all" in option.opts for option in options_of(name))
    text = " ".join(run(name, "--help-all" if rare else "--help").stdout.split())
    return re.sub(r"(?<=\w)- (?=\w)", "-", text)


@pytest.mark.parametrize("name", main.commands)
def test_every_command_has_the_options_of_output(name):
    given = {word for option in options_of(name) for word in option.opts}
    assert {"--json", "-q", "--quiet", "-v", "--verbose"} <= given
    assert ("--out" in given) == ("-o" in given)
    assert ("--jobs" in given) == ("-j" in given)
    assert run(name, "-h").stdout == run(name, "--help").stdout


@pytest.mark.parametrize("name", main.commands)
def test_help_shows_options_defaults_and_examples(name):
    text = help_of(name)
    assert re.search(rf"Examples?: neurofs {name}\b", text)
    for option in options_of(name):
        assert max(option.opts, key=len) in text
        if isinstance(option.default, int | float | str) and not option.is_flag:
            assert f"[default: {option.default}" in text, option.opts
    assert "[default: all cores]" in text or "--jobs" not in text


def test_the_defaults_of_settings_are_shown():
    text = help_of("decode").partition("What to decode:")[2]
    for key, field in RunOptions.model_fields.items():
        flag = key.replace("_", "-")
        shown = ",".join(field.default) if isinstance(field.default, tuple) else field.default
        if field.annotation is bool:
            assert f"[default: {flag if field.default else f'no-{flag}'}]" in text, key
        elif shown not in (None, "", True) and key not in ("file", "settings"):
            start = text.index(f" --{flag} ")
            assert f"[default: {shown}]" in text[start : start + 700], key


def test_help_is_in_groups_and_rare_options_wait():
    short, long = run("decode", "--help").stdout, run("decode", "--help-all").stdout
    titles = [line[:-1] for line in long.splitlines() if line[:-1] in ORDER and line.endswith(":")]
    assert titles == [title for title in ORDER if title in titles]
    assert {"What to decode", "How to compare", LAYOUT, "Output"} <= set(titles)
    assert "--spike-channels" in long
    assert "--spike-channels" not in short
    assert "--help-all" in short


@pytest.mark.parametrize("name", main.commands)
def test_each_example_is_a_line_of_its_own(name):
    lines = run(name, "--help").stdout.partition("Examples:\n")[2].partition("\n\n")[0].splitlines()
    assert lines
    assert all(re.match(rf"    (neurofs {name}\b|\w+ \| neurofs {name}\b)", line) for line in lines), lines


def test_the_list_of_commands_has_whole_sentences():
    lines = run("--help").stdout.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in lines] == list(main.commands)
    assert all(line.endswith(".") and not line.endswith("...") and len(line) <= 80 for line in lines), lines


def test_the_help_names_every_decoder():
    text = help_of("decode").partition("--decoders ")[2].partition(" --folds ")[0]
    assert [name for name in DECODERS.own if not re.search(rf"(?<![\w-]){name}(?![\w-])", text)] == []


@pytest.mark.parametrize("option", ["--selectors", "--decoders"])
def test_a_misspelled_method_gets_a_hint(option):
    name, near = ("rgss", "rgs") if option == "--selectors" else ("rigde", "ridge")
    assert f"named '{name}'; did you mean {near}? Choose from " in run("decode", option, name).stderr


def test_decode_comes_first():
    text = run("--help").stdout
    assert text.partition("Examples:")[2].split()[:2] == ["neurofs", "decode"]
    assert text.partition("Commands:")[2].split()[0] == "decode"


@pytest.mark.parametrize("name", main.commands)
def test_every_option_is_in_the_words_of_the_project(name):
    text = " ".join((HOME / readme).read_text(encoding="utf-8") for readme in READMES)
    known = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", text)) | {"--help", "--help-all"}
    assert [option.opts for option in options_of(name) if not known & set(option.opts)] == []


@pytest.mark.parametrize("readme", READMES)
def test_every_option_in_the_words_of_the_project_exists(readme):
    known = {word for name in main.commands for o in options_of(name) for word in (*o.opts, *o.secondary_opts)}
    known |= {"--help", "--version"}
    text = (HOME / readme).read_text(encoding="utf-8")
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", text)) <= known


@pytest.mark.parametrize(
    "arguments",
    [
        ("inspect", "missing.nwb"),
        ("inspect", "--orientation", "sideways"),
        ("inspect", "--no-such-option"),
        ("decode", "missing.nwb"),
        ("decode", "--n-lags", "0"),
        ("list", "nothing"),
        ("report",),
        ("simulate", "day.xyz"),
        ("nonsense",),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_errors_are_json_if_asked_for(arguments, first):
    command, *others = arguments
    result = run(command, "--json", *others) if first else run(*arguments, "--json")
    assert result.exit_code == run(*arguments).exit_code == 2
    assert list(json.loads(result.stdout)) == ["error"]
    assert result.stderr == ""


def test_a_word_after_the_last_option_asks_for_nothing():
    result = run("inspect", "--", "--json")
    assert result.stdout == ""
    assert "--json: expected a file" in result.stderr


def test_verbose_tells_where_an_error_comes_from():
    assert "Traceback" not in run("inspect", "missing.nwb").stderr
    result = run("inspect", "missing.nwb", "-v")
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("neurofs: missing.nwb: expected a file")


QUICK = ["--selectors", "corrcoef", "--decoders", "knn", "--n-splits", 2, "--n-lags", 2, "--jobs", 1]


@pytest.mark.slow
def test_quiet_prints_only_where_the_report_is(tmp_path):
    result = run("decode", "-q", "-o", tmp_path / "run", *QUICK)
    assert (result.stdout, result.stderr) == (f"{tmp_path / 'run' / 'report.html'}\n", "")
    again = run("decode", "-v", "-o", tmp_path / "run", *QUICK)
    assert "report: " in again.stdout
    assert "mean within the bin" in again.stderr
    assert run("report", "-q", tmp_path / "run").stdout == f"{tmp_path / 'run' / 'report.html'}\n"


def test_quiet_lists_names_and_suggests_a_command():
    assert run("list", "selectors", "-q").stdout.splitlines()[0] == "rgs"
    assert run("inspect", demo_path(), "-q").stdout.startswith("neurofs decode ")


def test_every_list_may_be_repeated_or_have_commas(tmp_path):
    options = {"selectors": ["rgs", "sks"], "sizes": ["1", "4"], "target": ["a", "b"], "behavior": ["a", "b"]}
    command = main.commands["decode"]
    for key, values in options.items():
        apart = command.make_context("decode", [word for value in values for word in (f"--{key}", value)])
        joined = command.make_context("decode", [f"--{key}", ",".join(values)])
        assert apart.params[key] == joined.params[key] == tuple(values)


def test_shells_complete_options_and_choices():
    complete = ShellComplete(main, {}, "neurofs", "_NEUROFS_COMPLETE").get_completions
    assert [item.value for item in complete([], "dec")] == ["decode"]
    assert "--selectors" in [item.value for item in complete(["decode"], "--sel")]
    assert [item.value for item in complete(["list"], "sel")] == ["selectors"]
