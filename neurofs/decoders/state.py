"""Fitted decoders as plain values: numbers, texts and arrays, and back, with every type and size checked.

A form says what a value is made of, and walks it both ways: `pack` puts its arrays on a `Shelf` and returns the rest
as JSON has it; `unpack` takes only what the form allows. So what is stored names no classes, and nothing but the forms
of `decoders.forms` decides what is made of it.

    form = Record(Linear, center=Array("f8", "k"), coefficients=Array("f8", "k o"))

The letters of a shape are sizes: each is bound where it first occurs, and must be the same wherever it occurs again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from neurofs.ground.errors import InputError

Scope = dict[str, int]
REMEDY = "Get a sound copy of the model, or fit it again."
LARGEST = {"f4": 1e15, "f8": 1e30}
"""Numbers of which squares and sums are still numbers."""

MOST_CHOSEN = 2**53  # of a parameter: sizes beyond are no whole numbers of C

KINDS = {"f4": "float32", "f8": "float64", "i8": "int64", "b1": "bool"}


def unfit(where: str, expected: str, found: object) -> InputError:
    """Return the error for a stored value that does not fit."""
    return InputError(where, expected, found, REMEDY)


class Shelf:
    """Arrays by name; one that is put twice is kept once.

    >>> shelf = Shelf()
    >>> ones = np.ones(3)
    >>> shelf.put(ones, "center"), shelf.put(ones, "again"), shelf.put(np.zeros(2), "center")
    ('center', 'center', 'center-1')
    """

    def __init__(self, arrays: Mapping[str, np.ndarray] | None = None) -> None:
        self.arrays: dict[str, np.ndarray] = dict(arrays or {})
        self._names: dict[int, str] = {}

    def put(self, array: np.ndarray, hint: str) -> str:
        """Keep an array, and return its name."""
        if id(array) in self._names:
            return self._names[id(array)]
        hint = re.sub("[^a-z0-9]+", "-", hint.lower()).strip("-") or "array"
        name, n = hint, 0
        while name in self.arrays:
            n += 1
            name = f"{hint}-{n}"
        self.arrays[name] = array
        self._names[id(array)] = name
        return name


class Form:
    """What a value is made of."""

    def pack(self, value: Any, shelf: Shelf, where: str) -> Any:
        """Return the value as JSON has it, its arrays on the shelf."""
        raise NotImplementedError

    def unpack(self, plain: Any, shelf: Shelf, scope: Scope, where: str) -> Any:
        """Return the value, or raise an `InputError` that says what does not fit."""
        raise NotImplementedError


@dataclass(frozen=True)
class Number(Form):
    """A number that squares and sums can be taken of, at least `least`."""

    least: float = -LARGEST["f8"]

    def pack(self, value: Any, shelf: Shelf, where: str) -> Any:
        """Return it as a float."""
        return float(value)

    def unpack(self, plain: Any, shelf: Shelf, scope: Scope, where: str) -> Any:
        """Return it as a float."""
        if isinstance(plain, bool) or not isinstance(plain, int | float):
            raise unfit(where, "a number", plain)
        if not self.least <= plain <= LARGEST["f8"]:
            raise unfit(where, f"a number from {self.least:g} to {LARGEST['f8']:g}", plain)
        return float(plain)


@dataclass(frozen=True)
class Whole(Form):
    """A whole number, at least `least`; the size `is_size`, if that is said."""

    least: int = 0
    is_size: str = ""

    def pack(self, value: Any, shelf: Shelf, where: str) -> Any:
        """Return it as an int."""
        return int(value)

    def unpack(self, plain: Any, shelf: Shelf, scope: Scope, where: str) -> Any:
        """Return it as an int."""
        if isinstance(plain, bool) or not isinstance(plain, int) or not self.least <= plain < 2**53:
            raise unfit(where, f"a whole number of at least {self.least}", plain)
        if self.is_size and scope.setdefault(self.is_size, plain) != plain:
            raise unfit(where, f"{scope[self.is_size]}", plain)
        return plain


@dataclass(frozen=True)
class Flag(Form):
    """True or false."""

    def pack(self, value: Any, shelf: Shelf, where: str) -> Any:
        """Return it as a bool."""
        return bool(value)

    def unpack(self, plain: Any, shelf: Shelf, scope: Scope, where: str) -> Any:
        """Return it as a bool."""
        if not isinstance(plain, bool):
            raise unfit(where, "true or false", plain)
        return plain


@dataclass(frozen=True)
class Choice(Form):
    """One of some texts."""

    of: tuple[str, ...]

    def pack(self, value: Any, shelf: Shelf, where: str) -> Any:
        """Return the text."""
        return str(value)

    def unpack(self, plain: Any, shelf: Shelf, scope: Scope, where: str) -> Any:
        """Return the text."""
        if plain not in self.of:
            raise unfit(where, f"one of {', '.join(self.of)}", plain)
        return plain


class Numbers(Form):
    """Numbers by name, such as chosen parameters."""

    def pack(self, value: Any, shelf: Shelf, where: str) -> Any:
        """Return them as a dict; whole numbers stay so."""
        return {str(name): int(n) if isinstance(n, int | np.integer) else float(n) for name, n in value.items()}

    def unpack(self, plain: Any, shelf: Shelf, scope: Scope, where: str) -> Any:
        """Return them as a dict."""
        _check_dict(plain, where)
        for name, value in plain.items():
            if abs(Number().unpack(value, shelf, scope, f"{where}.{name}")) > MOST_CHOSEN:
                raise unfit(f"{where}.{name}", f"a number of at most {MOST_CHOSEN:,}", value)
        return plain


@dataclass(frozen=True)
class Array(Form):
    """An array of finite numbers: its kind (`KINDS`), and a letter for each size, such as "m o".

    `below` is a letter: whole numbers are then at least 0 and smaller than that size.
    """

    kind: str
    shape: str
    below: str = ""

    def pack(self, value: Any, shelf: Shelf, where: str) -> Any:
        """Put it on the shelf."""
        if value.dtype != KINDS[self.kind]:
            raise TypeError(f"{where} is of {value.dtype}; its form is {KINDS[self.kind]}")
        return {"array": shelf.put(value, where.rpartition(".")[2])}

    def unpack(self, plain: Any, shelf: Shelf, scope: Scope, where: str) -> Any:
        """Take it from the shelf."""
        name = plain.get("array") if isinstance(plain, dict) and len(plain) == 1 else None
        if not isinstance(name, str) or name not in shelf.arrays:
            raise unfit(where, "the name of an array", plain)
        array, letters = shelf.arrays[name], self.shape.split()
        if array.dtype != KINDS[self.kind] or array.ndim != len(letters):
            found = f"{array.dtype} in {array.ndim} dimensions"
            raise unfit(where, f"{KINDS[self.kind]} in {len(letters)} dimensions", found)
        for letter, size in zip(letters, array.shape, strict=True):
            if scope.setdefault(letter, size) != size:
                expected = " × ".join(str(scope.get(one, one)) for one in letters)
                raise unfit(where, f"an array of {expected}", " × ".join(map(str, array.shape)))
        if self.kind in LARGEST and not (np.abs(array) <= LARGEST[self.kind]).all():
            raise unfit(where, f"numbers of at most {LARGEST[self.kind]:g}", "larger ones, NaN or infinity")
        if self.below and array.size and not 0 <= array.min() <= array.max() < scope[self.below]:
            raise unfit(where, f"numbers from 0 to {scope[self.below] - 1}", f"{array.min()} to {array.max()}")
        return array


@dataclass(frozen=True)
class Maybe(Form):
    """A value, or nothing."""

    of: Form

    def pack(self, value: Any, shelf: Shelf, where: str) -> Any:
        """Return null for nothing."""
        return None if value is None else self.of.pack(value, shelf, where)

    def unpack(self, plain: Any, shelf: Shelf, scope: Scope, where: str) -> Any:
        """Return None for null."""
        return None if plain is None else self.of.unpack(plain, shelf, scope, where)


@dataclass(frozen=True)
class Many(Form):
    """A list; each item has sizes of its own for the letters `own`."""

    of: Form
    own: str = ""
    most: int = 10_000

    def pack(self, value: Any, shelf: Shelf, where: str) -> Any:
        """Return a list."""
        return [self.of.pack(item, shelf, f"{where}.{i}") for i, item in enumerate(value)]

    def unpack(self, plain: Any, shelf: Shelf, scope: Scope, where: str) -> Any:
        """Return a list."""
        if not isinstance(plain, list) or len(plain) > self.most:
            raise unfit(where, f"a list of at most {self.most} items", type(plain).__name__)
        return [
            self.of.unpack(item, shelf, _without(scope, self.own) if self.own else scope, f"{where}.{i}")
            for i, item in enumerate(plain)
        ]


class Row(Form):
    """A tuple of so many values."""

    def __init__(self, **of: Form) -> None:
        self.of = of

    def pack(self, value: Any, shelf: Shelf, where: str) -> Any:
        """Return a dict with the names of the form."""
        pairs = zip(self.of.items(), value, strict=True)
        return {name: form.pack(item, shelf, f"{where}.{name}") for (name, form), item in pairs}

    def unpack(self, plain: Any, shelf: Shelf, scope: Scope, where: str) -> Any:
        """Return a tuple."""
        return tuple(unpack_fields(self.of, plain, shelf, scope, where).values())


class Record(Form):
    """An object of one class, by its attributes; `finish` makes what is not stored, or refuses the whole."""

    def __init__(self, kind: type, finish: Callable[[Any], None] | None = None, **fields: Form) -> None:
        self.kind, self.finish, self.fields = kind, finish, fields

    def pack(self, value: Any, shelf: Shelf, where: str) -> Any:
        """Return a dict of attributes."""
        return {name: form.pack(getattr(value, name), shelf, f"{where}.{name}") for name, form in self.fields.items()}

    def unpack(self, plain: Any, shelf: Shelf, scope: Scope, where: str) -> Any:
        """Return the object, made without a call of its class."""
        found: Any = object.__new__(self.kind)
        found.__dict__.update(unpack_fields(self.fields, plain, shelf, scope, where))
        if self.finish is not None:
            try:
                self.finish(found)
            except ValueError as error:
                raise unfit(where, f"a sound {self.kind.__name__}", error) from None
        return found


class OneOf(Form):
    """An object of one of several classes."""

    def __init__(self, **of: Record) -> None:
        self.of = of

    def pack(self, value: Any, shelf: Shelf, where: str) -> Any:
        """Return a dict of the name that fits, and what it names."""
        name = next(name for name, form in self.of.items() if type(value) is form.kind)
        return {name: self.of[name].pack(value, shelf, where)}

    def unpack(self, plain: Any, shelf: Shelf, scope: Scope, where: str) -> Any:
        """Return the object that is named."""
        _check_dict(plain, where)
        if len(plain) != 1 or (name := next(iter(plain))) not in self.of:
            raise unfit(where, f"one of {', '.join(self.of)}", ", ".join(plain))
        return self.of[name].unpack(plain[name], shelf, scope, where)


class Anything(Form):
    """Numbers, texts, arrays, and lists, tuples and dicts of them: the state of a decoder that has no form."""

    def pack(self, value: Any, shelf: Shelf, where: str) -> Any:
        """Return it; tuples and dicts are marked as such."""
        if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
            return {"array": shelf.put(value, where.rpartition(".")[2])}
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
            return value
        if isinstance(value, list | tuple):
            items = [self.pack(item, shelf, f"{where}.{i}") for i, item in enumerate(value)]
            return items if isinstance(value, list) else {"tuple": items}
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return {"dict": {key: self.pack(item, shelf, f"{where}.{key}") for key, item in value.items()}}
        raise TypeError(f"{where} is a {type(value).__name__}; expected numbers, texts, arrays, and lists of them")

    def unpack(self, plain: Any, shelf: Shelf, scope: Scope, where: str) -> Any:
        """Return it."""
        if isinstance(plain, list):
            return [self.unpack(item, shelf, scope, f"{where}.{i}") for i, item in enumerate(plain)]
        if not isinstance(plain, dict):
            return plain
        kind, content = next(iter(plain.items())) if len(plain) == 1 else (None, None)
        if kind == "array" and isinstance(content, str) and content in shelf.arrays:
            return shelf.arrays[content]
        if kind == "tuple" and isinstance(content, list):
            return tuple(self.unpack(content, shelf, scope, where))
        if kind == "dict" and isinstance(content, dict):
            return {key: self.unpack(item, shelf, scope, f"{where}.{key}") for key, item in content.items()}
        raise unfit(where, "an array, a tuple or a dict", kind)


def unpack_fields(fields: Mapping[str, Form], plain: Any, shelf: Shelf, scope: Scope, where: str) -> dict[str, Any]:
    """Return the values of all fields, neither more nor less."""
    _check_dict(plain, where)
    if set(plain) != set(fields):
        odd = sorted(set(plain) ^ set(fields))[0]
        raise unfit(where, f"the fields {', '.join(fields)}", f"{'no ' if odd in fields else ''}{odd}")
    return {name: form.unpack(plain[name], shelf, scope, f"{where}.{name}") for name, form in fields.items()}


def _check_dict(plain: Any, where: str) -> None:
    if not isinstance(plain, dict):
        raise unfit(where, "named values", type(plain).__name__)


def _without(scope: Scope, letters: str) -> Scope:
    """Return a copy of the sizes without some."""
    return {letter: size for letter, size in scope.items() if letter not in letters.split()}
