"""Channels reported as tuned, or as adding something: how many are false, and how many are missed?

Sessions with known truth (`channel_sessions`) of 18 kinds, at a false discovery rate of 10 %. False is the share of
reported channels that are not tuned (do not add), 0 where none is reported, averaged over sessions; power the share of
true channels that are reported. Beside them is what the same number of channels holds if they are ranked by their
weight in RGS, which comes without any rate of errors. In sessions where nothing is tuned, the share of false channels
is the share of sessions in which any channel is reported.

With trials, a channel is null if it does not follow what differs from trial to trial; to follow the course of every
trial in the same way is not to be tuned. A copy of a tuned channel is tuned and adds nothing; a channel that shares
noise with a tuned one adds, since it cleans it, and is not tuned.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from neurofs.comparison.significance import Answer, Q, Significance, add_norm, find_channels
from neurofs.experiments.reproduce.channel_sessions import N_LAGS, SCENARIOS, Session, make_session
from neurofs.experiments.reproduce.claims import Claim, make_claim
from neurofs.experiments.reproduce.figures import make_axes
from neurofs.experiments.reproduce.tables import Progress, choose, track
from neurofs.features.samples import Samples
from neurofs.report.palette import INK
from neurofs.selectors.rgs import RGS

MINUTES, OURS = 7, True
QUESTIONS = ("tuned", "adds")
FIRST_SEED = 1000  # other sessions than those on which the statistic was chosen


def cut(session: Session) -> tuple[Samples, np.ndarray, np.ndarray, bool]:
    """Return samples, targets, stretches and whether these are trials: what `find_channels` takes."""
    rows = np.arange(N_LAGS - 1, len(session.counts))
    stretches = np.zeros(len(session.counts), int) if session.trial is None else session.trial
    rows = rows[stretches[rows] == stretches[rows - N_LAGS + 1]]
    targets = session.target if session.classes else add_norm(session.target)
    return Samples.from_counts(session.counts, N_LAGS, rows), targets[rows], stretches[rows], session.trial is not None


def analyze(scenario: str, seed: int) -> list[dict[str, Any]]:
    """Make a session, ask both questions, and count: one row for each question."""
    session = make_session(scenario, seed)
    samples, targets, stretches, by_trial = cut(session)
    found = find_channels(samples, targets, stretches, by_trial, seed)
    values = targets[:, : session.target.shape[1]]
    ranked = rank_by_weight(samples, values, stretches if by_trial else None)
    lags = _check_peaks(found, session)
    return [
        {"scenario": scenario, "seed": seed, "question": name, **_count(answer, truth, ranked), **lags}
        for name, answer, truth in zip(QUESTIONS, (found.tuned, found.adds), (session.tuned, session.adds), strict=True)
        if answer is not None
    ]


def rank_by_weight(samples: Samples, values: np.ndarray, trials: np.ndarray | None) -> np.ndarray:
    """Return the channels by their weight in RGS over all lags, largest first."""
    weights = RGS(n_epochs=3, survey=False, random_state=0).fit(samples, values, groups=trials).weights_
    return np.argsort(-weights.reshape(samples.n_lags, -1).sum(axis=0), kind="stable")


def _count(answer: Answer, truth: np.ndarray, ranked: np.ndarray) -> dict[str, float]:
    n_found = int(answer.found.sum())
    null = answer.p[~truth]
    return {
        "found": n_found,
        "right": int((answer.found & truth).sum()),
        "true": int(truth.sum()),
        "by_weight": int(truth[ranked[:n_found]].sum()),
        "level": float((null <= 0.05).mean()),
    }


def _check_peaks(found: Significance, session: Session) -> dict[str, float]:
    """Return the share of peaks at the true lag, and of intervals that hold it, among tuned channels reported."""
    profiles, truth = found.profiles, N_LAGS - 1 - session.lag
    right = found.tuned.found & session.tuned
    if not right.any():
        return {"peak": np.nan, "covered": np.nan}
    inside = (profiles.low <= truth) & (truth <= profiles.high)
    return {"peak": float((profiles.peak == truth)[right].mean()), "covered": float(inside[right].mean())}


def run(
    repetitions: int = 50, seed: int = 0, scenarios: Iterable[str] = tuple(SCENARIOS), progress: Progress = None
) -> pd.DataFrame:
    """Analyze so many sessions of each scenario, four times as many of nothing: one row for each and each question."""
    sessions = [(name, FIRST_SEED + seed + i) for name in scenarios for i in range(_count_sessions(name, repetitions))]
    return pd.DataFrame([row for name, i in track(sessions, progress) for row in analyze(name, i)])


def _count_sessions(scenario: str, repetitions: int) -> int:
    """Return how many sessions are made; where nothing is tuned, each has a false share of 0 or 1 and tells less."""
    return (4 if scenario == "nothing" else 1) * repetitions


def summarize(table: pd.DataFrame) -> pd.DataFrame:
    """Return means over sessions by question and scenario, and the standard error of the false share."""
    n_found = table["found"].clip(lower=1)
    rates = table.assign(
        false=(table["found"] - table["right"]) / n_found,
        power=table["right"] / table["true"].where(table["true"] > 0),
        false_by_weight=(table["found"] - table["by_weight"]) / n_found,
    )
    grouped = rates.groupby(["question", "scenario"], sort=False)
    columns = ["false", "power", "false_by_weight", "level", "peak", "covered"]
    return grouped[columns].mean().assign(error=grouped["false"].sem()).reset_index()


def tabulate(table: pd.DataFrame) -> list[str]:
    """Return false shares and power by question and scenario, as lines of text."""
    rates = summarize(table)
    lines = [f"Channels reported at a false discovery rate of {100 * Q:g} %"]
    for question, rows in rates.groupby("question", sort=False):
        lines += ["", f"{question:<23} false (error)   power  by weight  p≤.05   peak right  in interval"]
        for row in rows.itertuples():
            values = f"{row.power:9.2f}{row.false_by_weight:11.2f}{row.level:7.3f}{row.peak:13.2f}{row.covered:13.2f}"
            lines.append(f"  {row.scenario:<22}{row.false:5.3f} ({row.error:.3f}){values}".replace("nan", "  –"))
    return lines


def claims(table: pd.DataFrame) -> Iterator[Claim]:
    """Yield what ought to hold: the stated rate in every scenario, and fewer false ones than by weight."""
    rates = summarize(table)
    for question in QUESTIONS:
        rows = choose(rates, question=question)
        if len(rows):
            worst = rows.loc[rows["false"].idxmax()]
            most = f"{100 * worst['false']:.1f} ± {100 * worst['error']:.1f} %".replace(" ± nan", "")
            text = f"at most {most} ({worst['scenario']}), mean {100 * rows['false'].mean():.1f} %"
            name = f"{question}: at most {100 * Q:g} % of the channels reported are false, in every scenario"
            beyond = rows["false"] - 2 * rows["error"].fillna(0.0) > Q
            yield make_claim(f"{name} (but for two standard errors)", None, text, not beyond.any())
            text = f"{100 * rows['false'].mean():.1f} against {100 * rows['false_by_weight'].mean():.1f} %"
            name = f"{question}: fewer are false than among as many of largest weight"
            yield make_claim(name, None, text, rows["false"].mean() < rows["false_by_weight"].mean())
    covered = choose(rates, question="tuned")["covered"]
    if covered.notna().any():
        text = f"{100 * covered.mean():.0f} % of the peaks of tuned channels"
        yield make_claim("the 90 % interval of the peak holds the true lag", None, text, covered.mean() >= 0.9)


def plot(table: pd.DataFrame) -> Any:
    """Draw the false share (filled), that of ranking by weight (open) and power (crosses) of each scenario."""
    rates = summarize(table)
    questions = list(rates["question"].unique())
    n_scenarios = rates["scenario"].nunique()
    figure, axes = make_axes((4.2 * len(questions) + 1, 1.2 + 0.24 * n_scenarios), len(questions), sharey=True)
    for ax, question in zip(axes, questions, strict=True):
        rows = choose(rates, question=question)
        ax.axvline(Q, color=INK, lw=0.8, ls="--")
        ax.plot(rows["false"], rows["scenario"], "o", color=INK, ms=5, label="false")
        ax.plot(rows["false_by_weight"], rows["scenario"], "o", mfc="none", color=INK, ms=5, label="false, by weight")
        ax.plot(rows["power"], rows["scenario"], "x", color=INK, ms=5, label="power")
        ax.set(xlim=(-0.02, 1.02), xlabel="share of channels; dashed: 10 %", title=question)
    axes[0].invert_yaxis()
    axes[-1].legend(loc="lower right", frameon=False)
    return figure
