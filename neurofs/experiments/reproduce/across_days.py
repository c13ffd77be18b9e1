"""What becomes of a decoder on later days, and what helps: simulated days of an array whose electrodes move.

A decoder is fitted to day 1 (100 reaches, 5 minutes) and decodes the last two thirds of each later day, as it is, or
adapted to the counts of that day without any target (`decoders.adaptation`). Beside it, the same decoder fitted anew to
the first half minute, minute or 1.6 minutes of the day. Drifting days lose and gain units, change rates and turn tuning
(`recordings.simulate_days`); still days differ by chance alone. How to adapt was chosen on arrays of other seeds.

While running: an hour is simulated as eight parts between each of which the array drifts a little. `OnlineRGS`, fitted
to the first two, decodes the others sample by sample: as it is, or learning from each sample after it was decoded.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from neurofs.comparison.other_day import score_session
from neurofs.comparison.scores import r_squared
from neurofs.decoders.online_rgs import OnlineRGS
from neurofs.experiments.reproduce.claims import Claim, make_claim
from neurofs.experiments.reproduce.figures import add_legends, make_axes
from neurofs.experiments.reproduce.tables import Progress, average, choose, render_means
from neurofs.features.tensor import build_tensor, to_samples
from neurofs.ground.config import LoadOptions
from neurofs.ground.errors import TaskFailed
from neurofs.recordings.choose import choose_part
from neurofs.recordings.recording import Recording
from neurofs.recordings.simulate_days import STILL, Drift, simulate_days
from neurofs.running.executors import make_executor
from neurofs.running.fitting import fit
from neurofs.running.worker import Failure
from neurofs.selectors.rgs import RGS

MINUTES, OURS = 4, True
DECODERS = ("ridge", "kalman")
KINDS = {"drifting": Drift(), "still": STILL}
N_TRIALS, N_LATER = 100, 3
REFIT = {"refit 0.5 min": 1 / 10, "refit 1 min": 1 / 5, "refit 1.6 min": 1 / 3}
"""Parts of a later day, all before the part that is decoded, to which decoders are fitted anew."""

TESTED = 1 / 3  # of a day: what comes before is not decoded
WORST, GAIN = -0.005, 0.02
N_PARTS, N_FITTED, N_KEPT = 8, 2, 700
SLOW = Drift(lost=0.04, new=0.04, rate=0.1, rotation=10.0)
STANDS, LEARNS = "stands still", "goes on learning"


def run(repetitions: int = 10, seed: int = 0, jobs: int = 1, progress: Progress = None) -> pd.DataFrame:
    """Decode later days of so many arrays of each kind: one row per day, decoder and what was done."""
    arrays = [(kind, 1000 * (seed + 1) + r) for r in range(repetitions) for kind in KINDS]
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
    rows = _run_online(seed) if kind == "drifting" else []
    for decoder in DECODERS:
        model = fit(first, "hand_velocity", decoder=decoder, cross_validate=False, n_lags=10)
        for number, day in enumerate(later, start=2):
            about = {"kind": kind, "seed": seed, "decoder": decoder, "day": number}
            for done, r2 in _decode(model, day, decoder, number == 2):
                rows.append(about | {"done": done, "r2": r2})
    return rows


def _run_online(seed: int) -> list[dict[str, Any]]:
    """Decode parts of a day that drifts with `OnlineRGS` that stands still, and with one that goes on learning."""
    parts = [to_samples(build_tensor(one, "hand_velocity", bin_width=0.1, n_lags=10)) for one in _simulate_parts(seed)]
    X, y = (np.concatenate([np.asarray(part[i]) for part in parts[:N_FITTED]]) for i in (0, 1))
    weights = RGS(random_state=0, survey=False, n_epochs=3).fit(X, y).weights_
    still, learning = (OnlineRGS(n_reference=N_KEPT, n_overlap=10).fit(X, y, weights) for _ in range(2))
    rows = []
    for number, (samples, truth, _) in enumerate(parts[N_FITTED:], start=N_FITTED + 1):
        found = {STANDS: still.predict(np.asarray(samples)), LEARNS: _learn(learning, np.asarray(samples), truth)}
        about = {"kind": "running", "seed": seed, "decoder": "online RGS", "day": number}
        rows += [
            about | {"done": done, "r2": float(r_squared(truth, predicted, axis=0).mean())}
            for done, predicted in found.items()
        ]
    return rows


def _simulate_parts(seed: int) -> list[Recording]:
    return simulate_days(N_PARTS, 25, drift=SLOW, random_state=seed + 500_000)


def _learn(decoder: OnlineRGS, samples: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return the estimate of each sample, made before the decoder learns from it."""
    predicted = np.empty(truth.shape)
    for i, (x, target) in enumerate(zip(samples, truth, strict=True)):
        predicted[i] = decoder.predict(x[None])[0]
        decoder.partial_fit(x, target)
    return predicted


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
    running = choose(table, kind="running")
    lines += ["", "one day that drifts, R² of OnlineRGS by part"]
    return [*lines, *render_means(average(running, "done", "day", "r2"), ".3f", 24, 9, head="part {}")]


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
    last = choose(table, kind="running", day=N_PARTS).pivot(index="seed", columns="done", values="r2")
    gain = last[LEARNS] - last[STANDS]
    yield make_claim(
        "RGS that goes on learning ends a drifting day at least 0.02 of R² above RGS that stands still",
        None,
        f"mean {gain.mean():+.4f}, worst {gain.min():+.4f} of {len(gain)} arrays",
        gain.mean() >= GAIN,
    )


def plot(table: pd.DataFrame) -> Any:
    """Draw R² against the day, and against what was done on day 2."""
    figure, axes = make_axes((10, 4), 2, sharey=True)
    own = choose(table, kind="drifting")
    for color, decoder in zip(("#0072b2", "#d55e00"), DECODERS, strict=True):
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
