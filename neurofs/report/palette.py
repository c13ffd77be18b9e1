"""One color, marker and line per method, the same in every figure, told apart by every kind of color vision.

Each color has a partner for dark pages; `THEME` maps the color that a figure is drawn in to the CSS variable
that stands for both.
"""

from dataclasses import dataclass
from typing import Any

from neurofs.comparison.names import find_method, name_method

COLORS = {  # for light and for dark pages
    "ink": ("#1f2328", "#e6e9ec"),
    "muted": ("#59626b", "#a3acb5"),
    "rule": ("#d5dade", "#3a424a"),
    "paper": ("#ffffff", "#15181b"),
    "true": ("#8a8f94", "#8b939b"),
    "leak": ("#b3261e", "#ff8a80"),
    "blue": ("#0072b2", "#5db4ec"),
    "violet": ("#5e3c99", "#b9a3e3"),
    "vermilion": ("#c2500a", "#ff9350"),
    "green": ("#007a5a", "#3ccfa4"),
    "magenta": ("#b23a80", "#f08cc0"),
    "olive": ("#7a6400", "#e0c341"),
    "brown": ("#8a4b20", "#d6a077"),
    "teal": ("#2f7f8f", "#6fd0e0"),
    "gray": ("#6b7178", "#9aa2aa"),
}
INK, MUTED, RULE, PAPER, TRUE = (COLORS[name][0] for name in ("ink", "muted", "rule", "paper", "true"))
BLUE, VERMILION = COLORS["blue"][0], COLORS["vermilion"][0]
"""Accents of figures that show no method."""

THEME = {light: f"--c{i}" for i, (light, _) in enumerate(COLORS.values())}
"""CSS variable of each color that figures are drawn in."""


@dataclass(frozen=True)
class Key:
    """How one selector or decoder is drawn; `line` is a style of matplotlib."""

    label: str
    color: str
    marker: str = "o"
    line: Any = "-"


CHANCE = Key("chance", MUTED, "", (0, (4, 2, 1, 2)))

DEALT = (  # to methods that choose no color
    ("brown", "s"),
    ("teal", "<"),
    ("magenta", "p"),
    ("olive", "*"),
    ("green", "h"),
    ("violet", ">"),
)


def find_key(method: str) -> Key:
    """Return how to draw a method: by its selector or, if it has none, its decoder.

    One that chooses no color of ours, or is no longer installed, is dealt a color and a marker by its name.

    >>> find_key("rgs + kernel-ridge").color == find_key("rgs").color
    True
    """
    kind = find_method(method)
    if kind and kind.color in COLORS:
        color, marker, line = kind.color, kind.marker, kind.line
    else:
        color, marker = DEALT[sum(method.partition(" + ")[0].encode()) % len(DEALT)]
        line = "-"
    return Key(name_method(method), COLORS[color][0], marker, line)


def render_variables() -> str:
    """Return the CSS variables of all colors, for light and for dark pages."""
    light = ";".join(f"{THEME[light]}:{light}" for light, _ in COLORS.values())
    dark = ";".join(f"{THEME[light]}:{dark}" for light, dark in COLORS.values())
    return f":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
