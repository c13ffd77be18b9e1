"""The result in plain words: the headline of a summary, and the table that decode prints."""

from collections.abc import Iterator

from neurofs.comparison.names import name_method
from neurofs.comparison.problem import KERNEL, SPARSE
from neurofs.comparison.summary import (
    ChannelTests,
    Estimate,
    Findings,
    Headline,
    MethodScores,
    Number,
    Numbers,
    PairedTest,
    Summary,
)
from neurofs.comparison.wording import SCORE_NAMES, format_estimate, format_number, format_p, format_percent
from neurofs.ground.errors import printable

MOST_NAMED = 40
"""Channels that the headline may list by name."""


def write_headline(summary: Findings) -> Headline:
    """Return the numbers that matter most, and two or three sentences about them."""
    methods, reference = summary.by_method, summary.reference
    best = f"{reference} + auto" if f"{reference} + auto" in methods else reference
    score, rival = summary.score, _find_rival(summary)
    numbers = Numbers(
        best=_number("Best pipeline", methods[best], score),
        reference=_number(f"{name_method(reference)} at its chosen n", methods[reference], score),
        all=_number("All features", methods["all"], score) if "all" in methods else None,
        rival=_number("Best rival", rival, score) if rival else None,
        chance=_chance(summary),
    )
    return Headline(method=best, numbers=numbers, sentences=list(_sentences(summary, numbers, methods[best])))


def _number(label: str, method: MethodScores, score: str) -> Number:
    return Number(label=label, method=method.method, n=method.n.median, **dict(method.pooled.of(score)))


def _find_rival(summary: Findings) -> MethodScores | None:
    """Return the best method that does not use the reference; methods are sorted, best first."""
    apart = [m for m in summary.methods if m.selector != summary.reference]
    return next((m for m in apart if m.method not in ("all", "random")), None)


def _chance(summary: Findings) -> Number | None:
    null = summary.null
    if not null:
        return None
    return Number(
        label="Chance",
        method="shifted target",
        mean=_mean([one.chance for one in null]),
        high=_mean([one.high for one in null]),
        p=max(one.p for one in null),
    )


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None


def _sentences(summary: Findings, numbers: Numbers, best: MethodScores) -> Iterator[str]:
    yield _describe_reference(summary, numbers)
    yield _compare_with_rival(numbers, best)
    if numbers.chance:
        yield judge_chance(max(one.p for one in summary.null), len(summary.null[0].values))
    yield from tell_channels(summary.channels)
    yield from _describe_few_channels(summary)


def tell_channels(tests: ChannelTests | None) -> Iterator[str]:
    """Say how many channels are tuned, how many add something, and at which lags tuned channels tell most."""
    if tests is None:
        return
    n, rate = len(tests.channels), f"false discovery rate {100 * tests.false_discovery_rate:g} %"
    adds = {None: "", 0: "; none adds something that no other has", 1: "; 1 adds something that no other has"}.get(
        tests.n_adds, f"; {tests.n_adds} add something that no other has"
    )
    text = f"{tests.n_tuned} of {n} channels {'is' if tests.n_tuned == 1 else 'are'} tuned ({rate}){adds}"
    yield f"{text}{tell_lags(tests)}."


def tell_lags(tests: ChannelTests) -> str:
    """Say at which lags tuned channels tell most, in milliseconds; nothing if there is no choice of lags."""
    if tests.lag_range is None or tests.n_windows < 2:
        return ""
    low, high = (f"{1000 * lag:.0f}" for lag in tests.lag_range)
    return f"; most informative lag{f' {low} ms' if low == high else f's {low} to {high} ms'}"


def _describe_reference(summary: Findings, numbers: Numbers) -> str:
    ours = summary.by_method[summary.reference]
    outputs = " and ".join(
        f"{printable(name)} with {SCORE_NAMES[summary.score]} = {format_estimate(found.of(summary.score))}"
        for name, found in ours.outputs.items()
    )
    text = f"With {ours.n.median} features, chosen on training data, {name_method(ours.method)} decodes {outputs}"
    if numbers.all:
        n_features = summary.session.n_channels * summary.session.n_lags
        text += f"; all {n_features} features alike reach {format_number(numbers.all.mean)}"
    if numbers.chance:
        text += f"; chance is {format_number(numbers.chance.mean)}"
    return text + "."


def _compare_with_rival(numbers: Numbers, best: MethodScores) -> str:
    """Compare the best pipeline with the best rival, whichever is ahead."""
    what, reached = "weights" if best.weighted else "features", format_number(numbers.best.mean)
    text = f"{name_method(best.selector)} {what} with {best.decoder} decoding reach {reached}"
    rival = numbers.rival
    if rival is None:
        return text + "."
    place = "ahead of" if (numbers.best.mean or 0) > (rival.mean or 0) else "but behind"
    return f"{text}, {place} the best rival, {name_method(rival.method)}, with {format_number(rival.mean)}."


def judge_chance(p: float, n_shifts: int) -> str:
    """Say whether a result may be chance, given the p-value of the null control."""
    if p <= 0.05:
        return f"This is no chance result: p = {format_p(p)} against {n_shifts} shifted targets."
    least = 1 / (n_shifts + 1)
    if least > 0.05 and p < least + 1e-9:
        return (
            f"Better than all of {n_shifts} shifted targets, too few to rule out chance (p = {format_p(least)}); "
            "ask for 19 or more with --n-shifts."
        )
    return (
        f"This may be chance: p = {format_p(p)} against {n_shifts} shifted targets. "
        "Do not read anything into the weights."
    )


def _describe_few_channels(summary: Findings) -> Iterator[str]:
    """Say how many channels suffice and which, if that was asked."""
    few = summary.few_channels
    if few is None:
        return
    reached = {
        m.method: format_number(m.pooled.of(summary.score).mean)
        for m in summary.methods
        if m.method in (SPARSE, KERNEL)
    }
    n, n_channels = few.n, summary.session.n_channels
    text = f"{n.median} of {n_channels} channels suffice ({n.low} to {n.high} in single folds): "
    text += f"kernel RGS with these alone reaches {reached[SPARSE]}"
    yield text + (f", with all {reached[KERNEL]}." if KERNEL in reached else ".")
    often = [printable(one.channel) for one in few.channels if one.share > 0.5]
    if 0 < len(often) <= MOST_NAMED:
        yield f"Kept in most folds: {', '.join(often)}."


def render_summary(summary: Summary) -> str:
    """Return the table of methods, one row each, and the headline, as text."""
    columns = _list_columns(summary)
    titles = [title for title, _ in columns]
    header = ["method", "n", *titles, f"{name_method(summary.reference)} wins", "p (Holm)"]
    tests = summary.tests_by_method
    rows = [
        [
            m.method,
            str(m.n.median),
            *(_cell(name, m.pooled.of(name)) for _, name in columns),
            *_test_cells(tests.get(m.method)),
        ]
        for m in summary.methods
    ]
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (header, *rows)
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:], "", *summary.headline.sentences])


def _cell(name: str, estimate: Estimate) -> str:
    """Return an estimate; an error may be of any size, so that three of its digits are shown."""
    if name != "mse" or estimate.mean is None:
        return format_estimate(estimate)
    ends = "" if estimate.low is None else f" ({estimate.low:.2g} to {estimate.high:.2g})"
    return f"{estimate.mean:.3g}{ends}"


def _list_columns(summary: Summary) -> list[tuple[str, str]]:
    if summary.score == "accuracy":
        return [("accuracy", "accuracy"), ("balanced accuracy", "balanced_accuracy")]
    return [("R²", "r2"), ("r", "r"), ("MSE", "mse")]


def _test_cells(test: PairedTest | None) -> list[str]:
    return ["", ""] if test is None else [format_percent(test.wins), format_p(test.p_holm)]
