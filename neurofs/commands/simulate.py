"""``neurofs simulate``: a session with known truth."""

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
@click.option("--seed", default=0, help="The same seed gives the same file.")
def simulate_command(out: Path, seed: int, calcium: bool, **settings: Any) -> None:
    """Write a simulated motor-cortex session with known truth to OUT (.nwb, .npz or .h5).

    The truth (tuning, lag, preferred direction of each channel) is in the table of units of the NWB file.

    \b
    Example:
      neurofs simulate day1.nwb --n-trials 420 --seed 1
    """
    from neurofs.recordings.calcium import image_calcium
    from neurofs.recordings.simulate import simulate_session
    from neurofs.recordings.writers import write

    recording = simulate_session(**settings, name=out.stem, random_state=seed)
    recording = image_calcium(recording, seed) if calcium else recording
    path = write(recording, out)
    about = {"channels": recording.n_channels, "trials": len(recording.trials), "duration": recording.duration}
    text = "{channels} channels, {trials} trials, {duration:.0f} s".format(**about)
    current_output().show(lambda: {"file": str(path), **about}, lambda: f"{path}: {text}", path)
