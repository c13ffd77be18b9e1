"""The methods section of a paper, written from the settings and results of a run."""

from typing import Any

from sklearn.base import clone

from neurofs.comparison.channel_summary import ChannelTests
from neurofs.comparison.comparison import Comparison
from neurofs.comparison.evaluate import JUDGED
from neurofs.comparison.names import name_method, split_method
from neurofs.comparison.problem import find_settings
from neurofs.comparison.summary import Audit
from neurofs.decoders import DECODERS
from neurofs.decoders.nearest import NORMAL_ROWS, TUNING_ROWS, count_references
from neurofs.features.scaling import NORMAL
from neurofs.ground.effort import bound
from neurofs.ground.errors import printable
from neurofs.ground.works import WORKS, Work, cite, render_bibtex
from neurofs.report.captions import count_of, name_output
from neurofs.report.figures.encoding import name_numbers, name_target
from neurofs.selectors import RGS, SELECTORS
from neurofs.selectors.filters import MOST_JUDGED


def write_methods(comparison: Comparison) -> str:
    """Return paragraphs for a methods section, plain text with citations."""
    parts = (_data, _features, _selection, _folds, _scoring, _tests, _chance, _software)
    return "\n\n".join(text for part in parts if (text := part(comparison))) + "\n"


def write_bibtex(comparison: Comparison) -> str:
    """Return the cited works as BibTeX."""
    works = [WORKS["navot2005"], *(work for name in _names(comparison) for work in _works(name))]
    works += [work for method in _decoded(comparison) for work in _works(method)]
    keys = ["nadeau2003"]
    keys += ["holm1979"] * bool(comparison.summary.tests)
    keys += ["benjamini1995"] * bool(comparison.summary.channels)
    keys += ["harris2020"] * bool(comparison.summary.chance or comparison.summary.channels)
    keys += ["westfall1993"] * bool(comparison.summary.chance)
    keys += ["nogueira2018"] * bool(comparison.summary.stability)
    return render_bibtex([*works, *(WORKS[key] for key in keys)], comparison.summary.provenance.version)


def _works(method: str) -> list[Work]:
    """Return what a selector, a decoder alone, or the decoder of a selector's features is cited by."""
    selector, decoder = split_method(method)
    kind = DECODERS.get(decoder) if decoder else SELECTORS.get(selector)
    return [kind.citation] if kind and kind.citation else []


def _name_cited(method: str) -> str:
    """Return a method's name with its citation in brackets."""
    return " ".join([name_method(method), *(cite(work) for work in _works(method))])


def _decoded(comparison: Comparison) -> list[str]:
    """Return the methods of a selector and a further decoder."""
    return [m.method for m in comparison.summary.methods if " + " in m.method]


def _names(comparison: Comparison) -> list[str]:
    """Return selectors and baselines, each once."""
    methods = [m.method for m in comparison.summary.methods if " + " not in m.method]
    return list(dict.fromkeys([*_selectors(comparison), *methods]))


def _selectors(comparison: Comparison) -> list[str]:
    return [str(name) for name in comparison.weights["selector"].values]


def _join(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _data(comparison: Comparison) -> str:
    s, c = comparison.summary.session, comparison.config
    outputs = _join([name_output(output) for output in s.outputs])
    trials = f", {count_of(s.n_trials, 'trial')}" if s.n_trials else ", without trials"
    silent = int(comparison.session["silent"].values.sum())
    quiet = f" ({silent} {'constant' if s.is_signal else 'silent'})" if silent else ""
    n_excluded = len(c.exclude_channels)
    excluded = f"; {count_of(n_excluded, 'channel')} excluded beforehand" if n_excluded else ""
    classes = count_of(len(s.classes), "class", "classes")
    goal = f"the class of {outputs} ({classes})" if s.classes else outputs
    return (
        f"Data. Session {printable(s.name)}: {count_of(s.n_channels, 'channel')}{quiet}{excluded}, "
        f"{s.duration:.0f} s observed{trials}. Target: {goal}."
    )


def _features(comparison: Comparison) -> str:
    s, c = comparison.summary.session, comparison.config
    width, n_lags = 1000 * s.bin_width, s.n_lags
    first = s.first_lag * width
    lags = f"a lag of {first:g}" if n_lags == 1 else f"lags of {first:g} to {first + (n_lags - 1) * width:g}"
    extra = ["square roots of the counts were taken"] * c.sqrt
    smoothed = "the signal was smoothed" if s.is_signal else "counts were smoothed"
    extra += [f"{smoothed} with a causal half-Gaussian of {1000 * c.smooth:g} ms SD"] * bool(c.smooth)
    if c.period:
        extra.append(f"only samples between {printable(c.period[0])} and {printable(c.period[1])} of a trial were used")
    more = f" {_join(extra).capitalize()}." if extra else ""
    what = f"Means of the signal ({printable(s.numbers)})" if s.is_signal else "Counts"
    first_come = "signal precedes" if s.is_signal else "spikes precede"
    if s.is_signal:
        more = (
            " For distances and all methods, each channel was centered at its median and divided by its spread, the "
            f"distance between its 5th and 95th percentiles over {NORMAL:.2f}, both of the training part.{more}"
        )
    return (
        f"Features. {what} in bins of {width:g} ms at {lags} ms (positive: {first_come} the target): "
        f"{s.n_channels * n_lags:,} features. No window crosses the edge of a trial or a gap, which leaves "
        f"{s.n_samples:,} samples.{more}"
    )


def _selection(comparison: Comparison) -> str:
    names = [n for n in _selectors(comparison) if n != "all"]
    if not names:
        return ""
    described = [_describe_selector(*pair) for pair in zip(names, [*names[1:], ""], strict=True)]
    told = "".join(f" {text}" for name in names if (text := _tell_settings(comparison, name)))
    told += _tell_exclusion(comparison, names)
    return (
        f"Selection and decoding. Features were ranked by {_join(described)}.{told} "
        f"{_neighbors(comparison, names)} {_others(comparison)}".rstrip()
        + _tell_effort(comparison)
    )


def _tell_effort(comparison: Comparison) -> str:
    """Return where samples were thinned; nothing if the session is too short for that."""
    effort, folds = comparison.config.effort, comparison.summary.audit.folds
    normal = (JUDGED, MOST_JUDGED, NORMAL_ROWS, TUNING_ROWS)
    judged, counted, rows, tuning = (min(bound(effort, n), 1e9) for n in normal)
    if max(f.n_test for f in folds) <= judged and max(f.n_train for f in folds) <= min(counted, tuning):
        return ""
    return (
        f" For the sake of time ({effort} effort), n, k and β of soft kNN were chosen on at most {judged:,.0f} samples "
        f"of each hold-out, and its curves over n show as many of each test part; SKS counted the errors of "
        f"{counted:,.0f} samples; SKS, local-linear regression and kernel ridge, where used, took at most {rows:,.0f} "
        f"training samples ({tuning:,.0f} while parameters were chosen), spread evenly." + _tell_references(comparison)
    )


def _tell_references(comparison: Comparison) -> str:
    """Return among how many training samples soft kNN looked for neighbors; nothing if among all."""
    session, n_train = comparison.summary.session, max(fold.n_train for fold in comparison.summary.audit.folds)
    most = count_references(n_train, session.n_channels * session.n_lags, comparison.config.effort)
    return f" Soft kNN looked for neighbors among {most:,} training samples, spread evenly." if most < n_train else ""


def _tell_settings(comparison: Comparison, name: str) -> str:
    """Return what is to be said of how a selector was run: its settings, and what it took for a target of classes."""
    if name not in SELECTORS:
        return ""
    kind = SELECTORS[name]
    text = _describe_settings(kind(**find_settings(comparison.config, name)), comparison.summary.session.n_samples)
    told = [f"{name_method(name)} was run {text}."] if text else []
    if comparison.summary.session.classes and kind.target == "continuous":
        told.append(f"The target of {name_method(name)} was one 0/1 column per class.")
    return " ".join(told)


def _describe_settings(selector: Any, n_samples: int) -> str:
    """Return a selector's settings in words, without those of an effort that made no difference."""
    if isinstance(selector, RGS) and n_samples <= selector.most_compared():
        selector = clone(selector).set_params(effort="full")
    return str(selector.describe())


def _tell_exclusion(comparison: Comparison, names: list[str]) -> str:
    """Return which samples were neighbors of each other for the selectors that look for neighbors."""
    kinds = [SELECTORS[name](**find_settings(comparison.config, name)) for name in names if name in SELECTORS]
    looking = [kind.name for kind in kinds if kind.get_params().get("exclude") == "overlap"]
    if not looking:
        return ""
    trials = "other trials" if comparison.summary.session.kind == "trials" else "the training part"
    named = _join([name_method(name) for name in looking])
    return f" Neighbors for {named} came from {trials}, without overlapping windows."


def _neighbors(comparison: Comparison, names: list[str]) -> str:
    """Return how soft kNN was used on each ranking."""
    k, beta = comparison.config.n_neighbors, comparison.config.beta
    fixed = [f"k = {k}"] * (k != "auto") + [f"β = {beta}"] * (beta != "auto")
    chosen = ["n", *["k"] * (k == "auto"), *["β"] * (beta == "auto")]
    learned = [name_method(name) for name in names if name in SELECTORS and SELECTORS[name].is_metric]
    chosen += [f"whether {_join(learned)} weighed distances"] if learned else []
    cited = "" if {"rgs", "sks"} & set(names) else f" {cite(WORKS['navot2005'])}"
    goal = "the class, by vote," if comparison.summary.session.classes else "the target"
    return (
        f"Soft k-nearest-neighbor regression{cited} decoded {goal} from the best n "
        f"features{' with ' + _join(fixed) if fixed else ''}, neighbors at squared distance d weighed by exp(−d/β), β "
        "relative to each sample's mean neighbor distance (one β for all in the source). "
        f"{_join(chosen)} {'was' if len(chosen) == 1 else 'were'} chosen on inner hold-outs of the training part."
    )


def _takes_metric(selector: str, decoder: str) -> bool:
    """Tell whether a decoder takes all weights of a selector, as far as hold-outs trust them."""
    known = selector in SELECTORS and decoder in DECODERS  # others were lent to one comparison
    return known and SELECTORS[selector].is_metric and getattr(DECODERS[decoder], "SOFTENS", False)


def _others(comparison: Comparison) -> str:
    baselines = [n for n in _names(comparison) if n not in _selectors(comparison)]
    whole = [d for d in _decoded(comparison) if split_method(d)[1] == "auto"]
    chosen = [_name_cited(d) for d in _decoded(comparison) if d not in whole]
    text = f"Further decoders on the same features, tuned on the same hold-outs: {_join(chosen)}. " if chosen else ""
    if whole:
        text += "Auto: soft kNN, local-linear regression, kernel ridge or their average, whichever did best there. "
    metric = [name_method(d) for d in _decoded(comparison) if _takes_metric(*split_method(d))]
    if metric:
        text += f"{_join(metric)}: on all features; hold-outs chose the weights, their roots or none. "
    if "all" in _selectors(comparison) or baselines:
        wide = ["soft kNN on all features"] * ("all" in _selectors(comparison))
        wide += [_name_cited(b) for b in baselines]
        text += f"Baselines: {_join(wide)}."
    return text.strip()


def _describe_selector(name: str, after: str) -> str:
    """Return a selector's label and what it is cited by, unless the next one is cited by the same work."""
    if _works(name) and _works(name) == _works(after):
        return name_method(name)
    origin = SELECTORS[name].origin if name in SELECTORS and name not in ("random", "all", "corrcoef") else ""
    return _name_cited(name) + (f" ({origin})" if origin and not _works(name) else "")


def _folds(comparison: Comparison) -> str:
    c, audit = comparison.config, comparison.summary.audit
    parts = {
        "trials": "whole trials",
        "blocks": "contiguous blocks of time",
        "permuted": "permuted trials or blocks, so that scores measure interpolation in time",
        "shuffled": "shuffled single bins, which leak between training and test",
        "given": "rows that were given",
    }[comparison.summary.session.kind]
    contiguous = comparison.summary.session.kind in ("trials", "blocks")
    how = "with shifted borders; the scores of a fold are means over repeats" if contiguous else "with another order"
    again = f", repeated {c.n_repeats} times {how}" if c.n_repeats > 1 else ""
    verdict = (
        "an audit found no raw data that training and test samples share"
        if audit.passed
        else f"an audit found {audit.n_overlaps:,} pairs of training and test samples that share raw data"
    )
    return (
        f"Cross-validation. {c.n_splits} folds of {parts}{again}, the same for all methods; all choices used the "
        f"training part alone, samples whose window overlaps a test window{_target_overlap(audit)} were left out, and "
        f"{verdict}."
    )


def _target_overlap(audit: Audit) -> str:
    """Return how far apart targets had to lie; nothing if every target came from its own bin."""
    if audit.target_span == 1:
        return ""
    return f", or whose target, made of samples of more than one bin, lies less than {audit.target_span} bins away,"


def _scoring(comparison: Comparison) -> str:
    name, over = {
        "accuracy": ("the share of correctly decoded samples", "folds"),
        "r2": ("R² = 1 − MSE/variance of the test samples", "folds and outputs"),
    }[comparison.summary.score]
    text = (
        f"Statistics. Scores are {name}, means over {over}, with 95 % intervals that allow for overlapping training "
        f"sets {cite(WORKS['nadeau2003'])}{', symmetric in log(1 − R²)' * (comparison.summary.score == 'r2')}."
    )
    if comparison.config.n_repeats > 1 and comparison.summary.session.kind in ("trials", "blocks"):
        text += " Scores were averaged over repeats, and their variance over folds was scaled to that of one repeat."
    if comparison.summary.tests:
        text += f" Methods were compared by paired t-tests, corrected alike and by Holm {cite(WORKS['holm1979'])}."
    if found := comparison.summary.dependency:
        text += (
            " Pairs of channels whose product tells what no sum does were tested against targets shifted by whole "
            f"trials or blocks ({found.n_shifts} shifts), at a false discovery rate of {found.false_discovery_rate:g}."
        )
    if comparison.summary.stability:
        text += f" Stability is Nogueira's index {cite(WORKS['nogueira2018'])}."
    return text


SHIFTED = {
    "rows": "the session shifted around its end",
    "trials": "whole trials in random orders",
    "trials in order": "whole trials shifted in their order, since neighbors are alike",
}
"""What channel and target were compared with, by the kind of shift."""


def _tests(comparison: Comparison) -> str:
    tests, session = comparison.summary.channels, comparison.summary.session
    if tests is None:
        return ""
    goes = "signal goes" if session.is_signal else "counts go"
    course = " and of the trial" if tests.shifted != "rows" else ""
    return (
        f"Channels. A channel is tuned if its {goes} with {name_target(session)}, given cosines of the session "
        f"(periods above {tests.cutoff:.3g} s){course}: Pillai's trace against {SHIFTED[tests.shifted]} "
        f"({count_of(tests.n_shifts, 'shift')}), standardized and pooled over channels {cite(WORKS['harris2020'])}; "
        f"{_tell_adds(tests, session.n_lags)} False discovery rate: {tests.false_discovery_rate:g} "
        f"{cite(WORKS['benjamini1995'])}. At its peak lag, {name_numbers(session)} regressed on the target have the "
        f"largest R² ({100 * tests.interval:g} % interval by a bootstrap of blocks)."
    )


def _tell_adds(tests: ChannelTests, n_lags: int) -> str:
    """Say how it was asked whether a channel adds something, or that it was not."""
    if tests.n_adds is None:
        return "whether it adds something to all others was not asked: there are too few samples."
    n = tests.n_windows_adds
    sums = f"lags in {count_of(n, 'sum')}; " if n < n_lags else ""
    return f"it adds something if they do so given all other channels ({sums}{count_of(tests.n_shifts_adds, 'shift')})."


def _chance(comparison: Comparison) -> str:
    tests = comparison.summary.chance_of(comparison.summary.main)
    if not tests:
        return ""
    one = tests[0]
    by = f"{one.farthest:,.0f} whole trials" if one.shifted == "trials" else f"{one.farthest:,.1f} s"
    agreement = {"r2": "correlation", "accuracy": "share of right classes"}[comparison.summary.score]
    return (
        f"Chance. The {agreement} of out-of-fold predictions and target was compared with that at targets shifted by "
        f"up to {by} to both sides ({one.n_shifts:,} shifts), with p = m/(N + 1) {cite(WORKS['harris2020'])}, "
        f"corrected for outputs {cite(WORKS['westfall1993'])}, and R² above 0."
    )


def _software(comparison: Comparison) -> str:
    p = comparison.summary.provenance
    used = [name for name in ("numpy", "scipy", "scikit-learn", "numba") if name in p.versions]
    libraries = "".join(f", {name} {p.versions[name]}" for name in used)
    return f"Software. neurofs {p.version} with Python {p.python}{libraries}; seed {p.seed}."
