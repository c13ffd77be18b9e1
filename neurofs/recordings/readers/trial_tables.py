"""Trials: from a label of each bin or from their starts, and the conditions that belong to them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from neurofs.ground.errors import InputError, quoted
from neurofs.recordings.readers.behavior import fit_table, keeps_own_clock
from neurofs.recordings.readers.bins import Bins, check_increasing, read_seconds_per_unit
from neurofs.recordings.readers.variables import Variables, describe, flag, has_size, is_numeric, is_texts
from neurofs.recordings.recording import default_columns
from neurofs.recordings.words import listed, split_words, word

LABEL_WORDS = ("trial", "trialid", "trialids", "trialidx", "trialnumber", "trialnum", "trialindex", "trialno", "trials")
START_WORDS = split_words(
    "trialstart trialstarts trialstarttime trialstarttimes startbins startbin trialstartbins trialsstart "
    "trialsstarttime trialonset trialonsets starttime starttimes"
)
MOST_OPEN = 0.5
"""Share of trials without a start or stop up to which these are left out; if more are, the table is refused."""

MAX_COLUMNS = 16
"""Columns of a table that is taken for conditions."""

STOP_WORDS = split_words(
    "trialstop trialstops trialend trialends trialstoptime trialstoptimes trialendtime trialendtimes "
    "stopbins endbins stopbin endbin trialstopbins trialendbins trialsstop trialsend trialsstoptime "
    "trialsendtime stoptime stoptimes endtime endtimes"
)


def read_trials(v: Variables, bins: Bins | None, stop: float, clocks: Sequence[np.ndarray] = ()) -> pd.DataFrame | None:
    """Return the trials of a file, or None if it has none or the user wants none.

    `bins` is the clock of stored counts, if there are any, `stop` the end of the recording, and `clocks` are times of
    behavior, whose rows may number the trials of a file of spike times.
    """
    if not v.ask("trials"):
        return None
    if bins is not None:
        name = v.find_one("trial", LABEL_WORDS, lambda value: has_size(value, bins.n_rows))
        if name is not None:
            return _trials_from_labels(v, name, bins)
    name = v.find_one("trial_start", START_WORDS, lambda value: is_numeric(value) and value.size > 0)
    return _trials_from_starts(v, name, bins, stop, clocks) if name is not None else None


def _trials_from_labels(v: Variables, name: str, bins: Bins) -> pd.DataFrame | None:
    labels = np.asarray(v.values[name]).reshape(-1)
    if len(labels) != bins.n_rows:
        raise InputError(quoted(name), f"{bins.n_rows} labels, one per bin", len(labels), f"Check {flag('trial')}.")
    inside = _is_inside(v, name, labels)
    changes = np.flatnonzero((labels[1:] != labels[:-1]) | (inside[1:] != inside[:-1])) + 1
    first = np.concatenate([[0], changes])
    last = np.concatenate([changes, [len(labels)]]) - 1
    first, last = first[inside[first]], last[inside[first]]
    if not len(first):
        v.note(f"trials: none; {quoted(name)} has no label")
        return None
    _refuse_return(name, labels[first], first)
    v.note(f"trials: {len(first)} runs of the same label in {quoted(name)}")
    return pd.DataFrame(
        {
            "start": [bins.edge(s) for s in bins.slots[first]],
            "stop": [bins.edge(s + 1) for s in bins.slots[last]],
            "trial": labels[first],
        }
    )


def _is_inside(v: Variables, name: str, labels: np.ndarray) -> np.ndarray:
    """Tell which rows belong to a trial: labels that are missing or negative mark those that do not."""
    if labels.dtype.kind not in "if":
        return np.ones(len(labels), dtype=bool)
    inside = labels >= 0
    if not inside.all():
        v.note(f"trials: {int((~inside).sum())} bins with a missing or negative {quoted(name)} are in no trial")
    return inside


def _refuse_return(name: str, labels: np.ndarray, first: np.ndarray) -> None:
    again = pd.Series(labels).duplicated().to_numpy()
    if again.any():
        i = int(np.argmax(again))
        raise InputError(
            quoted(name),
            "each trial in one piece",
            f"label {labels[i]} again at row {first[i]}",
            "Give every trial its own label, NaN between trials, or pass --no-trials.",
        )


def _trials_from_starts(
    v: Variables, name: str, bins: Bins | None, stop: float, clocks: Sequence[np.ndarray]
) -> pd.DataFrame:
    stop_name = v.find_one("trial_stop", STOP_WORDS, lambda value: is_numeric(value) and value.size > 0)
    starts = v.vector(name).astype(np.float64)
    stops = None if stop_name is None else v.vector(stop_name).astype(np.float64)
    if stops is not None and len(stops) != len(starts):
        raise InputError(
            quoted(stop_name), f"{len(starts)} ends, one per trial", len(stops), "Name another with --trial-stop."
        )
    for which, values in ((name, starts), (stop_name, stops)):
        open_ = stops is not None and values is not None and np.isnan(values).mean() <= MOST_OPEN
        if values is not None and not open_ and not np.isfinite(values).all():
            raise InputError(quoted(which), "finite numbers", f"{values[~np.isfinite(values)][0]}", "Correct them.")
    edges = _find_edges(v, name, starts, bins, stop, clocks)
    if edges is not None:
        starts, stops = _rows_to_times(v, name, starts, stop_name, stops, *edges)
    else:
        per_unit = read_seconds_per_unit(v)
        starts, stops = starts * per_unit, None if stops is None else stops * per_unit
    if stops is None:
        check_increasing(name, starts, "starts", "Sort them, or give the ends too with --trial-stop.")
        stops = np.append(starts[1:], max(stop, np.nextafter(starts[-1], np.inf)))
        v.note(f"trials: {len(starts)} from {quoted(name)}; each ends where the next begins, the last at the end")
    else:
        v.note(f"trials: {len(starts)} from {quoted(name)} to {quoted(stop_name)}")
    return pd.DataFrame({"start": starts, "stop": stops})


def _find_edges(
    v: Variables, name: str, starts: np.ndarray, bins: Bins | None, stop: float, clocks: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return where each row begins and ends, if starts are rows: bins of counts, or samples of behavior."""
    if bins is not None:
        if not _starts_are_bins(v, name, starts, bins):
            return None
        return bins.start + bins.slots * bins.width, bins.start + (bins.slots + 1) * bins.width
    unit = v.ask("trial_unit")
    long_enough = next((times for times in clocks if len(times) + 1 >= starts.max()), None)
    if unit == "bin" and long_enough is not None:
        v.note(f"trials: {quoted(name)} numbers the samples of behavior")
        return long_enough, np.append(long_enough[1:], 2 * long_enough[-1] - long_enough[-2])
    if unit == "bin":
        raise InputError("--trial-unit bin", "counts in bins", "spike times", "Give the starts as times.")
    if unit is None and long_enough is not None and starts.max() > 2 * stop and (starts == np.rint(starts)).all():
        found = (
            f"whole numbers up to {starts.max():g}, in {stop:g} s; there are {len(long_enough):,} samples of behavior"
        )
        raise InputError(
            quoted(name), "trial starts in seconds", found, "Say --trial-unit bin if they number these, else time."
        )
    return None


def _starts_are_bins(v: Variables, name: str, starts: np.ndarray, bins: Bins) -> bool:
    unit = v.ask("trial_unit")
    if unit is not None:
        return bool(unit == "bin")
    if "bin" in word(name) or "idx" in word(name) or "index" in word(name):
        return True
    if (starts != np.rint(starts)).any() or starts.max() > bins.n_rows:
        return False
    if starts.max() > bins.stop:
        return True
    raise InputError(
        quoted(name),
        "trial starts as times or as bins",
        f"whole numbers up to {starts.max():g}, which could be either",
        "Say --trial-unit time or bin.",
    )


def _rows_to_times(
    v: Variables,
    name: str,
    starts: np.ndarray,
    stop_name: str | None,
    stops: np.ndarray | None,
    begins: np.ndarray,
    ends: np.ndarray,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return starts and stops, which number rows, as the times at which these begin and end."""
    base, n_rows = v.ask_index_base(), len(begins)
    v.note(f"trials: bins of {quoted(name)} are numbered from {base}")
    rows = _check_rows(name, starts - base, n_rows - 1, base)
    if stops is None:
        return begins[rows], None
    last = _check_rows(str(stop_name), stops - base, n_rows, base)
    if base == 1 and not (last[:-1] == rows[1:]).any():
        v.note(f"trials: {quoted(stop_name)} read as the last bin of each trial, as in MATLAB's a:b")
        last = last + 1
    else:
        v.note(f"trials: {quoted(stop_name)} read as the first bin after each trial")
    _check_rows(str(stop_name), last, n_rows, base)
    return begins[rows], np.where(last > 0, ends[np.maximum(last - 1, 0)], begins[0])


def _check_rows(name: str, rows: np.ndarray, largest: int, base: int) -> np.ndarray:
    bad = np.flatnonzero((rows < 0) | (rows > largest) | (rows != np.rint(rows)))
    if len(bad):
        raise InputError(
            f"{quoted(name)}, trial {bad[0]}",
            f"a bin from {base} to {largest + base}",
            f"{rows[bad[0]] + base:g}",
            "Check --index-base and --trial-unit.",
        )
    return rows.astype(np.int64)


def leave_out_open(trials: pd.DataFrame | None, note: Callable[[str], None]) -> pd.DataFrame | None:
    """Return the trials without the few that have no start or no stop (NaN), as aborted ones have.

    >>> leave_out_open(pd.DataFrame({"start": [0.0, 2.0, 4.0], "stop": [1.0, np.nan, 5.0]}), print)["start"].tolist()
    trials: 1 of 3 without a start or stop (NaN) left out
    [0.0, 4.0]
    """
    if trials is None:
        return None
    open_ = trials["start"].isna() | trials["stop"].isna()
    if not 0 < open_.mean() <= MOST_OPEN:
        return trials
    note(f"trials: {open_.sum()} of {len(trials)} without a start or stop (NaN) left out")
    return trials[~open_].reset_index(drop=True)


def add_conditions(v: Variables, trials: pd.DataFrame, bins: Bins | None, taken_lengths: set[int]) -> pd.DataFrame:
    """Return the trials with their conditions: those named, or all variables with a value per trial.

    A variable with one entry per bin that never changes within a trial is a condition of the trials as well.
    Variables with one of the `taken_lengths` (of channels, or of behavior) are left to these, unless they
    are in a group named for trials.
    """
    named = v.ask("conditions")
    columns: dict[str, Any] = {}
    for name in [v.require(n, "conditions") for n in named] or _unclaimed_names(v):
        found = _per_bin(v, name, trials, bins)
        if found is None and (named or _is_of_trials(name) or not _has_length(v.values[name], taken_lengths)):
            found = _per_trial(v, name, len(trials))
        if found is None and named:
            raise InputError(
                f"{flag('conditions')} {name}",
                f"{len(trials)} values, one per trial, or one per bin that stays the same within a trial",
                describe(v.values[name]),
                "Name another variable.",
            )
        if found is not None:
            columns |= found
            v.use(name)
    if columns and not named:
        v.note(f"conditions: {listed(columns)}")
    columns = {c if c not in trials else f"{c} (condition)": x for c, x in columns.items()}
    return pd.concat([trials, pd.DataFrame(columns, index=trials.index)], axis=1)


def _unclaimed_names(v: Variables) -> list[str]:
    taken = {*v.used, *v.options.behavior, *(f"{name}{end}" for name in v.values for end in ("_columns", "_unit"))}
    return [n for n in v.values if n not in taken and not keeps_own_clock(v, n)]


def _is_of_trials(name: str) -> bool:
    return word(name.rpartition(".")[0]) in ("trials", "trial", "intervals")


def _has_length(value: Any, lengths: set[int]) -> bool:
    return is_numeric(value) and value.size > 1 and not lengths.isdisjoint(value.shape)


def _per_trial(v: Variables, name: str, n_trials: int) -> dict[str, Any] | None:
    value = v.values[name]
    column = name.rpartition(".")[2] if _is_of_trials(name) else name
    if is_texts(value):
        return {column: value} if len(value) == n_trials else None
    if not is_numeric(value) or value.ndim > 2 or n_trials not in value.shape or n_trials < 2:
        return None
    if value.ndim == 2 and (value.shape[0] == value.shape[1] or min(value.shape) > MAX_COLUMNS):
        return None
    table = fit_table(v, name, n_trials)
    if table.shape[1] == 1:
        return {column: table[:, 0]}
    return {f"{column}_{end}": table[:, i] for i, end in enumerate(default_columns(column, table.shape[1]))}


def _per_bin(v: Variables, name: str, trials: pd.DataFrame, bins: Bins | None) -> dict[str, Any] | None:
    value = v.values[name]
    if bins is None or not has_size(value, bins.n_rows):
        return None
    trial_of_row = _find_trials(trials, bins.centers)
    inside = trial_of_row >= 0
    rows = pd.Series(np.asarray(value).reshape(-1)[inside])
    found, first, sizes = np.unique(trial_of_row[inside], return_index=True, return_counts=True)
    if len(found) < len(trials) or sizes.max() < 2:
        return None
    if rows.groupby(trial_of_row[inside]).nunique(dropna=False).max() > 1:
        return None
    return {name: rows.to_numpy()[first]}


def _find_trials(trials: pd.DataFrame, times: np.ndarray) -> np.ndarray:
    """Return the trial of each time, -1 outside of all."""
    order = np.argsort(trials["start"].to_numpy(), kind="stable")
    starts, stops = trials["start"].to_numpy()[order], trials["stop"].to_numpy()[order]
    i = np.searchsorted(starts, times, side="right") - 1
    inside = (i >= 0) & (times < stops[np.maximum(i, 0)])
    return np.where(inside, order[np.maximum(i, 0)], -1)
