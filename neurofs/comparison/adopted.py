"""What Python can give to a comparison and a file cannot: estimators, functions, splitters, scores of one's own.

Estimators and functions get names, under which the registries know them while the comparison runs (`adopt`):

    "rgs", RGS(), RGS(n_epochs=2)      a name; an estimator of neurofs, whose parameters become settings
    RGS(n_epochs=5) as a second one    "rgs-2"
    SelectKBest(), SVR(), weigh        any estimator of scikit-learn, a function: "select-k-best", "svr-2", "weigh"

A splitter (`use_folds`) is audited like the folds of neurofs, and refused if training and test samples share raw data.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from neurofs.comparison.problem import DEFAULT_SETTINGS, Problem
from neurofs.decoders import DECODERS
from neurofs.decoders.foreign import adopt_decoder
from neurofs.features.splits import take_folds
from neurofs.ground.errors import UsageError
from neurofs.ground.method import Method, Registry
from neurofs.selectors import SELECTORS
from neurofs.selectors.foreign import adopt_selector


@dataclass
class _Names:
    """The names that the estimators of one list get, settings that they become, and methods that are new."""

    registry: Registry
    names: list[str] = field(default_factory=list)
    settings: dict[str, dict[str, object]] = field(default_factory=dict)
    methods: list[type[Method]] = field(default_factory=list)

    def add(self, one: object) -> None:
        """Take a name, an estimator or a function."""
        if isinstance(one, str):
            self.names.append(one)
        elif isinstance(one, type):
            raise UsageError(
                f"{self._what}: expected an estimator; found the class {one.__name__}. Write {one.__name__}()"
            )
        elif isinstance(one, self.registry.base):
            self._add_own(one)
        elif isinstance(one, Method) or not (hasattr(one, "fit") or callable(one)):
            raise UsageError(f"{self._what}: expected names, estimators or functions; found {type(one).__name__}")
        else:
            name = self._choose_name(_name_foreign(one))
            self._lend(adopt_selector(one, name) if self.registry is SELECTORS else adopt_decoder(one, name))

    @property
    def _what(self) -> str:
        return f"{self.registry.kind}s"

    def _add_own(self, one: Any) -> None:
        """Take an estimator of neurofs: by its name if a file could say the same, else under a new one."""
        changed, known = _find_changed(one), type(one) is self.registry.get(one.name)
        plain = all(isinstance(value, str | int | float) for value in changed.values())
        can_be_set = plain and (not changed or self.registry is SELECTORS)
        if known and can_be_set and one.name not in self.names:
            self.names.append(one.name)
            if self.registry is SELECTORS:
                self.settings[one.name] = changed
            return
        name = self._choose_name(one.name or _name_foreign(one))
        defaults = DEFAULT_SETTINGS.get(one.name, {}) if self.registry is SELECTORS else {}
        told = ", ".join(f"{key} = {value}" for key, value in changed.items() if isinstance(value, str | int | float))
        label = f"{one.label or one.name}{f' ({told})' if told else ''}"
        self._lend(_fix_parameters(one, {**defaults, **changed}, name, label))

    def _choose_name(self, name: str) -> str:
        """Return a name that nothing else has."""
        n, taken = 1, {*self.names, *self.registry}
        while (found := name if n == 1 else f"{name}-{n}") in taken:
            n += 1
        return found

    def _lend(self, method: type[Method]) -> None:
        self.names.append(method.name)
        self.methods.append(method)


def _name_foreign(one: object) -> str:
    """Return the name of a function or of the class of an estimator, as names of methods are written.

    >>> from sklearn.feature_selection import SelectKBest
    >>> _name_foreign(SelectKBest()), _name_foreign(lambda X, y: 0)
    ('select-k-best', 'function')
    """
    name = type(one).__name__ if hasattr(one, "fit") else getattr(one, "__name__", type(one).__name__)
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name)
    return "function" if "lambda" in name or not words else "-".join(word.lower() for word in words)


def _find_changed(estimator: Any) -> dict[str, object]:
    """Return the parameters of an estimator that are not its defaults."""
    plain = type(estimator)().get_params(deep=False)
    found = estimator.get_params(deep=False)
    return {key: value for key, value in found.items() if not _is_same(value, plain[key])}


def _is_same(one: Any, other: Any) -> bool:
    return one is other or (isinstance(one, str | int | float | tuple) and type(one) is type(other) and one == other)


def _fix_parameters(estimator: Any, changed: Mapping[str, object], name: str, label: str) -> type[Method]:
    """Return the class of an estimator with its parameters as defaults."""
    kind = type(estimator)
    fixed = {**kind().get_params(deep=False), **changed}

    def start(self: Any, **given: object) -> None:
        kind.__init__(self, **{**fixed, **given})

    keys = [inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=fixed[key]) for key in fixed]
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    start.__signature__ = inspect.Signature([own, *keys])  # type: ignore[attr-defined]
    return type(kind.__name__, (kind,), {"__init__": start, "name": name, "label": label, "__doc__": kind.__doc__})


def _as_list(given: object) -> list[object]:
    """Return what was given as a list: one thing alone, too."""
    if isinstance(given, str):
        return [name.strip() for name in given.split(",") if name.strip()]
    return list(given) if isinstance(given, Sequence) else [given]


@contextmanager
def adopt(values: Mapping[str, object]) -> Iterator[dict[str, object]]:
    """Yield settings in which estimators and functions are names; these are known until the end of the block.

    >>> from neurofs.selectors import RGS
    >>> with adopt({"selectors": [RGS(n_epochs=2), "corrcoef"]}) as settings:
    ...     settings
    {'selectors': ['rgs', 'corrcoef'], 'settings': {'rgs': {'n_epochs': 2}}}
    """
    selectors, decoders = _Names(SELECTORS), _Names(DECODERS)
    found = dict(values)
    for key, names in (("selectors", selectors), ("decoders", decoders)):
        if key in values:
            for one in _as_list(values[key]):
                names.add(one)
            found[key] = names.names
    if any(selectors.settings.values()):
        given = values.get("settings")
        found["settings"] = {**(dict(given) if isinstance(given, Mapping) else {}), **selectors.settings}
    with SELECTORS.lend(selectors.methods), DECODERS.lend(decoders.methods):
        yield found


def use_folds(problem: Problem, cv: object) -> Problem:
    """Return a problem on the folds of a splitter of scikit-learn, or on pairs of training and test rows.

    Folds whose training and test samples share raw data are refused, unless leakage is allowed.
    """
    if not hasattr(cv, "split") and (isinstance(cv, str) or not isinstance(cv, Iterable)):
        raise UsageError(f"cv: expected a splitter, or pairs of training and test rows; found {type(cv).__name__}")
    y: Any = problem.targets[:, 0] if problem.targets.shape[1] == 1 else problem.targets
    try:
        folds = take_folds(problem.samples, cv, y, problem.trials)
    except (TypeError, ValueError, IndexError) as error:
        raise UsageError(f"cv: {error}") from None
    n_overlaps = sum(fold.n_overlaps for fold in folds)
    if n_overlaps and not problem.options.allow_leakage:
        raise UsageError(
            f"cv: {type(cv).__name__} leaks: {n_overlaps:,} pairs of a training and a test sample share raw data, as "
            "their windows overlap. Take neurofs.BlockedKFold, which leaves a gap, or say allow_leakage=True to see "
            "how much that inflates scores"
        )
    n_repeats = 1 + max(fold.repeat for fold in folds)
    changed = {"folds": "given", "n_repeats": n_repeats, "n_splits": len(folds) // n_repeats}
    return replace(problem, folds=folds, options=problem.options.model_copy(update=changed))
