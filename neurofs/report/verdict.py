"""The top of a report: what was decoded, the numbers of the headline, and the verdict on the data."""

from typing import Any

from neurofs.comparison.amount import tell_edges
from neurofs.comparison.headline import judge_chance, limit_chance
from neurofs.comparison.names import name_method
from neurofs.comparison.summary import Audit, Number, SessionFacts, Summary
from neurofs.comparison.wording import format_duration, format_number
from neurofs.report.captions import count_of, name_output

FOLDS = {
    "trials": "whole trials",
    "blocks": "contiguous blocks",
    "permuted": "permuted trials or blocks",
    "shuffled": "shuffled bins",
    "given": "rows that were given",
}
"""What folds are made of."""

SECONDS = {"s": 1, "min": 60, "h": 3600}

SCORES = {"r2": "R²{of}: 1 is perfect, 0 as good as the mean", "accuracy": "Share of samples whose class is right"}
"""What the scores of the headline are."""

LINEAR = ("ridge", "kalman")
"""The linear decoders of all features that every run has."""


def describe_run(session: SessionFacts) -> str:
    """Return one line about the session and the target."""
    outputs = ", ".join(name_output(output) for output in session.outputs)
    trials = f"{session.n_trials:,} trials, " if session.n_trials else ""
    lags = f"{count_of(session.n_lags, 'lag')} of {1000 * session.bin_width:g} ms"
    edges, time = tell_edges(session), _tell_time(session.n_samples * session.bin_width, session.duration)
    return (
        f"{session.n_channels:,} channels × {lags}; {trials}{session.n_samples:,} samples "
        f"({time}){f'; {edges}' if edges else ''}. Target: {outputs}."
    )


def _tell_time(decoded: float, whole: float) -> str:
    """Return how many seconds of how many are decoded, in one unit.

    >>> _tell_time(109, 268), _tell_time(30, 50.3)
    ('1.8 of 4.5 min', '30 of 50 s')
    """
    value, unit = format_duration(whole).split()
    return f"{format_number(decoded / SECONDS[unit], 0 if unit == 's' else 1)} of {value} {unit}"


def list_numbers(summary: Summary) -> list[dict[str, Any]]:
    """Return four numbers of the headline: its method, the best rival, a simple decoder, and chance.

    Where the method is also told in the field's own measure, chance is in the line below them (`explain_score`).
    """
    numbers = summary.headline.numbers
    main, rival = _show_number("main", numbers.main), _show_number("rival", numbers.rival, "Best rival")
    simple = _show_linear(summary, numbers.rival) or _show_all(numbers.all)
    field = _show_field(summary)
    return [main, *field, rival, simple] if field else [main, rival, simple, _show_chance(summary)]


def explain_score(summary: Summary) -> str:
    """Return what the score is, and what chance is where it has no place among the numbers."""
    of = ", mean of outputs" if len(summary.session.outputs) > 1 else ""
    text = f"{SCORES[summary.score].format(of=of)}; with 95 % intervals."
    if summary.score == "r2" or not _show_field(summary):
        return text
    chance = _show_chance(summary)
    mean = "" if chance["mean"] is None else f" {format_number(chance['mean'])},"
    return f"{text} Chance:{mean} {chance['detail']}."


def _show_number(key: str, number: Number | None, label: str = "") -> dict[str, Any]:
    """Return a number with what it is, or that it was not run."""
    if number is None:
        return {"key": key, "label": label, "mean": None, "low": None, "detail": "not run"}
    n = [] if number.n is None else [count_of(number.n, "feature")]
    named = [name_method(number.method)] * (key not in ("main", "all"))
    return {**dict(number), "key": key, "label": label or number.label, "detail": ", ".join([*named, *n])}


def _show_all(number: Number | None) -> dict[str, Any]:
    """Return the score of all features, with the name of the method, which may have a decoder of its own."""
    name = "all features" if number is None else name_method(number.method)
    return _show_number("all", number, name[0].upper() + name[1:])


def _show_field(summary: Summary) -> list[dict[str, Any]]:
    """Return the headline's score in degrees for an angle, per trial for classes; nothing for other targets."""
    found = summary.by_method[summary.main].in_field
    if found is None or found.mean is None:
        return []
    digits, label = (3, "Accuracy per trial") if summary.session.classes else (1, "Mean error (°)")
    return [{"key": "field", "label": label, **dict(found), "digits": digits, "detail": "same method"}]


def _show_linear(summary: Summary, rival: Number | None) -> dict[str, Any] | None:
    """Return the better one of the linear decoders, which everybody knows; None if none was run, or it is the rival."""
    found = next((m for m in summary.methods if m.method in LINEAR), None)
    if found is None or (rival is not None and rival.method == found.method):
        return None
    number = Number(label="", method=found.method, n=None, **dict(found.pooled.of(summary.score)))
    return _show_number("linear", number, "Best linear")


def _show_chance(summary: Summary) -> dict[str, Any]:
    """Return what chance is: the score of predicting the mean, or the accuracy at shifted targets."""
    shown = {"key": "chance", "label": "Chance", "mean": 0.0, "low": None, "digits": 0, "detail": "predicting the mean"}
    if summary.score == "r2":
        return shown
    tests = summary.chance_of(summary.main)
    if not tests:
        return _show_number("chance", None, "Chance")
    high = format_number(tests[0].high)
    return shown | {"mean": tests[0].mean, "digits": 3, "detail": f"mean of shifted targets; 95 % of them below {high}"}


def judge(summary: Summary) -> list[dict[str, str]]:
    """Return the verdict on the data: audit, chance, warnings."""
    serious, others = summary.session.serious, summary.session.warnings
    warnings = [_say("warn", "Warning.", text) for text in limit_chance(summary)]
    warnings += [_say("fail", "Probably wrong.", _as_sentence(text)) for text in serious]
    warnings += [_say("warn", "Warning.", _as_sentence(text)) for text in others if text not in serious]
    fine = _say("pass", "No warnings.", "")
    folds = FOLDS[summary.session.kind]
    return [_judge_audit(summary.audit, folds), _judge_chance(summary), *(warnings or [fine])]


def _say(kind: str, title: str, text: str) -> dict[str, str]:
    return {"kind": kind, "title": title, "text": text}


def _as_sentence(text: str) -> str:
    """Return a remark with a capital letter, if it begins with a word and no name, and a full stop.

    >>> _as_sentence("series ry: behavior covers 44 % of the time"), _as_sentence("sin(ry) is over.")
    ('Series ry: behavior covers 44 % of the time.', 'sin(ry) is over.')
    """
    first = text[:1].upper() if text.partition(" ")[0].isalpha() else text[:1]
    return f"{first}{text[1:]}" + "." * (not text.endswith((".", "!", "?")))


def _judge_audit(audit: Audit, folds: str) -> dict[str, str]:
    if audit.passed:
        n = len(audit.folds)
        text = f"Training and test samples share no neural data and no targets, in {n} folds of {folds}."
        return _say("pass", "Audit passed.", text)
    text = f"{audit.n_overlaps:,} pairs of training and test samples share raw data ({folds})."
    return _say("fail", "Audit failed.", text)


def _judge_chance(summary: Summary) -> dict[str, str]:
    tests = summary.chance_of(summary.main)
    if not tests:
        folds = FOLDS[summary.session.kind]
        return _say("warn", "Chance is not tested.", f"Folds of {folds} mix test and training samples in time.")
    kinds = {True: ("pass", "Beyond chance."), False: ("fail", "Not beyond chance.")}
    beyond = {test.beyond for test in tests}
    kind, title = kinds[beyond.pop()] if len(beyond) == 1 else ("warn", "Beyond chance in part.")
    said = judge_chance(tests).removeprefix("This is beyond chance: ").removeprefix("This may be chance: ")
    return _say(kind, title, _as_sentence(said))
