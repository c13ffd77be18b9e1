"""Spikes that no sorter gave to a neuron: noise is left out, and so is what is unsorted beside sorted units.

A column of the table of channels says so, whatever the format: `quality`, `group`, `kind` and their like, with the
words noise, artifact, unsorted or unclassified. Where nothing is sorted, as in recordings of threshold crossings,
unsorted channels are all there is, and are kept. What is left out is said; `--unsorted` keeps it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from neurofs.ground.config import LoadOptions
from neurofs.recordings.expressions import is_expression
from neurofs.recordings.recording import Recording
from neurofs.recordings.remarks import Remark
from neurofs.recordings.words import word

COLUMNS = ("quality", "group", "kslabel", "clustergroup", "label", "kind", "sorting", "classification", "unitquality")
NOISE = ("noise", "artifact", "artefact")
UNSORTED = ("unsorted", "unclassified", "unassigned")


def keep_sorted(r: Recording, options: LoadOptions) -> Recording:
    """Return a recording without noise and, where others are sorted, without unsorted channels.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"name": ["a", "b", "c"], "quality": ["good", "noise", "unsorted"]})
    >>> r = keep_sorted(Recording("toy", spikes=[[0.1], [0.2], [0.3]], channels=table), LoadOptions())
    >>> r.channels["name"].tolist(), r.remarks[0].text
    (['a'], '1 noise and 1 unsorted channels are left out; --unsorted keeps them')
    """
    columns = [c for c in r.channels.columns if word(str(c)) in COLUMNS and c != "name"]
    if options.unsorted or not columns or _are_chosen(options.channels, columns):
        return r
    noise, unsorted = (_find(r, columns, words) for words in (NOISE, UNSORTED))
    rows = ~noise & (~unsorted | (noise | unsorted).all())
    if not rows.any():
        return replace(r, remarks=(*r.remarks, Remark("every channel is called noise in the file", serious=True)))
    if rows.all():
        return r
    parts = [f"{n} {what}" for n, what in _count(noise, unsorted & ~rows & ~noise)]
    verb, them = ("channel is", "it") if (~rows).sum() == 1 else ("channels are", "them")
    text = f"{' and '.join(parts)} {verb} left out; --unsorted keeps {them}"
    return take_channels(r, rows, remarks=(*r.remarks, Remark(text)), notes=(*r.notes, f"channels: {text}"))


def take_channels(r: Recording, rows: np.ndarray, **changes: Any) -> Recording:
    """Return a recording with some of its channels."""
    if r.counts is not None:
        return replace(r, channels=r.channels[rows], counts=r.counts[:, rows], **changes)
    spikes = [times for times, kept in zip(r.spikes or (), rows, strict=True) if kept]
    return replace(r, channels=r.channels[rows], spikes=spikes, **changes)


def _are_chosen(texts: Sequence[str], columns: Sequence[str]) -> bool:
    """Tell whether the user chooses channels by name, or by one of these columns."""
    return any(not is_expression(text) or any(column in text for column in columns) for text in texts)


def _find(r: Recording, columns: Sequence[str], words: Sequence[str]) -> np.ndarray:
    labels = r.channels[list(columns)].map(lambda value: str(value).strip().lower() in words)
    return labels.any(axis=1).to_numpy()


def _count(noise: np.ndarray, unsorted: np.ndarray) -> Iterator[tuple[int, str]]:
    for rows, what in ((noise, "noise"), (unsorted, "unsorted")):
        if rows.any():
            yield int(rows.sum()), what
