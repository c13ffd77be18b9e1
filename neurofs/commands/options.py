"""Settings as options of the command line: every key of a settings file is an option of the same name."""

from __future__ import annotations

import types
import typing
from typing import Any

import click

__all__ = ["OptionsCommand", "read_given"]


class OptionsCommand(click.Command):
    """A command that also takes every key of some settings as an option."""

    KIND = "LoadOptions"

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own options and those of the settings, ``--help`` last."""
        from neurofs.ground import config

        own = super().get_params(ctx)
        taken = {param.name for param in own}
        fields = getattr(config, self.KIND).model_fields
        return own[:-1] + [make_option(k, f) for k, f in fields.items() if k not in taken] + own[-1:]


class RunCommand(OptionsCommand):
    """A command that takes every key of a run.toml as an option."""

    KIND = "RunOptions"


def make_option(key: str, field: Any) -> click.Option:
    """Return the click option of one field of the settings."""
    kind, multiple = option_type(field.annotation)
    flag = "--" + key.replace("_", "-")
    if kind is click.BOOL:
        return click.Option([f"{flag}/--no-{flag[2:]}"], default=None, help=field.description)
    nargs = 2 if key == "period" else 1
    return click.Option(
        [flag], type=kind, multiple=multiple, nargs=nargs, default=None, help=field.description
    )


def option_type(annotation: Any) -> tuple[Any, bool]:
    """Return the click type of an annotation, and whether the option may be given several times."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return click.Choice([str(choice) for choice in arguments]), False
    if origin in (typing.Union, types.UnionType):
        kinds = [a for a in arguments if a is not type(None)]
        return option_type(kinds[0]) if len(kinds) == 1 else (click.STRING, False)
    if origin is tuple:
        return {int: click.INT}.get(arguments[0], click.STRING), len(arguments) == 2 and arguments[1] is ...
    return {bool: click.BOOL, int: click.INT, float: click.FLOAT}.get(annotation, click.STRING), False


def read_given(given: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were given on the command line, as values of settings."""
    values = {key: value for key, value in given.items() if value is not None and value != ()}
    if "index_base" in values:
        values["index_base"] = int(values["index_base"])
    return values
