"""``neurofs list``: what there is to choose from."""

from __future__ import annotations

import importlib
import json

import click

from neurofs.commands.options import json_option

__all__ = ["list_command"]

LISTS = {
    "selectors": ("neurofs.selectors.catalog", "describe_selectors", "render_selectors"),
    "experiments": ("neurofs.experiments.reproduce", "describe_experiments", "list_experiments"),
}
"""What can be listed: a module, and its functions that return it for JSON and as text."""


@click.command("list")
@click.argument("what", type=click.Choice(list(LISTS)))
@json_option
def list_command(what: str, as_json: bool) -> None:
    """Print what there is to choose from: its names, and what each one is.

    \b
    Examples:
      neurofs list selectors
      neurofs list experiments
    """
    module, describe, render = LISTS[what]
    found = importlib.import_module(module)
    click.echo(json.dumps(getattr(found, describe)(), indent=2) if as_json else getattr(found, render)())
