"""What becomes of a decoder on later days, and what helps: simulated days of an array whose electrodes move.

A decoder is fitted to day 1 (100 reaches, 5 minutes) and decodes the last two thirds of each later day, as it is, or
adapted to the counts of that day without any target (`decoders.adaptation`). Beside it, the same decoder fitted anew to
the first half minute, minute or 1.6 minutes of the day. Drifting days lose and gain units, change rates and turn tuning
(`recordings.simulate_days`); still days differ by chance alone. How to adapt was chosen on arrays of other seeds.
"""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from neurofs.comparison.other_day import score_session
from neurofs.experiments.reproduce.claims import Claim, make_claim
from neurofs.experiments.reproduce.figures import add_legends, make_axes
from neurofs.experiments.reproduce.tables import Progress, average, choose, render_means
from neurofs.ground.config import LoadOptions
from neurofs.ground.errors import TaskFailed
from neurofs.recordings.choose import choose_part
from neurofs.recordings.recording import Recording
from neurofs.recordings.simulate_days import STILL, Drift, simulate_days
from neurofs.running.executors import make_executor
from neurofs.running.fitting import fit
from neurofs.running.worker import Failure

MINUTES, OURS = 6, True
DECODERS = ("ridge", "kalman", "kernel-ridge")
KINDS = {"drifting": Drift(), "still": STILL}
N_TRIALS, N_LATER = 100, 3
REFIT = {"refit 0.5 min": 1 / 10, "refit 1 min": 1 / 5, "refit 1.6 min": 1 / 3}
"""Parts of a later day, all before the part that is decoded, to which decoders are fitted anew."""

TESTED = 1 / 3  # of a day: what comes before is not decoded
WORST, GAIN = -0.005, 0.02


def run(repetitions: int = 10, seed: int = 0, jobs: int = 1, progress: Progress = None) -> pd.DataFrame:
    """Decode later days of so many arrays of each kind: one row per day, decoder and what was done."""
    arrays = [(kind, 1000 * seed + r) for r in range(repetitions) for kind in KINDS]
    rows: dict[Any, list[dict[str, Any]]] = {}
    for done, (array, found) in enumerate(make_executor(jobs).run(_analyze, None, arrays), 1):
        if isinstance(found, Failure):
            raise TaskFailed(f"array {array}: {found.reason}", found.detail)
        rows[array] = found
        if progress:
            progress(done, len(arrays))
    return pd.DataFrame([row for array in arrays for row in rows[array]])


def _analyze(shared: None, array: tuple[str, int]) -> list[dict[str, Any]]:
    kind, seed = array
    first, *later = simulate_days(1 + N_LATER, N_TRIALS, drift=KINDS[kind], random_state=seed)
    rows = []
    for decoder in DECODERS:
        model = fit(first, "hand_velocity", decoder=decoder, cross_validate=False, n_lags=10)
        for number, day in enumerate(later, start=2):
            about = {"kind": kind, "seed": seed, "decoder": decoder, "day": number}
            for done, r2 in _decode(model, day, decoder, number == 2):
                rows.append(about | {"done": done, "r2": r2})
    return rows


def _decode(model: Any, day: Recording, decoder: str, refit: bool) -> Iterator[tuple[str, float]]:
    """Yield R² of the last two thirds of a day: as it is, adapted, and on the next day also fitted anew."""
    tested = _cut(day, TESTED, 1.0)
    for done, adapt in (("as it is", False), ("adapted", True)):
        yield done, _score(model, tested, model.predict(tested, adapt=adapt))
    for done, stop in REFIT.items() if refit else ():
        again = fit(_cut(day, 0.0, stop), "hand_velocity", decoder=decoder, cross_validate=False, n_lags=10)
        yield done, _score(again, tested, again.predict(tested))


def _cut(day: Recording, first: float, last: float) -> Recording:
    low, high = day.span
    ends = (round(low + share * (high - low), 1) for share in (first, last))
    return choose_part(day, LoadOptions(**dict(zip(("from_time", "to_time"), ends, strict=True))))


def _score(model: Any, day: Recording, found: Any) -> float:
    score = score_session(model, day, found)
    return float("nan") if score is None or score.mean.mean is None else score.mean.mean


def tabulate(table: pd.DataFrame) -> list[str]:
    """Return the mean R² on each later day, and on the next day what fitting anew gives."""
    lines = [
        f"{table['seed'].nunique()} arrays of each kind, {N_TRIALS} reaches a day; R² of the velocity, mean over arrays"
    ]
    for kind in KINDS:
        own = choose(table, kind=kind)
        kept = own[own["done"].isin(["as it is", "adapted"])]
        lines += ["", f"{kind} days", *_render(kept, "day", "day {}")]
        lines += ["", f"{kind}, day 2, fitted anew to its first minutes"]
        lines += _render(choose(own, day=2)[choose(own, day=2)["done"].isin(REFIT)], "done", "{}")
    return lines


def _render(table: pd.DataFrame, columns: str, head: str) -> list[str]:
    index = "decoder" if columns == "done" else ["decoder", "done"]
    means = average(table, index, columns, "r2")
    means.index = [" ".join(name) if isinstance(name, tuple) else name for name in means.index]
    return render_means(means, ".3f", 24, 15, head=head)


def compare_days(table: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return what adaptation changes on day 2 of each array, one column per decoder."""
    own = choose(table, kind=kind, day=2)
    adapted, plain = (
        choose(own, done=done).pivot(index="seed", columns="decoder", values="r2") for done in ("adapted", "as it is")
    )
    return adapted - plain


def claims(table: pd.DataFrame) -> Iterator[Claim]:
    """Yield what adaptation promises, and whether it holds."""
    for decoder in DECODERS:
        still, drifting = (compare_days(table, kind)[decoder] for kind in ("still", "drifting"))
        yield make_claim(
            f"{decoder}: without drift, adaptation costs at most 0.005 of R² on any array",
            None,
            f"mean {still.mean():+.4f}, worst {still.min():+.4f} of {len(still)} arrays",
            still.min() >= WORST,
        )
        yield make_claim(
            f"{decoder}: with drift, adaptation gains at least 0.02 of R² on average, and loses on no array",
            None,
            f"mean {drifting.mean():+.4f}, worst {drifting.min():+.4f} of {len(drifting)} arrays",
            drifting.mean() >= GAIN and drifting.min() >= 0,
        )


def plot(table: pd.DataFrame) -> Any:
    """Draw R² against the day, and against what was done on day 2."""
    figure, axes = make_axes((10, 4), 2, sharey=True)
    own = choose(table, kind="drifting")
    for color, decoder in zip(("#0072b2", "#d55e00", "#009e73"), DECODERS, strict=True):
        for done, line in (("as it is", ":"), ("adapted", "-")):
            mean = choose(own, decoder=decoder, done=done).groupby("day")["r2"].mean()
            axes[0].plot(mean.index, mean, line, color=color, marker="o", label=f"{decoder}, {done}")
        parts = ["as it is", "adapted", *REFIT]
        mean = choose(own, decoder=decoder, day=2).groupby("done")["r2"].mean().reindex(parts)
        axes[1].plot(range(len(parts)), mean, "-", color=color, marker="o", label=decoder)
    axes[0].set(xlabel="day", ylabel="R²", xticks=[2, 3, 4], title="Drifting days")
    axes[1].set(xticks=range(len(parts)), xticklabels=parts, title="Day 2: what helps")
    axes[1].tick_params(axis="x", rotation=20)
    add_legends(*axes)
    return figure
