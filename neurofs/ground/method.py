"""`Method`: what a selector and a decoder say of themselves, and the registries in which they are found by name.

Everything that tables, options, figures and methods texts know of a method is an attribute of its class.
Installed packages add methods of their own by entry points (`ground.plugins`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, ClassVar

from neurofs.ground.errors import UsageError, quoted
from neurofs.ground.plugins import BROKEN, find_plugins
from neurofs.ground.works import Work

__all__ = ["Method", "Registry", "describe_methods", "render_methods"]

COLUMNS = ("name", "what it does", "target", "cost", "reference")


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
        How it is drawn: a color of `report.palette`, dealt by name if empty; marker and line of matplotlib.
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

    Plug-ins are loaded when the registry is first asked for more than its own methods. One that cannot be used
    does not stand in the way of others: asking for it says what is wrong (`broken`).

    >>> class Sum(Method):
    ...     name, label = "sum", "total count"
    >>> registry = Registry("selector", [Sum])
    >>> registry["sum"].label, "product" in registry
    ('total count', False)
    >>> registry.find("product")
    Traceback (most recent call last):
    neurofs.ground.errors.UsageError: no selector named 'product'; choose from sum
    """

    def __init__(self, kind: str, methods: Iterable[type[Method]]) -> None:
        self.kind = kind
        self.own = {method.name: method for method in methods}

    @cached_property
    def plugins(self) -> dict[str, type[Method]]:
        """Methods of installed packages; what cannot be used is noted in `broken`."""
        self.broken: dict[str, str] = {}
        found = {}
        for name, entry in find_plugins(f"neurofs.{self.kind}s").items():
            try:
                method = entry.load()
                self._check(name, method)
            except BROKEN as error:
                self.broken[name] = f"{entry.value}: {error}"
            else:
                found[name] = method
        return found

    def _check(self, name: str, method: Any) -> None:
        if name in self.own:
            raise ValueError(f"neurofs has a {self.kind} of this name; choose another")
        if not (isinstance(method, type) and issubclass(method, Method)):
            raise TypeError(f"expected a class that inherits from neurofs.{self.kind.capitalize()}")
        if method.name != name or not re.fullmatch(r"[a-z][a-z0-9-]*", name):
            raise ValueError(
                f"its name is {method.name!r} and that of the entry point {name!r}; expected the same, of small "
                "letters, digits and dashes"
            )

    def find(self, name: str) -> Any:
        """Return the method of this name, or raise a `UsageError` that lists the choices."""
        if name in self:
            return self[name]
        if name in self.broken:
            raise UsageError(f"{self.kind} {quoted(name)} cannot be used: {self.broken[name]}")
        raise UsageError(f"no {self.kind} named {quoted(name)}; choose from {', '.join(self)}")

    def __getitem__(self, name: str) -> Any:
        return self.own[name] if name in self.own else self.plugins[name]

    def __iter__(self) -> Iterator[str]:
        yield from self.own
        yield from self.plugins

    def __len__(self) -> int:
        return len(self.own) + len(self.plugins)


def describe_methods(registry: Registry) -> list[dict[str, str]]:
    """Return what each method of a registry does, which target it takes, what it costs, and where it is from."""
    return [dict(zip(COLUMNS, _describe(method), strict=True)) for method in registry.values()]


def _describe(method: type[Method]) -> tuple[str, ...]:
    does = (method.__doc__ or "").strip().partition("\n")[0]
    origin = method.origin or (method.citation.short if method.citation else "")
    return method.name, does, method.target, method.cost, origin


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
