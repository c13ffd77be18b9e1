"""Options: those that many commands have, and the keys of settings files, each an option of the same name."""

import ast
import re
import types
import typing
from pathlib import Path
from typing import Any

import click

from neurofs.commands.help import HOW, LAYOUT, RARE, WHAT, Command, Option, show_default
from neurofs.ground.errors import UsageError, quoted

MOST_JOBS = 1024
"""Processes that are started at the same time at most."""

jobs_option = click.option(
    "-j", "--jobs", type=click.IntRange(1, MOST_JOBS), help="Tasks at the same time.  [default: all cores]"
)

seed_option = click.option("--seed", type=click.IntRange(0), default=0, help="The same seed gives the same result.")

RARE_KEYS = ("step", "sqrt", "smooth", "period", "n_neighbors", "beta", "allow_leakage")
"""Keys of settings that few people need."""

PART_KEYS = ("channels", "unsorted", "exclude_channels", "from_time", "to_time", "trials", "where")
"""Keys that say which part of a session is used."""

SHORT = {"from_time": "--from", "to_time": "--to"}
METAVARS = {
    "channels": "EXPR|NAMES",
    "trials": "EXPR|RANGE",
    "where": "EXPR",
    "from_time": "SECONDS",
    "to_time": "SECONDS",
}


def out_option(help: str) -> Any:
    """Return the option --out of a command."""
    return click.option("-o", "--out", type=click.Path(path_type=Path), help=help)


class OptionsCommand(Command):
    """A command that also takes every key of some settings as an option."""

    KIND = "LoadOptions"
    LEFT_OUT: tuple[str, ...] = ()
    rare: tuple[str, ...] = (RARE,)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own options and those of the settings, ``--help`` last."""
        from neurofs.ground import config

        own = super().get_params(ctx)
        taken = {param.name for param in own} | set(self.LEFT_OUT)
        fields = getattr(config, self.KIND).model_fields
        return [*own[:-1], *(make_option(k, f) for k, f in fields.items() if k not in taken), _no_trials(), own[-1]]


class LayoutAsideCommand(OptionsCommand):
    """The same, for a command whose help would drown in how a file is laid out."""

    rare = (RARE, LAYOUT)


class RunCommand(OptionsCommand):
    """A command that takes every key of a run.toml as an option."""

    KIND = "RunOptions"
    rare = (RARE, LAYOUT)


class FitCommand(RunCommand):
    """A command that takes the keys of a run.toml that have a meaning for a single decoder."""

    LEFT_OUT = ("selectors", "decoders", "settings", "sizes", "n_neighbors", "beta", "dependency", "allow_leakage")


def make_option(key: str, field: Any) -> click.Option:
    """Return the click option of one field of the settings."""
    kind, multiple = option_type(field.annotation)
    flag = "--" + key.replace("_", "-")
    about: dict[str, Any] = {"help": f"{field.description}{show_default(field.default)}", "group": group_key(key)}
    if kind is click.BOOL:
        about["help"] = f"{field.description}{show_default(flag[2:] if field.default else f'no-{flag[2:]}')}"
        return Option([f"{flag}/--no-{flag[2:]}"], default=None, **about)
    about |= {"type": kind, "multiple": multiple, "nargs": 2 if key == "period" else 1, "metavar": METAVARS.get(key)}
    split = read_list if multiple and key not in ("channels", "trials") else None
    return Option([*filter(None, [SHORT.get(key)]), flag, key], callback=split, **about)


def _no_trials() -> Option:
    """Return the option that is the key `trials = false`."""
    help = "Leave the trials of the file aside and decode it as one stretch."
    return Option(["--no-trials"], is_flag=True, help=help, group=LAYOUT)


def group_key(key: str) -> str:
    """Return the group of the help to which a key of the settings belongs.

    >>> group_key("target"), group_key("n_splits"), group_key("counts"), group_key("beta")
    ('What to decode', 'How to compare', 'File layout', 'Rarely needed')
    """
    from neurofs.ground.config import CompareOptions, TensorOptions

    if key in RARE_KEYS:
        return RARE
    if key in CompareOptions.model_fields:
        return HOW
    return WHAT if key in TensorOptions.model_fields or key in PART_KEYS else LAYOUT


def option_type(annotation: Any) -> tuple[Any, bool]:
    """Return the click type of an annotation, and whether the option may be given several times."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return click.Choice([str(choice) for choice in arguments]), False
    if origin in (typing.Union, types.UnionType):
        kinds = [a for a in arguments if a not in (type(None), bool)]
        return option_type(kinds[0]) if len(kinds) == 1 else (click.STRING, False)
    if origin is tuple:
        return click.STRING, len(arguments) == 2 and arguments[1] is ...
    return {bool: click.BOOL, int: click.INT, float: click.FLOAT}.get(annotation, click.STRING), False


def read_list(ctx: click.Context | None, option: click.Parameter | None, texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of an option that was given several times, or with commas between names.

    >>> read_list(None, None, ("rgs,sks", "relieff"))
    ('rgs', 'sks', 'relieff')
    """
    from neurofs.ground.config import split_names

    return tuple(name for text in texts for name in split_names(text))


def read_given(given: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were given on the command line, as values of settings."""
    values = {key: value for key, value in given.items() if value is not None and value != ()}
    if values.pop("no_trials", False):
        if "trials" in values:
            raise UsageError("trials: say either --trials or --no-trials")
        values["trials"] = False
    if "index_base" in values:
        values["index_base"] = int(values["index_base"])
    return values


def read_settings(texts: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Turn ``rgs.n_epochs=3`` into {"rgs": {"n_epochs": 3}}.

    >>> read_settings(("rgs.n_epochs=3", "simba.utility=sigmoid"))
    {'rgs': {'n_epochs': 3}, 'simba': {'utility': 'sigmoid'}}
    """
    found: dict[str, dict[str, Any]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        selector, dot, key = name.partition(".")
        if not (equals and dot and selector and key):
            raise UsageError(f"--set: expected SELECTOR.NAME=VALUE, such as rgs.n_epochs=3; found {quoted(text)}")
        found.setdefault(selector, {})[key] = _read_value(value)
    return found


def _read_value(text: str) -> Any:
    """Return a number or a truth value if the text is one, else the text."""
    if text in ("true", "false"):
        return text == "true"
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return value if isinstance(value, int | float) else text


def read_time(text: str | None) -> float | None:
    """Return a time in seconds.

    >>> read_time("90"), read_time("1.5m"), read_time("2h")
    (90.0, 90.0, 7200.0)
    """
    units = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}
    return _read_amount(text, units, "--task-timeout", "90, 30m or 2h", most=1e9)


def read_size(text: str | None) -> int | None:
    """Return a size in bytes.

    >>> read_size("500MB"), read_size("4GB") == 4 * 10**9, read_size("1GiB") == 2**30
    (500000000, True, True)
    """
    units = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
    amount = _read_amount(text, units, "--memory-limit", "500MB or 4GB", most=1e18)
    return None if amount is None else int(amount)


def _read_amount(text: str | None, units: dict[str, int], option: str, example: str, most: float) -> float | None:
    """Return a number times its unit; systems do not take amounts without end."""
    if text is None:
        return None
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", text)
    if found is None or found[2].lower() not in units or float(found[1]) == 0:
        raise UsageError(f"{option}: expected something like {example}; found {quoted(text)}")
    amount = float(found[1]) * units[found[2].lower()]
    if amount > most:
        raise UsageError(f"{option}: expected at most {most:g} in all; found {quoted(text)}")
    return amount
