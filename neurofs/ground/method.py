"""`Method`: what a selector and a decoder say of themselves, and the registries in which they are found by name.

Everything that tables, options, figures and methods texts know of a method is an attribute of its class.
Installed packages add methods of their own by entry points (`ground.plugins`).
"""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from importlib.metadata import EntryPoint
from typing import Any, ClassVar

from neurofs.ground.errors import MAX_MESSAGE, UsageError, printable, quoted
from neurofs.ground.plugins import BROKEN, find_plugins, name_package
from neurofs.ground.works import Work

COLUMNS = ("name", "what it does", "target", "cost", "reference")
NAME = "[a-z][a-z0-9]*(-[a-z0-9]+)*"
MARKERS = ("", *"os^vDd<>phP*x")
LINES = ("-", "--", "-.", ":")
TAKEN = ("null", "ridge", "kalman")  # methods of every comparison that are no selectors


class Method:
    """What every selector and decoder says of itself.

    Attributes
    ----------
    name : str
        Its name on the command line and in results: small letters, digits and dashes.
    label : str
        Its name for people; the name if empty.
    citation : Work or None
        What a methods text cites.
    origin : str
        Where it is from, in a few words, for ``neurofs list``; the short form of the citation if empty.
    target : str
        The kind of target that it takes.
    cost : str
        How its time grows with m samples and N features.
    color, marker, line : str
        How it is drawn: a color of `report.palette` by name, dealt by the method's name if empty; marker and line
        of matplotlib, one of `MARKERS` and `LINES`, or a tuple of dashes.
    """

    name: ClassVar[str] = ""
    label: ClassVar[str] = ""
    citation: ClassVar[Work | None] = None
    origin: ClassVar[str] = ""
    target: ClassVar[str] = "continuous"
    cost: ClassVar[str] = ""
    color: ClassVar[str] = ""
    marker: ClassVar[str] = "o"
    line: ClassVar[Any] = "-"


class Registry(Mapping[str, Any]):
    """Methods by name: those of neurofs in their order, then those of installed packages by name.

    A plug-in is loaded when it is asked for, all of them when the registry is listed. One that cannot be used does
    not stand in the way of others: `find` says what is wrong with it.

    >>> class Sum(Method):
    ...     name, label = "sum", "total count"
    >>> registry = Registry("selector", [Sum])
    >>> registry["sum"].label, "product" in registry
    ('total count', False)
    >>> registry.find("product")
    Traceback (most recent call last):
    neurofs.ground.errors.UsageError: no selector named 'product'; choose from sum
    """

    def __init__(self, kind: str, methods: Iterable[type[Method]], base: type[Method] = Method) -> None:
        self.kind, self.base = kind, base
        self.own = {method.name: method for method in methods}
        self._loaded: dict[str, type[Method] | str] = {}

    @cached_property
    def _entries(self) -> dict[str, EntryPoint]:
        """What packages offer under names that are not ours."""
        found = find_plugins(f"neurofs.{self.kind}s")
        return {name: entry for name, entry in found.items() if name not in self.own}

    def _load(self, name: str) -> type[Method] | str:
        """Return the plug-in of this name, or what is wrong with it."""
        if name not in self._loaded:
            try:
                self._loaded[name] = self._check(name, self._entries[name].load())
            except BROKEN as error:
                why = printable(f"{type(error).__name__}: {error}", MAX_MESSAGE)
                self._loaded[name] = f"{name_package(self._entries[name])}: {why}"
        return self._loaded[name]

    def _check(self, name: str, method: Any) -> type[Method]:
        """Return the class that a package offers, or raise what is wrong with it."""
        if name in TAKEN or name.endswith("-decoder"):
            raise ValueError("neurofs itself has a method of this name; choose another")
        if not (isinstance(method, type) and issubclass(method, self.base)):
            raise TypeError(f"expected a class that inherits from neurofs.{self.base.__name__}")
        if method.name != name or not re.fullmatch(NAME, name):
            raise ValueError(
                f"its name is {quoted(method.name)} and its entry point is {quoted(name)}; expected the same, "
                "of small letters, digits and dashes"
            )
        _check_looks(method)
        method()  # all parameters need defaults
        return method

    def find(self, name: str) -> Any:
        """Return the method of this name, or raise a `UsageError` that lists the choices."""
        if name in self:
            return self[name]
        if name in self._entries:
            raise UsageError(f"{self.kind} {quoted(name)} cannot be used: {self._load(name)}")
        near = difflib.get_close_matches(name, list(self), n=1)
        hint = f"did you mean {near[0]}? Choose" if near else "choose"
        raise UsageError(f"no {self.kind} named {quoted(name)}; {hint} from {', '.join(self)}")

    @contextmanager
    def lend(self, methods: Iterable[type[Method]]) -> Iterator[None]:
        """Know some methods for a while, such as those that are given to one comparison in Python."""
        before = self.own
        self.own = {**before, **{method.name: method for method in methods}}
        try:
            yield
        finally:
            self.own = before

    def package(self, name: str) -> str:
        """Return the package that a method is from with its version; empty for those of neurofs."""
        return name_package(self._entries[name]) if name in self._entries else ""

    def __getitem__(self, name: str) -> Any:
        if name in self.own:
            return self.own[name]
        if name not in self._entries or isinstance(method := self._load(name), str):
            raise KeyError(name)
        return method

    def __iter__(self) -> Iterator[str]:
        yield from self.own
        yield from (name for name in self._entries if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _check_looks(method: type[Method]) -> None:
    """Refuse what a report could not show."""
    if not isinstance(method.citation, Work | None):
        raise TypeError("expected a neurofs.Work as its citation")
    for attribute in ("label", "origin", "target", "cost", "color", "marker"):
        if not isinstance(getattr(method, attribute), str):
            raise TypeError(f"expected a text as its {attribute}")
    if method.marker not in MARKERS:
        raise ValueError(f"expected one of {' '.join(MARKERS)} as its marker")
    if not isinstance(method.line, tuple) and method.line not in LINES:
        raise ValueError(f"expected one of {' '.join(LINES)}, or a tuple of dashes, as its line")


def describe_methods(registry: Registry) -> list[dict[str, str]]:
    """Return what each method of a registry does, which target it takes, what it costs, and where it is from."""
    return [
        dict(zip(COLUMNS, _describe(method, registry.package(name)), strict=True)) for name, method in registry.items()
    ]


def _describe(method: type[Method], package: str) -> tuple[str, ...]:
    does = (method.__doc__ or "").strip().partition("\n")[0]
    origin = method.origin or (method.citation.short if method.citation else "")
    return method.name, does, method.target, method.cost, "; ".join(filter(None, [origin, package]))


def render_methods(registry: Registry, note: str = "") -> str:
    """Return the same as text, two lines per method, with a note at the end.

    >>> class Sum(Method):
    ...     '''Add up.'''
    ...     name, cost, origin = "sum", "N", "school"
    >>> print(render_methods(Registry("selector", [Sum])))
    sum  Add up.
         target: continuous · cost: N · school
    """
    records = describe_methods(registry)
    width = max(len(record["name"]) for record in records) + 2
    lines = []
    for record in records:
        facts = [f"{fact}: {record[fact]}" for fact in ("target", "cost") if record[fact]]
        lines.append(record["name"].ljust(width) + record["what it does"])
        lines.append(" " * width + " · ".join([*facts, *filter(None, [record["reference"]])]))
    return "\n".join([*lines, *(["", note] if note else [])])
