"""A part of a session: some of its time, channels and trials.

    channels    names, or an expression on what is known of channels and their `rate` in Hz: ``rate > 0.5``; of a
                continuous signal, on its `mean` and `sd`
    unsorted    whether noise, and unsorted channels beside sorted ones, are kept
    from_time   seconds; spikes before are left out, and trials that are not wholly after it
    to_time     the same for the end
    trials      numbers from 0 and ranges (``0-9,20,30-``), or an expression on the table of trials
    where       an expression on the table of trials: ``direction == 3``

Times are cut first, so that rates are those of the part; what was left out is among the notes of the recording. The
language of expressions is in `recordings.expressions`.
"""

import difflib
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from neurofs.ground.config import LoadOptions, split_names
from neurofs.ground.errors import MAX_NAME, UsageError, printable, quoted
from neurofs.recordings.expressions import choose_rows, is_expression
from neurofs.recordings.recording import TICK, Recording, Series
from neurofs.recordings.sorting import keep_sorted, take_channels
from neurofs.recordings.words import word

USUAL = {
    "area": ("brainarea", "brainregion", "region", "location", "structure", "ecephysstructureacronym"),
    "quality": ("group", "kslabel", "clustergroup", "unitquality", "classification"),
}
"""Columns that can be asked for by one name, whatever a file calls them."""

PART = {"channels": (), "unsorted": False, "from_time": None, "to_time": None, "where": None}


def without_part(options: LoadOptions) -> LoadOptions:
    """Return the options of the whole session, for its reader.

    >>> without_part(LoadOptions(channels="rate > 1", counts="spikes")) == LoadOptions(counts="spikes")
    True
    """
    return options.model_copy(update={**PART, "bands": (), "trials": options.trials is not False})


def choose_part(recording: Recording, options: LoadOptions) -> Recording:
    """Return the part of a recording that the options ask for.

    >>> session = Recording("toy", spikes=[[0.5, 1.5], [1.2], []], observed=[[0, 2]])
    >>> part = choose_part(session, LoadOptions(channels="rate > 0.5", from_time=1.0))
    >>> part.n_channels, part.span, part.notes[-1]
    (2, (1.0, 2.0), '2 of 3 channels chosen by rate > 0.5')
    """
    if options.from_time is not None or options.to_time is not None:
        recording = _cut_time(recording, options.from_time, options.to_time)
    recording = keep_sorted(recording, options)
    if options.channels:
        recording = _choose_channels(recording, options.channels)
    if not isinstance(options.trials, bool):
        recording = _choose_trials(recording, options.trials, "trials")
    if options.where is not None:
        recording = _choose_trials(recording, (options.where,), "where")
    return recording


# Time


def _cut_time(r: Recording, start: float | None, stop: float | None) -> Recording:
    """Keep what was observed from `start` to `stop`, and the trials that lie wholly between them."""
    low, high = r.span
    first, last = max(low, low if start is None else start), min(high, high if stop is None else stop)
    if r.counts is not None:
        first, last, bins = _whole_bins(r, first, last)
    if not last > first:
        asked = f"{low if start is None else start:g} to {high if stop is None else stop:g} s"
        raise UsageError(f"from and to: nothing was observed from {asked}; the session is from {low:g} to {high:g} s")
    observed = np.clip(r.observed, first, last)
    content: dict[str, Any] = {"observed": observed[observed[:, 1] > observed[:, 0]]}
    if r.counts is not None:
        content |= {"counts": r.counts[bins], "start": first}
    else:
        content["spikes"] = [times[slice(*np.searchsorted(times, [first, last]))] for times in r.spikes or ()]
    inside = (r.trials["start"] >= first - TICK) & (r.trials["stop"] <= last + TICK)
    note = f"{first:g} to {last:g} s chosen, of {low:g} to {high:g} s"
    note += f", with {inside.sum()} of {len(r.trials)} trials" if len(r.trials) else ""
    if len(r.trials) and not inside.any():
        raise UsageError(f"from and to: no trial lies wholly between {first:g} and {last:g} s")
    behavior = {name: _cut_series(series, first, last) for name, series in r.behavior.items()}
    return replace(r, **content, behavior=behavior, trials=r.trials[inside], notes=(*r.notes, note))


def _cut_series(series: Series, first: float, last: float) -> Series:
    """Keep the samples between two times and their neighbors, so that clocks can still be compared."""
    begin, end = np.searchsorted(series.time, [first, last])
    kept = slice(max(0, begin - 1), end + 1)
    return replace(series, time=series.time[kept], values=series.values[kept])


def _whole_bins(r: Recording, first: float, last: float) -> tuple[float, float, slice]:
    """Return the edges of the stored bins that lie between two times, and which bins these are."""
    begin = max(0, int(np.ceil((first - r.start) / r.bin_width - 1e-6)))
    end = min(len(r.counts), int(np.floor((last - r.start) / r.bin_width + 1e-6)))
    return r.start + begin * r.bin_width, r.start + end * r.bin_width, slice(begin, end)


# Channels


def _choose_channels(r: Recording, texts: Sequence[str]) -> Recording:
    """Keep the channels that are named, or that fulfill one of the expressions."""
    numbers = dict(zip(("mean", "sd"), r.measure_signal(), strict=True)) if r.is_signal else {"rate": r.rates}
    table = add_usual_names(r.channels).assign(**numbers)
    rows = np.zeros(r.n_channels, dtype=bool)
    for text in texts:
        rows |= choose_rows(text, table, "channels") if is_expression(text) else _find_names(r, split_names(text))
    _check_some(rows, "channels", texts)
    return take_channels(r, rows, notes=(*r.notes, _note(rows, "channels", texts)))


def add_usual_names(channels: pd.DataFrame) -> pd.DataFrame:
    """Return the table with a column `area` and `quality`, if it has them by another name."""
    known = {word(str(column)): column for column in reversed(channels.columns)}
    found = {name: next((known[w] for w in words if w in known), None) for name, words in USUAL.items()}
    return channels.assign(**{n: channels[c] for n, c in found.items() if c is not None and n not in channels})


def _find_names(r: Recording, names: Sequence[str]) -> np.ndarray:
    known = r.channels["name"].tolist()
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {quoted(near[0])}?" if near else f"; the first is {quoted(known[0])}"
            raise UsageError(f"channels: no channel {quoted(name)}{hint}")
    return r.channels["name"].isin(names).to_numpy()


# Trials


def _choose_trials(r: Recording, texts: Sequence[str], option: str) -> Recording:
    """Keep the trials that are numbered, or that fulfill one of the expressions."""
    if not len(r.trials):
        raise UsageError(f"{option}: the recording has no trials to choose from; use --from and --to")
    length = r.trials["stop"] - r.trials["start"]
    table = r.trials.assign(trial=np.arange(len(r.trials)), duration=length)
    rows = np.zeros(len(table), dtype=bool)
    for text in texts:
        numbered = option == "trials" and not is_expression(text)
        rows |= _find_numbers(text, len(table)) if numbered else choose_rows(text, table, option)
    _check_some(rows, option, texts)
    return replace(r, trials=r.trials[rows], notes=(*r.notes, _note(rows, "trials", texts)))


def _find_numbers(text: str, n_trials: int) -> np.ndarray:
    """Return the trials of numbers and ranges; the ends of a range belong to it.

    >>> _find_numbers("0,2-3,5-", 7).tolist()
    [True, False, True, True, False, True, True]
    """
    rows = np.zeros(n_trials, dtype=bool)
    for part in split_names(text):
        found = re.fullmatch(r"(\d{1,9})(?:\s*(-)\s*(\d{1,9})?)?", part)
        if found is None:
            raise UsageError(
                f"trials: expected numbers and ranges such as 0-9,20, or an expression; found {quoted(part)}"
            )
        first = int(found[1])
        last = first if found[2] is None else n_trials - 1 if found[3] is None else int(found[3])
        if not first <= last < n_trials:
            raise UsageError(f"trials: expected numbers from 0 to {n_trials - 1}; found {quoted(part)}")
        rows[first : last + 1] = True
    return rows


def _check_some(rows: np.ndarray, option: str, texts: Sequence[str]) -> None:
    if not rows.any():
        what = "channels" if option == "channels" else "trials"
        raise UsageError(f"{option}: none of {len(rows)} {what} is chosen by {quoted(', '.join(texts))}")


def _note(rows: np.ndarray, what: str, texts: Sequence[str]) -> str:
    return f"{rows.sum()} of {len(rows)} {what} chosen by {printable(', '.join(texts), 2 * MAX_NAME)}"
