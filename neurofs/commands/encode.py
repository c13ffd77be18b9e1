"""``neurofs encode``: how well the target predicts each channel."""

from pathlib import Path
from typing import Any

import click

from neurofs.commands.options import RunCommand, out_option, read_given
from neurofs.commands.output import current_output


class EncodeCommand(RunCommand):
    """A command that takes the keys of a run.toml, but nothing of methods."""

    LEFT_OUT = (
        "selectors", "decoders", "settings", "dependency", "file", "sizes", "n_neighbors", "beta", "effort",
        "allow_leakage",
    )  # fmt: skip


@click.command("encode", cls=EncodeCommand, short_help="How well the target predicts each channel.")
@click.argument("session", required=False, type=click.Path(path_type=Path), metavar="[SESSION]")
@click.option(
    "--units", type=click.Path(path_type=Path), help="Write a copy of the NWB file with the table in its units."
)
@out_option("Folder of table, tuning and page; reports/NAME-encoding by default.")
def encode_command(session: Path | None, units: Path | None, out: Path | None, **given: Any) -> None:
    """Tell how well the target predicts each channel of SESSION: encoding, beside decoding.

    For every channel a cross-validated Poisson regression on the target: pseudo-R² with its interval, lag, preferred
    direction and depth; and what a linear decoder gets from the channel alone, and loses without it. Without SESSION,
    the built-in demo.

    \b
    Examples:
      neurofs encode session.nwb --target hand_velocity
      neurofs encode session.nwb --target hand_velocity --units session-encoding.nwb
    """
    from neurofs.comparison.given import choose_options
    from neurofs.pipeline import encode_session
    from neurofs.running.batch.config import name_folder

    options = choose_options(session, read_given(given))
    out = out or Path("reports") / name_folder(f"{options.name or Path(str(options.file)).stem}-encoding")
    found = encode_session(options)
    copy = found.write_units(units) if units else None
    page = found.save(out) / "encoding.html"
    written = {"page": str(page), "table": str(out / "encoding.csv"), **({"units": str(copy)} if copy else {})}
    current_output().show(
        lambda: {"sentences": found.sentences, **written, "channels": found.table.to_dict("records")},
        lambda: "\n".join([*found.sentences, "", *(f"{key}: {path}" for key, path in written.items())]),
        page,
    )
