"""``neurofs simulate``: a session with known truth."""

from pathlib import Path
from typing import Any

import click


@click.command("simulate")
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--n-trials", default=100, show_default=True, help="Reaches; 420 give about 5050 samples.")
@click.option("--n-electrodes", default=16, show_default=True, help="Electrodes with 4 channels each.")
@click.option("--drift", default=0.2, show_default=True, help="SD of the slow drift of log rates.")
@click.option("--bursts/--no-bursts", default=True, show_default=True, help="Let a third of the channels burst.")
@click.option("--noise", is_flag=True, help="Make the spikes independent of the movement.")
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same file.")
def simulate_command(out: Path, seed: int, **settings: Any) -> None:
    """Write a simulated motor-cortex session with known truth to OUT (.nwb, .npz or .h5).

    The truth (tuning, lag, preferred direction of each channel) is in the table of units of the NWB file.

    \b
    Example:
      neurofs simulate day1.nwb --n-trials 420 --seed 1
    """
    from neurofs.recordings.simulate import simulate_session
    from neurofs.recordings.writers import write

    recording = simulate_session(**settings, name=out.stem, random_state=seed)
    path = write(recording, out)
    click.echo(f"{path}: {recording.n_channels} channels, {len(recording.trials)} trials, {recording.duration:.0f} s")
