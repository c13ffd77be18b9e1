"""The result in plain words: the headline of a summary, and the table that decode prints."""

from __future__ import annotations

from collections.abc import Iterator

from neurofs.comparison.names import name_method
from neurofs.comparison.problem import KERNEL, SPARSE
from neurofs.comparison.summary import (
    Estimate,
    Findings,
    Headline,
    MethodScores,
    Number,
    Numbers,
    PairedTest,
    Summary,
)
from neurofs.ground.errors import printable

__all__ = ["judge_chance", "render_summary", "write_headline"]

MOST_NAMED = 40
SCORE_NAMES = {"r2": "R²", "accuracy": "accuracy"}


def write_headline(summary: Findings) -> Headline:
    """Return the numbers that matter most, and two or three sentences about them."""
    methods = {m.method: m for m in summary.methods}
    reference = summary.reference
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
    yield from _describe_few_channels(summary)


def _describe_reference(summary: Findings, numbers: Numbers) -> str:
    ours = next(m for m in summary.methods if m.method == summary.reference)
    outputs = " and ".join(
        f"{printable(name)} with {SCORE_NAMES[summary.score]} = {_with_interval(found.of(summary.score))}"
        for name, found in ours.outputs.items()
    )
    text = f"With {ours.n.median} features, chosen on training data, {name_method(ours.method)} decodes {outputs}"
    if numbers.all:
        n_features = summary.session.n_channels * summary.session.n_lags
        text += f"; all {n_features} features alike reach {_value(numbers.all.mean)}"
    if numbers.chance:
        text += f"; chance is {_value(numbers.chance.mean)}"
    return text + "."


def _compare_with_rival(numbers: Numbers, best: MethodScores) -> str:
    """Compare the best pipeline with the best rival, whichever is ahead."""
    what = "weights" if best.weighted else "features"
    text = (
        f"{name_method(best.selector)} {what} with {best.decoder} decoding reach {_value(numbers.best.mean)}"
    )
    rival = numbers.rival
    if rival is None:
        return text + "."
    place = "ahead of" if (numbers.best.mean or 0) > (rival.mean or 0) else "but behind"
    return f"{text}, {place} the best rival, {name_method(rival.method)}, with {_value(rival.mean)}."


def judge_chance(p: float, n_shifts: int) -> str:
    """Say whether a result may be chance, given the p-value of the null control."""
    if p <= 0.05:
        return f"This is no chance result: p = {p:.2g} against {n_shifts} shifted targets."
    least = 1 / (n_shifts + 1)
    if least > 0.05 and p < least + 1e-9:
        return (
            f"Better than all of {n_shifts} shifted targets, too few to rule out chance (p = {least:.2g}); "
            "ask for 19 or more with --n-shifts."
        )
    return (
        f"This may be chance: p = {p:.2g} against {n_shifts} shifted targets. "
        "Do not read anything into the weights."
    )


def _describe_few_channels(summary: Findings) -> Iterator[str]:
    """Say how many channels suffice and which, if that was asked."""
    few = summary.few_channels
    if few is None:
        return
    reached = {
        m.method: _value(m.pooled.of(summary.score).mean)
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


def _value(value: float | None, digits: int = 3) -> str:
    return "n/a" if value is None else f"{value:.{digits}f}".replace("-", "−")


def _with_interval(estimate: Estimate) -> str:
    if estimate.low is None:
        return _value(estimate.mean)
    return f"{_value(estimate.mean)} ({_value(estimate.low, 2)} to {_value(estimate.high, 2)})"


def _with_interval_in_units(estimate: Estimate) -> str:
    """Return an estimate that may be of any size, with three digits that count."""
    if estimate.mean is None or estimate.low is None:
        return "n/a" if estimate.mean is None else f"{estimate.mean:.3g}"
    return f"{estimate.mean:.3g} ({estimate.low:.2g} to {estimate.high:.2g})"


def render_summary(summary: Summary) -> str:
    """Return the table of methods, one row each, and the headline, as text."""
    columns = _list_columns(summary)
    titles = [title for title, _ in columns]
    header = ["method", "n", *titles, f"{name_method(summary.reference)} wins", "p (Holm)"]
    outputs = summary.session.outputs
    whole = "pooled" if len(outputs) > 1 else outputs[0].name
    tests = {t.method: t for t in summary.tests if t.output == whole}
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
    return _with_interval_in_units(estimate) if name == "mse" else _with_interval(estimate)


def _list_columns(summary: Summary) -> list[tuple[str, str]]:
    if summary.score == "accuracy":
        return [("accuracy", "accuracy"), ("balanced accuracy", "balanced_accuracy")]
    return [("R²", "r2"), ("r", "r"), ("MSE", "mse")]


def _test_cells(test: PairedTest | None) -> list[str]:
    if test is None:
        return ["", ""]
    wins = "" if test.wins is None else f"{100 * test.wins:.0f} %"
    return [wins, "" if test.p_holm is None else f"{test.p_holm:.2g}"]
