"""How much of a session is decoded, what is not, and why: one line for people, and a warning where it is much."""

from collections.abc import Iterator

from neurofs.comparison.summary import SessionFacts
from neurofs.comparison.wording import format_percent

MUCH, MOST = 0.1, 0.5
"""Shares from which on a loss is worth a warning: of targets or trials, and of bins to which windows do not fit.

Every window costs the bins at the edge of a trial, so that these are told but no warning, unless most are lost.
"""


def describe_amount(facts: SessionFacts, choice: str = "") -> str:
    """Return bins and lags, how many samples of how many trials are decoded, and what was dropped and why.

    `choice` says why these bins and lags were taken, if they were not given.
    """
    chosen = f" ({choice})" if choice else ""
    trials = f" of {_tell_trials(facts)}" if facts.n_trials else ""
    minutes = facts.n_samples * facts.bin_width / 60
    lags = f"{facts.n_lags} lag{'s' * (facts.n_lags != 1)}"
    return (
        f"{1000 * facts.bin_width:g} ms bins × {lags}{chosen}; decodes {facts.n_samples:,} samples{trials}, "
        f"{minutes:.1f} min{_tell_dropped(facts)}"
    )


def _tell_trials(facts: SessionFacts) -> str:
    found, known = facts.n_trials, max(facts.n_trials, facts.n_trials_recorded)
    return f"{found:,} trials" if found == known else f"{found:,} of {known:,} trials"


def _tell_dropped(facts: SessionFacts) -> str:
    reasons = {
        "outside": "outside of trials" if facts.n_trials_recorded else "not observed",
        "window": f"{_tell_edge(facts)}, where no window of {_tell_window(facts)} fits",
        "target": "without a target",
        "period": "outside the period",
        "step": "between steps",
    }
    parts = [f"{n:,} {reasons[why]}" for why, n in facts.dropped if n]
    total = sum(n for _, n in facts.dropped)
    return f"; dropped {total:,} bins: {', '.join(parts)}" if parts else ""


def _tell_edge(facts: SessionFacts) -> str:
    return f"at the edge of {'trials' if facts.n_trials_recorded else 'what was observed'}"


def tell_edges(facts: SessionFacts) -> str:
    """Return which share of bins no window fits to, if it is much; else nothing."""
    share = facts.dropped.window / max(1, facts.n_samples + facts.dropped.window)
    return f"{format_percent(share)} of bins, {_tell_edge(facts)}, are not decoded" if share > MUCH else ""


def _tell_window(facts: SessionFacts) -> str:
    return f"{facts.n_lags * facts.bin_width:g} s"


def warn_of_losses(facts: SessionFacts) -> Iterator[str]:
    """Yield a warning if much is lost; what was asked for is no loss."""
    dropped = facts.dropped
    lost, usable = dropped.window + dropped.target, facts.n_samples + dropped.window + dropped.target
    if dropped.target > MUCH * usable or lost > MOST * usable:
        yield (
            f"{lost:,} of {usable:,} bins ({format_percent(lost / usable)}) are not decoded: {_tell_reasons(facts)}"
            f"{_tell_remedy(facts)}"
        )
    n_trials, missed = facts.n_trials_recorded, facts.n_trials_recorded - facts.n_trials
    if facts.n_trials and not dropped.period and missed > MUCH * n_trials:
        yield (
            f"{missed:,} of {n_trials:,} trials ({format_percent(missed / n_trials)}) have "
            f"no sample: they are too short, not observed, or without a target{_tell_remedy(facts)}"
        )


def _tell_reasons(facts: SessionFacts) -> str:
    window, target = facts.dropped.window, facts.dropped.target
    reasons = {
        f"{target:,} lack the target": target,
        f"{window:,} lie {_tell_edge(facts)}, where no window of {_tell_window(facts)} fits": window,
    }
    return ", ".join(reason for reason, n in reasons.items() if n)


def _tell_remedy(facts: SessionFacts) -> str:
    """Say what keeps more, if lags are what costs them."""
    many = facts.dropped.window > facts.dropped.target and facts.n_lags > 1
    return f". Fewer lags keep more: --n-lags {max(1, facts.n_lags // 2)}" if many else ""
