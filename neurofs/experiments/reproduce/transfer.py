"""Section 5.5 of Navot (2006) on eight simulated days: is it better to transfer properties, or features?

The source compares on pairs of digits: the quality of features for a new task is predicted by its average over
other tasks, or by a regression on properties of the features. Here a task is a day of center-out reaching with
64 channels × 10 lags (`simulate_session`). The electrodes are moved every night: neurons, tuning and lags change
from day to day, and only the plan of the array stays. Each day in turn is the new one; the other seven, or some
of them, are the earlier ones. Shown are the rank correlation with the measured quality, and the R² of soft kNN
on the best n features; firing rate and RGS (which has the targets of the new day) are further rankings.
"""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from neurofs.comparison.transfer import (
    METHODS,
    View,
    compare_rankings,
    decode_rankings,
    learn_quality,
    rank_correlation,
    view_session,
)
from neurofs.experiments.reproduce.claims import Claim, make_claim
from neurofs.experiments.reproduce.figures import add_legends, make_axes, plot_means
from neurofs.experiments.reproduce.tables import Progress, average, choose, render_means, track
from neurofs.ground.config import TensorOptions
from neurofs.recordings.simulate import simulate_session
from neurofs.selectors.meta import measure_quality

MINUTES = 1
N_DAYS, N_TRIALS = 8, 100
EARLIER = (1, 2, 4, 7)
FIRST_SEED = 1000  # of the days; other seeds were used while the regressor was chosen
COLUMNS = ["part", "method", "day", "x", "value"]


def run(repetitions: int = N_DAYS, seed: int = 0, n_trials: int = N_TRIALS, progress: Progress = None) -> pd.DataFrame:
    """Return one row per figure; the first `repetitions` of the eight days are the new one in turn.

    Parts: "agreement", the rank correlation by number of earlier days x; "r2", R² on the best x features.
    """
    options = TensorOptions(target=("hand_velocity",))
    days = [
        view_session(simulate_session(n_trials, random_state=FIRST_SEED + 100 * seed + day), options)
        for day in range(N_DAYS)
    ]
    rows: list[tuple[Any, ...]] = []
    for day in track(range(min(repetitions, N_DAYS)), progress):
        rows += [(part, method, day, x, value) for part, method, x, value in _one_day(days, day, seed)]
    return pd.DataFrame(rows, columns=COLUMNS)


def _one_day(days: list[View], new: int, seed: int) -> Iterator[tuple[str, str, int, float]]:
    view, meta = days[new], days[new].describe()
    others = [days[(new - back) % N_DAYS] for back in range(1, N_DAYS)]  # yesterday first
    truth = measure_quality(None, view.samples, view.y, view.trial)
    for n in EARLIER[:-1]:
        known = learn_quality(others[:n], meta, random_state=seed)
        yield "agreement", "meta-features", n, rank_correlation(known.predict(meta), truth)
        average = known.average(view.samples.n_channels)
        yield "agreement", "average", n, rank_correlation(average, truth)
    known = learn_quality(others, meta, random_state=seed)
    for method, value in compare_rankings(view, known, known.predict(meta), truth, seed).items():
        yield "agreement", method, EARLIER[-1], value
    scores = decode_rankings(view, known, seed)
    for (method, n), value in scores.groupby(["method", "n"], sort=False)["r2"].mean().items():
        yield "r2", method, n, float(value)


def _means(table: pd.DataFrame, part: str) -> pd.DataFrame:
    """Return the mean values of a part, (method, x)."""
    return average(choose(table, part=part), "method", "x").sort_index(axis=1).loc[list(METHODS)]


def claims(table: pd.DataFrame) -> Iterator[Claim]:
    """Yield each claim, our figure, and whether it holds."""
    last = average(choose(table, part="agreement", x=EARLIER[-1]), "day", "method")
    wins, mean = (last["meta-features"] > last["average"]).sum(), last.mean()
    yield make_claim(
        "predicting quality through properties beats copying the average of the same feature",
        "section 5.5, pairs of digits: much better",
        f"rank correlation {mean['meta-features']:.2f} against {mean['average']:.2f}, better on {wins} of "
        f"{len(last)} days",
        wins == len(last),
    )
    by_days = _means(table, "agreement")[list(EARLIER)]
    ours, rival = by_days.loc["meta-features"], by_days.loc["average"]
    pairs = ", ".join(f"{n}: {ours[n]:.2f} / {rival[n]:.2f}" for n in EARLIER)
    yield make_claim(
        "it does with any number of earlier tasks",
        "figure 5.5",
        f"meta-features / average by earlier days: {pairs}",
        (ours > rival).all(),
    )
    yield from _decoding_claims(_means(table, "r2"))


def _decoding_claims(r2: pd.DataFrame) -> Iterator[Claim]:
    few = [n for n in r2.columns if n <= 100]
    ours = r2.loc["meta-features", few]
    for rival in ("average", "firing rate"):
        pairs = ", ".join(f"{n}: {ours[n]:.3f} / {r2.loc[rival, n]:.3f}" for n in few)
        yield make_claim(
            f"the best n features by properties decode better than those by {rival}",
            None,
            f"R² by n: {pairs}",
            (ours > r2.loc[rival, few]).all(),
        )
    gap = r2.loc["rgs", few] - ours
    yield make_claim(
        "no ranking without targets reaches one with them",
        None,
        "RGS is better by " + ", ".join(f"{gap[n]:.3f} (n = {n})" for n in few),
        (gap > 0).all(),
    )


def tabulate(table: pd.DataFrame) -> list[str]:
    """Return rank correlations and R² as lines of text."""
    return [
        f"Eight simulated days, electrodes moved daily; mean of {table['day'].nunique()} new days",
        "",
        "Rank correlation with the quality measured afterwards, by number of earlier days",
        *render_means(_means(table, "agreement"), ".3f", 16, 8),
        "",
        "R² of soft kNN on the best n features, seven earlier days",
        *render_means(_means(table, "r2"), ".3f", 16, 8),
    ]


def plot(table: pd.DataFrame) -> Any:
    """Draw rank correlation against earlier days, and R² against n, with the spread over days."""
    figure, axes = make_axes((11, 4), 2)
    for ax, part in zip(axes, ("agreement", "r2"), strict=True):
        plot_means(ax, choose(table, part=part))
    axes[0].set(xlabel="earlier days", ylabel="rank correlation with the measured quality")
    axes[1].set(xlabel="best n features", ylabel="R² of soft kNN", xscale="log")
    add_legends(*axes)
    return figure
