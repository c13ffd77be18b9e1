"""What the summary says of every channel: is it tuned, does it add something, at which lag does it tell most?"""

import numpy as np

from neurofs.comparison.channel_summary import ChannelTests, TestedChannel
from neurofs.comparison.problem import Problem
from neurofs.comparison.significance import ENDS, Answer, Q, Significance, add_norm, find_channels


def ask_channels(problem: Problem, channels: list[str], lags: np.ndarray) -> tuple[ChannelTests, np.ndarray]:
    """Return the tests of all channels, and R² of their counts at each lag, (channels, lags).

    `lags` are those of the tensor, in seconds, the one nearest to the target first; those of samples begin with the
    oldest.
    """
    targets = problem.values if problem.classes else add_norm(problem.values)
    by_trial = problem.trials is not None
    found = find_channels(problem.scale(), targets, problem.stretches, by_trial, problem.options.seed)
    step = float(np.median(np.diff(problem.time)))
    return _describe(found, channels, lags[::-1], step), found.profiles.r2[:, ::-1]


def _describe(found: Significance, channels: list[str], lags: np.ndarray, step: float) -> ChannelTests:
    """Put answers and profiles together; `lags` are those of samples, `step` is the time between two rows."""
    rows = [_describe_channel(found, i, name, lags) for i, name in enumerate(channels)]
    peaks = [row.peak for row in rows if row.tuned]
    return ChannelTests(
        channels=rows,
        n_tuned=int(found.tuned.found.sum()),
        n_adds=None if found.adds is None else int(found.adds.found.sum()),
        false_discovery_rate=Q,
        lag_range=(_quantile(peaks, 0.25), _quantile(peaks, 0.75)) if peaks else None,
        interval=round(ENDS[1] - ENDS[0], 9),
        cutoff=found.cutoff * step,
        shifted=found.tuned.shifts.kind,
        n_shifts=len(found.tuned.shifts),
        n_shifts_adds=0 if found.adds is None else len(found.adds.shifts),
        n_windows=found.n_windows,
        n_windows_adds=found.n_windows_adds,
    )


def _quantile(peaks: list[float], share: float) -> float:
    """Return a quantile of the peaks that is itself one of the lags."""
    return float(np.quantile(peaks, share, method="nearest"))


def _describe_channel(found: Significance, channel: int, name: str, lags: np.ndarray) -> TestedChannel:
    profiles = found.profiles
    p_tuned, q_tuned = _judge(found.tuned, channel)
    p_adds, q_adds = _judge(found.adds, channel)
    at = (float(lags[places[channel]]) for places in (profiles.peak, profiles.high, profiles.low))
    peak, low, high = at  # a later place is a smaller lag
    return TestedChannel(
        channel=name,
        tuned=bool(found.tuned.found[channel]),
        p_tuned=p_tuned,
        q_tuned=q_tuned,
        adds=None if found.adds is None else bool(found.adds.found[channel]),
        p_adds=p_adds,
        q_adds=q_adds,
        peak=peak,
        peak_low=low,
        peak_high=high,
        r2=float(profiles.r2[channel].max()),
    )


def _judge(answer: Answer | None, channel: int) -> tuple[float, float] | tuple[None, None]:
    if answer is None:
        return None, None
    return float(answer.p[channel]), float(answer.q[channel])
