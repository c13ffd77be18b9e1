"""`Problem`: what a comparison works on, cut into tasks that do not know of each other.

A problem is one session's samples, targets and folds with the settings of the comparison. A `Task` is one
method on one output, repeat and fold; its key says what its result was computed from, so that a result that is
already there can be used again.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from neurofs import __version__
from neurofs.comparison.names import find_decoder, name_alone, split_method
from neurofs.decoders import DECODERS
from neurofs.features.samples import Samples
from neurofs.features.scaling import Scaling, find_scaling, scale_samples
from neurofs.features.splits import Fold, is_contiguous, make_folds, shift_borders
from neurofs.features.tensor import to_samples
from neurofs.ground.config import CompareOptions
from neurofs.ground.errors import UsageError, printable, quoted
from neurofs.recordings.recording import SPIKES
from neurofs.selectors import SELECTORS

BASELINES = ("all", "random", "ridge", "kalman")
KERNEL, SPARSE = map(name_alone, ("kernel-rgs", "kernel-rgs-sparse"))
ALL_OUTPUTS = -1
DEFAULT_SELECTORS = {
    "values": ("rgs", "sks", "infogain", "corrcoef"),
    "classes": ("rgs", "simba", "relieff", "infogain"),
}
DEFAULT_SETTINGS: dict[str, dict[str, Any]] = {
    "rgs": {"n_epochs": 3, "survey": False},
    "focus1": {"tolerance": 0.05},
    "focus2": {"tolerance": 0.05},
}
"""Settings with which decode uses a selector. The survey of RGS serves few samples with few relevant features; an
exact search for features that tell all samples of a recording apart does not end, one for nearly all does."""

N_SIZES = 30


@dataclass(frozen=True, order=True)
class Task:
    """One piece of work: a method on one output (-1: all together), repeat and fold.

    >>> Task("rgs", 0, 1, 4).id
    'rgs-o0-r1-f4'
    """

    method: str
    output: int
    repeat: int
    fold: int

    @property
    def id(self) -> str:
        """Name of the task, safe as a file name."""
        output = "all" if self.output == ALL_OUTPUTS else f"o{self.output}"
        return f"{self.method}-{output}-r{self.repeat}-f{self.fold}"

    def seed(self, seed: int) -> int:
        """Return the seed of the task's own random numbers, drawn from that of the run."""
        key = (2, zlib.crc32(self.method.encode()), self.output + 1, self.repeat, self.fold)
        return int(np.random.SeedSequence(seed, spawn_key=key).generate_state(1)[0] % 2**31)


@dataclass(frozen=True, eq=False)
class Problem:
    """One session, ready to be compared on.

    Attributes
    ----------
    samples, targets, trials, time
        Windows, targets (rows, outputs), the trial of each row (or None) and its time in seconds. Classes are
        whole numbers.
    folds : list of Fold
    outputs, units, classes : tuples of str
        No classes if the target is continuous.
    options : CompareOptions
        With the selectors spelled out.
    numbers : str
        What the windows hold: spikes, or the unit of a continuous signal.
    """

    samples: Samples
    targets: np.ndarray
    trials: np.ndarray | None
    time: np.ndarray
    folds: list[Fold]
    outputs: tuple[str, ...]
    units: tuple[str, ...]
    classes: tuple[str, ...]
    options: CompareOptions
    numbers: str = SPIKES

    @classmethod
    def from_tensor(cls, tensor: xr.Dataset, options: CompareOptions) -> Problem:
        """Take the valid rows of a tensor and make the folds; refuse what cannot be compared."""
        samples, targets, trial = to_samples(tensor)
        classes = tuple(tensor.attrs["classes"])
        options = _spell_out(options, bool(classes))
        trials = trial if _by_trials(options, trial) else None
        _check_whole(classes, trials)
        _check_amount(tensor, len(samples), trials, options)
        _check_targets(targets, tensor["output"].values, classes)
        make_sizes(options, samples.n_features)
        try:
            folds = make_folds(samples, trials, options.n_splits, options.n_repeats, options.seed, options.folds)
        except ValueError as error:
            raise UsageError(
                f"{quoted(tensor.attrs['name'])}: cannot make {options.n_splits} folds: {error}. "
                "Ask for fewer with --n-splits, or fewer lags with --n-lags."
            ) from None
        return cls(
            samples,
            targets.astype(np.int64) if classes else targets,
            trials,
            tensor["time"].values[tensor["valid"].values],
            folds,
            tuple(str(name) for name in tensor["output"].values),
            tuple(str(unit) for unit in tensor["unit"].values),
            classes,
            options,
            str(tensor.attrs["numbers"]),
        )

    @property
    def reference(self) -> str:
        """The selector that all others are compared with: the first."""
        return self.options.selectors[0]

    @property
    def kind(self) -> str:
        """What a fold is made of: trials or blocks that follow each other, permuted ones, shuffled bins, given rows."""
        if self.options.folds in ("permuted", "shuffled"):
            return self.options.folds
        if self.options.folds == "given" and not is_contiguous(self.folds, self.trials):
            return "given"
        return "blocks" if self.trials is None else "trials"

    def unfold(self) -> np.ndarray:
        """Return counts (rows, lags, channels), or a signal on one scale."""
        return np.asarray(self.scale()).reshape(len(self.samples), self.samples.n_lags, -1)

    def find_scaling(self, rows: np.ndarray | None = None) -> Scaling | None:
        """Return center and spread of the channels of a signal at some rows, by default at all; None of counts."""
        if self.numbers == SPIKES:
            return None
        return find_scaling(self.samples if rows is None else self.samples[rows])

    def scale(self, rows: np.ndarray | None = None) -> Samples:
        """Return all samples: counts as they are, signals on the scale that channels have at some rows."""
        scaling = self.find_scaling(rows)
        return self.samples if scaling is None else scale_samples(self.samples, scaling)

    @property
    def values(self) -> np.ndarray:
        """Targets (rows, outputs) as numbers; each class is an output of its own."""
        if self.classes:
            return np.asarray(np.eye(len(self.classes))[self.targets[:, 0]])
        return np.asarray(self.targets, np.float64)

    @property
    def stretches(self) -> np.ndarray:
        """The trial of each row, or without trials the number of its run of rows without a gap in time."""
        if self.trials is not None:
            return self.trials
        steps = np.diff(self.time, prepend=self.time[0])
        return np.cumsum(steps > 1.5 * np.median(steps))

    @cached_property
    def data_key(self) -> str:
        """Hash of the numbers that every task works on."""
        digest = hashlib.sha256(f"{self.samples.n_features} {self.samples.span} {self.classes} {self.numbers}".encode())
        trials = np.zeros(0) if self.trials is None else self.trials
        for array in (self.samples.flat, self.samples.starts, self.targets, trials):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def settings(self, selector: str) -> dict[str, Any]:
        """Return the settings of a selector: those of this command, then those of the user."""
        return find_settings(self.options, selector)


def find_settings(options: CompareOptions, selector: str) -> dict[str, Any]:
    """Return the settings of a selector: those of this command with its effort, then those of the user.

    >>> find_settings(CompareOptions(settings={"rgs": {"n_epochs": 5}}), "rgs")
    {'n_epochs': 5, 'survey': False, 'effort': 'normal'}
    """
    effort = effort_of(SELECTORS[selector], options) if selector in SELECTORS else {}
    return {**DEFAULT_SETTINGS.get(selector, {}), **effort, **options.settings.get(selector, {})}


def effort_of(kind: Any, options: CompareOptions) -> dict[str, str]:
    """Return the effort as a setting, if a selector or decoder has it."""
    return {"effort": options.effort} if "effort" in kind().get_params() else {}


def list_tasks(problem: Problem) -> list[Task]:
    """Return the tasks of a comparison, fold by fold, so that the methods share the first workers."""
    options, n_outputs = problem.options, len(problem.outputs)
    methods = dict.fromkeys((*options.selectors, *BASELINES))
    if problem.classes:
        methods.pop("kalman")
    methods |= dict.fromkeys(name_alone(name) for name in sorted(options.decoders) if DECODERS[name].own_metric)
    joint = {method for method in methods if find_decoder(method)}  # fitted to all outputs at once
    return [
        Task(method, ALL_OUTPUTS if method in joint else output, fold.repeat, fold.fold)
        for fold in problem.folds
        for output in range(n_outputs)
        for method in methods
        if output == 0 or method not in joint
    ]


def task_key(problem: Problem, task: Task) -> str:
    """Return a hash of everything that the result of a task depends on."""
    options = problem.options
    touched = {
        "data": problem.data_key,
        "code": code_version(),
        "task": task.id,
        "folds": [problem.kind, options.n_splits, options.seed, shift_borders(options.n_repeats)[task.repeat]],
        "rows": hash_rows(problem, task),
        "selector": [task.method, problem.settings(task.method)],
        "knn": [options.sizes, options.n_neighbors, options.beta],
        "decoder": decoders_of(problem, task.method),
        "effort": options.effort,
        "packages": _name_packages(task.method, decoders_of(problem, task.method)),
    }
    return hashlib.sha256(json.dumps(touched, sort_keys=True).encode()).hexdigest()


def hash_rows(problem: Problem, task: Task) -> str:
    """Return a hash of the rows that a task trains on and is tested on; folds may be given from outside."""
    fold = next(one for one in problem.folds if (one.repeat, one.fold) == (task.repeat, task.fold))
    digest = hashlib.sha256()
    for rows in (fold.train, fold.test):
        digest.update(np.asarray(rows, np.int64).tobytes() + b"|")
    return digest.hexdigest()[:16]


def decoders_of(problem: Problem, method: str) -> list[str]:
    """Return the decoders, beside knn, that run on the features of a selector, or on all: the same for each."""
    if method not in (*problem.options.selectors, "all"):
        return []
    return [name for name in problem.options.decoders if name != "knn" and not DECODERS[name].own_metric]


def _name_packages(method: str, decoders: list[str]) -> list[str]:
    """Return the packages, with their versions, of the plug-ins that a method and further decoders are from."""
    selector, decoder = split_method(method)
    names = [SELECTORS.package(selector), *(DECODERS.package(name) for name in (decoder, *decoders))]
    return [name for name in names if name]


@cache
def code_version() -> str:
    """Return the version and a hash of the source that the result of a task depends on."""
    home = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(path for room in RESULT_ROOMS for path in (home / room).rglob("*.py")):
        digest.update(path.read_bytes())
    return f"{__version__} {digest.hexdigest()[:16]}"


RESULT_ROOMS = ("ground", "features", "metric", "selectors", "decoders", "comparison")
"""Rooms that decide what a task finds; what came before them is in the hash of the data."""


def make_sizes(options: CompareOptions, n_features: int) -> np.ndarray:
    """Return the numbers of features to try: those asked for, or 30 from 1 to all in equal ratios.

    >>> make_sizes(CompareOptions(), 640)
    array([  1,   2,   3,   4,   5,   6,   7,   9,  10,  13,  16,  19,  23,
            28,  34,  41,  50,  61,  74,  90, 110, 134, 163, 198, 240, 292,
           356, 433, 526, 640])
    """
    if not all(1 <= n <= n_features for n in options.sizes):
        raise UsageError(f"sizes: expected numbers from 1 to {n_features}; found {list(options.sizes)}")
    if options.sizes:
        return np.unique(options.sizes)
    count, sizes = N_SIZES, np.zeros(0)
    while sizes.size < min(N_SIZES, n_features):
        sizes = np.unique(np.geomspace(1, n_features, count).round().astype(int))
        count += 1
    return sizes


# ---------------------------------------------------------------------------------------------------- checks


def _spell_out(options: CompareOptions, classes: bool) -> CompareOptions:
    """Return the options with selectors filled in, after a check of all names.

    Whether few channels suffice is seen beside all of them, so that kernel-rgs-sparse asks for kernel-rgs, too.
    """
    names = options.selectors or DEFAULT_SELECTORS["classes" if classes else "values"]
    names = tuple(dict.fromkeys(name for name in names if name not in BASELINES))
    for name in names:
        if SELECTORS.find(name).target == "classes" and not classes:
            raise UsageError(f"{name} needs classes as target, a condition of the trials; leave it out")
    for name in options.decoders:
        if DECODERS.find(name).target == "classes" and not classes:
            raise UsageError(f"decoder {name} needs classes as target, a condition of the trials; leave it out")
    decoders = tuple(dict.fromkeys((*options.decoders, *(["kernel-rgs"] * ("kernel-rgs-sparse" in options.decoders)))))
    if not names:
        raise UsageError("expected at least one selector besides the baselines all, random, ridge, kalman")
    _check_settings(options.settings)
    return options.model_copy(update={"selectors": names, "decoders": decoders})


def _check_settings(settings: dict[str, dict[str, Any]]) -> None:
    for name, values in settings.items():
        if name not in SELECTORS:
            raise UsageError(f"settings: no selector named {quoted(name)}; choose from {', '.join(SELECTORS)}")
        known = SELECTORS[name]().get_params()
        for key in values:
            if key not in known:
                raise UsageError(f"settings: {name} has no parameter {quoted(key)}; it has: {', '.join(known)}")


def _by_trials(options: CompareOptions, trial: np.ndarray) -> bool:
    """Whether folds are made of trials; all samples must then lie in one."""
    has_trials = len(trial) > 0 and bool((trial >= 0).all())
    if options.folds == "trials" and not has_trials:
        raise UsageError("folds: the recording has no trials; use --folds blocks")
    if options.folds == "given":
        raise UsageError("folds: given ones are those of a splitter in Python: neurofs.compare(…, cv=splitter)")
    if options.folds == "shuffled" and not options.allow_leakage:
        raise UsageError(
            "folds: shuffled bins put overlapping windows into training and test parts, which inflates every "
            "score. Use --folds auto, or say --allow-leakage to see how much"
        )
    return has_trials and options.folds != "blocks"


def _check_whole(classes: tuple[str, ...], trials: np.ndarray | None) -> None:
    """Refuse to cut trials where their condition is the target."""
    if classes and trials is None:
        raise UsageError(
            "folds: all bins of a trial have its class, and blocks would put some of them into the training and "
            "some into the test part. Use --folds trials"
        )


def _check_amount(tensor: xr.Dataset, n_rows: int, trials: np.ndarray | None, options: CompareOptions) -> None:
    """Refuse too few samples or trials, and say what was dropped and what to change."""
    name = quoted(tensor.attrs["name"])
    if trials is not None and len(np.unique(trials)) < options.n_splits:
        raise UsageError(
            f"{name}: expected at least {options.n_splits} trials with samples, one for each fold; found "
            f"{len(np.unique(trials))}. Ask for fewer folds with --n-splits, or use --folds blocks"
        )
    k = options.n_neighbors if isinstance(options.n_neighbors, int) else 5
    least = max(4 * options.n_splits, k * options.n_splits // (options.n_splits - 1) + 1)
    if n_rows < least:
        dropped = ", ".join(
            f"{tensor.attrs[f'dropped_{why}']} {words}"
            for why, words in {
                "outside": "outside of trials or not observed",
                "window": "because their window of lags does not fit into a trial or an observed stretch",
                "target": "because the target is missing",
                "period": "outside the period",
            }.items()
            if tensor.attrs[f"dropped_{why}"]
        )
        raise UsageError(
            f"{name}: expected at least {least} samples; found {n_rows} of {tensor.sizes['time']} bins"
            f"{f' ({dropped} were dropped)' if dropped else ''}. Ask for fewer lags with --n-lags"
            f"{', fewer neighbors with --n-neighbors' if k > 5 else ''} or fewer folds with --n-splits"
        )


SIZES_OF_TARGETS = (1e-15, 1e15)
"""The largest value of a target is between these: squares of others leave the range of numbers."""


def _check_targets(targets: np.ndarray, outputs: np.ndarray, classes: tuple[str, ...]) -> None:
    for output, values in zip(outputs, targets.T, strict=True):
        if values.min() == values.max():
            what = f"class {quoted(classes[int(values[0])])}" if classes else f"{values[0]:g}"
            raise UsageError(
                f"target {quoted(output)}: expected values that vary; found {what} in all {len(values)} samples. "
                f"Choose another target{'' if classes else f', or leave out {printable(output)}'}"
            )
        low, high = SIZES_OF_TARGETS
        if not low <= np.abs(values).max() <= high and not classes:
            raise UsageError(
                f"target {quoted(output)}: expected values between {low:g} and {high:g} in size; found "
                f"{np.abs(values).max():.3g} at most. Store it in another unit"
            )
