"""The top of a report: what was decoded, the numbers of the headline, and the verdict on the data."""

from collections.abc import Sequence
from typing import Any

from neurofs.comparison.names import name_method
from neurofs.comparison.summary import Audit, Null, Number, Numbers, SessionFacts, Summary
from neurofs.comparison.wording import format_number, format_p
from neurofs.report.captions import count_of, name_output

FOLDS = {"trials": "whole trials", "blocks": "contiguous blocks", "shuffled": "shuffled bins"}
"""What folds are made of."""


def describe_run(session: SessionFacts) -> str:
    """Return one line about the session and the target."""
    outputs = ", ".join(name_output(output) for output in session.outputs)
    trials = f"{session.n_trials} trials, " if session.n_trials else ""
    lags = f"{count_of(session.n_lags, 'lag')} of {1000 * session.bin_width:g} ms"
    return (
        f"{session.n_channels} channels × {lags}; {trials}{session.n_samples:,} samples in "
        f"{session.duration:.0f} s. Target: {outputs}."
    )


def list_numbers(numbers: Numbers) -> list[dict[str, Any]]:
    """Return the numbers of the headline in order; the best pipeline only if it is not the reference itself."""
    best = [_show_number("best", numbers.best)] * (numbers.best.method != numbers.reference.method)
    others = {"all": "All features", "rival": "Best rival"}
    return [
        _show_number("reference", numbers.reference),
        *best,
        *(_show_number(key, getattr(numbers, key), label) for key, label in others.items()),
        _show_chance(numbers.chance),
    ]


def _show_number(key: str, number: Number | None, label: str = "") -> dict[str, Any]:
    """Return a number with what it is, or that it was not run."""
    if number is None:
        return {"key": key, "label": label, "mean": None, "low": None, "detail": "not run"}
    n = [f"{number.n} features"] * (number.n is not None)
    return {**dict(number), "key": key, "detail": ", ".join([name_method(number.method), *n])}


def _show_chance(number: Number | None) -> dict[str, Any]:
    if number is None:
        return _show_number("chance", None, "Chance")
    limit = "" if number.high is None else f"; 95 % of them below {format_number(number.high)}"
    return {**dict(number), "key": "chance", "low": None, "detail": f"mean of shifted targets{limit}"}


def judge(summary: Summary) -> list[dict[str, str]]:
    """Return the verdict on the data: audit, null control, warnings."""
    warnings = [_say("warn", "Warning.", text) for text in summary.session.warnings]
    fine = _say("pass", "No warnings.", "Nothing in the file looked wrong.")
    folds = FOLDS[summary.session.kind]
    return [_judge_audit(summary.audit, folds), _judge_null(summary.null), *(warnings or [fine])]


def _say(kind: str, title: str, text: str) -> dict[str, str]:
    return {"kind": kind, "title": title, "text": text}


def _judge_audit(audit: Audit, folds: str) -> dict[str, str]:
    if audit.passed:
        n = len(audit.folds)
        what = "spikes or raw samples of the target"
        text = f"No training sample shares {what} with a test sample, in any of {n} folds of {folds}."
        return _say("pass", "Audit passed.", text)
    text = f"{audit.n_overlaps:,} pairs of training and test samples share raw data ({folds})."
    return _say("fail", "Audit failed.", text)


def _judge_null(nulls: Sequence[Null]) -> dict[str, str]:
    if not nulls:
        text = "The target was not shifted against the spikes, so that chance is not known."
        return _say("warn", "No null control.", text)
    p, shifts = max(null.p for null in nulls), min(len(null.values) for null in nulls)
    floor = ", the smallest that this many shifts can give" if p <= 1 / (shifts + 1) + 1e-12 else ""
    each = " for the worst output" if len(nulls) > 1 else ""
    against = f"against {shifts} shifted targets{floor}"
    if p <= 0.05:
        return _say("pass", "Null control passed.", f"p = {format_p(p)}{each} {against}: this is not chance.")
    if floor:
        text = f"p = {format_p(p)} {against}. Ask for 19 or more with --n-shifts."
        return _say("warn", "Too few shifts.", text)
    text = f"p = {format_p(p)}{each} {against}: this may be chance. Do not interpret the weights."
    return _say("fail", "Null control failed.", text)
