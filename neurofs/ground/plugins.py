"""Plug-ins: what installed packages add to neurofs by entry points.

A package adds a selector, a decoder or a reader by a few lines of its ``pyproject.toml``:

    [project.entry-points."neurofs.selectors"]
    peak = "mylab.selectors:Peak"

    [project.entry-points."neurofs.decoders"]
    lasso = "mylab.decoders:Lasso"

    [project.entry-points."neurofs.readers"]
    lab = "mylab.files:read"        # for files that end in .lab
"""

from importlib.metadata import EntryPoint, entry_points

BROKEN = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)
"""What loading somebody else's package may raise."""


def find_plugins(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name, in the order of their names.

    Of packages that offer the same name, the last in the order of the alphabet wins.

    >>> find_plugins("neurofs.no-such-group")
    {}
    """
    found = sorted(entry_points(group=group), key=lambda entry: (entry.name, name_package(entry)))
    return {entry.name: entry for entry in found}


def name_package(entry: EntryPoint) -> str:
    """Return the package that an entry point is from, with its version; its module if it is of no package."""
    return entry.value if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"
