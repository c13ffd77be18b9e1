"""What a variation varies: one setting, group of channels, amount of data or condition, a `Case` for each value.

    lead, n_lags, bin_width, smooth, target    a setting of the tensor
    minutes, trials                            how much of the training part of each fold is used
    channels                                   so many channels, drawn at random
    a column of the channel table              each value alone, all, and all but it
    a column of the trial table                trained on trials of one value, tested on those of another

All cases of a variation test the same moments of the session, where that is possible, on the same folds, so that
their scores can be compared fold by fold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
import xarray as xr

from neurofs.comparison.problem import Problem
from neurofs.features.splits import Fold
from neurofs.features.tensor import build_tensor
from neurofs.ground.config import CompareOptions, RunOptions, TensorOptions, make_options, select_options
from neurofs.ground.errors import UsageError, printable, quoted
from neurofs.recordings.choose import add_usual_names
from neurofs.recordings.recording import Recording
from neurofs.recordings.sorting import take_channels
from neurofs.recordings.window import settle_window

Value = float | str
Thin = Callable[[Problem], list[Fold]]

SETTINGS = ("lead", "n_lags", "bin_width", "smooth", "target")
AMOUNTS = ("minutes", "trials", "channels")
MOST_GROUPS = 24
"""Values of a column of a table, beyond which it tells no groups apart."""

LEADS = tuple(range(-4, 5))
"""Leads that are tried by default, in bins."""

LAGS = (1, 2, 3, 5, 8, 12)
WIDTHS = (0.5, 1, 2, 3)
SMOOTH = (0, 0.5, 1, 2)
"""Bin widths and smoothing that are tried by default, in bins of the base."""

HALVINGS = 5
FEWEST_TRIALS = 4
"""Training trials, of which decoders set some aside to choose their parameters."""


@dataclass(frozen=True, eq=False)
class Case:
    """One value of what is varied.

    Attributes
    ----------
    label, value : str, float or None
        The value for people; as a number if it is one.
    group : str
        Of channels: all, alone or without; of conditions: the one that was tested.
    draw : int
        Number of the draw, where cases are drawn at random.
    against : str
        Label of the case that this one is compared with; empty if with none.
    options, recording : RunOptions, Recording
        What to decode.
    thin : function or None
        Takes the problem and returns the folds that are used in the place of its own.
    """

    label: str
    options: RunOptions
    recording: Recording
    value: float | None = None
    group: str = ""
    draw: int = 0
    against: str = ""
    thin: Thin | None = field(default=None, repr=False)


def make_cases(
    recording: Recording, options: RunOptions, by: str, values: Sequence[Value] = (), n_draws: int = 3
) -> list[Case]:
    """Return a case for each value (and draw) of what is varied; without values, for a sensible choice of them.

    >>> from neurofs.recordings.simulate import simulate_session
    >>> session = simulate_session(5, n_electrodes=2, random_state=1)
    >>> base = RunOptions(target="hand_velocity", bin_width=0.1)
    >>> [case.label for case in make_cases(session, base, "lead", [0, 0.1])]
    ['0', '0.1']
    >>> [case.label for case in make_cases(session, base, "electrode")]
    ['all', '0', 'all but 0', '1', 'all but 1']
    """
    if not options.target and by != "target":
        raise UsageError("vary: expected a target, as --target; see neurofs list targets FILE")
    if by in SETTINGS:
        return _vary_setting(recording, options, by, values)
    base = settle_window(options, recording)
    if by in ("minutes", "trials"):
        return _vary_amount(recording, base, by, values, n_draws)
    if by == "channels":
        return _vary_channels(recording, base, values, n_draws)
    table = add_usual_names(recording.channels)
    if by in table and by in recording.trials:
        raise UsageError(f"by: {quoted(by)} is a column of both channels and trials; rename one of them")
    if by in table and by != "name":
        return _vary_groups(recording, base, table[by], values)
    if by in recording.trials:
        return _vary_conditions(recording, base, by, values)
    known = [*SETTINGS, *AMOUNTS, *_list_columns(table), *_list_columns(recording.trials)]
    raise UsageError(f"by: nothing named {quoted(by)} can be varied; choose from {', '.join(map(printable, known))}")


def _list_columns(table: pd.DataFrame) -> list[str]:
    """Return the columns of a table that tell groups apart."""
    return [str(name) for name in table if name != "name" and 1 < table[name].nunique() <= MOST_GROUPS]


def _as_number(value: Value, by: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise UsageError(f"values: expected numbers for {by}; found {quoted(value)}") from None


# Settings


def _vary_setting(recording: Recording, options: RunOptions, by: str, values: Sequence[Value]) -> list[Case]:
    """Return a case per value, each compared with the first, or with what the options say if that is among them."""
    base = settle_window(options, recording)
    if by == "lead" and options.n_lags == "auto":
        base = base.model_copy(update={"n_lags": 1})  # one bin, so that a lead is a moment and no window
    if by == "target":
        names = [str(value) for value in values] or list(options.target)
        if len(names) < 2:
            raise UsageError("by: expected several targets to compare, as --values NAME,NAME")
        return [Case(name, _change(base, target=(name,)), recording, against=names[0]) for name in names]
    chosen = [_as_number(value, by) for value in values] or _default_values(base, by)
    chosen = sorted(dict.fromkeys(chosen))
    own = float(getattr(base, by))
    reference = own if own in chosen else chosen[0]
    return [
        Case(f"{value:g}", _set(base, by, value), recording, value=value, against=f"{reference:g}") for value in chosen
    ]


def _default_values(base: RunOptions, by: str) -> list[float]:
    width = float(base.bin_width)
    shares: dict[str, Sequence[float]] = {"lead": LEADS, "bin_width": WIDTHS, "smooth": SMOOTH}
    return [float(n) for n in LAGS] if by == "n_lags" else [round(width * float(n), 9) for n in shares[by]]


def _set(base: RunOptions, by: str, value: float) -> RunOptions:
    """Return the options with another value; bins of another width cover the same seconds."""
    if by == "n_lags":
        return _change(base, n_lags=value)
    if by == "bin_width":
        seconds = float(base.bin_width) * int(base.n_lags)
        return _change(base, bin_width=value, n_lags=max(1, round(seconds / value)))
    return _change(base, **{by: value})


def _change(base: RunOptions, **values: object) -> RunOptions:
    """Return options with some values changed, and checked."""
    return make_options(RunOptions, {**dict(base), **values}, "vary")


# Groups of channels


def _vary_groups(recording: Recording, base: RunOptions, column: pd.Series, values: Sequence[Value]) -> list[Case]:
    """Return all channels, and each group alone and left out; both are compared with all.

    Channels without a value are among all of them, and of no group.
    """
    labels = _label_rows(column)
    groups = [_as_label(value) for value in values] or sorted(labels.dropna().unique(), key=_by_number)
    if not groups or (labels == groups[0]).all():
        raise UsageError(f"by: expected groups of channels to compare; found {quoted(groups[0]) if groups else 'none'}")
    if len(groups) > MOST_GROUPS:
        raise UsageError(f"by: expected at most {MOST_GROUPS} groups of channels; found {len(groups)}. Use --values")
    cases = [Case("all", base, recording, group="all")]
    for group in groups:
        rows = (labels == group).to_numpy()
        if not rows.any():
            raise UsageError(f"values: no channel has {quoted(group)}; found {_name_all(labels)}")
        for part, what in ((rows, f"of {quoted(group)}"), (~rows, f"but those of {quoted(group)}")):
            if not find_active(recording)[part].any():
                raise UsageError(f"by: no channel {what} has a spike. Leave it out with --values or --exclude-channels")
        name = f"{column.name} {group}" if group == "all" or group.startswith("all but ") else group
        cases.append(Case(name, base, take_channels(recording, rows), group="alone", against="all"))
        others = take_channels(recording, ~rows)
        cases.append(Case(f"all but {name}", base, others, group="without", against="all"))
    return cases


def _label_rows(column: pd.Series) -> pd.Series:
    """Return the value of each row of a table as text; NaN where there is none.

    >>> _label_rows(pd.Series([1.0, np.nan, 2.0])).tolist(), _label_rows(pd.Series(["M1", " ", None])).tolist()
    (['1', nan, '2'], ['M1', nan, nan])
    """
    text = column.map(_as_label, na_action="ignore").astype(object)
    return text.where(column.notna() & (text.astype(str).str.strip() != ""), np.nan)


def find_active(recording: Recording) -> np.ndarray:
    """Return which channels have a spike, or a signal that changes."""
    if recording.spikes is not None:
        return np.array([len(times) > 0 for times in recording.spikes])
    return np.asarray(np.ptp(np.nan_to_num(recording.counts), axis=0) > 0)


def _as_label(value: Value) -> str:
    """Return a value as tables have it as text: whole numbers without a point.

    >>> _as_label(3.0), _as_label("M1")
    ('3', 'M1')
    """
    return f"{value:g}" if isinstance(value, float | np.floating) else str(value)


def _name_all(labels: pd.Series) -> str:
    return ", ".join(printable(label) for label in labels.unique()[:MOST_GROUPS])


def _by_number(text: str) -> tuple[float, str]:
    try:
        return float(text), text
    except ValueError:
        return np.inf, text


# Amounts of data


def _vary_channels(recording: Recording, base: RunOptions, values: Sequence[Value], n_draws: int) -> list[Case]:
    """Return subsets of the channels that have spikes; those of one draw lie inside each other."""
    recording = take_channels(recording, find_active(recording))
    n = recording.n_channels
    chosen = _choose_amounts([_as_number(value, "channels") for value in values], float(n), whole=True)
    cases = []
    for draw in range(n_draws):
        order = np.random.default_rng([base.seed, 11, draw]).permutation(n)
        for value in chosen:
            if draw and value == n:
                continue
            part = take_channels(recording, np.isin(np.arange(n), order[: int(value)]))
            cases.append(Case(f"{value:g}", base, part, value, draw=draw, against=f"{chosen[-1]:g}"))
    return cases


def _vary_amount(recording: Recording, base: RunOptions, by: str, values: Sequence[Value], n_draws: int) -> list[Case]:
    """Return parts of the training data: runs of minutes, or whole trials at random."""
    problem = Problem.from_tensor(_build(recording, base), select_options(CompareOptions, base))
    if by == "trials" and problem.trials is None:
        raise UsageError("by: the recording has no trials; vary minutes")
    most = min(_measure(problem, fold, by) for fold in problem.folds)
    whole = by == "trials"
    chosen = _choose_amounts([_as_number(value, by) for value in values], most, whole, FEWEST_TRIALS if whole else 0)
    cases = []
    for draw in range(n_draws):
        for value in chosen:
            if draw and value == chosen[-1] and value >= most:
                continue
            thin = _Thin(by, value, draw, n_draws, base.seed)
            cases.append(Case(f"{value:g}", base, recording, value, draw=draw, against=f"{chosen[-1]:g}", thin=thin))
    return cases


def _choose_amounts(values: list[float], most: float, whole: bool, least: float = 0) -> list[float]:
    """Return the amounts that are asked for, or halves of what there is, smallest first.

    >>> _choose_amounts([], 96.0, whole=True), _choose_amounts([], 10.0, whole=False)
    ([6.0, 12.0, 24.0, 48.0, 96.0], [0.625, 1.25, 2.5, 5.0, 10.0])
    """
    amounts = values or [most / 2**k for k in range(HALVINGS)]
    amounts = [float(int(n)) if whole else float(f"{n:.3g}") for n in amounts]
    least = max(least, 1.0 if whole else 0.0)
    amounts = sorted({n for n in amounts if values or n >= least})
    if not amounts or amounts[0] < least or amounts[0] <= 0 or amounts[-1] > most * 1.005:
        shown = f"from {least:g}" if whole else "above 0"
        raise UsageError(f"values: expected amounts {shown} and up to {most:g}; found {values or amounts}")
    return amounts


def _measure(problem: Problem, fold: Fold, by: str) -> float:
    """Return how much a fold trains on, in trials or minutes."""
    if by == "trials" and problem.trials is not None:
        return float(len(np.unique(problem.trials[fold.train])))
    return len(fold.train) * _step(problem) / 60


def _step(problem: Problem) -> float:
    return float(np.median(np.diff(problem.time)))


@dataclass(frozen=True)
class _Thin:
    """Keeps a part of the training part of every fold."""

    by: str
    amount: float
    draw: int
    n_draws: int
    seed: int

    def __call__(self, problem: Problem) -> list[Fold]:
        keep = self._keep_trials if self.by == "trials" else self._keep_minutes
        return [replace(fold, train=keep(problem, fold.train)) for fold in problem.folds]

    def _keep_trials(self, problem: Problem, train: np.ndarray) -> np.ndarray:
        trials = np.asarray(problem.trials)
        order = np.random.default_rng([self.seed, 12, self.draw]).permutation(np.unique(trials))
        known = order[np.isin(order, trials[train])][: int(self.amount)]
        return train[np.isin(trials[train], known)]

    def _keep_minutes(self, problem: Problem, train: np.ndarray) -> np.ndarray:
        """Return a run of rows that begins elsewhere in each draw, and goes on at the beginning after the end."""
        n = min(len(train), max(1, round(60 * self.amount / _step(problem))))
        first = round(len(train) * self.draw / self.n_draws)
        return np.sort(np.roll(train, -first)[:n])


# Conditions


def _vary_conditions(recording: Recording, base: RunOptions, by: str, values: Sequence[Value]) -> list[Case]:
    """Return every pair of conditions, one trained on and one tested; and training on all trials.

    They are compared with training on the tested one.
    """
    labels = _label_rows(recording.trials[by])
    found = [_as_label(value) for value in values] or sorted(labels.dropna().unique(), key=_by_number)
    if not 2 <= len(found) <= MOST_GROUPS:
        raise UsageError(f"by: expected 2 to {MOST_GROUPS} conditions of trials; found {len(found)}. Use --values")
    for name in found:
        if not (labels == name).any():
            raise UsageError(f"values: no trial has {quoted(name)}; found {_name_all(labels)}")
    of_trial = labels.to_numpy()
    return [
        Case(
            f"{'all' if a is None else a} → {b}", base, recording, group=f"→ {b}", against=f"{b} → {b}",
            thin=_Across(tuple(of_trial), a, b),
        )
        for b in found
        for a in (None, *found)
    ]  # fmt: skip


@dataclass(frozen=True)
class _Across:
    """Keeps the trials of one condition for training, and those of another for the test."""

    of_trial: tuple[object, ...]
    trained: str | None  # None: all trials
    tested: str

    def __call__(self, problem: Problem) -> list[Fold]:
        if problem.trials is None:
            raise UsageError("by: conditions are those of trials, of which folds must be made; use --folds trials")
        label = np.array(self.of_trial, dtype=object)[problem.trials]
        folds = [
            replace(
                fold,
                train=fold.train if self.trained is None else fold.train[label[fold.train] == self.trained],
                test=fold.test[label[fold.test] == self.tested],
            )
            for fold in problem.folds
        ]
        if min(min(len(fold.train), len(fold.test)) for fold in folds) < 10:
            raise UsageError(
                f"by: {quoted(self.trained or 'all')} → {quoted(self.tested)}: a fold has too few samples of one. "
                "Ask for fewer folds with --n-splits, or for frequent conditions with --values"
            )
        return folds


# Problems


def make_problems(cases: Sequence[Case]) -> list[Problem]:
    """Return the problem of each case: all on the same moments of the session, where that is possible."""
    built: dict[tuple[int, str], xr.Dataset] = {}
    keys = [(id(case.recording), case.options.model_dump_json()) for case in cases]
    for key, case in zip(keys, cases, strict=True):
        if key not in built:
            built[key] = _build(case.recording, case.options)
    matched = dict(zip(built, match_rows(list(built.values())), strict=True))
    problems = {
        key: Problem.from_tensor(matched[key], select_options(CompareOptions, case.options))
        for key, case in dict(zip(keys, cases, strict=True)).items()
    }
    found = [problems[key] for key in keys]
    return [p if c.thin is None else replace(p, folds=c.thin(p)) for p, c in zip(found, cases, strict=True)]


def _build(recording: Recording, options: RunOptions) -> xr.Dataset:
    return build_tensor(recording, **dict(select_options(TensorOptions, options)))


def match_rows(tensors: Sequence[xr.Dataset]) -> list[xr.Dataset]:
    """Return tensors whose samples are of the same moments; of bins that differ, of the same trials and stretch.

    >>> time, names = np.arange(4.0), ("valid", "trial")
    >>> a, b = (xr.Dataset({n: ("time", v) for n, v in zip(names, (valid, np.zeros(4)))}, {"time": time})
    ...         for valid in (np.array([0, 1, 1, 1], bool), np.array([1, 1, 1, 0], bool)))
    >>> [tensor["valid"].values.tolist() for tensor in match_rows([a, b])]
    [[False, True, True, False], [False, True, True, False]]
    """
    first = tensors[0]["time"].values
    same = all(np.array_equal(tensor["time"].values, first) for tensor in tensors)
    if same:
        common = np.logical_and.reduce([tensor["valid"].values for tensor in tensors])
        masks = [common] * len(tensors)
    else:
        masks = _match_stretches(tensors)
    if not all(mask.any() for mask in masks):
        raise UsageError("vary: no sample exists for all of these values; leave out the longest leads or most lags")
    return [tensor.assign(valid=("time", mask)) for tensor, mask in zip(tensors, masks, strict=True)]


def _match_stretches(tensors: Sequence[xr.Dataset]) -> list[np.ndarray]:
    """Return which samples lie in trials that all tensors have, and between the latest first and earliest last."""
    valid = [tensor["valid"].values for tensor in tensors]
    if not all(mask.any() for mask in valid):
        return valid
    times = [tensor["time"].values for tensor in tensors]
    low = max(t[v][0] for t, v in zip(times, valid, strict=True))
    high = min(t[v][-1] for t, v in zip(times, valid, strict=True))
    trials = [np.unique(tensor["trial"].values[v]) for tensor, v in zip(tensors, valid, strict=True)]
    shared = trials[0]
    for one in trials[1:]:
        shared = np.intersect1d(shared, one)
    return [
        v & (t >= low - 1e-9) & (t <= high + 1e-9) & np.isin(tensor["trial"].values, shared)
        for tensor, t, v in zip(tensors, times, valid, strict=True)
    ]
