"""``neurofs simulate``: a session with known truth."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from neurofs.commands.help import Command
from neurofs.commands.options import seed_option
from neurofs.commands.output import current_output


@click.command("simulate", cls=Command, short_help="Write a simulated session with known truth, or plan one.")
@click.argument("out", required=False, type=click.Path(path_type=Path))
@click.option("--n-trials", default=100, help="Reaches; 420 give about 5050 samples.")
@click.option("--n-electrodes", default=16, help="Electrodes with 4 channels each.")
@click.option("--drift", default=0.2, help="SD of the slow drift of log rates.")
@click.option("--bursts/--no-bursts", default=True, help="Let a third of the channels burst.")
@click.option("--noise", is_flag=True, help="Make the spikes independent of the movement.")
@click.option("--calcium", is_flag=True, help="Write dF/F at 30 frames per second in place of spikes.")
@click.option("--days", type=click.IntRange(1, 100), default=1, help="Days of one array whose electrodes move.")
@seed_option
@click.option("--plan", is_flag=True, help="Say how well such sessions are decoded, and what more data would give.")
@click.option("--by", default="trials", help="For --plan: trials or channels, of which parts are used.")
@click.option("--n-sessions", type=click.IntRange(3, 1000), default=5, help="For --plan: sessions to simulate.")
@click.option("--methods", default="ridge", help="For --plan: what decodes.")
def simulate_command(
    out: Path | None,
    seed: int,
    calcium: bool,
    days: int,
    plan: bool,
    by: str,
    n_sessions: int,
    methods: str,
    **settings: Any,
) -> None:
    """Write a simulated motor-cortex session with known truth to OUT (.nwb, .npz or .h5).

    The truth (tuning, lag, preferred direction of each channel) is in the table of units of the NWB file. With --days,
    there is one file for each, named OUT with 1, 2, … behind its name: units are lost, replaced and new from day to
    day, rates change and tuning turns.

    With --plan, several sessions are simulated and decoded with parts of their data, before an experiment: how well,
    how much sessions differ, what twice as many trials would give. OUT is then a folder for the page, if there is to be
    one.

    \b
    Examples:
      neurofs simulate day1.nwb --n-trials 420 --seed 1
      neurofs simulate day.nwb --days 4
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
