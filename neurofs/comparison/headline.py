"""The result in plain words: the headline of a summary, and the table that decode prints."""

from collections.abc import Iterator, Sequence

import numpy as np

from neurofs.comparison.channel_summary import ChannelTests
from neurofs.comparison.names import name_method, split_method
from neurofs.comparison.problem import KERNEL, SPARSE
from neurofs.comparison.summary import (
    Chance,
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

LEVEL = 0.05
"""Below this, p-values count."""

MOST_KEPT = 12
"""Channels that are named as kept in most folds; summary.json has all."""

FIELD = {
    "classes": ("Accuracy per trial", "always the most frequent class"),
    "angle": ("Mean error in degrees", "always the mean angle"),
}
"""What the score of the field is, and the answer that never changes."""

MOST_TUNED = 5
"""Channels that are named as the most strongly tuned."""


def write_headline(summary: Findings) -> Headline:
    """Return the numbers that matter most, and a few sentences about them."""
    methods, reference, score = summary.by_method, summary.reference, summary.score
    same = split_method(summary.main)[1]
    everything = next((methods[name] for name in (f"all + {same}", "all") if name in methods), None)
    rival = next((m for m in summary.methods if not _is_kin(m, reference)), None)
    rival_number = _number("Best rival", rival, score) if rival else None
    numbers = Numbers(
        main=_number(name_method(summary.main), methods[summary.main], score),
        reference=_number(name_method(reference), methods[reference], score),
        all=_number("All features", everything, score) if everything else None,
        rival=rival_number,
    )
    return Headline(
        numbers=numbers,
        how_well=[
            _describe_main(summary),
            *_tell_in_field(summary),
            *([_compare_with_rival(summary, rival_number)] if rival_number else []),
        ],
        which=[*tell_channels(summary.channels, summary.session.reach), *_describe_few_channels(summary)],
        believe=[judge_chance(summary.chance_of(summary.main)), *limit_chance(summary), *_doubt(summary)],
    )


def _number(label: str, method: MethodScores, score: str) -> Number:
    return Number(label=label, method=method.method, n=method.n.median, **dict(method.pooled.of(score)))


def _is_kin(method: MethodScores, reference: str) -> bool:
    """Whether a method uses the first selector, or is kernel RGS: no rival of the headline."""
    return method.selector == reference or method.method in (KERNEL, SPARSE)


def tell_channels(tests: ChannelTests | None, reach: tuple[float, float] | None = None) -> Iterator[str]:
    """Say how many channels are tuned, how many add something, and at which lags, of all in reach, they tell most."""
    if tests is None:
        return
    n, rate = len(tests.channels), f"false discovery rate {100 * tests.false_discovery_rate:g} %"
    adds = {None: "", 0: "; none adds something that no other has", 1: "; 1 adds something that no other has"}.get(
        tests.n_adds, f"; {tests.n_adds} add something that no other has"
    )
    text = f"{tests.n_tuned:,} of {n:,} channels {'is' if tests.n_tuned == 1 else 'are'} tuned ({rate}){adds}"
    best = tests.most_tuned[:MOST_TUNED]
    names = f" Most strongly tuned: {', '.join(printable(one.channel) for one in best)}." if len(best) > 1 else ""
    yield f"{text}{tell_lags(tests, reach)}.{names}"


def tell_lags(tests: ChannelTests, reach: tuple[float, float] | None = None) -> str:
    """Say at which lags how many tuned channels tell most, in milliseconds; nothing if there is no choice of lags."""
    if tests.lag_range is None or tests.n_windows < 2:
        return ""
    first, last = tests.lag_range
    low, high = (f"{1000 * lag:.0f}" for lag in tests.lag_range)
    if reach is not None and np.allclose(reach, tests.lag_range):
        return f"; the most informative lags of the tuned are spread over all of {low} to {high} ms"
    edge = ", the longest lag tried" if reach is not None and np.isclose(reach[1], last) else ""
    lags = f"{low if low == high else f'{low} to {high}'} ms{edge}"
    n = sum(first <= one.peak <= last for one in tests.channels if one.tuned)
    return f"; {'the tuned one tells' if tests.n_tuned == 1 else f'{n} of the tuned tell'} most at {lags}"


def _describe_main(summary: Findings) -> str:
    """Say what the main method decodes, and what it is not shown to decode."""
    main = summary.by_method[summary.main]
    scores = {
        name: f"{SCORE_NAMES[summary.score]} = {format_estimate(found.of(summary.score))}"
        for name, found in main.outputs.items()
    }
    beyond = {test.output for test in summary.chance_of(main.method) if test.beyond}
    decoded = [f"{printable(name)} with {score}" for name, score in scores.items() if name in beyond]
    missed = [f"{printable(name)}, {score}" for name, score in scores.items() if name not in beyond]
    said = [f"decodes {_join(decoded)}"] if decoded else []
    if missed:
        what = "is not shown to decode" if summary.chance else "was not tested against chance on"
        said.append(f"{what} {'; '.join(missed)}")
    n_features = summary.session.n_channels * summary.session.n_lags
    used = f"{main.n.median:,} of {n_features:,}" if main.n.median < n_features else f"all {n_features:,}"
    auto = ", the decoder chosen on training data," if split_method(main.method)[1] == "auto" else ""
    name = name_method(main.method)
    return f"{name[0].upper()}{name[1:]}{auto} {'; it '.join(said)}, from {used} features."


def _tell_in_field(summary: Findings) -> Iterator[str]:
    """Say how well the main method does in the measure of the field, and what never changing the answer would give."""
    found, guess = summary.by_method[summary.main].in_field, summary.guess_in_field
    if found is None:
        return
    digits = (3, 2) if summary.session.classes else (1, 1)
    what, always = FIELD["classes" if summary.session.classes else "angle"]
    against = "" if guess is None else f"; {always} would give {format_number(guess, digits[0])}"
    yield f"{what}: {format_estimate(found, *digits)}{against}."


def _compare_with_rival(summary: Findings, rival: Number) -> str:
    """Compare the main method with the best rival, in the words that their test allows."""
    test = summary.tests_by_method[rival.method]
    mean = format_number(rival.mean) + (", mean of outputs" if len(summary.session.outputs) > 1 else "")
    name = f"the best rival, {name_method(rival.method)} ({mean})"
    if summary.chance and not any(one.beyond for m in (summary.main, rival.method) for one in summary.chance_of(m)):
        return f"Nor is {name}."
    if test.p_holm is None:
        return f"{name[0].upper()}{name[1:]}, cannot be compared: there is only one fold."
    n = len(summary.tests_by_method)
    p = f"p = {format_p(test.p_holm)}" + (f", corrected for {n} comparisons" if n > 1 else "")
    told = f"difference {format_estimate(test.difference)}, {p}"
    if test.p_holm > LEVEL:
        return f"The folds do not tell it from {name}: {told}."
    return f"It is {'ahead of' if (test.difference.mean or 0.0) > 0 else 'behind'} {name} ({told})."


def judge_chance(tests: Sequence[Chance]) -> str:
    """Say for which outputs decoding is beyond chance."""
    if not tests:
        return "Chance was not tested: neighbors in time of the test samples are in the training part."
    found = [printable(test.output) for test in tests if test.beyond]
    missed = [_tell_missed(test) for test in tests if not test.beyond]
    other = "targets of other trials" if tests[0].shifted == "trials" else "the target at other times"
    if not missed:
        p = format_p(max(test.p_corrected for test in tests))
        return f"This is beyond chance: predictions agree with the target better than with {other} (p ≤ {p})."
    if not found:
        return f"This may be chance: {'; '.join(missed)}. Do not read anything into the weights."
    p = format_p(max(test.p_corrected for test in tests if test.beyond))
    return (
        f"{_join(found)} {'is' if len(found) == 1 else 'are'} decoded beyond chance (p ≤ {p}); "
        f"{'; '.join(missed)}: do not read anything into weights for {'it' if len(missed) == 1 else 'these'}."
    )


def limit_chance(summary: Findings) -> Iterator[str]:
    """Say what the test of chance leaves open where trials are too few to be shifted."""
    tests = summary.chance_of(summary.main)
    facts = summary.session
    if facts.n_trials and not facts.classes and any(one.beyond and one.shifted == "samples" for one in tests):
        yield (
            f"With only {facts.n_trials} trials, it is not tested whether more is decoded than the course "
            "that all trials share."
        )


def _doubt(summary: Findings) -> Iterator[str]:
    """Say where the interval of R² may not hold what it says."""
    doubts = [printable(doubt) for doubt in summary.session.doubts]
    if doubts:
        yield f"The interval of R² may hold less often than 95 %: {'; '.join(doubts)}."


def _tell_missed(test: Chance) -> str:
    """Say why decoding of an output is not beyond chance."""
    name = printable(test.output)
    if test.real is None:
        return f"{name} does not vary in the middle of the session, or its predictions do not"
    if test.p_corrected <= LEVEL:
        return f"{name} is decoded with R² below 0, worse than by its mean"
    least = 1 / (1 + test.n_shifts // 2)
    few = ", the least that so few shifts allow" if test.p <= least and least > LEVEL else ""
    other = f"with {name} {'of other trials' if test.shifted == 'trials' else 'at other times'}"
    p = f"p = {format_p(test.p_corrected)}{few}"
    return f"predictions of {name} do not agree with it clearly better than {other} ({p})"


def _join(names: list[str]) -> str:
    return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1]


def _describe_few_channels(summary: Findings) -> Iterator[str]:
    """Say whether few channels suffice and which, if that was asked."""
    few = summary.few_channels
    if few is None:
        return
    methods, score = summary.by_method, summary.score
    sparse, full = (format_number(methods[name].pooled.of(score).mean) for name in (SPARSE, KERNEL))
    which = f"{few.n.median} of {summary.session.n_channels} channels ({few.n.low} to {few.n.high} in single folds)"
    difference = format_estimate(few.difference, 3, 3)
    reach = f"{which} reach {sparse} with the {name_method(KERNEL)}, all of them {full}"
    if few.suffice:
        yield f"{reach}: these channels suffice; the difference, {difference}, is within {few.margin:g}."
    elif not any(test.beyond for test in summary.chance_of(SPARSE)):
        yield f"{reach}: since this is not beyond chance, how many channels suffice cannot be said."
        return
    else:
        yield f"{reach}: {difference} may be a loss of more than {few.margin:g}; these are not shown to suffice."
    often = [printable(one.channel) for one in few.channels if one.share > 0.5]
    if often:
        more = f" and {len(often) - MOST_KEPT} more" if len(often) > MOST_KEPT else ""
        yield f"Kept in most folds: {', '.join(often[:MOST_KEPT])}{more}."


def render_summary(summary: Summary) -> str:
    """Return the table of methods, one row each, and the headline, as text."""
    columns = _list_columns(summary)
    titles = [title for title, _ in columns]
    header = ["method", "n", *titles, "folds lost", "p (Holm)"]
    tests = summary.tests_by_method
    rows = [
        [
            name_method(m.method),
            str(m.n.median),
            *(_cell(m.pooled.of(name), name == summary.score) for _, name in columns),
            *_test_cells(tests.get(m.method)),
        ]
        for m in summary.methods
    ]
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (header, *rows)
    ]
    key = f"n: features used; in brackets: 95 % interval; folds lost and p: against {name_method(summary.main)}"
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:], key, "", *summary.headline.sentences])


def _list_columns(summary: Summary) -> list[tuple[str, str]]:
    """Return the scores of the table, which has 80 characters to a line; the report and scores.csv have all."""
    return [("accuracy", "accuracy")] if summary.score == "accuracy" else [("R²", "r2"), ("r", "r")]


def _cell(estimate: Estimate, with_interval: bool) -> str:
    return format_estimate(estimate) if with_interval else format_number(estimate.mean)


def _test_cells(test: PairedTest | None) -> list[str]:
    return ["", ""] if test is None else [format_percent(test.wins), format_p(test.p_holm)]
