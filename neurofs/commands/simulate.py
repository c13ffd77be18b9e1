"""``neurofs simulate``: a session with known truth."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from neurofs.commands.help import Command
from neurofs.commands.output import current_output


@click.command("simulate", cls=Command)
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--n-trials", default=100, help="Reaches; 420 give about 5050 samples.")
@click.option("--n-electrodes", default=16, help="Electrodes with 4 channels each.")
@click.option("--drift", default=0.2, help="SD of the slow drift of log rates.")
@click.option("--bursts/--no-bursts", default=True, help="Let a third of the channels burst.")
@click.option("--noise", is_flag=True, help="Make the spikes independent of the movement.")
@click.option("--calcium", is_flag=True, help="Write dF/F at 30 frames per second in place of spikes.")
@click.option("--days", type=click.IntRange(1, 100), default=1, help="Days of one array whose electrodes move.")
@click.option("--seed", default=0, help="The same seed gives the same file.")
def simulate_command(out: Path, seed: int, calcium: bool, days: int, **settings: Any) -> None:
    """Write a simulated motor-cortex session with known truth to OUT (.nwb, .npz or .h5).

    The truth (tuning, lag, preferred direction of each channel) is in the table of units of the NWB file. With --days,
    there is one file for each, named OUT with 1, 2, … behind its name: units are lost, replaced and new from day to
    day, rates change and tuning turns.

    \b
    Examples:
      neurofs simulate day1.nwb --n-trials 420 --seed 1
      neurofs simulate day.nwb --days 4
    """
    from neurofs.recordings.calcium import image_calcium
    from neurofs.recordings.simulate import simulate_session
    from neurofs.recordings.writers import write

    if days == 1:
        recording = simulate_session(**settings, name=out.stem, random_state=seed)
        written = [(out, image_calcium(recording, seed) if calcium else recording)]
    else:
        written = _simulate_days(out, days, seed, calcium=calcium, **settings)
    records: list[dict[str, Any]] = []
    for place, recording in written:
        about = {"channels": recording.n_channels, "trials": len(recording.trials), "duration": recording.duration}
        records.append({"file": str(write(recording, place)), **about})
    text = "{file}: {channels} channels, {trials} trials, {duration:.0f} s"
    current_output().show(
        lambda: records[0] if days == 1 else {"days": records},
        lambda: "\n".join(text.format(**record) for record in records),
        "\n".join(record["file"] for record in records),
    )


def _simulate_days(
    out: Path, days: int, seed: int, *, n_trials: int, n_electrodes: int, drift: float, **others: bool
) -> list[tuple[Path, Any]]:
    """Return days of one array, each with its place."""
    from neurofs.ground.errors import UsageError
    from neurofs.recordings.simulate_days import simulate_days

    odd = [f"--{key}" for key in ("calcium", "noise") if others[key]] + ["--no-bursts"] * (not others["bursts"])
    if odd:
        raise UsageError(f"{odd[0]} has a meaning only without --days")
    places = [out.with_name(f"{out.stem}{number}{out.suffix}") for number in range(1, days + 1)]
    found = simulate_days(days, n_trials, n_electrodes=n_electrodes, within=drift, random_state=seed)
    return [(place, replace(day, name=place.stem)) for place, day in zip(places, found, strict=True)]
