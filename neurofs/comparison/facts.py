"""What is decoded, and what should be known of it: known before any task is done."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import xarray as xr

from neurofs.comparison.amount import warn_of_losses
from neurofs.comparison.places import find_doubts
from neurofs.comparison.problem import Problem
from neurofs.comparison.summary import Dropped, Output, SessionFacts
from neurofs.comparison.wording import format_percent
from neurofs.recordings.checks import find_remarks
from neurofs.recordings.checks.copies import find_copies, find_repeats
from neurofs.recordings.checks.target import check_target
from neurofs.recordings.recording import Recording, Series, find_gaps
from neurofs.recordings.remarks import Remark

FEW_FOLDS = 4
"""With fewer folds, the spread of scores between them, and so the width of intervals, is known badly."""

FEW_SAMPLES = 300
"""Samples below which shifts, of a third of them at most, are too short to be trusted."""


def describe_facts(recording: Recording, tensor: xr.Dataset, problem: Problem) -> SessionFacts:
    """Return what is decoded, with warnings; known before any task is done."""
    attrs = tensor.attrs
    outputs = zip(problem.outputs, problem.units, strict=True)
    facts = SessionFacts(
        name=recording.name,
        source=recording.source,
        source_hash=recording.source_hash,
        duration=recording.duration,
        span=recording.span,
        n_channels=recording.n_channels,
        n_lags=tensor.sizes["lag"],
        bin_width=attrs["bin_width"],
        first_lag=attrs["first_lag"],
        numbers=attrs["numbers"],
        n_samples=len(problem.samples),
        n_trials=0 if problem.trials is None else len(np.unique(problem.trials)),
        n_trials_recorded=attrs["n_trials"],
        n_gaps=len(find_gaps(recording.observed)),
        kind=problem.kind,
        outputs=[Output(name=name, unit=unit) for name, unit in outputs],
        classes=problem.classes,
        dropped=Dropped(**{why: attrs[f"dropped_{why}"] for why in Dropped.model_fields}),
        notes=attrs["notes"],
        doubts=list(find_doubts(problem)),
        serious=[],
        warnings=[],
    )
    remarks = [*find_remarks(_keep_decoded(recording, problem.outputs)), *check_decoded(tensor, problem)]
    serious = [remark.text for remark in remarks if remark.serious]
    plain = [remark.text for remark in remarks if not remark.serious]
    warnings = [*serious, *warn_of_losses(facts), *plain, *_find_warnings(problem)]
    return facts.model_copy(update={"serious": serious, "warnings": warnings})


def _keep_decoded(recording: Recording, outputs: Sequence[str]) -> Recording:
    """Return a recording without behavior that is not decoded: what is odd about it does not concern the run."""
    behavior: dict[str, Series] = {}
    for name, series in recording.behavior.items():
        own = [o for o in outputs if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", o)]
        columns = [c for c in series.columns if any(o.endswith(f":{c}") for o in own)] or series.columns
        values = series.values[:, [series.columns.index(c) for c in columns]]
        behavior |= {name: replace(series, values=values, columns=tuple(columns))} if own else {}
    return replace(recording, behavior=behavior)


def check_decoded(tensor: xr.Dataset, problem: Problem) -> list[Remark]:
    """Return what is odd about the target as it is decoded: nearly constant, copied by a channel, or there twice."""
    names = [str(name) for name in tensor["channel"].values]
    counts, values = np.asarray(tensor["counts"].values), np.asarray(tensor["target"].values)
    copies = [] if problem.classes else list(find_copies(counts, values, names))
    return [*check_target(problem.targets, problem.outputs, problem.classes), *copies, *find_repeats(counts, values)]


def _find_warnings(problem: Problem) -> Iterator[str]:
    if problem.kind == "shuffled":
        yield "folds of shuffled bins leak: every score in this run is inflated"
    for doubt in find_doubts(problem):
        yield f"{doubt}: R² of single folds says little, and the interval of its mean may hold less often than 95 %"
    if (unknown := _share_unknown(problem)) > 0:
        yield (
            f"{format_percent(unknown)} of test samples are of a class that their training part does not have, and "
            "cannot be right: trials are sorted by class, or a class has too few of them"
        )
    if problem.kind == "permuted":
        yield (
            "folds of permuted trials or blocks: neighbors in time of a test sample are in the training part, so that "
            "scores measure interpolation, which slow drift alone can make good; chance is not tested"
        )
    if problem.kind in ("trials", "blocks") and len(problem.samples) < FEW_SAMPLES:
        yield f"only {len(problem.samples):,} samples: chance is tested roughly, by short shifts of the target"
    n_folds = len({fold.fold for fold in problem.folds})
    if n_folds < FEW_FOLDS:
        folds = "one fold: there are no intervals" if n_folds == 1 else f"{n_folds} folds: intervals are rough"
        yield f"only {folds}{'' if n_folds == 1 else ', far too narrow or far too wide at times'}"


def _share_unknown(problem: Problem) -> float:
    """Return the share of test samples whose class is not in the training part of their fold."""
    if not problem.classes:
        return 0.0
    labels = problem.targets[:, 0]
    known = [np.isin(labels[fold.test], labels[fold.train]) for fold in problem.folds]
    return float(1 - np.concatenate(known).mean())
