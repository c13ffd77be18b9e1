"""Help: the options of a command in groups, with their defaults; rare ones only with ``--help-all``."""

from __future__ import annotations

from typing import Any

import click

from neurofs.commands.output import make_output_options

WHAT, HOW, RARE, LAYOUT, OUTPUT = "What to decode", "How to compare", "Rarely needed", "File layout", "Output"
OTHER = "Options"
ORDER = (WHAT, HOW, OTHER, RARE, LAYOUT, OUTPUT)
"""The groups of options, in the order in which they are printed."""

SHOW_ALL = "neurofs.help_all"


class Option(click.Option):
    """An option that belongs to a group of the help."""

    def __init__(self, *arguments: Any, group: str = OTHER, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.group = group


class Command(click.Command):
    """A command with the options of output, which prints its options in groups.

    Those of the groups `rare` are printed by --help-all alone.
    """

    rare: tuple[str, ...] = ()

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.params += make_output_options()
        if self.rare:
            self.params.append(_make_help_all())

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, group by group, and say which are left out."""
        groups = self._group_options(ctx)
        rare = () if ctx.meta.get(SHOW_ALL) else self.rare
        left = {title: len(groups.pop(title)) for title in rare if title in groups}
        for title, rows in groups.items():
            with formatter.section(title):
                formatter.write_dl(rows)
        if left:
            more = " and ".join(f"{title.lower()} ({n} options)" for title, n in left.items())
            formatter.write_paragraph()
            formatter.write_text(f"Left out here: {more}. See --help-all.")

    def _group_options(self, ctx: click.Context) -> dict[str, list[tuple[str, str]]]:
        """Return the lines of each group that has any."""
        groups: dict[str, list[tuple[str, str]]] = {title: [] for title in ORDER}
        for param in self.get_params(ctx):
            row = param.get_help_record(ctx)
            if row is not None and isinstance(param, click.Option):
                groups[find_group(param)].append(row)
        return {title: rows for title, rows in groups.items() if rows}


def find_group(param: click.Parameter) -> str:
    """Return the group of an option: its own, or Output for those that every command has."""
    shared = {"--json", "--quiet", "--verbose", "--help", "--help-all", "--out", "--jobs", "--fresh"}
    return OUTPUT if shared & set(param.opts) else getattr(param, "group", OTHER)


def _make_help_all() -> click.Option:
    settings: dict[str, Any] = {"is_flag": True, "is_eager": True, "expose_value": False}
    return click.Option(["--help-all"], callback=_print_all, help="Show all options, also the rare ones.", **settings)


def _print_all(ctx: click.Context, option: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[SHOW_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


def show_default(value: Any) -> str:
    """Return a default as the user would type it, in the words of the help.

    >>> show_default(0.1), show_default(("auto",)), show_default(None), show_default(False)
    ('  [default: 0.1]', '  [default: auto]', '', '')
    """
    if value is None or isinstance(value, bool) or value == () or value == {}:
        return ""
    return f"  [default: {','.join(map(str, value)) if isinstance(value, tuple) else value}]"
