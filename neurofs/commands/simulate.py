"""``neurofs simulate``: a session with known truth."""

from pathlib import Path
from typing import Any

import click

from neurofs.commands.help import Command
from neurofs.commands.output import current_output


@click.command("simulate", cls=Command)
@click.argument("out", required=False, type=click.Path(path_type=Path))
@click.option("--n-trials", default=100, help="Reaches; 420 give about 5050 samples.")
@click.option("--n-electrodes", default=16, help="Electrodes with 4 channels each.")
@click.option("--drift", default=0.2, help="SD of the slow drift of log rates.")
@click.option("--bursts/--no-bursts", default=True, help="Let a third of the channels burst.")
@click.option("--noise", is_flag=True, help="Make the spikes independent of the movement.")
@click.option("--calcium", is_flag=True, help="Write dF/F at 30 frames per second in place of spikes.")
@click.option("--seed", default=0, help="The same seed gives the same file.")
@click.option("--plan", is_flag=True, help="Say how well such sessions are decoded, and what more data would give.")
@click.option("--by", default="trials", help="For --plan: trials or channels, of which parts are used.")
@click.option("--n-sessions", type=click.IntRange(3, 1000), default=5, help="For --plan: sessions to simulate.")
@click.option("--methods", default="ridge", help="For --plan: what decodes.")
def simulate_command(
    out: Path | None, seed: int, calcium: bool, plan: bool, by: str, n_sessions: int, methods: str, **settings: Any
) -> None:
    """Write a simulated motor-cortex session with known truth to OUT (.nwb, .npz or .h5).

    The truth (tuning, lag, preferred direction of each channel) is in the table of units of the NWB file. With --plan,
    several sessions are simulated and decoded with parts of their data, before an experiment: how well, how much
    sessions differ, what twice as many trials would give. OUT is then a folder for the page, if there is to be one.

    \b
    Examples:
      neurofs simulate day1.nwb --n-trials 420 --seed 1
      neurofs simulate --plan --n-trials 200 --n-electrodes 24
      neurofs simulate --plan reports/plan --by channels
    """
    if plan:
        _plan(out, calcium, by=by, n_sessions=n_sessions, methods=methods, seed=seed, **settings)
        return
    if out is None:
        raise click.UsageError("expected where to write the session, such as day1.nwb")
    from neurofs.recordings.calcium import image_calcium
    from neurofs.recordings.simulate import simulate_session
    from neurofs.recordings.writers import write

    recording = simulate_session(**settings, name=out.stem, random_state=seed)
    recording = image_calcium(recording, seed) if calcium else recording
    path = write(recording, out)
    about = {"channels": recording.n_channels, "trials": len(recording.trials), "duration": recording.duration}
    text = "{channels} channels, {trials} trials, {duration:.0f} s".format(**about)
    current_output().show(lambda: {"file": str(path), **about}, lambda: f"{path}: {text}", path)


def _plan(out: Path | None, calcium: bool, **settings: Any) -> None:
    """Print what such sessions would give; write the page if there is a folder for it."""
    from neurofs.ground.errors import UsageError
    from neurofs.running.planning import plan_experiment
    from neurofs.running.progress import open_progress

    if calcium:
        raise UsageError("plan: sessions of spikes are planned; leave out --calcium")
    output = current_output()
    with open_progress(None, "plan", output.quiet, output.verbose) as view:
        found = plan_experiment(**settings, view=view)
    page = found.save(out) / "variation.html" if out else None
    output.show(
        lambda: {**found.found.model_dump(by_alias=True), "table": found.table.to_dict("records")},
        lambda: "\n".join([*found.sentences, *([] if page is None else ["", f"page: {page}"])]),
        page or "",
    )
