"""``neurofs list``: what there is to choose from, and the schema of summary.json."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from neurofs.commands.options import LayoutAsideCommand, read_given
from neurofs.commands.output import current_output
from neurofs.ground.errors import UsageError, printable


def _list_selectors(as_json: bool) -> Any:
    from neurofs.selectors import SELECTORS

    note = "m samples, N features, k neighbors; weights, ranks and supports for all."
    return _list_methods(SELECTORS, as_json, note)


def _list_decoders(as_json: bool) -> Any:
    from neurofs.decoders import DECODERS

    return _list_methods(DECODERS, as_json)


def _list_methods(registry: Any, as_json: bool, note: str = "") -> Any:
    from neurofs.ground.method import describe_methods, render_methods

    return describe_methods(registry) if as_json else render_methods(registry, note)


def _list_formats(as_json: bool) -> Any:
    from neurofs.recordings.readers import list_formats

    formats = list_formats()
    return [kind.record() for kind in formats] if as_json else "\n".join(kind.render() for kind in formats)


def _list_experiments(as_json: bool) -> Any:
    from neurofs.experiments.reproduce import describe_experiments, list_experiments

    return describe_experiments() if as_json else list_experiments()


def _list_schema(as_json: bool) -> Any:
    from neurofs.comparison.summary import Summary

    return Summary.model_json_schema()


def _list_targets(file: Path | None, given: dict[str, Any], as_json: bool) -> Any:
    from neurofs.features.target_names import describe_targets
    from neurofs.ground.config import LoadOptions, make_options
    from neurofs.recordings.demo import demo_path
    from neurofs.recordings.readers import load

    records = describe_targets(load(file or demo_path(), make_options(LoadOptions, given)))
    if as_json:
        return records
    shown = [{key: printable(value, 120) for key, value in record.items()} for record in records]
    return _render_table(shown) if shown else "It has no behavior series and no conditions of trials."


LISTS = {
    "selectors": _list_selectors,
    "decoders": _list_decoders,
    "formats": _list_formats,
    "experiments": _list_experiments,
    "schema": _list_schema,
}
"""What can be listed: each function returns a text, or what is printed as JSON."""


@click.command(
    "list", cls=LayoutAsideCommand, short_help="Selectors, decoders, formats, experiments; targets of a file."
)
@click.argument("what", type=click.Choice([*LISTS, "targets"]))
@click.argument("file", required=False, type=click.Path(path_type=Path))
def list_command(what: str, file: Path | None, **given: Any) -> None:
    """Print what there is to choose from, with what each one is; or the JSON schema of summary.json.

    FILE, with the options of its layout, is for targets alone: what can be decoded in a recording or session file,
    the demo by default.

    With --quiet, only the names are printed.

    \b
    Examples:
      neurofs list selectors
      neurofs list targets session.nwb
      neurofs list targets counts.mat --counts spikes --counts-bin-width 0.05
      neurofs list formats --json
    """
    output = current_output()
    options = read_given(given)
    if what != "targets" and (file is not None or options):
        raise UsageError(f"list {what} takes no file and no options of one; only list targets does")
    plainly = output.as_json or output.quiet
    found = _list_targets(file, options, plainly) if what == "targets" else LISTS[what](plainly)
    plain = found if isinstance(found, str) else json.dumps(found, indent=2)
    output.show(lambda: found, lambda: plain, _list_names(found))


def _list_names(records: Any) -> str:
    """Return the first word of each record, one per line."""
    return "\n".join(str(next(iter(record.values()))) for record in records) if isinstance(records, list) else ""


def _render_table(records: Sequence[dict[str, Any]]) -> str:
    """Return records as columns.

    >>> print(_render_table([{"suffix": ".nwb", "about": "NWB 2"}, {"suffix": ".h5", "about": "HDF5"}]))
    suffix  about
    .nwb    NWB 2
    .h5     HDF5
    """
    rows = [list(records[0]), *([str(value) for value in record.values()] for record in records)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
