"""The sections of a report, as data: a title, and blocks in order.

A block is a dictionary whose `what` names how the template shows it: a picture, a table, a note, or a part with
a template of its own.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import xarray as xr

from neurofs.comparison.channel_summary import ChannelTests
from neurofs.comparison.comparison import Comparison
from neurofs.comparison.names import name_method
from neurofs.comparison.summary import Coverage, Dependency, PairedTest, SessionFacts, Summary
from neurofs.ground.config import given_options, render_toml
from neurofs.ground.errors import MAX_MESSAGE, printable
from neurofs.report.data import encode_json, pack_maps, pack_traces
from neurofs.report.feature_maps import count_channels, describe_channels, find_n, list_selectors, share_by_kind
from neurofs.report.figures.dependency import draw_pairs, draw_unique, tell_gap, tell_pairs
from neurofs.report.figures.encoding import draw_encoding, name_target
from neurofs.report.figures.maps import draw_lags, draw_positions, draw_top_maps, draw_weight_maps
from neurofs.report.figures.scores import (
    draw_chance,
    draw_confusion,
    draw_curves,
    draw_stability,
    draw_weighting,
    draw_wins,
)
from neurofs.report.figures.session import draw_plane, draw_raster, draw_rates, draw_traces, draw_trials
from neurofs.report.figures.time_course import draw_time_course
from neurofs.report.figures.tuning import draw_tuning
from neurofs.report.methods_text import write_bibtex, write_methods
from neurofs.report.palette import find_key
from neurofs.report.pictures import Picture, Table
from neurofs.report.traces import get_traces

Block = dict[str, Any]
Draw = Callable[[Picture], Any]

PICTURES: tuple[Callable[[Comparison], Picture | None], ...] = (
    draw_traces,
    draw_plane,
    draw_curves,
    draw_wins,
    draw_weighting,
    draw_weight_maps,
    draw_top_maps,
    draw_encoding,
    draw_lags,
    draw_positions,
    draw_pairs,
    draw_unique,
    draw_stability,
    draw_chance,
    draw_confusion,
    draw_rates,
    draw_trials,
    draw_raster,
    draw_tuning,
    draw_time_course,
)
"""All figures, in the order of the report."""

CHANNEL_COLUMNS = {
    "channel": ("channel", 0),
    "tuned": ("tuned", 0),
    "adds": ("adds", 0),
    "peak": ("peak lag (ms)", 0),
    "weight": ("weight", 2),
    "stability": ("stability", 2),
    "rate": ("rate (Hz)", 1),
    "remarks": ("remarks", 0),
    "fano": ("Fano factor", 2),
    "mean": ("mean of the signal", 3),
    "sd": ("SD", 3),
    "electrode": ("electrode", 0),
    "kind": ("kind", 0),
}
"""Facts about a channel: their titles in the table of channels, and digits."""

TABLED_SCORES = {
    "r2": {"r2": "R²", "r": "r", "mse": "MSE"},
    "accuracy": {"accuracy": "accuracy", "balanced_accuracy": "balanced accuracy"},
}
"""Scores in the table of methods and their titles, that of the session first."""


@dataclass(frozen=True)
class Section:
    """One section of the report; a folded one shows its title until it is opened."""

    id: str
    title: str
    blocks: list[Block]
    short: str = ""  # title in the list of contents
    folded: bool = False


def make_sections(comparison: Comparison, draw: Draw) -> list[Section]:
    """Return all sections after the headline; `draw` turns a picture into what the template shows."""
    return [
        Section("decoded", "Decoded against true", list(_decoded(comparison, draw)), "Decoded and true"),
        Section("channels", "Which channels, at which lags?", list(_channels(comparison, draw)), "Channels and lags"),
        Section("features", "How few features suffice?", list(_features(comparison, draw)), "Features"),
        Section("wins", "Which method wins?", list(_wins(comparison, draw)), "Methods"),
        *_together(comparison, draw),
        Section("trust", "Is it chance?", list(_trust(comparison, draw)), "Chance"),
        Section("quality", "The session itself", list(_quality(comparison, draw)), "Session"),
        Section("methods", "Methods and references", [_methods(comparison)], folded=True),
        Section("glossary", "Glossary", [{"what": "glossary", "score": comparison.summary.score}], folded=True),
        Section("provenance", "Provenance", [_provenance(comparison)], folded=True),
    ]


def _fold(title: str, blocks: Iterable[Block]) -> Block:
    """Return blocks that show only their title until they are opened."""
    return {"what": "fold", "title": title, "blocks": list(blocks)}


def _picture(picture: Picture | None, draw: Draw, missing: str) -> Block:
    if picture is None:
        return _note(missing, missing=True)
    return {"what": "picture", "item": draw(picture), "static": False}


def _note(text: str, missing: bool = False) -> Block:
    return {"what": "note", "text": text, "missing": missing}


def _table(name: str, table: Table, sortable: bool = False, titled: bool = True) -> Block:
    """Return a table; one without a title of its own stands in a fold that says what it is."""
    return {"what": "table", "item": table, "sortable": sortable, "titled": titled, "id": f"{name}-table"}


# Decoded against true


def _decoded(comparison: Comparison, draw: Draw) -> Iterator[Block]:
    picture, traces = draw_traces(comparison), get_traces(comparison)
    if picture is None or traces is None:
        yield _note("Not shown: no method predicted anything.", missing=True)
        return
    yield {
        "what": "traces",
        "item": draw(picture),
        "data": encode_json(pack_traces(traces)),
        "has_trials": bool((traces.trial >= 0).any()),
    }
    if comparison.summary.coverage and not traces.classes:
        title = "How often the error band holds the truth"
        yield _fold(title, [_table("coverage", _tabulate_coverage(comparison.summary.coverage))])
    if traces.n_left_out:
        yield _note(
            f"The viewer holds the first {len(traces.time):,} samples; {traces.n_left_out:,} more are in "
            "predictions.nc."
        )
    if len(traces.outputs) == 2 and not traces.classes:
        yield _picture(draw_plane(comparison), draw, "") | {"static": True}
    if comparison.summary.score == "accuracy":
        yield _picture(draw_confusion(comparison), draw, "No confusion matrix.")
    course = draw_time_course(comparison)
    if course is not None:
        yield _fold("Decoding by time in the trial", [_picture(course, draw, "")])


def _tabulate_coverage(found: Sequence[Coverage]) -> Table:
    """Return how often 95 % intervals hold the truth."""
    caption = (
        "Share of test samples inside their 95 % interval: on average, which is what the intervals are made for, and "
        "by fifths of the samples, from those nearest to the mean of their output to the farthest; and the mean "
        "half of an interval, in standard deviations of the output"
    )
    columns = ["method", "on average", "nearest fifth", "second", "third", "fourth", "farthest", "half width"]
    rows = [(find_key(c.method).label, c.mean, *c.by_size, c.half_width) for c in found]
    return Table(caption, columns, rows)


# Scores


def _features(comparison: Comparison, draw: Draw) -> Iterator[Block]:
    yield _picture(draw_curves(comparison), draw, "No curve: no selector ranked the features.")


def _note_failed(comparison: Comparison) -> Iterator[Block]:
    summary = comparison.summary
    done = {m.selector for m in summary.methods}
    empty = [name_method(m.method) for m in summary.methods if m.pooled.of(summary.score).mean is None]
    absent = [name_method(s) for s in comparison.config.selectors if s not in done]
    if empty:
        yield _note(f"No score could be computed for {', '.join(empty)}.", missing=True)
    if absent:
        yield _note(f"No result of {', '.join(absent)}: the run did not finish them.", missing=True)


def _tabulate_methods(summary: Summary) -> Table:
    """Return one row per method: pooled scores with intervals, n, and the test against the reference."""
    first, *others = TABLED_SCORES[summary.score]
    tests = summary.tests_by_method
    rows = [
        (
            name_method(m.method),
            m.pooled.of(first),
            *(m.pooled.of(score).mean for score in others),
            m.n.median,
            *_list_test(tests.get(m.method)),
        )
        for m in summary.methods
    ]
    titles = TABLED_SCORES[summary.score].values()
    means = "Means over folds and outputs" if len(summary.session.outputs) > 1 else "Means over folds"
    caption = f"{means}, 95 % intervals"
    digits = [0, *(3 for _ in titles), 0, 3, 0]
    return Table(caption, ("method", *titles, "n", "p (Holm)", "folds lost (%)"), rows, digits)


def _list_test(test: PairedTest | None) -> tuple[float | None, float | None]:
    """Return the p-value of a test, and the percentage of folds that the method loses."""
    if test is None:
        return None, None
    return test.p_holm, None if test.wins is None else 100 * test.wins


def _wins(comparison: Comparison, draw: Draw) -> Iterator[Block]:
    yield _table("methods", _tabulate_methods(comparison.summary), sortable=True)
    yield _note(
        "n: features used. Selectors alone decode by soft kNN, with auto by what did best on training data. p, folds "
        f"lost: against {name_method(comparison.summary.main)}."
    )
    yield from _note_failed(comparison)
    missing = "No winning percentages: there is no rival that ranks features."
    yield _fold("Wins against the number of features", [_picture(draw_wins(comparison), draw, missing)])


# Maps and channels


def _channels(comparison: Comparison, draw: Draw) -> Iterator[Block]:
    pictures = [p for p in (draw_weight_maps(comparison), draw_top_maps(comparison)) if p is not None]
    if pictures:
        data = encode_json(pack_maps(comparison))
        yield {"what": "maps", "pictures": [draw(p) for p in pictures], "data": data}
    else:
        yield _note("No map: no selector ranked the features.", missing=True)
    yield from _list_channels(comparison)
    missing = "No encoding profiles: no channel is tuned, or there is only one lag."
    yield _fold("Profiles of all tuned channels", [_picture(draw_encoding(comparison), draw, missing)])
    missing = "No lag profile: there is only one lag, or no selector ranked the features."
    where = "No map of the array: the file does not say where the channels are."
    more = [_picture(draw_lags(comparison), draw, missing), _picture(draw_positions(comparison), draw, where)]
    yield _fold("Weight by lag and place", more)
    yield _fold("Origin and stability of the selection", _selection(comparison, draw))
    missing = "No tuning: it is not known for the channels of this run."
    yield _fold("Tuning of the best channels", [_picture(draw_tuning(comparison), draw, missing)])


def _list_channels(comparison: Comparison) -> Iterator[Block]:
    records = describe_channels(comparison)
    used = [key for key in CHANNEL_COLUMNS if any(record[key] not in ("", None) for record in records)]
    names = list_selectors(comparison)
    by = find_key(names[0]).label if names else "no selector"
    rows = [tuple(record[key] for key in used) for record in records]
    session = comparison.summary.session
    unit = f" ({printable(session.numbers)})" if session.is_signal else ""
    columns = tuple(CHANNEL_COLUMNS[key][0] + (unit if key in ("mean", "sd") else "") for key in used)
    digits = tuple(CHANNEL_COLUMNS[key][1] for key in used)
    first = "tuned or adding first, " if comparison.summary.channels else ""
    yield _table("channels", Table(f"Channels, {first}by weight of {by}", columns, rows, digits), sortable=True)
    tests = comparison.summary.channels
    said = [_explain_tests(tests, comparison.summary.session)] if tests else []
    stable = f"share of folds among the best {find_n(comparison)} features"
    yield _note(" ".join([*said, f"Weight (over all lags) and stability ({stable}) are no tests."]))


def _selection(comparison: Comparison, draw: Draw) -> Iterator[Block]:
    n = find_n(comparison)
    kinds, shares = share_by_kind(comparison, n)
    by_kind = {row[0]: [100 * share for share in row[1:]] for row in shares}
    counts = [(name_method(s), c, lags, *by_kind.get(s, [])) for s, c, lags in count_channels(comparison, n)]
    if kinds:
        counts.append(("all channels", comparison.weights.sizes["channel"], None, *by_kind["all channels"]))
    columns = ("selector", "channels", "lags of each", *(f"{kind} (%)" for kind in kinds))
    caption = f"The best {n} features, mean over folds and outputs"
    yield _table("kinds", Table(caption, columns, counts, 1))
    missing = "No stability: it takes two folds or more, and a selector that leaves features out."
    yield _picture(draw_stability(comparison), draw, missing)


def _explain_tests(tests: ChannelTests, session: SessionFacts) -> str:
    """Say what tuned, adds and peak lag mean in this run."""
    asked = tests.n_adds is not None
    which = "either" if asked else "the tuned"
    rate = f"Expected to be false: at most {100 * tests.false_discovery_rate:g} % of {which}."
    adds = "even given all other channels" if asked else "not asked, since there are too few samples"
    trial = " and the course of a trial" if tests.shifted != "rows" else ""
    goes = "signal goes" if session.is_signal else "counts go"
    return f"Tuned: {goes} with {name_target(session)}, beyond slow time{trial}. Adds: {adds}. {rate}"


def _together(comparison: Comparison, draw: Draw) -> Iterator[Section]:
    """Yield the section on channels that work together, if that was asked."""
    found = comparison.summary.dependency
    if found is None:
        return
    blocks = [
        _note(tell_pairs(found)),
        _picture(draw_pairs(comparison), draw, "No pairs: fewer than two channels are active enough."),
        _table("pairs", _tabulate_pairs(found), sortable=True),
        _note(tell_gap(found.gap, comparison.summary.score)),
        _picture(draw_unique(comparison), draw, "No channel is active enough."),
    ]
    yield Section("together", "Do channels work together?", blocks, "Pairs")


def _tabulate_pairs(found: Dependency) -> Table:
    rows = [
        (*pair.channels, pair.verdict, 1000 * pair.lag, pair.strength, pair.p, pair.p_beyond, _percent(pair.synergy))
        for pair in found.pairs
    ]
    columns = ("channel", "other", "verdict", "lag (ms)", "Σ z²", "p", "p beyond those found", "synergy (%)")
    caption = "Strongest pairs; synergy: share of variance in held-out folds that the products add to all channels"
    return Table(caption, columns, rows)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _trust(comparison: Comparison, draw: Draw) -> Iterator[Block]:
    missing = "Chance is not tested: test and training samples of these folds mix in time. Do not publish the scores."
    yield _picture(draw_chance(comparison), draw, missing)
    rows = [(f.repeat, f.fold, f.n_train, f.n_test, f.n_overlaps) for f in comparison.summary.audit.folds]
    columns = ("repeat", "fold", "training samples", "test samples", "pairs that share data")
    yield _fold("Audit of every fold", [_table("audit", Table("Audit of every fold", columns, rows), titled=False)])


# Data quality


def _quality(comparison: Comparison, draw: Draw) -> Iterator[Block]:
    is_signal = comparison.summary.session.is_signal
    yield _picture(draw_rates(comparison), draw, "")
    twins, what = _name_twins(comparison.session), "signal" if is_signal else "spikes"
    if twins:
        yield _note(f"Channels with exactly the same {what} as another: {len(twins)} ({_some(twins)}).")
    yield _picture(draw_trials(comparison), draw, "The session has no trials.")
    notes = comparison.summary.session.notes
    if notes:
        yield _note("Read as: " + "; ".join(printable(note, MAX_MESSAGE) for note in dict.fromkeys(notes)) + ".")
    missing = f"No raster: no moment to align the {what} to was found."
    yield _fold(f"{what.capitalize()} of the best channels", [_picture(draw_raster(comparison), draw, missing)])
    bins = [_table("dropped", _tabulate_bins(comparison.summary.session), titled=False), _list_gaps(comparison.session)]
    yield _fold("Bins and gaps", bins)


def _name_twins(session: xr.Dataset) -> list[str]:
    """Return the channels that have the same spikes as another, which the table of channels tells of the others."""
    names, twins = session["channel"].values, session["duplicate_of"].values
    return [f"{printable(n)} = {printable(t)}" for n, t in zip(names, twins, strict=True) if t]


def _some(names: list[str], most: int = 40) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _tabulate_bins(session: SessionFacts) -> Table:
    reasons = {
        "outside": "outside of trials, or not observed",
        "window": "the window reaches beyond the trial or into a gap",
        "target": "the target is missing",
        "period": "outside the chosen period",
        "step": "between the chosen steps",
    }
    rows = [("used as samples", session.n_samples), *((reasons[why], n) for why, n in session.dropped)]
    return Table("What became of the bins", ("bins", "number"), rows, digits=0)


def _list_gaps(session: xr.Dataset) -> Block:
    starts, stops = session["gap_start"].values, session["gap_stop"].values
    rows = [(float(a), float(b), float(b - a)) for a, b in zip(starts, stops, strict=True)]
    if not rows:
        return _note("No gaps in the recording.")
    return _table("gaps", Table("Gaps in the recording (s)", ("from", "to", "length"), rows))


# Methods and provenance


def _methods(comparison: Comparison) -> Block:
    return {"what": "methods", "text": write_methods(comparison), "bibtex": write_bibtex(comparison)}


def _provenance(comparison: Comparison) -> Block:
    p = comparison.summary.provenance
    facts: list[tuple[str, str | None]] = [("command", p.command or "called from Python"), ("seed", str(p.seed))]
    facts += [
        (f"input {i}" if i else "input", f"{file.path}, SHA-256 {file.sha256}") for i, file in enumerate(p.inputs)
    ]
    facts += [("neurofs", p.version + (f", git {p.git}" if p.git else ""))]
    facts += [("Python", p.python), ("platform", p.platform), *p.versions.items()]
    facts += [("finished", p.finished), ("threads", str(p.threads))]
    facts += [("time taken", f"{p.seconds:.1f} s")] if p.seconds is not None else []
    facts += [("peak memory", f"{p.peak_memory / 1e6:.0f} MB")] if p.peak_memory else []
    took = sorted(p.latency.items(), key=lambda one: one[1])
    times = "; ".join(f"{name_method(method)} {milliseconds:.2g} ms" for method, milliseconds in took)
    facts += [("time per estimate, bin by bin", times)] if times else []
    return {
        "what": "provenance",
        "facts": Table("How these numbers came about", ("what", "value"), facts),
        "repeat": "neurofs decode run.toml --out again",
        "use": "neurofs fit . --out model",
        "toml": render_toml(given_options(comparison.config)),
    }
